"""A reference as the JSON that is published: the schema of formula references, keys in its order.

In: a `Reference`. Out: plain values, and their text. Operators and functions come from the table of the language; what
the reference leaves open (patterns, notes, what an entity's absence means) is filled in from its fields.
"""

from __future__ import annotations

import json
from typing import Any

from formulaseed.language import functions, operators
from formulaseed.reference.defaults import default_examples, default_notes, default_patterns
from formulaseed.reference.model import CUSTOM, CustomField, Entity, EntityField, EnumType, Reference

_RETURNS = {"number": "float"}
PREFIXED = "; only with its prefix: "
"""What is put before the fields of the root whose names alone mean something else."""


def reference_json(reference: Reference) -> dict[str, Any]:
    """The whole document."""
    return {
        "version": reference.version,
        **({"generated_at": reference.generated_at} if reference.generated_at else {}),
        "description": reference.description or "What formulas may say: fields, operators, functions and syntax.",
        "entities": {entity.name: _entity(entity, reference) for entity in _root_first(reference)},
        "custom_fields": {
            entity.name: [_custom_field(field, entity) for field in entity.custom_fields]
            for entity in _root_first(reference)
            if entity.custom_fields
        },
        "enums": {enum.name: _enum(enum, reference) for enum in all_enums(reference)},
        "operators": operators_by_kind(),
        "functions": {function.name: _function(function) for function in functions.FUNCTIONS.values()},
        "syntax_patterns": {
            pattern.name: {
                "syntax": pattern.syntax,
                "description": pattern.description,
                "examples": list(pattern.examples),
            }
            for pattern in reference.patterns or default_patterns(reference)
        },
        "examples": {
            example.name: {
                "formula": example.formula,
                "description": example.description,
                "use_case": example.use_case,
            }
            for example in reference.examples or default_examples(reference)
        },
        "notes": dict(reference.notes or default_notes(reference)),
    }


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
                enums[field.enum_type] = EnumType(field.enum_type, field.values, f"Values of {field.enum_type}")
    return list(enums.values())


def access_pattern(entity: Entity, reference: Reference) -> str:
    """How formulas reach an entity's fields."""
    if entity.name != reference.root:
        return f"{entity.name}.field_name"
    full = [f"{entity.name}.{field.name}" for field in entity.fields]
    shown = next(
        (f" (e.g., {name} or just {reference.spelled(name)})" for name in full if name not in reference.hidden), ""
    )
    return f"Direct field access{shown}{PREFIXED + ', '.join(reference.hidden) if reference.hidden else ''}"


def returned(function: functions.Function) -> str:
    """What a function gives, in the words of references."""
    return _RETURNS.get(function.returns, function.returns)


def _root_first(reference: Reference) -> list[Entity]:
    return sorted(reference.entities, key=lambda entity: entity.name != reference.root)


def _entity(entity: Entity, reference: Reference) -> dict[str, Any]:
    note = entity.note
    if not note and entity.nullable:
        note = f"There may be no {entity.name}: then all its fields are null"
    return {
        "description": entity.description,
        "access_pattern": access_pattern(entity, reference),
        "nullable": entity.nullable,
        **({"note": note} if note else {}),
        "fields": {field.name: _field(field, entity) for field in entity.fields},
    }


def _field(field: EntityField, entity: Entity) -> dict[str, Any]:
    return {
        "type": field.type,
        "description": field.description,
        "nullable": field.nullable,
        "example": f"{entity.name}.{field.name}",
        **({"enum_type": field.enum_type} if field.enum_type else {}),
        **({"values": list(field.values)} if field.values else {}),
        **({"default": field.default} if field.has_default else {}),
    }


def _custom_field(field: CustomField, entity: Entity) -> dict[str, Any]:
    return {
        "field_key": field.key,
        "field_type": field.type,
        "description": field.description,
        "access_pattern": f"{entity.name}.{CUSTOM}.{field.key}",
        "required": field.required,
        **({"options": list(field.options)} if field.options else {}),
        **({"default_value": field.default} if field.has_default else {}),
    }


def _enum(enum: EnumType, reference: Reference) -> dict[str, Any]:
    places = [f"{e.name}.{f.name}" for e in reference.entities for f in e.fields if f.enum_type == enum.name]
    used = f"Used in {' and '.join(places)} field{'s' if len(places) > 1 else ''}" if places else ""
    usage = enum.usage or used
    return {"description": enum.description, "values": list(enum.values), **({"usage": usage} if usage else {})}


def _function(function: functions.Function) -> dict[str, str]:
    return {
        "signature": function.signature,
        "description": function.description,
        "example": function.example,
        "returns": returned(function),
    }
