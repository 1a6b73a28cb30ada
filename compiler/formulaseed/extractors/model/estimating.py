"""Estimates what asking a model would cost, before anything is asked.

Calls are counted exactly: the filter, the texts and the store fix them. Where the API can be asked, it counts the tokens of
a sample of the prompts, which is free; elsewhere tokens are estimated from bytes. Costs are ranges: the upper end has longer
answers, thinking where the model cannot do without, and repeated calls.
"""

from __future__ import annotations

import asyncio
import heapq
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import TYPE_CHECKING

from formulaseed.data.results import ReviewInput
from formulaseed.errors import FormulaSeedError
from formulaseed.extractors.base import AskedField
from formulaseed.extractors.model.answers import AnswerCache
from formulaseed.extractors.model.prompting import PromptSpec, Question
from formulaseed.llm.calls import ModelCapabilities, Usage, format_cost
from formulaseed.llm.client import Client
from formulaseed.llm.connecting import Limits
from formulaseed.llm.limiter import CostBudget
from formulaseed.source.printing import number_of

if TYPE_CHECKING:
    from formulaseed.llm.prices import Prices

SAMPLE = 20
"""How many prompts the API counts."""
CACHED_FROM = 1_024, 4_096
"""The shortest prefix that is cached, in tokens: of some models, and of all."""
REPEATED = 0.1
"""The share of calls that the upper end repeats, since their answers are unusable."""
BYTES_A_TOKEN = (5.5, 2.5)
"""The most and the least of text that is assumed."""
_SECONDS_TO_COUNT = 30.0
_LIMITS = Limits(retries=2, timeout=10.0, deadline=_SECONDS_TO_COUNT)

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Counted:
    """Tokens as the API counts them: of some whole prompts, of one about an empty review, of the prefix that all share."""

    prompts: Sequence[int]
    empty: int
    prefix: int
    able: ModelCapabilities


Count = Callable[[PromptSpec, Sequence[Question]], Counted | None]
"""Counts the tokens of these questions; returns None where that is not possible."""


def count_by_api(spec: PromptSpec, questions: Sequence[Question]) -> Counted | None:
    """Have the API count, which is free; None without credentials, or where it does not answer."""
    from formulaseed.llm.prices import read_prices

    async def count() -> Counted:
        async with (
            aclosing(Client(_LIMITS, CostBudget(read_prices(), None))) as client,
            asyncio.timeout(_SECONDS_TO_COUNT),
        ):
            able = await client.capabilities(spec.model)
            calls = [spec.call(question, able) for question in (*questions, _empty(spec))]
            prefix = replace(calls[0], user=".", schema={})
            counts = await asyncio.gather(*map(client.count_tokens, [*calls, prefix]))
            return Counted(counts[:-2], counts[-2], counts[-1], able)

    try:
        return asyncio.run(count())
    except (FormulaSeedError, TimeoutError):
        return None


@dataclass(slots=True)
class _Needed:
    """The questions of all reviews, and the calls for those that the store has no answer to."""

    restaurants: int = 0
    reviews: int = 0
    questions: int = 0
    calls: int = 0
    message_bytes: int = 0
    """Of the user messages of all calls."""
    sample: list[tuple[int, Question]] = field(default_factory=list)
    """Some of the questions to ask, as a heap: those of the smallest hashes, which have no pattern."""

    def add(self, hash_: int, question: Question) -> None:
        """Count a call for a question with this hash."""
        self.calls += 1
        self.message_bytes += len(question.user.encode())
        push = heapq.heappush if len(self.sample) < SAMPLE else heapq.heappushpop
        push(self.sample, (-hash_, question))


def estimate(
    answers: AnswerCache,
    restaurants: Iterable[Sequence[ReviewInput]],
    prices: Prices,
    count: Count,
    *,
    may_batch: bool = True,
) -> list[str]:
    """Count the questions of every review, each once and in a few bytes; return the estimate for people.

    `may_batch`: whether the same questions could be asked in batches.
    """
    spec = answers.spec
    needed = _count_needed(answers, restaurants)
    calls = needed.calls
    passes = f"{spec.passes} pass{'es' if spec.passes > 1 else ''}"
    lines = [
        f"{number_of(needed.restaurants, 'restaurant')} with {number_of(needed.reviews, 'review')} to extract in {passes}: "
        f"{number_of(needed.questions, 'different question')}, {needed.questions - calls:,} of them in the store",
        f"calls to make: {calls:,}",
    ]
    if not calls:
        return lines
    sample = [question for _, question in needed.sample]
    counted = count(spec, sample)
    if counted is None:
        prefix = _token_range(len(spec.system.encode()))
        constant = len(spec.system.encode()) + len(json.dumps(spec.schema).encode())
        tokens, method = _token_range(needed.message_bytes + constant * calls), "estimated from bytes"
    else:
        prefix = (counted.prefix, counted.prefix)
        lengths = [len(question.user.encode()) for question in sample]
        tokens = _extrapolate(counted, lengths, len(_empty(spec).user.encode()), calls, needed.message_bytes)
        method = f"as the API counts {number_of(len(sample), 'prompt')}"
    thinks = counted is not None and not counted.able.thinking_off
    output = _output_range(spec, calls, thinking=thinks)
    lines += [
        f"tokens in: {tokens[0]:,.0f} to {tokens[1]:,.0f}, {method}",
        f"tokens out: {output[0]:,.0f} to {output[1]:,.0f}{', with thinking' if thinks else ''}",
        _cache_line(prefix),
    ]
    least, most = _usages(calls, tokens, prefix, output)
    for title, is_batch in (("live", False), ("with --batch", True))[: 1 + may_batch]:
        low, high = (prices.cost(spec.model, usage, is_batch=is_batch, calls=calls) for usage in (least, most))
        if low is None or high is None:
            return [*lines, f"cost: unknown, as there is no price for {spec.model} (--prices FILE gives one)"]
        lines.append(f"cost {title}: {format_cost(low)} to {format_cost(high)} (prices of {prices.as_of})")
    if counted is None:
        thinking = Usage(output=round(_output_range(spec, calls, thinking=True)[1] - output[1]))
        more = format_cost(prices.cost(spec.model, thinking))
        batch = " (half of that with --batch)" if may_batch else ""
        lines.append(f"up to {more} more where the model's thinking cannot be switched off{batch}")
    return [*lines, "at the upper end every tenth call is repeated"]


def _count_needed(answers: AnswerCache, restaurants: Iterable[Sequence[ReviewInput]]) -> _Needed:
    """Count the questions of all reviews, the same question once."""
    needed = _Needed()
    seen: set[int] = set()
    for reviews in restaurants:
        needed.restaurants += 1
        needed.reviews += len(reviews)
        for question in (question for review in reviews for question in answers.spec.questions(review)):
            hash_ = int(question.key[:15], 16)
            if hash_ not in seen:
                seen.add(hash_)
                if answers.find(question) is None:
                    needed.add(hash_, question)
    needed.questions = len(seen)
    return needed


def _cache_line(prefix: Range) -> str:
    some, every = CACHED_FROM
    size = f"{prefix[0]:,.0f}" if prefix[0] == prefix[1] else f"{prefix[0]:,.0f} to {prefix[1]:,.0f}"
    constant = f"the constant part of the prompt has {size} tokens"
    if prefix[1] < some:
        return (
            f"{constant}: too short for the API's cache, which begins at {some:,} to {every:,}; each call pays for it"
        )
    if prefix[0] < every:
        return f"{constant}: perhaps too short for the API's cache, which begins at {some:,} to {every:,}, by the model"
    return f"{constant}, long enough for the API's cache"


def _token_range(length: int) -> Range:
    """Return the tokens of a text of so many bytes."""
    few, many = BYTES_A_TOKEN
    return length / few, length / many


def _empty(spec: PromptSpec) -> Question:
    """Return the question about an empty review."""
    return spec.questions(ReviewInput("", "", ""))[0]


def _extrapolate(counted: Counted, lengths: Sequence[int], empty: int, calls: int, message_bytes: int) -> Range:
    """Return the tokens of all prompts, within two standard errors: those of an empty one, and a number for each further byte."""
    more = [length - empty for length in lengths]
    tokens = [prompt - counted.empty for prompt in counted.prompts]
    rate = sum(tokens) / max(1, sum(more))
    total = counted.empty * calls + rate * (message_bytes - empty * calls)
    if len(tokens) == calls:
        return total, total
    deviation = sqrt(sum((t - rate * b) ** 2 for t, b in zip(tokens, more, strict=True)) / max(1, len(tokens) - 1))
    error = max(0.01 * total, 2 * calls * deviation * sqrt((1 - len(tokens) / calls) / len(tokens)))
    return total - error, total + error


def _output_range(spec: PromptSpec, calls: int, *, thinking: bool) -> Range:
    """Return the tokens of all answers; with thinking as many as the longest answer leaves room for."""
    few, many = BYTES_A_TOKEN
    short, long = _answer_bytes(spec.fields)
    room = spec.call(Question("", "", ""), ModelCapabilities(thinking_off=not thinking)).max_tokens
    return calls * short / few, calls * min(room, long / many + room - spec.max_tokens) * (1 + REPEATED)


def _usages(calls: int, tokens: Range, prefix: Range, output: Range) -> tuple[Usage, Usage]:
    """Return the least usage, if all but the first call read the prefix from the cache, and the most, if all write it."""
    low, high = round(tokens[0]), round(tokens[1] * (1 + REPEATED))
    if prefix[1] < CACHED_FROM[0]:
        return Usage(input=low, output=round(output[0])), Usage(input=high, output=round(output[1]))
    shortest, longest = round(prefix[0]), round(prefix[1])
    least = Usage(max(0, low - shortest * calls), shortest, shortest * (calls - 1), round(output[0]))
    written = round(longest * calls * (1 + REPEATED))
    return least, Usage(max(0, high - written), min(high, written), 0, round(output[1]))


def _answer_bytes(fields: Sequence[AskedField]) -> tuple[int, int]:
    """Return the lengths of the shortest and of the longest answer to expect."""
    short = long = 2
    for asked_field in fields:
        typical = {"string": [2, 300], "boolean": [4, 5]}.get(asked_field.type, [1, 10])
        lengths = [len(name.encode()) + 2 for name, _ in asked_field.values] or typical
        key = len(asked_field.name.encode()) + 6
        short += key + min(lengths)
        long += key + max(lengths) + 300 * (bool(asked_field.evidence) + asked_field.reason)
    return short, long
