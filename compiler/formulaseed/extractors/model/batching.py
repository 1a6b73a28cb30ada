"""Asks a model about reviews in batches, at half the price and within a day.

A batch and its questions are in the ledger before it is created, so that none is created twice: where nobody knows whether
a creation arrived, the batch is looked for among those of the API, and the ids of its calls prove which one it is. Then
each result is stored once, whoever reads it. What the budget does not allow at once follows when the results have shown
what the calls before have cost. A batch that the API does not list stays in the ledger and counts with its bound: it may
exist. Its questions are sent again after a growing wait, and not for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from formulaseed.data.results import CUT_OFF, NOT_ASKED, Extraction, ReviewInput
from formulaseed.extractors.base import SyncExtractor
from formulaseed.extractors.model.answers import MAX_TRIES, AnswerCache, cost_of
from formulaseed.extractors.model.ledger import OpenBatch
from formulaseed.extractors.model.store import StoredAnswer
from formulaseed.llm.batches import BatchClient, BatchMayExist, BatchResult
from formulaseed.llm.calls import ModelCall, ModelCapabilities, Usage, build_request
from formulaseed.llm.connecting import Limits
from formulaseed.llm.failures import CallFailed
from formulaseed.llm.interruption import Interruption
from formulaseed.llm.limiter import CostBudget
from formulaseed.source.printing import number_of

ROUNDS = 3
"""How often a question without a usable answer is sent, and how often in a row the creation of a batch may be cut off."""
MOST_REQUESTS = 10_000
MOST_BYTES = 32 * 1024 * 1024
"""The limits of a batch. The API accepts 100,000 requests and 256 MB; this much fits into any memory."""
SECONDS_TO_APPEAR = 60.0
"""For which a batch whose creation was cut off is looked for before its questions are sent again; twice as long each time."""
_SECONDS_TO_ARRIVE = 900.0
"""After which a creation is not under way any more."""
_CLOCKS_DIFFER = 300.0
"""Seconds by which the API's clock may be behind ours."""
_READS = 5
"""How often the results of a batch are read where they are incomplete."""
MOST_SECONDS_BETWEEN_POLLS = 600.0
SECONDS_AWAY = 48 * 3600.0
"""For which a wait goes on while the API does not answer. A batch ends within a day, and its results stay for 29."""

Reviews = Callable[[], Iterable[Sequence[ReviewInput]]]
"""The reviews from the start, each time it is called."""


class BatchExtractor(SyncExtractor):
    """Asks about all `reviews`; then it extracts from the store alone.

    `notify` is called with the progress; `poll` is the seconds between two polls. `clock` returns the time in seconds since
    1970, and `sleep` waits for a number of seconds.
    """

    stopped = ""
    can_resume = False

    def __init__(
        self,
        answers: AnswerCache,
        limits: Limits,
        reviews: Reviews,
        *,
        most_usd: float | None = None,
        poll: float = 30.0,
        notify: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = answers.spec.extractor
        self.prompt_sha256 = answers.spec.prompt_sha256
        self._answers = answers
        self._ledger = answers.store.ledger
        self._limits = limits
        self._reviews = reviews
        self._most_usd = most_usd
        self._poll = poll
        self._notify = notify
        self._clock = clock
        self._sleep = sleep
        self._bound = 0.0
        self._sent: Counter[str] = Counter()
        """How often each question was sent in this run, by its key."""
        self._paid: set[str] = set()
        """The questions whose results this run has read, by their keys: any other answer was saved."""
        self._failures: dict[str, str] = {}
        """Why a question has no usable answer, by its key."""
        self._hopeless: set[str] = set()
        """The questions that are not sent again."""
        self._incomplete: Counter[int] = Counter()
        self._looked_for: dict[int, float] = {}
        """Since when a batch without an id is looked for, by its number."""
        self._cut_off: set[int] = set()
        """The batches whose creation was cut off in this run, by their numbers."""
        self._cut_off_in_a_row = 0
        """How many creations were cut off since the last one that succeeded, and are not listed by the API."""
        self._capabilities = ModelCapabilities()

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        self.ask()
        yield from super().extract_all(restaurants)

    def ask(self) -> None:
        """Have every question answered, as far as possible. Raises `FormulaSeedError` if the API cannot be used."""
        with asyncio.Runner() as runner, Interruption() as interruption:
            interruption.run(runner, self._ask())

    def extract(self, review: ReviewInput) -> Extraction:
        passes = []
        for question in self._answers.spec.questions(review):
            stored = self._answers.find(question)
            if stored is not None and question.key not in self._paid:
                self._answers.count_stored(stored)
            passes.append(stored or StoredAnswer(None, self._failures.get(question.key, NOT_ASKED), Usage()))
        return self._answers.extraction(review, passes)

    async def _ask(self) -> None:
        """Send what is missing, wait for its results, and begin again, until nothing is missing or may be sent."""
        try:
            if not self._open() and next(self._answers.unanswered(self._reviews()), None) is None:
                return
            self._answers.unconfirmed()  # which count in this run, also after their questions are answered
            budget = CostBudget(self._answers.usage.prices, None)
            async with contextlib.aclosing(BatchClient(self._limits, budget)) as client:
                self._capabilities = await client.capabilities(self._answers.spec.model)
                while await self._send_all(client) or self._open():
                    await self._wait(client)
            # the limit of money holds for each run
            self.can_resume = self._answers.usage.asked > 0 and self._cut_off_in_a_row < ROUNDS
        except CallFailed as error:
            self.stopped, self.can_resume = str(error), error.may_pass or bool(self._incomplete)

    def _open(self) -> list[OpenBatch]:
        return self._ledger.open_batches(self._answers.spec.id)

    # --- what is sent

    async def _send_all(self, client: BatchClient) -> bool:
        """Send what is missing, as far as the budget allows; return whether there is something to wait for."""
        self.stopped = ""
        self._ledger.recover()
        if self._has_reopened():
            return True
        if self._cut_off_in_a_row >= ROUNDS:
            self.stopped = (
                f"the creation of a batch was cut off {ROUNDS} times in a row, and the API lists no such batch"
            )
            return False
        is_elsewhere = False
        for calls in self._batches(self._missing()):
            number, free = self._ledger.begin_batch(self._answers.spec.id, calls)
            is_elsewhere = is_elsewhere or len(free) < len(calls)
            if free:
                await self._create(client, number, free)
                self.stopped = ""  # what the budget does not allow now, it may when the results are there
                if number in self._cut_off:
                    return True  # whatever cuts off creations must not cut off the next one, too
        if is_elsewhere and not self._open():
            await self._sleep(min(self._poll, 1.0))  # another process asks these live
        return is_elsewhere

    def _has_reopened(self) -> bool:
        """Open the unconfirmed batches of earlier runs again, which the API may list by now; return whether there are any.

        Each counts as a creation that was cut off, but a run may create a batch at least once.
        """
        numbers = self._ledger.reopen(self._answers.spec.id, self._looked_for.keys())
        self._looked_for.update(dict.fromkeys(numbers, -math.inf))
        if numbers and self._cut_off_in_a_row < ROUNDS:
            self._cut_off_in_a_row = min(self._cut_off_in_a_row + len(numbers), ROUNDS - 1)
        return bool(numbers)

    async def _create(self, client: BatchClient, number: int, calls: list[ModelCall]) -> None:
        """Create a batch. Where this is interrupted, it is finished all the same, since its calls will be paid for."""
        creation = asyncio.ensure_future(self._created(client, number, calls))
        try:
            await asyncio.shield(creation)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):  # the terminal may be gone
                self._notify("waiting for the batch that is being sent (a second signal stops at once)")
            await asyncio.gather(creation, return_exceptions=True)
            raise

    async def _created(self, client: BatchClient, number: int, calls: list[ModelCall]) -> None:
        self._sent.update(call.key for call in calls)
        try:
            batch = await client.create_batch(calls)
        except BatchMayExist as error:
            self._notify(f"{error}; it is looked for")
            self._cut_off.add(number)
            return
        except CallFailed:
            self._ledger.not_created(number)
            raise
        self._ledger.created(number, batch)
        self._cut_off_in_a_row = 0
        self._notify(f"sent {number_of(len(calls), 'call')} as {batch}")

    def _missing(self) -> Iterator[ModelCall]:
        usage, prices = self._answers.usage, self._answers.usage.prices
        # an open batch claims its questions, which count below
        closed = [batch.spent for batch in self._answers.unconfirmed() if not batch.is_open]
        self._bound = sum(map(_at_most, (usage.paid, usage.at_most, cost_of(closed, prices))))
        seen: set[str] = set()
        for question in self._answers.unanswered(self._reviews()):
            key = question.key
            if key in seen or key in self._hopeless:
                continue
            seen.add(key)
            last = self._answers.store.get(key) if self._sent[key] >= ROUNDS else None
            # a stored answer may have turned out to be unusable, by a quote that only the review can verify
            if self._sent[key] >= (ROUNDS if last is None else MAX_TRIES):
                self._failures[key] = "its batches have no result for it" if last is None else last.reason
                self._hopeless.add(key)
                usage.unanswered += 1
                continue
            call = self._answers.call(question, self._capabilities)
            if self._ledger.claim_on(key) == "batch":  # whose cost counts
                self._bound += _at_most(prices.max_cost(call, is_batch=True))
            elif self._fits(call):
                yield call

    def _fits(self, call: ModelCall) -> bool:
        if self._most_usd is None:
            return True
        bound = self._answers.usage.prices.max_cost(call, is_batch=True)
        if bound is None or self._bound + bound > self._most_usd:
            self.stopped = f"it could cost more than the limit of ${self._most_usd:g}"
            return False
        self._bound += bound
        return True

    def _batches(self, missing: Iterator[ModelCall]) -> Iterator[list[ModelCall]]:
        calls: list[ModelCall] = []
        size = 0
        for call in missing:
            length = len(json.dumps(build_request(call), ensure_ascii=False).encode()) + 100
            if calls and (len(calls) >= MOST_REQUESTS or size + length > MOST_BYTES):
                yield calls
                calls, size = [], 0
            calls.append(call)
            size += length
        if calls:
            yield calls

    # --- what comes back

    async def _wait(self, client: BatchClient) -> None:
        """Wait until the results of all batches are read, also through hours without an answer of the API."""
        pause, away_since = self._poll, 0.0
        while waiting := self._open():
            try:
                left = [batch for batch in waiting if not await self._is_read(client, batch)]
                if away_since:
                    self._notify("the API answers again")
                pause, away_since = self._poll, 0.0
                if not left:
                    continue
                self._notify(f"waiting for {len(left)} batch{'es' if len(left) > 1 else ''}")
            except CallFailed as error:
                now = time.monotonic()
                away_since = away_since or now
                if not error.may_pass or now - away_since > SECONDS_AWAY:
                    raise
                pause = min(2 * pause, max(self._poll, MOST_SECONDS_BETWEEN_POLLS))
                self._notify(f"{error}; the batches go on without us, the next look is in {pause:,.0f} s")
            await self._sleep(pause)

    async def _is_read(self, client: BatchClient, batch: OpenBatch) -> bool:
        """Whether nothing more is to be expected of the batch; stores its results if it has ended."""
        if batch.id is None:
            return not batch.is_being_created and await self._is_given_up(client, batch)
        start = time.perf_counter()
        try:
            state = await client.read_state(batch.id)
            if not state.has_ended:
                return False
            read: set[str] = set()
            async with contextlib.aclosing(client.read_results(state)) as results:
                async for entry in results:
                    read.add(entry.key)
                    self._take(batch.number, entry, round((time.perf_counter() - start) * 1000))
            if len(read) < (state.count or batch.waiting):
                self._incomplete[batch.number] += 1
                found = f"{batch.id} has {state.count:,} results, and {len(read):,} could be read"
                if self._incomplete[batch.number] >= _READS:
                    raise CallFailed(found, is_final=True)
                self._notify(f"{found}; they are read again")
                return False
        except CallFailed as error:
            if error.status != 404:
                raise
            self._notify(f"{batch.id} does not exist any more; its questions are asked again")
        self._answers.usage.add_lost(self._ledger.end_batch(batch.number))
        return True

    async def _is_given_up(self, client: BatchClient, batch: OpenBatch) -> bool:
        """Look for a batch whose creation was cut off; return whether to wait for it no longer.

        A batch that is given up stays unconfirmed in the ledger, and its questions are free.
        """
        now, window = self._clock(), SECONDS_TO_APPEAR * 2**self._cut_off_in_a_row
        is_recent = now - self._looked_for.setdefault(batch.number, now) < window
        keys, known = self._ledger.keys_of(batch.number), self._ledger.batch_ids()
        may_appear = is_recent and now - batch.at < _SECONDS_TO_ARRIVE
        async for state in client.list_batches(batch.at - _CLOCKS_DIFFER):
            if state.count == len(keys) and state.id not in known:
                if not state.has_ended:
                    may_appear = True
                elif await client.read_first_key(state) in keys:
                    self._ledger.created(batch.number, state.id)
                    self._cut_off_in_a_row = 0
                    self._notify(f"found {state.id}, whose creation was cut off: {number_of(len(keys), 'call')}")
                    return False
        if may_appear:
            return False
        self._notify(f"the API lists no batch of {number_of(len(keys), 'call')} whose creation was cut off")
        self._failures.update(dict.fromkeys(keys, CUT_OFF))
        self._ledger.end_batch(batch.number)
        self._cut_off_in_a_row += batch.number in self._cut_off
        return True

    def _take(self, batch: int, entry: BatchResult, ms: int) -> None:
        """Store one result: an answer, or the reason for none. Nothing is counted twice, however often results are read."""
        with self._ledger.result_of(entry.key, batch) as sent:
            if sent is None:
                return
            answer, reason, may_help = entry.answer, entry.reason, entry.may_help
            attempt = replace(sent, model=self._answers.spec.model, status=entry.status, ms=ms)
            if answer is not None and not answer.is_bound:
                attempt = replace(attempt, usage=answer.usage, is_bound=False)
            elif entry.status != "succeeded":
                attempt = replace(attempt, usage=None, is_bound=False)
            self._answers.attempted(attempt, is_batch=True)
            self._paid.add(entry.key)
            self._failures.pop(entry.key, None)
            if answer is not None:
                answer = replace(answer, usage=attempt.usage or Usage())
                stored = self._answers.read(entry.key, answer, is_batch=True)
                if stored.content is not None:
                    return
                reason, may_help = stored.reason, stored.tries < MAX_TRIES
            self._failures[entry.key] = reason
            if not may_help or self._sent[entry.key] >= ROUNDS:
                self._hopeless.add(entry.key)
                self._answers.usage.unanswered += may_help


def _at_most(cost: float | None) -> float:
    """Return a cost as an upper bound: no limit allows an unknown one."""
    return math.inf if cost is None else cost
