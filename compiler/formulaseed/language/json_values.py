"""Define the types of JSON values, and quote values in messages.

The code is copied unchanged into generated modules, in which each name is private; standard library only.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]


def _quote(value: JsonValue) -> str:
    """Return the beginning of a value as Python prints it; a description of what Python cannot print."""
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):
        return "an integer of thousands of digits" if isinstance(value, int) else "a value too large to print"


def _why_incomparable(value: JsonValue, depth: int = 1) -> str:
    """Return why a value cannot be compared with anything, or an empty string where it can."""
    if isinstance(value, int):
        return "" if -1e100 <= value <= 1e100 else "holds a number beyond 1e100"
    if not isinstance(value, list | dict):
        return ""
    if depth > 64:
        return "nests more than 64 levels deep"
    for inner in value.values() if isinstance(value, dict) else value:
        reason = _why_incomparable(inner, depth + 1)
        if reason:
            return reason
    return ""
