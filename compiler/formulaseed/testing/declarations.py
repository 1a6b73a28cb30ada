"""Generates the declarations of random seeds: fields, inputs and parameters, with the variables that formulas may use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from formulaseed.seed import standard_fields
from formulaseed.seed.read.steps import ADVERSE
from formulaseed.testing.formulas import Chooser, Variable
from formulaseed.testing.scalars import SHORT_STRINGS, STRINGS, integers, numbers

JsonObject = dict[str, Any]

HOSTILE_NAMES = (
    "a", "n_mild", "A_2", "a_candidate", "class", "lambda", "match", "print", "int", "str", "max", "log", "sum", "len",
    "rows", "row", "Row", "context", "Context", "parameters", "PARAMETERS", "math", "position", "counted", "steps", "Steps",
    "_", "__x", "_finite", "_divide", "index", "count", "extraction", "meta", "param", "Literal", "TASK_NAME", "A_TABLE",
    "trace", "self", "value", "field", "type", "float", "bool", "stars", "text", "Result", "_LARGEST", "keyword",
)  # fmt: skip
"""Names that Python or a generated module uses."""
_FIELD_NAMES = ("severity", "kind", "amount", "flag", "note", "stars", "useful", "year", "name", "meta_stars", "city")
_ENUM_VALUES = st.lists(SHORT_STRINGS.filter(bool), min_size=1, max_size=4, unique=True)
_PATHS = (
    ["attributes", "NoiseLevel"], ["attributes", "Ambience", "casual"], ["hours", "Monday"], ["it's", "{x}"], ["a"],
)  # fmt: skip
_STANDARD_FIELDS = {
    "meta": (standard_fields.META, ("stars", "useful", "year", "month", "date")),
    "context": (standard_fields.CONTEXT, ("categories", "city", "stars", "review_count")),
}
_HOSTILE_WORDS = (
    '"""',
    "'",
    "\\",
    "# type: ignore",
    "noqa",
    "fmt: off",
    "-*- coding: x -*-",
    "{{ x }}",
    "</script>",
    "a | b",
    "%(x)s",
)
_WORDS = st.one_of(
    st.sampled_from(_HOSTILE_WORDS), SHORT_STRINGS.map(str.strip).filter(lambda text: bool(text) and text.isprintable())
)
SOURCES = st.lists(STRINGS, max_size=3)
_FIELD_TYPES = ("enum", "integer", "number", "boolean", "string")
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "integer": integers(), "number": numbers(), "boolean": st.booleans(), "string": SHORT_STRINGS,
}  # fmt: skip


def choose_distinct(chooser: Chooser, names: Sequence[str], minimum: int, maximum: int) -> list[str]:
    """Draw from `minimum` to `maximum` different names, in random order."""
    return chooser.draw(st.lists(st.sampled_from(names), min_size=minimum, max_size=maximum, unique=True))


def declare_fields(chooser: Chooser, space: str) -> tuple[list[JsonObject], list[Variable]]:
    """Draw fields that a seed declares in "extraction", "meta" or "context"; return them and all variables there.

    The variables are those of the fields and of the standard fields. A declared field may be a nullable standard field.
    There is at least one field in "extraction", elsewhere there may be none.
    """
    types, standard_names = _STANDARD_FIELDS.get(space, ({}, ()))
    min_count = int(space == "extraction")
    fields: list[JsonObject] = []
    variables: list[Variable] = []
    for name in choose_distinct(chooser, _FIELD_NAMES + HOSTILE_NAMES, min_count, min_count + 2):
        kind = types[name].base.value if name in types else chooser.choose(_FIELD_TYPES)
        field = _declare_field(chooser, space, name, kind, may_have_path=space == "context" and name not in types)
        fields.append(field)
        values = tuple(field["values"]) if kind == "enum" else None
        type_name = "string" if values else kind
        variables.append(Variable(f"{space}.{name}", type_name, values, nullable="nullable" in field))
    declared = {variable.text for variable in variables}
    standard = [Variable(f"{space}.{name}", types[name].base.value) for name in standard_names]
    return fields, [*variables, *(variable for variable in standard if variable.text not in declared)]


def _declare_field(chooser: Chooser, space: str, name: str, kind: str, *, may_have_path: bool) -> JsonObject:
    """Draw the declaration of a field of the type `kind`; it gets a `path` in some cases if `may_have_path` is true.

    `space` is "extraction", whose fields may have more keys, "meta" or "context".
    """
    field: JsonObject = {"name": name, "type": kind}
    if kind == "enum":
        field["values"] = chooser.draw(_ENUM_VALUES)
    if space == "extraction":
        field |= _draw_extraction_keys(chooser, kind, field.get("values", []))
    elif chooser.one_in(2):
        field["nullable"] = True
    if may_have_path and chooser.one_in(3):
        field["path"] = [*chooser.choose(_PATHS)]  # a caller may change the seed
    return field


def _draw_extraction_keys(chooser: Chooser, kind: str, values: list[str]) -> JsonObject:
    """Draw keys that only a field of `extract` may have, such as its description, default, bounds or quotes.

    `values` are those of an enum, else empty.
    """
    draw = chooser.draw
    keys: JsonObject = {}
    if values and chooser.one_in(2):
        keys["values"] = {value: draw(SHORT_STRINGS) for value in values}
    if chooser.one_in(2):
        keys["description"] = draw(SHORT_STRINGS)
    if chooser.one_in(3):
        keys["default"] = chooser.choose(values) if values else draw(SCALARS[kind])
    if kind in ("integer", "number") and chooser.one_in(3):
        keys |= _draw_bounds(chooser, kind, {"default"} & {*keys})
    if chooser.one_in(4):
        keys |= {"evidence": chooser.choose([False, True, "required"]), "sources": draw(SOURCES)}
        if keys["evidence"]:
            keys["reason"] = True
    return keys


def add_words(chooser: Chooser, seed: JsonObject, numbers: Sequence[str]) -> None:
    """Add words for people to a seed: labels, units, reasons of rules, and `adverse` to some of the steps `numbers`."""
    declared = [*seed["parameters"].values(), *seed["context"], *seed["extract"]["meta"], *seed["extract"]["fields"]]
    parts = [part for part in (*declared, *seed["compute"]) if chooser.one_in(2)]
    labels = chooser.draw(st.lists(_WORDS, max_size=len(parts), unique_by=str.casefold))
    for part, label in zip(parts, labels, strict=False):
        part |= {"label": label, "unit": chooser.draw(_WORDS)}
    for step in seed["compute"]:
        for rule in step.get("rules", ()):
            rule["because"] = chooser.draw(_WORDS)
        if step["name"] in numbers and chooser.one_in(4):
            step["adverse"] = chooser.choose([*ADVERSE])


def draw_example(chooser: Chooser, fields: Sequence[JsonObject]) -> JsonObject:
    """Draw an example for a prompt: a text, a value for each of `fields`, and the quotes that some fields require."""
    values: JsonObject = {}
    for field in fields:
        choices = field.get("values") or [field[key] for key in ("default", "minimum", "maximum") if key in field][:1]
        values[field["name"]] = chooser.choose([*choices]) if choices else chooser.draw(SCALARS[field["type"]])
    quotes = {field["name"]: "good  soup" for field in fields if field.get("evidence")}
    return {"text": f"{chooser.draw(STRINGS)} good soup", "fields": values, "quotes": quotes}


def declare_parameters(chooser: Chooser) -> tuple[JsonObject, list[Variable]]:
    """Draw up to two parameters that a seed declares.

    Returns their declarations by name, as JSON objects, and a variable for each.
    """
    declarations: JsonObject = {}
    for name in choose_distinct(chooser, ("AS_OF_YEAR", "P", "limit", *HOSTILE_NAMES), 0, 2):
        kind = chooser.choose(_FIELD_TYPES[1:])
        is_numeric = kind in ("integer", "number")
        keys = _draw_bounds(chooser, kind, {"default"}) if is_numeric else {"default": chooser.draw(SCALARS[kind])}
        declarations[name] = {"type": kind, **keys}
    return declarations, [Variable(f"param.{name}", declared["type"]) for name, declared in declarations.items()]


def _draw_bounds(chooser: Chooser, kind: str, keys: set[str]) -> JsonObject:
    """Draw numbers for each of `keys`, which may contain "default", and for none, one or both bounds.

    The numbers, of the type `kind`, are in order: minimum, default, maximum.
    """
    low, default, high = sorted(chooser.draw(st.lists(SCALARS[kind], min_size=3, max_size=3)))
    wanted = keys | {*chooser.choose([("minimum", "maximum"), ("maximum",), ("minimum",), ()])}
    values = {"minimum": low, "maximum": high, "default": default}
    return {key: value for key, value in values.items() if key in wanted}
