"""Headings, paragraphs, lists and tables, as text for a terminal and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list; each item with its depth, from 0."""

    items: Sequence[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `marked` is the row to be marked, if any."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    marked: int | None = None


Block = Heading | Paragraph | Items | Table


def as_text(blocks: Sequence[Block]) -> str:
    """Return the blocks for a terminal, at most 100 columns wide where their words allow it."""
    return "\n".join(_text(block) for block in blocks).strip("\n") + "\n"


def _text(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{text}\n{'=' * len(text)}\n" if level == 1 else f"\n{text}\n"
        case Paragraph(text):
            return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
        case Items(items):
            return "\n".join(_item(depth, text) for depth, text in items)
        case Table(columns, rows, marked):
            widths = [max(len(row[at]) for row in (columns, *rows)) for at in range(len(columns))]
            lines = []
            for number, row in enumerate((columns, *rows)):
                lead = "> " if marked is not None and number == marked + 1 else "  "
                lines.append(
                    (lead + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
                )
            return "\n".join(lines)


def _item(depth: int, text: str) -> str:
    lead = "  " * depth + "- "
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )


_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|"})


def as_markdown(blocks: Sequence[Block]) -> str:
    """Return the blocks as Markdown; what they say is text, whatever characters it has."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return " ".join(text.split()).translate(_SPECIAL)


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {escaped(text)}"
        case Paragraph(text):
            return escaped(text)
        case Items(items):
            return "\n".join(f"{'  ' * depth}- {escaped(text)}" for depth, text in items)
        case Table(columns, rows, marked):
            lines = [_row(columns), _row(["---"] * len(columns), plain=True)]
            for number, row in enumerate(rows):
                cells = [f"**{escaped(cell)}**" if number == marked and cell else escaped(cell) for cell in row]
                lines.append(_row(cells, plain=True))
            return "\n".join(lines)


def _row(cells: Sequence[str], *, plain: bool = False) -> str:
    return f"| {' | '.join(cell if plain else escaped(cell) for cell in cells)} |"
