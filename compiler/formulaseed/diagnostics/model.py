"""A diagnostic: one problem of one file, as data.

In: a code, a span, the words. Out: an object that `render` turns into text or JSON. Never prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from formulaseed import limits
from formulaseed.diagnostics.codes import CODES, Severity
from formulaseed.source.text import Span
from formulaseed.wording import number_of

JsonDict = dict[str, str | int]


class Help(str):
    """A help line that says exactly what to write in place of what the diagnostic underlines: `replacement`.

    It `is_safe` where no other reading of what is written exists, so that `--fix` may apply it: a typo in one known
    name. Any other is for the author to accept; the compiler only reads on as if it were there.
    """

    __slots__ = ("is_safe", "replacement")
    replacement: str
    is_safe: bool

    def __new__(cls, text: str, replacement: str, *, is_safe: bool = True) -> Help:
        line = super().__new__(cls, text)
        line.replacement = replacement
        line.is_safe = is_safe
        return line


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that cannot alter what a file means: the source's text at `span` becomes `text`."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem. `message` is one lower-case line without a full stop, `help` what to type instead.

    `fix` is there where only one reading is possible.
    """

    code: str
    severity: Severity
    message: str
    span: Span
    help: str
    fix: Fix | None = None

    @property
    def name(self) -> str:
        return CODES[self.code].name

    @property
    def file(self) -> str:
        return self.span.source.name

    @property
    def brief(self) -> str:
        """The place, the code and the message on one line."""
        return f"{self.file}:{self.line}:{self.column}: {self.code} {self.message}"

    @property
    def pointer(self) -> str:
        """JSON Pointer (RFC 6901) to the value in the seed."""
        return self.span.pointer

    @property
    def line(self) -> int:
        return self.span.source.position(self.span.start)[0]

    @property
    def column(self) -> int:
        return self.span.source.position(self.span.start)[1]

    @property
    def end_line(self) -> int:
        return self.span.source.position(self.span.end)[0]

    @property
    def end_column(self) -> int:
        return self.span.source.position(self.span.end)[1]

    def to_json(self) -> JsonDict:
        """The fields that `--format json` prints."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "file": self.file,
            "pointer": self.pointer,
            "line": self.line,
            "column": self.column,
            "end_line": self.end_line,
            "end_column": self.end_column,
            "help": self.help,
        }


def strictly(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics with warnings made errors."""
    return tuple(replace(d, severity="error") for d in diagnostics)


def printable(text: str) -> str:
    """The text on one line, with escapes for what a terminal would act on or hide."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c == "\t" else ascii(c)[1:-1] for c in text)


class Problems:
    """Gathers diagnostics while a phase runs; `sorted()` gives them in the order of the file.

    Those over a limit that nobody reads are only counted, and a last diagnostic says so.
    """

    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}
        self._untold: dict[Severity, list[Span]] = {}

    def add(self, code: str, span: Span, message: str, help: str) -> None:
        severity = CODES[code].severity
        if len(self._found) >= limits.DIAGNOSTICS:
            self._untold.setdefault(severity, []).append(span)
            return
        fix = Fix(span, _as_written(span, help.replacement)) if isinstance(help, Help) and help.is_safe else None
        found = Diagnostic(code, severity, _readable(message), span, _readable(help), fix)
        self._found[found] = None

    def discard(self, found: Iterable[Diagnostic]) -> None:
        for diagnostic in found:
            self._found.pop(diagnostic, None)

    def extend(self, other: Problems) -> None:
        """Add what another one has gathered, up to the same limit."""
        for found in other._found:
            if len(self._found) < limits.DIAGNOSTICS:
                self._found[found] = None
            else:
                self._untold.setdefault(found.severity, []).append(found.span)
        for severity, spans in other._untold.items():
            self._untold.setdefault(severity, []).extend(spans)

    @property
    def has_errors(self) -> bool:
        return "error" in self._untold or any(d.severity == "error" for d in self._found)

    def sorted(self) -> tuple[Diagnostic, ...]:
        return (*sorted(self._found, key=lambda d: (d.span.start, d.span.end, d.code)), *self._others())

    def _others(self) -> Iterator[Diagnostic]:
        """What is told in place of those over the limit."""
        number = sum(map(len, self._untold.values()))
        for severity, spans in sorted(self._untold.items())[:1]:  # errors before warnings
            message = f"{number_of(number, 'more problem')} after the first {limits.DIAGNOSTICS:,} that were found"
            yield Diagnostic("FS510", severity, message, min(spans, key=lambda span: span.start), "mend those first")


def _readable(text: str) -> str:
    """The text on one line, with what it quotes cut short where it would be too long to be read."""
    text = printable(text)
    if len(text) > limits.MESSAGE_CHARACTERS:
        parts = text.split("`")  # every second one is a quotation
        quoted = {place: f"{part[:80]}…" for place, part in enumerate(parts) if place % 2 and len(part) > 81}
        text = "`".join(quoted.get(place, part) for place, part in enumerate(parts))
    return text if len(text) <= limits.MESSAGE_CHARACTERS else f"{text[: limits.MESSAGE_CHARACTERS]}…"


def _as_written(span: Span, name: str) -> str:
    """A name or value as it stands in a JSON file in place of the span: in the quotes that are there now."""
    import json

    written = span.source.text[span.start : span.end]
    if written.startswith('"'):
        return json.dumps(name, ensure_ascii=False)
    if written.startswith(("'", '\\"')):  # a text inside a formula
        quote = written[0] if written[0] == "'" else '"'
        name = quote + name.replace("\\", "\\\\").replace(quote, f"\\{quote}") + quote
    return json.dumps(name, ensure_ascii=False)[1:-1]
