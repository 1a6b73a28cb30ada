"""Parquet files through pyarrow: results, a column for each output, typed as the module declares it; and lines to be read.

What results have in common, the seed and its parameters, is in the file's metadata, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any, BinaryIO

from formulaseed.data.results import Failures, Provenance, Result
from formulaseed.data.tabular import DETAILS, IDENTITY, cells_of, columns_of
from formulaseed.errors import UnreadableError
from formulaseed.limits import INTEGER_MAX

_READ = 1_000
"""Lines that are read at a time."""
_ROWS = 10_000
"""Rows of a group, which are held in memory until it is written."""


def require_pyarrow() -> None:
    """Raise `UnreadableError` where pyarrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        message = "Parquet needs the package `pyarrow`; run `pip install 'formulaseed[parquet]'`"
        raise UnreadableError(message) from None


def parquet_lines(path: str) -> Iterator[bytes]:
    """Yield each line of a file as JSON; what is null in it is missing there. Raises `UnreadableError`."""
    require_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_READ):
                for line in batch.to_pylist():
                    yield json.dumps(_without_nulls(line), default=_plain).encode()
    except (OSError, pa.ArrowException) as error:
        raise UnreadableError(f"cannot read {path}: {str(error).splitlines()[0]}") from None


def _without_nulls(value: Any) -> Any:
    """The value without nulls: a column has a value for each line, while JSON leaves out what is not there."""
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _plain(value: Any) -> str | float:
    """A decimal as a number, a date or a time as its string in ISO form."""
    return float(value) if isinstance(value, Decimal) else str(value)


@contextmanager
def parquet_writer(
    file: BinaryIO, outputs: Mapping[str, type], task: str, made_with: Provenance
) -> Iterator[Callable[[Result], None]]:
    """Write a Parquet file, and provide what writes a result that is `fitting` into it.

    `outputs` are the seed's, each with its type.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    types = {**dict.fromkeys(IDENTITY, str), **outputs, **DETAILS}
    given = made_with.to_json()
    known = {"task": task, **{name: given[name] for name in ("seed_sha256", "seed_version", "parameters")}}
    metadata = {"formulaseed": json.dumps(known, ensure_ascii=False)}
    schema = pa.schema([(name, kinds[types[name]]) for name in columns_of([*outputs])], metadata)
    rows: list[Sequence[Any]] = []

    def flush() -> None:
        columns = zip(*rows, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        writer.write_batch(pa.record_batch(arrays, schema=schema))
        rows.clear()

    def write(result: Result) -> None:
        rows.append(cells_of(result, outputs))
        if len(rows) == _ROWS:
            flush()

    with pq.ParquetWriter(file, schema) as writer:
        try:
            yield write
        finally:
            if rows:
                flush()


def fitting(result: Result, failures: Failures) -> Result:
    """Return the result; where an integer is too large for its column, which has 64 bits, as one that failed."""
    for name, value in (result.output or {}).items():
        if isinstance(value, int) and not -INTEGER_MAX - 1 <= value <= INTEGER_MAX:
            message = "its value has more than the 64 bits of a Parquet column: write JSON Lines or CSV"
            failures.add(result.business_id, f"{name}: overflow: {message}")
            return replace(result, output=None, error={"step": name, "kind": "overflow", "message": message})
    return result
