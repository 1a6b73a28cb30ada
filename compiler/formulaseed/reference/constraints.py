"""What the CHECK constraints of a table say of one column: the strings that it may be, or the range of its numbers.

In: a constraint's text, as it is written or as PostgreSQL shows it. Out: None for one that says more or less than that.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_LISTED = r"\s*'(?:[^']|'')*'(?:::[\w ]+)?\s*"
_COLUMN = r"""\(*["`\[]?(\w+)["`\]]?\)*(?:::[\w ]+)?\)*"""
_IN = re.compile(rf"{_COLUMN}\s+IN\s*\(({_LISTED}(?:,{_LISTED})*)\)\)*", re.IGNORECASE)
_ANY = re.compile(
    rf"{_COLUMN}\s*=\s*ANY\s*\(+ARRAY\[({_LISTED}(?:,{_LISTED})*)\]\)*(?:::[\w ]+(?:\[\])?)?\)*", re.IGNORECASE
)
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_NUMBER = r"\(*'?(-?[0-9]+(?:\.[0-9]+)?)'?\)*(?:::[\w ]+)?\)*"
_BOUND = re.compile(rf"{_COLUMN}\s*(>=|<=|>|<)\s*{_NUMBER}")
_BETWEEN = re.compile(rf"{_COLUMN}\s+BETWEEN\s+{_NUMBER}\s+AND\s+{_NUMBER}", re.IGNORECASE)


class Bounds(NamedTuple):
    """The least and the greatest number, both inclusive; None where there is no such bound."""

    minimum: int | float | None = None
    maximum: int | float | None = None


def listed_values(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the column that is restricted to a list of strings, with the strings."""
    match = _ANY.fullmatch(text) or _IN.fullmatch(text)
    values = tuple(value.replace("''", "'") for value in _TEXT.findall(match[2])) if match else ()
    return (match[1], values) if match and values else None


def bounds(text: str) -> tuple[str, Bounds] | None:
    """Return the column that is compared with one number or two, with its bounds.

    A bound that excludes the number itself, such as `> 0`, counts for the number: no value is below it.
    """
    if between := _BETWEEN.fullmatch(text):
        return between[1], Bounds(_number(between[2]), _number(between[3]))
    parts = [_BOUND.fullmatch(part.strip()) for part in re.split(r"\s+AND\s+", text, flags=re.IGNORECASE)]
    found = [part for part in parts if part]
    if len(found) < len(parts) or len({part[1] for part in found}) > 1:
        return None
    least = [_number(part[3]) for part in found if part[2].startswith(">")]
    most = [_number(part[3]) for part in found if part[2].startswith("<")]
    return found[0][1], Bounds(max(least, default=None), min(most, default=None))


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)
