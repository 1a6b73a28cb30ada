"""The JSON Schema of a Formula Seed, for editors: they complete and explain keys, and underline what cannot be.

Made of the tables that seeds are read by, so that it knows every key and none besides. Draft 7, the newest that
the common editors know in full. It refuses no seed that the compiler accepts; what a schema cannot say (names,
types, the order of steps, formulas) is left to `formulaseed check`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formulaseed import limits
from formulaseed.diagnostics.codes import SEED_WARNINGS, headline
from formulaseed.language.types import Type
from formulaseed.seed import standard_fields
from formulaseed.seed.json_schema_parts import (
    A_NAME,
    WHOLE_NAME,
    JsonSchema,
    choice,
    exactly,
    list_of,
    reference,
    where_key,
)
from formulaseed.seed.json_schema_steps import step_definitions
from formulaseed.seed.read import keys

_STRATEGIES = {
    "truncate_head": "Keep the head of the review.",
    "truncate_tail": "Keep the tail of the review.",
    "truncate_middle": "Keep both ends of the review.",
    "reject": "Fail the review.",
}
_TYPES = {
    "enum": "One of the texts in `values`.",
    "integer": "A whole number.",
    "number": "Any number.",
    "boolean": "True or false.",
    "string": "A text.",
}
_REASON = {"type": "string", "pattern": "\\S"}
_TASK_NAME = "[^/\\\\\"'`$%<>|*?:;{}#]*"
_LETTER_OR_DIGIT = r"[^\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]"
"""Of ASCII; beyond it patterns have no words for letters that all validators know, and the compiler looks more closely."""
_DESCRIPTION = {"type": "string", "description": "A text for people and for whoever extracts the field."}


def seed_schema() -> JsonSchema:
    """The whole schema, as JSON values. The same each time."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Formula Seed",
        "description": (
            "A scoring policy over reviews: which reviews matter, what to extract from each, what to compute, what to "
            "return. The older shape of seeds (`filter_keywords`, `extraction_fields`, `compute_dag`, …) is not described."
        ),
        **exactly(keys.TOP_KEYS, _top(), ("task_name", "extract", "compute", "output")),
        "definitions": {
            **step_definitions(),
            "field": _field(),
            "declared": _declared(keys.DECLARED_KEYS),
            "context_field": _declared(keys.CONTEXT_FIELD_KEYS),
            "parameter": _parameter(),
            "allow": _allow(),
            "sources": _sources(),
        },
    }


# --- sections


def _top() -> dict[str, JsonSchema]:
    return {
        "$schema": {
            "type": "string",
            "description": "Where this schema lies, for editors; it changes nothing of the seed.",
        },
        "task_name": {
            "type": "string",
            "description": "Names the module: `G1a-v2` becomes `g1a_v2.py`.",
            "pattern": f"^{_TASK_NAME}{_LETTER_OR_DIGIT}{_TASK_NAME}$",
            "maxLength": limits.TASK_NAME_CHARACTERS,
            "examples": ["G1a-v2"],
        },
        "version": {
            "type": ["string", "number"],
            "description": "The seed's version; it goes into the module's header.",
        },
        "description": {"type": "string", "description": "What the policy is for; it goes into the module's header."},
        "parameters": {
            "type": "object",
            "description": "Values given at evaluation, read as `param.NAME` in any formula or condition.",
            "propertyNames": {"pattern": WHOLE_NAME, "maxLength": limits.NAME_CHARACTERS},
            "additionalProperties": reference("parameter"),
            "maxProperties": limits.PARAMETERS,
            "examples": [{"AS_OF_YEAR": {"type": "integer", "default": 2025, "minimum": 2000, "maximum": 2100}}],
        },
        "context": {
            **list_of(reference("context_field"), limits.FIELDS),
            "description": f"Further fields of the restaurant, besides {_listed(standard_fields.CONTEXT)}.",
            "examples": [[{"name": "price_tier", "type": "integer", "nullable": True}]],
        },
        "filter": {
            "description": "Which reviews are relevant; without keywords every review is.",
            **exactly(keys.FILTER_KEYS, {"keywords": _keywords(), "allow": reference("allow")}),
        },
        "extract": {
            "description": "What to extract from each relevant review.",
            **exactly(keys.EXTRACT_KEYS, _extract(), ("fields",)),
        },
        "review_handling": {
            "description": "What to do with long reviews.",
            **exactly(keys.REVIEW_HANDLING_KEYS, _review_handling(), keys.REVIEW_HANDLING_KEYS),
        },
        "compute": {
            **list_of(reference("step"), limits.STEPS),
            "description": "The steps, each behind those that it uses.",
        },
        "output": {
            **list_of(A_NAME, limits.OUTPUTS, least=1, unique=True),
            "description": "The names of the steps to return.",
        },
        "allow": reference("allow"),
    }


def _keywords() -> JsonSchema:
    keyword = {"type": "string", "pattern": "\\S"}
    return {
        **list_of(keyword, limits.KEYWORDS, unique=True),
        "description": "A review is relevant if its text contains one of these, whatever the case.",
        "examples": [["allergy", "peanut"]],
    }


def _extract() -> dict[str, JsonSchema]:
    validity = ", ".join(value for value, _ in standard_fields.VALIDITY_VALUES)
    return {
        "fields": {
            **list_of(reference("field"), limits.FIELDS),
            "description": "The fields to extract, read as `extraction.NAME`.",
        },
        "meta": {
            **list_of(reference("declared"), limits.FIELDS),
            "description": f"Further metadata of reviews, besides {_listed(standard_fields.META)}.",
            "examples": [[{"name": "age_years", "type": "number"}]],
        },
        "passes": {
            "type": "integer",
            "minimum": 1,
            "maximum": limits.PASSES,
            "description": "How often to extract; the majority counts.",
        },
        "validity": {
            "type": "boolean",
            "description": f"Add the field `{standard_fields.VALIDITY_FIELD}`: {validity}.",
        },
    }


def _review_handling() -> dict[str, JsonSchema]:
    return {
        "max_length": {
            "type": "integer",
            "minimum": 1,
            "maximum": limits.REVIEW_CHARACTERS,
            "description": "How many characters of a review are read.",
        },
        "strategy": choice(keys.STRATEGIES, _STRATEGIES, "What to do with a review that is longer."),
    }


# --- fields and parameters


def _field() -> JsonSchema:
    properties: dict[str, JsonSchema] = {
        "name": {**A_NAME, "description": "Read as `extraction.NAME`."},
        "type": choice(keys.FIELD_TYPES, _TYPES, "What the values are."),
        "values": _values(),
        "description": _DESCRIPTION,
        "default": {"description": "Stands in where an extraction lacks the field; without it that is an error."},
        "minimum": {"description": "The smallest value that an extraction may give."},
        "maximum": {"description": "The largest value that an extraction may give."},
        "evidence": {"type": "boolean", "description": "Ask for a quote from the review, which is held against it."},
        "sources": reference("sources"),
        "allow": reference("allow"),
    }
    of_enum = {"default": {"type": "string"}, "minimum": False, "maximum": False}
    by_type = [where_key("type", "enum", {"required": ["values"], "properties": of_enum})]
    by_type += [where_key("type", name, {"properties": {"values": False, **_bounded(name)}}) for name in keys.SCALARS]
    return {"title": "Field", **exactly(keys.FIELD_KEYS, properties, ("name", "type")), "allOf": by_type}


def _values() -> JsonSchema:
    return {
        "type": ["object", "array"],
        "description": "The enum's values: an object of descriptions, or a list.",
        "additionalProperties": {"type": "string"},
        "propertyNames": {"minLength": 1},
        "minProperties": 1,
        "maxProperties": limits.ENUM_VALUES,
        "items": {"type": "string", "minLength": 1},
        "minItems": 1,
        "maxItems": limits.ENUM_VALUES,
        "uniqueItems": True,
        "examples": [{"none": "No reaction", "mild": "A light reaction"}],
    }


def _bounded(name: str) -> dict[str, JsonSchema | bool]:
    """The default and the bounds of a field or parameter of the type."""
    bound: JsonSchema | bool = {"type": name} if keys.SCALARS[name].is_numeric else False
    return {"default": {"type": name}, "minimum": bound, "maximum": bound}


def _declared(known: Sequence[str]) -> JsonSchema:
    properties = {
        "name": {**A_NAME, "description": "The bare name, without `meta.` or `context.`."},
        "type": choice(keys.FIELD_TYPES, _TYPES, "What the values are."),
        "values": _values(),
        "nullable": {"type": "boolean", "description": "Whether the value may be missing."},
        "description": _DESCRIPTION,
        "path": {
            **list_of({"type": "string", "minLength": 1}, limits.PATH_KEYS, least=1),
            "description": "The keys that lead to the value in the business object; Yelp's attribute strings are read.",
            "examples": [["attributes", "NoiseLevel"]],
        },
        "allow": reference("allow"),
    }
    by_type = [where_key("type", "enum", {"required": ["values"]})]
    by_type += [where_key("type", name, {"properties": {"values": False}}) for name in keys.SCALARS]
    return {"title": "Declared field", **exactly(known, properties, ("name", "type")), "allOf": by_type}


def _parameter() -> JsonSchema:
    properties: dict[str, JsonSchema] = {
        "type": choice(keys.SCALARS, _TYPES, "What the values are."),
        "default": {"description": "The value where none is given."},
        "minimum": {"description": "The smallest value that may be given."},
        "maximum": {"description": "The largest value that may be given."},
        "description": {"type": "string", "description": "What the parameter is for."},
        "allow": reference("allow"),
    }
    by_type = [where_key("type", name, {"properties": _bounded(name)}) for name in keys.SCALARS]
    required = ("type", "default")
    return {"title": "Parameter", **exactly(keys.PARAMETER_KEYS, properties, required), "allOf": by_type}


def _allow() -> JsonSchema:
    return {
        "type": "object",
        "description": "Warnings that are meant to be: the code, and why.",
        "properties": {code: {**_REASON, "description": headline(code)} for code in SEED_WARNINGS},
        "additionalProperties": False,
        "examples": [{"FS602": "kept for the next version"}],
    }


def _sources() -> JsonSchema:
    return {
        "type": "array",
        "description": "The sentences of the task's text that this comes from, word for word.",
        "items": {"type": "string"},
        "maxItems": limits.SOURCES,
    }


def _listed(fields: Mapping[str, Type]) -> str:
    return ", ".join(f"`{name}`" for name in fields)
