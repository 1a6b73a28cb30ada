"""Scores chunks of restaurants with a generated module: the partition function that every engine runs.

In: sorted record batches with the columns of `Plan`. Out: batches of results, a line for each restaurant, in the order of the
keys. A restaurant that fails is a line with its error. This module imports only the standard library, pyarrow, `chunks`,
`columns`, `duplicates` and `table_names`, since all of these are sent to the executors of a cluster with the generated module.
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
from formulaseed.runtime import chunks, table_names
from formulaseed.runtime.columns import INTEGER_MAX, Records, TableField

_MAX_TUPLES = 16_000
"""About the number of rows that are tuples at a time: they stay in the processor's caches."""
_MIN_BATCH_LINES = 100_000
"""The number of lines from which reading by columns is worthwhile."""
_ARROW_TYPES = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "string": pa.string()}

Error = tuple[str | None, str, str]
"""The step, the kind and the message of a restaurant that failed; None instead of the step for bad data."""
Evidence = dict[str, list[int]]
"""The positions of the rows that each aggregate counted."""


@dataclass(frozen=True)
class Plan:
    """The columns of the tables to score, and the options of scoring."""

    key: str
    """The name of the key in results."""
    order: str
    """The name of the order key in the table of rows."""
    rows: tuple[TableField, ...]
    context: tuple[TableField, ...]
    has_contexts: bool
    """Whether there is a table of contexts; without it, restaurants are those that have rows."""
    outputs: tuple[tuple[str, str], ...]
    """The outputs, or every step if `trace` is true, with the types of their columns."""
    trace: bool = False
    """Whether results also have the order keys of the rows that each aggregate counted."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ids: str = ""
    """The column of a batch with the ids of reviews; empty if the table has none."""
    duplicates: str = "fail"
    """`first` drops rows whose id an earlier row of the restaurant has; with `fail` they fail the restaurant."""

    def to_json(self) -> str:
        """Return the plan as a JSON string, for another process."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Plan:
        """Return the plan from the string of `to_json`."""
        members = json.loads(text)
        for name in ("rows", "context"):
            members[name] = tuple(
                TableField(**{**column, "values": tuple(column["values"]), "path": tuple(column["path"])})
                for column in members[name]
            )
        members["outputs"] = tuple(map(tuple, members["outputs"]))
        return Plan(**members)

    def schema(self, key: pa.DataType, order: pa.DataType) -> pa.Schema:
        """Return the Arrow schema of results: key, outputs, error columns, and `evidence` if `trace` is true.

        `key` and `order` are the Arrow types of the two keys.
        """
        fields = [(self.key, key), *((name, _ARROW_TYPES[kind]) for name, kind in self.outputs)]
        fields += [(name, pa.string()) for name in table_names.ERROR_COLUMNS]
        if self.trace:
            fields.append(("evidence", pa.map_(pa.string(), pa.list_(order))))
        return pa.schema(fields)


class Scorer:
    """An evaluator of chunks, with one generated module."""

    def __init__(self, module: Any, plan: Plan) -> None:
        """Prepare to score. Raises the module's `DataError` for invalid parameters."""
        self._module = module
        self._plan = plan
        self._evaluate: Callable[..., Sequence[Any]] = module.trace if plan.trace else module.evaluate
        self._find_evidence: Callable[..., Evidence] | None = module.evidence if plan.trace else None
        if hasattr(module, "parse_parameters"):
            parameters = module.parse_parameters(plan.parameters)
            self._evaluate = partial(self._evaluate, parameters=parameters)
            self._find_evidence = self._find_evidence and partial(self._find_evidence, parameters=parameters)
        self._empty_context = None if plan.context else module.parse_context({})

    def score(self, chunk: chunks.Chunk, counts: Counter[str]) -> pa.RecordBatch:
        """Return a record batch with a line of results for each restaurant of a chunk; failed ones have their error.

        Adds the numbers of restaurants, errors by kind, orphan rows and dropped duplicates to `counts`. Pauses the
        garbage collector meanwhile. Raises `UnsortedError` if the rows of a restaurant are not in the order of their
        order keys.
        """
        with _pause_garbage_collector():
            return self._score(chunk, counts)

    def _score(self, chunk: chunks.Chunk, counts: Counter[str]) -> pa.RecordBatch:
        """Score a chunk and add to `counts` as `score` does, but leave the garbage collector as it is."""
        duplicates = self._find_duplicates(chunk)
        if duplicates and self._plan.duplicates == "first":
            dropped = self._find_droppable_rows(chunk.rows, duplicates)
            counts[table_names.DUPLICATE_ROWS] += len(dropped)
            chunk = chunks.drop_rows(chunk, dropped)
            duplicates = self._find_duplicates(chunk)
        rows = Records(chunk.rows, self._plan.rows, self._module.parse_row, self._module)
        groups = chunks.group_restaurants(chunk, counts)
        contexts, context_errors = self._read_contexts(chunk.contexts, groups)
        errors: dict[int, Error] = {at: (None, "data", message) for at, message in context_errors.items()}
        self._find_row_errors(chunk, rows, groups, duplicates, errors)
        values, evidence = self._evaluate_groups(rows, groups, contexts, errors)
        columns = _build_columns(self._plan.outputs, values, errors)
        counts[table_names.RESTAURANTS] += len(values)
        counts.update(kind for _, kind, _ in errors.values())
        order = chunk.rows.column(table_names.ORDER)
        schema = self._plan.schema(groups.keys.type, order.type)
        arrays = [groups.keys, *columns, *_build_error_columns(errors, len(values))]
        if self._plan.trace:
            arrays.append(_build_evidence(order.to_pylist(), evidence, groups, errors, schema.field("evidence").type))
        return pa.record_batch(arrays, schema=schema)

    def _evaluate_groups(
        self, rows: Records, groups: chunks.Groups, contexts: Sequence[Any], errors: dict[int, Error]
    ) -> tuple[list[Sequence[Any] | None], list[Evidence | None]]:
        """Return the values of each restaurant, and its evidence in a trace; None for a restaurant that fails.

        Restaurants in `errors` are not evaluated, and evaluation errors are added to `errors`, by the position of the
        restaurant. Without a trace, all evidence is None.
        """
        evaluate = self._evaluate
        find_evidence = self._find_evidence
        evaluation_error = self._module.EvaluationError
        values: list[Sequence[Any] | None] = []
        evidence: list[Evidence | None] = []
        for part, first, last in chunks.split_spans(groups.spans, _MAX_TUPLES):
            tuples = rows.tuples(first, last)
            for (start, end), context in zip(groups.spans[part], contexts[part], strict=True):
                result = positions = None
                if not errors or len(values) not in errors:
                    lines = tuples[start - first : end - first]
                    try:
                        result = evaluate(lines, context)
                    except evaluation_error as error:
                        errors[len(values)] = (error.step, error.kind, error.message)
                    else:
                        positions = find_evidence and find_evidence(lines, context)
                values.append(result)
                evidence.append(positions)
        return values, evidence

    def _read_contexts(
        self, lines: pa.RecordBatch | None, groups: chunks.Groups
    ) -> tuple[Sequence[Any], Mapping[int, str]]:
        """Return the context of each restaurant, and the messages of invalid contexts by the restaurant's position.

        `lines` are the contexts of the chunk. If `lines` is None or no step reads a context, every restaurant has the
        same empty context, and contexts are not checked.
        """
        if lines is None or self._empty_context is not None:
            return [self._empty_context] * len(groups.spans), {}
        records = Records(lines, self._plan.context, self._module.parse_context, self._module)
        contexts = list(map(partial(tuple.__new__, self._module.Context), records.tuples(0, lines.num_rows)))
        if groups.context_lines is None:
            return contexts, records.errors
        errors = {at: records.errors[line] for at, line in enumerate(groups.context_lines) if line in records.errors}
        return [contexts[line] for line in groups.context_lines], errors

    def _find_duplicates(self, chunk: chunks.Chunk) -> dict[int, int]:
        """Map each row whose id an earlier row of its restaurant has to the first row with that id.

        The map is empty if the table has no ids.
        """
        ids = self._plan.ids
        if not ids or (
            ids == table_names.ORDER and not chunks.find_order_ties(chunk.rows.column(table_names.ORDER), chunk.ends)
        ):
            return {}
        return chunks.find_duplicate_rows(chunk.rows.column(ids), chunk.ends)

    def _find_droppable_rows(self, rows: pa.RecordBatch, duplicates: Mapping[int, int]) -> set[int]:
        """Return the rows of `duplicates` that may be dropped; `duplicates` maps a row to the first row with its id.

        If the ids also order the rows, it is unknown which row came first, so that only rows equal to the first are
        dropped.
        """
        if self._plan.ids != table_names.ORDER:
            return set(duplicates)
        return {later for later, first in duplicates.items() if rows.slice(later, 1).equals(rows.slice(first, 1))}

    def _find_row_errors(
        self,
        chunk: chunks.Chunk,
        rows: Records,
        groups: chunks.Groups,
        duplicates: Mapping[int, int],
        errors: dict[int, Error],
    ) -> None:
        """Set one error in `errors` for each restaurant with faulty rows, in place of an earlier one.

        The first fault that applies is reported: several contexts, duplicate ids, a missing or equal order key, an
        invalid row. `duplicates` maps a row to the earlier row with its id. Raises `UnsortedError` if rows are not in
        order.
        """
        invalid_rows = sorted(rows.errors)
        later_rows = sorted(duplicates)
        ties = chunks.find_order_ties(chunk.rows.column(table_names.ORDER), chunk.ends)
        if invalid_rows or ties or later_rows:
            for index, (start, end) in enumerate(groups.spans):
                duplicate = chunks.find_first(later_rows, start, end)
                tie = chunks.find_first(ties, start, end)
                invalid = chunks.find_first(invalid_rows, start, end)
                if duplicate is not None:
                    message = self._describe_duplicate(chunk, duplicates[duplicate], duplicate, start)
                elif tie is not None:
                    message = self._describe_tie(chunk.rows.column(table_names.ORDER)[tie].as_py())
                elif invalid is not None:
                    order = chunk.rows.column(table_names.ORDER)[invalid].as_py()
                    review = f" (review {order})" if self._plan.order == "review_id" else ""
                    message = f"rows[{invalid - start}]{review}: {rows.errors[invalid]}"
                else:
                    continue
                errors[index] = (None, "data", message)
        for index, count in groups.context_counts.items():
            errors[index] = (None, "data", f"there are {count} contexts of it")

    def _describe_duplicate(self, chunk: chunks.Chunk, first: int, second: int, start: int) -> str:
        """Return the message for the rows `first` and `second`, which have the same id.

        The rows of their restaurant begin at `start`. If first rows are kept, the message says that the two rows differ
        and that the order is unknown.
        """
        review_id = chunk.rows.column(self._plan.ids)[second].as_py()
        if self._plan.duplicates == "first":
            return f"rows with the `review_id` {review_id!r:.80} differ: --order-by says which is the first"
        return describe_duplicate(f"rows[{first - start}]", f"rows[{second - start}]", review_id)

    def _describe_tie(self, value: Any) -> str:
        """Return the message for a row whose order key is missing, or that of another row."""
        name = self._plan.order
        if value is None:
            return f"a row has no `{name}`"
        return f"two rows have the same `{name}`, {value!r}"


def _build_evidence(
    order: list[Any],
    evidence: Sequence[Evidence | None],
    groups: chunks.Groups,
    errors: Mapping[int, Error],
    kind: pa.DataType,
) -> pa.Array:
    """Return the column of evidence: by aggregate, the order keys of the rows that it counted.

    `order` has the order key of each row of the chunk. Restaurants in `errors`, or without evidence, are null.
    """
    lines: list[list[tuple[str, list[Any]]] | None] = []
    for index, (positions, (start, _)) in enumerate(zip(evidence, groups.spans, strict=True)):
        if positions is None or index in errors:
            lines.append(None)
        else:
            lines.append([(name, [order[start + at] for at in counted]) for name, counted in positions.items()])
    return pa.array(lines, kind)


@contextmanager
def _pause_garbage_collector() -> Iterator[None]:
    """Disable the garbage collector in a `with` block, and enable it again on exit unless it was off before."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _build_columns(
    outputs: Sequence[tuple[str, str]], values: list[Sequence[Any] | None], errors: dict[int, Error]
) -> list[pa.Array]:
    """Return a column for each output. A restaurant with an integer of more than 64 bits fails.

    Such a restaurant is set to None in `values`, and its overflow error is added to `errors`.
    """
    try:
        return _build_arrays(outputs, values)
    except OverflowError:
        pass
    for index, result in enumerate(values):
        for (name, kind), value in zip(outputs, result or (), strict=False):
            if kind == "integer" and value is not None and not -INTEGER_MAX - 1 <= value <= INTEGER_MAX:
                values[index] = None
                errors[index] = (name, "overflow", table_names.OVERFLOW_MESSAGE)
                break
    return _build_arrays(outputs, values)


def _build_arrays(outputs: Sequence[tuple[str, str]], values: Sequence[Sequence[Any] | None]) -> list[pa.Array]:
    """Return a column for each output, with nulls for a restaurant that is None in `values`.

    Raises `OverflowError` for an integer of more than 64 bits.
    """
    blank = (None,) * len(outputs)
    lines = [blank if result is None else result for result in values]
    columns = zip(*lines, strict=True) if lines else [()] * len(outputs)
    return [_build_array(column, kind) for column, (_, kind) in zip(columns, outputs, strict=True)]


def _build_array(column: Sequence[Any], kind: str) -> pa.Array:
    """Return a column of the type `kind`. Raises `OverflowError` for an integer of more than 64 bits.

    In a column of numbers, large integers are rounded to floats.
    """
    try:
        return pa.array(column, _ARROW_TYPES[kind])
    except pa.ArrowInvalid:  # integers among the numbers, beyond 53 bits
        return pa.array([value if value is None else float(value) for value in column], _ARROW_TYPES[kind])


def _build_error_columns(errors: Mapping[int, Error], count: int) -> list[pa.Array]:
    """Return the step, kind and message columns of the errors of `count` restaurants; null without an error."""
    if not errors:
        return [pa.nulls(count, pa.string())] * len(table_names.ERROR_COLUMNS)
    lines = map(errors.get, range(count), repeat((None, None, None)))
    return [pa.array(column, pa.string()) for column in zip(*lines, strict=True)]


def score_partition(module: str, plan: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of results for a partition, on a machine that can import the generated module by its name `module`.

    `plan` is the string of `Plan.to_json`. `batches` have the lines of both tables, sorted by key, and the rows of a
    restaurant by their order key; `UnsortedError` is raised otherwise. Lines without a key are dropped. Raises the
    module's `DataError` for invalid parameters in `plan`.
    """
    known_plan = Plan.from_json(plan)
    counts = Counter[str]()
    scorer = Scorer(importlib.import_module(module), known_plan)
    for chunk in chunks.cut_chunks(_merge_batches(batches), counts):
        yield scorer.score(_split_contexts(chunk) if known_plan.has_contexts else chunk, counts)


def _merge_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield concatenated batches of at least 100,000 lines, except the last; Spark's own batches have 10,000 lines."""
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        pending.append(batch)
        if sum(batch.num_rows for batch in pending) >= _MIN_BATCH_LINES:
            yield pa.concat_batches(pending)
            pending.clear()
    if pending:
        yield pa.concat_batches(pending)


def _split_contexts(chunk: chunks.Chunk) -> chunks.Chunk:
    """Return a copy of the chunk with the lines marked as contexts moved from `rows` to `contexts`."""
    is_context = chunk.rows.column(table_names.IS_CONTEXT)
    return chunks.build_chunk([chunk.rows.filter(pc.invert(is_context))])._replace(
        contexts=chunk.rows.filter(is_context)
    )
