"""`score --backend sql` gives the table that the module gives, messages included, and says how much it handed back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")
duckdb = pytest.importorskip("duckdb", reason="the engine needs duckdb")
pytest.importorskip("sqlglot", reason="queries are parsed again")

import formulaseed as library  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from formulaseed.errors import DataError  # noqa: E402
from formulaseed.runtime import queries  # noqa: E402
from formulaseed.testing import contexts, parameters, rows, seeds  # noqa: E402
from helpers import IS_DEEP, SEEDS, TASKS, command, write_json  # noqa: E402
from hypothesis import HealthCheck, Phase, assume, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from scoring import build_tables, change_value, mood_seed, tiny_tables  # noqa: E402

pytestmark = pytest.mark.thorough

GENERATE = settings(phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))


def score_both_ways(seed: Any, *tables: Any, **options: Any) -> Any:
    """Return the results of the query, which are those of the module."""
    by_query = library.score(seed, *tables, backend="sql", **options)
    by_module = library.score(seed, *tables, backend="module", **options)
    assert by_query.schema.equals(by_module.schema)
    assert by_query.to_pylist() == by_module.to_pylist()
    return by_query


@settings(GENERATE, max_examples=1000 if IS_DEEP else 50)
@given(seeds(max_steps=6), st.data())
def test_random_seeds(seed: Any, data: st.DataObject) -> None:
    """Rows are in structs, with nulls, defaults and dates."""
    loaded = library.load_seed(seed)
    assume(not any(field.path for field in loaded.program.context))
    records = st.tuples(rows(loaded, wild=data.draw(st.booleans())), contexts(loaded))
    restaurants = {f"b{at}": record for at, record in enumerate(data.draw(st.lists(records, min_size=1, max_size=5)))}
    tables = build_tables(loaded.program, restaurants)
    evaluator = library.load_evaluator(loaded)
    assume(not queries.find_obstacle(loaded, evaluator, queries.ScoreOptions()))
    assume(not any(field.name == "date" for _, field in loaded.program.row_fields()))
    score_both_ways(loaded, *tables, parameters=data.draw(parameters(loaded)) or None)


@pytest.mark.parametrize("path", [p if p.parent.name == "g1a_v2" else pytest.param(p, marks=pytest.mark.thorough) for p in SEEDS],
                         ids=lambda path: path.parent.name)  # fmt: skip
def test_tasks(path: Path) -> None:
    seed = library.load_seed(path)
    if any(field.name == "date" for _, field in seed.program.row_fields()):
        pytest.skip("a step reads the date itself")

    @settings(GENERATE, max_examples=30 if IS_DEEP else 2)
    @given(st.lists(st.tuples(rows(seed), contexts(seed)), min_size=1, max_size=6))
    def check(records: list[Any]) -> None:
        score_both_ways(seed, *build_tables(seed.program, {f"b{at}": record for at, record in enumerate(records)}))

    check()


@pytest.mark.parametrize(
    ("name", "value"),
    [("mood", None), ("mood", "God"), ("stars", None), ("stars", float("nan")), ("stars", float("inf")),
     ("stars", 1e101), ("score", None), ("score", -(2**63)), ("score", 2**60), ("position", None), ("position", 0),
     ("business_id", None), ("business_id", "nobody")],
)  # fmt: skip
def test_bad_data_has_the_messages_of_the_module(name: str, value: Any) -> None:
    table, places = tiny_tables()
    score_both_ways(mood_seed(), change_value(table, name, 3, value), places)


@pytest.mark.parametrize(
    "moods",
    [["bad", "good"] * 3, ["good"] * 6, ["good", "x", "bad", None, "y", "good"], pa.array([None] * 6, pa.string())],
    ids=str,
)
def test_enums_of_another_type(moods: Any) -> None:
    """Columns of the type ENUM whose values are fewer, more, or in another order than those of the seed."""
    table, places = tiny_tables()
    at = table.column_names.index("mood")
    score_both_ways(mood_seed(), table.set_column(at, "mood", pa.array(moods).dictionary_encode()), places)


@pytest.mark.parametrize("scores", [pa.array([1, 2, 3, 4, 5, 6], pa.int8()), pa.array([1, 2, 3, 4, 5, 2**63], pa.uint64()),
                                    pa.array([1.0, 2.5, 3.0, 4.0, 1e300, float("nan")])], ids=str)  # fmt: skip
def test_integers_of_any_type(scores: Any) -> None:
    """A number with decimals is no integer, and fails its restaurant as it does for the module."""
    table, places = tiny_tables()
    at = table.column_names.index("score")
    score_both_ways(mood_seed(), table.set_column(at, "score", scores), places)


@pytest.mark.parametrize(
    "dates",
    [["2020-02-29", "2021-01-01T10:00:00Z", None, "2020-02-30", "2020-1-1", "20200101"],
     pa.array([18_000, 19_000, None, 10, -800_000, 20_000], pa.date32()),
     pa.array([0, 1, None, 2**40, -(2**40), 5], pa.timestamp("ms"))],
)  # fmt: skip
def test_years_from_dates(dates: Any) -> None:
    """Strings in other forms than YYYY-MM-DD are handed back; a year that is not that of the date is a fault."""
    compute = [
        {"name": "YEAR", "op": "max", "field": "meta.year", "default": 0},
        {"name": "M", "op": "sum", "expr": "meta.month"},
    ]
    seed = {"task_name": "T", "extract": {"fields": []}, "compute": compute, "output": ["YEAR", "M"]}
    table = pa.table({"business_id": [f"b{at}" for at in range(6)], "position": [0] * 6, "date": dates})
    score_both_ways(seed, table)
    score_both_ways(seed, table.append_column("year", pa.array([2020, None, 2019, 2020, 2020, 2020])))


def write_tables(folder: Path, count: int = 40) -> tuple[Path, list[object]]:
    table, places = tiny_tables(count)
    pq.write_table(change_value(table, "score", 3, 2**60), folder / "rows.parquet")
    pq.write_table(places, folder / "contexts.parquet")
    arguments = ["--rows", folder / "rows.parquet", "--contexts", folder / "contexts.parquet"]
    return write_json(folder / "seed.json", mood_seed()), arguments


def test_the_command_counts_what_was_handed_back(tmp_path: Path) -> None:
    seed, tables = write_tables(tmp_path)
    outputs = set()
    handed = "; 1 handed back to the module\n"
    for options, end in (
        (("--backend", "sql"), handed), ((), handed), (("--jobs", 2), handed), (("--backend", "module"), " 0 failed\n"),
    ):  # fmt: skip
        out = tmp_path / "out.parquet"
        done = command("score", seed, *tables, "--out", out, *options)
        assert done.status == 0
        assert done.err.endswith(end)
        # One restaurant of 40 is more than 1 %.
        assert ("warning[FS706]" in done.err) is (end == handed)
        outputs.add(out.read_bytes())
    assert len(outputs) == 1


def test_a_query_says_why_it_cannot(tmp_path: Path) -> None:
    seed, tables = write_tables(tmp_path)
    reasons = {
        ("--trace",): "rows behind each value", ("--duplicates", "first"): "--duplicates", ("--fingerprint",): "--fingerprint",
        ("--order-by", "stars"): "no integers, strings or dates",
    }  # fmt: skip
    for options, reason in reasons.items():
        done = command("score", seed, *tables, "--out", tmp_path / "out.parquet", "--backend", "sql", *options)
        assert (done.status, reason in done.err) == (1, True), done.err
        done = command("score", seed, *tables, "--out", tmp_path / "out.parquet", *options)
        assert "handed back" not in done.err
    with pytest.raises(DataError, match="read only once"):
        library.score(mood_seed(), tiny_tables()[0].to_reader(), backend="sql")


def test_shuffled_rows_and_threads_give_the_same_bytes(tmp_path: Path) -> None:
    """20,000 restaurants with sums of decimals, sorted and shuffled, on one thread and two, three times."""
    keys = [f"b{at % 20_000:05}" for at in range(100_000)]
    table = pa.table(
        {"business_id": keys, "position": [at // 20_000 for at in range(100_000)], "mood": ["good"] * 100_000,
         "score": [at % 7 for at in range(100_000)], "stars": [0.1 * (at % 11) for at in range(100_000)]}
    )  # fmt: skip
    shuffled = table.take(pa.array(sorted(range(len(table)), key=lambda at: at * 7919 % 100_003)))
    seed = write_json(tmp_path / "seed.json", mood_seed())
    outputs = set()
    for number, (rows_table, jobs) in enumerate(((table, 1), (shuffled, 1), (shuffled, 2))):
        pq.write_table(rows_table, tmp_path / "rows.parquet", row_group_size=5_000)
        for _ in range(3 if number else 1):
            out = tmp_path / "out.parquet"
            done = command(
                "score", seed, "--rows", tmp_path / "rows.parquet", "--out", out, "--jobs", jobs, "--backend", "sql"
            )
            assert done.status == 0
            outputs.add(out.read_bytes())
    assert len(outputs) == 1
    expected = library.score(mood_seed(), table, backend="module").column("TOTAL").to_pylist()
    assert pq.read_table(out).column("TOTAL").to_pylist() == expected


def test_g1a_is_scored_by_its_query() -> None:
    """Without a reason to use the module."""
    seed = library.load_seed(TASKS / "g1a_v2" / "seed.json")
    assert queries.find_obstacle(seed, library.load_evaluator(seed), queries.ScoreOptions()) == ""
