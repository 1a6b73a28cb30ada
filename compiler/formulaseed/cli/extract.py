"""`formulaseed extract`."""

from __future__ import annotations

from typing import Any

import click

from formulaseed.cli.extracting import (
    RowsFormat,
    count,
    extraction_options,
    make_job,
    rows_format,
    run_job,
)
from formulaseed.cli.output import Progress
from formulaseed.cli.panels import PanelCommand
from formulaseed.data.results import Extractor, Failures, ResultCounts
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
    chosen = rows_format(out, form)
    job = make_job(seed, {"--out": out}, **options)
    source = job.source

    def write(extractor: Extractor, failures: Failures, shown: Progress, counts: ResultCounts) -> None:
        restaurants = source.restaurants(failures)
        with job.rows_writer(out, chosen, failures) as keep:
            for restaurant in extract_restaurants(source.evaluator, extractor, restaurants, source.options, failures):
                count(keep(restaurant), shown, counts)

    run_job(job, write)
