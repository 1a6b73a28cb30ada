"""Reads what can be read of a damaged table: SQLite stops at a damaged page, and the pages beside it are as good as ever.

In: how to read the rows of a range of keys, forwards or backwards. Out: the rows in the order of their keys, and a gap for
each range that cannot be read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]
Read = Callable[[str, str, bool], Iterator[Row]]
"""Yields the rows with keys from the first to before the second, backwards where the third is true; keys come first."""

LAST = "\U0010ffff"
_SPLITS = 10
"""How often a range is halved in search for what is whole between two damaged pages."""
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Gap:
    """Rows after `low` and before `high` that cannot be read, and why."""

    low: str
    high: str
    reason: str


def salvaged(read: Read) -> Iterator[Row | Gap]:
    """Yield all rows that can be read, and the gaps between them."""
    gap: Gap | None = None
    for found in _salvaged(read, "", LAST, _SPLITS):
        if isinstance(found, Gap):
            gap = found if gap is None else Gap(gap.low, found.high, gap.reason)
            continue
        if gap is not None:
            yield gap
            gap = None
        yield found
    if gap is not None:
        yield gap


def _salvaged(read: Read, low: str, high: str, splits: int) -> Iterator[Row | Gap]:
    """Read forwards to the first damage, backwards to the last, and what is whole between them by halves."""
    after = low
    try:
        for row in read(low, high, False):
            yield row
            after = row[0] + "\0"
        return
    except sqlite3.DatabaseError as error:
        reason = str(error)
    before = high
    try:
        for row in read(after, high, True):
            before = row[0]
    except sqlite3.DatabaseError:
        pass
    middle = _between(after, before)
    if splits and after < middle < before:
        yield from _salvaged(read, after, middle, splits - 1)
        yield from _salvaged(read, middle, before, splits - 1)
    else:
        yield Gap(after, before, reason)
    if before < high:
        yield from _salvaged(read, before, high, 0)


def _between(low: str, high: str) -> str:
    """Return a key halfway between two."""
    value = sum(_number(key) for key in (low, high)) // 2
    digits = [value // 128**place % 128 for place in reversed(range(_DIGITS))]
    return "".join(map(chr, digits)).rstrip("\0")


def _number(key: str) -> int:
    value = 0
    for character in key[:_DIGITS].ljust(_DIGITS, "\0"):
        value = value * 128 + min(ord(character), 127)
    return value
