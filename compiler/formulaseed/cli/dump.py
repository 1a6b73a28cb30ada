"""`formulaseed dump`."""

from __future__ import annotations

import sys
from typing import Literal

import click

from formulaseed.cli.output import show
from formulaseed.diagnostics.render import render_text
from formulaseed.ir.dump import dump_program, dump_tree
from formulaseed.loading import analyse


@click.command("dump")
@click.argument("seed")
@click.option("--after", type=click.Choice(["read", "parse", "check", "plan"]), default="check", show_default=True,
              help="The phase whose result to show.")  # fmt: skip
def command(seed: str, after: Literal["read", "parse", "check", "plan"]) -> None:
    """Show a seed as one of the compiler's phases sees it."""
    analysis = analyse(seed)
    tree: object = None
    if after == "read":
        tree = analysis.document.tree
    elif after == "parse":
        tree = analysis.parsed
    elif analysis.program is not None and not analysis.errors:
        if after == "check":
            show(dump_program(analysis.program), nl=False)
            return
        from formulaseed.backends.python.plan import plan_module

        tree = plan_module(analysis.program, path="", sha256="")
    if tree is None:
        show(render_text(analysis.diagnostics), err=True)
        sys.exit(1)
    show(dump_tree(tree), nl=False)
