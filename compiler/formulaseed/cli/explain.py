"""`formulaseed explain`."""

from __future__ import annotations

import click

from formulaseed.cli.inputs import allow_edited_option, load, param_option, parameters_of
from formulaseed.cli.output import finish, say, write_out
from formulaseed.data.jsonl import parsed, read_lines
from formulaseed.data.records import RowsLine
from formulaseed.data.results import PARTIAL
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import DataError


@click.command("explain")
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--rows", required=True, help="Restaurants with extracted rows, JSON Lines; - for standard input.")
@click.option("--id", "business_id", help="The restaurant; needed where there are several.")
@click.option("--output", metavar="NAME", help="The output to explain; by default the last that chooses by rules.")
@click.option("--format", "form", type=click.Choice(["text", "markdown", "html", "json"]), default="text",
              show_default=True, help="How to write it.")  # fmt: skip
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write it; else it is printed.")
@allow_edited_option
@param_option
def explain(
    seed: str, rows: str, business_id: str | None, output: str | None, form: str, out: str | None, allow_edited: bool,
    params: tuple[str, ...]
) -> None:  # fmt: skip
    """Explain why a restaurant got its verdict, and what would change it.

    The verdict first, and the rule that gave it; the steps behind it with their values; the reviews behind those, with the
    words that they rest on where the rows hold texts (`extract --with-text`). Exit status 3 where the restaurant failed.
    """
    from formulaseed.api import explain as explained

    loaded = load(seed, allow_edited=allow_edited)
    parameters = parameters_of(loaded.evaluator, params)
    line = _restaurant(rows, business_id)
    found = explained(
        loaded.known_seed, line.rows, line.context, line.business_id, output=output, parameters=parameters,
        evaluator=loaded.evaluator,
    )  # fmt: skip
    write_out(getattr(found, form), out)
    if found.error is not None:
        say(f"{line.business_id} failed: {found.error.message}", err=True)
    finish(PARTIAL if found.error is not None else 0)


def _restaurant(rows: str, business_id: str | None) -> RowsLine:
    """The line of one restaurant. Raises `DataError` for an unusable line, `UsageError` where it is not clear which."""
    known: list[str] = []
    chosen: RowsLine | None = None
    for line, record in parsed(read_lines(rows), RowsLine.read):
        known.append(line.business_id)
        if business_id not in (None, line.business_id):
            continue
        if isinstance(record, DataError):
            raise DataError(str(record), line.place)
        if chosen is None:
            chosen = record
            if business_id is not None:
                return chosen
    if business_id is None and len(known) > 1:
        raise click.UsageError(f"there are {len(known)} restaurants; pass --id, such as --id {known[0]}")
    if chosen is None:
        help = did_you_mean(business_id or "", known, what="restaurants", limit=5)
        raise click.UsageError(f"no restaurant has the id `{business_id}`; {help}")
    return chosen
