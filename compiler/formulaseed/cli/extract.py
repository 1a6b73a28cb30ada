"""The command `extract`: it writes rows for `evaluate`, `explain` and `score` to read."""

from __future__ import annotations

from typing import Any

import click

from formulaseed.cli.extracting import RowsFormat, extraction_options, make_job, open_job, rows_format
from formulaseed.cli.output import finish
from formulaseed.cli.panels import PanelCommand
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

    with open_job(job) as opened, job.rows_writer(out, chosen, opened.failures) as keep:
        restaurants = source.read_restaurants(opened.failures)
        for restaurant in extract_restaurants(
            source.evaluator, opened.extractor, restaurants, source.options, opened.failures
        ):
            opened.count(keep(restaurant))
    finish(opened.status)
