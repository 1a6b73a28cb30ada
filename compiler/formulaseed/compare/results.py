"""Compares two files of results, line by line: which verdicts moved, which outputs changed, which restaurants came and went.

In: results of `score`, `run` or `evaluate`, as Parquet or JSON Lines. Out: a `ResultsDifference`. Nothing is evaluated, so that
no seed and no rows are needed; columns are compared as a whole, and only changed lines become objects.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

from formulaseed.compare.outcomes import MAX_IN_TEXT, MAX_ON_PAGE, LoneRestaurant, Outcomes, RestaurantChange
from formulaseed.compare.pairing import Pairing, Verdicts, format_verdict, is_same
from formulaseed.data.arguments import validate_arguments
from formulaseed.data.jsonl import read_lines
from formulaseed.data.parquet import require_pyarrow
from formulaseed.data.results import MAX_VERDICTS, Failures
from formulaseed.data.tabular import DETAILS, IDENTITY
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import DataError, UnreadableError
from formulaseed.pages.blocks import Block, InlineCode, sentence
from formulaseed.pages.document import RenderedDocument
from formulaseed.runtime.table_names import ERROR_COLUMNS, FINGERPRINT
from formulaseed.source.printing import number_of
from formulaseed.source.text import shorten

SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
"""The suffixes of files of results; a seed has another one."""
_MAX_LISTED_FAULTS = 4
_KINDS = ("string", "bool", "number", "null")
_STEP, _KIND, _ = ERROR_COLUMNS


@dataclass(frozen=True)
class ResultsDifference(RenderedDocument):
    """The difference of two files of results, whose names are `old` and `new`."""

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
            data |= {name: data[name][:MAX_ON_PAGE], f"{name}_restaurants": len(data[name])}
        return {"old": self.old, "new": self.new, "data": data}

    def _page_blocks(self) -> Iterator[Block]:
        """Return the same blocks as in text, with more restaurants."""
        return self._blocks(MAX_ON_PAGE)

    def __repr__(self) -> str:
        return shorten(f"ResultsDifference({self.title!r}, {len(self.outcomes.changes)} restaurants differ)")

    def _blocks(self, max_restaurants: int = MAX_IN_TEXT) -> Iterator[Block]:
        """Yield the names, the verdicts and the restaurants that differ, at most `max_restaurants` of each kind."""
        yield sentence(InlineCode(self.old), " → ", InlineCode(self.new), ".")
        yield from self.outcomes.build_summary()
        yield from self.outcomes.build_restaurant_tables(max_restaurants)


def are_results(path: object) -> bool:
    """Return whether a path is that of a file of results, not of a seed, by its suffix."""
    return isinstance(path, str | os.PathLike) and str(path).endswith(SUFFIXES)


@validate_arguments
def diff_results(
    old: str | os.PathLike[str], new: str | os.PathLike[str], *, key: str, output: str | None = None
) -> ResultsDifference:
    """Compare two files of results, which `score`, `run` or `evaluate` wrote as Parquet or JSON Lines.

    `key` is the column that names restaurants. `output` is the verdict; by default the last output of strings or booleans
    that has at most 12 different values. Raises `DataError` for a file that cannot be read, a missing or duplicate key,
    results with other columns, and an unknown output or one that is no verdict.
    """
    require_pyarrow("parquet", "comparing results")
    import pyarrow.compute as pc

    tables = [_read_results(path, key) for path in (old, new)]
    pairing = _choose_pairing(tables, _match_columns(tables, (old, new), key), output)
    positions = [pc.index_in(tables[at].column(key), value_set=tables[1 - at].column(key)) for at in (0, 1)]
    lone = [
        [LoneRestaurant(str(line[key]), "", _format_line(line, pairing)) for line in lines.to_pylist()]
        for lines in (table.filter(pc.is_null(at)) for table, at in zip(tables, positions, strict=True))
    ]
    before = tables[0].filter(pc.is_valid(positions[0]))
    after = tables[1].take(positions[0].drop_null())
    columns = ((before.column(name), after.column(name)) for name in (*pairing.outputs, _KIND))
    differs = reduce(pc.or_, (
        pc.coalesce(pc.not_equal(left, right), pc.not_equal(pc.is_null(left), pc.is_null(right)))
        for left, right in columns
    ))  # fmt: skip
    pairs = zip(before.filter(differs).to_pylist(), after.filter(differs).to_pylist(), strict=True)
    compared = [_compare_lines(old_line, new_line, key, pairing) for old_line, new_line in pairs]
    matrix = _count_verdicts(before.filter(pc.invert(differs)), pairing)
    matrix.update(change.verdicts for change in compared)
    changes = tuple(change for change in compared if change.is_different)
    outcomes = Outcomes(pairing, dict(matrix), changes, Failures(), gone=lone[0], new=lone[1])
    return ResultsDifference(str(old), str(new), outcomes)


# --- reading


def _read_results(path: str | os.PathLike[str], key: str) -> Any:
    """Return an Arrow table with the key, the outputs, and the step and the kind of errors.

    Raises `UnreadableError` or `DataError` as `diff_results` does for one file.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if not are_results(path):
        raise DataError(f"results are a file that ends in {', '.join(SUFFIXES)}, not {path!r:.80}")
    try:
        is_parquet = str(path).endswith(".parquet")
        table = pq.ParquetFile(path).read() if is_parquet else pa.table(_read_json_lines(str(path), key))
    except (OSError, pa.ArrowException, OverflowError) as error:
        raise UnreadableError(f"cannot read {path}: {shorten(str(error))}") from None
    for name in (key, _STEP, _KIND):
        if name not in table.column_names:
            raise DataError(f"{path} has no column `{name}`; {did_you_mean(name, table.column_names, noun='columns')}")
    keys = table.column(key)
    repeated = pc.value_counts(keys).filter(pc.greater(pc.value_counts(keys).field("counts"), 1)).to_pylist()
    if keys.null_count or repeated:
        fault = f"{number_of(keys.null_count, 'line')} without a `{key}`"
        if repeated:
            fault = f"{number_of(repeated[0]['counts'], 'line')} with the `{key}` {repeated[0]['values']!r:.80}"
        if len(repeated) > 1:
            fault += f", and {number_of(len(repeated) - 1, 'more such key')}"
        raise DataError(f"{path} has {fault}: results have one line for each restaurant")
    ignored = {ERROR_COLUMNS[-1], FINGERPRINT, "evidence"}
    if "reviews_total" in table.column_names:  # results of `run` or `evaluate`
        ignored |= {*IDENTITY, *DETAILS} - {key, _STEP, _KIND}
    return table.drop_columns([name for name in table.column_names if name in ignored]).combine_chunks()


def _read_json_lines(path: str, key: str) -> dict[str, Any]:
    """Return the columns of a file; those of results of `run` and `evaluate` are the members of `output`.

    Raises `DataError` for a line that is no object, and Arrow's exceptions for a column with values of several types.
    """
    import pyarrow as pa

    lines = []
    for line in read_lines(path):
        content = line.content
        if isinstance(content, DataError):
            raise content.at(line.place)
        if "task" in content:
            error = content.get("error") or {}
            errors = {name: error.get(name.removeprefix("error_")) for name in ERROR_COLUMNS}
            content = {key: content.get(key), **(content.get("output") or {}), **errors}
        lines.append(content)
    names = dict.fromkeys(name for content in lines for name in content if name != "evidence")
    types = dict.fromkeys(ERROR_COLUMNS, pa.string())
    return {name: pa.array([content.get(name) for content in lines], types.get(name)) for name in names}


def _name_kind(kind: Any) -> str:
    """Return the name of an Arrow type, one of `_KINDS` for a type that outputs have."""
    import pyarrow as pa

    return "number" if pa.types.is_integer(kind) or pa.types.is_floating(kind) else str(kind)


def _match_columns(tables: Sequence[Any], paths: Sequence[object], key: str) -> list[str]:
    """Return the outputs, which both tables have. Raises `DataError` if one lacks an output, or has another type of it."""
    old, new = ({column.name: _name_kind(column.type) for column in table.schema} for table in tables)
    faults = []
    for name in {**old, **new}:
        kinds = (old.get(name, "missing"), new.get(name, "missing"))
        if not {*kinds} <= {*_KINDS} or (kinds[0] != kinds[1] and "null" not in kinds):
            faults.append(f"`{name:.80}`: {kinds[0]:.80} in {paths[0]}, {kinds[1]:.80} in {paths[1]}")
    if faults:
        more = f"; and {len(faults) - _MAX_LISTED_FAULTS} more" if len(faults) > _MAX_LISTED_FAULTS else ""
        raise DataError(f"the columns differ: {'; '.join(faults[:_MAX_LISTED_FAULTS])}{more}")
    return [name for name in old if name not in (key, _STEP, _KIND)]


# --- comparing


def _choose_pairing(tables: Sequence[Any], outputs: Sequence[str], output: str | None) -> Pairing:
    """Return the pairing of the outputs with their verdict: `output`, or else the last output that can be one.

    Raises `DataError` if there is no `output`, or it has more than `MAX_VERDICTS` values.
    """
    import pyarrow.compute as pc

    if output is not None and output not in outputs:
        raise DataError(f"there is no output `{output}`; {did_you_mean(output, outputs, noun='outputs')}")
    verdict = None
    numbers = []
    for name in outputs if output is None else [output]:
        if "number" in (_name_kind(table.column(name).type) for table in tables):
            numbers.append(name)
        elif all(pc.count_distinct(table.column(name)).as_py() <= MAX_VERDICTS for table in tables):
            verdict = name
        elif output is not None:
            raise DataError(f"`{output}` is no verdict: it has more than {MAX_VERDICTS} values")
    return Pairing({name: name for name in outputs}, tuple(outputs), verdict, (), tuple(reversed(numbers)), {})


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
    verdicts = (_format_line(old, pairing), _format_line(new, pairing))
    changed = tuple(name for name, pair in outputs.items() if not is_same(*pair))
    return RestaurantChange(str(old[key]), "", verdicts, outputs, changed, new[_STEP] or old[_STEP] or "")
