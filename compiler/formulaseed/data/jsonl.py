"""JSON Lines: one object a line, plain or gzipped, `-` for standard input.

In: a path. Out: objects with their line numbers; a line that is none becomes a `BadLine` and the rest goes on.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from formulaseed.data.files import shown_bytes
from formulaseed.errors import DataError, UnreadableError, reason_of
from formulaseed.limits import LINE_BYTES

_SURROGATE = re.compile("[\ud800-\udfff]")
_KINDS = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false", type(None): "null"}


@dataclass(frozen=True, slots=True)
class Line:
    """An object and where it stands."""

    file: str
    number: int
    value: dict[str, Any]

    @property
    def place(self) -> str:
        return f"{self.file}:{self.number}"


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be used, and why."""

    file: str
    number: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.number}: {self.reason}"


def read_lines(path: str) -> Iterator[Line | BadLine]:
    """Every line of the file that is not blank.

    The file is opened at once, so that `UnreadableError` for one that is not there comes before anything is
    written; where it cannot be unpacked any further, or a line never ends, the error comes then.
    """
    name = "<stdin>" if path == "-" else path
    return _lines(name, _opened(path))


def _lines(name: str, file: BinaryIO) -> Iterator[Line | BadLine]:
    with file:
        number = 0
        while True:
            number += 1
            try:
                raw = file.readline(LINE_BYTES + 1)
            except (OSError, EOFError, zlib.error) as error:
                raise UnreadableError(f"cannot read {name} from line {number} on: {error}") from None
            if len(raw) > LINE_BYTES:
                raise UnreadableError(f"cannot read {name}: line {number} is longer than {shown_bytes(LINE_BYTES)}")
            if not raw:
                return
            if raw.strip():
                yield _line(name, number, raw)


def _line(name: str, number: int, raw: bytes) -> Line | BadLine:
    try:
        value = json.loads(
            raw.decode("utf-8-sig" if number == 1 else "utf-8"),
            object_pairs_hook=_unique_keys,
            parse_constant=_no_constant,
        )
    except UnicodeDecodeError as error:
        return BadLine(name, number, f"byte {error.start} of the line is not UTF-8")
    except json.JSONDecodeError as error:
        return BadLine(name, number, f"no JSON: {error.msg} at column {error.colno}")
    except DataError as error:
        return BadLine(name, number, str(error))
    except ValueError:  # Python refuses to read integers of thousands of digits
        return BadLine(name, number, "a number has too many digits")
    except RecursionError:
        return BadLine(name, number, "objects and lists stand inside one another too deep")
    if not isinstance(value, dict):
        return BadLine(name, number, f"a line must hold an object, not {_KINDS[type(value)]}")
    if b"\\ud" in raw.lower() and _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        return BadLine(name, number, "a text holds half of a character (an unpaired surrogate)")
    return Line(name, number, value)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise DataError(f"the key `{twice}` stands twice in one object")
    return found


def _no_constant(word: str) -> Any:
    raise DataError(f"`{word}` is no number in JSON")


def _opened(path: str) -> BinaryIO:
    if path == "-":
        if sys.stdin is None:
            raise UnreadableError("cannot read standard input: it is closed")
        return sys.stdin.buffer
    try:
        file = Path(path).open("rb")  # once: what comes through a pipe cannot be read again
        if file.peek(2)[:2] != b"\x1f\x8b":
            return file
        if not file.seekable():
            return cast(BinaryIO, gzip.GzipFile(fileobj=file))
        file.close()
        return cast(BinaryIO, gzip.open(path, "rb"))
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot read {path}: {reason_of(error)}") from None
