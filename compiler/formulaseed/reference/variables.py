"""Variables of a formula, given by name, as a reference.

In: names, names with types, or names with values. Out: a reference whose root entity holds them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from formulaseed import limits
from formulaseed.domain.reference import FIELD_TYPES, Entity, EntityField, Reference
from formulaseed.domain.schema import is_name
from formulaseed.errors import DataError

_ROOT = "variables"
_NUMBER = {"number": "float"}


def with_variables(reference: Reference | None, variables: Mapping[str, Any] | Collection[str]) -> Reference:
    """The reference with the variables besides, or one of them alone.

    A list of names makes numbers of them. In a mapping stands the name of a type (`"integer"`), an object such as
    `{"type": "string", "nullable": true}`, a value of the type that is meant, or a mapping of an entity's own fields.
    Raises `DataError` for anything else.
    """
    if isinstance(variables, str) or not isinstance(variables, Mapping | Collection):
        raise DataError(f"variables are names with types, not {repr(variables)[:80]}")
    given = variables if isinstance(variables, Mapping) else {name: "number" for name in variables if _checked(name)}
    if len(given) > limits.REFERENCE_FIELDS:
        raise DataError(f"there are {len(given)} variables, more than {limits.REFERENCE_FIELDS}")
    known = reference.entities if reference is not None else ()
    root = reference.root if reference is not None and reference.root else _ROOT
    by_name = {entity.name: entity for entity in known}
    direct = by_name.pop(root, Entity(root))
    fields = {field.name: field for field in direct.fields}
    for name, value in given.items():
        _checked(name)
        if isinstance(value, Mapping) and not _is_type(value):
            inner = {each: _field(each, of) for each, of in value.items() if _checked(each)}
            if name == root:
                fields |= inner
                continue
            entity = by_name.get(name, Entity(name))
            by_name[name] = replace(entity, fields=tuple(({f.name: f for f in entity.fields} | inner).values()))
        else:
            fields[name] = _field(name, value)
    entities = (replace(direct, fields=tuple(fields.values())), *by_name.values())
    return replace(reference or Reference(()), entities=entities, root=root)


def _checked(name: object) -> bool:
    if not isinstance(name, str) or not is_name(name) or len(name) > limits.NAME_CHARACTERS:
        raise DataError(f"{repr(name)[:80]} cannot be the name of a variable: use letters, digits and `_`")
    return True


def _is_type(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("type"), str) and value.keys() <= {"type", "nullable", "values", "description"}


def _field(name: str, value: object) -> EntityField:
    if isinstance(value, Mapping) and _is_type(value):
        nullable, values = value.get("nullable", False), value.get("values", ())
        known = tuple(values) if isinstance(values, list | tuple) else ("",)
        if not isinstance(nullable, bool) or not all(isinstance(each, str) and each for each in known):
            raise DataError(f"the type of `{name}` must be like {{'type': 'integer', 'nullable': true}}")
        field = _field(name, value["type"])
        return replace(field, nullable=nullable, values=known, description=str(value.get("description", "")))
    if isinstance(value, str):
        kind = _NUMBER.get(value, value)
        if kind not in FIELD_TYPES:
            raise DataError(f"`{name}` has the type {value[:80]!r}; types are number, {', '.join(FIELD_TYPES)}")
        return EntityField(name, kind)
    return EntityField(name, _kind(name, value), nullable=value is None)


def _kind(name: str, value: object) -> str:
    """The type of a value; of null it is a number, as most fields are."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if value is None or isinstance(value, float):
        return "float"
    if isinstance(value, list | tuple):
        return "json"
    raise DataError(f"the variable `{name}` is {repr(value)[:80]}, which is no type and no value")


def variables_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The variables whose values these are: what `with_variables` takes, with the types that the values have."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        entity, dot, name = key.partition(".") if isinstance(key, str) else (key, "", "")
        if isinstance(value, Mapping) or dot:
            inner = {name: value} if dot else value
            fields = found.setdefault(entity, {})
            if not isinstance(fields, dict):
                raise DataError(f"`{entity[:80]}` is given as a value and as an object")
            fields |= {each: _typed(one) for each, one in inner.items()}
        else:
            found[key] = _typed(value)
    return found


def _typed(value: object) -> object:
    """A value as `with_variables` takes it: of a text its type, since a text names one there."""
    if isinstance(value, str):
        return {"type": "string"}
    return [] if isinstance(value, Mapping) else value  # an object inside an entity is nothing that formulas read
