"""`formulaseed shorthand`."""

from __future__ import annotations

import json
import sys

import click

from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.render import render_json, render_text
from formulaseed.diagnostics.suggest import did_you_mean
from formulaseed.frontends.request_template import CHECKLIST, GROUPS, GUIDELINES, request_template
from formulaseed.source.json_reader import Plain
from formulaseed.source.text import Source
from formulaseed.syntax.shorthand import Junction, Name, Shorthand, parse_shorthand, print_shorthand


@click.command("shorthand")
@click.argument("text", required=False)
@click.option("--template", metavar="GROUP", help="Print a new request of a group, G01 to G10, to fill in.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def command(text: str | None, template: str | None, form: str) -> None:
    """Read the shorthand of a request, such as "AND(quiet, OR(wifi_free, 1HOP(['Alice'], 'cozy')))".

    Prints it in its canonical form; with --format json also as a tree. TEXT is `-` for standard input.
    """
    if (text is None) == (template is None):
        raise click.UsageError("pass one of TEXT and --template")
    if template is not None:
        _print_template(template)
    elif text is not None:
        _print_canonical(text, form)


def _print_canonical(text: str, form: str) -> None:
    source = Source("<text>", text) if text != "-" else Source("<stdin>", sys.stdin.read())
    problems = Problems()
    tree = parse_shorthand(source, problems)
    if tree is None:
        found = problems.sorted()
        click.echo(render_json(found) if form == "json" else render_text(found), nl=False, err=form == "text")
        sys.exit(1)
    canonical = print_shorthand(tree)
    if form == "json":
        click.echo(json.dumps({"shorthand": canonical, "tree": plain_tree(tree)}, indent=2, ensure_ascii=False))
    else:
        click.echo(canonical)


def plain_tree(tree: Shorthand) -> Plain:
    """A tree as JSON values: a name, a circle (with no pattern for ratings), or an operator with its arguments."""
    if isinstance(tree, Name):
        return {"name": tree.text}
    if isinstance(tree, Junction):
        return {"op": tree.op, "args": [plain_tree(arg) for arg in tree.args]}
    return {"hops": tree.hops, "friends": list(tree.friends), "pattern": tree.pattern}


def _print_template(group: str) -> None:
    """The request alone on standard output, the advice on standard error."""
    wanted = group.upper()
    if wanted not in GROUPS:
        raise click.UsageError(f"there is no group `{group}`; {did_you_mean(wanted, GROUPS, what='groups', limit=10)}")
    click.echo(json.dumps(request_template(wanted), indent=2, ensure_ascii=False))
    click.echo(f"{wanted} {GROUPS[wanted].name}: {GROUPS[wanted].pattern}", err=True)
    click.echo("\nA requests file holds one request a line. To create one:", err=True)
    for number, line in enumerate(GUIDELINES, 1):
        click.echo(f"  {number}. {line}", err=True)
    click.echo("\nBefore it is added:", err=True)
    for line in CHECKLIST:
        click.echo(f"  - [ ] {line}", err=True)
