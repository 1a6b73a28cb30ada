"""Draws diagnostics as text for people and as JSON for tools; and tables as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from formulaseed.diagnostics.model import Diagnostic, number_of, printable

_WIDTH = 110
_NUMBER = re.compile(r"[-+]?[0-9][0-9,.]*(e[-+]?[0-9]+)?%?|-?")
"""What is in a column of numbers; where there is none, nothing or a dash."""


def render_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Return every diagnostic with its line underlined, its help, and where to read more."""
    return "\n".join(_draw(d) for d in diagnostics)


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    import json

    return json.dumps([d.to_json() for d in diagnostics], indent=2, ensure_ascii=False) + "\n"


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """Return `2 errors, 1 warning`, or an empty string if there are none."""
    numbers = Counter(d.severity for d in diagnostics)
    return ", ".join(number_of(number, severity) for severity, number in sorted(numbers.items()))


def _draw(d: Diagnostic) -> str:
    place = f"  {d.pointer}" if d.pointer else ""
    lines = [
        f"{d.severity}[{d.code}] {d.name}: {printable(d.message)}",
        f"  --> {printable(d.file)}:{d.line}:{d.column}{printable(place)}",
    ]
    if d.span.source.text:
        gutter = " " * len(str(d.line))
        text, before, width = _excerpt(d)
        lines += [f"{gutter} |", f"{d.line} | {text}", f"{gutter} | {' ' * before}{'^' * width}"]
    lines += [f"   = help: {printable(d.help)}", f"   = more: formulaseed rule {d.code}", ""]
    return "\n".join(lines)


def _excerpt(d: Diagnostic) -> tuple[str, int, int]:
    """Return the part of the line that shows the span, the indentation of the underline, and its length."""
    line, start = d.span.source.line(d.line), d.column - 1
    end = d.end_column - 1 if d.end_line == d.line else len(line)
    first = 0 if len(line) <= _WIDTH else max(0, min(start - 30, len(line) - _WIDTH))
    last = min(len(line), first + _WIDTH)
    edges = (first, start, min(end, last), last)
    shown = [printable(line[a:b]) for a, b in pairwise(edges)]
    head = "…" if first else ""
    tail = "…" if last < len(line) else ""
    return f"{head}{''.join(shown)}{tail}", len(head) + columns(shown[0]), max(1, columns(shown[1]))


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
    """Return whether there is a number in a column, and nothing else."""
    cells = list(column)
    return any(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)
