"""Reads columns of Arrow as plain values, for the partition function: with `chunks` and `batches` it is sent to executors.

In: a record batch and its fields. Out: tuples as the generated module takes them. Columns are checked whole; a line with a value
that is not as expected is read by the module's own parser, which has the words for it, so that errors are those of `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

DATE = "date"
"""The column of a batch with the date of a review."""
OTHER = "_other"
"""How the column ends that has the unknown values of an enum, where an engine has made null of them."""
_MOST = 1e100
_LARGEST = 2**63 - 1
_BAD: Any = object()
_PARTS = ("year", "month")
_CODES = {
    pa.uint8(): "B", pa.int8(): "b", pa.uint16(): "H", pa.int16(): "h", pa.uint32(): "I", pa.int32(): "i",
    pa.int64(): "q", pa.float64(): "d",
}  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A field that the module reads. `column` is its column in a batch; None where the table has none.

    `section` is `extraction`, `meta` or `context`. `kind` is `enum`, `string`, `integer`, `number`, `boolean` or `json`, the
    last for a column that a path leads through; `values` are those of an enum. `default` is what null means, where
    `optional`. `path` leads to the value in a `json` column.
    """

    name: str
    section: str
    kind: str
    column: str | None = None
    values: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    optional: bool = False
    default: Any = None
    path: tuple[str, ...] = ()


class Column(NamedTuple):
    """The values of a field: as a list, or in memory as numbers or as codes of `words`."""

    source: Any
    words: list[Any] | None = None

    def part(self, start: int, end: int) -> Sequence[Any]:
        """Return some of the values."""
        found: Any = self.source[start:end]
        if self.words is not None:
            words = self.words
            return [words[code] for code in found]
        return found.tolist() if isinstance(found, memoryview) else found


class Records:
    """Rows or contexts, for plain tuples. `bad` are the messages of those that the module refuses."""

    def __init__(self, lines: pa.RecordBatch, fields: Sequence[Field], parse: Callable[..., Any], module: Any) -> None:
        self._lines = lines
        self._fields = fields
        suspects: set[int] = set()
        self._columns = [self._column(each, module, suspects) for each in fields]
        self._parsed: dict[int, tuple[Any, ...]] = {}
        self.bad: dict[int, str] = {}
        for at in sorted(suspects):
            try:
                self._parsed[at] = tuple(parse(self._record(at)))
            except module.DataError as error:
                self.bad[at] = str(error)

    def tuples(self, start: int, end: int) -> list[tuple[Any, ...]]:
        """Return some lines; in place of a bad one there is anything."""
        if not self._fields:
            return [()] * (end - start)
        found = list(zip(*(column.part(start, end) for column in self._columns), strict=True))
        for at in self._parsed if len(self._parsed) < end - start else range(start, end):
            if start <= at < end and at in self._parsed:
                found[at - start] = self._parsed[at]
        return found

    def _column(self, each: Field, module: Any, suspects: set[int]) -> Column:
        names = self._lines.schema.names
        if each.section == "meta" and each.name in (*_PARTS, DATE) and DATE in names:
            return Column(self._dated(each, module, suspects))
        if each.kind == "json" or (each.column is None and not each.optional):
            suspects.update(range(self._lines.num_rows))
        if each.kind == "json" or each.column is None:
            return Column([each.default] * self._lines.num_rows)
        if each.column + OTHER in names:
            suspects.update(_places(self._lines.column(each.column + OTHER).is_valid()))
        return _READ[each.kind](self._lines.column(each.column), each, suspects)

    def _dated(self, each: Field, module: Any, suspects: set[int]) -> list[Any]:
        """A date, or its year or month, which must agree with the one that is given."""
        dates = _encoded(self._lines.column(DATE))
        given = self._lines.column(each.column).to_pylist() if each.column not in (None, DATE) else None
        parts = [_date(text, each.name, module) for text in dates.dictionary.to_pylist()] + [_BAD]
        found = [parts[at] for at in _in_memory(dates.indices.cast(pa.int32()).fill_null(len(parts) - 1))]
        suspects.update(at for at, part in enumerate(found) if part is _BAD)
        if given is not None:
            suspects.update(
                at for at, (part, own) in enumerate(zip(found, given, strict=True)) if own not in (None, part)
            )
        return found

    def _record(self, at: int) -> dict[str, Any]:
        """The line as JSON: sections of a row, or a context."""
        record: dict[str, Any] = {"extraction": {}, "meta": {}, "context": {}}
        for each in self._fields:
            value = self._value(each.column, at)
            if value is None and each.column is not None:
                value = self._value(each.column + OTHER, at)
            if each.kind == "number" and value is not None:
                value = float(value)
            if each.column is not None:
                record[each.section][each.path[0] if each.kind == "json" else each.name] = value
        record["meta"].update({DATE: self._value(DATE, at)} if DATE in self._lines.schema.names else {})
        return record["context"] if self._fields[0].section == "context" else record

    def _value(self, column: str | None, at: int) -> Any:
        return self._lines.column(column)[at].as_py() if column in self._lines.schema.names else None


def _date(text: str, name: str, module: Any) -> Any:
    try:
        return module._read_date(text, "meta.date") if name == DATE else module._read_date_part({DATE: text}, name)
    except module.DataError:
        return _BAD


def _encoded(array: pa.Array) -> Any:
    return array if pa.types.is_dictionary(array.type) else pc.dictionary_encode(array)


def _places(which: pa.Array) -> list[int]:
    found: list[int] = pc.indices_nonzero(which).to_pylist()
    return found


def _in_memory(array: pa.Array) -> Any:
    """The memory of an array without nulls, as numbers; small codes as bytes, which are the fastest to go through."""
    code: Any = _CODES[array.type]
    if not len(array):
        return b""
    values = memoryview(array.buffers()[1]).cast("b").cast(code)[array.offset : array.offset + len(array)]
    return values.tobytes() if code == "B" else values


def _read_words(array: pa.Array, each: Field, suspects: set[int]) -> Column:
    """An enum, or a string that is encoded already: by the index of each value."""
    found = _encoded(array)
    words: list[Any] = found.dictionary.to_pylist()
    if each.kind == "enum":
        words = [word if word in each.values else _BAD for word in words]
    indices = found.indices
    if indices.null_count:
        indices = indices.cast(pa.int32()).fill_null(len(words))
        words.append(each.default if each.optional else _BAD)
    codes = _in_memory(indices)
    if _BAD in words:
        suspects.update(at for at, code in enumerate(codes) if words[code] is _BAD)
    return Column(codes, words)


def _read_strings(array: pa.Array, each: Field, suspects: set[int]) -> Column:
    return (_read_words if pa.types.is_dictionary(array.type) else _filled)(array, each, suspects)


def _read_numbers(array: pa.Array, each: Field, suspects: set[int]) -> Column:
    low, high = _bounds(each, -_MOST, _MOST)
    numbers = array.cast(pa.float64(), safe=False)
    if pc.any(pc.is_nan(numbers)).as_py():
        suspects.update(_places(pc.is_nan(numbers)))
    return _checked(numbers, low, high, each, suspects)


def _read_integers(array: pa.Array, each: Field, suspects: set[int]) -> Column:
    low, high = _bounds(each, -_LARGEST, _LARGEST)
    if pa.types.is_floating(array.type):
        fits = pc.fill_null(pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), 2.0**63)), True)
        suspects.update(_places(pc.invert(fits)))
        array = pc.if_else(fits, array, None)
    return _checked(array.cast(pa.int64(), safe=False), low, high, each, suspects)


def _bounds(each: Field, low: Any, high: Any) -> tuple[Any, Any]:
    lowest = low if each.minimum is None else max(low, each.minimum)
    return lowest, high if each.maximum is None else min(high, each.maximum)


def _checked(array: pa.Array, low: Any, high: Any, each: Field, suspects: set[int]) -> Column:
    """Plain numbers; those out of bounds are suspects."""
    least, most = pc.min_max(array).values()
    if (least.is_valid and least.as_py() < low) or (most.is_valid and most.as_py() > high):
        suspects.update(_places(pc.or_(pc.less(array, low), pc.greater(array, high))))
    return _filled(array, each, suspects) if array.null_count else Column(_in_memory(array))


def _filled(array: pa.Array, each: Field, suspects: set[int]) -> Column:
    values: list[Any] = array.to_pylist()
    if array.null_count and not each.optional:
        suspects.update(_places(array.is_null()))
    if array.null_count and each.default is not None:
        values = [each.default if value is None else value for value in values]
    return Column(values)


_READ: dict[str, Callable[[pa.Array, Field, set[int]], Column]] = {
    "enum": _read_words,
    "string": _read_strings,
    "boolean": _filled,
    "number": _read_numbers,
    "integer": _read_integers,
}
