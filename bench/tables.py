"""Plain aligned tables: names on the left, numbers on the right, the aim behind them where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line of a table: what was measured, its figures, and the aim."""

    name: str
    cells: tuple[str, ...]
    aim: str = ""


def table(title: str, columns: Sequence[str], lines: Sequence[Line], notes: Sequence[str] = ()) -> str:
    """The table as text; a column is as wide as its widest cell."""
    left = max(len(line.name) for line in lines)
    widths = [max(len(column), *(len(line.cells[i]) for line in lines)) for i, column in enumerate(columns)]
    head = "  ".join([" " * left, *(column.rjust(width) for column, width in zip(columns, widths, strict=True))])
    drawn = [title, "", f"  {head}{'   aim' if any(line.aim for line in lines) else ''}"]
    for line in lines:
        cells = [cell.rjust(width) for cell, width in zip(line.cells, widths, strict=True)]
        drawn.append(f"  {'  '.join([line.name.ljust(left), *cells])}   {line.aim}".rstrip())
    return "\n".join([*drawn, *([""] if notes else []), *(f"  {note}" for note in notes), ""])
