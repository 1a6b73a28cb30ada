"""Live extraction: concurrent calls to a model.

Every answer is stored when it comes. Restaurants come out in their order while later ones are in flight; reading ahead is
bounded, so memory stays flat however long the file is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from formulaseed.data.results import NOT_ASKED, Extraction, ReviewInput
from formulaseed.errors import FormulaSeedError
from formulaseed.extract.model.answers import MAX_TRIES, AnswerCache
from formulaseed.extract.model.prompting import Question
from formulaseed.extract.model.store import StoredAnswer
from formulaseed.llm.calls import Attempt, ModelCapabilities, Usage
from formulaseed.llm.client import CallFailed, Client, Limits
from formulaseed.llm.limiter import Budget, run_interruptibly

REFUSED_AT_FIRST, REFUSED_IN_A_ROW = 5, 50
"""The run stops after so many consecutive calls that the API rejects with the same message, before and after the first answer."""
FAILED_IN_A_ROW = 20
"""The run stops after so many consecutive calls without an answer, or twice the concurrency."""
AHEAD, HELD = 4, 64
"""As multiples of the concurrency: how many reviews wait for an answer, and how many, answered or not, are held back
by an earlier one."""
_SHORT = 20_000
"""Characters of a message that every model accepts."""


class LiveExtractor:
    """Asks a model. `budget` limits what the calls of this run may cost; `on_answer` is called with every answer."""

    def __init__(
        self, answers: AnswerCache, limits: Limits, budget: Budget, on_answer: Callable[[], None] = lambda: None
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
            call = self._answers.call(question, self._capabilities)
            async with client.turn(call):
                if self.stopped:
                    return StoredAnswer(None, NOT_ASKED, Usage())
                if not await self._budget.reserve(call):
                    reason = self._budget.refusal(call)
                    if self._budget.has_price(call):
                        self.stopped, reason = self.stopped or reason, NOT_ASKED
                    return StoredAnswer(None, reason, Usage())
                try:
                    answer, attempt = await client.ask(call)
                    self._budget.attempted(attempt)
                finally:
                    self._budget.settle(call)
            self._streak.ended()
            stored = self._answers.keep(question.key, answer, attempt)
        return stored

    async def _connected(self) -> Client:
        if self._client is None:
            self._client = Client(
                self._limits, self._attempted, is_over=lambda: bool(self.stopped), may_retry=self._budget.may_retry
            )
            self._capabilities = await self._client.capabilities(self._answers.spec.model)
        if not self._capabilities.structured:
            message = f"the model {self._answers.spec.model} does not support structured output; choose another --model"
            raise CallFailed(message, is_final=True)
        return self._client

    def _attempted(self, attempt: Attempt) -> None:
        self._budget.attempted(attempt)
        self._answers.attempted(attempt)


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
