"""Define the command `shorthand`: it reads and prints the shorthand of requests."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from formulaseed import limits
from formulaseed.cli.options import format_option
from formulaseed.cli.output import emit, emit_json, say, show, show_diagnostics
from formulaseed.diagnostics.model import Problems, promote_warnings
from formulaseed.diagnostics.render import render_json, summarize
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.documents import RequestsAnalysis, read_requests
from formulaseed.requests.groups import CHECKLIST, GROUPS, GUIDELINES, build_request_template
from formulaseed.requests.model import Request
from formulaseed.requests.shorthand import (
    AspectName,
    JoinedNames,
    Shorthand,
    format_as_shorthand,
    parse_shorthand,
    print_shorthand,
)
from formulaseed.source.json_reader import Plain
from formulaseed.source.printing import number_of, printable
from formulaseed.source.text import Source

_SHORTHAND_CODES = ("FS814", "FS821", "FS822", "FS823")


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
    """Print the canonical form of a shorthand, or of standard input if `text` is `-`, with `form` json also its tree.

    Prints the diagnostics of an invalid shorthand, and exits with status 1.
    """
    if text == "-":
        # one more character than the limit is enough to report a text that is too long
        source = Source("<stdin>", sys.stdin.read(limits.SHORTHAND_CHARACTERS + 1))
    else:
        source = Source("<text>", text)
    problems = Problems()
    tree = parse_shorthand(source, problems)
    if tree is None:
        diagnostics = promote_warnings(problems.sorted())
        if form == "json":
            emit(render_json(diagnostics))
        else:
            show_diagnostics(diagnostics, err=True)
        sys.exit(1)
    canonical = print_shorthand(tree)
    if form == "json":
        emit_json({"shorthand": canonical, "tree": plain_tree(tree)})
    else:
        say(canonical)


def plain_tree(tree: Shorthand) -> Plain:
    """Return a shorthand as JSON values: a name, friends with hops and a pattern, or an operator with its arguments.

    The pattern is null for friends' ratings.
    """
    if isinstance(tree, AspectName):
        return {"name": tree.text}
    if isinstance(tree, JoinedNames):
        return {"op": tree.op, "args": [plain_tree(arg) for arg in tree.args]}
    return {"hops": tree.hops, "friends": list(tree.friends), "pattern": tree.pattern}


def _check(path: str, form: str) -> None:
    """Print the errors of shorthands in a file of requests, and exit: with status 1 if the file has any errors.

    Other errors are only counted; a structure with errors is not compared with its shorthand.
    """
    analysis = read_requests(path)
    diagnostics = promote_warnings(d for d in analysis.diagnostics if d.code in _SHORTHAND_CODES)
    if form == "json":
        emit(render_json(diagnostics))
    else:
        show_diagnostics(diagnostics)
        say(f"{path}: {summarize(diagnostics) or 'no problems'}")
    _report_errors_and_exit(analysis, path, has_failed=bool(diagnostics))


def _print_all(path: str, form: str) -> None:
    """Print the shorthand of each valid request of a file, and exit: with status 1 if the file has any errors."""
    analysis = read_requests(path)
    shorthands = {
        line.id: format_as_shorthand(line.structure) for line in analysis.parsed or () if isinstance(line, Request)
    }
    if form == "json":
        emit_json(shorthands)
    else:
        for id, shorthand in shorthands.items():
            emit(f"{printable(id)}\t{printable(shorthand)}\n")
    _report_errors_and_exit(analysis, path)


def _report_errors_and_exit(analysis: RequestsAnalysis, path: str, *, has_failed: bool = False) -> NoReturn:
    """Report the number of errors in a file of requests on standard error, and exit: with status 1 if it has any.

    The status is also 1 if `has_failed`.
    """
    if analysis.errors > 0:
        errors = number_of(analysis.errors, "other error")
        say(f"{path}: {errors}; see `formulaseed check {path}`", err=True)
    sys.exit(1 if has_failed or analysis.errors > 0 else 0)


def _print_template(group: str) -> None:
    """Print an example request of a group on standard output, and how to fill it in on standard error.

    Raises `UsageError` if there is no such group.
    """
    name = group.upper()
    if name not in GROUPS:
        raise click.UsageError(f"there is no group `{group}`; {did_you_mean(name, GROUPS, noun='groups', limit=10)}")
    emit_json(build_request_template(name), indent=None)
    say(f"{name} {GROUPS[name].name}: `{GROUPS[name].pattern}`, {GROUPS[name].meaning}", err=True)
    show("\nA requests file holds one request a line. To create one:", err=True)
    for number, line in enumerate(GUIDELINES, 1):
        say(f"  {number}. {line}", err=True)
    show("\nBefore it is added:", err=True)
    for line in CHECKLIST:
        say(f"  - [ ] {line}", err=True)
