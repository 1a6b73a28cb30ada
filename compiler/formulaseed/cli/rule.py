"""`formulaseed rule`."""

from __future__ import annotations

import click

from formulaseed.cli.output import show
from formulaseed.diagnostics import codes
from formulaseed.diagnostics.codes import page
from formulaseed.diagnostics.suggestions import did_you_mean


@click.command("rule")
@click.argument("code")
def command(code: str) -> None:
    """Explain a diagnostic's code: what it means, an example, what to write instead."""
    wanted = code.strip().upper()
    by_name = {entry.name: entry.code for entry in codes.CODES.values()}
    wanted = by_name.get(code.strip().lower(), wanted)
    if wanted not in codes.CODES:
        raise click.UsageError(
            f"there is no code `{code}`; {did_you_mean(wanted, codes.CODES, what='codes', limit=60)}"
        )
    show(page(wanted), nl=False)
