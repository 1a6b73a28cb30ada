"""Sends calls to Anthropic's API, which no other module does, and returns their answers or raises the reason for none.

The SDK retries failures that may be temporary (408, 409, 429, 5xx, dropped connections) and sleeps as long as the server says.
A middleware records every attempt before it is sent and after it has ended. There is no second layer of retries, but each
call has a deadline for all of its attempts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from formulaseed.data.results import NOT_ASKED
from formulaseed.errors import FormulaSeedError
from formulaseed.llm import calls, connecting
from formulaseed.llm.limiter import AdaptiveLimiter, CostBudget, RateLimiter

_PUSHBACK_STATUSES = ("429", "529")
_BYTES_PER_TOKEN = 4
_CAPABILITIES_TIMEOUT = 20.0
_POOL_SIZE = 16  # httpx searches all connections of a pool for each call
_MAX_UNSTREAMED_TOKENS = 20_000  # the SDK refuses to wait for a response of more than 21,333 tokens
_MAYBE_CHARGED = ("timeout", "no answer", "interrupted", "broken")
"""The statuses of attempts that the API may have answered and charged."""


@dataclass
class _CallState:
    """A call in flight, as the middleware sees it.

    `statuses` are those of its attempts that have ended, and `id` is the number of the current one in the ledger.
    `answered_ms` is the duration of an attempt with status 200 whose body has not been read yet; None for no such attempt.
    """

    call: calls.ModelCall
    deadline: float
    statuses: list[str] = field(default_factory=list)
    id: int = 0
    answered_ms: int | None = None


_CURRENT_CALL: ContextVar[_CallState] = ContextVar("_CURRENT_CALL")


class Client:
    """A client of the API, which sends calls within limits and a budget. It belongs to one event loop.

    `begin` is called before each attempt is sent. It returns the number of the attempt in the ledger, or raises an exception
    that prevents the attempt. `on_attempt` is called with every attempt that ends without an answer. `is_over` returns True if
    the run has stopped, and then no call is sent.
    """

    def __init__(
        self,
        limits: connecting.Limits,
        budget: CostBudget,
        begin: Callable[[calls.ModelCall], int] = lambda _: 0,
        on_attempt: Callable[[calls.Attempt], None] = lambda _: None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self.limits = limits
        self.limiter = AdaptiveLimiter(limits.concurrency)
        self.sending: set[asyncio.Task[Any]] = set()
        """The tasks that have sent an attempt and wait for its end."""
        self._budget = budget
        self._is_over = is_over
        self._requests = RateLimiter(limits.requests_per_minute, is_over)
        self._tokens = RateLimiter(limits.tokens_per_minute, is_over)
        self._begin = begin
        self._on_attempt = on_attempt
        self.sdk = connecting.connect(limits, self._record)
        self.url = str(self.sdk.base_url.copy_with(userinfo=b""))
        self.is_foreign = connecting.is_foreign(self.url)
        self._sdks = [self.sdk]
        self._create_functions: Iterator[Callable[..., Any]] | None = None

    async def ask(self, call: calls.ModelCall) -> tuple[calls.Answer, calls.Attempt]:
        """Send a call, which is paid, and return its answer and the attempt that got it.

        Waits until the rates, the concurrency and the budget allow the call. Raises `CallFailed` if it has no answer,
        and the subclass `NotAsked` if it was not sent: the run is over, or the budget does not allow it.
        """
        await self._wait_for_rates(call)
        async with self.limiter:
            if self._is_over():
                raise connecting.NotAsked(NOT_ASKED)
            if not await self._budget.reserve(call):
                raise connecting.NotAsked(self._budget.explain_refusal(call), is_final=self._budget.has_price(call))
            try:
                answer, attempt = await self._send_until_deadline(call)
                self._budget.charge(attempt)
            finally:
                self._budget.settle(call)
        return answer, attempt

    async def _send_until_deadline(self, call: calls.ModelCall) -> tuple[calls.Answer, calls.Attempt]:
        """Send a call with the SDK's retries. Raises `CallFailed`, also if there is no answer before the deadline.

        Returns the answer and its attempt, which the caller has to charge. Attempts without an answer are recorded.
        """
        state = _CallState(call, time.monotonic() + self.limits.deadline)
        _CURRENT_CALL.set(state)
        try:
            async with asyncio.timeout(self.limits.deadline):
                answer = await self._send(call)
        except TimeoutError:
            self._end_broken_attempt(state)
            statuses = ", ".join(state.statuses) or "none ended"
            message = f"no answer within the deadline of {self.limits.deadline:g} s (attempts: {statuses})"
            raise connecting.CallFailed(message) from None
        except FormulaSeedError:
            self._end_broken_attempt(state)
            raise
        except Exception as error:
            self._end_broken_attempt(state)
            raise connecting.translate_error(error, len(state.statuses)) from None
        return answer, self._build_attempt(state, "200", state.answered_ms or 0, answer.request_id, answer)

    async def _send(self, call: calls.ModelCall) -> calls.Answer:
        """Send a request, streamed if the answer may be long. Raises errors of the SDK, and `DamagedAnswer`."""
        # a long answer is streamed, since an idle connection may be closed
        if call.max_tokens > _MAX_UNSTREAMED_TOKENS:
            # not by the SDK's own collector, which fails if a server states no usage
            stream = await self.sdk.messages.create(**calls.build_request(call), stream=True)
            try:
                async with stream:
                    message = await calls.collect_message(event.to_dict() async for event in stream)
                return calls.parse_answer(message, stream.response.headers.get("request-id", ""), call.max_usage)
            except ValueError as error:
                raise connecting.DamagedAnswer(str(error)) from None
        # parsed here, since the SDK's objects take longer to build than everything else in this package
        response = await self._next_create_function()(**calls.build_request(call))
        try:
            return calls.parse_answer(await response.read(), response.request_id or "", call.max_usage)
        except ValueError as error:
            raise connecting.DamagedAnswer(str(error)) from None

    async def capabilities(self, model: str) -> calls.ModelCapabilities:
        """Ask the API for the features of a model; without a usable answer within 20 s return those of current models.

        A server that is not Anthropic's own has then stated nothing.
        """
        try:
            async with asyncio.timeout(min(_CAPABILITIES_TIMEOUT, self.limits.deadline)):
                model_info = await self.sdk.with_options(max_retries=2).models.retrieve(model)
            stated: Any = model_info.capabilities
            features = (stated.effort, stated.thinking.types.disabled, stated.structured_outputs)
            return calls.ModelCapabilities(*(feature.supported for feature in features))
        # the endpoint and its data are optional; if something is wrong, the calls themselves will report it
        except Exception:
            return calls.ModelCapabilities(is_stated=not self.is_foreign)

    def _next_create_function(self) -> Callable[..., Any]:
        """Return the SDK's `create` on the next of several small pools, in turn.

        The first call opens the pools, which `aclose` closes.
        """
        if self._create_functions is None:
            self._sdks += connecting.open_pools(self.sdk, (self.limits.concurrency - 1) // _POOL_SIZE)
            self._create_functions = cycle([sdk.messages.with_raw_response.create for sdk in self._sdks])
        return next(self._create_functions)

    async def count_tokens(self, call: calls.ModelCall) -> int:
        """Ask the API for the number of tokens in a call's prompt, which is free.

        Raises `CallFailed` if the API gives no number.
        """
        try:
            prompt = {name: value for name, value in calls.build_request(call).items() if name != "max_tokens"}
            tokens: object = (await self.sdk.messages.count_tokens(**prompt)).input_tokens
            if type(tokens) is not int or tokens < 0:
                raise ValueError("the API's count of tokens is not a number")
            return tokens
        except Exception as error:
            raise connecting.translate_error(error) from None

    async def aclose(self) -> None:
        """Close all connections."""
        for sdk in self._sdks:
            await sdk.close()

    async def _record(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        """Send an attempt as the SDK's middleware, and record its start and its end.

        Raises `CallFailed` to stop retries, `NotAsked` if the run is over, and what `begin` raises. Free requests are
        only passed on. Widens the limiter after status 200, and narrows it when the API pushes back.
        """
        state = _CURRENT_CALL.get(None)
        # requests such as those of `capabilities` and `count_tokens` are free, and not recorded
        if state is None:
            return await call_next(request)
        self._end_broken_attempt(state)
        if state.statuses:
            await self._wait_for_retry(state)
        if self._is_over():
            raise connecting.NotAsked(NOT_ASKED)
        state.id = self._begin(state.call)
        start = time.perf_counter()
        task = asyncio.current_task()
        if task is not None:
            self.sending.add(task)
        try:
            response = await call_next(request)
        except BaseException as error:
            self._end_attempt(state, connecting.attempt_status(error), _ms_since(start))
            raise
        finally:
            if task is not None:
                self.sending.discard(task)
        status = str(response.status_code)
        if status == "200":
            state.answered_ms = _ms_since(start)
            self.limiter.recover()
            return response
        if status in _PUSHBACK_STATUSES:
            self.limiter.slow()
        self._end_attempt(state, status, _ms_since(start), response.headers.get("request-id") or "")
        self._check_retry_after(state, response)
        return response

    async def _wait_for_retry(self, state: _CallState) -> None:
        """Wait until the call may be sent again. Raises `CallFailed` if that could cost more than the limit.

        After a pushback, a slot of the limiter is also waited for.
        """
        if not self._budget.may_retry():
            statuses = ", ".join(state.statuses)
            raise connecting.CallFailed(
                f"no answer (attempts: {statuses}), and one more could cost more than the limit"
            )
        if state.statuses[-1] in _PUSHBACK_STATUSES:
            await self.limiter.reacquire()
        await self._wait_for_rates(state.call)

    def _check_retry_after(self, state: _CallState, response: Any) -> None:
        """Raise `CallFailed` if the SDK would sleep beyond the call's deadline, and `NotAsked` if the run has stopped.

        Does nothing for an answer after which the SDK does not retry.
        """
        failure = connecting.CallFailed("", status=response.status_code)
        seconds = connecting.read_retry_after(response.headers)
        if failure.may_pass and seconds > state.deadline - time.monotonic():
            wait = f"asks to wait {seconds:,.0f} s, beyond the deadline of {self.limits.deadline:g} s"
            raise connecting.CallFailed(f"the API answered {failure.status} and {wait}", status=failure.status)
        if failure.may_pass and self._is_over():
            raise connecting.NotAsked(NOT_ASKED)

    async def _wait_for_rates(self, call: calls.ModelCall) -> None:
        """Wait until the requests and the tokens per minute allow the call."""
        await self._requests.take(1)
        await self._tokens.take(call.bytes / _BYTES_PER_TOKEN)

    def _end_broken_attempt(self, state: _CallState) -> None:
        """Record the end of an attempt with status 200 whose body could not be read or parsed, if there is one.

        Resets `state.answered_ms`, so that a second call does nothing.
        """
        ms = state.answered_ms
        state.answered_ms = None
        if ms is not None:
            self._end_attempt(state, "broken", ms)

    def _end_attempt(self, state: _CallState, status: str, ms: int, request_id: str = "") -> None:
        """Record the end of an attempt without an answer: add it to `state.statuses`, charge it, call `on_attempt`.

        It is charged with the upper bound of the call if the API may have charged it, otherwise with nothing.
        """
        state.statuses.append(status)
        attempt = self._build_attempt(state, status, ms, request_id)
        self._budget.charge(attempt)
        self._on_attempt(attempt)

    def _build_attempt(
        self, state: _CallState, status: str, ms: int, request_id: str, answer: calls.Answer | None = None
    ) -> calls.Attempt:
        """Return an attempt that has ended, with the answer's usage if it has an `answer`.

        Without one, its usage is the upper bound of the call if the attempt may have been charged, else None.
        """
        call = state.call
        number = len(state.statuses)
        if answer is not None:
            bound = answer.is_bound
            return calls.Attempt(
                call.key, call.model, status, ms, answer.usage, request_id, number + 1, state.id, bound
            )
        is_bound = status in _MAYBE_CHARGED
        usage = call.max_usage if is_bound else None
        return calls.Attempt(call.key, call.model, status, ms, usage, request_id, number, state.id, is_bound)


def _ms_since(start: float) -> int:
    """Return the milliseconds since `start`, a time of `time.perf_counter`, rounded."""
    return round((time.perf_counter() - start) * 1000)
