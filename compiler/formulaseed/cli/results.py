"""Where results go: a table on a terminal, JSON Lines, CSV or Parquet; sorted if asked for; and what they come to.

A table is for people: its numbers are rounded, and the columns that do not fit the terminal are left out and named.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

import click

from formulaseed.cli.output import Progress, check_suffix, format_of, is_terminal, say, show
from formulaseed.cli.table import results_table
from formulaseed.data.files import text_writer
from formulaseed.data.results import Failures, Provenance, Result, write_line
from formulaseed.data.tabular import column_names, csv_line, result_cells
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import FormulaSeedError
from formulaseed.runtime.evaluator import Evaluator

Format = Literal["table", "jsonl", "csv", "parquet"]
_FORMATS: tuple[Format, ...] = ("table", "jsonl", "csv", "parquet")
_LINES: dict[str, Literal["jsonl"]] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
ROWS_SUFFIXES: dict[str, Literal["jsonl", "parquet"]] = {**_LINES, ".parquet": "parquet"}
_SUFFIXES: dict[str, Format] = {**_LINES, ".csv": "csv", ".parquet": "parquet"}
"""The formats by the suffix of a file, which `.gz` may follow."""

_Write = Callable[[Result], None]


def result_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say where results go, for `Results.of`."""
    for option in reversed((
        click.option("--out", default="-", help="Where to write results; standard output by default."),
        click.option("--format", "form", type=click.Choice(_FORMATS),
                     help="How to write results: a table on a terminal, as --out ends (.csv, .parquet), or JSON Lines."),
        click.option("--sort", metavar="NAME", help="Sort by an output: the largest first, strings by the alphabet."),
        click.option("--trace", is_flag=True, help="Add every step's value, and the reviews behind each aggregate."),
    )):  # fmt: skip
        command = option(command)
    return command


def check_lines(out: str | None, option: str) -> None:
    """Raise `UsageError` for a file that is written as JSON Lines and whose name ends otherwise."""
    check_suffix(out, *_LINES, option=option)


def require_parquet(out: str) -> None:
    """Raise `UsageError` for an output that is not for Parquet, and `UnreadableError` where pyarrow is missing."""
    from formulaseed.data.parquet import require_pyarrow

    if out.endswith(".gz") or (out == "-" and is_terminal(sys.stdout)):
        raise click.UsageError("--format parquet needs --out FILE.parquet; it is binary, and compressed already")
    require_pyarrow()


@dataclass(frozen=True, slots=True)
class Results:
    """Where the results of one command go."""

    out: str
    form: Format
    sort: str | None
    evaluator: Evaluator
    made_with: Provenance

    @classmethod
    def of(
        cls,
        out: str,
        form: Format | None,
        sort: str | None,
        trace: bool,
        evaluator: Evaluator,
        parameters: Mapping[str, Any] | None,
    ) -> Results:
        """Choose the format. Raises `UsageError` for what cannot be written, before anything is done."""
        on_screen = out == "-" and is_terminal(sys.stdout)
        chosen = form or format_of(out, _SUFFIXES) or ("table" if on_screen and not trace else "jsonl")
        if trace and chosen != "jsonl":
            raise click.UsageError(f"--trace goes with --format jsonl: no {chosen} holds the steps and their reviews")
        if chosen == "parquet":
            require_parquet(out)
        if sort is not None and sort not in evaluator.output:
            help = did_you_mean(sort, evaluator.output, what="outputs")
            raise click.UsageError(f"--sort takes an output, and there is no `{sort}`; {help}")
        if chosen in ("csv", "parquet"):
            try:
                column_names(evaluator.output)
            except FormulaSeedError as error:
                raise click.UsageError(str(error)) from None
        return cls(out, chosen, sort, evaluator, evaluator.provenance(parameters))

    def fitting(self, result: Result, failures: Failures) -> Result:
        """Return the result as the format can hold it: as one that failed if it cannot."""
        if self.form != "parquet":
            return result
        from formulaseed.data.parquet import fail_if_oversized

        return fail_if_oversized(result, failures)

    @contextmanager
    def writer(self, inputs: Sequence[str | None], shown: Progress) -> Iterator[_Write]:
        """Open where results go, and provide what writes one; those that are sorted are written at the end."""
        with text_writer(self.out, *inputs) as file, self._formatted(file, shown) as write:
            if self.sort is None:
                yield write
                return
            kept: list[Result] = []
            try:
                yield kept.append
            finally:
                for result in sorted(kept, key=self._order):
                    write(result)

    @contextmanager
    def _formatted(self, file: Any, shown: Progress) -> Iterator[_Write]:
        outputs = self.evaluator.output
        if self.form == "jsonl":
            yield lambda result: write_line(file, result)
        elif self.form == "csv":
            file.write(csv_line(column_names(outputs)))
            yield lambda result: cast(None, file.write(csv_line(result_cells(result, outputs))))
        elif self.form == "parquet":
            from formulaseed.data.parquet import parquet_writer

            types = self.evaluator.output_types()
            with parquet_writer(file.buffer, types, self.evaluator.task_name, self.made_with) as write:
                yield write
        else:
            kept: list[Result] = []
            try:
                yield kept.append
            finally:
                shown.hide()
                self._print_table(kept, file)

    def _order(self, result: Result) -> tuple[int, float, str]:
        """Numbers from the largest down, true before false, strings by the alphabet; what has no value is last."""
        value = (result.output or {}).get(cast(str, self.sort))
        if value is None:
            return 1, 0, ""
        return (0, 0, value) if isinstance(value, str) else (0, -value, "")

    def _print_table(self, results: Sequence[Result], file: Any) -> None:
        width = _width(file)
        table, left_out = results_table(results, self.evaluator.output, self.sort, width)
        if file is sys.stdout:
            show(table)
        else:
            file.write(table + "\n")
        if left_out:
            names = ", ".join(left_out)
            say(f"not shown, as {width} columns are too few: {names}; --format csv or jsonl has them", err=True)


def _width(file: Any) -> int | None:
    """The columns of a terminal, or of `COLUMNS`; None for a file or a pipe, which take any."""
    if file is sys.stdout and (is_terminal(file) or os.environ.get("COLUMNS", "").isdecimal()):
        return shutil.get_terminal_size().columns
    return None
