"""Define nodes, expressions over exact numbers of which equal ones are one object; `Pool` builds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, trunc
from typing import Any

from formulaseed.language.typed import Symbol
from formulaseed.language.types import Base, Value

Constant = Fraction | bool | str | None
"""An exact value: numbers are fractions."""
ROUNDING: dict[str, Callable[[Fraction], int]] = {"floor": floor, "ceil": ceil, "trunc": trunc}
NO_FIELDS: frozenset[Symbol] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An expression of a pool; equal expressions are the same object.

    `value` is a constant, the symbol of an input, the segment of a field, or what else the operation needs. `base` is INTEGER if
    the value is always a whole number. `fields` are the fields of reviews that the value depends on; empty if it is the same for
    all reviews of a restaurant. `may_fail` is true if evaluating it may fail for some operands.
    """

    number: int
    op: str
    args: tuple[Node, ...]
    value: Any
    base: Base
    nullable: bool
    fields: frozenset[Symbol]
    may_fail: bool

    @property
    def is_constant(self) -> bool:
        """True if the node is a constant, also null."""
        return self.op == "const"

    @property
    def is_numeric(self) -> bool:
        """True for whole and other numbers."""
        return self.base in (Base.INTEGER, Base.NUMBER)

    def holds(self, value: Constant) -> bool:
        """Return True if the node is the constant `value`; 1 is not true."""
        return self.op == "const" and type(self.value) is type(value) and self.value == value


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the values of a field: the numbers from `low` to `high`, or the strings other than `excluded`."""

    symbol: Symbol
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    is_low_open: bool = False
    is_high_open: bool = False
    excluded: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """True if no number is in the segment."""
        return self.low > self.high or (self.low == self.high and (self.is_low_open or self.is_high_open))

    def may_equal(self, value: Constant) -> bool:
        """Return True if a value of the segment may be `value`."""
        if isinstance(value, Fraction):
            is_below = value < self.low or (value == self.low and self.is_low_open)
            return not (is_below or value > self.high or (value == self.high and self.is_high_open))
        return value not in self.excluded

    def is_below(self, limit: Fraction, *, is_strict: bool) -> bool | None:
        """Return whether each number of the segment is at most `limit`, or below it if `is_strict`; None if only some are."""
        if self.high < limit or (self.high == limit and (self.is_high_open or not is_strict)):
            return True
        if self.low > limit or (self.low == limit and (self.is_low_open or is_strict)):
            return False
        return None

    def mirror(self) -> Segment:
        """Return the segment of the numbers with the opposite sign."""
        return Segment(self.symbol, -self.high, -self.low, self.is_high_open, self.is_low_open)


def to_constant(value: Value) -> Constant:
    """Return a value of a seed as an exact constant: the float 0.1 is one tenth."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return to_fraction(value)


def to_fraction(value: int | float) -> Fraction:
    """Return a number exactly as it is written: the float 0.1 is one tenth."""
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def walk(node: Node, stops: Iterable[Node] = ()) -> Iterator[Node]:
    """Yield a node and the nodes in it, each once; operands of aggregates and of the nodes in `stops` are left out."""
    seen = {node}
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if (current is not node and current in stops) or (current.op == "aggregate" and current is not node):
            continue
        for arg in reversed(current.args):
            if arg not in seen:
                seen.add(arg)
                stack.append(arg)
