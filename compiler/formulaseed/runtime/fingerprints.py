"""Fingerprints the restaurants of tables, so that `score` evaluates only those that changed since earlier results.

In: opened tables with their mapping, and perhaps a file of results. Out: results with a column of fingerprints, in which
unchanged restaurants have the lines of that file. A fingerprint is a hash of everything that a line of results depends on.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from formulaseed.errors import DataError, UnreadableError
from formulaseed.runtime import duck, duck_sql
from formulaseed.runtime.table_names import FINGERPRINT, KEY, RESTAURANTS, UNCHANGED
from formulaseed.runtime.tables import ScoreOptions, TableMapping
from formulaseed.source.text import shorten

_RECORD_KEY = b"formulaseed"
_MAX_NAME_CHARACTERS = 80
_HASH_DIGITS = 16  # of the rows, and of the context: the hashes of their lines have 64 bits
FIELD = pa.field(FINGERPRINT, pa.string())
"""The column of fingerprints in results."""


@dataclass(frozen=True, slots=True)
class ScoringUpdate:
    """The fingerprints of all restaurants, and the lines of earlier results that are still right.

    `tables` are the tables to score: all lines, or those without the restaurants that have not changed.
    """

    tables: duck_sql.Tables
    fingerprints: pa.Table
    """The key and the fingerprint of each restaurant, in the order of the keys."""
    unchanged: pa.Table | None
    """The lines of earlier results, without fingerprints; None without earlier results."""

    def complete(self, batches: Iterator[pa.RecordBatch], counts: Counter[str]) -> Iterator[pa.RecordBatch]:
        """Yield the results of all restaurants with their fingerprints, given the results of `tables`.

        With earlier results, all of `batches` is read first, and `counts` are those of all restaurants afterwards.
        """
        start = 0
        for batch in batches if self.unchanged is None else self._merge(batches, self.unchanged, counts):
            part = self.fingerprints.slice(start, batch.num_rows).combine_chunks()
            start += batch.num_rows
            assert part.column(KEY).combine_chunks().equals(batch.column(0))  # both are in the order of the keys
            columns = [*batch.columns, part.column(FINGERPRINT).combine_chunks()]
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema.append(FIELD))

    def _merge(
        self, batches: Iterator[pa.RecordBatch], unchanged: pa.Table, counts: Counter[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield `batches` and the `unchanged` lines in the order of the keys; add the latter to `counts`."""
        merged = pa.concat_tables([unchanged, pa.Table.from_batches(batches, unchanged.schema)])
        counts[RESTAURANTS] += len(unchanged)
        counts[UNCHANGED] = len(unchanged)
        counts.update(unchanged.column("error_kind").drop_null().to_pylist())
        yield from merged.take(pc.sort_indices(merged.column(0))).to_batches()


@contextmanager
def open_update(
    tables: duck_sql.Tables, mapping: TableMapping, record: Mapping[str, Any], options: ScoreOptions
) -> Iterator[ScoringUpdate]:
    """Provide the update of the earlier results `options.since`, or the fingerprints alone if that is None.

    `record` is the provenance of the new results; a fingerprint depends on their seed, parameters and order, and on the
    version of this package. On exit a temporary file of keys is removed, so that the tables cannot be read any more.
    Raises `DataError` for results of another seed, without fingerprints or with other columns, and for tables that can
    be read only once; `UnreadableError` if the results cannot be read.
    """
    if any(table.once for table in tables if table is not None):
        raise DataError("fingerprints read tables twice: pass a table, a frame or a path in place of a reader")
    schema = duck.result_schema(tables, mapping)
    if FINGERPRINT in schema.names:
        raise DataError(f"`{FINGERPRINT}` has the name of another column of the results")
    earlier = None if options.since is None else _read_earlier(Path(options.since), schema, record)
    salt = [record["seed_sha256"], record["parameters"], record["order_by"], options.duplicates]
    salt.append(options.reasons and options.reasons.count)
    fingerprints = _fingerprint(tables, mapping, json.dumps([*salt, record["versions"]["formulaseed"]]))
    if earlier is None:
        yield ScoringUpdate(tables, fingerprints, None)
        return
    lines = pc.index_in(fingerprints.column(KEY), value_set=earlier.column(0).combine_chunks())
    are_equal = pc.equal(earlier.column(FINGERPRINT).take(lines), fingerprints.column(FINGERPRINT))
    unchanged = earlier.drop_columns([FINGERPRINT]).take(lines.filter(pc.fill_null(are_equal, False)))
    with tempfile.TemporaryDirectory(prefix="formulaseed-") as folder:
        path = Path(folder) / "unchanged.parquet"
        pq.write_table(pa.table({KEY: unchanged.column(0)}), path)
        key = duck_sql.build_key_expression(tables, mapping)
        # lines without a key are read, so that they are counted
        is_known = f"coalesce({key} IN (SELECT {KEY} FROM read_parquet({duck_sql.literal(str(path))})), false)"
        rows, contexts = (
            table and replace(table, sql=f"(SELECT * FROM {table.sql} WHERE NOT {is_known})") for table in tables
        )
        assert rows is not None  # only contexts may be missing
        yield ScoringUpdate((rows, contexts), fingerprints, unchanged)


def _read_earlier(path: Path, schema: pa.Schema, record: Mapping[str, Any]) -> pa.Table:
    """Read a file of results with the columns of `schema` and fingerprints, of the seed that `record` names.

    The metadata of the file are left out. Raises `UnreadableError` or `DataError` as `open_update` does.
    """
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException) as error:
        raise UnreadableError(f"cannot read {path}: {shorten(str(error))}") from None
    try:
        earlier = json.loads((table.schema.metadata or {}).get(_RECORD_KEY, b"null"))
    except ValueError:
        earlier = None
    if not isinstance(earlier, dict) or FINGERPRINT not in table.column_names:
        help = "`score` writes them into Parquet with --fingerprint, in Python `fingerprint=True`"
        raise DataError(f"{path} has no results with fingerprints; {help}")
    if earlier.get("seed_sha256") != record["seed_sha256"]:
        names = [shorten(f"`{seed.get('task')}`, {seed.get('seed_sha256')}", _MAX_NAME_CHARACTERS)
                 for seed in (earlier, record)]  # fmt: skip
        raise DataError(f"{path} has results of another seed ({names[0]}, not {names[1]}): score all restaurants")
    table = table.replace_schema_metadata(None)
    if not table.schema.equals(schema.append(FIELD)):
        raise DataError(
            f"{path} has other columns than the new results: pass --key, --trace and --reasons as they were for it"
        )
    return table


def _fingerprint(tables: duck_sql.Tables, mapping: TableMapping, salt: str) -> pa.Table:
    """Return the key and the fingerprint of each restaurant, in the order of the keys."""
    salt = sha256(salt.encode()).hexdigest()
    with duck.translate_errors():
        queries = duck_sql.build_queries(tables, mapping, duck_sql.ALL_KEYS, True)
        rows, *contexts = (_hash_lines(table, query, salt) for table, query in queries)
    if not contexts:
        return rows
    keys = contexts[0].column(KEY)
    lines = pc.index_in(keys, value_set=rows.column(KEY).combine_chunks())
    parts = (contexts[0].column(FINGERPRINT), rows.column(FINGERPRINT).take(lines))
    return pa.table({KEY: keys, FINGERPRINT: pc.binary_join_element_wise(*parts, "", null_handling="replace")})


def _hash_lines(table: duck_sql.DuckTable, query: str, salt: str) -> pa.Table:
    """Return the key and the fingerprint of each restaurant of a query, in the order of the keys.

    Each line has the order key among its values, so that their order in the table does not matter.
    """
    names = ", ".join(f'"{name}"' for name in table.cursor.sql(f"{query} LIMIT 0").columns)
    lines = f"SELECT {KEY}, hash({names}) AS line FROM ({query}) WHERE {KEY} IS NOT NULL"
    parts = f"left(md5(concat_ws('|', '{salt}', count(*), bit_xor(line), sum(line))), {_HASH_DIGITS})"
    hashes = f"SELECT {KEY}, {parts} AS {FINGERPRINT} FROM ({lines}) GROUP BY {KEY} ORDER BY {KEY}"
    return table.cursor.sql(hashes).to_arrow_table()
