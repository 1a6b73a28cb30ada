"""Draw one diagnostic as text: its line underlined, its help, and where to read more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from formulaseed.diagnostics.codes import Severity
from formulaseed.source.printing import display_width, printable
from formulaseed.source.text import Span

_WIDTH = 110
_STYLES = {"error": "1;31", "warning": "1;33", "note": "1;36", "place": "34", "help": "32"}
"""The escape sequences of a terminal, by what is styled."""


class Drawable(Protocol):
    """The parts of a diagnostic that are drawn."""

    @property
    def code(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def name(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def help(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def pointer(self) -> str: ...
    @property
    def span(self) -> Span: ...
    @property
    def related(self) -> Sequence[Span]: ...


def draw(d: Drawable, *, styled: bool, explained: set[str]) -> str:
    """Return the text of a diagnostic, in colours if `styled`; with where to read more if its code is not in `explained`.

    Adds the code to `explained`.
    """

    def style(text: str, as_what: str) -> str:
        return f"\x1b[{_STYLES[as_what]}m{text}\x1b[0m" if styled else text

    place = f"  {d.pointer}" if d.pointer else ""
    lines = [
        f"{style(f'{d.severity}[{d.code}]', d.severity)} {d.name}: {printable(d.message)}",
        f"  {style('-->', 'place')} {printable(d.file)}:{d.line}:{d.column}{printable(place)}",
    ]
    if d.span.source.text:
        number = str(d.line)
        gutter = " " * len(number)
        bar = style("|", "place")
        text, underline = _excerpt(d)
        below = f"{' ' * (len(underline) - len(underline.lstrip()))}{style(underline.lstrip(), d.severity)}"
        lines += [f"{gutter} {bar}", f"{style(number, 'place')} {bar} {text}", f"{gutter} {bar} {below}"]
    lines.append(f"   = {style('help:', 'help')} {printable(d.help)}")
    if d.code not in explained:
        lines.append(f"   = more: formulaseed rule {d.code}")
        explained.add(d.code)
    return "\n".join([*lines, ""])


def _excerpt(d: Drawable) -> tuple[str, str]:
    """Return the part of the line that shows the span, and what underlines it and the related spans in this part."""
    line = d.span.source.line(d.line)
    first = 0 if len(line) <= _WIDTH else max(0, min(d.column - 31, len(line) - _WIDTH))
    last = min(len(line), first + _WIDTH)
    at = first
    underline = " " if first else ""
    for start, end in _underlined_parts(d, line):
        if at <= start <= last:
            end = min(end, last)
            width = max(1, display_width(printable(line[start:end])))
            underline += " " * display_width(printable(line[at:start])) + "^" * width
            at = max(start, end)
    return f"{'…' if first else ''}{printable(line[first:last])}{'…' if last < len(line) else ''}", underline


def _underlined_parts(d: Drawable, line: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each part of the diagnostic's line that is underlined, in the order of the line."""
    begin = d.span.start - (d.column - 1)
    for span in sorted((d.span, *d.related), key=lambda span: span.start):
        if span is d.span or 0 <= span.start - begin <= len(line):
            yield span.start - begin, min(span.end - begin, len(line))
