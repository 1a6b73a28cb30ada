"""Parquet files through pyarrow: results, a column for each output, typed as the module declares it; rows, as `extract` writes
them; and lines to be read.

What results have in common, the seed and its parameters, is in the file's metadata, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any, BinaryIO, get_args

from formulaseed.data.results import Failures, Provenance, Result, Source
from formulaseed.data.tabular import DETAILS, IDENTITY, cells_of, columns_of
from formulaseed.errors import DataError, UnreadableError, require_extra
from formulaseed.ir import nodes
from formulaseed.language.types import Base
from formulaseed.limits import INTEGER_MAX

_READ = 1_000
"""Lines that are read at a time."""
_ROWS = 10_000
"""Rows of a group, which are held in memory until it is written; those of restaurants, too."""


def require_pyarrow(extra: str = "parquet", purpose: str = "Parquet") -> None:
    """Raise `MissingExtraError`, which names the `extra` to install, if pyarrow is not installed."""
    with require_extra(extra, purpose):
        import pyarrow.parquet  # noqa: F401


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


def frame_lines(frame: Any, what: str) -> Iterator[bytes]:
    """Yield each row of a pandas or polars frame, or an Arrow table, as JSON; what is null is missing there.

    Raises `DataError` as `arrow_table` does.
    """
    for batch in arrow_table(frame, what).to_batches(_READ):
        for line in batch.to_pylist():
            yield json.dumps(_without_nulls(line), default=_plain).encode()


def arrow_table(frame: Any, what: str) -> Any:
    """Return a frame, or what is left of an Arrow reader, as an Arrow table, which can be read again.

    Raises `DataError`, which names the frame as `what`, for columns that Arrow cannot hold.
    """
    require_pyarrow()
    import pyarrow as pa

    try:
        return pa.RecordBatchReader.from_stream(frame).read_all()
    except (pa.ArrowException, TypeError, ValueError) as error:  # pandas raises its own, as for two columns of one name
        raise DataError(f"{what}: the data frame cannot be read: {str(error).splitlines()[0]}") from None


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


@contextmanager
def rows_writer(
    file: BinaryIO, program: nodes.Program, *, with_text: bool
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Write a Parquet file of rows, and provide what writes the line of a restaurant: its keys are columns.

    The columns of a row and of a context are the fields that the seed has, standard and declared; others are left out. What
    writes raises `DataError` for a line with a value that its column cannot hold.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _rows_schema(program, with_text)
    kept: list[Any] = []
    rows = 0

    def flush() -> None:
        nonlocal rows
        lines = pa.concat_arrays(kept)
        writer.write_batch(pa.RecordBatch.from_struct_array(lines))
        kept.clear()
        rows = 0

    def write(line: dict[str, Any]) -> None:
        nonlocal rows
        try:
            kept.append(pa.array([line], pa.struct(schema)))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise DataError(f"a Parquet column of the rows cannot hold a value: {str(error).splitlines()[0]}") from None
        rows += len(line["rows"])
        if rows >= _ROWS or len(kept) >= _ROWS:
            flush()

    with pq.ParquetWriter(file, schema) as writer:
        try:
            yield write
        finally:
            if kept:
                flush()


def _rows_schema(program: nodes.Program, with_text: bool) -> Any:
    """The columns of a restaurant's line. A struct without members, which Parquet does not know, is left out."""
    import pyarrow as pa

    kinds = {Base.INTEGER: pa.int64(), Base.NUMBER: pa.float64(), Base.BOOLEAN: pa.bool_()}

    def struct(given: Sequence[nodes.ExtractionField | nodes.InputField]) -> Any:
        return pa.struct([(each.name, kinds.get(each.ty.base, pa.string())) for each in given])

    quote = pa.struct([("text", pa.string()), ("verified", pa.bool_()), ("start", pa.int64()), ("end", pa.int64())])
    row = {"review_id": pa.string(), "extraction": struct(program.fields), "meta": struct(program.meta)}
    if with_text:
        row["text"] = pa.string()
        row["quotes"] = pa.struct([(each.name, quote) for each in program.fields])
        row["reasons"] = pa.struct([(each.name, pa.string()) for each in program.fields])
    counts = dict.fromkeys(("total", "relevant", "extracted", "failed", "sampled"), pa.int64())
    sources = pa.struct(dict.fromkeys(filter(None, get_args(Source)), pa.int64()))
    run = dict.fromkeys(("seed_sha256", "seed_version", "extractor", "prompt_sha256"), pa.string())
    sample = pa.struct(dict.fromkeys(("reviews", "of", "seed"), pa.int64()))
    return pa.schema(
        {
            "business_id": pa.string(),
            "context": struct(program.context),
            "rows": pa.list_(pa.struct({name: kind for name, kind in row.items() if kind != pa.struct([])})),
            "reviews": pa.struct({**counts, "sources": sources}),
            "run": pa.struct({**run, "edited": pa.bool_(), "sample": sample}),
        }
    )
