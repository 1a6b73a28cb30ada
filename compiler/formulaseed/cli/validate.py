"""Define the command `validate`: it validates requests against restaurants."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, TextIO

import click

from formulaseed.api import requests_evaluator
from formulaseed.cli.gaps import list_gaps
from formulaseed.cli.options import benchmark_option, check_suffix, duplicates_option
from formulaseed.cli.output import finish, is_terminal, report_failures, report_warnings, say, show_progress
from formulaseed.cli.results import check_lines, cut
from formulaseed.data.candidates import read_dataset
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.files import text_writer
from formulaseed.data.results import FINE, WRONG, write_line
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.diagnostics.render import render_text
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.documents import read_requests
from formulaseed.requests.explain import describe_values, explain_status, suggest_changes
from formulaseed.requests.groups import GROUPS
from formulaseed.requests.model import InvalidRequest, Line, Request
from formulaseed.requests.validate import (
    EvidenceCache,
    RequestResult,
    build_condition_matrix,
    build_results,
    select_groups,
    valid_requests,
)
from formulaseed.source.printing import display_width, number_of, printable

_COLORS = {"ok": "green", "multi_match": "yellow", "no_match": "red", "gold_not_match": "red", "invalid": "red"}
_LIST_WIDTH = 80  # columns of a list of requests; a table, with a column for the reasons, needs a wider terminal
_MAX_ID_WIDTH = 16
_STATUS_WIDTH = 14
_FOLDER_CONTENT = "a folder has requests.jsonl, and contexts.jsonl or both restaurants.jsonl and reviews.jsonl"


@click.command("validate")
@click.argument("requests", metavar="REQUESTS|FOLDER")
@click.option("--restaurants", help="Restaurants, JSON Lines; with their reviews where --reviews is left out.")
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
    requests: str,
    groups: str | None,
    explained: tuple[str, ...],
    suggest: bool,
    benchmark: bool,
    matrix: str | None,
    out: str | None,
    conditions: str | None,
    duplicates: Duplicates,
    **data: str | None,
) -> None:
    """Validate requests against restaurants: does each match its gold restaurant, and no other?

    A FOLDER has requests.jsonl, restaurants.jsonl and reviews.jsonl (or contexts.jsonl in place of both), and perhaps
    social.json and judgements.jsonl; groundtruth.jsonl and condition_matrix.json are written there. A request with errors is
    invalid, and the others are validated. Exit status 0 where every request is ok, 1 where some are not, 3 where a line of
    the data could not be used.
    """
    if Path(requests).is_dir():
        folder = Path(requests)
        requests = str(folder / "requests.jsonl")
        out = out or str(folder / "groundtruth.jsonl")
        conditions = conditions or str(folder / "condition_matrix.json")
        data |= {name: data[name] or path for name, path in _find_data(folder).items()}
        if data["restaurants"] is None:
            raise click.UsageError(
                f"{folder} has neither restaurants.jsonl nor contexts.jsonl; add one, or pass --restaurants"
            )
    if data["restaurants"] is None:
        if requests != "-" and not Path(requests).exists():
            raise click.UsageError(f"there is no folder or file `{requests}`; {_FOLDER_CONTENT}")
        raise click.UsageError(f"pass --restaurants FILE or a folder; {_FOLDER_CONTENT}")
    analysis = read_requests(requests, benchmark=benchmark)
    report_warnings(analysis)
    lines = select_groups(analysis.parsed or (), _parse_groups(groups))
    explained_positions = _find_requests(explained, lines)
    outputs = _OutputFiles(out, matrix, conditions, inputs=(requests, *data.values()))
    outputs.check()
    evaluate = requests_evaluator(analysis, valid_requests(lines))
    with report_failures() as failures:
        dataset = read_dataset(
            data["restaurants"], data["reviews"], data["judgements"], data["social"], failures, duplicates
        )
        cache = EvidenceCache(valid_requests(lines), dataset, evaluate)
        with show_progress("restaurant", len(dataset.candidates)) as progress:
            for business_id in cache.fill():
                progress.advance(partial(dataset.name, business_id))
        values = cache.compute_matrix()
        results = build_results(lines, values)
        outputs.write(results, values, cache)
        if explained_positions:
            pairs = [(lines[position], results[position]) for position in explained_positions]
            for line in _explain_requests(pairs, cache, analysis.diagnostics, suggest):
                say(line, err=outputs.use_stdout)
        else:
            _report(lines, results, cache, on_error=outputs.use_stdout, suggest=suggest)
        for note in list_gaps(cache):
            say(f"note: {note}", err=True)
    is_fine = all(result.status == "ok" for result in results)
    finish(failures.status or (FINE if is_fine else WRONG))


def _find_data(folder: Path) -> dict[str, str | None]:
    """Return the files of data in a folder by the names of the options; None for one that it does not have.

    Restaurants without a file of reviews beside them may be contexts, which have their reviews.
    """
    names = ("restaurants.jsonl", "reviews.jsonl", "judgements.jsonl", "social.json")
    files = {Path(name).stem: folder / name for name in names}
    if not files["restaurants"].exists():
        files["restaurants"] = folder / "contexts.jsonl"
    return {name: str(path) if path.exists() else None for name, path in files.items()}


@dataclass(frozen=True, slots=True)
class _OutputFiles:
    """The files that `validate` writes, each None if the user does not want it; `inputs` must not be overwritten."""

    out: str | None
    matrix: str | None
    conditions: str | None
    inputs: tuple[str | None, ...]

    @property
    def use_stdout(self) -> bool:
        """True if one of the files is standard output, so that the report must go to standard error."""
        return "-" in (self.out, self.matrix, self.conditions)

    def check(self) -> None:
        """Raise `UsageError` if two of the files are the same, or one has a suffix of another format."""
        paths = [path for path in (self.matrix, self.out, self.conditions) if path is not None]
        if len(set(paths)) < len(paths):
            raise click.UsageError("--matrix, --out and --conditions write to different files")
        check_lines(self.out, "--out")
        check_suffix(self.matrix, ".json", option="--matrix")
        check_suffix(self.conditions, ".json", option="--conditions")

    def write(
        self, results: Sequence[RequestResult], values: Mapping[str, Mapping[str, Any]], cache: EvidenceCache
    ) -> None:
        """Write the files; `values` are those of each request for each restaurant.

        Raises `UnreadableError` if a file cannot be written or is an input.
        """
        if self.out is not None:
            with text_writer(self.out, *self.inputs) as file:
                for result in results:
                    write_line(file, result.to_json())
        if self.matrix is not None:
            rows = (f"{json.dumps(id)}: {json.dumps(dict(row))}" for id, row in values.items())
            self._write_entries(self.matrix, "{", rows, "}")
        if self.conditions is not None:
            entries = (json.dumps(entry, ensure_ascii=False) for entry in build_condition_matrix(cache))
            self._write_entries(self.conditions, "[", entries, "]")

    def _write_entries(self, path: str, first: str, entries: Iterable[str], last: str) -> None:
        """Write a JSON file of one entry a line, between the lines `first` and `last`."""
        with text_writer(path, *self.inputs) as file:
            file.write(f"{first}\n" + ",\n".join(entries) + f"\n{last}\n")


def _parse_groups(option: str | None) -> list[str] | None:
    """Return the groups that the option --group lists, separated by commas; None without the option.

    Empty names are skipped. Raises `UsageError` for an unknown group.
    """
    if option is None:
        return None
    names = [name.strip() for name in option.split(",") if name.strip()]
    for name in names:
        if name not in GROUPS:
            raise click.UsageError(f"there is no group `{name}`; {did_you_mean(name, GROUPS, noun='groups', limit=10)}")
    return names


def _find_requests(ids: Sequence[str], lines: Sequence[Line]) -> list[int]:
    """Return the positions in `lines` of the requests with these ids, in the order of `ids`.

    Several requests may have the same id. Raises `UsageError` for an id that no request has.
    """
    known = {line.id: None for line in lines if line.id is not None}
    for id in ids:
        if id not in known:
            raise click.UsageError(f"there is no request `{id}`; {did_you_mean(id, known, noun='requests')}")
    return [position for id in ids for position, line in enumerate(lines) if line.id == id]


def _explain_requests(
    pairs: Sequence[tuple[Line, RequestResult]], cache: EvidenceCache, diagnostics: Sequence[Diagnostic], suggest: bool
) -> Iterator[str]:
    """Yield the lines that explain each request: its tree with values, or the diagnostics of an invalid request.

    With `suggest` the changes that would make a valid request `ok` follow its tree.
    """
    for request, result in pairs:
        yield f"{request.id}  {request.group or 'no known group'}  {request.scenario or ''}: {result.status}"
        if isinstance(request, InvalidRequest):
            span = request.span
            yield from render_text(d for d in diagnostics if span.start <= d.span.start <= span.end).splitlines()
        else:
            yield f"  {request.shorthand}"
            yield from describe_values(request, cache)
            if suggest:
                yield from _list_suggestions(request, result, cache)
            yield ""


# --- the report


def _list_suggestions(request: Request, result: RequestResult, cache: EvidenceCache) -> list[str]:
    """Return a note for each change that would make the request `ok`, or one that there is none; empty if it is `ok`."""
    if result.status == "ok":
        return []
    changes = [f"suggestion: {change}" for change in suggest_changes(request, result, cache)]
    return changes or ["no suggestion found"]


@dataclass(frozen=True, slots=True)
class ReportedRequest:
    """A request in a report: `notes` say why it is not ok, and what would fix it."""

    id: str
    status: str
    scenario: str
    gold: str
    notes: tuple[str, ...]

    @classmethod
    def from_result(cls, line: Line, result: RequestResult, cache: EvidenceCache, suggest: bool) -> ReportedRequest:
        """Describe a request and its result; with `suggest` the notes also propose conditions that would fix it.

        A request without an id is named by its line. The notes of an invalid request are its errors.
        """
        gold = cache.dataset.name(line.gold_restaurant) if line.gold_restaurant is not None else ""
        if isinstance(line, InvalidRequest):
            notes = list(line.errors)
        else:
            notes = list(explain_status(line, result, cache))
            if suggest:
                notes += _list_suggestions(line, result, cache)
        return cls(line.id or f"line {line.line}", result.status, line.scenario or "", gold, tuple(notes))

    @property
    def cells(self) -> tuple[str, ...]:
        """The id, scenario and gold restaurant for people, cut to a line: an invalid request may contain any text."""
        return tuple(cut(printable(text), _LIST_WIDTH) for text in (self.id, self.scenario, self.gold))


def _report(
    lines: Sequence[Line], results: Sequence[RequestResult], cache: EvidenceCache, *, on_error: bool, suggest: bool
) -> None:
    """Print the requests by group, and a line with their numbers, with `on_error` on standard error.

    Groups are sorted by name; requests without a known group are last. With `suggest` requests that are not ok have
    proposals.
    """
    groups = dict.fromkeys(line.group for line in lines)
    for group in sorted(groups, key=lambda group: group is None):
        pairs = [pair for pair in zip(lines, results, strict=True) if pair[0].group == group]
        members = [ReportedRequest.from_result(line, result, cache, suggest) for line, result in pairs]
        ok_count = sum(member.status == "ok" for member in members)
        title = f"{group} {GROUPS[group].name}" if group is not None else "no known group"
        print_group(f"{title}: {ok_count} of {len(members)} ok", members, on_error=on_error)
    counts = Counter[str](result.status for result in results)
    statuses = ", ".join(f"{counts[status]} {status}" for status in _COLORS if counts[status]) or "none"
    data = (
        f"{number_of(len(cache.dataset.candidates), 'restaurant')}, {number_of(cache.dataset.review_count, 'review')}"
    )
    say(f"{number_of(len(results), 'request')}, {data}: {statuses}", err=on_error)


def print_group(title: str, requests: Sequence[ReportedRequest], *, on_error: bool) -> None:
    """Print the requests of one group: a table on a wide terminal, else a list; with `on_error` on standard error."""
    stream = sys.stderr if on_error else sys.stdout
    if is_terminal(stream) and get_terminal_size().columns > _LIST_WIDTH:
        _print_table(title, requests, stream)
    else:
        _print_list(title, requests, on_error=on_error)


def _print_list(title: str, requests: Sequence[ReportedRequest], *, on_error: bool) -> None:
    """Print `title`, a line for each request, its notes below it, and an empty line at the end.

    Cells are padded to columns; long ones are cut. With `on_error` the list goes to standard error. `requests` must not
    be empty.
    """
    line = partial(say, err=on_error)
    line(title)
    id_width, scenario_width, _ = (
        max(map(display_width, cells)) for cells in zip(*(request.cells for request in requests), strict=True)
    )
    id_width = max(4, min(id_width, _MAX_ID_WIDTH))
    rest = _LIST_WIDTH - len("  " * 4) - id_width - _STATUS_WIDTH
    scenario_width = min(scenario_width, rest // 2)
    for request in requests:
        id, scenario, gold = map(cut, request.cells, (id_width, scenario_width, rest - scenario_width))
        status = f"{request.status:<{_STATUS_WIDTH}}"
        cells = f"{_pad(id, id_width)}  {status}  {_pad(scenario, scenario_width)}  {gold}"
        line(f"  {cells}".rstrip(), color=_COLORS[request.status])
        for note in request.notes:
            line(f"          {note}")
    line("")


def _pad(text: str, width: int) -> str:
    """Return the text with spaces at its end, so that it takes `width` columns of a terminal."""
    return text + " " * (width - display_width(text))


def _print_table(title: str, requests: Sequence[ReportedRequest], stream: TextIO) -> None:
    """Print the requests as a table with the title `title` to the terminal `stream`.

    A row has the id, status, scenario, gold restaurant and notes; hidden characters appear as escapes.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(printable(title)), title_justify="left", box=SIMPLE_HEAD)
    for name in ("request", "status", "scenario", "gold restaurant", "why"):
        table.add_column(name, no_wrap=name in ("request", "status"))
    for request in requests:
        id, scenario, gold = map(Text, request.cells)
        status = Text(request.status, style=_COLORS[request.status])
        table.add_row(id, status, scenario, gold, Text("\n".join(map(printable, request.notes))))
    Console(file=stream).print(table)
