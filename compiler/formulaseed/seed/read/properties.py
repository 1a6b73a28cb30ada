"""Reads the properties of a seed, claims such as `[{"increasing": "SCORE", "in": "N_SEVERE"}]` that tests and proofs check.

In: the value of the key `properties`. Out: surface properties; the names in them are not looked up yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.language.types import Type
from formulaseed.seed import surface
from formulaseed.seed.read.conditions import DeclaredNames, lower_conditions
from formulaseed.seed.read.shape import Shape, get_first_character
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonObject, JsonValue

CAUSES = {"increasing": "in", "decreasing": "in", "never_lowers": "review", "never_raises": "review"}
"""The directions of properties, each with the key of what changes: a step that grows, or a review that is added."""
REFUTED_BY = {"increasing": "fall", "decreasing": "rise", "never_lowers": "fall", "never_raises": "rise"}
"""The movement of the number that refutes a property, by direction."""
PROPERTY_KEYS = (*CAUSES, "in", "review")
_EXAMPLE = '{"increasing": "SCORE", "in": "N_SEVERE"}'
_REVIEW_EXAMPLE = '"review": {"extraction.severity": "severe"}'


def read_properties(
    value: JsonValue | None, steps: Sequence[surface.Step], types: Mapping[str, Type], shape: Shape
) -> tuple[surface.Property, ...]:
    """Return the well-formed properties, each once. Reports malformed and repeated ones; names are not looked up.

    Conditions may use the fields and parameters in `types`, by their full names, and the filters among `steps`.
    """
    filters = {step.name.text for step in steps if step.is_filter}
    names = DeclaredNames(types, filters, {step.name.text for step in steps} - filters)
    properties: dict[object, surface.Property] = {}
    for item in shape.read_list(value, "`properties`", limits.PROPERTIES, f"[{_EXAMPLE}]"):
        section = shape.read_object(item, "a property", f"an object such as {_EXAMPLE}")
        claim = _read_property(section, names, shape) if section is not None else None
        if claim is None:
            continue
        key: object = item
        if claim.variable is not None:
            key = (claim.direction, claim.step.text, claim.variable.text)
            if key in properties:
                span = get_first_character(item.span)
                words = f"{claim.step.text} in {claim.variable.text}"
                shape.problems.report(catalogue.duplicate(span, "property", words))
        properties.setdefault(key, claim)
    return tuple(properties.values())


def _read_property(section: JsonObject, names: DeclaredNames, shape: Shape) -> surface.Property | None:
    """Read a property; None, with the problem reported, if it has no step, no cause, or several directions.

    Without a direction, `increasing` is reported as missing.
    """
    directions = [direction for direction in CAUSES if shape.get(section, direction) is not None]
    direction = directions[0] if directions else "increasing"
    cause = CAUSES[direction]
    shape.report_unknown_keys(section, (*CAUSES, cause) if len(directions) == 1 else PROPERTY_KEYS, "a property")
    if len(directions) > 1:
        shape.problems.report(catalogue.several_directions(get_first_character(section.span)))
        return None
    step = _read_name(section, direction, '"increasing": "SCORE", or another direction', shape)
    if cause == "in":
        variable = _read_name(section, "in", '"in": "N_SEVERE"', shape)
        return surface.Property(section.span, direction, step, variable) if step and variable else None
    value = shape.require(section, "review", "the property", _REVIEW_EXAMPLE)
    conditions = lower_conditions(value, "`review`", names, shape) if value is not None else None
    if step is None or conditions is None:
        return None
    return surface.Property(section.span, direction, step, None, surface.join_conjuncts(conditions))


def _read_name(section: JsonObject, key: str, example: str, shape: Shape) -> Named | None:
    """Read the name of a step; None, with the problem reported, if it is missing or no string."""
    text = shape.require_text(section, key, "the property", example)
    return Named(text.span, text.value) if text is not None else None
