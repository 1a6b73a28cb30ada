"""Defines how exactly a computed number is known: whether rounding alone may decide that two numbers are not equal.

`0.1 + 0.2` is not the float that `0.3` is read as. A number is exact, or the float nearest to the true number, or computed from
rounded numbers. The tables of operators and functions choose for each entry the function that returns its result's exactness.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from formulaseed.language.types import Value

_MAX_DENOMINATOR = 2**20
"""A number with at most this denominator is exact, and so are sums and products of such numbers of ordinary size."""


class Exactness(IntEnum):
    """The difference between a float and the number that it represents, from best to worst."""

    EXACT = 0
    """No difference: an integer, or a number such as 2.5."""
    ROUNDED = 1
    """The float is the nearest one, as for the literal 0.3: equal numbers are equal floats."""
    INEXACT = 2
    """The float was computed from rounded numbers: equal numbers may be different floats."""


def literal_exactness(value: Value) -> Exactness:
    """Return the exactness of a literal."""
    if not isinstance(value, float) or (value * _MAX_DENOMINATOR).is_integer():
        return Exactness.EXACT
    return Exactness.ROUNDED


def always_inexact(_: Sequence[Exactness]) -> Exactness:
    """Return INEXACT: the result is computed from rounded numbers, whatever the operands are."""
    return Exactness.INEXACT


def always_rounded(_: Sequence[Exactness]) -> Exactness:
    """Return ROUNDED: the result is the float nearest to a number of few decimals, whatever the operands are."""
    return Exactness.ROUNDED


def exact_if_exact(operands: Sequence[Exactness]) -> Exactness:
    """Return the exactness of a sum or product: EXACT if all operands are, else INEXACT."""
    return Exactness.EXACT if max(operands) is Exactness.EXACT else Exactness.INEXACT


def rounded_if_exact(operands: Sequence[Exactness]) -> Exactness:
    """Return the exactness of a quotient or root: ROUNDED if all operands are exact, else INEXACT."""
    return Exactness.ROUNDED if max(operands) is Exactness.EXACT else Exactness.INEXACT


def least_exact(operands: Sequence[Exactness]) -> Exactness:
    """Return the exactness of a result that is one of the operands, apart from its sign: that of the least exact operand."""
    return max(operands)
