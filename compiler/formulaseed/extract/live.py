"""The live carrier: questions go to the model one by one, many at a time.

Every answer is stored when it comes. Restaurants come out in their order while later ones are under way; how far
is read ahead is bounded, so memory stays flat however long the file is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from formulaseed.extract.answers import Answers
from formulaseed.extract.asking import Question
from formulaseed.extract.base import Extraction, ReviewText
from formulaseed.extract.store import Stored
from formulaseed.llm.budget import Budget
from formulaseed.llm.calls import Usage
from formulaseed.llm.client import Abilities, Attempt, CallFailed, Client, Limits

ASKED_AT_MOST = 3
"""So often one question is asked where the answers are of no use."""
REFUSED_IN_A_ROW = 5
"""After so many calls in a row that the API calls bad, the rest would fare no better."""
AHEAD, HELD = 4, 64
"""As multiples of the concurrency: how many reviews wait for an answer, and how many of them, answered or not, are held
because one before them is not."""


class LiveExtractor:
    """Asks a model. `budget` is what the calls of this run may cost; `on_answer` hears of every answer."""

    name = "anthropic"

    def __init__(
        self, answers: Answers, limits: Limits, budget: Budget, on_answer: Callable[[], None] = lambda: None
    ) -> None:
        self._answers = answers
        self._limits = limits
        self._budget = budget
        self._on_answer = on_answer
        self._client: Client | None = None
        self._abilities = Abilities()
        self._first = asyncio.Lock()
        self._is_warm = False
        self._asking: dict[str, asyncio.Task[Stored]] = {}
        self._waiting = 0
        self._done = asyncio.Event()
        self._refused = 0
        self.stopped = ""
        """Why nothing more is asked; empty while all is well."""

    def extract_all(self, restaurants: Iterable[Sequence[ReviewText]]) -> Iterator[list[Extraction]]:
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            window: deque[tuple[int, asyncio.Task[list[Extraction]]]] = deque()
            held = 0
            try:
                for reviews in restaurants:
                    self._waiting += len(reviews)
                    held += len(reviews)
                    window.append((len(reviews), loop.create_task(self._restaurant(reviews))))
                    while window and (window[0][1].done() or self._is_full(held)):
                        if not window[0][1].done():
                            loop.run_until_complete(self._progress(window[0][1]))
                            continue
                        size, task = window.popleft()
                        held -= size
                        yield task.result()
                while window:
                    yield loop.run_until_complete(window.popleft()[1])
            finally:
                loop.run_until_complete(self._close([task for _, task in window]))

    def _is_full(self, held: int) -> bool:
        most = self._limits.concurrency
        return self._waiting >= AHEAD * most or held >= HELD * most

    async def _progress(self, head: asyncio.Task[Any]) -> None:
        """Until a review is done, or the restaurant that is to come out next."""
        self._done.clear()
        done = asyncio.ensure_future(self._done.wait())
        try:
            await asyncio.wait({head, done}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            done.cancel()

    async def _close(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Let go of what is under way, where the work ends early."""
        under_way = [*tasks, *self._asking.values()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    async def _restaurant(self, reviews: Sequence[ReviewText]) -> list[Extraction]:
        return list(await asyncio.gather(*map(self._review, reviews)))

    async def _review(self, review: ReviewText) -> Extraction:
        try:
            passes = await asyncio.gather(*map(self._answered, self._answers.asked.questions(review)))
            return self._answers.extraction(review, passes)
        finally:
            self._waiting -= 1
            self._done.set()

    async def _answered(self, question: Question) -> Stored:
        """The answer, from the store, from a call that is under way for the same text, or from a new one."""
        task = self._asking.get(question.key)
        if task is None:
            stored = self._answers.find(question)
            if stored is not None:
                self._answers.spared(stored)
                return stored
            task = asyncio.get_running_loop().create_task(self._asked(question))
            self._asking[question.key] = task
            task.add_done_callback(lambda _: self._asking.pop(question.key, None))
        return await asyncio.shield(task)

    async def _asked(self, question: Question) -> Stored:
        """Ask, and where the answer is of no use ask again; a call without an answer fails the review."""
        try:
            stored = await self._asked_first(question)
        except CallFailed as error:
            self._refused = self._refused + 1 if error.status == 400 else 0
            if error.is_final or self._refused >= REFUSED_IN_A_ROW:
                self.stopped = self.stopped or f"nothing more is asked: {error}"
            stored = Stored(None, str(error), Usage())
        self._answers.tally.unusable += stored.content is None
        self._on_answer()
        return stored

    async def _asked_first(self, question: Question) -> Stored:
        """The prompt is in the API's cache only when the first answer has begun: until then one call goes alone."""
        if self._is_warm:
            return await self._asked_until_usable(question)
        async with self._first:
            if not self._is_warm:
                try:
                    return await self._asked_until_usable(question)
                finally:
                    self._is_warm = True
        return await self._asked_until_usable(question)

    async def _asked_until_usable(self, question: Question) -> Stored:
        stored = Stored(None, "", Usage())
        for times in range(1, ASKED_AT_MOST + 1):
            if self.stopped:
                return Stored(None, self.stopped, Usage())
            stored, may_help = await self._once(question, times)
            if stored.content is not None or not may_help:
                break
        return stored

    async def _once(self, question: Question, times: int) -> tuple[Stored, bool]:
        """The answer to one call, and whether asking again may help where it is of no use."""
        client = await self._connected()
        abilities = self._abilities
        call = self._answers.asked.call(
            question, effort=abilities.effort, thinking_off=abilities.thinking_off, times=times
        )
        if not await self._budget.reserve(call):
            reason = self._budget.refusal(call)
            if self._budget.has_price(call):
                self.stopped = self.stopped or reason
            return Stored(None, reason, Usage()), False
        self._answers.tally.asked += 1
        try:
            answer = await client.ask(call)
        finally:
            self._budget.settle(call)
        self._refused = 0
        return self._answers.keep(question.key, answer), answer.stop_reason != "refusal"

    async def _connected(self) -> Client:
        if self._client is None:
            self._client = Client(self._limits, self._attempted)
            self._abilities = await self._client.abilities(self._answers.asked.model)
        if not self._abilities.structured:
            message = f"the model {self._answers.asked.model} gives no structured answers; choose another --model"
            raise CallFailed(message, is_final=True)
        return self._client

    def _attempted(self, attempt: Attempt) -> None:
        self._budget.attempted(attempt)
        self._answers.attempted(attempt)
