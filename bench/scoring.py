"""Whole tables from Parquet to Parquet, against a hand-written loop over dictionaries that are in memory already."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from formulaseed import FormulaSeed, load_evaluator, load_seed
from formulaseed.data.scored import write_batches
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.scoring import ScoredBatches, score_tables
from formulaseed.runtime.tables import ScoreOptions
from hand_written import hand_merged
from measure import Process, run_apart, shortest
from tables import Line, table

SEED = Path(__file__).resolve().parents[1] / "tasks" / "g1a_v2" / "seed.json"
RESTAURANTS, ROWS = 100_000, 23
LONG = 1_000_000
ROUNDS = 5
SPARK_ROUNDS = 8
START, START_FROM_ENUMS = "start-up of a query", "start-up of a query, ENUM columns"
BY_QUERY, BY_QUERY_FROM_ENUMS = "by a query, start-up aside", "by a query, start-up aside, ENUM columns"
AIMS = {"one job": "1.2", BY_QUERY: "0.5", BY_QUERY_FROM_ENUMS: "0.4", "the committed query": "0.5"}
QUERY = Path(__file__).resolve().parents[1] / "generated" / "sql" / "g1a_v2.duckdb.sql"
ENUMS = {
    "incident_severity": "CASE WHEN h < 75 THEN 'mild' WHEN h < 120 THEN 'moderate' WHEN h < 150 THEN 'severe'"
    " WHEN h < 915 THEN 'none' WHEN h < 970 THEN 'mild' ELSE 'severe' END",
    "account_type": "CASE WHEN h < 150 THEN 'firsthand' WHEN g % 10 < 7 THEN 'none' WHEN g % 10 < 8 THEN 'secondhand'"
    " ELSE 'hypothetical' END",
    "safety_interaction": "CASE WHEN g // 97 % 20 < 14 THEN 'none' WHEN g // 97 % 20 < 17 THEN 'positive'"
    " WHEN g // 97 % 20 < 19 THEN 'negative' ELSE 'betrayal' END",
}
"""As in `data.rows_of`: about 15 in 100 reviews tell of an incident at first hand."""
KINDS = (
    "['Thai', 'Vietnamese', 'Chinese', 'Indian', 'Mexican', 'Italian', 'American', 'Pizza', 'Bars', 'Cafes', 'Burgers']"
)


def report() -> str:
    """Measure whole tables on each engine, and return the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sorted_, shuffled = (make(folder / kind, RESTAURANTS, ROWS, kind) for kind in ("sorted", "shuffled"))
        one, spread = make(folder / "one", 1, LONG), make(folder / "spread", LONG // ROWS, ROWS)
        large = make(folder / "large", LONG, ROWS)
        hand = _hand_written(sorted_)
        database = make_database(sorted_)
        tiny = make(folder / "tiny", 1, 1)
        calls = {
            "the hand-written loop": hand,
            "one job": partial(_scored, sorted_, "module"),
            "one job, rows shuffled": partial(_scored, shuffled, "module"),
            BY_QUERY: partial(_scored, sorted_, "sql"),
            "by a query, start-up aside, rows shuffled": partial(_scored, shuffled, "sql"),
            BY_QUERY_FROM_ENUMS: partial(_scored, database, "sql"),
            "the committed query": partial(_run_query, sorted_),
            START: partial(_scored, tiny, "sql"),
            START_FROM_ENUMS: partial(_scored, make_database(tiny), "sql"),
        }
        seconds = shortest(calls, rounds=ROUNDS, sample=0.0)
        query_start, enum_start = seconds.pop(START), seconds.pop(START_FROM_ENUMS)
        for name in seconds:
            if name.startswith("by a query"):
                seconds[name] -= enum_start if name == BY_QUERY_FROM_ENUMS else query_start
        skewed = shortest({each: partial(_scored, each, "module") for each in (one, spread)}, rounds=ROUNDS, sample=0.0)
        walls = {jobs: min(_run(sorted_, jobs).wall for _ in range(3)) for jobs in (1, 2)}
        started = min(_run(tiny, 1).wall for _ in range(3))
        base = _wall(hand)
        peak = _run(large, 1)
        query_peak = _run(large, 1, "sql", "1GB")
        spark = _spark(sorted_)
    lines = [Line(name, (f"{value:.2f}", f"{value / seconds['the hand-written loop']:.2f}"),
                  AIMS.get(name, "")) for name, value in seconds.items()]  # fmt: skip
    lines += [
        Line(f"wall: {jobs} job{'s'[:jobs > 1]}, start-up aside", (f"{walls[jobs] - started:.2f}",
             f"{(walls[jobs] - started) / base:.2f}"), "1.0" if jobs > 1 else "") for jobs in walls
    ]  # fmt: skip
    lines.append(Line(f"one restaurant of {LONG:,} rows, against restaurants of {ROWS}",
                      (f"{skewed[one]:.2f}", f"{skewed[one] / skewed[spread]:.2f}"), "1.5"))  # fmt: skip
    for name, wall, aim in zip(("Spark local[2], against one job", "Spark alone, which evaluates nothing"), spark, ("2.5", ""),
                               strict=False):  # fmt: skip
        lines.append(Line(f"wall: {name}", (f"{wall:.2f}", f"{wall / (walls[1] - started):.2f}"), aim))
    notes = [
        f"{RESTAURANTS:,} restaurants, {ROWS} rows each. Wall: the loop {base:.2f} s, the start of the command {started:.2f} s.",
        f"{LONG:,} restaurants, {ROWS} rows each: {peak.wall:.0f} s, {peak.memory / 2**30:.2f} GB at most (aim 2).",
        f"Start-up of a query, which checks its text and opens DuckDB: {query_start:.2f} s of CPU, or {enum_start:.2f} s.",
        f"The same by a query: {query_peak.cpu:.1f} s of CPU, {query_peak.memory / 2**30:.2f} GB at most (aims 10 s, 1 GB).",
    ]
    return table("Whole tables, Parquet to Parquet, CPU seconds", ["seconds", "ratio"], lines, notes)


def make(folder: Path, restaurants: int, rows: int, kind: str = "sorted") -> Path:
    """Make both tables, the same at every run, and return their folder."""
    import duckdb

    folder.mkdir()
    by, by_key = (
        ("hash(business_id, position)",) * 2 if kind == "shuffled" else ("business_id, position", "business_id")
    )
    enums = ", ".join(f"{text} AS {name}" for name, text in ENUMS.items())
    kinds = ", ".join(f"{KINDS}[1 + (hash(business_id, {at}) % 11)::INTEGER]" for at in range(3))
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")  # it would be in the report
        keys = f"SELECT md5(i::VARCHAR)[:22] AS business_id, 0 AS position FROM range({restaurants}) t(i)"
        connection.execute(f"CREATE TABLE keys AS {keys}")
        drawn = (
            "SELECT business_id, p::INTEGER AS position, hash(business_id, p, 7) % 1000 AS h, hash(business_id, p) AS g"
            f" FROM keys, range({rows}) r(p)"
        )
        connection.execute(
            f"COPY (SELECT business_id, position, {enums}, (1 + g // 1013 % 5)::DOUBLE AS stars, (g // 7919 % 13)::INTEGER AS"
            f" useful, (2010 + g // 104729 % 16)::INTEGER AS year FROM ({drawn}) ORDER BY {by}) TO '{folder}/rows.parquet'"
        )
        connection.execute(
            f"COPY (SELECT business_id, concat_ws(', ', {kinds}) AS categories FROM keys ORDER BY {by_key})"
            f" TO '{folder}/contexts.parquet'"
        )
    return folder


def _hand_written(folder: Path) -> Any:
    """The loop over dictionaries of all rows, which stay in memory."""
    import duckdb

    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT * FROM '{folder}/rows.parquet'").fetchall()
        known = connection.execute(f"SELECT categories FROM '{folder}/contexts.parquet'").fetchall()
    words = {word: sys.intern(word) for line in found[:10_000] for word in line[2:5]}
    rows = [
        {
            "extraction": dict(zip(ENUMS, map(words.__getitem__, line[2:5]), strict=True)),
            "meta": dict(zip(("stars", "useful", "year"), line[5:], strict=True)),
        }
        for line in found
    ]
    grouped = [rows[at : at + ROWS] for at in range(0, len(rows), ROWS)]
    contexts = [{"categories": line[0]} for line in known]
    gc.collect()
    gc.freeze()  # the collector goes through none of them, as it does not in `score`
    return lambda: [hand_merged(each, context) for each, context in zip(grouped, contexts, strict=True)]


def make_database(folder: Path) -> Path:
    """Make a database of a folder's tables, in which the enums of rows have the type ENUM; return its path."""
    import duckdb

    path = folder / "tables.duckdb"
    with duckdb.connect(str(path)) as connection:
        chosen = []
        for name in ENUMS:
            connection.execute(f"CREATE TYPE {name} AS ENUM (SELECT DISTINCT {name} FROM '{folder}/rows.parquet')")
            chosen.append(f"{name}::{name} AS {name}")
        connection.execute(f"CREATE TABLE rows AS SELECT * REPLACE ({', '.join(chosen)}) FROM '{folder}/rows.parquet'")
        connection.execute(f"CREATE TABLE contexts AS SELECT * FROM '{folder}/contexts.parquet'")
    return path


@cache
def _load() -> tuple[FormulaSeed, Evaluator]:
    """Return the seed and its module, compiled once."""
    seed = load_seed(SEED)
    return seed, load_evaluator(seed)


def _scored(folder: Path, backend: Any) -> None:
    """Score the tables of a folder, or those of a database."""
    names = (str(folder / "rows.parquet"), str(folder / "contexts.parquet"))
    database = None
    if folder.suffix:
        names, database, folder = ("rows", "contexts"), str(folder), folder.parent

    def write(results: ScoredBatches) -> None:
        write_batches(str(folder / "results.parquet"), results.batches, results.schema)

    score_tables(*_load(), *names, ScoreOptions(database=database, backend=backend), write)


def _run_query(folder: Path) -> None:
    """Run the committed query over the tables of a folder, without checks of keys and order of results."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        for name in ("rows", "contexts"):
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{folder}/{name}.parquet'")
        connection.execute(f"COPY ({QUERY.read_text()}) TO '{folder}/results.parquet'")


def _wall(call: Any) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _run(folder: Path, jobs: int, backend: str = "module", memory: str = "4GB") -> Process:
    """The command over the folder's tables."""
    tables = (
        "--rows",
        folder / "rows.parquet",
        "--contexts",
        folder / "contexts.parquet",
        "--out",
        folder / "out.parquet",
    )
    return run_apart([sys.executable, "-m", "formulaseed", "score", SEED, *tables, "--jobs", jobs, "--backend", backend,
                      "--memory", memory])  # fmt: skip


def _spark(folder: Path) -> list[float]:
    """Wall seconds on two threads of Spark: of `score`, and of what Spark does for it; nothing where it is not installed."""
    if find_spec("pyspark") is None or shutil.which("java") is None:
        return []
    done = subprocess.run([sys.executable, __file__, folder], capture_output=True, text=True, check=True)
    return [float(seconds) for seconds in done.stdout.split()[-2:]]


def _sessions(folder: Path) -> Iterator[float]:
    """Each the shortest of several times in one session, after Java has compiled what it runs often."""
    from formulaseed.runtime import spark
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "2"}
    session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    shipped: Any = spark._send_partition_function
    for run in (shipped, lambda *_: _taken):
        spark._send_partition_function = run
        walls = []
        for _ in range(SPARK_ROUNDS):
            tables = (spark.read(session, str(folder / name)) for name in ("rows.parquet", "contexts.parquet"))
            results = spark.score(SEED, *tables)
            walls.append(_wall(lambda results=results: results.write.mode("overwrite").parquet(str(folder / "spark"))))  # type: ignore[misc]
        yield min(walls)
    session.stop()


def _taken(batches: Iterator[Any]) -> Iterator[Any]:
    """Take the sorted lines that `score` would evaluate."""
    for _ in batches:
        pass
    yield from ()


if __name__ == "__main__":
    print(*_sessions(Path(sys.argv[1])))
