"""`score`: whole tables give what the evaluator gives for each restaurant, errors and bad data included."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")
duckdb = pytest.importorskip("duckdb", reason="the engine needs duckdb")

import formulaseed as library  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from formulaseed.errors import DataError, UnreadableError  # noqa: E402
from formulaseed.testing import contexts, parameters, rows, seeds  # noqa: E402
from helpers import (  # noqa: E402
    IS_DEEP,
    ROOT,
    SEEDS,
    TASKS,
    command,
    formulaseed,
    read_lines,
    tiny_row,
    tiny_rows,
    tiny_seed,
    write_json,
    write_lines,
)
from hypothesis import HealthCheck, Phase, assume, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from scoring import build_tables, change_value, expected_results, mood_seed, read_results, tiny_tables  # noqa: E402

G1A = TASKS / "g1a_v2" / "seed.json"
REAL = ROOT.parent / "shared" / "data" / "g1a" / "rows.jsonl"
GENERATE = settings(phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))


def draw_restaurants(
    data: st.DataObject, seed: library.FormulaSeed, max_size: int, *, min_size: int = 0, wild: bool = False
) -> dict[str, Any]:
    records = st.lists(
        st.tuples(rows(seed, wild=wild), contexts(seed, wild=wild)), min_size=min_size, max_size=max_size
    )
    return {f"b{at:04}": record for at, record in enumerate(data.draw(records))}


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.parent.name)
@pytest.mark.thorough
def test_tables_give_the_values_of_the_evaluator(path: Path) -> None:
    """For every task, outputs and steps of generated restaurants, and their errors."""
    seed = library.load_seed(path)

    @settings(GENERATE, max_examples=200 if IS_DEEP else 4)
    @given(st.data())
    def compare(data: st.DataObject) -> None:
        restaurants = draw_restaurants(data, seed, 6)
        tables = build_tables(seed.program, restaurants)
        for trace in (False, True):
            results = read_results(library.score(seed, *tables, trace=trace))
            assert results == expected_results(seed, restaurants, trace=trace)

    compare()


@pytest.mark.thorough
@settings(GENERATE, max_examples=5000 if IS_DEEP else 30)
@given(seeds(max_steps=8), st.data())
def test_random_seeds(seed: Any, data: st.DataObject) -> None:
    """With values at the limits, and parameters."""
    loaded = library.load_seed(seed)
    assume(not any(field.path for field in loaded.program.context))  # a table has one column for a field
    restaurants = draw_restaurants(data, loaded, 4, min_size=bool(loaded.program.context), wild=True)
    chosen = data.draw(parameters(loaded)) or None
    tables = build_tables(loaded.program, restaurants)
    results = read_results(library.score(loaded, *tables, parameters=chosen, trace=True))
    assert results == expected_results(loaded, restaurants, chosen, trace=True)


@pytest.mark.skipif(not REAL.exists(), reason="the real data is not beside this checkout")
@pytest.mark.thorough
def test_real_restaurants() -> None:
    """DuckDB and Python give the same for lines of real restaurants."""
    duck, plain = library.score(G1A, REAL), library.score(G1A, str(REAL), engine="python")
    assert read_results(duck) == read_results(plain)
    assert len(duck) == len(REAL.read_text().splitlines())


@pytest.mark.parametrize(
    ("name", "value"),
    [("mood", None), ("mood", "God"), ("stars", None), ("stars", float("nan")), ("stars", float("inf")),
     ("stars", 1e101), ("score", None), ("score", -(2**63)), ("position", None), ("position", 0)],
)  # fmt: skip
@pytest.mark.thorough
def test_bad_data_fails_only_its_restaurant(name: str, value: Any) -> None:
    """A null, an unknown value, NaN, a number out of bounds or a duplicate order key, with the module's message."""
    table, places = tiny_tables()
    scored = library.score(mood_seed(), change_value(table, name, 3, value), places)
    results = read_results(scored)
    assert results["b1"] == (None, "data")
    assert results["b0"] == results["b2"] != (None, "data")
    if value == "God":
        message = "rows[1]: `extraction.mood` must be one of bad, good, not 'God'"
        assert scored.to_pylist()[1]["error_message"] == message


def test_two_contexts_of_a_restaurant_are_bad_data() -> None:
    table, _ = tiny_tables()
    results = read_results(library.score(mood_seed(), table, pa.table({"business_id": ["b0", "b0", "b1", "b2"]})))
    assert (results["b0"], len(results)) == ((None, "data"), 3)


def write_tables(folder: Path, *tables: Any, **options: Any) -> tuple[object, ...]:
    """Write rows, and contexts if there are any, as Parquet files; return the options of the command."""
    arguments: list[object] = []
    for name, table in zip(("rows", "contexts"), tables, strict=False):
        pq.write_table(table, folder / f"{name}.parquet", **options)
        arguments += [f"--{name}", folder / f"{name}.parquet"]
    return tuple(arguments)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_lines_without_a_counterpart_are_counted(jobs: int, tmp_path: Path) -> None:
    """Restaurants without rows are evaluated over none; rows without a restaurant, and lines without a key, are counted.

    With `--strict` nothing is written.
    """
    table, _ = tiny_tables()
    places = pa.table({"business_id": ["b0", "b1", "new", None]})
    tables = write_tables(tmp_path, change_value(table, "business_id", 1, None), places)
    seed, out = write_json(tmp_path / "seed.json", mood_seed()), tmp_path / "out.parquet"
    run = command if jobs == 1 else formulaseed
    done = run("score", seed, *tables, "--out", out, "--jobs", jobs)
    assert done.status == 0, done.err
    assert "3 restaurants, 0 failed; 3 rows without a restaurant; 1 context without a key" in done.err
    lines = [(line["business_id"], line["GOOD"]) for line in pq.read_table(out).to_pylist()]
    assert lines == [("b0", 1), ("b1", 1), ("new", 0)]
    refused = run("score", seed, *tables, "--out", tmp_path / "strict.parquet", "--strict", "--jobs", jobs)
    assert (refused.status, (tmp_path / "strict.parquet").exists()) == (1, False)


def test_all_columns_that_do_not_fit_are_reported_before_anything_runs() -> None:
    table, places = tiny_tables()
    wrong = table.rename_columns(["business_id", "position", "modo", "score", "stars"])
    with pytest.raises(DataError) as caught:
        library.score(mood_seed(), wrong.set_column(3, "score", pa.array(["1"] * 6)), places)
    message = str(caught.value)
    assert "no column `mood`" in message
    assert "`modo`" in message
    assert "`score` of the rows must hold integers, not string" in message
    with pytest.raises(DataError, match="--order-by"):
        library.score(mood_seed(), table.drop_columns(["position"]), places)


def test_formats_and_jobs_do_not_change_the_results(tmp_path: Path) -> None:
    """Parquet, CSV, JSON Lines and a database's tables, with one process or two: the same bytes."""
    table, places = tiny_tables(50)
    seed = write_json(tmp_path / "seed.json", mood_seed())
    shuffled = table.take(pa.array(sorted(range(100), key=lambda at: at * 37 % 101)))
    write_tables(tmp_path, shuffled, places)
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as database:
        for name in ("rows", "contexts"):
            database.sql(f"CREATE TABLE {name} AS SELECT * FROM '{tmp_path / name}.parquet'")
            database.sql(f"COPY {name} TO '{tmp_path / name}.csv'")
            database.sql(f"COPY {name} TO '{tmp_path / name}.jsonl' (FORMAT json)")
    outputs = set()
    for suffix, options in ((".parquet", ()), (".parquet", ("--jobs", 2)), (".csv", ()), (".jsonl", ()),
                            ("", ("--database", tmp_path / "shop.duckdb"))):  # fmt: skip
        paths = [name if not suffix else tmp_path / f"{name}{suffix}" for name in ("rows", "contexts")]
        out = tmp_path / "out.parquet"
        done = formulaseed("score", seed, "--rows", paths[0], "--contexts", paths[1], "--out", out, *options)
        assert done.status == 0, done.err
        outputs.add(out.read_bytes())
    assert len(outputs) == 1


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.thorough)])
@pytest.mark.thorough
def test_order_and_jobs_do_not_change_the_results(jobs: int, tmp_path: Path) -> None:
    """2,000 restaurants, sorted, shuffled, or unsorted only at the very end, give the same bytes."""
    table, places = tiny_tables(2_000)
    table = table.sort_by([("business_id", "ascending"), ("position", "ascending")])
    places = places.take(pa.array(range(1_999, -1, -1)))
    lines, last = list(range(len(table))), len(table) - 1
    shuffled = sorted(lines, key=lambda at: at * 7919 % 40_009)
    seed, out = write_json(tmp_path / "seed.json", mood_seed()), tmp_path / "out.parquet"
    outputs = set()
    for order in (lines, shuffled, [*lines[:5], *lines[6:], 5], [*lines[: last - 1], last, last - 1]):
        tables = write_tables(tmp_path, table.take(pa.array(order)), places, row_group_size=700)
        done = (command if jobs == 1 else formulaseed)("score", seed, *tables, "--out", out, "--jobs", jobs)
        assert done.status == 0, done.err
        outputs.add(out.read_bytes())
    assert len(outputs) == 1
    assert {(line["GOOD"], line["TOTAL"]) for line in pq.read_table(out).to_pylist()} == {(1, 12.0)}


@pytest.mark.parametrize("engine", ["duckdb", "python"])
def test_nested_rows(tmp_path: Path, engine: str) -> None:
    """The JSON Lines of `extract` are read as they are; a failed restaurant gives status 3, and its line."""
    lines = [tiny_rows(id, tiny_row("r", mood)) for id, mood in (("a", "good"), ("b", "good"), ("c", "odd"))]
    path = write_lines(tmp_path / "rows.jsonl", *lines)
    seed, out = write_json(tmp_path / "seed.json", tiny_seed()), tmp_path / "out.jsonl"
    done = formulaseed("score", seed, "--rows", path, "--engine", engine, "--out", out)
    assert done.status == 3
    assert "3 restaurants, 1 failed (1 data)" in done.err
    results = {line["business_id"]: line for line in read_lines(out)}
    assert [line["error_kind"] for line in results.values()] == [None, None, "data"]
    assert "`extraction.mood` must be one of" in results["c"]["error_message"]


def test_the_engine_python_needs_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from formulaseed.cli.score import score

    for name in ("duckdb", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    path = write_lines(tmp_path / "rows.jsonl", tiny_rows("a", tiny_row("r1")))
    seed, out = write_json(tmp_path / "seed.json", tiny_seed()), tmp_path / "out.jsonl"
    arguments = [str(seed), "--rows", str(path), "--out", str(out)]
    with pytest.raises(SystemExit) as ended:
        score.main([*arguments, "--engine", "python"], standalone_mode=False)
    assert (ended.value.code, read_lines(out)[0]["error_kind"]) == (0, None)
    with pytest.raises(UnreadableError, match="formulaseed\\[duckdb\\]"):
        score.main(arguments, standalone_mode=False)


def test_results_have_their_provenance() -> None:
    table, places = tiny_tables()
    known = json.loads(library.score(mood_seed(), table, places).schema.metadata[b"formulaseed"])
    assert {"seed_sha256", "seed_version", "parameters", "key", "order_by", "engine", "versions"} < {*known}
    assert known["order_by"] == "position"
    assert {*known["versions"]} == {"formulaseed", "duckdb", "pyarrow"}


def test_a_restaurant_may_span_batches() -> None:
    count = 250_000
    lines = count + 10
    table = pa.table({
        "business_id": ["a"] * 5 + ["b"] * count + ["c"] * 5, "position": range(lines), "mood": ["good"] * lines,
        "score": [1] * lines, "stars": [0.5] * lines,
    })  # fmt: skip
    results = library.score(mood_seed(), table).to_pylist()
    assert [(line["GOOD"], line["TOTAL"]) for line in results] == [(5, 7.5), (count, 1.5 * count), (5, 7.5)]
