"""The one way out: what commands print for people, and what they write for programs. Light: nothing here evaluates.

A path, an argument, a name in a file may hold an escape sequence, a line break or a mark that reverses the writing
direction. What is printed for people shows such characters as escapes, so that nothing quoted can move the cursor,
colour the screen, hide what is beside it or pass for a line of ours. What programs read is written as it is.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formulaseed.diagnostics.model import printable
from formulaseed.diagnostics.render import summary
from formulaseed.errors import UnreadableError

if TYPE_CHECKING:
    from formulaseed.pipeline import Analysis, Compilable

INTERRUPTED = 130
"""The exit status of an interrupted command."""

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
