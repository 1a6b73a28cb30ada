"""`formulaseed report`."""

from __future__ import annotations

import click

from formulaseed.cli.inputs import allow_edited_option, load, param_option, parameters_of
from formulaseed.cli.output import finish, progress, reported, write_out
from formulaseed.data.jsonl import read_lines
from formulaseed.diagnostics.model import number_of
from formulaseed.runtime.running import read_rows


@click.command("report")
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--rows", required=True, help="Restaurants with extracted rows, JSON Lines; - for standard input.")
@click.option(
    "--out", type=click.Path(dir_okay=False), default="report.html", show_default=True, help="Where to write it."
)
@click.option("--output", metavar="NAME", help="The output to explain; by default the last that chooses by rules.")
@allow_edited_option
@param_option
def report(seed: str, rows: str, out: str, output: str | None, allow_edited: bool, params: tuple[str, ...]) -> None:
    """Write a page of all restaurants: how many have which verdict, and why each of them has its own.

    The page needs no network. Exit status 3 where some restaurants failed: they are in the page, too.
    """
    from formulaseed.report.explain import Explainer
    from formulaseed.report.overview import Overview, explained
    from formulaseed.report.pages import report_page

    loaded = load(seed, allow_edited=allow_edited)
    parameters = parameters_of(loaded.evaluator, params)
    explainer = Explainer(loaded.program, output)
    found = Overview(loaded.program, explainer.verdict)
    with reported() as failures, progress("restaurant") as shown:
        for restaurant in read_rows(loaded.evaluator, read_lines(rows), failures, parameters):
            found.add(explained(explainer, loaded.evaluator, restaurant, parameters, failures))
            shown.advance("explained")
    write_out(
        report_page(found, failures.lines), out, f"{number_of(len(found.rows), 'restaurant')}, {found.failed} failed"
    )
    finish(failures.status)
