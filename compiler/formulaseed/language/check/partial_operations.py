"""Reports null that a formula silently replaces, and operations that may have no value.

In: checked operands, with the facts at their place, and the failures in the tables of operators and functions. Out: warnings, and
why an operation always fails. If a condition around it excludes null or a failure, the facts show that, and nothing is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.catalogue import values as value_catalogue
from formulaseed.diagnostics.catalogue.values import NullEffect
from formulaseed.language import ast, intervals, printer, typed
from formulaseed.language.check.narrowing import list_items
from formulaseed.language.check.scope import Facts, Scope
from formulaseed.language.intervals import Range, describe
from formulaseed.language.operators import AND, NEGATED, OR, Fault, FaultKind, OperandFacts, Operation
from formulaseed.language.typed import Expr
from formulaseed.language.types import Base
from formulaseed.source.text import Span, value_node

MAX_QUOTED = 60
"""A longer operand or expression is not quoted in a help."""
_TRUTH_TESTS = {(True, False): "== True", (True, True): "== False", (False, False): "!= None", (False, True): "== None"}
"""The explicit tests for the truth of a value, by whether it is a boolean, and whether it is under a `not`."""


def is_unproven(expression: Expr, scope: Scope, facts: Facts) -> bool:
    """Return True if no condition on the way to this place excludes that the value is null."""
    if facts.is_silent or not facts.may_be_null(expression):
        return False
    return not (facts.get(expression).is_implied or scope.is_implied(expression, facts.is_present))


def report_null(
    value: Expr, scope: Scope, facts: Facts, effect: NullEffect = "value", other: Expr | None = None, sign: str = ""
) -> None:
    """Report a value that may be null, once for the same text in a step. Does nothing if it is known to be present.

    `effect` says how null acts at this place. `other` is the value that `sign`, `!=` or `not in`, compares it with.
    With the effect `truth`, `sign` may be `not`.
    """
    if not is_unproven(value, scope, facts):
        return
    text = printer.expression_text(value)
    if scope.is_reported("FS305", text):
        return  # the help takes time to write
    coalesced = condition = ""
    if len(text) <= MAX_QUOTED:
        default = _propose_default(value, other, facts)
        coalesced = f"coalesce({text}, {default})"
        if other is not None:
            condition = _compare_with_default(text, coalesced, sign, other)
        if effect == "truth" and value.info.ty.base is Base.STRING:
            coalesced = f"{coalesced} != ''"
    name = text if isinstance(value, typed.Ref) else f"({text})"
    negated = ""
    guarded = f"{name} != None and …"
    if effect == "value":
        guarded = f"… if {name} != None else …"
    elif effect == "truth":
        is_boolean = value.info.ty.base is Base.BOOLEAN
        guarded = f"{name} {_TRUTH_TESTS[is_boolean, bool(sign)]}"
        negated = f"not {name}" if sign else ""
    diagnostic = value_catalogue.may_be_null(
        value.info.span, printer.quote(value), coalesced, guarded, effect, condition, negated
    )
    scope.report_once(diagnostic, text)


def _compare_with_default(text: str, coalesced: str, sign: str, other: Expr) -> str:
    """Return a comparison to propose, with the default in place of null, for which null does not meet it."""
    if other.info.is_constant and isinstance(other.info.constant, bool):
        return f"{text} == {not other.info.constant}"
    return f"{coalesced} {sign} {printer.operand_text(other)}"


def _propose_default(value: Expr, other: Expr | None, facts: Facts) -> str:
    """Return the text of a default to propose: a constant `other`, or the first item of a list of constants.

    Without such a constant, or if the value has only one value besides null, it is an empty string, `False`, or a
    number for which the formula does not fail.
    """
    first = next(iter(list_items(other)), None) if other is not None else None
    known = facts.range_of(value) or intervals.ANY_NUMBER
    values = facts.values_of(value)
    is_only = known.low == known.high or (values is not None and len(values) <= 1)
    if first is not None and first.info.is_constant and not is_only:
        return printer.literal_text(first.info.constant)
    if value.info.ty.base is Base.STRING:
        return "''"
    if value.info.ty.base is Base.BOOLEAN:
        return "False"
    if other is not None:
        known = intervals.ANY_NUMBER
    return _propose_number(known)


def _propose_number(known: Range) -> str:
    """Return a number of the range as text: 0 or else 1 if it is in the range, else the lower bound."""
    candidates = (0, 1, known.low, known.high)
    usual = (value for value in candidates if known.low <= value <= known.high and not (known.nonzero and value == 0))
    number = next(usual, 0)
    if float(number).is_integer():
        number = int(number)
    return repr(number)


def report_truth(condition: Expr, scope: Scope, facts: Facts, *, is_negated: bool = False) -> None:
    """Report a boolean or string that is a condition, under a `not` if `is_negated`, and may be null.

    A number or an entity as a condition is taken as a test for a value, and not reported. The operands of `and` and
    `or` are reported elsewhere.
    """
    is_guard = condition.info.ty.base not in (Base.BOOLEAN, Base.STRING) or scope.is_entity(condition)
    if not is_guard and not isinstance(condition, typed.Logical):  # the operands of one were reported
        report_null(condition, scope, facts, "truth", sign="not" if is_negated else "")


def report_difference(left: Expr, sign: str, right: Expr, scope: Scope, facts: Facts) -> None:
    """Report either side of `!=`, or of `not in` with a list, that may be null.

    Does nothing for a comparison with null, for a list that contains null, and for any other operator.
    """
    if sign not in ("!=", "not in") or (sign == "not in" and not isinstance(right, typed.List)):
        return
    if any(side.info.ty.base is Base.NULL for side in (left, *list_items(right))):
        return
    report_null(left, scope, facts, "difference", right, sign)
    for value in list_items(right):
        report_null(value, scope, facts, "difference", left, sign)


def report_negated_difference(condition: Expr, scope: Scope, facts: Facts) -> None:
    """Report sides that may be null of a condition under a `not`, if it is `==` or `in`, which become `!=` and `not in`."""
    if isinstance(condition, typed.Comparison) and len(condition.operators) == 1:
        sign = NEGATED[condition.operators[0]]
        report_difference(condition.first, sign, condition.rest[0], scope, facts)


# --- `or`, which replaces more than null


def is_boolean_default(operand: Expr, rest: Sequence[Expr]) -> bool:
    """Return True if the operands after a boolean are its default for null, as in `flag or false`."""
    return operand.info.ty.nullable and all(
        value.info.is_constant and isinstance(value.info.constant, bool) for value in rest
    )


def report_replaced_values(checked: Sequence[tuple[Expr, Facts]], span: Span, scope: Scope) -> None:
    """Report each operand of `or` that may be 0, an empty string or false, and is then replaced by a different value.

    `checked` holds each operand with the facts at its place. Booleans are only reported if they are nullable and have a
    default. Operands with silent facts are skipped, as are those before values that are all 0, empty or false.
    """
    operands = [operand for operand, _ in checked]
    for place, (operand, facts) in enumerate(checked[:-1]):
        rest = operands[place + 1 :]
        falsy = _find_falsy_value(operand, rest, facts)
        if facts.is_silent or not falsy or all(_is_falsy(value, facts) for value in rest):
            continue
        here = _include_parentheses(operand.info.span.to(span)) if place > 0 else span
        nullable = facts.may_be_null(operand)
        replacement = _propose_replacement(operand, rest, falsy, nullable)
        if replacement and not replacement.startswith("coalesce("):
            replacement = add_parentheses(replacement, here)
        problem = value_catalogue.or_replaces_value(here, printer.quote(operand), falsy, nullable, replacement)
        scope.report_once(problem, f"{here.start} {here.end}")


def _include_parentheses(span: Span) -> Span:
    """Return the span, extended to the left by the opening parentheses that are closed inside it.

    Stops at anything but parentheses and spaces.
    """
    text = span.source.text
    start = span.start
    unopened = text.count(")", start, span.end) - text.count("(", start, span.end)
    while unopened > 0 and text[start - 1] in "( ":
        start -= 1
        unopened -= text[start] == "("
    return Span(span.source, start, span.end, span.pointer)


def _find_falsy_value(operand: Expr, rest: Sequence[Expr], facts: Facts) -> str:
    """Return the literal, other than null, that an operand may be and that `or` replaces; empty if there is none.

    It is `False` only if `rest`, the operands after it, are a default for a boolean.
    """
    ty = operand.info.ty
    known = facts.range_of(operand)
    values = facts.values_of(operand)
    if ty.is_numeric and (known is None or known.may_be_zero):
        return "0"
    if ty.base is Base.STRING and (values is None or "" in values):
        return "''"
    if ty.base is Base.BOOLEAN and is_boolean_default(operand, rest):
        return "False"
    return ""


def _is_falsy(expression: Expr, facts: Facts) -> bool:
    """Return True if a value is 0, an empty string or false for all data; False if it may be null."""
    if expression.info.is_constant:
        return expression.info.constant is not None and not expression.info.constant
    known = facts.range_of(expression)
    return known is not None and known.is_zero and not expression.info.ty.nullable and expression.info.ty.is_numeric


def _propose_replacement(operand: Expr, rest: Sequence[Expr], falsy: str, nullable: bool) -> str:
    """Return a formula to propose for `operand or rest`; empty if it is too long.

    It is a call of `coalesce` if the operand is `nullable`, else a conditional expression that tests for `falsy`.
    """
    if not all(printer.short_text(value, MAX_QUOTED, "") for value in (operand, *rest)):
        return ""
    text = printer.expression_text(operand)
    if nullable and rest[-1].info.ty.base is not Base.NULL:
        return f"coalesce({text}, {' or '.join(printer.text_beside(value, AND) for value in rest)})"
    precedence = AND if len(rest) > 1 else OR
    default = " or ".join(printer.text_beside(value, precedence) for value in rest)
    return f"{default} if {printer.operand_text(operand)} == {falsy} else {text}"


def add_parentheses(text: str, span: Span) -> str:
    """Return a formula in parentheses, unless `span`, which it is to replace, is a whole JSON string or in parentheses."""
    before = span.source.text[: span.start].rstrip()[-1:]
    after = span.source.text[span.end :].lstrip()[:1]
    return text if (before, after) in (('"', '"'), ("(", ")")) else f"({text})"


# --- `and` and `or`


def report_joined(
    node: ast.Logical, checked: Sequence[tuple[Expr, Facts]], scope: Scope, *, is_condition: bool, refuses_zero: bool
) -> None:
    """Report operands of `and` or `or` that may be null, and those that `or` replaces although they are not null.

    `checked` holds each operand with the facts at its place. `is_condition`: the result is only tested for being true.
    `refuses_zero`: the operation around the result fails for 0, so that `or` is a guard. With either, no replaced
    operand is reported.
    """
    operands = [operand for operand, _ in checked]
    for place, (operand, facts) in enumerate(checked):
        rest = operands[place + 1 :]
        is_or = node.operator == "or" and len(rest) > 0
        joins_booleans = is_or and operand.info.ty.base is Base.BOOLEAN
        if (is_condition or joins_booleans) and not (is_or and is_boolean_default(operand, rest)):
            report_truth(operand, scope, facts)
    if node.operator == "or" and not is_condition and not refuses_zero:
        report_replaced_values(checked, node.span, scope)


# --- failures of operations


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
        return printer.quote(self.operand)

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
        bounded = failure.instead.format("…" if guarded else printer.short_text(varying[-1].operand, MAX_QUOTED))
        scope.report_once(catalogue.may_fail(failure.kind, whole.info.span, message, guarded, bounded), message)


def report_large_sum(scope: Scope, term: Expr, known: Range, span: Span) -> None:
    """Report a warning for a sum over reviews of `term` that may be too large for a number, if `known`, its range, is bounded."""
    if known.is_bounded:
        scope.report_once(catalogue.large_sum(span, describe(known), printer.expression_text(term)), "")


def _write_guard(whole: Expr, operands: Sequence[Expr], index: int, test: str) -> str:
    """Return a formula to propose: the operation if one operand passes `test`, and no part is null, else 0.

    `index` is the place of that operand. An operand or operation that is too long is written as `…`.
    """
    nullable = [node.operand for part in operands for node in typed.walk(part) if isinstance(node, typed.Present)]
    tests = [f"{printer.operand_text(value)} != None" for value in dict.fromkeys(nullable)]
    operand = printer.operand_text(operands[index])
    tests.append(f"{operand if len(operand) <= MAX_QUOTED else '…'} {test}")
    return f"{printer.short_text(whole, MAX_QUOTED)} if {' and '.join(tests)} else 0"
