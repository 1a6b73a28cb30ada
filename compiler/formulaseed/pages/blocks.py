"""A report as data, headings, sentences, lists, tables and changed lines, and its renderings: text, Markdown, HTML.

What comes from a seed or from data is hostile: it is shown on one line, where nothing is markup; as code, if it is `Code`.
"""

from __future__ import annotations

import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from formulaseed.diagnostics.model import printable
from formulaseed.diagnostics.render import aligned, are_numbers
from formulaseed.source.text import one_line

_WIDTH = 100


class Code(str):
    """A name or a text of a seed, or of data, that is shown as code."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or several: words, or the parts of a sentence with `Code`."""

    text: str | tuple[str, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.text,) if isinstance(self.text, str) else self.text


@dataclass(frozen=True, slots=True)
class Items:
    """A list; each item with its depth, from 0."""

    items: Sequence[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `marked` is the row to be marked, if any. Columns of numbers are aligned to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    marked: int | None = None


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
    """A long part, which Markdown and HTML show when they are asked to."""

    summary: str
    blocks: tuple[Block, ...]


Block = Heading | Paragraph | Items | Table | Lines | Details


def sentence(*parts: str) -> Paragraph:
    """Return a sentence of words and `Code`."""
    return Paragraph(parts)


def listed(names: Iterable[str], most: int = 12) -> list[str]:
    """Return names of a seed as parts of a sentence, those over `most` as a number."""
    found = list(names)
    parts = [part for name in found[:most] for part in (Code(name), ", ")][:-1]
    return [*parts, f" and {len(found) - most} more"] if len(found) > most else parts


def change_cell(change: float) -> str:
    """Return the difference of two numbers, with its sign."""
    return f"{change:+.4g}"


class Analysis(ABC):
    """What is said in blocks: as text, as Markdown, and as HTML in a notebook."""

    @abstractmethod
    def _blocks(self) -> Iterable[Block]: ...

    @cached_property
    def text(self) -> str:
        """What it says, for a terminal."""
        return as_text(self._blocks())

    @cached_property
    def markdown(self) -> str:
        """What it says, for a comment on a pull request."""
        return as_markdown(self._blocks())

    def _repr_html_(self) -> str:
        return as_html(self._blocks())

    def __str__(self) -> str:
        return self.text


# --- text


def as_text(blocks: Iterable[Block]) -> str:
    """Return the blocks for a terminal, at most 100 columns wide where their words allow it."""
    text = "\n".join(map(_text, blocks))
    return re.sub("\n{3,}", "\n\n", text).strip("\n") + "\n"


def _text(block: Block) -> str:
    match block:
        case Heading(text, level):
            text = _readable(text)
            return f"{text}\n{'=' * len(text)}\n" if level == 1 else f"\n{text}\n"
        case Paragraph():
            return _filled("".join(block.parts))
        case Items(items):
            return "\n".join(_filled(text, f"{'  ' * depth}- ") for depth, text in items)
        case Table(columns, rows, marked):
            lines = aligned([columns, *rows]).split("\n")
            leads = ["> " if marked is not None and number == marked + 1 else "  " for number in range(len(lines))]
            return "\n".join(["", *(lead + line for lead, line in zip(leads, lines, strict=True)), ""])
        case Lines():
            return "\n".join([*(f"    {line}" for line in block.marked()), ""])
        case Details(_, blocks):
            return f"\n{as_text(blocks)}"


def _filled(text: str, lead: str = "") -> str:
    return textwrap.fill(
        _readable(text), _WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead), break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _readable(text: str) -> str:
    """The text on one line, with what a terminal acts on as escapes."""
    return printable(one_line(text))


# --- Markdown, as GitHub reads it


_ENTITY, _LIST_MARKER = re.compile(r"&(?=\\?#?\w+;)"), re.compile(r"^(\d{0,9})([-+.)])(?=\s|$)")
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|@"})


def as_markdown(blocks: Iterable[Block]) -> str:
    """Return the blocks as Markdown; what they say is text, whatever characters it has."""
    return "\n\n".join(map(_markdown, blocks)) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_markdown_part(text)}"
        case Paragraph():
            return _markdown_line(*block.parts)
        case Items(items):
            return "\n".join(f"{'  ' * depth}- {_markdown_line(text)}" for depth, text in items)
        case Table(columns, rows, marked):
            signs = ["--:" if are_numbers(row[place] for row in rows) else "---" for place in range(len(columns))]
            lines = [[*map(_markdown_cell, columns)], signs]
            for number, row in enumerate(rows):
                cells = [*map(_markdown_cell, row)]
                lines.append([f"**{cell}**" if number == marked and cell else cell for cell in cells])
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)
        case Lines():
            text = "\n".join(block.marked())
            fence = _fence(text, 3)
            return f"{fence}diff\n{text}\n{fence}"
        case Details(summary, blocks):
            return f"<details><summary>{escape(summary)}</summary>\n\n{as_markdown(blocks)}\n</details>"


def _markdown_line(*parts: str) -> str:
    """Parts of a sentence on a line that does not begin a list."""
    return _LIST_MARKER.sub(r"\1\\\2", "".join(map(_markdown_part, parts)))


def _markdown_part(text: str) -> str:
    """Text as Markdown shows it as it is: escaped, or a span of code, in more backticks than it has in a row."""
    if not isinstance(text, Code):
        return _spaced(text, _ENTITY.sub(r"\\&", _readable(text).translate(_SPECIAL)))
    text = printable(text)
    if not text.strip():
        return ""
    space = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    fence = _fence(text, 1)
    return f"{fence}{space}{text}{space}{fence}"


def _spaced(text: str, made: str) -> str:
    """What was made of a part of a sentence, with the spaces at its ends."""
    return " " * text.startswith(" ") + made + " " * (text.endswith(" ") and bool(made))


def _markdown_cell(text: str) -> str:
    """A cell, in which a bar is escaped in code, too."""
    return _markdown_part(text).replace("|", "\\|") if isinstance(text, Code) else _markdown_part(text)


def _fence(text: str, least: int) -> str:
    return "`" * max(least, *(len(run) + 1 for run in re.findall("`+", text)), 0)


# --- HTML


def as_html(blocks: Iterable[Block]) -> str:
    """Return the blocks as a part of an HTML page, such as a notebook's."""
    return "".join(map(_html, blocks))


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{_html_part(text)}</h{level}>"
        case Paragraph():
            return f"<p>{''.join(map(_html_part, block.parts))}</p>"
        case Items(items):
            return f"<ul>{''.join(f'<li>{_html_part(text)}</li>' for _, text in items)}</ul>"
        case Table(columns, rows):
            head = "".join(f"<th>{_html_part(cell)}</th>" for cell in columns)
            body = "".join(f"<tr>{''.join(f'<td>{_html_part(cell)}</td>' for cell in row)}</tr>" for row in rows)
            return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        case Lines():
            text = "\n".join(block.marked())
            return f"<pre>{escape(text)}</pre>"
        case Details(summary, blocks):
            return f"<details><summary>{escape(summary)}</summary>{as_html(blocks)}</details>"


def _html_part(text: str) -> str:
    shown = escape(printable(text))
    return f"<code>{shown}</code>" if isinstance(text, Code) else shown
