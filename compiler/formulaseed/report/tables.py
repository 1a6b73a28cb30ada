"""A report as data, headings, sentences, tables and changed lines, and its three renderings: text, Markdown, HTML.

What comes from a seed or from data (`Code`) is hostile: it is shown as code, on one line, where nothing is markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from formulaseed.diagnostics.model import printable
from formulaseed.diagnostics.render import aligned, are_numbers
from formulaseed.language.types import Value


class Code(str):
    """A string that comes from a seed or from data."""

    __slots__ = ()


Cell = str
"""A cell or a part of a sentence: `Code`, or words of ours."""


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    parts: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a seed that are gone, and those that came."""

    before: tuple[str, ...]
    after: tuple[str, ...]

    def marked(self) -> list[str]:
        """Return the lines, each with its sign."""
        return [*(f"- {printable(line)}" for line in self.before), *(f"+ {printable(line)}" for line in self.after)]


@dataclass(frozen=True, slots=True)
class Details:
    """The long part, which Markdown and HTML show when they are asked to."""

    summary: str
    blocks: tuple[Block, ...]


Block = Heading | Sentence | Table | Lines | Details


def sentence(*parts: Cell) -> Sentence:
    """Return a sentence of words and `Code`."""
    return Sentence(parts)


def listed(names: Iterable[str], most: int = 12) -> list[Cell]:
    """Return names of a seed as parts of a sentence, those over `most` as a number."""
    found = list(names)
    parts = [part for name in found[:most] for part in (Code(name), ", ")][:-1]
    return [*parts, f" and {len(found) - most} more"] if len(found) > most else parts


def value_cell(value: Value) -> Cell:
    """Return a value of a step as people read it: numbers with six digits, strings without quotes."""
    if isinstance(value, str):
        return Code(value)
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def change_cell(change: float) -> Cell:
    """Return the difference of two numbers, with its sign."""
    return f"{change:+.4g}"


# --- text


def as_text(blocks: Sequence[Block]) -> str:
    """Return the report for a terminal."""
    text, last = "", None
    for block in blocks:
        is_close = isinstance(last, Heading) or isinstance(block, Lines)  # to what is before it
        text += ("" if last is None else "\n" if is_close else "\n\n") + "\n".join(_text_lines(block))
        last = block
    return f"{text}\n"


def _text_lines(block: Block) -> list[str]:
    match block:
        case Heading(text):
            return [printable(text)]
        case Sentence(parts):
            return [printable("".join(parts))]
        case Table(columns, rows):
            return [f"  {line}" for line in aligned([columns, *rows]).split("\n")]
        case Lines():
            return [f"    {line}" for line in block.marked()]
        case Details(_, blocks):
            return as_text(blocks).rstrip("\n").split("\n")


# --- Markdown, as GitHub reads it


def as_markdown(blocks: Sequence[Block]) -> str:
    """Return the report for a comment on a pull request."""
    return "\n\n".join(map(_markdown, blocks)) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text):
            return f"**{text}**"
        case Sentence(parts):
            return "".join(map(_markdown_cell, parts))
        case Table(columns, rows):
            signs = ["--:" if are_numbers(row[place] for row in rows) else "---" for place in range(len(columns))]
            lines = [map(_table_cell, columns), signs, *(map(_table_cell, row) for row in rows)]
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)
        case Lines():
            text = "\n".join(block.marked())
            fence = _fence(text, 3)
            return f"{fence}diff\n{text}\n{fence}"
        case Details(summary, blocks):
            return f"<details><summary>{escape(summary)}</summary>\n\n{as_markdown(blocks)}\n</details>"


def _table_cell(cell: Cell) -> str:
    return _markdown_cell(cell).replace("|", "\\|")


def _markdown_cell(cell: Cell) -> str:
    """Return a cell as a span of code where it is `Code`, in more backticks than it has in a row."""
    if not isinstance(cell, Code):
        return cell
    text = printable(cell)
    if not text.strip():
        return ""
    space = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    fence = _fence(text, 1)
    return f"{fence}{space}{text}{space}{fence}"


def _fence(text: str, least: int) -> str:
    return "`" * max(least, *(len(run) + 1 for run in re.findall("`+", text)), 0)


# --- HTML


def as_html(blocks: Sequence[Block]) -> str:
    """Return the report as a part of an HTML page, such as a notebook's."""
    return "".join(map(_html, blocks))


def _html(block: Block) -> str:
    match block:
        case Heading(text):
            return f"<h4>{escape(printable(text))}</h4>"
        case Sentence(parts):
            return f"<p>{''.join(map(_html_cell, parts))}</p>"
        case Table(columns, rows):
            head = "".join(f"<th>{_html_cell(cell)}</th>" for cell in columns)
            body = "".join(f"<tr>{''.join(f'<td>{_html_cell(cell)}</td>' for cell in row)}</tr>" for row in rows)
            return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        case Lines():
            return f"<pre>{escape(chr(10).join(block.marked()))}</pre>"
        case Details(summary, blocks):
            return f"<details><summary>{escape(summary)}</summary>{as_html(blocks)}</details>"


def _html_cell(cell: Cell) -> str:
    text = escape(printable(cell))
    return f"<code>{text}</code>" if isinstance(cell, Code) else text
