"""Turn variables of a formula into a reference, and nest values with dotted names.

In: names, names with types, or names with values; dotted names, too. Out: a reference whose root entity has them as fields,
or the values nested in the entities that dotted names begin with.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import UnionType
from typing import Any

from formulaseed import limits
from formulaseed.errors import DataError
from formulaseed.language.ast import RESERVED_WORDS, is_name
from formulaseed.language.json_values import _quote
from formulaseed.reference.model import CUSTOM, FIELD_TYPES, Entity, EntityField, Reference

_DEFAULT_ROOT = "variables"
_MAX_NAME_PARTS = 3  # such as `listing.custom_fields.warranty_months`


def add_variables(
    reference: Reference | None, variables: Mapping[str, Any] | Collection[str], *, are_values: bool = False
) -> Reference:
    """Return the reference with the variables added; without a reference, one of the variables alone.

    A variable in a list of names is a number. A mapping has for each name a type (`"integer"`), an object such as
    `{"type": "string", "nullable": true}`, or a value of the type; for an entity it has a mapping of its fields, with the
    custom fields in a further one. Names may be dotted. With `are_values` strings are values, not types, and objects are
    entities. Raises `DataError` for anything else.
    """
    values = _read_variables(variables)
    base = reference or Reference(())
    entities = {entity.name: entity for entity in base.entities}
    root = base.root
    if not root:  # a name that no variable has
        root = _DEFAULT_ROOT
        while root in values or root in entities:
            root += "_"
    entities.setdefault(root, Entity(root))
    direct: dict[str, Any] = {}
    for name, value in values.items():
        _check_name(name)
        if name in RESERVED_WORDS:
            raise DataError(f"`{name}` cannot be the name of a variable: it is a word of the formula language")
        if isinstance(value, Mapping) and (are_values or not _is_type(value)):
            if any(name == field.name for field in entities[root].fields):
                raise DataError(f"`{name}` is a field of the reference, and is given as an object")
            entities[name] = _add_fields(entities.get(name, Entity(name)), value, are_values)
        elif name in entities:
            raise DataError(f"`{name}` is an entity of the reference, and is given as a value")
        else:
            direct[name] = value
    entities[root] = _add_fields(entities[root], direct, are_values)
    return replace(base, entities=tuple(entities.values()), root=root)


def _read_variables(variables: Mapping[str, Any] | Collection[str]) -> dict[str, Any]:
    """Return the variables with their types or values, nested; names alone are numbers.

    Raises `DataError` for other data, and if there are too many.
    """
    if isinstance(variables, str) or not isinstance(variables, Mapping | Collection):
        raise DataError(f"variables are names with types, not {_quote(variables)}")
    if not isinstance(variables, Mapping):
        for name in variables:
            if not isinstance(name, str):
                _check_name(name)
        variables = dict.fromkeys(variables, "number")
    values = nest_dotted_names(variables)
    if len(values) > limits.REFERENCE_FIELDS:
        raise DataError(f"there are {len(values)} variables, more than {limits.REFERENCE_FIELDS}")
    return values


def _add_fields(entity: Entity, values: Mapping[str, Any], are_values: bool) -> Entity:
    """Return a copy of the entity with further fields; one that it has already is replaced.

    An object at `custom_fields` has custom fields. `are_values` says that strings are values, not names of types.
    Raises `DataError` for a name or a value that a variable cannot have.
    """
    fields = {field.name: field for field in entity.fields}
    custom = {field.name: field for field in entity.custom_fields}
    for name, value in values.items():
        _check_name(name)
        if name == CUSTOM and isinstance(value, Mapping):
            for key, custom_value in value.items():
                _check_name(key)
                custom[key] = _build_field(key, custom_value, are_values)
        else:
            fields[name] = _build_field(name, value, are_values)
    return replace(entity, fields=tuple(fields.values()), custom_fields=tuple(custom.values()))


def _check_name(name: Any) -> None:
    """Raise `DataError` if a variable cannot have this name."""
    if not (isinstance(name, str) and is_name(name) and len(name) <= limits.NAME_CHARACTERS):
        raise DataError(f"{_quote(name)} cannot be the name of a variable: use letters, digits and `_`")


def _is_type(value: Mapping[str, Any]) -> bool:
    """Return True if an object declares the type of a variable, rather than the fields of an entity."""
    return isinstance(value.get("type"), str) and value.keys() <= {"type", "nullable", "values", "description"}


def _build_field(name: str, value: Any, is_value: bool = False) -> EntityField:
    """Return a variable as a field. With `is_value` a string is a value, not the name of a type.

    Raises `DataError` if `value` is neither a type nor a value of a known type.
    """
    if is_value and isinstance(value, str | Mapping):  # formulas read nothing of an object inside an entity
        return EntityField(name, "string" if isinstance(value, str) else "json")
    if isinstance(value, Mapping) and _is_type(value):
        return _build_typed_field(name, value)
    if isinstance(value, str):
        kind = "float" if value == "number" else value
        if kind not in FIELD_TYPES:
            raise DataError(f"`{name}` has the type {value[:80]!r}; types are number, {', '.join(FIELD_TYPES)}")
        return EntityField(name, kind)
    inferred = next((kind for python_type, kind in _KIND_BY_PYTHON_TYPE if isinstance(value, python_type)), None)
    if inferred is None:
        raise DataError(f"the variable `{name}` is {_quote(value)}, which is no type and no value")
    return EntityField(name, inferred, nullable=value is None)


def _build_typed_field(name: str, declared: Mapping[str, Any]) -> EntityField:
    """Return the field that an object with a `type` declares; `nullable` is False by default.

    Raises `DataError` for an unknown type, and for another key of a wrong type.
    """
    nullable = declared.get("nullable", False)
    description = declared.get("description", "")
    values = declared.get("values", ())
    is_valid = isinstance(values, list | tuple) and all(isinstance(value, str) and value for value in values)
    if not (is_valid and isinstance(nullable, bool) and isinstance(description, str)):
        raise DataError(f"the type of `{name}` must be like {{'type': 'integer', 'nullable': true}}")
    field = _build_field(name, declared["type"])
    return replace(field, nullable=nullable, values=tuple(values), description=description)


_KIND_BY_PYTHON_TYPE: tuple[tuple[type | UnionType, str], ...] = (
    (bool, "boolean"), (int, "integer"), (float | None, "float"), (list | tuple, "json"),
)  # fmt: skip
"""The field type of a value; null is taken for a number, as most fields are."""


def nest_dotted_names(values: Mapping[str, Any], levels: int = _MAX_NAME_PARTS) -> dict[str, Any]:
    """Return a copy of the values with dotted names, such as `cpu.cores`, moved into the entities that they begin with.

    Objects are nested, too, down to `levels`. Raises `DataError` if a name has two different values, or is both a value
    and an entity.
    """
    result: dict[str, Any] = {}
    dotted = []
    for key, value in values.items():
        if isinstance(value, Mapping) and levels > 1:
            value = nest_dotted_names(value, levels - 1)
        if isinstance(key, str) and "." in key:
            dotted.append((key, value))
        else:
            result[key] = value
    for key, value in dotted:
        *path, last = key.split(".", _MAX_NAME_PARTS)
        inner = result
        for part in path:
            known = inner.get(part)
            if known is not None and not isinstance(known, Mapping):
                raise DataError(f"`{key[:80]}` is given, and `{part[:80]}` is no object")
            inner[part] = inner = dict(known or {})
        if last in inner and not is_same(inner[last], value):
            raise DataError(f"`{key[:80]}` is given twice, with different values")
        inner[last] = value
    return result


def is_same(one: object, other: object) -> bool:
    """Return True if two values of one field agree. Lists and objects, which may be nested too deeply, only equal themselves."""
    return one is other or (isinstance(one, str | int | float) and one == other)
