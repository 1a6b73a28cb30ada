"""Renders blocks as Markdown, as GitHub reads it; what they say is text, whatever characters it has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from formulaseed.diagnostics.model import printable
from formulaseed.diagnostics.render import are_numbers
from formulaseed.pages.blocks import (
    Block,
    Card,
    Code,
    Details,
    Heading,
    Item,
    Items,
    Line,
    Lines,
    Pairs,
    Paragraph,
    Table,
    Title,
    parts_of,
)
from formulaseed.pages.text import readable

_ENTITY = re.compile(r"&(?=\\?#?\w+;)")
_LIST_MARKER = re.compile(r"^(\d{0,9})([-+.)])(?=\s|$)")
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|@"})


def as_markdown(blocks: Iterable[Block]) -> str:
    """Return the blocks as Markdown."""
    return "\n\n".join(map(_render, blocks)) + "\n"


def _render(block: Block) -> str:
    match block:
        case Title():
            return f"# {_render_part(block.text)}"
        case Heading(text, level):
            return f"{'#' * level} {_render_part(text)}"
        case Paragraph(line):
            return _render_line(line)
        case Items(items):
            return "\n".join(map(_render_item, items))
        case Table():
            return _render_table(block)
        case Pairs(pairs):
            return "\n".join(f"- {_render_line(f'{name}: {value}')}" for name, value in pairs)
        case Lines():
            text = "\n".join(block.signed())
            fence = _fence(text, 3)
            return f"{fence}diff\n{text}\n{fence}"
        case Details(summary, blocks):
            return f"<details><summary>{escape(summary)}</summary>\n\n{as_markdown(blocks)}\n</details>"


def _render_item(item: Item | Card) -> str:
    detail = item.detail if isinstance(item, Item) else ()
    return f"{'  ' * item.depth}- {_render_line((*parts_of(item.line), *parts_of(detail)))}"


def _render_table(table: Table) -> str:
    columns = range(len(table.columns))
    signs = ["--:" if are_numbers(row[column] for row in table.rows) else "---" for column in columns]
    lines = [[*map(_render_cell, table.columns)], signs]
    for number, row in enumerate(table.rows):
        cells = [*map(_render_cell, row)]
        if number == table.marked:
            cells = [f"**{cell}**" if cell else "" for cell in cells]
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _render_cell(text: str) -> str:
    """Return a cell; a bar is escaped in code, too."""
    return _render_part(text).replace("|", "\\|") if isinstance(text, Code) else _render_part(text)


def _render_line(line: Line) -> str:
    """Return a line that does not begin a list."""
    return _LIST_MARKER.sub(r"\1\\\2", "".join(map(_render_part, parts_of(line))))


def _render_part(text: str) -> str:
    """Return a part of a line, escaped; `Code` becomes a span, in more backticks than it has in a row."""
    if not isinstance(text, Code):
        escaped = _ENTITY.sub(r"\\&", readable(text).translate(_SPECIAL))
        after = " " if text.endswith(" ") and escaped else ""
        return f"{' ' if text.startswith(' ') else ''}{escaped}{after}"
    text = printable(text)
    if not text.strip():
        return ""
    space = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    fence = _fence(text, 1)
    return f"{fence}{space}{text}{space}{fence}"


def _fence(text: str, least: int) -> str:
    """Return a fence of at least so many backticks, and of more than the text has in a row."""
    return "`" * max(least, *(len(run) + 1 for run in re.findall("`+", text)), 0)
