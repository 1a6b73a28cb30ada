"""Reads the values in declarations of fields and parameters: literals of a type, defaults, enum values, paths.

In: JSON values with places. Out: plain values; a wrong value is reported and read as None or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.ir import nodes
from formulaseed.language.check.wording import help_for_quotes
from formulaseed.language.types import Base, Type, Value, fits, is_within, literal_type
from formulaseed.seed.read.shape import Shape
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue


def read_literal(value: JsonValue | None, ty: Type, noun: str, shape: Shape) -> Value:
    """Return a literal of the type `ty`, or None if it is absent or wrong; a wrong one is reported. Null is wrong.

    For the type number the result is a float, and a number beyond the limit of inputs is reported. For the error type
    the result is None.
    """
    literal = shape.read_literal(value, noun)
    if literal is None or ty.is_error:
        return None
    content = literal.value
    if ty.values is not None and isinstance(content, str) and content not in ty.values:
        help = did_you_mean(content, ty.values, noun="values")
        shape.problems.report(catalogue.unknown_value(literal.span, content, help))
        return None
    if content is None or not fits(literal_type(content), ty):
        shape.problems.report(catalogue.wrong_literal(literal.span, noun, ty.noun, help_for_quotes(content, ty)))
        return None
    if ty.base is not Base.NUMBER or not isinstance(content, int | float):
        return content
    if abs(content) > limits.INPUT_MAX:
        shape.problems.report(catalogue.input_out_of_range(literal.span, noun))
        return None
    return float(content)


def read_bounded_default(
    section: JsonObject, ty: Type, shape: Shape
) -> tuple[Value, int | float | None, int | float | None]:
    """Return the default of a field or parameter, its minimum and its maximum, each None if it is absent or wrong.

    Reports bounds of a type without numbers, exchanged bounds, and a default outside the bounds.
    """
    bounds: list[int | float | None] = []
    for key in ("minimum", "maximum"):
        bound = shape.get(section, key)
        if bound is not None and not (ty.is_numeric or ty.is_error):
            shape.problems.report(catalogue.bound_of_no_number(bound.span, key))
        literal = read_literal(bound, ty, f"`{key}`", shape) if ty.is_numeric else None
        bounds.append(literal if isinstance(literal, int | float) else None)
    minimum, maximum = bounds
    written = shape.get(section, "default")
    default = read_literal(written, ty, "`default`", shape)
    if minimum is not None and maximum is not None and minimum > maximum:
        shape.problems.report(catalogue.bounds_exchanged(section.span))
    elif written is not None and isinstance(default, int | float) and not is_within(default, minimum, maximum):
        shape.problems.report(catalogue.default_outside(written.span, default))
    return default, minimum, maximum


def read_enum_values(value: JsonValue | None, shape: Shape) -> tuple[nodes.EnumValue, ...]:
    """Return the values of an enum, each once and not empty; none if they are absent or wrong. Reports every problem.

    An object maps values to descriptions; the values of a list have none. If there are too many, none is returned.
    """
    if value is None:
        return ()
    if isinstance(value, JsonObject):
        pairs = [(item.key, shape.read_string(item.value, "a value's description")) for item in value.members]
    elif isinstance(value, JsonArray):
        texts = [shape.read_text(item, "an enum's value") for item in value.items]
        pairs = [(text, "") for text in texts if text is not None]
        if len(pairs) < len(texts):
            return ()
        read_unique([text for text, _ in pairs], "value", shape.problems)
    else:
        shape.report_wrong_type(value, "`values`", "an object of descriptions or a list", '{"none": "…"} or ["none"]')
        return ()
    if len(pairs) > limits.ENUM_VALUES:
        shape.report_too_many(value.span, "`values`", len(pairs), limits.ENUM_VALUES)
        return ()
    if not pairs:
        shape.problems.report(catalogue.empty_enum(value.span))
    values: dict[str, nodes.EnumValue] = {}
    for text, description in pairs:
        shape.report_spaces(text, "the value")
        if not text.value:
            shape.problems.report(catalogue.empty_enum_value(text.span))
        else:
            values.setdefault(text.value, nodes.EnumValue(text.value, description))
    return tuple(values.values())


def read_path(value: JsonValue | None, shape: Shape) -> tuple[str, ...]:
    """Return the keys that lead to a field's value in the business object; none if `path` is absent or no list.

    Reports anything but a list, keys that are no strings, which are left out, and a path that is empty, too long or has
    an empty key.
    """
    if value is None:
        return ()
    if not isinstance(value, JsonArray):
        example = catalogue.PATH
        if isinstance(value, JsonString):  # such as `attributes.NoiseLevel`
            example = json.dumps(value.value.split("."))
        shape.report_wrong_type(value, "`path`", "a list of keys", example)
        return ()
    keys = [key.value for item in value.items if (key := shape.read_text(item, "a key of `path`")) is not None]
    if len(keys) == len(value.items) and not (0 < len(keys) <= limits.PATH_KEYS and all(keys)):
        shape.problems.report(catalogue.invalid_path(value.span))
    return tuple(keys)


def read_unique(texts: Sequence[JsonString], noun: str, problems: Problems) -> tuple[Named, ...]:
    """Return each string once, as a name with its first place. Reports every repetition as a duplicate `noun`."""
    names: dict[str, Named] = {}
    for text in texts:
        if text.value in names:
            problems.report(catalogue.duplicate(text.span, noun, text.value))
        names.setdefault(text.value, Named(text.span, text.value))
    return tuple(names.values())


def read_evidence(value: JsonValue | None, shape: Shape) -> nodes.EvidenceRule:
    """Return the key `evidence` of a field: "required", True or False. Reports any other, and returns False."""
    if isinstance(value, JsonString) and value.value == "required":
        return "required"
    return shape.read_boolean(value, "`evidence`", 'true, false or "required"')
