"""`formulaseed shorthand`."""

from __future__ import annotations

import sys

import click

from formulaseed import limits
from formulaseed.cli.output import emit, emit_json, format_option, say, show
from formulaseed.diagnostics.model import Problems, number_of, printable, strictly
from formulaseed.diagnostics.render import render_json, render_text, summary
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.loading import RequestsAnalysis, analyse_requests
from formulaseed.requests.groups import CHECKLIST, GROUPS, GUIDELINES, request_template
from formulaseed.requests.model import Request
from formulaseed.requests.shorthand import Junction, Name, Shorthand, parse_shorthand, print_shorthand
from formulaseed.requests.shorthand_check import shorthand_of
from formulaseed.source.json_reader import Plain
from formulaseed.source.text import Source

_CODES = ("FS814", "FS821", "FS822", "FS823")


@click.command("shorthand")
@click.argument("text", required=False)
@click.option("--check", "checked", metavar="REQUESTS", help="Compare each shorthand of a file with its structure.")
@click.option("--print", "printed", metavar="REQUESTS", help="Print the shorthand of each structure of a file.")
@click.option("--template", metavar="GROUP", help="Print a new request of a group, G01 to G10, to fill in.")
@format_option
def shorthand(text: str | None, checked: str | None, printed: str | None, template: str | None, form: str) -> None:
    """Read the shorthand of a request, such as "AND(quiet, OR(wifi_free, 1HOP(['Alice'], 'cozy')))".

    Prints it in its canonical form; with --format json also as a tree. TEXT is `-` for standard input.
    """
    if [text, checked, printed, template].count(None) != 3:
        raise click.UsageError("pass one of TEXT, --check, --print and --template")
    if checked is not None:
        _check(checked, form)
    elif printed is not None:
        _print_all(printed, form)
    elif template is not None:
        _print_template(template)
    elif text is not None:
        _print_canonical(text, form)


def _print_canonical(text: str, form: str) -> None:
    source = (
        Source("<text>", text) if text != "-" else Source("<stdin>", sys.stdin.read(limits.SHORTHAND_CHARACTERS + 1))
    )
    problems = Problems()
    tree = parse_shorthand(source, problems)
    if tree is None:
        found = strictly(problems.sorted())
        if form == "json":
            emit(render_json(found))
        else:
            show(render_text(found), nl=False, err=True)
        sys.exit(1)
    canonical = print_shorthand(tree)
    if form == "json":
        emit_json({"shorthand": canonical, "tree": plain_tree(tree)})
    else:
        say(canonical)


def plain_tree(tree: Shorthand) -> Plain:
    """A tree as JSON values: a name, friends with hops (no pattern for ratings), or an operator with its arguments."""
    if isinstance(tree, Name):
        return {"name": tree.text}
    if isinstance(tree, Junction):
        return {"op": tree.op, "args": [plain_tree(arg) for arg in tree.args]}
    return {"hops": tree.hops, "friends": list(tree.friends), "pattern": tree.pattern}


def _check(path: str, form: str) -> None:
    """What is wrong with the shorthands, as errors.

    Errors of other parts are counted, since a structure that has some is not compared.
    """
    analysis = analyse_requests(path)
    found = strictly(d for d in analysis.diagnostics if d.code in _CODES)
    if form == "json":
        emit(render_json(found))
    else:
        if found:
            show(render_text(found))
        say(f"{path}: {summary(found) or 'no problems'}")
    _finish(analysis, path, failed=bool(found))


def _print_all(path: str, form: str) -> None:
    analysis = analyse_requests(path)
    shorthands = {line.id: shorthand_of(line.structure) for line in analysis.parsed or () if isinstance(line, Request)}
    if form == "json":
        emit_json(shorthands)
    else:
        for id, shorthand in shorthands.items():
            emit(f"{printable(id)}\t{printable(shorthand)}\n")
    _finish(analysis, path)


def _finish(analysis: RequestsAnalysis, path: str, *, failed: bool = False) -> None:
    if analysis.errors > 0:
        errors = number_of(analysis.errors, "other error")
        say(f"{path}: {errors}; see `formulaseed check {path}`", err=True)
    sys.exit(1 if failed or analysis.errors > 0 else 0)


def _print_template(group: str) -> None:
    """The request alone on standard output, the advice on standard error."""
    wanted = group.upper()
    if wanted not in GROUPS:
        raise click.UsageError(f"there is no group `{group}`; {did_you_mean(wanted, GROUPS, what='groups', limit=10)}")
    emit_json(request_template(wanted))
    say(f"{wanted} {GROUPS[wanted].name}: `{GROUPS[wanted].pattern}`, {GROUPS[wanted].meaning}", err=True)
    show("\nA requests file holds one request a line. To create one:", err=True)
    for number, line in enumerate(GUIDELINES, 1):
        say(f"  {number}. {line}", err=True)
    show("\nBefore it is added:", err=True)
    for line in CHECKLIST:
        say(f"  - [ ] {line}", err=True)
