"""The restaurant's own reference: Yelp's fields as every seed knows them and, of a seed, what it declares besides.

Entities are the namespaces of formulas in seeds; `context`, the restaurant, is the root.
"""

from __future__ import annotations

from formulaseed.ir import nodes
from formulaseed.language.types import Base, Type, Value
from formulaseed.reference.model import Entity, EntityField, Example, Reference, SyntaxPattern
from formulaseed.seed import standard_fields

_TYPES = {Base.INTEGER: "integer", Base.NUMBER: "float", Base.BOOLEAN: "boolean", Base.STRING: "string"}
_DESCRIPTION = "What formulas over a restaurant and its reviews may say: fields, operators, functions and syntax."
_EXAMPLES = (
    Example("rating_gap", "5 - stars", "Stars that the restaurant lacks", "Simple arithmetic"),
    Example("popularity", "log(max(review_count, 1))", "Number of reviews on a logarithmic scale", "Damped counts"),
    Example("bounded_rating", "clamp(stars * 2, 0, 10)", "The rating on a scale of ten", "Bounded values"),
    Example("thai_bonus", "1 if 'Thai' in categories else 0", "A point for a Thai restaurant", "Conditional bonuses"),
    Example("review_weight", "meta.useful + 1 if meta.stars < 3 else 1", "Weight of one review", "Fields of a review"),
)
_PATTERNS = (
    SyntaxPattern("arithmetic", "operand operator operand", "Numbers", ("stars * 2", "5 - meta.stars")),
    SyntaxPattern("comparison", "value operator value", "True or false", ("stars >= 4", "city == 'Philadelphia'")),
    SyntaxPattern("field_access", "entity.field_name", "A field of an entity", ("context.stars", "meta.useful")),
    SyntaxPattern(
        "ternary", "value_if_true if condition else value_if_false", "One of two values", ("1 if is_open == 1 else 0",)
    ),
)


def restaurant_reference(program: nodes.Program | None = None) -> Reference:
    """The reference of the restaurant domain; of a checked seed, with its fields and parameters."""
    context = {
        name: (ty, standard_fields.DESCRIPTIONS[f"context.{name}"]) for name, ty in standard_fields.CONTEXT.items()
    }
    meta = {name: (ty, standard_fields.DESCRIPTIONS[f"meta.{name}"]) for name, ty in standard_fields.META.items()}
    entities = []
    description = _DESCRIPTION
    if program is not None:
        context |= {f.name: (f.ty, f.description or context.get(f.name, (f.ty, ""))[1]) for f in program.context}
        meta |= {f.name: (f.ty, f.description or meta.get(f.name, (f.ty, ""))[1]) for f in program.meta}
        entities = [
            Entity("extraction", "What was extracted from the review", fields=tuple(map(_extracted, program.fields))),
            Entity("param", "Values given at evaluation", fields=tuple(map(_parameter, program.parameters))),
        ]
        description = f"{_DESCRIPTION[:-1]}; with the fields of the seed {program.task_name}."
    return Reference(
        entities=(
            Entity("context", "The restaurant (root context)", fields=_fields(context)),
            Entity("meta", "The metadata of one review", fields=_fields(meta)),
            *(entity for entity in entities if entity.fields),
        ),
        root="context",
        description=description,
        patterns=_PATTERNS,
        examples=_EXAMPLES,
    )


def _fields(known: dict[str, tuple[Type, str]]) -> tuple[EntityField, ...]:
    return tuple(_field(name, ty, description) for name, (ty, description) in known.items())


def _field(name: str, ty: Type, description: str, default: Value = None) -> EntityField:
    kind = "enum" if ty.values is not None else _TYPES[ty.base]
    return EntityField(
        name, kind, description, ty.nullable, values=ty.values or (), has_default=default is not None, default=default
    )


def _extracted(field: nodes.ExtractionField) -> EntityField:
    return _field(field.name, field.ty, field.description, field.default)


def _parameter(parameter: nodes.Parameter) -> EntityField:
    return _field(parameter.name, parameter.ty, parameter.description, parameter.default)
