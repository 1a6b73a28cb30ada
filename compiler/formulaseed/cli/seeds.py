"""What the commands that read seeds share. Light: imports nothing that evaluates."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from formulaseed.cli.output import say
from formulaseed.diagnostics.render import summary
from formulaseed.errors import UnreadableError

if TYPE_CHECKING:
    from formulaseed.pipeline import Analysis, Compilable

F = TypeVar("F", bound=Callable[..., Any])


def strict_option(function: F) -> F:
    """`--strict`."""
    decorated: F = click.option("--strict", is_flag=True, help="Take warnings as errors.")(function)
    return decorated


def reference_option(function: F) -> F:
    """`--reference FILE`."""
    option = click.option("--reference", metavar="FILE", help="The formula reference of rules: what their names mean.")
    decorated: F = option(function)
    return decorated


def report_warnings(seed: Compilable[Any] | Analysis[Any, Any]) -> None:
    """Say how many warnings a file has, and errors where they do not end the command; `check` shows them."""
    if seed.diagnostics:
        name = seed.document.source.name
        say(f"{name}: {summary(seed.diagnostics)}; see `formulaseed check {name}`", err=True)


def replace_file(path: Path, text: str, *, through_link: bool = True) -> None:
    """Write a file in one go: a reader sees the old one or the new one, never half of one.

    A link stays a link, and what it leads to is written; otherwise the file takes the link's place.

    Raises `UnreadableError` where it cannot be written.
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
