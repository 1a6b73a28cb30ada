"""Define a diagnostic: one problem in one file, as data.

In: a code, a span, a message, a help. Out: an object, and its text with the line underlined. Never prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from formulaseed import limits
from formulaseed.diagnostics.codes import CODES, SEVERITIES, Severity
from formulaseed.source.printing import display_width, number_of, printable
from formulaseed.source.text import Span, shorten

MAX_QUOTATION = 80
"""The characters of a quotation that a message keeps if it is too long."""
_EXCERPT_WIDTH = 110
"""The characters of a line that are shown."""
_STYLES = {"error": "1;31", "warning": "1;33", "note": "1;36", "place": "34", "help": "32"}
"""The escape sequences of a terminal: for a severity, the place and the help."""
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
    """True if the replacement is written as it is; else it gets the quotes and the escapes of the text that it replaces."""

    def __str__(self) -> str:
        return self.text


Help = str | Suggestion
"""The advice on a problem: a sentence, or a sentence with the text to write."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem. `message` is one lower-case line without a full stop, `help` the text to type instead.

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
        """Return the diagnostic as `formulaseed check` prints it, without colours."""
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
        return locate(self.span)

    @property
    def line(self) -> int:
        """The line in the file where the span begins, counted from 1."""
        return self.place["line"]

    @property
    def column(self) -> int:
        """The column where the span begins, in characters, counted from 1."""
        return self.place["column"]

    @property
    def end_line(self) -> int:
        """The line in the file where the span ends, counted from 1."""
        return self.place["end_line"]

    @property
    def end_column(self) -> int:
        """The column behind the span, in characters, counted from 1."""
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
        """Return the fields that `--format json` prints; `suggestion` and `related` only if there are any."""
        fields: JsonDict = {key: getattr(self, key) for key in ("code", "severity", "message", "file", "pointer")}
        fields |= {**self.place, "help": self.help}
        if self.suggestion is not None:
            change = {"replacement": self.suggestion.replacement, "applicability": self.suggestion.applicability}
            fields["suggestion"] = {"span": self.place, **change}
        if self.related:
            fields["related"] = [{"pointer": span.pointer, **locate(span)} for span in self.related]
        return fields


def locate(span: Span) -> dict[str, int]:
    """Return the `line`, `column`, `end_line` and `end_column` of a span, counted from 1."""
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}


def diagnostic(
    code: str, span: Span, message: str, help: Help, is_security: bool = False, subject: str = ""
) -> Diagnostic:
    """Return a diagnostic with the code's severity, its message and help made printable and short enough to read.

    A suggestion also becomes `suggestion`, with its text as help; a replacement that is not verbatim gets the quotes
    and escapes of the text of `span`. `is_security` and `subject` are those of `Diagnostic`. Raises `KeyError` for an
    unknown code.
    """
    suggestion = None
    if isinstance(help, Suggestion):
        suggestion = help
        if not help.is_verbatim:
            suggestion = replace(help, replacement=_quote_as_written(span, help.replacement))
        help = help.text
    message, help = _shorten_message(message), _shorten_message(help)
    return Diagnostic(code, CODES[code].severity, message, span, help, suggestion, is_security, subject)


def draw(d: Diagnostic, *, styled: bool, explained: set[str]) -> str:
    """Return the text of a diagnostic, in the colours of a terminal if `styled`.

    The first diagnostic of a code also names the command that explains it: if the code is not in `explained`, to which
    the code is then added. A file without text has no excerpt.
    """

    def style(text: str, role: str) -> str:
        """Return the text in the colour of its role, or unchanged without `styled`."""
        return f"\x1b[{_STYLES[role]}m{text}\x1b[0m" if styled else text

    place = f"  {d.pointer}" if d.pointer else ""
    lines = [
        f"{style(f'{d.severity}[{d.code}]', d.severity)} {d.name}: {printable(d.message)}",
        f"  {style('-->', 'place')} {printable(d.file)}:{d.line}:{d.column}{printable(place)}",
    ]
    if d.span.source.text:
        number = str(d.line)
        gutter = " " * len(number)
        bar = style("|", "place")
        text, underline = _cut_excerpt(d)
        below = f"{' ' * (len(underline) - len(underline.lstrip()))}{style(underline.lstrip(), d.severity)}"
        lines += [f"{gutter} {bar}", f"{style(number, 'place')} {bar} {text}", f"{gutter} {bar} {below}"]
    lines.append(f"   = {style('help:', 'help')} {printable(d.help)}")
    if d.code not in explained:
        lines.append(f"   = more: formulaseed rule {d.code}")
        explained.add(d.code)
    return "\n".join([*lines, ""])


def _cut_excerpt(d: Diagnostic) -> tuple[str, str]:
    """Return the line with the span, and the signs that underline the span and the related ones.

    Of a line that is too long, only a part around the span is returned, with `…` where it is cut off; spans outside of
    it, or that overlap an earlier one, are not underlined.
    """
    line = d.span.source.line(d.line)
    first = 0 if len(line) <= _EXCERPT_WIDTH else max(0, min(d.column - 31, len(line) - _EXCERPT_WIDTH))
    last = min(len(line), first + _EXCERPT_WIDTH)
    at = first
    underline = " " if first else ""
    for start, end in _find_underlined_parts(d, line):
        if at <= start <= last:
            end = min(end, last)
            width = max(1, display_width(printable(line[start:end])))
            underline += " " * display_width(printable(line[at:start])) + "^" * width
            at = max(start, end)
    text = printable(line[first:last])
    if first:
        text = f"…{text}"
    if last < len(line):
        text = f"{text}…"
    return text, underline


def _find_underlined_parts(d: Diagnostic, line: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end, within the line, of each span of the diagnostic that begins on this line, in order.

    A span that ends on a later line is cut off at the end of this one.
    """
    begin = d.span.start - (d.column - 1)
    for span in sorted((d.span, *d.related), key=lambda span: span.start):
        if span is d.span or 0 <= span.start - begin <= len(line):
            yield span.start - begin, min(span.end - begin, len(line))


def promote_warnings(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics with warnings turned into errors; notes stay notes."""
    return tuple(replace(d, severity="error") if d.severity == "warning" else d for d in diagnostics)


class Problems:
    """The diagnostics of a phase while it runs; `sorted()` returns them in the order of the file.

    Of those over the limit of `limits.DIAGNOSTICS`, `sorted()` returns the number only, in a last diagnostic.
    """

    def __init__(self) -> None:
        self._reported: dict[Diagnostic, None] = {}
        self._over_limit: list[Diagnostic] = []

    def report(self, problem: Diagnostic) -> None:
        """Add one problem, unless it has been reported before. Over the limit it is only counted."""
        if len(self._reported) < limits.DIAGNOSTICS:
            self._reported[problem] = None
        else:
            self._over_limit.append(problem)

    def discard(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Remove the diagnostics, of which any may be missing, from those reported within the limit."""
        for diagnostic in diagnostics:
            self._reported.pop(diagnostic, None)

    def merge(self, merge_by_code: Callable[[Sequence[Diagnostic]], Diagnostic]) -> None:
        """Replace several diagnostics with a subject and the same code by the one that `merge_by_code` makes of them.

        Diagnostics without a subject, or alone with their code, stay as they are. All are reported again, so that those
        over the limit may now be within it.
        """
        diagnostics = [*self._reported, *self._over_limit]
        self._reported = {}
        self._over_limit = []
        by_code: dict[str, list[Diagnostic]] = {}
        for problem in diagnostics:
            if problem.subject:
                by_code.setdefault(problem.code, []).append(problem)
            else:
                self.report(problem)
        for alike in by_code.values():
            self.report(merge_by_code(alike) if len(alike) > 1 else alike[0])

    def extend(self, other: Problems) -> None:
        """Add the diagnostics that `other` has collected, up to the same limit."""
        for problem in chain(other._reported, other._over_limit):
            self.report(problem)

    def find_places(self, code: str) -> frozenset[Span]:
        """Return the spans for which a code has been reported."""
        return frozenset(d.span for d in chain(self._reported, self._over_limit) if d.code == code)

    @property
    def has_errors(self) -> bool:
        """True if an error was reported."""
        return any(d.severity == "error" for d in chain(self._reported, self._over_limit))

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics in the order of the file, and a last one with the number of those over the limit.

        The last one (FS510) is as severe as the most severe of those that it counts, and at the place of the first of
        these.
        """
        diagnostics = sorted(self._reported, key=lambda d: (d.span.start, d.span.end, d.code))
        if self._over_limit:
            # As severe as the most severe of them.
            first = min(self._over_limit, key=lambda d: (d.rank, d.span.start))
            message = f"{number_of(len(self._over_limit), 'more problem')} after the first {limits.DIAGNOSTICS:,}"
            diagnostics.append(Diagnostic("FS510", first.severity, message, first.span, "fix those first"))
        return tuple(diagnostics)


def _shorten_message(text: str) -> str:
    """Return the text on one printable line of at most `limits.MESSAGE_CHARACTERS` and a `…`.

    In a text that is too long, quotations in backticks are cut to `MAX_QUOTATION` characters first, and then the end.
    """
    text = printable(text)
    if len(text) > limits.MESSAGE_CHARACTERS:
        parts = text.split("`")
        for place in range(1, len(parts), 2):  # every second part is a quotation
            if len(parts[place]) > MAX_QUOTATION + 1:
                parts[place] = f"{parts[place][:MAX_QUOTATION]}…"
        text = "`".join(parts)
    return text if len(text) <= limits.MESSAGE_CHARACTERS else f"{text[: limits.MESSAGE_CHARACTERS]}…"


def _quote_as_written(span: Span, name: str) -> str:
    """Return a name or value as the file must have it in place of the span: in the present quotes, and escaped.

    Without quotes at the span, the name gets the escapes of JSON only.
    """
    import json

    written = span.source.text[span.start : span.end]
    if written.startswith('"'):
        return json.dumps(name, ensure_ascii=False)
    if written.startswith(("'", '\\"')):  # a string in a formula
        quote = "'" if written[0] == "'" else '"'
        name = quote + name.replace("\\", "\\\\").replace(quote, f"\\{quote}") + quote
    return json.dumps(name, ensure_ascii=False)[1:-1]
