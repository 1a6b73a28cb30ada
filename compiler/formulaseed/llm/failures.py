"""Translates errors of Anthropic's SDK into `CallFailed`, which says whether the next call may succeed.

In: an exception of the SDK, or the headers of a response. Out: `CallFailed`, the word for how an attempt ended, or seconds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

from formulaseed.errors import FormulaSeedError
from formulaseed.source.text import one_line

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
