"""Decodes lines of rows directly to the tuples of a module's `parse_row`, with msgspec's decoder for types.

In: a line's bytes. Out: its restaurant, or None for a line that is not simple. A line is simple if its rows have the keys of
an earlier line's rows, each of them once, plain values that the seed allows, and different ids. All other lines are read
as objects by the module, which also reports errors. So nothing is rejected here, and no line is decoded that `parse_row`
would reject or read differently.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from types import GenericAlias
from typing import Annotated, Any, Literal

from formulaseed.data.decoding import count_entries, is_whole
from formulaseed.data.duplicates import ID
from formulaseed.data.jsonl import InputLine
from formulaseed.data.records import RestaurantRows
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.language.inputs import _parse_iso_date
from formulaseed.language.types import Base
from formulaseed.limits import INTEGER_MAX

_Field = nodes.ExtractionField | nodes.InputField
_Fields = Mapping[tuple[str, str], _Field]
"""The fields that a seed uses, by section and name, in the order of `Row`."""

_MAX_LEARNED_SHAPES = 10  # the lines of a file have the same keys, or always different ones
_PLAIN_TYPES = {Base.BOOLEAN: bool, Base.STRING: str}
_EXACT_INTEGER_MAX = 2**53 - 1  # a larger integer may be rounded when it is decoded as a number
_DATE_PARTS = ("year", "month")
"""Fields of `meta` that must agree with the date beside them, or are derived from it."""
_KEPT_NAMES = (ID, "extraction", "meta", "date", *_DATE_PARTS)
"""Keys whose attributes in decoded objects have the same name."""
_MAX_DATE_LENGTH = 40
_MAX_CACHED_DATES = 20_000


class _DatePartCache(dict[str, int | str]):
    """A cache from dates to their year or month; to an empty string if a date is invalid."""

    def __init__(self, part: int) -> None:
        super().__init__()
        self._part = part

    def __missing__(self, date: str) -> int | str:
        """Return the year or month of `date`, empty if it is invalid. Caches the value unless the cache is full."""
        parts = _parse_iso_date(date)
        value = parts[self._part] if parts is not None else ""
        if len(self) < _MAX_CACHED_DATES:
            self[date] = value
        return value


_DATE_PART_CACHES = {name: _DatePartCache(part) for part, name in enumerate(_DATE_PARTS)}


class ParsedRows(list[tuple[Any, ...]]):
    """Rows as `parse_row` returns them."""

    def copy_without(self, places: Iterable[int]) -> ParsedRows:
        """Return a copy without the rows at some positions."""
        rest = ParsedRows()
        start = 0
        for place in sorted(places):  # slices are copied much faster than single rows
            rest += self[start:place]
            start = place + 1
        rest += self[start:]
        return rest


def create_row_decoder(program: nodes.Program) -> RowDecoder | None:
    """Return a decoder of the rows of a seed; None if msgspec is not installed."""
    try:
        import msgspec.json  # noqa: F401
    except ImportError:
        return None
    return RowDecoder(program)


class RowDecoder:
    """A decoder of lines of rows that have the same keys as the line that it learned last."""

    def __init__(self, program: nodes.Program) -> None:
        self._fields: _Fields = {(kind.value, field.name): field for kind, field in program.row_fields()}
        self._remaining_shapes = _MAX_LEARNED_SHAPES
        self._decoder: _LineDecoder | None = None

    def read(self, line: bytes) -> RestaurantRows | None:
        """Return the line's restaurant with `ParsedRows`; None if the line must be read as objects.

        That is so for lines unlike the learned one, and until a line was learned.
        """
        return self._decoder.read(line) if self._decoder is not None else None

    def learn(self, line: InputLine) -> None:
        """Prepare to decode lines with the keys of `line` and of its first row, in place of those learned before.

        For lines that were read as objects. Does nothing for a line without rows, and after the first ten calls that
        learned.
        """
        content = line.content
        if self._remaining_shapes and not isinstance(content, DataError) and content["rows"]:
            self._remaining_shapes -= 1
            try:
                self._decoder = _LineDecoder(self._fields, [*content], content["rows"][0])
            except (KeyError, ValueError):
                self._decoder = None


class _LineDecoder:
    """A decoder of lines that have certain keys, and whose rows all have the keys of one row."""

    def __init__(self, fields: _Fields, keys: Sequence[str], row: Mapping[str, Any]) -> None:
        """Prepare for lines with these `keys`, whose rows have the keys of `row`.

        Raises `KeyError` or `ValueError` if a field in use or the context is missing, or if msgspec accepts a key as no
        name.
        """
        from msgspec.json import Decoder

        section_keys = {name: [*section] for name, section in row.items() if isinstance(section, dict)}
        self._set_date_parts(fields, section_keys.get("meta", []))
        sections = _build_section_types(fields, section_keys, self._has_dates, self._derived_parts)
        row_type = _build_object_type([(name, sections.get(name, Any)) for name in row])
        used_types = {
            "business_id": _annotate(str, min_length=1),
            "context": dict[str, Any],
            "rows": GenericAlias(list, (row_type,)),
        }
        line_type = _build_object_type([(key, used_types.get(key, Any)) for key in keys])
        line_attributes = _attributes(line_type)
        self._decode = Decoder(line_type).decode
        self._get_used = attrgetter(*(line_attributes[key] for key in used_types))
        self._unused = [(key, line_attributes[key]) for key in keys if key not in used_types]
        self._line_entries = len(keys)
        self._row_entries = len(row) + sum(map(len, section_keys.values()))
        self._has_ids = ID in row
        self._colon_getters = _build_colon_getters(row, _attributes(row_type), sections)
        self._to_tuples = _build_tuples_getter(sections, fields)

    def _set_date_parts(self, fields: _Fields, meta_keys: Collection[str]) -> None:
        """Set which of the date, year and month are decoded, checked against the date, or derived from it.

        `meta_keys` are the keys of `meta` in a row.
        """
        parts = [name for name in _DATE_PARTS if "date" in meta_keys and ("meta", name) in fields]
        self._has_dates = bool(parts) or ("date" in meta_keys and ("meta", "date") in fields)
        self._derived_parts = [name for name in parts if name not in meta_keys]
        self._own_parts = [name for name in parts if name in meta_keys]

    def read(self, line: bytes) -> RestaurantRows | None:
        """Return the line's restaurant; None if the line has other keys, a value that is not plain, or any fault.

        Raises nothing: reading the line as objects reports the fault.
        """
        try:
            decoded = self._decode(line)
        except Exception:  # reading the line as objects reports the fault
            return None
        business_id, context, rows = self._get_used(decoded)
        unused = {key: getattr(decoded, attribute) for key, attribute in self._unused}
        entries, other_marks = count_entries(context)
        if unused:
            unused_entries, unused_marks = count_entries(unused)
            entries += unused_entries - len(unused)
            other_marks += unused_marks
        entries += self._line_entries + self._row_entries * len(rows)
        other_marks += business_id.count(":") + 1  # the list of rows
        try:
            for get in self._colon_getters:
                other_marks += "".join(map(get, rows)).count(":")
            if self._has_ids and len({row.review_id for row in rows}) != len(rows):
                return None  # duplicates, or several rows whose id is null
            if not is_whole(line, entries, other_marks) or not self._complete_dates(rows):
                return None
            return RestaurantRows.from_parts(business_id, context, ParsedRows(self._to_tuples(rows)), unused)
        except (DataError, TypeError):  # a fault, or a value that is no string where other rows have strings
            return None

    def _complete_dates(self, rows: Sequence[Any]) -> bool:
        """Set missing years and months in the decoded `rows`.

        Returns False if a date is invalid or disagrees with them.
        """
        if not self._has_dates:
            return True
        years = _DATE_PART_CACHES["year"]
        months = _DATE_PART_CACHES["month"]
        if "year" in self._own_parts:
            for row in rows:
                meta = row.meta  # looked up once, since this takes most of the time
                if years[meta.date] != meta.year:
                    return False
        elif "" in [years[row.meta.date] for row in rows]:
            return False
        if "month" in self._own_parts and [months[row.meta.date] for row in rows] != [row.meta.month for row in rows]:
            return False
        for name in self._derived_parts:
            for row in rows:
                setattr(row.meta, name, _DATE_PART_CACHES[name][row.meta.date])
        return True


def _build_section_types(
    fields: _Fields, section_keys: Mapping[str, Sequence[str]], has_dates: bool, derived_parts: Sequence[str]
) -> dict[str, Any]:
    """Return the msgspec type of each section of a row, by its name; values of keys that no field has may be anything.

    `section_keys` are the keys of each section. With `has_dates`, a date is a string; `derived_parts` are added to
    `meta`.
    """
    types = {place: _build_plain_type(field) for place, field in fields.items()}
    if has_dates:
        types["meta", "date"] = _annotate(str, max_length=_MAX_DATE_LENGTH)
    return {
        name: _build_object_type(
            [(key, types.get((name, key), Any)) for key in keys], derived_parts if name == "meta" else ()
        )
        for name, keys in section_keys.items()
    }


def _build_colon_getters(
    row: Mapping[str, Any], row_attributes: Mapping[str, str], sections: Mapping[str, Any]
) -> list[Callable[[Any], str]]:
    """Return getters of the strings of decoded rows that probably contain colons: those that do in `row`."""
    getters: list[Callable[[Any], str]] = [
        attrgetter(row_attributes[name]) for name, value in row.items() if _has_colon(value)
    ]
    for name, section in sections.items():
        for key, attribute in _attributes(section).items():
            if _has_colon(row[name].get(key)):
                getters.append(attrgetter(f"{row_attributes[name]}.{attribute}"))
    return getters


def _has_colon(value: object) -> bool:
    """Return whether `value` is a string that contains a colon."""
    return isinstance(value, str) and ":" in value


def _build_object_type(members: Sequence[tuple[str, Any]], derived: Sequence[str] = ()) -> Any:
    """Return the msgspec type of an object with these keys, followed by the `derived` ones, which it need not have.

    The attribute of a key has its name if that is in `_KEPT_NAMES`, otherwise `f0`, `f1`…
    """
    import msgspec

    required: list[tuple[str, Any, dict[str, Any]]] = [(key, kind, {}) for key, kind in members]
    with_defaults = [(key, int, {"default": 0}) for key in derived]
    return msgspec.defstruct(
        "Object",
        [
            (key if key in _KEPT_NAMES else f"f{index}", kind, msgspec.field(name=key, **default))
            for index, (key, kind, default) in enumerate([*required, *with_defaults])
        ],
        gc=False,
    )


def _attributes(struct: Any) -> dict[str, str]:
    """Return the names of a msgspec type's attributes, by key."""
    return dict(zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True))


def _build_tuples_getter(
    sections: Mapping[str, Any], fields: Iterable[tuple[str, str]]
) -> Callable[[Sequence[Any]], Iterable[tuple[Any, ...]]]:
    """Return a function from decoded rows to tuples of `fields`, pairs of a section and a name.

    Raises `KeyError` for a field that is in no section.
    """
    names_by_section: dict[str, list[str]] = {}
    for section, name in fields:
        names_by_section.setdefault(section, []).append(name)
    getters = {section: _build_tuple_getter(sections[section], names) for section, names in names_by_section.items()}
    if len(getters) > 1:
        extraction = getters["extraction"]
        meta = getters["meta"]
        return lambda rows: [extraction(row.extraction) + meta(row.meta) for row in rows]
    for section, getter in getters.items():
        get_section = attrgetter(section)
        return lambda rows: map(getter, map(get_section, rows))
    return lambda rows: [()] * len(rows)


def _build_tuple_getter(struct: Any, keys: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function from an object of the msgspec type to the tuple of the values of `keys`, at least one.

    Raises `KeyError` for a key that the type does not have.
    """
    from msgspec.structs import astuple

    attributes = _attributes(struct)
    if [*attributes] == keys:
        return astuple
    if len(keys) > 1:
        return attrgetter(*(attributes[key] for key in keys))
    get = attrgetter(attributes[keys[0]])
    return lambda value: (get(value),)


def _build_plain_type(field: _Field) -> Any:
    """Return the msgspec type of the values of a field that `parse_row` would return unchanged.

    It includes null if the field is nullable, and the field's bounds.
    """
    if field.ty.values is not None:
        kind: Any = Literal[field.ty.values]
    elif field.ty.is_numeric:
        number, limit = (int, INTEGER_MAX) if field.ty.base is Base.INTEGER else (float, _EXACT_INTEGER_MAX)
        low, high = (field.minimum, field.maximum) if isinstance(field, nodes.ExtractionField) else (None, None)
        low = max(bound for bound in (low, -limit) if bound is not None)
        high = min(bound for bound in (high, limit) if bound is not None)
        kind = _annotate(number, ge=low, le=high)
    else:
        kind = _PLAIN_TYPES[field.ty.base]
    return kind | None if field.ty.nullable else kind


def _annotate(kind: type, **limits: Any) -> Any:
    """Return a type with msgspec's `limits`, such as `ge` or `max_length`."""
    import msgspec

    return Annotated[kind, msgspec.Meta(**limits)]
