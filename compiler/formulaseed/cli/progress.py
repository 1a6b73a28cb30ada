"""Progress of long work, and what failed of it, always on standard error.

Progress is a bar on a terminal, a plain line now and then elsewhere.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from formulaseed.cli.output import say
from formulaseed.data.results import Failures
from formulaseed.diagnostics.model import number_of, printable

_SECONDS_BETWEEN_LINES = 10.0


def is_terminal(stream: TextIO | None = None) -> bool:
    """Whether people read what is written to the stream, by default standard error."""
    return (stream or sys.stderr).isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def reported(failures: Failures | None = None) -> Iterator[Failures]:
    """Collect what fails, and list it when the work is over, also where it ends with an error."""
    failures = failures or Failures()
    try:
        yield failures
    finally:
        for line in failures.lines:
            say(f"failed: {line}", err=True)


class Progress:
    """Counts what is done, each a `what`, and passes the count and a note on to `draw`."""

    def __init__(self, draw: Callable[[int, str], None]) -> None:
        self._draw = draw
        self._done = 0
        self._shown = ""

    def advance(self, note: str) -> None:
        """One more is done."""
        self._done += 1
        self._draw(self._done, self._shown or note)

    def show(self, note: str) -> None:
        """Something else went on; its note replaces those of `advance`."""
        self._shown = note
        self._draw(self._done, note)


def _lines(what: str) -> Callable[[int, str], None]:
    last = time.monotonic()

    def draw(done: int, note: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            say(f"{number_of(done, what)}, {note}", err=True)

    return draw


@contextmanager
def progress(what: str, total: int | None = None, *, quiet: bool = False) -> Iterator[Progress]:
    """Show the progress of items, each a `what`; where there is a total, as a share of it."""
    if quiet or not is_terminal():
        yield Progress((lambda done, note: None) if quiet else _lines(what))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    far = SpinnerColumn() if total is None else BarColumn()
    columns = (far, MofNCompleteColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"{what}s", total=total)
        yield Progress(lambda done, note: bar.update(task, completed=done, description=f"{what}s, {printable(note)}"))
