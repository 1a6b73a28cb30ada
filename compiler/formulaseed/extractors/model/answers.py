"""The cache of answers: questions, the store and a run's totals put together, shared by live calls and batches.

In: reviews and answers. Out: extractions made of stored answers. Each answer is validated again whenever it is taken out of
the store, so a store from elsewhere can bring no value that a field does not have.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from formulaseed.data.results import Extraction, ReviewInput
from formulaseed.extractors.model.ledger import Spent, UnconfirmedBatch
from formulaseed.extractors.model.prompting import PassValues, PromptSpec, Question, UnverifiedQuote, exact, majority
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
from formulaseed.llm.failures import summarize_error
from formulaseed.source.printing import number_of, printable

if TYPE_CHECKING:
    from formulaseed.llm.prices import Prices

MAX_TRIES = 5
"""How often one question is asked where the answers are unusable."""
_MOST_ROOM = 3
"""How many times the room of a first answer a repeated question has, at most."""


@dataclass
class UsageStats:
    """Counts while a run goes on. Costs are US dollars; an unknown one makes the sum unknown."""

    prices: Prices
    asked: int = 0
    """Calls that were sent in this run, and those of batches whose results it has read."""
    attempts: int = 0
    unknown: int = 0
    """Attempts of which nobody knows whether they are charged."""
    stored: int = 0
    unusable: int = 0
    """Reviews without values whose question is not asked again unless told to."""
    unanswered: int = 0
    """Calls without a usable answer that may have one when they are made again."""
    usage: Usage = Usage()
    paid: float | None = 0.0
    at_most: float | None = 0.0
    """What the unknown attempts cost at most, beside what was paid."""
    unconfirmed: Sequence[UnconfirmedBatch] = ()
    """Batches that may be billed although their creation was cut off; see `AnswerCache.unconfirmed`."""
    saved: float | None = 0.0
    quotes: int = 0
    unverified: int = 0
    compared: int = 0
    """Reviews with several passes."""
    agreed: Counter[str] = field(default_factory=Counter)
    """For each field, in how many of them all passes gave the same value."""

    def add_attempt(self, attempt: Attempt, *, is_batch: bool = False) -> None:
        self.attempts += 1
        self.asked += attempt.number == 1
        cost = 0.0 if attempt.usage is None else self.prices.cost(attempt.model, attempt.usage, is_batch=is_batch)
        if attempt.is_bound:
            self.unknown += 1
            self.at_most = sum_costs([self.at_most, cost])
        elif attempt.usage is not None:
            self.usage += attempt.usage
            self.paid = sum_costs([self.paid, cost])

    def add_lost(self, lost: Sequence[Spent]) -> None:
        """Count the attempts of a batch that has no result for them."""
        self.attempts += sum(spent.count for spent in lost)
        self.unknown += sum(spent.count for spent in lost)
        self.at_most = sum_costs([self.at_most, cost_of(lost, self.prices)])

    @property
    def upper_bound(self) -> float | None:
        """What the run has cost at most."""
        return sum_costs([self.paid, self.at_most, self.unconfirmed_usd])

    @property
    def unconfirmed_usd(self) -> float | None:
        """What the unconfirmed batches cost at most."""
        return cost_of((batch.spent for batch in self.unconfirmed), self.prices)

    def add_values(self, passes: Sequence[PassValues], chosen: PassValues) -> None:
        """Count the quotes of a review's values, and the agreement of its passes."""
        self.compared += len(passes) > 1
        for name in chosen.fields if len(passes) > 1 else ():
            self.agreed[name] += len({exact(each.fields[name]) for each in passes}) == 1
        self.quotes += len(chosen.quotes)
        self.unverified += sum(not quote.is_verified for quote in chosen.quotes.values())

    def lines(self) -> list[str]:
        """Return the closing lines, for people."""
        usage = self.usage
        paid = f"paid {format_cost(self.paid)} for {number_of(self.asked, 'call')}"
        paid += f" ({usage.prompt:,} tokens in, {usage.cache_read:,} of them cached, {usage.output:,} out)"
        saved = f"the store saved {number_of(self.stored, 'call')}, {format_cost(self.saved)}"
        shares = ", ".join(f"{name} {n / self.compared:.0%}" for name, n in self.agreed.items())
        found = {
            f"{paid}; {saved}": True,
            f"{number_of(self.unusable, 'review')} failed for good, their answers being unusable: --retry-errors asks again": (
                self.unusable
            ),
            f"{number_of(self.attempts, 'attempt')} in all": self.attempts > self.asked,
            f"{number_of(self.unknown, 'attempt')} ended without an answer that states its cost: up to "
            f"{format_cost(self.at_most)} more may have been charged": self.unknown,
            self._unconfirmed_line(): self.unconfirmed,
            "the API lists batches with their time and number of requests, in its console and at GET /v1/messages/batches; "
            "a run with --batch looks for them, too": self.unconfirmed,
            f"{self.quotes - self.unverified:,} of {number_of(self.quotes, 'quote')} found in their reviews": self.quotes,
            f"all passes agree on: {shares} of {number_of(self.compared, 'review')}": self.compared,
        }
        return [line for line, is_shown in found.items() if is_shown]

    def _unconfirmed_line(self) -> str:
        cost = format_cost(self.unconfirmed_usd)
        batches = "a batch" if len(self.unconfirmed) == 1 else f"{len(self.unconfirmed)} batches"
        created = ", ".join(map(created_text, self.unconfirmed))
        return f"at most {cost} may have been billed for {batches} whose creation was cut off: {created}"


class AnswerCache:
    """Caches answers. A question whose answers are unusable is asked `MAX_TRIES` times over all runs.

    With `retry_errors` the unusable answers of earlier runs do not count.
    """

    def __init__(self, spec: PromptSpec, store: Store, usage: UsageStats, *, retry_errors: bool = False) -> None:
        self.spec = spec
        self.usage = usage
        self.store = store
        self._retry_errors = retry_errors
        self._retried: set[str] = set()

    def find(self, question: Question) -> StoredAnswer | None:
        """Return the stored answer to a question; None where it has to be asked."""
        stored = self.store.get(question.key)
        if stored is not None and stored.content is not None:
            try:
                self.spec.values(stored.content, question.text)
                return stored
            except UnverifiedQuote as error:  # of a batch, whose results come without the reviews
                self.store.reject(question.key, str(error))
                self._retried.add(question.key)
                stored = replace(stored, content=None, reason=str(error))
            except UnusableAnswer:  # from elsewhere: a call's answer is validated before it is stored
                self.store.forget(question.key)
                return None
        return stored if self._tries(question.key, stored) >= MAX_TRIES else None

    def call(self, question: Question, able: ModelCapabilities) -> ModelCall:
        """Return the question as a call; after an answer that was unusable with more room, and with what was wrong."""
        last = self.store.get(question.key)
        rejected = last.reason if last is not None and last.content is None else ""
        return self.spec.call(question, able, min(self._tries(question.key, last) + 1, _MOST_ROOM), rejected)

    def _tries(self, key: str, stored: StoredAnswer | None) -> int:
        return 0 if stored is None or (self._retry_errors and key not in self._retried) else stored.tries

    def count_stored(self, stored: StoredAnswer) -> None:
        """Count an answer that did not have to be asked for."""
        self.usage.stored += 1
        cost = self.usage.prices.cost(self.spec.model, stored.usage, is_batch=stored.is_batch)
        self.usage.saved = sum_costs([self.usage.saved, cost])

    def read(self, key: str, answer: Answer, text: str | None = None, *, is_batch: bool = False) -> StoredAnswer:
        """Store an answer's content, or why it is unusable.

        Quotes are verified in the review's text; without it, when the answer is found.
        """
        tries = self._tries(key, self.store.get(key)) + 1
        try:
            stored = StoredAnswer(self.spec.read(answer, text), "", answer.usage, is_batch, tries)
        except UnusableAnswer as error:
            stored = StoredAnswer(None, printable(summarize_error(error)), answer.usage, is_batch, tries)
            self._retried.add(key)
        self.store.put(key, self.spec.model, stored)
        return stored

    def begin(self, call: ModelCall) -> int:
        """Note an attempt before it is sent. Raises `AskedElsewhere` where another process asks, or has the answer."""
        return self.store.ledger.begin(call, lambda: self._is_needed(call.key))

    def _is_needed(self, key: str) -> bool:
        stored = self.store.get(key)
        return stored is None or (stored.content is None and self._tries(key, stored) < MAX_TRIES)

    def attempted(self, attempt: Attempt, *, is_batch: bool = False) -> None:
        """Count an attempt that has ended, and settle it in the ledger."""
        self.usage.add_attempt(attempt, is_batch=is_batch)
        self.store.ledger.settle(attempt)

    def unconfirmed(self) -> Sequence[UnconfirmedBatch]:
        """Return the batches that may be billed although their creation was cut off, and note them in the usage.

        These are batches of any run with an unanswered question, and those that counted earlier in this run.
        """
        counted = {batch.number for batch in self.usage.unconfirmed}
        batches = self.store.ledger.unconfirmed_batches(self.spec.id)
        self.usage.unconfirmed = [each for each in batches if each.is_unanswered or each.number in counted]
        return self.usage.unconfirmed

    def lines(self) -> list[str]:
        """Return the closing lines, for people."""
        with suppress(StoreError):  # of which the run itself has reported
            self.unconfirmed()
        lost, cost = (
            sum(each.count for each in self.store.ledger.lost),
            cost_of(self.store.ledger.lost, self.usage.prices),
        )
        line = f"{number_of(lost, 'call')} in flight when an earlier run ended: up to {format_cost(cost)} may have been charged"
        return [*self.usage.lines(), *([line] if lost else [])]

    def extraction(self, review: ReviewInput, passes: Sequence[StoredAnswer]) -> Extraction:
        """Return the review's values by the majority of its passes. One pass without values fails the review."""
        failed = [each.reason for each in passes if each.content is None]
        if failed:
            self.usage.unusable += any(each.content is None and each.tries >= MAX_TRIES for each in passes)
            return Extraction(review.review_id, None, failed[0])
        if not passes:
            return Extraction(review.review_id, {})
        values = [self.spec.values(each.content, review.text) for each in passes]
        chosen = majority(values)
        self.usage.add_values(values, chosen)
        return Extraction(review.review_id, chosen.fields, quotes=chosen.quotes, reasons=chosen.reasons)

    def unanswered(
        self, restaurants: Iterable[Sequence[ReviewInput]], again: Collection[str] = ()
    ) -> Iterator[Question]:
        """Yield the questions that the store has no answer to, or whose keys are in `again`.

        In the order of the reviews; the same text twice is the same question twice.
        """
        for reviews in restaurants:
            for review in reviews:
                for question in self.spec.questions(review):
                    if question.key in again or self.find(question) is None:
                        yield question


def created_text(batch: UnconfirmedBatch) -> str:
    """Return how large a batch is and when its creation began, for people."""
    return f"{number_of(batch.spent.count, 'call')} at {time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(batch.at))}"


def cost_of(attempts: Iterable[Spent], prices: Prices) -> float | None:
    """Return what attempts cost in US dollars; None where that is unknown."""
    costs = [
        None if each.usage is None else prices.cost(each.model, each.usage, is_batch=each.is_batch, calls=each.count)
        for each in attempts
    ]
    return sum_costs(costs)
