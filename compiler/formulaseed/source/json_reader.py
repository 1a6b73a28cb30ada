"""JSON with a place for every value, also inside strings with escapes.

In: a `Source`. Out: a tree of `Json*` nodes, or `JsonFault`s. Strict where `json.loads` is lenient:
duplicate keys, NaN, Infinity, numbers out of range and unpaired surrogates are faults, since each of them
makes a seed mean something else to another reader. Never knows what the document is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from formulaseed import limits
from formulaseed.source.text import Source, Span, tree_node

FaultKind = str
"""`syntax`, `depth`, `duplicate`, `number` or `text`."""


@tree_node
class JsonFault:
    """Something in the document that keeps it from being read; `help` says what to write instead."""

    kind: FaultKind
    span: Span
    message: str
    help: str


@tree_node
class JsonString:
    span: Span
    value: str

    def inside(self, start: int, end: int) -> Span:
        """The span in the file of the characters `start` to `end` of the decoded text."""
        source, opened = self.span.source, self.span.start + 1
        if self.span.end - self.span.start - 2 == len(self.value):  # no escapes: offsets are the same
            return Span(source, opened + start, opened + end, self.span.pointer)
        offsets = [opened]
        position, last = opened, self.span.end - 1
        while position < last:
            step = 1
            if source.text[position] == "\\":
                escape = _ESCAPE.match(source.text, position)
                step = len(escape.group()) if escape else 1
            position += step
            offsets.append(position)
        return Span(source, offsets[start], offsets[min(end, len(offsets) - 1)], self.span.pointer)


@tree_node
class PlainText(JsonString):
    """A text that stands in its source as it is, without quotes."""

    def inside(self, start: int, end: int) -> Span:
        span = self.span
        return Span(span.source, span.start + start, span.start + end, span.pointer)


@tree_node
class JsonNumber:
    span: Span
    value: int | float


@tree_node
class JsonLiteral:
    """`true`, `false` or `null`."""

    span: Span
    value: bool | None


@tree_node
class JsonArray:
    span: Span
    items: tuple[JsonValue, ...]


@tree_node
class Member:
    key: JsonString
    value: JsonValue


@tree_node
class JsonObject:
    span: Span
    members: tuple[Member, ...]

    def get(self, name: str) -> JsonValue | None:
        """The value of a key, or None where it is absent."""
        for member in self.members:
            if member.key.value == name:
                return member.value
        return None

    def names(self) -> Iterator[JsonString]:
        return (member.key for member in self.members)


JsonValue = JsonString | JsonNumber | JsonLiteral | JsonArray | JsonObject
Plain = str | int | float | bool | list["Plain"] | dict[str, "Plain"] | None


def plain(value: JsonValue) -> Plain:
    """The value as `json.loads` would give it, places dropped."""
    if isinstance(value, JsonObject):
        return {member.key.value: plain(member.value) for member in value.members}
    if isinstance(value, JsonArray):
        return [plain(item) for item in value.items]
    return value.value


_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"[-+]?[A-Za-z_$][A-Za-z0-9_$]*")
_ELLIPSIS = re.compile(r"\.{3}|…")
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"\\({_PAIR}|u[0-9a-fA-F]{{4}}|.)")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(source: Source) -> tuple[JsonValue | None, list[JsonFault]]:
    """Read a document. The value is None where the text is no JSON at all; faults may come beside a value."""
    return _read(_Reader(source, source.text, 0, limits.JSON_DEPTH))


def read_json_line(source: Source, line: Span, depth: int) -> tuple[JsonValue | None, list[JsonFault]]:
    """Read the document that stands on one line of a file, at most so many levels deep."""
    return _read(_Reader(source, source.text[line.start : line.end], line.start, depth))


def json_lines(source: Source) -> Iterator[Span]:
    """The lines of a file of JSON Lines, without their line breaks; blank ones are left out."""
    start = 0
    while start < len(source.text):
        end = source.text.find("\n", start)
        end = len(source.text) if end == -1 else end
        if source.text[start:end].strip(" \t\r"):
            yield Span(source, start, end)
        start = end + 1


def _read(reader: _Reader) -> tuple[JsonValue | None, list[JsonFault]]:
    try:
        value = reader.value(reader.space(0), "", 0)
        end = reader.space(reader.position)
        if end < len(reader.text):
            raise reader.syntax(end, end + 1, "text stands after the end of the document", "remove it")
    except _Stop as stop:
        return None, [*reader.faults, stop.fault]
    return value, reader.faults


def pointer_token(key: str) -> str:
    """A key as a token of a JSON Pointer."""
    return key.replace("~", "~0").replace("/", "~1")


class _Stop(Exception):
    def __init__(self, fault: JsonFault) -> None:
        self.fault = fault


class _Reader:
    """Recursive descent over one text, which begins at `offset` of its source.

    `position` stands behind what was read last. Positions count in the text, spans in the source.
    """

    def __init__(self, source: Source, text: str, offset: int, depth: int) -> None:
        self.source = source
        self.text = text
        self.offset = offset
        self.depth = depth
        self.position = 0
        self.pointer = ""
        self.faults: list[JsonFault] = []

    def space(self, position: int) -> int:
        match = _SPACE.match(self.text, position)
        return match.end() if match else position

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, self.offset + start, self.offset + min(end, len(self.text)), self.pointer)

    def syntax(self, start: int, end: int, message: str, help: str, kind: FaultKind = "syntax") -> _Stop:
        return _Stop(JsonFault(kind, self.span(start, end), message, help))

    def value(self, start: int, pointer: str, depth: int) -> JsonValue:
        self.pointer = pointer
        if depth > self.depth:
            message = f"objects and lists stand inside one another more than {self.depth} deep"
            help = "look for the level at which the nesting begins to repeat"
            raise self.syntax(start, start + 1, message, help, "depth")
        first = self.text[start : start + 1]
        if first == "{":
            return self.object(start, pointer, depth)
        if first == "[":
            return self.array(start, pointer, depth)
        if first == '"':
            return self.string(start)
        if first and first in "-0123456789":
            number = _NUMBER.match(self.text, start)
            if number:
                return self.number(number)
        word = _WORD.match(self.text, start)
        if word and word.group() in _WORDS:
            self.position = word.end()
            return JsonLiteral(self.span(start, word.end()), _WORDS[word.group()])
        near = self.near_word(word) if word else None
        if near is None:
            raise self.no_value(start, word)
        return near

    def near_word(self, word: re.Match[str]) -> JsonValue | None:
        """What Python writes for a value, which is a fault that hides none of those after it; None for another word."""
        text = word.group()
        lowered, span = text.lstrip("+-").lower(), self.span(word.start(), word.end())
        if lowered in ("nan", "infinity", "inf"):
            self.faults.append(JsonFault("number", span, f"`{text}` is no number in JSON", "write a finite number"))
        elif text.lower() in ("true", "false", "none", "null"):
            lowered = "null" if lowered == "none" else lowered
            self.faults.append(JsonFault("syntax", span, f"`{text}` is Python, not JSON", f"write `{lowered}`"))
        else:
            return None
        self.position = word.end()
        return JsonLiteral(span, _WORDS[lowered]) if lowered in _WORDS else JsonNumber(span, 0)

    def no_value(self, start: int, word: re.Match[str] | None) -> _Stop:
        if start >= len(self.text):
            last = max(len(self.text.rstrip()) - 1, 0)
            return self.syntax(last, start, "the document ends where a value should be", "complete it")
        if self.pointer == "" and (word or self.text[start] == "`"):
            help = "remove what stands before the first `{`"
            return self.syntax(start, start + 1, "the document does not begin with JSON", help)
        comment = self.comment(start)
        if comment is not None:
            return comment
        if _ELLIPSIS.match(self.text, start):
            return self.syntax(start, start + 1, "the value is left out, which JSON cannot say", "write the value")
        if word is None:
            found = self.text[start]
            if found in "'‘’“”":
                help = 'write it in double quotes, such as "none"'
                return self.syntax(start, start + 1, "texts stand in double quotes in JSON", help)
            return self.syntax(start, start + 1, f"`{found}` begins no JSON value", "write a JSON value here")
        text = word.group()
        return self.syntax(start, word.end(), f"`{text}` is no JSON value", f'a text is written "{text}"')

    def comment(self, start: int) -> _Stop | None:
        match = re.compile(r"//|/\*|#").match(self.text, start)
        if match is None:
            return None
        return self.syntax(start, match.end(), "JSON has no comments", "remove it; a `description` can say the same")

    def object(self, start: int, pointer: str, depth: int) -> JsonObject:
        members: list[Member] = []
        seen: dict[str, int] = {}
        at = self.space(start + 1)
        if self.text[at : at + 1] == "}":
            self.position = at + 1
            return JsonObject(self.span(start, at + 1), ())
        while True:
            self.pointer = pointer
            if self.left_out(at, pointer):
                at = self.after_item(pointer, "}", start)
                if at < 0:
                    return JsonObject(self.span(start, self.position), tuple(members))
                continue
            if self.text[at : at + 1] != '"':
                raise self.no_key(at)
            key = self.string(at)
            at = self.space(self.position)
            if self.text[at : at + 1] != ":":
                raise self.syntax(at, at + 1, "a colon is expected after the key", 'write "key": value')
            inner = f"{pointer}/{pointer_token(key.value)}"
            if key.value in seen:
                line, _ = self.source.position(seen[key.value])
                message = f"the key `{key.value}` stands twice in this object, first on line {line}"
                self.faults.append(JsonFault("duplicate", key.span, message, "keep one of the two"))
            seen.setdefault(key.value, key.span.start)
            value = self.value(self.space(at + 1), inner, depth + 1)
            members.append(Member(JsonString(Span(self.source, key.span.start, key.span.end, inner), key.value), value))
            at = self.after_item(pointer, "}", start)
            if at < 0:
                return JsonObject(self.span(start, self.position), tuple(members))

    def no_key(self, at: int) -> _Stop:
        word = re.compile(r"""['‘“]?([A-Za-z_$][\w.$]*)['’”]?""").match(self.text, at)
        if word:
            help = f'write "{word.group(1)}"'
            return self.syntax(at, word.end(), "keys stand in double quotes in JSON", help)
        return self.comment(at) or self.syntax(
            at, at + 1, "a key in double quotes is expected here", 'write "key": value'
        )

    def array(self, start: int, pointer: str, depth: int) -> JsonArray:
        items: list[JsonValue] = []
        at = self.space(start + 1)
        if self.text[at : at + 1] == "]":
            self.position = at + 1
            return JsonArray(self.span(start, at + 1), ())
        while True:
            if not self.left_out(at, f"{pointer}/{len(items)}"):
                items.append(self.value(at, f"{pointer}/{len(items)}", depth + 1))
            at = self.after_item(pointer, "]", start)
            if at < 0:
                return JsonArray(self.span(start, self.position), tuple(items))

    def left_out(self, at: int, pointer: str) -> bool:
        """Tell of an ellipsis among items, as documents print one, and read on behind it."""
        match = _ELLIPSIS.match(self.text, at)
        if match is None:
            return False
        self.pointer, self.position = pointer, match.end()
        message = f"`{match.group()}` stands for what was left out, which JSON cannot say"
        help = "write the items, or remove it with its comma"
        self.faults.append(JsonFault("syntax", self.span(at, match.end()), message, help))
        return True

    def after_item(self, pointer: str, close: str, start: int) -> int:
        """Where the next item begins, or -1 where the list or object ends here."""
        self.pointer = pointer
        at = self.space(self.position)
        found = self.text[at : at + 1]
        if found == close:
            self.position = at + 1
            return -1
        what = "list" if close == "]" else "object"
        if found == ",":
            comma, at = at, self.space(at + 1)
            if self.text[at : at + 1] == close:
                raise self.syntax(comma, comma + 1, f"a comma stands before the end of the {what}", "remove the comma")
            return at
        if not found:
            line, _ = self.source.position(self.offset + start)
            message = f"the {what} that opens on line {line} is not closed"
            last = max(len(self.text.rstrip()) - 1, 0)
            raise self.syntax(last, at, message, f"close it with `{close}`")
        comment = self.comment(at)
        if comment is not None:
            raise comment
        if found in '{["-0123456789' or self.text[at : at + 4] in ("true", "fals", "null"):
            raise self.syntax(at, at + 1, "a comma is missing before this", "write `,` between the two")
        raise self.syntax(at, at + 1, f"a comma or `{close}` is expected here", f"write `,` or `{close}`")

    def string(self, start: int) -> JsonString:
        match = _STRING.match(self.text, start)
        if match is None:
            raise self.broken_string(start)
        self.position = match.end()
        raw = match.group(1)
        value = _ESCAPE.sub(_unescape, raw) if "\\" in raw else raw
        if not value.isascii() and _SURROGATE.search(value):
            message = "this text holds half of a character (an unpaired surrogate)"
            self.faults.append(JsonFault("text", self.span(start, match.end()), message, "write the whole character"))
            value = _SURROGATE.sub("\ufffd", value)
        return JsonString(self.span(start, match.end()), value)

    def broken_string(self, start: int) -> _Stop:
        at = start + 1
        while at < len(self.text):
            character = self.text[at]
            if character == '"':
                break
            if character < " ":
                name = "a line break" if character in "\r\n" else f"the control character U+{ord(character):04X}"
                return self.syntax(at, at + 1, f"{name} stands inside a text", "write it as an escape, such as \\n")
            if character == "\\":
                if not re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})').match(self.text, at):
                    found = self.text[at : at + 2]
                    return self.syntax(at, at + 2, f"`{found}` is no escape in JSON", "write `\\\\` for a backslash")
                at += 1
            at += 1
        return self.syntax(start, start + 1, "the text that begins here is not closed", 'close it with `"`')

    def number(self, match: re.Match[str]) -> JsonNumber:
        start, end = match.span()
        self.position = end
        if re.match(r"[A-Za-z0-9_.]", self.text[end : end + 1]):
            word = re.compile(r"[-+.\w]*").match(self.text, start)
            found = word.group() if word else match.group()
            raise self.syntax(start, start + len(found), f"`{found}` is no number in JSON", "write it like 12 or 0.5")
        span, text = self.span(start, end), match.group()
        value: int | float
        if len(text) > limits.NUMBER_CHARACTERS:
            return self.bad_number(span, f"a number with {len(text)} characters")
        if match.group(1) is None and match.group(2) is None:
            value = int(text)
            if abs(value) > limits.INTEGER_MAX:
                return self.bad_number(span, f"the integer {text} is out of range")
        else:
            value = float(text)
            if abs(value) > limits.NUMBER_MAX:
                return self.bad_number(span, f"the number {text} is out of range")
        return JsonNumber(span, value)

    def bad_number(self, span: Span, message: str) -> JsonNumber:
        help = "integers reach to 9223372036854775807, numbers to 1.797e308, each in 40 characters"
        self.faults.append(JsonFault("number", span, message, help))
        return JsonNumber(span, 0)


def _unescape(match: re.Match[str]) -> str:
    body = match.group(1)
    if body[0] != "u":
        return _ESCAPES[body[0]]
    first = int(body[1:5], 16)
    if len(body) == 5:
        return chr(first)
    return chr(0x10000 + ((first - 0xD800) << 10) + int(body[7:11], 16) - 0xDC00)


class JsonRefusal(ValueError):
    """Raised for what `json.loads` would accept but another reader may understand differently."""


def refuse_constant(word: str) -> NoReturn:
    """Refuse NaN and Infinity: the `parse_constant` of `json.loads` wherever it reads what others wrote."""
    raise JsonRefusal(f"`{word}` is not a JSON number")


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse duplicate keys: the `object_pairs_hook` of `json.loads`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise JsonRefusal(f"duplicate key `{next(key for key in found if keys.count(key) > 1)}`")
    return found
