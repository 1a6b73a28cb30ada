"""Scores chunks of restaurants with a generated module: the one function that every engine runs.

In: sorted record batches with the columns of `Plan`. Out: batches of results, a line for each restaurant, in the order of the
keys. A restaurant that fails is a line with its error. It imports the standard library, pyarrow, `chunks`,
`columns` and `duplicates` only: these are sent to the executors of a cluster together with the generated module.
"""

from __future__ import annotations

import gc
import importlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from formulaseed.data.duplicates import describe_duplicate
from formulaseed.runtime.chunks import (
    DUPLICATES,
    ORDER,
    Chunk,
    Groups,
    chunk_of,
    chunks_of,
    duplicates_of,
    first_of,
    groups_of,
    parts_of,
    twins_of,
    without_rows,
)
from formulaseed.runtime.columns import Field, Records

IS_CONTEXT = "is_context"
"""The column that says of lines of both tables which are contexts."""
RESTAURANTS = "restaurants"
ERRORS = ("error_step", "error_kind", "error_message")
_LARGEST = 2**63 - 1
_TUPLES = 16_000
"""About how many rows are tuples at a time: few enough to stay in the processor's caches."""
_LINES = 100_000
_TYPES = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "string": pa.string()}

Error = tuple[str | None, str, str]
"""The step, the kind and the message of a restaurant that failed."""


@dataclass(frozen=True)
class Plan:
    """What a table's columns are to a seed. `outputs` and `steps` are names with their types.

    `order` is the name of the order key in the table. Without contexts (`has_contexts` is False) restaurants are those of the
    rows. `evidence` adds the order keys of the rows behind each aggregate, and every step takes the place of the outputs.
    `ids` is the column of a batch with the ids of reviews, empty if the table has none. With the `duplicates` `first`, a row
    whose id an earlier row of the restaurant has is left out; otherwise it fails the restaurant.
    """

    key: str
    order: str
    rows: tuple[Field, ...]
    context: tuple[Field, ...]
    has_contexts: bool
    outputs: tuple[tuple[str, str], ...]
    trace: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ids: str = ""
    duplicates: str = "fail"

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


class Scorer:
    """Evaluates chunks with one module."""

    def __init__(self, module: Any, plan: Plan) -> None:
        self._module = module
        self._plan = plan
        self._run: Callable[..., Sequence[Any]] = module.trace if plan.trace else module.evaluate
        self._evidence: Callable[..., dict[str, list[int]]] | None = module.evidence if plan.trace else None
        if hasattr(module, "parse_parameters"):
            given = module.parse_parameters(plan.parameters)
            self._run = partial(self._run, parameters=given)
            self._evidence = self._evidence and partial(self._evidence, parameters=given)
        self._no_context = None if plan.context else module.parse_context({})

    def score(self, chunk: Chunk, counts: Counter[str]) -> pa.RecordBatch:
        """Return the results of a chunk, and add to `counts`."""
        with _without_collector():
            return self._scored(chunk, counts)

    def _scored(self, chunk: Chunk, counts: Counter[str]) -> pa.RecordBatch:
        duplicates = self._duplicates(chunk)
        if duplicates and self._plan.duplicates == "first":
            dropped = self._droppable(chunk.rows, duplicates)
            counts[DUPLICATES] += len(dropped)
            chunk = without_rows(chunk, dropped)
            duplicates = self._duplicates(chunk)
        rows = Records(chunk.rows, self._plan.rows, self._module.parse_row, self._module)
        found = groups_of(chunk, counts)
        contexts, bad_contexts = self._contexts(chunk.contexts, found)
        errors = self._data_errors(chunk, rows, found, bad_contexts, duplicates)
        values, evidence = self._evaluated(rows, found, contexts, errors)
        columns = _columns(self._plan.outputs, values, errors)
        counts[RESTAURANTS] += len(values)
        counts.update(kind for _, kind, _ in errors.values())
        order = chunk.rows.column(ORDER)
        schema = self._plan.schema(found.keys.type, order.type)
        parts = zip(*map(errors.get, range(len(values)), repeat((None, None, None))), strict=True) if errors else ()
        texts = [pa.array(part, pa.string()) for part in parts] or [pa.nulls(len(values), pa.string())] * len(ERRORS)
        arrays = [found.keys, *columns, *texts]
        if self._plan.trace:
            arrays.append(_evidence(order.to_pylist(), evidence, found, errors, schema))
        return pa.record_batch(arrays, schema=schema)

    def _evaluated(
        self, rows: Records, found: Groups, contexts: Sequence[Any], errors: dict[int, Error]
    ) -> tuple[list[Sequence[Any] | None], list[dict[str, list[int]] | None]]:
        """The values of each restaurant, and for a trace the rows behind them; some restaurants at a time become tuples."""
        run, fault, evidence_of = self._run, self._module.EvaluationError, self._evidence
        values: list[Sequence[Any] | None] = []
        evidence: list[dict[str, list[int]] | None] = []
        for some, first, last in parts_of(found.spans, _TUPLES):
            tuples = rows.tuples(first, last)
            for (start, end), context in zip(found.spans[some], contexts[some], strict=True):
                result = positions = None
                if not errors or len(values) not in errors:
                    lines = tuples[start - first : end - first]
                    try:
                        result = run(lines, context)
                    except fault as failed:
                        errors[len(values)] = (failed.step, failed.kind, failed.message)
                    else:
                        positions = evidence_of and evidence_of(lines, context)
                values.append(result)
                evidence.append(positions)
        return values, evidence

    def _contexts(self, lines: pa.RecordBatch | None, found: Groups) -> tuple[Sequence[Any], Mapping[int, str]]:
        """The context of each restaurant, and what is wrong with some."""
        if lines is None or self._no_context is not None:
            return [self._no_context] * len(found.spans), {}
        records = Records(lines, self._plan.context, self._module.parse_context, self._module)
        contexts = list(map(partial(tuple.__new__, self._module.Context), records.tuples(0, lines.num_rows)))
        if found.chosen is None:
            return contexts, records.bad
        bad = {at: records.bad[line] for at, line in enumerate(found.chosen) if line in records.bad}
        return [contexts[line] for line in found.chosen], bad

    def _duplicates(self, chunk: Chunk) -> dict[int, int]:
        """Return the rows whose id an earlier row of the restaurant has, each with the first such row."""
        ids = self._plan.ids
        if not ids or (ids == ORDER and not twins_of(chunk.rows.column(ORDER), chunk.ends)):
            return {}
        return duplicates_of(chunk.rows.column(ids), chunk.ends)

    def _droppable(self, rows: pa.RecordBatch, duplicates: Mapping[int, int]) -> set[int]:
        """Return the rows that are not the first with their id. If ids order the rows, none is first: only copies are dropped."""
        if self._plan.ids != ORDER:
            return set(duplicates)
        return {later for later, first in duplicates.items() if rows.slice(later, 1).equals(rows.slice(first, 1))}

    def _data_errors(
        self,
        chunk: Chunk,
        rows: Records,
        found: Groups,
        bad_contexts: Mapping[int, str],
        duplicates: Mapping[int, int],
    ) -> dict[int, Error]:
        order, bad, later_rows = chunk.rows.column(ORDER), sorted(rows.bad), sorted(duplicates)
        twins = twins_of(order, chunk.ends)
        errors: dict[int, Error] = {at: (None, "data", message) for at, message in bad_contexts.items()}
        for index, (start, end) in enumerate(found.spans) if bad or twins or duplicates else ():
            row, twin = first_of(bad, start, end), first_of(twins, start, end)
            later = first_of(later_rows, start, end)
            if later is not None:
                first, second = (f"rows[{at - start}]" for at in (duplicates[later], later))
                review_id = chunk.rows.column(self._plan.ids)[later].as_py()
                described = describe_duplicate(first, second, review_id)
                if self._plan.duplicates == "first":
                    described = (
                        f"rows with the `review_id` {review_id!r:.80} differ: --order-by says which is the first"
                    )
                errors[index] = (None, "data", described)
            elif twin is not None:
                value = order[twin].as_py()
                name = self._plan.order
                same = f"two rows have the same `{name}`, {value!r}"
                errors[index] = (None, "data", f"a row has no `{name}`" if value is None else same)
            elif row is not None:
                review = f" (review {order[row].as_py()})" if self._plan.order == "review_id" else ""
                errors[index] = (None, "data", f"rows[{row - start}]{review}: {rows.bad[row]}")
        for index, count in found.repeated.items():
            errors[index] = (None, "data", f"there are {count} contexts of it")
        return errors


def _evidence(
    order: list[Any], evidence: Sequence[dict[str, list[int]] | None], found: Groups, errors: Mapping[int, Error],
    schema: pa.Schema,
) -> pa.Array:  # fmt: skip
    lines = [
        None if positions is None or index in errors
        else [(name, [order[start + at] for at in each]) for name, each in positions.items()]
        for index, (positions, (start, _)) in enumerate(zip(evidence, found.spans, strict=True))
    ]  # fmt: skip
    return pa.array(lines, schema.field("evidence").type)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Hold back the garbage collector, which would go through every tuple, and finds no cycle."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _columns(
    outputs: Sequence[tuple[str, str]], values: list[Sequence[Any] | None], errors: dict[int, Error]
) -> list[pa.Array]:
    """The columns of the values. An integer beyond 64 bits makes its restaurant fail."""
    try:
        return _arrays(outputs, values)
    except OverflowError:
        pass
    for at, found in enumerate(values):
        for (name, kind), value in zip(outputs, found or (), strict=False):
            if kind == "integer" and value is not None and not -_LARGEST - 1 <= value <= _LARGEST:
                values[at] = None
                errors[at] = (name, "overflow", "its value has more than the 64 bits of a column")
                break
    return _arrays(outputs, values)


def _arrays(outputs: Sequence[tuple[str, str]], values: Sequence[Sequence[Any] | None]) -> list[pa.Array]:
    blank = (None,) * len(outputs)
    lines = [blank if found is None else found for found in values]
    columns = zip(*lines, strict=True) if lines else [()] * len(outputs)
    return [_array(column, kind) for column, (_, kind) in zip(columns, outputs, strict=True)]


def _array(column: Sequence[Any], kind: str) -> pa.Array:
    try:
        return pa.array(column, _TYPES[kind])
    except pa.ArrowInvalid:  # integers among the numbers, beyond 53 bits
        return pa.array([value if value is None else float(value) for value in column], _TYPES[kind])


def score_partition(module: str, plan: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the results of a partition, on a machine that has the module as a file of this name.

    Its batches have the lines of both tables: those of a restaurant are together, its rows in their order.
    """
    known, counts = Plan.from_json(plan), Counter[str]()
    scorer = Scorer(importlib.import_module(module), known)
    for chunk in chunks_of(_larger(batches), counts):
        yield scorer.score(_parted(chunk) if known.has_contexts else chunk, counts)


def _larger(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches of enough lines for columns to be worth their while; Spark's have 10,000."""
    kept: list[pa.RecordBatch] = []
    for batch in batches:
        kept.append(batch)
        if sum(each.num_rows for each in kept) >= _LINES:
            yield pa.concat_batches(kept)
            kept.clear()
    if kept:
        yield pa.concat_batches(kept)


def _parted(chunk: Chunk) -> Chunk:
    is_context = chunk.rows.column(IS_CONTEXT)
    return chunk_of([chunk.rows.filter(pc.invert(is_context))])._replace(contexts=chunk.rows.filter(is_context))
