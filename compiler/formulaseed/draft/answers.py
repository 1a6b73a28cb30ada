"""What a model answered, held against the schema that was asked for. Nothing of it is trusted before.

In: a text. Out: the JSON object in it, or `Unusable` with the place where it is something else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from formulaseed import limits
from formulaseed.errors import DataError

Json = Any
_DEPTH = 12


class Unusable(DataError):
    """An answer of a model that is not what was asked for, and why."""


def read_answer(text: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    """The JSON object of an answer. Raises `Unusable` where it is not of the schema."""
    value = load(text)
    try:
        _conform(value, schema, schema["$defs"], "")
    except Unusable as error:
        raise Unusable(f"the answer is not of its schema: {error.message}") from None
    assert isinstance(value, dict)
    return value


def load(text: str) -> Json:
    """The JSON value of an answer. Raises `Unusable` where it is none, or one that could not be written down as it is."""
    if len(text) > limits.ANSWER_CHARACTERS:
        raise Unusable(f"the answer is longer than {limits.ANSWER_CHARACTERS:,} characters")
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant, parse_int=_integer)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # an escape can hide half of a character
    except (ValueError, RecursionError) as error:
        raise Unusable(f"the answer is no JSON that can be used: {error}") from None
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_DEPTH):
        level = [item for one in level for item in (one.values() if isinstance(one, dict) else one)
                 if isinstance(item, dict | list)]  # fmt: skip
    if level:
        raise Unusable("the answer is no JSON that can be used: objects and lists stand inside one another too deep")
    return value


def _integer(digits: str) -> int:
    if len(digits) > limits.NUMBER_CHARACTERS:
        raise ValueError("a number has too many digits")
    return int(digits)


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(word: str) -> Json:
    raise ValueError(f"`{word}` is no number in JSON")


_KINDS: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
}  # fmt: skip


def _conform(value: Json, schema: Mapping[str, Json], definitions: Mapping[str, Json], place: str) -> None:
    """Raise `Unusable` for a value that is not of the schema, of which only what stands above is understood."""
    if "$ref" in schema:
        _conform(value, definitions[schema["$ref"].rpartition("/")[2]], definitions, place)
        return
    if "anyOf" in schema:
        _conform_to_one(value, schema["anyOf"], definitions, place)
        return
    kind = schema["type"]
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        raise Unusable(f"{place or 'it'} is not of the type {kind}")
    if "enum" in schema and value not in schema["enum"]:
        raise Unusable(f"{place} is none of {', '.join(map(str, schema['enum']))}")
    if kind == "array":
        for index, item in enumerate(value):
            _conform(item, schema["items"], definitions, f"{place}[{index}]")
    elif kind == "object":
        properties = schema["properties"]
        for key in [*(key for key in properties if key not in value), *(key for key in value if key not in properties)]:
            raise Unusable(f"{place or 'it'} {'lacks' if key in properties else 'has the unknown key'} `{key}`")
        for key, item in value.items():
            _conform(item, properties[key], definitions, f"{place}.{key}".lstrip("."))


def _conform_to_one(
    value: Json, choices: list[Mapping[str, Json]], definitions: Mapping[str, Json], place: str
) -> None:
    """A step is of the schema of its operation; a literal of any of its schemas."""
    op = value.get("op") if isinstance(value, dict) else None
    chosen = [choice for choice in choices if op in choice.get("properties", {}).get("op", {}).get("enum", ())]
    if chosen:
        _conform(value, chosen[0], definitions, place)
        return None
    for choice in choices:
        try:
            return _conform(value, choice, definitions, place)
        except Unusable:
            continue
    raise Unusable(f"{place} is nothing that may stand here")
