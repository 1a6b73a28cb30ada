"""JSON Lines: one object a line, plain or gzipped, `-` for standard input.

In: a path. Out: objects with their line numbers; a line that is not an object has a fault, and reading goes on.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from formulaseed.data.files import shown_bytes
from formulaseed.errors import DataError, UnreadableError, reason_of
from formulaseed.limits import LINE_BYTES
from formulaseed.source.json_reader import JsonRefusal, refuse_constant, unique_keys

_SURROGATE = re.compile("[\ud800-\udfff]")
_KINDS = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean", type(None): "null"}
_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class Line:
    """A line's object and its place. Where it cannot be used, `fault` says why, and the object is empty."""

    file: str
    number: int
    value: dict[str, Any]
    fault: str = ""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.number}"

    @property
    def business_id(self) -> str:
        """The restaurant that the line names; empty where it names none."""
        found = self.value.get("business_id")
        return found if isinstance(found, str) else ""


def parsed(
    lines: Iterable[Line], parse: Callable[[dict[str, Any]], _Record]
) -> Iterator[tuple[Line, _Record | DataError]]:
    """Yield each line with the record that `parse` makes of its object, or the `DataError` that says why there is none."""
    for line in lines:
        found: _Record | DataError
        try:
            found = DataError(line.fault) if line.fault else parse(line.value)
        except UnreadableError:
            raise
        except DataError as error:
            found = error
        yield line, found


def read_lines(path: str) -> Iterator[Line]:
    """Yield every line of the file that is not blank.

    The file is opened at once, so that `UnreadableError` for a missing one is raised before anything is written; where it
    cannot be unpacked any further, or a line never ends, the error is raised then.
    """
    name = "<stdin>" if path == "-" else path
    return _lines(name, _opened(path))


def _lines(name: str, file: BinaryIO) -> Iterator[Line]:
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


def _line(name: str, number: int, raw: bytes) -> Line:
    value: Any = {}
    fault = ""
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        value = json.loads(text, object_pairs_hook=unique_keys, parse_constant=refuse_constant)
    except UnicodeDecodeError as error:
        fault = f"byte {error.start} of the line is not UTF-8"
    except json.JSONDecodeError as error:
        fault = f"not JSON: {error.msg} at column {error.colno}"
    except JsonRefusal as error:
        fault = str(error)
    except ValueError:  # Python refuses to read integers of thousands of digits
        fault = "a number has too many digits"
    except RecursionError:
        fault = "objects and lists are nested too deep"
    if not isinstance(value, dict):
        fault = f"a line must hold an object, not {_KINDS[type(value)]}"
    elif b"\\ud" in raw.lower() and _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        fault = "a string holds half of a character (an unpaired surrogate)"
    return Line(name, number, {} if fault else value, fault)


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
