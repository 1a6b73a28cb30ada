"""`score`: kinds of tables, how batches are cut, memory, killed processes, and files that cannot be read or written."""

from __future__ import annotations

import datetime
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")
duckdb = pytest.importorskip("duckdb", reason="the engine needs duckdb")

import formulaseed as library  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from formulaseed.errors import DataError, UnreadableError  # noqa: E402
from formulaseed.runtime.batches import Plan, Scorer  # noqa: E402
from formulaseed.runtime.chunks import UnsortedError, build_chunk, cut_chunks, join_contexts  # noqa: E402
from formulaseed.runtime.columns import TableField  # noqa: E402
from formulaseed.runtime.ranges import divide_memory  # noqa: E402
from helpers import command, formulaseed, write_json, write_lines  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from scoring import mood_seed, tiny_tables  # noqa: E402

PLAN = Plan(
    "business_id", "position",
    (TableField("mood", "extraction", "enum", "r0", ("good", "bad")),
     TableField("score", "extraction", "integer", "r1"), TableField("stars", "meta", "number", "r2")),
    (), True, (("GOOD", "integer"), ("TOTAL", "number")),
)  # fmt: skip


@pytest.mark.parametrize(
    ("package", "convert"),
    [
        ("pyarrow", lambda table, _: table.to_reader()), ("pyarrow", lambda table, _: table.combine_chunks().to_batches()[0]),
        ("duckdb", lambda table, _: duckdb.connect().from_arrow(table)), ("duckdb", lambda table, one: one.from_arrow(table)),
        ("pandas", lambda table, _: table.to_pandas()), ("polars", lambda table, _: __import__("polars").from_arrow(table)),
    ],
)  # fmt: skip
@pytest.mark.thorough
def test_every_kind_of_table_gives_the_same_results(package: str, convert: Callable[[Any, Any], Any]) -> None:
    """Also two relations of one connection, which has one result at a time."""
    pytest.importorskip(package)
    rows, contexts = tiny_tables()
    rows = rows.set_column(2, "mood", rows.column("mood").dictionary_encode())
    expected = library.score(mood_seed(), rows, contexts)
    with duckdb.connect() as connection:
        tables = convert(rows, connection), convert(contexts, connection)
        assert library.score(mood_seed(), *tables).equals(expected)


@given(st.lists(st.integers(0, 6), max_size=30), st.lists(st.integers(0, 8), max_size=12), st.data())
@pytest.mark.thorough
def test_batches_may_be_cut_anywhere(rows: list[int], contexts: list[int], data: st.DataObject) -> None:
    """Sorted lines in any batches give the results, and the counts, of the lines in one batch."""
    rows, contexts = sorted(rows), sorted(contexts)
    lines = pa.record_batch({
        "key": pa.array(rows, pa.int64()), "order_key": pa.array(range(len(rows)), pa.int64()),
        "r0": pa.array(["good", "odd", "good"] * len(rows), pa.string()).slice(0, len(rows)),
        "r1": pa.array(rows, pa.int64()), "r2": pa.array(rows, pa.float64()),
    })  # fmt: skip
    context_lines = pa.record_batch({"key": pa.array(contexts, pa.int64())})
    module = library.load_evaluator(mood_seed()).module

    def score(*cuts: list[int]) -> tuple[list[Any], Counter[str]]:
        counts, scorer = Counter[str](), Scorer(module, PLAN)
        row_batches, context_batches = (
            [batch.slice(start, end - start) for start, end in zip([0, *cut], [*cut, batch.num_rows], strict=True)]
            for batch, cut in zip((lines, context_lines), cuts, strict=True)
        )
        empty = build_chunk([lines.slice(0, 0)])._replace(contexts=context_lines.slice(0, 0))
        chunks = join_contexts(cut_chunks(row_batches, counts), context_batches, counts, empty)
        return [line for chunk in chunks for line in scorer.score(chunk, counts).to_pylist()], counts

    results, counts = score([], [])
    cuts = [sorted(data.draw(st.lists(st.integers(0, len(part)), max_size=6))) for part in (rows, contexts)]
    assert score(*cuts) == (results, counts)
    assert [line["business_id"] for line in results] == sorted({*contexts})
    assert counts["orphans"] == sum(key not in contexts for key in rows)


def test_unsorted_batches_are_noticed() -> None:
    """Keys that fall, within a batch or between two, and rows of a restaurant that are not in order."""
    module = library.load_evaluator(mood_seed()).module

    def score(*batches: tuple[str, list[int]]) -> list[Any]:
        names = ("key", "order_key", "r0", "r1", "r2")
        records = [
            pa.record_batch([[*keys], orders, ["good"] * len(keys), orders, [1.0] * len(keys)], names)
            for keys, orders in batches
        ]
        return [Scorer(module, PLAN).score(chunk, Counter()) for chunk in cut_chunks(records, Counter())]

    assert len(score(("ab", [0, 0]), ("bc", [1, 0]))) == 3
    for batches in ([("ba", [0, 0])], [("b", [0]), ("a", [0])], [("aba", [0, 0, 1])], [("aa", [1, 0])],
                    [("a", [1]), ("a", [0])]):  # fmt: skip
        with pytest.raises(UnsortedError):
            score(*batches)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("business_id", {"a": 1}, "cannot name restaurants: it holds struct"),
        ("business_id", 1.0, "cannot name restaurants: it holds number"),
        ("position", [1], "cannot order rows: it holds BIGINT[]"),
        ("mood", 1, "`mood` of the rows must hold strings, not integer"),
        ("stars", datetime.datetime(2020, 1, 1), "`stars` of the rows must hold numbers, not time"),
        ("score", True, "`score` of the rows must hold integers, not boolean"),
    ],
)
@pytest.mark.thorough
def test_columns_of_wrong_types_are_refused(name: str, value: Any, message: str) -> None:
    table, _ = tiny_tables()
    with pytest.raises(DataError) as caught:
        library.score(mood_seed(), table.set_column(table.column_names.index(name), name, pa.array([value] * 6)))
    assert message in str(caught.value)


def test_uuids_are_strings(tmp_path: Path) -> None:
    """As keys, ids, values of a string and of an enum, on both backends; those in JSON keep their capital letters."""
    ids = [f"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A1{number}" for number in range(4)]
    seed = mood_seed()
    seed["extract"]["fields"][0]["values"] = dict.fromkeys((ids[0], ids[0].lower(), "good"), "x")
    seed["compute"][0]["where"] = {"extraction.mood": {"in": [ids[0], ids[0].lower()]}}
    lines = [
        {"business_id": ids[number % 2], "review_id": ids[number], "mood": ids[0], "score": number, "stars": 1.0}
        for number in range(4)
    ]
    path = write_lines(tmp_path / "rows.jsonl", *lines)
    with duckdb.connect() as connection:
        columns = "business_id::UUID AS business_id, review_id::UUID AS review_id, mood::UUID AS mood, score, stars"
        rows = connection.sql(f"SELECT {columns} FROM read_json('{path}')")
        rows.write_parquet(str(tmp_path / "rows.parquet"))
    for table, keys in ((path, ids[:2]), (tmp_path / "rows.parquet", [key.lower() for key in ids[:2]])):
        for backend in ("module", "sql"):
            results = library.score(seed, table, backend=backend).to_pylist()
            assert [(result["business_id"], result["GOOD"], result["TOTAL"]) for result in results] == [
                (keys[0], 2, 4.0),
                (keys[1], 2, 6.0),
            ]


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    """Missing, no Parquet, different columns, a folder as output, an input as output: one line, status 2."""
    table, _ = tiny_tables()
    seed, rows, out = (
        write_json(tmp_path / "seed.json", mood_seed()),
        tmp_path / "rows.parquet",
        tmp_path / "out.parquet",
    )
    pq.write_table(table, rows)
    (tmp_path / "text.parquet").write_text("hello")
    (tmp_path / "drift").mkdir()
    (tmp_path / "folder.parquet").mkdir()
    pq.write_table(table, tmp_path / "drift" / "0.parquet")
    pq.write_table(table.drop_columns(["stars"]), tmp_path / "drift" / "1.parquet")
    for source, target in (("none*.parquet", out), ("text.parquet", out), ("drift", out), (rows, tmp_path / "folder.parquet"),
                           (rows, rows), ("ro*.parquet", rows)):  # fmt: skip
        done = command("score", seed, "--rows", tmp_path / source, "--out", target)
        assert (done.status, len(done.err.splitlines()), out.exists()) == (2, 1, False), done.err
    assert pq.read_table(rows).equals(table)
    with pytest.raises(UnreadableError, match="ends in"):
        library.score(mood_seed(), str(tmp_path / "seed.txt"))


def test_unused_columns_and_an_empty_context_are_ignored() -> None:
    table, _ = tiny_tables()
    row = {"extraction": {"mood": "good", "score": 1}, "meta": {"stars": 1.5}}
    nested = pa.Table.from_pylist([{"business_id": "a", "context": {}, "rows": [row]}])
    assert library.score(mood_seed(), nested).to_pylist()[0]["TOTAL"] == 2.5
    odd = table.append_column('a "b"; DROP TABLE c', pa.array([1] * 6))
    assert library.score(mood_seed(), odd).equals(library.score(mood_seed(), table))


# --- memory, processes and disks


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The command, a seed and 400,000 rows in random order."""
    folder = tmp_path_factory.mktemp("large")
    table, _ = tiny_tables(200_000)
    order = random.Random(1).sample(range(len(table)), len(table))
    pq.write_table(table.take(pa.array(order)), folder / "rows.parquet")
    return ["score", write_json(folder / "seed.json", mood_seed()), "--rows", folder / "rows.parquet"]


@pytest.mark.thorough
def test_little_memory_gives_the_same_results(large: list[Any], tmp_path: Path) -> None:
    """Data that does not fit is sorted on the disk; too little memory, or no size, is one line and status 2."""
    outputs = set()
    for options in ((), ("--memory", "40MB"), ("--memory", "56MB"), ("--memory", "80MB", "--jobs", 2)):
        done = formulaseed(*large, "--out", tmp_path / "out.parquet", *options)
        assert done.status == 0, done.err
        outputs.add((tmp_path / "out.parquet").read_bytes())
    assert len(outputs) == 1
    for memory in ("1MB", "much"):
        done = formulaseed(*large, "--out", tmp_path / "none.parquet", "--memory", memory)
        assert (done.status, len(done.err.splitlines())) == (2, 1), done.err
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_memory_is_divided_among_processes() -> None:
    """A text that is no size is left to DuckDB, which refuses it."""
    sizes = {"4GB": "1.0GB", " 1.5 GiB": "0.375 GiB", "much": "much", None: None}
    assert {size: divide_memory(size, 4) for size in sizes} == sizes


KILLED = """
import os, signal
from formulaseed.cli.main import main
from formulaseed.runtime import ranges

ranges._write_batches = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
main()
"""
"""The command with workers that are killed when they begin to write."""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked here")
def test_a_killed_worker_ends_the_command(tmp_path: Path) -> None:
    """One line, status 2; the old results remain, and nothing else."""
    table, _ = tiny_tables()
    inputs, outputs = tmp_path / "in", tmp_path / "out"
    inputs.mkdir()
    outputs.mkdir()
    pq.write_table(table, inputs / "rows.parquet")
    out = outputs / "out.parquet"
    out.write_text("old")
    seed = write_json(inputs / "seed.json", mood_seed())
    arguments = ["score", seed, "--rows", inputs / "rows.parquet", "--out", out, "--jobs", "2", "--backend", "module"]
    environment = {**os.environ, "TMPDIR": str(outputs)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, arguments)], capture_output=True, text=True, env=environment, check=False
    )  # fmt: skip
    message = "formulaseed: a process of --jobs was killed; fewer jobs need less memory\n"
    assert (done.returncode, done.stderr) == (2, message)
    assert (out.read_text(), [*outputs.iterdir()]) == ("old", [out])


@pytest.mark.parametrize(
    ("name", "jobs"), [("file/out.parquet", 1), ("file/out.parquet", 2), ("full.parquet", 1), ("full.csv", 2)]
)
@pytest.mark.thorough
def test_an_unwritable_output_is_one_message(name: str, jobs: int, tmp_path: Path) -> None:
    """A folder that is a file, and a full disk."""
    table, _ = tiny_tables(50_000)
    pq.write_table(table, tmp_path / "rows.parquet")
    (tmp_path / "file").write_text("")
    (tmp_path / "full.parquet").symlink_to("/dev/full")
    (tmp_path / "full.csv").symlink_to("/dev/full")
    seed = write_json(tmp_path / "seed.json", mood_seed())
    done = formulaseed("score", seed, "--rows", tmp_path / "rows.parquet", "--out", tmp_path / name, "--jobs", jobs)
    assert (done.status, "cannot write" in done.err, len(done.err.splitlines())) == (2, True, 1), done.err
