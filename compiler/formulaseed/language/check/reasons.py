"""Why a condition is constant, in words.

In: a condition whose truth `constant_truth` knows, the facts that hold where it is evaluated, and what was noted when it was
checked. Out: the end of a message, such as "`N` is 0 or more".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.language import typed
from formulaseed.language.check.comparisons import ConstantComparison, known_text, whole_text
from formulaseed.language.check.constants import constant_pair, constant_truth
from formulaseed.language.check.facts import Facts, Narrowing, range_of, values_of
from formulaseed.language.intervals import is_any
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind

_PARTS = 3
"""So many reasons that hold together are reported."""
_QUOTED = 60
"""A longer condition is not repeated in the message."""


def reason_of(condition: Expr, noted: Sequence[ConstantComparison], facts: Facts, narrowing: Narrowing) -> str:
    """Why the condition is always true, or never."""
    found = dict.fromkeys(_reasons(condition, noted, facts, narrowing))
    return " and ".join(list(found)[:_PARTS]) or catalogue.CONTRADICTORY


def _reasons(condition: Expr, noted: Sequence[ConstantComparison], facts: Facts, narrowing: Narrowing) -> Iterator[str]:
    """Follow `constant_truth` down to the part that makes it constant."""
    if condition in facts.truths:
        text = catalogue.KNOWN_TRUE if facts.truths[condition] else catalogue.KNOWN_FALSE
        yield text.format(expression_text(condition))
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
        case typed.Comparison():
            yield from _of_chain(condition, facts)
        case typed.Ref(Symbol(SymbolKind.FILTER, name)):
            inner = narrowing.filter_condition(name)
            alone = constant_truth(inner, Facts(), narrowing) if inner is not None else None
            if alone is not None:
                yield (catalogue.EVERY_REVIEW if alone else catalogue.NO_REVIEW).format(name)
            elif inner is not None:
                yield from _reasons(inner, (), facts, narrowing)
        case typed.Conditional(test, then, otherwise):
            found = constant_truth(test, facts, narrowing)
            for branch, is_taken in ((then, True), (otherwise, False)):
                if found is None or found is is_taken:
                    yield from _reasons(branch, noted, facts, narrowing)
        case _:
            yield from _known([condition], facts)


def _of_operands(
    is_and: bool, operands: tuple[Expr, ...], noted: Sequence[ConstantComparison], facts: Facts, narrowing: Narrowing
) -> Iterator[str]:
    """The operand that decides, given that the ones before it do not; all, where none does so alone."""
    together: list[str] = []
    for operand in operands:
        found = constant_truth(operand, facts, narrowing)
        reasons = list(_reasons(operand, noted, facts, narrowing)) if found is not None else []
        if found is not None and found is not is_and:
            text = expression_text(operand)
            if isinstance(operand, typed.Comparison) and len(text) <= _QUOTED and reasons:
                yield catalogue.holds_where(text, found, reasons[:_PARTS])
            else:
                yield from reasons
            return
        together += reasons
        facts = narrowing.assume(operand, is_and, facts)
        if facts.impossible:
            return
    yield from together


def _of_chain(condition: typed.Comparison, facts: Facts) -> Iterator[str]:
    """What is known of the sides that decide: of one pair where that is false, else of all."""
    sides = [condition.first, *condition.rest]
    for left, operator, right in zip(sides, condition.operators, condition.rest, strict=False):
        if constant_pair(left, operator, right, facts) is False:
            sides = [left, right]
            break
    if len(sides) == 2 and (reason := whole_text(*sides)):
        yield reason
        return
    tested = [item for side in sides for item in (side.items if isinstance(side, typed.List) else (side,))]
    yield from _known([side for side in tested if not side.info.is_constant], facts)


def _known(expressions: Sequence[Expr], facts: Facts) -> Iterator[str]:
    """What is known of each of which something is."""
    for expression in expressions:
        known = range_of(expression, facts)
        if values_of(expression, facts) is not None or (known is not None and not is_any(known)):
            yield known_text(expression, facts)
