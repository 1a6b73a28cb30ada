"""Defines a diagnostic: one problem in one file, as data.

In: a code, a span, a message, a help. Out: an object that `render` turns into text or JSON. Never prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from formulaseed import limits
from formulaseed.diagnostics.codes import CODES, SEVERITIES, Severity
from formulaseed.diagnostics.drawing import draw
from formulaseed.source.printing import number_of, printable
from formulaseed.source.text import Span, shorten

JsonDict = dict[str, Any]
Applicability = Literal["safe", "unsafe", "display"]
"""`safe`: the change cannot alter what a file means, so `--fix` applies it. `unsafe`: the change is probably intended,
and the author decides. `display`: an example of the form to write."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Help with the exact text, `replacement`, to write in place of what the diagnostic underlines."""

    text: str
    replacement: str
    applicability: Applicability = "safe"
    is_verbatim: bool = False
    """Whether the replacement is written as it is; else in the quotes, and with the escapes, of what it replaces."""

    def __str__(self) -> str:
        return self.text


Help = str | Suggestion
"""What to do about a problem: a sentence, or a sentence with the text to write."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem. `message` is one lower-case line without a full stop, `help` what to type instead.

    `suggestion` holds the replacement of the span's text, escaped as in the file; None if there is no single one.
    """

    code: str
    severity: Severity
    message: str
    span: Span
    help: str
    suggestion: Suggestion | None = None
    is_security: bool = False
    """True if a formula does something forbidden, rather than misspell something allowed."""
    subject: str = ""
    """The text for this place if diagnostics of the code are merged into one; empty if it is never merged."""
    related: tuple[Span, ...] = ()
    """The other places that a merged diagnostic is about."""

    def __repr__(self) -> str:
        return shorten(f"<Diagnostic {self.severity} {self.brief}>")

    def __str__(self) -> str:
        """Return it as `formulaseed check` prints it."""
        return draw(self, styled=False, explained=set())

    @property
    def name(self) -> str:
        """The name of the code, such as `unknown-name`."""
        return CODES[self.code].name

    @property
    def file(self) -> str:
        """The name of the file: a path, or `<seed>`."""
        return self.span.source.name

    @property
    def brief(self) -> str:
        """The place, the code and the message on one line."""
        return f"{self.file}:{self.line}:{self.column}: {self.code} {self.message}"

    @property
    def pointer(self) -> str:
        """The JSON Pointer (RFC 6901) to the value in the seed."""
        return self.span.pointer

    @property
    def place(self) -> dict[str, int]:
        """The `line`, `column`, `end_line` and `end_column` in the file, counted from 1."""
        return place(self.span)

    @property
    def line(self) -> int:
        return self.place["line"]

    @property
    def column(self) -> int:
        return self.place["column"]

    @property
    def end_line(self) -> int:
        return self.place["end_line"]

    @property
    def end_column(self) -> int:
        return self.place["end_column"]

    @property
    def rank(self) -> int:
        """0 for an error, 1 for a warning, 2 for a note."""
        return SEVERITIES.index(self.severity)

    @property
    def is_fixable(self) -> bool:
        """True if `--fix` may apply the suggestion."""
        return self.suggestion is not None and self.suggestion.applicability == "safe"

    def to_json(self) -> JsonDict:
        """Return the fields that `--format json` prints."""
        fields: JsonDict = {key: getattr(self, key) for key in ("code", "severity", "message", "file", "pointer")}
        fields |= {**self.place, "help": self.help}
        if self.suggestion is not None:
            change = {"replacement": self.suggestion.replacement, "applicability": self.suggestion.applicability}
            fields["suggestion"] = {"span": self.place, **change}
        if self.related:
            fields["related"] = [{"pointer": span.pointer, **place(span)} for span in self.related]
        return fields


def place(span: Span) -> dict[str, int]:
    """Return the `line`, `column`, `end_line` and `end_column` of a span, counted from 1."""
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}


def diagnostic(
    code: str, span: Span, message: str, help: Help, is_security: bool = False, subject: str = ""
) -> Diagnostic:
    """Return a diagnostic with the code's severity, its message and help made printable and readably short."""
    suggestion = None
    if isinstance(help, Suggestion):
        suggestion = help if help.is_verbatim else replace(help, replacement=_as_written(span, help.replacement))
        help = help.text
    severity = CODES[code].severity
    return Diagnostic(code, severity, _readable(message), span, _readable(help), suggestion, is_security, subject)


def strictly(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics with warnings turned into errors; notes stay notes."""
    return tuple(replace(d, severity="error") if d.severity == "warning" else d for d in diagnostics)


class Problems:
    """Collects diagnostics while a phase runs; `sorted()` returns them in the order of the file.

    Those over a limit are only counted, and a last diagnostic gives their number.
    """

    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}
        self._beyond: list[Diagnostic] = []

    def report(self, problem: Diagnostic) -> None:
        """Add one problem, unless it has been reported before."""
        if len(self._found) < limits.DIAGNOSTICS:
            self._found[problem] = None
        else:
            self._beyond.append(problem)

    def discard(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Remove the diagnostics from those reported."""
        for diagnostic in diagnostics:
            self._found.pop(diagnostic, None)

    def merge(self, merged: Callable[[Sequence[Diagnostic]], Diagnostic]) -> None:
        """Replace the diagnostics with a subject that have the same code by the one that `merged` makes of them."""
        diagnostics = [*self._found, *self._beyond]
        self._found = {}
        self._beyond = []
        by_code: dict[str, list[Diagnostic]] = {}
        for problem in diagnostics:
            if problem.subject:
                by_code.setdefault(problem.code, []).append(problem)
            else:
                self.report(problem)
        for alike in by_code.values():
            self.report(merged(alike) if len(alike) > 1 else alike[0])

    def extend(self, other: Problems) -> None:
        """Add the diagnostics that `other` has collected, up to the same limit."""
        for problem in chain(other._found, other._beyond):
            self.report(problem)

    def places_of(self, code: str) -> frozenset[Span]:
        """Return where a code has been reported."""
        return frozenset(d.span for d in chain(self._found, self._beyond) if d.code == code)

    @property
    def has_errors(self) -> bool:
        """True if an error was reported."""
        return any(d.severity == "error" for d in chain(self._found, self._beyond))

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics in the order of the file; one in place of those over the limit."""
        diagnostics = sorted(self._found, key=lambda d: (d.span.start, d.span.end, d.code))
        if self._beyond:  # one in their place; errors before warnings
            first = min(self._beyond, key=lambda d: (d.rank, d.span.start))
            message = f"{number_of(len(self._beyond), 'more problem')} after the first {limits.DIAGNOSTICS:,}"
            diagnostics.append(Diagnostic("FS510", first.severity, message, first.span, "fix those first"))
        return tuple(diagnostics)


def _readable(text: str) -> str:
    """Return the text on one line, with its quotations cut short if it is too long to be read."""
    text = printable(text)
    if len(text) > limits.MESSAGE_CHARACTERS:
        parts = text.split("`")  # every second one is a quotation
        quoted = {place: f"{part[:80]}…" for place, part in enumerate(parts) if place % 2 and len(part) > 81}
        text = "`".join(quoted.get(place, part) for place, part in enumerate(parts))
    return text if len(text) <= limits.MESSAGE_CHARACTERS else f"{text[: limits.MESSAGE_CHARACTERS]}…"


def _as_written(span: Span, name: str) -> str:
    """Return a name or value as the file writes it in place of the span: in the quotes that are there now."""
    import json

    written = span.source.text[span.start : span.end]
    if written.startswith('"'):
        return json.dumps(name, ensure_ascii=False)
    if written.startswith(("'", '\\"')):  # a string in a formula
        quote = written[0] if written[0] == "'" else '"'
        name = quote + name.replace("\\", "\\\\").replace(quote, f"\\{quote}") + quote
    return json.dumps(name, ensure_ascii=False)[1:-1]
