"""Why a call has no answer: the SDK's errors as ours, with what they say of the next call.

In: an exception of the SDK, or the headers of a response. Out: `CallFailed`, or how an attempt ended in a word.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

from formulaseed.errors import FormulaSeedError
from formulaseed.source.text import one_line

_FINAL = (401, 402, 403, 404)
NEVER_ARRIVED = ("ConnectError", "ConnectTimeout", "PoolTimeout")
"""The causes of errors that show that nothing was sent."""


class CallFailed(FormulaSeedError):
    """Raised for a call without an answer. `is_final`: every other call would fail like it; `status` is the HTTP status."""

    def __init__(self, message: str, *, status: int | None = None, is_final: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.is_final = is_final

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later."""
        is_temporary = self.status is None or self.status in (408, 409, 429) or self.status >= 500
        return is_temporary and not self.is_final


class NotAsked(CallFailed):
    """Raised for a call that is not made, since the run is over or the call could cost more than the limit."""


class DamagedAnswer(CallFailed):
    """Raised where the API answered 200 and something that is no message."""


def failure_of(error: Exception, attempts: int = 0) -> CallFailed:
    """Return the SDK's error as ours."""
    import anthropic

    after = f" after {attempts} attempts" if attempts > 1 else ""
    if isinstance(error, anthropic.APIStatusError):
        status = error.status_code
        said = line_of(error.api_message or error)
        return CallFailed(f"the API answered {status}{after}: {said}", status=status, is_final=status in _FINAL)
    if isinstance(error, anthropic.APITimeoutError):
        return CallFailed(f"no answer in time{after}")
    if isinstance(error, anthropic.APIConnectionError):
        reason = f": {line_of(error.__cause__)}" if error.__cause__ is not None else ""
        return CallFailed(f"no connection to the API{after}{reason}")
    if isinstance(error, json.JSONDecodeError):
        return CallFailed(f"the API's answer is not JSON{after}: {line_of(error)}")
    if isinstance(error, ValueError):
        return CallFailed(f"{line_of(error)}{after}")
    # without credentials every call would fail alike
    return CallFailed(f"the Anthropic client failed: {line_of(error)}", is_final=isinstance(error, TypeError))


def word_of(error: BaseException) -> str:
    """Return how an attempt ended that has no status."""
    if type(error.__cause__).__name__ in NEVER_ARRIVED:
        return "no connection"
    return {"APITimeoutError": "timeout", "APIConnectionError": "no answer"}.get(type(error).__name__, "interrupted")


def seconds_to_wait(headers: Mapping[str, str]) -> float:
    """Return the seconds that the API asks to wait, as the SDK reads it; 0 where it does not say."""
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError):
            return float(headers.get(name, "")) * factor
    with suppress(ValueError):
        return parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time()
    return 0.0


def line_of(error: BaseException | str) -> str:
    """Return what an error says, on one line that is not too long."""
    text = one_line(str(error) or type(error).__name__)
    return text if len(text) <= 300 else text[:299] + "…"
