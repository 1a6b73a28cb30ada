"""Caches answers: combines the questions, the store and the totals of a run, for live calls and for batches.

In: reviews and answers. Out: extractions made from stored answers. An answer is validated again whenever it is read from the
store, so that a store from elsewhere cannot introduce a value that the seed does not allow.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from formulaseed.data.results import Extraction, ReviewInput
from formulaseed.extractors.model import prompting
from formulaseed.extractors.model.ledger import Spending, UnconfirmedBatch
from formulaseed.extractors.model.store import Store, StoredAnswer
from formulaseed.extractors.model.store_file import StoreError
from formulaseed.llm.calls import (
    Answer,
    Attempt,
    ModelCall,
    ModelCapabilities,
    UnusableAnswer,
    Usage,
    format_cost,
    sum_costs,
)
from formulaseed.llm.connecting import summarize_error
from formulaseed.llm.limiter import Prices
from formulaseed.source.printing import number_of, printable

MAX_TRIES = 5
"""The most times that one question is asked if its answers are unusable."""
_MAX_LENGTH_FACTOR = 3
"""The most that a repeated question multiplies the token limit of the first answer by."""


@dataclass
class UsageStats:
    """The totals of a run in progress. Costs are in US dollars; None if one of the summands is unknown."""

    prices: Prices
    calls: int = 0
    """The calls that were sent in this run, and those of batches whose results it has read."""
    attempts: int = 0
    unknown: int = 0
    """The attempts that the API may or may not charge for."""
    stored: int = 0
    """The answers that were already in the store."""
    unusable: int = 0
    """The reviews without values whose questions are asked again only with `--retry-errors`."""
    unanswered: int = 0
    """The calls without a usable answer that may get one in another run."""
    usage: Usage = Usage()
    paid_usd: float | None = 0.0
    max_unknown_usd: float | None = 0.0
    """The most that the unknown attempts can cost, in addition to `paid_usd`."""
    unconfirmed: Sequence[UnconfirmedBatch] = ()
    """The batches that may be billed although their creation was cut off; see `AnswerCache.update_unconfirmed`."""
    saved_usd: float | None = 0.0
    quotes: int = 0
    unverified: int = 0
    compared: int = 0
    """The reviews with several passes."""
    agreed: Counter[str] = field(default_factory=Counter)
    """The number of compared reviews in which all passes gave the same value, by field."""

    def add_attempt(self, attempt: Attempt, *, is_batch: bool = False) -> None:
        """Count an attempt that has ended, and its cost; the first attempt of a call also counts as a call.

        A cost that is only a bound is added to `max_unknown_usd`, any other to `paid_usd`; the sum becomes None if the
        model has no price. `is_batch` takes the price of batches.
        """
        self.attempts += 1
        self.calls += attempt.number == 1
        cost: float | None = 0.0
        if attempt.usage is not None:
            cost = self.prices.cost(attempt.model, attempt.usage, is_batch=is_batch)
        if attempt.is_bound:
            self.unknown += 1
            self.max_unknown_usd = sum_costs([self.max_unknown_usd, cost])
        elif attempt.usage is not None:
            self.usage += attempt.usage
            self.paid_usd = sum_costs([self.paid_usd, cost])

    def add_lost(self, lost: Sequence[Spending]) -> None:
        """Count the attempts of a batch that has no result for them, as unknown ones with their highest cost.

        The bound of the unknown costs becomes None if one of them has no price.
        """
        count = sum(spending.count for spending in lost)
        self.attempts += count
        self.unknown += count
        self.max_unknown_usd = sum_costs([self.max_unknown_usd, price_attempts(lost, self.prices)])

    @property
    def max_total_usd(self) -> float | None:
        """The most that the run can have cost; None if that is unknown."""
        return sum_costs([self.paid_usd, self.max_unknown_usd, self.max_unconfirmed_usd])

    @property
    def max_unconfirmed_usd(self) -> float | None:
        """The most that the unconfirmed batches can cost; None if that is unknown."""
        return price_attempts((batch.spending for batch in self.unconfirmed), self.prices)

    def add_values(self, passes: Sequence[prompting.PassValues], chosen: prompting.PassValues) -> None:
        """Count the quotes of a review's `chosen` values and, of several passes, the fields in which all passes agree."""
        if len(passes) > 1:
            self.compared += 1
            for name in chosen.fields:
                self.agreed[name] += len({prompting.exact_key(values.fields[name]) for values in passes}) == 1
        self.quotes += len(chosen.quotes)
        self.unverified += sum(not quote.is_verified for quote in chosen.quotes.values())

    def closing_lines(self) -> list[str]:
        """Return the lines about costs, quotes and passes that end the run's report.

        Lines about events that did not occur are left out; the first is always there.
        """
        usage = self.usage
        paid = f"paid {format_cost(self.paid_usd)} for {number_of(self.calls, 'call')}"
        paid += f" ({usage.prompt:,} tokens in, {usage.cache_read:,} of them cached, {usage.output:,} out)"
        saved = f"the store saved {number_of(self.stored, 'call')}, {format_cost(self.saved_usd)}"
        shares = ", ".join(f"{name} {n / self.compared:.0%}" for name, n in self.agreed.items())
        lines = {
            f"{paid}; {saved}": True,
            f"{number_of(self.unusable, 'review')} failed for good, their answers being unusable: --retry-errors asks again": (
                self.unusable
            ),
            f"{number_of(self.attempts, 'attempt')} in all": self.attempts > self.calls,
            f"{number_of(self.unknown, 'attempt')} ended without an answer that states its cost: up to "
            f"{format_cost(self.max_unknown_usd)} more may have been charged": self.unknown,
            self._describe_unconfirmed(): self.unconfirmed,
            "the API lists batches with their time and number of requests, in its console and at GET /v1/messages/batches; "
            "a run with --batch looks for them, too": self.unconfirmed,
            f"{self.quotes - self.unverified:,} of {number_of(self.quotes, 'quote')} found in their reviews": self.quotes,
            f"all passes agree on: {shares} of {number_of(self.compared, 'review')}": self.compared,
        }
        return [line for line, condition in lines.items() if condition]

    def _describe_unconfirmed(self) -> str:
        """Return a line about the most that the unconfirmed batches cost, with their sizes and times."""
        cost = format_cost(self.max_unconfirmed_usd)
        batches = "a batch" if len(self.unconfirmed) == 1 else f"{len(self.unconfirmed)} batches"
        created = ", ".join(map(describe_creation, self.unconfirmed))
        return f"at most {cost} may have been billed for {batches} whose creation was cut off: {created}"


class AnswerCache:
    """The cache of answers. A question whose answers are unusable is asked `MAX_TRIES` times over all runs.

    With `retry_errors`, the unusable answers of earlier runs do not count.
    """

    def __init__(
        self, spec: prompting.PromptSpec, store: Store, usage: UsageStats, *, retry_errors: bool = False
    ) -> None:
        self.spec = spec
        self.usage = usage
        self.store = store
        self._retry_errors = retry_errors
        self._retried: set[str] = set()

    def find(self, question: prompting.Question) -> StoredAnswer | None:
        """Return the stored answer to a question; None if the question has to be asked.

        An answer without a usable content is returned if the question may not be asked again. Marks a stored answer as unusable
        if its required quote is not in the review, and deletes one that the seed does not allow.
        """
        stored = self.store.get(question.key)
        if stored is not None and stored.content is not None:
            try:
                self.spec.read_values(stored.content, question.text)
                return stored
            except prompting.UnverifiedQuote as error:  # an answer of a batch, whose results come without the reviews
                self.store.reject(question.key, str(error))
                self._retried.add(question.key)
                stored = replace(stored, content=None, reason=str(error))
            except UnusableAnswer:  # an imported answer: a call's answer is validated before it is stored
                self.store.forget(question.key)
                return None
        return stored if self._count_tries(question.key, stored) >= MAX_TRIES else None

    def build_call(self, question: prompting.Question, capabilities: ModelCapabilities) -> ModelCall:
        """Return the question as a call. After an unusable answer it has a higher token limit, and states the reason."""
        last = self.store.get(question.key)
        rejection = last.reason if last is not None and last.content is None else ""
        length_factor = min(self._count_tries(question.key, last) + 1, _MAX_LENGTH_FACTOR)
        return self.spec.build_call(question, capabilities, length_factor, rejection)

    def _count_tries(self, key: str, stored: StoredAnswer | None) -> int:
        """Return the number of times that a question was asked, as far as they count.

        It is 0 without a stored answer, and with `retry_errors` until this run gets an unusable answer.
        """
        if stored is None or (self._retry_errors and key not in self._retried):
            return 0
        return stored.tries

    def count_stored(self, stored: StoredAnswer) -> None:
        """Count an answer that was in the store, and the cost that it saved."""
        self.usage.stored += 1
        cost = self.usage.prices.cost(self.spec.model, stored.usage, is_batch=stored.is_batch)
        self.usage.saved_usd = sum_costs([self.usage.saved_usd, cost])

    def store_answer(
        self, key: str, answer: Answer, text: str | None = None, *, is_batch: bool = False
    ) -> StoredAnswer:
        """Store the content of an answer, or the reason why it is unusable, with the number of tries; return what was stored.

        A question with an unusable answer counts as asked in this run. Required quotes are verified in the review's
        `text`; with None, `find` verifies them later. `is_batch` says that the answer came in a batch, at its price.
        """
        tries = self._count_tries(key, self.store.get(key)) + 1
        try:
            stored = StoredAnswer(self.spec.read_answer(answer, text), "", answer.usage, is_batch, tries)
        except UnusableAnswer as error:
            stored = StoredAnswer(None, printable(summarize_error(error)), answer.usage, is_batch, tries)
            self._retried.add(key)
        self.store.put(key, self.spec.model, stored)
        return stored

    def begin(self, call: ModelCall) -> int:
        """Record an attempt in the ledger before it is sent; return its number.

        Raises `AskedElsewhere` if another process or a batch is asking the question, or if its answer is in the store by now.
        """
        return self.store.ledger.begin(call, lambda: self._is_needed(call.key))

    def _is_needed(self, key: str) -> bool:
        """Return whether a question has no usable answer, and may be asked again."""
        stored = self.store.get(key)
        return stored is None or (stored.content is None and self._count_tries(key, stored) < MAX_TRIES)

    def settle_attempt(self, attempt: Attempt, *, is_batch: bool = False) -> None:
        """Count an attempt that has ended, and settle it in the ledger."""
        self.usage.add_attempt(attempt, is_batch=is_batch)
        self.store.ledger.settle(attempt)

    def update_unconfirmed(self) -> Sequence[UnconfirmedBatch]:
        """Set `usage.unconfirmed` to the batches that may be billed although their creation was cut off, and return them.

        These are the batches of any run with an unanswered question, and the batches that were unconfirmed earlier in this run.
        """
        earlier = {batch.number for batch in self.usage.unconfirmed}
        batches = self.store.ledger.find_unconfirmed_batches(self.spec.id)
        self.usage.unconfirmed = [batch for batch in batches if batch.is_unanswered or batch.number in earlier]
        return self.usage.unconfirmed

    def closing_lines(self) -> list[str]:
        """Return the lines about costs, quotes, passes, and calls that earlier runs lost, which end the run's report.

        Updates `usage.unconfirmed` first; an error of the store is ignored.
        """
        with suppress(StoreError):  # the run itself has reported this error
            self.update_unconfirmed()
        lines = self.usage.closing_lines()
        lost = self.store.ledger.lost
        if lost:
            calls = number_of(sum(spending.count for spending in lost), "call")
            cost = format_cost(price_attempts(lost, self.usage.prices))
            lines.append(f"{calls} in flight when an earlier run ended: up to {cost} may have been charged")
        return lines

    def make_extraction(self, review: ReviewInput, passes: Sequence[StoredAnswer]) -> Extraction:
        """Return the majority of a review's passes as its extraction, and count its values and quotes in `usage`.

        It fails with the reason of the first pass without values, if there is one; such a failure counts as unusable if
        the question may not be asked again. Without passes the extraction has no fields.
        """
        failed = [answer for answer in passes if answer.content is None]
        if failed:
            self.usage.unusable += any(answer.tries >= MAX_TRIES for answer in failed)
            return Extraction(review.review_id, None, failed[0].reason)
        if not passes:
            return Extraction(review.review_id, {})
        values = [self.spec.read_values(answer.content, review.text) for answer in passes]
        chosen = prompting.choose_majority(values)
        self.usage.add_values(values, chosen)
        return Extraction(review.review_id, chosen.fields, quotes=chosen.quotes, reasons=chosen.reasons)

    def find_unanswered(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[prompting.Question]:
        """Yield the questions that have to be asked, in the order of the reviews.

        Yields the same question again if two reviews have the same text. Reads `restaurants` only as far as it is
        iterated.
        """
        for reviews in restaurants:
            for review in reviews:
                for question in self.spec.build_questions(review):
                    if self.find(question) is None:
                        yield question


def describe_creation(batch: UnconfirmedBatch) -> str:
    """Return the size of a batch and the time when its creation began, for people."""
    began = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(batch.at))
    return f"{number_of(batch.spending.count, 'call')} at {began}"


def price_attempts(attempts: Iterable[Spending], prices: Prices) -> float | None:
    """Return the cost of attempts in US dollars; None if the usage or the price of any of them is unknown."""
    costs: list[float | None] = []
    for spending in attempts:
        cost = None
        if spending.usage is not None:
            cost = prices.cost(spending.model, spending.usage, is_batch=spending.is_batch, calls=spending.count)
        costs.append(cost)
    return sum_costs(costs)
