"""Lays out histograms: how many restaurants have which value.

In: numbers, each with the class of its verdict. Out: bins, which a template draws as bars and writes as a table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from formulaseed.pages.values import format_value
from formulaseed.source.printing import number_of

_MAX_BINS = 16
_MAX_LABELS = 8
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Bin:
    """A range of values with the number of restaurants.

    `label` is the value below the beginning of the bar, empty below some bars if there are many. `parts` are the shades of the
    bar from the top, each with its height in percent of the highest bar.
    """

    range: str
    label: str
    total: int
    parts: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """The bins of one number, and what they come to in a sentence. If it `is_whole`, each bin has one integer."""

    name: str
    summary: str
    bins: tuple[Bin, ...]
    is_whole: bool


def histogram(name: str, values: Sequence[tuple[float, str]], shades: Sequence[str]) -> Histogram | None:
    """Return the histogram of values, each with the class of its verdict; None if there is nothing to draw.

    `shades` are the classes in the order in which they are stacked, from the bottom.
    """
    numbers = [value for value, _ in values]
    if not numbers or not math.isfinite(max(numbers) - min(numbers)):
        return None
    low, high = min(numbers), max(numbers)
    are_integers = all(float(number).is_integer() for number in numbers)
    step = _step(low, high, are_integers)
    is_whole = are_integers and step == 1
    first, last = math.floor(low / step), math.floor(high / step)
    if not is_whole and last > first and last * step == high:
        last -= 1  # the last bin has both of its ends
    counts = [Counter[str]() for _ in range(first, last + 1)]
    for value, shade in values:
        counts[min(math.floor(value / step), last) - first][shade] += 1
    edges = [format_value(round((first + place) * step, 12)) for place in range(len(counts) + 1)]
    ranges = edges[:-1] if is_whole else [f"{start} to {end}" for start, end in pairwise(edges)]
    totals = [count.total() for count in counts]
    most = max(totals)
    labelled = range(0, len(counts), math.ceil(len(counts) / _MAX_LABELS))
    bins = tuple(
        Bin(
            range=ranges[place],
            label=edges[place] if place in labelled else "",
            total=totals[place],
            parts=tuple((shade, 100 * count[shade] / most) for shade in reversed(shades) if count[shade]),
        )
        for place, count in enumerate(counts)
    )
    restaurants = f"{number_of(len(numbers), 'restaurant')} from {format_value(low)} to {format_value(high)}"
    most_often = f"most often ({most:,}) {'at' if is_whole else 'from'} {ranges[totals.index(most)]}"
    return Histogram(name, f"{restaurants}, {most_often}", bins, is_whole)


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
