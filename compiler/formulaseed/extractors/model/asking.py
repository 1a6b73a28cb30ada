"""Asks a model about reviews: live, in concurrent calls, or in batches, at half the price and within a day.

Every answer is stored when it comes. Live, restaurants come out in their order while later ones are in flight; reading
ahead is bounded, so memory stays flat however long the file is. A batch's id is stored before it is polled, so that a
killed run picks it up again; each round sends what the store has no answer to, waits, and stores the results.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from formulaseed.data.results import NOT_ASKED, Extraction, ReviewInput
from formulaseed.errors import FormulaSeedError
from formulaseed.extractors.base import SyncExtractor
from formulaseed.extractors.model.answers import MAX_TRIES, AnswerCache
from formulaseed.extractors.model.prompting import Question
from formulaseed.extractors.model.store import StoredAnswer
from formulaseed.llm.calls import Attempt, Call, ModelCapabilities, Usage, params
from formulaseed.llm.client import BatchClient, BatchResult, CallFailed, Client, Limits, NotAsked
from formulaseed.llm.limiter import CostBudget, run_interruptibly

REFUSED_AT_FIRST, REFUSED_IN_A_ROW = 5, 50
"""The run stops after so many consecutive calls that the API rejects with the same message, before and after the first answer."""
FAILED_IN_A_ROW = 20
"""The run stops after so many consecutive calls without an answer, or twice the concurrency."""
AHEAD, HELD = 4, 64
"""As multiples of the concurrency: how many reviews wait for an answer, and how many, answered or not, are held back
by an earlier one."""
_SHORT = 20_000
"""Characters of a message that every model accepts."""
ROUNDS = 3
"""How often a question is sent where it expires, or ends in an error or an unusable answer."""
MOST_REQUESTS = 10_000
MOST_BYTES = 32 * 1024 * 1024
"""The limits of a batch. The API accepts 100,000 requests and 256 MB; this much fits into any memory."""

Source = Callable[[], Iterable[Sequence[ReviewInput]]]
"""The reviews from the start, each time it is called."""


class LiveExtractor:
    """Asks a model. `budget` limits what the calls of this run may cost; `on_answer` is called with every answer."""

    def __init__(
        self, answers: AnswerCache, limits: Limits, budget: CostBudget, on_answer: Callable[[], None] = lambda: None
    ) -> None:
        self.name = answers.spec.extractor
        self.prompt_sha256: str | None = answers.spec.prompt_sha256
        self._answers = answers
        self._limits = limits
        self._budget = budget
        self._on_answer = on_answer
        self._client: Client | None = None
        self._capabilities = ModelCapabilities()
        self._is_first = True
        self._is_warm = asyncio.Event()
        self._asking: dict[str, asyncio.Task[StoredAnswer]] = {}
        self._waiting = 0
        self._done = asyncio.Event()
        self._broken: FormulaSeedError | None = None
        self._streak = _FailureStreak(limits.concurrency)
        self.stopped = ""
        """Why nothing more is asked; empty while the run goes on."""

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        with asyncio.Runner() as runner:
            window: deque[tuple[int, asyncio.Task[list[Extraction]]]] = deque()
            held = 0
            try:
                for reviews in restaurants:
                    task = runner.get_loop().create_task(self._restaurant(reviews))
                    task.add_done_callback(lambda _: self._done.set())
                    size = max(1, len(reviews))  # restaurants without reviews must not accumulate either
                    window.append((size, task))
                    self._waiting += len(reviews)
                    held += size
                    while window and (window[0][1].done() or self._is_full(held)):
                        run_interruptibly(runner, self._progress(window[0][1], held))
                        if window[0][1].done():
                            size, task = window.popleft()
                            held -= size
                            yield task.result()
                while window:
                    run_interruptibly(runner, self._progress(window[0][1]))
                    yield window.popleft()[1].result()
            finally:
                run_interruptibly(runner, self._close([task for _, task in window]))

    def _is_full(self, held: int) -> bool:
        most = self._limits.concurrency
        return self._waiting >= AHEAD * most or held >= HELD * most

    async def _progress(self, head: asyncio.Task[Any], held: int | None = None) -> None:
        """Wait until the next restaurant is done or, with `held`, more may be read. Raises what broke the run at once."""
        while not head.done() and (held is None or self._is_full(held)) and self._broken is None:
            self._done.clear()
            await self._done.wait()
        if self._broken is not None:
            raise self._broken

    async def _close(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Cancel what is in flight, where the run ends early."""
        in_flight = [*tasks, *self._asking.values()]
        for task in in_flight:
            task.cancel()
        await asyncio.gather(*in_flight, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    async def _restaurant(self, reviews: Sequence[ReviewInput]) -> list[Extraction]:
        return await asyncio.gather(*map(self._review, reviews))

    async def _review(self, review: ReviewInput) -> Extraction:
        try:
            passes = await asyncio.gather(*map(self._answered, self._answers.spec.questions(review)))
            return self._answers.extraction(review, passes)
        except FormulaSeedError as error:
            self._broken = self._broken or error
            raise
        finally:
            self._waiting -= 1
            self._done.set()

    def _answered(self, question: Question) -> asyncio.Future[StoredAnswer]:
        """Return the answer from the store, from a call in flight for the same text, or from a new one."""
        task = self._asking.get(question.key)
        if task is None:
            stored = self._answers.find(question)
            if stored is not None:
                self._answers.count_stored(stored)
                known: asyncio.Future[StoredAnswer] = asyncio.get_running_loop().create_future()
                known.set_result(stored)
                return known
            task = asyncio.get_running_loop().create_task(self._asked(question))
            self._asking[question.key] = task
            task.add_done_callback(lambda _: self._asking.pop(question.key, None))
        return asyncio.shield(task)

    async def _asked(self, question: Question) -> StoredAnswer:
        """Ask; a call without an answer fails the review.

        The API caches the prompt only once the first answer has begun: until then one call goes alone.
        """
        is_first, self._is_first = self._is_first, False
        try:
            if not is_first:
                await self._is_warm.wait()
            stored = await self._asked_until_usable(question)
        except NotAsked as error:
            self.stopped = self.stopped or (str(error) if error.is_final else "")
            stored = StoredAnswer(None, NOT_ASKED if error.is_final else str(error), Usage())
        except CallFailed as error:
            if error.is_final or self._streak.is_hopeless(question, error):
                self.stopped = self.stopped or str(error)
            stored = StoredAnswer(None, str(error), Usage())
        finally:
            self._is_warm.set()
        self._on_answer()
        return stored

    async def _asked_until_usable(self, question: Question) -> StoredAnswer:
        stored: StoredAnswer | None = None
        while stored is None or (stored.content is None and stored.tries < MAX_TRIES):
            client = await self._connected()
            answer, attempt = await client.ask(self._answers.call(question, self._capabilities))
            self._streak.ended()
            with self._answers.store.transaction():
                self._answers.attempted(attempt)
                stored = self._answers.read(question.key, answer, question.text)
        return stored

    async def _connected(self) -> Client:
        if self._client is None:
            self._client = Client(self._limits, self._budget, self._answers.attempted, lambda: bool(self.stopped))
            self._capabilities = await self._client.capabilities(self._answers.spec.model)
        if not self._capabilities.structured:
            message = f"the model {self._answers.spec.model} does not support structured output; choose another --model"
            raise CallFailed(message, is_final=True)
        return self._client


class _FailureStreak:
    """Counts consecutive calls that fail."""

    def __init__(self, concurrency: int) -> None:
        self._most = max(FAILED_IN_A_ROW, 2 * concurrency)
        self._failed = self._refused = 0
        self._refused_at_most = REFUSED_AT_FIRST
        self._message = ""

    def ended(self) -> None:
        """Note a call that had an answer."""
        self._failed = self._refused = 0
        self._refused_at_most = REFUSED_IN_A_ROW

    def is_hopeless(self, question: Question, error: CallFailed) -> bool:
        """Whether other calls would fail too. A rejected call with a long review says nothing about them."""
        if error.status == 400:
            is_same = str(error) == self._message and len(question.user) <= _SHORT
            self._refused = self._refused + 1 if is_same else 1
            self._message = str(error)
            return self._refused >= self._refused_at_most
        self._failed += 1
        return self._failed >= self._most


class BatchRun(SyncExtractor):
    """Asks everything that a source needs; then it extracts from the store alone.

    `notify` is called with the progress; `poll` is the seconds between two polls.
    """

    def __init__(
        self,
        answers: AnswerCache,
        limits: Limits,
        *,
        most_usd: float | None = None,
        poll: float = 30.0,
        notify: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name = answers.spec.extractor
        self.prompt_sha256 = answers.spec.prompt_sha256
        self._answers = answers
        self._limits = limits
        self._most_usd = most_usd
        self._poll = poll
        self._notify = notify
        self._bound = 0.0
        self._again: set[str] = set()
        self._asked: set[str] = set()
        """The questions that were sent in this run, by their keys: any other answer was saved."""
        self._failures: dict[str, str] = {}
        """Why a question has no usable answer, by its key."""
        self._capabilities = ModelCapabilities()
        self.stopped = ""
        """Why not everything was asked; empty where it was."""

    def ask(self, source: Source) -> None:
        """Have every question answered, as far as possible. Raises `FormulaSeedError` where the API cannot be used."""
        with asyncio.Runner() as runner:
            run_interruptibly(runner, self._ask(source))

    def extract(self, review: ReviewInput) -> Extraction:
        passes = []
        for question in self._answers.spec.questions(review):
            stored = self._answers.find(question)
            if stored is not None and question.key not in self._asked:
                self._answers.count_stored(stored)
            passes.append(stored or StoredAnswer(None, self._failures.get(question.key, NOT_ASKED), Usage()))
        return self._answers.extraction(review, passes)

    async def _ask(self, source: Source) -> None:
        for _ in range(ROUNDS):
            again, self._again = self._again, set()
            is_anything = next(self._missing(source, again), None) is not None
            if not is_anything and not self._answers.store.open_batches(self._answers.spec.id):
                return
            try:
                budget = CostBudget(self._answers.usage.prices, None)
                async with contextlib.aclosing(BatchClient(self._limits, budget)) as client:
                    self._capabilities = await client.capabilities(self._answers.spec.model)
                    await self._round(client, self._missing(source, again))
            except CallFailed as error:
                self.stopped = self.stopped or str(error)
            if self.stopped:
                return

    async def _round(self, client: BatchClient, missing: Iterator[Call]) -> None:
        for calls in self._batches(missing):
            await self._send(client, calls)
        while waiting := self._answers.store.open_batches(self._answers.spec.id):
            left = [batch for batch in waiting if not await self._read_if_ended(client, batch)]
            if left:
                self._notify(f"waiting for {len(left)} batch{'es' if len(left) > 1 else ''}")
                await asyncio.sleep(self._poll)

    def _missing(self, source: Source, again: Collection[str]) -> Iterator[Call]:
        self._bound = self._answers.usage.paid or 0.0
        seen: set[str] = set()
        for question in self._answers.unanswered(source(), again):
            key = question.key
            if key in seen or (key in self._failures and key not in again):  # sent or given up
                continue
            seen.add(key)
            call = self._answers.call(question, self._capabilities)
            if self._answers.store.is_batched(key):  # in a batch already, whose cost counts
                self._bound += self._answers.usage.prices.at_most(call, is_batch=True) or 0.0
            elif self._fits(call):
                yield call

    def _fits(self, call: Call) -> bool:
        if self._most_usd is None:
            return True
        bound = self._answers.usage.prices.at_most(call, is_batch=True)
        if bound is None or self._bound + bound > self._most_usd:
            self.stopped = f"it could cost more than the limit of ${self._most_usd:g}"
            return False
        self._bound += bound
        return True

    def _batches(self, missing: Iterator[Call]) -> Iterator[list[Call]]:
        calls: list[Call] = []
        size = 0
        for call in missing:
            length = len(json.dumps(params(call), ensure_ascii=False).encode()) + 100
            if calls and (len(calls) >= MOST_REQUESTS or size + length > MOST_BYTES):
                yield calls
                calls, size = [], 0
            calls.append(call)
            size += length
        if calls:
            yield calls

    async def _send(self, client: BatchClient, calls: list[Call]) -> None:
        batch = await client.create_batch(calls)
        self._answers.store.begin_batch(batch, self._answers.spec.id, (call.key for call in calls))
        self._asked.update(call.key for call in calls)
        self._answers.usage.asked += len(calls)
        self._notify(f"sent {len(calls):,} calls as {batch}")

    async def _read_if_ended(self, client: BatchClient, batch: str) -> bool:
        """Whether the batch has ended; if so, store its results."""
        start = time.perf_counter()
        try:
            if not await client.has_ended(batch):
                return False
            async for entry in client.results(batch):
                self._take(batch, entry, round((time.perf_counter() - start) * 1000))
        except CallFailed as error:
            if error.status != 404:
                raise
            self._notify(f"{batch} does not exist any more; its questions are asked again")
        self._answers.store.end_batch(batch)
        return True

    def _take(self, batch: str, entry: BatchResult, ms: int) -> None:
        """Store one result: an answer, or the reason for none. Nothing is counted twice, however often results are read."""
        with self._answers.store.result_of(entry.key, batch) as is_new:
            if not is_new:
                return
            usage = entry.answer.usage if entry.answer is not None else None
            attempt = Attempt(entry.key, self._answers.spec.model, entry.status, ms, usage)
            self._answers.attempted(attempt, is_batch=True)
            reason, may_help = entry.reason, entry.may_help
            if entry.answer is not None:
                stored = self._answers.read(entry.key, entry.answer, is_batch=True)
                if stored.content is not None:
                    self._failures.pop(entry.key, None)
                    return
                reason, may_help = stored.reason, stored.tries < MAX_TRIES
            self._failures[entry.key] = reason
            if may_help:
                self._again.add(entry.key)
