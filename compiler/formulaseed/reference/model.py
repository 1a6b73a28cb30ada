"""A formula reference: the entities of a domain, their fields, and what formulas may say of them.

Pure data, wherever it was read from. A field's full name is `entity.field`, or `entity.custom_fields.key`; the fields
of the root entity are also known by their name alone.
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
"""What a definition of custom fields may say; the last words of each kind are what databases call it."""

CUSTOM_COLUMNS = ("entity", "key", "type", "description", "required", "options", "default", "active")
"""What a table of definitions says of a custom field."""

_FIELD_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*")

CUSTOM = "custom_fields"
FIRST_VERSION = "1.0.0"

_SCALARS = {
    "integer": INTEGER, "float": NUMBER, "number": NUMBER, "boolean": BOOLEAN, "string": STRING, "text": STRING,
    "datetime": STRING, "date": STRING,
}  # fmt: skip

Json = str | int | float | bool | list["Json"] | dict[str, "Json"] | None
KnownNames = dict[str, "KnownNames | None"]
"""The names that an object of values may have, each with those inside it: none in a field, and None for any at all."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an entity, or one that is defined in the data: a custom field, which is null where it is not required.

    `values` are those of an enum, or the options of a custom field; `default` is what the source fills in, and
    `minimum` and `maximum` are what it allows, for information: no proof rests on them.
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
        """What formulas know it as; None for what they cannot read. A date is its ISO text."""
        if self.type == "enum":
            return enum_type(self.values) if self.values else STRING
        return _SCALARS.get(self.type)


@dataclass(frozen=True, slots=True)
class Entity:
    """A record; with `nullable` there may be none, and then none of its fields has a value."""

    name: str
    description: str = ""
    nullable: bool = False
    note: str = ""
    fields: tuple[Field, ...] = ()
    custom_fields: tuple[Field, ...] = ()

    def named_fields(self) -> Iterator[tuple[str, Field]]:
        """The fields by their full names."""
        yield from ((f"{self.name}.{field.name}", field) for field in self.fields)
        yield from ((f"{self.name}.{CUSTOM}.{field.name}", field) for field in self.custom_fields)


@dataclass(frozen=True, slots=True)
class EnumType:
    name: str
    description: str
    values: tuple[str, ...]
    usage: str = ""


@dataclass(frozen=True, slots=True)
class SyntaxPattern:
    name: str
    syntax: str
    description: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Example:
    name: str
    formula: str
    description: str = ""
    use_case: str = ""


@dataclass(frozen=True, slots=True)
class DatabaseLayout:
    """Where a database keeps what a reference is made of; what is empty is found by the names in use.

    `entities` names the entity that a foreign key of the root's table leads to; `exclude` are columns that are left
    out, as `column` or `table.column`. `custom_columns` maps `entity`, `key`, `type`, `description`, `required`,
    `options`, `default` and `active` to columns of the table that defines custom fields.
    """

    root: str = ""
    schema: str = ""
    entities: tuple[tuple[str, str], ...] = ()
    exclude: tuple[str, ...] = ()
    custom_table: str = ""
    custom_columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Reference:
    """The whole. `root` names the entity whose fields need no prefix; empty where there is none.

    `is_complete` is false where something could not be read, which was reported: a name that is missing may be that.
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
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Entity]:
        return {entity.name: entity for entity in self.entities}

    @cached_property
    def allowed_functions(self) -> dict[str, Function]:
        """The functions that formulas may call, in the order of the language's table."""
        return {name: entry for name, entry in FUNCTIONS.items() if self.functions is None or name in self.functions}

    @cached_property
    def types(self) -> dict[str, Type | None]:
        """Every field's full name with its type; None for what formulas cannot read."""
        found: dict[str, Type | None] = {}
        for entity in self.entities:
            for name, each in entity.named_fields():
                ty = each.value_type
                found[name] = ty.or_null() if ty and (each.nullable or entity.nullable) else ty
        return found

    @cached_property
    def descriptions(self) -> dict[str, str]:
        """What each full name means."""
        found = {entity.name: f"Whether there is one: {entity.description}" for entity in self.entities}
        for entity in self.entities:
            found |= {name: each.description for name, each in entity.named_fields()}
        return found

    def names_of(self, entity: str) -> list[str]:
        """The full names of an entity's fields."""
        return self._names.get(entity, [])

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        return {entity.name: [name for name, _ in entity.named_fields()] for entity in self.entities}

    def full_name(self, text: str) -> str | None:
        """The full name of what a formula calls so: a field, or a whole entity that may be missing."""
        if text in self.types:
            return text
        entity = self._by_name.get(text)
        if entity is not None:
            return text if entity.nullable else None
        direct = f"{self.root}.{text}"
        return direct if direct in self.types and self.short_name(direct) == text else None

    def type_of(self, full_name: str) -> Type | None:
        """The type of what `full_name` gives; an entity is true, or null where there is none."""
        return BOOLEAN.or_null() if full_name in self._by_name else self.types[full_name]

    def short_name(self, full_name: str) -> str:
        """Return a full name as formulas rather write it: a field of the root without its prefix, if it means that alone."""
        path = self.direct_path(full_name)
        return path[0] if len(path) == 1 and path[0] not in RESERVED_WORDS else full_name

    def called(self, last: str) -> list[str]:
        """Return the fields of this very name, of whatever entity, as formulas write them."""
        return [self.short_name(full) for full in self.types if full.endswith(f".{last}")]

    def direct_path(self, full_name: str) -> tuple[str, ...]:
        """Return where values hold a field of the root, if not inside it; empty where an entity has that name."""
        root, _, rest = full_name.partition(".")
        path = tuple(rest.split("."))
        return path if self.root and root == self.root and rest and path[0] not in self._by_name else ()

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        """The root's own fields whose names alone mean something else: an entity, or a word of the language."""
        root = self.entity(self.root)
        names = [f"{self.root}.{field.name}" for field in root.fields] if root is not None else []
        return tuple(name for name in names if self.short_name(name) == name)

    def record(self, used: Iterable[str]) -> tuple[InputField, ...]:
        """Return the fields and entities among these full names, in the reference's order, an entity before its fields."""
        wanted = set(used)
        names = [entity.name for entity in self.entities]
        full_names = [name for entity in names for name in (entity, *self.names_of(entity)) if name in wanted]
        types = [(name, self.type_of(name)) for name in full_names]
        return tuple(InputField(name, ty, self.descriptions[name]) for name, ty in types if ty is not None)

    def similar(self, full_name: str) -> tuple[str, ...]:
        """Return the names of other fields and entities that read like a typo of a part of this one."""
        parts = full_name.split(".")
        near = {name for part in parts for name in self._parts if part != name and _is_similar(part, name)}
        return tuple(sorted(near))

    @cached_property
    def _parts(self) -> frozenset[str]:
        return frozenset(part for name in (*self.types, *self._by_name) for part in name.split("."))

    @cached_property
    def known_names(self) -> KnownNames:
        """The names that values may have: entities, what is in them, and the fields of the root without it."""
        found: KnownNames = {entity.name: _known_names(entity) for entity in self.entities}
        direct = found.get(self.root)
        return {**direct, **found} if direct else found


def _known_names(entity: Entity) -> KnownNames:
    """The names inside an entity. Formulas read nothing of a JSON field, so it may hold any."""

    def names(fields: tuple[Field, ...]) -> KnownNames:
        return {each.name: {} if each.value_type is not None else None for each in fields}

    fields = names(entity.fields)
    return {**fields, CUSTOM: names(entity.custom_fields) or fields.get(CUSTOM, {})}


def with_enum_values(entity: Entity, enums: tuple[EnumType, ...]) -> Entity:
    """Return a copy of the entity whose fields have the values of their enums.

    An enum belongs to a field of type enum that names it, and to a string field that the enum's `usage` names.
    """
    by_name = {enum.name: enum for enum in enums}
    by_field = {place: enum for enum in enums for place in _FIELD_PATH.findall(enum.usage)}
    fields = []
    for field in entity.fields:
        enum = by_name.get(field.enum_type) if field.type == "enum" else None
        if field.type == "string":
            enum = by_field.get(f"{entity.name}.{field.name}")
        if enum is not None and enum.values and not field.values:
            field = replace(field, type="enum", enum_type=enum.name, values=enum.values)
        fields.append(field)
    return replace(entity, fields=tuple(fields))


def overlaid(base: Reference, overlay: Reference) -> Reference:
    """The base with everything that the overlay states; what it leaves empty stays as it is."""
    entities = {entity.name: entity for entity in base.entities}
    for entity in overlay.entities:
        known = entities.get(entity.name)
        entities[entity.name] = entity if known is None else _overlaid_entity(known, entity)
    enums = {enum.name: enum for enum in base.enums} | {enum.name: enum for enum in overlay.enums}
    return replace(
        base,
        entities=tuple(with_enum_values(entity, overlay.enums) for entity in entities.values()),
        description=overlay.description or base.description,
        enums=tuple(enums.values()),
        patterns=overlay.patterns or base.patterns,
        examples=overlay.examples or base.examples,
        notes=overlay.notes or base.notes,
        functions=base.functions if overlay.functions is None else overlay.functions,
        operators=base.operators if overlay.operators is None else overlay.operators,
        version=overlay.version,
    )


def _overlaid_entity(known: Entity, stated: Entity) -> Entity:
    """The entity with what is stated of it; a field that is stated without a description has the database's."""
    fields, own = {each.name: each for each in known.fields}, {each.name: each for each in stated.fields}
    for name in fields.keys() & own.keys():
        described = own[name].description or fields[name].description
        own[name] = replace(own[name], description=described, nullable=fields[name].nullable or own[name].nullable)
    custom = {each.name: each for each in (*known.custom_fields, *stated.custom_fields)}
    return replace(
        known,
        description=stated.description or known.description,
        nullable=known.nullable or stated.nullable,
        note=stated.note or known.note,
        fields=tuple({**fields, **own}.values()),
        custom_fields=tuple(custom.values()),
    )
