"""Finds the numbers in a text or in a part of a draft, and in a sentence also number words such as "half"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from formulaseed.language.sizes import blank_comments

_NUMBER = re.compile(r"(?<![\w.$`])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:\s?(%|per ?cent))?(?!\w)")
_FORMULA_KEYS = ("expr", "when", "formula", "source", "field")
_WORDS: dict[str, float] = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "once": 1, "twice": 2, "double": 2, "half": 0.5, "quarter": 0.25,
}  # fmt: skip
STRUCTURAL_NUMBERS = frozenset({0.0, 1.0, -1.0})
"""Numbers that formulas need for guards and counts, whether the policy mentions them or not."""


def find_numbers(value: Any) -> Iterator[tuple[str, set[float]]]:
    """Yield each number in a JSON value and its strings: as written, with the values that it may mean.

    A percentage may mean two: 25% is 25 or 0.25. Numbers of JSON are yielded without their sign, those in comments of
    formulas not at all.
    """
    if isinstance(value, dict):
        formulas = {key: blank_comments(value[key]) for key in _FORMULA_KEYS if isinstance(value.get(key), str)}
        value = list({**value, **formulas}.values())
    if isinstance(value, list):
        for item in value:
            yield from find_numbers(item)
    elif isinstance(value, str):
        for match in _NUMBER.finditer(value):
            number = Decimal(match[1].replace(",", "") + (match[2] or ""))
            yield match[0], {float(number), float(number / 100)} if match[3] else {float(number)}
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value), {abs(float(value))}


def number_values(value: Any) -> set[float]:
    """Return the values that the numbers in a JSON value may mean."""
    return {number for _, values in find_numbers(value) for number in values}


def stated_numbers(sentence: str) -> set[float]:
    """Return the values that the numbers and number words of a sentence may mean; a currency sign before one is ignored."""
    words = re.findall(r"[a-z]+", sentence.lower())
    return number_values(sentence.replace("$", " ")) | {_WORDS[word] for word in words if word in _WORDS}
