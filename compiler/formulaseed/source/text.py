"""Defines the text of a file and spans in it, which know their line and column. Never reads a file itself."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def tree_node(cls: type[_Class]) -> type[_Class]:
    """Make a class of trees: a dataclass without `==` and `repr`, which trees do not need.

    That nothing is assigned to it is for the type checker to see: at run time a frozen class is slow to make, and so are
    its objects. Every command makes some eighty such classes at start-up, and a large seed a million objects.
    """
    cls.__doc__ = cls.__doc__ or cls.__name__  # else `dataclass` makes one of the signature, which takes as long again
    return dataclass(slots=True, eq=False, repr=False)(cls)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_node(cls: type[_Class]) -> type[_Class]:
    """Make a class of trees whose objects are equal if their fields are."""
    cls.__doc__ = cls.__doc__ or cls.__name__
    return dataclass(slots=True, unsafe_hash=True, repr=False)(cls)


@dataclass(frozen=True, eq=False)
class Source:
    """A text with the name that messages show: a path, or `<seed>` for a text in memory."""

    name: str
    text: str
    _line_starts: list[int] = field(default_factory=list, repr=False)

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, both counted from 1, columns in characters."""
        starts = self._line_starts
        if not starts:
            starts.append(0)
            find = self.text.find
            at = find("\n")
            while at != -1:
                starts.append(at + 1)
                at = find("\n", at + 1)
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return a line, counted from 1, without its line break."""
        self.position(0)
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end != -1 else len(self.text)].rstrip("\r")


@value_node
class Span:
    """A range of a source, `start` to `end` (exclusive) in characters, inside the value at `pointer`.

    `pointer` is a JSON Pointer (RFC 6901) into the document; it is empty for a text that is not JSON.
    """

    source: Source
    start: int
    end: int
    pointer: str = ""

    def to(self, last: Span) -> Span:
        """Return the span from the start of this one to the end of another one in the same value."""
        return Span(self.source, self.start, max(self.end, last.end), self.pointer)

    def covers(self, other: Span) -> bool:
        """Return True if the other one is inside this one."""
        return self.source is other.source and self.start <= other.start and other.end <= self.end


def percent_to_fraction(percentage: str) -> str:
    """Return what so many per cent are, as people write it: `0.5` for `50`."""
    return f"{float(percentage) / 100:.12g}"


def end_sentence(text: str) -> str:
    """Return the text with a full stop, unless it ends with a mark of its own."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def join_sentences(parts: Iterable[str]) -> str:
    """Join the parts that are not empty: each but the last ends as a sentence does."""
    present = [part for part in parts if part]
    return " ".join([*map(end_sentence, present[:-1]), *present[-1:]])


def one_line(text: str) -> str:
    """Return the text with each run of white space as one space."""
    return " ".join(text.split())


def claim_name(name: str, taken: set[str]) -> str:
    """Return the name, with a number behind it if it is in `taken`, and add it there."""
    free = name
    number = 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free


MAX_REPR_CHARACTERS = 200


def shorten(text: str, most: int = MAX_REPR_CHARACTERS) -> str:
    """Return the text on one line, cut after `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
