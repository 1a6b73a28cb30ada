"""Generate values of a seed's fields: those that Yelp's data can have, or any that a seed accepts.

Either way many are those that the seed itself mentions, so that its conditions hold now and then.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hypothesis import strategies as st

from formulaseed import limits
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base, Type
from formulaseed.testing.formulas import PLAIN_STRINGS, STRINGS, integers, numbers

_MAX_UNBOUNDED = 1_000_000
"""The largest number of a field without bounds, unless values are wild."""
_RANGES: dict[str, tuple[int, int]] = {
    "meta.useful": (0, 1_000), "meta.funny": (0, 1_000), "meta.cool": (0, 1_000), "meta.user_average_stars": (1, 5),
    "context.review_count": (0, 10_000), "context.is_open": (0, 1), "context.latitude": (-90, 90),
    "context.longitude": (-180, 180),
}  # fmt: skip
"""The ranges of Yelp's numbers. Stars have values of their own; all other numbers are counts and lengths, 0 or more."""
_STARS = [1, 2, 3, 4, 5, 1.0, 2.0, 3.0, 4.0, 5.0]
_AVERAGE_STARS = [halves / 2 for halves in range(2, 11)]
_FIRST_YEAR = 2004
_LAST_YEAR = 2030

Field = nodes.ExtractionField | nodes.InputField | nodes.Parameter


@dataclass(frozen=True)
class Values:
    """Strategies for the values of one program's fields; `wild` are any that the program accepts."""

    program: nodes.Program
    wild: bool

    def of(self, kind: SymbolKind, field: Field) -> st.SearchStrategy[Any]:
        """Return the values of a field or parameter, without null."""
        ty = field.ty
        if ty.values is not None:
            return st.sampled_from(ty.values)
        if ty.base is Base.BOOLEAN:
            return st.booleans()
        if not ty.is_numeric:
            return self._strings
        bounds = (None, None) if isinstance(field, nodes.InputField) else (field.minimum, field.maximum)
        if self.wild:
            return self._wild_number(ty, *bounds)
        name = f"{kind.value}.{field.name}"
        if name in ("meta.stars", "context.stars"):
            return st.sampled_from(_STARS if name == "meta.stars" else _AVERAGE_STARS)
        least, most = _RANGES.get(name, (0 if isinstance(field, nodes.InputField) else -_MAX_UNBOUNDED, _MAX_UNBOUNDED))
        low, high = bounds
        if low is None:
            low = least if high is None or high >= least else high
        if high is None:
            high = max(low, most)
        return self._plain_number(ty, low, high)

    def days(self) -> st.SearchStrategy[datetime.date]:
        """Return days of reviews, often of years near those that the seed mentions."""
        first = datetime.date(_FIRST_YEAR, 1, 1)
        last = datetime.date(_LAST_YEAR, 12, 31)
        years = sorted({y + d for y in self._integers for d in (-1, 0, 1) if _FIRST_YEAR <= y + d <= _LAST_YEAR})
        near = st.builds(datetime.date, st.sampled_from(years or [_FIRST_YEAR]), st.integers(1, 12), st.integers(1, 28))
        return st.one_of(near, st.dates() if self.wild else st.dates(first, last))

    def growth(self, ty: Type) -> st.SearchStrategy[Any]:
        """Return by how much a step's value may grow."""
        return self._plain_number(ty, 1 if ty.base is Base.INTEGER else 0, 1_000)

    def _wild_number(self, ty: Type, low: float | None, high: float | None) -> st.SearchStrategy[Any]:
        is_whole = ty.base is Base.INTEGER
        limit = limits.INTEGER_MAX if is_whole else limits.INPUT_MAX
        least = -limit if low is None else low
        most = limit if high is None else high
        if not is_whole:
            return numbers(self._numbers, least, most)
        whole = integers(self._integers, int(least), int(most))
        return whole if low is not None or high is not None else st.one_of(whole, whole, st.integers(-3, 12).map(float))

    def _plain_number(self, ty: Type, low: float, high: float) -> st.SearchStrategy[Any]:
        """Return numbers that people write: small ones, those that the seed mentions and their neighbours, hundredths."""
        start = min(max(low, 0), high)
        if ty.base is Base.INTEGER:
            near = [n + step for n in self._integers for step in (-1, 0, 1) if low <= n + step <= high]
            few = st.integers(int(start), int(min(start + 10, high)))
            return st.one_of(few, few, *([st.sampled_from(near)] if near else []), st.integers(int(low), int(high)))
        mentioned = [n for n in self._numbers if low <= n <= high]
        small = st.integers(0, 1_000).map(lambda part: min(start + part / 100, high))
        spread = st.integers(0, 100).map(lambda part: min(low + (high - low) * part / 100, high))
        return st.one_of(small, *([st.sampled_from(mentioned)] if mentioned else []), spread)

    @cached_property
    def used(self) -> frozenset[Symbol]:
        """Every symbol that some step mentions."""
        return self.program.used()

    @cached_property
    def _strings(self) -> st.SearchStrategy[str]:
        known = st.sampled_from(self._texts or [""])
        return st.one_of(
            known,
            st.lists(known, min_size=1, max_size=3).map(", ".join),
            STRINGS if self.wild else st.sampled_from(PLAIN_STRINGS),
        )

    # --- what the seed mentions

    @cached_property
    def _mentioned(self) -> list[Any]:
        tables = [step.operation.table for step in self.program.steps if isinstance(step.operation, nodes.Lookup)]
        trees = [tree for s in self.program.steps for expression in s.expressions() for tree in typed.walk(expression)]
        values = [key for table in tables for key, _ in table] + [
            n.value for n in trees if isinstance(n, typed.Literal)
        ]
        return [value for value in dict.fromkeys(values) if not isinstance(value, bool)]

    @cached_property
    def _integers(self) -> list[int]:
        mentioned = self._mentioned
        return [int(n) for n in mentioned if isinstance(n, int | float) and abs(n) < limits.INTEGER_MAX]

    @cached_property
    def _numbers(self) -> list[float]:
        return [float(n) for n in self._mentioned if isinstance(n, int | float) and abs(n) <= limits.INPUT_MAX]

    @cached_property
    def _texts(self) -> list[str]:
        program = self.program
        fields: list[Field] = [*program.fields, *program.meta, *program.context]
        of_enums = set() if self.wild else {value for field in fields for value in field.ty.values or ()}
        return [value for value in self._mentioned if isinstance(value, str) and value not in of_enums]
