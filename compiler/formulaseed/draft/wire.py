"""The schemas of what a model answers in each step, made for the wire.

Structured output knows closed objects alone and no recursion, and few unions. So a map is an array of pairs, what may be
missing is an empty array or an empty text, and the only unions are a literal and a step. The sources of a part are
numbers of the task's sentences. Keys are fixed here; the model fills in values.
"""

from __future__ import annotations

from typing import Any

from formulaseed import limits
from formulaseed.language.functions import FUNCTIONS
from formulaseed.seed.read.sections import FIELD_TYPES, SCALARS, STRATEGIES

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
    "step": {
        "anyOf": [
            _object(
                name=_TEXT,
                op=_enum("define_filter"),
                where=_WHERE,
                expr=_reported(_TEXT, "A condition as a formula, beside those of `where`, or empty"),
                sources=_SOURCES,
            ),
            _object(name=_TEXT, op=_enum("count"), where=_WHERE, sources=_SOURCES),
            _object(name=_TEXT, op=_enum("sum"), expr=_TEXT, where=_WHERE, sources=_SOURCES),
            _object(
                name=_TEXT,
                op=_enum("max", "min"),
                expr=_TEXT,
                where=_WHERE,
                default=_BOUND,
                sources=_SOURCES,
            ),
            _object(
                name=_TEXT,
                op=_enum("lookup"),
                source=_TEXT,
                match=_enum("exact", "substring_first", "substring_max"),
                table=_list(_object(key=_TEXT, value=_LITERAL)),
                default=_reported(_list(_LITERAL), "One value, or empty"),
                sources=_SOURCES,
            ),
            _object(name=_TEXT, op=_enum("expr"), expr=_TEXT, sources=_SOURCES),
            _object(name=_TEXT, op=_enum("const"), value=_LITERAL, sources=_SOURCES),
            _object(
                name=_TEXT,
                op=_enum("case"),
                source=_reported(_TEXT, "A step, or empty"),
                rules=_list(_object(when=_TEXT, then=_LITERAL)),
                else_=_LITERAL,
                sources=_SOURCES,
            ),
        ]
    },
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
                op=_enum("define_filter", "count", "sum", "max", "min", "lookup", "expr", "const", "case"),
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
