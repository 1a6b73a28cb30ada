"""The only door to Anthropic's API. Everything else hands it calls and gets answers or the reason for none.

The SDK retries what can pass (408, 409, 429, 5xx, dropped connections) and sleeps as long as the server says; a
middleware has every attempt noted before it is sent and after it has ended. There is no second layer of retries, but a
deadline for each call with all of its attempts.
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
from formulaseed.llm.calls import Answer, Attempt, Call, ModelCapabilities, answer_of, params
from formulaseed.llm.connecting import Limits, connect, more_pools
from formulaseed.llm.failures import CallFailed, DamagedAnswer, NotAsked, failure_of, seconds_to_wait, word_of
from formulaseed.llm.limiter import AdaptiveLimiter, CostBudget, RateLimiter

_PUSHED_BACK = ("429", "529")
_BYTES_A_TOKEN = 4
_SECONDS_FOR_A_COURTESY = 20.0
_CONNECTIONS = 16
"""Of one pool: for each call it looks at all of them, more than once."""
_MOST_TOKENS_AT_ONCE = 20_000
"""The SDK refuses to wait for more than 21,333 in one piece."""
_UNKNOWN = ("timeout", "no answer", "interrupted", "broken")
"""What an attempt ends with where the API may have answered and charged."""


@dataclass
class _CallState:
    """A call in flight, for the middleware. `id` is the number of its attempt in the ledger."""

    call: Call
    deadline: float
    statuses: list[str] = field(default_factory=list)
    id: int = 0
    answered_ms: int | None = None


_CURRENT: ContextVar[_CallState] = ContextVar("_CURRENT")


class Client:
    """Asks models, within a budget. Belongs to one event loop.

    `begin` is called before each attempt is sent and returns its number in the ledger, or raises what keeps it from being
    sent; `on_attempt` is called with every attempt that ends without an answer; `is_over` returns whether the run has stopped.
    """

    def __init__(
        self,
        limits: Limits,
        budget: CostBudget,
        begin: Callable[[Call], int] = lambda _: 0,
        on_attempt: Callable[[Attempt], None] = lambda _: None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self.limits = limits
        self.limiter = AdaptiveLimiter(limits.concurrency)
        self.sending: set[asyncio.Task[Any]] = set()
        """The tasks that wait for the end of an attempt."""
        self._budget = budget
        self._is_over = is_over
        self._requests = RateLimiter(limits.requests_per_minute, is_over)
        self._tokens = RateLimiter(limits.tokens_per_minute, is_over)
        self._begin = begin
        self._on_attempt = on_attempt
        self.sdk = connect(limits, self._meter)
        self._sdks = [self.sdk]
        self._creates: Iterator[Callable[..., Any]] | None = None

    async def ask(self, call: Call) -> tuple[Answer, Attempt]:
        """Ask when rates, concurrency and budget allow it; return the answer and its attempt. Raises `CallFailed`."""
        await self._take(call)
        async with self.limiter:
            if self._is_over():
                raise NotAsked(NOT_ASKED)
            if not await self._budget.reserve(call):
                raise NotAsked(self._budget.refusal(call), is_final=self._budget.has_price(call))
            try:
                answer, attempt = await self._ask(call)
                self._budget.attempted(attempt)
            finally:
                self._budget.settle(call)
        return answer, attempt

    async def _ask(self, call: Call) -> tuple[Answer, Attempt]:
        state = _CallState(call, time.monotonic() + self.limits.deadline)
        _CURRENT.set(state)
        try:
            async with asyncio.timeout(self.limits.deadline):
                answer = await self._answer(call)
        except TimeoutError:
            self._account(state)
            tried = ", ".join(state.statuses) or "none ended"
            message = f"no answer within the deadline of {self.limits.deadline:g} s (attempts: {tried})"
            raise CallFailed(message) from None
        except FormulaSeedError:
            self._account(state)
            raise
        except Exception as error:
            self._account(state)
            raise failure_of(error, len(state.statuses)) from None
        return answer, self._attempt(state, "200", state.answered_ms or 0, answer.request_id, answer)

    async def _answer(self, call: Call) -> Answer:
        """Send one request; a long answer is streamed, since an idle connection may be closed."""
        if call.max_tokens > _MOST_TOKENS_AT_ONCE:
            async with self.sdk.messages.stream(**params(call)) as stream:
                message = await stream.get_final_message()
            return answer_of(message.to_dict(), stream.request_id or "", call.at_most)
        # parsed here: building the SDK's objects costs more than everything else of ours
        response = await self._next_create()(**params(call))
        try:
            return answer_of(await response.read(), response.request_id or "", call.at_most)
        except ValueError as error:
            raise DamagedAnswer(str(error)) from None

    async def capabilities(self, model: str) -> ModelCapabilities:
        """Return what the model supports; a server that does not answer soon is assumed to have a current model."""
        try:
            async with asyncio.timeout(min(_SECONDS_FOR_A_COURTESY, self.limits.deadline)):
                model_info = await self.sdk.with_options(max_retries=2).models.retrieve(model)
            stated: Any = model_info.capabilities
            features = (stated.effort, stated.thinking.types.disabled, stated.structured_outputs)
            return ModelCapabilities(*(feature.supported for feature in features))
        # The endpoint and its data are optional: if something is wrong, the calls themselves will report it.
        except Exception:
            return ModelCapabilities()

    def _next_create(self) -> Callable[..., Any]:
        """Return the function that sends a request, of the next of several pools, since a large pool takes long to search."""
        if self._creates is None:
            self._sdks += more_pools(self.sdk, (self.limits.concurrency - 1) // _CONNECTIONS)
            self._creates = cycle([sdk.messages.with_raw_response.create for sdk in self._sdks])
        return next(self._creates)

    async def count_tokens(self, call: Call) -> int:
        """Return the tokens of a call's prompt, as the API counts them, which is free. Raises `CallFailed`."""
        try:
            prompt = {name: value for name, value in params(call).items() if name != "max_tokens"}
            tokens: object = (await self.sdk.messages.count_tokens(**prompt)).input_tokens
            if type(tokens) is not int or tokens < 0:
                raise ValueError("the API's count of tokens is not a number")
            return tokens
        except Exception as error:
            raise failure_of(error) from None

    async def aclose(self) -> None:
        for sdk in self._sdks:
            await sdk.close()

    async def _meter(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        """Have one attempt noted before and after, with how long it took and how it ended."""
        state = _CURRENT.get(None)
        if state is None:
            return await call_next(request)
        self._account(state)
        if state.statuses:
            await self._retry(state)
        if self._is_over():
            raise NotAsked(NOT_ASKED)
        state.id = self._begin(state.call)
        start, task = time.perf_counter(), asyncio.current_task()
        if task is not None:
            self.sending.add(task)
        try:
            response = await call_next(request)
        except BaseException as error:
            self._attempted(state, word_of(error), _ms_since(start))
            raise
        finally:
            if task is not None:
                self.sending.discard(task)
        status = str(response.status_code)
        if status == "200":
            state.answered_ms = _ms_since(start)
            self.limiter.recover()
            return response
        if status in _PUSHED_BACK:
            self.limiter.slow()
        self._attempted(state, status, _ms_since(start), response.headers.get("request-id") or "")
        self._must_be_worth_waiting(state, response)
        return response

    async def _retry(self, state: _CallState) -> None:
        """Wait until the call may be sent again. Raises `CallFailed` where that could cost more than the limit."""
        if not self._budget.may_retry():
            tried = ", ".join(state.statuses)
            raise CallFailed(f"no answer (attempts: {tried}), and one more could cost more than the limit")
        if state.statuses[-1] in _PUSHED_BACK:
            await self.limiter.reacquire()
        await self._take(state.call)

    def _must_be_worth_waiting(self, state: _CallState, response: Any) -> None:
        """Raise `CallFailed` where the SDK would sleep beyond the call's deadline, or the run has stopped."""
        failed = CallFailed("", status=response.status_code)
        seconds = seconds_to_wait(response.headers)
        if failed.may_pass and seconds > state.deadline - time.monotonic():
            wait = f"asks to wait {seconds:,.0f} s, beyond the deadline of {self.limits.deadline:g} s"
            raise CallFailed(f"the API answered {failed.status} and {wait}", status=failed.status)
        if failed.may_pass and self._is_over():
            raise NotAsked(NOT_ASKED)

    async def _take(self, call: Call) -> None:
        await self._requests.take(1)
        await self._tokens.take(call.bytes / _BYTES_A_TOKEN)

    def _account(self, state: _CallState) -> None:
        """Close the attempt whose answer could not be read or parsed."""
        ms, state.answered_ms = state.answered_ms, None
        if ms is not None:
            self._attempted(state, "broken", ms)

    def _attempted(self, state: _CallState, status: str, ms: int, request_id: str = "") -> None:
        state.statuses.append(status)
        attempt = self._attempt(state, status, ms, request_id)
        self._budget.attempted(attempt)
        self._on_attempt(attempt)

    def _attempt(
        self, state: _CallState, status: str, ms: int, request_id: str, answer: Answer | None = None
    ) -> Attempt:
        """Return an attempt that has ended; one of which nobody knows whether it is charged counts with its bound."""
        number = len(state.statuses) + (answer is not None)
        is_unknown = answer is None and status in _UNKNOWN
        usage = state.call.at_most if is_unknown else None
        if answer is not None:
            usage = answer.usage
        is_bound = is_unknown or (answer is not None and answer.is_bound)
        return Attempt(state.call.key, state.call.model, status, ms, usage, request_id, number, state.id, is_bound)


def _ms_since(start: float) -> int:
    return round((time.perf_counter() - start) * 1000)
