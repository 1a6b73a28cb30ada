"""Every diagnostic of the compiler: a typed constructor for each mistake, one module for each phase.

A phase passes what it knows (spans, names, what was expected and found); all English is here and nowhere else. Where only
names vary, the functions below make the constructor of a code, a message and a help; `{0}` stands for the first name.
"""

from __future__ import annotations

from collections.abc import Callable

from formulaseed.diagnostics.model import Diagnostic, Help, diagnostic
from formulaseed.source.text import Span

Name = str | int | float | None


def fixed(code: str, message: str, help: str) -> Callable[[Span], Diagnostic]:
    return lambda span: diagnostic(code, span, message, help)


def of_one(code: str, message: str, help: str) -> Callable[[Span, Name], Diagnostic]:
    return lambda span, name: diagnostic(code, span, message.format(name), help.format(name))


def of_two(code: str, message: str, help: str) -> Callable[[Span, Name, Name], Diagnostic]:
    return lambda span, *names: diagnostic(code, span, message.format(*names), help.format(*names))


def of_three(code: str, message: str, help: str) -> Callable[[Span, Name, Name, Name], Diagnostic]:
    return lambda span, *names: diagnostic(code, span, message.format(*names), help.format(*names))


def suggesting(code: str, message: str) -> Callable[[Span, str, Help], Diagnostic]:
    """Return the constructor of a mistake with a name, which takes the help as well."""
    return lambda span, name, help: diagnostic(code, span, message.format(name), help)
