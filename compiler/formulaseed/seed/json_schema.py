"""Builds the JSON Schema of a Formula Seed, by which editors complete and explain keys, and underline mistakes.

Made of the tables that seeds are read by, so that it knows every key and none besides. Draft 7, the newest that
the common editors know in full. It refuses no seed that the compiler accepts; what a schema cannot say (names,
types, the order of steps, formulas) is left to `formulaseed check`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from formulaseed import limits
from formulaseed.diagnostics.codes import SUPPRESSIBLE, read_headline
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.types import Type
from formulaseed.seed import standard_fields
from formulaseed.seed.operations import COMMON_STEP_KEYS, OPERATIONS, Key, OperationSpec, list_step_keys
from formulaseed.seed.read import sections
from formulaseed.seed.read.conditions import OPERATORS
from formulaseed.seed.read.properties import DIRECTIONS, PROPERTY_KEYS
from formulaseed.seed.read.shape import NAME
from formulaseed.seed.read.steps import MATCH_MODES, RULE_KEYS

JsonSchema = dict[str, Any]

_LITERAL = ["string", "number", "boolean", "null"]
_WHOLE_NAME = f"^{NAME.pattern}$"
_A_NAME = {"type": "string", "pattern": _WHOLE_NAME, "maxLength": limits.NAME_CHARACTERS}
_FORMULA = {"type": "string", "minLength": 1, "maxLength": limits.FORMULA_CHARACTERS}
_TYPES = {
    "enum": "One of the strings in `values`.", "integer": "A whole number.", "number": "Any number.",
    "boolean": "True or false.", "string": "A string.",
}  # fmt: skip
_TASK_NAME = "[^/\\\\\"'`$%<>|*?:;{}#]*"
_LETTER_OR_DIGIT = r"[^\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]"
"""Of ASCII; beyond it patterns have no words for letters that all validators know, and the compiler checks more closely."""
_STRING = {"type": "string"}


def _exactly(known: Iterable[str], properties: Mapping[str, Any], required: Sequence[str] = ()) -> JsonSchema:
    """Return the schema of an object with exactly these keys; a key that has no description fails here."""
    schema = {"type": "object", "properties": {key: properties[key] for key in known}, "additionalProperties": False}
    return schema | ({"required": [*required]} if required else {})


def _list_of(item: JsonSchema, most: int, least: int = 0, unique: bool = False) -> JsonSchema:
    schema: JsonSchema = {"type": "array", "items": item, "maxItems": most}
    return schema | ({"minItems": least} if least else {}) | ({"uniqueItems": True} if unique else {})


def _choice(meanings: Mapping[str, str], description: str) -> JsonSchema:
    """Return the schema of one of some words. Editors show the meaning of each, as they do not for an `enum`."""
    words = [{"const": word, "description": meaning} for word, meaning in meanings.items()]
    return {"type": "string", "description": description, "oneOf": words}


def _where_key(key: str, word: str, then: JsonSchema) -> JsonSchema:
    return {"if": {"required": [key], "properties": {key: {"const": word}}}, "then": then}


def _reference(name: str) -> JsonSchema:
    return {"$ref": f"#/definitions/{name}"}


def _about(description: str, schema: JsonSchema, *examples: Any) -> JsonSchema:
    """Return the schema with what editors show of it."""
    return {**schema, "description": description, **({"examples": list(examples)} if examples else {})}


def _whole(most: int) -> JsonSchema:
    return {"type": "integer", "minimum": 1, "maximum": most}


def seed_schema() -> JsonSchema:
    """Return the JSON Schema of a seed v2, as JSON values; the same for each call."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Formula Seed",
        "description": (
            "A scoring policy over reviews: which reviews matter, what to extract from each, what to compute, what to "
            "return. Seed v1 (`filter_keywords`, `extraction_fields`, `compute_dag`, …) is not described."
        ),
        **_exactly(sections.V2_KEYS, _top(), ("task_name", "extract", "compute", "output")),
        "definitions": {
            "step": _step(),
            "rule": _rule(),
            "conditions": _conditions(),
            **{space: _bare_conditions(space) for space in ("extraction", "meta", "context")},
            "test": _test(),
            "field": _declaration("Field", sections.FIELD_KEYS, ("name", "type")),
            "declared": _declaration("Declared field", sections.DECLARED_KEYS, ("name", "type")),
            "context_field": _declaration("Declared field", sections.CONTEXT_FIELD_KEYS, ("name", "type")),
            "example": _example(),
            "parameter": _declaration("Parameter", sections.PARAMETER_KEYS, ("type", "default")),
            "allow": _allow(),
            "sources": _about(
                "The sentences of the task's text that this comes from, verbatim.", _list_of(_STRING, limits.SOURCES)
            ),
        },
    }


def _top() -> dict[str, JsonSchema]:
    task_name = {"pattern": f"^{_TASK_NAME}{_LETTER_OR_DIGIT}{_TASK_NAME}$", "maxLength": limits.TASK_NAME_CHARACTERS}
    parameters = {
        "type": "object",
        "propertyNames": {"pattern": _WHOLE_NAME, "maxLength": limits.NAME_CHARACTERS},
        "additionalProperties": _reference("parameter"),
        "maxProperties": limits.PARAMETERS,
    }
    handling = {
        "max_length": _about("How many characters of a review are read.", _whole(limits.REVIEW_CHARACTERS)),
        "strategy": _choice(sections.STRATEGIES, "What to do with a review that is longer."),
    }
    handling_schema = _exactly(sections.REVIEW_HANDLING_KEYS, handling, sections.REVIEW_HANDLING_KEYS)
    keywords = _about(
        "A review is relevant if its text contains one of these, whatever the case.",
        _list_of({"type": "string", "pattern": "\\S"}, limits.KEYWORDS, unique=True),
        ["allergy", "peanut"],
    )
    filtered = _exactly(sections.FILTER_KEYS, {"keywords": keywords, "allow": _reference("allow")})
    steps = _list_of(_reference("step"), limits.STEPS)
    output = _list_of(_A_NAME, limits.OUTPUTS, least=1, unique=True)
    return {
        "$schema": _about("The place of this schema, for editors; it changes nothing of the seed.", _STRING),
        "task_name": _about("Names the module: `G1a-v2` becomes `g1a_v2.py`.", _STRING | task_name, "G1a-v2"),
        "version": _about("The seed's version; it goes into the module's header.", {"type": ["string", "number"]}),
        "description": _about("What the policy is for; it goes into the module's header.", _STRING),
        "parameters": _about(
            "Values given at evaluation, read as `param.NAME` in any formula or condition.",
            parameters,
            {"AS_OF_YEAR": {"type": "integer", "default": 2025, "minimum": 2000, "maximum": 2100}},
        ),
        "context": _about(
            f"Further fields of the restaurant, besides {_name_list(standard_fields.CONTEXT)}.",
            _list_of(_reference("context_field"), limits.FIELDS),
            [{"name": "price_tier", "type": "integer", "nullable": True}],
        ),
        "filter": _about("Which reviews are relevant; without keywords every review is.", filtered),
        "extract": _about(
            "What to extract from each relevant review.", _exactly(sections.EXTRACT_KEYS, _extract(), ("fields",))
        ),
        "review_handling": _about("What to do with long reviews.", handling_schema),
        "compute": _about("The steps, each after those that it uses.", steps),
        "output": _about("The names of the steps to return.", output),
        "properties": _about(
            "Claims that generated tests check: the one step does not fall, or rise, as the other grows.",
            _list_of(_property(), limits.PROPERTIES),
            [{"increasing": "SCORE", "in": "N_SEVERE"}],
        ),
        "allow": _reference("allow"),
    }


def _property() -> JsonSchema:
    properties = {
        "increasing": _about("The step that does not fall.", _A_NAME),
        "decreasing": _about("The step that does not rise.", _A_NAME),
        "in": _about("The step whose value grows.", _A_NAME),
    }
    either = [{"required": [direction]} for direction in DIRECTIONS]
    return {"title": "Property", **_exactly(PROPERTY_KEYS, properties, ("in",)), "oneOf": either}


def _extract() -> dict[str, JsonSchema]:
    validity = ", ".join(value for value, _ in standard_fields.VALIDITY_VALUES)
    fields = _list_of(_reference("field"), limits.FIELDS)
    declared = _list_of(_reference("declared"), limits.FIELDS)
    further = f"Further metadata of reviews, besides {_name_list(standard_fields.META)}."
    return {
        "fields": _about("The fields to extract, read as `extraction.NAME`.", fields),
        "meta": _about(further, declared, [{"name": "age_years", "type": "number"}]),
        "passes": _about("How often to extract; the majority counts.", _whole(limits.PASSES)),
        "validity": _about(f"Add the field `{standard_fields.VALIDITY_FIELD}`: {validity}.", {"type": "boolean"}),
        "examples": _about(
            "Reviewed answers, which a model is shown.",
            _list_of(_reference("example"), limits.REVIEW_EXAMPLES),
            [{"text": "My throat closed up.", "fields": {"incident_severity": "severe"}}],
        ),
    }


def _example() -> JsonSchema:
    text = {"type": "string", "pattern": "\\S", "maxLength": limits.REVIEW_EXAMPLE_CHARACTERS}
    properties = {
        "text": _about("The review.", text),
        "fields": _about("The right value of each field; one with a default may be missing.", _field_map(_LITERAL[:3])),
        "quotes": _about(
            "For fields with evidence, the words of the text that the value rests on.", _field_map(["string"])
        ),
        "reasons": _about("For fields with a reason, why the value is right.", _field_map(["string"])),
    }
    return {"title": "Example", **_exactly(sections.EXAMPLE_KEYS, properties, ("text", "fields"))}


def _field_map(types: Sequence[str]) -> JsonSchema:
    return {
        "type": "object",
        "propertyNames": {"pattern": _WHOLE_NAME},
        "additionalProperties": {"type": list(types)},
        "maxProperties": limits.FIELDS + 1,
    }


def _declaration(title: str, known: Sequence[str], required: Sequence[str]) -> JsonSchema:
    """Return the schema of a field or parameter, whose other keys depend on its `type`."""
    types = [name for name in _TYPES if name != "enum" or "values" in known]
    value = {"type": "string", "minLength": 1}
    listed = _list_of(value, limits.ENUM_VALUES, least=1, unique=True)
    described = {
        "type": ["object", "array"],
        "additionalProperties": _STRING,
        "propertyNames": {"minLength": 1},
        "minProperties": 1,
        "maxProperties": limits.ENUM_VALUES,
    }
    properties: dict[str, JsonSchema] = {
        "name": _about("The bare name, without a namespace.", _A_NAME),
        "type": _choice({name: _TYPES[name] for name in types}, "What the values are."),
        "values": _about(
            "The enum's values: an object of descriptions, or a list.",
            listed | described,
            {"none": "No reaction", "mild": "Light"},
        ),
        "description": _about("For people, and for the extractor of a field.", _STRING),
        "nullable": _about("Whether the value may be missing.", {"type": "boolean"}),
        "path": _about(
            "The keys that lead to the value in the business object; Yelp's attribute strings are read.",
            _list_of(value, limits.PATH_KEYS, least=1),
            ["attributes", "NoiseLevel"],
        ),
        "default": _about("The value if none is given.", {}),
        "minimum": _about("The smallest value that may be given.", {}),
        "maximum": _about("The largest value that may be given.", {}),
        "evidence": _about(
            "Ask for a quote from the review, which is checked against it; `required`: without one an answer is invalid.",
            {"enum": [True, False, "required"]},
        ),
        "reason": _about("Ask a model for the reason, before the value.", {"type": "boolean"}),
        "hint": _choice(sections.HINTS, "What else of a review may speak for an enum or a boolean: its stars."),
        "sources": _reference("sources"),
        "allow": _reference("allow"),
    }
    by_type = [_where_key("type", name, _keys_of_type(name, known)) for name in types]
    return {"title": title, **_exactly(known, properties, required), "allOf": by_type}


def _keys_of_type(name: str, known: Sequence[str]) -> JsonSchema:
    """Return the schema of the keys whose values depend on the type `name` of a field or parameter."""
    if name == "enum":
        texts = {"default": {"type": "string"}, "minimum": False, "maximum": False}
        return {"required": ["values"], **({"properties": texts} if "default" in known else {})}
    bound: JsonSchema | bool = {"type": name} if sections.SCALARS[name].is_numeric else False
    properties: dict[str, Any] = {"values": False} if "values" in known else {}
    if "default" in known:
        properties |= {"default": {"type": name}, "minimum": bound, "maximum": bound}
    return {"properties": properties} if properties else {}


def _allow() -> JsonSchema:
    reasons = {code: _about(read_headline(code), _STRING | {"pattern": "\\S"}) for code in SUPPRESSIBLE}
    example = {"FS602": "kept for the next version"}
    return _about("Warnings and notes to suppress: the code, and why.", _exactly(SUPPRESSIBLE, reasons), example)


def _name_list(fields: Mapping[str, Type]) -> str:
    return ", ".join(f"`{name}`" for name in fields)


def _step() -> JsonSchema:
    operations = {name: f"{operation.doc} Type: {operation.result}." for name, operation in OPERATIONS.items()}
    return {
        "title": "Step",
        "type": "object",
        "properties": {
            "name": _about("How later steps and `output` name the value.", _A_NAME),
            "op": _choice(operations, "What the step does."),
            "sources": _reference("sources"),
            "allow": _reference("allow"),
        },
        "required": ["name", "op"],
        "allOf": [_where_key("op", name, _operation(operation)) for name, operation in OPERATIONS.items()],
    }


def _operation(operation: OperationSpec) -> JsonSchema:
    properties: dict[str, Any] = dict.fromkeys(COMMON_STEP_KEYS, True)
    properties |= {key.name: _key(key) for key in operation.keys}
    required = [key.name for key in operation.keys if key.required]
    schema = {"description": operation.doc, **_exactly(list_step_keys(operation), properties, required)}
    if operation.any_of:
        schema["anyOf"] = [{"required": [key], "properties": {key: {"minProperties": 1}}} for key in operation.any_of]
    if operation.one_of:
        schema["oneOf"] = [{"required": [key]} for key in operation.one_of]
    if any(key.kind == "match" for key in operation.keys):
        numbers = {"additionalProperties": {"type": "number"}}
        schema["allOf"] = [_where_key("match", "substring_max", {"properties": {"table": numbers}})]
    return schema


def _key(key: Key) -> JsonSchema:
    schema = _kind(key)
    doc = key.doc
    if key.kind in ("formula", "review formula"):
        doc = f"{doc}. Functions: {', '.join(f'`{f.signature}`' for f in FUNCTIONS.values())}."
    return _about(doc, schema, *(key.examples if "$ref" not in schema else ()))


def _kind(key: Key) -> JsonSchema:
    """Return the schema of the values of a kind."""
    match key.kind:
        case "conditions":
            return _reference("conditions")
        case "bare conditions":
            return _reference(key.name)
        case "literal" | "number":
            return {"type": _LITERAL}
        case "match":
            return _choice(MATCH_MODES, key.doc)
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
            return {**_list_of(_reference("rule"), limits.CASE_RULES, least=1), **last}
        case _:
            return _FORMULA


def _rule() -> JsonSchema:
    when = "A condition; in a case with `source` it begins with a comparison, such as `< 4.0`."
    properties = {
        "when": _about(when, _FORMULA),
        "then": _about("The value if `when` holds.", {"type": _LITERAL}),
        "else": _about("The value if no rule holds; the last rule.", {"type": _LITERAL}),
    }
    own_keys = [key for key in RULE_KEYS if key != "else"]
    return {
        "title": "Rule",
        "type": "object",
        "properties": properties,
        "if": {"required": ["else"]},
        "then": _exactly(("else",), {"else": True}, ("else",)),
        "else": _exactly(own_keys, dict.fromkeys(own_keys, True), own_keys),
    }


_TEST = "A value, for equality, or operators, all of which must hold."


def _conditions() -> JsonSchema:
    """Return the schema of fields with their namespace, and filters."""
    spaces = standard_fields.FIELDS_BY_NAMESPACE.items()
    standard = {f"{space}.{name}": ty for space, fields in spaces for name, ty in fields.items()}
    use = {"type": "boolean", "description": "Whether the filter must hold, or its opposite."}
    words = "|".join(standard_fields.NAMESPACES)
    return {
        "type": "object",
        "properties": _tests(standard),
        "patternProperties": {
            f"^({words})\\.{NAME.pattern}$": _about(_TEST, _reference("test")),
            f"^\\${NAME.pattern}$": use,
        },
        "additionalProperties": False,
        "maxProperties": limits.CONDITIONS,
    }


def _bare_conditions(namespace: str) -> JsonSchema:
    return {
        "type": "object",
        "title": f"Conditions on {namespace}",
        "properties": _tests(standard_fields.FIELDS_BY_NAMESPACE.get(namespace, {})),
        "propertyNames": {"pattern": _WHOLE_NAME},
        "additionalProperties": _about(_TEST, _reference("test")),
        "maxProperties": limits.CONDITIONS,
    }


def _tests(standard: Mapping[str, Type]) -> dict[str, JsonSchema]:
    """Return the schemas of conditions on the standard fields, which are named so that editors offer them."""
    return {name: _about(f"{ty.noun.capitalize()}. {_TEST}", _reference("test")) for name, ty in standard.items()}


def _test() -> JsonSchema:
    operand = {"type": _LITERAL}
    tests = {**dict.fromkeys(OPERATORS, operand), "in": _list_of(operand, limits.LIST_ITEMS, least=1)}
    return {
        "type": [*_LITERAL, "object"],
        "properties": {name: _about(OPERATORS[name], test) for name, test in tests.items()},
        "additionalProperties": False,
        "minProperties": 1,
        "examples": [{"in": ["mild", "severe"]}, {">=": 2023}],
    }
