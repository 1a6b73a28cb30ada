"""Renders blocks as text for a terminal, at most 100 columns wide if the words allow it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from formulaseed.diagnostics.render import format_table
from formulaseed.pages import blocks
from formulaseed.source.printing import printable
from formulaseed.source.text import one_line

_WIDTH = 100


def as_text(document: Iterable[blocks.Block]) -> str:
    """Return the blocks as text with a line end; characters that control a terminal are escaped.

    There is at most one blank line in a row, and none at either end.
    """
    text = "\n".join(map(_render, document))
    return re.sub("\n{3,}", "\n\n", text).strip("\n") + "\n"


def readable(text: str) -> str:
    """Return a string on one line, without white space around it; characters that control a terminal are escaped."""
    return printable(one_line(text))


def _render(block: blocks.Block) -> str:
    """Return a block as lines of text; headings, tables, changes and details also have blank lines."""
    match block:
        case blocks.Title():
            return _underline(block.text)
        case blocks.Heading(text, 1):
            return _underline(text)
        case blocks.Heading(text):
            return f"\n{readable(text)}\n"
        case blocks.Paragraph(line):
            return _wrap(line)
        case blocks.Items(items):
            return "\n".join(map(_render_item, items))
        case blocks.Table():
            return _render_table(block)
        case blocks.ChangedLines():
            return "\n".join([*(f"    {line}" for line in block.diff), ""])
        case blocks.Details(_, inner):
            return f"\n{as_text(inner)}"


def _underline(text: str) -> str:
    """Return a heading with a line of equals signs below it."""
    text = readable(text)
    return f"{text}\n{'=' * len(text)}\n"


def _render_item(item: blocks.ListItem | blocks.Card) -> str:
    """Return an item as wrapped lines, indented by two spaces for each level of its depth."""
    return _wrap(item.parts, f"{'  ' * item.depth}- ")


def _render_table(table: blocks.Table) -> str:
    """Return a table with a blank line above and below; a `>` precedes the marked row."""
    lines = []
    for number, line in enumerate(format_table([table.columns, *table.rows]).split("\n")):
        is_marked = table.marked is not None and number == table.marked + 1  # the first line has the columns' names
        margin = "> " if is_marked else "  "
        lines.append(margin + line)
    return "\n".join(["", *lines, ""])


def _wrap(line: blocks.Line, lead: str = "") -> str:
    """Return a line wrapped at 100 columns, with `lead` before its first line and as many spaces before the others."""
    return textwrap.fill(
        readable("".join(blocks.line_parts(line))),
        _WIDTH,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )
