"""Scores sorted Arrow batches with a generated module: the one function that every engine runs.

In: record batches with the columns of `Plan`, sorted by key, contexts before rows, then by the order key. Out: batches of
results, a line for each restaurant, in the order of the keys. A restaurant that fails is a line with its error. It imports
the standard library and pyarrow only, since it is sent to the executors of a cluster together with the generated module.
Columns are checked whole; a row with a value that is not as expected is read by the module's own parser, which has the
words for it, so that errors are the same as those of `evaluate`.
"""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

KEY, IS_CONTEXT, ORDER, DATE = "key", "is_context", "order_key", "date"
"""Columns of a batch: the restaurant's key, whether the line is its context, the order of its rows, the date of a review."""
_MOST = 1e100
_LARGEST = 2**63 - 1
_BAD: Any = object()
_NAMELESS = -1
_PARTS = {"year": 0, "month": 1}
_TYPES = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "string": pa.string()}
ERRORS = ("error_step", "error_kind", "error_message")


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


@dataclass(frozen=True)
class Plan:
    """What a table's columns are to a seed. `outputs` and `steps` are names with their types.

    `order` is the name of the order key in the table. Without contexts (`has_contexts` is False) restaurants are those of the
    rows. `evidence` adds the order keys of the rows behind each aggregate, and every step takes the place of the outputs.
    """

    key: str
    order: str
    rows: tuple[Field, ...]
    context: tuple[Field, ...]
    has_contexts: bool
    outputs: tuple[tuple[str, str], ...]
    trace: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the plan as a string that any process can read."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Plan:
        """Return the plan of a string made by `to_json`."""
        found = json.loads(text)
        fields = {name: tuple(map(_field, found.pop(name))) for name in ("rows", "context")}
        return Plan(**{**found, **fields, "outputs": tuple(map(tuple, found["outputs"]))})

    def schema(self, key: pa.DataType, order: pa.DataType) -> pa.Schema:
        """Return the schema of results."""
        fields = [(self.key, key), *((name, _TYPES[kind]) for name, kind in self.outputs)]
        fields += [(name, pa.string()) for name in ERRORS]
        if self.trace:
            fields.append(("evidence", pa.map_(pa.string(), pa.list_(order))))
        return pa.schema(fields)


def _field(found: dict[str, Any]) -> Field:
    return Field(**{**found, "values": tuple(found["values"]), "path": tuple(found["path"])})


RESTAURANTS, ORPHANS = "restaurants", "orphans"
"""What counts hold beside the kinds of errors: how many restaurants there were, and rows that belong to none."""


class Scorer:
    """Evaluates chunks of whole restaurants with one module."""

    def __init__(self, module: Any, plan: Plan) -> None:
        self._module = module
        self._plan = plan
        given = [module.parse_parameters(plan.parameters)] if hasattr(module, "parse_parameters") else []
        self._arguments = given
        self._run: Callable[..., tuple[Any, ...]] = module.trace if plan.trace else module.evaluate
        self._no_context = None if plan.context else module.parse_context({})

    def score(self, batches: Iterable[pa.RecordBatch], counts: Counter[str]) -> Iterator[pa.RecordBatch]:
        """Yield the results of sorted batches; `counts` are added to."""
        for chunk in whole_restaurants(batches):
            yield self.score_chunk(chunk, counts)

    def score_chunk(self, chunk: pa.RecordBatch, counts: Counter[str]) -> pa.RecordBatch:
        """Return the results of a batch that holds all of its restaurants."""
        plan = self._plan
        groups = _groups(chunk, plan.has_contexts)
        lines = _only(chunk, pc.invert(chunk.column(IS_CONTEXT)), plan.rows) if plan.has_contexts else chunk
        rows = _Records(lines, plan.rows, self._module.parse_row, self._module)
        tuples, bad_rows = rows.tuples, rows.bad
        twins = _twins(lines.column(ORDER))
        contexts, bad_contexts = self._contexts(chunk) if plan.has_contexts else ([], {})
        indices, values, errors, spans = [], list[Sequence[Any] | None](), [], []
        arguments, run, fault = self._arguments, self._run, self._module.EvaluationError
        is_clean = not bad_rows and not bad_contexts
        for index, start, end, context_at, contexts_found in groups:
            if contexts_found == _NAMELESS or (context_at is None and plan.has_contexts):
                counts[ORPHANS] += end - start
                continue
            context = self._no_context if self._no_context is not None else contexts[context_at or 0]
            error: tuple[str | None, str, str] | None = None
            found: Sequence[Any] | None = None
            if contexts_found > 1:
                error = (None, "data", f"there are {contexts_found} contexts of it")
            elif twins and (twin := next((at for at in twins if start < at < end), None)) is not None:
                error = (None, "data", f"two rows have the same `{plan.order}`, {lines.column(ORDER)[twin].as_py()!r}")
            elif not is_clean:
                error = self._data_error(lines, bad_rows, start, end) or bad_contexts.get(context_at or 0)
            if error is None:
                try:
                    found = run(tuples[start:end], context, *arguments)
                except fault as failed:
                    error = (failed.step, failed.kind, failed.message)
            indices.append(index)
            values.append(found)
            errors.append(error)
            spans.append((start, end, context))
        return self._results(chunk, lines, tuples, indices, values, errors, spans, counts)

    def _data_error(
        self, lines: pa.RecordBatch, bad: Mapping[int, str], start: int, end: int
    ) -> tuple[None, str, str] | None:
        at = next((at for at in range(start, end) if at in bad), None) if bad else None
        if at is None:
            return None
        review = f" (review {lines.column(ORDER)[at].as_py()})" if self._plan.order == "review_id" else ""
        return (None, "data", f"rows[{at - start}]{review}: {bad[at]}")

    def _contexts(self, chunk: pa.RecordBatch) -> tuple[list[Any], dict[int, tuple[None, str, str]]]:
        if not self._plan.context:
            return [], {}
        lines = _only(chunk, chunk.column(IS_CONTEXT), self._plan.context)
        found = _Records(lines, self._plan.context, self._module.parse_context, self._module)
        bad: dict[int, tuple[None, str, str]] = {at: (None, "data", message) for at, message in found.bad.items()}
        return list(map(self._module.Context._make, found.tuples)), bad

    def _results(
        self, chunk: pa.RecordBatch, lines: pa.RecordBatch, tuples: list[Any], indices: list[int],
        values: list[Sequence[Any] | None], errors: list[Any], spans: list[Any], counts: Counter[str],
    ) -> pa.RecordBatch:  # fmt: skip
        plan = self._plan
        schema = plan.schema(chunk.column(KEY).type, lines.column(ORDER).type)
        columns = _columns(plan.outputs, values, errors)
        for error in errors:
            if error is not None:
                counts[error[1]] += 1
        counts[RESTAURANTS] += len(errors)
        parts = [[error and error[place] for error in errors] for place in range(3)]
        arrays = [chunk.column(KEY).take(pa.array(indices, pa.int64())), *columns]
        arrays += [pa.array(part, pa.string()) for part in parts]
        if plan.trace:
            arrays.append(self._evidence(lines, tuples, spans, errors, schema))
        return pa.record_batch(arrays, schema=schema)

    def _evidence(
        self, lines: Any, tuples: list[Any], spans: list[Any], errors: list[Any], schema: pa.Schema
    ) -> pa.Array:
        order = lines.column(ORDER).to_pylist()
        found: list[list[tuple[str, list[Any]]] | None] = []
        for (start, end, context), error in zip(spans, errors, strict=True):
            if error is not None:
                found.append(None)
                continue
            positions = self._module.evidence(tuples[start:end], context, *self._arguments)
            found.append([(name, [order[start + at] for at in each]) for name, each in positions.items()])
        return pa.array(found, schema.field("evidence").type)


def _columns(
    outputs: Sequence[tuple[str, str]], values: list[Sequence[Any] | None], errors: list[Any]
) -> list[pa.Array]:
    """The columns of the values. An integer beyond 64 bits makes its restaurant fail."""
    for at, found in enumerate(values):
        for (name, kind), value in zip(outputs, found or (), strict=False):
            if kind == "integer" and value is not None and not -_LARGEST - 1 <= value <= _LARGEST:
                values[at] = None
                errors[at] = (name, "overflow", "its value has more than the 64 bits of a column")
    blank = (None,) * len(outputs)
    lists = (
        zip(*(blank if found is None else found for found in values), strict=True) if values else ((),) * len(outputs)
    )
    return [
        pa.array(map(_float, column) if kind == "number" else column, _TYPES[kind], size=len(values))
        for column, (_, kind) in zip(lists, outputs, strict=True)
    ]


def _float(value: float | None) -> float | None:
    return value if value is None else float(value)


def whole_restaurants(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches that hold all of their restaurants, from sorted ones that may end in the middle of one."""
    kept: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        ends: list[int] = pc.run_end_encode(batch.column(KEY)).run_ends.to_pylist()
        if kept and batch.column(KEY)[0] == kept[-1].column(KEY)[0]:
            kept.append(batch.slice(0, ends[0]))
            if len(ends) == 1:
                continue
            batch, ends = batch.slice(ends[0]), [end - ends[0] for end in ends[1:]]
        if kept:
            yield _joined(kept)
        if len(ends) > 1:  # a slice is no copy
            yield batch.slice(0, ends[-2])
        kept = [batch.slice(ends[-2] if len(ends) > 1 else 0)]
    if kept:
        yield _joined(kept)


def _only(chunk: pa.RecordBatch, which: pa.Array, fields: Sequence[Field]) -> pa.RecordBatch:
    """The lines of one kind, with the columns that they have."""
    names = {ORDER, DATE, *(each.column for each in fields)}
    return chunk.select([name for name in chunk.schema.names if name in names]).filter(which)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


class _Group(NamedTuple):
    """A restaurant: a line of it, its rows among those of the chunk, and its context among the contexts.

    `contexts` is how many it has; `_NAMELESS` for lines without a key, which belong to no restaurant.
    """

    line: int
    start: int
    end: int
    context_at: int | None
    contexts: int


def _groups(chunk: pa.RecordBatch, has_contexts: bool) -> list[_Group]:
    runs = pc.run_end_encode(chunk.column(KEY))
    ends: list[int] = runs.run_ends.to_pylist()
    is_context = set(pc.indices_nonzero(chunk.column(IS_CONTEXT)).to_pylist()) if has_contexts else set[int]()
    missing = chunk.column(KEY).null_count
    found, start, passed = [], 0, 0
    for end in ends:
        contexts = 0
        while has_contexts and start + contexts < end and start + contexts in is_context:
            contexts += 1
        at = passed if contexts else None
        nameless = missing and not chunk.column(KEY)[start].is_valid
        passed += contexts
        count = _NAMELESS if nameless else contexts
        found.append(_Group(start, start + contexts - passed, end - passed, at, count))
        start = end
    return found


def _twins(order: pa.Array) -> list[int]:
    """The rows with the same order key as the row before, which may be another restaurant's."""
    if len(order) < 2:
        return []
    same = pc.fill_null(pc.equal(order.slice(1), order.slice(0, len(order) - 1)), True)
    return [at + 1 for at in pc.indices_nonzero(same).to_pylist()]


class _Records:
    """Rows or contexts as plain tuples. `bad` are the messages of those that the module refuses."""

    def __init__(self, lines: pa.RecordBatch, fields: Sequence[Field], parse: Callable[..., Any], module: Any) -> None:
        self._lines = lines
        self._fields = fields
        suspects: set[int] = set()
        columns = [self._column(each, module, suspects) for each in fields]
        self.tuples: list[Any] = list(zip(*columns, strict=True)) if fields else [()] * lines.num_rows
        self.bad: dict[int, str] = {}
        for at in sorted(suspects):
            try:
                self.tuples[at] = tuple(parse(self._record(at)))
            except module.DataError as error:
                self.bad[at] = str(error)

    def _column(self, each: Field, module: Any, suspects: set[int]) -> list[Any]:
        if each.section == "meta" and each.name in (*_PARTS, DATE) and DATE in self._lines.schema.names:
            return self._dated(each, module, suspects)
        if each.kind == "json":
            suspects.update(range(self._lines.num_rows))
            return [None] * self._lines.num_rows
        if each.column is None:
            if not each.optional:
                suspects.update(range(self._lines.num_rows))
            return [each.default] * self._lines.num_rows
        return _READ[each.kind](self._lines.column(each.column), each, suspects)

    def _dated(self, each: Field, module: Any, suspects: set[int]) -> list[Any]:
        """A date, or its year or month, which must agree with the one that is given."""
        dates = _encoded(self._lines.column(DATE))
        given = self._lines.column(each.column).to_pylist() if each.column not in (None, DATE) else None
        parts = [_date(text, each.name, module) for text in dates.dictionary.to_pylist()] + [_BAD]
        found = list(map(parts.__getitem__, dates.indices.fill_null(len(parts) - 1).to_pylist()))
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
            if each.column is not None and each.column in self._lines.schema.names:
                value = self._lines.column(each.column)[at].as_py()
                if each.kind == "number" and value is not None:
                    value = float(value)
                record[each.section][each.path[0] if each.kind == "json" else each.name] = value
        if DATE in self._lines.schema.names:
            record["meta"]["date"] = self._lines.column(DATE)[at].as_py()
        return record["context"] if self._fields[0].section == "context" else record


def _date(text: str, name: str, module: Any) -> Any:
    try:
        return module._date(text, "meta.date") if name == DATE else module._date_part({DATE: text}, name)
    except module.DataError:
        return _BAD


def _encoded(array: pa.Array) -> Any:
    return array if pa.types.is_dictionary(array.type) else pc.dictionary_encode(array)


def _read_words(array: pa.Array, each: Field, suspects: set[int]) -> list[Any]:
    """An enum, or a string that is encoded already: by the index of each value."""
    found = _encoded(array)
    words: list[Any] = found.dictionary.to_pylist()
    if each.kind == "enum":
        words = [word if word in each.values else _BAD for word in words]
    indices = found.indices
    if indices.null_count:
        indices = indices.fill_null(len(words)) if len(words) <= 127 else indices.cast(pa.int64()).fill_null(len(words))
        words.append(each.default if each.optional else _BAD)
    values = list(map(words.__getitem__, _plain(indices.cast(pa.int32()), "i")))
    if any(word is _BAD for word in words):
        suspects.update(at for at, value in enumerate(values) if value is _BAD)
    return values


def _read_strings(array: pa.Array, each: Field, suspects: set[int]) -> list[Any]:
    if pa.types.is_dictionary(array.type):
        return _read_words(array, each, suspects)
    return _filled(array.to_pylist(), array, each, suspects)


def _read_booleans(array: pa.Array, each: Field, suspects: set[int]) -> list[Any]:
    return _filled(array.to_pylist(), array, each, suspects)


def _read_numbers(array: pa.Array, each: Field, suspects: set[int]) -> list[Any]:
    low, high = _bounds(each, -_MOST, _MOST)
    return _checked(array.cast(pa.float64(), safe=False), "d", low, high, each, suspects)


def _read_integers(array: pa.Array, each: Field, suspects: set[int]) -> list[Any]:
    low, high = _bounds(each, -_LARGEST, _LARGEST)
    if pa.types.is_floating(array.type):
        fits = pc.fill_null(pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), 2.0**63)), True)
        if not pc.all(fits, min_count=0).as_py():
            suspects.update(pc.indices_nonzero(pc.invert(fits)).to_pylist())
        array = pc.if_else(fits, array, None)
    return _checked(array.cast(pa.int64(), safe=False), "q", low, high, each, suspects)


def _bounds(each: Field, low: Any, high: Any) -> tuple[Any, Any]:
    lowest = low if each.minimum is None else max(low, each.minimum)
    return lowest, high if each.maximum is None else min(high, each.maximum)


def _checked(
    array: pa.Array, code: Literal["d", "q"], low: Any, high: Any, each: Field, suspects: set[int]
) -> list[Any]:
    """Plain numbers; those out of bounds, and NaN, are suspects."""
    fits = pc.and_(pc.greater_equal(array, low), pc.less_equal(array, high))
    if pc.all(fits, min_count=0).as_py() is False:
        suspects.update(pc.indices_nonzero(pc.invert(fits)).to_pylist())
    if array.null_count:
        return _filled(array.to_pylist(), array, each, suspects)
    return _plain(array, code)


def _plain(array: pa.Array, code: Literal["d", "i", "q"]) -> list[Any]:
    """The values of an array without nulls, read from its memory: several times faster than `to_pylist`."""
    if not len(array):
        return []
    values = memoryview(array.buffers()[1]).cast("b").cast(code)
    found: list[Any] = values[array.offset : array.offset + len(array)].tolist()
    return found


def _filled(values: list[Any], array: pa.Array, each: Field, suspects: set[int]) -> list[Any]:
    if not array.null_count:
        return values
    if not each.optional:
        suspects.update(pc.indices_nonzero(array.is_null()).to_pylist())
    if each.default is None:
        return values
    return [each.default if value is None else value for value in values]


_READ: dict[str, Callable[[pa.Array, Field, set[int]], list[Any]]] = {
    "enum": _read_words,
    "string": _read_strings,
    "boolean": _read_booleans,
    "number": _read_numbers,
    "integer": _read_integers,
}


def score_partition(module: str, plan: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the results of a partition, on a machine that has the module as a file of this name."""
    yield from Scorer(importlib.import_module(module), Plan.from_json(plan)).score(batches, Counter())
