"""Defines the text of a file and spans in it, which know their line and column. Never reads a file itself."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def tree_node(cls: type[_Class]) -> type[_Class]:
    """Make `cls` a dataclass for nodes of trees, with identity for `==` and without `repr`.

    Only the type checker knows that it is frozen: at run time a frozen class, and each of its objects, is slow to create. Every
    command creates about eighty such classes when it starts, and a large seed a million objects.
    """
    cls.__doc__ = cls.__doc__ or cls.__name__  # else `dataclass` builds one from the signature, which doubles the time
    return dataclass(slots=True, eq=False, repr=False)(cls)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_node(cls: type[_Class]) -> type[_Class]:
    """Make `cls` a dataclass like `tree_node` does, but with objects that are equal, and hash equally, if their fields are."""
    cls.__doc__ = cls.__doc__ or cls.__name__
    return dataclass(slots=True, unsafe_hash=True, repr=False)(cls)


@dataclass(frozen=True, eq=False)
class Source:
    """A text with the name that messages show: a path, or `<seed>` for a text in memory."""

    name: str
    text: str
    _line_starts: list[int] = field(default_factory=list, repr=False)

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, both counted from 1, columns in characters.

        Finds and keeps the starts of all lines the first time.
        """
        starts = self._line_starts
        if not starts:
            starts.append(0)
            starts += [match.end() for match in re.finditer("\n", self.text)]
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the line `number`, counted from 1, without its line break.

        Raises `IndexError` if there are fewer lines.
        """
        self.position(0)  # finds the lines
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        if end == -1:
            end = len(self.text)
        return self.text[start:end].rstrip("\r")


@value_node
class Span:
    """A range of a source, from `start` to before `end` in characters, inside the JSON value at `pointer`.

    `pointer` is a JSON Pointer (RFC 6901) into the document; it is empty for a text that is not JSON.
    """

    source: Source
    start: int
    end: int
    pointer: str = ""

    @property
    def place(self) -> str:
        """The file, line and column at which the span begins, as `file:line:column`."""
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    def to(self, last: Span) -> Span:
        """Return the span from the start of this one to the end of `last`, or its own end if that is later."""
        return Span(self.source, self.start, max(self.end, last.end), self.pointer)

    def covers(self, other: Span) -> bool:
        """Return whether `other` is inside this span, or equal to it, and in the same source."""
        return self.source is other.source and self.start <= other.start and other.end <= self.end


def percent_to_fraction(percentage: str) -> str:
    """Return a percentage, the text of a number, as a fraction: `0.5` for `50`."""
    return f"{float(percentage) / 100:.12g}"


def end_sentence(text: str) -> str:
    """Return the text with a full stop, unless it ends with another mark already."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def join_sentences(parts: Iterable[str]) -> str:
    """Join the parts that are not empty with spaces, and end all but the last with a full stop."""
    present = [part for part in parts if part]
    return " ".join([*map(end_sentence, present[:-1]), *present[-1:]])


def one_line(text: str) -> str:
    """Return the text with each sequence of white space replaced by one space."""
    return " ".join(text.split())


def claim_name(name: str, taken: set[str], separator: str = "_") -> str:
    """Return `name`, or `name_2`, `name_3` and so on if that is in `taken`, and add the result to `taken`.

    `separator` is what stands before the number.
    """
    free = name
    number = 1
    while free in taken:
        number += 1
        free = f"{name}{separator}{number}"
    taken.add(free)
    return free


MAX_REPR_CHARACTERS = 200


def shorten(text: str, max_length: int = MAX_REPR_CHARACTERS) -> str:
    """Return the text on one line, of at most `max_length` characters, the last of which is `…` if it was cut."""
    line = one_line(text)
    return line if len(line) <= max_length else f"{line[: max_length - 1]}…"
