"""Operations that have no value for some of the numbers that may reach them.

In: an operation, its operands and their ranges. Out: warnings, each with the range that was found. Where a
guard excludes the fault, the range shows it and nothing is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from formulaseed.language import typed
from formulaseed.language.check.facts import Facts
from formulaseed.language.check.scope import Scope
from formulaseed.language.check.wording import called
from formulaseed.language.intervals import Range, described
from formulaseed.language.typed import Expr
from formulaseed.language.typed_text import expression_text, operand_text, text_within
from formulaseed.language.types import Base
from formulaseed.source.text import Span

_SHOWN = 60
"""A longer expression is not repeated in a help line."""


def report_partial_operation(
    scope: Scope,
    facts: Facts,
    name: str,
    operands: Sequence[Expr],
    known: Sequence[Range],
    computed: Range,
    whole: Expr,
) -> None:
    """Warn of every way in which the operation or function `name` may fail. `whole` is the operation itself."""
    if facts.is_silent or whole.info.is_constant:
        return
    hazards = _Hazards(scope, operands, known, whole)
    match name:
        case "/" | "//" | "%":
            hazards.divisor(1)
        case "log":
            hazards.logarithm()
        case "sqrt":
            hazards.root()
        case "**" | "pow":
            hazards.power(computed)
        case "+" | "-" | "*":
            hazards.size(computed)


def report_large_sum(scope: Scope, term: Expr, known: Range, span: Span) -> None:
    """Warn of a sum over reviews that may be too large for a number."""
    if known.is_bounded:
        message = f"the sum may be too large for a number: each term is {described(known)}"
        scope.report("FS606", span, message, f"bound the terms: `min({expression_text(term)}, 1000)`", "sum")


class _Hazards:
    def __init__(self, scope: Scope, operands: Sequence[Expr], known: Sequence[Range], whole: Expr) -> None:
        self.scope = scope
        self.operands = operands
        self.known = known
        self.span = whole.info.span
        self.whole = whole

    def report(self, code: str, message: str, help: Callable[[], str]) -> None:
        """Report a hazard, once in a step: the help, which takes time to write, is not made for another."""
        if not self.scope.is_reported(code, message):
            self.scope.report(code, self.span, message, help(), message)

    def guarded(self, index: int, test: str) -> str:
        """The operation where it has a value: behind the test of an operand, and of all in it that may be null."""
        operand = operand_text(self.operands[index])
        nullable = [
            node.operand for part in self.operands for node in typed.walk(part) if isinstance(node, typed.Present)
        ]
        tests = [f"{operand_text(each)} != None" for each in dict.fromkeys(nullable)]
        tests.append(f"{operand if len(operand) <= _SHOWN else '…'} {test}")
        return f"`{text_within(self.whole, _SHOWN)} if {' and '.join(tests)} else 0`"

    def said(self, index: int) -> str:
        """An operand with its range, as messages name it."""
        return f"{called(self.operands[index])} is {described(self.known[index])}"

    def said_all(self) -> str:
        """The operands that are no constants, with their ranges."""
        parts = [index for index, operand in enumerate(self.operands) if not operand.info.is_constant]
        return " and ".join(dict.fromkeys(map(self.said, parts)))

    def divisor(self, index: int) -> None:
        if self.known[index].may_be_zero and not self.operands[index].info.is_constant:
            message = f"this divides by zero where {called(self.operands[index])} is 0: it is "
            message += described(self.known[index])
            test = "> 0" if self.known[index].low >= 0 else "!= 0"
            self.report("FS604", message, lambda: f"guard it: {self.guarded(index, test)}")

    def logarithm(self) -> None:
        if self.known[0].low <= 0:
            message = f"the logarithm needs a number above 0, and {self.said(0)}"
            self.report("FS605", message, lambda: f"guard it: {self.guarded(0, '> 0')}, or bound it: `log(max(…, 1))`")

    def root(self) -> None:
        if self.known[0].low < 0:
            message = f"the square root needs a number of 0 or more, and {self.said(0)}"
            self.report(
                "FS605", message, lambda: f"guard it: {self.guarded(0, '>= 0')}, or bound it: `sqrt(max(…, 0))`"
            )

    def power(self, computed: Range) -> None:
        base, exponent = self.known
        sound = True
        if base.may_be_zero and exponent.low < 0:
            sound = False
            zero = self.operands[0].info.is_constant
            where = "the exponent is negative" if zero else f"{called(self.operands[0])} is 0 and the exponent negative"
            test = "> 0" if base.low >= 0 or not _is_whole(self.operands[1]) else "!= 0"
            message = f"this divides by zero where {where}: {self.said_all()}"
            guard = (1, ">= 0") if zero else (0, test)
            self.report("FS604", message, lambda: f"guard it: {self.guarded(*guard)}")
        if base.low < 0 and not _is_whole(self.operands[1]):
            sound = False
            message = f"a negative number has no power that is no integer: {self.said_all()}"
            self.report("FS605", message, lambda: f"guard it: {self.guarded(0, '>= 0')}")
        below_one = self.operands[0].info.ty.base is Base.INTEGER and exponent.high <= 0
        if sound and not below_one:  # an integer other than 0 then gives 1 at most
            self.size(computed)

    def size(self, computed: Range) -> None:
        if computed.is_bounded or not all(known.is_bounded for known in self.known):
            return
        parts = [index for index, operand in enumerate(self.operands) if not operand.info.is_constant]
        message = f"this may be too large for a number: {self.said_all()}"
        bounded = text_within(self.operands[parts[-1]], _SHOWN)
        self.report("FS606", message, lambda: f"bound it first: `min({bounded}, 100)`")


def _is_whole(operand: Expr) -> bool:
    constant = operand.info.constant
    if operand.info.is_constant and isinstance(constant, int | float):
        return constant == int(constant)
    return operand.info.ty.base is Base.INTEGER
