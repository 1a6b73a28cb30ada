"""DuckDB reads, joins and sorts tables for the partition function: files, its own tables, data frames.

In: tables of rows and of contexts. Out: one sorted stream of Arrow batches, as `batches` takes them. Nothing is computed
here that a seed says, so DuckDB's arithmetic never matters. Memory is bounded; what does not fit goes into a temporary folder.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formulaseed.errors import DataError, UnreadableError
from formulaseed.runtime.tables import Columns, Mapped, Reading

if TYPE_CHECKING:
    import duckdb

_BATCH = 100_000
"""Lines of a batch: few enough to stay in the processor's caches as tuples, enough for columns to be worth their while."""
_KINDS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "integer"),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT"), "wide"),
    **dict.fromkeys(("DOUBLE", "FLOAT", "DECIMAL"), "number"),
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID", "JSON"), "string"),
    "BOOLEAN": "boolean",
    "DATE": "date",
    "STRUCT": "struct",
    '"NULL"': "null",
}
_SQL = {"integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
_READERS = {
    ".parquet": "read_parquet({})",
    ".csv": "read_csv({})",
    # strings stay as they are: a date that DuckDB recognised would come back in another form
    **dict.fromkeys(
        (".jsonl", ".ndjson", ".json"),
        "read_json({}, format = 'newline_delimited', sample_size = -1, dateformat = '|', timestampformat = '|')",
    ),
}
_NESTED = ("review_id", "extraction", "meta")
"""The members of nested rows that are read."""


def connect(threads: int | None, memory: str | None, database: str | None = None) -> duckdb.DuckDBPyConnection:
    """Return a connection in memory. Raises `UnreadableError` where DuckDB is missing or the database cannot be opened."""
    try:
        import duckdb
    except ImportError:
        message = "this engine needs the package `duckdb`; run `pip install 'formulaseed[duckdb]'`"
        raise UnreadableError(message) from None
    with _reported():
        connection = duckdb.connect()
        settings = {"threads": threads, "memory_limit": memory}
        for name, value in settings.items():
            if value is not None:
                connection.execute(f"SET {name} = {_text(value) if isinstance(value, str) else value}")
        if database is not None:
            connection.execute(f"ATTACH {_text(database)} AS given (READ_ONLY)")
            connection.execute("USE given")
    return connection


@contextmanager
def spilling(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Give the connection a folder for what does not fit into memory, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="formulaseed-") as folder:
        connection.execute(f"SET temp_directory = {_text(folder)}")
        try:
            yield
        finally:
            connection.close()


@dataclass(frozen=True, slots=True)
class Table:
    """A table as SQL that selects from it, with its columns."""

    sql: str
    columns: Columns


def open_tables(
    connection: duckdb.DuckDBPyConnection, rows: Any, contexts: Any, key: str, *, in_database: bool = False
) -> tuple[Table, Table | None]:
    """Open the rows, and the contexts if there are any: those that a file of nested rows has, where none are given."""
    with _reported():
        found = _opened(connection, rows, "rows", in_database)
        other = _opened(connection, contexts, "contexts", in_database) if contexts is not None else None
        if found.columns.get(("rows",)) != "list of structs":
            return found, other
        return _unnested(connection, found, key), other or _contexts_of(connection, found, key)


def sorted_batches(
    connection: duckdb.DuckDBPyConnection, rows: Table, contexts: Table | None, mapped: Mapped
) -> Iterator[Any]:
    """Yield the lines of both tables as the partition function takes them. Raises `DataError` where DuckDB cannot."""
    plan = mapped.plan
    same = contexts is None or rows.columns[(plan.key,)] == contexts.columns[(plan.key,)] == "integer"
    key = (
        _quoted(plan.key)
        if same and rows.columns[(plan.key,)] == "integer"
        else f"CAST({_quoted(plan.key)} AS VARCHAR)"
    )
    order = _quoted(plan.order)
    read = [f"{_expression(each, mapped)} AS {each.alias}" for each in mapped.rows]
    parts = [
        f"SELECT {', '.join([f'{key} AS key', 'FALSE AS is_context', f'{order} AS order_key', *read])} FROM {rows.sql}"
    ]
    if contexts is not None:
        read = [f"{_expression(each, mapped)} AS {each.alias}" for each in mapped.contexts]
        parts.append(f"SELECT {', '.join([f'{key} AS key', 'TRUE AS is_context', *read])} FROM {contexts.sql}")
    with _reported():
        query = f"{' UNION ALL BY NAME '.join(parts)} ORDER BY key, is_context DESC, order_key"
        yield from connection.sql(query).to_arrow_reader(_BATCH)


def _opened(connection: duckdb.DuckDBPyConnection, given: Any, name: str, in_database: bool) -> Table:
    if isinstance(given, str | os.PathLike):
        sql = ".".join(map(_quoted, str(given).split("."))) if in_database else _file(os.fspath(given))
    else:
        data = given.to_arrow_reader() if type(given).__name__ == "DuckDBPyRelation" else given
        try:
            connection.register(f"given_{name}", data)
        except Exception:
            what = "a path, an Arrow table or reader, a pandas or polars frame, or a DuckDB relation"
            raise DataError(f"the {name} must be {what}, not {type(given).__name__}") from None
        sql = f"given_{name}"
    return Table(sql, _columns(connection, sql))


def _file(path: str) -> str:
    path = f"{path.rstrip('/')}/*.parquet" if Path(path).is_dir() else path
    plain = path.removesuffix(".gz")
    reader = next((text for suffix, text in _READERS.items() if plain.endswith(suffix)), None)
    if reader is None:
        raise UnreadableError(f"cannot read {path}: a table is a file that ends in {', '.join(_READERS)}")
    return reader.format(_text(path))


def _columns(connection: duckdb.DuckDBPyConnection, sql: str) -> Columns:
    found = dict[tuple[str, ...], str]()
    for name, kind in _described(connection, f"SELECT * FROM {sql}"):
        found[name,] = kind
        if kind == "struct":
            members = _described(connection, f"SELECT unnest({_quoted(name)}) FROM {sql}")
            found.update({(name, member): inner for member, inner in members})
    return found


def _described(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[str, str]]:
    return [(line[0], _kind(line[1])) for line in connection.execute(f"DESCRIBE {query}").fetchall()]


def _kind(declared: str) -> str:
    if declared.endswith("[]"):
        return "list of structs" if declared.startswith("STRUCT(") else declared
    name = declared.partition("(")[0]
    return "time" if name.startswith("TIMESTAMP") else _KINDS.get(name, declared[:80])


def _unnested(connection: duckdb.DuckDBPyConnection, table: Table, key: str) -> Table:
    """The rows of a file in which each restaurant has its own."""
    lacking = connection.execute(f"SELECT count(*) FROM {table.sql} WHERE rows IS NULL").fetchall()[0][0]
    if lacking:
        raise DataError(f"{lacking} of the lines have no `rows`: a restaurant without reviews has an empty list")
    each = f"(SELECT {_quoted(key)}, generate_subscripts(rows, 1) - 1 AS position, unnest(rows) AS review FROM {table.sql})"
    known = [name for name, _ in _described(connection, f"SELECT unnest(review) FROM {each}") if name in _NESTED]
    members = "".join(f", review.{_quoted(name)} AS {_quoted(name)}" for name in known)
    sql = f"(SELECT {_quoted(key)}, position{members} FROM {each})"
    return Table(sql, _columns(connection, sql))


def _contexts_of(connection: duckdb.DuckDBPyConnection, table: Table, key: str) -> Table:
    members = [path[1] for path in table.columns if path[0] == "context" and len(path) == 2 and path[1] != key]
    chosen = "".join(f", context.{_quoted(name)} AS {_quoted(name)}" for name in members)
    sql = f"(SELECT {_quoted(key)}{chosen} FROM {table.sql})"
    return Table(sql, _columns(connection, sql))


def _expression(each: Reading, mapped: Mapped) -> str:
    column = ".".join(map(_quoted, each.path))
    if each.kind == "null":
        return f"CAST(NULL AS {_SQL.get(each.wanted, 'VARCHAR')})"
    match each.wanted, each.kind:
        case "date", "time":
            return f"CAST(CAST({column} AS {'TIMESTAMP' if mapped.whole_dates else 'DATE'}) AS VARCHAR)"
        case "date", "date":
            return f"CAST({column} AS VARCHAR)"
        case "number", _:
            return f"CAST({column} AS DOUBLE)"
        case "integer", "number":
            return f"CAST({column} AS DOUBLE)"
        case "integer", "wide":  # -2**63 is no integer of a seed: its restaurant fails
            fits = f"{column} BETWEEN -9223372036854775807 AND 9223372036854775807"
            return f"CASE WHEN {column} IS NULL OR {fits} THEN CAST({column} AS BIGINT) ELSE -9223372036854775808 END"
    return column


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _text(value: str) -> str:
    return "'{}'".format(value.replace("'", "''"))


@contextmanager
def _reported() -> Iterator[None]:
    """Turn DuckDB's errors into ours."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        first = str(error).split("\n")[0]
        if isinstance(error, duckdb.IOException | duckdb.CatalogException | duckdb.InvalidInputException):
            raise UnreadableError(f"DuckDB: {first}") from None
        raise DataError(f"DuckDB: {first}") from None
