"""Decodes a line of JSON: with a fast decoder if it provably drops nothing, otherwise strictly.

In: a line's bytes. Out: its object; anything else, or duplicate keys, is a `DataError`. A fast decoder silently keeps the
last of duplicate keys, and has other error messages. So its values are compared with the line, and lines that it rejects
go to the strict reader, which reports all errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from formulaseed.errors import DataError
from formulaseed.source.strict_json import JsonRefusal, refuse_constant, refuse_duplicate_keys

_KINDS = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean", type(None): "null"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_BRACKETS = 500
"""A line with at most this number of `[` is not nested too deep for any decoder."""
_NOT_MARKS = bytes(code for code in range(256) if code not in b":[\\")


def decode_object(line: bytes, encoding: str = "utf-8") -> dict[str, Any]:
    """Return the object on a line. Raises `DataError` for anything else, duplicate keys, NaN and unpaired surrogates.

    `encoding` is for lines that the fast decoder does not accept, such as one with a byte order mark.
    """
    try:
        value = fast_decoder()(line)
    except Exception:  # the strict reader reports the error
        return _read_strictly(line, encoding)
    if type(value) is dict and is_whole(line, *count_entries(value)):
        return value
    return _read_strictly(line, encoding)


@cache
def fast_decoder() -> Callable[[bytes], Any]:
    """Return the decoder of msgspec, or one of the standard library if msgspec is not installed; cached.

    A decoder raises for everything that the strict reader rejects, except duplicate keys, whose last value it keeps.
    """
    try:
        from msgspec.json import Decoder
    except ImportError:
        return _decode
    return Decoder().decode


_decoder = json.JSONDecoder(parse_constant=refuse_constant)


def _decode(line: bytes) -> Any:
    """Return the JSON value on a line. Raises `ValueError` if it is not JSON, or may have an unpaired surrogate.

    Of duplicate keys, the last one counts.
    """
    if b"\\" in line and (b"\\ud" in line or b"\\uD" in line):
        raise JsonRefusal("there may be an unpaired surrogate")
    text = line.decode()
    value, end = _decoder.raw_decode(text)
    if text[end:].strip(" \t\r\n"):
        raise JsonRefusal("there is more behind the value")
    return value


def is_whole(line: bytes, entries: int, other_marks: int) -> bool:
    """Return True if a line of JSON provably has exactly `entries` keys and is not nested deep; False if it may have more.

    More keys would be duplicates, or in objects that were not counted. Each key is followed by a colon, and before the colon
    there is a quote, with white space between at most. So a line has at most as many keys as quotes before colons, and as
    colons outside strings. `other_marks` counts lists, and some colons in strings. Each of those is a `[`, a colon or an
    escape: a line whose number of these three marks is `entries` + `other_marks` has no other key.
    """
    marks = line.translate(None, _NOT_MARKS)
    if len(marks) == entries + other_marks:
        return True
    is_proved = marks.count(b":") == entries or line.translate(None, b" \t\r\n").count(b'":') == entries
    return is_proved and marks.count(b"[") <= _MAX_BRACKETS


def count_entries(value: dict[str, Any]) -> tuple[int, int]:
    """Return the number of keys of an object, and the number of its lists and of the colons in its strings.

    Lists and strings count directly in the object, keys also in its objects and lists of objects, two levels down. The
    counts may be too low for deeper values, never too high.
    """
    entries = len(value)
    other_marks = 0
    for member in value.values():
        kind = type(member)
        if kind is dict:
            for inner in member.values():
                if type(inner) is dict:
                    other_marks += "".join([text for text in inner.values() if type(text) is str]).count(":")
            member = (member,)
        elif kind is list:
            other_marks += 1
        else:
            other_marks += member.count(":") if kind is str else 0
            continue
        for item in member:
            if type(item) is dict:
                entries += len(item)
                for inner in item.values():
                    kind = type(inner)
                    if kind is dict:
                        entries += len(inner)
                    elif kind is str:
                        other_marks += inner.count(":")
    return entries, other_marks


def _read_strictly(line: bytes, encoding: str) -> dict[str, Any]:
    """Return the object on a line.

    Raises `DataError`, which says what is wrong, for anything else or duplicate keys.
    """
    try:
        value = json.loads(
            line.decode(encoding), object_pairs_hook=refuse_duplicate_keys, parse_constant=refuse_constant
        )
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start} of the line is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg} at column {error.colno}") from None
    except JsonRefusal as error:
        raise DataError(str(error)) from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise DataError("a number has too many digits") from None
    except RecursionError:
        raise DataError("objects and lists are nested too deep") from None
    if not isinstance(value, dict):
        raise DataError(f"a line must hold an object, not {_KINDS[type(value)]}")
    if b"\\ud" in line.lower() and _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise DataError("a string holds half of a character (an unpaired surrogate)")
    return value
