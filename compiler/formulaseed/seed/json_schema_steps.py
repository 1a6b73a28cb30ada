"""The part of the JSON Schema that is about compute steps: operations, each with its keys, and conditions."""

from __future__ import annotations

from collections.abc import Mapping

from formulaseed import limits
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.types import Type
from formulaseed.seed import standard_fields
from formulaseed.seed.json_schema_parts import (
    A_NAME,
    LITERAL,
    WHOLE_NAME,
    JsonSchema,
    choice,
    exactly,
    list_of,
    reference,
    where_key,
)
from formulaseed.seed.read.cases import ELSE_WORDS, RULE_KEYS
from formulaseed.seed.read.conditions import OPERATORS
from formulaseed.seed.read.operations import MATCH_MODES, OPERATIONS, step_keys
from formulaseed.seed.read.shape import NAME

_OPERATIONS = {
    "define_filter": 'A condition on reviews with a name, used as `"$NAME": true`, or `false` for its opposite.',
    "count": "How many reviews match; all of them without `where`.",
    "sum": "The sum of a formula over the matching reviews; 0 over none.",
    "max": "The largest value over the matching reviews.",
    "min": "The smallest value over the matching reviews.",
    "lookup": "The value that a table has for a text.",
    "expr": "A formula over earlier steps, `context.*` and `param.*`.",
    "const": "A literal.",
    "case": "The value of the first rule that holds.",
}
_MATCH_MODES = {
    "exact": "The key that equals the source.",
    "substring_first": "The first key, in table order, that the source contains.",
    "substring_max": "The highest value among the keys that the source contains.",
}
_OPERATORS = {
    "in": "The value is one of these.",
    ">=": "The value is at least this.",
    ">": "The value is above this.",
    "<=": "The value is at most this.",
    "<": "The value is below this.",
    "!=": "The value is another one.",
}
_REQUIRED = {
    "sum": ("expr",), "lookup": ("source", "table", "match"), "expr": ("expr",), "const": ("value",), "case": ("rules",),
}  # fmt: skip
_REFUSED = {("case", "default")}
"""Keys that an operation knows only to say what to write instead."""

_COMMON = ("name", "op", "sources", "allow")
"""The keys of every step, described once for all operations."""

_TEST = "A value, for equality, or operators, all of which must hold."
_FORMULA = {"type": "string", "minLength": 1, "maxLength": limits.FORMULA_CHARACTERS}


def step_definitions() -> dict[str, JsonSchema]:
    """The definitions that `compute` refers to, and those that these refer to."""
    return {
        "step": _step(),
        "rule": _rule(),
        "conditions": _conditions(),
        "extraction": _bare_conditions("extraction", {}),
        "meta": _bare_conditions("meta", standard_fields.META),
        "context": _bare_conditions("context", standard_fields.CONTEXT),
        "test": _test(),
    }


# --- steps


def _step() -> JsonSchema:
    common: dict[str, JsonSchema] = {
        "name": {**A_NAME, "description": "How later steps and `output` call the value."},
        "op": choice(OPERATIONS, _OPERATIONS, "What the step does."),
        "sources": reference("sources"),
        "allow": reference("allow"),
    }
    return {
        "title": "Step",
        "type": "object",
        "properties": common,
        "required": ["name", "op"],
        "allOf": [where_key("op", name, _operation(name)) for name in OPERATIONS],
    }


def _operation(name: str) -> JsonSchema:
    known = [key for key in step_keys(name) if (name, key) not in _REFUSED]
    properties = {**dict.fromkeys(_COMMON, True), **_operation_keys(name)}
    made = exactly(known, properties, _REQUIRED.get(name, ()))
    made = {"description": _OPERATIONS[name], **made}
    if name == "define_filter":
        made["anyOf"] = [
            {"required": [key], "properties": {key: {"minProperties": 1}}} for key in known if key not in _COMMON
        ]
    if name == "lookup":
        numbers = {"additionalProperties": {"type": "number"}}
        made["allOf"] = [where_key("match", "substring_max", {"properties": {"table": numbers}})]
    if name in ("max", "min"):
        made["oneOf"] = [{"required": ["field"]}, {"required": ["expr"]}]
    return made


def _operation_keys(name: str) -> dict[str, JsonSchema]:
    per_review = name in ("sum", "max", "min")
    functions = ", ".join(f"`{function.signature}`" for function in FUNCTIONS.values())
    inputs = "earlier steps, `context.*` and `param.*`"
    where_none = "over no reviews" if per_review else "where no key is found"
    over = f"fields of the review, {inputs}" if per_review else inputs
    formula: JsonSchema = {
        **_FORMULA,
        "description": f"A formula over {over}. Functions: {functions}.",
        "examples": ["5 - meta.stars"] if per_review else ["N_MILD + N_SEVERE", "max(0.0, min(20.0, RAW))"],
    }
    if name == "define_filter":
        formula["description"] = "A condition over `extraction.*`, `meta.*`, `context.*`, `param.*` and other filters."
        formula["examples"] = ["extraction.severity == 'severe' or meta.stars <= 2", "$IS_INCIDENT and not $IS_OLD"]
    return {
        "extraction": {**reference("extraction"), "description": "Extracted fields, by their bare names."},
        "meta": {**reference("meta"), "description": "Metadata of the review, by bare names."},
        "context": {**reference("context"), "description": "Fields of the restaurant, by bare names."},
        "where": {**reference("conditions"), "description": "Which reviews count: all these conditions must hold."},
        "expr": formula,
        "field": {
            **_FORMULA,
            "description": "One field of the review; a formula goes into `expr`.",
            "examples": [f"meta.{field}" for field, type_ in standard_fields.META.items() if type_.is_numeric],
        },
        "source": {
            **_FORMULA,
            "description": "What each `when` begins with." if name == "case" else "The text that is looked up.",
            "examples": ["SCORE"] if name == "case" else ["context.categories"],
        },
        "value": {"type": LITERAL, "description": "A number, a text, true or false."},
        "table": {
            "type": "object",
            "description": "Keys and their values. Case matters.",
            "minProperties": 1,
            "maxProperties": limits.TABLE_ENTRIES,
            "propertyNames": {"minLength": 1},
            "additionalProperties": {"type": ["string", "number", "boolean"]},
            "examples": [{"Thai": 2.0, "Pizza": 0.5}],
        },
        "match": choice(MATCH_MODES, _MATCH_MODES, "How keys are found in the source."),
        "default": {"type": LITERAL, "description": f"The value {where_none}."},
        "rules": {
            **list_of(reference("rule"), limits.CASE_RULES, least=1),
            "contains": {"type": "object", "required": ["else"]},
            "description": "The rules in order; the last is `else`.",
            "examples": [[{"when": "N > 2", "then": "many"}, {"else": "few"}]],
        },
    }


def _rule() -> JsonSchema:
    properties: dict[str, JsonSchema] = {
        "when": {
            **_FORMULA,
            "not": {"enum": list(ELSE_WORDS)},
            "description": "A condition; in a case with `source` it begins with a comparison, such as `< 4.0`.",
        },
        "then": {"type": LITERAL, "description": "The value where `when` holds."},
        "else": {"type": LITERAL, "description": "The value where no rule holds; the last rule."},
    }
    last = exactly(("else",), {"else": True}, ("else",))
    others = [key for key in RULE_KEYS if key != "else"]
    return {
        "title": "Rule",
        "type": "object",
        "properties": {key: properties[key] for key in RULE_KEYS},
        "if": {"required": ["else"]},
        "then": last,
        "else": exactly(others, dict.fromkeys(others, True), others),
    }


# --- conditions


def _conditions() -> JsonSchema:
    """Fields with their namespace, and filters; the standard fields by name, so that editors offer them."""
    standard = {f"meta.{field}": type_ for field, type_ in standard_fields.META.items()}
    standard |= {f"context.{field}": type_ for field, type_ in standard_fields.CONTEXT.items()}
    use = {"type": "boolean", "description": "Whether the filter must hold, or its opposite."}
    return {
        "type": "object",
        "properties": _tests(standard),
        "patternProperties": {
            f"^({'|'.join(standard_fields.NAMESPACES)})\\.{NAME.pattern}$": _tested(),
            f"^\\${NAME.pattern}$": use,
        },
        "additionalProperties": False,
        "maxProperties": limits.CONDITIONS,
    }


def _bare_conditions(namespace: str, standard: Mapping[str, Type]) -> JsonSchema:
    return {
        "type": "object",
        "title": f"Conditions on {namespace}",
        "properties": _tests(standard),
        "propertyNames": {"pattern": WHOLE_NAME},
        "additionalProperties": _tested(),
        "maxProperties": limits.CONDITIONS,
    }


def _tests(standard: Mapping[str, Type]) -> dict[str, JsonSchema]:
    return {name: _tested(f"{type_.noun.capitalize()}. {_TEST}") for name, type_ in standard.items()}


def _tested(description: str = _TEST) -> JsonSchema:
    return {**reference("test"), "description": description}


def _test() -> JsonSchema:
    operand = {"type": LITERAL}
    tests: dict[str, JsonSchema] = dict.fromkeys(OPERATORS, operand)
    tests["in"] = list_of(operand, limits.LIST_ITEMS, least=1)
    return {
        "type": [*LITERAL, "object"],
        "properties": {name: {**test, "description": _OPERATORS[name]} for name, test in tests.items()},
        "additionalProperties": False,
        "minProperties": 1,
        "examples": [{"in": ["mild", "severe"]}, {">=": 2023}],
    }
