"""The schemas of what a model answers in each step, made for the wire, and the validation of answers against them.

Structured output knows closed objects alone and no recursion, and few unions. So a map is an array of pairs, what may be
missing is an empty array or an empty text, and the only unions are a literal and a step. The sources of a part are
numbers of the task's sentences. Keys are fixed here; the model fills in values. An answer is the JSON object in a text, or
`UnusableAnswer` with the place of the first mismatch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema

from formulaseed import limits
from formulaseed.data.records import describe_errors
from formulaseed.language.functions import FUNCTIONS
from formulaseed.llm.calls import UnusableAnswer
from formulaseed.seed.operations import OPERATIONS, Key, OperationSpec
from formulaseed.seed.read.sections import FIELD_TYPES, SCALARS, STRATEGIES
from formulaseed.seed.read.steps import MATCH_MODES
from formulaseed.source.strict_json import refuse_constant, refuse_duplicate_keys

Json = Any
TESTS = ("is", "in", ">=", ">", "<=", "<", "!=")
"""How a condition on the wire compares its subject with its values."""
Schema = dict[str, Any]
_DEPTH = 12


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _enum(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def _named(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _about(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


_TEXT: Schema = {"type": "string"}
_TEXTS = _list(_TEXT)
_SOURCES = _named("sources")
_LITERAL = _named("literal")
_WHERE = _list(_named("condition"))
_VALUES = _named("values")
_BOUND = _named("bound")
_BOUNDS = {"minimum": _BOUND, "maximum": _BOUND}
_TYPE = _enum(*FIELD_TYPES)
_ONE_LITERAL = _about(_list(_LITERAL), "One value, or empty")
_BY_KIND: dict[str, Schema] = {
    "conditions": _WHERE,
    "condition formula": _about(_TEXT, "A condition as a formula, beside those of `where`, or empty"),
    "literal": _LITERAL,
    "number": _BOUND,
    "match": _enum(*MATCH_MODES),
    "table": _list(_object(key=_TEXT, value=_LITERAL)),
    "rules": _list(_object(when=_TEXT, then=_LITERAL)),
}
"""The schema of a key's value, by its kind in the table of operations; those of other kinds are strings."""


def step_schema() -> Schema:
    """Return the schema of a step: one of the operations of the table; those with the same values share one."""
    alike: dict[str, tuple[Schema, list[str]]] = {}
    for name, operation in OPERATIONS.items():
        keys = {key.name: key for key in operation.keys}
        others = {"else": _LITERAL, "expr": _TEXT}
        values = {name: _value(keys[name]) if name in keys else others[name] for name in step_keys(operation)}
        alike.setdefault(json.dumps(values), (values, []))[1].append(name)
    found = [_object(name=_TEXT, op=_enum(*names), **values, sources=_SOURCES) for values, names in alike.values()]
    return {"anyOf": found}


def step_keys(operation: OperationSpec) -> tuple[str, ...]:
    """Return the keys of an operation on the wire: conditions are in `where` alone, a field is a formula, `else` a key."""
    names = {"rules": ("rules", "else"), "field": ("expr",)}
    kept = [key.name for key in operation.keys if key.kind != "bare conditions"]
    return tuple(dict.fromkeys(name for key in kept for name in names.get(key, (key,))))


def _value(key: Key) -> Schema:
    if key.kind in ("name", "literal") and not key.required:
        return _about(_TEXT, "A step, or empty") if key.kind == "name" else _ONE_LITERAL
    return _BY_KIND.get(key.kind, _TEXT)


_DEFINITIONS: dict[str, Schema] = {
    "sources": _about(_list({"type": "integer"}), "Numbers of the sentences that this comes from"),
    "literal": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]},
    "values": _about(_list(_object(value=_TEXT, meaning=_TEXT)), "Of an enum; else empty"),
    "bound": _about(_list({"type": "number"}), "One number, or empty"),
    "note": _object(text=_TEXT, sources=_SOURCES),
    "loss": _object(name=_TEXT, why=_TEXT),
    "field": _object(
        name=_TEXT, type=_TYPE, description=_TEXT, values=_VALUES, default=_ONE_LITERAL, **_BOUNDS, sources=_SOURCES
    ),
    "input": _object(
        of=_enum("meta", "context"),
        name=_TEXT,
        type=_TYPE,
        values=_VALUES,
        path=_about(_TEXTS, "Keys to it in the business object, or empty"),
        nullable={"type": "boolean"},
        description=_TEXT,
        sources=_SOURCES,
    ),
    "parameter": _object(
        name=_TEXT, type=_enum(*SCALARS), default=_LITERAL, **_BOUNDS, description=_TEXT, sources=_SOURCES
    ),
    "reading": _object(
        validity={"type": "boolean"},
        passes={"type": "integer", "enum": list(range(1, limits.PASSES + 1))},
        max_length=_about(_list({"type": "integer"}), "Characters: one number, or empty"),
        strategy=_enum(*STRATEGIES),
        sources=_SOURCES,
    ),
    "condition": _object(
        subject=_about(_TEXT, "extraction.x, meta.x, context.x or $FILTER"), test=_enum(*TESTS), values=_list(_LITERAL)
    ),
    "step": step_schema(),
}
_NOTES = {
    "assumptions": _about(_list(_named("note")), "What was decided that the text leaves open"),
    "questions": _about(_list(_named("note")), "What the author of the text should answer"),
}


def _answer(**properties: Schema) -> Schema:
    """The schema of an answer, with those definitions that it uses; a definition uses earlier ones alone."""
    schema = _object(**properties, **_NOTES)
    used: dict[str, Schema] = {}
    for name, definition in reversed(_DEFINITIONS.items()):
        if json.dumps(_named(name)) in json.dumps([schema, used]):
            used = {name: definition, **used}
    return {**schema, "$defs": used}


_DEFINITION = _object(name=_TEXT, meaning=_TEXT, sources=_SOURCES)
_THRESHOLD = _object(quantity=_TEXT, value=_LITERAL, sources=_SOURCES)
_PLANNED = _object(
    name=_TEXT,
    op=_enum(*OPERATIONS),
    does=_TEXT,
    uses=_about(_TEXTS, "Names of steps, fields and inputs"),
    functions=_list(_enum(*FUNCTIONS)),
    sources=_SOURCES,
)
_CHANGE = _object(before=_about(_TEXT, "The step that it goes in front of; empty to stay"), step=_named("step"))

CONDITIONS = _answer(
    description=_TEXT,
    keywords=_object(words=_TEXTS, sources=_SOURCES),
    reading=_named("reading"),
    fields=_list(_named("field")),
    inputs=_about(_list(_named("input")), "Inputs that are not listed in the instructions; usually none"),
    parameters=_list(_named("parameter")),
    definitions=_about(_list(_DEFINITION), "Terms that the text defines"),
    thresholds=_about(_list(_THRESHOLD), "Every number and bound that the text sets"),
    outputs=_object(names=_TEXTS, sources=_SOURCES),
    background=_about(_list({"type": "integer"}), "Numbers of the sentences that state no rule"),
)
GRAPH = _answer(steps=_list(_PLANNED))
SEED = _answer(steps=_list(_named("step")), output=_TEXTS)
REPAIR = _answer(  # the prompt says what each key is for: a larger schema may be refused
    changes=_TEXTS,
    keywords=_TEXTS,
    reading=_list(_named("reading")),
    fields=_list(_named("field")),
    inputs=_list(_named("input")),
    parameters=_list(_named("parameter")),
    steps=_list(_CHANGE),
    removed=_list(_named("loss")),
    losses=_list(_named("loss")),
    output=_TEXTS,
)


def read_answer(text: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the JSON object of an answer. Raises `UnusableAnswer` where it does not match the schema."""
    value: dict[str, Json] = load(text)
    try:
        _validator(json.dumps(schema)).validate_python(value)
    except ValidationError as error:
        raise UnusableAnswer(f"the answer does not match its schema: {describe_errors(error)}") from None
    return value


def load(text: str) -> Json:
    """Return the JSON value of an answer. Raises `UnusableAnswer` for what is not JSON, or cannot be written back."""
    if len(text) > limits.ANSWER_CHARACTERS:
        raise UnusableAnswer(f"the answer is longer than {limits.ANSWER_CHARACTERS:,} characters")
    try:
        value = json.loads(
            text, object_pairs_hook=refuse_duplicate_keys, parse_constant=refuse_constant, parse_int=_integer
        )
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # fails on an unpaired surrogate
        depth = _depth(value)
    except (ValueError, RecursionError) as error:
        raise UnusableAnswer(f"the answer is not usable JSON: {error}") from None
    if depth > _DEPTH:
        raise UnusableAnswer("the answer is not usable JSON: objects and lists are nested too deep")
    return value


def _depth(value: Json) -> int:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if items is None else 1 + max(map(_depth, items), default=0)


def _integer(digits: str) -> int:
    if len(digits) > limits.NUMBER_CHARACTERS:
        raise ValueError("a number has too many digits")
    return int(digits)


# --- validation


@cache
def _validator(schema: str) -> SchemaValidator:
    """Return what validates an answer, made of its schema as JSON."""
    return SchemaValidator(_core_schema(json.loads(schema)))


_SCALARS: dict[str, CoreSchema] = {
    "string": core_schema.str_schema(strict=True),
    "boolean": core_schema.bool_schema(strict=True),
    "integer": core_schema.int_schema(strict=True),
    "number": core_schema.float_schema(strict=True),
}


def _core_schema(schema: Schema) -> CoreSchema:
    """Return pydantic's form of a schema, of which only the keywords above are known."""
    match schema:
        case {"$ref": reference}:
            return _core_schema(_DEFINITIONS[reference.rpartition("/")[2]])
        case {"anyOf": [{"type": "object"}, *_] as steps}:
            by_operation = {name: _core_schema(step) for step in steps for name in step["properties"]["op"]["enum"]}
            return core_schema.tagged_union_schema(
                by_operation,
                "op",
                custom_error_type="operation",
                custom_error_message="has an unknown `op`",
                strict=True,
            )
        case {"anyOf": scalars}:
            message = f"must be a {' or a '.join(scalar['type'] for scalar in scalars)}"
            choices: list[CoreSchema | tuple[CoreSchema, str]] = [_core_schema(scalar) for scalar in scalars]
            return core_schema.union_schema(choices, custom_error_type="scalar", custom_error_message=message)
        case {"enum": values}:
            return core_schema.literal_schema(values)
        case {"type": "array", "items": items}:
            return core_schema.list_schema(_core_schema(items), strict=True)
        case {"type": "object", "properties": properties}:
            fields = {name: core_schema.typed_dict_field(_core_schema(value)) for name, value in properties.items()}
            return core_schema.typed_dict_schema(fields, extra_behavior="forbid", strict=True)
        case {"type": kind}:
            return _SCALARS[kind]
    raise AssertionError(f"unknown schema {schema}")
