"""`formulaseed validate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import click

from formulaseed.api import requests_evaluator
from formulaseed.cli.common import finish, is_terminal, reported
from formulaseed.cli.output import report_warnings, say
from formulaseed.cli.progress import progress
from formulaseed.data.candidates import read_dataset
from formulaseed.data.results import WRONG, Failures, result_writer, text_writer
from formulaseed.diagnostics.model import Diagnostic, number_of, printable
from formulaseed.diagnostics.render import render_text
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.ir.attributes import _attribute_at
from formulaseed.loading import read_requests
from formulaseed.requests.explain import explanation, reasons, suggestions
from formulaseed.requests.groups import GROUPS
from formulaseed.requests.model import InvalidRequest, ItemMeta, Line, Sentiment
from formulaseed.requests.validate import (
    Dataset,
    EvidenceCache,
    Matrix,
    RequestResult,
    chosen,
    condition_matrix,
    results_of,
    valid,
)

COLORS = {"ok": "green", "multi_match": "yellow", "no_match": "red", "gold_not_match": "red", "invalid": "red"}


_CELL = 60
"""What a request says of itself is shown up to this length: an invalid one may say anything."""


@dataclass(frozen=True, slots=True)
class ReportedRequest:
    """A request in a report: `notes` say why it is not ok, and what would fix it."""

    id: str
    status: str
    scenario: str
    gold: str
    notes: tuple[str, ...]


class Report:
    """Writes for people."""

    def __init__(self, *, on_error: bool) -> None:
        self._on_error = on_error

    @property
    def _stream(self) -> TextIO:
        return sys.stderr if self._on_error else sys.stdout

    def line(self, text: str = "", color: str = "") -> None:
        say(text, err=self._on_error, color=color)

    def group(self, title: str, requests: Sequence[ReportedRequest]) -> None:
        """The requests of one group."""
        if is_terminal(self._stream):
            self._table(title, requests)
            return
        self.line(title)
        cells = [tuple(map(_cell, (request.id, request.scenario, request.gold))) for request in requests]
        width = max(len(scenario) for _, scenario, _ in cells)
        for request, (id, scenario, gold) in zip(requests, cells, strict=True):
            line = f"  {id:<4}  {request.status:<14}  {scenario:<{width}}  {gold}"
            self.line(line.rstrip(), COLORS[request.status])
            for note in request.notes:
                self.line(f"          {note}")
        self.line()

    def _table(self, title: str, requests: Sequence[ReportedRequest]) -> None:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(printable(title)), title_justify="left", box=SIMPLE_HEAD)
        table.add_column("request", no_wrap=True)
        table.add_column("status", no_wrap=True)
        for name in ("scenario", "gold restaurant", "why"):
            table.add_column(name)
        for request in requests:
            status = Text(request.status, style=COLORS[request.status])
            notes = "\n".join(map(printable, request.notes))
            id, scenario, gold = (Text(_cell(text)) for text in (request.id, request.scenario, request.gold))
            table.add_row(id, status, scenario, gold, Text(notes))
        Console(file=self._stream).print(table)


def _cell(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _CELL else f"{shown[: _CELL - 1]}…"


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
def command(
    requests: str,
    restaurants: str,
    reviews: str | None,
    judgements: str | None,
    social: str | None,
    groups: str | None,
    matrix: str | None,
    out: str | None,
    conditions: str | None,
    explained: tuple[str, ...],
    suggest: bool,
) -> None:
    """Validate requests against restaurants: does each match its gold restaurant, and no other?

    A request with errors is invalid, and the others are validated. Exit status 0 where every request is ok, 1 where some
    are not, 3 where a line of the data could not be used.
    """
    analysis = read_requests(requests)
    report_warnings(analysis)
    picked = chosen(analysis.parsed or (), _groups(groups))
    shown = _picked(explained, picked)
    failures = Failures()
    inputs = (requests, restaurants, reviews, judgements, social)
    outputs = [path for path in (matrix, out, conditions) if path is not None]
    if len(set(outputs)) < len(outputs):
        raise click.UsageError("--matrix, --out and --conditions write to different files")
    report = Report(on_error="-" in outputs)
    evaluate = requests_evaluator(analysis, valid(picked))
    with reported(failures):
        dataset = read_dataset(restaurants, reviews, judgements, social, failures)
        cache = EvidenceCache(valid(picked), dataset, evaluate)
        with progress("restaurant", len(dataset.candidates)) as bar:
            for business_id in cache.fill():
                bar.advance(dataset.name(business_id))
        found = cache.matrix()
        results = results_of(picked, found)
        if out is not None:
            with result_writer(out, *inputs) as writer:
                for result in results:
                    writer.write(result.to_json())
        if matrix is not None:
            with text_writer(matrix, *inputs) as file:
                file.write(_matrix_text(found))
        if conditions is not None:
            with text_writer(conditions, *inputs) as file:
                file.write(_lines_of_json(condition_matrix(cache)))
        if shown:
            _explain([(picked[at], results[at]) for at in shown], cache, analysis.diagnostics, report)
        else:
            _report(picked, results, cache, report, suggest=suggest)
        for note in _notes(cache):
            say(f"note: {note}", err=True)
    wrong = any(result.status != "ok" for result in results)
    finish(failures.status or (WRONG if wrong else 0))


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
    lines: Sequence[Line], results: Sequence[RequestResult], cache: EvidenceCache, report: Report, *, suggest: bool
) -> None:
    """A table for each group, with the reasons of those that are not ok; those of no known group are the last."""
    pairs = list(zip(lines, results, strict=True))
    groups = dict.fromkeys(line.group for line in lines)
    for group in sorted(groups, key=lambda group: group is None):
        members = [pair for pair in pairs if pair[0].group == group]
        good = sum(result.status == "ok" for _, result in members)
        members_ = [_reported(line, result, cache, suggest) for line, result in members]
        title = f"{group} {GROUPS[group].name}" if group is not None else "no known group"
        report.group(f"{title}: {good} of {len(members)} ok", members_)
    report.line(_summary(results, cache.dataset))


def _reported(line: Line, result: RequestResult, cache: EvidenceCache, suggest: bool) -> ReportedRequest:
    if isinstance(line, InvalidRequest):
        gold = cache.dataset.name(line.gold_restaurant) if line.gold_restaurant is not None else ""
        return ReportedRequest(_label(line), result.status, line.scenario or "", gold, line.errors)
    notes = list(reasons(line, result, cache))
    notes += [f"suggestion: {change}" for change in suggestions(line, result, cache)] if suggest else []
    return ReportedRequest(
        line.id, result.status, line.scenario, cache.dataset.name(line.gold_restaurant), tuple(notes)
    )


def _label(line: Line) -> str:
    """The id of a request, or the number of a line that has none."""
    return line.id or f"line {line.line}"


def _summary(results: Sequence[RequestResult], dataset: Dataset) -> str:
    counts = {status: sum(result.status == status for result in results) for status in COLORS}
    counted = ", ".join(f"{number} {status}" for status, number in counts.items() if number) or "none"
    return (
        f"{number_of(len(results), 'request')}, {number_of(len(dataset.candidates), 'restaurant')}, "
        f"{number_of(dataset.review_count, 'review')}: {counted}"
    )


def _explain(
    pairs: Sequence[tuple[Line, RequestResult]], cache: EvidenceCache, diagnostics: Sequence[Diagnostic], report: Report
) -> None:
    """The tree of each request with its values; of an invalid one the diagnostics."""
    for request, result in pairs:
        report.line(f"{request.id}  {request.group or 'no known group'}  {request.scenario or ''}: {result.status}")
        if isinstance(request, InvalidRequest):
            own = [d for d in diagnostics if request.span.start <= d.span.start <= request.span.end]
            lines: Iterable[str] = render_text(own).splitlines()
        else:
            lines = [f"  {request.shorthand}", *explanation(request, cache), ""]
        for line in lines:
            report.line(line)


def _notes(cache: EvidenceCache) -> Iterator[str]:
    """What of the input is missing, or not looked at by any restaurant, that conditions ask for."""
    dataset = cache.dataset
    social = [c for c in cache.conditions.values() if getattr(c.evidence, "social_filter", None) is not None]
    if social and not dataset.has_graph:
        yield f"{number_of(len(social), 'condition')} with a social filter and no --social: only those named count"
    judged = [c for c in cache.conditions.values() if isinstance(c.evidence, Sentiment)]
    if judged and dataset.background.judgements is None:
        yield f"{number_of(len(judged), 'condition')} on judgements and no --judgements: they are unknown"
    for path in dict.fromkeys(e.path for e in cache.conditions if isinstance(e, ItemMeta)):
        places = [candidate.business for candidate in dataset.candidates.values()]
        if places and all(_attribute_at(business, path) is None for business in places):
            known = _keys_beside(path, places)
            yield f"no restaurant has `{'.'.join(path)}`; {did_you_mean(path[-1], known, what='there are')}"


def _keys_beside(path: Sequence[str], places: Iterable[Any]) -> list[str]:
    found: dict[str, None] = {}
    for business in places:
        above = _attribute_at(business, tuple(path[:-1])) if len(path) > 1 else business
        found.update(dict.fromkeys(above if isinstance(above, dict) else ()))
    return list(found)


def _matrix_text(matrix: Matrix) -> str:
    rows = [f"{json.dumps(id)}: {json.dumps(dict(row))}" for id, row in matrix.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _lines_of_json(entries: Sequence[dict[str, Any]]) -> str:
    return "[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries) + "\n]\n"
