"""A schema file, or a formula reference itself, as `model.Reference`.

In: the document's JSON tree. Out: the reference; every deviation from the format is a diagnostic. Of operators and functions
only the names are read: what they do is the language's. Access patterns and examples of fields follow from the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from formulaseed import limits
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.language.ast import RESERVED_WORDS
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import BY_KIND
from formulaseed.reference import model
from formulaseed.seed.read.shape import Shape
from formulaseed.source.json_reader import JsonNumber, JsonObject, JsonString, JsonValue, Member, plain

_TOP_KEYS = (
    "version", "generated_at", "description", "root", "entities", "custom_fields", "enums", "operators", "functions",
    "syntax_patterns", "examples", "notes", "database", "$schema",
)  # fmt: skip
_ENTITY_KEYS = ("description", "access_pattern", "nullable", "note", "fields")
_FIELD_KEYS = ("type", "description", "nullable", "example", "enum_type", "values", "default",
               "minimum", "maximum")  # fmt: skip
_CUSTOM_KEYS = ("field_key", "field_type", "description", "access_pattern", "required", "options", "default_value")
_DATABASE_KEYS = ("root", "schema", "entities", "exclude", "custom_fields")
_LISTS = {"values": limits.ENUM_VALUES, "examples": limits.EXAMPLES}
_VERSION = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")
_Record = TypeVar("_Record", model.EnumType, model.SyntaxPattern, model.Example)


def lower_reference(document: JsonValue | None, problems: Problems) -> model.Reference | None:
    """Lower a document; None where it is no JSON or no object, or has no entities."""
    shape = Shape(problems)
    section = shape.object(document, "a formula reference", 'an object such as {"entities": {…}}')
    return _Reader(section, shape).reference() if section is not None else None


def lower_layout(document: JsonValue | None, problems: Problems) -> model.DatabaseLayout:
    """What a schema file says of the database that it describes."""
    if not isinstance(document, JsonObject):
        return model.DatabaseLayout()
    reader = _Reader(document, Shape(problems))
    section = reader.inner(document, "database", _DATABASE_KEYS)
    custom = reader.inner(section, "custom_fields", ("table", "columns"))
    return model.DatabaseLayout(
        reader.text(section, "root"),
        reader.text(section, "schema"),
        reader.texts(reader.inner(section, "entities"), "an entity's name"),
        reader.strings(section, "exclude", limits.REFERENCE_FIELDS),
        reader.text(custom, "table"),
        reader.texts(reader.inner(custom, "columns", model.CUSTOM_COLUMNS), "a column"),
    )


class _Reader:
    def __init__(self, document: JsonObject, shape: Shape) -> None:
        self.document = document
        self.shape = shape
        self.fields_left = limits.REFERENCE_FIELDS

    def reference(self) -> model.Reference | None:
        document, shape = self.document, self.shape
        shape.keys(document, _TOP_KEYS, "a formula reference")
        reported = frozenset(shape.problems.sorted())
        if document.get("entities") is None and document.get("database") is not None:
            entities = []
        else:
            example = '"entities": {"listing": {"fields": {…}}}'
            section = shape.need(document, "entities", "the formula reference", example)
            found = shape.object(section, "`entities`") if section is not None else None
            if found is None:
                return None
            entities = [self.entity(member) for member in self.members(found, "`entities`", limits.ENTITIES)]
        enums = self.records(model.EnumType, "enums", "an enum", "values")
        closed = [model.with_enum_values(entity, enums) for entity in self.with_custom_fields(entities)]
        is_complete = reported.issuperset(shape.problems.sorted())
        return model.Reference(
            entities=tuple(closed),
            root=self.root(closed),
            version=self.version(),
            description=self.text(document, "description"),
            enums=enums,
            patterns=self.records(model.SyntaxPattern, "syntax_patterns", "a syntax pattern"),
            examples=self.records(model.Example, "examples", "an example", "formula"),
            notes=self.texts(self.inner(document, "notes"), "a note"),
            functions=self.functions(),
            operators=self.operators(),
            is_complete=is_complete,
        )

    # --- what sections have in common

    def members(self, section: JsonObject, what: str, most: int) -> tuple[Member, ...]:
        """The members, none where there are too many."""
        if len(section.members) > most:
            self.shape.too_many(section.span, what, len(section.members), most)
            return ()
        return section.members

    def inner(self, section: JsonObject, key: str, known: Sequence[str] | None = None) -> JsonObject:
        """The object at a key, its keys checked where they are known; an empty one where it is absent."""
        value = section.get(key)
        found = self.shape.object(value, f"`{key}`") if value is not None else None
        if found is None:
            return JsonObject(section.span, ())
        if known is not None:
            self.shape.keys(found, known, f"`{key}`")
        return JsonObject(found.span, self.members(found, f"`{key}`", limits.EXAMPLES))

    def text(self, section: JsonObject, key: str) -> str:
        return self.shape.string(section.get(key), f"`{key}`")

    def texts(self, section: JsonObject, what: str) -> tuple[tuple[str, str], ...]:
        return tuple((member.key.value, self.shape.string(member.value, what)) for member in section.members)

    def strings(self, section: JsonObject, key: str, most: int) -> tuple[str, ...]:
        items = self.shape.list(section.get(key), f"`{key}`", most)
        found = [self.shape.text(item, f"an entry of `{key}`") for item in items]
        return tuple(dict.fromkeys(text.value for text in found if text is not None))

    def version(self) -> str:
        found = self.shape.text(self.document.get("version"), "`version`")
        if found is None:
            return model.FIRST_VERSION
        if not _VERSION.fullmatch(found.value):
            self.shape.problems.report(catalogue.invalid_version(found.span, model.FIRST_VERSION))
        return found.value

    # --- entities

    def entity(self, member: Member) -> model.Entity:
        name, shape = member.key, self.shape
        what = f"the entity `{name.value}`"
        if shape.name(name, "an entity") is not None and name.value in RESERVED_WORDS:
            shape.problems.report(catalogue.reserved_entity(name.span, name.value))
        section = shape.object(member.value, what, '{"fields": {…}}')
        if section is None:
            return model.Entity(name.value)
        shape.keys(section, _ENTITY_KEYS, what)
        listed = shape.need(section, "fields", what, '"fields": {"name": {"type": "string"}}')
        found = shape.object(listed, "`fields`") if listed is not None else None
        fields = self.members(found, "`fields`", self.fields_left) if found is not None else ()
        self.fields_left -= len(fields)
        return model.Entity(
            name.value,
            self.text(section, "description"),
            shape.boolean(section.get("nullable"), "`nullable`"),
            self.text(section, "note"),
            tuple(self.field(field) for field in fields),
        )

    def field(self, member: Member) -> model.Field:
        """A field; its type may be given alone."""
        name, shape, value = member.key, self.shape, member.value
        shape.name(name, "a field")
        if isinstance(value, JsonString):
            return model.Field(name.value, self.field_type(value, model.FIELD_TYPES))
        section = shape.object(value, f"the field `{name.value}`", 'an object such as {"type": "integer"}')
        if section is None:
            return model.Field(name.value, "json")
        shape.keys(section, _FIELD_KEYS, "a field")
        nullable = shape.boolean(section.get("nullable"), "`nullable`")
        field = self.typed_field(section, name.value, "type", model.FIELD_TYPES, "values", "default")
        least, most = (self.bound(section, key) for key in ("minimum", "maximum"))
        enum_type = self.text(section, "enum_type")
        return replace(field, nullable=nullable, enum_type=enum_type, minimum=least, maximum=most)

    def bound(self, section: JsonObject, key: str) -> int | float | None:
        """What is written under `minimum` or `maximum`."""
        value = section.get(key)
        if value is None or isinstance(value, JsonNumber):
            return value.value if value is not None else None
        self.shape.wrong_type(value, f"`{key}`", "a number")
        return None

    def typed_field(
        self, section: JsonObject, name: str, kind: str, known: tuple[str, ...], values: str, default: str
    ) -> model.Field:
        """A field by the keys that its kind of fields has for the type, the values and the default."""
        shape, value = self.shape, section.get(default)
        found = shape.text(shape.need(section, kind, "the field", f'"{kind}": such as "integer"'), f"`{kind}`")
        return model.Field(
            name,
            self.field_type(found, known),
            self.text(section, "description"),
            values=self.strings(section, values, limits.ENUM_VALUES),
            default=plain(value) if value is not None else None,
        )

    def field_type(self, value: JsonString | None, known: tuple[str, ...]) -> str:
        """The type's name; of an unknown one, which is reported, nothing can be read."""
        return (self.shape.choice(value, "field type", known) if value is not None else None) or "json"

    def root(self, entities: list[model.Entity]) -> str:
        """The entity whose fields need no prefix: it is named, or it says so itself."""
        named = self.shape.text(self.document.get("root"), "`root`")
        names = [entity.name for entity in entities]
        if named is not None:
            if entities and named.value not in names:
                self.shape.problems.report(catalogue.unknown_entity(named.span, named.value, names))
            return named.value
        section = self.document.get("entities")
        for member in section.members if isinstance(section, JsonObject) else ():
            pattern = member.value.get("access_pattern") if isinstance(member.value, JsonObject) else None
            if isinstance(pattern, JsonString) and pattern.value.lower().startswith("direct"):
                return member.key.value
        always = [entity.name for entity in entities if not entity.nullable]
        return always[0] if len(always) == 1 else ""

    # --- custom fields

    def with_custom_fields(self, entities: list[model.Entity]) -> list[model.Entity]:
        names = {entity.name: entity for entity in entities}
        for member in self.inner(self.document, "custom_fields").members:
            if member.key.value not in names:
                self.shape.problems.report(catalogue.unknown_entity(member.key.span, member.key.value, names))
                continue
            found = tuple(self.custom_fields(member))
            names[member.key.value] = replace(names[member.key.value], custom_fields=found)
        return list(names.values())

    def custom_fields(self, member: Member) -> Iterator[model.Field]:
        shape, seen = self.shape, set[str]()
        items = shape.list(member.value, "custom fields", self.fields_left)
        self.fields_left -= len(items)
        for item in items:
            section = shape.object(item, "a custom field")
            if section is None:
                continue
            shape.keys(section, _CUSTOM_KEYS, "a custom field")
            key = shape.name(shape.need(section, "field_key", "the custom field", '"field_key"'), "a custom field")
            required = shape.boolean(section.get("required"), "`required`")
            made = self.typed_field(
                section, key.text if key else "", "field_type", model.CUSTOM_TYPES, "options", "default_value"
            )
            if key is not None and key.text in seen:
                shape.problems.report(catalogue.duplicate_custom_field(item.span, member.key.value, key.text))
            elif key is not None:
                seen.add(key.text)
                yield replace(made, nullable=not required)

    # --- operators and functions

    def functions(self) -> tuple[str, ...] | None:
        """Return the names that `functions` lists, each of which the language has; None if there is no such section."""
        shape, value = self.shape, self.document.get("functions")
        section = shape.object(value, "`functions`", '{"max": {…}}')
        if section is None:
            return None
        for member in section.members:
            shape.object(member.value, f"the function `{member.key.value}`", '{"signature": …, "description": …}')
            if member.key.value not in FUNCTIONS:
                shape.problems.report(catalogue.unknown_listed_function(member.key.span, member.key.value, FUNCTIONS))
        return tuple(member.key.value for member in section.members)

    def operators(self) -> tuple[str, ...] | None:
        """Return the operators that the groups of `operators` list; None if there is no such section."""
        shape, value = self.shape, self.document.get("operators")
        section = shape.object(value, "`operators`", '{"arithmetic": {"+": …}}')
        if section is None:
            return None
        shape.keys(section, tuple(BY_KIND), "`operators`")
        known = [name for group in BY_KIND.values() for name in group]
        listed: list[str] = []
        for member in section.members:
            group = shape.object(member.value, f"`{member.key.value}`", '{"+": "Addition"}')
            for operator in group.members if group is not None else ():
                listed.append(operator.key.value)
                if operator.key.value not in known:
                    found = catalogue.unknown_listed_operator(operator.key.span, operator.key.value, known)
                    shape.problems.report(found)
        return tuple(listed)

    # --- the rest

    def records(self, make: type[_Record], key: str, what: str, needed: str = "") -> tuple[_Record, ...]:
        """What is made of the objects of a section: strings by key, `values` and `examples` lists of them."""
        made, keys = [], [each.name for each in fields(make) if each.name != "name"]
        for member in self.inner(self.document, key).members:
            section = self.shape.object(member.value, f"{what} `{member.key.value}`")
            if section is None:
                continue
            self.shape.keys(section, keys, what)
            if needed:
                self.shape.need(section, needed, what, f'"{needed}"')
            said: dict[str, Any] = {
                key: self.strings(section, key, _LISTS[key]) if key in _LISTS else self.text(section, key)
                for key in keys
            }
            made.append(make(member.key.value, **said))
        return tuple(made)
