"""Operations that have no value for any of the numbers that may reach them.

In: an operation, its operands and their ranges. Out: why it can only fail; None where it may have a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.intervals import Range
from formulaseed.language.operators import OPERATORS, Fault, FaultKind
from formulaseed.language.typed import Expr

_CODES: dict[FaultKind, str] = {
    "division_by_zero": "FS604", "domain": "FS605", "overflow": "FS606", "null": "FS305",
}  # fmt: skip
"""The warnings for what may fail, by the kinds of faults."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What always happens, with the reason where that does not say it, and what to write instead.

    `is_silent`: evaluation does not fail, and gives what cannot be wanted.
    """

    kind: FaultKind
    what: str
    reason: str
    help: str
    is_silent: bool = False

    @property
    def code(self) -> str:
        """The warning where the formula may never come to it."""
        return _CODES[self.kind]

    def message(self, where: str = "") -> str:
        return f"{self.what}{where}{self.reason}"


ALWAYS_NULL = Failure("null", "this is always null", ", and a value is needed", "write a value")
_ZERO = "this always divides by zero"
_FAILS = "this always fails"
_CHANGE = "change the values, or leave the operation out"


def failure_of(name: str, operands: Sequence[Expr], known: Sequence[Range], computed: Range) -> Failure | None:
    """Why the operator or function `name` has no value for any operands in the ranges `known`."""
    match name:
        case "/" | "//" | "%" if _is_zero(known[1]):
            return Failure("division_by_zero", _ZERO, "", "divide by something else")
        case "log" if known[0].high <= 0:
            return _too_small(name, known[0])
        case "sqrt" if known[0].high < 0:
            return _too_small(name, known[0])
        case "clamp" if known[1].low > known[2].high:
            reason = f": {known[1].low:g} and {known[2].high:g}"
            help = "exchange the bounds: clamp(value, low, high)"
            return Failure("domain", "the lower bound is above the upper one", reason, help, is_silent=True)
    if all(operand.info.is_constant for operand in operands):
        return _computed(name, operands)
    if name in ("**", "pow") and _is_zero(known[0]) and known[1].high < 0:
        return Failure("division_by_zero", _ZERO, "", _CHANGE)
    if name in ("**", "pow") and known[0].high < 0 and _is_fraction(known[1]):
        return Failure("domain", _FAILS, ": a negative number has no power that is no integer", _CHANGE)
    if computed.is_beyond:
        return Failure("overflow", _FAILS, ": the result is too large for a number", "use smaller numbers")
    return None


def _computed(name: str, operands: Sequence[Expr]) -> Failure | None:
    apply: Callable[..., object] = OPERATORS[name].apply if name in OPERATORS else FUNCTIONS[name].apply
    try:
        apply(*(operand.info.constant for operand in operands))
    except Fault as fault:
        what, reason = _FAILS, f": {fault.message}"
        if fault.kind == "division_by_zero":
            what, reason = _ZERO, ""
        return Failure(fault.kind, what, reason, _CHANGE)
    return None


def _is_zero(known: Range) -> bool:
    return known.low == known.high == 0


def _is_fraction(known: Range) -> bool:
    """Whether there is no integer in the range."""
    return known.is_bounded and math.ceil(known.low) > known.high


def _too_small(name: str, known: Range) -> Failure:
    reason = f": `{name}` of a number that is {known.high or 0:g} at most"
    return Failure("domain", _FAILS, reason, f"`{name}` needs a larger number")
