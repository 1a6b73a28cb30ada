"""Lower a schema file, or a published formula reference, to a `model.Reference`.

In: the document's JSON tree. Out: the reference; every deviation from the format is a diagnostic. Of operators and functions
only the names are read, as the language defines them. Access patterns and examples of fields are derived, not read.
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
    """Lower a document, and report every fault. Returns None if it is no JSON or no object, or its entities are unreadable."""
    shape = Shape(problems)
    section = shape.read_object(document, "a formula reference", 'an object such as {"entities": {…}}')
    if section is None:
        return None
    return _ReferenceReader(section, shape).read_reference()


def lower_layout(document: JsonValue | None, problems: Problems) -> model.DatabaseLayout:
    """Lower the `database` section of a schema file, and report its faults; an absent section gives an empty layout."""
    if not isinstance(document, JsonObject):
        return model.DatabaseLayout()
    reader = _ReferenceReader(document, Shape(problems))
    section = reader.open_section(document, "database", _DATABASE_KEYS)
    custom = reader.open_section(section, "custom_fields", ("table", "columns"))
    return model.DatabaseLayout(
        reader.read_string(section, "root"),
        reader.read_string(section, "schema"),
        reader.read_string_map(reader.open_section(section, "entities"), "an entity's name"),
        reader.read_strings(section, "exclude", limits.REFERENCE_FIELDS),
        reader.read_string(custom, "table"),
        reader.read_string_map(reader.open_section(custom, "columns", model.CUSTOM_COLUMNS), "a column"),
    )


class _ReferenceReader:
    """A reader of one document. It reports every fault to `shape`, and counts the fields, which are limited."""

    def __init__(self, document: JsonObject, shape: Shape) -> None:
        self.document = document
        self.shape = shape
        self.fields_left = limits.REFERENCE_FIELDS

    def read_reference(self) -> model.Reference | None:
        """Read the reference; None if its entities cannot be read, which is reported.

        The reference is incomplete if the entities, custom fields or enums have problems.
        """
        document = self.document
        self.shape.report_unknown_keys(document, _TOP_KEYS, "a formula reference")
        reported = frozenset(self.shape.problems.sorted())
        entities = self.read_entities()
        if entities is None:
            return None
        enums = self.read_records(model.EnumType, "enums", "an enum", "values")
        entities = [model.add_enum_values(entity, enums) for entity in self.add_custom_fields(entities)]
        is_complete = reported.issuperset(self.shape.problems.sorted())
        return model.Reference(
            entities=tuple(entities),
            root=self.find_root(entities),
            version=self.read_version(),
            description=self.read_string(document, "description"),
            enums=enums,
            patterns=self.read_records(model.SyntaxPattern, "syntax_patterns", "a syntax pattern"),
            examples=self.read_records(model.Example, "examples", "an example", "formula"),
            notes=self.read_string_map(self.open_section(document, "notes"), "a note"),
            functions=self.read_functions(),
            operators=self.read_operators(),
            is_complete=is_complete,
        )

    # --- helpers for all sections

    def limit_members(self, section: JsonObject, noun: str, maximum: int) -> tuple[Member, ...]:
        """Return the members of a section; none, with the problem reported, if there are more than `maximum`."""
        if len(section.members) > maximum:
            self.shape.report_too_many(section.span, noun, len(section.members), maximum)
            return ()
        return section.members

    def open_section(self, section: JsonObject, key: str, known_keys: Sequence[str] | None = None) -> JsonObject:
        """Return the object at a key, with unknown keys reported unless `known_keys` is None; an empty object if it is absent."""
        inner = self.shape.read_object(section.get(key), f"`{key}`")
        if inner is None:
            return JsonObject(section.span, ())
        if known_keys is not None:
            self.shape.report_unknown_keys(inner, known_keys, f"`{key}`")
        return JsonObject(inner.span, self.limit_members(inner, f"`{key}`", limits.EXAMPLES))

    def read_string(self, section: JsonObject, key: str) -> str:
        """Return the string at a key; an empty string if it is absent, or no string, which is reported."""
        return self.shape.read_string(section.get(key), f"`{key}`")

    def read_string_map(self, section: JsonObject, noun: str) -> tuple[tuple[str, str], ...]:
        """Return the keys of a section with their strings; another value is reported, and empty."""
        return tuple((member.key.value, self.shape.read_string(member.value, noun)) for member in section.members)

    def read_strings(self, section: JsonObject, key: str, maximum: int) -> tuple[str, ...]:
        """Return the distinct strings of the list at a key, and report entries that are no strings.

        Empty if the list is absent or, with the problem reported, longer than `maximum`.
        """
        items = self.shape.read_list(section.get(key), f"`{key}`", maximum)
        strings = [self.shape.read_text(item, f"an entry of `{key}`") for item in items]
        return tuple(dict.fromkeys(string.value for string in strings if string is not None))

    def read_version(self) -> str:
        """Return the version; the first version if it is absent or no string.

        An error is reported if it is not three numbers; it is returned all the same.
        """
        version = self.shape.read_text(self.document.get("version"), "`version`")
        if version is None:
            return model.FIRST_VERSION
        if not _VERSION.fullmatch(version.value):
            self.shape.problems.report(catalogue.invalid_version(version.span, model.FIRST_VERSION))
        return version.value

    # --- entities

    def read_entities(self) -> list[model.Entity] | None:
        """Read the entities without their custom fields; None, with an error reported, if they are missing or no object.

        A schema file for a database may have no entities.
        """
        if self.document.get("entities") is None and self.document.get("database") is not None:
            return []
        example = '"entities": {"listing": {"fields": {…}}}'
        value = self.shape.require(self.document, "entities", "the formula reference", example)
        section = self.shape.read_object(value, "`entities`")
        if section is None:
            return None
        return [self.read_entity(member) for member in self.limit_members(section, "`entities`", limits.ENTITIES)]

    def read_entity(self, member: Member) -> model.Entity:
        """Read an entity without its custom fields; an error in it is reported.

        It has no fields if it cannot be read, or if it has more than `fields_left`, which is lowered by their number.
        """
        name = member.key
        shape = self.shape
        noun = f"the entity `{name.value}`"
        if shape.read_name(name, "an entity") is not None and name.value in RESERVED_WORDS:
            shape.problems.report(catalogue.reserved_entity(name.span, name.value))
        section = shape.read_object(member.value, noun, '{"fields": {…}}')
        if section is None:
            return model.Entity(name.value)
        shape.report_unknown_keys(section, _ENTITY_KEYS, noun)
        value = shape.require(section, "fields", noun, '"fields": {"name": {"type": "string"}}')
        listed = shape.read_object(value, "`fields`")
        fields: tuple[Member, ...] = ()
        if listed is not None:
            fields = self.limit_members(listed, "`fields`", self.fields_left)
        self.fields_left -= len(fields)
        return model.Entity(
            name.value,
            self.read_string(section, "description"),
            shape.read_boolean(section.get("nullable"), "`nullable`"),
            self.read_string(section, "note"),
            tuple(self.read_field(field) for field in fields),
        )

    def read_field(self, member: Member) -> model.EntityField:
        """Read a field: an object, or the name of its type alone. An unreadable field is reported, and has the type `json`."""
        name = member.key
        value = member.value
        shape = self.shape
        shape.read_name(name, "a field")
        if isinstance(value, JsonString):
            return model.EntityField(name.value, self.read_field_type(value, model.FIELD_TYPES))
        section = shape.read_object(value, f"the field `{name.value}`", 'an object such as {"type": "integer"}')
        if section is None:
            return model.EntityField(name.value, "json")
        shape.report_unknown_keys(section, _FIELD_KEYS, "a field")
        nullable = shape.read_boolean(section.get("nullable"), "`nullable`")
        field = self.read_typed_field(section, name.value, "type", model.FIELD_TYPES, "values", "default")
        minimum, maximum = (self.read_bound(section, key) for key in ("minimum", "maximum"))
        enum_type = self.read_string(section, "enum_type")
        return replace(field, nullable=nullable, enum_type=enum_type, minimum=minimum, maximum=maximum)

    def read_bound(self, section: JsonObject, key: str) -> int | float | None:
        """Return the number under `minimum` or `maximum`; None if it is absent or no number, which is reported."""
        value = section.get(key)
        if isinstance(value, JsonNumber):
            return value.value
        if value is not None:
            self.shape.report_wrong_type(value, f"`{key}`", "a number")
        return None

    def read_typed_field(
        self, section: JsonObject, name: str, type_key: str, types: tuple[str, ...], values_key: str, default_key: str
    ) -> model.EntityField:
        """Read the type, description, values and default of a field, from the keys that are named for these.

        Faults are reported. A missing or unknown type is `json`, and a missing default None.
        """
        example = f'"{type_key}": such as "integer"'
        type_name = self.shape.require_text(section, type_key, "the field", example)
        value = section.get(default_key)
        return model.EntityField(
            name,
            self.read_field_type(type_name, types),
            self.read_string(section, "description"),
            values=self.read_strings(section, values_key, limits.ENUM_VALUES),
            default=plain_value(value) if value is not None else None,
        )

    def read_field_type(self, value: JsonString | None, types: tuple[str, ...]) -> str:
        """Return the name of a type; `json`, which formulas cannot read, for an unknown type, which is reported."""
        if value is None:
            return "json"
        return self.shape.read_choice(value, "field type", types) or "json"

    def find_root(self, entities: list[model.Entity]) -> str:
        """Return the name of the entity whose fields need no prefix; empty if there is none.

        It is the entity that the key `root` names, or else the first with a direct access pattern, or the only one that
        cannot be null. An unknown name at `root` is reported, and returned.
        """
        named = self.shape.read_text(self.document.get("root"), "`root`")
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
        never_null = [entity.name for entity in entities if not entity.nullable]
        return never_null[0] if len(never_null) == 1 else ""

    # --- custom fields

    def add_custom_fields(self, entities: list[model.Entity]) -> list[model.Entity]:
        """Return copies of the entities with their custom fields; those of unknown ones are reported and skipped."""
        by_name = {entity.name: entity for entity in entities}
        for member in self.open_section(self.document, "custom_fields").members:
            name = member.key.value
            if name not in by_name:
                self.shape.problems.report(catalogue.unknown_entity(member.key.span, name, by_name))
                continue
            by_name[name] = replace(by_name[name], custom_fields=tuple(self.read_custom_fields(member)))
        return list(by_name.values())

    def read_custom_fields(self, member: Member) -> Iterator[model.EntityField]:
        """Yield the custom fields of an entity, in their order. Lowers `fields_left` by the number of all of them.

        One without a key, or with the key of an earlier one, is reported and left out; all are, if there are more
        than `fields_left`.
        """
        shape = self.shape
        seen: set[str] = set()
        items = shape.read_list(member.value, "custom fields", self.fields_left)
        self.fields_left -= len(items)
        for item in items:
            section = shape.read_object(item, "a custom field")
            if section is None:
                continue
            shape.report_unknown_keys(section, _CUSTOM_KEYS, "a custom field")
            key = shape.read_name(
                shape.require(section, "field_key", "the custom field", '"field_key"'), "a custom field"
            )
            required = shape.read_boolean(section.get("required"), "`required`")
            field = self.read_typed_field(
                section, key.text if key else "", "field_type", model.CUSTOM_TYPES, "options", "default_value"
            )
            if key is not None and key.text in seen:
                shape.problems.report(catalogue.duplicate_custom_field(item.span, member.key.value, key.text))
            elif key is not None:
                seen.add(key.text)
                yield replace(field, nullable=not required)

    # --- operators and functions

    def read_functions(self) -> tuple[str, ...] | None:
        """Return the names in the section `functions`; None if there is no such section, or it is no object.

        Unknown names are reported, and returned, too.
        """
        shape = self.shape
        section = shape.read_object(self.document.get("functions"), "`functions`", '{"max": {…}}')
        if section is None:
            return None
        for member in section.members:
            shape.read_object(member.value, f"the function `{member.key.value}`", '{"signature": …, "description": …}')
            if member.key.value not in FUNCTIONS:
                shape.problems.report(catalogue.unknown_listed_function(member.key.span, member.key.value, FUNCTIONS))
        return tuple(member.key.value for member in section.members)

    def read_operators(self) -> tuple[str, ...] | None:
        """Return the operators in all groups of the section `operators`; None if it is absent or no object.

        Unknown operators are reported, and returned, too.
        """
        shape = self.shape
        section = shape.read_object(self.document.get("operators"), "`operators`", '{"arithmetic": {"+": …}}')
        if section is None:
            return None
        shape.report_unknown_keys(section, tuple(OPERATORS_BY_KIND), "`operators`")
        known = [name for group in OPERATORS_BY_KIND.values() for name in group]
        listed: list[str] = []
        for member in section.members:
            group = shape.read_object(member.value, f"`{member.key.value}`", '{"+": "Addition"}')
            keys = [operator.key for operator in group.members] if group is not None else []
            listed += [key.value for key in keys]
            for key in keys:
                if key.value not in known:
                    shape.problems.report(catalogue.unknown_listed_operator(key.span, key.value, known))
        return tuple(listed)

    # --- the rest

    def read_records(self, record_type: type[_Record], key: str, noun: str, required: str = "") -> tuple[_Record, ...]:
        """Return a record for each object in the section at `key`; one that is no object is reported and left out.

        The attributes of the record are strings, or lists of strings for the keys in `_LISTS`. A missing `required` key is
        reported.
        """
        records = []
        keys = [attribute.name for attribute in fields(record_type) if attribute.name != "name"]
        for member in self.open_section(self.document, key).members:
            section = self.shape.read_object(member.value, f"{noun} `{member.key.value}`")
            if section is None:
                continue
            self.shape.report_unknown_keys(section, keys, noun)
            if required:
                self.shape.require(section, required, noun, f'"{required}"')
            values: dict[str, Any] = {
                key: self.read_strings(section, key, _LISTS[key]) if key in _LISTS else self.read_string(section, key)
                for key in keys
            }
            records.append(record_type(member.key.value, **values))
        return tuple(records)
