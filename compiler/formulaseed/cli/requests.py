"""`formulaseed validate` and `formulaseed shorthand`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from shutil import get_terminal_size
from typing import Any, TextIO

import click

from formulaseed import limits
from formulaseed.api import requests_evaluator
from formulaseed.cli.inputs import duplicates_option
from formulaseed.cli.output import (
    benchmark_option,
    check_suffix,
    emit,
    emit_json,
    finish,
    format_option,
    is_terminal,
    progress,
    report_warnings,
    reported,
    say,
    show,
    show_diagnostics,
)
from formulaseed.data.candidates import read_dataset
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.files import text_writer
from formulaseed.data.results import WRONG, write_line
from formulaseed.diagnostics.model import Diagnostic, Problems, strictly
from formulaseed.diagnostics.render import render_json, render_text, summary
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.documents import RequestsAnalysis, read_requests
from formulaseed.ir.attributes import _attribute_at_path
from formulaseed.requests.explain import explanation, reasons, suggestions
from formulaseed.requests.groups import CHECKLIST, GROUPS, GUIDELINES, request_template
from formulaseed.requests.model import InvalidRequest, ItemMeta, Line, Request, Sentiment
from formulaseed.requests.shorthand import (
    AspectName,
    JoinedNames,
    Shorthand,
    parse_shorthand,
    print_shorthand,
    shorthand_of,
)
from formulaseed.requests.validate import EvidenceCache, RequestResult, chosen, condition_matrix, results_of, valid
from formulaseed.source.json_reader import Plain
from formulaseed.source.printing import columns, number_of, printable
from formulaseed.source.text import Source

COLORS = {"ok": "green", "multi_match": "yellow", "no_match": "red", "gold_not_match": "red", "invalid": "red"}
_WIDTH = 80
"""Columns of a list of requests; a table, which has the reasons in a column of its own, needs more."""
_ID = 16
_STATUS = 14


@dataclass(frozen=True, slots=True)
class ReportedRequest:
    """A request in a report: `notes` say why it is not ok, and what would fix it."""

    id: str
    status: str
    scenario: str
    gold: str
    notes: tuple[str, ...]

    @property
    def cells(self) -> tuple[str, ...]:
        """Its id, scenario and gold restaurant, none of them longer than a line: an invalid one may say anything."""
        return tuple(_cut(printable(text), _WIDTH) for text in (self.id, self.scenario, self.gold))


def print_group(title: str, requests: Sequence[ReportedRequest], *, on_error: bool) -> None:
    """Print the requests of one group, as a table where people read it."""
    stream = sys.stderr if on_error else sys.stdout
    if is_terminal(stream) and get_terminal_size().columns > _WIDTH:
        _print_table(title, requests, stream)
        return
    line = partial(say, err=on_error)
    line(title)
    ids, scenarios, _ = (max(map(columns, cells)) for cells in zip(*(r.cells for r in requests), strict=True))
    ids = max(4, min(ids, _ID))
    left = _WIDTH - len("  " * 4) - ids - _STATUS
    scenarios = min(scenarios, left // 2)
    for request in requests:
        id, scenario, gold = map(_cut, request.cells, (ids, scenarios, left - scenarios))
        cells = f"{_padded(id, ids)}  {request.status:<{_STATUS}}  {_padded(scenario, scenarios)}  {gold}"
        line(f"  {cells}".rstrip(), color=COLORS[request.status])
        for note in request.notes:
            line(f"          {note}")
    line("")


def _cut(text: str, width: int) -> str:
    """Return the text in so many columns, the end left out where it needs more."""
    if columns(text) <= width:
        return text
    text = text[:width]
    while columns(text) >= width:
        text = text[:-1]
    return f"{text}…"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def _print_table(title: str, requests: Sequence[ReportedRequest], stream: TextIO) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(printable(title)), title_justify="left", box=SIMPLE_HEAD)
    for name in ("request", "status", "scenario", "gold restaurant", "why"):
        table.add_column(name, no_wrap=name in ("request", "status"))
    for request in requests:
        id, scenario, gold = map(Text, request.cells)
        status = Text(request.status, style=COLORS[request.status])
        table.add_row(id, status, scenario, gold, Text("\n".join(map(printable, request.notes))))
    Console(file=stream).print(table)


@click.command("validate")
@click.argument("requests", metavar="REQUESTS")
@click.option(
    "--restaurants", required=True, help="Restaurants, JSON Lines; with their reviews where --reviews is left out."
)
@click.option("--reviews", help="Reviews, JSON Lines, joined by business_id.")
@click.option("--judgements", help="How reviews were judged on aspects, JSON Lines, in place of matching their texts.")
@click.option("--social", help='Who is friends with whom, {"friend_graph": {name: [names]}}.')
@click.option("--group", "groups", metavar="G01,...", help="Look at requests of these groups only.")
@click.option("--matrix", help="Write every request's value for every restaurant here, as JSON.")
@click.option("--out", help="Write a line for each request here: its matches and status.")
@click.option("--conditions", help="Write every condition with the restaurants that satisfy it here, as JSON.")
@click.option("--explain", "explained", metavar="R42", multiple=True, help="Show a request's tree, value by value.")
@click.option("--suggest", is_flag=True, help="Propose conditions of the file that would fix a request.")
@duplicates_option
@benchmark_option
def validate(
    requests: str, groups: str | None, explained: tuple[str, ...], suggest: bool, benchmark: bool,
    matrix: str | None, out: str | None, conditions: str | None, duplicates: Duplicates, **data: str | None
) -> None:  # fmt: skip
    """Validate requests against restaurants: does each match its gold restaurant, and no other?

    A request with errors is invalid, and the others are validated. Exit status 0 where every request is ok, 1 where some
    are not, 3 where a line of the data could not be used.
    """
    analysis = read_requests(requests, benchmark=benchmark)
    report_warnings(analysis)
    picked = chosen(analysis.parsed or (), _groups(groups))
    shown = _picked(explained, picked)
    inputs = (requests, *data.values())
    outputs = [path for path in (matrix, out, conditions) if path is not None]
    if len(set(outputs)) < len(outputs):
        raise click.UsageError("--matrix, --out and --conditions write to different files")
    from formulaseed.cli.results import check_lines

    check_lines(out, "--out")
    check_suffix(matrix, ".json", option="--matrix")
    check_suffix(conditions, ".json", option="--conditions")
    on_error = "-" in outputs
    evaluate = requests_evaluator(analysis, valid(picked))
    with reported() as failures:
        dataset = read_dataset(
            data["restaurants"] or "", data["reviews"], data["judgements"], data["social"], failures, duplicates
        )
        cache = EvidenceCache(valid(picked), dataset, evaluate)
        with progress("restaurant", len(dataset.candidates)) as bar:
            for business_id in cache.fill():
                bar.advance(partial(dataset.name, business_id))
        found = cache.matrix()
        results = results_of(picked, found)
        if out is not None:
            with text_writer(out, *inputs) as file:
                for result in results:
                    write_line(file, result.to_json())
        if matrix is not None:
            rows = (f"{json.dumps(id)}: {json.dumps(dict(row))}" for id, row in found.items())
            _write_lines(matrix, inputs, "{", rows, "}")
        if conditions is not None:
            entries = (json.dumps(entry, ensure_ascii=False) for entry in condition_matrix(cache))
            _write_lines(conditions, inputs, "[", entries, "]")
        if shown:
            for line in _explanations([(picked[at], results[at]) for at in shown], cache, analysis.diagnostics):
                say(line, err=on_error)
        else:
            _report(picked, results, cache, on_error, suggest=suggest)
        for note in _notes(cache):
            say(f"note: {note}", err=True)
    wrong = any(result.status != "ok" for result in results)
    finish(failures.status or (WRONG if wrong else 0))


def _write_lines(path: str, inputs: Iterable[str | None], first: str, entries: Iterable[str], last: str) -> None:
    with text_writer(path, *inputs) as file:
        file.write(f"{first}\n" + ",\n".join(entries) + f"\n{last}\n")


def _groups(given: str | None) -> list[str] | None:
    if given is None:
        return None
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in GROUPS:
            raise click.UsageError(f"there is no group `{name}`; {did_you_mean(name, GROUPS, what='groups', limit=10)}")
    return names


def _picked(ids: Sequence[str], lines: Sequence[Line]) -> list[int]:
    """The positions of the requests with these ids; an invalid one may have the id of another."""
    known = {line.id: None for line in lines if line.id is not None}
    for id in ids:
        if id not in known:
            raise click.UsageError(f"there is no request `{id}`; {did_you_mean(id, known, what='requests')}")
    return [position for id in ids for position, line in enumerate(lines) if line.id == id]


def _report(
    lines: Sequence[Line], results: Sequence[RequestResult], cache: EvidenceCache, on_error: bool, *, suggest: bool
) -> None:
    groups = dict.fromkeys(line.group for line in lines)
    for group in sorted(groups, key=lambda group: group is None):
        pairs = [pair for pair in zip(lines, results, strict=True) if pair[0].group == group]
        members = [_reported(line, result, cache, suggest) for line, result in pairs]
        good = sum(member.status == "ok" for member in members)
        title = f"{group} {GROUPS[group].name}" if group is not None else "no known group"
        print_group(f"{title}: {good} of {len(members)} ok", members, on_error=on_error)
    counts = Counter[str](result.status for result in results)
    counted = ", ".join(f"{counts[status]} {status}" for status in COLORS if counts[status]) or "none"
    dataset, number = cache.dataset, number_of(len(results), "request")
    data = f"{number_of(len(dataset.candidates), 'restaurant')}, {number_of(dataset.review_count, 'review')}"
    say(f"{number}, {data}: {counted}", err=on_error)


def _reported(line: Line, result: RequestResult, cache: EvidenceCache, suggest: bool) -> ReportedRequest:
    gold = cache.dataset.name(line.gold_restaurant) if line.gold_restaurant is not None else ""
    if isinstance(line, InvalidRequest):
        notes = list(line.errors)
    else:
        notes = list(reasons(line, result, cache))
        notes += [f"suggestion: {change}" for change in suggestions(line, result, cache)] if suggest else []
    return ReportedRequest(line.id or f"line {line.line}", result.status, line.scenario or "", gold, tuple(notes))


def _explanations(
    pairs: Sequence[tuple[Line, RequestResult]], cache: EvidenceCache, diagnostics: Sequence[Diagnostic]
) -> Iterator[str]:
    """The tree of each request with its values; of an invalid one the diagnostics."""
    for request, result in pairs:
        yield f"{request.id}  {request.group or 'no known group'}  {request.scenario or ''}: {result.status}"
        if isinstance(request, InvalidRequest):
            own = [d for d in diagnostics if request.span.start <= d.span.start <= request.span.end]
            yield from render_text(own).splitlines()
        else:
            yield from (f"  {request.shorthand}", *explanation(request, cache), "")


def _notes(cache: EvidenceCache) -> Iterator[str]:
    """What of the input is missing, or not looked at by any restaurant, that conditions ask for."""
    dataset = cache.dataset
    social = [c for c in cache.conditions.values() if getattr(c.evidence, "social_filter", None) is not None]
    if social and not dataset.has_graph:
        yield f"{number_of(len(social), 'condition')} with a social filter and no --social: only those named count"
    bare = [request for request in cache.requests if request.gold_restaurant is None]
    if bare:
        yield f"{number_of(len(bare), 'structure')} without a gold restaurant: `ok` says that exactly one restaurant matches"
    judged = [c for c in cache.conditions.values() if isinstance(c.evidence, Sentiment)]
    if judged and dataset.background.judgements is None:
        yield f"{number_of(len(judged), 'condition')} on judgements and no --judgements: they are unknown"
    for path in dict.fromkeys(e.path for e in cache.conditions if isinstance(e, ItemMeta)):
        places = [candidate.business for candidate in dataset.candidates.values()]
        if places and all(_attribute_at_path(business, path) is None for business in places):
            known = _keys_beside(path, places)
            yield f"no restaurant has `{'.'.join(path)}`; {did_you_mean(path[-1], known, what='there are')}"


def _keys_beside(path: Sequence[str], places: Iterable[Any]) -> list[str]:
    parents = (_attribute_at_path(business, tuple(path[:-1])) if len(path) > 1 else business for business in places)
    return list({key: None for found in parents if isinstance(found, dict) for key in found})


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
    read, problems = sys.stdin.read(limits.SHORTHAND_CHARACTERS + 1) if text == "-" else text, Problems()
    source = Source("<stdin>" if text == "-" else "<text>", read)
    tree = parse_shorthand(source, problems)
    if tree is None:
        found = strictly(problems.sorted())
        if form == "json":
            emit(render_json(found))
        else:
            show_diagnostics(found, err=True)
        sys.exit(1)
    canonical = print_shorthand(tree)
    if form == "json":
        emit_json({"shorthand": canonical, "tree": plain_tree(tree)})
    else:
        say(canonical)


def plain_tree(tree: Shorthand) -> Plain:
    """A tree as JSON values: a name, friends with hops (no pattern for ratings), or an operator with its arguments."""
    if isinstance(tree, AspectName):
        return {"name": tree.text}
    if isinstance(tree, JoinedNames):
        return {"op": tree.op, "args": [plain_tree(arg) for arg in tree.args]}
    return {"hops": tree.hops, "friends": list(tree.friends), "pattern": tree.pattern}


def _check(path: str, form: str) -> None:
    """Print errors of shorthands; those of other parts are counted, since a structure that has some is not compared."""
    analysis = read_requests(path)
    found = strictly(d for d in analysis.diagnostics if d.code in _CODES)
    if form == "json":
        emit(render_json(found))
    else:
        show_diagnostics(found)
        say(f"{path}: {summary(found) or 'no problems'}")
    _finish(analysis, path, failed=bool(found))


def _print_all(path: str, form: str) -> None:
    analysis = read_requests(path)
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
    emit_json(request_template(wanted), indent=None)
    say(f"{wanted} {GROUPS[wanted].name}: `{GROUPS[wanted].pattern}`, {GROUPS[wanted].meaning}", err=True)
    show("\nA requests file holds one request a line. To create one:", err=True)
    for number, line in enumerate(GUIDELINES, 1):
        say(f"  {number}. {line}", err=True)
    show("\nBefore it is added:", err=True)
    for line in CHECKLIST:
        say(f"  - [ ] {line}", err=True)
