"""Opens clients of Anthropic's SDK with the limits of a run, and translates the SDK's errors into `CallFailed`.

A `CallFailed` says whether the next call may succeed. The SDK itself finds the credentials and the base URL, in
`ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL`.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from formulaseed.errors import FormulaSeedError, MissingExtraError, UnreadableError, require_extra
from formulaseed.source.text import one_line

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_FINAL_STATUSES = (401, 402, 403, 404)
_MAX_SUMMARY_LENGTH = 300
NEVER_ARRIVED = ("ConnectError", "ConnectTimeout", "PoolTimeout")
"""The classes of an SDK error's cause that prove that the request was not sent."""


REFUSALS = (400, 422)
"""The statuses of a request that the server does not take as it is."""


class CallFailed(FormulaSeedError):
    """Raised for a call without an answer.

    `status` is the HTTP status, or None if there was no response; `is_final` is True if every other call would fail, too.
    """

    def __init__(self, message: str, *, status: int | None = None, is_final: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.is_final = is_final

    @property
    def may_pass(self) -> bool:
        """True if the same request may succeed later."""
        is_temporary = self.status is None or self.status in (408, 409, 429) or self.status >= 500
        return is_temporary and not self.is_final


class NotAsked(CallFailed):
    """Raised for a call that is not sent, since the run is over or the call could cost more than the limit."""


class DamagedAnswer(CallFailed):
    """Raised if the API answers with status 200 and a body that is not a message."""


def translate_error(error: Exception, attempts: int = 0) -> CallFailed:
    """Return an error of the SDK as `CallFailed`, whose message counts the attempts if there were several.

    It is final for the statuses 401 to 404 and for missing credentials. Only an answer of the API gives it a `status`.
    """
    import anthropic

    after = f" after {attempts} attempts" if attempts > 1 else ""
    if isinstance(error, anthropic.APIStatusError):
        status = error.status_code
        message = f"the API answered {status}{after}: {summarize_error(error.api_message or error)}"
        return CallFailed(message, status=status, is_final=status in _FINAL_STATUSES)
    if isinstance(error, anthropic.APITimeoutError):
        return CallFailed(f"no answer in time{after}")
    if isinstance(error, anthropic.APIConnectionError):
        reason = f": {summarize_error(error.__cause__)}" if error.__cause__ is not None else ""
        return CallFailed(f"no connection to the API{after}{reason}")
    if isinstance(error, json.JSONDecodeError):
        return CallFailed(f"the API's answer is not JSON{after}: {summarize_error(error)}")
    if isinstance(error, ValueError):
        return CallFailed(f"{summarize_error(error)}{after}")
    # the SDK raises `TypeError` if it has no credentials, and then every call fails
    return CallFailed(f"the Anthropic client failed: {summarize_error(error)}", is_final=isinstance(error, TypeError))


def attempt_status(error: BaseException) -> str:
    """Return the word for how an attempt without an HTTP status ended: "no connection", "timeout", and so on."""
    if type(error.__cause__).__name__ in NEVER_ARRIVED:
        return "no connection"
    return {"APITimeoutError": "timeout", "APIConnectionError": "no answer"}.get(type(error).__name__, "interrupted")


def read_retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds that the API asks to wait before a retry, read as the SDK reads them; 0 if it does not say.

    They are negative for a time that has passed.
    """
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError):
            return float(headers.get(name, "")) * factor
    with suppress(ValueError):
        return parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time()
    return 0.0


def summarize_error(error: BaseException | str) -> str:
    """Return the message of an error, or its class if it has none, on one line of at most 300 characters."""
    text = one_line(str(error) or type(error).__name__)
    return text if len(text) <= _MAX_SUMMARY_LENGTH else text[: _MAX_SUMMARY_LENGTH - 1] + "…"


class NotReady(UnreadableError):
    """Raised if no call can be made, since the SDK is not installed or finds no credentials."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a client: concurrent calls, requests and tokens per minute (None for no limit), and retries of a call.

    `timeout` is the maximum duration of one attempt in seconds, `deadline` that of a call with all of its attempts.
    """

    concurrency: int = 16
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    retries: int = 8
    timeout: float = 60.0
    deadline: float = 300.0


def is_foreign(url: str) -> bool:
    """Return True if a base URL is not that of Anthropic's own API."""
    return bool(url) and not f".{urlsplit(url).hostname or ''}".endswith(".anthropic.com")


def is_keyless() -> bool:
    """Return True if the server is not Anthropic's and the user has set no key: then nobody bills the calls."""
    keys = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS")
    return is_foreign(os.environ.get("ANTHROPIC_BASE_URL", "")) and not any(map(os.environ.get, keys))


def connect(limits: Limits, *middleware: Any) -> AsyncAnthropic:
    """Return a client of the SDK, which the caller closes.

    Raises `CallFailed`, which is final, if the SDK is not installed, finds no credentials, or cannot start.
    """
    try:
        with require_extra("llm", "asking a model"):
            import anthropic
    except MissingExtraError as error:
        raise CallFailed(str(error), is_final=True) from None
    missing = "the Anthropic client finds no credentials"
    # the SDK sends nothing without a key, which a server of one's own does not look at
    api_key = "none" if is_keyless() else None
    try:
        sdk = anthropic.AsyncAnthropic(
            max_retries=limits.retries, timeout=limits.timeout, middleware=list(middleware), api_key=api_key
        )
    except anthropic.CredentialsError as error:
        message = f"{missing}: {summarize_error(error).rstrip('.')}; set `ANTHROPIC_API_KEY`"
        raise CallFailed(message, is_final=True) from None
    except Exception as error:
        raise CallFailed(f"the Anthropic client cannot start: {summarize_error(error)}", is_final=True) from None
    if sdk.credentials is None and not {"authorization", "x-api-key"} & {name.lower() for name in sdk.default_headers}:
        raise CallFailed(f"{missing}; set `ANTHROPIC_API_KEY`", is_final=True)
    return sdk


def open_pools(sdk: AsyncAnthropic, count: int) -> list[AsyncAnthropic]:
    """Return `count` clients with the options of `sdk`, each with its own pool of connections; the caller closes them."""
    if count < 1:
        return []
    import anthropic
    import httpx2

    certificates = httpx2.create_ssl_context()  # read once, since this takes longer than opening all pools
    pools = [anthropic.DefaultAsyncHttpxClient(verify=certificates) for _ in range(count)]
    return [sdk.with_options(http_client=pool) for pool in pools]


def check_ready() -> None:
    """Raise `NotReady` if every call would fail: the SDK is missing, finds no credentials, or cannot start.

    Sends nothing. Raises `RuntimeError` in a running event loop.
    """
    try:
        sdk = connect(Limits())
    except CallFailed as error:
        raise NotReady(str(error)) from None
    asyncio.run(sdk.close())
