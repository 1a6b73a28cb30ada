"""The restaurant's own reference: Yelp's fields as every seed knows them and, of a seed, what it declares besides.

Entities are the namespaces of formulas in seeds; `context`, the restaurant, is the root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formulaseed.ir import nodes
from formulaseed.language.types import Base, Type, Value
from formulaseed.reference.model import Entity, Example, Field, Reference, SyntaxPattern
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


def restaurant_reference(program: nodes.Program | None = None) -> Reference:
    """The reference of the restaurant domain; of a checked seed, with its fields and parameters."""
    entities, description = [], _DESCRIPTION
    context, meta = (program.context, program.meta) if program is not None else ((), ())
    if program is not None:
        entities = [
            Entity("extraction", "What was extracted from the review", fields=tuple(map(_declared, program.fields))),
            Entity("param", "Values given at evaluation", fields=tuple(map(_declared, program.parameters))),
        ]
        description = f"{_DESCRIPTION[:-1]}; with the fields of the seed {program.task_name}."
    return Reference(
        entities=(
            _standard("context", "The restaurant (root context)", standard_fields.CONTEXT, context),
            _standard("meta", "The metadata of one review", standard_fields.META, meta),
            *(entity for entity in entities if entity.fields),
        ),
        root="context",
        description=description,
        patterns=_PATTERNS,
        examples=_EXAMPLES,
    )


def _standard(name: str, about: str, standard: Mapping[str, Type], declared: Sequence[nodes.InputField]) -> Entity:
    """Yelp's fields, and those that a seed declares: others, or of its own types."""
    known = {field: (ty, standard_fields.DESCRIPTIONS[f"{name}.{field}"]) for field, ty in standard.items()}
    known |= {f.name: (f.ty, f.description or known.get(f.name, (f.ty, ""))[1]) for f in declared}
    return Entity(name, about, fields=tuple(_field(field, ty, said) for field, (ty, said) in known.items()))


def _field(name: str, ty: Type, description: str, default: Value = None) -> Field:
    kind = "enum" if ty.values is not None else _TYPES[ty.base]
    return Field(name, kind, description, ty.nullable, values=ty.values or (), default=default)


def _declared(field: nodes.ExtractionField | nodes.Parameter) -> Field:
    return _field(field.name, field.ty, field.description, field.default)
