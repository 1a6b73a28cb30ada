"""Renders blocks as Markdown, as GitHub reads it; what they say is text, whatever characters it has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from formulaseed.diagnostics.render import are_numbers
from formulaseed.pages import blocks
from formulaseed.pages.text import readable
from formulaseed.source.printing import printable

_ENTITY = re.compile(r"&(?=\\?#?\w+;)")
_LIST_MARKER = re.compile(r"^(\d{0,9})([-+.)])(?=\s|$)")
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|@"})


def as_markdown(document: Iterable[blocks.Block]) -> str:
    """Return the blocks as Markdown."""
    return "\n\n".join(map(_render, document)) + "\n"


def _render(block: blocks.Block) -> str:
    match block:
        case blocks.Title():
            return f"# {_render_part(block.text)}"
        case blocks.Heading(text, level):
            return f"{'#' * level} {_render_part(text)}"
        case blocks.Paragraph(line):
            return _render_line(line)
        case blocks.Items(items):
            return "\n".join(map(_render_item, items))
        case blocks.Table():
            return _render_table(block)
        case blocks.Lines():
            text = "\n".join(block.signed())
            fence = _fence(text, 3)
            return f"{fence}diff\n{text}\n{fence}"
        case blocks.Details(summary, inner):
            return f"<details><summary>{escape(summary)}</summary>\n\n{as_markdown(inner)}\n</details>"


def _render_item(item: blocks.Item | blocks.Card) -> str:
    return f"{'  ' * item.depth}- {_render_line(item.parts)}"


def _render_table(table: blocks.Table) -> str:
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
    return _render_part(text).replace("|", "\\|") if isinstance(text, blocks.Code) else _render_part(text)


def _render_line(line: blocks.Line) -> str:
    """Return a line that does not begin a list."""
    return _LIST_MARKER.sub(r"\1\\\2", "".join(map(_render_part, blocks.parts_of(line))))


def _render_part(text: str) -> str:
    """Return a part of a line, escaped; `blocks.Code` becomes a span, in more backticks than it has in a row."""
    if not isinstance(text, blocks.Code):
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
