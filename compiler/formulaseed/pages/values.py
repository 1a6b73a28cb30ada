"""Values of steps and fields as people read them, the same in every report."""

from __future__ import annotations

from typing import TypeGuard

from formulaseed.language.printer import value_text
from formulaseed.language.types import Value

_DIGITS = 4
_LEAST, _MOST = 0.01, 1e15


def format_value(value: Value) -> str:
    """Return a value as a formula has it: strings in quotes; floats with four digits behind the point, of small ones four."""
    if not isinstance(value, float):
        return value_text(value)
    if value == 0 or _LEAST <= abs(value) < _MOST:
        return f"{value + 0.0:.{_DIGITS}f}".rstrip("0").rstrip(".")
    return f"{value:.{_DIGITS}g}"


def format_plain(value: Value) -> str:
    """Return a value as a sentence or a table has it: strings as they are, but for empty ones."""
    return value if isinstance(value, str) and value.strip() else format_value(value)


def format_change(change: float) -> str:
    """Return the difference of two numbers, with its sign."""
    return f"{change:+.4g}"


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a number, which a boolean is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)
