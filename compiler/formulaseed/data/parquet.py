"""Read lines from Parquet files and data frames, and write results and rows as Parquet, through pyarrow.

Results have a column for each output, typed as the module declares it. The seed and its parameters are in the file's
metadata, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any, BinaryIO, get_args

from formulaseed.data.results import AnswerSource, Failures, Provenance, Result
from formulaseed.data.scored import reasons_type
from formulaseed.data.tabular import DETAILS, IDENTITY, column_names, result_cells
from formulaseed.errors import DataError, UnreadableError, require_extra
from formulaseed.ir import nodes
from formulaseed.language.types import Base
from formulaseed.limits import INTEGER_MAX

_BATCH_LINES = 1_000
"""The number of lines that are read at a time."""
_GROUP_ROWS = 10_000
"""The rows or restaurants of a row group, which are in memory until the group is written."""


def require_pyarrow(extra: str = "parquet", purpose: str = "Parquet") -> None:
    """Raise `MissingExtraError`, which names the `extra` to install, if pyarrow is not installed."""
    with require_extra(extra, purpose):
        import pyarrow.parquet  # noqa: F401


def parquet_lines(path: str) -> Iterator[bytes]:
    """Yield each line of a file as JSON, without nulls.

    Raises `UnreadableError` if it cannot be read, or pyarrow is not installed.
    """
    require_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH_LINES):
                for line in batch.to_pylist():
                    yield json.dumps(_drop_nulls(line), default=_encode_value).encode()
    except (OSError, pa.ArrowException) as error:
        raise UnreadableError(f"cannot read {path}: {str(error).splitlines()[0]}") from None


def frame_lines(frame: Any, name: str) -> Iterator[bytes]:
    """Yield each row of a pandas or polars frame, or an Arrow table, as JSON, without nulls.

    Raises `DataError` as `arrow_table` does.
    """
    for batch in arrow_table(frame, name).to_batches(_BATCH_LINES):
        for line in batch.to_pylist():
            yield json.dumps(_drop_nulls(line), default=_encode_value).encode()


def arrow_table(frame: Any, name: str) -> Any:
    """Return a frame, or the rest of an Arrow reader, as an Arrow table, which can be read again.

    Raises `DataError`, with the `name` of the frame, for columns that Arrow cannot hold, and `MissingExtraError`
    without pyarrow.
    """
    require_pyarrow()
    import pyarrow as pa

    try:
        return pa.RecordBatchReader.from_stream(frame).read_all()
    # pandas raises errors of its own, such as for two columns of one name.
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"{name}: the data frame cannot be read: {str(error).splitlines()[0]}") from None


def _drop_nulls(value: Any) -> Any:
    """Return a copy of a JSON value without nulls, since a column has a null for each line that lacks the member."""
    if isinstance(value, dict):
        return {name: _drop_nulls(member) for name, member in value.items() if member is not None}
    return [_drop_nulls(item) for item in value] if isinstance(value, list) else value


def _encode_value(value: Any) -> str | float:
    """Return a decimal as a float, and anything else, such as a date or a time, as its string."""
    return float(value) if isinstance(value, Decimal) else str(value)


@contextmanager
def parquet_writer(
    file: BinaryIO, outputs: Mapping[str, type], task: str, provenance: Provenance, has_reasons: bool = False
) -> Iterator[Callable[[Result], None]]:
    """Open a Parquet writer of results in `file`, and provide a function that adds a result.

    The rest and the footer are written on exit, also after an exception: the file is then valid, with the results so
    far. `file` stays open. `outputs` are the seed's outputs with their types; `has_reasons` adds the column `reasons`.
    Results must have passed `fail_if_oversized`. Raises `FormulaSeedError` for an output that is called like another column.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    types = {**dict.fromkeys(IDENTITY, str), **outputs, **DETAILS}
    record = provenance.to_json()
    common = {"task": task, **{name: record[name] for name in ("seed_sha256", "seed_version", "parameters")}}
    metadata = {"formulaseed": json.dumps(common, ensure_ascii=False)}
    columns = {name: kinds[kind] for name, kind in types.items()} | {"reasons": reasons_type()}
    schema = pa.schema([(name, columns[name]) for name in column_names([*outputs], has_reasons)], metadata)
    rows: list[Sequence[Any]] = []

    def flush() -> None:
        """Write the pending rows as a row group, and clear them."""
        columns = zip(*rows, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        writer.write_batch(pa.record_batch(arrays, schema=schema))
        rows.clear()

    def write(result: Result) -> None:
        """Add a result; write a row group when enough are pending."""
        rows.append([*result_cells(result, outputs), *([result.reasons] if has_reasons else ())])
        if len(rows) == _GROUP_ROWS:
            flush()

    with pq.ParquetWriter(file, schema) as writer:
        try:
            yield write
        finally:
            if rows:
                flush()


def fail_if_oversized(result: Result, failures: Failures) -> Result:
    """Return the result itself, or a copy with an error if an integer has more than the 64 bits of its column.

    The error is then also added to `failures`.
    """
    for name, value in (result.output or {}).items():
        if isinstance(value, int) and not -INTEGER_MAX - 1 <= value <= INTEGER_MAX:
            message = "its value has more than the 64 bits of a Parquet column: write JSON Lines or CSV"
            failures.add(result.business_id, f"{name}: overflow: {message}")
            error: dict[str, str | None] = {"step": name, "kind": "overflow", "message": message}
            return replace(result, output=None, reasons=None, error=error)
    return result


@contextmanager
def rows_writer(
    file: BinaryIO, program: nodes.Program, *, with_text: bool
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Open a Parquet writer of rows in `file`, and provide a function that adds the line of a restaurant.

    Rows and contexts have the seed's fields, standard and declared; other values are dropped. `with_text` adds texts,
    quotes and reasons. The function raises `DataError` for a line with a value that its column cannot hold. The rest is
    written on exit, also after an exception; `file` stays open.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _rows_schema(program, with_text)
    pending: list[Any] = []
    rows = 0

    def flush() -> None:
        """Write the pending lines as a row group, and clear them."""
        nonlocal rows
        lines = pa.concat_arrays(pending)
        writer.write_batch(pa.RecordBatch.from_struct_array(lines))
        pending.clear()
        rows = 0

    def write(line: dict[str, Any]) -> None:
        """Add a line; write a row group when enough are pending.

        Raises `DataError` for a value that a column cannot hold.
        """
        nonlocal rows
        try:
            pending.append(pa.array([line], pa.struct(schema)))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise DataError(f"a Parquet column of the rows cannot hold a value: {str(error).splitlines()[0]}") from None
        rows += len(line["rows"])
        if rows >= _GROUP_ROWS or len(pending) >= _GROUP_ROWS:
            flush()

    with pq.ParquetWriter(file, schema) as writer:
        try:
            yield write
        finally:
            if pending:
                flush()


def _rows_schema(program: nodes.Program, with_text: bool) -> Any:
    """Return the Arrow schema of a file of rows, one restaurant a line.

    `with_text` adds the text, quotes and reasons of each review. A row has no structs without members, which Parquet does
    not know.
    """
    import pyarrow as pa

    kinds = {Base.INTEGER: pa.int64(), Base.NUMBER: pa.float64(), Base.BOOLEAN: pa.bool_()}

    def struct(fields: Sequence[nodes.ExtractionField | nodes.InputField]) -> Any:
        return pa.struct([(field.name, kinds.get(field.ty.base, pa.string())) for field in fields])

    quote = pa.struct([("text", pa.string()), ("verified", pa.bool_()), ("start", pa.int64()), ("end", pa.int64())])
    row = {"review_id": pa.string(), "extraction": struct(program.fields), "meta": struct(program.meta)}
    if with_text:
        row["text"] = pa.string()
        row["quotes"] = pa.struct([(field.name, quote) for field in program.fields])
        row["reasons"] = pa.struct([(field.name, pa.string()) for field in program.fields])
    counts = dict.fromkeys(("total", "relevant", "extracted", "failed", "sampled"), pa.int64())
    sources = pa.struct(dict.fromkeys(filter(None, get_args(AnswerSource)), pa.int64()))
    run = dict.fromkeys(("seed_sha256", "seed_version", "extractor", "prompt_sha256"), pa.string())
    sample = pa.struct(dict.fromkeys(("reviews", "of", "seed"), pa.int64()))
    return pa.schema(
        {
            "business_id": pa.string(),
            "context": struct(program.context),
            "rows": pa.list_(pa.struct({name: kind for name, kind in row.items() if kind != pa.struct([])})),
            "reviews": pa.struct({**counts, "sources": sources}),
            "run": pa.struct({**run, "edited": pa.bool_(), "sample": sample, "spoke_for": pa.list_(pa.int64())}),
        }
    )
