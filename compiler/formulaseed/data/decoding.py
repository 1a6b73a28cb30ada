"""Decode a line of JSON: quickly if it can be proved that nothing was lost, otherwise promote_warnings.

In: a line's bytes. Out: its object; anything else, or duplicate keys, is a `DataError`. A fast decoder silently keeps the
last of duplicate keys, and has its own words for errors. So its values are compared with the line, and lines that it
refuses go to the strict reader, which alone decides what is wrong with a line.
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
"""A line with at most as many `[` is not nested too deep for any decoder."""
_NOT_MARKS = bytes(code for code in range(256) if code not in b":[\\")


def decode_object(line: bytes, encoding: str = "utf-8") -> dict[str, Any]:
    """Return the object on a line. Raises `DataError` for anything else, duplicate keys, NaN and unpaired surrogates."""
    try:
        value = fast_decoder()(line)
    except Exception:  # the strict reader knows the words for it
        return _read_strictly(line, encoding)
    if type(value) is dict and is_whole(line, *entries_of(value)):
        return value
    return _read_strictly(line, encoding)


@cache
def fast_decoder() -> Callable[[bytes], Any]:
    """Return the fastest decoder that is installed: it raises for all that the strict reader refuses but duplicate keys."""
    try:
        from msgspec.json import Decoder
    except ImportError:
        return _decode
    return Decoder().decode


_decoder = json.JSONDecoder(parse_constant=refuse_constant)


def _decode(line: bytes) -> Any:
    if b"\\" in line and (b"\\ud" in line or b"\\uD" in line):
        raise JsonRefusal("there may be an unpaired surrogate")
    text = line.decode()
    value, end = _decoder.raw_decode(text)
    if text[end:].strip(" \t\r\n"):
        raise JsonRefusal("there is more behind the value")
    return value


def is_whole(line: bytes, entries: int, other_marks: int) -> bool:
    """Return True if a shallow line of JSON surely has exactly so many entries; False if its strings leave that open.

    More than `entries` are duplicates, or in objects that were not counted. After each key there is a colon, and directly
    before that, white space aside, a quote. So a line has at most as many keys as quotes before colons, and as colons that
    are in no string. `other_marks` are lists and colons in strings, not all of them: as each is a `[`, a colon or an escape,
    there is no other entry in a line that has no more of these three than `entries` and `other_marks`.
    """
    marks = line.translate(None, _NOT_MARKS)
    if len(marks) == entries + other_marks:
        return True
    is_proved = marks.count(b":") == entries or line.translate(None, b" \t\r\n").count(b'":') == entries
    return is_proved and marks.count(b"[") <= _MAX_BRACKETS


def entries_of(value: dict[str, Any]) -> tuple[int, int]:
    """Return the number of entries of an object, and that of its lists and of colons in its strings.

    Both include those of the objects in it: entries as far down as in contexts and rows, strings as in contexts.
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
    """Return the object on a line. Raises `DataError`, which says what is wrong, for anything else."""
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
