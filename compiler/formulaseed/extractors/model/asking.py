"""Asks a model about reviews in concurrent calls.

Every answer is stored when it arrives. Restaurants are yielded in their order while later ones are in flight; reading ahead is
bounded, so that the memory does not depend on the length of the file. If another process is asking a question, the run waits for
its answer. A run that ends early waits for the calls in flight, for a bounded time, and stores their answers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from formulaseed.data.results import IN_BATCH, NOT_ASKED, Extraction, ReviewInput
from formulaseed.errors import FormulaSeedError
from formulaseed.extractors.base import OpenExtractor
from formulaseed.extractors.model.answers import MAX_TRIES, AnswerCache
from formulaseed.extractors.model.ledger import AskedElsewhere
from formulaseed.extractors.model.prompting import Question
from formulaseed.extractors.model.store import StoredAnswer
from formulaseed.llm.calls import ModelCapabilities, Usage, strip_fence
from formulaseed.llm.client import Client
from formulaseed.llm.connecting import REFUSALS, CallFailed, DamagedAnswer, Limits, NotAsked
from formulaseed.llm.interruption import Interruption
from formulaseed.llm.limiter import CostBudget
from formulaseed.source.printing import number_of

MAX_REFUSALS = 50
"""The run stops after this many consecutive calls that the API rejects with the same message."""
MAX_FIRST_REFUSALS = 5
"""The same limit before the first answer."""
MIN_FAILURES_TO_STOP = 20
"""The run stops after this many consecutive calls without an answer, or twice the concurrency if that is more."""
WAITING_FACTOR = 4
"""The most reviews that wait for an answer, as a multiple of the concurrency."""
HELD_FACTOR = 64
"""The most reviews, answered or not, that are held until an earlier one is answered, as a multiple of the concurrency."""
_SHORT_MESSAGE = 20_000
"""The length of a message in characters that every model accepts."""
_SECONDS_BETWEEN_LOOKS = 0.2
"""The pause before the store is searched again for the answer that another process waits for."""


class LiveExtractor(OpenExtractor):
    """An open extractor that asks a model in concurrent calls, within `limits` and `budget`.

    `on_answer` is called after every answer with whether it is usable; `notify` with a line if the run ends early and waits.
    """

    stop_reason = ""
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
        self._stored: ModelCapabilities | None = None
        self._is_first = True
        self._is_warm = asyncio.Event()
        self._asking: dict[str, asyncio.Task[StoredAnswer]] = {}
        self._waiting = 0
        self._done = asyncio.Event()
        self._broken: FormulaSeedError | None = None
        self._streak = _FailureStreak(limits.concurrency)
        self._is_ending = False

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        """Yield the extractions of each restaurant's reviews, in their order. Reads `restaurants` ahead.

        Asks nothing until it is iterated. When the generator is closed, waits for the calls in flight, and cancels
        everything else. Raises `FormulaSeedError` if the store cannot be used, and `Interrupted` at a signal.
        """
        with asyncio.Runner() as runner, Interruption() as interruption:
            window: deque[tuple[int, asyncio.Task[list[Extraction]]]] = deque()
            held = 0
            try:
                for reviews in restaurants:
                    task = runner.get_loop().create_task(self._extract_restaurant(reviews))
                    task.add_done_callback(lambda _: self._done.set())
                    size = max(1, len(reviews))  # restaurants without reviews must not accumulate either
                    window.append((size, task))
                    self._waiting += len(reviews)
                    held += size
                    while window and (window[0][1].done() or self._is_full(held)):
                        interruption.run(runner, self._wait_for(window[0][1], held))
                        if window[0][1].done():
                            size, task = window.popleft()
                            held -= size
                            yield task.result()
                while window:
                    interruption.run(runner, self._wait_for(window[0][1]))
                    yield window.popleft()[1].result()
            finally:
                try:
                    interruption.run(runner, self._drain())
                finally:
                    interruption.run(runner, self._close([task for _, task in window]))

    def _is_full(self, held: int) -> bool:
        """Return whether no more reviews may be read, while `held` reviews have been read and not yielded."""
        concurrency = self._limits.concurrency
        return self._waiting >= WAITING_FACTOR * concurrency or held >= HELD_FACTOR * concurrency

    async def _wait_for(self, head: asyncio.Task[Any], held: int | None = None) -> None:
        """Wait until the task `head` is done or, given the number of `held` reviews, until more may be read.

        Raises the error that broke the run as soon as there is one.
        """
        while not head.done() and (held is None or self._is_full(held)) and self._broken is None:
            self._done.clear()
            await self._done.wait()
        if self._broken is not None:
            raise self._broken

    async def _drain(self) -> None:
        """End the run: wait for the calls in flight, which are paid for, at most for the timeout, and tell the user.

        Marks the run as ending. Does not wait if an error broke the run.
        """
        self._is_ending = True
        if self._client is None or self._broken is not None:
            return
        sending = set(self._client.sending)
        if sending:
            seconds = self._limits.timeout
            calls = f"{number_of(len(sending), 'call')} in flight"
            with suppress(OSError):  # the terminal may be closed
                self._notify(f"no new calls; waiting up to {seconds:g} s for {calls} (a second signal stops at once)")
            await asyncio.wait(sending, timeout=seconds)

    async def _close(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Cancel `tasks` and all questions in flight, and close the client."""
        in_flight = [*tasks, *self._asking.values()]
        for task in in_flight:
            task.cancel()
        await asyncio.gather(*in_flight, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    async def _extract_restaurant(self, reviews: Sequence[ReviewInput]) -> list[Extraction]:
        """Return the extractions of all reviews, which are extracted concurrently, in their order."""
        return await asyncio.gather(*map(self._extract_review, reviews))

    async def _extract_review(self, review: ReviewInput) -> Extraction:
        """Return the extraction of a review, which no longer counts as waiting afterwards.

        Sets `_broken` to the first `FormulaSeedError`, which breaks the run, and raises it.
        """
        try:
            passes = await asyncio.gather(*map(self._find_or_ask, self._answers.spec.build_questions(review)))
            return self._answers.make_extraction(review, passes)
        except FormulaSeedError as error:
            self._broken = self._broken or error
            raise
        finally:
            self._waiting -= 1
            self._done.set()

    def _find_or_ask(self, question: Question) -> asyncio.Future[StoredAnswer]:
        """Return the answer from the store, from a call in flight for the same question, or from a new call.

        Counts an answer from the store. If the future is cancelled, the call goes on.
        """
        task = self._asking.get(question.key)
        if task is None:
            stored = self._answers.find(question)
            if stored is not None:
                self._answers.count_stored(stored)
                known: asyncio.Future[StoredAnswer] = asyncio.get_running_loop().create_future()
                known.set_result(stored)
                return known
            task = asyncio.get_running_loop().create_task(self._ask(question))
            self._asking[question.key] = task
            task.add_done_callback(lambda _: self._asking.pop(question.key, None))
        return asyncio.shield(task)

    async def _ask(self, question: Question) -> StoredAnswer:
        """Ask a question, and return its answer; without one, return an answer with the reason, which is not stored.

        Stops the run at an error that all further calls would have. Until the first answer has arrived, only one call
        is made: the API caches the prompt from then on. Calls `on_answer` at the end.
        """
        is_first = self._is_first
        self._is_first = False
        try:
            if not is_first:
                await self._is_warm.wait()
            stored = await self._ask_until_usable(question)
        except NotAsked as error:
            if error.is_final:  # another run has the same budget again, but the answers so far in the store
                self._stop(error, can_resume=self._answers.usage.calls > 0)
            stored = StoredAnswer(None, NOT_ASKED if error.is_final else str(error), Usage())
        except CallFailed as error:
            if error.is_final or self._streak.add_failure(question, error):
                self._stop(error, can_resume=error.may_pass)
            self._answers.usage.unanswered += error.may_pass
            stored = StoredAnswer(None, str(error), Usage())
        finally:
            self._is_warm.set()
        self._on_answer(stored.content is not None)
        return stored

    def _stop(self, error: CallFailed, *, can_resume: bool) -> None:
        """Set the reason why the run stops, and whether another run would get further, unless it has stopped before."""
        if not self.stop_reason:
            self.stop_reason = str(error)
            self.can_resume = can_resume

    async def _ask_until_usable(self, question: Question) -> StoredAnswer:
        """Ask a question until its answer is usable or `MAX_TRIES` is reached; return the last answer.

        While another process is asking the question, waits for its answer. Raises `NotAsked` if a batch is asking it or the run
        is over, and `CallFailed` if a call fails or the answer was damaged `MAX_TRIES` times.
        """
        damaged = 0
        while True:
            claim = self._answers.store.ledger.find_claim(question.key)
            if claim == "batch":
                raise NotAsked(IN_BATCH)
            try:
                if claim:
                    raise AskedElsewhere
                stored = await self._ask_once(question)
            except AskedElsewhere:
                if self._is_over():
                    raise NotAsked(NOT_ASKED) from None
                answer = self._answers.find(question)
                if answer is not None:
                    self._answers.count_stored(answer)
                    return answer
                await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            except DamagedAnswer:
                damaged += 1
                if damaged == MAX_TRIES:
                    raise
            else:
                if stored.content is not None or stored.tries >= MAX_TRIES:
                    return stored

    async def _ask_once(self, question: Question) -> StoredAnswer:
        """Ask a question once, and store and return its answer, usable or not.

        Raises `CallFailed` if there is none, and `AskedElsewhere` if another process or a batch is asking or has
        answered.
        """
        client = await self._connect()
        try:
            answer, attempt = await client.ask(self._answers.build_call(question, self._capabilities))
        except CallFailed as error:
            learned = self._capabilities.without_refused(str(error)) if error.status in REFUSALS else None
            if learned is None or not client.is_foreign:
                raise
            self._capabilities = replace(learned, is_stated=False)
            return await self._ask_once(question)
        if not self._capabilities.enforces_schema:
            answer = strip_fence(answer)
        self._store_capabilities(client)
        self._streak.reset()
        with self._answers.store.transaction():
            self._answers.settle_attempt(attempt)
            return self._answers.store_answer(question.key, answer, question.text)

    def _is_over(self) -> bool:
        """Return whether no new calls may be made."""
        return bool(self.stop_reason) or self._is_ending

    async def _connect(self) -> Client:
        """Return the client; the first call opens it, and asks for the model's capabilities.

        Those of a server that is not Anthropic's own are stored, so that it is asked once.
        """
        if self._client is None:
            answers = self._answers
            self._client = Client(self._limits, self._budget, answers.begin, answers.settle_attempt, self._is_over)
            self._stored = answers.store.get_capabilities(self._client.url, answers.spec.model)
            self._capabilities = self._stored or await self._client.capabilities(answers.spec.model)
        return self._client

    def _store_capabilities(self, client: Client) -> None:
        """Store what was learned of a server that states nothing, now that it has answered."""
        if not self._capabilities.is_stated and self._capabilities != self._stored:
            self._stored = self._capabilities
            self._answers.store.note_capabilities(client.url, self._answers.spec.model, self._capabilities)


class _FailureStreak:
    """The number of consecutive calls that have failed, which decides whether to stop the run."""

    def __init__(self, concurrency: int) -> None:
        self._max_failures = max(MIN_FAILURES_TO_STOP, 2 * concurrency)
        self._failures = 0
        self._refusals = 0
        self._max_refusals = MAX_FIRST_REFUSALS
        self._message = ""

    def reset(self) -> None:
        """Begin again after a call that had an answer; from then on `MAX_REFUSALS` are allowed."""
        self._failures = 0
        self._refusals = 0
        self._max_refusals = MAX_REFUSALS

    def add_failure(self, question: Question, error: CallFailed) -> bool:
        """Count a failed call; return whether all other calls would probably fail, too.

        Refusals (status 400) are counted apart; that count begins again at another message or a long question.
        """
        if error.status == 400:
            # the API may reject a long review for its length, which says nothing about the others
            is_same = str(error) == self._message and len(question.user) <= _SHORT_MESSAGE
            self._refusals = self._refusals + 1 if is_same else 1
            self._message = str(error)
            return self._refusals >= self._max_refusals
        self._failures += 1
        return self._failures >= self._max_failures
