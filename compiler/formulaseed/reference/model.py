"""Define a formula reference: the entities of a domain, their fields, and the functions and operators of its formulas.

Pure data, from a file, a database or a seed. A field's full name is `entity.field`, or `entity.custom_fields.key`; formulas
can write the fields of the root entity also without their prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from formulaseed.ir.nodes import InputField
from formulaseed.language.ast import RESERVED_WORDS
from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.inputs import _is_similar
from formulaseed.language.types import BOOLEAN, INTEGER, NUMBER, STRING, Type, enum_type

FIELD_TYPES = ("integer", "float", "string", "boolean", "datetime", "json", "enum")
CUSTOM_TYPES = (
    "number", "integer", "float", "string", "text", "boolean", "enum", "multiselect", "date", "datetime", "json",
)  # fmt: skip
"""The types of custom fields."""

CUSTOM_COLUMNS = ("entity", "key", "type", "description", "required", "options", "default", "active")
"""The meanings of the columns of a table that defines custom fields."""

_FIELD_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*")

CUSTOM = "custom_fields"
FIRST_VERSION = "1.0.0"

_SCALARS = {
    "integer": INTEGER, "float": NUMBER, "number": NUMBER, "boolean": BOOLEAN, "string": STRING, "text": STRING,
    "datetime": STRING, "date": STRING,
}  # fmt: skip

Json = str | int | float | bool | list["Json"] | dict[str, "Json"] | None
KnownNames = dict[str, "KnownNames | None"]
"""The names that values may have, each with the names inside it: empty for a field, None if any names are allowed."""


@dataclass(frozen=True, slots=True)
class EntityField:
    """A field of an entity, or a custom field, which the data defines and which can be null if it is not required.

    `values` are those of an enum, or the options of a custom field. `default`, `minimum` and `maximum` are for information:
    the checker does not rely on them.
    """

    name: str
    type: str
    description: str = ""
    nullable: bool = False
    enum_type: str = ""
    values: tuple[str, ...] = ()
    default: Json = None
    minimum: int | float | None = None
    maximum: int | float | None = None

    @property
    def value_type(self) -> Type | None:
        """The type that formulas see; None if they cannot read the field. A date is a string in ISO format."""
        if self.type == "enum":
            return enum_type(self.values) if self.values else STRING
        return _SCALARS.get(self.type)


@dataclass(frozen=True, slots=True)
class Entity:
    """A record of fields. If it is `nullable`, it may be missing, and then all its fields are null."""

    name: str
    description: str = ""
    nullable: bool = False
    note: str = ""
    fields: tuple[EntityField, ...] = ()
    custom_fields: tuple[EntityField, ...] = ()

    def iterate_fields(self) -> Iterator[tuple[str, EntityField]]:
        """Yield the full name of each field with the field; custom fields come last."""
        yield from ((f"{self.name}.{field.name}", field) for field in self.fields)
        yield from ((f"{self.name}.{CUSTOM}.{field.name}", field) for field in self.custom_fields)


@dataclass(frozen=True, slots=True)
class EnumType:
    """A named list of values; `usage` says in words which fields have it."""

    name: str
    description: str
    values: tuple[str, ...]
    usage: str = ""


@dataclass(frozen=True, slots=True)
class SyntaxPattern:
    """A form of expressions, with example formulas, for the readers of a reference."""

    name: str
    syntax: str
    description: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """An example formula with its meaning and its use."""

    name: str
    formula: str
    description: str = ""
    use_case: str = ""


@dataclass(frozen=True, slots=True)
class DatabaseLayout:
    """The layout of a database that a reference is read from; an empty attribute means that usual names are looked for.

    `entities` maps foreign key columns of the root's table to the names of the entities that they lead to. `exclude` has
    columns to leave out, as `column` or `table.column`. `custom_columns` maps the meanings in `CUSTOM_COLUMNS` to columns of
    `custom_table`, which defines custom fields.
    """

    root: str = ""
    schema: str = ""
    entities: tuple[tuple[str, str], ...] = ()
    exclude: tuple[str, ...] = ()
    custom_table: str = ""
    custom_columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Reference:
    """A formula reference. `root` is the entity whose fields need no prefix; empty if there is none.

    `is_complete` is False if a part could not be read, which was reported: unknown names are then not reported, too.
    `functions` and `operators` list what formulas may use; None allows the whole language.
    """

    entities: tuple[Entity, ...]
    root: str = ""
    version: str = FIRST_VERSION
    description: str = ""
    enums: tuple[EnumType, ...] = ()
    patterns: tuple[SyntaxPattern, ...] = ()
    examples: tuple[Example, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    functions: tuple[str, ...] | None = None
    operators: tuple[str, ...] | None = None
    generated_at: str = ""
    is_complete: bool = True

    def entity(self, name: str) -> Entity | None:
        """Return the entity of this name, or None."""
        return self._entities_by_name.get(name)

    @cached_property
    def _entities_by_name(self) -> dict[str, Entity]:
        return {entity.name: entity for entity in self.entities}

    @cached_property
    def available_functions(self) -> dict[str, Function]:
        """The functions that formulas may call, in the order of the language's table."""
        return {name: entry for name, entry in FUNCTIONS.items() if self.functions is None or name in self.functions}

    @cached_property
    def types(self) -> dict[str, Type | None]:
        """The types of all fields by full name; None for a field that formulas cannot read."""
        types: dict[str, Type | None] = {}
        for entity in self.entities:
            for name, field in entity.iterate_fields():
                ty = field.value_type
                if ty and (field.nullable or entity.nullable):
                    ty = ty.or_null()
                types[name] = ty
        return types

    @cached_property
    def descriptions(self) -> dict[str, str]:
        """The descriptions of all entities and fields by full name."""
        descriptions = {entity.name: f"Whether there is one: {entity.description}" for entity in self.entities}
        for entity in self.entities:
            descriptions |= {name: field.description for name, field in entity.iterate_fields()}
        return descriptions

    def field_names(self, entity: str) -> list[str]:
        """Return the full names of an entity's fields; an empty list if there is no such entity."""
        return self._names.get(entity, [])

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        return {entity.name: [name for name, _ in entity.iterate_fields()] for entity in self.entities}

    def resolve_name(self, text: str) -> str | None:
        """Return the full name of the field or nullable entity that a formula writes as `text`; None if there is none."""
        if text in self.types:
            return text
        entity = self._entities_by_name.get(text)
        if entity is not None:  # only an entity that may be missing can be tested as a whole
            return text if entity.nullable else None
        direct = f"{self.root}.{text}"
        if direct in self.types and self.short_name(direct) == text:
            return direct
        return None

    def type_of(self, full_name: str) -> Type | None:
        """Return the type of a field or entity; None if formulas cannot read it. An entity is true, or null if missing.

        Raises `KeyError` if there is no such field or entity.
        """
        if full_name in self._entities_by_name:
            return BOOLEAN.or_null()
        return self.types[full_name]

    def short_name(self, full_name: str) -> str:
        """Return the shortest name that formulas can write: that of a root's field without prefix, if it is unambiguous."""
        path = self.direct_path(full_name)
        if len(path) == 1 and path[0] not in RESERVED_WORDS:
            return path[0]
        return full_name

    def find_by_last_name(self, last: str) -> list[str]:
        """Return the fields of any entity whose own name is `last`, as formulas write them."""
        return [self.short_name(full) for full in self.types if full.endswith(f".{last}")]

    def direct_path(self, full_name: str) -> tuple[str, ...]:
        """Return the path of a root's field in values that are not nested in the root.

        Empty if the field is not the root's, or an entity has the name that the path begins with.
        """
        root, _, rest = full_name.partition(".")
        path = tuple(rest.split("."))
        is_direct = self.root and root == self.root and rest and path[0] not in self._entities_by_name
        return path if is_direct else ()

    @cached_property
    def hidden_fields(self) -> tuple[str, ...]:
        """The root's own fields that need its prefix, as their names alone mean an entity, or a word of the language."""
        root = self.entity(self.root)
        if root is None:
            return ()
        names = (f"{self.root}.{field.name}" for field in root.fields)
        return tuple(name for name in names if self.short_name(name) == name)

    def record(self, used: Iterable[str]) -> tuple[InputField, ...]:
        """Return the `used` fields and entities, given by full name, as inputs: an entity before its fields.

        Unknown names, and fields that formulas cannot read, are left out.
        """
        used = set(used)
        names = [name for entity in self.entities for name in (entity.name, *self.field_names(entity.name))]
        full_names = [name for name in names if name in used]
        types = [(name, self.type_of(name)) for name in full_names]
        return tuple(InputField(name, ty, self.descriptions[name]) for name, ty in types if ty is not None)

    def similar(self, full_name: str) -> tuple[str, ...]:
        """Return the sorted names of other fields and entities that are similar to a part of this one, for suggestions."""
        parts = full_name.split(".")
        names = {name for part in parts for name in self._parts if part != name and _is_similar(part, name)}
        return tuple(sorted(names))

    @cached_property
    def _parts(self) -> frozenset[str]:
        return frozenset(part for name in (*self.types, *self._entities_by_name) for part in name.split("."))

    @cached_property
    def known_names(self) -> KnownNames:
        """The names that values may have: entities, the names in them, and the fields of the root without its prefix."""
        names: KnownNames = {entity.name: _nest_names(entity) for entity in self.entities}
        return {**(names.get(self.root) or {}), **names}


def _nest_names(entity: Entity) -> KnownNames:
    """Return the names inside an entity. A field that formulas cannot read may have any names inside it."""

    def nest_fields(fields: tuple[EntityField, ...]) -> KnownNames:
        """Return each field's name with no names inside it, or None, any names, if formulas cannot read it."""
        return {field.name: {} if field.value_type is not None else None for field in fields}

    names = nest_fields(entity.fields)
    return {**names, CUSTOM: nest_fields(entity.custom_fields) or names.get(CUSTOM, {})}


def add_enum_values(entity: Entity, enums: tuple[EnumType, ...]) -> Entity:
    """Return a copy of the entity whose fields have the values of their enums; a field with values keeps them.

    An enum belongs to a field of type enum that names it, and to a string field that the enum's `usage` names, which
    becomes an enum.
    """
    by_name = {enum.name: enum for enum in enums}
    by_field = {place: enum for enum in enums for place in _FIELD_PATH.findall(enum.usage)}
    fields = []
    for field in entity.fields:
        enum = None
        if field.type == "enum":
            enum = by_name.get(field.enum_type)
        elif field.type == "string":
            enum = by_field.get(f"{entity.name}.{field.name}")
        if enum is not None and enum.values and not field.values:
            field = replace(field, type="enum", enum_type=enum.name, values=enum.values)
        fields.append(field)
    return replace(entity, fields=tuple(fields))


def apply_overlay(base: Reference, overlay: Reference) -> Reference:
    """Return a copy of `base` with everything that `overlay` states; an empty attribute of `overlay` changes nothing.

    Entities and their fields, and enums, are merged by name; other parts are replaced as a whole. The root stays that
    of `base`, and the version is always `overlay`'s.
    """
    entities = {entity.name: entity for entity in base.entities}
    for entity in overlay.entities:
        if entity.name in entities:
            entity = _merge_entities(entities[entity.name], entity)
        entities[entity.name] = entity
    enums = {enum.name: enum for enum in base.enums} | {enum.name: enum for enum in overlay.enums}
    return replace(
        base,
        entities=tuple(add_enum_values(entity, overlay.enums) for entity in entities.values()),
        description=overlay.description or base.description,
        enums=tuple(enums.values()),
        patterns=overlay.patterns or base.patterns,
        examples=overlay.examples or base.examples,
        notes=overlay.notes or base.notes,
        functions=base.functions if overlay.functions is None else overlay.functions,
        operators=base.operators if overlay.operators is None else overlay.operators,
        version=overlay.version,
    )


def _merge_entities(base: Entity, overlay: Entity) -> Entity:
    """Return a copy of `base` with everything that `overlay` states of it.

    Fields and custom fields of `overlay` replace those of the same name. A field without a description keeps that of
    `base`, and is nullable if it is nullable in either. The entity, too, is nullable if it is in either.
    """
    fields = {field.name: field for field in base.fields}
    for field in overlay.fields:
        if field.name in fields:
            known = fields[field.name]
            description = field.description or known.description
            field = replace(field, description=description, nullable=known.nullable or field.nullable)
        fields[field.name] = field
    custom = {field.name: field for field in (*base.custom_fields, *overlay.custom_fields)}
    return replace(
        base,
        description=overlay.description or base.description,
        nullable=base.nullable or overlay.nullable,
        note=overlay.note or base.note,
        fields=tuple(fields.values()),
        custom_fields=tuple(custom.values()),
    )
