"""Generates rows, contexts and parameters that fit a seed, one by one or as the whole input of a restaurant.

By default the values are plausible, such as those of Yelp's data, and only the fields that the seed uses are present. With `wild`
the values are any that the seed accepts, and other fields may be present, too.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from hypothesis import strategies as st

from formulaseed import limits
from formulaseed.documents import FormulaSeed, SeedLike
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.inputs import _find_typo
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base, Type
from formulaseed.testing.loaded import load_cached_seed
from formulaseed.testing.scalars import PLAIN_STRINGS, STRINGS, JsonValue, integers, numbers

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


JsonRow = dict[str, Any]
_NUMERAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


class Restaurant(NamedTuple):
    """The input of one evaluation, in the order in which evaluators take it."""

    rows: list[JsonRow]
    context: dict[str, JsonValue]
    parameters: dict[str, JsonValue]


def restaurants(seed: SeedLike | FormulaSeed, *, wild: bool = False) -> st.SearchStrategy[Restaurant]:
    """Return a strategy for restaurants: rows, a context and parameters for one evaluation, all plausible.

    With `wild` they are any that the seed accepts. Raises `SeedError` for a seed with errors.
    """
    return st.builds(
        Restaurant,
        rows=rows(seed, wild=wild),
        context=contexts(seed, wild=wild),
        parameters=parameters(seed, wild=wild),
    )


def rows(
    seed: SeedLike | FormulaSeed, *, min_size: int = 0, max_size: int = 8, wild: bool = False
) -> st.SearchStrategy[list[JsonRow]]:
    """Return a strategy for the rows of one restaurant: `[{"review_id", "extraction": {…}, "meta": {…}}, …]`.

    Stars are from 1 to 5, votes and other metadata are 0 or more, dates are in the years 2004 to 2030, and numbers without bounds
    are at most a million. With `wild` all may be any that the seed accepts, also negative, huge or in the year 1.
    """
    values = Values(load_cached_seed(seed).program, wild)
    row = st.fixed_dictionaries(
        {"extraction": _build_records(values, SymbolKind.EXTRACTION), "meta": _build_metas(values)}
    )
    several = max(min_size, min(2, max_size))
    any_number, more = (st.lists(row, min_size=size, max_size=max_size) for size in (min_size, several))
    return _number_rows(st.one_of(any_number, more, more))


def contexts(seed: SeedLike | FormulaSeed, *, wild: bool = False) -> st.SearchStrategy[dict[str, JsonValue]]:
    """Return a strategy for contexts, whose strings often consist of keys of the seed's tables.

    Numbers of Yelp's businesses are plausible, others from 0 to a million; with `wild` they are any that the seed accepts.
    """
    program = load_cached_seed(seed).program
    contexts = _build_records(Values(program, wild), SymbolKind.CONTEXT)
    if any(field.path for field in program.context):
        return contexts.flatmap(lambda context: _move_some_to_paths(program, context))
    return contexts


def parameters(seed: SeedLike | FormulaSeed, *, wild: bool = False) -> st.SearchStrategy[dict[str, JsonValue]]:
    """Return a strategy for parameters within their bounds; an absent parameter has its default.

    Numbers without bounds are at most a million; with `wild` they are any that the seed accepts.
    """
    program = load_cached_seed(seed).program
    values = Values(program, wild)
    optional = {p.name: values.field_values(SymbolKind.PARAMETER, p) for p in program.parameters}
    return st.fixed_dictionaries({}, optional=optional)


def _move_some_to_paths(program: nodes.Program, context: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for copies of a context in which some fields with a path have moved to their path.

    The moved values are written as Yelp does or as plain JSON. A field stays if another field has the same path, or its first key
    as its name.
    """
    counts = Counter(field.path for field in program.context)
    names = {field.name for field in program.context}
    fields = [
        field
        for field in program.context
        if field.path and counts[field.path] == 1 and field.path[0] not in names and field.name in context
    ]
    forms = st.tuples(*[st.sampled_from(("named", "plain", "written", "written")) for _ in fields])
    return forms.map(lambda chosen: _move_to_paths(context, zip(fields, chosen, strict=True)))


def _move_to_paths(context: dict[str, Any], fields: Iterable[tuple[nodes.InputField, str]]) -> dict[str, Any]:
    """Return a copy of a context in which each field has moved from its name to its path.

    A field stays if its form is "named", or if the context has the first key of its path. Strings, and values in the form
    "written", become texts as Yelp writes them. Each field has a path and a value in the context.
    """
    moved = dict(context)
    for field, form in fields:
        *keys, last = field.path
        section: Any = moved
        for key in keys:
            section = section.setdefault(key, {}) if isinstance(section, dict) else None
        if form != "named" and isinstance(section, dict) and last not in section and field.path[0] not in context:
            value = moved.pop(field.name)
            if form == "written" or isinstance(value, str):
                value = _write_as_yelp(value)
            section[last] = value
    return moved


def _write_as_yelp(value: Any) -> Any:
    """Return a value as Yelp's data has it: a Python literal in a string, `u'…'` for a string.

    A number that is no plain numeral, such as 1e16, is returned unchanged.
    """
    if isinstance(value, str):
        return f"u{value!r}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return repr(value) if not is_number or _NUMERAL.fullmatch(repr(value)) else value


def _build_records(
    values: Values, kind: SymbolKind, without: Collection[str] = ()
) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for objects with the fields of a kind, except those in `without`.

    Wild objects have all fields, and maybe one with an unknown name; others only the fields that steps use. A field
    that is nullable or has a default may be missing or null.
    """
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    fields: Mapping[SymbolKind, Sequence[nodes.ExtractionField | nodes.InputField]] = {
        SymbolKind.EXTRACTION: values.program.fields,
        SymbolKind.META: values.program.meta,
        SymbolKind.CONTEXT: values.program.context,
    }
    for field in fields[kind]:
        if field.name in without or not (values.wild or Symbol(kind, field.name) in values.used):
            continue
        has_default = isinstance(field, nodes.ExtractionField) and field.default is not None
        may_be_missing = has_default or field.ty.nullable
        value = values.field_values(kind, field)
        if may_be_missing:
            value = st.one_of(value, value, st.none())
        is_required = Symbol(kind, field.name) in values.used and not may_be_missing
        (required if is_required else optional)[field.name] = value
    if values.wild:
        # a name that resembles that of a field would be reported as a typo
        unknown_name = "surplus"
        while _find_typo(unknown_name, {*required, *optional}) is not None:
            unknown_name += "_surplus"
        optional[unknown_name] = st.just(1)
    return st.fixed_dictionaries(required, optional=optional)


# --- rows


_DATE_FIELDS = ("date", "year", "month")


def _build_metas(values: Values) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for metadata whose year, month and date agree.

    If the seed uses one of them, or the values are wild, there is a date, or a year and month, or all three; a `date`
    that the seed uses is always there.
    """
    metas = _build_records(values, SymbolKind.META, without=_DATE_FIELDS)
    used = [name for name in _DATE_FIELDS if Symbol(SymbolKind.META, name) in values.used]
    if not (used or values.wild):
        return metas
    combinations: list[tuple[str, ...]] = [("date",), _DATE_FIELDS]
    if "date" not in used:
        combinations.append(("year", "month"))
    return _add_date(metas, values.days(), st.sampled_from(combinations))


@st.composite
def _add_date(
    draw: st.DrawFn,
    metas: st.SearchStrategy[dict[str, Any]],
    days: st.SearchStrategy[datetime.date],
    combinations: st.SearchStrategy[tuple[str, ...]],
) -> dict[str, Any]:
    """Draw metadata, and return a copy with the fields of one combination of year, month and date, of the same day."""
    meta = draw(metas)
    day = draw(days)
    parts = {"date": day.isoformat(), "year": day.year, "month": day.month}
    return {**meta, **{name: parts[name] for name in draw(combinations)}}


@st.composite
def _number_rows(draw: st.DrawFn, rows: st.SearchStrategy[list[JsonRow]]) -> list[JsonRow]:
    """Draw rows, and return copies with the review ids r1, r2 and so on."""
    return [{"review_id": f"r{index}", **row} for index, row in enumerate(draw(rows), 1)]
