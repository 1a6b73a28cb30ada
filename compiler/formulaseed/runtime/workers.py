"""Scores chunks in other processes, in their order.

In: chunks of sorted batches. Out: their results. Arrow's own format carries both, since pickled slices would have all of a batch.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import pyarrow as pa

from formulaseed.errors import UnreadableError
from formulaseed.runtime.batches import Plan, Scorer
from formulaseed.runtime.chunks import Chunk
from formulaseed.runtime.loading import module_from_source

_Packed = tuple[bytes | None, ...]


@contextmanager
def workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Provide processes. They are forked where that is safe: while this process has one thread, and so no DuckDB yet."""
    is_safe = sys.platform == "linux" and threading.active_count() == 1 and "duckdb" not in sys.modules
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("fork" if is_safe else "spawn"))
    try:
        pool.submit(int)  # starts them
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def scored_chunks(
    pool: ProcessPoolExecutor, jobs: int, source: str, plan: Plan, chunks: Iterable[Chunk], counts: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the results of chunks. Raises `UnreadableError` where a process was killed."""
    pending: deque[Future[tuple[_Packed, Counter[str]]]] = deque()
    text = plan.to_json()

    def taken() -> pa.RecordBatch:
        (result,), found = pending.popleft().result()
        counts.update(found)
        return _unpacked(result)

    try:
        for chunk in chunks:
            pending.append(pool.submit(_score, source, text, _packed(*_batches_of(chunk))))
            if len(pending) > 2 * jobs:
                yield taken()
        while pending:
            yield taken()
    except BrokenProcessPool:
        raise UnreadableError("a process of --jobs was killed; fewer jobs need less memory") from None


@lru_cache(1)
def _scorer(source: str, plan: str) -> Scorer:
    return Scorer(module_from_source(source, "scored"), Plan.from_json(plan))


def _score(source: str, plan: str, packed: _Packed) -> tuple[_Packed, Counter[str]]:
    heads, rows, contexts = map(_unpacked, packed)
    counts = Counter[str]()
    result = _scorer(source, plan).score(Chunk(heads.column(0), heads.column(1), rows, contexts), counts)
    return _packed(result), counts


def _batches_of(chunk: Chunk) -> tuple[pa.RecordBatch, pa.RecordBatch, pa.RecordBatch | None]:
    """The batches of a chunk: keys and ends, rows without their keys, contexts."""
    heads = pa.record_batch([chunk.keys, chunk.ends], ["keys", "ends"])
    names = [name for name in chunk.rows.schema.names if name != "key"]
    return heads, chunk.rows.select(names), chunk.contexts


def _packed(*batches: pa.RecordBatch | None) -> _Packed:
    return tuple(None if batch is None else _bytes_of(batch) for batch in batches)


def _bytes_of(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _unpacked(packed: bytes | None) -> Any:
    return None if packed is None else pa.ipc.open_stream(packed).read_next_batch()
