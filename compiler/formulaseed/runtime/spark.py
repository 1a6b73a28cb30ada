"""Scores data frames of Spark: `formulaseed.spark.score(seed, rows_df, contexts_df)`.

In: data frames. Out: a lazy data frame of results. The generated module and the partition function are sent to the executors,
which need only Python and pyarrow. They run the same code as a single machine, over partitions sorted by restaurant.
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
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.runtime.scoring import metadata
from formulaseed.runtime.table_names import ERROR_COLUMNS, IS_CONTEXT, KEY, ORDER, RESTAURANTS
from formulaseed.runtime.tables import BatchColumn, Columns, ScoreOptions, TableMapping, map_columns

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
_SQL_TYPES = {"integer": "bigint", "number": "double", "boolean": "boolean"}
_FORMATS = {".parquet": "parquet", ".csv": "csv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
_PACKAGE_PREFIX = "formulaseed_partition"
"""The beginning of the package's name on executors, where formulaseed is not installed; the hash of its modules follows."""
_FORMULASEED_IMPORT = re.compile(r"from formulaseed(?:\.\w+)*\.(\w+) import")
"""An import of a module of formulaseed, which is in that package on executors."""


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
    """Return the results of whole tables as a lazy data frame, one line a restaurant, as `formulaseed.score` has them.

    `contexts_df` may be None if rows are nested or the seed reads no context. `order_by` is the column that orders a
    restaurant's rows; None for `position` or `review_id`. With `trace`, results have every step, and the evidence. A
    row without its restaurant is dropped. A restaurant that has a `review_id` twice fails; with `duplicates="first"`
    the first row with each id counts. Raises `SeedError`, and `DataError` for columns or parameters that do not fit the
    seed. Documentation: docs/scale.md.
    """
    loaded = documents.load_seed(seed)
    options = ScoreOptions(parameters, key, order_by, trace, duplicates=duplicates)
    return score_frames(loaded, compile_evaluator(loaded), rows_df, contexts_df, options)


def score_frames(
    seed: FormulaSeed, evaluator: Evaluator, rows: DataFrame, contexts: DataFrame | None, options: ScoreOptions
) -> DataFrame:
    """Return the results as a lazy data frame; the metadata of its key column have their provenance.

    `contexts` may be None, if the rows are nested or the seed reads no context. Sends the partition function to the
    executors at once. Raises `DataError` for columns that do not fit the seed, `MissingExtraError` if a package is
    missing.
    """
    _require_packages()
    import pyspark
    from pyspark.sql import functions

    if contexts is None and _has_nested_rows(rows):
        rows, contexts = _unnest(rows, options.key)
    row_columns = _read_columns(rows)
    context_columns = None if contexts is None else _read_columns(contexts)
    mapping = map_columns(evaluator, seed.program, row_columns, context_columns, options)
    plan = mapping.plan
    is_number = all(
        columns[plan.key,] == "integer" for columns in (row_columns, context_columns) if columns is not None
    )
    key = functions.col(_quote((plan.key,))).cast("bigint" if is_number else "string").alias(KEY)
    order = functions.col(_quote((plan.order,))).alias(ORDER)
    lines = rows.select(
        key, functions.lit(False).alias(IS_CONTEXT), order, *(_cast(column, mapping) for column in mapping.rows)
    )
    if contexts is not None:
        columns = (_cast(column, mapping) for column in mapping.contexts)
        context_lines = contexts.select(key, functions.lit(True).alias(IS_CONTEXT), *columns)
        lines = lines.unionByName(context_lines, allowMissingColumns=True)
    partitions = lines.repartition(KEY).sortWithinPartitions(KEY, ORDER)
    score_partition = _send_partition_function(rows.sparkSession, seed.module_source, plan.to_json())
    versions = {"pyspark": pyspark.__version__}
    provenance = metadata(evaluator, options.parameters, plan.key, plan.order, "spark", versions)
    return partitions.mapInArrow(score_partition, _result_schema(mapping, lines, provenance))


def count_orphans(rows: DataFrame, contexts: DataFrame, key: str) -> int:
    """Count the rows whose key is in no line of `contexts`. Runs a Spark job."""
    column = _quote((key,))
    count: int = rows.select(column).join(contexts.select(column), key, "left_anti").count()
    return count


def count_duplicates(rows: DataFrame, key: str) -> int:
    """Count the rows whose `review_id` another row of the same restaurant has, except one row with each id.

    Rows may be nested. Returns 0 without a column `review_id`, otherwise runs a Spark job.
    """
    from pyspark.sql import functions

    if _has_nested_rows(rows):
        rows, _ = _unnest(rows, key)
    if (ID,) not in _read_columns(rows):
        return 0
    column = _quote((key,))
    group_sizes = rows.select(column, ID).dropna().groupBy(column, ID).count()
    total: Any = group_sizes.agg(functions.sum(functions.col("count") - 1)).collect()
    return int(total[0][0] or 0)


def write(results: DataFrame, path: str) -> Counter[str]:
    """Compute results, write them as a folder of Parquet files, and return counts of restaurants and kinds of errors.

    A folder that exists at `path` is replaced.
    """
    results.write.mode("overwrite").parquet(path)
    kinds = results.sparkSession.read.parquet(path).groupBy("error_kind").count().collect()
    counts = Counter({line[0]: line[1] for line in kinds if line[0] is not None})
    counts[RESTAURANTS] = sum(line[1] for line in kinds)
    return counts


def open_session() -> SparkSession:
    """Return the active session, or a new one. Raises `UnreadableError` if a package or Java is not installed.

    Sets `PYSPARK_PYTHON` to this interpreter in the environment, unless it is set.
    """
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
    """Raise `MissingExtraError` if a package is missing, which Spark itself would report only during a run."""
    with require_extra("spark", "the engine `spark`"):
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401


def read(spark: SparkSession, path: str) -> DataFrame:
    """Return a table of files as a data frame; their suffix decides about the format, Parquet if it is unknown.

    The suffix may be followed by `.gz`. The types of CSV columns are inferred.
    """
    plain_path = path.removesuffix(".gz")
    file_format = next((name for suffix, name in _FORMATS.items() if plain_path.endswith(suffix)), "parquet")
    reader = spark.read.options(header=True, inferSchema=True) if file_format == "csv" else spark.read
    return reader.format(file_format).load(path)


@cache
def _create_package_folder() -> tempfile.TemporaryDirectory[str]:
    """Create the folder from which executors fetch packages, once; it is removed when this process ends."""
    return tempfile.TemporaryDirectory(prefix="formulaseed-spark-")


def _send_partition_function(spark: SparkSession, source: str, plan: str) -> Any:
    """Send the partition function and the generated module to the executors, as a package.

    Return the function to run on them: `score_partition` with `plan`, the string of `Plan.to_json`. `source` is the
    code of the generated module.
    """
    from formulaseed import errors
    from formulaseed.data import duplicates
    from formulaseed.runtime import batches, chunks, columns, table_names

    texts = {"module": source}
    for module in (errors, duplicates, table_names, columns, chunks, batches):
        texts[module.__name__.rpartition(".")[2]] = Path(module.__file__ or "").read_text(encoding="utf-8")
    package = f"{_PACKAGE_PREFIX}_{hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]}"
    path = Path(_create_package_folder().name) / f"{package}.zip"
    if not path.exists():  # Spark rejects a file whose time of modification has changed
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(f"{package}/__init__.py", "")
            for name, text in texts.items():
                file.writestr(f"{package}/{name}.py", _FORMULASEED_IMPORT.sub(rf"from {package}.\1 import", text))
    spark.sparkContext.addPyFile(str(path))
    partition_module = importlib.import_module(f"{package}.batches")
    return partial(partition_module.score_partition, f"{package}.module", plan)


def _result_schema(mapping: TableMapping, lines: DataFrame, provenance: dict[str, str]) -> Any:
    """Return Spark's schema of results, which corresponds to `Plan.schema`.

    The `provenance` becomes metadata of the first column, which Spark writes into Parquet files with the schema.
    """
    from pyspark.sql import types

    kinds = {"integer": types.LongType(), "number": types.DoubleType(), "boolean": types.BooleanType()}
    plan = mapping.plan
    string = types.StringType()
    fields = [types.StructField(plan.key, lines.schema[KEY].dataType, True, provenance)]
    fields += [types.StructField(name, kinds.get(kind, string)) for name, kind in plan.outputs]
    fields += [types.StructField(name, string) for name in ERROR_COLUMNS]
    if plan.trace:
        order_keys = types.ArrayType(lines.schema[ORDER].dataType)
        fields.append(types.StructField("evidence", types.MapType(string, order_keys)))
    return types.StructType(fields)


def _read_columns(frame: DataFrame) -> Columns:
    """Map the name of each column, and the path of each struct's members one level down, to its kind."""
    columns = dict[tuple[str, ...], str]()
    for field in frame.schema.fields:
        kind = _column_kind(field.dataType)
        columns[field.name,] = kind
        if kind == "struct":
            struct: Any = field.dataType
            columns.update({(field.name, member.name): _column_kind(member.dataType) for member in struct.fields})
    return columns


def _column_kind(data_type: Any) -> str:
    """Return the kind of a column, as in `Columns`, by its type in Spark; for any other type Spark's name of it."""
    name: str = data_type.typeName()
    description: str = data_type.simpleString()[:80]
    if name == "array":
        return "list of structs" if data_type.elementType.typeName() == "struct" else description
    return _KINDS.get(name.partition("(")[0], description)


def _has_nested_rows(frame: DataFrame) -> bool:
    """Return whether each line of a frame has the list of a restaurant's rows: a column `rows` of structs."""
    return _read_columns(frame).get(("rows",)) == "list of structs"


def _unnest(frame: DataFrame, key: str) -> tuple[DataFrame, DataFrame]:
    """Return two frames, the rows and the contexts of lines that have a list of rows and a struct `context` each.

    Rows have their `position` in the list, from 0. `key` is the name of the key's column, which both frames have.
    """
    from pyspark.sql import functions

    key_column = _quote((key,))
    reviews = frame.select(key_column, functions.posexplode("rows").alias("position", "review"))
    review: Any = reviews.schema["review"].dataType
    members = [name for name in ("review_id", "extraction", "meta") if name in review.fieldNames()]
    rows = reviews.select(key_column, "position", *(f"review.{name}" for name in members))
    context: Any = frame.schema["context"].dataType
    context_columns = [f"context.{_quote((name,))}" for name in context.fieldNames() if name != key]
    return rows, frame.select(key_column, *context_columns)


def _cast(column: BatchColumn, mapping: TableMapping) -> Column:
    """Return the expression that converts a column from its source kind to its target kind, under its alias.

    Dates keep their time only if `mapping.whole_dates`.
    """
    from pyspark.sql import functions

    source = functions.col(_quote(column.path))
    match column.target_kind, column.source_kind:
        case "date", "time" if mapping.whole_dates:
            source = functions.date_format(source, "yyyy-MM-dd HH:mm:ss")
        case "date", "time":
            source = source.cast("date").cast("string")
        case "date", _:
            source = source.cast("string")
        case ("number", _) | (_, "number"):
            source = source.cast("double")
        case target_kind, "null":
            source = source.cast(_SQL_TYPES.get(target_kind, "string"))
    return source.alias(column.alias)


def _quote(path: tuple[str, ...]) -> str:
    """Return the path of a column or a struct's member as a quoted name of Spark."""
    return ".".join("`{}`".format(name.replace("`", "``")) for name in path)
