"""Tells which values of a field claim something of a review, and which one says that the review says nothing."""

from __future__ import annotations

from collections.abc import Iterable

from formulaseed.language.types import Value

_WORDS_FOR_NOTHING = frozenset(
    ("none", "no", "na", "null", "unknown", "unclear", "unspecified", "nothing", "unmentioned", "not_mentioned", "not_stated")
)  # fmt: skip
_OPENINGS = ("no ", "not ", "nothing ", "none ", "unknown", "unclear", "unspecified")


def value_for_nothing(values: Iterable[tuple[str, str]], default: Value) -> Value:
    """Return the value of a field if a review says nothing: its default, else the only value that is named or described so.

    None if there is no such value.

    `values` are those of an enum, each with its description.
    """
    if default is not None:
        return default
    pairs = [*values]
    named = [name for name, _ in pairs if name.lower() in _WORDS_FOR_NOTHING]
    described = [name for name, about in pairs if about.lower().startswith(_OPENINGS)]
    return next((names[0] for names in (named, described) if len(names) == 1), None)


def is_claim(value: Value, values: Iterable[tuple[str, str]], default: Value) -> bool:
    """Return True if a value claims something of the review, so that the review must have words for it.

    All values do but the one for nothing; false claims nothing if there is no default.
    """
    if default is None and isinstance(value, bool):
        return value
    return value != value_for_nothing(values, default)
