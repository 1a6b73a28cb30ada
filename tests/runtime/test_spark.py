"""`formulaseed.spark`: real Spark, in one session for all tests; skipped if pyspark or Java is missing."""

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
from scoring import build_tables, expected_results, read_results  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("spark")]
G1A = ROOT / "tasks" / "g1a_v2" / "seed.json"
REAL = ROOT.parent / "shared" / "data" / "g1a" / "rows.jsonl"
GENERATE = settings(phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))


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


def score_frames(spark: Any, seed: Any, tables: tuple[Any, Any], **options: Any) -> dict[str, Any]:
    frames = [spark.createDataFrame(table) for table in tables]
    return collect(on_spark.score(seed, *frames, **options))


def collect(frame: Any) -> dict[str, Any]:
    return read_results(pa.Table.from_pylist([line.asDict() for line in frame.collect()]))


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.parent.name)
def test_frames_give_the_values_of_the_evaluator(path: Path, spark: Any) -> None:
    """For every step of every task, over generated restaurants."""
    seed = library.load_seed(path)

    @settings(GENERATE, max_examples=50 if IS_DEEP else 1)
    @given(st.lists(st.tuples(rows(seed), contexts(seed)), min_size=3, max_size=8))
    def compare(records: Any) -> None:
        restaurants = {f"b{at:02}": record for at, record in enumerate(records)}
        results = score_frames(spark, seed, build_tables(seed.program, restaurants), trace=True)
        assert results == expected_results(seed, restaurants, trace=True)

    compare()


@pytest.mark.thorough
@settings(GENERATE, max_examples=200 if IS_DEEP else 8)
@given(seeds(max_steps=8), st.data())
def test_random_seeds(spark: Any, seed: Any, data: st.DataObject) -> None:
    """With values at the limits, and parameters."""
    loaded = library.load_seed(seed)
    assume(not any(field.path for field in loaded.program.context))  # a table has one column for a field
    records = st.lists(st.tuples(rows(loaded, wild=True), contexts(loaded, wild=True)), min_size=1, max_size=4)
    restaurants = {f"b{at:02}": record for at, record in enumerate(data.draw(records))}
    chosen = data.draw(parameters(loaded)) or None
    tables = build_tables(loaded.program, restaurants)
    assert score_frames(spark, loaded, tables, parameters=chosen) == expected_results(loaded, restaurants, chosen)


@pytest.mark.skipif(not REAL.exists(), reason="the real data is not beside this checkout")
def test_real_restaurants(spark: Any) -> None:
    """Spark gives what DuckDB gives for lines of real restaurants."""
    pytest.importorskip("duckdb", reason="the comparison needs duckdb")
    assert collect(on_spark.score(G1A, on_spark.read(spark, str(REAL)))) == read_results(library.score(G1A, REAL))


def test_results_are_lazy_and_files_have_their_provenance(spark: Any, tmp_path: Path) -> None:
    """Columns that do not fit are refused at once."""
    frame = spark.createDataFrame([("a", 0, "x")], "business_id string, position int, account_tpye string")
    with pytest.raises(DataError, match="account_tpye"):
        on_spark.score(G1A, frame, frame)
    names = "business_id string, position int, incident_severity string, account_type string, safety_interaction string"
    good = spark.createDataFrame(
        [("a", 0, "mild", "firsthand", "none", 1.0, 1, 2024), ("b", 0, "odd", "none", "none", 1.0, 1, 2024)],
        f"{names}, stars double, useful int, year int",
    )
    places = spark.createDataFrame([("a", "Thai"), ("b", "Thai")], "business_id string, categories string")
    counts = on_spark.write(on_spark.score(G1A, good, places), str(tmp_path / "out"))
    assert counts == {"restaurants": 2, "data": 1}
    known = spark.read.parquet(str(tmp_path / "out")).schema["business_id"].metadata["formulaseed"]
    assert json.loads(known)["engine"] == "spark"
