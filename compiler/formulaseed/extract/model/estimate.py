"""Estimates what a run would ask and cost, without asking. Calls are counted exactly; tokens and costs are ranges.

A token is assumed to be between 2.5 and 5.5 bytes of text; the constant part of the prompt costs least where every call
but the first reads it from the API's cache.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from formulaseed.data.results import ReviewInput
from formulaseed.diagnostics.model import number_of
from formulaseed.extract.base import Field
from formulaseed.extract.model.answers import AnswerCache
from formulaseed.extract.model.prompting import PromptSpec
from formulaseed.llm.calls import Usage, cost_text
from formulaseed.llm.prices import Prices

BYTES_A_TOKEN = (5.5, 2.5)


def estimate(answers: AnswerCache, restaurants: Iterable[Sequence[ReviewInput]], prices: Prices) -> list[str]:
    """Count the questions of every review, each once and in a few bytes; return the estimate for people."""
    spec = answers.spec
    places = extracted = calls = message_bytes = 0
    seen: set[int] = set()
    for reviews in restaurants:
        places, extracted = places + 1, extracted + len(reviews)
        for question in (question for review in reviews for question in spec.questions(review)):
            known = int(question.key[:15], 16)
            if known not in seen:
                seen.add(known)
                if answers.find(question) is None:
                    calls, message_bytes = calls + 1, message_bytes + len(question.user.encode())
    least, most = _usages(spec, calls, message_bytes)
    shown = [
        f"{number_of(places, 'restaurant')} with {number_of(extracted, 'review')} to extract in {spec.passes} "
        f"pass{'es' if spec.passes > 1 else ''}: {number_of(len(seen), 'different question')}, "
        f"{len(seen) - calls:,} of them in the store",
        f"calls to make: {calls:,}",
        f"tokens in: {least.prompt:,} to {most.prompt:,}; out: {least.output:,} to {most.output:,}",
    ]
    for what, is_batch in (("live", False), ("with --batch", True)):
        low, high = (prices.cost(spec.model, usage, is_batch=is_batch, calls=calls) for usage in (least, most))
        if low is None or high is None:
            return [*shown, f"cost: unknown, as there is no price for {spec.model} (--prices FILE gives one)"]
        shown.append(f"cost {what}: {cost_text(low)} to {cost_text(high)} (prices of {prices.as_of})")
    return shown


def _usages(spec: PromptSpec, calls: int, message_bytes: int) -> tuple[Usage, Usage]:
    """The least and the most tokens."""
    if not calls:
        return Usage(), Usage()
    few, many = BYTES_A_TOKEN
    constant = len(spec.system.encode()) + len(json.dumps(spec.schema).encode())
    short, long = _answer_bytes(spec.fields)
    once = round(constant / few)
    return (
        Usage(round(message_bytes / few), once, once * (calls - 1), round(calls * short / few)),
        Usage(
            cache_write=round((message_bytes + constant * calls) / many),
            output=min(calls * spec.max_tokens, round(calls * long / many)),
        ),
    )


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
