"""The one way out: what commands print and write, how they report errors, failures and progress, and end.

Light: nothing here evaluates. Progress is a bar on a terminal, a plain line now and then elsewhere.

A path, an argument, a name in a file may hold an escape sequence, a line break or a mark that reverses the writing
direction. What is printed for people shows such characters as escapes, so that nothing quoted can move the cursor,
colour the screen, hide what is beside it or pass for a line of ours. What programs read is written as it is.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar

import click

from formulaseed.data.files import has_text, replace_file
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.diagnostics.render import render_text, summary
from formulaseed.errors import FormulaSeedError, SeedError, UnreadableError
from formulaseed.source.printing import number_of, printable, visible_json

if TYPE_CHECKING:
    from formulaseed.data.results import Failures
    from formulaseed.pipeline import Analysis, Compilable

_Form = TypeVar("_Form", bound=str)
_SUFFIX = re.compile(r"\.[A-Za-z]\w*$")

INTERRUPTED = 130
"""The exit status of an interrupted command."""

format_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it."
)
strict_option = click.option("--strict", is_flag=True, help="Treat warnings as errors.")
benchmark_option = click.option(
    "--benchmark", is_flag=True, help="Take requests for those of the benchmark: their ids are R01 to R100."
)
reference_option = click.option(
    "--reference", metavar="FILE", help="The formula reference of rules: what their names mean."
)


def say(line: str, *, err: bool = False, color: str = "") -> None:
    """Print one line for people; a line break in it is shown as an escape, too."""
    shown = printable(line)
    click.echo(click.style(shown, fg=color) if color else shown, err=err, color=uses_color())


def show(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print lines for people that are laid out already."""
    click.echo("\n".join(map(printable, text.split("\n"))), err=err, nl=nl)


def show_diagnostics(
    diagnostics: Iterable[Diagnostic], *, err: bool = False, explained: set[str] | None = None
) -> None:
    """Print diagnostics for people, in colour on a terminal; `explained` as `render_text` takes it."""
    if text := render_text(diagnostics, styled=True, explained=explained):
        click.echo(text, err=err, color=uses_color())


def uses_color() -> bool | None:
    """Return whether to colour what is printed: never or always if the environment says so, else on a terminal (None).

    `NO_COLOR` wins over `FORCE_COLOR`.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def emit(text: str) -> None:
    """Write what a program reads, such as JSON, a seed or a module, to standard output."""
    click.echo(text, nl=False)


def emit_json(value: object, indent: int | None = 2) -> None:
    """Write a value as JSON to standard output."""
    emit(visible_json(json.dumps(value, indent=indent, ensure_ascii=False)) + "\n")


def finish(status: int) -> NoReturn:
    """End the command; what is still buffered is written first, so that a closed pipe is noticed here."""
    sys.stdout.flush()
    sys.exit(status)


def report_error(error: FormulaSeedError, file: str = "", outcome: str = "") -> int:
    """Print why the command, or its work on a file, could not be done, and return the exit status."""
    if isinstance(error, SeedError):
        show_diagnostics([d for d in error.diagnostics if d.severity != "note"], err=True)
        say(f"{file and f'{file}: '}{summary(error.diagnostics)}{outcome}", err=True)
        return 1
    say(f"formulaseed: {error}", err=True)
    return 2 if isinstance(error, UnreadableError) else 1


def each_file(files: Iterable[str], work: Callable[[str], int], outcome: str = "") -> int:
    """Work on every file, also where one cannot be used, and return the worst exit status.

    `outcome` ends the line about a file with errors.
    """
    status = 0
    for file in files:
        try:
            found = work(file)
        except FormulaSeedError as error:
            found = report_error(error, file, outcome)
        status = max(status, found)
    return status


def report_warnings(seed: Compilable[Any] | Analysis[Any, Any]) -> None:
    """Print how many warnings a file has, and errors where they do not end the command; `check` shows them."""
    found = [d for d in seed.diagnostics if d.severity != "note"]
    if found:
        name = seed.document.source.name
        say(f"{name}: {summary(found)}; see `formulaseed check {name}`", err=True)


def format_of(
    out: str, suffixes: Mapping[str, _Form], option: str = "--out", other: str = ", or pass --format"
) -> _Form | None:
    """Return the format that a file's name ends in; None for standard output, and for a name without a suffix.

    Raises `UsageError` for a suffix that stands for no format; `other` ends the help.
    """
    plain = out.lower().removesuffix(".gz")
    found = next((form for suffix, form in suffixes.items() if plain.endswith(suffix)), None)
    unknown = _SUFFIX.search(os.path.basename(plain))
    if found is None and unknown is not None:
        *known, last = dict.fromkeys(
            next(s for s, each in suffixes.items() if each == form) for form in suffixes.values()
        )
        listed = f"{', '.join(known)} or {last}" if known else last
        raise click.UsageError(
            f"{option} {out}: no format has the suffix `{unknown[0]}`; end the name in {listed}{other}"
        )
    return found


def check_suffix(out: str | None, *suffixes: str, option: str = "--out") -> None:
    """Raise `UsageError` for a file of one format whose name ends in none of these suffixes; the first is proposed."""
    if out is not None:
        format_of(out, dict.fromkeys(suffixes, ""), option, "")


def write_out(text: str, out: str | None, note: str = "") -> None:
    """Write a file and name it, with a note; without a file, write to standard output."""
    if out is None:
        emit(text)
    else:
        replace_file(Path(out), text)
        say(f"{out}: {note}" if note else out)


def check_current(path: Path, text: str, fix: str, stale: str = "stale") -> int:
    """Say whether a file holds this text, and how to `fix` it; return the exit status."""
    is_current = has_text(path, text)
    found = "missing" if is_current is None else stale
    say(f"{path}: current" if is_current else f"{path}: {found}; run {fix}")
    return 0 if is_current else 1


_SECONDS_BETWEEN_LINES = 10.0


def is_terminal(stream: TextIO | None = None) -> bool:
    """Whether people read what is written to the stream, by default standard error."""
    return (stream or sys.stderr).isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def reported(failures: Failures | None = None) -> Iterator[Failures]:
    """Collect what fails, and list it when the work is over, also where it ends with an error."""
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
_Draw = Callable[[int, _Note], None]


class Progress:
    """Counts what is done, each a `what`, and passes the count on to `draw`, with what returns a note."""

    def __init__(self, draw: _Draw, hide: Callable[[], None] = lambda: None) -> None:
        self._draw = draw
        self._done = 0
        self._shown: _Note | None = None
        self.hide = hide
        """Takes the bar off the terminal, if there is one, for something else to be printed."""

    def advance(self, note: _Note) -> None:
        """One more is done."""
        self._done += 1
        self._draw(self._done, self._shown or note)

    def show(self, note: str) -> None:
        """Something else went on; its note replaces those of `advance`."""
        self._shown = lambda: note
        self._draw(self._done, self._shown)


def _lines(what: str) -> _Draw:
    last = time.monotonic()

    def draw(done: int, note: _Note) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            say(f"{number_of(done, what)}, {note()}", err=True)

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

        def draw(done: int, note: _Note) -> None:
            bar.update(task, completed=done, description=f"{what}s, {printable(note())}")

        yield Progress(draw, bar.stop)
