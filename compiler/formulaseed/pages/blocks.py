"""Holds a document as data: headings, paragraphs, lists, tables, cards and changed lines, for renderers to write out.

Strings of a seed or of data are hostile: every renderer prints them literally and treats none of them as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from formulaseed.source.printing import printable

MAX_LISTED_NAMES = 12


class InlineCode(str):
    """A name or a formula inside a line, which renderers print as code."""

    __slots__ = ()


class Mark(str):
    """A highlighted part of a line: the characters that decided, such as the key that a lookup matched."""

    __slots__ = ()


class Badge(str):
    """A verdict inside a line; `shade` is the CSS class of its colour in a page."""

    __slots__ = ("shade",)
    shade: str

    def __new__(cls, text: str, shade: str) -> Badge:
        """Create the string with its shade."""
        badge = super().__new__(cls, text)
        badge.shade = shade
        return badge


Line = str | tuple[str, ...]
"""One line: a string, or a tuple of parts, each a plain string, `InlineCode`, `Mark` or `Badge`."""


def line_parts(line: Line) -> tuple[str, ...]:
    """Return the parts of a line; a line that is a string has one part."""
    return (line,) if isinstance(line, str) else line


@dataclass(frozen=True, slots=True)
class Title:
    """The head of a document about one thing: the name of that thing, and its result with a `label` before it."""

    name: str
    identifier: str
    about: str
    label: str
    result: Badge

    @property
    def text(self) -> str:
        """The name, the identifier in parentheses if it is another, and the result, on one line."""
        name = f"{self.name} ({self.identifier})" if self.name != self.identifier else self.name
        return f"{name}: {self.result}"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; `level` 1 is the highest, as in HTML."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One or more sentences. `tone` is the CSS class of the paragraph in a page."""

    line: Line
    tone: Literal["", "note", "failure"] = ""


@dataclass(frozen=True, slots=True)
class ListItem:
    """An item of a list; `depth` 0 is the outermost. `detail` continues the line, and a page prints it below the line."""

    line: Line
    depth: int = 0
    detail: Line = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the line and its detail, to print on one line."""
        return (*line_parts(self.line), *line_parts(self.detail))


@dataclass(frozen=True, slots=True)
class Card:
    """A list item about one thing, such as a review, which a page draws as a card.

    `quote` are the thing's own words, introduced by `source`; `note` says what the thing contributes.
    """

    name: str
    about: str
    fields: str
    source: str
    quote: str
    note: str = ""
    depth: int = 0

    @property
    def parts(self) -> tuple[str, ...]:
        """The card as the only part of a line."""
        return (self.text,)

    @property
    def text(self) -> str:
        """The card on one line, for renderers without cards; empty members are left out."""
        text = self.name
        if self.about:
            text += f" ({self.about})"
        if self.fields:
            text += f": {self.fields}"
        if self.quote:
            text += f"; {self.source}“{self.quote}”"
        if self.note:
            text += f", {self.note}"
        return text


@dataclass(frozen=True, slots=True)
class Items:
    """A list; an item is a child of the last item before it that has a smaller depth."""

    items: Sequence[ListItem | Card]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `marked` is the position of the row that applies, or None. Columns of numbers are aligned to the right.

    A reader of a page can sort a table that `is_sortable` by a click on the name of a column.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    marked: int | None = None
    is_sortable: bool = False


class Bar(NamedTuple):
    """A bar of a chart between two positions, in percent of its axis. `shade` is its CSS class, `text` is written in it."""

    before: float
    after: float
    shade: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Waterfall(Table):
    """A table of a sum whose rows a page draws as bars, each from the sum before the row to the sum after it.

    Each row has a bar, and the reviews behind it. `zones` are bars that divide the axis, and `limits` are the positions between
    them, each with its number. Renderers without charts write the table.
    """

    bars: Sequence[Bar] = ()
    reviews: Sequence[Sequence[Card | ListItem]] = ()
    zones: Sequence[Bar] = ()
    limits: Sequence[tuple[float, str]] = ()


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """The lines that were removed from a seed (`before`), and the lines that were added to it (`after`)."""

    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def diff(self) -> list[str]:
        """The lines as in a diff: removed lines with a minus sign, then added lines with a plus sign."""
        return [*(f"- {printable(line)}" for line in self.before), *(f"+ {printable(line)}" for line in self.after)]


@dataclass(frozen=True, slots=True)
class Details:
    """A long part of a document; Markdown and pages print its summary, and the blocks only when a reader opens it.

    In a page the summary is a heading.
    """

    summary: str
    blocks: tuple[Block, ...]


Block = Title | Heading | Paragraph | Items | Table | ChangedLines | Details


def sentence(*parts: str) -> Paragraph:
    """Return a paragraph of one line that consists of these parts, joined without spaces."""
    return Paragraph(parts)


def join_names(names: Iterable[str]) -> list[str]:
    """Return names as code with commas between them; those after the first 12 are only counted.

    The result is a list of parts of a line, empty without names.
    """
    all_names = list(names)
    parts: list[str] = []
    for name in all_names[:MAX_LISTED_NAMES]:
        parts += [", ", InlineCode(name)]
    more = len(all_names) - MAX_LISTED_NAMES
    if more > 0:
        parts.append(f" and {more} more")
    return parts[1:]
