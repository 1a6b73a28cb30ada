"""A reference as the JSON that is published: the schema of formula references, keys in its order.

In: a `Reference`. Out: plain values, and their text. Operators and functions come from the table of the language; what
the reference leaves open (patterns, notes, what an entity's absence means) is filled in from its fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from formulaseed.language import functions, operators
from formulaseed.reference.defaults import default_examples, default_notes, default_patterns
from formulaseed.reference.model import CUSTOM, Entity, EnumType, Example, Field, Reference, SyntaxPattern

_RETURNS = {"number": "float"}
PREFIXED = "; only with its prefix: "
"""What is put before the fields of the root whose names alone mean something else."""


def reference_json(reference: Reference) -> dict[str, Any]:
    """The whole document."""
    entities = sorted(reference.entities, key=lambda entity: entity.name != reference.root)
    return {
        "version": reference.version,
        **({"generated_at": reference.generated_at} if reference.generated_at else {}),
        "description": reference.description or "What formulas may say: fields, operators, functions and syntax.",
        "entities": {entity.name: _entity(entity, reference) for entity in entities},
        "custom_fields": {
            entity.name: [_custom_field(field, entity) for field in entity.custom_fields]
            for entity in entities
            if entity.custom_fields
        },
        "enums": {enum.name: _record(_with_usage(enum, reference)) for enum in all_enums(reference)},
        "operators": operators_by_kind(),
        "functions": {function.name: _function(function) for function in functions.FUNCTIONS.values()},
        "syntax_patterns": {each.name: _record(each) for each in reference.patterns or default_patterns(reference)},
        "examples": {each.name: _record(each) for each in reference.examples or default_examples(reference)},
        "notes": dict(reference.notes or default_notes(reference)),
    }


def listed_fields(document: dict[str, Any], entity: str) -> Iterator[tuple[dict[str, Any], bool]]:
    """The published fields of an entity, with whether they are custom ones, which get the keys of the others."""
    yield from ((field, False) for field in document["entities"][entity]["fields"].values())
    for custom in document["custom_fields"].get(entity, ()):
        renamed = {
            "example": custom["access_pattern"],
            "type": custom["field_type"],
            "nullable": not custom["required"],
        }
        yield {**renamed, "description": custom["description"], "values": custom.get("options")}, True


def line_of(text: str) -> str:
    """The text on one line, with nothing in it that cannot be seen."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def document_text(document: dict[str, Any]) -> str:
    """The document as it is written to a file."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def operators_by_kind() -> dict[str, dict[str, str]]:
    """The operators by kind, each with what it means."""
    return {
        "arithmetic": {operator.name: operator.description for operator in operators.OPERATORS.values()},
        "comparison": {**operators.ORDERING, **operators.MEMBERSHIP},
        "logical": dict(operators.LOGICAL),
    }


def all_enums(reference: Reference) -> list[EnumType]:
    """The reference's enums, with those that only its fields name."""
    enums = {enum.name: enum for enum in reference.enums}
    for entity in reference.entities:
        for field in entity.fields:
            if field.enum_type and field.values and field.enum_type not in enums:
                enums[field.enum_type] = EnumType(field.enum_type, f"Values of {field.enum_type}", field.values)
    return list(enums.values())


def access_pattern(entity: Entity, reference: Reference) -> str:
    """How formulas reach an entity's fields."""
    if entity.name != reference.root:
        return f"{entity.name}.field_name"
    full = (f"{entity.name}.{field.name}" for field in entity.fields)
    direct = next((name for name in full if name not in reference.hidden), "")
    shown = f" (e.g., {direct} or just {reference.spelled(direct)})" if direct else ""
    return f"Direct field access{shown}{PREFIXED + ', '.join(reference.hidden) if reference.hidden else ''}"


def _entity(entity: Entity, reference: Reference) -> dict[str, Any]:
    absent = f"There may be no {entity.name}: then all its fields are null" if entity.nullable else ""
    return _without_none(
        description=entity.description,
        access_pattern=access_pattern(entity, reference),
        nullable=entity.nullable,
        note=entity.note or absent or None,
        fields={field.name: _field(field, entity) for field in entity.fields},
    )


def _field(field: Field, entity: Entity) -> dict[str, Any]:
    return _without_none(
        type=field.type,
        description=field.description,
        nullable=field.nullable,
        example=f"{entity.name}.{field.name}",
        enum_type=field.enum_type or None,
        values=list(field.values) or None,
        default=field.default,
    )


def _custom_field(field: Field, entity: Entity) -> dict[str, Any]:
    return _without_none(
        field_key=field.name,
        field_type=field.type,
        description=field.description,
        access_pattern=f"{entity.name}.{CUSTOM}.{field.name}",
        required=not field.nullable,
        options=list(field.values) or None,
        default_value=field.default,
    )


def _without_none(**keys: Any) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value is not None}


def _record(found: EnumType | SyntaxPattern | Example) -> dict[str, Any]:
    """What a section says of one of its entries, under the entry's name."""
    said = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(found).items()}
    return {key: value for key, value in said.items() if key != "name" and (value or key != "usage")}


def _with_usage(enum: EnumType, reference: Reference) -> EnumType:
    places = [f"{e.name}.{f.name}" for e in reference.entities for f in e.fields if f.enum_type == enum.name]
    used = f"Used in {' and '.join(places)} field{'s' if len(places) > 1 else ''}" if places else ""
    return replace(enum, usage=enum.usage or used)


def _function(function: functions.Function) -> dict[str, str]:
    said = {key: getattr(function, key) for key in ("signature", "description", "example")}
    return {**said, "returns": _RETURNS.get(function.returns, function.returns)}
