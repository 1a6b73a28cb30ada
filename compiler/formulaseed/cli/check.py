"""`formulaseed check`."""

from __future__ import annotations

import sys
from typing import Any

import click

from formulaseed import __version__
from formulaseed.cli.output import emit, say, show
from formulaseed.cli.seeds import reference_option, replace_file, strict_option
from formulaseed.diagnostics.model import Diagnostic, strictly
from formulaseed.diagnostics.render import render_json, render_text, summary
from formulaseed.errors import FormulaSeedError, UnreadableError
from formulaseed.loading import analyse_file
from formulaseed.pipeline import Analysis, fixed
from formulaseed.wording import number_of


@click.command("check")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED|REQUESTS|RULES...")
@click.option("--format", "form", type=click.Choice(["text", "json", "sarif"]), default="text",
              help="How to print diagnostics.")  # fmt: skip
@click.option(
    "--fix", is_flag=True, help="Fix in the files what cannot change their meaning: typos in names, the steps' order."
)
@reference_option
@strict_option
def command(seeds: tuple[str, ...], form: str, fix: bool, reference: str | None, strict: bool) -> None:
    """Tell everything that is wrong with seeds, or with files of requests or rules.

    Exit status 1 where there are errors; warnings alone are fine, unless --strict takes them as errors.
    """
    found: list[Diagnostic] = []
    status = 0
    for seed in seeds:
        try:
            analysis = analyse_file(seed, reference)
            analysis = _fixed(analysis) if fix else analysis
        except UnreadableError as error:
            say(f"formulaseed: {error}", err=True)
            status = 2
            continue
        except FormulaSeedError as error:
            say(f"formulaseed: {seed}: {error}", err=True)
            status = max(status, 1)
            continue
        diagnostics = strictly(analysis.diagnostics) if strict else analysis.diagnostics
        found += diagnostics
        if any(d.severity == "error" for d in diagnostics):
            status = max(status, 1)
        if form == "text":
            if diagnostics:
                show(render_text(diagnostics))
            say(f"{seed}: {summary(diagnostics) or 'no problems'}")
    if form == "json":
        emit(render_json(found))
    if form == "sarif":
        from formulaseed.diagnostics.sarif import render_sarif

        emit(render_sarif(found, __version__))
    sys.exit(status)


def _fixed(analysis: Analysis[Any, Any]) -> Analysis[Any, Any]:
    """Fix the file, and say so on standard error; return the analysis of what it holds now.

    What has no file to be written to stays as it is.
    """
    path = analysis.document.path
    found = fixed(analysis) if path is not None else analysis
    if path is not None and found is not analysis:
        replace_file(path, found.document.source.text)
        say(f"{path}: {number_of(found.fixed, 'error')} fixed", err=True)
    return found
