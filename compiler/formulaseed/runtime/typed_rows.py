"""Decodes lines of rows straight into the tuples of a module's `parse_row`, with msgspec's decoder for types.

In: a line's bytes. Out: its restaurant, or None for a line that is not as simple as it takes: its rows have the keys of an
earlier line's, each of them once, plain values that the seed allows, and different ids. Every other line is read by way of
objects, by the module, which also says what is wrong with it. So nothing is refused here, and nothing is taken that
`parse_row` would refuse or read as another value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from types import GenericAlias
from typing import Annotated, Any, Literal

from formulaseed.data.decoding import entries_of, is_whole
from formulaseed.data.duplicates import ID
from formulaseed.data.jsonl import Line
from formulaseed.data.records import RestaurantRows
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.language.inputs import _parse_iso_date
from formulaseed.language.types import Base
from formulaseed.limits import INTEGER_MAX

_Field = nodes.ExtractionField | nodes.InputField
_Fields = Mapping[tuple[str, str], _Field]
"""The fields that a seed uses, by section and name, in the order of `Row`."""

_SHAPES = 10
"""So many times keys are learnt: the rows of a file have the same ones, or all kinds."""
_PLAIN = {Base.BOOLEAN: bool, Base.STRING: str}
_EXACT = 2**53 - 1
"""A number read from an integer up to this one is that integer."""
_PARTS = ("year", "month")
"""Fields of `meta` that a date beside them must agree with, and gives where they are absent."""
_NAMES = (ID, "extraction", "meta", "date", *_PARTS)
"""Keys that are attributes of the same name."""
_DATE_CHARACTERS = 40
"""No date is longer."""
_DATES = 20_000
"""So many are remembered."""


class _Parts(dict[str, int | str]):
    """The years or the months of dates, as they are looked up; an empty string for what is no date."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self._place = place

    def __missing__(self, date: str) -> int | str:
        found = _parse_iso_date(date)
        part = found[self._place] if found is not None else ""
        if len(self) < _DATES:
            self[date] = part
        return part


_PARTS_OF = {name: _Parts(place) for place, name in enumerate(_PARTS)}


class ParsedRows(list[tuple[Any, ...]]):
    """Rows as `parse_row` returns them."""


def typed_rows(program: nodes.Program) -> TypedRows | None:
    """Return a decoder of the rows of a seed; None where msgspec is not installed."""
    try:
        import msgspec.json  # noqa: F401
    except ImportError:
        return None
    return TypedRows(program)


class TypedRows:
    """Decodes lines whose rows have the keys that it has learnt last."""

    def __init__(self, program: nodes.Program) -> None:
        self._fields: _Fields = {(kind.value, field.name): field for kind, field in program.row_fields()}
        self._left = _SHAPES
        self._shape: _Shape | None = None

    def read(self, line: bytes) -> RestaurantRows | None:
        """Return the line's restaurant with `ParsedRows`; None where it must be read by way of objects."""
        return self._shape.read(line) if self._shape is not None else None

    def learn(self, line: Line) -> None:
        """Expect the keys of this line and of its first row, which were read by way of objects, in those to come."""
        found = line.found
        if self._left and not isinstance(found, DataError) and found["rows"]:
            self._left -= 1
            try:
                self._shape = _Shape(self._fields, [*found], found["rows"][0])
            except (KeyError, ValueError):
                self._shape = None


class _Shape:
    """Decodes lines with certain keys, of which each row has those of the given one.

    Raises `KeyError` or `ValueError` if a field in use or the context is missing, or msgspec takes a key for no name.
    """

    def __init__(self, fields: _Fields, names: Sequence[str], row: Mapping[str, Any]) -> None:
        from msgspec.json import Decoder

        keys = {name: [*section] for name, section in row.items() if isinstance(section, dict)}
        meta = keys.get("meta", [])
        dated = [name for name in ("date", *_PARTS) if ("meta", name) in fields] if "date" in meta else []
        derived = [name for name in dated if name not in meta]
        types = {place: _type_of(field) for place, field in fields.items()}
        if dated:
            types["meta", "date"] = _annotated(str, max_length=_DATE_CHARACTERS)
        sections = {
            name: _struct([(key, types.get((name, key), Any)) for key in found], derived if name == "meta" else ())
            for name, found in keys.items()
        }
        rows = _struct([(name, sections.get(name, Any)) for name in row])
        used = {
            "business_id": _annotated(str, min_length=1),
            "context": dict[str, Any],
            "rows": GenericAlias(list, (rows,)),
        }
        line = _struct([(name, used.get(name, Any)) for name in names])
        at = _attributes(line)
        self._decode = Decoder(line).decode
        self._used = attrgetter(*(at[name] for name in used))
        self._others = [(name, at[name]) for name in names if name not in used]
        self._names = len(names)
        self._entries = len(row) + sum(map(len, keys.values()))
        at = _attributes(rows)
        paths = {
            (name, key): f"{at[name]}.{path}" for name in keys for key, path in _attributes(sections[name]).items()
        }
        self._tuples = _tuples_getter(sections, fields)
        self._has_ids = ID in at
        self._with_colons = [attrgetter(at[name]) for name, value in row.items() if _has_colon(value)]
        self._with_colons += [attrgetter(path) for (name, key), path in paths.items() if _has_colon(row[name].get(key))]
        self._is_dated, self._given, self._derived = bool(dated), set(dated) - {"date", *derived}, derived

    def read(self, line: bytes) -> RestaurantRows | None:
        try:
            found = self._decode(line)
        except Exception:  # the reading by way of objects has the words for it
            return None
        business_id, context, rows = self._used(found)
        others = {name: getattr(found, attribute) for name, attribute in self._others}
        entries, marks = entries_of(context)
        if others:
            more, other_marks = entries_of(others)
            entries, marks = entries + more - len(others), marks + other_marks
        entries += self._names + self._entries * len(rows)
        marks += business_id.count(":") + 1  # the list of rows
        try:
            for get in self._with_colons:
                marks += "".join(map(get, rows)).count(":")
            if self._has_ids and len({row.review_id for row in rows}) != len(rows):
                return None  # a duplicate, or ids that are null
            if not is_whole(line, entries, marks) or not self._are_dated(rows):
                return None
            return RestaurantRows.with_others(business_id, context, ParsedRows(self._tuples(rows)), others)
        except (DataError, TypeError):  # a line with a fault, or without a string where others have one
            return None

    def _are_dated(self, rows: Sequence[Any]) -> bool:
        """Return whether the dates are valid and agree with years and months; give these where they are absent."""
        if not self._is_dated:
            return True
        years, months = _PARTS_OF["year"], _PARTS_OF["month"]
        if "year" in self._given:
            for row in rows:
                meta = row.meta  # once, as this takes most of the time
                if years[meta.date] != meta.year:
                    return False
        elif "" in [years[row.meta.date] for row in rows]:
            return False
        if "month" in self._given and [months[row.meta.date] for row in rows] != [row.meta.month for row in rows]:
            return False
        for name in self._derived:
            for row in rows:
                setattr(row.meta, name, _PARTS_OF[name][row.meta.date])
        return True


def _has_colon(value: object) -> bool:
    return isinstance(value, str) and ":" in value


def _struct(members: Sequence[tuple[str, Any]], derived: Sequence[str] = ()) -> Any:
    """Return the type of an object with these keys, and with the derived ones last.

    Its attributes are named as the keys where these are among `_NAMES`, otherwise `f0`, `f1`…
    """
    import msgspec

    given: list[tuple[str, Any, dict[str, Any]]] = [(key, kind, {}) for key, kind in members] + [
        (key, int, {"default": 0}) for key in derived
    ]
    return msgspec.defstruct(
        "Object",
        [
            (key if key in _NAMES else f"f{index}", kind, msgspec.field(name=key, **more))
            for index, (key, kind, more) in enumerate(given)
        ],
        gc=False,
    )


def _attributes(struct: Any) -> dict[str, str]:
    """The names of the attributes, by key."""
    return dict(zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True))


def _tuples_getter(
    sections: Mapping[str, Any], fields: Iterable[tuple[str, str]]
) -> Callable[[Sequence[Any]], Iterable[tuple[Any, ...]]]:
    """Return what makes the tuples of rows with these sections. Raises `KeyError` for a field that is in none of them."""
    used: dict[str, list[str]] = {}
    for kind, name in fields:
        used.setdefault(kind, []).append(name)
    getters = {kind: _tuple_getter(sections[kind], names) for kind, names in used.items()}
    if len(getters) > 1:
        extraction, meta = getters["extraction"], getters["meta"]
        return lambda rows: [extraction(row.extraction) + meta(row.meta) for row in rows]
    for kind, getter in getters.items():
        section = attrgetter(kind)
        return lambda rows: map(getter, map(section, rows))
    return lambda rows: [()] * len(rows)


def _tuple_getter(struct: Any, keys: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    from msgspec.structs import astuple

    at = _attributes(struct)
    if [*at] == keys:
        return astuple  # the fastest
    if len(keys) > 1:
        return attrgetter(*(at[key] for key in keys))
    get = attrgetter(at[keys[0]])
    return lambda found: (get(found),)


def _type_of(field: _Field) -> Any:
    """Return the type of a field's plain values: those for which `parse_row` returns the decoded value itself."""
    if field.ty.values is not None:
        found: Any = Literal[field.ty.values]
    elif field.ty.is_numeric:
        kind, most = (int, INTEGER_MAX) if field.ty.base is Base.INTEGER else (float, _EXACT)
        low, high = (field.minimum, field.maximum) if isinstance(field, nodes.ExtractionField) else (None, None)
        found = _annotated(
            kind, ge=-most if low is None else max(low, -most), le=most if high is None else min(high, most)
        )
    else:
        found = _PLAIN[field.ty.base]
    return found | None if field.ty.nullable else found


def _annotated(kind: type, **limits: Any) -> Any:
    import msgspec

    return Annotated[kind, msgspec.Meta(**limits)]
