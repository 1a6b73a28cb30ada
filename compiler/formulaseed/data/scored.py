"""Write batches of results as Parquet, CSV or JSON Lines, by the name of the file.

In: Arrow batches with one schema. Out: a file that replaces an old one after the last batch. The sizes of batches do not
change its bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any, BinaryIO

from formulaseed.data.files import open_replacement
from formulaseed.data.tabular import csv_line, json_cell
from formulaseed.errors import UnreadableError

_GROUP_LINES = 100_000
"""The lines of a row group of Parquet."""
_SUFFIXES = (".parquet", ".csv", ".jsonl", ".ndjson")


def check_suffix(path: str) -> None:
    """Raise `UnreadableError` unless the path ends in `.parquet`, `.csv`, `.jsonl` or `.ndjson`."""
    if not path.endswith(_SUFFIXES):
        raise UnreadableError(f"cannot write {path}: results go into a file that ends in {', '.join(_SUFFIXES)}")


def write_batches(path: str, batches: Iterable[Any], schema: Any) -> None:
    """Write batches of results to a file that replaces an old one: Parquet, CSV or JSON Lines, by its suffix.

    Reads all of `batches`. Raises `UnreadableError` if the file cannot be written.
    """
    if path.endswith(".parquet"):
        with open_replacement(Path(path)) as file:
            _write_parquet(file, batches, schema)
    else:
        write_values(path, schema.names, _read_lines(batches, schema.names))


def write_values(path: str, names: Sequence[str], values: Iterable[Sequence[Any]]) -> None:
    """Write results to a file that replaces an old one: CSV if its name ends in `.csv`, otherwise JSON Lines.

    `names` are the columns, and each of `values` is a row; all are read. Raises `UnreadableError` if the file cannot be
    written.
    """
    with open_replacement(Path(path)) as file:
        format_lines = _format_csv_lines if path.endswith(".csv") else _format_json_lines
        for line in format_lines(names, values):
            file.write(line.encode())


def build_table(names: Sequence[str], kinds: Mapping[str, str], values: Iterable[Sequence[Any]], metadata: Any) -> Any:
    """Build an Arrow table of results. `kinds` are the types of outputs; the columns have the types of `Plan.schema`.

    Reads all of `values`, whose members are in the order of `names`. `metadata` are those of the schema.
    """
    import pyarrow as pa

    types = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
    texts = pa.map_(pa.string(), pa.list_(pa.string()))
    details = {"evidence": texts, "reasons": reasons_type()}
    schema = pa.schema(
        [(name, details.get(name) or types.get(kinds.get(name, ""), pa.string())) for name in names], metadata
    )
    columns = list(zip(*values, strict=True)) or [()] * len(names)
    arrays = [_build_array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def reasons_type() -> Any:
    """Return the Arrow type of the column with the reasons of verdicts."""
    import pyarrow as pa

    text = pa.string()
    members = {"code": text, "label": text, "change": pa.float64(), "reviews": pa.list_(text), "source": text}
    return pa.list_(pa.struct(members))


def merge_batches(batches: Iterable[Any], schema: Any) -> Any:
    """Return the batches, all of which are read, as one Arrow table with the metadata of `schema`."""
    import pyarrow as pa

    return pa.Table.from_batches(batches, schema.remove_metadata()).replace_schema_metadata(schema.metadata)


class _PandasBlocker(MetaPathFinder):
    """An import finder that reports pandas as missing."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Raise `ImportError` for pandas; leave all other modules to the other finders."""
        if fullname == "pandas":
            raise ImportError(fullname)


def skip_pandas() -> None:
    """Create pyarrow's first array while imports of pandas fail, for a process that does not use pandas.

    Otherwise that array imports pandas if it is installed, which takes a fifth of a second. Does nothing if pandas is
    imported already.
    """
    import pyarrow as pa

    if "pandas" in sys.modules:
        return
    finder = _PandasBlocker()
    sys.meta_path.insert(0, finder)
    try:
        pa.array(())
    finally:
        sys.meta_path.remove(finder)


def _build_array(column: Sequence[Any], kind: Any) -> Any:
    """Return an array of the Arrow type `kind`, from dictionaries for a map, from integers or floats for a float."""
    import pyarrow as pa

    if pa.types.is_map(kind):
        return pa.array([value if value is None else [*value.items()] for value in column], kind)
    if pa.types.is_floating(kind):
        return pa.array([value if value is None else float(value) for value in column], kind)
    return pa.array(column, kind)


def _write_parquet(file: BinaryIO, batches: Iterable[Any], schema: Any) -> None:
    """Write batches to an open file in row groups of 100,000 lines; strings except the key are dictionary-encoded."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    repetitive = [name for name in schema.names[1:] if pa.types.is_string(schema.field(name).type)]
    with pq.ParquetWriter(file, schema, use_dictionary=repetitive) as writer:
        for table in _group_batches(batches):
            writer.write_table(table.cast(schema), row_group_size=_GROUP_LINES)


def _group_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield tables whose lines are a multiple of 100,000, except the last, from batches of any size."""
    import pyarrow as pa

    pending: list[Any] = []
    lines = 0
    for batch in batches:
        pending.append(batch)
        lines += batch.num_rows
        if lines >= _GROUP_LINES:
            table = pa.Table.from_batches(pending)
            whole = lines - lines % _GROUP_LINES
            yield table.slice(0, whole)
            pending = table.slice(whole).to_batches()
            lines -= whole
    if pending:
        yield pa.Table.from_batches(pending)


def _read_lines(batches: Iterable[Any], names: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Yield each line of the batches as a tuple of the values of the columns `names`."""
    for batch in batches:
        yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def _format_csv_lines(names: Sequence[str], values: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a CSV file: reasons as JSON, and no evidence, which does not fit into a cell."""
    columns = [index for index, name in enumerate(names) if name != "evidence"]
    yield csv_line([names[index] for index in columns])
    for line in values:
        cells = (line[index] for index in columns)
        yield csv_line([json_cell(cell) if isinstance(cell, list) else cell for cell in cells])


def _format_json_lines(names: Sequence[str], values: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield a line of JSON for each of `values`, with evidence as an object."""
    for line in values:
        record = dict(zip(names, line, strict=True))
        if record.get("evidence") is not None:
            record["evidence"] = dict(record["evidence"])
        yield json.dumps(record, ensure_ascii=False) + "\n"
