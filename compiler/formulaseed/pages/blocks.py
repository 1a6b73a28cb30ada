"""A document as data: headings, paragraphs, lists, tables, cards and changed lines, which renderers make text or pages of.

Strings of a seed or of data are hostile: every renderer shows them as they are, and takes none of them for markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from formulaseed.source.printing import printable

MAX_LISTED_NAMES = 12


class Code(str):
    """A name or a formula, shown as code."""

    __slots__ = ()


class Mark(str):
    """The part of a string that decided, such as the key that a lookup found."""

    __slots__ = ()


class Badge(str):
    """A verdict; `shade` is the class of its colour in a page."""

    __slots__ = ("shade",)
    shade: str

    def __new__(cls, text: str, shade: str) -> Badge:
        badge = super().__new__(cls, text)
        badge.shade = shade
        return badge


Line = str | tuple[str, ...]
"""Words on one line, or their parts: plain strings, `Code`, `Mark` and `Badge`."""


def parts_of(line: Line) -> tuple[str, ...]:
    """Return the parts of a line."""
    return (line,) if isinstance(line, str) else line


@dataclass(frozen=True, slots=True)
class Title:
    """The head of a document about one thing: what it is called, and the result."""

    name: str
    identifier: str
    about: str
    label: str
    result: Badge

    @property
    def text(self) -> str:
        """The title on one line."""
        name = f"{self.name} ({self.identifier})" if self.name != self.identifier else self.name
        return f"{name}: {self.result}"


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or several. `tone` is that of a page."""

    line: Line
    tone: Literal["", "note", "failure"] = ""


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list at a depth, from 0. `detail` continues the line; a page shows it below."""

    line: Line
    depth: int = 0
    detail: Line = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The line and its detail as one line."""
        return (*parts_of(self.line), *parts_of(self.detail))


@dataclass(frozen=True, slots=True)
class Card:
    """An item about one thing, such as a review, which a page shows as a card.

    `quote` is what it says itself, introduced by `source`; `note` is what it contributes.
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
        """The card on one line."""
        return (self.text,)

    @property
    def text(self) -> str:
        """The card as a string."""
        about = f" ({self.about})" if self.about else ""
        fields = f": {self.fields}" if self.fields else ""
        quote = f"; {self.source}“{self.quote}”" if self.quote else ""
        note = f", {self.note}" if self.note else ""
        return f"{self.name}{about}{fields}{quote}{note}"


@dataclass(frozen=True, slots=True)
class Items:
    """A list; an item with a greater depth is below the last one with a smaller depth."""

    items: Sequence[Item | Card]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `marked` is the position of the row that applies, if any. Columns of numbers are aligned to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    marked: int | None = None


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a seed that were removed, and those that were added."""

    before: tuple[str, ...]
    after: tuple[str, ...]

    def signed(self) -> list[str]:
        """Return the lines, each with its sign."""
        return [*(f"- {printable(line)}" for line in self.before), *(f"+ {printable(line)}" for line in self.after)]


@dataclass(frozen=True, slots=True)
class Details:
    """A long part, which Markdown and pages fold away."""

    summary: str
    blocks: tuple[Block, ...]


Block = Title | Heading | Paragraph | Items | Table | Lines | Details


def sentence(*parts: str) -> Paragraph:
    """Return a paragraph of these parts."""
    return Paragraph(parts)


def join_names(names: Iterable[str]) -> list[str]:
    """Return names of a seed as parts of a sentence; those over `MAX_LISTED_NAMES` are counted."""
    listed = list(names)
    parts: list[str] = []
    for name in listed[:MAX_LISTED_NAMES]:
        parts += [", ", Code(name)] if parts else [Code(name)]
    more = len(listed) - MAX_LISTED_NAMES
    return [*parts, f" and {more} more"] if more > 0 else parts
