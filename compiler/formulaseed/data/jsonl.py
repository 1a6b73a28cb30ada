"""Read JSON Lines, and the restaurants in them: a file, plain or gzipped, standard input for `-`, or a Parquet file.

In: a path. Out: objects with their line numbers; a line that is not an object has an error, and reading continues.
Restaurants come with their reviews, from a file of contexts or from two files joined by `business_id`.
"""

from __future__ import annotations

import codecs
import gzip
import json
import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from io import BufferedReader
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from formulaseed.data.decoding import decode_object
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.file_kinds import KINDS, find_mismatch, kind_of
from formulaseed.data.files import BUFFER, format_size
from formulaseed.data.records import RestaurantRecord
from formulaseed.errors import DataError, UnreadableError, reason_of
from formulaseed.limits import LINE_BYTES, SEED_BYTES

_Record = TypeVar("_Record")

Lines = str | os.PathLike[str] | Iterable[Mapping[str, Any]]
"""A file of JSON Lines, or the objects that it would hold."""

_MAX_BEGINNING = 10_000
"""The maximum of characters by which the kind of a file that is not JSON is recognised."""
_OPENINGS = (b"[", b"{", b"[{")
"""The first lines of a document that is laid out over several lines."""


class InputLine:
    """A line of input and its place; its JSON is decoded when `content` is first read."""

    __slots__ = ("_content", "file", "number", "raw")

    def __init__(self, file: str, number: int, raw: bytes, content: dict[str, Any] | DataError | None = None) -> None:
        self.file = file
        self.number = number
        self.raw = raw
        self._content = content

    @property
    def content(self) -> dict[str, Any] | DataError:
        """The line's object, or the `DataError` if there is none; decoded when first read, then cached."""
        if self._content is None:
            try:
                self._content = decode_object(self.raw, "utf-8-sig" if self.number == 1 else "utf-8")
            except DataError as error:
                self._content = error
        return self._content

    @property
    def place(self) -> str:
        """The file and the line's number, for messages."""
        return f"{self.file}:{self.number}"

    @property
    def business_id(self) -> str:
        """The id of the line's restaurant; empty if it has none."""
        business_id = None if isinstance(self.content, DataError) else self.content.get("business_id")
        return business_id if isinstance(business_id, str) else ""

    def parse(self, parse: Callable[[dict[str, Any]], _Record]) -> _Record | DataError:
        """Return the record that `parse` makes of the object, or the `DataError` that it or the decoder raises.

        The error is returned, not raised. `UnreadableError`, which ends the reading of a file, is not caught.
        """
        if isinstance(self.content, DataError):
            return self.content
        try:
            return parse(self.content)
        except UnreadableError:
            raise
        except DataError as error:
            return error


def parse_lines(
    lines: Iterable[InputLine], parse: Callable[[dict[str, Any]], _Record]
) -> Iterator[tuple[InputLine, _Record | DataError]]:
    """Yield each line with the record that `parse` makes of its object, or the `DataError` that says why there is none."""
    for line in lines:
        yield line, line.parse(parse)


def open_lines(source: Lines, name: str) -> Iterator[InputLine]:
    """Open a file and return its lines; objects in memory, or rows of a data frame, are lines of the file `<name>`.

    `name` is also the kind of the data, if it is one of `file_kinds.KINDS`. Raises `DataError` for any other source,
    `UnreadableError` for a file that cannot be opened, and during iteration as `read_lines` does.
    """
    kind = name if name in KINDS else None
    if isinstance(source, str | os.PathLike):
        return read_lines(os.fsdecode(source), kind)
    if is_frame(source):
        from formulaseed.data.parquet import frame_lines

        lines = enumerate(frame_lines(source, name), 1)
        return _check_kind((InputLine(f"<{name}>", number, raw) for number, raw in lines), kind)
    if not is_lines(source):
        raise DataError(f"{name} must be a path, a list of objects or a data frame, not {type(source).__name__}")
    return _check_kind((_encode_line(value, f"<{name}>", number) for number, value in enumerate(source, 1)), kind)


def is_lines(value: object) -> bool:
    """Return whether a value is a path, a data frame or an iterable; an object or bytes is not.

    Items are not checked.
    """
    if isinstance(value, str | os.PathLike) or is_frame(value):
        return True
    return isinstance(value, Iterable) and not isinstance(value, Mapping | bytes)


def keep_lines(lines: Lines, kind: str) -> Lines:
    """Return lines that can be read again: an iterator as a list, a data frame as a table, the rest unchanged.

    Reads the iterator or the frame to its end. `kind` names the data in errors; raises `DataError` for an unusable
    frame.
    """
    if isinstance(lines, str | os.PathLike):
        return lines
    if is_frame(lines):
        from formulaseed.data.parquet import arrow_table

        table: Lines = arrow_table(lines, kind)
        return table
    return list(lines) if isinstance(lines, Iterator) else lines


def is_frame(value: object) -> bool:
    """Return whether a value is a table in memory: a pandas or polars frame, or an Arrow table or reader."""
    return hasattr(value, "__arrow_c_stream__")


def _encode_line(value: object, name: str, number: int) -> InputLine:
    """Return the line of an object in memory; its content is a `DataError` if `value` is no object or not JSON."""
    if not isinstance(value, Mapping):
        return InputLine(name, number, b"", DataError(f"it must be an object, not {type(value).__name__}"))
    try:
        return InputLine(name, number, json.dumps(dict(value)).encode())
    # Python writes no integer of thousands of digits.
    except ValueError:
        return InputLine(name, number, b"", DataError("it holds a number beyond 1e100, or itself"))
    except (TypeError, RecursionError) as error:
        return InputLine(name, number, b"", DataError(f"it is not JSON: {error}"))


def read_lines(path: str, kind: str | None = None) -> Iterator[InputLine]:
    """Open a file, and return an iterator over its lines that are not blank; a row of a Parquet file is a line of JSON.

    `path` may be `-`, standard input. `kind`, of `file_kinds.KINDS`, is what the file must hold; None for anything.
    Raises `UnreadableError`: at once if the file cannot be opened; during iteration if it cannot be decompressed, a
    line is too long, an object has several lines, or the first line shows that the file is of another kind.
    """
    if path.endswith(".parquet"):
        from formulaseed.data.parquet import parquet_lines

        _open(path).close()
        return _check_kind((InputLine(path, number, raw) for number, raw in enumerate(parquet_lines(path), 1)), kind)
    name = "<stdin>" if path == "-" else path
    return _check_kind(_iterate_lines(name, _open(path), kind), kind)


def _check_kind(lines: Iterator[InputLine], kind: str | None) -> Iterator[InputLine]:
    """Yield the lines. Raises `UnreadableError` if the first shows that they are not of `kind`; None accepts all.

    The source of the lines is closed before the error is raised.
    """
    first = next(lines, None)
    if first is None:
        return
    if kind is not None:
        value = _value_or_text(first.raw) if isinstance(first.content, DataError) else first.content
        reason = find_mismatch(value, kind, first.file)
        if reason:
            if isinstance(lines, Generator):
                lines.close()
            raise UnreadableError(f"cannot read {first.file}: {reason}")
    yield first
    yield from lines


def _value_or_text(raw: bytes) -> object:
    """Return the JSON value if a line begins with `[` and is valid, otherwise the beginning of its text."""
    text = raw.decode("utf-8-sig", "replace")
    try:
        return json.loads(text) if text.startswith("[") else text[:_MAX_BEGINNING]
    except (ValueError, RecursionError):
        return text[:_MAX_BEGINNING]


def _iterate_lines(name: str, file: BinaryIO, kind: str | None) -> Iterator[InputLine]:
    """Yield the lines of an open file that are not blank, and close the file at the end.

    Raises `UnreadableError` if reading fails, a line is too long, or the file is one document over several lines;
    `kind` is for that message, None if unknown.
    """
    with file:
        is_first = True
        for number in count(1):
            try:
                raw = file.readline(LINE_BYTES + 1)
            except (OSError, EOFError, zlib.error) as error:
                raise UnreadableError(f"cannot read {name} from line {number} on: {error}") from None
            if len(raw) > LINE_BYTES:
                raise UnreadableError(f"cannot read {name}: line {number} is longer than {format_size(LINE_BYTES)}")
            if not raw:
                return
            if is_first and raw.removeprefix(codecs.BOM_UTF8).strip() in _OPENINGS:
                raise UnreadableError(f"cannot read {name}: {_describe_layout(raw, file, name, kind)}")
            if not raw.isspace():
                is_first = False
                yield InputLine(name, number, raw)


def _describe_layout(opening: bytes, rest: BinaryIO, name: str, kind: str | None) -> str:
    """Return why a document over several lines cannot be read: it is of another kind, or must have one object a line.

    `opening` is the first line. The `rest` of the file is read, up to the size of a seed, and not rewound.
    """
    try:
        document = json.loads((opening + rest.read(SEED_BYTES)).decode("utf-8-sig"))
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):
        document = None
    document_kind = kind_of(document)
    if kind is not None and document_kind is not None and document_kind.name != kind:
        reason = find_mismatch(document, kind, name)
        if reason:
            return reason
    fix = "jq -c '.[]'" if b"[" in opening else "jq -c ."
    return f"it is one JSON document over several lines; write one object a line, as `{fix}` does"


def _open(path: str) -> BinaryIO:
    """Open a file, or standard input for `-`, decompressed if it begins as gzip does. Raises `UnreadableError`."""
    if path == "-":
        if sys.stdin is None:
            raise UnreadableError("cannot read standard input: it is closed")
        return sys.stdin.buffer
    try:
        # A pipe cannot be read again, so the file is opened once.
        file = cast(BufferedReader, Path(path).open("rb", buffering=BUFFER))
        if file.peek(2)[:2] != b"\x1f\x8b":
            return file
        if not file.seekable():
            return cast(BinaryIO, gzip.GzipFile(fileobj=file))
        file.close()
        return cast(BinaryIO, gzip.open(path, "rb"))
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot read {path}: {reason_of(error)}") from None


LocatedRestaurant = tuple[str, RestaurantRecord | DataError, str]
"""The place of a restaurant's line, the restaurant or the error if there is none, and its id if that is known."""


def read_contexts(
    lines: Iterable[InputLine], model: type[RestaurantRecord] = RestaurantRecord, duplicates: Duplicates = "fail"
) -> Iterator[LocatedRestaurant]:
    """Yield the place, the restaurant read as `model`, and the id of each line; an error in place of an unusable one.

    With the `duplicates` `fail`, a restaurant that has a review twice is an error; with `first` the first review
    counts.
    """
    for line, restaurant in parse_lines(lines, lambda value: model.read(value).deduplicate(duplicates)):
        yield line.place, restaurant, line.business_id
