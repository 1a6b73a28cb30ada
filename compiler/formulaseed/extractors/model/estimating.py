"""Estimates what asking a model would cost, before anything is asked.

The calls are counted exactly, since the filter, the texts and the store determine them. If the API can be reached, it counts the
tokens of a sample of the prompts, which is free; otherwise tokens are estimated from bytes. Costs are ranges: the upper end
assumes longer answers, thinking if the model's thinking cannot be turned off, and repeated calls.
"""

from __future__ import annotations

import asyncio
import heapq
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from math import sqrt

from formulaseed.data.results import ReviewInput
from formulaseed.errors import FormulaSeedError
from formulaseed.extractors.base import AskedField
from formulaseed.extractors.model.answers import AnswerCache
from formulaseed.extractors.model.prompting import PromptSpec, Question
from formulaseed.llm.calls import ModelCapabilities, Usage, format_cost
from formulaseed.llm.client import Client
from formulaseed.llm.connecting import Limits
from formulaseed.llm.limiter import CostBudget, Prices, read_prices
from formulaseed.source.printing import number_of

SAMPLE_SIZE = 20
"""The number of prompts whose tokens the API counts."""
MIN_CACHED_TOKENS = (1_024, 4_096)
"""The length in tokens from which a prefix is cached, by some models and by all models."""
REPEATED_SHARE = 0.1
"""The share of calls that the upper end repeats because of unusable answers."""
BYTES_PER_TOKEN = (5.5, 2.5)
"""The most and the fewest bytes of text in a token."""
_SECONDS_TO_COUNT = 30.0
_LIMITS = Limits(retries=2, timeout=10.0, deadline=_SECONDS_TO_COUNT)

TokenRange = tuple[float, float]
"""The fewest and the most tokens."""


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Numbers of tokens by the API: of some prompts, of a prompt about an empty review, and of the prefix of all prompts."""

    prompts: Sequence[int]
    empty: int
    prefix: int
    capabilities: ModelCapabilities


CountTokens = Callable[[PromptSpec, Sequence[Question]], TokenCounts | None]
"""Counts the tokens of questions; returns None if that is not possible."""


def count_tokens_by_api(spec: PromptSpec, questions: Sequence[Question]) -> TokenCounts | None:
    """Return the tokens of `questions` as the API counts them, which is free; None if it cannot be reached or does not answer."""

    async def count() -> TokenCounts:
        """Return the counts. Raises `FormulaSeedError` or `TimeoutError` if the API gives none."""
        async with (
            aclosing(Client(_LIMITS, CostBudget(read_prices(), None))) as client,
            asyncio.timeout(_SECONDS_TO_COUNT),
        ):
            capabilities = await client.capabilities(spec.model)
            calls = [spec.build_call(question, capabilities) for question in (*questions, _build_empty_question(spec))]
            prefix = replace(calls[0], user=".", schema={})
            counts = await asyncio.gather(*map(client.count_tokens, [*calls, prefix]))
            return TokenCounts(counts[:-2], counts[-2], counts[-1], capabilities)

    try:
        return asyncio.run(count())
    except (FormulaSeedError, TimeoutError):
        return None


@dataclass(slots=True)
class _NeededCalls:
    """The numbers of different questions of all reviews, and of calls for those without a stored answer."""

    restaurants: int = 0
    reviews: int = 0
    questions: int = 0
    calls: int = 0
    message_bytes: int = 0
    """The length of the user messages of all calls together."""
    sample: list[tuple[int, Question]] = field(default_factory=list)
    """A random sample of the questions to ask: those with the smallest hashes, as a heap of negated hashes."""

    def add(self, hash_: int, question: Question) -> None:
        """Count a call for a question and the bytes of its message, and put it into the sample.

        The sample keeps the `SAMPLE_SIZE` questions with the smallest `hash_`, so that it is random but always the
        same.
        """
        self.calls += 1
        self.message_bytes += len(question.user.encode())
        push = heapq.heappush if len(self.sample) < SAMPLE_SIZE else heapq.heappushpop
        push(self.sample, (-hash_, question))


def estimate_cost(
    answers: AnswerCache,
    restaurants: Iterable[Sequence[ReviewInput]],
    prices: Prices,
    count_tokens: CountTokens,
    *,
    may_batch: bool = True,
) -> list[str]:
    """Return lines for people about the calls that a run would make, and their costs in US dollars.

    With `may_batch`, the lines include the cost in batches. `count_tokens` counts the tokens of a sample of the
    questions; if it returns None, they are estimated from bytes. The lines say so if there is no price for the model.
    """
    spec = answers.spec
    needed = _count_needed_calls(answers, restaurants)
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
    counts = count_tokens(spec, sample)
    if counts is None:
        prefix = _estimate_tokens(len(spec.system.encode()))
        constant = len(spec.system.encode()) + len(json.dumps(spec.schema).encode())
        tokens = _estimate_tokens(needed.message_bytes + constant * calls)
        method = "estimated from bytes"
    else:
        prefix = (counts.prefix, counts.prefix)
        lengths = [len(question.user.encode()) for question in sample]
        empty_length = len(_build_empty_question(spec).user.encode())
        tokens = _extrapolate_tokens(counts, lengths, empty_length, calls, needed.message_bytes)
        method = f"as the API counts {number_of(len(sample), 'prompt')}"
    thinks = counts is not None and not counts.capabilities.thinking_off
    output = _estimate_output(spec, calls, thinking=thinks)
    lines += [
        f"tokens in: {tokens[0]:,.0f} to {tokens[1]:,.0f}, {method}",
        f"tokens out: {output[0]:,.0f} to {output[1]:,.0f}{', with thinking' if thinks else ''}",
        _describe_cache(prefix),
    ]
    usages = _estimate_usage(calls, tokens, prefix, output)
    ways = [("live", False), ("with --batch", True)] if may_batch else [("live", False)]
    for title, is_batch in ways:
        low, high = (prices.cost(spec.model, usage, is_batch=is_batch, calls=calls) for usage in usages)
        if low is None or high is None:
            return [*lines, f"cost: unknown, as there is no price for {spec.model} (--prices FILE gives one)"]
        lines.append(f"cost {title}: {format_cost(low)} to {format_cost(high)} (prices of {prices.as_of})")
    if counts is None:
        thinking = Usage(output=round(_estimate_output(spec, calls, thinking=True)[1] - output[1]))
        more = format_cost(prices.cost(spec.model, thinking))
        batch = " (half of that with --batch)" if may_batch else ""
        lines.append(f"up to {more} more where the model's thinking cannot be switched off{batch}")
    return [*lines, "at the upper end every tenth call is repeated"]


def _count_needed_calls(answers: AnswerCache, restaurants: Iterable[Sequence[ReviewInput]]) -> _NeededCalls:
    """Count the questions of all reviews, and the calls for those without an answer; the same question counts once."""
    needed = _NeededCalls()
    seen: set[int] = set()
    for reviews in restaurants:
        needed.restaurants += 1
        needed.reviews += len(reviews)
        for question in (question for review in reviews for question in answers.spec.build_questions(review)):
            # 60 bits of the key are enough to tell questions apart, and need little memory
            hash_ = int(question.key[:15], 16)
            if hash_ not in seen:
                seen.add(hash_)
                if answers.find(question) is None:
                    needed.add(hash_, question)
    needed.questions = len(seen)
    return needed


def _describe_cache(prefix: TokenRange) -> str:
    """Return a line about the length of the constant part of the prompt, and whether the API caches it."""
    some, every = MIN_CACHED_TOKENS
    size = f"{prefix[0]:,.0f}" if prefix[0] == prefix[1] else f"{prefix[0]:,.0f} to {prefix[1]:,.0f}"
    constant = f"the constant part of the prompt has {size} tokens"
    if prefix[1] < some:
        return (
            f"{constant}: too short for the API's cache, which begins at {some:,} to {every:,}; each call pays for it"
        )
    if prefix[0] < every:
        return f"{constant}: perhaps too short for the API's cache, which begins at {some:,} to {every:,}, by the model"
    return f"{constant}, long enough for the API's cache"


def _estimate_tokens(length: int) -> TokenRange:
    """Return the fewest and the most tokens of a text of `length` bytes."""
    most_bytes, fewest_bytes = BYTES_PER_TOKEN
    return length / most_bytes, length / fewest_bytes


def _build_empty_question(spec: PromptSpec) -> Question:
    """Return the question about an empty review."""
    return spec.build_questions(ReviewInput("", "", ""))[0]


def _extrapolate_tokens(
    counts: TokenCounts, lengths: Sequence[int], empty_length: int, calls: int, message_bytes: int
) -> TokenRange:
    """Return the tokens of the prompts of all `calls`: the estimate minus and plus two standard errors, at least 1 %.

    Both are exact if all prompts were counted. Assumes the tokens of a prompt about an empty review, plus a constant
    number for each further byte of the message. `lengths` are the bytes of the counted messages, `message_bytes` those
    of all messages.
    """
    more_bytes = [length - empty_length for length in lengths]
    tokens = [prompt - counts.empty for prompt in counts.prompts]
    rate = sum(tokens) / max(1, sum(more_bytes))
    total = counts.empty * calls + rate * (message_bytes - empty_length * calls)
    if len(tokens) == calls:  # all prompts were counted
        return total, total
    squares = sum((t - rate * b) ** 2 for t, b in zip(tokens, more_bytes, strict=True))
    deviation = sqrt(squares / max(1, len(tokens) - 1))
    error = max(0.01 * total, 2 * calls * deviation * sqrt((1 - len(tokens) / calls) / len(tokens)))
    return total - error, total + error


def _estimate_output(spec: PromptSpec, calls: int, *, thinking: bool) -> TokenRange:
    """Return the fewest and the most tokens of all answers; with `thinking`, the most include all tokens that it may use."""
    most_bytes, fewest_bytes = BYTES_PER_TOKEN
    short, long = _estimate_answer_length(spec.fields)
    limit = spec.build_call(Question("", "", ""), ModelCapabilities(thinking_off=not thinking)).max_tokens
    longest = min(limit, long / fewest_bytes + limit - spec.max_tokens)
    return calls * short / most_bytes, calls * longest * (1 + REPEATED_SHARE)


def _estimate_usage(calls: int, tokens: TokenRange, prefix: TokenRange, output: TokenRange) -> tuple[Usage, Usage]:
    """Return the least usage, if all but the first call read the prefix from the cache, and the most, if all write it.

    A prefix that is too short for any cache counts as uncached input in both. The most includes repeated calls.
    """
    low = round(tokens[0])
    high = round(tokens[1] * (1 + REPEATED_SHARE))
    if prefix[1] < MIN_CACHED_TOKENS[0]:
        return Usage(input=low, output=round(output[0])), Usage(input=high, output=round(output[1]))
    shortest = round(prefix[0])
    least = Usage(max(0, low - shortest * calls), shortest, shortest * (calls - 1), round(output[0]))
    written = round(round(prefix[1]) * calls * (1 + REPEATED_SHARE))
    return least, Usage(max(0, high - written), min(high, written), 0, round(output[1]))


def _estimate_answer_length(fields: Sequence[AskedField]) -> tuple[int, int]:
    """Return the lengths in bytes of the shortest and the longest answer that is to be expected.

    Only the longest has quotes and reasons, of about 300 bytes each.
    """
    short = long = 2
    for asked_field in fields:
        typical = {"string": [2, 300], "boolean": [4, 5]}.get(asked_field.type, [1, 10])
        lengths = [len(name.encode()) + 2 for name, _ in asked_field.values] or typical
        key = len(asked_field.name.encode()) + 6
        short += key + min(lengths)
        long += key + max(lengths) + 300 * (bool(asked_field.evidence) + asked_field.reason)
    return short, long
