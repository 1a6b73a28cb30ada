"""Define every diagnostic of the compiler: a typed constructor for each mistake, one module for each phase.

A phase passes spans, names, and the expected and the actual value; all English is here and nowhere else. If only names vary, the
functions below make the constructor from a code, a message and a help, in which `{0}` stands for the first name.
"""

from __future__ import annotations

from collections.abc import Callable

from formulaseed.diagnostics.model import Diagnostic, Help, diagnostic
from formulaseed.source.text import Span

Name = str | int | float | None


def define(code: str, message: str, help: str) -> Callable[[Span], Diagnostic]:
    """Return a function that makes the diagnostic of `code` at a span, always with this message and help."""
    return lambda span: diagnostic(code, span, message, help)


def define_1(code: str, message: str, help: str) -> Callable[[Span, Name], Diagnostic]:
    """Return a function that makes the diagnostic of `code` for a span and a name, which replaces `{}` in the texts."""
    return lambda span, name: diagnostic(code, span, message.format(name), help.format(name))


def define_2(code: str, message: str, help: str) -> Callable[[Span, Name, Name], Diagnostic]:
    """Return a function that makes the diagnostic of `code` for a span and two names, which `{}` stand for."""
    return lambda span, *names: diagnostic(code, span, message.format(*names), help.format(*names))


def define_3(code: str, message: str, help: str) -> Callable[[Span, Name, Name, Name], Diagnostic]:
    """Return a function that makes the diagnostic of `code` for a span and three names, which `{}` stand for."""
    return lambda span, *names: diagnostic(code, span, message.format(*names), help.format(*names))


def define_with_help(code: str, message: str) -> Callable[[Span, str, Help], Diagnostic]:
    """Return a function that makes the diagnostic of `code` for a span, a name in the message, and the help."""
    return lambda span, name, help: diagnostic(code, span, message.format(name), help)
