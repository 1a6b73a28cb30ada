"""Define the command `extract`: it writes rows for `evaluate`, `explain` and `score` to read."""

from __future__ import annotations

from typing import Any

import click

from formulaseed.cli.extracting import RowsFormat, choose_rows_format, extraction_options, make_job, start_job
from formulaseed.cli.options import PanelCommand
from formulaseed.cli.output import finish
from formulaseed.runtime.extracting import extract as extract_restaurants


@click.command("extract", cls=PanelCommand)
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--out", default="-", help="Where to write rows; standard output by default.")
@click.option("--format", "form", type=click.Choice(["jsonl", "parquet"]),
              help="How to write rows: as --out ends (.parquet), or JSON Lines.")  # fmt: skip
@click.option("--with-text", is_flag=True, help="Add each review's text, and the quotes and reasons that a model gave.")
@extraction_options
def extract(seed: str, out: str, form: RowsFormat | None, **options: Any) -> None:
    """Filter and extract restaurants with their reviews, for `evaluate` and `score` to read.

    A restaurant is a line with a row for each review that was extracted. Extract once, look at the rows, correct them, and
    then change formulas as often as you like. A restaurant that failed has no line. Exit status 3 where some restaurants or
    reviews failed: they are listed, the others are written.
    """
    rows_form = choose_rows_format(out, form)
    job = make_job(seed, {"--out": out}, **options)
    source = job.source

    with start_job(job) as running, job.open_rows(out, rows_form, running.failures) as write_row:
        restaurants = source.read_restaurants(running.failures)
        for restaurant in extract_restaurants(
            source.evaluator, running.extractor, restaurants, source.options, running.failures
        ):
            running.count(write_row(restaurant))
    finish(running.status)
