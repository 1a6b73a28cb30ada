"""`formulaseed.spark`: real Spark, in one session for all tests; skipped where pyspark or Java is missing."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'formulaseed[spark]'")
if shutil.which("java") is None:
    pytest.skip("Spark needs a Java runtime, and there is none", allow_module_level=True)
warnings.simplefilter("ignore")

import formulaseed as library  # noqa: E402
import formulaseed.runtime.spark as on_spark  # noqa: E402
from formulaseed.errors import DataError  # noqa: E402
from formulaseed.testing import contexts, parameters, rows, seeds  # noqa: E402
from helpers import IS_DEEP, ROOT, SEEDS  # noqa: E402
from hypothesis import HealthCheck, Phase, assume, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from scoring import expected, results_of, tables_of  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("spark")]
G1A = ROOT / "tasks" / "g1a_v2" / "seed.json"
REAL = ROOT.parent / "shared" / "data" / "g1a" / "rows.jsonl"
_MADE = settings(phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        options = {
            "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "2",
            "spark.python.worker.faulthandler.enabled": "false",
        }  # fmt: skip
        builder = SparkSession.builder.master("local[2]")
        for name, value in options.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


def scored(spark: Any, seed: Any, tables: tuple[Any, Any], **how: Any) -> dict[str, Any]:
    frames = [spark.createDataFrame(table) for table in tables]
    found = on_spark.score(seed, *frames, **how).collect()
    return results_of(pa.Table.from_pylist([line.asDict() for line in found]))


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.parent.name)
def test_frames_give_what_evaluation_gives(path: Path, spark: Any) -> None:
    """Every task, over made restaurants, every step: what evaluation one by one gives."""
    seed = library.load_seed(path)

    @settings(_MADE, max_examples=50 if IS_DEEP else 1)
    @given(st.data())
    def compare(data: st.DataObject) -> None:
        drawn = st.lists(st.tuples(rows(seed), contexts(seed)), min_size=3, max_size=8)
        found = {f"b{at:02}": each for at, each in enumerate(data.draw(drawn))}
        assert scored(spark, seed, tables_of(seed.program, found), trace=True) == expected(seed, found, trace=True)

    compare()


@settings(_MADE, max_examples=200 if IS_DEEP else 8)
@given(seeds(max_steps=8), st.data())
def test_random_seeds(spark: Any, seed: Any, data: st.DataObject) -> None:
    """Seeds of all kinds, and any values that they accept: what evaluation one by one gives."""
    loaded = library.load_seed(seed)
    assume(not any(each.path for each in loaded.program.context))  # a table has one column for a field
    drawn = st.lists(st.tuples(rows(loaded, wild=True), contexts(loaded, wild=True)), min_size=1, max_size=4)
    found = {f"b{at:02}": each for at, each in enumerate(data.draw(drawn))}
    chosen = data.draw(parameters(loaded)) or None
    tables = tables_of(loaded.program, found)
    assert scored(spark, loaded, tables, parameters=chosen) == expected(loaded, found, chosen)


@pytest.mark.skipif(not REAL.exists(), reason="the real data is not beside this checkout")
def test_real_restaurants(spark: Any) -> None:
    """Spark reads the lines of real restaurants, and gives what DuckDB gives."""
    pytest.importorskip("duckdb", reason="the comparison needs duckdb")
    found = on_spark.score(G1A, on_spark.read(spark, str(REAL))).collect()
    assert results_of(pa.Table.from_pylist([line.asDict() for line in found])) == results_of(library.score(G1A, REAL))


def test_nothing_runs_before_results_are_asked_for(spark: Any, tmp_path: Path) -> None:
    """A frame of results is lazy, columns are refused at once, and Parquet files say what they were made with."""
    frame = spark.createDataFrame([("a", 0, "x")], "business_id string, position int, account_tpye string")
    with pytest.raises(DataError, match="account_tpye"):
        on_spark.score(G1A, frame, frame)
    names = "business_id string, position int, incident_severity string, account_type string, safety_interaction string"
    good = spark.createDataFrame(
        [("a", 0, "mild", "firsthand", "none", 1.0, 1, 2024), ("b", 0, "odd", "none", "none", 1.0, 1, 2024)],
        f"{names}, stars double, useful int, year int",
    )
    places = spark.createDataFrame([("a", "Thai"), ("b", "Thai")], "business_id string, categories string")
    found = on_spark.score(G1A, good, places)
    counts = on_spark.write(found, str(tmp_path / "out"))
    assert counts == {"restaurants": 2, "data": 1}
    known = spark.read.parquet(str(tmp_path / "out")).schema["business_id"].metadata["formulaseed"]
    assert json.loads(known)["engine"] == "spark"
