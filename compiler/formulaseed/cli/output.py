"""Print and write the output of all commands: lines, errors, failures, progress; and end a command.

Only this module calls click's `echo`. It imports no module that evaluates seeds, so that every command starts quickly.

A path, an argument or a name in a file may contain an escape sequence, a line break or a mark that reverses the writing
direction. In output for people (`say`, `show`) such characters appear as escapes, so that quoted input cannot move the
cursor, colour the screen, hide text or imitate our messages. Output for programs (`emit`) is written unchanged; JSON
(`emit_json`) has escapes of its own.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from formulaseed.data.files import has_text, replace_file
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.diagnostics.render import render_text, summarize
from formulaseed.errors import FormulaSeedError, SeedError, UnreadableError
from formulaseed.source.printing import escape_hidden_characters, number_of, printable

if TYPE_CHECKING:
    from formulaseed.data.results import Failures
    from formulaseed.pipeline import Analysis, Compilable


INTERRUPTED = 130  # the exit status of an interrupted command
_SECONDS_BETWEEN_LINES = 10.0  # of progress that is not shown on a terminal


def say(line: str, *, err: bool = False, color: str = "") -> None:
    """Print one line for people, with `err` to standard error, in the colour `color` if `uses_color` allows it.

    Control characters become escapes, a line break in `line` too.
    """
    text = printable(line)
    click.echo(click.style(text, fg=color) if color else text, err=err, color=uses_color())


def show(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print several lines for people, with `err` to standard error; without `nl` no line break is added at the end."""
    click.echo("\n".join(map(printable, text.split("\n"))), err=err, nl=nl)


def show_diagnostics(
    diagnostics: Iterable[Diagnostic], *, err: bool = False, explained: set[str] | None = None
) -> None:
    """Print diagnostics for people, the worst first, in colour if `uses_color` allows it; nothing if there are none.

    `explained` are codes whose explanation has been printed before: it is not repeated, and new codes are added to the
    set.
    """
    if text := render_text(diagnostics, styled=True, explained=explained):
        click.echo(text, err=err, color=uses_color())


def uses_color() -> bool | None:
    """Return False or True if the environment forbids or forces colours, else None: colours on a terminal only.

    `NO_COLOR` wins over `FORCE_COLOR`, and that over `TERM=dumb`.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def emit(text: str) -> None:
    """Write text for programs, such as JSON, a seed or a module, unchanged to standard output."""
    click.echo(text, nl=False)


def emit_json(value: object, indent: int | None = 2) -> None:
    """Write a value as JSON to standard output, with escapes for hidden characters; on one line if `indent` is None."""
    emit(escape_hidden_characters(json.dumps(value, indent=indent, ensure_ascii=False)) + "\n")


def finish(status: int) -> NoReturn:
    """End the command with an exit status. Standard output is flushed first, so that a closed pipe is noticed here."""
    sys.stdout.flush()
    sys.exit(status)


def report_error(error: FormulaSeedError, file: str = "", outcome: str = "") -> int:
    """Print an error that ended the command, or its work on `file`, to standard error; return the exit status.

    That is 2 for an `UnreadableError`, else 1. The diagnostics of a `SeedError`, without its notes, are followed by a
    line with their numbers and `outcome`.
    """
    if isinstance(error, SeedError):
        show_diagnostics([d for d in error.diagnostics if d.severity != "note"], err=True)
        prefix = f"{file}: " if file else ""
        say(f"{prefix}{summarize(error.diagnostics)}{outcome}", err=True)
        return 1
    say(f"formulaseed: {error}", err=True)
    return 2 if isinstance(error, UnreadableError) else 1


def process_files(files: Iterable[str], process: Callable[[str], int], outcome: str = "") -> int:
    """Call `process`, which returns an exit status, for every file, and return the highest status.

    If `process` raises `FormulaSeedError`, `report_error` prints it with `outcome`, and the next file is processed.
    """
    highest = 0
    for file in files:
        try:
            status = process(file)
        except FormulaSeedError as error:
            status = report_error(error, file, outcome)
        highest = max(highest, status)
    return highest


def report_warnings(seed: Compilable[Any] | Analysis[Any, Any]) -> None:
    """Print the numbers of warnings and errors of a file, if any, to standard error. `check` prints them in full."""
    diagnostics = [d for d in seed.diagnostics if d.severity != "note"]
    if diagnostics:
        name = seed.document.source.name
        say(f"{name}: {summarize(diagnostics)}; see `formulaseed check {name}`", err=True)


def write_out(text: str, out: str | None, note: str = "") -> None:
    """Write text to the file `out` and print its name with `note`; if `out` is None, write to standard output.

    Raises `UnreadableError` if the file cannot be written.
    """
    if out is None:
        emit(text)
    else:
        replace_file(Path(out), text)
        say(f"{out}: {note}" if note else out)


def check_current(path: Path, text: str, fix: str, stale: str = "stale") -> int:
    """Print whether the file at `path` contains `text`; return the exit status: 0 if it does, else 1.

    `fix` is the command that writes the file, `stale` describes a file with another text. A missing file has status 1,
    too.
    """
    is_current = has_text(path, text)
    if is_current:
        say(f"{path}: current")
        return 0
    say(f"{path}: {'missing' if is_current is None else stale}; run {fix}")
    return 1


def is_terminal(stream: TextIO | None = None) -> bool:
    """Return True if a person reads the stream, by default standard error: it is a terminal, but not a dumb one."""
    return (stream or sys.stderr).isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def report_failures(failures: Failures | None = None) -> Iterator[Failures]:
    """Give a block a collection of failures, and print them to standard error at its end, also after an exception.

    The collection is `failures` if it is passed, else a new, empty one. Each failure has a line; notes and warnings
    follow.
    """
    from formulaseed.data.results import Failures

    failures = failures or Failures()
    try:
        yield failures
    finally:
        for line in failures.lines:
            say(f"failed: {line}", err=True)
        for line in failures.notes():
            say(line, err=True)
        for line in failures.warnings():
            say(f"warning: {line}", err=True)


_Note = Callable[[], str]
"""Return what to show beside the number of items; only called when it is shown."""
_Draw = Callable[[int, _Note], None]
"""Show the number of items that are done, and a note."""


class Progress:
    """The number of items done so far. `draw` shows the number and a note at every change."""

    def __init__(self, draw: _Draw, hide: Callable[[], None] = lambda: None) -> None:
        self._draw = draw
        self._done = 0
        self._lasting_note: _Note | None = None
        self.hide = hide
        """Remove the bar, if there is one, from the terminal, so that something else can be printed."""

    def advance(self, note: _Note) -> None:
        """Count one more item as done, with the last note of `show`, or with `note` if `show` was never called."""
        self._done += 1
        self._draw(self._done, self._lasting_note or note)

    def show(self, note: str) -> None:
        """Show `note` without counting an item; from now on it replaces the notes of `advance`."""
        self._lasting_note = lambda: note
        self._draw(self._done, self._lasting_note)


def _draw_lines(noun: str) -> _Draw:
    """Return a function that prints the progress as a line on standard error, at most every ten seconds.

    The first line is printed after ten seconds. `noun` names one item.
    """
    last = time.monotonic()

    def draw(done: int, note: _Note) -> None:
        """Print the line, unless the last one was printed less than ten seconds ago."""
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            say(f"{number_of(done, noun)}, {note()}", err=True)

    return draw


@contextmanager
def show_progress(noun: str, total: int | None = None, *, quiet: bool = False) -> Iterator[Progress]:
    """Show the progress of a block on standard error: a bar on a terminal, elsewhere a line now and then.

    `noun` names one item. The bar shows the share of `total` if it is known. With `quiet` nothing is shown.
    """
    if quiet:
        yield Progress(lambda done, note: None)
        return
    if not is_terminal():
        yield Progress(_draw_lines(noun))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    activity = SpinnerColumn() if total is None else BarColumn()
    columns = (activity, MofNCompleteColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"{noun}s", total=total)

        def draw(done: int, note: _Note) -> None:
            """Move the bar to `done` items, with the note behind it."""
            bar.update(task, completed=done, description=f"{noun}s, {printable(note())}")

        yield Progress(draw, bar.stop)
