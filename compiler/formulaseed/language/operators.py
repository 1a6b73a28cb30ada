"""The table of operators: types, ranges and meaning, read by the checker, the interpreter and every backend."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from formulaseed import limits
from formulaseed.language import intervals
from formulaseed.language.intervals import Range
from formulaseed.language.types import NUMBER, Type, Value, join

Number = int | float
FaultKind = Literal["division_by_zero", "domain", "overflow", "null", "lookup", "type"]


class Fault(Exception):
    """An operation that has no value for these operands. Whoever knows the step makes an error of it."""

    def __init__(self, kind: FaultKind, message: str, operands: tuple[Value, ...] = ()) -> None:
        self.kind: FaultKind = kind
        self.message = message
        self.operands = operands
        super().__init__(message)


def always(_: Sequence[Range]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator on numbers.

    `is_safe` tells from the operands' ranges whether the bare Python operator can be trusted to give a
    value or plain infinity; where it cannot, the emitter calls `helper`, which raises by name.
    """

    symbol: str
    precedence: int
    description: str
    example: str
    result: Callable[[Type, Type], Type]
    range: Callable[[Range, Range], Range]
    apply: Callable[[Number, Number], Number]
    helper: str | None = None
    is_safe: Callable[[Sequence[Range]], bool] = always


# --- precedence, weakest first; the same as Python's

CONDITIONAL, OR, AND, NOT, COMPARISON, ADDITIVE, MULTIPLICATIVE, UNARY, POWER, ATOM = range(10)

ORDERING = {
    "==": "Equal to", "!=": "Not equal to", "<": "Less than", "<=": "Less than or equal to",
    ">": "Greater than", ">=": "Greater than or equal to",
}  # fmt: skip
COMPARISONS = tuple(ORDERING)
MEMBERSHIP = {"in": "One of a list, or part of a text", "not in": "None of a list, or no part of a text"}
LOGICAL = {
    "and": "Logical AND: the first operand that is not true, else the last",
    "or": "Logical OR: the first operand that is true, else the last",
    "not": "Logical NOT",
}
"""The operators on values that are no numbers, each with what it means."""

MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in", "not in": "in"}


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip
"""What the comparisons mean; a list is a list of values."""

# --- meaning of the operators


def finite(value: Number) -> Number:
    """The value, unless it is not finite or, for an integer, beyond the largest number."""
    if not -limits.NUMBER_MAX <= value <= limits.NUMBER_MAX:
        raise Fault("overflow", "the result is too large for a number")
    return value


def _divide(a: Number, b: Number) -> Number:
    if b == 0:
        raise Fault("division_by_zero", f"{a!r} / {b!r}", (a, b))
    return finite(a / b)


def _floor_divide(a: Number, b: Number) -> Number:
    if b == 0:
        raise Fault("division_by_zero", f"{a!r} // {b!r}", (a, b))
    return finite(a // b)


def _modulo(a: Number, b: Number) -> Number:
    if b == 0:
        raise Fault("division_by_zero", f"{a!r} % {b!r}", (a, b))
    return finite(a % b)


def _power(a: Number, b: Number) -> Number:
    if a == 0 and b < 0:
        raise Fault("division_by_zero", f"{a!r} ** {b!r}", (a, b))
    if a < 0 and b != int(b):
        raise Fault("domain", f"({a!r}) ** {b!r} is no real number", (a, b))
    if isinstance(a, int) and isinstance(b, int) and b > 0 and (abs(a).bit_length() - 1) * b > 1024:
        raise Fault("overflow", f"{a!r} ** {b!r} is too large for a number", (a, b))
    try:
        return finite(a**b)
    except OverflowError:
        raise Fault("overflow", f"{a!r} ** {b!r} is too large for a number", (a, b)) from None


# --- types of results


def _widest(types: Sequence[Type]) -> Type:
    widest = types[0].present()
    for other in types[1:]:
        widest = join(widest, other.present()) or NUMBER
    return widest


def _arithmetic(a: Type, b: Type) -> Type:
    return _widest((a, b))


def _quotient(a: Type, b: Type) -> Type:
    return NUMBER


def _power_is_safe(args: Sequence[Range]) -> bool:
    """Whether the bare operator neither fails nor blows up: an unbounded range says that it might."""
    return intervals.power(args[0], args[1]).is_bounded


_BOUNDED_OPERATORS = (
    Operator("+", ADDITIVE, "Addition", "N_MILD + N_SEVERE", _arithmetic, intervals.add, lambda a, b: finite(a + b)),
    Operator(
        "-", ADDITIVE, "Subtraction", "5 - meta.stars", _arithmetic, intervals.subtract, lambda a, b: finite(a - b)
    ),
    Operator(
        "*", MULTIPLICATIVE, "Multiplication", "N_MILD * 2", _arithmetic, intervals.multiply, lambda a, b: finite(a * b)
    ),
)

OPERATORS: dict[str, Operator] = {
    each.symbol: each
    for each in (
        *_BOUNDED_OPERATORS,
        Operator(
            "/", MULTIPLICATIVE, "Division; the result is a number", "N_RECENT / N_TOTAL",
            _quotient, intervals.divide, _divide, "divide", lambda a: not a[1].may_be_zero,
        ),
        Operator(
            "//", MULTIPLICATIVE, "Division rounded down", "N_REVIEWS // 10",
            _arithmetic, intervals.floor_divide, _floor_divide, "floor_divide", lambda a: not a[1].may_be_zero,
        ),
        Operator(
            "%", MULTIPLICATIVE, "Remainder, with the sign of the divisor", "meta.year % 4",
            _arithmetic, intervals.modulo, _modulo, "modulo", lambda a: not a[1].may_be_zero,
        ),
        Operator(
            "**", POWER, "Exponentiation", "SCORE ** 2",
            _arithmetic, intervals.power, _power, "power", _power_is_safe,
        ),
    )
}  # fmt: skip
