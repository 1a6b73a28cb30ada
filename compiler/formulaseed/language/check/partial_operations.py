"""Reports operations that may have no value: evaluates the failures in the tables of operators and functions for operands.

In: an operation, its operands and their ranges. Out: why it always fails, and warnings if it may fail. If a condition around the
operation excludes a failure, the ranges show that, and nothing is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.language import typed
from formulaseed.language.check.scope import Scope
from formulaseed.language.intervals import Range, describe
from formulaseed.language.operators import Fault, FaultKind, OperandFacts, Operation
from formulaseed.language.printer import expression_text, operand_text, quote, short_text
from formulaseed.language.typed import Expr
from formulaseed.source.text import Span, value_node

_MAX_QUOTED = 60
"""A longer expression is not repeated in a help line."""


class CertainFailure(NamedTuple):
    """The reason why an operation fails for all operands in their ranges. `text` contains `{where}`, for the place."""

    kind: FaultKind
    text: str
    help: str
    is_useless: bool = False
    """Whether the operation does not raise, but has a result that is never wanted."""


ALWAYS_NULL = CertainFailure("null", catalogue.ALWAYS_NULL, catalogue.WRITE_A_VALUE)


@value_node
class _NamedOperand:
    """An operand with its range, for the placeholders `{0}`, `{0.range}`, `{0.low}` and `{0.high}` of failures."""

    operand: Expr
    known: Range

    def __str__(self) -> str:
        return quote(self.operand)

    @property
    def range(self) -> str:
        """The range in words."""
        return describe(self.known)

    @property
    def low(self) -> str:
        """The lower bound, as people write it."""
        return f"{self.known.low or 0:g}"

    @property
    def high(self) -> str:
        """The upper bound, as people write it."""
        return f"{self.known.high or 0:g}"


def find_certain_failure(operation: Operation, operands: Sequence[Expr], known: OperandFacts) -> CertainFailure | None:
    """Return why the operation fails for all operands in the ranges; None if it may have a value.

    Constant operands are computed; the fault of that comes before the failures of the table, except for a division by
    zero.
    """
    failure = next((failure for failure in operation.failures if failure.is_certain(known)), None)
    if all(info.is_constant for info in known.infos):
        try:
            operation.compute(*(info.constant for info in known.infos))
        except Fault as fault:
            if fault.kind != "division_by_zero":
                help = catalogue.CHANGE_THE_VALUES
                if failure is not None:
                    help = failure.help.format(name=operation.name)
                return CertainFailure(fault.kind, catalogue.ALWAYS_FAILS + fault.message, help)
    if failure is None:
        return None
    named = list(map(_NamedOperand, operands, known.ranges))
    text = failure.certain.format(*named, name=operation.name, where="{where}")
    return CertainFailure(failure.kind, text, failure.help.format(name=operation.name), failure.effect == "useless")


def report_partial_operation(
    scope: Scope, operation: Operation, operands: Sequence[Expr], known: OperandFacts, whole: Expr
) -> None:
    """Report a warning for each failure that is possible, once for the same text in a step.

    `whole` is the operation itself. A failure whose own test `is_warned` objects is left out.
    """
    for failure in operation.failures:
        if not failure.is_possible(known) or (failure.is_warned is not None and not failure.is_warned(known)):
            continue
        named = list(map(_NamedOperand, operands, known.ranges))
        varying = [operand for operand in named if not operand.operand.info.is_constant]
        descriptions = dict.fromkeys(f"{operand} is {operand.range}" for operand in varying)
        message = failure.message.format(*named, all=" and ".join(descriptions))
        if scope.is_reported(catalogue.PARTIAL_CODES[failure.kind], message):
            continue  # the help takes time to write
        guarded = ""
        if failure.guard is not None:
            guarded = _write_guard(whole, operands, *failure.guard(known))
        bounded = failure.instead.format("…" if guarded else short_text(varying[-1].operand, _MAX_QUOTED))
        scope.report_once(catalogue.may_fail(failure.kind, whole.info.span, message, guarded, bounded), message)


def report_large_sum(scope: Scope, term: Expr, known: Range, span: Span) -> None:
    """Report a warning for a sum over reviews of `term` that may be too large for a number, if `known`, its range, is bounded."""
    if known.is_bounded:
        scope.report_once(catalogue.large_sum(span, describe(known), expression_text(term)), "")


def _write_guard(whole: Expr, operands: Sequence[Expr], index: int, test: str) -> str:
    """Return a formula to propose: the operation if one operand passes `test`, and no part is null, else 0.

    `index` is the place of that operand. An operand or operation that is too long is written as `…`.
    """
    nullable = [node.operand for part in operands for node in typed.walk(part) if isinstance(node, typed.Present)]
    tests = [f"{operand_text(value)} != None" for value in dict.fromkeys(nullable)]
    operand = operand_text(operands[index])
    tests.append(f"{operand if len(operand) <= _MAX_QUOTED else '…'} {test}")
    return f"{short_text(whole, _MAX_QUOTED)} if {' and '.join(tests)} else 0"
