"""Queries over large tables: tasks over many restaurants, one restaurant with a million rows, little memory, no room to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")
duckdb = pytest.importorskip("duckdb", reason="queries run on duckdb")
pytest.importorskip("sqlglot", reason="queries are parsed again")

import pyarrow.parquet as pq  # noqa: E402
from formulaseed import load_evaluator, load_seed  # noqa: E402
from formulaseed.backends.sql.dialects import DUCKDB  # noqa: E402
from formulaseed.backends.sql.inputs import column_names, context_fields  # noqa: E402
from formulaseed.ir import nodes  # noqa: E402
from formulaseed.language.types import Base  # noqa: E402
from formulaseed.runtime import queries  # noqa: E402
from formulaseed.runtime.scoring import ScoredBatches, score_tables  # noqa: E402
from formulaseed.runtime.tables import ScoreOptions  # noqa: E402
from helpers import SEEDS, command  # noqa: E402

pytestmark = pytest.mark.thorough
RESTAURANTS, ROWS = 20_000, 3


def print_value(field: nodes.ExtractionField | nodes.InputField, number: int) -> str:
    """Return the SQL of a plausible value of a field, which depends on the row alone: `h` is its hash."""
    draw = f"hash(h, {number}) % 1000"
    if field.name == "date":
        return f"CAST(DATE '2018-01-01' + CAST({draw} * 2 AS INTEGER) AS VARCHAR)"
    if field.ty.values:
        values = ", ".join(map(DUCKDB.string, field.ty.values))
        return f"[{values}][CAST(1 + {draw} % {len(field.ty.values)} AS INTEGER)]"
    match field.ty.base:
        case Base.BOOLEAN:
            return f"{draw} < 300"
        case Base.STRING:
            return f"['Thai, Bars', 'Pizza', '']['1'::INTEGER + CAST({draw} % 3 AS INTEGER)]"
    low, high = 2016 if field.name == "year" else 1, 2026 if field.name == "year" else 6
    if isinstance(field, nodes.ExtractionField):
        low = int(field.minimum) if field.minimum is not None else low
        high = int(field.maximum) + 1 if field.maximum is not None else low + 10
    whole = f"{low} + {draw} % {high - low}"
    return f"CAST({whole} AS BIGINT)" if field.ty.base is Base.INTEGER else f"CAST({whole} AS DOUBLE) * 0.9"


def write_tables(seed: Any, folder: Path, restaurants: int, rows: int) -> tuple[str, str]:
    """Write tables for a seed, the rows in no order, and return their paths."""
    program = seed.program
    names = column_names(program)
    fields = [*program.row_fields()]
    by_symbol = {symbol.name: name for symbol, name in names.items()}
    columns = [f'{print_value(field, at)} AS "{by_symbol[field.name]}"' for at, (_, field) in enumerate(fields)]
    if any(field.name == "date" for _, field in fields):  # the year and the month are then those of the date
        columns = [column for column in columns if not column.endswith(('"year"', '"month"'))]
    facts = [
        f'{print_value(field, at)} AS "{by_symbol[field.name]}"' for at, field in enumerate(context_fields(program))
    ]
    keys = f"SELECT 'b' || i AS business_id, p AS position, hash(i, p) AS h FROM range({restaurants}) a(i), range({rows}) b(p)"
    row_path, context_path = str(folder / "rows.parquet"), str(folder / "contexts.parquet")
    with duckdb.connect() as connection:
        for path, chosen, source in (
            (row_path, ["business_id", "position", *columns], keys),
            (context_path, ["business_id", *facts], f"{keys} WHERE p = 0"),
        ):
            connection.execute(
                f"COPY (SELECT {', '.join(chosen)} FROM ({source}) ORDER BY h) TO '{path}' (ROW_GROUP_SIZE 10000)"
            )
    return row_path, context_path


def score(seed: Any, tables: tuple[str, str], **options: Any) -> Any:
    """Return the table of results."""

    def read(results: ScoredBatches) -> Any:
        return pa.Table.from_batches(results.batches, results.schema)

    return score_tables(seed, load_evaluator(seed), *tables, ScoreOptions(**options), read)


def to_bytes(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.parent.name)
def test_threads_and_repetitions_give_the_same_bytes(path: Path, tmp_path: Path) -> None:
    """On one thread and two, three times, and those of the module; the rows are in no order."""
    seed = load_seed(path)
    tables = write_tables(seed, tmp_path, RESTAURANTS, ROWS)
    reads_date = any(field.name == "date" for _, field in seed.program.row_fields())
    backend = "module" if reads_date else "sql"
    outputs = {to_bytes(score(seed, tables, jobs=jobs, backend=backend)) for jobs in (1, 2) for _ in range(3)}
    results = score(seed, tables, backend="module")
    assert outputs == {to_bytes(results)}
    assert results.num_rows == RESTAURANTS
    assert results.column("error_kind").null_count == RESTAURANTS


def test_one_restaurant_with_a_million_rows_in_little_memory(tmp_path: Path) -> None:
    """Its sums are in the order of the rows, too; 1 GB is enough, and a duplicate among a million rows is found."""
    seed = load_seed(next(path for path in SEEDS if path.parent.name == "g1a_v2"))
    tables = write_tables(seed, tmp_path, 1, 1_000_000)
    by_query = score(seed, tables, backend="sql", memory="1GB")
    assert by_query.to_pylist() == score(seed, tables, backend="module").to_pylist()
    assert by_query.column("error_kind").to_pylist() == [None]
    rows = pq.read_table(tables[0])
    pq.write_table(pa.concat_tables([rows, rows.slice(777_777, 1)]), tables[0])
    assert score(seed, tables, backend="sql", memory="1GB").column("error_kind").to_pylist() == ["data"]


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """The command names it, and no part of a file is left."""
    seed = next(path for path in SEEDS if path.parent.name == "g1a_v2")
    rows, contexts = write_tables(load_seed(seed), tmp_path, 10, 2)
    before = sorted(tmp_path.iterdir())
    out = Path(rows) / "out.parquet"
    done = command("score", seed, "--rows", rows, "--contexts", contexts, "--out", out, "--backend", "sql")
    assert (done.status, str(out) in done.err) == (2, True), done.err
    assert sorted(tmp_path.iterdir()) == before


def test_little_memory_is_enough_for_many_restaurants(tmp_path: Path) -> None:
    """The limit of DuckDB is kept; data that does not fit is on disk."""
    seed = load_seed(next(path for path in SEEDS if path.parent.name == "kitchen_hygiene"))
    tables = write_tables(seed, tmp_path, RESTAURANTS, ROWS)
    assert score(seed, tables, backend="sql", memory="100MB").equals(score(seed, tables, backend="module"))
    assert queries.find_obstacle(seed, load_evaluator(seed), ScoreOptions(memory="100MB")) == ""
