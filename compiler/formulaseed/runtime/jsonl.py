"""JSON Lines: one object a line, plain or gzipped, `-` for standard input.

In: a path. Out: objects with their line numbers; a line that is none becomes a `BadLine` and the rest goes on.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from formulaseed.errors import DataError, UnreadableError


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
    """Every line of the file that is not blank. Raises `UnreadableError` where it cannot be opened or unpacked."""
    name = "<stdin>" if path == "-" else path
    with _opened(path) as file:
        number = 0
        while True:
            number += 1
            try:
                raw = file.readline()
            except (OSError, EOFError, gzip.zlib.error) as error:  # type: ignore[attr-defined]
                raise UnreadableError(f"cannot read {name} from line {number} on: {error}") from None
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
    except (DataError, ValueError) as error:
        return BadLine(name, number, str(error))
    except RecursionError:
        return BadLine(name, number, "objects and lists stand inside one another too deep")
    if not isinstance(value, dict):
        return BadLine(name, number, f"a line must hold an object, not {type(value).__name__}")
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


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(path).open("rb") as probe:
            packed = probe.read(2) == b"\x1f\x8b"
        file = cast(BinaryIO, gzip.open(path, "rb")) if packed else Path(path).open("rb")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableError(f"cannot read {path}: {reason}") from None
    with file:
        yield file
