"""Renders blocks as GitHub's Markdown; every special character in their strings is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from formulaseed.diagnostics.render import are_numbers
from formulaseed.pages import blocks
from formulaseed.pages.text import readable
from formulaseed.source.printing import printable

_AMPERSAND_OF_ENTITY = re.compile(r"&(?=\\?#?\w+;)")
_LIST_MARKER = re.compile(r"^(\d{0,9})([-+.)])(?=\s|$)")
_ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|@"})


def as_markdown(document: Iterable[blocks.Block]) -> str:
    """Return the blocks as Markdown."""
    return "\n\n".join(map(_render, document)) + "\n"


def _render(block: blocks.Block) -> str:
    """Return a block as Markdown without a line end; special characters of its strings are escaped."""
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
        case blocks.ChangedLines():
            text = "\n".join(block.diff)
            fence = _choose_fence(text, 3)
            return f"{fence}diff\n{text}\n{fence}"
        case blocks.Details(summary, inner):
            return f"<details><summary>{escape(summary)}</summary>\n\n{as_markdown(inner)}\n</details>"


def _render_item(item: blocks.ListItem | blocks.Card) -> str:
    """Return a line of a list, indented by two spaces for each level of its depth."""
    return f"{'  ' * item.depth}- {_render_line(item.parts)}"


def _render_table(table: blocks.Table) -> str:
    """Return a table with its columns of numbers aligned to the right, and its marked row in bold."""
    columns = range(len(table.columns))
    alignments = ["--:" if are_numbers(row[column] for row in table.rows) else "---" for column in columns]
    lines = [[*map(_render_cell, table.columns)], alignments]
    for number, row in enumerate(table.rows):
        cells = [*map(_render_cell, row)]
        if number == table.marked:
            cells = [f"**{cell}**" if cell else "" for cell in cells]
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _render_cell(text: str) -> str:
    """Return a cell's text; in a table a bar must be escaped also inside code."""
    cell = _render_part(text)
    return cell.replace("|", "\\|") if isinstance(text, blocks.InlineCode) else cell


def _render_line(line: blocks.Line) -> str:
    """Return a line with its special characters escaped, also a list marker at its beginning."""
    return _LIST_MARKER.sub(r"\1\\\2", "".join(map(_render_part, blocks.line_parts(line))))


def _render_part(text: str) -> str:
    """Return a part of a line with its special characters escaped; `InlineCode` becomes a code span."""
    if isinstance(text, blocks.InlineCode):
        return _render_code_span(printable(text))
    escaped = _AMPERSAND_OF_ENTITY.sub(r"\\&", readable(text).translate(_ESCAPES))
    # `readable` strips the spaces that separate this part from the next
    before = " " if text.startswith(" ") else ""
    after = " " if text.endswith(" ") and escaped else ""
    return f"{before}{escaped}{after}"


def _render_code_span(text: str) -> str:
    """Return a text as a code span, or an empty string for a blank text, which Markdown cannot show as code."""
    if not text.strip():
        return ""
    # Markdown takes one space off each end
    space = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    fence = _choose_fence(text, 1)
    return f"{fence}{space}{text}{space}{fence}"


def _choose_fence(text: str, min_length: int) -> str:
    """Return a fence of at least `min_length` backticks, which is longer than every run of backticks in the text."""
    return "`" * max(min_length, *(len(run) + 1 for run in re.findall("`+", text)), 0)
