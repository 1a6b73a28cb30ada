"""Opens the SDK's client: with our limits and the credentials that it finds.

Credentials and the base URL are the SDK's business (`ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from formulaseed.errors import MissingExtraError, UnreadableError, require_extra
from formulaseed.llm.failures import CallFailed, line_of

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


class NotReady(UnreadableError):
    """Raised where no call can be made: the SDK is not installed, or finds no credentials."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a client: concurrent calls, requests and tokens per minute, retries, and seconds.

    `timeout` is for one attempt, `deadline` for a call with all of its attempts.
    """

    concurrency: int = 16
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    retries: int = 8
    timeout: float = 60.0
    deadline: float = 300.0


def connect(limits: Limits, *middleware: Any) -> AsyncAnthropic:
    """Return the SDK's client. Raises `CallFailed` where it is not installed or finds no credentials."""
    try:
        with require_extra("llm", "asking a model"):
            import anthropic
    except MissingExtraError as error:
        raise CallFailed(str(error), is_final=True) from None
    missing = "the Anthropic client finds no credentials"
    try:
        sdk = anthropic.AsyncAnthropic(max_retries=limits.retries, timeout=limits.timeout, middleware=list(middleware))
    except anthropic.CredentialsError as error:
        message = f"{missing}: {line_of(error).rstrip('.')}; set `ANTHROPIC_API_KEY`"
        raise CallFailed(message, is_final=True) from None
    except Exception as error:
        raise CallFailed(f"the Anthropic client cannot start: {line_of(error)}", is_final=True) from None
    if sdk.credentials is None and not {"authorization", "x-api-key"} & {name.lower() for name in sdk.default_headers}:
        raise CallFailed(f"{missing}; set `ANTHROPIC_API_KEY`", is_final=True)
    return sdk


def more_pools(sdk: AsyncAnthropic, count: int) -> list[AsyncAnthropic]:
    """Return so many clients with the same options, each with connections of its own."""
    if count < 1:
        return []
    import anthropic
    import httpx2

    certificates = httpx2.create_ssl_context()  # which takes longer to read than all else here
    pools = [anthropic.DefaultAsyncHttpxClient(verify=certificates) for _ in range(count)]
    return [sdk.with_options(http_client=pool) for pool in pools]


def must_be_ready() -> None:
    """Raise `NotReady` where every call would fail, without making one."""
    try:
        sdk = connect(Limits())
    except CallFailed as error:
        raise NotReady(str(error)) from None
    asyncio.run(sdk.close())
