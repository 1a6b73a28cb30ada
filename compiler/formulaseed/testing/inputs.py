"""Rows, contexts and parameters that fit a seed.

What the seed uses is always present; the rest may be missing. Values are often those that the seed itself mentions, so
that its conditions hold now and then.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from formulaseed import limits
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.inputs import _typo_of
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base, Type
from formulaseed.loading import FormulaSeed, SeedLike, load_seed
from formulaseed.testing.formulas import STRINGS, JsonValue, integers, numbers

JsonRow = dict[str, Any]
_NUMERAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
_FIRST_DAY, _LAST_DAY = datetime.date(2008, 1, 1), datetime.date(2026, 12, 31)


def rows(seed: SeedLike | FormulaSeed, *, min_size: int = 0, max_size: int = 8) -> st.SearchStrategy[list[JsonRow]]:
    """Return rows of one restaurant: `[{"review_id", "extraction": {…}, "meta": {…}}, …]`."""
    program = load_seed(seed).program
    used, hints = program.used(), _hints(program)
    extraction = _record(
        {field.name: _or_null(_bounded(field, hints), field.default is not None) for field in program.fields},
        {f.name for f in program.fields if Symbol(SymbolKind.EXTRACTION, f.name) in used and f.default is None},
    )
    meta = _metas(program, used, hints)
    row = st.fixed_dictionaries({"extraction": extraction, "meta": meta})
    several = max(min_size, min(2, max_size))
    few, more = (st.lists(row, min_size=least, max_size=max_size).map(_numbered) for least in (min_size, several))
    return st.one_of(few, more, more)


def contexts(seed: SeedLike | FormulaSeed) -> st.SearchStrategy[dict[str, JsonValue]]:
    """Return contexts; their strings are often made of the keys of the seed's tables."""
    program = load_seed(seed).program
    used, hints = program.used(), _hints(program)
    values = {field.name: _or_null(_value(field.ty, hints), field.ty.nullable) for field in program.context}
    needed = {f.name for f in program.context if Symbol(SymbolKind.CONTEXT, f.name) in used and not f.ty.nullable}
    return _record(values, needed).flatmap(lambda record: _with_paths(program, record))


def _with_paths(program: nodes.Program, record: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The record with some of the values that have a path moved there, written as Yelp does or as plain JSON."""
    placed = [field for field in program.context if field.path and field.name in record]
    ways = st.tuples(*[st.sampled_from(("named", "plain", "written", "written")) for _ in placed])
    return ways.map(lambda chosen: _moved(record, zip(placed, chosen, strict=True)))


def _moved(record: dict[str, Any], placed: Iterable[tuple[nodes.InputField, str]]) -> dict[str, Any]:
    moved = dict(record)
    for field, way in placed:
        *keys, last = field.path
        section: Any = moved
        for key in keys:
            section = section.setdefault(key, {}) if isinstance(section, dict) else None
        if way != "named" and isinstance(section, dict) and last not in section and field.path[0] not in record:
            value = moved.pop(field.name)
            section[last] = value if way == "plain" and not isinstance(value, str) else _as_yelp_writes(value)
    return moved


def _as_yelp_writes(value: Any) -> Any:
    """An attribute as Yelp's data has it: a Python literal in a string, a number only where that is a plain numeral."""
    if isinstance(value, str):
        return f"u{value!r}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return repr(value) if not is_number or _NUMERAL.fullmatch(repr(value)) else value


def parameters(seed: SeedLike | FormulaSeed) -> st.SearchStrategy[dict[str, JsonValue]]:
    """Return parameters inside their bounds; absent ones have their defaults."""
    program = load_seed(seed).program
    hints = _hints(program)
    return st.fixed_dictionaries({}, optional={p.name: _bounded(p, hints) for p in program.parameters})


def _bounded(field: nodes.Parameter | nodes.ExtractionField, hints: _Hints) -> st.SearchStrategy[Any]:
    low, high = field.minimum, field.maximum
    if low is None and high is None:
        return _value(field.ty, hints)
    most = limits.INTEGER_MAX if field.ty.base is Base.INTEGER else limits.INPUT_MAX
    least, most = -most if low is None else low, most if high is None else high
    if field.ty.base is Base.INTEGER:
        return integers(hints.integers, int(least), int(most))
    return numbers(hints.numbers, least, most)


# --- what the seed mentions


@dataclass(frozen=True, slots=True)
class _Hints:
    integers: list[int]
    numbers: list[float]
    strings: list[str]


def _hints(program: nodes.Program) -> _Hints:
    tables = [step.operation.table for step in program.steps if isinstance(step.operation, nodes.Lookup)]
    trees = [tree for step in program.steps for expression in step.expressions() for tree in typed.walk(expression)]
    values = [key for table in tables for key, _ in table] + [n.value for n in trees if isinstance(n, typed.Literal)]
    found = dict.fromkeys(value for value in values if not isinstance(value, bool))
    return _Hints(
        [int(value) for value in found if isinstance(value, int | float) and abs(value) < limits.INTEGER_MAX],
        [float(value) for value in found if isinstance(value, int | float) and abs(value) <= limits.INPUT_MAX],
        [value for value in found if isinstance(value, str)],
    )


# --- values


def _record(values: Mapping[str, st.SearchStrategy[Any]], needed: set[str]) -> st.SearchStrategy[dict[str, Any]]:
    """An object with the needed fields, some of the others, and sometimes an unknown one that resembles none of them."""
    stranger = "surplus"
    while _typo_of(stranger, values) is not None:
        stranger += "_surplus"
    required = {name: value for name, value in values.items() if name in needed}
    optional = {name: value for name, value in values.items() if name not in needed}
    return st.fixed_dictionaries(required, optional={**optional, stranger: st.just(1)})


def _or_null(value: st.SearchStrategy[Any], may_be_null: bool) -> st.SearchStrategy[Any]:
    return st.one_of(value, value, st.none()) if may_be_null else value


def _value(ty: Type, hints: _Hints) -> st.SearchStrategy[Any]:
    if ty.values is not None:
        return st.sampled_from(ty.values)
    if ty.base is Base.BOOLEAN:
        return st.booleans()
    if ty.base is Base.INTEGER:
        whole = integers(hints.integers)
        return st.one_of(whole, whole, st.integers(-3, 12).map(float))
    if ty.base is Base.NUMBER:
        return numbers(hints.numbers)
    known = st.sampled_from(hints.strings or [""])
    return st.one_of(known, st.lists(known, min_size=1, max_size=3).map(", ".join), STRINGS)


# --- rows


def _metas(program: nodes.Program, used: frozenset[Symbol], hints: _Hints) -> st.SearchStrategy[dict[str, Any]]:
    """Metadata. Year, month and date are of one day; the date alone, or the other two alone, may be given."""
    others = [field for field in program.meta if field.name not in ("year", "month", "date")]
    needed = {f.name for f in others if Symbol(SymbolKind.META, f.name) in used and not f.ty.nullable}
    plain = _record({f.name: _or_null(_value(f.ty, hints), f.ty.nullable) for f in others}, needed)
    date_is_used = Symbol(SymbolKind.META, "date") in used
    kept = [("date", "year", "month"), ("date",), *([] if date_is_used else [("year", "month")])]
    days = st.one_of(st.dates(_FIRST_DAY, _LAST_DAY), st.dates())
    return st.builds(_dated, plain, days, st.sampled_from(kept))


def _dated(meta: dict[str, Any], day: datetime.date, kept: tuple[str, ...]) -> dict[str, Any]:
    parts = {"date": day.isoformat(), "year": day.year, "month": day.month}
    return {**meta, **{name: parts[name] for name in kept}}


def _numbered(found: list[JsonRow]) -> list[JsonRow]:
    return [{"review_id": f"r{index}", **row} for index, row in enumerate(found, 1)]
