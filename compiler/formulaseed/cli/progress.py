"""Progress of long work: a bar on a terminal, a plain line now and then elsewhere, always on standard error."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from formulaseed.cli.common import is_terminal
from formulaseed.cli.output import say
from formulaseed.diagnostics.model import number_of, printable

_SECONDS_BETWEEN_LINES = 10.0


class Progress(Protocol):
    def advance(self, note: str) -> None:
        """One more is done."""

    def show(self, note: str) -> None:
        """Something went on, though no other one is done; what it says stays in place of the notes of `advance`."""


class _Lines:
    def __init__(self, what: str) -> None:
        self._what = what
        self._done = 0
        self._shown = ""
        self._last = time.monotonic()

    def advance(self, note: str) -> None:
        self._done += 1
        self._report(self._shown or note)

    def show(self, note: str) -> None:
        self._shown = note
        self._report(note)

    def _report(self, note: str) -> None:
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            say(f"{number_of(self._done, self._what)}, {note}", err=True)


class _Silence:
    def advance(self, note: str) -> None:
        """Say nothing."""

    show = advance


@contextmanager
def progress(what: str, total: int | None = None, *, quiet: bool = False) -> Iterator[Progress]:
    """Something to call once for every item that is done, each a `what`; where there is a total, people see how far it is."""
    if quiet:
        yield _Silence()
        return
    if not is_terminal():
        yield _Lines(what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    far = SpinnerColumn() if total is None else BarColumn()
    columns = (far, MofNCompleteColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"{what}s", total=total)

        class _Bar:
            shown = ""

            def advance(self, note: str) -> None:
                bar.update(task, advance=1, description=f"{what}s, {printable(self.shown or note)}")

            def show(self, note: str) -> None:
                self.shown = note
                bar.update(task, description=f"{what}s, {printable(note)}")

        yield _Bar()
