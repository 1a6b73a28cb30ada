"""The commands that evaluate: `run` restaurants with their reviews, `evaluate` rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from formulaseed.cli.extracting import extraction_options, make_job, open_job, rows_format
from formulaseed.cli.inputs import allow_edited_option, duplicates_option, load, param_option, parameters_of
from formulaseed.cli.output import Progress, finish, report_failures, say, show_progress
from formulaseed.cli.panels import PanelCommand
from formulaseed.cli.results import Format, Results, result_options
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import read_lines
from formulaseed.data.results import Failures, Result, ResultCounts
from formulaseed.runtime.running import evaluate_lines
from formulaseed.runtime.running import run as run_restaurants
from formulaseed.source.printing import number_of


@click.command("run", cls=PanelCommand)
@click.argument("seed", metavar="SEED|MODULE")
@result_options
@click.option(
    "--rows-out", metavar="FILE", help="Write the extracted rows, too, for `evaluate` to read; Parquet if it ends so."
)
@click.option("--with-text", is_flag=True, help="--extractions-out, --rows-out: with the text of each review.")
@extraction_options
@param_option
def run(
    seed: str, out: str, form: Format | None, sort: str | None, trace: bool, rows_out: str | None, with_text: bool,
    **options: Any
) -> None:  # fmt: skip
    """Filter, extract and evaluate restaurants with their reviews.

    The lexical extractor is embedded and needs no network; it is a heuristic for a first try, which `formulaseed
    agreement` measures. The anthropic extractor asks a model; its answers are cached, so that nothing is paid twice. Exit
    status 3 where some restaurants or reviews failed: they are listed, the others are written.
    """
    rows_form = rows_format(rows_out, None, "--rows-out", "") if rows_out is not None else "jsonl"
    if with_text and rows_out is None and options["extractions_out"] is None:
        raise click.UsageError("--with-text goes with --extractions-out or --rows-out")
    job = make_job(seed, {"--out": out, "--rows-out": rows_out}, with_text=with_text, trace=trace, **options)
    source = job.source
    to = Results.of(out, form, sort, trace, source.evaluator, source.options.parameters)

    with open_job(job) as opened, job.rows_writer(rows_out, rows_form, opened.failures) as keep:
        restaurants = source.read_restaurants(opened.failures)
        results = run_restaurants(
            source.evaluator, opened.extractor, restaurants, source.options, opened.failures, keep
        )
        _write(results, to, job.inputs, opened.failures, opened.shown, opened.counts)
    finish(opened.status)


@click.command("evaluate")
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--rows", required=True, help="Restaurants with extracted rows, JSON Lines; - for standard input.")
@result_options
@click.option("--strict", is_flag=True, help="Refuse rows with extractions or metadata that the seed does not know.")
@duplicates_option
@allow_edited_option
@param_option
def evaluate(
    seed: str, rows: str, out: str, form: Format | None, sort: str | None, trace: bool, strict: bool, allow_edited: bool,
    duplicates: Duplicates, params: tuple[str, ...]
) -> None:  # fmt: skip
    """Evaluate restaurants whose reviews have been extracted.

    Exit status 3 where some restaurants failed: they are listed, and the others are written.
    """
    evaluator = load(seed, strict=strict, allow_edited=allow_edited).evaluator
    parameters = parameters_of(evaluator, params)
    to = Results.of(out, form, sort, trace, evaluator, parameters)
    lines, counted = read_lines(rows, "rows"), ResultCounts()
    with report_failures() as failures, show_progress("restaurant", quiet=True) as shown:
        results = evaluate_lines(evaluator, lines, failures, trace=trace, parameters=parameters, duplicates=duplicates)
        _write(results, to, (rows,), failures, shown, counted)
    for line in counted.lines():
        say(line, err=True)
    number = number_of(counted.restaurants + failures.unreadable, "line")
    say(f"{number}: {counted.summary()}{failures.summary()}", err=True)
    finish(failures.status)


def _write(
    results: Iterator[Result],
    to: Results,
    inputs: tuple[str | None, ...],
    failures: Failures,
    shown: Progress,
    counts: ResultCounts,
) -> None:
    """Write each result where `to` says, count it in `counts`, and show the progress."""
    with to.writer(inputs, shown) as write:
        for result in results:
            result = to.fitting(result, failures)
            write(result)
            counts.add(result.error, result.reviews, result.output)
            shown.advance(counts.progress)
