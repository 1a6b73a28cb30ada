"""Asks a model about reviews in batches, at half the price and within a day.

A batch and its questions are recorded in the ledger before the batch is created, so that no batch is created twice. If a creation
was cut off, and may have arrived or not, the run looks for the batch among those that the API lists; the ids of its calls
identify it. Each result is stored once, by any process that reads it. Calls that the budget does not allow at once are sent when
the results have shown the actual cost of earlier calls. A batch that the API does not list stays in the ledger and counts with
its maximal cost, since it may exist. Its questions are sent again after a wait, which grows each time, for a limited number of
times.
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
from formulaseed.extractors.base import ReviewReader, SyncExtractor
from formulaseed.extractors.model.answers import MAX_TRIES, AnswerCache, price_attempts
from formulaseed.extractors.model.ledger import OpenBatch
from formulaseed.extractors.model.store import StoredAnswer
from formulaseed.llm.batches import BatchClient, BatchMayExist, BatchResult, NoBatches
from formulaseed.llm.calls import ModelCall, ModelCapabilities, Usage, build_request
from formulaseed.llm.connecting import CallFailed, Limits
from formulaseed.llm.interruption import Interruption
from formulaseed.llm.limiter import CostBudget
from formulaseed.source.printing import number_of

ROUNDS = 3
"""The most times that a question is sent, and that the creation of a batch may be cut off in a row."""
MAX_BATCH_REQUESTS = 10_000
MAX_BATCH_BYTES = 32 * 1024 * 1024
"""The limits of a batch. The API accepts 100,000 requests and 256 MB; this much fits into any memory."""
SECONDS_TO_APPEAR = 60.0
"""The time in which the run looks for a batch whose creation was cut off, before it sends the questions again. It doubles."""
_MAX_CREATION_SECONDS = 900.0
"""The time after which a creation cannot be under way any more."""
_MAX_CLOCK_DIFFERENCE = 300.0
"""The most seconds that the API's clock may be behind ours."""
_MAX_READS = 5
"""The most times that the results of a batch are read if they are incomplete."""
MAX_SECONDS_BETWEEN_POLLS = 600.0
MAX_SECONDS_WITHOUT_API = 48 * 3600.0
"""The time that a run waits for an API that does not answer. A batch ends within a day, and its results are kept for 29 days."""


class BatchExtractor(SyncExtractor):
    """An open extractor that asks about all reviews in batches, and then extracts from the store alone.

    `max_usd` limits the cost of the run. `notify` is called with the progress; `poll` is the seconds between two polls. `clock`
    returns the time in seconds since 1970, and `sleep` waits for a number of seconds.
    """

    stop_reason = ""
    can_resume = False

    def __init__(
        self,
        answers: AnswerCache,
        limits: Limits,
        read_reviews: ReviewReader,
        *,
        max_usd: float | None = None,
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
        self._read_reviews = read_reviews
        self._max_usd = max_usd
        self._poll = poll
        self._notify = notify
        self._clock = clock
        self._sleep = sleep
        self._max_cost = 0.0
        """The most that the run can cost with the calls that it has sent or is going to send, in US dollars."""
        self._sent: Counter[str] = Counter()
        """The number of times that each question was sent in this run, by its key."""
        self._paid: set[str] = set()
        """The keys of the questions whose results this run has read; other answers were in the store."""
        self._failures: dict[str, str] = {}
        """The reason why a question has no usable answer, by its key."""
        self._hopeless: set[str] = set()
        """The keys of the questions that are not sent again."""
        self._incomplete: Counter[int] = Counter()
        """The number of times that the results of a batch were incomplete, by its number."""
        self._search_starts: dict[int, float] = {}
        """The time since when the run has looked for a batch without an id, by its number."""
        self._cut_off: set[int] = set()
        """The numbers of the batches whose creation was cut off in this run."""
        self._cut_off_in_a_row = 0
        """The number of creations since the last successful one that were cut off, and that the API does not list."""
        self._capabilities = ModelCapabilities()

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        """Ask all questions, then yield the extractions of each restaurant's reviews from the store."""
        self.ask()
        yield from super().extract_all(restaurants)

    def ask(self) -> None:
        """Send all questions without an answer, and store the results; sets `stop_reason` and `can_resume`.

        Blocks until all batches have ended. Raises `NoBatches` if the server has none, and `FormulaSeedError` for no store.
        """
        with asyncio.Runner() as runner, Interruption() as interruption:
            interruption.run(runner, self._ask())

    def extract(self, review: ReviewInput) -> Extraction:
        """Return a review's extraction from the store, and count answers stored earlier; fails if one is missing."""
        passes = []
        for question in self._answers.spec.build_questions(review):
            stored = self._answers.find(question)
            if stored is not None and question.key not in self._paid:
                self._answers.count_stored(stored)
            passes.append(stored or StoredAnswer(None, self._failures.get(question.key, NOT_ASKED), Usage()))
        return self._answers.make_extraction(review, passes)

    async def _ask(self) -> None:
        """Send missing questions and wait for results, until none may be sent; a `CallFailed` becomes `stop_reason`."""
        try:
            if not self._find_open() and next(self._answers.find_unanswered(self._read_reviews()), None) is None:
                return
            # unconfirmed batches count in this run, also after their questions are answered
            self._answers.update_unconfirmed()
            budget = CostBudget(self._answers.usage.prices, None)
            async with contextlib.aclosing(BatchClient(self._limits, budget)) as client:
                self._capabilities = await client.capabilities(self._answers.spec.model)
                while await self._send_all(client) or self._find_open():
                    await self._wait(client)
            # each run has the same budget again, so that another one sends more if this one has sent any
            self.can_resume = self._answers.usage.calls > 0 and self._cut_off_in_a_row < ROUNDS
        except NoBatches:
            raise
        except CallFailed as error:
            self.stop_reason = str(error)
            self.can_resume = error.may_pass or bool(self._incomplete)

    def _find_open(self) -> list[OpenBatch]:
        """Return the batches of this prompt specification, of any run, whose results have not all been read."""
        return self._ledger.open_batches(self._answers.spec.id)

    # --- sending

    async def _send_all(self, client: BatchClient) -> bool:
        """Send the missing questions, as far as the budget allows; return True if the run has to wait in any case.

        Also waits a moment if another process is asking some of them live. Sets `stop_reason` if questions may not be sent.
        """
        self.stop_reason = ""
        self._ledger.release_ended_owners()
        if self._reopen_unconfirmed():
            return True
        if self._cut_off_in_a_row >= ROUNDS:
            times = f"{ROUNDS} times in a row"
            self.stop_reason = f"the creation of a batch was cut off {times}, and the API lists no such batch"
            return False
        is_elsewhere = False
        for calls in _split_batches(self._find_missing()):
            number, free = self._ledger.begin_batch(self._answers.spec.id, calls)
            is_elsewhere = is_elsewhere or len(free) < len(calls)
            if free:
                await self._create(client, number, free)
                self.stop_reason = ""  # calls beyond the budget may fit it when the actual costs are known
                if number in self._cut_off:
                    return True  # the cause of a cut-off creation must not cut off the next one, too
        if is_elsewhere and not self._find_open():
            await self._sleep(min(self._poll, 1.0))  # another process is asking these live
        return is_elsewhere

    def _reopen_unconfirmed(self) -> bool:
        """Claim the questions of earlier runs' unconfirmed batches again, which the API may list by now.

        Returns whether there are any. Each counts as a creation that was cut off, but at least one creation stays allowed.
        """
        numbers = self._ledger.reopen_batches(self._answers.spec.id, self._search_starts.keys())
        self._search_starts.update(dict.fromkeys(numbers, -math.inf))
        if numbers and self._cut_off_in_a_row < ROUNDS:
            self._cut_off_in_a_row = min(self._cut_off_in_a_row + len(numbers), ROUNDS - 1)
        return bool(numbers)

    async def _create(self, client: BatchClient, number: int, calls: list[ModelCall]) -> None:
        """Create a batch. An interruption waits for the creation and its record, since the calls will be paid for."""
        creation = asyncio.ensure_future(self._send_batch(client, number, calls))
        try:
            await asyncio.shield(creation)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):  # the terminal may be closed
                self._notify("waiting for the batch that is being sent (a second signal stops at once)")
            await asyncio.gather(creation, return_exceptions=True)
            raise

    async def _send_batch(self, client: BatchClient, number: int, calls: list[ModelCall]) -> None:
        """Send a batch, and record in the ledger whether the API has it; cut off, `number` is added to `_cut_off`."""
        self._sent.update(call.key for call in calls)
        try:
            batch_id = await client.create_batch(calls)
        except BatchMayExist as error:
            self._notify(f"{error}; it is looked for")
            self._cut_off.add(number)
            return
        except CallFailed:
            self._ledger.discard_batch(number)
            raise
        self._ledger.confirm_batch(number, batch_id)
        self._cut_off_in_a_row = 0
        self._notify(f"sent {number_of(len(calls), 'call')} as {batch_id}")

    def _find_missing(self) -> Iterator[ModelCall]:
        """Yield a call for each question without an answer, as far as the budget allows; computes `_max_cost` again.

        Leaves out questions of open batches, and marks questions as hopeless that were sent too often.
        """
        usage = self._answers.usage
        # an open batch claims its questions, whose cost is added below
        closed = [batch.spending for batch in self._answers.update_unconfirmed() if not batch.is_open]
        costs = (usage.paid_usd, usage.max_unknown_usd, price_attempts(closed, usage.prices))
        self._max_cost = sum(map(_upper_bound, costs))
        seen: set[str] = set()
        for question in self._answers.find_unanswered(self._read_reviews()):
            key = question.key
            if key in seen or key in self._hopeless:
                continue
            seen.add(key)
            if self._is_sent_too_often(key):
                continue
            call = self._answers.build_call(question, self._capabilities)
            if self._ledger.find_claim(key) == "batch":
                self._max_cost += _upper_bound(usage.prices.max_cost(call, is_batch=True))
            elif self._reserve(call):
                yield call

    def _is_sent_too_often(self, key: str) -> bool:
        """Return whether a question may not be sent again; if so, mark it as hopeless with the reason, and count it."""
        if self._sent[key] < ROUNDS:
            return False
        # a stored answer may have proved unusable only now, by a quote that is verified in the review
        last = self._answers.store.get(key)
        if last is not None and self._sent[key] < MAX_TRIES:
            return False
        self._failures[key] = "its batches have no result for it" if last is None else last.reason
        self._hopeless.add(key)
        self._answers.usage.unanswered += 1
        return True

    def _reserve(self, call: ModelCall) -> bool:
        """Add a call's maximal cost to `_max_cost` and return True; False, with `stop_reason` set, over the budget."""
        if self._max_usd is None:
            return True
        cost = self._answers.usage.prices.max_cost(call, is_batch=True)
        if cost is None or self._max_cost + cost > self._max_usd:
            self.stop_reason = f"it could cost more than the limit of ${self._max_usd:g}"
            return False
        self._max_cost += cost
        return True

    # --- receiving

    async def _wait(self, client: BatchClient) -> None:
        """Wait until the results of all batches are read. Raises `CallFailed` if the API fails for good or for two days."""
        pause = self._poll
        away_since = 0.0  # when the API began not to answer; 0 while it answers
        while waiting := self._find_open():
            try:
                left = [batch for batch in waiting if not await self._finish(client, batch)]
                if away_since:
                    self._notify("the API answers again")
                pause = self._poll
                away_since = 0.0
                if not left:
                    continue
                self._notify(f"waiting for {len(left)} batch{'es' if len(left) > 1 else ''}")
            except CallFailed as error:
                now = time.monotonic()
                away_since = away_since or now
                if not error.may_pass or now - away_since > MAX_SECONDS_WITHOUT_API:
                    raise
                pause = min(2 * pause, max(self._poll, MAX_SECONDS_BETWEEN_POLLS))
                self._notify(f"{error}; the batches go on without us, the next look is in {pause:,.0f} s")
            await self._sleep(pause)

    async def _finish(self, client: BatchClient, batch: OpenBatch) -> bool:
        """Store the results of a batch if it has ended; return whether the run need not wait for it any more.

        Raises `CallFailed` if the API fails, or if the results are incomplete again and again.
        """
        if batch.id is None:
            return not batch.is_being_created and await self._look_for(client, batch)
        start = time.perf_counter()
        try:
            state = await client.read_state(batch.id)
            if not state.has_ended:
                return False
            keys: set[str] = set()
            async with contextlib.aclosing(client.read_results(state)) as results:
                async for entry in results:
                    keys.add(entry.key)
                    self._store_result(batch.number, entry, round((time.perf_counter() - start) * 1000))
            if len(keys) < (state.count or batch.waiting):
                self._incomplete[batch.number] += 1
                problem = f"{batch.id} has {state.count:,} results, and {len(keys):,} could be read"
                if self._incomplete[batch.number] >= _MAX_READS:
                    raise CallFailed(problem, is_final=True)
                self._notify(f"{problem}; they are read again")
                return False
        except CallFailed as error:
            if error.status != 404:
                raise
            self._notify(f"{batch.id} does not exist any more; its questions are asked again")
        self._answers.usage.add_lost(self._ledger.end_batch(batch.number))
        return True

    async def _look_for(self, client: BatchClient, batch: OpenBatch) -> bool:
        """Look for a batch whose creation was cut off, and confirm it in the ledger if the API lists it.

        Returns True if the run gives the batch up: it then stays unconfirmed in the ledger, and its claims are released.
        """
        now = self._clock()
        window = SECONDS_TO_APPEAR * 2**self._cut_off_in_a_row
        is_recent = now - self._search_starts.setdefault(batch.number, now) < window
        keys = self._ledger.waiting_keys(batch.number)
        known_ids = self._ledger.batch_ids()
        may_appear = is_recent and now - batch.at < _MAX_CREATION_SECONDS
        async for state in client.list_batches(batch.at - _MAX_CLOCK_DIFFERENCE):
            if state.count == len(keys) and state.id not in known_ids:
                if not state.has_ended:
                    may_appear = True  # only its results show whether this is the batch
                elif await client.read_first_key(state) in keys:
                    self._ledger.confirm_batch(batch.number, state.id)
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

    def _store_result(self, batch_number: int, entry: BatchResult, ms: int) -> None:
        """Store one result: an answer, or the reason why there is none. A result that was stored before is not counted again."""
        with self._ledger.take_result(entry.key, batch_number) as sent:
            if sent is None:
                return
            answer = entry.answer
            reason = entry.reason
            may_help = entry.may_help
            attempt = replace(sent, model=self._answers.spec.model, status=entry.status, ms=ms)
            if answer is not None and not answer.is_bound:
                attempt = replace(attempt, usage=answer.usage, is_bound=False)
            elif entry.status != "succeeded":
                attempt = replace(attempt, usage=None, is_bound=False)
            self._answers.settle_attempt(attempt, is_batch=True)
            self._paid.add(entry.key)
            self._failures.pop(entry.key, None)
            if answer is not None:
                answer = replace(answer, usage=attempt.usage or Usage())
                stored = self._answers.store_answer(entry.key, answer, is_batch=True)
                if stored.content is not None:
                    return
                reason = stored.reason
                may_help = stored.tries < MAX_TRIES
            self._failures[entry.key] = reason
            if not may_help or self._sent[entry.key] >= ROUNDS:
                self._hopeless.add(entry.key)
                self._answers.usage.unanswered += may_help


def _split_batches(calls: Iterator[ModelCall]) -> Iterator[list[ModelCall]]:
    """Yield the calls, in their order, in lists that are small enough for one batch; no list is empty."""
    batch: list[ModelCall] = []
    size = 0
    for call in calls:
        length = len(json.dumps(build_request(call), ensure_ascii=False).encode()) + 100
        if batch and (len(batch) >= MAX_BATCH_REQUESTS or size + length > MAX_BATCH_BYTES):
            yield batch
            batch = []
            size = 0
        batch.append(call)
        size += length
    if batch:
        yield batch


def _upper_bound(cost: float | None) -> float:
    """Return a cost as an upper bound, which is infinite if the cost is unknown: no budget allows that."""
    return math.inf if cost is None else cost
