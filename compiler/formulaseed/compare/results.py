"""Compares two files of results, line by line: which verdicts moved, which outputs changed, which restaurants came and went.

In: results of `score`, `run` or `evaluate`, as Parquet, JSON Lines or tables. Out: a `ResultsDifference`. Nothing is
evaluated, so that no seed and no rows are needed; columns are compared as a whole, and only changed lines become objects.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from formulaseed.compare.causes import Verdicts
from formulaseed.compare.outcomes import (
    MAX_LISTED_RESTAURANTS,
    MAX_RESTAURANTS_ON_PAGE,
    LoneRestaurant,
    Outcomes,
    RestaurantChange,
)
from formulaseed.compare.pairing import Pairing, format_verdict, is_same
from formulaseed.data.arguments import validate_arguments
from formulaseed.data.jsonl import is_frame, read_lines
from formulaseed.data.parquet import arrow_table, require_pyarrow
from formulaseed.data.results import Failures
from formulaseed.data.tabular import DETAILS, IDENTITY
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import DataError, UnreadableError
from formulaseed.pages.blocks import Block, InlineCode, sentence
from formulaseed.pages.document import RenderedDocument
from formulaseed.pages.html import as_page
from formulaseed.runtime.table_names import ERROR_COLUMNS, FINGERPRINT
from formulaseed.source.printing import number_of
from formulaseed.source.text import shorten

_LINES_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
SUFFIXES = (".parquet", *_LINES_SUFFIXES)
"""The suffixes of files of results; a seed has another one."""
_MAX_VERDICTS = 12
"""An output with more different values is no verdict."""
_STEP, _KIND, _ = ERROR_COLUMNS


@dataclass(frozen=True)
class ResultsDifference(RenderedDocument):
    """The difference of two files of results, named `old` and `new`."""

    old: str
    new: str
    outcomes: Outcomes

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"{self.old} → {self.new}"

    @cached_property
    def json(self) -> dict[str, Any]:
        """The difference as JSON values with at most 1,000 restaurants of each kind; docs/analysis.md describes them."""
        data = self.outcomes.to_json()
        for name in ("differing", "gone", "new"):
            data[f"{name}_restaurants"] = len(data[name])
            data[name] = data[name][:MAX_RESTAURANTS_ON_PAGE]
        return {"old": self.old, "new": self.new, "data": data}

    @cached_property
    def html(self) -> str:
        """The difference as an HTML page that needs no other file, with more restaurants than in text."""
        return as_page(self.title, self._blocks(MAX_RESTAURANTS_ON_PAGE))

    def __repr__(self) -> str:
        return shorten(f"ResultsDifference({self.title!r}, {len(self.outcomes.changes)} restaurants differ)")

    def _blocks(self, max_restaurants: int = MAX_LISTED_RESTAURANTS) -> Iterator[Block]:
        """Yield the names, the verdicts and the restaurants that differ, at most `max_restaurants` of each kind."""
        yield sentence(InlineCode(self.old), " → ", InlineCode(self.new), ".")
        yield from self.outcomes.build_summary()
        yield from self.outcomes.build_restaurant_tables(max_restaurants)


@validate_arguments
def diff_results(old: Any, new: Any, *, key: str, output: str | None = None) -> ResultsDifference:
    """Compare two files of results: those of `score`, `run` or `evaluate` as Parquet or JSON Lines, or tables in memory.

    `key` is the column that names restaurants. `output` is the verdict; by default the last output of strings or booleans
    that has at most 12 different values. Raises `DataError` for a file that cannot be read, a missing or duplicate key,
    results with other columns, and an unknown output or one that is no verdict.
    """
    require_pyarrow("parquet", "comparing results")
    import pyarrow as pa
    import pyarrow.compute as pc

    names = [_name_results(source, side) for source, side in ((old, "old"), (new, "new"))]
    tables = [_read_results(source, name, key) for source, name in zip((old, new), names, strict=True)]
    outputs = _match_columns(tables, names, key)
    pairing = _choose_pairing(tables, outputs, output)
    positions = [pc.index_in(tables[at].column(key), value_set=tables[1 - at].column(key)) for at in (0, 1)]
    lone = [
        [LoneRestaurant(str(line[key]), "", _format_line(line, pairing)) for line in _select(table, pc.is_null(at))]
        for table, at in zip(tables, positions, strict=True)
    ]
    before = tables[0].filter(pc.is_valid(positions[0]))
    after = tables[1].take(positions[0].drop_null())
    differs = pa.array([False] * len(before), pa.bool_())
    for name in (*outputs, _KIND):
        left, right = before.column(name), after.column(name)
        values_differ = pc.fill_null(pc.not_equal(left, right), False)
        differs = pc.or_(differs, pc.or_(values_differ, pc.xor(pc.is_null(left), pc.is_null(right))))
    compared = [
        _compare_lines(*lines, key, pairing)
        for lines in zip(_select(before, differs), _select(after, differs), strict=True)
    ]
    matrix = _count_verdicts(before.filter(pc.invert(differs)), pairing)
    matrix.update(change.verdicts for change in compared)
    changes = tuple(change for change in compared if change.is_different)
    outcomes = Outcomes(pairing, dict(matrix), changes, Failures(), False, *lone)
    return ResultsDifference(names[0], names[1], outcomes)


def are_results(path: str) -> bool:
    """Return whether a file is one of results, not a seed, by the suffix of its name."""
    return path.endswith(SUFFIXES)


# --- reading


def _name_results(source: Any, side: str) -> str:
    """Return the name of results in messages: the path, or `side` for a table in memory.

    Raises `DataError` for anything else.
    """
    if is_frame(source):
        return side
    if isinstance(source, str | os.PathLike) and are_results(os.fspath(source)):
        return os.fspath(source)
    raise DataError(f"`{side}` must be a table, or a file that ends in {', '.join(SUFFIXES)}, not {source!r:.80}")


def _read_results(source: Any, name: str, key: str) -> Any:
    """Return an Arrow table with the key, the outputs, and the step and the kind of errors.

    Raises `UnreadableError` or `DataError` as `diff_results` does for one file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if is_frame(source):
        table = arrow_table(source, name)
    elif name.endswith(".parquet"):
        try:
            table = pq.ParquetFile(name).read()
        except (OSError, pa.ArrowException) as error:
            raise UnreadableError(f"cannot read {name}: {shorten(str(error))}") from None
    else:
        table = _read_json_lines(name, key)
    if key not in table.column_names:
        raise DataError(f"{name} has no column `{key}`; {did_you_mean(key, table.column_names, noun='columns')}")
    ignored = {*ERROR_COLUMNS, FINGERPRINT, "evidence"}
    if "reviews_total" in table.column_names:  # results of `run` or `evaluate`
        ignored |= {*IDENTITY, *DETAILS}
    names = [key, *(column for column in table.column_names if column != key and column not in ignored)]
    columns = {column: _read_column(table.column(column), column, name) for column in names}
    for column in (_STEP, _KIND):
        has_column = column in table.column_names
        columns[column] = table.column(column).cast(pa.string()) if has_column else pa.nulls(len(table), pa.string())
    _check_keys(columns[key], key, name)
    return pa.table(columns).combine_chunks()


def _read_json_lines(path: str, key: str) -> Any:
    """Return the lines of a file as an Arrow table; of results of `run` and `evaluate`, the members of `output`.

    Raises `DataError` for a line that is no object, and for a column with values of several types.
    """
    import pyarrow as pa

    lines = []
    for line in read_lines(path):
        content = line.content
        if isinstance(content, DataError):
            raise content.at(line.place)
        if "task" in content and ("output" in content or "error" in content):
            error = content.get("error") or {}
            errors = {f"error_{name}": value for name, value in error.items()}
            content = {key: content.get(key), **(content.get("output") or {}), **errors}
        lines.append(content)
    columns = {}
    for name in dict.fromkeys(name for content in lines for name in content if name != "evidence"):
        try:
            columns[name] = pa.array([content.get(name) for content in lines])
        except (pa.ArrowException, OverflowError) as error:
            raise DataError(f"the column `{name:.80}` of {path} cannot be read: {shorten(str(error))}") from None
    return pa.table(columns)


def _read_column(column: Any, name: str, path: str) -> Any:
    """Return a column as strings, numbers or booleans. Raises `DataError` for a column of another type."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.string())
    if _name_kind(kind) is None:
        raise DataError(f"the column `{name:.80}` of {path} holds {shorten(str(kind))}, which is no value of an output")
    return column


def _name_kind(kind: Any) -> str | None:
    """Return the noun of an Arrow type's values, None for a type that no output has; of the type of nulls it is empty."""
    import pyarrow as pa

    if pa.types.is_string(kind):
        return "strings"
    if pa.types.is_boolean(kind):
        return "booleans"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "numbers"
    return "" if pa.types.is_null(kind) else None


def _check_keys(keys: Any, key: str, path: str) -> None:
    """Raise `DataError` if a line has no key, or two lines have the same one."""
    import pyarrow.compute as pc

    if keys.null_count:
        raise DataError(f"{path}: {number_of(keys.null_count, 'line')} without a `{key}`")
    counts = pc.value_counts(keys)
    duplicates = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(duplicates):
        first = duplicates[0].as_py()
        more = f", and {number_of(len(duplicates) - 1, 'more such key')}" if len(duplicates) > 1 else ""
        message = f"{number_of(first['counts'], 'line')} have the `{key}` {first['values']!r:.80}{more}"
        raise DataError(f"{path}: {message}; results have a line for each restaurant")


def _match_columns(tables: Sequence[Any], names: Sequence[str], key: str) -> list[str]:
    """Return the outputs, which both tables have. Raises `DataError` if one lacks an output, or has another type of it."""
    old, new = ({column.name: _name_kind(column.type) for column in table.schema} for table in tables)
    faults = [f"`{column:.80}` is only in {names[0]}" for column in old if column not in new]
    faults += [f"`{column:.80}` is only in {names[1]}" for column in new if column not in old]
    faults += [
        f"`{column:.80}` holds {kind} in {names[0]}, {new[column]} in {names[1]}"
        for column, kind in old.items()
        if column in new and kind and new[column] and kind != new[column]
    ]
    if faults:
        more = f"; and {number_of(len(faults) - 4, 'more such column')}" if len(faults) > 4 else ""
        raise DataError(f"the results have different columns: {', '.join(faults[:4])}{more}")
    return [column for column in old if column not in (key, _STEP, _KIND)]


# --- comparing


def _choose_pairing(tables: Sequence[Any], outputs: Sequence[str], output: str | None) -> Pairing:
    """Return the pairing of the outputs with their verdict: `output`, or else the last output that can be one.

    Raises `DataError` if there is no `output`, or it has more than `_MAX_VERDICTS` values.
    """
    import pyarrow.compute as pc

    if output is not None and output not in outputs:
        raise DataError(f"there is no output `{output}`; {did_you_mean(output, outputs, noun='outputs')}")
    verdict = None
    numbers = []
    for name in outputs if output is None else [output]:
        kinds = {_name_kind(table.column(name).type) for table in tables}
        if "numbers" in kinds:
            numbers.append(name)
        elif all(pc.count_distinct(table.column(name)).as_py() <= _MAX_VERDICTS for table in tables):
            verdict = name
        elif output is not None:
            raise DataError(f"`{output}` is no verdict: it has more than {_MAX_VERDICTS} values")
    return Pairing({name: name for name in outputs}, tuple(outputs), verdict, (), tuple(reversed(numbers)), {})


def _select(table: Any, mask: Any) -> list[dict[str, Any]]:
    """Return the lines of a table for which `mask` is true, as dictionaries."""
    lines: list[dict[str, Any]] = table.filter(mask).to_pylist()
    return lines


def _format_line(line: Mapping[str, Any], pairing: Pairing) -> str | None:
    """Return the verdict of a line; None if the restaurant failed."""
    return format_verdict(line if line[_KIND] is None else None, pairing.verdict)


def _count_verdicts(table: Any, pairing: Pairing) -> Counter[Verdicts]:
    """Return the numbers of lines by their verdict, for lines with the same verdict in both files."""
    names = [_KIND] if pairing.verdict is None else [_KIND, pairing.verdict]
    counts: Counter[Verdicts] = Counter()
    for line in table.group_by(names).aggregate([([], "count_all")]).to_pylist():
        verdict = _format_line(line, pairing)
        counts[verdict, verdict] += line["count_all"]
    return counts


def _compare_lines(old: Mapping[str, Any], new: Mapping[str, Any], key: str, pairing: Pairing) -> RestaurantChange:
    """Return the change from one line of results to another. If either restaurant failed, there are no outputs."""
    has_failed = old[_KIND] is not None or new[_KIND] is not None
    outputs = {} if has_failed else {name: (old[name], new[name]) for name in pairing.outputs}
    return RestaurantChange(
        business_id=str(old[key]),
        name="",
        verdicts=(_format_line(old, pairing), _format_line(new, pairing)),
        outputs=outputs,
        changed=tuple(name for name, pair in outputs.items() if not is_same(*pair)),
        diverges_at=new[_STEP] or old[_STEP] or "",
    )
