"""`formulaseed migrate`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from formulaseed.cli.output import emit, say, show
from formulaseed.cli.seeds import replace_file
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.render import render_text
from formulaseed.pipeline import analyse_text, load_seed, parse
from formulaseed.seed.read.sections import is_v1
from formulaseed.seed.write.canonical import canonical, layout
from formulaseed.seed.write.migrate import migrate
from formulaseed.source.text import Source


@click.command("migrate")
@click.argument("seed", metavar="OLD.json")
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write the seed; else it is printed.")
def command(seed: str, out: str | None) -> None:
    """Rewrite a seed of the older shape (`compute_dag`) as one of the newer shape (`compute`).

    What a loop inside a formula computes becomes a step of its own. Exit status 1, and no seed, where a step cannot be
    said in the newer shape.
    """
    loaded = load_seed(seed)
    data, program = loaded.data, parse(loaded.document, Problems())
    if not isinstance(data, dict) or program is None or not is_v1(data):
        say(f"formulaseed: {seed} is of the newer shape already", err=True)
        sys.exit(1)
    migration = migrate(data, program)
    for item in migration.not_moved:
        line, column = item.span.source.position(item.span.start)
        place = f"{item.span.source.name}:{line}:{column}"
        say(f"{place}: not moved: {item.reason}", err=True)
    text = layout(canonical(migration.seed))
    problems = analyse_text(Source(out or "<migrated>", text)).diagnostics if not migration.not_moved else ()
    errors = [d for d in problems if d.severity == "error"]
    if migration.not_moved or errors:
        show(render_text(errors), nl=False, err=True)
        say(f"formulaseed: {seed} cannot be said in the newer shape as a whole; nothing is written", err=True)
        sys.exit(1)
    for left_out in migration.left_out:
        say(f"left out: {left_out}", err=True)
    if out is None:
        emit(text)
    else:
        replace_file(Path(out), text)
        say(out)
