"""What `formulaseed validate` tells people: a table for each group on a terminal, plain lines elsewhere.

In: lines, and requests with what became of them. Out: text on standard output, or on standard error where results are
printed on the former.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from formulaseed.cli.common import is_terminal
from formulaseed.cli.output import say
from formulaseed.diagnostics.model import printable

COLORS = {"ok": "green", "multi_match": "yellow", "no_match": "red", "gold_not_match": "red", "invalid": "red"}


_CELL = 60
"""What a request says of itself is shown up to this length: an invalid one may say anything."""


@dataclass(frozen=True, slots=True)
class ToldRequest:
    """A request in a report: `notes` say why it is not ok, and what would mend it."""

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

    def group(self, title: str, requests: Sequence[ToldRequest]) -> None:
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

    def _table(self, title: str, requests: Sequence[ToldRequest]) -> None:
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
