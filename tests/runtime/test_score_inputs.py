"""`score`: what may be a table, how tables are cut into batches, and what is refused before anything runs."""

from __future__ import annotations

import datetime
import json
from collections import Counter
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
from helpers import command, formulaseed, write_json  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from test_score import changed, seed_of_moods, tiny_tables  # noqa: E402

PLAN = Plan(
    "business_id", "position",
    (TableField("mood", "extraction", "enum", "r0", ("good", "bad")), TableField("score", "extraction", "integer", "r1"),
     TableField("stars", "meta", "number", "r2")),
    (), True, (("GOOD", "integer"), ("TOTAL", "number")),
)  # fmt: skip


def frames(table: Any) -> dict[str, Any]:
    found = {
        "reader": table.to_reader(),
        "batch": table.combine_chunks().to_batches()[0],
        "relation": duckdb.connect().from_arrow(table),
    }
    for name in ("pandas", "polars"):
        try:
            __import__(name)
        except ImportError:
            continue
        found[name] = table.to_pandas() if name == "pandas" else __import__("polars").from_arrow(table)
    return found


def test_frames_readers_and_relations() -> None:
    """Whatever holds the rows, and the contexts: the results are those of the Arrow tables."""
    rows, contexts = tiny_tables()
    rows = rows.set_column(2, "mood", rows.column("mood").dictionary_encode())
    expected = library.score(seed_of_moods(), rows, contexts)
    for name, frame in frames(rows).items():
        assert library.score(seed_of_moods(), frame, frames(contexts)[name]).equals(expected), name
    connection = duckdb.connect()  # both are relations of one connection, which has one result at a time
    both = connection.from_arrow(rows), connection.from_arrow(contexts)
    assert library.score(seed_of_moods(), *both).equals(expected)


@pytest.mark.parametrize("jobs", [1, 2])
def test_order_of_rows_and_number_of_processes_do_not_matter(jobs: int, tmp_path: Path) -> None:
    """20,000 restaurants: sorted, shuffled, or unsorted at the very end alone, the results are the same bytes."""
    table, contexts = tiny_tables(20_000)
    table = table.sort_by([("business_id", "ascending"), ("position", "ascending")])
    last, lines = len(table) - 1, range(len(table))
    orders = {
        "sorted": lines,
        "shuffled": sorted(lines, key=lambda at: at * 7919 % 40_009),
        "late": [*lines[:5], *lines[6:], 5],
        "within": [*lines[:last - 1], last, last - 1],
    }  # fmt: skip
    seed, made = write_json(tmp_path / "seed.json", seed_of_moods()), {}
    pq.write_table(contexts.take(pa.array(range(19_999, -1, -1))), tmp_path / "contexts.parquet")
    for name, order in orders.items():
        pq.write_table(table.take(pa.array(order)), tmp_path / "rows.parquet", row_group_size=9_000)
        names = ("--rows", tmp_path / "rows.parquet", "--contexts", tmp_path / "contexts.parquet")
        outcome = (command if jobs == 1 else formulaseed)(
            "score", seed, *names, "--out", tmp_path / "out.parquet", "--jobs", jobs
        )
        assert outcome.status == 0, outcome.err
        assert "20,000 restaurants, 0 failed" in outcome.err
        made[name] = (tmp_path / "out.parquet").read_bytes()
    assert len({*made.values()}) == 1


@given(st.lists(st.integers(0, 6), max_size=30), st.lists(st.integers(0, 8), max_size=12), st.data())
def test_batches_may_be_cut_anywhere(rows: list[int], contexts: list[int], data: st.DataObject) -> None:
    """Sorted lines in any batches give the results, and the counts, of the lines in one batch."""
    rows, contexts = sorted(rows), sorted(contexts)
    columns = {"key": pa.array(rows, pa.int64()), "order_key": pa.array(range(len(rows)), pa.int64())}
    columns |= {"r0": pa.array(["good", "odd", "good"] * len(rows), pa.string()).slice(0, len(rows))}
    columns |= {"r1": pa.array(rows, pa.int64()), "r2": pa.array(rows, pa.float64())}
    lines, known = pa.record_batch(columns), pa.record_batch({"key": pa.array(contexts, pa.int64())})
    module = library.load_evaluator(seed_of_moods()).module

    def results(*cuts: list[int]) -> tuple[list[Any], Counter[str]]:
        counts, scorer = Counter[str](), Scorer(module, PLAN)
        parts = [
            [each.slice(start, end - start) for start, end in zip([0, *cut], [*cut, each.num_rows], strict=True)]
            for each, cut in zip((lines, known), cuts, strict=True)
        ]
        empty = build_chunk([lines.slice(0, 0)])._replace(contexts=known.slice(0, 0))
        chunks = join_contexts(cut_chunks(parts[0], counts), parts[1], counts, empty)
        return [line for chunk in chunks for line in scorer.score(chunk, counts).to_pylist()], counts

    whole = results([], [])
    cuts = [sorted(data.draw(st.lists(st.integers(0, each.num_rows), max_size=6))) for each in (lines, known)]
    assert results(*cuts) == whole
    assert [line["business_id"] for line in whole[0]] == sorted({*contexts})
    assert whole[1]["orphans"] == sum(key not in contexts for key in rows)


def test_unsorted_batches_are_noticed() -> None:
    """Keys that fall, within a batch or between two, and rows of a restaurant that are not in order."""
    module = library.load_evaluator(seed_of_moods()).module

    def scored(*batches: tuple[list[str], list[int]]) -> list[Any]:
        found = [
            pa.record_batch({"key": keys, "order_key": orders, "r0": ["good"] * len(keys), "r1": orders, "r2": [1.0] * len(keys)})
            for keys, orders in batches
        ]  # fmt: skip
        return [Scorer(module, PLAN).score(chunk, Counter()) for chunk in cut_chunks(found, Counter())]

    assert len(scored((["a", "b"], [0, 0]), (["b", "c"], [1, 0]))) == 3
    for wrong in ([(["b", "a"], [0, 0])], [(["b"], [0]), (["a"], [0])], [(["a", "b", "a"], [0, 0, 1])],
                  [(["a", "a"], [1, 0])], [(["a"], [1]), (["a"], [0])]):  # fmt: skip
        with pytest.raises(UnsortedError):
            scored(*wrong)


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [
        ("business_id", [{"a": 1}] * 6, "cannot name restaurants: it holds struct"),
        ("business_id", [1.0] * 6, "cannot name restaurants: it holds number"),
        ("position", [[1]] * 6, "cannot order rows: it holds BIGINT[]"),
        ("mood", [1] * 6, "`mood` of the rows must hold strings, not integer"),
        ("stars", [datetime.datetime(2020, 1, 1)] * 6, "`stars` of the rows must hold numbers, not time"),
        ("score", [True] * 6, "`score` of the rows must hold integers, not boolean"),
    ],
)
def test_columns_of_other_types_are_refused(name: str, column: list[Any], expected: str) -> None:
    """A column that holds something else is named, with what it holds."""
    table, _ = tiny_tables()
    with pytest.raises(DataError) as caught:
        library.score(seed_of_moods(), table.set_column(table.column_names.index(name), name, pa.array(column)))
    assert expected in str(caught.value)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    """No file, no Parquet, drifting columns, a folder in the way, results in place of the rows: one line, status 2."""
    table, _ = tiny_tables()
    seed, rows = write_json(tmp_path / "seed.json", seed_of_moods()), tmp_path / "rows.parquet"
    pq.write_table(table, rows)
    (tmp_path / "text.parquet").write_text("hello")
    (tmp_path / "drift").mkdir()
    (tmp_path / "folder.parquet").mkdir()
    for at, found in enumerate((table, table.drop_columns(["stars"]))):
        pq.write_table(found, tmp_path / "drift" / f"{at}.parquet")
    out = tmp_path / "out.parquet"
    for given_, target in ((tmp_path / "none*.parquet", out), (tmp_path / "text.parquet", out), (tmp_path / "drift", out),
                           (rows, tmp_path / "folder.parquet"), (rows, rows),
                           (tmp_path / "ro*.parquet", rows)):  # fmt: skip
        outcome = command("score", seed, "--rows", given_, "--out", target)
        assert outcome.status == 2, outcome.err
        assert len(outcome.err.splitlines()) == 1
        assert not out.exists()
    assert pq.read_table(rows).equals(table)
    with pytest.raises(UnreadableError, match="ends in"):
        library.score(seed_of_moods(), str(tmp_path / "seed.txt"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_lines_without_a_key_are_counted(jobs: int, tmp_path: Path) -> None:
    """Rows and contexts without a key are in no result, and in the last line."""
    table, contexts = tiny_tables()
    pq.write_table(changed(table, "business_id", 1, None), tmp_path / "rows.parquet")
    pq.write_table(changed(contexts, "business_id", 1, None), tmp_path / "contexts.parquet")
    seed, out = write_json(tmp_path / "seed.json", seed_of_moods()), tmp_path / "out.jsonl"
    names = ("--rows", tmp_path / "rows.parquet", "--contexts", tmp_path / "contexts.parquet")
    outcome = (command if jobs == 1 else formulaseed)("score", seed, *names, "--out", out, "--jobs", jobs)
    assert "2 restaurants, 0 failed; 3 rows without a restaurant; 1 context without a key" in outcome.err
    assert [json.loads(line)["GOOD"] for line in out.read_text().splitlines()] == [1, 1]


def test_an_empty_context_and_odd_names() -> None:
    """A context without any field, names with quotes, and columns that nothing reads are no hindrance."""
    table, _ = tiny_tables()
    nested = [{"business_id": "a", "context": {}, "rows": [
        {"extraction": {"mood": "good", "score": 1}, "meta": {"stars": 1.5}}]}]  # fmt: skip
    assert library.score(seed_of_moods(), pa.Table.from_pylist(nested)).to_pylist()[0]["TOTAL"] == 2.5
    odd = table.append_column('a "b"; DROP TABLE c', pa.array([1] * 6))
    assert library.score(seed_of_moods(), odd).equals(library.score(seed_of_moods(), table))
