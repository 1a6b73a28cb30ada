"""Opens clients of Anthropic's SDK with the limits of a run.

The SDK itself finds the credentials and the base URL, in `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL`.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from formulaseed.errors import MissingExtraError, UnreadableError, require_extra
from formulaseed.llm.failures import CallFailed, summarize_error

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


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
