"""A first look at a large seed: refuses what is over a limit before every value is given its place.

In: the text. Out: what is too many, or None. Reads with the standard library, which is fast and knows no places;
a text that it cannot read is left to the reader that tells why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from formulaseed import limits

_LARGE = 50_000
"""A text of fewer characters is read at once, whatever it holds."""


@dataclass(frozen=True, slots=True)
class TooMany:
    """A section with too many entries; `start` and `end` are where its key first stands in the text."""

    key: str
    found: int
    most: int
    start: int
    end: int


def too_many(text: str) -> TooMany | None:
    """The first section of a large text that is over its limit."""
    if len(text) < _LARGE:
        return None
    try:
        seed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for key, value, most in _sections(seed):
        if isinstance(value, list | dict) and len(value) > most:
            start = max(text.find(f'"{key}"'), 0)
            return TooMany(key, len(value), most, start, start + len(key) + 2)
    return None


def _sections(seed: Any) -> Iterator[tuple[str, Any, int]]:
    if not isinstance(seed, dict):
        return
    for key in ("compute", "compute_dag"):
        yield key, seed.get(key), limits.STEPS
    for key in ("output", "output_fields"):
        yield key, seed.get(key), limits.OUTPUTS
    yield "filter_keywords", seed.get("filter_keywords"), limits.KEYWORDS
    yield "extraction_fields", seed.get("extraction_fields"), limits.FIELDS
    yield "parameters", seed.get("parameters"), limits.PARAMETERS
    for section, key, most in (("filter", "keywords", limits.KEYWORDS), ("extract", "fields", limits.FIELDS)):
        if isinstance(seed.get(section), dict):
            yield key, seed[section].get(key), most
    steps = seed.get("compute")
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict):
            yield "table", step.get("table"), limits.TABLE_ENTRIES
            yield "rules", step.get("rules"), limits.CASE_RULES
