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
from formulaseed.language.operators import OPERATORS_BY_KIND
from formulaseed.reference import model
from formulaseed.seed.read.shape import Shape
from formulaseed.source.json_reader import JsonNumber, JsonObject, JsonString, JsonValue, Member, plain_value

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
    """Lower a document; None if it is no JSON or no object, or has no entities. Reports every fault."""
    shape = Shape(problems)
    section = shape.object(document, "a formula reference", 'an object such as {"entities": {…}}')
    return _Reader(section, shape).reference() if section is not None else None


def lower_layout(document: JsonValue | None, problems: Problems) -> model.DatabaseLayout:
    """Lower the `database` section of a schema file; an absent section gives an empty layout."""
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
        """Read the reference; None if its entities cannot be read, which is reported."""
        document, shape = self.document, self.shape
        shape.keys(document, _TOP_KEYS, "a formula reference")
        reported = frozenset(shape.problems.sorted())
        if document.get("entities") is None and document.get("database") is not None:
            entities = []
        else:
            example = '"entities": {"listing": {"fields": {…}}}'
            section = shape.need(document, "entities", "the formula reference", example)
            listed = shape.object(section, "`entities`") if section is not None else None
            if listed is None:
                return None
            entities = [self.entity(member) for member in self.members(listed, "`entities`", limits.ENTITIES)]
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

    def members(self, section: JsonObject, noun: str, most: int) -> tuple[Member, ...]:
        """Return the members of a section; none, with the problem reported, if there are more than `most`."""
        if len(section.members) > most:
            self.shape.too_many(section.span, noun, len(section.members), most)
            return ()
        return section.members

    def inner(self, section: JsonObject, key: str, known: Sequence[str] | None = None) -> JsonObject:
        """Return the object at a key, its keys checked if `known` lists them; an empty object if it is absent."""
        value = section.get(key)
        inner = self.shape.object(value, f"`{key}`") if value is not None else None
        if inner is None:
            return JsonObject(section.span, ())
        if known is not None:
            self.shape.keys(inner, known, f"`{key}`")
        return JsonObject(inner.span, self.members(inner, f"`{key}`", limits.EXAMPLES))

    def text(self, section: JsonObject, key: str) -> str:
        return self.shape.string(section.get(key), f"`{key}`")

    def texts(self, section: JsonObject, noun: str) -> tuple[tuple[str, str], ...]:
        return tuple((member.key.value, self.shape.string(member.value, noun)) for member in section.members)

    def strings(self, section: JsonObject, key: str, most: int) -> tuple[str, ...]:
        items = self.shape.list(section.get(key), f"`{key}`", most)
        strings = [self.shape.text(item, f"an entry of `{key}`") for item in items]
        return tuple(dict.fromkeys(string.value for string in strings if string is not None))

    def version(self) -> str:
        version = self.shape.text(self.document.get("version"), "`version`")
        if version is None:
            return model.FIRST_VERSION
        if not _VERSION.fullmatch(version.value):
            self.shape.problems.report(catalogue.invalid_version(version.span, model.FIRST_VERSION))
        return version.value

    # --- entities

    def entity(self, member: Member) -> model.Entity:
        name, shape = member.key, self.shape
        noun = f"the entity `{name.value}`"
        if shape.name(name, "an entity") is not None and name.value in RESERVED_WORDS:
            shape.problems.report(catalogue.reserved_entity(name.span, name.value))
        section = shape.object(member.value, noun, '{"fields": {…}}')
        if section is None:
            return model.Entity(name.value)
        shape.keys(section, _ENTITY_KEYS, noun)
        value = shape.need(section, "fields", noun, '"fields": {"name": {"type": "string"}}')
        listed = shape.object(value, "`fields`") if value is not None else None
        fields = self.members(listed, "`fields`", self.fields_left) if listed is not None else ()
        self.fields_left -= len(fields)
        return model.Entity(
            name.value,
            self.text(section, "description"),
            shape.boolean(section.get("nullable"), "`nullable`"),
            self.text(section, "note"),
            tuple(self.field(field) for field in fields),
        )

    def field(self, member: Member) -> model.Field:
        """Read a field: an object, or the name of its type alone. One that cannot be read is `json`."""
        name, shape, value = member.key, self.shape, member.value
        shape.name(name, "a field")
        if isinstance(value, JsonString):
            return model.Field(name.value, self.field_type(value, model.FIELD_TYPES))
        section = shape.object(value, f"the field `{name.value}`", 'an object such as {"type": "integer"}')
        if section is None:
            return model.Field(name.value, "json")
        shape.keys(section, _FIELD_KEYS, "a field")
        nullable = shape.boolean(section.get("nullable"), "`nullable`")
        field = self.read_typed_field(section, name.value, "type", model.FIELD_TYPES, "values", "default")
        least, most = (self.bound(section, key) for key in ("minimum", "maximum"))
        enum_type = self.text(section, "enum_type")
        return replace(field, nullable=nullable, enum_type=enum_type, minimum=least, maximum=most)

    def bound(self, section: JsonObject, key: str) -> int | float | None:
        """Return the number under `minimum` or `maximum`; None if it is absent or no number, which is reported."""
        value = section.get(key)
        if isinstance(value, JsonNumber):
            return value.value
        if value is not None:
            self.shape.wrong_type(value, f"`{key}`", "a number")
        return None

    def read_typed_field(
        self, section: JsonObject, name: str, kind: str, known: tuple[str, ...], values: str, default: str
    ) -> model.Field:
        """Read a field; `kind`, `values` and `default` are the keys of its type, its values and its default."""
        shape, value = self.shape, section.get(default)
        type_name = shape.text(shape.need(section, kind, "the field", f'"{kind}": such as "integer"'), f"`{kind}`")
        return model.Field(
            name,
            self.field_type(type_name, known),
            self.text(section, "description"),
            values=self.strings(section, values, limits.ENUM_VALUES),
            default=plain_value(value) if value is not None else None,
        )

    def field_type(self, value: JsonString | None, known: tuple[str, ...]) -> str:
        """Return the name of a type; `json`, which formulas cannot read, for an unknown type, which is reported."""
        choice = self.shape.choice(value, "field type", known) if value is not None else None
        return choice or "json"

    def root(self, entities: list[model.Entity]) -> str:
        """Return the entity whose fields need no prefix, empty if there is none.

        It is the one that `root` names, has a direct access pattern, or is the only one that cannot be null.
        """
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
            fields = tuple(self.custom_fields(member))
            names[member.key.value] = replace(names[member.key.value], custom_fields=fields)
        return list(names.values())

    def custom_fields(self, member: Member) -> Iterator[model.Field]:
        """Yield the custom fields of an entity; one without a key or with an earlier one's is reported and left out."""
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
            field = self.read_typed_field(
                section, key.text if key else "", "field_type", model.CUSTOM_TYPES, "options", "default_value"
            )
            if key is not None and key.text in seen:
                shape.problems.report(catalogue.duplicate_custom_field(item.span, member.key.value, key.text))
            elif key is not None:
                seen.add(key.text)
                yield replace(field, nullable=not required)

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
        shape.keys(section, tuple(OPERATORS_BY_KIND), "`operators`")
        known = [name for group in OPERATORS_BY_KIND.values() for name in group]
        listed: list[str] = []
        for member in section.members:
            group = shape.object(member.value, f"`{member.key.value}`", '{"+": "Addition"}')
            for operator in group.members if group is not None else ():
                listed.append(operator.key.value)
                if operator.key.value not in known:
                    problem = catalogue.unknown_listed_operator(operator.key.span, operator.key.value, known)
                    shape.problems.report(problem)
        return tuple(listed)

    # --- the rest

    def records(self, make: type[_Record], key: str, noun: str, needed: str = "") -> tuple[_Record, ...]:
        """Make a record of each object in a section: its keys hold strings, `values` and `examples` lists of strings."""
        records = []
        keys = [attribute.name for attribute in fields(make) if attribute.name != "name"]
        for member in self.inner(self.document, key).members:
            section = self.shape.object(member.value, f"{noun} `{member.key.value}`")
            if section is None:
                continue
            self.shape.keys(section, keys, noun)
            if needed:
                self.shape.need(section, needed, noun, f'"{needed}"')
            values: dict[str, Any] = {
                key: self.strings(section, key, _LISTS[key]) if key in _LISTS else self.text(section, key)
                for key in keys
            }
            records.append(make(member.key.value, **values))
        return tuple(records)
