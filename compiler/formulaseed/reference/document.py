"""Build the published JSON of a reference, in the schema of formula references, and find its next version.

In: a `Reference`. Out: plain values, and their text. Operators and functions come from the table of the language; what
the reference leaves open (patterns, examples, notes, what an entity's absence means) is filled in from its fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from formulaseed.language import functions, operators
from formulaseed.reference.defaults import build_default_examples, build_default_notes, build_default_patterns
from formulaseed.reference.model import CUSTOM, Entity, EntityField, EnumType, Example, Reference, SyntaxPattern

PREFIX_NOTE = "; only with its prefix: "
"""The text before the root's fields that need its prefix, because their names alone mean something else."""


def build_document(reference: Reference) -> dict[str, Any]:
    """Return the published document: plain values, the root entity first, its keys in the order of the schema.

    If the reference has no patterns, examples or notes, the document gets default ones made from its fields.
    """
    entities = sorted(reference.entities, key=lambda entity: entity.name != reference.root)
    patterns = reference.patterns or build_default_patterns(reference)
    examples = reference.examples or build_default_examples(reference)
    return {
        "version": reference.version,
        **({"generated_at": reference.generated_at} if reference.generated_at else {}),
        "description": reference.description or "What formulas may say: fields, operators, functions and syntax.",
        "entities": {entity.name: _entity_json(entity, reference) for entity in entities},
        "custom_fields": {
            entity.name: [_custom_field_json(field, entity) for field in entity.custom_fields]
            for entity in entities
            if entity.custom_fields
        },
        "enums": {enum.name: _record_json(_add_usage(enum, reference)) for enum in collect_enums(reference)},
        "operators": _operators_json(reference),
        "functions": {name: _function_json(function) for name, function in reference.available_functions.items()},
        "syntax_patterns": {entry.name: _record_json(entry) for entry in patterns},
        "examples": {entry.name: _record_json(entry) for entry in examples},
        "notes": dict(reference.notes or build_default_notes(reference)),
    }


def list_fields(document: dict[str, Any], entity: str) -> Iterator[dict[str, Any]]:
    """Yield the published fields of an entity, then its custom fields with their keys renamed to those of fields."""
    yield from document["entities"][entity]["fields"].values()
    for custom in document["custom_fields"].get(entity, ()):
        yield {
            "example": custom["access_pattern"],
            "type": custom["field_type"],
            "nullable": not custom["required"],
            "description": custom["description"],
            "values": custom.get("options"),
        }


def format_line(text: str) -> str:
    """Return the text on one line, with a space for each run of white space and unprintable characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def format_document(document: dict[str, Any]) -> str:
    """Return the document as the JSON text that is written to a file."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def collect_enums(reference: Reference) -> list[EnumType]:
    """Return the reference's enums, then those that only its fields name, with the values of the first such field."""
    enums = {enum.name: enum for enum in reference.enums}
    for entity in reference.entities:
        for field in entity.fields:
            if field.enum_type and field.values and field.enum_type not in enums:
                enums[field.enum_type] = EnumType(field.enum_type, f"Values of {field.enum_type}", field.values)
    return list(enums.values())


def describe_access(entity: Entity, reference: Reference) -> str:
    """Return how formulas write an entity's fields: with its prefix, or directly for the root."""
    if entity.name != reference.root:
        return f"{entity.name}.field_name"
    pattern = "Direct field access"
    full_names = (f"{entity.name}.{field.name}" for field in entity.fields)
    direct = next((name for name in full_names if name not in reference.hidden_fields), None)
    if direct is not None:
        pattern += f" (e.g., {direct} or just {reference.short_name(direct)})"
    if reference.hidden_fields:
        pattern += PREFIX_NOTE + ", ".join(reference.hidden_fields)
    return pattern


def _entity_json(entity: Entity, reference: Reference) -> dict[str, Any]:
    """Return the JSON of an entity without its custom fields. A nullable one without a note gets a default note."""
    note = entity.note
    if not note and entity.nullable:
        note = f"There may be no {entity.name}: then all its fields are null"
    return _drop_none(
        description=entity.description,
        access_pattern=describe_access(entity, reference),
        nullable=entity.nullable,
        note=note or None,
        fields={field.name: _field_json(field, entity) for field in entity.fields},
    )


def _field_json(field: EntityField, entity: Entity) -> dict[str, Any]:
    """Return the JSON of a field, with its full name as the example; keys without a value are left out."""
    return _drop_none(
        type=field.type,
        description=field.description,
        nullable=field.nullable,
        example=f"{entity.name}.{field.name}",
        enum_type=field.enum_type or None,
        values=list(field.values) or None,
        default=field.default,
        minimum=field.minimum,
        maximum=field.maximum,
    )


def _custom_field_json(field: EntityField, entity: Entity) -> dict[str, Any]:
    """Return the JSON of a custom field, which has keys of its own; keys without a value are left out."""
    return _drop_none(
        field_key=field.name,
        field_type=field.type,
        description=field.description,
        access_pattern=f"{entity.name}.{CUSTOM}.{field.name}",
        required=not field.nullable,
        options=list(field.values) or None,
        default_value=field.default,
    )


def _drop_none(**keys: Any) -> dict[str, Any]:
    """Return the keys whose value is not None."""
    return {key: value for key, value in keys.items() if value is not None}


def _record_json(entry: EnumType | SyntaxPattern | Example) -> dict[str, Any]:
    """Return an entry of a section without its name, which is its key in the section, and without an empty usage."""
    record = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(entry).items()}
    return {key: value for key, value in record.items() if key != "name" and (value or key != "usage")}


def _add_usage(enum: EnumType, reference: Reference) -> EnumType:
    """Return a copy of the enum; an empty `usage` lists the fields that have its type."""
    places = [f"{e.name}.{f.name}" for e in reference.entities for f in e.fields if f.enum_type == enum.name]
    if enum.usage or not places:
        return enum
    noun = "fields" if len(places) > 1 else "field"
    return replace(enum, usage=f"Used in {' and '.join(places)} {noun}")


def _operators_json(reference: Reference) -> dict[str, dict[str, str]]:
    """Return the operators that formulas may use, by kind, each with its description; a kind without any is left out."""
    if reference.operators is None:
        return {kind: dict(group) for kind, group in operators.OPERATORS_BY_KIND.items()}
    groups: dict[str, dict[str, str]] = {}
    for kind, group in operators.OPERATORS_BY_KIND.items():
        allowed = {name: meaning for name, meaning in group.items() if name in reference.operators}
        if allowed:
            groups[kind] = allowed
    return groups


def _function_json(function: functions.Function) -> dict[str, str]:
    """Return the JSON of a function: its signature, description, example, and the type that it returns."""
    entry = {key: getattr(function, key) for key in ("signature", "description", "example")}
    return {**entry, "returns": "float" if function.returns == "number" else function.returns}


# --- the next version of a reference, by the kind of its change

VersionPart = Literal["none", "patch", "minor", "major"]
Facts = dict[tuple[str, str], str]
"""Facts that formulas rely on: a kind such as `field` and a name, with the type, or an empty string if it has none."""
_UNVERSIONED_KEYS = {"version", "generated_at"}
_MAX_LISTED_REASONS = 4


@dataclass(frozen=True, slots=True)
class ReferenceChange:
    """The kind of change from one reference to another, which is the part of the version that it raises, with its reasons."""

    kind: VersionPart
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the kind with the first `_MAX_LISTED_REASONS` reasons, and the number of the others."""
        if not self.reasons:
            return self.kind
        text = f"{self.kind}: {', '.join(self.reasons[:_MAX_LISTED_REASONS])}"
        rest = len(self.reasons) - _MAX_LISTED_REASONS
        return f"{text} and {rest} more" if rest > 0 else text


def compare_references(
    before: Reference, written: dict[str, Any], after: Reference, document: dict[str, Any]
) -> ReferenceChange:
    """Return the change from the reference `before`, as `written` in its file, to `after` with its `document`.

    It is major if it can break a formula: something is gone, has another type, or may now be null. It is minor if
    something is new, a patch if anything else differs, such as a description, and `none` if nothing does.
    """
    old = _collect_facts(
        before, written.get("functions", functions.FUNCTIONS), written.get("operators", operators.OPERATORS_BY_KIND)
    )
    new = _collect_facts(after, document["functions"], document["operators"])
    hidden = [name for name in after.hidden_fields if name in before.types and name not in before.hidden_fields]
    major = [*_find_breaking_changes(old, new), *(f"{name} needs its prefix" for name in hidden)]
    if major:
        return ReferenceChange("major", tuple(sorted(major)))
    minor = [f"{name} added" for _, name in new.keys() - old.keys()]
    minor += _find_changed_facts(old, new).values()
    if minor:
        return ReferenceChange("minor", tuple(sorted(minor)))
    keys = (document.keys() | written.keys()) - _UNVERSIONED_KEYS
    reworded = sorted(key for key in keys if document.get(key) != written.get(key))
    return ReferenceChange("patch" if reworded else "none", tuple(f"{key} reworded" for key in reworded))


def _find_changed_facts(old: Facts, new: Facts) -> dict[tuple[str, str], str]:
    """Return a sentence about each fact that is in both, with another type."""
    return {key: f"{key[1]} is {new[key]}, was {old[key]}" for key in old.keys() & new.keys() if old[key] != new[key]}


def _find_breaking_changes(old: Facts, new: Facts) -> Iterator[str]:
    """Yield a sentence about each fact that is gone or has changed, unless it only can no longer be null."""
    yield from (f"{name} removed" for _, name in old.keys() - new.keys())
    for key, reason in _find_changed_facts(old, new).items():
        if new[key] != old[key].removesuffix(" or null"):
            yield reason


def next_version(version: str, kind: VersionPart) -> str:
    """Return the version that follows a change of this kind; the same one for `none`.

    Raises `ValueError` if `version` is not three integers with dots.
    """
    major, minor, patch = map(int, version.split("."))
    if kind == "major":
        return f"{major + 1}.0.0"
    if kind == "minor":
        return f"{major}.{minor + 1}.0"
    if kind == "patch":
        return f"{major}.{minor}.{patch + 1}"
    return version


def _collect_facts(reference: Reference, functions: Iterable[str], operators: Mapping[str, Iterable[str]]) -> Facts:
    """Return the facts that formulas rely on: entities, functions, operators, the root, fields and values of enums."""
    facts: Facts = {("entity", entity.name): "" for entity in reference.entities}
    facts |= {("function", name): "" for name in functions}
    facts |= {("operator", symbol): "" for group in operators.values() for symbol in group}
    if reference.root:
        facts["root", f"direct access to {reference.root}"] = ""
    for name, ty in reference.types.items():
        if ty is None:
            facts["field", name] = "unreadable"
            continue
        base = ty.base.value if ty.values is None else f"enum {ty.base.value}"
        facts["field", name] = f"{base} or null" if ty.nullable else base
        for value in ty.values or ():
            facts["value", f"{name} value {value!r}"] = ""
    return facts
