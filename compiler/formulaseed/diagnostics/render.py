"""Draws diagnostics as text for people and as JSON for tools; and tables as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from formulaseed.diagnostics.codes import SEVERITIES
from formulaseed.diagnostics.model import Diagnostic, number_of, printable

_WIDTH = 110
_NUMBER = re.compile(r"[-+]?[0-9][0-9,.]*(e[-+]?[0-9]+)?%?|-?")
"""A cell in a column of numbers: a number, nothing or a dash."""


_STYLES = {"error": "1;31", "warning": "1;33", "note": "1;36", "place": "34", "help": "32"}
"""The escape sequences of a terminal, by what is styled."""


def render_text(diagnostics: Iterable[Diagnostic], *, styled: bool = False, explained: set[str] | None = None) -> str:
    """Return every diagnostic, the worst first, with its line underlined, its help, and for each code where to read more.

    `styled` adds the escape sequences of colours. `explained` holds the codes for which that has been said already, and
    gets those of these diagnostics.
    """
    said = explained if explained is not None else set()
    return "\n".join(_draw(d, styled, said) for d in sorted(diagnostics, key=lambda d: d.rank))


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the diagnostics as a JSON array, one object each."""
    import json

    return json.dumps([d.to_json() for d in diagnostics], indent=2, ensure_ascii=False) + "\n"


def render_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Return workflow commands, one a line, that GitHub shows as annotations of the files."""
    return "".join(f"{_annotation(d)}\n" for d in diagnostics)


def _annotation(d: Diagnostic) -> str:
    def escape(text: str, also: str = "") -> str:
        return "".join(f"%{ord(c):02X}" if c in f"%\r\n{also}" else c for c in text)

    level = "notice" if d.severity == "note" else d.severity
    where = {"file": d.file, "line": d.line, "endLine": d.end_line}
    if d.line == d.end_line:  # columns belong to a single line
        where |= {"col": d.column, "endColumn": d.end_column}
    values = {**where, "title": f"{d.code} {d.name}"}
    properties = ",".join(f"{key}={escape(str(value), ':,')}" for key, value in values.items())
    return f"::{level} {properties}::{escape(d.message)}%0Ahelp: {escape(d.help)}"


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """Return `2 errors, 1 warning`, or an empty string if there are none."""
    numbers = Counter(d.severity for d in diagnostics)
    return ", ".join(number_of(numbers[severity], severity) for severity in SEVERITIES if numbers[severity])


def _draw(d: Diagnostic, styled: bool, explained: set[str]) -> str:
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


def _excerpt(d: Diagnostic) -> tuple[str, str]:
    """Return the part of the line that shows the span, and what underlines it and the related spans in this part."""
    line = d.span.source.line(d.line)
    first = 0 if len(line) <= _WIDTH else max(0, min(d.column - 31, len(line) - _WIDTH))
    last = min(len(line), first + _WIDTH)
    at = first
    underline = " " if first else ""
    for start, end in _underlined_parts(d, line):
        if at <= start <= last:
            end = min(end, last)
            width = max(1, columns(printable(line[start:end])))
            underline += " " * columns(printable(line[at:start])) + "^" * width
            at = max(start, end)
    return f"{'…' if first else ''}{printable(line[first:last])}{'…' if last < len(line) else ''}", underline


def _underlined_parts(d: Diagnostic, line: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each part of the diagnostic's line that is underlined, in the order of the line."""
    begin = d.span.start - (d.column - 1)
    for span in sorted((d.span, *d.related), key=lambda span: span.start):
        if span is d.span or 0 <= span.start - begin <= len(line):
            yield span.start - begin, min(span.end - begin, len(line))


def columns(text: str) -> int:
    """Return how many columns of a terminal the text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    import unicodedata

    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return a table, whose first row is its head: columns of equal width, those of numbers to the right."""
    cells = [[printable(cell) for cell in row] for row in rows]
    lines = [""] * len(cells)
    for column in zip(*cells, strict=True):
        width = max(map(columns, column))
        is_number = are_numbers(column[1:])
        for place, cell in enumerate(column):
            space = " " * (width - columns(cell))
            lines[place] += f"  {space}{cell}" if is_number else f"  {cell}{space}"
    return "\n".join(line[2:].rstrip() for line in lines)


def are_numbers(column: Iterable[str]) -> bool:
    """Return True if there is a number in a column, and nothing else."""
    cells = list(column)
    return any(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)
