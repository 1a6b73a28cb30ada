"""Generates values of a seed's fields: plausible ones, such as those of Yelp's data, or any that the seed accepts.

Many of both kinds are values that the seed itself mentions, so that its conditions hold in some rows.
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
from formulaseed.testing.scalars import PLAIN_STRINGS, STRINGS, integers, numbers

_MAX_UNBOUNDED = 1_000_000
"""The largest plausible number of a field without bounds."""
_RANGES: dict[str, tuple[int, int]] = {
    "meta.useful": (0, 1_000), "meta.funny": (0, 1_000), "meta.cool": (0, 1_000), "meta.user_average_stars": (1, 5),
    "context.review_count": (0, 10_000), "context.is_open": (0, 1), "context.latitude": (-90, 90),
    "context.longitude": (-180, 180),
}  # fmt: skip
"""The ranges of Yelp's numbers. Stars have values of their own; all other numbers are counts and lengths, 0 or more."""
_STARS: dict[str, list[float]] = {
    "meta.stars": [1, 2, 3, 4, 5, 1.0, 2.0, 3.0, 4.0, 5.0],
    "context.stars": [halves / 2 for halves in range(2, 11)],
}
_FIRST_YEAR = 2004
_LAST_YEAR = 2030

Field = nodes.ExtractionField | nodes.InputField | nodes.Parameter


@dataclass(frozen=True)
class Values:
    """Strategies for the values of one program's fields: plausible values or, if `wild`, any that the program accepts."""

    program: nodes.Program
    wild: bool

    def field_values(self, kind: SymbolKind, field: Field) -> st.SearchStrategy[Any]:
        """Return a strategy for the values of a field or parameter, without null.

        They respect the field's bounds; without bounds, plausible numbers depend on the field's name.
        """
        ty = field.ty
        if ty.values is not None:
            return st.sampled_from(ty.values)
        if ty.base is Base.BOOLEAN:
            return st.booleans()
        if not ty.is_numeric:
            return self._strings
        low, high = (None, None) if isinstance(field, nodes.InputField) else (field.minimum, field.maximum)
        if self.wild:
            return self._wild_number(ty, low, high)
        name = f"{kind.value}.{field.name}"
        if name in _STARS:
            return st.sampled_from(_STARS[name])
        default_low, default_high = _RANGES.get(
            name, (0 if isinstance(field, nodes.InputField) else -_MAX_UNBOUNDED, _MAX_UNBOUNDED)
        )
        if low is None:
            low = default_low if high is None else min(default_low, high)
        if high is None:
            high = max(low, default_high)
        return self._plain_number(ty, low, high)

    def days(self) -> st.SearchStrategy[datetime.date]:
        """Return a strategy for dates of reviews, which are often in or next to years that the seed mentions.

        All are in the years 2004 to 2030, unless the values are wild.
        """
        first = datetime.date(_FIRST_YEAR, 1, 1)
        last = datetime.date(_LAST_YEAR, 12, 31)
        years = sorted({y + d for y in self._integers for d in (-1, 0, 1) if _FIRST_YEAR <= y + d <= _LAST_YEAR})
        near = st.builds(datetime.date, st.sampled_from(years or [_FIRST_YEAR]), st.integers(1, 12), st.integers(1, 28))
        return st.one_of(near, st.dates() if self.wild else st.dates(first, last))

    def growth(self, ty: Type) -> st.SearchStrategy[Any]:
        """Return a strategy for amounts that a step's value may be raised by: at least 1 for integers."""
        return self._plain_number(ty, float(ty.base is Base.INTEGER), 1_000)

    def _wild_number(self, ty: Type, low: float | None, high: float | None) -> st.SearchStrategy[Any]:
        """Return a strategy for any numbers from `low` to `high`; None is the limit of the language.

        Without bounds, an integer may also be drawn as a float such as 3.0.
        """
        is_whole = ty.base is Base.INTEGER
        limit = limits.INTEGER_MAX if is_whole else limits.INPUT_MAX
        is_unbounded = low is None and high is None
        low = -limit if low is None else low
        high = limit if high is None else high
        if not is_whole:
            return numbers(self._numbers, low, high)
        whole = integers(self._integers, int(low), int(high))
        # JSON has only one kind of numbers, so that 3.0 is an integer, too
        return st.one_of(whole, whole, st.integers(-3, 12).map(float)) if is_unbounded else whole

    def _plain_number(self, ty: Type, low: float, high: float) -> st.SearchStrategy[Any]:
        """Return a strategy for numbers that people write, from `low` to `high`.

        They are small, hundredths, spread between the bounds, or mentioned in the seed.
        """
        start = min(max(low, 0), high)
        if ty.base is Base.INTEGER:
            near = [n + step for n in self._integers for step in (-1, 0, 1) if low <= n + step <= high]
            small = st.integers(int(start), int(min(start + 10, high)))
            return st.one_of(small, small, *_sample_if_any(near), st.integers(int(low), int(high)))
        mentioned = [n for n in self._numbers if low <= n <= high]
        hundredths = st.integers(0, 1_000).map(lambda part: min(start + part / 100, high))
        spread = st.integers(0, 100).map(lambda part: min(low + (high - low) * part / 100, high))
        return st.one_of(hundredths, *_sample_if_any(mentioned), spread)

    @cached_property
    def used(self) -> frozenset[Symbol]:
        """The symbols that the steps use."""
        return self.program.used()

    @cached_property
    def _strings(self) -> st.SearchStrategy[str]:
        """A strategy for strings that the seed mentions, lists of them, and others, which are any if wild."""
        mentioned = st.sampled_from(self._mentioned_strings or [""])
        unmentioned = STRINGS if self.wild else st.sampled_from(PLAIN_STRINGS)
        return st.one_of(mentioned, st.lists(mentioned, min_size=1, max_size=3).map(", ".join), unmentioned)

    # --- values that the seed mentions

    @cached_property
    def _literals(self) -> list[Any]:
        """The literals of all formulas and the keys of all tables, without booleans."""
        tables = [step.operation.table for step in self.program.steps if isinstance(step.operation, nodes.Lookup)]
        trees = [tree for s in self.program.steps for expression in s.expressions() for tree in typed.walk(expression)]
        values: list[Any] = [key for table in tables for key, _ in table]
        values += [tree.value for tree in trees if isinstance(tree, typed.Literal)]
        return [value for value in dict.fromkeys(values) if not isinstance(value, bool)]

    @cached_property
    def _integers(self) -> list[int]:
        """The numbers that the seed mentions, cut to integers; too large ones are left out."""
        literals = self._literals
        return [int(n) for n in literals if isinstance(n, int | float) and abs(n) < limits.INTEGER_MAX]

    @cached_property
    def _numbers(self) -> list[float]:
        """The numbers that the seed mentions, as floats; too large ones are left out."""
        return [float(n) for n in self._literals if isinstance(n, int | float) and abs(n) <= limits.INPUT_MAX]

    @cached_property
    def _mentioned_strings(self) -> list[str]:
        """The strings that the seed mentions; if not wild, without the values of enums."""
        program = self.program
        fields: list[Field] = [*program.fields, *program.meta, *program.context]
        enum_values = {value for field in fields for value in field.ty.values or () if not self.wild}
        return [value for value in self._literals if isinstance(value, str) and value not in enum_values]


def _sample_if_any(values: list[Any]) -> list[st.SearchStrategy[Any]]:
    """Return a strategy for the values as the only item of a list; an empty list if there are no values."""
    return [st.sampled_from(values)] if values else []
