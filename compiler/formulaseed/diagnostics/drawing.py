"""Draw one diagnostic as text: its line underlined, its help, and where to read more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from formulaseed.source.printing import display_width, printable

if TYPE_CHECKING:  # a diagnostic draws itself
    from formulaseed.diagnostics.model import Diagnostic

_EXCERPT_WIDTH = 110
"""The characters of a line that are shown."""
_STYLES = {"error": "1;31", "warning": "1;33", "note": "1;36", "place": "34", "help": "32"}
"""The escape sequences of a terminal: for a severity, the place and the help."""


def draw(d: Diagnostic, *, styled: bool, explained: set[str]) -> str:
    """Return the text of a diagnostic, in the colours of a terminal if `styled`.

    The first diagnostic of a code also names the command that explains it: if the code is not in `explained`, to which the
    code is then added.
    """

    def style(text: str, role: str) -> str:
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
        text, underline = _excerpt(d)
        below = f"{' ' * (len(underline) - len(underline.lstrip()))}{style(underline.lstrip(), d.severity)}"
        lines += [f"{gutter} {bar}", f"{style(number, 'place')} {bar} {text}", f"{gutter} {bar} {below}"]
    lines.append(f"   = {style('help:', 'help')} {printable(d.help)}")
    if d.code not in explained:
        lines.append(f"   = more: formulaseed rule {d.code}")
        explained.add(d.code)
    return "\n".join([*lines, ""])


def _excerpt(d: Diagnostic) -> tuple[str, str]:
    """Return the part of the line with the span, and the signs that underline the span and the related ones in this part."""
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
    """Yield the start and the end, within the line, of each span of the diagnostic that begins on this line, in order."""
    begin = d.span.start - (d.column - 1)
    for span in sorted((d.span, *d.related), key=lambda span: span.start):
        if span is d.span or 0 <= span.start - begin <= len(line):
            yield span.start - begin, min(span.end - begin, len(line))
