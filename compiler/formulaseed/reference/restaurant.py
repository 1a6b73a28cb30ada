"""Build the reference of the restaurant domain: Yelp's fields and, for a seed, also the fields that it declares.

Entities are the namespaces of formulas in seeds; `context`, the restaurant, is the root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
_CHOICE = "value_if_true if condition else value_if_false"
_PATTERNS = (
    SyntaxPattern("arithmetic", "operand operator operand", "Numbers", ("stars * 2", "5 - meta.stars")),
    SyntaxPattern("comparison", "value operator value", "True or false", ("stars >= 4", "city == 'Philadelphia'")),
    SyntaxPattern("field_access", "entity.field_name", "A field of an entity", ("context.stars", "meta.useful")),
    SyntaxPattern("ternary", _CHOICE, "One of two values", ("1 if is_open == 1 else 0",)),
)


def build_restaurant_reference(program: nodes.Program | None = None) -> Reference:
    """Return the reference of the restaurant domain; with a `program`, a checked seed, also what the seed declares.

    These are fields, parameters, and further inputs of `context` and `meta`. A seed without fields or parameters adds no
    entity for these.
    """
    entities: list[Entity] = []
    description = _DESCRIPTION
    context: Sequence[nodes.InputField] = ()
    meta: Sequence[nodes.InputField] = ()
    if program is not None:
        context = program.context
        meta = program.meta
        entities = [
            Entity(
                "extraction", "What was extracted from the review", fields=tuple(map(_convert_declared, program.fields))
            ),
            Entity("param", "Values given at evaluation", fields=tuple(map(_convert_declared, program.parameters))),
        ]
        description = f"{_DESCRIPTION[:-1]}; with the fields of the seed {program.task_name}."
    return Reference(
        entities=(
            _build_standard_entity("context", "The restaurant (root context)", standard_fields.CONTEXT, context),
            _build_standard_entity("meta", "The metadata of one review", standard_fields.META, meta),
            *(entity for entity in entities if entity.fields),
        ),
        root="context",
        description=description,
        patterns=_PATTERNS,
        examples=_EXAMPLES,
    )


def _build_standard_entity(
    name: str, about: str, standard: Mapping[str, Type], declared: Sequence[nodes.InputField]
) -> Entity:
    """Return an entity with Yelp's fields, and those that a seed declares, which may replace the types of Yelp's."""
    known = {field: (ty, standard_fields.DESCRIPTIONS[f"{name}.{field}"]) for field, ty in standard.items()}
    known |= {f.name: (f.ty, f.description or known.get(f.name, (f.ty, ""))[1]) for f in declared}
    fields = tuple(_build_field(field, ty, description) for field, (ty, description) in known.items())
    return Entity(name, about, fields=fields)


def _build_field(name: str, ty: Type, description: str, default: Value = None) -> EntityField:
    """Return a field of a type; one with values is an enum."""
    kind = "enum" if ty.values is not None else _TYPES[ty.base]
    return EntityField(name, kind, description, ty.nullable, values=ty.values or (), default=default)


def _convert_declared(field: nodes.ExtractionField | nodes.Parameter) -> EntityField:
    """Return a field or parameter of a seed as a field of an entity."""
    return _build_field(field.name, field.ty, field.description, field.default)
