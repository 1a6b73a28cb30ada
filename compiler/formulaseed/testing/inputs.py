"""Generate rows, contexts and parameters that fit a seed, one by one or as the whole input of a restaurant.

Values are such as Yelp's data has, and there are no fields but those that the seed uses. With `wild` values are any that the
seed accepts, and some of the other fields are present.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from formulaseed.documents import FormulaSeed, SeedLike
from formulaseed.ir import nodes
from formulaseed.language.inputs import _find_typo
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.testing.formulas import JsonValue
from formulaseed.testing.loaded import loaded_seed
from formulaseed.testing.values import Values

JsonRow = dict[str, Any]
_NUMERAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


class Restaurant(NamedTuple):
    """The input of one evaluation, in the order in which evaluators take it."""

    rows: list[JsonRow]
    context: dict[str, JsonValue]
    parameters: dict[str, JsonValue]


def restaurants(seed: SeedLike | FormulaSeed, *, wild: bool = False) -> st.SearchStrategy[Restaurant]:
    """Return restaurants: rows, a context and parameters for one evaluation."""
    return st.builds(
        Restaurant,
        rows=rows(seed, wild=wild),
        context=contexts(seed, wild=wild),
        parameters=parameters(seed, wild=wild),
    )


def rows(
    seed: SeedLike | FormulaSeed, *, min_size: int = 0, max_size: int = 8, wild: bool = False
) -> st.SearchStrategy[list[JsonRow]]:
    """Return rows of one restaurant: `[{"review_id", "extraction": {…}, "meta": {…}}, …]`.

    Stars are 1 to 5, votes and other metadata 0 or more, dates of the years 2004 to 2030, and numbers without bounds at most a
    million; with `wild` they are any that the seed accepts: negative, huge, of the year 1.
    """
    values = Values(loaded_seed(seed).program, wild)
    row = st.fixed_dictionaries({"extraction": _record(values, SymbolKind.EXTRACTION), "meta": _metas(values)})
    several = max(min_size, min(2, max_size))
    few, more = (st.lists(row, min_size=least, max_size=max_size) for least in (min_size, several))
    return _numbered(st.one_of(few, more, more))


def contexts(seed: SeedLike | FormulaSeed, *, wild: bool = False) -> st.SearchStrategy[dict[str, JsonValue]]:
    """Return contexts; their strings are often made of the keys of the seed's tables.

    Numbers are such as Yelp's businesses have, other ones 0 to a million; with `wild` any that the seed accepts.
    """
    program = loaded_seed(seed).program
    record = _record(Values(program, wild), SymbolKind.CONTEXT)
    has_paths = any(field.path for field in program.context)
    return record.flatmap(lambda fields: _with_paths(program, fields)) if has_paths else record


def parameters(seed: SeedLike | FormulaSeed, *, wild: bool = False) -> st.SearchStrategy[dict[str, JsonValue]]:
    """Return parameters inside their bounds; absent ones have their defaults.

    Without bounds numbers are at most a million; with `wild` any that the seed accepts.
    """
    program = loaded_seed(seed).program
    values = Values(program, wild)
    return st.fixed_dictionaries({}, optional={p.name: values.of(SymbolKind.PARAMETER, p) for p in program.parameters})


def _with_paths(program: nodes.Program, record: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return the record with some of the values that have a path moved there, written as Yelp does or as plain JSON.

    A value stays if another field has the same path.
    """
    times = Counter(field.path for field in program.context)
    placed = [field for field in program.context if field.path and times[field.path] == 1 and field.name in record]
    ways = st.tuples(*[st.sampled_from(("named", "plain", "written", "written")) for _ in placed])
    return ways.map(lambda forms: _move_to_paths(record, zip(placed, forms, strict=True)))


def _move_to_paths(record: dict[str, Any], placed: Iterable[tuple[nodes.InputField, str]]) -> dict[str, Any]:
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
    """Return an attribute as Yelp's data has it: a Python literal in a string; a number if it is not a plain numeral."""
    if isinstance(value, str):
        return f"u{value!r}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return repr(value) if not is_number or _NUMERAL.fullmatch(repr(value)) else value


def _record(values: Values, kind: SymbolKind, without: Collection[str] = ()) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects of a kind's fields; wild ones sometimes have a field that resembles none."""
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
        value = values.of(kind, field)
        value = st.one_of(value, value, st.none()) if may_be_missing else value
        is_needed = Symbol(kind, field.name) in values.used and not may_be_missing
        (required if is_needed else optional)[field.name] = value
    if values.wild:
        stranger = "surplus"
        while _find_typo(stranger, {*required, *optional}) is not None:
            stranger += "_surplus"
        optional[stranger] = st.just(1)
    return st.fixed_dictionaries(required, optional=optional)


# --- rows


_DATED = ("date", "year", "month")


def _metas(values: Values) -> st.SearchStrategy[dict[str, Any]]:
    """Return metadata. Year, month and date are of one day; the date or the other two may be missing."""
    record = _record(values, SymbolKind.META, without=_DATED)
    used = [part for part in _DATED if Symbol(SymbolKind.META, part) in values.used]
    if not (used or values.wild):
        return record
    combinations = [("date",), _DATED, *([] if "date" in used else [("year", "month")])]
    return _add_date(record, values.days(), st.sampled_from(combinations))


@st.composite
def _add_date(
    draw: st.DrawFn,
    record: st.SearchStrategy[dict[str, Any]],
    days: st.SearchStrategy[datetime.date],
    combinations: st.SearchStrategy[tuple[str, ...]],
) -> dict[str, Any]:
    meta = draw(record)
    day = draw(days)
    parts = {"date": day.isoformat(), "year": day.year, "month": day.month}
    return {**meta, **{name: parts[name] for name in draw(combinations)}}


@st.composite
def _numbered(draw: st.DrawFn, rows: st.SearchStrategy[list[JsonRow]]) -> list[JsonRow]:
    return [{"review_id": f"r{index}", **row} for index, row in enumerate(draw(rows), 1)]
