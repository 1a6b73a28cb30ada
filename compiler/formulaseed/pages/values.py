"""Formats values of steps and fields for people, the same way in every report."""

from __future__ import annotations

from typing import TypeGuard

from formulaseed.language.printer import value_text
from formulaseed.language.types import Value

_DIGITS = 4
_MIN_DECIMAL = 0.01
_MAX_DECIMAL = 1e15  # larger and smaller numbers are written with an exponent


def format_value(value: Value) -> str:
    """Return a value as formulas write it: a string in quotes, a float rounded.

    A float has at most four decimals; a very small or very large one has four significant digits.
    """
    if not isinstance(value, float):
        return value_text(value)
    if value == 0 or _MIN_DECIMAL <= abs(value) < _MAX_DECIMAL:
        return f"{value + 0.0:.{_DIGITS}f}".rstrip("0").rstrip(".")
    return f"{value:.{_DIGITS}g}"


def format_plain(value: Value) -> str:
    """Return a value for a sentence or a table: a string without quotes unless it is blank.

    Other values, and blank strings, are as `format_value` returns them.
    """
    if isinstance(value, str) and value.strip():
        return value
    return format_value(value)


def format_change(change: float) -> str:
    """Return a difference of two numbers with its sign, in four significant digits."""
    return f"{change:+.4g}"


def is_number(value: object) -> TypeGuard[int | float]:
    """Return True for an integer or a float, and False for a boolean, which Python counts as an integer."""
    return isinstance(value, int | float) and not isinstance(value, bool)
