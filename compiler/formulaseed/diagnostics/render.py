"""Render diagnostics as text for people and as JSON for tools, and tables as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from formulaseed.diagnostics.codes import SEVERITIES
from formulaseed.diagnostics.model import Diagnostic, draw
from formulaseed.source.printing import display_width, number_of, printable

_NUMBER = re.compile(r"[-+]?[0-9][0-9,.]*(e[-+]?[0-9]+)?%?|-?")
"""A cell in a column of numbers: a number, nothing or a dash."""


def render_text(diagnostics: Iterable[Diagnostic], *, styled: bool = False, explained: set[str] | None = None) -> str:
    """Return every diagnostic, the worst first, with its line underlined, its help, and a command for more.

    `styled` adds the escape sequences of colours. The command, which explains the code, is shown once for each code,
    and for none of the codes in `explained`, to which the codes of these diagnostics are added.
    """
    if explained is None:
        explained = set()
    return "\n".join(draw(d, styled=styled, explained=explained) for d in sorted(diagnostics, key=lambda d: d.rank))


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the diagnostics as a JSON array with an object for each, in their order."""
    import json

    return json.dumps([d.to_json() for d in diagnostics], indent=2, ensure_ascii=False) + "\n"


def render_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Return workflow commands, one on each line, that GitHub shows as annotations of the files."""
    return "".join(f"{_render_annotation(d)}\n" for d in diagnostics)


def _render_annotation(d: Diagnostic) -> str:
    """Return the workflow command for a diagnostic, without a line end.

    A note is a notice. The columns are left out if the span has several lines.
    """

    def escape(text: str, also: str = "") -> str:
        """Return the text with `%`, line breaks and the characters in `also` as `%` and two hexadecimal digits."""
        return "".join(f"%{ord(c):02X}" if c in f"%\r\n{also}" else c for c in text)

    level = "notice" if d.severity == "note" else d.severity
    values = {"file": d.file, "line": d.line, "endLine": d.end_line}
    if d.line == d.end_line:  # columns belong to a single line
        values |= {"col": d.column, "endColumn": d.end_column}
    values["title"] = f"{d.code} {d.name}"
    properties = ",".join(f"{key}={escape(str(value), ':,')}" for key, value in values.items())
    return f"::{level} {properties}::{escape(d.message)}%0Ahelp: {escape(d.help)}"


def summarize(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the numbers of diagnostics by severity, the worst first: `2 errors, 1 warning`; empty if none."""
    numbers = Counter(d.severity for d in diagnostics)
    return ", ".join(number_of(numbers[severity], severity) for severity in SEVERITIES if numbers[severity])


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text, whose first row is the head.

    Columns of numbers are aligned to the right, others to the left. Raises `ValueError` if the rows are not equally
    long.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    lines = [""] * len(cells)
    for column in zip(*cells, strict=True):
        width = max(map(display_width, column))
        is_number = are_numbers(column[1:])
        for row, cell in enumerate(column):
            space = " " * (width - display_width(cell))
            lines[row] += f"  {space}{cell}" if is_number else f"  {cell}{space}"
    return "\n".join(line[2:].rstrip() for line in lines)


def are_numbers(column: Iterable[str]) -> bool:
    """Return True if a column has a cell that is not empty, and all cells are numbers, empty or dashes."""
    cells = list(column)
    return any(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)
