"""The commands that analyse a policy: `diff`, `sensitivity`, `cover` and `graph`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from formulaseed.cli.inputs import parameters_of
from formulaseed.cli.output import emit, emit_json, finish, report_warnings, reported, show
from formulaseed.data.jsonl import read_lines
from formulaseed.data.results import WRONG
from formulaseed.loading import load_seed
from formulaseed.report.diff import Check, Difference, difference
from formulaseed.runtime.loading import evaluator_of

_form_option = click.option(
    "--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True,
    help="How to print it.",
)  # fmt: skip
_output_option = click.option("--output", metavar="NAME", help="The output to look at, in place of the verdict.")


def _rows_option(**attributes: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(
        "--rows", help="Restaurants with extracted rows, JSON Lines; - for standard input.", **attributes
    )


def _print(found: Difference, form: str) -> None:
    if form == "json":
        emit_json(found.json)
    elif form == "markdown":
        emit(found.markdown)
    else:
        show(found.text, nl=False)


@click.command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@_rows_option()
@click.option("--param-old", "params_old", multiple=True, metavar="NAME=VALUE", help="Give the old seed a parameter.")
@click.option("--param-new", "params_new", multiple=True, metavar="NAME=VALUE", help="Give the new seed a parameter.")
@_output_option
@click.option("--fail-on", "checks", type=click.Choice(["verdicts", "outputs", "extraction"]), multiple=True,
              help="Exit with 1 where a verdict, an output or what is extracted changes.")  # fmt: skip
@_form_option
def diff(
    old: str, new: str, rows: str | None, params_old: tuple[str, ...], params_new: tuple[str, ...],
    output: str | None, checks: tuple[Check, ...], form: str
) -> None:  # fmt: skip
    """Compare two seeds step by step, and what they make of the same restaurants.

    Pass one seed twice with --param-old and --param-new for two settings of it. Exit status 1 where --fail-on finds
    something, 3 where some restaurants failed: they are listed, and counted.
    """
    if "verdicts" in checks and rows is None:
        raise click.UsageError("--fail-on verdicts needs --rows FILE")
    seeds = load_seed(old), load_seed(new)
    given = []
    for seed, params in zip(seeds, (params_old, params_new), strict=True):
        report_warnings(seed)
        given.append(parameters_of(evaluator_of(seed), params) if params else None)
    with reported() as failures:
        lines = read_lines(rows) if rows is not None else None
        found = difference(seeds[0], seeds[1], lines, (given[0], given[1]), output, failures)
    _print(found, form)
    finish(WRONG if any(found.fails(check) for check in checks) else failures.status)
