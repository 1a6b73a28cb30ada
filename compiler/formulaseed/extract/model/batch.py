"""Extraction in batches: the Message Batches API answers at half the price, within a day.

A batch's id is stored before it is polled, so that a killed run picks it up again. Each round sends what the store has no
answer to, waits, and stores the results, which come in any order.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from formulaseed.data.results import ReviewInput
from formulaseed.extract.model.answers import MAX_TRIES, AnswerCache
from formulaseed.llm.calls import Attempt, Call, ModelCapabilities, params
from formulaseed.llm.client import BatchClient, BatchResult, CallFailed, Limits
from formulaseed.llm.limiter import run_interruptibly

ROUNDS = 3
"""How often a question is sent where it expires, or ends in an error or an unusable answer."""
MOST_REQUESTS = 10_000
MOST_BYTES = 32 * 1024 * 1024
"""The limits of a batch. The API accepts 100,000 requests and 256 MB; this much fits into any memory."""

Source = Callable[[], Iterable[Sequence[ReviewInput]]]
"""The reviews from the start, each time it is called."""


class BatchRun:
    """Asks everything that a source needs. `notify` is called with the progress; `poll` is the seconds between two polls."""

    def __init__(
        self,
        answers: AnswerCache,
        limits: Limits,
        *,
        most_usd: float | None = None,
        poll: float = 30.0,
        notify: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._answers = answers
        self._limits = limits
        self._most_usd = most_usd
        self._poll = poll
        self._notify = notify
        self._bound = 0.0
        self._again: set[str] = set()
        self.asked: set[str] = set()
        """The questions that were sent in this run, by their keys."""
        self.failures: dict[str, str] = {}
        """Why a question has no usable answer, by its key."""
        self._capabilities = ModelCapabilities()
        self.stopped = ""
        """Why not everything was asked; empty where it was."""

    def ask(self, source: Source) -> None:
        """Have every question answered, as far as possible. Raises `FormulaSeedError` where the API cannot be used."""
        with asyncio.Runner() as runner:
            run_interruptibly(runner, self._ask(source))

    async def _ask(self, source: Source) -> None:
        for _ in range(ROUNDS):
            again, self._again = self._again, set()
            is_anything = next(self._missing(source, again), None) is not None
            if not is_anything and not self._answers.store.open_batches(self._answers.spec.id):
                return
            try:
                async with contextlib.aclosing(BatchClient(self._limits, lambda _: None)) as client:
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
        """Yield a call for every question that has to be sent, each once."""
        self._bound = self._answers.usage.paid or 0.0
        seen: set[str] = set()
        for question in self._answers.unanswered(source(), again):
            key = question.key
            is_given_up = key in self.failures and key not in again
            if key in seen or is_given_up:
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
        self.asked.update(call.key for call in calls)
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
                    self.failures.pop(entry.key, None)
                    return
                reason, may_help = stored.reason, stored.tries < MAX_TRIES
            self.failures[entry.key] = reason
            if may_help:
                self._again.add(entry.key)
