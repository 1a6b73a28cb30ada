"""Asks a model about reviews in concurrent calls.

Every answer is stored when it comes. Restaurants come out in their order while later ones are in flight; reading ahead is
bounded, so memory stays flat however long the file is. A question that another process asks now is waited for. Where the
run ends early, the calls in flight are waited for, a bounded time, and stored.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from formulaseed.data.results import IN_BATCH, NOT_ASKED, Extraction, ReviewInput
from formulaseed.errors import FormulaSeedError
from formulaseed.extractors.base import OpenExtractor
from formulaseed.extractors.model.answers import MAX_TRIES, AnswerCache
from formulaseed.extractors.model.ledger import AskedElsewhere
from formulaseed.extractors.model.prompting import Question
from formulaseed.extractors.model.store import StoredAnswer
from formulaseed.llm.calls import ModelCapabilities, Usage
from formulaseed.llm.client import Client
from formulaseed.llm.connecting import Limits
from formulaseed.llm.failures import CallFailed, DamagedAnswer, NotAsked
from formulaseed.llm.interruption import Interruption
from formulaseed.llm.limiter import CostBudget
from formulaseed.source.printing import number_of

REFUSED_AT_FIRST, REFUSED_IN_A_ROW = 5, 50
"""The run stops after so many consecutive calls that the API rejects with the same message, before and after the first answer."""
FAILED_IN_A_ROW = 20
"""The run stops after so many consecutive calls without an answer, or twice the concurrency."""
AHEAD, HELD = 4, 64
"""As multiples of the concurrency: how many reviews wait for an answer, and how many, answered or not, are held back
by an earlier one."""
_SHORT = 20_000
"""Characters of a message that every model accepts."""
_SECONDS_BETWEEN_LOOKS = 0.2
"""At whether another process has its answer."""


class LiveExtractor(OpenExtractor):
    """Asks a model. `budget` limits what the calls of this run may cost.

    `on_answer` is called with every answer, and whether it is usable; `notify` with what happens to a run that ends early.
    """

    stopped = ""
    can_resume = False

    def __init__(
        self,
        answers: AnswerCache,
        limits: Limits,
        budget: CostBudget,
        on_answer: Callable[[bool], None] = lambda _: None,
        notify: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name = answers.spec.extractor
        self.prompt_sha256 = answers.spec.prompt_sha256
        self._answers = answers
        self._limits = limits
        self._budget = budget
        self._on_answer = on_answer
        self._notify = notify
        self._client: Client | None = None
        self._capabilities = ModelCapabilities()
        self._is_first = True
        self._is_warm = asyncio.Event()
        self._asking: dict[str, asyncio.Task[StoredAnswer]] = {}
        self._waiting = 0
        self._done = asyncio.Event()
        self._broken: FormulaSeedError | None = None
        self._streak = _FailureStreak(limits.concurrency)
        self._is_ending = False

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        with asyncio.Runner() as runner, Interruption() as interruption:
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
                        interruption.run(runner, self._progress(window[0][1], held))
                        if window[0][1].done():
                            size, task = window.popleft()
                            held -= size
                            yield task.result()
                while window:
                    interruption.run(runner, self._progress(window[0][1]))
                    yield window.popleft()[1].result()
            finally:
                try:
                    interruption.run(runner, self._drain())
                finally:
                    interruption.run(runner, self._close([task for _, task in window]))

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

    async def _drain(self) -> None:
        """Where the run ends early, wait for the calls in flight: they are paid for."""
        self._is_ending = True
        sending = set(self._client.sending) if self._client is not None and self._broken is None else None
        if sending:
            seconds = self._limits.timeout
            calls = f"{number_of(len(sending), 'call')} in flight"
            with suppress(OSError):  # the terminal may be gone
                self._notify(f"no new calls; waiting up to {seconds:g} s for {calls} (a second signal stops at once)")
            await asyncio.wait(sending, timeout=seconds)

    async def _close(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Cancel what is still under way."""
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
            if error.is_final:  # the limit of money, which holds for each run
                self._stop(error, can_resume=self._answers.usage.asked > 0)
            stored = StoredAnswer(None, NOT_ASKED if error.is_final else str(error), Usage())
        except CallFailed as error:
            if error.is_final or self._streak.is_hopeless(question, error):
                self._stop(error, can_resume=error.may_pass)
            self._answers.usage.unanswered += error.may_pass
            stored = StoredAnswer(None, str(error), Usage())
        finally:
            self._is_warm.set()
        self._on_answer(stored.content is not None)
        return stored

    def _stop(self, error: CallFailed, *, can_resume: bool) -> None:
        if not self.stopped:
            self.stopped, self.can_resume = str(error), can_resume

    async def _asked_until_usable(self, question: Question) -> StoredAnswer:
        """Ask, or wait for the answer to whoever asks now, until there is a usable answer, or as many as are allowed."""
        damaged = 0
        while True:
            asked_by = self._answers.store.ledger.claim_on(question.key)
            if asked_by == "batch":
                raise NotAsked(IN_BATCH)
            try:
                if asked_by:
                    raise AskedElsewhere
                stored = await self._answer(question)
            except AskedElsewhere:
                if self._is_over():
                    raise NotAsked(NOT_ASKED) from None
                found = self._answers.find(question)
                if found is not None:
                    self._answers.count_stored(found)
                    return found
                await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            except DamagedAnswer:
                damaged += 1
                if damaged == MAX_TRIES:
                    raise
            else:
                if stored.content is not None or stored.tries >= MAX_TRIES:
                    return stored

    async def _answer(self, question: Question) -> StoredAnswer:
        """Ask once, and store what is answered."""
        client = await self._connected()
        answer, attempt = await client.ask(self._answers.call(question, self._capabilities))
        self._streak.ended()
        with self._answers.store.transaction():
            self._answers.attempted(attempt)
            return self._answers.read(question.key, answer, question.text)

    def _is_over(self) -> bool:
        return bool(self.stopped) or self._is_ending

    async def _connected(self) -> Client:
        if self._client is None:
            answers = self._answers
            self._client = Client(self._limits, self._budget, answers.begin, answers.attempted, self._is_over)
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
