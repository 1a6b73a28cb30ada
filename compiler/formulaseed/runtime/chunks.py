"""Cuts sorted Arrow batches into chunks of whole restaurants; sent to executors together with `columns` and `batches`.

In: record batches of rows, sorted by key and order key, and of contexts, sorted by key. Out: chunks, and the restaurants in them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from formulaseed.data.duplicates import find_duplicates
from formulaseed.runtime.table_names import IS_CONTEXT, KEY, KEYLESS_CONTEXTS, ORPHAN_ROWS

_MIN_BATCH_LINES = 100_000
"""The number of lines from which reading by columns is worthwhile."""


class UnsortedError(Exception):
    """Raised for batches that are not sorted."""


class Chunk(NamedTuple):
    """Whole restaurants: their `keys`, the end of each restaurant's rows in `rows`, and their contexts if there are any."""

    keys: pa.Array
    ends: pa.Array
    rows: pa.RecordBatch
    contexts: pa.RecordBatch | None = None


def cut_chunks(batches: Iterable[pa.RecordBatch], counts: Counter[str], keyless: str = ORPHAN_ROWS) -> Iterator[Chunk]:
    """Yield chunks of whole restaurants from sorted batches, each of which may end in the middle of a restaurant.

    A restaurant that continues in the next batch has its own chunk. Lines without a key are dropped, and added to
    `counts` under the name `keyless`. Raises `UnsortedError` if the keys are not sorted.
    """
    pending: list[pa.RecordBatch] = []  # the rows of the last restaurant so far, which may continue in the next batch
    for batch in batches:
        if batch.column(KEY).null_count:
            counts[keyless] += batch.column(KEY).null_count
            batch = batch.filter(batch.column(KEY).is_valid())
        if not batch.num_rows:
            continue
        chunk = build_chunk([batch])
        if pending:
            previous_key = pending[-1].column(KEY)[-1].as_py()
            first_key = chunk.keys[0].as_py()
            if previous_key > first_key:
                raise UnsortedError
            if previous_key == first_key:
                end = chunk.ends[0].as_py()
                pending.append(batch.slice(0, end))
                if len(chunk.keys) == 1:
                    continue
                chunk = Chunk(chunk.keys.slice(1), pc.subtract(chunk.ends.slice(1), end), batch.slice(end))
            yield build_chunk(pending)
        last = len(chunk.keys) - 1
        start = 0
        if last:  # slices copy nothing
            start = chunk.ends[last - 1].as_py()
            yield Chunk(chunk.keys.slice(0, last), chunk.ends.slice(0, last), chunk.rows.slice(0, start))
        pending = [chunk.rows.slice(start)]
    if pending:
        yield build_chunk(pending)


def build_chunk(batches: Sequence[pa.RecordBatch]) -> Chunk:
    """Concatenate batches of whole restaurants into a chunk without contexts.

    Raises `UnsortedError` for unsorted keys.
    """
    rows = _concatenate(batches)
    runs = pc.run_end_encode(rows.column(KEY))
    keys = runs.values
    if len(keys) > 1 and not pc.all(pc.less(keys.slice(0, len(keys) - 1), keys.slice(1))).as_py():
        raise UnsortedError
    return Chunk(keys, runs.run_ends, rows)


def _concatenate(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return `batches`, at least one, as a single batch."""
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def join_contexts(
    chunks: Iterable[Chunk], contexts: Iterable[pa.RecordBatch], counts: Counter[str], empty: Chunk
) -> Iterator[Chunk]:
    """Yield each chunk with the contexts whose keys are at most that of its last restaurant.

    Contexts before a chunk's first restaurant, or after the last chunk, are yielded in a copy of `empty`, a chunk
    without rows. Contexts without a key are dropped, and added to `counts`. Raises `UnsortedError` for contexts that
    are not sorted.
    """
    batches = (chunk.rows for chunk in cut_chunks(contexts, counts, KEYLESS_CONTEXTS))
    pending = next(batches, None)
    for chunk in chunks:
        first_key = chunk.keys[0].as_py()
        last_key = chunk.keys[-1].as_py()
        while pending is not None and pending.column(KEY)[-1].as_py() < first_key:
            yield empty._replace(contexts=pending)
            pending = next(batches, None)
        parts: list[pa.RecordBatch] = []
        while pending is not None:
            end = _count_up_to(pending.column(KEY), last_key)
            parts.append(pending.slice(0, end))
            if end < pending.num_rows:
                pending = pending.slice(end)
                break
            pending = next(batches, None)
        yield chunk._replace(contexts=_concatenate(parts) if parts else empty.contexts)
    while pending is not None:
        yield empty._replace(contexts=pending)
        pending = next(batches, None)


def _count_up_to(keys: pa.Array, last: Any) -> int:
    """Return the number of sorted keys that are at most `last`."""
    return bisect_right(range(len(keys)), last, key=lambda position: keys[position].as_py())


class Groups(NamedTuple):
    """The restaurants of a chunk: their keys, and the start and end of each one's rows."""

    keys: pa.Array
    spans: list[tuple[int, int]]
    context_lines: list[int] | None = None
    """The line of each restaurant's context in the chunk; None if the contexts are in the order of the restaurants."""
    context_counts: Mapping[int, int] = {}
    """The number of contexts of each restaurant that has several, by its position."""


def group_restaurants(chunk: Chunk, counts: Counter[str]) -> Groups:
    """Return the restaurants of a chunk. If the chunk has contexts, they are the restaurants, with or without rows.

    Rows without a context are then left out, and their number is added to `counts`. A restaurant with several contexts
    has the last one, and is in `context_counts`.
    """
    ends: list[int] = chunk.ends.to_pylist()
    spans = list(zip([0, *ends], ends, strict=False))
    if chunk.contexts is None or chunk.contexts.column(KEY).equals(chunk.keys):
        return Groups(chunk.keys, spans)
    names = chunk.contexts.column(KEY).to_pylist()
    line_by_name = {name: line for line, name in enumerate(names)}
    span_by_name = dict(zip(chunk.keys.to_pylist(), spans, strict=True))
    spans = [span_by_name.pop(name, (0, 0)) for name in line_by_name]
    counts[ORPHAN_ROWS] += sum(end - start for start, end in span_by_name.values())
    name_counts = Counter(names) if len(line_by_name) < len(names) else Counter[Any]()
    repeated = {at: name_counts[name] for at, name in enumerate(line_by_name) if name_counts[name] > 1}
    lines = list(line_by_name.values())
    return Groups(chunk.contexts.column(KEY).take(pa.array(lines, pa.int64())), spans, lines, repeated)


def find_first(positions: Sequence[int], start: int, end: int) -> int | None:
    """Return the first of the sorted `positions` from `start` on and before `end`; None if there is none."""
    index = bisect_left(positions, start)
    return positions[index] if index < len(positions) and positions[index] < end else None


def split_spans(spans: Sequence[tuple[int, int]], row_limit: int) -> Iterator[tuple[slice, int, int]]:
    """Split consecutive restaurants into parts that end as soon as they have `row_limit` rows; restaurants stay whole.

    Yields the slice of `spans` that a part consists of, and the start and end of the part's rows, both 0 without rows.
    """
    part_start = 0
    first: int | None = None
    last = 0
    for index, (start, end) in enumerate(spans):
        if end > start:
            if first is None:
                first = start
            last = end
            if end - first >= row_limit:
                yield slice(part_start, index + 1), first, last
                part_start = index + 1
                first = None
                last = 0
    if part_start < len(spans):
        yield slice(part_start, None), first or 0, last


def find_duplicate_rows(ids: pa.Array, ends: pa.Array) -> dict[int, int]:
    """Map each row whose id an earlier row of the same restaurant has to the first row with that id; ignore null ids.

    `ends` are the ends of the restaurants' rows.
    """
    encoded = pc.dictionary_encode(ids)
    present = len(ids) - ids.null_count
    if len(encoded.dictionary) == present:  # no id occurs twice, as in nearly all chunks
        return {}
    restaurants = pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(ends, pa.array(range(len(ends)), pa.int64())))
    pairs = pc.add(pc.multiply(restaurants, len(encoded.dictionary)), encoded.indices.cast(pa.int64()))
    if pc.count_distinct(pairs, mode="only_valid").as_py() == present:
        return {}
    duplicate_rows: dict[int, int] = {}
    start = 0
    for end in ends.to_pylist():
        duplicates = find_duplicates(ids.slice(start, end - start).to_pylist())
        duplicate_rows.update({start + later: start + first for later, first in duplicates.items()})
        start = end
    return duplicate_rows


def drop_rows(chunk: Chunk, dropped: Collection[int]) -> Chunk:
    """Return a copy of the chunk without the rows at the positions `dropped`, but with all of its contexts.

    The caller must leave every restaurant at least one row.
    """
    mask = pa.array([row not in dropped for row in range(chunk.rows.num_rows)], pa.bool_())
    return build_chunk([chunk.rows.filter(mask)])._replace(contexts=chunk.contexts)


def find_order_ties(order: pa.Array, ends: pa.Array) -> list[int]:
    """Return the rows whose order key is null, or equal to or incomparable with that of the restaurant's previous row.

    A row after a null is listed too; a null in a restaurant's first row is not. `ends` are the ends of the restaurants'
    rows. Raises `UnsortedError` if a row's order key is smaller than that of the previous row.
    """
    if len(order) < 2:
        return []
    rises = pc.fill_null(pc.less(order.slice(0, len(order) - 1), order.slice(1)), False)
    bounds = pc.subtract(ends.slice(0, len(ends) - 1), 1)
    if len(rises) - rises.true_count == len(bounds) - rises.take(bounds).true_count:
        return []
    positions = sorted({*pc.indices_nonzero(pc.invert(rises)).to_pylist()} - {*bounds.to_pylist()})
    for position in positions:
        before = order[position].as_py()
        after = order[position + 1].as_py()
        if None not in (before, after) and before > after:
            raise UnsortedError
    return [position + 1 for position in positions]


def merge_small_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield concatenated batches of at least 100,000 lines, except the last; Spark's own batches have 10,000 lines."""
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        pending.append(batch)
        if sum(batch.num_rows for batch in pending) >= _MIN_BATCH_LINES:
            yield pa.concat_batches(pending)
            pending.clear()
    if pending:
        yield pa.concat_batches(pending)


def split_contexts(chunk: Chunk) -> Chunk:
    """Return a copy of the chunk with the lines marked as contexts moved from `rows` to `contexts`."""
    is_context = chunk.rows.column(IS_CONTEXT)
    return build_chunk([chunk.rows.filter(pc.invert(is_context))])._replace(contexts=chunk.rows.filter(is_context))
