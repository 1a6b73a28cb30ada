"""The values of formulas, as they are given: fields by name, entities as objects, dotted names for both.

In: an object of JSON values. Out: the same without dotted names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from formulaseed.errors import DataError

_DOTS = 3
"""A full name has so many parts at most, such as `listing.custom_fields.warranty_months`."""


def nested(values: Mapping[str, Any], levels: int = _DOTS) -> dict[str, Any]:
    """Return the values with dotted names, such as `cpu.cores`, put into the entities that they name.

    Raises `DataError` where a name is given twice, with different values, or as a value and as an entity.
    """
    found: dict[str, Any] = {}
    dotted = []
    for key, value in values.items():
        if isinstance(value, Mapping) and levels > 1:
            value = nested(value, levels - 1)
        if isinstance(key, str) and "." in key:
            dotted.append((key, value))
        else:
            found[key] = value
    for key, value in dotted:
        *path, last = key.split(".", _DOTS)
        inner = found
        for part in path:
            known = inner.get(part)
            if known is not None and not isinstance(known, Mapping):
                raise DataError(f"`{key[:80]}` is given, and `{part[:80]}` is no object")
            inner[part] = inner = dict(known or {})
        if last in inner and not is_same(inner[last], value):
            raise DataError(f"`{key[:80]}` is given twice, with different values")
        inner[last] = value
    return found


def is_same(one: object, other: object) -> bool:
    """Return whether two values of one field agree. Lists and objects are not compared: they may nest too deeply."""
    return one is other or (isinstance(one, str | int | float) and one == other)
