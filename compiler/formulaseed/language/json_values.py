"""JSON values from outside: their types, and how messages quote them. Copied, as it is, into generated modules.

Typed and tested like everything else; standard library only. Each name is private to the module it lands in.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]


def _shown(value: JsonValue) -> str:
    """Quote the beginning of a value; Python prints neither integers of 5,000 digits nor lists 1,000 deep."""
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):
        return "an integer of thousands of digits" if isinstance(value, int) else "a value too large to print"


def _unreadable(value: JsonValue, depth: int = 1) -> str:
    """Return why a value cannot be compared with anything, or an empty string where it can."""
    if isinstance(value, int):
        return "" if -1e100 <= value <= 1e100 else "holds a number beyond 1e100"
    if not isinstance(value, list | dict):
        return ""
    if depth > 64:
        return "nests more than 64 levels deep"
    for inner in value.values() if isinstance(value, dict) else value:
        reason = _unreadable(inner, depth + 1)
        if reason:
            return reason
    return ""
