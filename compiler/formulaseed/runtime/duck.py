"""Reads and sorts tables with DuckDB for the partition function: files, DuckDB's own tables, data frames.

In: tables of rows and of contexts. Out: sorted chunks for `batches`. DuckDB computes no step of a seed, so that its
arithmetic never matters. Memory is limited; data that does not fit goes into a temporary folder.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formulaseed.errors import DataError, UnreadableError, require_extra
from formulaseed.runtime.duck_sql import (
    ALL_KEYS,
    DuckTable,
    KeyRange,
    Tables,
    build_key_expression,
    build_queries,
    literal,
    quote,
)
from formulaseed.runtime.table_names import KEY, ORDER
from formulaseed.runtime.tables import Columns, TableMapping

if TYPE_CHECKING:
    import duckdb

    from formulaseed.runtime.chunks import Chunk

_BATCH_LINES = 100_000
"""The number of lines of a batch, from which reading by columns is worthwhile."""
_KEY_SAMPLE_SIZE = 10_000
"""The number of rows whose keys are sampled to divide the rows into ranges of similar size."""
_KINDS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "integer"),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT"), "wide"),
    **dict.fromkeys(("DOUBLE", "FLOAT", "DECIMAL"), "number"),
    **dict.fromkeys(("VARCHAR", "ENUM"), "string"),
    "UUID": "uuid",
    "JSON": "json",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "STRUCT": "struct",
    '"NULL"': "null",
}
_JSON_READER = (
    # strings stay as they are: a date that DuckDB recognised would come back in another form
    "read_json({}, format = 'newline_delimited', sample_size = -1, dateformat = '|', timestampformat = '|'{})"
)
_READERS = {
    ".parquet": "read_parquet({})",
    ".csv": "read_csv({})",
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _JSON_READER),
}
_UUID = re.compile(r"\bUUID\b(?=[,)\[]|$)")
"""The type in the name of a type; a member of a struct that is called so is followed by its type."""
_NESTED_MEMBERS = ("review_id", "extraction", "meta")
"""The members of nested rows that are read."""


@contextmanager
def open_session(
    threads: int, memory: str | None, database: str | None = None, parent: Path | None = None
) -> Iterator[DuckSession]:
    """Connect to DuckDB; on exit close the connection and remove the folder for data that does not fit.

    `memory` is DuckDB's limit, None for its default. `database` is a file whose tables are opened by name, if given.
    The folder is created in `parent`, or in the system's temporary folder. Raises `UnreadableError` if DuckDB is
    missing or the database cannot be opened; `translate_errors` applies in the block.
    """
    with require_extra("duckdb", "the engine `duckdb`"):
        import duckdb
    with tempfile.TemporaryDirectory(prefix="formulaseed-", dir=parent) as folder, translate_errors():
        connection = duckdb.connect()
        try:
            settings = {"threads": threads, "memory_limit": memory, "temp_directory": folder}
            for name, value in settings.items():
                if value is not None:
                    connection.execute(f"SET {name} = {literal(value)}")
            if database is not None:
                connection.execute(f"ATTACH {literal(database)} AS given (READ_ONLY)")
            yield DuckSession(connection, in_database=database is not None)
        finally:
            connection.close()


def versions() -> dict[str, str]:
    """Return the versions of the packages that read and write tables; imports DuckDB."""
    import duckdb
    import pyarrow

    return {"duckdb": duckdb.__version__, "pyarrow": pyarrow.__version__}


class DuckSession:
    """A connection to DuckDB that opens tables: by their names `in_database`, otherwise files or tables in memory."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, in_database: bool) -> None:
        self._connection = connection
        self._in_database = in_database

    def open_tables(self, rows: Any, contexts: Any, key: str) -> Tables:
        """Open the rows and the contexts. Nested rows are split; `contexts`, if not None, replace their contexts.

        Raises `DataError` for values that are no table, for nested rows that can be read only once, and for lines
        without a list of rows.
        """
        context_table = self._open(contexts, "contexts") if contexts is not None else None
        row_table = self._open(rows, "rows")
        if row_table.columns.get(("rows",)) != "list of structs":
            return row_table, context_table
        if row_table.once:
            raise DataError("nested rows are read twice: pass a table, a frame or a path in place of a reader")
        nested_rows = _unnest_rows(row_table, key)
        if context_table is None:
            context_table = _select_contexts(self._open(rows, "rows"), key)
        return nested_rows, context_table

    def reopen(self, sql: str, columns: Columns) -> DuckTable:
        """Return a table that another session has opened: a file, or a table of the same database."""
        return DuckTable(sql, columns, self._open_cursor())

    def open_cursor(self, tables: Tables) -> duckdb.DuckDBPyConnection:
        """Return a new cursor that finds all of the tables."""
        cursor = self._open_cursor()
        for table in tables:
            if table is not None and table.memory is not None:
                cursor.register(*table.memory)
        return cursor

    def _open_cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a new cursor, which finds tables of the database by their names if there is one."""
        cursor = self._connection.cursor()
        if self._in_database:
            cursor.execute("USE given")
        return cursor

    def _open(self, source: Any, name: str) -> DuckTable:
        """Open a path, a table of the database or a table in memory; `name` is `rows` or `contexts`.

        An Arrow reader, and rows of a DuckDB relation, can be read only once. Raises `DataError` for a value that is no
        table, `UnreadableError` for an unknown suffix.
        """
        if isinstance(source, str | os.PathLike):
            cursor = self._open_cursor()
            if self._in_database:
                sql = ".".join(map(quote, str(source).split(".")))
                return DuckTable(sql, _read_columns(cursor, sql), cursor)
            return _open_file(cursor, os.fspath(source))
        if type(source).__name__ == "DuckDBPyRelation":
            # its connection has one open result, so that contexts are read first
            source = source.to_arrow_table() if name == "contexts" else source.to_arrow_reader(_BATCH_LINES)
        cursor = self._connection.cursor()
        sql = f"given_{name}"
        try:
            cursor.register(sql, source)
        except Exception:
            kinds = "a path, an Arrow table or reader, a pandas or polars frame, or a DuckDB relation"
            raise DataError(f"the {name} must be {kinds}, not {type(source).__name__}") from None
        is_reader = hasattr(source, "read_next_batch")
        return DuckTable(sql, _read_columns(cursor, sql), cursor, is_reader, (sql, source))


@contextmanager
def open_chunks(
    rows: DuckTable,
    contexts: DuckTable | None,
    mapping: TableMapping,
    counts: Counter[str],
    key_range: KeyRange = ALL_KEYS,
    *,
    is_sorted: bool,
) -> Iterator[tuple[Iterator[Chunk], Any]]:
    """Provide the chunks of a key range, read lazily, and the schema of results; on exit the readers are closed.

    With `is_sorted` DuckDB does not sort; `UnsortedError` is raised as soon as unsorted keys are read. `contexts` are
    joined to the chunks unless they are None. Lines without a key are dropped and added to `counts`.
    """
    import pyarrow as pa

    from formulaseed.runtime.chunks import build_chunk, cut_chunks, join_contexts

    with ExitStack() as stack, translate_errors():
        readers = []
        for table, query in build_queries((rows, contexts), mapping, key_range, is_sorted):
            readers.append(table.cursor.sql(query).to_arrow_reader(_BATCH_LINES))
            stack.callback(readers[-1].close)
        chunks = cut_chunks(_read_batches(readers[0]), counts)
        if contexts is not None:
            row_batch, context_batch = (pa.RecordBatch.from_pylist([], reader.schema) for reader in readers)
            empty = build_chunk([row_batch])._replace(contexts=context_batch)
            chunks = join_contexts(chunks, _read_batches(readers[1]), counts, empty)
        yield chunks, _result_schema(readers[0].schema, mapping)


def result_schema(tables: Tables, mapping: TableMapping) -> Any:
    """Return the Arrow schema of results from the columns of the tables, without reading a line."""
    with translate_errors():
        table, query = next(build_queries(tables, mapping, ALL_KEYS, True))
        return _result_schema(table.cursor.sql(f"{query} LIMIT 0").to_arrow_table().schema, mapping)


def _result_schema(rows: Any, mapping: TableMapping) -> Any:
    return mapping.plan.schema(rows.field(KEY).type, rows.field(ORDER).type)


def split_keys(tables: Tables, mapping: TableMapping, count: int) -> list[KeyRange]:
    """Return at most `count` ranges of similar size that cover all keys, judged by a sample of rows.

    The first range has no lower bound, the last no upper bound.
    """
    with translate_errors():
        expression = build_key_expression(tables, mapping)
        query = f"SELECT {expression} AS key FROM {tables[0].sql} USING SAMPLE {_KEY_SAMPLE_SIZE} ROWS"
        keys = sorted(key for (key,) in tables[0].cursor.execute(query).fetchall() if key is not None)
    bounds = sorted({keys[len(keys) * part // count] for part in range(1, count)}) if keys else []
    return list(zip([None, *bounds], [*bounds, None], strict=True))


def _read_batches(reader: Any) -> Iterator[Any]:
    """Yield the batches of a reader. Raises `UnreadableError` in place of errors of Arrow or the file system."""
    import pyarrow as pa

    try:
        yield from reader
    except (pa.ArrowException, OSError) as error:
        raise UnreadableError(f"DuckDB: {_first_line(error)}") from None


def _open_file(cursor: duckdb.DuckDBPyConnection, path: str) -> DuckTable:
    """Open a file, or a folder of Parquet files. Raises `UnreadableError` for an unknown suffix.

    Strings of JSON that DuckDB takes for UUIDs stay strings, since UUIDs come back in another form.
    """
    path = f"{path.rstrip('/')}/*.parquet" if Path(path).is_dir() else path
    plain_path = path.removesuffix(".gz")
    reader = next((template for suffix, template in _READERS.items() if plain_path.endswith(suffix)), None)
    if reader is None:
        raise UnreadableError(f"cannot read {path}: a table is a file that ends in {', '.join(_READERS)}")
    sql = reader.format(literal(path), "")
    types = _describe(cursor, f"SELECT * FROM {sql}")
    if reader is _JSON_READER and any(map(_UUID.search, types.values())):
        types = {name: _UUID.sub("VARCHAR", sql_type) for name, sql_type in types.items()}
        columns = (f"{literal(name)}: {literal(sql_type)}" for name, sql_type in types.items())
        sql = reader.format(literal(path), f", columns = {{{', '.join(columns)}}}")
    return DuckTable(sql, _read_columns(cursor, sql, types), cursor)


def _read_columns(connection: duckdb.DuckDBPyConnection, sql: str, types: Mapping[str, str] | None = None) -> Columns:
    """Map the name of each column, and the path of each struct's members one level down, to its kind.

    `types` has the SQL types of the columns by name, if they are known.
    """
    columns = dict[tuple[str, ...], str]()
    for name, sql_type in (types or _describe(connection, f"SELECT * FROM {sql}")).items():
        kind = columns[name,] = _column_kind(sql_type)
        if kind == "struct":
            members = _describe(connection, f"SELECT unnest({quote(name)}) FROM {sql}")
            columns.update({(name, member): _column_kind(member_type) for member, member_type in members.items()})
    return columns


def _describe(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    """Return the SQL types of a query's columns by name."""
    return {line[0]: line[1] for line in connection.execute(f"DESCRIBE {query}").fetchall()}


def _column_kind(sql_type: str) -> str:
    """Return the kind of a column, as in `Columns`, by its SQL type; for an unknown type, its first 80 characters."""
    if sql_type.endswith("[]"):
        return "list of structs" if sql_type.startswith("STRUCT(") else sql_type
    if sql_type == "STRUCT":
        return "empty struct"
    name = sql_type.partition("(")[0]
    if name.startswith("TIMESTAMP"):
        return "time"
    return _KINDS.get(name, sql_type[:80])


def _unnest_rows(table: DuckTable, key: str) -> DuckTable:
    """Return the rows of lines that have a list of rows each, with their `position` in the list, from 0.

    Raises `DataError` if a line has no list.
    """
    missing = table.cursor.execute(f"SELECT count(*) FROM {table.sql} WHERE rows IS NULL").fetchall()[0][0]
    if missing:
        raise DataError(f"{missing} of the lines have no `rows`: a restaurant without reviews has an empty list")
    reviews = (
        f"(SELECT {quote(key)}, generate_subscripts(rows, 1) - 1 AS position, unnest(rows) AS review FROM {table.sql})"
    )
    members = [*_describe(table.cursor, f"SELECT unnest(review) FROM {reviews}")]
    columns = "".join(f", review.{quote(name)} AS {quote(name)}" for name in members if name in _NESTED_MEMBERS)
    sql = f"(SELECT {quote(key)}, position{columns} FROM {reviews})"
    return replace(table, sql=sql, columns=_read_columns(table.cursor, sql))


def _select_contexts(table: DuckTable, key: str) -> DuckTable:
    """Return the contexts of lines that have a struct `context` each; without the struct only the key is left."""
    members = [path[1] for path in table.columns if path[0] == "context" and len(path) == 2 and path[1] != key]
    columns = "".join(f", context.{quote(name)} AS {quote(name)}" for name in members)
    sql = f"(SELECT {quote(key)}{columns} FROM {table.sql})"
    return replace(table, sql=sql, columns=_read_columns(table.cursor, sql))


def _first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    return str(error).split("\n")[0]


class LittleMemoryError(UnreadableError):
    """DuckDB needs more memory than its limit."""


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise `UnreadableError` (files, tables, memory, settings) or `DataError` in place of an error of DuckDB."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        message = f"DuckDB: {_first_line(error)}"
        file_errors = duckdb.IOException | duckdb.CatalogException | duckdb.InvalidInputException
        if isinstance(error, duckdb.OutOfMemoryException):
            raise LittleMemoryError(message) from None
        # a memory limit that is no size is an error of the parser
        if isinstance(error, file_errors | duckdb.ParserException):
            raise UnreadableError(message) from None
        raise DataError(message) from None
