"""The helpers of generated modules. Their source is copied, as it stands, into each module that uses them.

Typed and tested like everything else; standard library only. Each name is private to the module it lands in.
"""

import math
import re
from collections.abc import Mapping
from typing import TypeVar

from formulaseed.ir.attributes import _attribute_at, _read_attribute
from formulaseed.language.inputs import _iso_date, _typo_of
from formulaseed.language.json_values import JsonObject, JsonValue, _shown

_Number = TypeVar("_Number", int, float)
_Found = TypeVar("_Found")
_Default = TypeVar("_Default")

_LARGEST = 1.7976931348623157e308


class EvaluationError(Exception):
    """A step has no value for these rows and this context: `kind` says why, `operands` for which values."""

    def __init__(self, step: str, kind: str, message: str, operands: tuple[float | str | None, ...] = ()) -> None:
        self.step, self.kind, self.message, self.operands = step, kind, message, operands
        super().__init__(f"{step}: {kind}: {message}")


class DataError(ValueError):
    """A row, context or parameter that is not what the seed declares; the message names the field."""


def _finite(value: _Number, step: str) -> _Number:
    """The value, unless it is infinite, not a number, or an integer beyond the largest number."""
    if not -_LARGEST <= value <= _LARGEST:
        raise EvaluationError(step, "overflow", "the result is too large for a number")
    return value


def _divide(a: float, b: float, step: str) -> float:
    """a / b; dividing by zero is an error, never a silent value."""
    if b == 0:
        raise EvaluationError(step, "division_by_zero", f"{a!r} / {b!r}", (a, b))
    return _finite(a / b, step)


def _floor_divide(a: _Number, b: _Number, step: str) -> _Number:
    """a // b; dividing by zero is an error, never a silent value."""
    if b == 0:
        raise EvaluationError(step, "division_by_zero", f"{a!r} // {b!r}", (a, b))
    return _finite(a // b, step)


def _modulo(a: _Number, b: _Number, step: str) -> _Number:
    """a % b; dividing by zero is an error, never a silent value."""
    if b == 0:
        raise EvaluationError(step, "division_by_zero", f"{a!r} % {b!r}", (a, b))
    return _finite(a % b, step)


def _power(a: float, b: float, step: str) -> float:
    """a ** b; an error where the result is no real number or too large."""
    if a == 0 and b < 0:
        raise EvaluationError(step, "division_by_zero", f"{a!r} ** {b!r}", (a, b))
    if a < 0 and b != int(b):
        raise EvaluationError(step, "domain", f"({a!r}) ** {b!r} is no real number", (a, b))
    if isinstance(a, int) and isinstance(b, int) and b >= 0:
        return _whole_power(a, b, step)
    try:
        return _finite(math.pow(a, b), step)
    except OverflowError:
        raise EvaluationError(step, "overflow", f"{a!r} ** {b!r} is too large for a number", (a, b)) from None


def _whole_power(a: int, b: int, step: str) -> int:
    """a ** b for b of 0 or more; an error where the result is too large."""
    if (abs(a).bit_length() - 1) * b > 1024:
        raise EvaluationError(step, "overflow", f"{a!r} ** {b!r} is too large for a number", (a, b))
    result: int = a**b
    return _finite(result, step)


def _clamp(value: _Number, low: _Number, high: _Number) -> _Number:
    """The value, kept between low and high."""
    return max(low, min(high, value))


def _present(value: _Found | None, name: str, step: str) -> _Found:
    """The value, which must not be missing."""
    if value is None:
        raise EvaluationError(step, "null", f"{name} is null", (None,))
    return value


def _float_or_null(value: float | None) -> float | None:
    """The value as a float, or null."""
    return None if value is None else float(value)


def _null_number(step: str) -> int:
    """A null that is none for certain, where a number is needed."""
    raise EvaluationError(step, "null", "a value is null", (None,))


def _null_string(step: str) -> str:
    """A null that is none for certain, where a string is needed."""
    raise EvaluationError(step, "null", "a value is null", (None,))


def _substring_first(table: Mapping[str, _Found], source: str, default: _Default) -> _Found | _Default:
    """The value of the first key, in the table's order, that occurs in the source."""
    for key, value in table.items():
        if key in source:
            return value
    return default


def _found(value: _Found | None, source: str, step: str) -> _Found:
    """The value that a lookup without a default has found."""
    if value is None:
        raise EvaluationError(step, "lookup", f"no key of the table is found in {_shown(source)}", (source,))
    return value


def _refused(place: str, expected: str, value: JsonValue) -> DataError:
    if value is None:
        return DataError(f"`{place}` is missing; it must be {expected}")
    return DataError(f"`{place}` must be {expected}, not {_shown(value)}")


def _expect_object(value: JsonValue, what: str) -> None:
    if not isinstance(value, dict):
        raise DataError(f"{what} must be an object, not {_shown(value)}")


def _object(row: JsonObject, name: str) -> JsonObject:
    """A section of a JSON row. It must be there: otherwise a misspelt one would give every default."""
    _expect_object(row, "a row")
    if name not in row:
        keys = ", ".join(f"`{str(key)[:40]}`" for key in row)
        raise DataError(f"`{name}` is missing; the row has {keys[:400] or 'no keys'}")
    section = row[name]
    if isinstance(section, dict):
        return section
    raise DataError(f"`{name}` must be an object, not {_shown(section)}")


_STANDARD: dict[str, tuple[str, ...]] = {
    "meta": ("stars", "useful", "funny", "cool", "year", "month", "date"),
    "context": (
        "name", "categories", "address", "city", "state", "postal_code", "stars", "review_count", "is_open", "latitude",
        "longitude",
    ),
}  # fmt: skip


def _left_out(record: JsonObject, section: str, name: str, inputs: Mapping[str, tuple[str, ...]]) -> bool:
    """True for a field that is null or absent. Raises DataError where a key is a typo of an absent one."""
    known = inputs.get(section, ()) + _STANDARD.get(section, ())
    typo = None if name in record else _typo_of(name, record, known)
    if typo is not None:
        fix = f"rename it, or give `{name}` as null"
        raise DataError(f"`{section}.{name}` is missing, but there is `{typo[:80]}`: {fix}")
    return True


def _choice(values: Mapping[object, _Found], value: JsonValue, place: str) -> _Found:
    found = values.get(value) if isinstance(value, str) else None
    if found is None:
        raise _refused(place, f"one of {', '.join(str(each) for each in values)}", value)
    return found


def _string(value: JsonValue, place: str) -> str:
    if isinstance(value, str):
        return value
    raise _refused(place, "a text", value)


def _boolean(value: JsonValue, place: str) -> bool:
    if isinstance(value, bool):
        return value
    raise _refused(place, "true or false", value)


def _integer(value: JsonValue, place: str) -> int:
    if isinstance(value, int) and -(2**63) < value < 2**63 and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer() and -(2**63) < value < 2**63:
        return int(value)
    raise _refused(place, "an integer of 64 bits", value)


def _number(value: JsonValue, place: str) -> float:
    if isinstance(value, int | float) and -1e100 <= value <= 1e100 and not isinstance(value, bool):
        return float(value)
    raise _refused(place, "a number from -1e100 to 1e100", value)


def _value_at(record: JsonObject, name: str, path: tuple[str, ...]) -> JsonValue:
    """A field's value: under its own name, else at a path, where strings are read as Yelp writes attributes."""
    own = record.get(name)
    found = own if own is not None else _attribute_at(record, path)
    return found if found is not None else _nothing_at(record, path)


def _nothing_at(record: JsonObject, path: tuple[str, ...]) -> JsonValue:
    """None. Raises DataError where a path leads to nothing because a key is misspelt, or a value is not an object."""
    found: JsonValue = record
    for place, key in enumerate(path):
        found = _read_attribute(found) if isinstance(found, str) else found
        if found is None:
            return None
        if not isinstance(found, dict):
            raise DataError(f"`{'.'.join(path[:place])}` must be an object or null, not {_shown(found)}")
        typo = None if key in found else _typo_of(key, found)
        if typo is not None:
            fix = f"rename it, or give `{key}` as null"
            raise DataError(f"`{'.'.join(path[: place + 1])}` is missing, but there is `{typo[:80]}`: {fix}")
        found = found.get(key)
    return None


def _numeral_at(record: JsonObject, name: str, path: tuple[str, ...]) -> JsonValue:
    """The same for a number, which Yelp writes as a string: "2"."""
    value = _value_at(record, name, path)
    if isinstance(value, str) and re.fullmatch("-?[0-9]{1,15}([.][0-9]{1,15})?", value):
        return float(value) if "." in value else int(value)
    return value


def _field(record: JsonObject, name: str, known: tuple[str, ...] = ()) -> JsonValue:
    """A field of the root entity, which may be given inside its object or without it."""
    path = tuple(name.split("."))
    inside, direct = _value_inside(record, path), _value_inside(record, path[1:])
    if isinstance(inside, str | int | float) and direct is not None and inside != direct:
        raise DataError(f"`{'.'.join(path[1:])}` is given twice, with different values")
    if inside is None and direct is None:
        _refuse_misspelt(record, (path, path[1:]), known)
    return direct if inside is None else inside


def _inside(record: JsonObject, name: str, known: tuple[str, ...] = ()) -> JsonValue:
    """A field of an entity, which is an object in the record; null where that is missing."""
    path = tuple(name.split("."))
    found = _value_inside(record, path)
    if found is None:
        _refuse_misspelt(record, (path,), known)
    return found


def _prefixed(record: JsonObject, name: str, known: tuple[str, ...] = ()) -> JsonValue:
    """A field that is given inside its entity only: without it, its name is that of another entity."""
    _is_there(record, name.split(".")[1])
    return _inside(record, name, known)


def _value_inside(record: JsonObject, path: tuple[str, ...]) -> JsonValue:
    """The value at a path of objects inside one another; null where one of them is missing."""
    section = record
    for name in path[:-1]:
        found = section.get(name)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise DataError(f"`{name}` must be an object or null, not {_shown(found)}")
        section = found
    return section.get(path[-1])


def _is_there(record: JsonObject, name: str) -> bool | None:
    """True where the record has this entity, null where it has none."""
    found = record.get(name)
    if found is None or isinstance(found, dict):
        return None if found is None else True
    raise DataError(f"`{name}` must be an object or null, not {_shown(found)}")


def _refuse_misspelt(record: JsonObject, paths: tuple[tuple[str, ...], ...], known: tuple[str, ...]) -> None:
    """Raise DataError where a key is a typo of an absent field."""
    for path in paths:
        section = record
        for name in path:
            typo = None if name in section else _typo_of(name, section, known)
            if typo is not None:
                fix = f"rename it, or give `{name}` as null"
                raise DataError(f"`{'.'.join(path)}` is missing, but there is `{typo[:80]}`: {fix}")
            found = section.get(name)
            section = found if isinstance(found, dict) else {}


def _date(value: JsonValue, place: str) -> str:
    """An ISO date or date-time, as it is given."""
    if isinstance(value, str) and _iso_date(value):
        return value
    raise _refused(place, "an ISO date such as 2018-04-14 or 2018-04-14 12:18:05", value)


def _date_part(meta: JsonObject, name: str) -> JsonValue:
    """`meta.year` or `meta.month`: as given, else the date's; where both are given they must agree."""
    given, date = meta.get(name), meta.get("date")
    if date is None:
        return given
    found = _iso_date(date) if isinstance(date, str) else None
    if found is None:
        raise _refused("meta.date", "an ISO date such as 2018-04-14 or 2018-04-14 12:18:05", date)
    part = found[0] if name == "year" else found[1]
    if given is not None and (given != part or isinstance(given, bool)):
        raise DataError(f"`meta.{name}` is {_shown(given)}, but `meta.date` is {date!r}")
    return part


def _bounded(value: _Number, low: float, high: float, place: str) -> _Number:
    """A field or parameter inside its bounds, both inclusive."""
    if not low <= value <= high:
        raise DataError(f"`{place}` must be from {low} to {high}, not {_shown(value)}")
    return value


def _known(record: JsonObject, names: tuple[str, ...]) -> None:
    """Refuse a parameter that the seed does not declare."""
    _expect_object(record, "the parameters")
    for name in record:
        if name not in names:
            raise DataError(f"there is no parameter `{str(name)[:80]}`; there are: {', '.join(names)}")
