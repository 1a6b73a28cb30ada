"""Tells how exactly a computed number is known: whether rounding alone may decide that two numbers are not equal.

`0.1 + 0.2` is not the float that `0.3` is read as. A number is exact, or the float nearest to the true number, or computed from
rounded numbers. The tables of operators and functions state for each entry what its result is for given operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from formulaseed.language.types import Value

_BINARY_PLACES = 2**20
"""A number with at most this denominator is exact, and so are sums and products of such numbers of ordinary size."""


class Exactness(IntEnum):
    """The difference between a float and the number that is meant, from best to worst."""

    EXACT = 0
    """It does not: an integer, or a number such as 2.5."""
    ROUNDED = 1
    """It is the float nearest to the number, as the literal 0.3 is: equal numbers are equal floats."""
    INEXACT = 2
    """It was computed from rounded numbers: equal numbers may be different floats."""


Operands = Sequence[Exactness]


def literal_exactness(value: Value) -> Exactness:
    """Return the exactness of a literal."""
    is_exact = not isinstance(value, float) or (value * _BINARY_PLACES).is_integer()
    return Exactness.EXACT if is_exact else Exactness.ROUNDED


def always_inexact(_: Operands) -> Exactness:
    """Return that the result is computed from rounded numbers, whatever the operands are."""
    return Exactness.INEXACT


def always_rounded(_: Operands) -> Exactness:
    """Return that the result is the float nearest to a number of few decimals, whatever the operands are."""
    return Exactness.ROUNDED


def exact_if_exact(operands: Operands) -> Exactness:
    """Return the exactness of a sum or product: exact, if all operands are."""
    return Exactness.EXACT if max(operands) is Exactness.EXACT else Exactness.INEXACT


def rounded_if_exact(operands: Operands) -> Exactness:
    """Return the exactness of a quotient or root, which of exact operands is rounded once."""
    return Exactness.ROUNDED if max(operands) is Exactness.EXACT else Exactness.INEXACT


def least_exact(operands: Operands) -> Exactness:
    """Return the exactness of a result that is one of the operands, or an operand without its sign."""
    return max(operands)
