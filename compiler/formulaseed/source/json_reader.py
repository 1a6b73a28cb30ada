"""Reads JSON with a span for every value, also inside strings with escapes.

In: a `Source`. Out: a tree of `Json*` nodes, or `JsonFault`s. Stricter than `json.loads`: duplicate keys, NaN, Infinity, numbers
out of range and unpaired surrogates are faults, since other readers may understand them differently.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from formulaseed import limits
from formulaseed.source.text import Source, Span, percent_to_fraction, tree_node


@tree_node
class JsonFault:
    """A reason why the document is not valid JSON: the row `kind` of the table in `diagnostics.catalogue.reading`.

    `details` are the values of the placeholders in the message and the help of that row.
    """

    kind: str
    span: Span
    details: tuple[object, ...] = ()


@tree_node
class JsonString:
    """A string; `value` is without quotes and escapes."""

    span: Span
    value: str

    def subspan(self, start: int, end: int) -> Span:
        """Return the span in the file of the characters `start` to `end` of the decoded string."""
        source = self.span.source
        position = self.span.start + 1
        if self.span.end - self.span.start - 2 == len(self.value):  # no escapes: offsets are the same
            return Span(source, position + start, position + end, self.span.pointer)
        offsets = [position]
        while position < self.span.end - 1:
            escape = _ESCAPE.match(source.text, position)
            position = escape.end() if escape else position + 1
            offsets.append(position)
        return Span(source, offsets[start], offsets[min(end, len(offsets) - 1)], self.span.pointer)


@tree_node
class PlainText(JsonString):
    """A string that is in its source without quotes and escapes."""

    def subspan(self, start: int, end: int) -> Span:
        """Return the span in the file of the characters `start` to `end` of the string."""
        span = self.span
        return Span(span.source, span.start + start, span.start + end, span.pointer)


@tree_node
class JsonNumber:
    """A number; an integer if it is written without decimals and exponent."""

    span: Span
    value: int | float


@tree_node
class JsonLiteral:
    """`true`, `false` or `null`."""

    span: Span
    value: bool | None


@tree_node
class JsonArray:
    """A list of values."""

    span: Span
    items: tuple[JsonValue, ...]


@tree_node
class Member:
    """A key of an object with its value."""

    key: JsonString
    value: JsonValue


@tree_node
class JsonObject:
    """An object; its members are in the order of the file."""

    span: Span
    members: tuple[Member, ...]

    def get(self, name: str) -> JsonValue | None:
        """Return the value of the first member with the key `name`; None if there is none."""
        for member in self.members:
            if member.key.value == name:
                return member.value
        return None

    def names(self) -> Iterator[JsonString]:
        """Return an iterator of the keys, in the order of the file."""
        return (member.key for member in self.members)


JsonValue = JsonString | JsonNumber | JsonLiteral | JsonArray | JsonObject
Plain = str | int | float | bool | list["Plain"] | dict[str, "Plain"] | None


def plain_value(value: JsonValue) -> Plain:
    """Return the value without spans, as `json.loads` does; of duplicate keys, the last one counts."""
    if isinstance(value, JsonObject):
        return {member.key.value: plain_value(member.value) for member in value.members}
    if isinstance(value, JsonArray):
        return [plain_value(item) for item in value.items]
    return value.value


def find_value(document: JsonValue | None, pointer: str) -> JsonValue | None:
    """Return the value that a JSON Pointer (RFC 6901) leads to; None if there is none, or no document."""
    value = document
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, JsonArray):
            if not key.isdecimal() or int(key) >= len(value.items):
                return None
            value = value.items[int(key)]
        else:
            value = value.get(key) if isinstance(value, JsonObject) else None
    return value


_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)("?)')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_NUMBER_LIKE = re.compile(r"[-+.\w]*")
_PERCENT = re.compile(r"(?<![\w.+])[0-9]+(?:\.[0-9]+)?$")
MAX_PERCENT_CHARACTERS = 20
_WORD = re.compile(r"[-+]?[A-Za-z_$][A-Za-z0-9_$]*")
_KEY_WORD = re.compile(r"""['‘“]?([A-Za-z_$][\w.$]*)['’”]?""")
_ELLIPSIS = re.compile(r"\.{3}|…")
_TYPOGRAPHIC = re.compile(r'[“”„]([^"\\\x00-\x1f“”„]*)[“”]')
_COMMENT = re.compile(r"//|/\*|#")
_ESCAPE = re.compile(r"\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")
_LITERALS = {"true": ("true", True), "false": ("false", False), "null": ("null", None), "none": ("null", None)}
_NOUNS = {"]": "list", "}": "object"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(source: Source) -> tuple[JsonValue | None, list[JsonFault]]:
    """Read a document. Returns its value, or None if the text is not JSON, and the faults, which are never raised."""
    return _JsonReader(source, source.text, 0, limits.JSON_DEPTH).read_document()


class _UnreadableJson(Exception):
    """Raised for a fault after which nothing more can be read."""

    def __init__(self, fault: JsonFault) -> None:
        self.fault = fault


class _JsonReader:
    """A recursive-descent parser of one text, which begins at `offset` of its source and may nest `depth` levels deep.

    `position` is the end of the last value, string or number that was read, and `pointer` that of the current value. Positions
    are offsets in the text, spans refer to the source. `faults` are those after which reading goes on.
    """

    def __init__(self, source: Source, text: str, offset: int, depth: int) -> None:
        """Prepare to read `text`, which begins at `offset` of `source`, nested at most `depth` levels deep."""
        self.source = source
        self.text = text
        self.offset = offset
        self.depth = depth
        self.position = 0
        self.pointer = ""
        self.faults: list[JsonFault] = []

    def read_document(self) -> tuple[JsonValue | None, list[JsonFault]]:
        """Read the whole text as one value. Returns the value, or None if the text is not JSON, and the faults."""
        try:
            value = self.read_value(self.skip_space(0), "", 0)
            self.check_end()
        except _UnreadableJson as stop:
            return None, [*self.faults, stop.fault]
        return value, self.faults

    def check_end(self) -> None:
        """Raise `_UnreadableJson` if the text goes on after `position`."""
        end = self.skip_space(self.position)
        if end < len(self.text):
            raise self.stop("trailing-content", end, end + 1)

    def skip_space(self, position: int) -> int:
        """Return the first position from this one on that is not a space. Does not move `self.position`."""
        match = _SPACE.match(self.text, position)
        assert match is not None
        return match.end()

    def span(self, start: int, end: int) -> Span:
        """Return the span of the positions `start` to `end`, in the value at the current pointer."""
        return Span(self.source, self.offset + start, self.offset + min(end, len(self.text)), self.pointer)

    def report(self, kind: str, span: Span, *details: object) -> None:
        """Add a fault to `faults`, after which reading goes on."""
        self.faults.append(JsonFault(kind, span, details))

    def stop(self, kind: str, start: int, end: int, *details: object) -> _UnreadableJson:
        """Return the exception of a fault after which nothing more can be read. Does not raise it."""
        return _UnreadableJson(JsonFault(kind, self.span(start, end), details))

    def read_value(self, start: int, pointer: str, depth: int) -> JsonValue:
        """Read the value at `start`, and move `position` to its end. Raises `_UnreadableJson`, also if too deep."""
        self.pointer = pointer
        if depth > self.depth:
            raise self.stop("depth", start, start + 1, self.depth)
        first = self.text[start : start + 1]
        if first == "{":
            return self.read_object(start, pointer, depth)
        if first == "[":
            return self.read_array(start, pointer, depth)
        if first == '"':
            return self.read_string(start)
        if typographic := _TYPOGRAPHIC.match(self.text, start):
            return self.read_typographic(typographic)
        if number := _NUMBER.match(self.text, start):
            return self.read_number(number)
        word = _WORD.match(self.text, start)
        if word and (literal := self.read_literal(word)):
            return literal
        raise self.explain_missing_value(start, word)

    def read_literal(self, word: re.Match[str]) -> JsonValue | None:
        """Read `true`, `false` or `null`, in wrong spellings with a fault, or NaN as 0; None for any other word."""
        text = word.group()
        span = self.span(*word.span())
        name, value = _LITERALS.get(text.lower(), ("", None))
        if text.lstrip("+-").lower() in ("nan", "infinity", "inf"):
            self.report("not-finite", span, text)
        elif not name:
            return None
        elif name != text:
            self.report("python", span, text, name)
        self.position = word.end()
        return JsonLiteral(span, value) if name else JsonNumber(span, 0)

    def explain_missing_value(self, start: int, word: re.Match[str] | None) -> _UnreadableJson:
        """Return, not raise, the exception for a missing value at `start`; `word` is the word there, or None."""
        if start >= len(self.text):
            if not self.text.strip():
                return self.stop("empty", 0, 0)
            return self.stop("missing-value", max(len(self.text.rstrip()) - 1, 0), start)
        if self.pointer == "" and (word or self.text[start] == "`"):
            return self.stop("not-json", start, start + 1)
        if (comment := self.find_comment(start)) is not None:
            return comment
        if ellipsis := _ELLIPSIS.match(self.text, start):
            return self.stop("ellipsis", start, start + 1, ellipsis.group())
        if word is not None:
            return self.stop("bare-word", start, word.end(), word.group())
        kind = "quotes" if self.text[start] in "'‘’“”" else "no-value"
        return self.stop(kind, start, start + 1, self.text[start])

    def find_comment(self, start: int) -> _UnreadableJson | None:
        """Return, not raise, the exception for a comment at `start`; None if there is no comment."""
        match = _COMMENT.match(self.text, start)
        return self.stop("comment", start, match.end()) if match else None

    def read_object(self, start: int, pointer: str, depth: int) -> JsonObject:
        """Read the object at `start`; duplicate keys are kept and added to `faults`. Raises `_UnreadableJson`."""
        members: list[Member] = []
        seen: dict[str, int] = {}
        for at in self.item_positions(start, pointer, "}"):
            members.append(self.read_member(at, pointer, depth, seen))
        return JsonObject(self.span(start, self.position), tuple(members))

    def read_member(self, at: int, pointer: str, depth: int, seen: dict[str, int]) -> Member:
        """Read a key and its value. Adds the key to `seen`, or a fault if it is there. Raises `_UnreadableJson`."""
        typographic = _TYPOGRAPHIC.match(self.text, at)
        if self.text[at : at + 1] != '"' and not typographic:
            if word := _KEY_WORD.match(self.text, at):
                raise self.stop("bare-key", at, word.end(), word.group(1))
            raise self.find_comment(at) or self.stop("no-key", at, at + 1)
        if typographic:
            key = self.read_typographic(typographic)
        else:
            key = self.read_string(at)
        at = self.skip_space(self.position)
        if self.text[at : at + 1] != ":":
            raise self.stop("no-colon", at, at + 1)
        if key.value in seen:
            self.report("duplicate", key.span, key.value, self.source.position(seen[key.value])[0])
        seen.setdefault(key.value, key.span.start)
        inner = f"{pointer}/{key.value.replace('~', '~0').replace('/', '~1')}"
        value = self.read_value(self.skip_space(at + 1), inner, depth + 1)
        return Member(JsonString(Span(self.source, key.span.start, key.span.end, inner), key.value), value)

    def read_array(self, start: int, pointer: str, depth: int) -> JsonArray:
        """Read the list at `start`. Raises `_UnreadableJson`."""
        items: list[JsonValue] = []
        for at in self.item_positions(start, pointer, "]"):
            items.append(self.read_value(at, f"{pointer}/{len(items)}", depth + 1))
        return JsonArray(self.span(start, self.position), tuple(items))

    def item_positions(self, start: int, pointer: str, close: str) -> Iterator[int]:
        """Yield the position of each item, which the caller must read; `…` is a fault. Raises `_UnreadableJson`."""
        at = self.skip_space(start + 1)
        count = 0
        while self.text[at : at + 1] != close:
            self.pointer = pointer
            if ellipsis := _ELLIPSIS.match(self.text, at):  # in place of an item, as in examples in documents
                if close == "]":
                    self.pointer = f"{pointer}/{count}"
                self.position = ellipsis.end()
                self.report("ellipsis", self.span(at, ellipsis.end()), ellipsis.group())
            else:
                yield at
                count += 1
            self.pointer = pointer
            at = self.read_comma(start, self.skip_space(self.position), close)
        self.position = at + 1

    def read_comma(self, start: int, at: int, close: str) -> int:
        """Return the position after a comma, or of `close`; a last comma is a fault. Raises `_UnreadableJson`."""
        if self.text[at : at + 1] == close:
            return at
        if self.text[at : at + 1] != ",":
            raise self.explain_missing_comma(start, at, close)
        after = self.skip_space(at + 1)
        if self.text[after : after + 1] == close:
            self.report("trailing-comma", self.span(at, at + 1), _NOUNS[close], "")
        return after

    def explain_missing_comma(self, start: int, at: int, close: str) -> _UnreadableJson:
        """Return, not raise, the exception for an item that is followed by neither a comma nor the bracket `close`."""
        character = self.text[at : at + 1]
        if not character:
            line, _ = self.source.position(self.offset + start)
            return self.stop("unclosed", max(len(self.text.rstrip()) - 1, 0), at, _NOUNS[close], line, close)
        if (comment := self.find_comment(at)) is not None:
            return comment
        if character in '{["-0123456789' or self.text[at : at + 4] in ("true", "fals", "null"):
            return self.stop("missing-comma", at, at + 1)
        if character == "%" and (percent := _PERCENT.search(self.text, max(at - MAX_PERCENT_CHARACTERS, 0), at)):
            return self.stop("percent", percent.start(), at + 1, percent[0], percent_to_fraction(percent[0]))
        return self.stop("no-comma", at, at + 1, close)

    def read_string(self, start: int) -> JsonString:
        """Read a string; half a surrogate pair is replaced, with a fault. Raises `_UnreadableJson` if it is broken."""
        match = _STRING.match(self.text, start)
        assert match is not None
        if not match.group(2):
            raise self.explain_broken_string(start, match.end())
        self.position = match.end()
        span = self.span(start, match.end())
        value: str = json.loads(match.group()) if "\\" in match.group(1) else match.group(1)
        if not value.isascii() and _SURROGATE.search(value):
            self.report("surrogate", span)
            value = _SURROGATE.sub("\ufffd", value)
        return JsonString(span, value)

    def read_typographic(self, match: re.Match[str]) -> JsonString:
        """Read a string in typographic quotes, which are added to `faults`; escapes are not decoded."""
        self.position = match.end()
        span = self.span(*match.span())
        self.report("typographic", span, match.group(), f'"{match[1]}"')
        return JsonString(span, match[1])

    def explain_broken_string(self, start: int, at: int) -> _UnreadableJson:
        """Return, not raise, the exception for a string, from `start`, that cannot be read beyond `at`."""
        character = self.text[at : at + 1]
        if not character:
            return self.stop("unclosed-string", start, start + 1)
        if character == "\\":
            return self.stop("escape", at, at + 2, self.text[at : at + 2])
        name = "a line break" if character in "\r\n" else f"the control character U+{ord(character):04X}"
        return self.stop("control", at, at + 1, name)

    def read_number(self, match: re.Match[str]) -> JsonNumber:
        """Read a number, as 0 with a fault if it is out of range. Raises `_UnreadableJson` if letters follow it."""
        start, self.position = match.span()
        text = match.group()
        span = self.span(start, self.position)
        longer = _NUMBER_LIKE.match(self.text, start)
        if longer and longer.end() > self.position:
            raise self.stop("number", start, longer.end(), longer.group())
        is_integer = match.group(1) is None and match.group(2) is None
        if len(text) > limits.NUMBER_CHARACTERS:
            self.report("range", span, f"a number of {len(text)} characters")
            return JsonNumber(span, 0)
        value = int(text) if is_integer else float(text)
        if abs(value) <= (limits.INTEGER_MAX if is_integer else limits.NUMBER_MAX):
            return JsonNumber(span, value)
        self.report("range", span, f"the {'integer' if is_integer else 'number'} {text}")
        return JsonNumber(span, 0)
