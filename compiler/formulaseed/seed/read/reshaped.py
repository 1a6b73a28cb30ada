"""JSON that is written in another form than the one that is read, in that form. The values keep their places."""

from __future__ import annotations

import json
import re

from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue, Member, PlainText

_LONG = 1000
"""Finding the place of a word in a text with escapes takes time in proportion to the text."""


def wrapped(key: str, value: JsonValue) -> JsonObject:
    """An object that has the value under the key, and its place."""
    return JsonObject(value.span, (Member(JsonString(value.span, key), value),))


def words_of(text: JsonString) -> tuple[JsonString, ...]:
    """The words of a text, between commas or bars; none in a text that is too long to be a list of names."""
    return tuple([PlainText(text.inside(*match.span()), match.group().strip()) for match in _words(text)])


def shown_words(text: JsonString) -> str:
    """The words of a text as a list in JSON; empty where it would be long."""
    words = [match.group().strip() for match in _words(text)]
    written = json.dumps(words, ensure_ascii=False)
    return written if words and len(written) <= 100 else ""


def _words(text: JsonString) -> list[re.Match[str]]:
    if len(text.value) > _LONG:
        return []
    return [match for match in re.finditer(r"[^,|]+", text.value) if match.group().strip()]


def under_their_names(items: JsonArray) -> JsonObject | None:
    """A list of objects that tell their names as an object that has them under these; None where one does not, or for none."""
    members: list[Member] = []
    for item in items.items:
        name = item.get("name") if isinstance(item, JsonObject) else None
        if not (isinstance(item, JsonObject) and isinstance(name, JsonString)):
            return None
        rest = tuple([member for member in item.members if member.key.value != "name"])
        members.append(Member(name, JsonObject(item.span, rest)))
    return JsonObject(items.span, tuple(members)) if members else None


def with_name(member: Member) -> JsonValue:
    """What stands under a name, with the name in it."""
    value = member.value
    if not isinstance(value, JsonObject) or value.get("name") is not None:
        return value
    return JsonObject(value.span, (Member(JsonString(member.key.span, "name"), member.key), *value.members))
