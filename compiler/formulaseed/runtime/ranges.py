"""Scores tables of DuckDB in one process, or by ranges of the key with a process for each.

In: tables and their mapping to fields. Out: batches of results in the order of the keys. A process reads, sorts and evaluates
its own range, and writes the results to an Arrow file, so that nothing large passes between processes.
"""

from __future__ import annotations

import multiprocessing
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from formulaseed.data.scored import skip_pandas
from formulaseed.errors import UnreadableError
from formulaseed.runtime import duck, duck_sql
from formulaseed.runtime.batches import Scorer
from formulaseed.runtime.chunks import UnsortedError
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_source
from formulaseed.runtime.tables import Columns, TableMapping

_Returned = TypeVar("_Returned")
_RESULTS_FILE = "results.arrow"


def score_range(
    tables: duck_sql.Tables,
    mapping: TableMapping,
    module: Any,
    counts: Counter[str],
    use: Callable[[Iterator[pa.RecordBatch], pa.Schema], _Returned],
    key_range: duck_sql.KeyRange = duck_sql.ALL_KEYS,
) -> _Returned:
    """Score a range of keys, and return what `use` returns for the batches of results and their schema.

    Tables that can be read twice are read as if they were sorted. If they turn out not to be, they are sorted, and
    `use` is called again with all results. `counts` are cleared before each call of `use`, and complete once it has
    read all batches. Raises the module's `DataError` for invalid parameters.
    """
    can_reread = not any(table.once for table in tables if table is not None)
    for is_sorted in (True, False) if can_reread else (False,):
        counts.clear()
        try:
            with duck.open_chunks(*tables, mapping, counts, key_range, is_sorted=is_sorted) as (chunks, schema):
                find_reasons = None if mapping.reasons is None else mapping.reasons.start(Evaluator(module))
                scorer = Scorer(module, mapping.plan, find_reasons)
                return use((scorer.score(chunk, counts) for chunk in chunks), schema)
        except UnsortedError:
            continue
    raise AssertionError("DuckDB has not sorted the tables")


@dataclass(frozen=True, slots=True)
class Workers:
    """Worker processes, and the folder for their results and for data that does not fit into their memory."""

    pool: ProcessPoolExecutor
    folder: Path


@contextmanager
def start_workers(jobs: int) -> Iterator[Workers]:
    """Start `jobs` worker processes; on exit, wait for running tasks, cancel the others, and remove the folder.

    Workers are forked if that is safe: on Linux, while this process has one thread and has not imported DuckDB.
    """
    can_fork = sys.platform == "linux" and threading.active_count() == 1 and "duckdb" not in sys.modules
    context = multiprocessing.get_context("fork" if can_fork else "spawn")
    with tempfile.TemporaryDirectory(prefix="formulaseed-") as folder:
        pool = ProcessPoolExecutor(jobs, context, initializer=skip_pandas)
        try:
            for _ in range(jobs):  # starts the workers: they import DuckDB while this process maps the columns
                pool.submit(duck.versions)
            yield Workers(pool, Path(folder))
        finally:
            pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class ScoreJob:
    """The arguments that all workers share; each scores another range of keys."""

    source: str
    """The source of the generated module."""
    mapping: TableMapping
    tables: tuple[tuple[str, Columns], tuple[str, Columns] | None]
    """The rows and the contexts, for `DuckSession.reopen`."""
    memory: str | None
    database: str | None


def score_ranges(
    workers: Workers, job: ScoreJob, key_ranges: list[duck_sql.KeyRange], counts: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """Score each range in a worker, and yield all results in the order of the ranges.

    All ranges are submitted when the first result is read. The counts of a range are added to `counts` before its
    results are yielded. Raises `UnreadableError` if a worker was killed, and whatever a worker raises.
    """
    folders = [workers.folder / str(number) for number in range(len(key_ranges))]
    try:
        arguments = zip(key_ranges, folders, strict=True)
        pending = [workers.pool.submit(_score_to_file, job, *range_and_folder) for range_and_folder in arguments]
        for folder, future in zip(folders, pending, strict=True):
            counts.update(future.result())
            with pa.memory_map(str(folder / _RESULTS_FILE)) as file:
                results = pa.ipc.open_file(file)
                yield from map(results.get_batch, range(results.num_record_batches))
    except BrokenProcessPool:
        raise UnreadableError("a process of --jobs was killed; fewer jobs need less memory") from None


def _score_to_file(job: ScoreJob, key_range: duck_sql.KeyRange, folder: Path) -> Counter[str]:
    """Write the results of a range of keys to `results.arrow` in the new `folder`, and return their counts."""
    folder.mkdir()
    counts = Counter[str]()
    with duck.open_session(1, job.memory, job.database, folder) as session:
        rows, contexts = job.tables
        tables = session.reopen(*rows), None if contexts is None else session.reopen(*contexts)
        module = module_from_source(job.source, "scored")
        write = partial(_write_batches, str(folder / _RESULTS_FILE))
        score_range(tables, job.mapping, module, counts, write, key_range)
    return counts


def _write_batches(path: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> None:
    """Write batches to a new Arrow file at `path`."""
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def divide_memory(memory: str | None, jobs: int) -> str | None:
    """Divide a memory limit by the number of processes: `4GB` becomes `2.0GB` for two.

    None, and a string that does not begin with a number, are returned unchanged.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)(.*)", memory or "")
    return f"{float(match[1]) / jobs}{match[2]}" if match is not None else memory
