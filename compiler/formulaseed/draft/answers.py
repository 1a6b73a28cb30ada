"""Validates a model's answer against the schema that was asked for.

In: a text. Out: the JSON object in it, or `UnusableAnswer` with the place of the first mismatch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from formulaseed import limits
from formulaseed.llm.calls import UnusableAnswer
from formulaseed.source.json_reader import refuse_constant, unique_keys

Json = Any
_DEPTH = 12


def read_answer(text: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the JSON object of an answer. Raises `UnusableAnswer` where it does not match the schema."""
    value = load(text)
    try:
        _conform(value, schema, schema["$defs"], "")
    except UnusableAnswer as error:
        raise UnusableAnswer(f"the answer does not match its schema: {error.message}") from None
    assert isinstance(value, dict)
    return value


def load(text: str) -> Json:
    """Return the JSON value of an answer. Raises `UnusableAnswer` for what is not JSON, or cannot be written back."""
    if len(text) > limits.ANSWER_CHARACTERS:
        raise UnusableAnswer(f"the answer is longer than {limits.ANSWER_CHARACTERS:,} characters")
    try:
        value = json.loads(text, object_pairs_hook=unique_keys, parse_constant=refuse_constant, parse_int=_integer)
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


_KINDS: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
}  # fmt: skip


def _conform(value: Json, schema: Mapping[str, Json], definitions: Mapping[str, Json], place: str) -> None:
    """Raise `UnusableAnswer` for a value that does not match the schema, of which only these keywords are known."""
    if "$ref" in schema:
        _conform(value, definitions[schema["$ref"].rpartition("/")[2]], definitions, place)
        return
    if "anyOf" in schema:
        _conform_to_one(value, schema["anyOf"], definitions, place)
        return
    kind, shown = schema["type"], place or "it"
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        raise UnusableAnswer(f"{shown} is not of the type {kind}")
    if "enum" in schema and value not in schema["enum"]:
        raise UnusableAnswer(f"{place} is none of {', '.join(map(str, schema['enum']))}")
    if kind == "array":
        for index, item in enumerate(value):
            _conform(item, schema["items"], definitions, f"{place}[{index}]")
    elif kind == "object":
        properties = schema["properties"]
        for key in [*(key for key in properties if key not in value), *(key for key in value if key not in properties)]:
            raise UnusableAnswer(f"{shown} {'lacks' if key in properties else 'has the unknown key'} `{key}`")
        for key, item in value.items():
            _conform(item, properties[key], definitions, f"{place}.{key}".lstrip("."))


def _conform_to_one(
    value: Json, choices: list[Mapping[str, Json]], definitions: Mapping[str, Json], place: str
) -> None:
    """Match a step against the schema of its operation, a literal against any."""
    op = value.get("op") if isinstance(value, dict) else None
    chosen = [choice for choice in choices if op in choice.get("properties", {}).get("op", {}).get("enum", ())]
    for choice in chosen or choices:
        try:
            return _conform(value, choice, definitions, place)
        except UnusableAnswer:
            if chosen:
                raise
    raise UnusableAnswer(f"{place} matches none of the allowed forms")
