"""What all forms of random formulas share: pieces of text, variables, draws, guards against null.

A formula is written from the top down, so that it is well typed by construction: what is wanted (a number, a
condition, a text) is known first, then how it is made, then its parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

from formulaseed.language.operators import ATOM, CONDITIONAL, OR
from formulaseed.testing.values import SHORT_TEXTS

_Choice = TypeVar("_Choice")


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that formulas may use. `kind` is a type's name, `values` what an enum holds.

    One that `needs_guard` has no value where no review matches, and may only be used behind a test; being 1 or
    more, the count `counted_by` is such a test as well.
    """

    text: str
    kind: str
    values: tuple[str, ...] | None = None
    nullable: bool = False
    needs_guard: bool = False
    counted_by: str = ""

    @property
    def is_numeric(self) -> bool:
        return self.kind in ("integer", "number")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a formula. `values` are all that a text can be, None where it can be anything."""

    text: str
    precedence: int = ATOM
    values: tuple[str, ...] | None = None

    def at(self, least: int) -> str:
        return self.text if self.precedence >= least else f"({self.text})"

    @property
    def is_constant(self) -> bool:
        """Whether it names nothing, so that a mistake in it would be told when it is checked."""
        return not any(character.isalpha() or character == "_" for character in self.text)


_GUARDS = (
    "{x} or {y}",
    "{x} if {x} != None else {y}",
    "{y} if {x} == None else {x}",
    "{x} if not ({x} == None) else {y}",
    "{x} if {x} else {y}",
    "{x} if None != {x} and True else {y}",
)
_NUMBER_GUARDS = (
    *_GUARDS,
    "{x} * 2 if {x} else {y}",
    "{x} - 1 if {x} != null else {y}",
    "{y} if {x} == None else -{x}",
)
_COUNT_GUARDS = ("{x} if {n} > 0 else {y}", "{x} * 2 if {n} != 0 else {y}", "{y} if {n} == 0 else {x}")


@cache
def below(limit: int) -> st.SearchStrategy[int]:
    """Integers from 0 up to the limit, made once: a strategy is slow to make and quick to draw from."""
    return st.integers(0, limit - 1)


class Writer(ABC):
    """Writes formulas over some variables and filters."""

    def __init__(self, draw: st.DrawFn, variables: Sequence[Variable], filters: Sequence[str] = ()) -> None:
        self.draw = draw
        self.variables = variables
        self.filters = filters
        self.numeric = [v for v in variables if v.is_numeric]
        self.flags = [v for v in variables if v.kind == "boolean"]
        self.named_texts = [v for v in variables if v.kind == "string"]
        self.nullables = [v for v in variables if v.nullable]

    @abstractmethod
    def number(self, depth: int) -> Piece:
        """A formula for a number, with operators up to `depth` inside one another."""

    @abstractmethod
    def condition(self, depth: int) -> Piece:
        """A formula that is true or false."""

    @abstractmethod
    def text(self, depth: int) -> Piece:
        """A formula for a text."""

    def tested(self, depth: int) -> Piece:
        """A condition, or a value that may be null, where it is asked whether something holds."""
        if self.nullables and self.one_in(8):
            return Piece(self.any_of(self.nullables).text)
        return self.condition(depth)

    def any_of(self, choices: Sequence[_Choice]) -> _Choice:
        return choices[self.draw(below(len(choices)))]

    def form(self, forms: Sequence[Callable[[int], Piece]], depth: int) -> Piece:
        return self.any_of(forms)(depth - 1)

    def one_in(self, odds: int) -> bool:
        return self.draw(below(odds)) == odds - 1

    def quoted(self) -> Piece:
        return quoted(self.draw(SHORT_TEXTS))

    def use(self, variable: Variable, instead: str) -> Piece:
        """A variable where a value is needed: guarded, if it may be null, or now and then left to fail."""
        name = variable.text
        if not variable.nullable or (not variable.needs_guard and self.one_in(8)):
            return Piece(name, values=variable.values)
        guards = _NUMBER_GUARDS if variable.is_numeric else _GUARDS
        guard = self.any_of([*guards, *(_COUNT_GUARDS if variable.counted_by else ())])
        text = guard.format(x=name, y=instead, n=variable.counted_by)
        return Piece(text, OR if guard == _GUARDS[0] else CONDITIONAL)


def quoted(text: str) -> Piece:
    """A text as a literal."""
    quote = '"' if "'" in text else "'"
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace(quote, f"\\{quote}")
    return Piece(f"{quote}{escaped}{quote}", values=(text,))
