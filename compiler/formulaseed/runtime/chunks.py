"""Cuts sorted Arrow batches into chunks of whole restaurants, with `columns` and `batches` on executors, too.

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

KEY, ORDER, REVIEW = "key", "order_key", "review_key"
"""Columns of a batch: the restaurant's key, what orders its rows, and the ids of reviews where these do not order them."""
ORPHANS, NAMELESS, DUPLICATES = "orphans", "nameless", "duplicates"
"""What counts hold beside the kinds of errors: rows that belong to no restaurant, contexts without a key, rows left out."""


class UnsortedError(Exception):
    """Raised for batches that are not sorted."""


class Chunk(NamedTuple):
    """Whole restaurants: their `keys`, where the rows of each end among `rows`, and the contexts, if there are any."""

    keys: pa.Array
    ends: pa.Array
    rows: pa.RecordBatch
    contexts: pa.RecordBatch | None = None


def chunks_of(batches: Iterable[pa.RecordBatch], counts: Counter[str], lost: str = ORPHANS) -> Iterator[Chunk]:
    """Yield sorted batches, which may end in the middle of a restaurant, as whole restaurants.

    Lines without a key are left out, and added to `counts` as `lost`. Raises `UnsortedError` where keys are not sorted.
    """
    kept: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.column(KEY).null_count:
            counts[lost] += batch.column(KEY).null_count
            batch = batch.filter(batch.column(KEY).is_valid())
        if not batch.num_rows:
            continue
        chunk = chunk_of([batch])
        if kept:
            previous, first = kept[-1].column(KEY)[-1].as_py(), chunk.keys[0].as_py()
            if previous > first:
                raise UnsortedError
            if previous == first:
                end = chunk.ends[0].as_py()
                kept.append(batch.slice(0, end))
                if len(chunk.keys) == 1:
                    continue
                chunk = Chunk(chunk.keys.slice(1), pc.subtract(chunk.ends.slice(1), end), batch.slice(end))
            yield chunk_of(kept)
        last = len(chunk.keys) - 1
        start = chunk.ends[last - 1].as_py() if last else 0
        if last:  # a slice is no copy
            yield Chunk(chunk.keys.slice(0, last), chunk.ends.slice(0, last), chunk.rows.slice(0, start))
        kept = [chunk.rows.slice(start)]
    if kept:
        yield chunk_of(kept)


def chunk_of(batches: Sequence[pa.RecordBatch]) -> Chunk:
    """Return batches of whole restaurants as one chunk. Raises `UnsortedError` where their keys are not sorted."""
    rows = _joined(batches)
    runs = pc.run_end_encode(rows.column(KEY))
    keys = runs.values
    if len(keys) > 1 and not pc.all(pc.less(keys.slice(0, len(keys) - 1), keys.slice(1))).as_py():
        raise UnsortedError
    return Chunk(keys, runs.run_ends, rows)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def with_contexts(
    chunks: Iterable[Chunk], contexts: Iterable[pa.RecordBatch], counts: Counter[str], empty: Chunk
) -> Iterator[Chunk]:
    """Yield the chunks with the contexts up to their last restaurant; those without rows come with the `empty` one."""
    batches = (chunk.rows for chunk in chunks_of(contexts, counts, NAMELESS))
    ahead = next(batches, None)
    for chunk in chunks:
        first, last = chunk.keys[0].as_py(), chunk.keys[-1].as_py()
        while ahead is not None and ahead.column(KEY)[-1].as_py() < first:
            yield empty._replace(contexts=ahead)
            ahead = next(batches, None)
        found: list[pa.RecordBatch] = []
        while ahead is not None:
            end = _up_to(ahead.column(KEY), last)
            found.append(ahead.slice(0, end))
            if end < ahead.num_rows:
                ahead = ahead.slice(end)
                break
            ahead = next(batches, None)
        yield chunk._replace(contexts=_joined(found) if found else empty.contexts)
    while ahead is not None:
        yield empty._replace(contexts=ahead)
        ahead = next(batches, None)


def _up_to(keys: pa.Array, last: Any) -> int:
    """How many of sorted keys are no larger."""
    return bisect_right(range(len(keys)), last, key=lambda at: keys[at].as_py())


class Groups(NamedTuple):
    """The restaurants of a chunk: their keys, and the first and the last row of each.

    `chosen` are the lines of their contexts, None where these are the contexts in turn; `repeated` says of restaurants
    with several contexts how many they have.
    """

    keys: pa.Array
    spans: list[tuple[int, int]]
    chosen: list[int] | None = None
    repeated: Mapping[int, int] = {}


def groups_of(chunk: Chunk, counts: Counter[str]) -> Groups:
    """Return the restaurants of a chunk, and add the rows that belong to none to `counts`."""
    ends: list[int] = chunk.ends.to_pylist()
    spans = list(zip([0, *ends], ends, strict=False))
    if chunk.contexts is None or chunk.contexts.column(KEY).equals(chunk.keys):
        return Groups(chunk.keys, spans)
    names = chunk.contexts.column(KEY).to_pylist()
    chosen = {name: at for at, name in enumerate(names)}
    of_row = dict(zip(chunk.keys.to_pylist(), spans, strict=True))
    spans = [of_row.pop(name, (0, 0)) for name in chosen]
    counts[ORPHANS] += sum(end - start for start, end in of_row.values())
    repeated = Counter(names) if len(chosen) < len(names) else Counter[Any]()
    many = {at: repeated[name] for at, name in enumerate(chosen) if repeated[name] > 1}
    lines = list(chosen.values())
    return Groups(chunk.contexts.column(KEY).take(pa.array(lines, pa.int64())), spans, lines, many)


def first_of(places: Sequence[int], start: int, end: int) -> int | None:
    """Return the first of sorted places in a span; None if there is none."""
    at = bisect_left(places, start)
    return places[at] if at < len(places) and places[at] < end else None


def parts_of(spans: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[slice, int, int]]:
    """Yield restaurants that have about as many rows: which they are, and the first and the last row of theirs."""
    since, first = 0, None
    for at, (start, end) in enumerate(spans):
        if end > start:
            first, last = start if first is None else first, end
            if end - first >= most:
                yield slice(since, at + 1), first, last
                since, first = at + 1, None
    if since < len(spans):
        yield slice(since, None), first or 0, last if first is not None else 0


def duplicates_of(ids: pa.Array, ends: pa.Array) -> dict[int, int]:
    """Return the rows whose id an earlier row of the restaurant has, each with the first such row."""
    encoded = pc.dictionary_encode(ids)
    present = len(ids) - ids.null_count
    if len(encoded.dictionary) == present:  # no id occurs twice, as nearly always
        return {}
    restaurants = pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(ends, pa.array(range(len(ends)), pa.int64())))
    pairs = pc.add(pc.multiply(restaurants, len(encoded.dictionary)), encoded.indices.cast(pa.int64()))
    if pc.count_distinct(pairs, mode="only_valid").as_py() == present:
        return {}
    found: dict[int, int] = {}
    start = 0
    for end in ends.to_pylist():
        duplicates = find_duplicates(ids.slice(start, end - start).to_pylist())
        found.update({start + later: start + first for later, first in duplicates.items()})
        start = end
    return found


def without_rows(chunk: Chunk, dropped: Collection[int]) -> Chunk:
    """Return the chunk without some rows, which are not all rows of any restaurant."""
    kept = pa.array([row not in dropped for row in range(chunk.rows.num_rows)], pa.bool_())
    return chunk_of([chunk.rows.filter(kept)])._replace(contexts=chunk.contexts)


def twins_of(order: pa.Array, ends: pa.Array) -> list[int]:
    """Return the rows with the order key of the row before, or none. Raises `UnsortedError` where it is a smaller one."""
    if len(order) < 2:
        return []
    rises = pc.fill_null(pc.less(order.slice(0, len(order) - 1), order.slice(1)), False)
    bounds = pc.subtract(ends.slice(0, len(ends) - 1), 1)
    if len(rises) - rises.true_count == len(bounds) - rises.take(bounds).true_count:
        return []
    found = sorted({*pc.indices_nonzero(pc.invert(rises)).to_pylist()} - {*bounds.to_pylist()})
    for at in found:
        before, after = order[at].as_py(), order[at + 1].as_py()
        if None not in (before, after) and before > after:
            raise UnsortedError
    return [at + 1 for at in found]
