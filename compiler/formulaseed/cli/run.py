"""Define the commands that evaluate: `run` for restaurants with their reviews, `evaluate` for rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from formulaseed.cli.extracting import choose_rows_format, extraction_options, make_job, start_job
from formulaseed.cli.inputs import load, parameters_of
from formulaseed.cli.options import PanelCommand, allow_edited_option, duplicates_option, param_option
from formulaseed.cli.output import Progress, finish, report_failures, say, show_progress
from formulaseed.cli.results import Format, Results, result_options
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import read_lines
from formulaseed.data.results import Failures, Result, ResultCounts
from formulaseed.runtime.extracting import RunOptions
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
    seed: str,
    out: str,
    form: Format | None,
    sort: str | None,
    trace: bool,
    reason_count: int | None,
    rows_out: str | None,
    with_text: bool,
    **options: Any,
) -> None:
    """Filter, extract and evaluate restaurants with their reviews.

    The lexical extractor is embedded and needs no network; it is a heuristic for a first try, which `formulaseed
    agreement` measures. The anthropic extractor asks a model; its answers are cached, so that nothing is paid twice. Exit
    status 3 where some restaurants or reviews failed: they are listed, the others are written.
    """
    rows_form = choose_rows_format(rows_out or "-", None, "--rows-out", "")
    if with_text and rows_out is None and options["extractions_out"] is None:
        raise click.UsageError("--with-text goes with --extractions-out or --rows-out")
    job = make_job(
        seed,
        {"--out": out, "--rows-out": rows_out},
        with_text=with_text,
        trace=trace,
        reason_count=reason_count,
        **options,
    )
    source = job.source
    destination = Results.choose(out, form, sort, source.evaluator, source.options)

    with start_job(job) as running, job.open_rows(rows_out, rows_form, running.failures) as write_row:
        restaurants = source.read_restaurants(running.failures)
        results = run_restaurants(
            source.evaluator, running.extractor, restaurants, source.options, running.failures, write_row
        )
        _write_results(results, destination, job.inputs, running.failures, running.progress, running.counts)
    finish(running.status)


@click.command("evaluate")
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--rows", required=True, help="Restaurants with extracted rows, JSON Lines; - for standard input.")
@result_options
@click.option("--strict", is_flag=True, help="Refuse rows with extractions or metadata that the seed does not know.")
@duplicates_option
@allow_edited_option
@param_option
def evaluate(
    seed: str,
    rows: str,
    out: str,
    form: Format | None,
    sort: str | None,
    trace: bool,
    reason_count: int | None,
    strict: bool,
    allow_edited: bool,
    duplicates: Duplicates,
    params: tuple[str, ...],
) -> None:
    """Evaluate restaurants whose reviews have been extracted.

    Exit status 3 where some restaurants failed: they are listed, and the others are written.
    """
    loaded = load(seed, strict=strict, allow_edited=allow_edited)
    evaluator = loaded.evaluator
    parameters = parameters_of(evaluator, params)
    reasons = loaded.make_reasons(reason_count, parameters)
    find_reasons = None if reasons is None else reasons.start(evaluator)
    options = RunOptions(trace=trace, parameters=parameters, find_reasons=find_reasons)
    destination = Results.choose(out, form, sort, evaluator, options)
    lines = read_lines(rows, "rows")
    counts = ResultCounts()
    with report_failures() as failures, show_progress("restaurant", quiet=True) as progress:
        results = evaluate_lines(evaluator, lines, failures, options, duplicates)
        _write_results(results, destination, (rows,), failures, progress, counts)
    for line in counts.lines():
        say(line, err=True)
    line_count = number_of(counts.restaurants + failures.unreadable, "line")
    say(f"{line_count}: {counts.summary()}{failures.summary()}", err=True)
    finish(failures.status)


def _write_results(
    results: Iterator[Result],
    destination: Results,
    inputs: tuple[str | None, ...],
    failures: Failures,
    progress: Progress,
    counts: ResultCounts,
) -> None:
    """Write all results to `destination`, add them to `counts`, and show the progress.

    A result that the format cannot hold is written as a failed one and added to `failures`. Raises `UnreadableError` if one of
    the files `inputs` would be overwritten.
    """
    with destination.open(inputs, progress) as write:
        for result in results:
            result = destination.make_fit(result, failures)
            write(result)
            counts.add(result.error, result.reviews, result.output)
            progress.advance(counts.progress)
