"""Define nodes, expressions over exact numbers of which equal ones are one object; `Pool` builds them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf
from typing import Any, NamedTuple

from formulaseed import limits
from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.intervals import Range
from formulaseed.language.typed import Symbol
from formulaseed.language.types import Base, Value

Constant = Fraction | bool | str | None
"""An exact value: numbers are fractions."""
End = Fraction | float
"""An end of an interval: exact, or an infinite float."""
MAX_BITS = 4_096
"""The bits of the longest numerator and denominator to compute with; those of a float have at most 1,075."""
NO_FIELDS: frozenset[Symbol] = frozenset()


class Interval(NamedTuple):
    """The numbers between `low` and `high`, and these ends unless they are open."""

    low: End
    high: End
    is_low_open: bool = False
    is_high_open: bool = False

    @property
    def is_empty(self) -> bool:
        """True if no number is in the interval."""
        return self.low > self.high or (self.low == self.high and (self.is_low_open or self.is_high_open))

    @property
    def nonzero(self) -> bool:
        """False: no interval excludes 0, as a `Range` may, whose operations take intervals, too."""
        return False

    def meet_or_none(self, other: Interval) -> Interval | None:
        """Return the numbers in both intervals; None if there are none."""
        low, is_low_open = max((self.low, self.is_low_open), (other.low, other.is_low_open))
        high, is_high_closed = min((self.high, not self.is_high_open), (other.high, not other.is_high_open))
        both = Interval(low, high, is_low_open, not is_high_closed)
        return None if both.is_empty else both

    def meet(self, other: Interval) -> Interval:
        """Return the numbers in both intervals; this interval if there are none, since the place is never reached."""
        return self.meet_or_none(other) or self

    def is_below(self, other: Interval, *, is_strict: bool) -> bool:
        """Return True if each number is at most, or if `is_strict` below, each number of the other interval."""
        is_apart = not is_strict or self.is_high_open or other.is_low_open
        return self.high < other.low or (self.high == other.low and is_apart)

    def decide_order(self, other: Interval, *, is_strict: bool) -> bool | None:
        """Return whether each number is at most, or below, each number of the other interval; None if it depends."""
        if self.is_below(other, is_strict=is_strict):
            return True
        return False if other.is_below(self, is_strict=not is_strict) else None

    def close(self, per_unit: int) -> Interval:
        """Return the interval with its ends moved inward to whole numbers, or to halves if 2 numbers are in a range of 1."""
        low, high = self.low, self.high
        if isinstance(low, Fraction):
            low = Fraction(floor(low * per_unit) + 1 if self.is_low_open else ceil(low * per_unit), per_unit)
        if isinstance(high, Fraction):
            high = Fraction(ceil(high * per_unit) - 1 if self.is_high_open else floor(high * per_unit), per_unit)
        return Interval(low, high)


ANY = Interval(-inf, inf)
COUNT = Interval(Fraction(0), Fraction(2**63))


class Segment(NamedTuple):
    """A part of the values of a field: the numbers in an interval, or the strings other than `excluded`."""

    symbol: Symbol
    interval: Interval = ANY
    excluded: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An expression of a pool; equal expressions are the same object.

    `value` is a constant, the symbol of an input, the segment of a field, or the kind of an aggregate. `base` is INTEGER if the
    value is always a whole number. `fields` are the fields of reviews that the value depends on; empty if it is the same for all
    reviews of a restaurant. `may_fail` is true if evaluating it may fail for some operands.
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
    def is_truth(self) -> bool:
        """True if the node is one of the constants true and false."""
        return self.is_constant and self.base is Base.BOOLEAN

    @property
    def function(self) -> Function | None:
        """The function that the node calls; None for another node."""
        return FUNCTIONS.get(self.op)

    @property
    def interval(self) -> Interval:
        """The interval of a constant or of a segment of numbers; any number for another node."""
        if self.op == "const" and isinstance(self.value, Fraction):
            return Interval(self.value, self.value)
        return self.value.interval if self.op == "segment" and self.base.is_numeric else ANY

    def count_factors(self, stops: Container[Node]) -> int:
        """Return the largest number of factors if the node is multiplied out; an aggregate, or one of `stops` in it, is one."""
        args = () if self.op == "aggregate" else self.args
        counts = [1 if arg in stops else arg.count_factors(stops) for arg in args]
        return sum(counts) if self.op in ("*", "/") else max(counts, default=1)

    def holds(self, value: Constant) -> bool:
        """Return True if the node is the constant `value`; 1 is not true."""
        return self.op == "const" and type(self.value) is type(value) and self.value == value


def to_constant(value: Value) -> Constant:
    """Return a value of a seed as an exact constant: the float 0.1 is one tenth."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return to_fraction(value)


def is_short(value: End) -> bool:
    """Return True if a number has few enough digits to compute with, or is infinite."""
    return isinstance(value, float) or max(abs(value.numerator), value.denominator).bit_length() <= MAX_BITS


def to_fraction(value: int | float) -> Fraction:
    """Return a number exactly as it is written: the float 0.1 is one tenth."""
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def to_interval(known: Range | None) -> Interval:
    """Return the numbers in a range of the checker; any number without one."""
    if known is None:
        return ANY
    low, high = (to_fraction(end) if abs(end) <= limits.NUMBER_MAX else end for end in (known.low, known.high))
    return Interval(low, high)


def pair_arms(switch: Node) -> list[tuple[Node, Node]]:
    """Return the conditions of a switch, each with its value; the value if none holds is left out."""
    return list(zip(switch.args[:-1:2], switch.args[1::2], strict=True))


def is_apart(node: Node, other: Node) -> bool:
    """Return True if a value is certain to be another one than a second value."""
    is_excluded = node.op == "segment" and other.is_constant and other.value in node.value.excluded
    is_unlike = other.base is Base.NUMBER and other.is_constant and node.base is Base.INTEGER and not node.may_fail
    return is_excluded or is_unlike or node.interval.is_below(other.interval, is_strict=True)


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
