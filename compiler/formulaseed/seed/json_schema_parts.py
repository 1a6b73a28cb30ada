"""What the parts of the JSON Schema are made of: objects with known keys, lists, words with their meanings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from formulaseed import limits
from formulaseed.seed.read.shape import NAME

JsonSchema = dict[str, Any]

LITERAL = ["string", "number", "boolean", "null"]
WHOLE_NAME = f"^{NAME.pattern}$"
A_NAME = {"type": "string", "pattern": WHOLE_NAME, "maxLength": limits.NAME_CHARACTERS}


def exactly(known: Iterable[str], properties: Mapping[str, Any], required: Iterable[str] = ()) -> JsonSchema:
    """An object with exactly these keys; a key that has no description fails here."""
    made = {
        "type": "object",
        "properties": {key: properties[key] for key in known},
        "required": list(required),
        "additionalProperties": False,
    }
    return made if made["required"] else {key: value for key, value in made.items() if key != "required"}


def list_of(item: JsonSchema, most: int, least: int = 0, unique: bool = False) -> JsonSchema:
    made: JsonSchema = {"type": "array", "items": item, "maxItems": most}
    return made | ({"minItems": least} if least else {}) | ({"uniqueItems": True} if unique else {})


def choice(words: Iterable[str], meanings: Mapping[str, str], description: str) -> JsonSchema:
    """One of some words. Editors show the description of each, as they do not for an `enum`."""
    return {
        "type": "string",
        "description": description,
        "oneOf": [{"const": word, "description": meanings[word]} for word in words],
    }


def where_key(key: str, word: str, then: JsonSchema) -> JsonSchema:
    return {"if": {"required": [key], "properties": {key: {"const": word}}}, "then": then}


def reference(name: str) -> JsonSchema:
    return {"$ref": f"#/definitions/{name}"}
