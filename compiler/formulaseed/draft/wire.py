"""Defines the schemas of a model's answers in each step, and validates answers against them.

Structured output supports only closed objects, no recursion, and few unions. Therefore a map is an array of pairs, an optional
value is an array or a string that may be empty, and the only unions are a literal and a step. The sources of a part are
numbers of the task's sentences. Keys are fixed here; the model fills in values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema

from formulaseed import limits
from formulaseed.data.validation import describe_errors
from formulaseed.language.functions import FUNCTIONS
from formulaseed.llm.calls import UnusableAnswer
from formulaseed.seed.operations import OPERATIONS, Key, OperationSpec
from formulaseed.seed.read.sections import FIELD_TYPES, SCALARS, STRATEGIES
from formulaseed.seed.read.steps import ADVERSE, MATCH_MODES, WORD_KEYS
from formulaseed.source.strict_json import refuse_constant, refuse_duplicate_keys

Json = Any
TESTS = ("is", "in", ">=", ">", "<=", "<", "!=")
"""The tests that an answer's condition can apply to its subject."""
Schema = dict[str, Any]
_MAX_DEPTH = 12


def _object(**properties: Schema) -> Schema:
    """Return the schema of an object with exactly these properties, all of them required."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: Schema) -> Schema:
    """Return the schema of a list of any length."""
    return {"type": "array", "items": items}


def _enum(*values: str) -> Schema:
    """Return the schema of a string that is one of `values`."""
    return {"type": "string", "enum": list(values)}


def _reference(name: str) -> Schema:
    """Return the schema that refers to the definition called `name`."""
    return {"$ref": f"#/$defs/{name}"}


def _describe(schema: Schema, description: str) -> Schema:
    """Return a copy of a schema with a description for the model."""
    return {**schema, "description": description}


_TEXT: Schema = {"type": "string"}
_TEXTS = _list(_TEXT)
_SOURCES = _reference("sources")
_LITERAL = _reference("literal")
_WHERE = _list(_reference("condition"))
_VALUES = _reference("values")
_BOUND = _reference("bound")
_BOUNDS = {"minimum": _BOUND, "maximum": _BOUND}
_TYPE = _enum(*FIELD_TYPES)
_ONE_LITERAL = _describe(_list(_LITERAL), "One value, or empty")
_WORDS = {"label": _TEXT, "unit": _TEXT}
_NUMBER_WORDS: dict[str, dict[str, Schema]] = {
    "define_filter": {},
    "count": {},
    "expr": {"unit": _TEXT, "adverse": _enum(*ADVERSE, "none")},
}
"""The words about its number that a step has in an answer, by the operation; any other step has a `unit`. A larger schema may be
refused."""
_BY_KIND: dict[str, Schema] = {
    "conditions": _WHERE,
    "condition formula": _describe(_TEXT, "A condition as a formula, beside those of `where`, or empty"),
    "literal": _LITERAL,
    "number": _BOUND,
    "match": _enum(*MATCH_MODES),
    "table": _list(_object(key=_TEXT, value=_LITERAL)),
    "rules": _list(_object(when=_TEXT, then=_LITERAL, because=_TEXT)),
}
"""The schema of a key's value by the key's kind in the table of operations; a value of any other kind is a string."""


def step_schema() -> Schema:
    """Return the schema of a step: one alternative for all operations that have the same keys with the same schemas."""
    alternatives: dict[str, tuple[Schema, list[str]]] = {}
    for operation_name, operation in OPERATIONS.items():
        schemas = {
            "else": _LITERAL,
            "because": _TEXT,
            "expr": _TEXT,
            **{key.name: _choose_value_schema(key) for key in operation.keys},
        }
        values = {name: schemas[name] for name in step_keys(operation)}
        alternatives.setdefault(json.dumps(values), (values, []))[1].append(operation_name)
    pairs = alternatives.values()
    steps = []
    for values, names in pairs:
        words = _NUMBER_WORDS.get(names[0], {"unit": _TEXT})
        steps.append(_object(name=_TEXT, label=_TEXT, op=_enum(*names), **values, **words, sources=_SOURCES))
    return {"anyOf": steps}


def step_keys(operation: OperationSpec) -> tuple[str, ...]:
    """Return the keys that a step of an operation has in an answer.

    They differ from a seed's: conditions are only in `where`, a field is a formula in `expr`, and `else` is a key, whose
    reason is `because`.
    """
    answer_keys = {"rules": ("rules", "else", "because"), "field": ("expr",)}
    seed_keys = [key.name for key in operation.keys if key.kind != "bare conditions"]
    return tuple(dict.fromkeys(name for key in seed_keys for name in answer_keys.get(key, (key,))))


def _choose_value_schema(key: Key) -> Schema:
    """Return the schema of a key's value in an answer; a string for kinds that have no schema of their own.

    A name that is not required may be an empty string, and a literal that is not required is a list that may be empty.
    """
    if key.kind == "name" and not key.required:
        return _describe(_TEXT, "A step, or empty")
    if key.kind == "literal" and not key.required:
        return _ONE_LITERAL
    return _BY_KIND.get(key.kind, _TEXT)


_DEFINITIONS: dict[str, Schema] = {
    "sources": _describe(_list({"type": "integer"}), "Numbers of the sentences that this comes from"),
    "literal": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]},
    "values": _describe(_list(_object(value=_TEXT, meaning=_TEXT)), "Of an enum; else empty"),
    "bound": _describe(_list({"type": "number"}), "One number, or empty"),
    "note": _object(text=_TEXT, sources=_SOURCES),
    "loss": _object(name=_TEXT, why=_TEXT),
    "field": _object(
        name=_TEXT,
        **_WORDS,
        type=_TYPE,
        description=_TEXT,
        values=_VALUES,
        default=_ONE_LITERAL,
        **_BOUNDS,
        sources=_SOURCES,
    ),
    "input": _object(
        of=_enum("meta", "context"),
        name=_TEXT,
        **_WORDS,
        type=_TYPE,
        values=_VALUES,
        path=_describe(_TEXTS, "Keys to it in the business object, or empty"),
        nullable={"type": "boolean"},
        description=_TEXT,
        sources=_SOURCES,
    ),
    "parameter": _object(
        name=_TEXT,
        **_WORDS,
        type=_enum(*SCALARS),
        default=_LITERAL,
        **_BOUNDS,
        description=_TEXT,
        sources=_SOURCES,
    ),
    "reading": _object(
        validity={"type": "boolean"},
        passes={"type": "integer", "enum": list(range(1, limits.PASSES + 1))},
        max_length=_describe(_list({"type": "integer"}), "Characters: one number, or empty"),
        strategy=_enum(*STRATEGIES),
        sources=_SOURCES,
    ),
    "condition": _object(
        subject=_describe(_TEXT, "extraction.x, meta.x, context.x or $FILTER"),
        test=_enum(*TESTS),
        values=_list(_LITERAL),
    ),
    "step": step_schema(),
}
_NOTES = {
    "assumptions": _describe(_list(_reference("note")), "What was decided that the text leaves open"),
    "questions": _describe(_list(_reference("note")), "What the author of the text should answer"),
}


def _build_answer(**properties: Schema) -> Schema:
    """Return the schema of an answer with these properties and notes, and with the definitions that it uses."""
    schema = _object(**properties, **_NOTES)
    used: dict[str, Schema] = {}
    # backwards, since a definition uses only definitions before it
    for name, definition in reversed(_DEFINITIONS.items()):
        if json.dumps(_reference(name)) in json.dumps([schema, used]):
            used = {name: definition, **used}
    return {**schema, "$defs": used}


_DEFINITION = _object(name=_TEXT, meaning=_TEXT, sources=_SOURCES)
_THRESHOLD = _object(quantity=_TEXT, value=_LITERAL, sources=_SOURCES)
_PLANNED_STEP = _object(
    name=_TEXT,
    op=_enum(*OPERATIONS),
    does=_TEXT,
    uses=_describe(_TEXTS, "Names of steps, fields and inputs"),
    functions=_list(_enum(*FUNCTIONS)),
    sources=_SOURCES,
)
_CHANGE = _object(before=_describe(_TEXT, "The step that it goes in front of; empty to stay"), step=_reference("step"))

CONDITIONS = _build_answer(
    description=_TEXT,
    keywords=_object(words=_TEXTS, sources=_SOURCES),
    reading=_reference("reading"),
    fields=_list(_reference("field")),
    inputs=_describe(_list(_reference("input")), "Inputs that are not listed in the instructions; usually none"),
    parameters=_list(_reference("parameter")),
    definitions=_describe(_list(_DEFINITION), "Terms that the text defines"),
    thresholds=_describe(_list(_THRESHOLD), "Every number and bound that the text sets"),
    outputs=_object(names=_TEXTS, sources=_SOURCES),
    background=_describe(_list({"type": "integer"}), "Numbers of the sentences that state no rule"),
)
GRAPH = _build_answer(steps=_list(_PLANNED_STEP))
SEED = _build_answer(steps=_list(_reference("step")), output=_TEXTS)
REPAIR = _build_answer(  # the prompt says what each key is for: a larger schema may be refused
    changes=_TEXTS,
    keywords=_TEXTS,
    reading=_list(_reference("reading")),
    fields=_list(_reference("field")),
    inputs=_list(_reference("input")),
    parameters=_list(_reference("parameter")),
    steps=_list(_CHANGE),
    removed=_list(_reference("loss")),
    losses=_list(_reference("loss")),
    output=_TEXTS,
)


def read_answer(text: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    """Parse an answer and validate it against its schema. Raises `UnusableAnswer`, which names the first mismatch."""
    value: dict[str, Json] = parse_json(text)
    try:
        _validator(json.dumps(schema)).validate_python(value)
    except ValidationError as error:
        raise UnusableAnswer(f"the answer does not match its schema: {describe_errors(error)}") from None
    return value


def parse_json(text: str) -> Json:
    """Parse the JSON of an answer.

    Raises `UnusableAnswer` if it is not JSON, is too long or too deep, or cannot be written as UTF-8.
    """
    if len(text) > limits.ANSWER_CHARACTERS:
        raise UnusableAnswer(f"the answer is longer than {limits.ANSWER_CHARACTERS:,} characters")
    try:
        value = json.loads(
            text, object_pairs_hook=refuse_duplicate_keys, parse_constant=refuse_constant, parse_int=_parse_integer
        )
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # fails on an unpaired surrogate
        depth = _measure_depth(value)
    except (ValueError, RecursionError) as error:
        raise UnusableAnswer(f"the answer is not usable JSON: {error}") from None
    if depth > _MAX_DEPTH:
        raise UnusableAnswer("the answer is not usable JSON: objects and lists are nested too deep")
    return value


def _measure_depth(value: Json) -> int:
    """Return how many objects and lists are nested in a JSON value. Raises `RecursionError` if there are too many."""
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(_measure_depth, value), default=0) if isinstance(value, list) else 0


def _parse_integer(digits: str) -> int:
    """Return the integer. Raises `ValueError` if it has more digits than a seed may have."""
    if len(digits) > limits.NUMBER_CHARACTERS:
        raise ValueError("a number has too many digits")
    return int(digits)


# --- validation


@cache
def _validator(schema: str) -> SchemaValidator:
    """Return the validator of a schema, which is given as JSON so that it can be cached."""
    return SchemaValidator(_convert_schema(json.loads(schema)))


_SCALARS: dict[str, CoreSchema] = {
    "string": core_schema.str_schema(strict=True),
    "boolean": core_schema.bool_schema(strict=True),
    "integer": core_schema.int_schema(strict=True),
    "number": core_schema.float_schema(strict=True),
}


def _convert_schema(schema: Schema) -> CoreSchema:
    """Return a schema in the form of pydantic-core.

    Supports only the keywords that the schemas of this module have, and raises `AssertionError` for any other schema.
    """
    match schema:
        case {"$ref": reference}:
            return _convert_schema(_DEFINITIONS[reference.rpartition("/")[2]])
        case {"anyOf": [{"type": "object"}, *_] as steps}:
            by_operation = {name: _convert_schema(step) for step in steps for name in step["properties"]["op"]["enum"]}
            return core_schema.tagged_union_schema(
                by_operation,
                "op",
                custom_error_type="operation",
                custom_error_message="has an unknown `op`",
                strict=True,
            )
        case {"anyOf": scalars}:
            message = f"must be a {' or a '.join(scalar['type'] for scalar in scalars)}"
            choices: list[CoreSchema | tuple[CoreSchema, str]] = [_convert_schema(scalar) for scalar in scalars]
            return core_schema.union_schema(choices, custom_error_type="scalar", custom_error_message=message)
        case {"enum": values}:
            return core_schema.literal_schema(values)
        case {"type": "array", "items": items}:
            return core_schema.list_schema(_convert_schema(items), strict=True)
        case {"type": "object", "properties": properties}:
            # where no schema is enforced, an answer without words for people is still usable
            fields = {
                name: core_schema.typed_dict_field(_convert_schema(value), required=name not in (*WORD_KEYS, "adverse"))
                for name, value in properties.items()
            }
            return core_schema.typed_dict_schema(fields, extra_behavior="forbid", strict=True)
        case {"type": kind}:
            return _SCALARS[kind]
    raise AssertionError(f"unknown schema {schema}")
