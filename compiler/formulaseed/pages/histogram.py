"""Histograms: how many restaurants have which value, laid out for a drawing.

In: numbers, each with the class of its verdict. Out: bars with their places, and the same as rows of a table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from formulaseed.diagnostics.model import number_of
from formulaseed.pages.values import format_value

WIDTH, HEIGHT = 480, 170
_BASE, _TOP, _SIDE = 140, 18, 20
_BINS = 16
_LABELS = 8
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a bin's bar: the restaurants of one verdict."""

    x: float
    y: float
    width: float
    height: float
    shade: str


@dataclass(frozen=True, slots=True)
class Label:
    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """`bins` are the rows of the table: the range of values, and the number of restaurants."""

    name: str
    summary: str
    bars: tuple[Bar, ...]
    labels: tuple[Label, ...]
    bins: tuple[tuple[str, int], ...]
    width: int = WIDTH
    height: int = HEIGHT


def histogram(name: str, values: Sequence[tuple[float, str]], shades: Sequence[str]) -> Histogram | None:
    """Return the histogram of values, each with the class of its verdict; None where there is nothing to draw.

    `shades` are the classes in the order in which they are stacked.
    """
    numbers = [value for value, _ in values]
    if not numbers or not math.isfinite(max(numbers) - min(numbers)):
        return None
    step = _step(min(numbers), max(numbers), all(float(number).is_integer() for number in numbers))
    is_whole = step == 1 and all(float(number).is_integer() for number in numbers)
    first, last = math.floor(min(numbers) / step), math.floor(max(numbers) / step)
    if not is_whole and last > first and last * step == max(numbers):
        last -= 1  # the last bin has both of its ends
    counts: list[Counter[str]] = [Counter() for _ in range(first, last + 1)]
    for value, shade in values:
        counts[min(math.floor(value / step), last) - first][shade] += 1
    edges = [format_value(round((first + place) * step, 12)) for place in range(len(counts) + 1)]
    ranges = edges[:-1] if is_whole else [f"{low} to {high}" for low, high in pairwise(edges)]
    totals = [count.total() for count in counts]
    most = max(totals)
    about = (
        f"{number_of(len(numbers), 'restaurant')} from {format_value(min(numbers))} to {format_value(max(numbers))}, "
        f"most often ({most:,}) {'at' if is_whole else 'from'} {ranges[totals.index(most)]}"
    )
    slot = (WIDTH - 2 * _SIDE) / len(counts)
    labels = [
        Label(_SIDE + (place + 0.5) * slot, _BASE - _height(total, most) - 4, f"{total:,}")
        for place, total in enumerate(totals)
        if total
    ]
    every = math.ceil(len(edges) / _LABELS)
    offset = 0.5 if is_whole else 0.0
    below = edges[:-1] if is_whole else edges
    labels += [
        Label(_SIDE + (place + offset) * slot, _BASE + 18, text)
        for place, text in enumerate(below)
        if place % every == 0
    ]
    bars = tuple(bar for place, count in enumerate(counts) for bar in _stack(place, count, slot, most, shades))
    return Histogram(name, about, bars, tuple(labels), tuple(zip(ranges, totals, strict=True)))


def _step(low: float, high: float, is_whole: bool) -> float:
    """The width of bins: 1, 2, 2.5 or 5 times a power of ten, so that there are not many."""
    span = high - low
    if span == 0:
        return max(1.0, abs(low) * 1e-12)
    if is_whole and span < _BINS:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(span / _BINS))
    found = next((step * scale for step in _STEPS if span / (step * scale) <= _BINS), 10 * scale)
    smallest = max(abs(low), abs(high)) * 1e-12  # below that floats are not told apart
    return max(found, smallest, 1.0 if is_whole else 0.0)


def _height(total: int, most: int) -> float:
    return (_BASE - _TOP) * total / most


def _stack(place: int, count: Mapping[str, int], slot: float, most: int, shades: Sequence[str]) -> list[Bar]:
    bars: list[Bar] = []
    y = float(_BASE)
    for shade in shades:
        height = _height(count[shade], most)
        if height:
            y -= height
            bars.append(Bar(_SIDE + place * slot + 1, y, slot - 2, height, shade))
    return bars
