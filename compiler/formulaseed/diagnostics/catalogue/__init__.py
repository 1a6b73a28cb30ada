"""Defines every diagnostic of the compiler: a typed constructor for each mistake, one module for each phase.

A phase passes spans, names, and the expected and the actual value; all English is here and nowhere else. If only names vary, the
functions below make the constructor from a code, a message and a help; `{0}` is replaced by the first name.
"""

from __future__ import annotations

from collections.abc import Callable

from formulaseed.diagnostics.model import Diagnostic, Help, diagnostic
from formulaseed.source.text import Span

Name = str | int | float | None


def plain(code: str, message: str, help: str) -> Callable[[Span], Diagnostic]:
    """Return the constructor of a mistake whose message is always the same."""
    return lambda span: diagnostic(code, span, message, help)


def with_1(code: str, message: str, help: str) -> Callable[[Span, Name], Diagnostic]:
    """Return the constructor of a mistake with one name; those with two and three are below."""
    return lambda span, name: diagnostic(code, span, message.format(name), help.format(name))


def with_2(code: str, message: str, help: str) -> Callable[[Span, Name, Name], Diagnostic]:
    return lambda span, *names: diagnostic(code, span, message.format(*names), help.format(*names))


def with_3(code: str, message: str, help: str) -> Callable[[Span, Name, Name, Name], Diagnostic]:
    return lambda span, *names: diagnostic(code, span, message.format(*names), help.format(*names))


def with_help(code: str, message: str) -> Callable[[Span, str, Help], Diagnostic]:
    """Return the constructor of a mistake with one name, which takes the help as well."""
    return lambda span, name, help: diagnostic(code, span, message.format(name), help)
