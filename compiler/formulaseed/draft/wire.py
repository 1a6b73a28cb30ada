"""The schemas of what a model answers in each step, made for the wire.

Structured output knows closed objects alone and no recursion, and few unions. So a map is an array of pairs, what may be
missing is an empty array or an empty text, and the only unions are a literal and a step. The sources of a part are
numbers of the task's sentences. Keys are fixed here; the model fills in values.
"""

from __future__ import annotations

import json
from typing import Any

from formulaseed import limits
from formulaseed.language.functions import FUNCTIONS
from formulaseed.seed.operations import OPERATIONS, Key, OperationSpec
from formulaseed.seed.read.sections import FIELD_TYPES, SCALARS, STRATEGIES
from formulaseed.seed.read.steps import MATCH_MODES

Json = Any
TESTS = ("is", "in", ">=", ">", "<=", "<", "!=")
"""How a condition on the wire compares its subject with its values."""
Schema = dict[str, Any]


def _object(**properties: Schema) -> Schema:
    named = {name.rstrip("_"): schema for name, schema in properties.items()}
    return {"type": "object", "properties": named, "required": list(named), "additionalProperties": False}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _enum(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def _named(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _reported(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


_TEXT: Schema = {"type": "string"}
_TEXTS = _list(_TEXT)
_SOURCES = _named("sources")
_LITERAL = _named("literal")
_WHERE = _list(_named("condition"))
_VALUES = _named("values")
_BOUND = _named("bound")


def step_schema() -> Schema:
    """Return the schema of a step: one of the operations of the table; those with the same values share one."""
    alike: dict[str, tuple[Schema, list[str]]] = {}
    for name, operation in OPERATIONS.items():
        values = _values_of(operation)
        alike.setdefault(json.dumps(values), (values, []))[1].append(name)
    return {
        "anyOf": [_object(name=_TEXT, op=_enum(*names), **values, sources=_SOURCES) for values, names in alike.values()]
    }


def step_keys(operation: OperationSpec) -> tuple[str, ...]:
    """Return the keys of an operation on the wire: conditions are in `where` alone, a field is a formula, `else` a key."""
    kept = [key for key in operation.keys if key.kind != "bare conditions" and key.name != "field"]
    return tuple(name for key in kept for name in ((key.name, "else") if key.kind == "rules" else (key.name,)))


def _values_of(operation: OperationSpec) -> Schema:
    keys = {key.name: key for key in operation.keys}
    return {name: _value(keys[name]) if name in keys else _LITERAL for name in step_keys(operation)}


def _value(key: Key) -> Schema:
    match key.kind:
        case "conditions":
            return _WHERE
        case "condition formula":
            return _reported(_TEXT, "A condition as a formula, beside those of `where`, or empty")
        case "name":
            return _TEXT if key.required else _reported(_TEXT, "A step, or empty")
        case "literal":
            return _LITERAL if key.required else _reported(_list(_LITERAL), "One value, or empty")
        case "number":
            return _BOUND
        case "match":
            return _enum(*MATCH_MODES)
        case "table":
            return _list(_object(key=_TEXT, value=_LITERAL))
        case "rules":
            return _list(_object(when=_TEXT, then=_LITERAL))
        case _:
            return _TEXT


_DEFINITIONS: dict[str, Schema] = {
    "sources": _reported(_list({"type": "integer"}), "Numbers of the sentences that this comes from"),
    "literal": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]},
    "values": _reported(_list(_object(value=_TEXT, meaning=_TEXT)), "Of an enum; else empty"),
    "bound": _reported(_list({"type": "number"}), "One number, or empty"),
    "note": _object(text=_TEXT, sources=_SOURCES),
    "field": _object(
        name=_TEXT,
        type=_enum(*FIELD_TYPES),
        description=_TEXT,
        values=_VALUES,
        default=_reported(_list(_LITERAL), "One value, or empty"),
        minimum=_BOUND,
        maximum=_BOUND,
        sources=_SOURCES,
    ),
    "input": _object(
        of=_enum("meta", "context"),
        name=_TEXT,
        type=_enum(*FIELD_TYPES),
        values=_VALUES,
        path=_reported(_TEXTS, "Keys to it in the business object, or empty"),
        nullable={"type": "boolean"},
        description=_TEXT,
        sources=_SOURCES,
    ),
    "parameter": _object(
        name=_TEXT,
        type=_enum(*SCALARS),
        default=_LITERAL,
        minimum=_BOUND,
        maximum=_BOUND,
        description=_TEXT,
        sources=_SOURCES,
    ),
    "reading": _object(
        validity={"type": "boolean"},
        passes={"type": "integer", "enum": list(range(1, limits.PASSES + 1))},
        max_length=_reported(_list({"type": "integer"}), "Characters: one number, or empty"),
        strategy=_enum(*STRATEGIES),
        sources=_SOURCES,
    ),
    "condition": _object(
        subject=_reported(_TEXT, "extraction.x, meta.x, context.x or $FILTER"),
        test=_enum(*TESTS),
        values=_list(_LITERAL),
    ),
    "step": step_schema(),
}
_NOTES = {
    "assumptions": _reported(_list(_named("note")), "What was decided that the text leaves open"),
    "questions": _reported(_list(_named("note")), "What the author of the text should answer"),
}


def _with_definitions(schema: Schema) -> Schema:
    """The schema with those definitions that it uses."""
    used: dict[str, Schema] = {}
    waiting: list[Json] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            name = str(value.get("$ref", "")).rpartition("/")[2]
            if name and name not in used:
                used[name] = _DEFINITIONS[name]
                waiting.append(used[name])
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return {**schema, "$defs": {name: used[name] for name in _DEFINITIONS if name in used}}


CONDITIONS = _with_definitions(
    _object(
        task_name=_TEXT,
        description=_TEXT,
        keywords=_object(words=_TEXTS, sources=_SOURCES),
        reading=_named("reading"),
        fields=_list(_named("field")),
        inputs=_reported(_list(_named("input")), "Inputs that are not listed in the instructions; usually none"),
        parameters=_list(_named("parameter")),
        definitions=_reported(
            _list(_object(name=_TEXT, meaning=_TEXT, sources=_SOURCES)), "Terms that the text defines"
        ),
        thresholds=_reported(
            _list(_object(quantity=_TEXT, value=_LITERAL, sources=_SOURCES)),
            "Every number and bound that the text sets",
        ),
        outputs=_object(names=_TEXTS, sources=_SOURCES),
        background=_reported(_list({"type": "integer"}), "Numbers of the sentences that state no rule"),
        **_NOTES,
    )
)
GRAPH = _with_definitions(
    _object(
        steps=_list(
            _object(
                name=_TEXT,
                op=_enum(*OPERATIONS),
                does=_TEXT,
                uses=_reported(_TEXTS, "Names of steps, fields and inputs"),
                functions=_list(_enum(*FUNCTIONS)),
                sources=_SOURCES,
            )
        ),
        **_NOTES,
    )
)
SEED = _with_definitions(_object(steps=_list(_named("step")), output=_TEXTS, **_NOTES))
REPAIR = _with_definitions(
    _object(
        changes=_reported(_TEXTS, "What is changed and why, a line each"),
        keywords=_reported(_TEXTS, "All of them, or empty for no change"),
        reading=_reported(_list(_named("reading")), "One, or empty for no change"),
        fields=_list(_named("field")),
        inputs=_list(_named("input")),
        parameters=_list(_named("parameter")),
        steps=_list(
            _object(before=_reported(_TEXT, "The step that it goes in front of; empty to stay"), step=_named("step"))
        ),
        removed=_reported(_TEXTS, "Names of fields, inputs, parameters and steps to take out"),
        output=_reported(_TEXTS, "All of them, or empty for no change"),
        **_NOTES,
    )
)
