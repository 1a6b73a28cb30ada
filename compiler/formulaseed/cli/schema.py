"""`formulaseed schema`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from formulaseed.cli.output import emit, say
from formulaseed.cli.seeds import replace_file
from formulaseed.data.files import holds
from formulaseed.errors import UnreadableError
from formulaseed.seed.json_schema import seed_schema
from formulaseed.seed.write.canonical import layout


@click.command("schema")
@click.option("--out", type=click.Path(), metavar="FILE", help="Write it into a file.")
@click.option("--check", "current", type=click.Path(), metavar="FILE", help="Write nothing; exit 1 where it differs.")
def command(out: str | None, current: str | None) -> None:
    """Print the JSON Schema of seeds, with which editors complete and explain keys."""
    if out is not None and current is not None:
        raise click.UsageError("--out and --check exclude each other")
    text = layout(seed_schema())
    if current is not None:
        is_current = holds(Path(current), text)
        if is_current is None:
            raise UnreadableError(f"cannot read {current}: there is no such file")
        say(f"{current}: {'current' if is_current else f'stale; run `formulaseed schema --out {current}`'}")
        sys.exit(0 if is_current else 1)
    if out is None:
        emit(text)
        return
    replace_file(Path(out), text)
    say(out)
