"""Validates the inputs of a program: rows, context and record, as JSON has them.

Returns the values of the inputs that a program uses, by symbol. A missing or misspelt input,
or one of another type, raises `DataError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from formulaseed import limits
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.ir.attributes import _attribute_at_path, _read_attribute
from formulaseed.language.inputs import _find_typo, _is_similar, _parse_iso_date
from formulaseed.language.json_values import _quote
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base, Type

_KINDS = {Base.INTEGER: (int,), Base.NUMBER: (int, float), Base.BOOLEAN: (bool,), Base.STRING: (str,)}
_NUMERAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
"""A number in a string, as in Yelp's attributes."""
SymbolValues = dict[Symbol, Any]


def check_rows(rows: object) -> Iterable[Any]:
    """Return `rows` unchanged. Raises `DataError` if it is an object, a string or not iterable."""
    if type(rows) is not list and (isinstance(rows, Mapping | str) or not isinstance(rows, Iterable)):
        raise DataError(f"rows must be a list of objects, not {type(rows).__name__}")
    return rows


def check_object(value: Any, noun: str) -> Mapping[str, Any]:
    """Return a JSON object unchanged. Raises `DataError`, whose message begins with `noun`, for any other value."""
    if type(value) is dict or isinstance(value, Mapping):  # the first is much faster
        return value
    raise DataError(f"{noun} must be an object, not {_quote(value)}")


def read_row(program: nodes.Program, row: Mapping[str, Any], used: frozenset[Symbol]) -> SymbolValues:
    """Return the values of the `used` fields of one row. Raises `DataError` for a missing or wrong value.

    Sections of which no field is used are not read. A missing year or month is taken from the date.
    """
    values: SymbolValues = {}
    for kind, fields in ((SymbolKind.EXTRACTION, program.fields), (SymbolKind.META, program.meta)):
        if any(Symbol(kind, field.name) in used for field in fields):
            section = _read_row_section(row, kind.value)
            if kind is SymbolKind.META:
                section = _add_date_parts(section, used)
            values |= read_section(program, kind, fields, section, used)
    return values


def _read_row_section(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a section of a row, such as `meta`. Raises `DataError` if it is missing, misspelt or no object."""
    if name not in row:
        keys = [key for key in row if isinstance(key, str)]
        typo = next((key for key in keys if _is_similar(name, key) or key.casefold().startswith(name)), None)
        if typo is None:
            raise DataError(f"`{name}` is missing")
        raise DataError(f"`{name}` is missing, but there is `{typo[:80]}`")
    return check_object(row[name], f"`{name}`")


def _add_date_parts(meta: Mapping[str, Any], used: frozenset[Symbol]) -> Mapping[str, Any]:
    """Return a copy of the metadata with the year and month of its date, if these are in use and missing.

    Without a date, the metadata are returned unchanged. Raises `DataError` if the date is invalid, or the year or month
    is there and not that of the date.
    """
    parts = [part for part in ("year", "month") if Symbol(SymbolKind.META, part) in used]
    if meta.get("date") is None or not (parts or Symbol(SymbolKind.META, "date") in used):
        return meta
    date = _parse_iso_date(meta["date"]) if isinstance(meta["date"], str) else None
    if date is None:
        raise DataError("`meta.date` must be an ISO date or date-time")
    of_date = dict(zip(("year", "month"), date, strict=True))
    for part in parts:
        value = meta.get(part)
        if value is not None and value != of_date[part]:
            raise DataError(f"`meta.{part}` is not that of `meta.date`")
        if value is None:
            meta = {**meta, part: of_date[part]}
    return meta


def read_section(
    program: nodes.Program,
    kind: SymbolKind,
    fields: Iterable[nodes.InputField | nodes.ExtractionField],
    section: Mapping[str, Any],
    used: frozenset[Symbol],
) -> SymbolValues:
    """Return the values of the `used` ones of `fields` from a JSON object, by symbol.

    Raises `DataError` for a wrong or misspelt value.
    """
    known = program.inputs(kind)
    return {Symbol(kind, f.name): _read_field(section, kind, f, known) for f in fields if Symbol(kind, f.name) in used}


def _read_field(
    section: Mapping[str, Any],
    kind: SymbolKind,
    field: nodes.InputField | nodes.ExtractionField,
    known: tuple[str, ...],
) -> Any:
    """Return the value of a field, or its default if it is null or absent.

    Raises `DataError` if it is misspelt, wrong or out of bounds. The keys `known` are those of other fields, which are
    never typos.
    """
    value = section.get(field.name)
    place = f"{kind.value}.{field.name}"
    if isinstance(field, nodes.InputField) and field.path and value is None:
        value = _read_path(section, field)
    if value is None and field.name not in section:
        typo = _find_typo(field.name, [key for key in section if isinstance(key, str)], known)
        if typo is not None:
            raise DataError(f"`{place}` is missing, but there is `{typo[:80]}`")
    if isinstance(field, nodes.InputField):
        return read_value(value, field.ty, place)
    if value is None:
        value = field.default
    return check_bounds(read_value(value, field.ty, place), field, place)


def _read_path(section: Mapping[str, Any], field: nodes.InputField) -> Any:
    """Return the value at the path of a field; None if there is none.

    A number in a string is read if the field is numeric. Raises `DataError` if a key is misspelt, or a value on the way
    is not an object.
    """
    value = _attribute_at_path(section, field.path)
    if value is None:
        _refuse_misspelt(section, field.path)
    if isinstance(value, str) and field.ty.is_numeric and _NUMERAL.fullmatch(value):
        return float(value) if "." in value else int(value)
    return value


def _refuse_misspelt(section: Mapping[str, Any], path: tuple[str, ...]) -> None:
    """Raise `DataError` if a key of a path without a value is misspelt, or a value on the way is not an object.

    The search ends at the first null.
    """
    value: Any = section
    for key in path:
        if isinstance(value, str):
            value = _read_attribute(value)
        if value is None:
            return
        if key not in check_object(value, "a part of the path"):
            typo = _find_typo(key, value)
            if typo is not None:
                raise DataError(f"`{key}` is missing, but there is `{typo[:80]}`")
        value = value.get(key)


def read_value(value: Any, ty: Type, place: str) -> Any:
    """Return a value of the type `ty`: a number as a float, an integer also from a float without decimals.

    Raises `DataError`, whose message names `place`, for a value of another type or out of range.
    """
    if value is None and ty.nullable:
        return None
    if isinstance(value, float) and ty.base is Base.INTEGER and value.is_integer():
        value = int(value)
    is_kind = isinstance(value, _KINDS[ty.base]) and isinstance(value, bool) is (ty.base is Base.BOOLEAN)
    if not is_kind or (ty.values is not None and value not in ty.values):
        raise DataError(f"`{place}` must be of type {ty}, not {_quote(value)}")
    most = limits.INPUT_MAX if ty.base is Base.NUMBER else limits.INTEGER_MAX
    if isinstance(value, int | float) and not abs(value) <= most:  # NaN is not
        raise DataError(f"`{place}` is out of range: {_quote(value)}")
    return float(value) if ty.base is Base.NUMBER else value


def check_bounds(value: Any, field: nodes.ExtractionField | nodes.Parameter, place: str) -> Any:
    """Return the value. Raises `DataError`, whose message names `place`, if it is out of the bounds of the field."""
    is_low = field.minimum is not None and value < field.minimum
    if is_low or (field.maximum is not None and value > field.maximum):
        raise DataError(f"`{place}` is out of bounds: {_quote(value)}")
    return value
