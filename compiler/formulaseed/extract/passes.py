"""Several passes over one review: the majority of each field, and how far the passes agree.

Source: the design's section on Formula Seeds, `extract.passes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from formulaseed.data.extractions import FieldValue, Quote
from formulaseed.extract.model.prompting import Values


def majority(passes: Sequence[Values]) -> Values:
    """The value that most passes give each field, the earliest pass deciding a tie, with the first such pass's quote."""
    fields: dict[str, FieldValue] = {}
    quotes: dict[str, Quote] = {}
    for name in passes[0].fields:
        given = [each.fields[name] for each in passes]
        counts = Counter(map(_exact, given))
        most = max(counts.values())
        chosen = next(index for index, value in enumerate(given) if counts[_exact(value)] == most)
        fields[name] = given[chosen]
        if name in passes[chosen].quotes:
            quotes[name] = passes[chosen].quotes[name]
    return Values(fields, quotes)


class Agreement:
    """For each field, in how many reviews all passes gave the same value."""

    def __init__(self) -> None:
        self.reviews = 0
        self.agreed: Counter[str] = Counter()

    def add(self, passes: Sequence[Values]) -> None:
        self.reviews += 1
        for name in passes[0].fields:
            self.agreed[name] += len({_exact(each.fields[name]) for each in passes}) == 1


def _exact(value: FieldValue) -> tuple[type, FieldValue]:
    """To Python 1, 1.0 and True are one value."""
    return type(value), value
