"""Builds the parts that the JSON Schema of a seed consists of: objects, lists, choices, branches, descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

JsonSchema = dict[str, Any]


def build_object(known: Iterable[str], properties: Mapping[str, Any], required: Sequence[str] = ()) -> JsonSchema:
    """Return the schema of an object with these keys only. Raises `KeyError` if `properties` lacks one of `known`."""
    schema = {"type": "object", "properties": {key: properties[key] for key in known}, "additionalProperties": False}
    return schema | ({"required": [*required]} if required else {})


def build_list(item: JsonSchema, most: int, least: int = 0, unique: bool = False) -> JsonSchema:
    """Return the schema of a list of at least `least` and at most `most` items, all different if `unique`."""
    schema: JsonSchema = {"type": "array", "items": item, "maxItems": most}
    return schema | ({"minItems": least} if least else {}) | ({"uniqueItems": True} if unique else {})


def build_choice(meanings: Mapping[str, str], description: str) -> JsonSchema:
    """Return the schema of one word of `meanings`, which maps each word to the description that editors show."""
    words = [{"const": word, "description": meaning} for word, meaning in meanings.items()]
    return {"type": "string", "description": description, "oneOf": words}


def build_branch(key: str, word: str, then: JsonSchema) -> JsonSchema:
    """Return the schema that requires `then` of objects whose `key` is `word`."""
    return {"if": {"required": [key], "properties": {key: {"const": word}}}, "then": then}


def build_ref(name: str) -> JsonSchema:
    """Return the schema that refers to the definition called `name`."""
    return {"$ref": f"#/definitions/{name}"}


def add_description(description: str, schema: JsonSchema, *examples: Any) -> JsonSchema:
    """Return a copy of the schema with the description and the examples that editors show."""
    return {**schema, "description": description, **({"examples": list(examples)} if examples else {})}


def build_integer(most: int) -> JsonSchema:
    """Return the schema of an integer from 1 to `most`."""
    return {"type": "integer", "minimum": 1, "maximum": most}
