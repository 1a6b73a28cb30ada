"""Reads columns of Arrow as plain values; sent to executors together with `chunks` and `batches`.

In: a record batch and its fields. Out: tuples for the generated module. Each column is checked as a whole. A line with an
unexpected value is read again by the module's own parser, so that results have the same error messages as `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from formulaseed.runtime.table_names import DATE, UNKNOWN_SUFFIX

_NUMBER_MAX = 1e100
INTEGER_MAX = 2**63 - 1
_INVALID: Any = object()
"""The value of a field in a line that the module's parser must read."""
_DATE_PARTS = ("year", "month")
_FORMAT_CODES = {
    pa.uint8(): "B", pa.int8(): "b", pa.uint16(): "H", pa.int16(): "h", pa.uint32(): "I", pa.int32(): "i",
    pa.int64(): "q", pa.float64(): "d",
}  # fmt: skip
"""The format of a `memoryview` of each type."""


@dataclass(frozen=True)
class TableField:
    """A field that the module reads, and the column of a batch that has its values."""

    name: str
    section: str
    """`extraction`, `meta` or `context`."""
    kind: str
    """`enum`, `string`, `integer`, `number`, `boolean`, or `json` if a path leads through the column to the value."""
    column: str | None = None
    """The name of the column in a batch; None if the table has no such column."""
    values: tuple[str, ...] = ()
    """The values of an enum."""
    minimum: float | None = None
    maximum: float | None = None
    optional: bool = False
    default: Any = None
    """The value that a null stands for, if the field is `optional`."""
    path: tuple[str, ...] = ()
    """The keys that lead to the value in a column of the kind `json`."""

    @property
    def is_date_part(self) -> bool:
        """Whether the field is the review's date, or is derived from it."""
        return self.section == "meta" and self.name in (*_DATE_PARTS, DATE)


def build_object(fields: Sequence[TableField], values: Sequence[Any]) -> dict[str, Any]:
    """Return the JSON object of a row or a context, with an object for each section of fields, without nulls."""
    sections: dict[str, Any] = {"extraction": {}, "meta": {}, "context": {}}
    for field, value in zip(fields, values, strict=True):
        if value is not None:
            sections[field.section][field.name] = value
    return sections


class ColumnValues(NamedTuple):
    """The values of a field: a list, numbers in memory, or codes in memory, which are positions in `words`."""

    values: Any
    words: list[Any] | None = None

    def part(self, start: int, end: int) -> Sequence[Any]:
        """Return the values from `start` up to, not including, `end`, with codes replaced by their words."""
        values: Any = self.values[start:end]
        if self.words is not None:
            words = self.words
            return [words[code] for code in values]
        return values.tolist() if isinstance(values, memoryview) else values


class Records:
    """The rows or contexts of a batch, which can be read as plain tuples.

    `errors` has the message of each line that the module's parser rejects.
    """

    def __init__(
        self, lines: pa.RecordBatch, fields: Sequence[TableField], parse: Callable[..., Any], module: Any
    ) -> None:
        """Read and check the columns. Lines with an unexpected value are read again by `parse`, a function of `module`.

        The message of a line that `parse` rejects is put into `errors`; nothing is raised for it.
        """
        self._lines = lines
        self._fields = fields
        suspects: set[int] = set()
        self._columns = [self._read_column(field, module, suspects) for field in fields]
        self._parsed: dict[int, tuple[Any, ...]] = {}
        self.errors: dict[int, str] = {}
        for line in sorted(suspects):
            try:
                self._parsed[line] = tuple(parse(self._build_record(line)))
            except module.DataError as error:
                self.errors[line] = str(error)

    def tuples(self, start: int, end: int) -> list[tuple[Any, ...]]:
        """Return a tuple of field values for each line from `start` up to, not including, `end`.

        The tuples of lines in `errors` have arbitrary values. Without fields, all tuples are empty.
        """
        if not self._fields:
            return [()] * (end - start)
        tuples = list(zip(*(column.part(start, end) for column in self._columns), strict=True))
        for line in self._parsed if len(self._parsed) < end - start else range(start, end):
            if start <= line < end and line in self._parsed:
                tuples[line - start] = self._parsed[line]
        return tuples

    def _read_column(self, field: TableField, module: Any, suspects: set[int]) -> ColumnValues:
        """Return the values of a field, or its default in every line if the field has no column of its own.

        Adds the lines that the module's parser must read to `suspects`: all of them for a JSON path or a required field
        without a column.
        """
        names = self._lines.schema.names
        if field.is_date_part and DATE in names:
            return ColumnValues(self._read_dates(field, module, suspects))
        if field.kind == "json" or (field.column is None and not field.optional):
            suspects.update(range(self._lines.num_rows))
        if field.kind == "json" or field.column is None:
            return ColumnValues([field.default] * self._lines.num_rows)
        if field.column + UNKNOWN_SUFFIX in names:
            suspects.update(_true_positions(self._lines.column(field.column + UNKNOWN_SUFFIX).is_valid()))
        return _READERS[field.kind](self._lines.column(field.column), field, suspects)

    def _read_dates(self, field: TableField, module: Any, suspects: set[int]) -> list[Any]:
        """Return the date, the year or the month of each line, as `field.name` says, from the column of dates.

        A line without a valid date has `_INVALID`. Adds the positions of such lines to `suspects`, and of those whose
        own column for the field has another value.
        """
        dates = _encode_dictionary(self._lines.column(DATE))
        parts = [_read_date_part(text, field.name, module) for text in dates.dictionary.to_pylist()] + [_INVALID]
        codes = _view_memory(dates.indices.cast(pa.int32()).fill_null(len(parts) - 1))
        values = [parts[code] for code in codes]
        suspects.update(line for line, value in enumerate(values) if value is _INVALID)
        if field.column not in (None, DATE):
            own_values = self._lines.column(field.column).to_pylist()
            pairs = enumerate(zip(values, own_values, strict=True))
            suspects.update(line for line, (value, own_value) in pairs if own_value not in (None, value))
        return values

    def _build_record(self, line: int) -> dict[str, Any]:
        """Return a line as the module's parser reads it: a row with `extraction` and `meta`, or a context."""
        record: dict[str, Any] = {"extraction": {}, "meta": {}, "context": {}}
        for field in self._fields:
            if field.column is None:
                continue
            value = self._value(field.column, line)
            if value is None:
                value = self._value(field.column + UNKNOWN_SUFFIX, line)
            if field.kind == "number" and value is not None:
                value = float(value)
            record[field.section][field.path[0] if field.kind == "json" else field.name] = value
        if DATE in self._lines.schema.names:
            record["meta"][DATE] = self._value(DATE, line)
        return record["context"] if self._fields[0].section == "context" else record

    def _value(self, column: str, line: int) -> Any:
        """Return the value of a column in a line; None if it is null or the batch has no such column."""
        return self._lines.column(column)[line].as_py() if column in self._lines.schema.names else None


def _read_date_part(text: str, name: str, module: Any) -> Any:
    """Return the `date`, `year` or `month` of a date, as the module reads it; `_INVALID` if the module rejects the date."""
    try:
        if name == DATE:
            return module._read_date(text, "meta.date")
        return module._read_date_part({DATE: text}, name)
    except module.DataError:
        return _INVALID


def _encode_dictionary(array: pa.Array) -> Any:
    """Return the array dictionary-encoded; an array that already is comes back unchanged."""
    return array if pa.types.is_dictionary(array.type) else pc.dictionary_encode(array)


def _true_positions(mask: pa.Array) -> list[int]:
    """Return the positions of the true values of a Boolean array; nulls are not true."""
    positions: list[int] = pc.indices_nonzero(mask).to_pylist()
    return positions


def _view_memory(array: pa.Array) -> Any:
    """Return the numbers of an array without nulls as a view of its memory, or as bytes if they are one-byte codes."""
    code: Any = _FORMAT_CODES[array.type]
    if not len(array):
        return b""
    numbers = memoryview(array.buffers()[1]).cast("b").cast(code)[array.offset : array.offset + len(array)]
    if code == "B":
        return numbers.tobytes()
    return numbers


# The readers of columns: each returns the values of a field, and adds lines that the module's parser must read to `suspects`.


def _read_words(array: pa.Array, field: TableField, suspects: set[int]) -> ColumnValues:
    """Read an enum, or dictionary-encoded strings, as codes into a list of words.

    A null becomes the default if the field is optional. Lines with an unknown value of an enum, or with a null in a
    required field, are added to `suspects`.
    """
    encoded = _encode_dictionary(array)
    words: list[Any] = encoded.dictionary.to_pylist()
    if field.kind == "enum":
        words = [word if word in field.values else _INVALID for word in words]
    indices = encoded.indices
    if indices.null_count:
        indices = indices.cast(pa.int32()).fill_null(len(words))
        words.append(field.default if field.optional else _INVALID)
    codes = _view_memory(indices)
    if _INVALID in words:
        suspects.update(line for line, code in enumerate(codes) if words[code] is _INVALID)
    return ColumnValues(codes, words)


def _read_strings(array: pa.Array, field: TableField, suspects: set[int]) -> ColumnValues:
    """Read strings. A null becomes the default; in a required field its line is added to `suspects`."""
    read = _read_words if pa.types.is_dictionary(array.type) else _read_plain
    return read(array, field, suspects)


def _read_numbers(array: pa.Array, field: TableField, suspects: set[int]) -> ColumnValues:
    """Read numbers as floats. NaN, numbers beyond 1e100 or the field's bounds, and required nulls go to `suspects`."""
    numbers = array.cast(pa.float64(), safe=False)
    if pc.any(pc.is_nan(numbers)).as_py():
        suspects.update(_true_positions(pc.is_nan(numbers)))
    return _read_bounded(numbers, -_NUMBER_MAX, _NUMBER_MAX, field, suspects)


def _read_integers(array: pa.Array, field: TableField, suspects: set[int]) -> ColumnValues:
    """Read 64-bit integers. Lines with a fraction, a number out of bounds, or a required null are added to `suspects`.

    A float that is no integer of 64 bits is read as null.
    """
    if pa.types.is_floating(array.type):
        fits = pc.fill_null(pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), 2.0**63)), True)
        suspects.update(_true_positions(pc.invert(fits)))
        array = pc.if_else(fits, array, None)
    return _read_bounded(array.cast(pa.int64(), safe=False), -INTEGER_MAX, INTEGER_MAX, field, suspects)


def _read_bounded(array: pa.Array, low: Any, high: Any, field: TableField, suspects: set[int]) -> ColumnValues:
    """Read numbers; those outside the field's own bounds, or not from `low` to `high`, are added to `suspects`.

    A null becomes the field's default; in a required field it is added to `suspects`.
    """
    if field.minimum is not None:
        low = max(low, field.minimum)
    if field.maximum is not None:
        high = min(high, field.maximum)
    smallest, largest = pc.min_max(array).values()
    if (smallest.is_valid and smallest.as_py() < low) or (largest.is_valid and largest.as_py() > high):
        suspects.update(_true_positions(pc.or_(pc.less(array, low), pc.greater(array, high))))
    if array.null_count:
        return _read_plain(array, field, suspects)
    return ColumnValues(_view_memory(array))


def _read_plain(array: pa.Array, field: TableField, suspects: set[int]) -> ColumnValues:
    """Read values of any type as a list, with the field's default in place of nulls.

    Lines with a null in a required field are added to `suspects`.
    """
    values: list[Any] = array.to_pylist()
    if array.null_count and not field.optional:
        suspects.update(_true_positions(array.is_null()))
    if array.null_count and field.default is not None:
        values = [field.default if value is None else value for value in values]
    return ColumnValues(values)


_READERS: dict[str, Callable[[pa.Array, TableField, set[int]], ColumnValues]] = {
    "enum": _read_words,
    "string": _read_strings,
    "boolean": _read_plain,
    "number": _read_numbers,
    "integer": _read_integers,
}
"""The reader of each kind of field."""
