"""The only door to Anthropic's API. Everything else hands it calls and gets answers or the reason for none.

The SDK retries what can pass (408, 409, 429, 5xx, dropped connections) and sleeps as long as the server says; a
middleware meters every attempt. There is no second layer of retries, but a deadline for each call with all of
its attempts. Credentials and the base URL are the SDK's business (`ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from formulaseed.errors import FormulaSeedError
from formulaseed.llm.calls import Answer, Call, Usage, answer_of, params
from formulaseed.llm.gate import Gate, Rate

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_TOO_MUCH = (429, 529)
_FINAL = (401, 402, 403, 404)
_BYTES_A_TOKEN = 4
_MOST_TOKENS_AT_ONCE = 20_000
"""The SDK refuses to wait for more than 21,333 in one piece."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request that went out. `status` is the HTTP status, or a word where there was none; `ms` how long it took."""

    key: str
    model: str
    status: str
    ms: int
    usage: Usage | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model understands; where the server does not say, what current models do."""

    effort: bool = True
    thinking_off: bool = False
    structured: bool = True


class CallFailed(FormulaSeedError):
    """A call without an answer. `is_final`: every other call would fail like it; `status` is the HTTP status, if any."""

    def __init__(self, message: str, *, status: int | None = None, is_final: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class Limits:
    """How the client behaves: calls at a time, requests and tokens a minute, retries, and seconds.

    `timeout` is for one attempt, `deadline` for a call with all of its attempts.
    """

    concurrency: int = 16
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    retries: int = 8
    timeout: float = 60.0
    deadline: float = 300.0


class _Asked:
    """A call under way, for the middleware."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.statuses: list[str] = []
        self.answered_ms: int | None = None


_ASKED: ContextVar[_Asked] = ContextVar("_ASKED")


class Client:
    """Asks models. `on_attempt` hears of every attempt when it is over. Belongs to one event loop."""

    def __init__(self, limits: Limits, on_attempt: Callable[[Attempt], None]) -> None:
        self.limits = limits
        self.gate = Gate(limits.concurrency)
        self._requests = Rate(limits.requests_per_minute)
        self._tokens = Rate(limits.tokens_per_minute)
        self._on_attempt = on_attempt
        self.sdk = connect(limits, self._meter)

    async def ask(self, call: Call) -> Answer:
        """The model's answer. Raises `CallFailed`."""
        await self._requests.take(1)
        await self._tokens.take(call.bytes / _BYTES_A_TOKEN)
        async with self.gate:
            asked = _Asked(call)
            _ASKED.set(asked)
            try:
                async with asyncio.timeout(self.limits.deadline):
                    message = await self._message(call)
            except TimeoutError:
                self._account(asked, "broken")
                tried = ", ".join(asked.statuses) or "none ended"
                message_ = f"no answer within the deadline of {self.limits.deadline:g} s (attempts: {tried})"
                raise CallFailed(message_) from None
            except Exception as error:
                self._account(asked, "broken")
                raise told(error, len(asked.statuses)) from None
        answer = answer_of(message)
        self._account(asked, "200", answer)
        return answer

    async def _message(self, call: Call) -> Any:
        """The message of the SDK; a long one is streamed, since no connection is sure to stay open for so long in silence."""
        if call.max_tokens <= _MOST_TOKENS_AT_ONCE:
            return await self.sdk.messages.create(**params(call))
        async with self.sdk.messages.stream(**params(call)) as stream:
            return await stream.get_final_message()

    async def abilities(self, model: str) -> Abilities:
        """What the model understands. A server that does not tell is taken to have a current model."""
        try:
            found = (await self.sdk.with_options(max_retries=2).models.retrieve(model)).capabilities
            if found is None:
                return Abilities()
            return Abilities(
                found.effort.supported, found.thinking.types.disabled.supported, found.structured_outputs.supported
            )
        except Exception:  # the endpoint is a courtesy: whatever is wrong, the calls themselves will tell
            return Abilities()

    async def close(self) -> None:
        await self.sdk.close()

    async def _meter(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        """One attempt: how long it took and how it ended."""
        asked = _ASKED.get(None)
        if asked is None:
            return await call_next(request)
        self._account(asked, "broken")
        start = time.perf_counter()
        try:
            response = await call_next(request)
        except BaseException as error:
            self._attempted(asked, _WORDS.get(type(error).__name__, "interrupted"), _ms_since(start))
            raise
        status = response.status_code
        if status == 200:
            asked.answered_ms = _ms_since(start)
            self.gate.recover()
            return response
        if status in _TOO_MUCH:
            self.gate.slow()
        request_id = response.headers.get("request-id") or ""
        self._attempted(asked, str(status), _ms_since(start), request_id=request_id)
        return response

    def _account(self, asked: _Asked, status: str, answer: Answer | None = None) -> None:
        """Close the attempt that was answered with a body, whole or `broken`."""
        ms, asked.answered_ms = asked.answered_ms, None
        if ms is not None and answer is not None:
            self._attempted(asked, status, ms, answer.usage, answer.request_id)
        elif ms is not None:
            self._attempted(asked, status, ms)

    def _attempted(self, asked: _Asked, status: str, ms: int, usage: Usage | None = None, request_id: str = "") -> None:
        asked.statuses.append(status)
        self._on_attempt(Attempt(asked.call.key, asked.call.model, status, ms, usage, request_id))


_WORDS = {"APITimeoutError": "timeout", "APIConnectionError": "no connection"}


def connect(limits: Limits, *middleware: Any) -> AsyncAnthropic:
    """The SDK's client. Raises `FormulaSeedError` where it is not installed or finds no credentials."""
    try:
        import anthropic
    except ImportError:
        message = "the package `anthropic` is not installed; install `formulaseed[llm]`"
        raise FormulaSeedError(message) from None
    try:
        return anthropic.AsyncAnthropic(max_retries=limits.retries, timeout=limits.timeout, middleware=list(middleware))
    except Exception as error:
        raise FormulaSeedError(f"the Anthropic client cannot start: {_line(error)}") from None


def told(error: Exception, attempts: int = 0) -> CallFailed:
    """What went wrong, in words for the person who runs it."""
    import anthropic

    after = f" after {attempts} attempts" if attempts > 1 else ""
    if isinstance(error, anthropic.APIStatusError):
        status = error.status_code
        said = error.api_message or _line(error)
        return CallFailed(f"the API answered {status}{after}: {_short(said)}", status=status, is_final=status in _FINAL)
    if isinstance(error, anthropic.APITimeoutError):
        return CallFailed(f"no answer in time{after}")
    if isinstance(error, anthropic.APIConnectionError):
        reason = f": {_line(error.__cause__)}" if error.__cause__ is not None else ""
        return CallFailed(f"no connection to the API{after}{reason}")
    # without credentials and with an answer that is no message every call would fail alike
    return CallFailed(f"the Anthropic client failed: {_line(error)}", is_final=isinstance(error, TypeError))


def _line(error: BaseException) -> str:
    return _short(str(error) or type(error).__name__)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:299] + "…"


def _ms_since(start: float) -> int:
    return round((time.perf_counter() - start) * 1000)
