"""Estimates what a run would ask and cost, without asking. Calls are counted exactly; tokens and costs are ranges.

A token is assumed to be between 2.5 and 5.5 bytes of text; the constant part of the prompt costs least where every call
but the first reads it from the API's cache.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from formulaseed.data.results import ReviewInput
from formulaseed.diagnostics.model import number_of
from formulaseed.extract.fields import Field
from formulaseed.extract.model.answers import AnswerCache
from formulaseed.llm.calls import Usage
from formulaseed.llm.prices import Prices, cost_text

BYTES_A_TOKEN = (5.5, 2.5)


@dataclass
class Estimate:
    """`reviews` are those that an extractor gets; `stored` and `calls` count questions, each once."""

    restaurants: int = 0
    reviews: int = 0
    questions: int = 0
    stored: int = 0
    calls: int = 0
    message_bytes: int = 0


def estimate(answers: AnswerCache, restaurants: Iterable[Sequence[ReviewInput]]) -> Estimate:
    """Count the questions of every review, in a few bytes each."""
    found = Estimate()
    seen: set[int] = set()
    for reviews in restaurants:
        found.restaurants += 1
        found.reviews += len(reviews)
        for review in reviews:
            for question in answers.spec.questions(review):
                known = int(question.key[:15], 16)
                if known in seen:
                    continue
                seen.add(known)
                found.questions += 1
                if answers.find(question) is not None:
                    found.stored += 1
                else:
                    found.calls += 1
                    found.message_bytes += len(question.user.encode())
    return found


def lines(found: Estimate, answers: AnswerCache, prices: Prices) -> list[str]:
    """Return the estimate for people."""
    spec = answers.spec
    least, most = usages(found, answers)
    shown = [
        f"{number_of(found.restaurants, 'restaurant')} with {number_of(found.reviews, 'review')} to extract in {spec.passes} "
        f"pass{'es' if spec.passes > 1 else ''}: {number_of(found.questions, 'different question')}, "
        f"{found.stored:,} of them in the store",
        f"calls to make: {found.calls:,}",
        f"tokens in: {least.prompt:,} to {most.prompt:,}; out: {least.output:,} to {most.output:,}",
    ]
    for what, is_batch in (("live", False), ("with --batch", True)):
        low, high = (prices.cost(spec.model, usage, is_batch=is_batch, calls=found.calls) for usage in (least, most))
        if low is None or high is None:
            return [*shown, f"cost: unknown, as there is no price for {spec.model} (--prices FILE gives one)"]
        shown.append(f"cost {what}: {cost_text(low)} to {cost_text(high)} (prices of {prices.as_of})")
    return shown


def usages(found: Estimate, answers: AnswerCache) -> tuple[Usage, Usage]:
    """Return the least and the most tokens."""
    if not found.calls:
        return Usage(), Usage()
    few, many = BYTES_A_TOKEN
    constant = len(answers.spec.system.encode()) + len(json.dumps(answers.spec.schema).encode())
    short, long = _answer_bytes(answers.spec.fields)
    once = round(constant / few)
    low = Usage(
        round(found.message_bytes / few), once, once * (found.calls - 1), output=round(found.calls * short / few)
    )
    high = Usage(
        cache_write=round((found.message_bytes + constant * found.calls) / many),
        output=min(found.calls * answers.spec.max_tokens, round(found.calls * long / many)),
    )
    return low, high


def _answer_bytes(fields: Sequence[Field]) -> tuple[int, int]:
    """The shortest and the longest answer to expect."""
    short = long = 2
    for field in fields:
        lengths = [len(name.encode()) + 2 for name, _ in field.values] or {"string": [2, 300], "boolean": [4, 5]}.get(
            field.type, [1, 10]
        )
        key = len(field.name.encode()) + 6
        short += key + min(lengths)
        long += key + max(lengths) + (300 if field.evidence else 0)
    return short, long
