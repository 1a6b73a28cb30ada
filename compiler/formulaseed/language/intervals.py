"""Computes with ranges of numbers: the bounds that the checker knows of a value before it is computed.

A range is closed at both ends and holds finite numbers only; `nonzero` says that 0 is not among them.
The emitter leaves a check out where a range proves it needless, so a range must never be too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import mul, truediv

from formulaseed import limits
from formulaseed.source.text import value_node

_MAX_SAFE_BOUND = 1e308
"""Bounds up to here are far enough from the largest number that rounding cannot pass it."""


@value_node
class Range:
    low: float
    high: float
    nonzero: bool = False

    @property
    def may_be_zero(self) -> bool:
        return not self.nonzero and self.low <= 0 <= self.high

    @property
    def is_bounded(self) -> bool:
        """True if every value is finite."""
        return self.low >= -_MAX_SAFE_BOUND and self.high <= _MAX_SAFE_BOUND

    @property
    def is_zero(self) -> bool:
        return self.low == self.high == 0

    @property
    def is_fractional(self) -> bool:
        """True if no integer is in the range."""
        return self.is_bounded and math.ceil(self.low) > self.high

    @property
    def is_beyond(self) -> bool:
        """True if every value is beyond the largest number."""
        return self.low > limits.NUMBER_MAX or self.high < -limits.NUMBER_MAX

    def clip(self) -> Range:
        """Return the range after a check that refuses values that are not finite. The range must not be beyond all numbers."""
        return Range(max(self.low, -limits.NUMBER_MAX), min(self.high, limits.NUMBER_MAX), self.nonzero)


ANY_NUMBER = Range(-limits.NUMBER_MAX, limits.NUMBER_MAX)
INPUT_NUMBER = Range(-limits.INPUT_MAX, limits.INPUT_MAX)
INPUT_INTEGER = Range(float(-limits.INTEGER_MAX), float(limits.INTEGER_MAX))
COUNT = Range(0.0, float(2**63))
"""A number of reviews: no list in any memory is longer."""

SHARE_RANGE = Range(0.0, 1.0)
"""A part of a sum of which nothing is negative, divided by the sum: rounding moves no part above its sum."""

REST_RANGE = Range(0.0, math.inf)
"""A sum of which nothing is negative, without a part of it."""

_MIN_REMOTE_BOUND = 1e15
"""Bounds from here on come from the width of the types: to a reader they are no bounds."""

MAX_EXACT = 2.0**53
"""Up to here a float holds every integer; beyond, bounds are moved outward, since integers are computed exactly."""


def point(value: int | float) -> Range:
    """Return the range that holds one value; two neighbouring floats for an integer that no float is equal to."""
    return Range(round_down(value), -round_down(-value))


def round_down(value: int | float) -> float:
    """Return the largest float that is not above the value."""
    rounded = float(value)
    return rounded if rounded <= value else math.nextafter(rounded, -math.inf)


def _widen_outward(a: Range) -> Range:
    """Return the range with bounds beyond `MAX_EXACT` moved outward by one float."""
    low = math.nextafter(a.low, -math.inf) if MAX_EXACT <= abs(a.low) < math.inf else a.low
    high = math.nextafter(a.high, math.inf) if MAX_EXACT <= abs(a.high) < math.inf else a.high
    return Range(low, high, a.nonzero)


def describe(a: Range) -> str:
    """Return the range in words, as messages use it: `0 or more`, `between 0 and 20`. Bounds far beyond data are left out."""
    low = _bound_text(a.low)
    high = _bound_text(a.high)
    if low is not None and low == high:
        return f"exactly {low}"
    if low is None and high is None:
        return "any number but 0" if a.nonzero else "any number"
    if high is None:
        text = f"above {low}" if a.low == math.nextafter(0.0, 1.0) else f"{low} or more"
    elif low is None:
        text = f"below {high}" if a.high == math.nextafter(0.0, -1.0) else f"{high} or less"
    else:
        text = f"between {low} and {high}"
    return f"{text}, and not 0" if a.nonzero and a.low <= 0 <= a.high else text


def bounds_text(a: Range) -> str:
    """Return the range as a short comment: `0.1 to 1`, `0 or more`."""
    low = _bound_text(a.low)
    high = _bound_text(a.high)
    is_two_sided = low is not None and high is not None and low != high
    return f"{low} to {high}" if is_two_sided else describe(a)


def is_any(a: Range) -> bool:
    """Return True if the range says nothing to a reader."""
    return a.low <= -_MIN_REMOTE_BOUND and a.high >= _MIN_REMOTE_BOUND and not a.nonzero


def is_remote(bound: float) -> bool:
    """Return True if a bound is so far out that it says nothing to a reader."""
    return abs(bound) >= _MIN_REMOTE_BOUND


def _bound_text(bound: float) -> str | None:
    """Return a bound as people write it; None if no data come near it."""
    if is_remote(bound):
        return None
    if abs(bound) < 1e-300:
        return "0"
    return str(int(bound)) if bound == int(bound) else f"{bound:.6g}"


_OPPOSITES = {"!=": "==", "<=": ">", ">=": "<"}


def compare(operator: str, a: Range, b: Range) -> bool | None:
    """Return the result of `a operator b` if it is the same for all numbers of the ranges, else None."""
    if operator in _OPPOSITES:
        opposite = compare(_OPPOSITES[operator], a, b)
        return None if opposite is None else not opposite
    if operator == "==":
        if a.low == a.high == b.low == b.high:
            return True
        is_apart = a.high < b.low or b.high < a.low
        return False if is_apart or (a.nonzero and b.is_zero) or (b.nonzero and a.is_zero) else None
    if operator == ">":
        return compare("<", b, a)
    if a.high < b.low:
        return True
    return False if a.low >= b.high else None


def hull(*ends: float) -> Range:
    """Return the range from the smallest to the largest end; a NaN (such as 0 * inf) makes it unbounded."""
    if any(math.isnan(end) for end in ends):
        return Range(-math.inf, math.inf)
    return Range(min(ends), max(ends))


def _span_ends(function: Callable[[float, float], float], a: Range, b: Range) -> Range:
    """Return the range of a function that grows or falls steadily with either operand."""
    return hull(*(function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)))


def union(left: Range, right: Range) -> Range:
    """Return the smallest range that holds both."""
    nonzero = not left.may_be_zero and not right.may_be_zero
    return Range(min(left.low, right.low), max(left.high, right.high), nonzero)


def true_part(a: Range, *, is_whole: bool) -> Range | None:
    """Return the range of the values that count as true, all but 0; None if there are none."""
    if a.is_zero:
        return None
    step = 1.0 if is_whole else 0.0
    low = step if a.low == 0 else a.low
    high = -step if a.high == 0 else a.high
    return Range(low, high, nonzero=True) if low <= high else a


def false_part(a: Range) -> Range | None:
    """Return the range of the values that count as false, which is 0; None if 0 is not in the range."""
    return Range(0.0, 0.0) if a.may_be_zero else None


def intersection(left: Range, right: Range) -> Range:
    """Return the numbers in both ranges. If there are none the code is never reached, so either range will do."""
    low = max(left.low, right.low)
    high = min(left.high, right.high)
    if low > high:
        return left
    return Range(low, high, left.nonzero or right.nonzero)


def negate(a: Range) -> Range:
    return Range(-a.high, -a.low, a.nonzero)


def add(a: Range, b: Range) -> Range:
    """Return the range of a sum."""
    low = a.low + b.low
    high = a.high + b.high
    return _widen_outward(Range(-math.inf if math.isnan(low) else low, math.inf if math.isnan(high) else high))


def subtract(a: Range, b: Range) -> Range:
    return add(a, negate(b))


def multiply(a: Range, b: Range) -> Range:
    """Return the range of a product."""
    return _widen_outward(_span_ends(mul, a, b))


def divide(a: Range, b: Range) -> Range:
    """Return the range of a quotient; unbounded if the divisor may be 0."""
    return Range(-math.inf, math.inf) if b.low <= 0 <= b.high else _span_ends(truediv, a, b)


def floor_divide(a: Range, b: Range) -> Range:
    """Return the range of a quotient rounded down."""
    exact = divide(a, b)  # a float's quotient may be rounded up to an integer that it does not reach
    low = math.floor(exact.low) - 1.0 if math.isfinite(exact.low) else exact.low
    high = float(math.ceil(exact.high)) if math.isfinite(exact.high) else exact.high
    return _widen_outward(Range(max(low, 0.0) if a.low >= 0 and b.low > 0 else low, high))


def modulo(a: Range, b: Range) -> Range:
    """Return the range of a remainder: as in Python it has the sign of the divisor and is smaller."""
    return Range(min(b.low, 0.0), max(b.high, 0.0))


def power(a: Range, b: Range) -> Range:
    """Return the range of `a ** b`: bounded for a known whole exponent, and for a base that is not negative."""
    is_whole = b.low == b.high and b.low == int(b.low)
    if is_whole and 0 <= b.low <= 64:
        ends = [_power(a.low, int(b.low)), _power(a.high, int(b.low))]
        if b.low % 2 == 0 and a.low <= 0 <= a.high:
            ends.append(0.0 if b.low else 1.0)
        return _widen_outward(hull(*ends))
    if a.low > 0 or (a.low == 0 and b.low >= 0):
        return _widen_outward(_span_ends(_power, a, b))
    if is_whole and b.low > 0 and a.high < 0:
        positive = power(negate(a), b)
        return positive if b.low % 2 == 0 else negate(positive)
    return Range(-math.inf, math.inf)


def _power(base: float, exponent: float) -> float:
    """Return the power, or infinity if it is too large for a float."""
    try:
        result: float = base**exponent
    except OverflowError:
        return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf
    return result


def range_above(low: float, *, strict: bool, integer: bool) -> Range:
    """Return the range of the values of `x` for which `x > low`, or `x >= low` if not `strict`."""
    if strict and integer:
        low = round_down(math.floor(low) + 1)
    elif strict and abs(low) < MAX_EXACT:  # beyond, an integer may lie between two floats
        low = math.nextafter(low, math.inf)
    elif integer and math.isfinite(low):
        low = round_down(math.ceil(low))
    return Range(low, math.inf, nonzero=low > 0)


def range_below(high: float, *, strict: bool, integer: bool) -> Range:
    """Return the range of the values of `x` for which `x < high`, or `x <= high` if not `strict`."""
    return negate(range_above(-high, strict=strict, integer=integer))
