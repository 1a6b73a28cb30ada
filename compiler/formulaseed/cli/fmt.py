"""`formulaseed fmt`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from formulaseed.cli.output import say, show
from formulaseed.cli.seeds import replace_file
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.render import render_text
from formulaseed.errors import UnreadableError
from formulaseed.pipeline import parse, read
from formulaseed.seed.write.canonical import canonical, layout, sorted_steps
from formulaseed.source.json_reader import plain


@click.command("fmt")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED...")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 1 where a seed is laid out otherwise.")
@click.option("--sort", is_flag=True, help="Put the steps into dependency order too.")
def command(seeds: tuple[str, ...], only_check: bool, sort: bool) -> None:
    """Write seeds in their canonical layout: keys in the specification's order, a step a line where it fits.

    Changes nothing of what a seed means; with --sort steps move, each behind those that it uses.
    """
    status = 0
    for seed in seeds:
        problems = Problems()
        try:
            document = read(seed, problems)
        except UnreadableError as error:
            say(f"formulaseed: {error}", err=True)
            status = 2
            continue
        value = canonical(plain(document.tree)) if document.tree is not None else None
        if sort and document.tree is not None and not problems.has_errors:
            program = parse(document, problems)
            if program is not None and not problems.has_errors:
                value = sorted_steps(value, program, problems)
        if problems.has_errors or value is None:
            show(render_text(problems.sorted()), err=True)
            status = max(status, 1)
            continue
        text = layout(value)
        if text == document.source.text:
            continue
        if only_check:
            say(f"{seed}: laid out otherwise; run `formulaseed fmt {seed}`")
            status = max(status, 1)
            continue
        replace_file(Path(seed), text)
        say(seed)
    sys.exit(status)
