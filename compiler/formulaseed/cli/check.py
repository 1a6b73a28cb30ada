"""`formulaseed check`."""

from __future__ import annotations

import sys

import click

from formulaseed.diagnostics.model import Diagnostic
from formulaseed.diagnostics.render import render_json, render_text, summary
from formulaseed.errors import FormulaSeedError, UnreadableError
from formulaseed.pipeline import analyse


@click.command("check")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED...")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print diagnostics.")
def command(seeds: tuple[str, ...], form: str) -> None:
    """Tell everything that is wrong with seeds.

    Exit status 1 where there are errors; warnings alone are fine.
    """
    found: list[Diagnostic] = []
    status = 0
    for seed in seeds:
        try:
            diagnostics = analyse(seed).diagnostics
        except UnreadableError as error:
            click.echo(f"formulaseed: {error}", err=True)
            status = 2
            continue
        except FormulaSeedError as error:
            click.echo(f"formulaseed: {seed}: {error}", err=True)
            status = max(status, 1)
            continue
        found += diagnostics
        if any(d.severity == "error" for d in diagnostics):
            status = max(status, 1)
        if form == "text":
            if diagnostics:
                click.echo(render_text(diagnostics))
            click.echo(f"{seed}: {summary(diagnostics) or 'no problems'}")
    if form == "json":
        click.echo(render_json(found), nl=False)
    sys.exit(status)
