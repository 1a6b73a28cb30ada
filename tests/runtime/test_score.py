"""`score`: whole tables give what evaluation one by one gives, on every engine, faults and bad data included."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("duckdb", reason="the engine needs duckdb")

import formulaseed as library  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from formulaseed.errors import DataError, UnreadableError  # noqa: E402
from formulaseed.testing import contexts, parameters, rows, seeds  # noqa: E402
from helpers import (  # noqa: E402
    IS_DEEP,
    ROOT,
    SEEDS,
    TASKS,
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
from scoring import expected, results_of, tables_of  # noqa: E402

G1A = TASKS / "g1a_v2" / "seed.json"
REAL = ROOT.parent / "shared" / "data" / "g1a" / "rows.jsonl"
_MADE = settings(phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))


def several(data: st.DataObject, seed: library.FormulaSeed, most: int = 6, *, wild: bool = False) -> dict[str, Any]:
    drawn = st.lists(st.tuples(rows(seed, wild=wild), contexts(seed, wild=wild)), max_size=most)
    return {f"b{at:02}": found for at, found in enumerate(data.draw(drawn))}


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.parent.name)
def test_tables_give_what_evaluation_gives(path: Path) -> None:
    """Every task, over made restaurants: the same values and errors, also of every step."""
    seed = library.load_seed(path)

    @settings(_MADE, max_examples=200 if IS_DEEP else 4)
    @given(st.data())
    def compare(data: st.DataObject) -> None:
        found = several(data, seed)
        tables = tables_of(seed.program, found)
        for trace in (False, True):
            assert results_of(library.score(seed, *tables, trace=trace)) == expected(seed, found, trace=trace)

    compare()


@settings(_MADE, max_examples=5000 if IS_DEEP else 30)
@given(seeds(max_steps=8), st.data())
def test_random_seeds(seed: Any, data: st.DataObject) -> None:
    """Seeds of all kinds, and any values that they accept: the same values and errors."""
    loaded = library.load_seed(seed)
    assume(not any(each.path for each in loaded.program.context))  # a table has one column for a field
    found, given = several(data, loaded, 4, wild=True), data.draw(parameters(loaded))
    tables = tables_of(loaded.program, found)
    if loaded.program.context and not found:
        return  # there is no column to be found
    scored = library.score(loaded, *tables, parameters=given or None, trace=True)
    assert results_of(scored) == expected(loaded, found, given or None, trace=True)


@pytest.mark.skipif(not REAL.exists(), reason="the real data is not beside this checkout")
def test_real_restaurants(tmp_path: Path) -> None:
    """DuckDB and Python read the same lines of real restaurants, and give the same."""
    duck, plain = library.score(G1A, REAL), library.score(G1A, str(REAL), engine="python")
    assert results_of(duck) == results_of(plain)
    assert len(duck) == len(REAL.read_text().splitlines())


def tiny_tables(count: int = 3) -> tuple[Any, Any]:
    keys = [f"b{at}" for at in range(count) for _ in range(2)]
    lines = len(keys)
    found = {
        "business_id": keys, "position": [0, 1] * count, "mood": ["good", "bad"] * count,
        "score": [1] * lines, "stars": [5.0] * lines,
    }  # fmt: skip
    return pa.table(found), pa.table({"business_id": [f"b{at}" for at in range(count)]})


def changed(table: Any, name: str, at: int, value: Any) -> Any:
    values = table.column(name).to_pylist()
    values[at] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def seed_of_moods() -> dict[str, Any]:
    fields = [
        {"name": "mood", "type": "enum", "values": {"good": "x", "bad": "y"}, "description": "m"},
        {"name": "score", "type": "integer", "description": "s"},
    ]
    compute = [
        {"name": "GOOD", "op": "count", "where": {"extraction.mood": "good"}},
        {"name": "TOTAL", "op": "sum", "expr": "extraction.score + meta.stars"},
    ]
    extract = {"fields": fields}
    return {"task_name": "moods", "filter": {"keywords": []}, "extract": extract, "compute": compute,
            "output": ["GOOD", "TOTAL"]}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [("mood", None), ("mood", "God"), ("stars", None), ("stars", float("nan")), ("stars", float("inf")),
     ("stars", 1e101), ("score", None), ("score", -(2**63)), ("position", None), ("position", 0)],
)  # fmt: skip
def test_bad_data_fails_its_restaurant_only(name: str, value: Any) -> None:
    """A null, an unknown value, NaN, a number out of bounds or a duplicate order key: one line has the kind `data`."""
    table, found = tiny_tables()
    scored = results_of(library.score(seed_of_moods(), changed(table, name, 3, value), found))
    assert scored["b1"] == (None, "data")
    assert scored["b0"] == scored["b2"] != (None, "data")


def test_messages_are_those_of_the_module() -> None:
    """What is wrong with a value is said in the module's own words, with the row's place."""
    table, found = tiny_tables()
    message = library.score(seed_of_moods(), changed(table, "mood", 3, "God"), found).to_pylist()[1]["error_message"]
    assert message == "rows[1]: `extraction.mood` must be one of bad, good, not 'God'"


def test_restaurants_without_rows_and_rows_without_restaurants(tmp_path: Path) -> None:
    """The former are evaluated over no rows; the latter are counted, and nothing is written with --strict."""
    table, _ = tiny_tables()
    seed = write_json(tmp_path / "seed.json", seed_of_moods())
    pq.write_table(table, tmp_path / "rows.parquet")
    pq.write_table(pa.table({"business_id": ["b0", "b1", "new"]}), tmp_path / "contexts.parquet")
    given = ("score", seed, "--rows", tmp_path / "rows.parquet", "--contexts", tmp_path / "contexts.parquet", "--out")
    outcome = formulaseed(*given, tmp_path / "out.parquet")
    assert outcome.status == 0, outcome.err
    assert "3 restaurants, 0 failed; 2 rows without a restaurant" in outcome.err
    lines = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [(line["business_id"], line["GOOD"]) for line in lines] == [("b0", 1), ("b1", 1), ("new", 0)]
    refused = formulaseed(*given, tmp_path / "strict.parquet", "--strict")
    assert refused.status == 1
    assert not (tmp_path / "strict.parquet").exists()


def test_a_context_given_twice_fails_its_restaurant() -> None:
    """Two contexts of one restaurant are bad data: neither is chosen."""
    table, _ = tiny_tables()
    scored = library.score(seed_of_moods(), table, pa.table({"business_id": ["b0", "b0", "b1", "b2"]}))
    assert results_of(scored)["b0"] == (None, "data")
    assert len(scored) == 3


def test_columns_are_refused_before_anything_runs() -> None:
    """All missing and mistyped columns are named at once, with the nearest name."""
    table, found = tiny_tables()
    wrong = table.rename_columns(["business_id", "position", "modo", "score", "stars"])
    wrong = wrong.set_column(3, "score", pa.array(["1"] * 6))
    with pytest.raises(DataError) as caught:
        library.score(seed_of_moods(), wrong, found)
    assert "no column `mood`" in str(caught.value)
    assert "`modo`" in str(caught.value)
    assert "`score` of the rows must hold integers, not string" in str(caught.value)


def test_an_order_is_needed() -> None:
    """Without `position` and `review_id` the user names the column that orders the rows."""
    table, found = tiny_tables()
    with pytest.raises(DataError, match="--order-by"):
        library.score(seed_of_moods(), table.drop_columns(["position"]), found)


def test_files_of_all_formats_and_jobs_give_the_same(tmp_path: Path) -> None:
    """Parquet, CSV, JSON Lines and a database's tables, one process or two: the same bytes."""
    import duckdb

    table, found = tiny_tables(50)
    seed = write_json(tmp_path / "seed.json", seed_of_moods())
    shuffled = table.take(pa.array(sorted(range(100), key=lambda at: at * 37 % 101)))
    database = duckdb.connect(str(tmp_path / "shop.duckdb"))
    for name, each in (("rows", shuffled), ("contexts", found)):
        pq.write_table(each, tmp_path / f"{name}.parquet")
        database.register("given", each)
        database.sql(f"CREATE TABLE {name} AS SELECT * FROM given")
        database.sql(f"COPY {name} TO '{tmp_path / name}.csv'")
        database.sql(f"COPY {name} TO '{tmp_path / name}.jsonl' (FORMAT json)")
    database.close()
    made = []
    for ending, more in ((".parquet", ()), (".parquet", ("--jobs", 2)), (".csv", ()), (".jsonl", ()),
                         ("", ("--database", tmp_path / "shop.duckdb"))):  # fmt: skip
        names = [name if not ending else tmp_path / f"{name}{ending}" for name in ("rows", "contexts")]
        out = tmp_path / f"out{len(made)}.parquet"
        outcome = formulaseed("score", seed, "--rows", names[0], "--contexts", names[1], "--out", out, *more)
        assert outcome.status == 0, outcome.err
        made.append(out.read_bytes())
    assert len(set(made)) == 1


@pytest.mark.parametrize("engine", ["duckdb", "python"])
def test_nested_rows(tmp_path: Path, engine: str) -> None:
    """The JSON Lines of `extract` are read as they are; a failed restaurant gives status 3, and its line."""
    rows = write_lines(
        tmp_path / "rows.jsonl",
        tiny_rows("a", tiny_row("r1")),
        tiny_rows("b", tiny_row("r3")),
        tiny_rows("c", tiny_row("r2", mood="odd")),
    )
    seed, out = write_json(tmp_path / "seed.json", tiny_seed()), tmp_path / "out.jsonl"
    outcome = formulaseed("score", seed, "--rows", rows, "--engine", engine, "--out", out)
    assert outcome.status == 3
    assert "3 restaurants, 1 failed (1 data)" in outcome.err
    lines = {line["business_id"]: line for line in read_lines(out)}
    assert [line["error_kind"] for line in lines.values()] == [None, None, "data"]
    assert "`extraction.mood` must be one of" in lines["c"]["error_message"]


def test_python_needs_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine `python` writes JSON Lines where neither duckdb nor pyarrow is installed."""
    from formulaseed.cli.score import score

    for name in ("duckdb", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    rows = write_lines(tmp_path / "rows.jsonl", tiny_rows("a", tiny_row("r1")))
    seed, out = write_json(tmp_path / "seed.json", tiny_seed()), tmp_path / "out.jsonl"
    arguments = [str(seed), "--rows", str(rows), "--engine", "python", "--out", str(out)]
    with pytest.raises(SystemExit) as ended:
        score.main(arguments, standalone_mode=False)
    assert ended.value.code == 0
    assert read_lines(out)[0]["error_kind"] is None
    with pytest.raises(UnreadableError, match="formulaseed\\[duckdb\\]"):
        score.main([*arguments[:3], "--out", str(out)], standalone_mode=False)


def test_provenance(tmp_path: Path) -> None:
    """A Parquet file says what it was made with."""
    table, found = tiny_tables()
    known = json.loads(library.score(seed_of_moods(), table, found).schema.metadata[b"formulaseed"])
    assert {"seed_sha256", "seed_version", "parameters", "key", "order_by", "engine", "versions"} < {*known}
    assert known["order_by"] == "position"
    assert {*known["versions"]} == {"formulaseed", "duckdb", "pyarrow"}


def test_a_restaurant_may_span_batches() -> None:
    """One restaurant of more rows than a batch has gives what its rows give one by one."""
    count = 250_000
    table = pa.table({
        "business_id": pa.array(["a"] * 5 + ["b"] * count + ["c"] * 5), "position": pa.array(range(count + 10)),
        "mood": pa.array(["good"] * (count + 10)), "score": pa.array([1] * (count + 10)),
        "stars": pa.array([0.5] * (count + 10)),
    })  # fmt: skip
    lines = library.score(seed_of_moods(), table).to_pylist()
    assert [(line["GOOD"], line["TOTAL"]) for line in lines] == [(5, 7.5), (count, 1.5 * count), (5, 7.5)]
