"""The numbers in a text or in a part of a draft. "half" is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

_NUMBER = re.compile(r"(?<![\w.$`])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:\s?(%|percent))?(?!\w)")
LOGIC = frozenset({0.0, 1.0, -1.0})
"""Numbers that come from guards and counts."""


def numbers(value: Any) -> Iterator[tuple[str, set[float]]]:
    """Yield every number in a JSON value and its strings: as written, and its possible values: 25% is 25 or 0.25."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, str):
        for match in _NUMBER.finditer(value):
            number = Decimal(match[1].replace(",", "") + (match[2] or ""))
            yield match[0], {float(number), float(number / 100)} if match[3] else {float(number)}
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value), {abs(float(value))}


def values(value: Any) -> set[float]:
    """Return the possible values of all numbers in a JSON value."""
    return {number for _, found in numbers(value) for number in found}
