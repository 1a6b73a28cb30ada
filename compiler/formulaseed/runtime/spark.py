"""Score data frames of Spark: `formulaseed.spark.score(seed, rows_df, contexts_df)`.

In: data frames. Out: a data frame of results, lazily. The generated module and the partition function are sent to the executors,
which need Python and pyarrow alone; there the same code evaluates as on one machine, over partitions sorted by restaurant.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formulaseed import documents
from formulaseed.data.duplicates import ID, Duplicates
from formulaseed.documents import FormulaSeed, SeedLike
from formulaseed.errors import UnreadableError, require_extra
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import evaluator_of
from formulaseed.runtime.scoring import ScoreOptions, metadata
from formulaseed.runtime.tables import ERRORS, RESTAURANTS, Columns, Mapped, Reading, map_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_KINDS = {
    **dict.fromkeys(("byte", "short", "integer", "long"), "integer"),
    **dict.fromkeys(("double", "float", "decimal"), "number"),
    "string": "string",
    "boolean": "boolean",
    "date": "date",
    "void": "null",
    "struct": "struct",
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "time"),
}
_TYPES = {"integer": "bigint", "number": "double", "boolean": "boolean"}
_FORMATS = {".parquet": "parquet", ".csv": "csv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
_PACKAGE = "formulaseed_partition"
"""How the name of the package on executors begins, which have none of ours; its hash follows."""
_FROM_OURS = re.compile(r"from formulaseed(?:\.\w+)*\.(\w+) import")
"""An import of a module of ours, which is in that package on executors."""


def score(
    seed: SeedLike | FormulaSeed,
    rows_df: DataFrame,
    contexts_df: DataFrame | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    key: str = "business_id",
    order_by: str | None = None,
    trace: bool = False,
    duplicates: Duplicates = "fail",
) -> DataFrame:
    """Return the results of whole tables, one line a restaurant, as `formulaseed.score` has them; nothing runs yet.

    A row without its restaurant is left out. A restaurant that has a `review_id` twice fails; with `duplicates="first"` the first
    row with each id counts. Raises `SeedError`, and `DataError` for columns that do not fit the seed.
    Documentation: docs/scale.md.
    """
    loaded = documents.load_seed(seed)
    options = ScoreOptions(parameters, key, order_by, trace, duplicates=duplicates)
    return frame_of(loaded, evaluator_of(loaded), rows_df, contexts_df, options)


def frame_of(
    seed: FormulaSeed, evaluator: Evaluator, rows: DataFrame, contexts: DataFrame | None, options: ScoreOptions
) -> DataFrame:
    """Return the results, lazily; their key column has the metadata of what they were made with."""
    _require_packages()
    import pyspark
    from pyspark.sql import functions

    if contexts is None and _columns(rows).get(("rows",)) == "list of structs":
        rows, contexts = _unnested(rows, options.key)
    given = _columns(rows), None if contexts is None else _columns(contexts)
    mapped = map_columns(
        evaluator, seed.program, *given, key=options.key, order=options.order, trace=options.trace,
        parameters=options.parameters, duplicates=options.duplicates,
    )  # fmt: skip
    plan = mapped.plan
    is_number = given[0][plan.key,] == "integer" and (given[1] is None or given[1][plan.key,] == "integer")
    keyed = functions.col(_quoted((plan.key,))).cast("bigint" if is_number else "string").alias("key")
    context = functions.lit(False).alias("is_context"), functions.col(_quoted((plan.order,))).alias("order_key")
    lines = rows.select(keyed, *context, *(_expression(each, mapped) for each in mapped.rows))
    if contexts is not None:
        read = [_expression(each, mapped) for each in mapped.contexts]
        others = contexts.select(keyed, functions.lit(True).alias("is_context"), *read)
        lines = lines.unionByName(others, allowMissingColumns=True)
    parted = lines.repartition("key").sortWithinPartitions("key", "order_key")
    run = _shipped(rows.sparkSession, seed.module_source, plan.to_json())
    made_with = metadata(evaluator, options.parameters, plan.key, plan.order, "spark", {"pyspark": pyspark.__version__})
    return parted.mapInArrow(run, _schema(mapped, lines, made_with))


def orphans(rows: DataFrame, contexts: DataFrame, key: str) -> int:
    """Count the rows that belong to no restaurant."""
    named = _quoted((key,))
    found: int = rows.select(named).join(contexts.select(named), key, "left_anti").count()
    return found


def duplicates(rows: DataFrame, key: str) -> int:
    """Count the rows whose `review_id` another row of the same restaurant has, but for one row with each id."""
    from pyspark.sql import functions

    if _columns(rows).get(("rows",)) == "list of structs":
        rows, _ = _unnested(rows, key)
    if (ID,) not in _columns(rows):
        return 0
    named = rows.select(_quoted((key,)), ID).dropna()
    counted: Any = named.groupBy(_quoted((key,)), ID).count().agg(functions.sum(functions.col("count") - 1)).collect()
    return int(counted[0][0] or 0)


def write(found: DataFrame, path: str) -> Counter[str]:
    """Write results as a folder of Parquet files; return how many restaurants there were, and of each kind of error."""
    found.write.mode("overwrite").parquet(path)
    kinds = found.sparkSession.read.parquet(path).groupBy("error_kind").count().collect()
    counts = Counter({line[0]: line[1] for line in kinds if line[0] is not None})
    counts[RESTAURANTS] = sum(line[1] for line in kinds)
    return counts


def session() -> SparkSession:
    """Return the active session, or a new one. Raises `UnreadableError` if a package or Java is not installed."""
    _require_packages()
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers are another Python, without pyarrow
    try:
        return SparkSession.builder.appName("formulaseed").getOrCreate()
    except PySparkRuntimeError as error:
        message = f"Spark does not start: {str(error).splitlines()[0]}; it needs Java, found by `JAVA_HOME` or `PATH`"
        raise UnreadableError(message) from None


def _require_packages() -> None:
    """Raise `MissingExtraError` if a package that Spark needs here is missing: it imports pandas and pyarrow late."""
    with require_extra("spark", "the engine `spark`"):
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401


def read(spark: SparkSession, path: str) -> DataFrame:
    """Return a table of files; without a known ending they are Parquet."""
    kind = next((form for suffix, form in _FORMATS.items() if path.removesuffix(".gz").endswith(suffix)), "parquet")
    reader = spark.read.options(header=True, inferSchema=True) if kind == "csv" else spark.read
    return reader.format(kind).load(path)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where the files are from which executors fetch theirs, until this process ends."""
    return tempfile.TemporaryDirectory(prefix="formulaseed-spark-")


def _shipped(spark: SparkSession, source: str, plan: str) -> Any:
    """Send the partition function and the module to the executors, as a package of their own; return what they run."""
    from formulaseed import errors
    from formulaseed.data import duplicates
    from formulaseed.runtime import batches, chunks, columns

    texts = {"module": source}
    for each in (errors, duplicates, columns, chunks, batches):
        texts[each.__name__.rpartition(".")[2]] = Path(each.__file__ or "").read_text(encoding="utf-8")
    package = f"{_PACKAGE}_{hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]}"
    path = Path(_folder().name) / f"{package}.zip"
    if not path.exists():  # Spark refuses a file that has changed, and its time counts
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(f"{package}/__init__.py", "")
            for name, text in texts.items():
                file.writestr(f"{package}/{name}.py", _FROM_OURS.sub(rf"from {package}.\1 import", text))
    spark.sparkContext.addPyFile(str(path))
    shipped = importlib.import_module(f"{package}.batches")
    return partial(shipped.score_partition, f"{package}.module", plan)


def _schema(mapped: Mapped, lines: DataFrame, made_with: dict[str, str]) -> Any:
    """The columns of results. The metadata of a column are written into Parquet files with the schema."""
    from pyspark.sql import types

    kinds = {"integer": types.LongType(), "number": types.DoubleType(), "boolean": types.BooleanType()}
    plan, text = mapped.plan, types.StringType()
    fields = [types.StructField(plan.key, lines.schema["key"].dataType, True, made_with)]
    fields += [types.StructField(name, kinds.get(kind, text)) for name, kind in plan.outputs]
    fields += [types.StructField(name, text) for name in ERRORS]
    if plan.trace:
        keys = types.ArrayType(lines.schema["order_key"].dataType)
        fields.append(types.StructField("evidence", types.MapType(text, keys)))
    return types.StructType(fields)


def _columns(frame: DataFrame) -> Columns:
    found = dict[tuple[str, ...], str]()
    for each in frame.schema.fields:
        found[each.name,] = _kind(each.dataType)
        if found[each.name,] == "struct":
            members: Any = each.dataType
            found.update({(each.name, inner.name): _kind(inner.dataType) for inner in members.fields})
    return found


def _kind(found: Any) -> str:
    name: str = found.typeName()
    shown: str = found.simpleString()[:80]
    if name == "array":
        return "list of structs" if found.elementType.typeName() == "struct" else shown
    return _KINDS.get(name.partition("(")[0], shown)


def _unnested(frame: DataFrame, key: str) -> tuple[DataFrame, DataFrame]:
    """The rows and the contexts of lines that hold both."""
    from pyspark.sql import functions

    each = frame.select(_quoted((key,)), functions.posexplode("rows").alias("position", "review"))
    review: Any = each.schema["review"].dataType
    known = [name for name in ("review_id", "extraction", "meta") if name in review.fieldNames()]
    rows = each.select(_quoted((key,)), "position", *(f"review.{name}" for name in known))
    context: Any = frame.schema["context"].dataType
    members = [f"context.{_quoted((name,))}" for name in context.fieldNames() if name != key]
    return rows, frame.select(_quoted((key,)), *members)


def _expression(each: Reading, mapped: Mapped) -> Column:
    from pyspark.sql import functions

    column = functions.col(_quoted(each.path))
    if each.wanted == "date" and each.kind == "time" and mapped.whole_dates:
        column = functions.date_format(column, "yyyy-MM-dd HH:mm:ss")
    elif each.wanted == "date":
        column = column.cast("string") if each.kind != "time" else column.cast("date").cast("string")
    elif each.wanted == "number" or each.kind == "number":
        column = column.cast("double")
    elif each.kind == "null":
        column = column.cast(_TYPES.get(each.wanted, "string"))
    return column.alias(each.alias)


def _quoted(path: tuple[str, ...]) -> str:
    return ".".join("`{}`".format(name.replace("`", "``")) for name in path)
