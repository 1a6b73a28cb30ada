"""Scores tables with a query of the SQL target, which DuckDB runs; the module evaluates what the query hands back.

A restaurant with any error in the query is evaluated again by the generated module, so that errors have its messages, and values
that SQL cannot compute exactly are Python's. Results are those of the module alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, TypeVar

import pyarrow as pa

from formulaseed.backends.sql.dialects import DUCKDB
from formulaseed.backends.sql.inputs import Tables
from formulaseed.backends.sql.target import SCORE_TABLES, SqlBackend, write_score_query
from formulaseed.documents import FormulaSeed
from formulaseed.errors import DataError
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.runtime import duck, duck_sql
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.ranges import score_range
from formulaseed.runtime.table_names import (
    DATE,
    ERROR_COLUMNS,
    HANDED_BACK,
    KEY,
    KEYLESS_CONTEXTS,
    ORDER,
    ORPHAN_ROWS,
    RESTAURANTS,
    REVIEW,
)
from formulaseed.runtime.tables import ScoreOptions, TableMapping

_Returned = TypeVar("_Returned")
_BATCH_LINES = 100_000
_ROWS, _CONTEXTS = SCORE_TABLES
_SCORED = "memory.main.formulaseed_scored"
_HANDED = "memory.main.formulaseed_handed"
_EVALUATED = "formulaseed_evaluated"
_ORDER_KINDS = ("integer", "string", "uuid", "date", "time")
_IS_DAY = DUCKDB.is_day.format(f'"{DATE}"')
_DATE_TEXTS = {
    "column": f'"{DATE}"',
    "year": f'CASE WHEN {_IS_DAY} THEN TRY_CAST(SUBSTRING("{DATE}", 1, 4) AS BIGINT) END',
    "month": f'CASE WHEN {_IS_DAY} THEN TRY_CAST(SUBSTRING("{DATE}", 6, 2) AS BIGINT) END',
}
"""The year and month of a date that is a string; NULL for one in another form than YYYY-MM-DD."""
_DATES = {
    "column": f'"{DATE}"',
    "year": f'CASE WHEN YEAR("{DATE}") BETWEEN 1 AND 9999 THEN YEAR("{DATE}") END',
    "month": f'CASE WHEN YEAR("{DATE}") BETWEEN 1 AND 9999 THEN MONTH("{DATE}") END',
}
"""The year and month of a DATE."""


def can_score(options: ScoreOptions, obstacle: str) -> bool:
    """Return whether a query is to score, which `obstacle` prevents unless it is empty.

    Raises `DataError` if the options ask for a query that is prevented.
    """
    if obstacle and options.backend == "sql":
        raise DataError(f"--backend sql: {obstacle}")
    return not obstacle


def find_obstacle(seed: FormulaSeed, evaluator: Evaluator, options: ScoreOptions) -> str:
    """Return the reason why a query cannot score with these options, in words; empty if it can."""
    if options.backend == "module":
        return "the module is to score"
    if options.trace:
        return "--trace needs the rows behind each value"
    if options.reasons is not None:
        return "--reasons needs the module's values without some reviews"
    if options.duplicates != "fail":
        return "--duplicates drops rows"
    if options.fingerprint or options.since is not None:
        return "--fingerprint and --since need each restaurant's rows"
    if evaluator.seed_sha256 != seed.sha256:
        return "the module is not that of the seed"
    if find_spec("sqlglot") is None:
        return "the package sqlglot is not installed: pip install 'formulaseed[sql]'"
    problems = SqlBackend().find_problems(seed.program)
    return problems[0].message if problems else ""


def find_table_obstacle(tables: duck_sql.Tables, mapping: TableMapping) -> str:
    """Return the reason why a query cannot read these tables, in words; empty if it can."""
    if any(table.once for table in tables if table is not None):
        return "a reader can be read only once"
    if tables[0].columns.get((mapping.plan.order,)) not in _ORDER_KINDS:
        return f"the values of `{mapping.plan.order}` are no integers, strings or dates"
    if mapping.whole_dates:
        return "a step reads the date itself"
    if any(column.target_kind == "json" for column in (*mapping.rows, *mapping.contexts)):
        return "a field is inside a JSON value"
    return ""


def score_by_query(
    session: duck.DuckSession,
    tables: duck_sql.Tables,
    mapping: TableMapping,
    seed: FormulaSeed,
    evaluator: Evaluator,
    options: ScoreOptions,
    counts: Counter[str],
    use: Callable[[Iterator[pa.RecordBatch], pa.Schema], _Returned],
) -> _Returned:
    """Score tables with a query, and return what `use` returns for the batches of results and their schema.

    `counts` are complete before `use` is called. Raises the module's `DataError` for invalid parameters.
    """
    parameters = _read_parameters(seed, evaluator, options.parameters)
    query = write_score_query(seed.program, _name_tables(tables, mapping), parameters)
    schema = duck.result_schema(tables, mapping)
    with duck.translate_errors():
        cursor = session.open_cursor(tables)
        cursor.execute(f"SET threads = {options.jobs}")
        for name, source in zip((_ROWS, _CONTEXTS), duck_sql.build_sources(tables, mapping), strict=True):
            if source is not None:
                cursor.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {source}")
        cursor.execute(f"CREATE OR REPLACE TABLE {_SCORED} AS {query}")
        _count(cursor, counts, has_contexts=mapping.plan.has_contexts)
        is_result = f"{KEY} IS NOT NULL AND NOT is_orphan"
        cursor.execute(
            f"CREATE OR REPLACE TABLE {_HANDED} AS SELECT {KEY} FROM {_SCORED} WHERE {is_result} AND error_kind IS NOT NULL"
        )
        handed = cursor.execute(f"SELECT COUNT(*) FROM {_HANDED}").fetchall()[0][0]
        names = [f'"{name}"' for name, _ in mapping.plan.outputs]
        columns = ", ".join([f"{KEY}", *names, *(f"CAST(NULL AS VARCHAR) AS {name}" for name in ERROR_COLUMNS)])
        results = f"SELECT {columns} FROM {_SCORED} WHERE {is_result} AND error_kind IS NULL"
        if handed:
            counts[HANDED_BACK] = handed
            evaluated = _evaluate_handed(session, tables, mapping, evaluator, counts)
            cursor.register(_EVALUATED, evaluated)
            results += f" UNION ALL SELECT * FROM {_EVALUATED}"
        reader = cursor.sql(f"SELECT * FROM ({results}) ORDER BY 1").to_arrow_reader(_BATCH_LINES)
        return use(_cast_batches(reader, schema), schema)


def _read_parameters(seed: FormulaSeed, evaluator: Evaluator, parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values of all parameters, as the module reads them. Raises its `DataError` for invalid ones."""
    module: Any = evaluator.module
    if not hasattr(module, "parse_parameters"):
        return {}
    names = [parameter.name for parameter in seed.program.parameters]
    return dict(zip(names, module.parse_parameters(dict(parameters or {})), strict=True))


def _name_tables(tables: duck_sql.Tables, mapping: TableMapping) -> Tables:
    """Return the tables of the query: views of the user's columns, converted as for the module, with a batch's names."""
    plan = mapping.plan
    row_table, context_table = tables
    columns = {Symbol(SymbolKind(field.section), field.name): field.column for field in (*plan.rows, *plan.context)}
    date = next((column for column in mapping.rows if column.target_kind == "date"), None)
    dates = {}
    if date is not None:
        dates = _DATES if date.source_kind in ("date", "time") else _DATE_TEXTS
    return Tables(
        DUCKDB.quote_name(_ROWS),
        DUCKDB.quote_name(_CONTEXTS) if context_table is not None else None,
        key=KEY,
        order=ORDER,
        is_typed=True,
        has_integer_order=row_table.columns[plan.order,] == "integer",
        ids=REVIEW if plan.ids == REVIEW else "",
        columns=columns,
        dates=dates,
    )


def _count(cursor: Any, counts: Counter[str], *, has_contexts: bool) -> None:
    """Set the counts of restaurants, and of the rows and contexts that belong to none, from the results of the query."""
    counts.clear()
    restaurants, orphans, nameless = cursor.execute(
        f"SELECT COUNT(*) FILTER (WHERE {KEY} IS NOT NULL AND NOT is_orphan),"
        f" COALESCE(SUM(row_count) FILTER (WHERE {KEY} IS NULL OR is_orphan), 0),"
        f" COALESCE(SUM(context_count) FILTER (WHERE {KEY} IS NULL), 0) FROM {_SCORED}"
    ).fetchall()[0]
    counts[RESTAURANTS] = restaurants
    if orphans:
        counts[ORPHAN_ROWS] = int(orphans)
    if nameless and has_contexts:
        counts[KEYLESS_CONTEXTS] = int(nameless)


def _evaluate_handed(
    session: duck.DuckSession,
    tables: duck_sql.Tables,
    mapping: TableMapping,
    evaluator: Evaluator,
    counts: Counter[str],
) -> pa.Table:
    """Return the results of the restaurants that the query handed back; adds their errors to `counts`."""
    key = duck_sql.build_key_expression(tables, mapping)
    part = tuple(
        None
        if table is None
        else replace(table, sql=f"(SELECT * FROM {table.sql} WHERE {key} IN (SELECT {KEY} FROM {_HANDED}))")
        for table in tables
    )
    rows, contexts = part
    assert rows is not None
    errors = Counter[str]()
    table = score_range(
        (rows, contexts),
        mapping,
        evaluator.module,
        errors,
        lambda batches, schema: pa.Table.from_batches(batches, schema),
    )
    del errors[RESTAURANTS], errors[ORPHAN_ROWS]
    counts.update(errors)
    return table


def _cast_batches(reader: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a reader with the names and types of `schema`."""
    for batch in reader:
        yield pa.RecordBatch.from_arrays(
            [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)], schema=schema
        )
