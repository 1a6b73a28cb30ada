"""Lays out histograms, which show how many restaurants have which value.

In: numbers, each with the CSS class of its verdict's colour. Out: bins, which a template draws as bars and writes as a table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from formulaseed.pages.values import format_value
from formulaseed.source.printing import number_of

_MAX_BINS = 16
_MAX_LABELS = 8
_MANTISSAS = (1, 2, 2.5, 5, 10)
_RESOLUTION = 1e-12  # relative to the largest value; narrower bins would have equal edges


@dataclass(frozen=True, slots=True)
class Bin:
    """A range of values with the number of restaurants.

    `label` is the value below the beginning of the bar; if there are many bars, some labels are empty. `parts` are the shades
    of the bar from the top, each with its height in percent of the highest bar.
    """

    range: str
    label: str
    total: int
    parts: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """The bins of one number, and a sentence that sums them up. If it `is_whole`, each bin is one integer.

    `limits` are the numbers that the verdict compares it with, each with its position in percent of the width; beyond the bins
    the position is negative or over 100.
    """

    name: str
    summary: str
    bins: tuple[Bin, ...]
    is_whole: bool
    limits: tuple[tuple[float, str], ...] = ()


def build_histogram(
    name: str, values: Sequence[tuple[float, str]], shades: Sequence[str], limits: Iterable[float] = ()
) -> Histogram | None:
    """Return the histogram of values, each with its shade; None if there are no values or their range is not finite.

    It has at most about 16 bins of equal width. `shades` are all shades in the order in which a bar stacks them, from
    the bottom.
    """
    numbers = [value for value, _ in values]
    if not numbers or not math.isfinite(max(numbers) - min(numbers)):
        return None
    low = min(numbers)
    high = max(numbers)
    are_integers = all(float(number).is_integer() for number in numbers)
    width = _choose_bin_width(low, high, are_integers)
    is_whole = are_integers and width == 1
    counts, edges = _count_by_bin(values, width, is_whole)
    labels = [*map(format_value, edges)]
    ranges = labels[:-1] if is_whole else [f"{start} to {end}" for start, end in pairwise(labels)]
    max_total = max(count.total() for count in counts)
    label_interval = math.ceil(len(counts) / _MAX_LABELS)
    bins: list[Bin] = []
    for position, (count, label) in enumerate(zip(counts, labels, strict=False)):
        parts = tuple((shade, 100 * count[shade] / max_total) for shade in reversed(shades) if count[shade])
        bins.append(Bin(ranges[position], label if position % label_interval == 0 else "", count.total(), parts))
    mode = max(bins, key=lambda bin: bin.total)
    restaurants = f"{number_of(len(numbers), 'restaurant')} from {format_value(low)} to {format_value(high)}"
    most_often = f"most often ({max_total:,}) {'at' if is_whole else 'from'} {mode.range}"
    # the bar of an integer is centred on it
    start = edges[0] - is_whole / 2
    lines = tuple(((limit - start) / (edges[-1] - edges[0]) * 100, format_value(limit)) for limit in sorted(limits))
    return Histogram(name, f"{restaurants}, {most_often}", tuple(bins), is_whole, lines)


def _choose_bin_width(low: float, high: float, are_integers: bool) -> float:
    """Return a width for which there are few bins: 1, 2, 2.5 or 5 times a power of ten.

    If `are_integers` is true, it is at least 1, and exactly 1 for fewer than 16 integers.
    """
    span = high - low
    if span == 0:
        return max(1.0, abs(low) * _RESOLUTION)
    if are_integers and span < _MAX_BINS:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(span / _MAX_BINS))
    width = next((factor * scale for factor in _MANTISSAS if span / (factor * scale) <= _MAX_BINS), 10 * scale)
    return max(width, max(abs(low), abs(high)) * _RESOLUTION, float(are_integers))


def _count_by_bin(
    values: Sequence[tuple[float, str]], width: float, is_whole: bool
) -> tuple[list[Counter[str]], list[float]]:
    """Return how often each shade occurs in each bin, and the edges of the bins: one more than there are bins.

    A value on an edge is in the upper bin, but the largest value may be on the upper edge of the last bin, unless each
    bin is one integer, as `is_whole` says.
    """
    first = math.floor(min(value for value, _ in values) / width)
    high = max(value for value, _ in values)
    last = math.floor(high / width)
    # the largest value may be the upper edge of the last bin, but a bin of one integer has no upper edge
    if not is_whole and last > first and last * width == high:
        last -= 1
    counts = [Counter[str]() for _ in range(first, last + 1)]
    for value, shade in values:
        counts[min(math.floor(value / width), last) - first][shade] += 1
    # rounded, since products such as 3 * 0.1 are not exact
    return counts, [round(number * width, 12) for number in range(first, last + 2)]
