"""Scores tables of DuckDB: whole, or by ranges of the key in a process for each.

In: tables and what is read from them. Out: batches of results in the order of the keys. A process reads, sorts and evaluates its
own range and leaves the results in a file of Arrow, so that nothing large passes between processes.
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
from formulaseed.runtime import duck
from formulaseed.runtime.batches import Scorer
from formulaseed.runtime.chunks import UnsortedError
from formulaseed.runtime.loading import module_from_source
from formulaseed.runtime.tables import Columns, Mapped

Used = TypeVar("Used")
RESULTS = "results.arrow"


def score_range(
    tables: duck.Tables, mapped: Mapped, module: Any, counts: Counter[str],
    use: Callable[[Iterator[pa.RecordBatch], pa.Schema], Used], within: duck.Range = duck.EVERY,
) -> Used:  # fmt: skip
    """Return what `use` makes of the results of a range of keys, and their schema; `counts` are complete then.

    Tables that can be read twice are taken to be sorted at first: where they turn out not to be, `use` has the results
    from the beginning once more.
    """
    for is_sorted in (True, False) if not any(table.once for table in tables if table is not None) else (False,):
        counts.clear()
        try:
            with duck.chunks(*tables, mapped, counts, within, is_sorted=is_sorted) as (chunks, schema):
                scorer = Scorer(module, mapped.plan)
                return use((scorer.score(chunk, counts) for chunk in chunks), schema)
        except UnsortedError:
            continue
    raise AssertionError("DuckDB has not sorted the tables")


@dataclass(frozen=True, slots=True)
class Processes:
    """Processes, and the folder of what they leave and of what does not fit into their memory."""

    pool: ProcessPoolExecutor
    folder: Path


@contextmanager
def processes(jobs: int) -> Iterator[Processes]:
    """Provide processes. They are forked where that is safe: while this process has one thread, and so no DuckDB yet."""
    is_safe = sys.platform == "linux" and threading.active_count() == 1 and not duck.is_imported()
    context = multiprocessing.get_context("fork" if is_safe else "spawn")
    with tempfile.TemporaryDirectory(prefix="formulaseed-") as folder:
        pool = ProcessPoolExecutor(jobs, context, initializer=skip_pandas)
        try:
            for _ in range(jobs):  # starts them; they import DuckDB while this process looks at the tables
                pool.submit(duck.versions)
            yield Processes(pool, Path(folder))
        finally:
            pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Work:
    """What all processes are given: the generated module, and the tables, each as SQL with its columns."""

    source: str
    mapped: Mapped
    tables: tuple[tuple[str, Columns], tuple[str, Columns] | None]
    memory: str | None
    database: str | None


def scored_ranges(
    known: Processes, work: Work, ranges: list[duck.Range], counts: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the results of ranges, in their order. Raises `UnreadableError` where a process was killed."""
    folders = [known.folder / str(number) for number in range(len(ranges))]
    try:
        pending = [known.pool.submit(_left, work, *each) for each in zip(ranges, folders, strict=True)]
        for folder, part in zip(folders, pending, strict=True):
            counts.update(part.result())
            with pa.memory_map(str(folder / RESULTS)) as file:
                found = pa.ipc.open_file(file)
                yield from map(found.get_batch, range(found.num_record_batches))
    except BrokenProcessPool:
        raise UnreadableError("a process of --jobs was killed; fewer jobs need less memory") from None


def _left(work: Work, within: duck.Range, folder: Path) -> Counter[str]:
    """Leave the results of a range in a folder of its own, and return their counts."""
    folder.mkdir()
    counts = Counter[str]()
    with duck.session(1, work.memory, work.database, folder) as session:
        rows, contexts = work.tables
        tables = session.reopened(*rows), None if contexts is None else session.reopened(*contexts)
        module = module_from_source(work.source, "scored")
        score_range(tables, work.mapped, module, counts, partial(_write, str(folder / RESULTS)), within)
    return counts


def _write(path: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> None:
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def shared(memory: str | None, jobs: int) -> str | None:
    """Return the part of the memory that one of the processes may use, such as `2.0GB` of `4GB`."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)(.*)", memory or "")
    return f"{float(found[1]) / jobs}{found[2]}" if found is not None else memory
