"""Computes with ranges of numbers, which bound a value before it is known (interval arithmetic).

The backends leave a run-time check out if a range proves it needless, so a range must never be too small. The rules of
`+`, `-`, `*` and `/` are exact for ranges whose finite bounds are fractions, as proofs have them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from operator import truediv

from formulaseed import limits
from formulaseed.source.text import value_node

_MAX_SAFE_BOUND = 1e308
"""Bounds up to this size are so far from the largest number that rounding cannot pass it."""


@value_node
class Range:
    """The numbers from `low` to `high`, both included, but for 0 if `nonzero`."""

    low: float
    high: float
    nonzero: bool = False

    @property
    def may_be_zero(self) -> bool:
        """True if 0 is in the range."""
        return not self.nonzero and self.low <= 0 <= self.high

    @property
    def is_bounded(self) -> bool:
        """True if no value is too large for a number, also after rounding."""
        return self.low >= -_MAX_SAFE_BOUND and self.high <= _MAX_SAFE_BOUND

    @property
    def is_zero(self) -> bool:
        """True if 0 is the only number in the range."""
        return self.low == self.high == 0

    @property
    def is_fractional(self) -> bool:
        """True if no integer is in the range."""
        return self.is_bounded and math.ceil(self.low) > self.high

    @property
    def is_beyond(self) -> bool:
        """True if every value is too large for a number."""
        return self.low > limits.NUMBER_MAX or self.high < -limits.NUMBER_MAX

    def clip(self) -> Range:
        """Return the part of the range that is finite, as a check at run time leaves it. The range must not be `is_beyond`."""
        return Range(max(self.low, -limits.NUMBER_MAX), min(self.high, limits.NUMBER_MAX), self.nonzero)


ANY_NUMBER = Range(-limits.NUMBER_MAX, limits.NUMBER_MAX)
INPUT_NUMBER = Range(-limits.INPUT_MAX, limits.INPUT_MAX)
INPUT_INTEGER = Range(float(-limits.INTEGER_MAX), float(limits.INTEGER_MAX))
COUNT = Range(0.0, float(2**63))
"""The range of a number of reviews: no list in any memory is longer."""

SHARE_RANGE = Range(0.0, 1.0)
"""The range of a part divided by its sum, if no term is negative: rounding moves no part above its sum."""

REST_RANGE = Range(0.0, math.inf)
"""The range of a sum minus a part of it, if no term is negative."""

_MIN_REMOTE_BOUND = 1e15
"""Larger bounds come from the width of the types; they tell a reader nothing, and messages leave them out."""

MAX_EXACT = 2.0**53
"""Floats hold every integer up to this one. Larger bounds are moved outward, since integers are computed exactly."""


def point(value: int | float) -> Range:
    """Return the range of one value; its ends are two neighbouring floats if no float is equal to the integer."""
    return Range(round_down(value), -round_down(-value))


def round_down(value: int | float) -> float:
    """Return the largest float that is not above the value, which may be an integer that no float equals."""
    rounded = float(value)
    if rounded > value:
        rounded = math.nextafter(rounded, -math.inf)
    return rounded


def _widen_outward(a: Range) -> Range:
    """Return the range with finite bounds of `MAX_EXACT` or more moved outward by one float, unless they are fractions."""
    low = a.low
    if isinstance(low, float) and MAX_EXACT <= abs(low) < math.inf:
        low = math.nextafter(low, -math.inf)
    high = a.high
    if isinstance(high, float) and MAX_EXACT <= abs(high) < math.inf:
        high = math.nextafter(high, math.inf)
    return Range(low, high, a.nonzero)


def _is_nan(bound: float) -> bool:
    """Return True if a bound is no number; False also for a fraction that is too large for a float."""
    return isinstance(bound, float) and math.isnan(bound)


def describe(a: Range) -> str:
    """Return the range in words, as messages use it: `0 or more`, `between 0 and 20`. Remote bounds are left out.

    A range without bounds is `any number`, or `any number but 0`.
    """
    low = _bound_text(a.low)
    high = _bound_text(a.high)
    if low is not None and low == high:
        return f"exactly {low}"
    if low is None and high is None:
        return "any number but 0" if a.nonzero else "any number"
    if low is not None and high is not None:
        text = f"between {low} and {high}"
    elif a.low == math.nextafter(0.0, 1.0):
        text = f"above {low}"
    elif a.high == math.nextafter(0.0, -1.0):
        text = f"below {high}"
    else:
        text = f"{high} or less" if low is None else f"{low} or more"
    if a.nonzero and a.low <= 0 <= a.high:
        text += ", and not 0"
    return text


def bounds_text(a: Range) -> str:
    """Return the range as a short comment: `0.1 to 1`, `0 or more`."""
    low = _bound_text(a.low)
    high = _bound_text(a.high)
    return describe(a) if low is None or high is None or low == high else f"{low} to {high}"


def is_any(a: Range) -> bool:
    """Return True if both bounds are remote and 0 is not excluded, so that the range tells a reader nothing."""
    return a.low <= -_MIN_REMOTE_BOUND and a.high >= _MIN_REMOTE_BOUND and not a.nonzero


def is_remote(bound: float | Fraction) -> bool:
    """Return True if a bound is so far from 0 that it tells a reader nothing."""
    return bound >= _MIN_REMOTE_BOUND or bound <= -_MIN_REMOTE_BOUND


def _bound_text(bound: float) -> str | None:
    """Return a bound as people write it, with at most six digits if it is not whole; None if it is remote."""
    if is_remote(bound):
        return None
    if abs(bound) < 1e-300:
        return "0"
    if bound == int(bound):
        return str(int(bound))
    return f"{bound:.6g}"


_OPPOSITES = {"!=": "==", "<=": ">", ">=": "<"}


def compare(operator: str, a: Range, b: Range) -> bool | None:
    """Return the result of the comparison `a operator b` if it is the same for all numbers of the ranges.

    Returns None if it is not. `operator` is an equality or an order.
    """
    if operator in _OPPOSITES:
        opposite = compare(_OPPOSITES[operator], a, b)
        return None if opposite is None else not opposite
    if operator == "==":
        if a.low == a.high == b.low == b.high:
            return True
        is_apart = a.high < b.low or b.high < a.low
        if is_apart or (a.nonzero and b.is_zero) or (b.nonzero and a.is_zero):
            return False
        return None
    if operator == ">":
        return compare("<", b, a)
    if a.high < b.low:
        return True
    if a.low >= b.high:
        return False
    return None


def hull(*ends: float) -> Range:
    """Return the range from the smallest to the largest of `ends`; unbounded if one is NaN, such as 0 * inf."""
    if any(_is_nan(end) for end in ends):
        return Range(-math.inf, math.inf)
    return Range(min(ends), max(ends))


def _span_ends(function: Callable[[float, float], float], a: Range, b: Range) -> Range:
    """Return the range of a function that is monotonic in each operand, from its values at the ends of the ranges."""
    return hull(*(function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)))


def union(left: Range, right: Range) -> Range:
    """Return the smallest range that includes both."""
    nonzero = not left.may_be_zero and not right.may_be_zero
    return Range(min(left.low, right.low), max(left.high, right.high), nonzero)


def true_part(a: Range, *, is_whole: bool) -> Range | None:
    """Return the range of the values that count as true, all but 0; None if there are none.

    `is_whole`: they are integers, so that a bound of 0 becomes 1 or -1.
    """
    if a.is_zero:
        return None
    low = a.low
    high = a.high
    if is_whole and low == 0:
        low = 1.0
    if is_whole and high == 0:
        high = -1.0
    if low > high:
        return a
    return Range(low, high, nonzero=True)


def false_part(a: Range) -> Range | None:
    """Return the range of the values that count as false, which is 0; None if 0 is not in the range."""
    return Range(0.0, 0.0) if a.may_be_zero else None


def intersection(left: Range, right: Range) -> Range:
    """Return the numbers in both ranges; `left` if there are none, since the place is then never reached."""
    low = max(left.low, right.low)
    high = min(left.high, right.high)
    return left if low > high else Range(low, high, left.nonzero or right.nonzero)


def negate(a: Range) -> Range:
    """Return the range of a number with the opposite sign."""
    return Range(-a.high, -a.low, a.nonzero)


def add(a: Range, b: Range) -> Range:
    """Return the range of a sum, without a bound if infinities cancel each other."""
    low = a.low + b.low
    high = a.high + b.high
    if _is_nan(low):  # the sum of both infinities
        low = -math.inf
    if _is_nan(high):
        high = math.inf
    return _widen_outward(Range(low, high))


def subtract(a: Range, b: Range) -> Range:
    """Return the range of a difference."""
    return add(a, negate(b))


def multiply(a: Range, b: Range) -> Range:
    """Return the range of a product."""
    return _widen_outward(_span_ends(_multiply_ends, a, b))


def _multiply_ends(a: float, b: float) -> float:
    """Return the product of two bounds; 0 if one is 0, since the numbers in a range are finite."""
    return a * b if a and b else 0.0


def divide(a: Range, b: Range) -> Range:
    """Return the range of a quotient; unbounded if the divisor may be 0."""
    return Range(-math.inf, math.inf) if b.low <= 0 <= b.high else _span_ends(truediv, a, b)


def floor_divide(a: Range, b: Range) -> Range:
    """Return the range of a quotient rounded down, with room for rounding of the float quotient."""
    quotient = divide(a, b)
    low = quotient.low
    high = quotient.high
    if math.isfinite(low):
        low = math.floor(low) - 1.0  # a float's quotient may be rounded up to an integer that it does not reach
    if math.isfinite(high):
        high = float(math.ceil(high))
    if a.low >= 0 and b.low > 0:
        low = max(low, 0.0)
    return _widen_outward(Range(low, high))


def modulo(a: Range, b: Range) -> Range:
    """Return the range of a remainder: as in Python it has the sign of the divisor and is smaller."""
    return Range(min(b.low, 0.0), max(b.high, 0.0))


def power(a: Range, b: Range) -> Range:
    """Return the range of `a ** b`; unbounded unless the exponent is one integer, or no base is negative."""
    is_whole = b.low == b.high and b.low == int(b.low)
    if is_whole and 0 <= b.low <= 64:
        ends = [_power(a.low, int(b.low)), _power(a.high, int(b.low))]
        if b.low % 2 == 0 and a.low <= 0 <= a.high:
            ends.append(_power(0.0, int(b.low)))
        return _widen_outward(hull(*ends))
    if a.low > 0 or (a.low == 0 and b.low >= 0):
        return _widen_outward(_span_ends(_power, a, b))
    if is_whole and b.low > 0 and a.high < 0:
        positive = power(negate(a), b)
        return positive if b.low % 2 == 0 else negate(positive)
    return Range(-math.inf, math.inf)


def _power(base: float, exponent: float) -> float:
    """Return the power; infinity, with the sign of the power, if it is too large for a float."""
    try:
        result: float = base**exponent
    except OverflowError:
        result = math.inf
        if exponent % 2 == 1:
            result = math.copysign(result, base)
    return result


def range_above(low: float, *, strict: bool, integer: bool) -> Range:
    """Return the range of the numbers, or integers, that are above `low`; if not `strict`, also `low`."""
    if strict and integer:
        low = round_down(math.floor(low) + 1)
    elif strict and abs(low) < MAX_EXACT:  # beyond, an integer may lie between two floats
        low = math.nextafter(low, math.inf)
    elif integer and math.isfinite(low):
        low = round_down(math.ceil(low))
    return Range(low, math.inf, nonzero=low > 0)


def range_below(high: float, *, strict: bool, integer: bool) -> Range:
    """Return the range of the numbers, or integers, that are below `high`; if not `strict`, also `high`."""
    return negate(range_above(-high, strict=strict, integer=integer))
