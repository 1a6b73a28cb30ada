"""`score`: the eight tasks over whole tables, with little memory, killed processes and outputs that cannot be written."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("duckdb", reason="the engine needs duckdb")

import formulaseed as library  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from formulaseed.ir import nodes  # noqa: E402
from formulaseed.language.types import Base  # noqa: E402
from formulaseed.runtime.ranges import divide_memory  # noqa: E402
from helpers import SEEDS, command, formulaseed, write_json  # noqa: E402
from scoring import expected, results_of, tables_of  # noqa: E402
from test_score import seed_of_moods, tiny_tables  # noqa: E402

WORDS = ("Thai, Bars", "Pizza", "American", "", "$$", "loud")


def value_of(field: Any, drawn: random.Random) -> Any:
    """A value that a task's field accepts, null at times where it may be."""
    if field.ty.nullable and drawn.random() < 0.2:
        return None
    if field.ty.values is not None:
        return drawn.choice(field.ty.values)
    low, high = getattr(field, "minimum", None) or 0, getattr(field, "maximum", None) or 12
    match field.ty.base:
        case Base.BOOLEAN:
            return drawn.random() < 0.5
        case Base.INTEGER:
            return drawn.randint(low, high)
        case Base.NUMBER:
            return drawn.randint(10 * low, 10 * high) / 10
    return drawn.choice(WORDS) if field.name != "date" else f"20{drawn.randint(10, 26)}-{drawn.randint(1, 12):02}-07"


def restaurants_of(program: nodes.Program, count: int) -> dict[str, Any]:
    """Restaurants with 0 to 9 rows."""
    drawn = random.Random(1)
    meta = [each for each in program.meta if each.name not in ("year", "month")]

    def record(fields: Any) -> dict[str, Any]:
        return {each.name: value_of(each, drawn) for each in fields}

    def row() -> dict[str, Any]:
        return {"extraction": record(program.fields), "meta": record(meta)}

    return {f"b{at:04}": ([row() for _ in range(drawn.randint(0, 9))], record(program.context)) for at in range(count)}


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.parent.name)
def test_order_of_rows_and_number_of_processes_do_not_matter(path: Path, tmp_path: Path) -> None:
    """Every task over 500 restaurants in an order that is none by one process, in another by two: the same bytes, and values."""
    seed = library.load_seed(path)
    found = restaurants_of(seed.program, 500)
    tables, made = tables_of(seed.program, found), set[bytes]()
    for jobs, order in ((1, 1), (2, 2)):
        for name, table in zip(("rows", "contexts"), tables, strict=True):
            lines = random.Random(order).sample(range(len(table)), len(table))
            pq.write_table(table.take(pa.array(lines)), tmp_path / f"{name}.parquet", row_group_size=700)
        names = ("--rows", tmp_path / "rows.parquet", "--contexts", tmp_path / "contexts.parquet")
        outcome = (command if jobs == 1 else formulaseed)(
            "score", path, *names, "--out", tmp_path / "out.parquet", "--jobs", jobs
        )
        assert outcome.status in (0, 3), outcome.err
        made.add((tmp_path / "out.parquet").read_bytes())
    assert len(made) == 1
    assert results_of(pq.read_table(tmp_path / "out.parquet")) == expected(seed, found)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The command, a seed and 400,000 rows in no order."""
    folder = tmp_path_factory.mktemp("large")
    table, _ = tiny_tables(200_000)
    lines = random.Random(1).sample(range(len(table)), len(table))
    pq.write_table(table.take(pa.array(lines)), folder / "rows.parquet")
    return ["score", write_json(folder / "seed.json", seed_of_moods()), "--rows", folder / "rows.parquet"]


def test_little_memory_gives_the_same(large: list[Any], tmp_path: Path) -> None:
    """What does not fit is sorted on the disk; too little to start with, or no size at all, is one line and status 2."""
    made = []
    for more in ((), ("--memory", "40MB"), ("--memory", "80MB", "--jobs", 2)):
        out = tmp_path / f"{len(made)}.parquet"
        outcome = formulaseed(*large, "--out", out, *more)
        assert outcome.status == 0, outcome.err
        made.append(out.read_bytes())
    assert len({*made}) == 1
    for memory in ("1MB", "much"):
        outcome = formulaseed(*large, "--out", tmp_path / "none.parquet", "--memory", memory)
        assert (outcome.status, len(outcome.err.splitlines())) == (2, 1), outcome.err
    assert [each.name for each in tmp_path.iterdir() if "none" in each.name] == []


def test_memory_is_shared_among_processes() -> None:
    """Each may use its part; what is no size is left to DuckDB, which refuses it."""
    assert [divide_memory(each, 4) for each in ("4GB", " 1.5 GiB", "much", None)] == [
        "1.0GB",
        "0.375 GiB",
        "much",
        None,
    ]


KILLED = """
import os, signal, sys
from formulaseed.cli.main import main
from formulaseed.runtime import ranges

ranges._write_batches = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
main()
"""
"""The command, whose processes are killed when they begin to write."""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked here")
def test_a_killed_process_ends_the_command(large: list[Any], tmp_path: Path) -> None:
    """One line that says so, status 2; the old results stay, and nothing else is left."""
    out = tmp_path / "out.parquet"
    out.write_text("old")
    arguments = [sys.executable, "-c", KILLED, *map(str, large), "--out", out, "--jobs", "2"]
    done = subprocess.run(
        arguments, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}, check=False
    )
    assert (done.returncode, done.stderr) == (
        2, "formulaseed: a process of --jobs was killed; fewer jobs need less memory\n"
    )  # fmt: skip
    assert (out.read_text(), [*tmp_path.iterdir()]) == ("old", [out])


def test_an_output_that_cannot_be_written(large: list[Any], tmp_path: Path) -> None:
    """A folder that is a file, a disk that is full: one line, status 2, and no file."""
    (tmp_path / "file").write_text("")
    (tmp_path / "full.parquet").symlink_to("/dev/full")
    (tmp_path / "full.csv").symlink_to("/dev/full")
    for name, jobs in (("file/out.parquet", 1), ("file/out.parquet", 2), ("full.parquet", 1), ("full.csv", 2)):
        outcome = formulaseed(*large, "--out", tmp_path / name, "--jobs", jobs)
        assert (outcome.status, "cannot write" in outcome.err, len(outcome.err.splitlines())) == (2, True, 1), (
            outcome.err
        )
    assert len([*tmp_path.iterdir()]) == 3
