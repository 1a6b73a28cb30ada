"""Write the SQL with which DuckDB reads tables: the columns of a batch, from those of the user's tables.

In: tables and their mapping to fields. Out: queries; nothing is run here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from formulaseed.runtime.table_names import KEY, ORDER, UNKNOWN_SUFFIX
from formulaseed.runtime.tables import BatchColumn, Columns, TableMapping

KeyRange = tuple[Any, Any]
"""The first key, and the key after the last one; None if there is no bound."""
ALL_KEYS: KeyRange = (None, None)
_SQL_TYPES = {"integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
_NO_INTEGER = -(2**63)
"""The only integer of 64 bits that is none of a seed: its restaurant fails."""


@dataclass(frozen=True, slots=True)
class DuckTable:
    """A table as SQL to select from, with its columns."""

    sql: str
    columns: Columns
    cursor: Any
    """A cursor of its own, since a cursor has one open result."""
    once: bool = False
    """Whether the table can be read only once."""
    memory: tuple[str, Any] | None = None
    """The name under which a table in memory is registered, with this table."""

    def reopen_key(self) -> tuple[str, Columns]:
        """Return the arguments that open the same table with `DuckSession.reopen` in another process."""
        return self.sql, self.columns


Tables = tuple[DuckTable, DuckTable | None]
"""The rows and the contexts; None if there are no contexts."""


def build_queries(
    tables: Tables, mapping: TableMapping, key_range: KeyRange, is_sorted: bool
) -> Iterator[tuple[DuckTable, str]]:
    """Yield the query of the rows, then that of the contexts if there are any; unless `is_sorted`, queries sort."""
    key = build_key_expression(tables, mapping)
    where = _build_range_condition(key, key_range)
    order = [f"{quote(mapping.plan.order)} AS {ORDER}"]
    for table, order_columns, columns in zip(tables, (order, []), (mapping.rows, mapping.contexts), strict=True):
        if table is not None:
            selected = [f"{key} AS {KEY}", *order_columns, *_select_columns(columns, mapping)]
            query = f"SELECT {', '.join(selected)} FROM {table.sql}{where}"
            if not is_sorted:
                query += f" ORDER BY {KEY}, {ORDER}" if order_columns else f" ORDER BY {KEY}"
            yield table, query


def build_sources(tables: Tables, mapping: TableMapping) -> Iterator[str | None]:
    """Yield a SELECT of the rows and of the contexts, with the columns of a batch; None if there are no contexts.

    Unknown values of enums stay, an integer that is none becomes -2**63, and dates that are no strings become DATE.
    """
    key = build_key_expression(tables, mapping)
    order = [f"{quote(mapping.plan.order)} AS {ORDER}"]
    for table, order_columns, columns in zip(tables, (order, []), (mapping.rows, mapping.contexts), strict=True):
        if table is None:
            yield None
            continue
        selected = [f"{key} AS {KEY}", *order_columns]
        for column in columns:
            sql = _read_column(column)
            converted = _cast(column, sql, mapping)
            if column.target_kind == "date" and column.source_kind in ("date", "time"):
                converted = f"CAST({sql} AS DATE)"
            elif (column.target_kind, column.source_kind) == ("integer", "number"):
                whole = f"{converted} = TRUNC({converted}) AND ABS({converted}) < 9e18"
                converted = (
                    f"CASE WHEN {whole} THEN CAST({converted} AS BIGINT) WHEN {sql} IS NOT NULL THEN {_NO_INTEGER} END"
                )
            selected.append(f"{converted} AS {column.alias}")
        yield f"SELECT {', '.join(selected)} FROM {table.sql}"


def build_key_expression(tables: Tables, mapping: TableMapping) -> str:
    """Return the SQL of the key: an integer if it is one in every table, otherwise a string."""
    is_number = all(table.columns[(mapping.plan.key,)] == "integer" for table in tables if table is not None)
    return f"CAST({quote(mapping.plan.key)} AS {'BIGINT' if is_number else 'VARCHAR'})"


def _build_range_condition(key: str, key_range: KeyRange) -> str:
    """Return the WHERE clause of a range; lines without a key are in the first range. Empty for all keys."""
    first, end = key_range
    if first is None and end is None:
        return ""
    if first is None:
        return f" WHERE ({key} < {literal(end)} OR {key} IS NULL)"
    if end is None:
        return f" WHERE {key} >= {literal(first)}"
    return f" WHERE {key} >= {literal(first)} AND {key} < {literal(end)}"


def _select_columns(columns: Sequence[BatchColumn], mapping: TableMapping) -> Iterator[str]:
    """Yield the SQL of each column, and after an enum that of a column with its unknown values, null in the first."""
    for column in columns:
        sql = _read_column(column)
        if column.values:
            cast = f"TRY_CAST({sql} AS ENUM({', '.join(map(literal, column.values))}))"
            yield f"{cast} AS {column.alias}"
            yield f"CASE WHEN {cast} IS NULL THEN CAST({sql} AS VARCHAR) END AS {column.alias}{UNKNOWN_SUFFIX}"
        else:
            yield f"{_cast(column, sql, mapping)} AS {column.alias}"


def _read_column(column: BatchColumn) -> str:
    """Return the SQL of the user's column; of a JSON string or a UUID, its text."""
    sql = ".".join(map(quote, column.path))
    if column.source_kind == "uuid":
        return f"CAST({sql} AS VARCHAR)"
    if column.source_kind == "json" and column.target_kind != "json":
        sql = f"{sql} ->> '$'"
    return sql


def _cast(column: BatchColumn, sql: str, mapping: TableMapping) -> str:
    """Return the SQL that converts `sql`, of a column, from the source kind to the target kind."""
    if column.source_kind == "null":
        return f"CAST(NULL AS {_SQL_TYPES.get(column.target_kind, 'VARCHAR')})"
    match column.target_kind, column.source_kind:
        case "date", "time":
            return f"CAST(CAST({sql} AS {'TIMESTAMP' if mapping.whole_dates else 'DATE'}) AS VARCHAR)"
        case "date", "date":
            return f"CAST({sql} AS VARCHAR)"
        case "id", kind:
            return f"CAST({sql} AS {'BIGINT' if kind == 'integer' else 'VARCHAR'})"
        case ("number", _) | ("integer", "number"):
            return f"CAST({sql} AS DOUBLE)"
        case "integer", "wide":
            fits = f"{sql} BETWEEN -9223372036854775807 AND 9223372036854775807"
            return f"CASE WHEN {sql} IS NULL OR {fits} THEN CAST({sql} AS BIGINT) ELSE {_NO_INTEGER} END"
    return sql


def quote(name: str) -> str:
    """Return a name as a quoted SQL identifier."""
    return '"{}"'.format(name.replace('"', '""'))


def literal(value: object) -> str:
    """Return a value as SQL: a string in quotes, a number as it is."""
    return "'{}'".format(value.replace("'", "''")) if isinstance(value, str) else str(value)
