"""Put the errors of pydantic into the words of this project."""

from __future__ import annotations

from pydantic import ValidationError

_MESSAGES = {
    "missing": "is missing",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "bool_type": "must be true or false",
    "greater_than_equal": "must be 0 or more",
    "less_than": "is too large",
    "less_than_equal": "is too large",
    "string_too_short": "must not be empty",
    "float_type": "must be a number",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "extra_forbidden": "is an unknown key",
    "model_type": "must be an object",
}
"""The messages for pydantic's types of errors."""


def describe_errors(error: ValidationError) -> str:
    """Return the first five errors of pydantic as one message, each with its place, such as `reviews[3].text`."""
    parts = []
    for fault in error.errors(include_url=False, include_context=False):
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault["loc"])
        place = "".join(steps).removeprefix(".")
        message = fault["msg"].removeprefix("Value error, ")
        message = _MESSAGES.get(fault["type"]) or message[:1].lower() + message[1:]
        parts.append(f"`{place}` {message}" if place else message)
    more = [f"and {len(parts) - 5} more"] if len(parts) > 5 else []
    return "; ".join([*parts[:5], *more])
