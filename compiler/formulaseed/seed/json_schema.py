"""Builds the JSON Schema of a Formula Seed from the tables that seeds are read by; editors complete and check keys by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from formulaseed import limits
from formulaseed.diagnostics.codes import SUPPRESSIBLE, read_headline
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.types import Type
from formulaseed.seed import standard_fields
from formulaseed.seed.operations import COMMON_STEP_KEYS, OPERATIONS, Key, OperationSpec, list_step_keys
from formulaseed.seed.read import sections
from formulaseed.seed.read.conditions import OPERATORS
from formulaseed.seed.read.properties import CAUSES, PROPERTY_KEYS, REFUTED_BY
from formulaseed.seed.read.shape import NAME
from formulaseed.seed.read.steps import ADVERSE, ELSE_KEYS, MATCH_MODES, RULE_KEYS, WORD_KEYS
from formulaseed.seed.schema_parts import (
    JsonSchema,
    add_description,
    build_branch,
    build_choice,
    build_integer,
    build_list,
    build_object,
    build_ref,
)

_LITERAL = ["string", "number", "boolean", "null"]
_WHOLE_NAME = f"^{NAME.pattern}$"
_A_NAME = {"type": "string", "pattern": _WHOLE_NAME, "maxLength": limits.NAME_CHARACTERS}
_FORMULA = {"type": "string", "minLength": 1, "maxLength": limits.FORMULA_CHARACTERS}
_TYPES = {"enum": "One of the strings in `values`.", "integer": "A whole number.", "number": "Any number.",
          "boolean": "True or false.", "string": "A string."}  # fmt: skip
_TASK_NAME = "[^/\\\\\"'`$%<>|*?:;{}#]*"
_LETTER_OR_DIGIT = r"[^\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]"  # exact for ASCII; validators differ beyond it
_STRING = {"type": "string"}
_TEST = "A value, for equality, or operators, all of which must hold."


def _build_words(key: str) -> JsonSchema:
    entry = WORD_KEYS[key]
    return add_description(entry.doc, _STRING | {"pattern": "\\S", "maxLength": entry.most}, *entry.examples)


def build_seed_schema() -> JsonSchema:
    """Return the JSON Schema (draft 7) of a seed v2. It accepts every seed that compiles, and others."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Formula Seed",
        "description": (
            "A scoring policy over reviews: which reviews matter, what to extract from each, what to compute, what to "
            "return. Seed v1 (`filter_keywords`, `extraction_fields`, `compute_dag`, …) is not described."
        ),
        **build_object(sections.V2_KEYS, _build_sections(), ("task_name", "extract", "compute", "output")),
        "definitions": {
            "step": _build_step(),
            "rule": _build_rule(),
            "conditions": _build_conditions(),
            **{space: _build_bare_conditions(space) for space in ("extraction", "meta", "context")},
            "test": _build_test(),
            "field": _build_declaration("Field", sections.FIELD_KEYS, ("name", "type")),
            "declared": _build_declaration("Declared field", sections.DECLARED_KEYS, ("name", "type")),
            "context_field": _build_declaration("Declared field", sections.CONTEXT_FIELD_KEYS, ("name", "type")),
            "example": _build_example(),
            "parameter": _build_declaration("Parameter", sections.PARAMETER_KEYS, ("type", "default")),
            "allow": _build_allow(),
            "sources": add_description(
                "The sentences of the task's text that this comes from, verbatim.", build_list(_STRING, limits.SOURCES)
            ),
        },
    }


def _build_sections() -> dict[str, JsonSchema]:
    """Map each top-level key of a seed to the schema of its value."""
    task_name = {"pattern": f"^{_TASK_NAME}{_LETTER_OR_DIGIT}{_TASK_NAME}$", "maxLength": limits.TASK_NAME_CHARACTERS}
    parameters = {
        "type": "object",
        "propertyNames": {"pattern": _WHOLE_NAME, "maxLength": limits.NAME_CHARACTERS},
        "additionalProperties": build_ref("parameter"),
        "maxProperties": limits.PARAMETERS,
    }
    handling = {
        "max_length": add_description(
            "How many characters of a review are read.", build_integer(limits.REVIEW_CHARACTERS)
        ),
        "strategy": build_choice(sections.STRATEGIES, "What to do with a review that is longer."),
    }
    handling_schema = build_object(sections.REVIEW_HANDLING_KEYS, handling, sections.REVIEW_HANDLING_KEYS)
    keywords = add_description(
        "A review is relevant if its text contains one of these, whatever the case.",
        build_list({"type": "string", "pattern": "\\S"}, limits.KEYWORDS, unique=True),
        ["allergy", "peanut"],
    )
    filtered = build_object(
        sections.FILTER_KEYS, {"keywords": keywords, "sources": build_ref("sources"), "allow": build_ref("allow")}
    )
    steps = build_list(build_ref("step"), limits.STEPS)
    output = build_list(_A_NAME, limits.OUTPUTS, least=1, unique=True)
    return {
        "$schema": add_description("The place of this schema, for editors; it changes nothing of the seed.", _STRING),
        "task_name": add_description("Names the module: `G1a-v2` becomes `g1a_v2.py`.", _STRING | task_name, "G1a-v2"),
        "version": add_description(
            "The seed's version; it goes into the module's header.", {"type": ["string", "number"]}
        ),
        "description": add_description("What the policy is for; it goes into the module's header.", _STRING),
        "parameters": add_description(
            "Values given at evaluation, read as `param.NAME` in any formula or condition.",
            parameters,
            {"AS_OF_YEAR": {"type": "integer", "default": 2025, "minimum": 2000, "maximum": 2100}},
        ),
        "context": add_description(
            f"Further fields of the restaurant, besides {_list_names(standard_fields.CONTEXT)}.",
            build_list(build_ref("context_field"), limits.FIELDS),
            [{"name": "price_tier", "type": "integer", "nullable": True}],
        ),
        "filter": add_description("Which reviews are relevant; without keywords every review is.", filtered),
        "extract": add_description(
            "What to extract from each relevant review.",
            build_object(sections.EXTRACT_KEYS, _build_extract(), ("fields",)),
        ),
        "review_handling": add_description("What to do with long reviews.", handling_schema),
        "compute": add_description("The steps, each after those that it uses.", steps),
        "output": add_description("The names of the steps to return.", output),
        "properties": add_description(
            "Claims that tests and proofs check: a step does not fall, or rise, as another one grows or with one more review.",
            build_list(_build_property(), limits.PROPERTIES),
            [{"increasing": "SCORE", "in": "N_SEVERE"}],
        ),
        "sources": build_ref("sources"),
        "allow": build_ref("allow"),
    }


def _build_property() -> JsonSchema:
    """Return the schema of a claim such as `{"increasing": …, "in": …}`, which has exactly one direction with its cause."""
    properties = {
        **{way: add_description(f"The step that does not {move}.", _A_NAME) for way, move in REFUTED_BY.items()},
        "in": add_description("The step whose value grows.", _A_NAME),
        "review": add_description("The conditions that an added review meets.", build_ref("conditions")),
    }
    pairs = [{"required": [*pair]} for pair in CAUSES.items()]
    return {"title": "Property", **build_object(PROPERTY_KEYS, properties, ()), "anyOf": pairs, "maxProperties": 2}


def _build_extract() -> dict[str, JsonSchema]:
    """Map each key of `extract` to the schema of its value."""
    validity = ", ".join(value for value, _ in standard_fields.VALIDITY_VALUES)
    fields = build_list(build_ref("field"), limits.FIELDS)
    declared = build_list(build_ref("declared"), limits.FIELDS)
    further = f"Further metadata of reviews, besides {_list_names(standard_fields.META)}."
    return {
        "fields": add_description("The fields to extract, read as `extraction.NAME`.", fields),
        "meta": add_description(further, declared, [{"name": "age_years", "type": "number"}]),
        "passes": add_description("How often to extract; the majority counts.", build_integer(limits.PASSES)),
        "validity": add_description(
            f"Add the field `{standard_fields.VALIDITY_FIELD}`: {validity}.", {"type": "boolean"}
        ),
        "examples": add_description(
            "Reviewed answers, which a model is shown.",
            build_list(build_ref("example"), limits.REVIEW_EXAMPLES),
            [{"text": "My throat closed up.", "fields": {"incident_severity": "severe"}}],
        ),
    }


def _build_example() -> JsonSchema:
    """Return the schema of a reviewed answer; `text` and `fields` are required."""
    text = {"type": "string", "pattern": "\\S", "maxLength": limits.REVIEW_EXAMPLE_CHARACTERS}
    properties = {
        "text": add_description("The review.", text),
        "fields": add_description(
            "The right value of each field; one with a default may be missing.", _map_names(_LITERAL[:3])
        ),
        "quotes": add_description(
            "For fields with evidence, the words of the text that the value rests on.", _map_names(["string"])
        ),
        "reasons": add_description("For fields with a reason, why the value is right.", _map_names(["string"])),
    }
    return {"title": "Example", **build_object(sections.EXAMPLE_KEYS, properties, ("text", "fields"))}


def _map_names(types: Sequence[str]) -> JsonSchema:
    """Return the schema of an object that maps names of fields to values of one of these JSON types."""
    return {
        "type": "object",
        "propertyNames": {"pattern": _WHOLE_NAME},
        "additionalProperties": {"type": list(types)},
        "maxProperties": limits.FIELDS + 1,
    }


def _build_declaration(title: str, known: Sequence[str], required: Sequence[str]) -> JsonSchema:
    """Return the schema of a field or parameter with the keys `known`, some of which depend on its `type`."""
    types = [name for name in _TYPES if name != "enum" or "values" in known]
    value = {"type": "string", "minLength": 1}
    listed = build_list(value, limits.ENUM_VALUES, least=1, unique=True)
    described = {
        "type": ["object", "array"],
        "additionalProperties": _STRING,
        "propertyNames": {"minLength": 1},
        "minProperties": 1,
        "maxProperties": limits.ENUM_VALUES,
    }
    properties: dict[str, JsonSchema] = {
        "name": add_description("The bare name, without a namespace.", _A_NAME),
        **{key: _build_words(key) for key in ("label", "unit")},
        "type": build_choice({name: _TYPES[name] for name in types}, "What the values are."),
        "values": add_description(
            "The enum's values: an object of descriptions, or a list.",
            listed | described,
            {"none": "No reaction", "mild": "Light"},
        ),
        "description": add_description("For people, and for the extractor of a field.", _STRING),
        "nullable": add_description("Whether the value may be missing.", {"type": "boolean"}),
        "path": add_description(
            "The keys that lead to the value in the business object; Yelp's attribute strings are read.",
            build_list(value, limits.PATH_KEYS, least=1),
            ["attributes", "NoiseLevel"],
        ),
        "default": add_description("The value if none is given.", {}),
        "minimum": add_description("The smallest value that may be given.", {}),
        "maximum": add_description("The largest value that may be given.", {}),
        "evidence": add_description(
            "Ask for a quote from the review, which is checked against it; `required`: without one an answer is invalid.",
            {"enum": [True, False, "required"]},
        ),
        "reason": add_description("Ask a model for the reason, before the value.", {"type": "boolean"}),
        "hint": build_choice(sections.HINTS, "What else of a review may speak for an enum or a boolean: its stars."),
        "sources": build_ref("sources"),
        "allow": build_ref("allow"),
    }
    by_type = [build_branch("type", name, _build_type_keys(name, known)) for name in types]
    return {"title": title, **build_object(known, properties, required), "allOf": by_type}


def _build_type_keys(name: str, known: Sequence[str]) -> JsonSchema:
    """Return the schema of the keys that depend on the type `name`; a key that does not fit the type is forbidden."""
    if name == "enum":
        texts = {"default": {"type": "string"}, "minimum": False, "maximum": False}
        return {"required": ["values"], **({"properties": texts} if "default" in known else {})}
    bound: JsonSchema | bool = {"type": name} if sections.SCALARS[name].is_numeric else False
    properties: dict[str, Any] = {"values": False} if "values" in known else {}
    if "default" in known:
        properties |= {"default": {"type": name}, "minimum": bound, "maximum": bound}
    return {"properties": properties} if properties else {}


def _build_allow() -> JsonSchema:
    reasons = {code: add_description(read_headline(code), _STRING | {"pattern": "\\S"}) for code in SUPPRESSIBLE}
    example = {"FS602": "kept for the next version"}
    return add_description(
        "Warnings and notes to suppress: the code, and why.", build_object(SUPPRESSIBLE, reasons), example
    )


def _list_names(fields: Mapping[str, Type]) -> str:
    return ", ".join(f"`{name}`" for name in fields)


def _build_step() -> JsonSchema:
    """Return the schema of a step, whose other keys depend on its `op`."""
    operations = {name: f"{operation.doc} Type: {operation.result}." for name, operation in OPERATIONS.items()}
    return {
        "title": "Step",
        "type": "object",
        "properties": {
            "name": add_description("How later steps and `output` name the value.", _A_NAME),
            **{key: _build_words(key) for key in ("label", "unit")},
            "op": build_choice(operations, "What the step does."),
            "adverse": build_choice(ADVERSE, "Which values of a number speak against the restaurant."),
            "sources": build_ref("sources"),
            "allow": build_ref("allow"),
        },
        "required": ["name", "op"],
        "allOf": [build_branch("op", name, _build_operation(operation)) for name, operation in OPERATIONS.items()],
    }


def _build_operation(operation: OperationSpec) -> JsonSchema:
    """Return the schema of a step with this operation: its keys, and which of them are required or exclusive."""
    properties: dict[str, Any] = dict.fromkeys(COMMON_STEP_KEYS, True)
    properties |= {key.name: _build_key(key) for key in operation.keys}
    required = [key.name for key in operation.keys if key.required]
    schema = {"description": operation.doc, **build_object(list_step_keys(operation), properties, required)}
    if operation.any_of:
        schema["anyOf"] = [{"required": [key], "properties": {key: {"minProperties": 1}}} for key in operation.any_of]
    if operation.one_of:
        schema["oneOf"] = [{"required": [key]} for key in operation.one_of]
    if any(key.kind == "match" for key in operation.keys):
        numbers = {"additionalProperties": {"type": "number"}}
        schema["allOf"] = [build_branch("match", "substring_max", {"properties": {"table": numbers}})]
    return schema


def _build_key(key: Key) -> JsonSchema:
    """Return the schema of a step's key. A formula's description lists the functions; references have no examples."""
    schema = _build_value(key)
    doc = key.doc
    if key.kind in ("formula", "review formula"):
        doc = f"{doc}. Functions: {', '.join(f'`{f.signature}`' for f in FUNCTIONS.values())}."
    return add_description(doc, schema, *(key.examples if "$ref" not in schema else ()))


def _build_value(key: Key) -> JsonSchema:
    """Return the schema of the values that the `kind` of a key takes; for any other kind that of a formula."""
    match key.kind:
        case "conditions":
            return build_ref("conditions")
        case "bare conditions":
            return build_ref(key.name)
        case "literal" | "number":
            return {"type": _LITERAL}
        case "match":
            return build_choice(MATCH_MODES, key.doc)
        case "table":
            return {
                "type": "object",
                "minProperties": 1,
                "maxProperties": limits.TABLE_ENTRIES,
                "propertyNames": {"minLength": 1},
                "additionalProperties": {"type": ["string", "number", "boolean"]},
            }
        case "rules":
            last = {"contains": {"type": "object", "required": ["else"]}}
            return {**build_list(build_ref("rule"), limits.CASE_RULES, least=1), **last}
        case _:
            return _FORMULA


def _build_rule() -> JsonSchema:
    """Return the schema of a rule of a case: `when` and `then`, or `else` alone."""
    when = "A condition; in a case with `source` it begins with a comparison, such as `< 4.0`."
    properties = {
        "when": add_description(when, _FORMULA),
        "then": add_description("The value if `when` holds.", {"type": _LITERAL}),
        "else": add_description("The value if no rule holds; the last rule.", {"type": _LITERAL}),
        "because": _build_words("because"),
    }
    own_keys = [key for key in RULE_KEYS if key != "else"]
    return {
        "title": "Rule",
        "type": "object",
        "properties": properties,
        "if": {"required": ["else"]},
        "then": build_object(ELSE_KEYS, dict.fromkeys(ELSE_KEYS, True), ("else",)),
        "else": build_object(own_keys, dict.fromkeys(own_keys, True), ("when", "then")),
    }


def _build_conditions() -> JsonSchema:
    """Return the schema of a condition object with full names: fields with their namespaces, and filters."""
    spaces = standard_fields.FIELDS_BY_NAMESPACE.items()
    standard = {f"{space}.{name}": ty for space, fields in spaces for name, ty in fields.items()}
    use = {"type": "boolean", "description": "Whether the filter must hold, or its opposite."}
    words = "|".join(standard_fields.NAMESPACES)
    return {
        "type": "object",
        "properties": _build_tests(standard),
        "patternProperties": {
            f"^({words})\\.{NAME.pattern}$": add_description(_TEST, build_ref("test")),
            f"^\\${NAME.pattern}$": use,
        },
        "additionalProperties": False,
        "maxProperties": limits.CONDITIONS,
    }


def _build_bare_conditions(namespace: str) -> JsonSchema:
    """Return the schema of a condition object with bare names of the fields of `namespace`."""
    return {
        "type": "object",
        "title": f"Conditions on {namespace}",
        "properties": _build_tests(standard_fields.FIELDS_BY_NAMESPACE.get(namespace, {})),
        "propertyNames": {"pattern": _WHOLE_NAME},
        "additionalProperties": add_description(_TEST, build_ref("test")),
        "maxProperties": limits.CONDITIONS,
    }


def _build_tests(standard: Mapping[str, Type]) -> dict[str, JsonSchema]:
    return {
        name: add_description(f"{ty.noun.capitalize()}. {_TEST}", build_ref("test")) for name, ty in standard.items()
    }


def _build_test() -> JsonSchema:
    """Return the schema of a test of a field: a literal for equality, or an object of operators."""
    operand = {"type": _LITERAL}
    tests = {**dict.fromkeys(OPERATORS, operand), "in": build_list(operand, limits.LIST_ITEMS, least=1)}
    return {
        "type": [*_LITERAL, "object"],
        "properties": {name: add_description(OPERATORS[name], test) for name, test in tests.items()},
        "additionalProperties": False,
        "minProperties": 1,
        "examples": [{"in": ["mild", "severe"]}, {">=": 2023}],
    }
