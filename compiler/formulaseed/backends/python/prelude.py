"""Define the helpers of generated modules, standard library only.

`render` copies their source into each module that uses them, with an underscore in front of each name but the two errors'.
"""

import math
import re
from collections.abc import Mapping
from typing import TypeVar

from formulaseed.ir.attributes import _attribute_at_path, _read_attribute
from formulaseed.language.inputs import _find_typo, _parse_iso_date
from formulaseed.language.json_values import JsonObject, JsonValue, _quote

_Number = TypeVar("_Number", int, float)
_Value = TypeVar("_Value")
_Choice = TypeVar("_Choice", bound=str)
_Default = TypeVar("_Default")

LARGEST = 1.7976931348623157e308


class EvaluationError(Exception):
    """A step has no value for these rows and this context: `kind` says why, `operands` for which values."""

    def __init__(self, step: str, kind: str, message: str, operands: tuple[float | str | None, ...] = ()) -> None:
        self.step = step
        self.kind = kind
        self.message = message
        self.operands = operands
        super().__init__(f"{step}: {kind}: {message}")


class DataError(ValueError):
    """A row, context or parameter is not what the seed declares; the message names the field."""


def finite(value: _Number, step: str) -> _Number:
    """Return the value. Raises EvaluationError if it is infinite, NaN, or an integer beyond the largest float."""
    if not -LARGEST <= value <= LARGEST:
        raise EvaluationError(step, "overflow", "the result is too large for a number")
    return value


def divide(a: float, b: float, step: str) -> float:
    """Return a / b. Raises EvaluationError if b is 0 or the result is infinite."""
    if b == 0:
        raise EvaluationError(step, "division_by_zero", f"{a!r} / {b!r}", (a, b))
    return finite(a / b, step)


def floor_divide(a: _Number, b: _Number, step: str) -> _Number:
    """Return a // b. Raises EvaluationError if b is 0 or the result is infinite."""
    if b == 0:
        raise EvaluationError(step, "division_by_zero", f"{a!r} // {b!r}", (a, b))
    return finite(a // b, step)


def modulo(a: _Number, b: _Number, step: str) -> _Number:
    """Return a % b. Raises EvaluationError if b is 0 or the result is infinite."""
    if b == 0:
        raise EvaluationError(step, "division_by_zero", f"{a!r} % {b!r}", (a, b))
    return finite(a % b, step)


def power(a: float, b: float, step: str) -> float:
    """Return a ** b. Raises EvaluationError if the result is not a real number, or too large."""
    if a == 0 and b < 0:
        raise EvaluationError(step, "division_by_zero", f"{a!r} ** {b!r}", (a, b))
    if a < 0 and b != int(b):
        raise EvaluationError(step, "domain", f"({a!r}) ** {b!r} is no real number", (a, b))
    if isinstance(a, int) and isinstance(b, int) and b >= 0:
        return whole_power(a, b, step)
    try:
        return finite(math.pow(a, b), step)
    except OverflowError:
        raise EvaluationError(step, "overflow", f"{a!r} ** {b!r} is too large for a number", (a, b)) from None


def whole_power(a: int, b: int, step: str) -> int:
    """Return a ** b for a b of 0 or more. Raises EvaluationError if the result is too large."""
    if (abs(a).bit_length() - 1) * b > 1024:
        raise EvaluationError(step, "overflow", f"{a!r} ** {b!r} is too large for a number", (a, b))
    result: int = a**b
    return finite(result, step)


def clamp(value: _Number, low: _Number, high: _Number) -> _Number:
    """Return the value, or the bound that it is beyond."""
    return max(low, min(high, value))


def present(value: _Value | None, name: str, step: str) -> _Value:
    """Return the value. Raises EvaluationError if it is null."""
    if value is None:
        raise EvaluationError(step, "null", f"{name} is null", (None,))
    return value


def float_or_null(value: float | None) -> float | None:
    """Return the value as a float; None if it is null."""
    return None if value is None else float(value)


def null_number(step: str) -> int:
    """Raise EvaluationError: a value that is always null is used as a number."""
    raise EvaluationError(step, "null", "a value is null", (None,))


def null_string(step: str) -> str:
    """Raise EvaluationError: a value that is always null is used as a string."""
    raise EvaluationError(step, "null", "a value is null", (None,))


def substring_first(table: Mapping[str, _Value], source: str, default: _Default) -> _Value | _Default:
    """Return the value of the first key, in the table's order, that occurs in the source; `default` if none does."""
    for key, value in table.items():
        if key in source:
            return value
    return default


def require_match(value: _Value | None, source: str, step: str) -> _Value:
    """Return the value that a lookup without a default found. Raises EvaluationError if it found none."""
    if value is None:
        raise EvaluationError(step, "lookup", f"no key of the table is found in {_quote(source)}", (source,))
    return value


def input_fault(place: str, expected: str, value: JsonValue) -> DataError:
    """Return the error of a field that is missing or not as expected."""
    if value is None:
        return DataError(f"`{place}` is missing; it must be {expected}")
    return DataError(f"`{place}` must be {expected}, not {_quote(value)}")


def check_object(value: JsonValue, name: str) -> None:
    """Raise DataError if the value is not a JSON object."""
    if not isinstance(value, dict):
        raise DataError(f"{name} must be an object, not {_quote(value)}")


def read_section(row: JsonObject, name: str) -> JsonObject:
    """Return a section of a JSON row. Raises DataError if it is missing, since then every default would apply."""
    check_object(row, "a row")
    if name not in row:
        keys = ", ".join(f"`{str(key)[:40]}`" for key in row)
        raise DataError(f"`{name}` is missing; the row has {keys[:400] or 'no keys'}")
    section = row[name]
    if isinstance(section, dict):
        return section
    raise DataError(f"`{name}` must be an object, not {_quote(section)}")


STANDARD: dict[str, tuple[str, ...]] = {
    "meta": ("stars", "useful", "funny", "cool", "year", "month", "date"),
    "context": (
        "name", "categories", "address", "city", "state", "postal_code", "stars", "review_count", "is_open", "latitude",
        "longitude",
    ),
}  # fmt: skip


def is_left_out(record: JsonObject, section: str, name: str, inputs: Mapping[str, tuple[str, ...]]) -> bool:
    """Return True, for a field that is null or absent. Raises DataError if a key is a typo of its name."""
    declared = inputs.get(section, ()) + STANDARD.get(section, ())
    typo = None if name in record else _find_typo(name, record, declared)
    if typo is not None:
        raise typo_fault(f"{section}.{name}", name, typo)
    return True


def typo_fault(place: str, name: str, typo: str) -> DataError:
    """Return the error of a field that is missing while a key reads like its name."""
    fix = f"rename it, or give `{name}` as null"
    return DataError(f"`{place}` is missing, but there is `{typo[:80]}`: {fix}")


def read_choice(choices: frozenset[_Choice], value: JsonValue, place: str) -> _Choice:
    """Return the value. Raises DataError if it is not one of the choices."""
    for choice in choices:
        if choice == value:
            return choice
    raise input_fault(place, f"one of {', '.join(sorted(choices))}", value)


def read_string(value: JsonValue, place: str) -> str:
    """Return the value. Raises DataError if it is not a string."""
    if isinstance(value, str):
        return value
    raise input_fault(place, "a string", value)


def read_boolean(value: JsonValue, place: str) -> bool:
    """Return the value. Raises DataError if it is not a boolean."""
    if isinstance(value, bool):
        return value
    raise input_fault(place, "true or false", value)


def read_integer(value: JsonValue, place: str) -> int:
    """Return the value; a whole float as an integer. Raises DataError if it is not an integer of 64 bits."""
    if isinstance(value, int) and -(2**63) < value < 2**63 and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer() and -(2**63) < value < 2**63:
        return int(value)
    raise input_fault(place, "an integer of 64 bits", value)


def read_number(value: JsonValue, place: str) -> float:
    """Return the value as a float. Raises DataError if it is not a number from -1e100 to 1e100."""
    if isinstance(value, int | float) and -1e100 <= value <= 1e100 and not isinstance(value, bool):
        return float(value)
    raise input_fault(place, "a number from -1e100 to 1e100", value)


def read_at_path(record: JsonObject, name: str, path: tuple[str, ...]) -> JsonValue:
    """Return a field's value: the one under its own name, else the one at the path, in which attributes are parsed."""
    value = record.get(name)
    if value is None:
        value = _attribute_at_path(record, path)
    if value is None:
        check_path(record, path)
    return value


def check_path(record: JsonObject, path: tuple[str, ...]) -> None:
    """Raise DataError if a path leads to nothing since a key on it is misspelt or a value is not an object."""
    value: JsonValue = record
    for place, key in enumerate(path):
        value = _read_attribute(value) if isinstance(value, str) else value
        if value is None:
            return
        if not isinstance(value, dict):
            raise DataError(f"`{'.'.join(path[:place])}` must be an object or null, not {_quote(value)}")
        typo = None if key in value else _find_typo(key, value)
        if typo is not None:
            raise typo_fault(".".join(path[: place + 1]), key, typo)
        value = value.get(key)


def read_numeral(record: JsonObject, name: str, path: tuple[str, ...]) -> JsonValue:
    """Return the value of a numeric field as `read_at_path` does; a string such as "2" as the number."""
    value = read_at_path(record, name, path)
    if isinstance(value, str) and re.fullmatch("-?[0-9]{1,15}([.][0-9]{1,15})?", value):
        return float(value) if "." in value else int(value)
    return value


def read_root_field(record: JsonObject, name: str, known: tuple[str, ...] = ()) -> JsonValue:
    """Return a field of the root entity, which may be inside the object of the entity or beside it.

    Raises DataError if the two places disagree, or if a key is a typo of the missing field.
    """
    path = tuple(name.split("."))
    inside, direct = value_in_objects(record, path), value_in_objects(record, path[1:])
    if isinstance(inside, str | int | float) and direct is not None and inside != direct:
        raise DataError(f"`{'.'.join(path[1:])}` is given twice, with different values")
    if inside is None and direct is None:
        check_spelling(record, (path, path[1:]), known)
    return direct if inside is None else inside


def read_entity_field(record: JsonObject, name: str, known: tuple[str, ...] = ()) -> JsonValue:
    """Return a field of an entity, which is an object in the record; None if there is no such object.

    Raises DataError if a key is a typo of the missing field.
    """
    path = tuple(name.split("."))
    value = value_in_objects(record, path)
    if value is None:
        check_spelling(record, (path,), known)
    return value


def read_prefixed_field(record: JsonObject, name: str, known: tuple[str, ...] = ()) -> JsonValue:
    """Return a field that is inside the object of its entity only: beside it, its name is that of another entity."""
    has_entity(record, name.split(".")[1])
    return read_entity_field(record, name, known)


def value_in_objects(record: JsonObject, path: tuple[str, ...]) -> JsonValue:
    """Return the value at a path of objects; None if one is missing. Raises DataError if one is not an object."""
    section = record
    for name in path[:-1]:
        inner = section.get(name)
        if inner is None:
            return None
        if not isinstance(inner, dict):
            raise DataError(f"`{name}` must be an object or null, not {_quote(inner)}")
        section = inner
    return section.get(path[-1])


def has_entity(record: JsonObject, name: str) -> bool | None:
    """Return True if the record has this entity, else None. Raises DataError if it is not an object."""
    entity = record.get(name)
    if entity is None:
        return None
    if isinstance(entity, dict):
        return True
    raise DataError(f"`{name}` must be an object or null, not {_quote(entity)}")


def check_spelling(record: JsonObject, paths: tuple[tuple[str, ...], ...], known: tuple[str, ...]) -> None:
    """Raise DataError if a key is a typo of a part of the paths. The names in `known` are no typos."""
    for path in paths:
        section = record
        for name in path:
            typo = None if name in section else _find_typo(name, section, known)
            if typo is not None:
                raise typo_fault(".".join(path), name, typo)
            inner = section.get(name)
            section = inner if isinstance(inner, dict) else {}


def read_date(value: JsonValue, place: str) -> str:
    """Return the value. Raises DataError if it is not an ISO date or date-time."""
    if isinstance(value, str) and _parse_iso_date(value):
        return value
    raise input_fault(place, "an ISO date such as 2018-04-14 or 2018-04-14 12:18:05", value)


def read_date_part(meta: JsonObject, name: str) -> JsonValue:
    """Return `meta.year` or `meta.month`, else that part of the date. Raises DataError if the two disagree."""
    value = meta.get(name)
    date = meta.get("date")
    if date is None:
        return value
    year_and_month = _parse_iso_date(date) if isinstance(date, str) else None
    if year_and_month is None:
        raise input_fault("meta.date", "an ISO date such as 2018-04-14 or 2018-04-14 12:18:05", date)
    part = year_and_month[0] if name == "year" else year_and_month[1]
    if value is not None and (value != part or isinstance(value, bool)):
        raise DataError(f"`meta.{name}` is {_quote(value)}, but `meta.date` is {date!r}")
    return part


def check_bounds(value: _Number, low: float, high: float, place: str) -> _Number:
    """Return the value of a field or parameter. Raises DataError if it is beyond its bounds, which are inclusive."""
    if not low <= value <= high:
        raise DataError(f"`{place}` must be from {low} to {high}, not {_quote(value)}")
    return value


def check_names(record: JsonObject, names: tuple[str, ...]) -> None:
    """Raise DataError if the record has a parameter that is not among the names."""
    check_object(record, "the parameters")
    for name in record:
        if name not in names:
            raise DataError(f"there is no parameter `{str(name)[:80]}`; there are: {', '.join(names)}")
