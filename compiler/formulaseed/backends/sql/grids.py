"""Find numbers that floats compute without rounding: small multiples of a power of two, such as 1.5 or 0.25 * n.

Their sums are exact in any order, so that a query needs no order of the rows for them. Ranges may be those that guards prove:
where a guard does not hold, the value does not count.
"""

from __future__ import annotations

import math

from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.intervals import MAX_EXACT
from formulaseed.language.typed import Expr
from formulaseed.language.types import Base

_MAX_DIGITS = 53
_KEEPS_GRID = frozenset(("abs", "float"))
"""The functions whose result is a multiple of whatever the argument is, beside those that select an argument."""


def has_exact_sum(node: Expr, count: float) -> bool:
    """Return True if floats add `count` values of the expression without rounding, in any order."""
    digits = count_binary_digits(node)
    return digits is not None and _is_exact(node, digits, count)


def count_binary_digits(node: Expr) -> int | None:
    """Return the digits behind the binary point that every value has at most; None if unknown, or if one may be rounded."""
    digits = _count_digits(node)
    return digits if digits is not None and _is_exact(node, digits, 1) else None


def _is_exact(node: Expr, digits: int, count: float) -> bool:
    """Return True if `count` times the largest value, in units of the last digit, is an integer that floats hold exactly."""
    known = node.info.range
    if known is None or digits > _MAX_DIGITS:
        return False
    return max(-known.low, known.high) * count * 2.0**digits <= MAX_EXACT


def _count_digits(node: Expr) -> int | None:
    """Return the digits of an expression whose operands are exact; it may be rounded itself. None if they are unknown."""
    if node.info.ty.base is Base.INTEGER:
        return 0
    constant = node.info.constant if node.info.is_constant else None
    if isinstance(constant, int | float):
        return constant.as_integer_ratio()[1].bit_length() - 1
    match node:
        case typed.Present(operand) | typed.Unary(_, operand):
            return count_binary_digits(operand)
        case typed.Binary("/", left, typed.Literal(int() | float() as divisor)):
            power, exponent = math.frexp(abs(divisor))
            digits = count_binary_digits(left)
            return max(digits + exponent - 1, 0) if power == 0.5 and digits is not None else None
        case typed.Binary("+" | "-", left, right):
            return _count_most(left, right)
        case typed.Binary("*", left, right):
            counts = [count_binary_digits(left), count_binary_digits(right)]
            return None if None in counts else sum(filter(None, counts))
        case typed.Conditional(_, then, otherwise):
            return _count_most(then, otherwise)
        case typed.Logical(_, operands):
            return _count_most(*operands)
        case typed.Call(name, arguments) if FUNCTIONS[name].selects or name in _KEEPS_GRID:
            return _count_most(*arguments)
    return None


def _count_most(*nodes: Expr) -> int | None:
    """Return the largest number of digits of the expressions; None if one of them is unknown."""
    counts = [count_binary_digits(node) for node in nodes]
    return None if None in counts else max(filter(None, counts), default=0)
