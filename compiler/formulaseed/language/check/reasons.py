"""Why a condition is constant, in words.

In: a condition that is constant where it is evaluated, the facts that hold there, and what was noted when it was checked.
Out: the end of a message, such as "`N` is 0 or more".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.language import typed
from formulaseed.language.check.facts import Facts, Narrowing, is_whole_and_fraction, items, links
from formulaseed.language.intervals import described, is_any
from formulaseed.language.printer import called, expression_text, value_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.source.text import Span, value_node

_PARTS = 3
"""So many reasons that hold together are reported."""
_QUOTED = 60
"""A longer condition is not repeated in the message."""


@value_node
class ConstantComparison:
    """A condition that is always true or always false, and why."""

    span: Span
    result: bool
    reason: str
    help: str = ""
    """What to do about this one in particular."""


def reason_of(condition: Expr, noted: Sequence[ConstantComparison], facts: Facts, narrowing: Narrowing) -> str:
    """Return why the condition is always true, or never."""
    found = dict.fromkeys(_reasons(condition, noted, facts, narrowing))
    return " and ".join(list(found)[:_PARTS]) or catalogue.CONTRADICTORY


def _reasons(condition: Expr, noted: Sequence[ConstantComparison], facts: Facts, narrowing: Narrowing) -> Iterator[str]:
    """Follow the condition down to the part that makes it constant."""
    truth = facts.of(condition).truth
    if truth is not None:
        yield (catalogue.KNOWN_TRUE if truth else catalogue.KNOWN_FALSE).format(expression_text(condition))
        return
    match condition:
        case typed.Literal():
            span = condition.info.span
            reasons = [d.reason for d in noted if span.covers(d.span) or d.span.covers(span)]
            yield from reasons or [catalogue.IS_CONSTANT.format(expression_text(condition))]
        case typed.Not(operand):
            yield from _reasons(operand, noted, facts, narrowing)
        case typed.Logical(operator, operands):
            yield from _of_operands(operator == "and", operands, noted, facts, narrowing)
        case typed.Comparison(first, (_,), (right,)):
            if reason := whole_text(first, right):
                yield reason
            else:
                yield from _known([side for side in (first, *items(right)) if not side.info.is_constant], facts)
        case typed.Comparison():
            yield from _of_operands(True, links(condition), noted, facts, narrowing)
        case typed.Ref(Symbol(SymbolKind.FILTER, name)):
            inner = narrowing.filter_condition(name)
            alone = narrowing.truth(inner, Facts()) if inner is not None else None
            if alone is not None:
                yield (catalogue.EVERY_REVIEW if alone else catalogue.NO_REVIEW).format(name)
            elif inner is not None:
                yield from _reasons(inner, (), facts, narrowing)
        case typed.Conditional(test, then, otherwise):
            found = narrowing.truth(test, facts)
            for branch, is_taken in ((then, True), (otherwise, False)):
                if found is None or found is is_taken:
                    yield from _reasons(branch, noted, facts, narrowing)
        case _:
            yield from _known([condition], facts)


def _of_operands(
    is_and: bool, operands: Sequence[Expr], noted: Sequence[ConstantComparison], facts: Facts, narrowing: Narrowing
) -> Iterator[str]:
    """The operand that makes the whole constant, given that the ones before it do not; all, where none does so alone."""
    together: list[str] = []
    for operand in operands:
        when_true, when_false = narrowing.split(operand, facts)
        passed, stopped = (when_true, when_false) if is_and else (when_false, when_true)
        is_constant = passed.impossible is not stopped.impossible
        reasons = list(_reasons(operand, noted, facts, narrowing)) if is_constant else []
        if is_constant and passed.impossible:
            text = expression_text(operand)
            if isinstance(operand, typed.Comparison) and len(text) <= _QUOTED and reasons:
                yield catalogue.holds_where(text, not is_and, reasons[:_PARTS])
            else:
                yield from reasons
            return
        together += reasons
        facts = passed
    yield from together


def _known(expressions: Sequence[Expr], facts: Facts) -> Iterator[str]:
    """What is known of each of which something is."""
    for expression in expressions:
        known = facts.range_of(expression)
        if facts.values_of(expression) is not None or (known is not None and not is_any(known)):
            yield known_text(expression, facts)


def known_text(found: Expr, facts: Facts) -> str:
    """Return what is known of an expression, in words."""
    values: Sequence[Value] | None = facts.values_of(found)
    if values is not None:
        may_be_null = facts.may_be_null(found) and not facts.of(found).is_implied
        return only_values(found, [*values, None] if may_be_null else values)
    known = facts.range_of(found)
    if known is None:
        return catalogue.TESTED_BEFORE.format(called(found))
    if found.info.ty.base is Base.BOOLEAN:
        return (catalogue.ALWAYS_TRUE if known.low else catalogue.ALWAYS_FALSE).format(called(found))
    return catalogue.HAS_RANGE.format(called(found), described(known))


def only_values(found: Expr, values: Sequence[Value]) -> str:
    return catalogue.ONLY_VALUES.format(called(found), listed(values))


def listed(values: Sequence[Value]) -> str:
    return catalogue.listed([value_text(value) for value in values])


def whole_text(left: Expr, right: Expr) -> str:
    """Return why an integer equals none of the numbers that it is compared with; empty where it may."""
    for whole, others in ((left, items(right)), (right, (left,))):
        if all(is_whole_and_fraction(whole, other) for other in others):
            return catalogue.IS_INTEGER.format(called(whole))
    return ""
