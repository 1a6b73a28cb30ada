"""The batch carrier: questions go to the Message Batches API, at half the price, and are answered within a day.

A batch's id is stored before it is waited for, so a run that was killed picks it up again. The work is done in
rounds: each sends what the store has no answer to, waits, and stores the results, which come in any order.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from formulaseed.errors import FormulaSeedError
from formulaseed.extract.answers import Answers, unanswered
from formulaseed.extract.base import ReviewText
from formulaseed.llm.calls import Call, answer_of, params
from formulaseed.llm.client import Attempt, CallFailed, Client, Limits, told

ROUNDS = 3
"""So often a question is sent where it expires, ends in an error or in an answer of no use."""
MOST_REQUESTS = 10_000
MOST_BYTES = 32 * 1024 * 1024
"""What a batch holds. The API takes 100,000 requests and 256 MB; this much fits into any memory."""
_HOPELESS = ("invalid_request_error", "request_too_large")

Source = Callable[[], Iterable[Sequence[ReviewText]]]
"""The reviews from their beginning, each time it is called."""


class BatchRun:
    """Asks everything that a source needs. `tell` hears how far it is; `poll` is the seconds between two looks."""

    def __init__(
        self,
        answers: Answers,
        limits: Limits,
        *,
        most_usd: float | None = None,
        poll: float = 30.0,
        tell: Callable[[str], None] = lambda _: None,
        most_requests: int = MOST_REQUESTS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._answers = answers
        self._limits = limits
        self._most_usd = most_usd
        self._poll = poll
        self._tell = tell
        self._most_requests = most_requests
        self._most_bytes = most_bytes
        self._bound = 0.0
        self._again: set[str] = set()
        self.asked: set[str] = set()
        """The questions that were sent in this run, by their keys."""
        self.failures: dict[str, str] = {}
        """Why a question has no answer of use, by its key."""
        self.stopped = ""
        """Why not everything was asked; empty where it was."""

    def ask(self, source: Source) -> None:
        """Have every question answered, as far as that is possible. Raises `FormulaSeedError` where the API cannot be used."""
        asyncio.run(self._ask(source))

    async def _ask(self, source: Source) -> None:
        for _ in range(ROUNDS):
            missing = self._missing(source)
            first = next(missing, None)
            if first is None and not self._answers.store.open_batches(self._answers.asked.id):
                return
            client = Client(self._limits, lambda _: None)
            try:
                await self._round(client, first, missing)
            except CallFailed as error:
                self.stopped = self.stopped or f"nothing more is asked: {error}"
            finally:
                await client.close()
            if self.stopped:
                return

    async def _round(self, client: Client, first: Call | None, missing: Iterator[Call]) -> None:
        if first is not None:
            for calls in self._batches(first, missing):
                await self._send(client, calls)
        while waiting := self._answers.store.open_batches(self._answers.asked.id):
            left = [batch for batch in waiting if not await self._read_if_ended(client, batch)]
            if left:
                self._tell(f"waiting for {len(left)} batch{'es' if len(left) > 1 else ''}")
                await asyncio.sleep(self._poll)

    def _missing(self, source: Source) -> Iterator[Call]:
        """A call for every question that has to be sent, each once."""
        again, self._again = self._again, set()
        self._bound = self._answers.tally.paid or 0.0
        seen: set[str] = set()
        for question in unanswered(self._answers, source(), again):
            key = question.key
            given_up = key in self.failures and key not in again
            if key in seen or given_up or self._answers.store.is_batched(key):
                continue
            seen.add(key)
            call = self._answers.asked.call(question, times=2 if key in again else 1)
            if self._fits(call):
                yield call
            else:
                self.failures[key] = self.stopped

    def _fits(self, call: Call) -> bool:
        if self._most_usd is None:
            return True
        bound = self._answers.tally.prices.at_most(call, is_batch=True)
        if bound is None or self._bound + bound > self._most_usd:
            self.stopped = f"not asked: it could cost more than the limit of ${self._most_usd:g}"
            return False
        self._bound += bound
        return True

    def _batches(self, first: Call, rest: Iterator[Call]) -> Iterator[list[Call]]:
        calls: list[Call] = []
        size = 0
        for call in itertools.chain([first], rest):
            length = len(json.dumps(params(call), ensure_ascii=False).encode()) + 100
            if calls and (len(calls) >= self._most_requests or size + length > self._most_bytes):
                yield calls
                calls, size = [], 0
            calls.append(call)
            size += length
        yield calls

    async def _send(self, client: Client, calls: list[Call]) -> None:
        requests: list[Any] = [{"custom_id": call.key, "params": params(call)} for call in calls]
        try:
            batch = await client.sdk.messages.batches.create(requests=requests)
        except Exception as error:
            raise told(error) from None
        self._answers.store.begin_batch(batch.id, self._answers.asked.id, (call.key for call in calls))
        self.asked.update(call.key for call in calls)
        self._answers.tally.asked += len(calls)
        self._tell(f"sent {len(calls):,} calls as {batch.id}")

    async def _read_if_ended(self, client: Client, batch: str) -> bool:
        """Whether the batch is over; if so its results are in the store."""
        try:
            found = await client.sdk.messages.batches.retrieve(batch)
            if found.processing_status != "ended":
                return False
            start = time.perf_counter()
            async for entry in await client.sdk.messages.batches.results(batch):
                self._take(entry, round((time.perf_counter() - start) * 1000))
        except FormulaSeedError:
            raise
        except Exception as error:
            failed = told(error)
            if failed.status != 404:
                raise failed from None
            self._tell(f"{batch} is not there any more; what it asked is asked again")
        self._answers.store.end_batch(batch)
        return True

    def _take(self, entry: Any, ms: int) -> None:
        """One result: an answer, or the reason for none."""
        key, result = entry.custom_id, entry.result
        model = self._answers.asked.model
        if result.type == "succeeded":
            answer = answer_of(result.message)
            self._answers.attempted(Attempt(key, model, "succeeded", ms, answer.usage), is_batch=True)
            stored = self._answers.keep(key, answer, is_batch=True)
            self.failures.pop(key, None)
            if stored.content is None:
                self._failed(key, stored.reason, may_help=answer.stop_reason != "refusal")
            return
        self._answers.attempted(Attempt(key, model, result.type, ms), is_batch=True)
        if result.type == "errored":
            error = result.error.error
            self._failed(key, f"the API could not answer: {error.message}", may_help=error.type not in _HOPELESS)
        else:
            self._failed(key, f"its call in a batch was {result.type}", may_help=result.type == "expired")

    def _failed(self, key: str, reason: str, *, may_help: bool) -> None:
        self.failures[key] = reason
        if may_help:
            self._again.add(key)
