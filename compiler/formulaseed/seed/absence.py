"""Decides which values of a field claim something about a review, and which value means that the review says nothing."""

from __future__ import annotations

from collections.abc import Iterable

from formulaseed.language.types import Value

_ABSENCE_WORDS = frozenset(
    ("none", "no", "na", "null", "unknown", "unclear", "unspecified", "nothing", "unmentioned", "not_mentioned", "not_stated")
)  # fmt: skip
_ABSENCE_OPENINGS = ("no ", "not ", "nothing ", "none ", "unknown", "unclear", "unspecified")


def find_absence_value(values: Iterable[tuple[str, str]], default: Value) -> Value:
    """Return the value that a field has if a review says nothing about it; None if no value means that.

    It is the default; else the only value with a name such as `none` or `unknown`; else the only value whose
    description begins with such a word. `values` are those of an enum, each with its description.
    """
    if default is not None:
        return default
    pairs = [*values]
    by_name = [name for name, _ in pairs if name.lower() in _ABSENCE_WORDS]
    by_description = [name for name, description in pairs if description.lower().startswith(_ABSENCE_OPENINGS)]
    return next((names[0] for names in (by_name, by_description) if len(names) == 1), None)


def is_claim(value: Value, values: Iterable[tuple[str, str]], default: Value) -> bool:
    """Return True if a value claims something about the review, so that a quote can support it.

    Every value does, except the one that `find_absence_value` returns. False is no claim if the field has no default.
    """
    if default is None and isinstance(value, bool):
        return value
    return value != find_absence_value(values, default)
