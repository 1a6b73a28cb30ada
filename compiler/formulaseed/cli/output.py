"""The one way out: what commands print and write, how they report errors and end. Light: nothing here evaluates.

A path, an argument, a name in a file may hold an escape sequence, a line break or a mark that reverses the writing
direction. What is printed for people shows such characters as escapes, so that nothing quoted can move the cursor,
colour the screen, hide what is beside it or pass for a line of ours. What programs read is written as it is.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from formulaseed.data.files import holds
from formulaseed.diagnostics.model import printable
from formulaseed.diagnostics.render import render_text, summary
from formulaseed.errors import FormulaSeedError, SeedError, UnreadableError

if TYPE_CHECKING:
    from formulaseed.pipeline import Analysis, Compilable

INTERRUPTED = 130
"""The exit status of an interrupted command."""

format_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it."
)
strict_option = click.option("--strict", is_flag=True, help="Treat warnings as errors.")
reference_option = click.option(
    "--reference", metavar="FILE", help="The formula reference of rules: what their names mean."
)


def say(line: str, *, err: bool = False, color: str = "") -> None:
    """Print one line for people; a line break in it is shown as an escape, too."""
    shown = printable(line)
    click.echo(click.style(shown, fg=color) if color else shown, err=err)


def show(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print lines for people that are laid out already."""
    click.echo("\n".join(map(printable, text.split("\n"))), err=err, nl=nl)


def emit(text: str) -> None:
    """Write what a program reads, such as JSON, a seed or a module, to standard output."""
    click.echo(text, nl=False)


def emit_json(value: object, indent: int | None = 2) -> None:
    """Write a value as JSON to standard output."""
    emit(json.dumps(value, indent=indent, ensure_ascii=False) + "\n")


def finish(status: int) -> NoReturn:
    """End the command; what is still buffered is written first, so that a closed pipe is noticed here."""
    sys.stdout.flush()
    sys.exit(status)


def report_error(error: FormulaSeedError, file: str = "", outcome: str = "") -> int:
    """Print why the command, or its work on a file, could not be done, and return the exit status."""
    if isinstance(error, SeedError):
        show(render_text(error.diagnostics), err=True)
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
    if seed.diagnostics:
        name = seed.document.source.name
        say(f"{name}: {summary(seed.diagnostics)}; see `formulaseed check {name}`", err=True)


def replace_file(path: Path, text: str, *, through_link: bool = True) -> None:
    """Write a file atomically: a reader sees the old one or the new one, never half of one.

    A link stays a link, and its target is written; otherwise the file replaces the link. Raises `UnreadableError` where
    it cannot be written.
    """
    try:
        path = Path(os.path.realpath(path)) if through_link else path
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.is_file() and not path.is_symlink() else 0o644
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except OSError as error:
        raise UnreadableError(f"cannot write {path}: {error.strerror}") from None


def write_out(text: str, out: str | None) -> None:
    """Write a file and name it; without a file, write to standard output."""
    if out is None:
        emit(text)
    else:
        replace_file(Path(out), text)
        say(out)


def check_current(path: Path, text: str, fix: str, stale: str = "stale") -> int:
    """Say whether a file holds this text, and how to `fix` it; return the exit status."""
    is_current = holds(path, text)
    found = "missing" if is_current is None else stale
    say(f"{path}: current" if is_current else f"{path}: {found}; run {fix}")
    return 0 if is_current else 1
