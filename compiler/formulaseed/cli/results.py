"""Write the results of `run` and `evaluate` as a table, JSON Lines, CSV or Parquet, sorted if the user asks for it.

A table is for people: its numbers are rounded, and columns that do not fit the terminal are left out and named: first the
number of reviews, then outputs that are numbers, from the first on because the last ones are the final scores, then the
restaurants' names. Verdicts (strings and booleans), the output that the rows are sorted by, and errors stay.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

import click

from formulaseed.cli.options import add_options, check_suffix, format_of
from formulaseed.cli.output import Progress, is_terminal, say, show
from formulaseed.data.files import text_writer
from formulaseed.data.results import Failures, Provenance, Result, write_line
from formulaseed.data.tabular import column_names, csv_line, json_cell, result_cells
from formulaseed.diagnostics.render import format_table
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import FormulaSeedError
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import RunOptions
from formulaseed.source.printing import display_width, printable

Format = Literal["table", "jsonl", "csv", "parquet"]
_FORMATS: tuple[Format, ...] = ("table", "jsonl", "csv", "parquet")
# formats by the suffix of a file, which `.gz` may follow
_JSON_LINES_SUFFIXES: dict[str, Literal["jsonl"]] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
ROWS_SUFFIXES: dict[str, Literal["jsonl", "parquet"]] = {**_JSON_LINES_SUFFIXES, ".parquet": "parquet"}
_SUFFIXES: dict[str, Format] = {**_JSON_LINES_SUFFIXES, ".csv": "csv", ".parquet": "parquet"}

_Write = Callable[[Result], None]
MAX_REASONS = 4  # as many as a letter to the owner holds

reasons_option = click.option(
    "--reasons", "reason_count", type=click.IntRange(1, MAX_REASONS), metavar="N",
    help=f"Add the N largest parts of the score that speak against a restaurant, with their reviews; at most {MAX_REASONS}.",
)  # fmt: skip
result_options = add_options(
        click.option("--out", default="-", help="Where to write results; standard output by default."),
        click.option("--format", "form", type=click.Choice(_FORMATS),
                     help="How to write results: a table on a terminal, as --out ends (.csv, .parquet), or JSON Lines."),
        click.option("--sort", metavar="NAME", help="Sort by an output: the largest first, strings by the alphabet."),
        click.option("--trace", is_flag=True, help="Add every step's value, and the reviews behind each aggregate."),
        reasons_option,
)  # fmt: skip
"""Add the options for the output of results to a command; `Results.choose` takes their values."""


def check_lines(out: str | None, option: str) -> None:
    """Raise `UsageError` if `out`, a file of JSON Lines, has a suffix of another format.

    None, standard output and a name without a suffix are accepted.
    """
    check_suffix(out, *_JSON_LINES_SUFFIXES, option=option)


def require_parquet(out: str) -> None:
    """Raise `UsageError` if `out` is a terminal or a `.gz` file, and `UnreadableError` if pyarrow is not installed."""
    from formulaseed.data.parquet import require_pyarrow

    if out.endswith(".gz") or (out == "-" and is_terminal(sys.stdout)):
        raise click.UsageError("--format parquet needs --out FILE.parquet; it is binary, and compressed already")
    require_pyarrow()


@dataclass(frozen=True, slots=True)
class Results:
    """The destination of a command's results: file, format, order, and the metadata to write with them."""

    out: str
    form: Format
    sort: str | None
    evaluator: Evaluator
    provenance: Provenance
    has_reasons: bool

    @classmethod
    def choose(
        cls, out: str, form: Format | None, sort: str | None, evaluator: Evaluator, options: RunOptions
    ) -> Results:
        """Choose the format: `form`, else by the suffix of `out`, else a table on a terminal, JSON Lines elsewhere.

        Raises `UsageError` if the format cannot hold the outputs or the trace, or `sort` is no output, before any work;
        `UnreadableError` for Parquet if pyarrow is not installed. With a trace the format must be JSON Lines; no table has
        reasons.
        """
        has_reasons = options.find_reasons is not None
        form = form or format_of(out, _SUFFIXES)
        if form is None:
            is_on_screen = out == "-" and is_terminal(sys.stdout)
            form = "table" if is_on_screen and not (options.trace or has_reasons) else "jsonl"
        _check_details(form, options)
        if form == "parquet":
            require_parquet(out)
        if sort is not None and sort not in evaluator.output:
            help = did_you_mean(sort, evaluator.output, noun="outputs")
            raise click.UsageError(f"--sort takes an output, and there is no `{sort}`; {help}")
        if form in ("csv", "parquet"):
            try:
                column_names(evaluator.output, has_reasons)
            except FormulaSeedError as error:
                raise click.UsageError(str(error)) from None
        return cls(out, form, sort, evaluator, evaluator.provenance(options.parameters), has_reasons)

    def make_fit(self, result: Result, failures: Failures) -> Result:
        """Return the result if the format can hold it, otherwise as a failed result, which is added to `failures`.

        Only Parquet has limits; every other format holds all results.
        """
        if self.form != "parquet":
            return result
        from formulaseed.data.parquet import fail_if_oversized

        return fail_if_oversized(result, failures)

    @contextmanager
    def open(self, inputs: Sequence[str | None], progress: Progress) -> Iterator[_Write]:
        """Open the destination, and provide a function that writes a result.

        Sorted results and tables are written when the block ends, also if it ends with an exception. Raises
        `UnreadableError` if the file cannot be written, or is one of the files `inputs`.
        """
        with text_writer(self.out, *inputs) as file, self._open_format(file, progress) as write:
            if self.sort is None:
                yield write
                return
            unsorted: list[Result] = []
            try:
                yield unsorted.append
            finally:
                for result in sorted(unsorted, key=self._sort_key):
                    write(result)

    @contextmanager
    def _open_format(self, file: Any, progress: Progress) -> Iterator[_Write]:
        """Provide a function that writes a result to an open file in the format; a table hides the progress first."""
        outputs = self.evaluator.output
        if self.form == "jsonl":
            yield lambda result: write_line(file, result)
        elif self.form == "csv":
            file.write(csv_line(column_names(outputs, self.has_reasons)))

            def write_csv_line(result: Result) -> None:
                """Write a result as a line; its reasons are JSON."""
                reasons = [None if result.reasons is None else json_cell(result.reasons)] if self.has_reasons else []
                file.write(csv_line([*result_cells(result, outputs), *reasons]))

            yield write_csv_line
        elif self.form == "parquet":
            from formulaseed.data.parquet import parquet_writer

            types = self.evaluator.output_types()
            with parquet_writer(
                file.buffer, types, self.evaluator.task_name, self.provenance, self.has_reasons
            ) as write:
                yield write
        else:
            rows: list[Result] = []
            try:
                yield rows.append
            finally:
                progress.hide()
                self._print_table(rows, file)

    def _sort_key(self, result: Result) -> tuple[int, float, str]:
        """Return the key that sorts numbers from the largest down, true before false, strings by the alphabet, None last."""
        value = (result.output or {}).get(cast(str, self.sort))
        if value is None:
            return 1, 0, ""
        if isinstance(value, str):
            return 0, 0, value
        return 0, -value, ""

    def _print_table(self, results: Sequence[Result], file: Any) -> None:
        """Write a table of the results to a file, or print it; name omitted columns on standard error.

        A table for the terminal is made to fit its width; one in a file has all columns.
        """
        width = _measure_terminal(file)
        table, left_out = results_table(results, self.evaluator.output, self.sort, width)
        if file is sys.stdout:
            show(table)
        else:
            file.write(table + "\n")
        if left_out:
            names = ", ".join(left_out)
            say(f"not shown, as {width} columns are too few: {names}; --format csv or jsonl has them", err=True)


def _check_details(form: Format, options: RunOptions) -> None:
    """Raise `UsageError` if the format cannot hold a trace or reasons that results will have, or if they have both."""
    if options.trace and options.find_reasons is not None:
        raise click.UsageError(
            "--trace and --reasons both write `reasons`, a model's and the verdict's: pass one of them"
        )
    if options.trace and form != "jsonl":
        raise click.UsageError(f"--trace goes with --format jsonl: no {form} holds the steps and their reviews")
    if options.find_reasons is not None and form == "table":
        raise click.UsageError("--reasons goes with --format jsonl, csv or parquet: no table holds the reasons")


def _measure_terminal(file: Any) -> int | None:
    """Return the width of a table in columns: that of the terminal, or `COLUMNS`; None, for no limit, elsewhere."""
    if file is sys.stdout and (is_terminal(file) or os.environ.get("COLUMNS", "").isdecimal()):
        return shutil.get_terminal_size().columns
    return None


# --- tables


_GAP = 2
_MAX_STRING_WIDTH = 32  # in columns of the terminal; ids are not cut
# numbers in this range are shown with three decimals, the others in scientific notation
_MIN_DECIMAL = 1e-3
_MAX_DECIMAL = 1e12


def results_table(
    results: Sequence[Result], outputs: Sequence[str], sort: str | None, width: int | None
) -> tuple[str, list[str]]:
    """Return the results as a table, and the names of the columns that were left out to make it fit.

    The table is at most `width` columns of a terminal wide; None means no limit. `outputs` are the names of the
    outputs, `sort` the one that the results are sorted by, if any. First `reviews` is left out, then numbers, then
    `name`, but never `sort` and verdicts; if that is not enough, lines are cut.
    """
    table = {
        "business_id": [printable(result.business_id) for result in results],
        "name": [cut(printable(result.name or ""), _MAX_STRING_WIDTH) for result in results],
        **{name: [_format_output(result, name) for result in results] for name in outputs},
        "reviews": ["" if result.reviews is None else str(result.reviews.extracted) for result in results],
        "error": [_format_error(result) for result in results],
    }
    if not any(table["error"]):
        del table["error"]
    numbers = [name for name in outputs if name != sort and not _is_verdict(results, name)]
    left_out = []
    for name in ("reviews", *numbers, "name"):
        if width is None or _table_width(table) <= width:
            break
        del table[name]
        left_out.append(name)
    text = format_table([[*table], *zip(*table.values(), strict=True)])
    if width is not None:
        text = "\n".join(cut(line, width) for line in text.split("\n"))
    return text, left_out


def _is_verdict(results: Iterable[Result], name: str) -> bool:
    """Return True if the output has a string or a boolean in at least one result."""
    return any(isinstance((result.output or {}).get(name), str | bool) for result in results)


def _format_output(result: Result, name: str) -> str:
    """Return the text of an output's value: a number rounded, a long string cut, `-` for None.

    The text is empty if the restaurant failed.
    """
    if result.output is None:
        return ""
    value = result.output[name]
    if isinstance(value, str):
        return cut(printable(value), _MAX_STRING_WIDTH)
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if value == 0 or _MIN_DECIMAL <= abs(value) < _MAX_DECIMAL:
        return str(value) if isinstance(value, int) else f"{value:.3f}"
    return f"{value:.3e}"


def _format_error(result: Result) -> str:
    """Return the kind of a result's error, with its step if there is one; empty without an error."""
    error = result.error or {}
    if error.get("step"):
        return f"{error['kind']} in {error['step']}"
    return error.get("kind") or ""


def _table_width(table: dict[str, list[str]]) -> int:
    """Return the columns of a terminal that the table takes, with the gaps between its columns."""
    widths = (max(map(display_width, [name, *cells])) for name, cells in table.items())
    return sum(widths) + _GAP * (len(table) - 1)


def cut(text: str, width: int) -> str:
    """Return the text in at most `width` columns of a terminal; an ellipsis ends a text that was cut."""
    if display_width(text) <= width:
        return text
    total = 0
    for position, character in enumerate(text):
        total += display_width(character)
        if total >= width:
            return f"{text[:position]}…"
    return text
