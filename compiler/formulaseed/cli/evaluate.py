"""`formulaseed evaluate`."""

from __future__ import annotations

import click

from formulaseed.cli.common import allow_edited_option, finish, load, param_option, parameters_of, reported
from formulaseed.cli.output import say
from formulaseed.data.jsonl import read_lines
from formulaseed.data.results import Counted, Failures, result_writer
from formulaseed.diagnostics.model import number_of
from formulaseed.runtime.evaluation import evaluate_lines


@click.command("evaluate")
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--rows", required=True, help="Restaurants with extracted rows, JSON Lines; - for standard input.")
@click.option("--out", default="-", help="Where to write results; standard output by default.")
@click.option("--trace", is_flag=True, help="Add every step's value, and the reviews behind each aggregate.")
@click.option("--strict", is_flag=True, help="Refuse rows with extractions or metadata that the seed does not know.")
@allow_edited_option
@param_option
def command(
    seed: str, rows: str, out: str, trace: bool, strict: bool, allow_edited: bool, params: tuple[str, ...]
) -> None:
    """Evaluate restaurants whose reviews have been extracted.

    Exit status 3 where some restaurants failed: they are listed, and the others are written.
    """
    evaluator = load(seed, strict=strict, allow_edited=allow_edited).evaluator
    parameters = parameters_of(evaluator, params)
    failures, counted = Failures(), Counted()
    lines = read_lines(rows)
    with reported(failures), result_writer(out, rows) as writer:
        for result in evaluate_lines(evaluator, lines, failures, trace=trace, parameters=parameters):
            writer.write(result.to_json())
            counted.add(result)
    number = number_of(counted.restaurants + failures.unreadable, "line")
    say(f"{number}: {counted.summary()}{failures.summary()}", err=True)
    finish(failures.status)
