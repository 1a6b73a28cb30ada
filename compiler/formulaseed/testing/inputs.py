"""Generates rows, contexts and parameters that fit a seed, one by one or as the whole input of a restaurant.

By default the values are plausible, such as those of Yelp's data, and only the fields that the seed uses are present. With `wild`
the values are any that the seed accepts, and other fields may be present, too.
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
from formulaseed.testing.loaded import load_cached_seed
from formulaseed.testing.scalars import JsonValue
from formulaseed.testing.values import Values

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

    The moved values are written as Yelp does or as plain JSON. A field stays if another field has the same path.
    """
    counts = Counter(field.path for field in program.context)
    fields = [field for field in program.context if field.path and counts[field.path] == 1 and field.name in context]
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
