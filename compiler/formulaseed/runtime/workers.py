"""Scores chunks in other processes, in their order.

In: chunks of sorted batches. Out: their results. A chunk is passed on in a file of Arrow, which the other process maps
into its memory; to pickle it would copy it five times.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from formulaseed.errors import UnreadableError
from formulaseed.runtime.batches import Plan, Scorer
from formulaseed.runtime.chunks import KEY, Chunk
from formulaseed.runtime.columns import OTHER
from formulaseed.runtime.loading import module_from_source


@dataclass(frozen=True, slots=True)
class Workers:
    """Processes, and the folder of what they pass on."""

    pool: ProcessPoolExecutor
    jobs: int
    folder: Path


@contextmanager
def workers(jobs: int) -> Iterator[Workers]:
    """Provide processes. They are forked where that is safe: while this process has one thread, and so no DuckDB yet."""
    is_safe = sys.platform == "linux" and threading.active_count() == 1 and "duckdb" not in sys.modules
    with tempfile.TemporaryDirectory(prefix="formulaseed-") as folder:
        pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("fork" if is_safe else "spawn"))
        try:
            pool.submit(int)  # starts them
            yield Workers(pool, jobs, Path(folder))
        finally:
            pool.shutdown(cancel_futures=True)


def scored_chunks(
    known: Workers, source: str, plan: Plan, chunks: Iterable[Chunk], counts: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the results of chunks. Raises `UnreadableError` where a process was killed."""
    pending: deque[Future[tuple[pa.RecordBatch, Counter[str]]]] = deque()
    text = plan.to_json()

    def taken() -> pa.RecordBatch:
        result, found = pending.popleft().result()
        counts.update(found)
        return result

    try:
        for number, chunk in enumerate(chunks):
            path = str(known.folder / f"{number}.arrow")
            _write(path, chunk)
            pending.append(known.pool.submit(_score, source, text, path))
            if len(pending) > 2 * known.jobs:
                yield taken()
        while pending:
            yield taken()
    except BrokenProcessPool:
        raise UnreadableError("a process of --jobs was killed; fewer jobs need less memory") from None


@lru_cache(1)
def _scorer(source: str, plan: str) -> Scorer:
    return Scorer(module_from_source(source, "scored"), Plan.from_json(plan))


def _score(source: str, plan: str, path: str) -> tuple[pa.RecordBatch, Counter[str]]:
    counts = Counter[str]()
    return _scorer(source, plan).score(_read(path), counts), counts


def _write(path: str, chunk: Chunk) -> None:
    """Write keys and ends, the rows without their keys, and the contexts, if there are any."""
    heads = pa.record_batch([chunk.keys, chunk.ends], ["keys", "ends"])
    names = [name for name in chunk.rows.schema.names if name != KEY and not _is_unused(name, chunk.rows)]
    with pa.OSFile(path, "wb") as file:
        for batch in (heads, chunk.rows.select(names), *([chunk.contexts] if chunk.contexts is not None else ())):
            with pa.ipc.new_stream(file, batch.schema) as writer:
                writer.write_batch(batch)


def _is_unused(name: str, rows: pa.RecordBatch) -> bool:
    """Whether a column says that no enum has unknown values."""
    return name.endswith(OTHER) and rows.column(name).null_count == rows.num_rows


def _read(path: str) -> Chunk:
    with pa.memory_map(path) as file:
        os.unlink(path)
        batches = []
        while file.tell() < file.size():
            batches.append(pa.ipc.open_stream(file).read_all().combine_chunks())
    heads, rows, *contexts = (_batch_of(table) for table in batches)
    return Chunk(heads.column(0), heads.column(1), rows, *contexts)


def _batch_of(table: pa.Table) -> pa.RecordBatch:
    """The one batch of a table, which may have no line."""
    batches = table.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)
