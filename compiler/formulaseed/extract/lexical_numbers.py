"""Quantities in sentences ("forty-five min", "half an hour", "$12.50"), ranges in descriptions.

Durations up to hours are counted in minutes, longer ones in days, money as it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from formulaseed.extract import lexical_words as words
from formulaseed.extract.lexical_text import stem

Unit = Literal["minutes", "days", "money"]
DIGITS_LIMIT = 12  # a longer number in a review is noise


def _stems(listed: str) -> frozenset[str]:
    return frozenset(stem(word) for word in listed.split())


_BELOW = _stems("under below within less fewer")
_ABOVE = _stems("over above beyond more longer exceeding least")
_BETWEEN = _stems("or to and of full long whole good solid")  # "30 to 40 minutes", "two full hours"
_NUMBER_WORDS = {stem(word): value for word, value in words.NUMBER_WORDS.items()}
_SIZES: dict[str, tuple[Unit, float]] = {
    **{stem(word): ("minutes", size) for word, size in words.MINUTES.items()},
    **{stem(word): ("days", size) for word, size in words.DAYS.items()},
    **{stem(word): ("money", 1.0) for word in words.MONEY_UNITS},
}
_MONEY_WORDS = frozenset(stem(word) for word in words.MONEY_WORDS)
_MONEY_SIGNS = "$€£"


class Quantity(NamedTuple):
    """A number, its unit if it has one, and where its first word stands."""

    value: float
    unit: Unit | None
    start: int


class Range(NamedTuple):
    """The quantities of one unit that an enum's value stands for, both ends included."""

    low: float
    high: float
    unit: Unit


def quantities(stems: Sequence[str]) -> list[Quantity]:
    """The quantities among words given as stems, in order."""
    found: list[Quantity] = []
    index = 0
    while index < len(stems):
        value, length = _number(stems, index)
        if length:
            found.append(_with_unit(value, stems, index, index + length))
        index += length or 1
    return found


def is_unit(word: str) -> bool:
    """Whether a stem names a unit of time or money."""
    return word in _SIZES


def is_number(word: str) -> bool:
    """Whether a stem is a number, in digits or spelled."""
    return word in _NUMBER_WORDS or "0" <= word[:1] <= "9"


def unit_of(stems: Sequence[str]) -> tuple[Unit | None, float]:
    """The unit that these words ask for, and how many minutes, days or dollars one of it has."""
    named = next((_SIZES[word] for word in stems if word in _SIZES), None)
    if named:
        return named
    return ("money", 1.0) if not _MONEY_WORDS.isdisjoint(stems) else (None, 1.0)


def range_of(stems: Sequence[str]) -> Range | None:
    """The range that a description states: "under 15 minutes", "$20 to $40", "over an hour"."""
    given = [quantity for quantity in quantities(stems) if quantity.unit]
    if not given or given[0].unit is None:
        return None
    first, unit = given[0], given[0].unit
    before = stems[max(0, first.start - 2) : first.start]
    after = tuple(stems[first.start + 1 : first.start + 5])
    if not _BELOW.isdisjoint(before):
        return Range(0.0, first.value, unit)
    if not _ABOVE.isdisjoint(before) or ("or", "more") in pairwise(after):
        return Range(first.value, float("inf"), unit)
    if len(given) > 1 and given[1].unit == unit:
        return Range(first.value, given[1].value, unit)
    return None


def _number(stems: Sequence[str], index: int) -> tuple[float, int]:
    """The number that starts here and how many words it takes; no words if there is none."""
    digits = stems[index].lstrip(_MONEY_SIGNS).replace(",", "")
    if digits[:1].isascii() and digits[:1].isdigit():
        readable = len(digits) <= DIGITS_LIMIT and digits.count(".") <= 1
        return (float(digits), 1) if readable else (0.0, 0)
    if stems[index] == "half":
        length = 2 if stems[index + 1 : index + 2] in (["a"], ["an"]) else 1
        return (0.5, length) if _unit_at(stems, index + length) else (0.0, 0)
    if stems[index] in ("a", "an"):
        return (1.0, 1) if _unit_at(stems, index + 1) else (0.0, 0)
    return _spelled(stems, index)


def _spelled(stems: Sequence[str], index: int) -> tuple[float, int]:
    """Forty-five, two hundred, a dozen."""
    total, length = 0, 0
    for word in stems[index : index + 3]:
        part = _NUMBER_WORDS.get(word)
        if part is None or (length and not _continues(total, part)):
            break
        total = total * part if part == 100 and length else total + part
        length += 1
    return float(total), length


def _continues(total: int, part: int) -> bool:
    """Whether "part" goes on with a number: forty-five and two hundred do, five ten does not."""
    return (total >= 20 and total % 10 == 0 and part < 10) or (part == 100 and total < 10)


def _with_unit(value: float, stems: Sequence[str], index: int, after: int) -> Quantity:
    if stems[index][0] in _MONEY_SIGNS:
        return Quantity(value, "money", index)
    if list(stems[after : after + 3]) == ["and", "a", "half"]:
        value, after = value + 0.5, after + 3
    while after < len(stems) and after < index + 5 and (stems[after] in _BETWEEN or _number(stems, after)[1]):
        after += 1
    unit = _unit_at(stems, after)
    if unit is None:
        return Quantity(value, None, index)
    if list(stems[after + 1 : after + 4]) == ["and", "a", "half"]:
        value += 0.5
    return Quantity(value * unit[1], unit[0], index)


def _unit_at(stems: Sequence[str], index: int) -> tuple[Unit, float] | None:
    return _SIZES.get(stems[index]) if index < len(stems) else None
