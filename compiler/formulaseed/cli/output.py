"""The one way out: what commands print for people, and what they write for programs.

A path, an argument, a name in a file may hold an escape sequence, a line break or a mark that turns the writing direction
around. What is printed for people shows such characters as escapes, so that nothing that is quoted can move the cursor,
colour the screen, hide what stands beside it or pass for a line of ours. What programs read is written as it is.
"""

from __future__ import annotations

import click

from formulaseed.diagnostics.model import printable


def say(line: str, *, err: bool = False, color: str = "") -> None:
    """Print one line for people; a line break in it is shown as an escape, too."""
    shown = printable(line)
    click.echo(click.style(shown, fg=color) if color else shown, err=err)


def show(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print lines for people that were laid out before."""
    click.echo("\n".join(map(printable, text.split("\n"))), err=err, nl=nl)


def emit(text: str) -> None:
    """Write what a program reads, such as JSON, a seed or a module, to standard output."""
    click.echo(text, nl=False)
