"""Queries in the dialect of Spark SQL on real Spark, in one session; skipped if pyspark or Java is missing."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("sqlglot", reason="queries are parsed again")
pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'formulaseed[spark]'")
if shutil.which("java") is None:
    pytest.skip("Spark needs a Java runtime, and there is none", allow_module_level=True)
warnings.simplefilter("ignore")

from formulaseed import load_seed  # noqa: E402
from formulaseed.backends.sql.dialects import SPARK  # noqa: E402
from formulaseed.backends.sql.target import SqlBackend  # noqa: E402
from formulaseed.testing import contexts, parameters, rows, seeds  # noqa: E402
from helpers import IS_DEEP, SEEDS  # noqa: E402
from hypothesis import HealthCheck, Phase, assume, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from sql_queries import evaluate_restaurants, find_wrong, flat_tables, read_query_results, write_query  # noqa: E402

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("spark")]
GENERATE = settings(phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
BACKEND = SqlBackend().configure({"dialect": "spark"})


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[2]")
        for name, value in (("ui.enabled", "false"), ("driver.host", "127.0.0.1"), ("sql.shuffle.partitions", "2")):
            builder = builder.config(f"spark.{name}", value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


def run_on_spark(spark: Any, seed: Any, restaurants: Any, chosen: Any = None) -> dict[str, Any]:
    for name, table in zip(("rows", "contexts"), flat_tables(seed, restaurants), strict=True):
        spark.createDataFrame(table).createOrReplaceTempView(name)
    return read_query_results(spark.sql(write_query(seed, chosen, SPARK, steps=True)).toArrow())


def compare(spark: Any, seed: Any, data: st.DataObject, *, wild: bool) -> None:
    records = st.lists(st.tuples(rows(seed, wild=wild), contexts(seed, wild=wild)), min_size=1, max_size=6)
    restaurants = {f"b{at}": record for at, record in enumerate(data.draw(records))}
    chosen = data.draw(parameters(seed))
    results = run_on_spark(spark, seed, restaurants, chosen)
    assert not find_wrong(results, evaluate_restaurants(seed, restaurants, chosen)), seed.data


def test_random_seeds(spark: Any) -> None:
    """Seeds with functions that Spark computes with other bits are refused, and left out here."""

    @settings(GENERATE, max_examples=400 if IS_DEEP else 40)
    @given(seeds(max_steps=6), st.data())
    def check(seed: Any, data: st.DataObject) -> None:
        loaded = load_seed(seed)
        assume(not any(field.path for field in loaded.program.context))
        assume(not BACKEND.find_problems(loaded.program))
        compare(spark, loaded, data, wild=data.draw(st.integers(0, 3)) == 0)

    check()


def test_tasks(spark: Any) -> None:
    """Five of the tasks use no function that Spark computes with other bits."""
    loaded = [load_seed(path) for path in SEEDS]
    supported = [seed for seed in loaded if not BACKEND.find_problems(seed.program)]
    assert len(supported) >= 5

    @settings(GENERATE, max_examples=2)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        for seed in supported:
            compare(spark, seed, data, wild=False)

    check()
