"""Reads the properties of a seed, claims such as `[{"increasing": "SCORE", "in": "N_SEVERE"}]` that generated tests check.

In: the value of the key `properties`. Out: surface properties; the names in them are not looked up yet.
"""

from __future__ import annotations

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.seed import surface
from formulaseed.seed.read.shape import Shape, get_first_character
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonObject, JsonValue

DIRECTIONS = ("increasing", "decreasing")
PROPERTY_KEYS = (*DIRECTIONS, "in")
_EXAMPLE = '{"increasing": "SCORE", "in": "N_SEVERE"}'


def read_properties(value: JsonValue | None, shape: Shape) -> tuple[surface.Property, ...]:
    """Return the well-formed properties, each once. Reports malformed and repeated ones; names are not looked up."""
    properties: dict[tuple[str, str, str], surface.Property] = {}
    for item in shape.read_list(value, "`properties`", limits.PROPERTIES, f"[{_EXAMPLE}]"):
        section = shape.read_object(item, "a property", f"an object such as {_EXAMPLE}")
        if section is None:
            continue
        claim = _read_property(section, shape)
        if claim is None:
            continue
        key = (claim.direction, claim.step.text, claim.variable.text)
        if key in properties:
            span = get_first_character(item.span)
            shape.problems.report(catalogue.duplicate(span, "property", f"{claim.step.text} in {claim.variable.text}"))
        properties.setdefault(key, claim)
    return tuple(properties.values())


def _read_property(section: JsonObject, shape: Shape) -> surface.Property | None:
    """Read a property; None, with the problem reported, if it has no step, no `in`, or both directions.

    Without a direction, `increasing` is reported as missing.
    """
    shape.report_unknown_keys(section, PROPERTY_KEYS, "a property")
    directions = [direction for direction in DIRECTIONS if shape.get(section, direction) is not None]
    if len(directions) > 1:
        shape.problems.report(catalogue.two_directions(get_first_character(section.span)))
    direction = directions[0] if directions else DIRECTIONS[0]
    step = _read_name(section, direction, '"increasing": "SCORE", or "decreasing"', shape)
    variable = _read_name(section, "in", '"in": "N_SEVERE"', shape)
    if step is None or variable is None or len(directions) > 1:
        return None
    return surface.Property(direction, step, variable)


def _read_name(section: JsonObject, key: str, example: str, shape: Shape) -> Named | None:
    """Read the name of a step; None, with the problem reported, if it is missing or no string."""
    text = shape.require_text(section, key, "the property", example)
    return Named(text.span, text.value) if text is not None else None
