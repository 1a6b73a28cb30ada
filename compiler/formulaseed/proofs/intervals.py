"""Bound the values of nodes by interval arithmetic over exact numbers; bounds that floats round would not be proofs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from formulaseed.language.types import Base
from formulaseed.proofs.nodes import ROUNDING, Node, Segment, walk
from formulaseed.proofs.world import Domain

End = Fraction | float
"""An end of an interval: exact, or an infinite float."""
_LOG_ERROR = Fraction(1, 10**9)
_MAX_POWER = 64


class Interval(NamedTuple):
    """The numbers from `low` to `high`, both included, but for 0 if `nonzero`."""

    low: End
    high: End
    nonzero: bool = False

    @property
    def excludes_zero(self) -> bool:
        """True if 0 is not in the interval."""
        return self.nonzero or self.low > 0 or self.high < 0

    @property
    def is_finite(self) -> bool:
        """True if both ends are numbers."""
        return isinstance(self.low, Fraction) and isinstance(self.high, Fraction)

    @property
    def is_zero(self) -> bool:
        """True if 0 is the only number in the interval."""
        return self.low == self.high == 0 and not self.nonzero

    def is_below(self, other: Interval, *, is_strict: bool) -> bool:
        """Return True if each number is at most, or if `is_strict` below, each number of the other interval."""
        if self.high < other.low or (not is_strict and self.high == other.low):
            return True
        return self.high == other.low == 0 and (self.excludes_zero or other.excludes_zero)

    @property
    def size(self) -> End:
        """The largest distance of a number of the interval from 0."""
        low, high = (end if end >= 0 else -end for end in self[:2])
        return low if low >= high else high

    def meet(self, other: Interval) -> Interval:
        """Return the numbers in both intervals; this interval if there are none, since the place is never reached."""
        low = max(self.low, other.low)
        high = min(self.high, other.high)
        return self if low > high else Interval(low, high, self.nonzero or other.nonzero)


ANY = Interval(-math.inf, math.inf)
_ZERO = Fraction(0)
COUNT = Interval(_ZERO, Fraction(2**63))


def hull(intervals: Iterable[Interval]) -> Interval:
    """Return the smallest interval that includes all; any number if there are none."""
    parts = list(intervals)
    if not parts:
        return ANY
    low = min(part.low for part in parts)
    return Interval(low, max(part.high for part in parts), all(part.excludes_zero for part in parts))


class Bounds:
    """Intervals of nodes. `tighten` adds bounds that were proved, which must be done before nodes that use them are bounded."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._intervals: dict[Node, Interval] = {}
        self._proved: set[Node] = set()

    def tighten(self, node: Node, interval: Interval) -> None:
        """Note a proved interval of a node."""
        self._intervals[node] = self.bound(node).meet(interval)
        self._proved.add(node)

    def forget(self, node: Node) -> None:
        """Compute the interval of a node, and of the nodes in it, again when it is needed next, since those in it are tighter."""
        known = self._intervals.get(node, ANY)
        stale = [node, *(part for part in walk(node) if part not in self._proved)]
        for part in stale:
            self._intervals.pop(part, None)
        self._intervals[node] = self._compute(node, {}).meet(known)

    def bound(self, node: Node, facts: Mapping[Node, Interval] | None = None) -> Interval:
        """Return an interval of a number; under `facts`, intervals of some nodes, only those are used that it mentions."""
        if facts:
            computed = self._compute(node, facts)
            known = self._intervals.get(node, ANY)
            return known.meet(computed).meet(facts.get(node, ANY))
        interval = self._intervals.get(node)
        if interval is None:
            interval = self._compute(node, {})
            if node.base is Base.INTEGER:
                interval = _round_inward(interval)
            self._intervals[node] = interval
        return interval

    def decide(self, condition: Node) -> bool | None:
        """Return whether a comparison of numbers always or never holds; None if that is unknown or depends."""
        if condition.op == "not":
            answer = self.decide(condition.args[0])
            return None if answer is None else not answer
        if condition.op not in ("lt", "le", "eq") or not condition.args[0].is_numeric:
            return None
        left, right = (self.bound(arg) for arg in condition.args)
        if condition.op == "eq":
            is_apart = left.high < right.low or right.high < left.low
            is_zero = (left.excludes_zero and right.is_zero) or (right.excludes_zero and left.is_zero)
            return False if is_apart or is_zero else None
        if left.is_below(right, is_strict=condition.op == "lt"):
            return True
        return False if right.is_below(left, is_strict=condition.op == "le") else None

    def _compute(self, node: Node, facts: Mapping[Node, Interval]) -> Interval:
        """Return an interval of a node from those of its operands."""
        match node.op:
            case "const":
                return Interval(node.value, node.value) if isinstance(node.value, Fraction) else ANY
            case "input":
                field = self._domain.fields.get(node.value)
                return Interval(field.low, field.high) if node.is_numeric and field is not None else ANY
            case "segment":
                return bound_segment(node.value)
            case "switch":
                return self._bound_switch(node, facts)
            case "aggregate":
                return self._bound_aggregate(node)
            case "present":
                return self.bound(node.args[0], facts)
        if not node.is_numeric or node.op == "fail":
            return ANY
        return apply(node.op, [self.bound(arg, facts) for arg in node.args], node.value)

    def _bound_switch(self, node: Node, facts: Mapping[Node, Interval]) -> Interval:
        """Return the hull of the values, each bounded under its condition and the opposite of those before; null is left out."""
        known = dict(facts)
        parts: list[Interval] = []
        *arms, otherwise = node.args
        for condition, value in zip(arms[::2], arms[1::2], strict=True):
            if self.decide(condition) is False:
                continue
            if value.is_numeric and value.op != "fail":
                parts.append(self.bound(value, self._assume(condition, known, truth=True)))
            known = self._assume(condition, known, truth=False)
        if otherwise.is_numeric and otherwise.op != "fail":
            parts.append(self.bound(otherwise, known))
        return hull(parts)

    def _assume(self, condition: Node, facts: Mapping[Node, Interval], *, truth: bool) -> dict[Node, Interval]:
        """Return the facts with those that follow if a condition has this truth."""
        known = dict(facts)
        stack = [(condition, truth)]
        while stack:
            part, is_true = stack.pop()
            if part.op == "not":
                stack.append((part.args[0], not is_true))
            elif part.op == ("and" if is_true else "or"):
                stack += ((operand, is_true) for operand in part.args)
            elif part.op in ("lt", "le", "eq") and part.args[0].is_numeric:
                self._assume_comparison(part, known, is_true=is_true)
        return known

    def _assume_comparison(self, part: Node, known: dict[Node, Interval], *, is_true: bool) -> None:
        """Add the facts to `known` that follow if a comparison with a constant holds, or does not."""
        for place, side in enumerate(part.args):
            other = part.args[1 - place]
            if side.is_constant or not other.is_constant:
                continue
            limit = other.value
            is_strict = (part.op == "lt") is is_true
            if part.op == "eq":
                if is_true:
                    fact = Interval(limit, limit)
                else:
                    fact = Interval(-math.inf, math.inf, nonzero=limit == 0)
            elif (place == 0) is is_true:  # the side is at most the limit
                high = limit - 1 if side.base is Base.INTEGER and is_strict else limit
                fact = Interval(-math.inf, high, nonzero=is_strict and limit == 0)
            else:
                low = limit + 1 if side.base is Base.INTEGER and is_strict else limit
                fact = Interval(low, math.inf, nonzero=is_strict and limit == 0)
            known[side] = known.get(side, ANY).meet(fact)

    def _bound_aggregate(self, node: Node) -> Interval:
        """Return an interval of an aggregate from that of its operand."""
        if node.value in ("count", "count_distinct"):
            return COUNT
        if len(node.args) < 2 or node.value not in ("sum", "max", "min"):
            return ANY
        where, operand = node.args
        term = self.bound(operand, self._assume(where, {}, truth=True))
        if node.value == "sum":
            total = apply("*", [term, COUNT])
            return Interval(min(total.low, _ZERO), max(total.high, _ZERO))
        return term


def bound_segment(segment: Segment) -> Interval:
    """Return the interval of a segment; an open end at 0 excludes 0."""
    nonzero = (segment.is_low_open and segment.low == 0) or (segment.is_high_open and segment.high == 0)
    return Interval(segment.low, segment.high, nonzero)


def apply(op: str, operands: list[Interval], value: object = None) -> Interval:
    """Return an interval of an operation of numbers in these intervals; any number for an unknown operation."""
    if op in _RULES:
        return _RULES[op](*operands)
    if op == "round":
        low, high = (
            end if isinstance(end, float) else Fraction(round(end, int(str(value)))) for end in operands[0][:2]
        )
        return Interval(low, high)
    return _round(operands[0], op) if op in ROUNDING else ANY


def _apply_product(a: Interval, b: Interval) -> Interval:
    """Return the interval of a product."""
    ends = [_multiply(x, y) for x, y in product(a[:2], b[:2])]
    return Interval(min(ends), max(ends), a.excludes_zero and b.excludes_zero)


def _apply_max(*operands: Interval) -> Interval:
    """Return the interval of the largest of several numbers."""
    low = max(part.low for part in operands)
    return Interval(low, max(part.high for part in operands), all(part.excludes_zero for part in operands))


def _apply_min(*operands: Interval) -> Interval:
    """Return the interval of the smallest of several numbers."""
    high = min(part.high for part in operands)
    return Interval(min(part.low for part in operands), high, all(part.excludes_zero for part in operands))


def _round(a: Interval, op: str) -> Interval:
    """Return the interval with its ends rounded by `floor`, `ceil` or `trunc`."""
    low, high = (end if isinstance(end, float) else Fraction(ROUNDING[op](end)) for end in a[:2])
    return Interval(low, high)


def _round_inward(a: Interval) -> Interval:
    """Return the smallest interval with the same whole numbers; if there are none, or only 0 is left out, the interval itself."""
    low = a.low if isinstance(a.low, float) else Fraction(math.ceil(a.low))
    high = a.high if isinstance(a.high, float) else Fraction(math.floor(a.high))
    if a.nonzero and low == 0:
        low = Fraction(1)
    if a.nonzero and high == 0:
        high = Fraction(-1)
    return a if low > high else Interval(low, high, a.nonzero)


def _add(a: End, b: End) -> End:
    """Return the sum of two ends on the same side."""
    if isinstance(a, float) or isinstance(b, float):
        return a if isinstance(a, float) else b
    return a + b


def _multiply(a: End, b: End) -> End:
    """Return the product of two ends; 0 if one is 0, since all numbers are finite."""
    if a == 0 or b == 0:
        return _ZERO
    if isinstance(a, float) or isinstance(b, float):
        return math.inf if (a > 0) is (b > 0) else -math.inf
    return a * b


def _divide(a: Interval, b: Interval) -> Interval:
    """Return the interval of a quotient; any number if the divisor may be on both sides of 0."""
    if b.low < 0 < b.high or (b.low == b.high == 0):
        return ANY
    ends: list[End] = []
    for divisor in b[:2]:
        if isinstance(divisor, float):
            ends.append(_ZERO)
        elif divisor == 0:  # next to 0, on the side of the interval
            sign = 1 if b.high > 0 else -1
            ends += (_multiply(end, math.inf * sign) for end in a[:2])
        else:
            ends += (_multiply(end, 1 / divisor) for end in a[:2])
    return Interval(min(ends), max(ends), a.excludes_zero)


def _raise(a: Interval, b: Interval) -> Interval:
    """Return the interval of a power if the exponent is one small whole number, or the base is one positive number."""
    if isinstance(b.low, Fraction) and b.low == b.high and b.low.denominator == 1 and 0 <= b.low <= _MAX_POWER:
        exponent = int(b.low)
        ends = [_power(end, exponent) for end in a[:2]]
        if exponent % 2 == 0 and a.low <= 0 <= a.high:
            ends.append(_power(_ZERO, exponent))
        return Interval(min(ends), max(ends))
    if isinstance(a.low, Fraction) and a.low == a.high and a.low > 0:
        is_falling = a.low < 1
        exact = [_power_of_constant(a.low, end) for end in b[:2]]
        low, high = reversed(exact) if is_falling else exact
        return Interval(low[0], high[1])
    return Interval(_ZERO, math.inf) if a.low >= 0 else ANY


def _power(base: End, exponent: int) -> End:
    """Return a power of an end."""
    if isinstance(base, float) and exponent > 0:
        return math.inf if base > 0 or exponent % 2 == 0 else -math.inf
    return Fraction(1) if isinstance(base, float) else Fraction(base**exponent)


def _power_of_constant(base: Fraction, exponent: End) -> tuple[End, End]:
    """Return numbers below and above a power of a positive constant, which are equal if the exponent is small and whole."""
    if isinstance(exponent, Fraction) and exponent.denominator == 1 and abs(exponent) <= _MAX_POWER:
        exact = base ** int(exponent)
        return exact, exact
    if base == 1:
        return Fraction(1), Fraction(1)
    grows = (exponent > 0) is (base > 1)
    return (Fraction(1), math.inf) if grows else (_ZERO, Fraction(1))


def _log(value: End, direction: int) -> End:
    """Return a number below the logarithm for the `direction` -1, above it for 1."""
    if value <= 0 or isinstance(value, float):
        return math.inf if value > 0 else -math.inf
    if value == 1:
        return _ZERO
    return approximate(math.log(value.numerator) - math.log(value.denominator), direction)


def _sqrt(value: End, direction: int) -> End:
    """Return a number below the square root for the `direction` -1, above it for 1; of a negative number 0."""
    if value <= 0 or isinstance(value, float):
        return _ZERO if value <= 0 else math.inf
    scale = 10**12
    root = Fraction(math.isqrt(int(value * scale * scale)), scale)
    return root if root * root == value or direction < 0 else root + Fraction(1, scale)


def approximate(value: float, direction: int) -> Fraction:
    """Return a number below a computed value for the `direction` -1, above it for 1, by more than its rounding error."""
    rounded = Fraction(value)
    return rounded + direction * _LOG_ERROR * max(Fraction(1), abs(rounded))


_RULES: dict[str, Callable[..., Interval]] = {
    "+": lambda a, b: Interval(_add(a.low, b.low), _add(a.high, b.high)),
    "-": lambda a, b: Interval(_add(a.low, -b.high), _add(a.high, -b.low)),
    "*": _apply_product, "/": _divide, "//": lambda a, b: _round(_divide(a, b), "floor"),
    "%": lambda a, b: Interval(min(b.low, _ZERO), max(b.high, _ZERO)), "**": _raise, "max": _apply_max, "min": _apply_min,
    "log": lambda a: Interval(_log(a.low, -1), _log(a.high, 1)), "len": lambda a: COUNT,
    "sqrt": lambda a: Interval(_sqrt(a.low, -1), _sqrt(a.high, 1), a.excludes_zero and a.low >= 0),
}  # fmt: skip
"""The interval of each operation from those of its operands."""
