"""Lays out histograms: how many restaurants have which value.

In: numbers, each with the class of its verdict. Out: bars with their places, and the same as rows of a table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from formulaseed.diagnostics.model import number_of
from formulaseed.pages.values import format_value

WIDTH = 480
HEIGHT = 170
_BASE = 140
"""The height at which bars stand, from the top."""
_TOP = 18
_SIDE = 20
_MAX_BINS = 16
_MAX_LABELS = 8
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


@dataclass(frozen=True, slots=True)
class _Bins:
    """Numbers by their size: how many of each shade are in each bin. `edges` are one more than the bins.

    If `is_whole`, each bin has one integer.
    """

    counts: tuple[Counter[str], ...]
    edges: tuple[str, ...]
    is_whole: bool

    @property
    def totals(self) -> list[int]:
        return [count.total() for count in self.counts]

    @property
    def ranges(self) -> list[str]:
        """The values of each bin in words."""
        if self.is_whole:
            return [*self.edges[:-1]]
        return [f"{low} to {high}" for low, high in pairwise(self.edges)]


def histogram(name: str, values: Sequence[tuple[float, str]], shades: Sequence[str]) -> Histogram | None:
    """Return the histogram of values, each with the class of its verdict; None if there is nothing to draw.

    `shades` are the classes in the order in which they are stacked.
    """
    numbers = [value for value, _ in values]
    if not numbers or not math.isfinite(max(numbers) - min(numbers)):
        return None
    bins = _count_in_bins(values)
    totals, ranges = bins.totals, bins.ranges
    most = max(totals)
    summary = (
        f"{number_of(len(numbers), 'restaurant')} from {format_value(min(numbers))} to {format_value(max(numbers))}, "
        f"most often ({most:,}) {'at' if bins.is_whole else 'from'} {ranges[totals.index(most)]}"
    )
    return Histogram(
        name, summary, tuple(_bars(bins, shades)), tuple(_labels(bins)), tuple(zip(ranges, totals, strict=True))
    )


def _count_in_bins(values: Sequence[tuple[float, str]]) -> _Bins:
    numbers = [value for value, _ in values]
    low, high = min(numbers), max(numbers)
    are_integers = all(float(number).is_integer() for number in numbers)
    step = _step(low, high, are_integers)
    is_whole = are_integers and step == 1
    first, last = math.floor(low / step), math.floor(high / step)
    if not is_whole and last > first and last * step == high:
        last -= 1  # the last bin has both of its ends
    counts = tuple(Counter[str]() for _ in range(first, last + 1))
    for value, shade in values:
        counts[min(math.floor(value / step), last) - first][shade] += 1
    edges = tuple(format_value(round((first + place) * step, 12)) for place in range(len(counts) + 1))
    return _Bins(counts, edges, is_whole)


def _step(low: float, high: float, are_integers: bool) -> float:
    """Return the width of bins: 1, 2, 2.5 or 5 times a power of ten, so that there are not many."""
    span = high - low
    if span == 0:
        return max(1.0, abs(low) * 1e-12)
    if are_integers and span < _MAX_BINS:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(span / _MAX_BINS))
    step = next((step * scale for step in _STEPS if span / (step * scale) <= _MAX_BINS), 10 * scale)
    smallest = max(abs(low), abs(high)) * 1e-12  # below that floats cannot be distinguished
    return max(step, smallest, 1.0 if are_integers else 0.0)


def _bars(bins: _Bins, shades: Sequence[str]) -> Iterator[Bar]:
    """Yield the bars, those of one bin on top of each other."""
    slot, most = _slot(bins), max(bins.totals)
    for place, count in enumerate(bins.counts):
        y = float(_BASE)
        for shade in shades:
            height = _height(count[shade], most)
            if height:
                y -= height
                yield Bar(_SIDE + place * slot + 1, y, slot - 2, height, shade)


def _labels(bins: _Bins) -> Iterator[Label]:
    """Yield the number above each bar, then some of the values below."""
    slot, most = _slot(bins), max(bins.totals)
    for place, total in enumerate(bins.totals):
        if total:
            yield Label(_SIDE + (place + 0.5) * slot, _BASE - _height(total, most) - 4, f"{total:,}")
    offset = 0.5 if bins.is_whole else 0.0
    edges = bins.edges[:-1] if bins.is_whole else bins.edges
    for place in range(0, len(edges), math.ceil(len(bins.edges) / _MAX_LABELS)):
        yield Label(_SIDE + (place + offset) * slot, _BASE + 18, edges[place])


def _slot(bins: _Bins) -> float:
    """Return the width of a bin."""
    return (WIDTH - 2 * _SIDE) / len(bins.counts)


def _height(total: int, most: int) -> float:
    return (_BASE - _TOP) * total / most
