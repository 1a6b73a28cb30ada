"""DuckDB reads, joins and sorts tables for the partition function: files, its own tables, data frames.

In: tables of rows and of contexts. Out: one sorted stream of Arrow batches, as `batches` takes them. Nothing is computed
here that a seed says, so DuckDB's arithmetic never matters. Memory is bounded; what does not fit goes into a temporary folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formulaseed.errors import DataError, UnreadableError, require_extra
from formulaseed.runtime.tables import Columns, Mapped, Reading

if TYPE_CHECKING:
    import duckdb

    from formulaseed.runtime.chunks import Chunk

OTHER = "_other"
"""As in `columns`, which imports pyarrow."""
_BATCH = 100_000
"""Lines of a batch: enough for columns to be worth their while."""
_SAMPLE = 10_000
"""Rows whose keys say where ranges of about as many rows end."""
Range = tuple[Any, Any]
"""The first key, and the key after the last one; None where there is no bound."""
EVERY: Range = (None, None)
_KINDS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "integer"),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT"), "wide"),
    **dict.fromkeys(("DOUBLE", "FLOAT", "DECIMAL"), "number"),
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID"), "string"),
    "JSON": "json",
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


@dataclass(frozen=True, slots=True)
class Table:
    """A table as SQL that selects from it, with its columns. `once` says that it can be read only once.

    `cursor` is its own, since a connection has one open result.
    """

    sql: str
    columns: Columns
    cursor: duckdb.DuckDBPyConnection
    once: bool = False

    def shared(self) -> tuple[str, Columns]:
        """Return what another session opens it by."""
        return self.sql, self.columns


Tables = tuple[Table, Table | None]
"""The rows and the contexts."""


def is_imported() -> bool:
    """Whether DuckDB may have threads already."""
    return "duckdb" in sys.modules


@contextmanager
def session(
    threads: int, memory: str | None, database: str | None = None, inside: Path | None = None
) -> Iterator[Session]:
    """Provide DuckDB, with a folder for what does not fit into memory, which is removed at the end; `inside` of another.

    Raises `UnreadableError` where DuckDB is missing or the database cannot be opened.
    """
    with require_extra("duckdb", "the engine `duckdb`"):
        import duckdb
    with tempfile.TemporaryDirectory(prefix="formulaseed-", dir=inside) as folder, _reported():
        connection = duckdb.connect()
        try:
            settings = {"threads": threads, "memory_limit": memory, "temp_directory": folder}
            for name, value in settings.items():
                if value is not None:
                    connection.execute(f"SET {name} = {_text(value) if isinstance(value, str) else value}")
            if database is not None:
                connection.execute(f"ATTACH {_text(database)} AS given (READ_ONLY)")
            yield Session(connection, in_database=database is not None)
        finally:
            connection.close()


def versions() -> dict[str, str]:
    """Return the versions of what reads and writes tables."""
    import duckdb
    import pyarrow

    return {"duckdb": duckdb.__version__, "pyarrow": pyarrow.__version__}


class Session:
    """A connection to DuckDB that opens tables; with `in_database` they are named, and otherwise files or data."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, in_database: bool) -> None:
        self._connection = connection
        self._in_database = in_database

    def open_tables(self, rows: Any, contexts: Any, key: str) -> Tables:
        """Open the rows, and the contexts if there are any: those that a file of nested rows has, where none are given."""
        other = self._opened(contexts, "contexts") if contexts is not None else None
        found = self._opened(rows, "rows")
        if found.columns.get(("rows",)) != "list of structs":
            return found, other
        if found.once:
            raise DataError("nested rows are read twice: pass a table, a frame or a path in place of a reader")
        own = self._opened(rows, "rows") if other is None else other
        return _unnested(found, key), other or _contexts_of(own, key)

    def reopened(self, sql: str, columns: Columns) -> Table:
        """Return a table that another session has opened: a file, or a table of the same database."""
        cursor = self._connection.cursor()
        if self._in_database:
            cursor.execute("USE given")
        return Table(sql, columns, cursor)

    def _opened(self, given: Any, name: str) -> Table:
        cursor = self._connection.cursor()
        if isinstance(given, str | os.PathLike):
            if self._in_database:
                cursor.execute("USE given")
            sql = ".".join(map(_quoted, str(given).split("."))) if self._in_database else _file(os.fspath(given))
            return Table(sql, _columns(cursor, sql), cursor)
        if (
            type(given).__name__ == "DuckDBPyRelation"
        ):  # a connection has one open result, so that contexts are read first
            given = given.to_arrow_table() if name == "contexts" else given.to_arrow_reader(_BATCH)
        try:
            cursor.register(f"given_{name}", given)
        except Exception:
            what = "a path, an Arrow table or reader, a pandas or polars frame, or a DuckDB relation"
            raise DataError(f"the {name} must be {what}, not {type(given).__name__}") from None
        sql = f"given_{name}"
        return Table(sql, _columns(cursor, sql), cursor, once=hasattr(given, "read_next_batch"))


@contextmanager
def chunks(
    rows: Table, contexts: Table | None, mapped: Mapped, counts: Counter[str], within: Range = EVERY, *, is_sorted: bool
) -> Iterator[tuple[Iterator[Chunk], Any]]:
    """Provide the chunks of a range of both tables, and the schema of results.

    Raises `UnsortedError` where tables are not as `is_sorted` says.
    """
    import pyarrow as pa

    from formulaseed.runtime.chunks import chunk_of, chunks_of, with_contexts

    with ExitStack() as stack, _reported():
        readers = []
        for table, query in _queries((rows, contexts), mapped, within, is_sorted):
            readers.append(table.cursor.sql(query).to_arrow_reader(_BATCH))
            stack.callback(readers[-1].close)
        nothing = [pa.record_batch([pa.array([], kind) for kind in each.schema.types], each.schema) for each in readers]
        empty = chunk_of(nothing[:1])._replace(contexts=nothing[-1] if contexts is not None else None)
        found = chunks_of(_read(readers[0]), counts)
        every = with_contexts(found, _read(readers[1]), counts, empty) if contexts is not None else found
        yield every, _schema(readers[0].schema, mapped)


def schema(tables: Tables, mapped: Mapped) -> Any:
    """Return the schema of results."""
    with _reported():
        table, query = next(_queries(tables, mapped, EVERY, True))
        return _schema(table.cursor.sql(f"{query} LIMIT 0").to_arrow_table().schema, mapped)


def _schema(rows: Any, mapped: Mapped) -> Any:
    return mapped.plan.schema(rows.field("key").type, rows.field("order_key").type)


def _queries(tables: Tables, mapped: Mapped, within: Range, is_sorted: bool) -> Iterator[tuple[Table, str]]:
    """What is read from the rows, and from the contexts, if there are any."""
    key = _key(tables, mapped)
    order = f"{_quoted(mapped.plan.order)} AS order_key"
    for table, first, readings in zip(tables, ((order,), ()), (mapped.rows, mapped.contexts), strict=True):
        if table is not None:
            read = [f"{key} AS key", *first, *(text for each in readings for text in _selected(each, mapped))]
            ordered = "" if is_sorted else " ORDER BY key" + (", order_key" if first else "")
            yield table, f"SELECT {', '.join(read)} FROM {table.sql}{_within(key, within)}{ordered}"


def ranges(tables: Tables, mapped: Mapped, count: int) -> list[Range]:
    """Return ranges of keys with about as many rows each: so many, or fewer where there are few keys."""
    with _reported():
        query = f"SELECT {_key(tables, mapped)} AS key FROM {tables[0].sql} USING SAMPLE {_SAMPLE} ROWS"
        keys = sorted(key for (key,) in tables[0].cursor.execute(query).fetchall() if key is not None)
    bounds = sorted({keys[len(keys) * at // count] for at in range(1, count)}) if keys else []
    return list(zip([None, *bounds], [*bounds, None], strict=True))


def _key(tables: Tables, mapped: Mapped) -> str:
    is_number = all(table.columns[(mapped.plan.key,)] == "integer" for table in tables if table is not None)
    return f"CAST({_quoted(mapped.plan.key)} AS {'BIGINT' if is_number else 'VARCHAR'})"


def _within(key: str, within: Range) -> str:
    """The condition of a range; lines without a key are in the first one."""
    first, last = (_text(bound) if isinstance(bound, str) else bound for bound in within)
    if first is None:
        return "" if last is None else f" WHERE ({key} < {last} OR {key} IS NULL)"
    return f" WHERE {key} >= {first}" + ("" if last is None else f" AND {key} < {last}")


def _read(reader: Any) -> Iterator[Any]:
    """The batches of a reader, with its errors as DuckDB reports its own."""
    import pyarrow as pa

    try:
        yield from reader
    except (pa.ArrowException, OSError) as error:
        raise UnreadableError(f"DuckDB: {_first_line(error)}") from None


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
    if name.startswith("TIMESTAMP"):
        return "time"
    return _KINDS.get(name, declared[:80]) if declared != "STRUCT" else "empty struct"


def _unnested(table: Table, key: str) -> Table:
    """The rows of a file in which each restaurant has its own."""
    lacking = table.cursor.execute(f"SELECT count(*) FROM {table.sql} WHERE rows IS NULL").fetchall()[0][0]
    if lacking:
        raise DataError(f"{lacking} of the lines have no `rows`: a restaurant without reviews has an empty list")
    each = f"(SELECT {_quoted(key)}, generate_subscripts(rows, 1) - 1 AS position, unnest(rows) AS review FROM {table.sql})"
    known = [name for name, _ in _described(table.cursor, f"SELECT unnest(review) FROM {each}") if name in _NESTED]
    members = "".join(f", review.{_quoted(name)} AS {_quoted(name)}" for name in known)
    sql = f"(SELECT {_quoted(key)}, position{members} FROM {each})"
    return replace(table, sql=sql, columns=_columns(table.cursor, sql))


def _contexts_of(table: Table, key: str) -> Table:
    members = [path[1] for path in table.columns if path[0] == "context" and len(path) == 2 and path[1] != key]
    chosen = "".join(f", context.{_quoted(name)} AS {_quoted(name)}" for name in members)
    sql = f"(SELECT {_quoted(key)}{chosen} FROM {table.sql})"
    return replace(table, sql=sql, columns=_columns(table.cursor, sql))


def _selected(each: Reading, mapped: Mapped) -> Iterator[str]:
    """What is selected for a column. The unknown values of an enum, which the cast makes null, have a column of their own."""
    column = ".".join(map(_quoted, each.path))
    if each.kind == "json" and each.wanted != "json":
        column = f"{column} ->> '$'"
    if each.values:
        cast = f"TRY_CAST({column} AS ENUM({', '.join(map(_text, each.values))}))"
        yield f"{cast} AS {each.alias}"
        yield f"CASE WHEN {cast} IS NULL THEN CAST({column} AS VARCHAR) END AS {each.alias}{OTHER}"
        return
    yield f"{_expression(each, column, mapped)} AS {each.alias}"


def _expression(each: Reading, column: str, mapped: Mapped) -> str:
    if each.kind == "null":
        return f"CAST(NULL AS {_SQL.get(each.wanted, 'VARCHAR')})"
    match each.wanted, each.kind:
        case "date", "time":
            return f"CAST(CAST({column} AS {'TIMESTAMP' if mapped.whole_dates else 'DATE'}) AS VARCHAR)"
        case "date", "date":
            return f"CAST({column} AS VARCHAR)"
        case "id", _:
            return f"CAST({column} AS {'BIGINT' if each.kind == 'integer' else 'VARCHAR'})"
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


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0]


@contextmanager
def _reported() -> Iterator[None]:
    """Turn DuckDB's errors into ours."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        first = _first_line(error)
        unusable = duckdb.IOException | duckdb.CatalogException | duckdb.InvalidInputException
        settings = duckdb.OutOfMemoryException | duckdb.ParserException  # too little memory, and what is no size
        if isinstance(error, unusable | settings):
            raise UnreadableError(f"DuckDB: {first}") from None
        raise DataError(f"DuckDB: {first}") from None
