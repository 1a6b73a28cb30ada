"""Conditions that are constant: the same for all data.

In: a checked condition and the facts that hold where it is evaluated. Out: its truth, or None where that depends on the data.
"""

from __future__ import annotations

from formulaseed.language import intervals, typed
from formulaseed.language.check.facts import Facts, Narrowing, is_present, range_of, values_of
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base

_PAIRS = 100
"""Of strings with more values than these together nothing is concluded: it takes time."""


def constant_truth(condition: Expr, facts: Facts, narrowing: Narrowing) -> bool | None:
    """The condition's truth, if it is the same for all data."""
    if condition in facts.truths:
        return facts.truths[condition]
    match condition:
        case typed.Literal(value):
            return bool(value)
        case typed.Not(operand):
            found = constant_truth(operand, facts, narrowing)
            return None if found is None else not found
        case typed.Logical(operator, operands):
            return _logical(operator == "and", operands, facts, narrowing)
        case typed.Comparison(first, operators, rest):
            return _chain(first, operators, rest, facts)
        case typed.Ref(Symbol(SymbolKind.FILTER, name)):
            inner = narrowing.filter_condition(name)
            return constant_truth(inner, facts, narrowing) if inner is not None else None
        case typed.Conditional(test, then, otherwise):
            found = constant_truth(test, facts, narrowing)
            if found is not None:
                return constant_truth(then if found else otherwise, facts, narrowing)
            both = constant_truth(then, facts, narrowing), constant_truth(otherwise, facts, narrowing)
            return both[0] if both[0] is both[1] else None
        case _:
            return _truth(condition, facts)


def constant_pair(left: Expr, operator: str, right: Expr, facts: Facts) -> bool | None:
    """The result of one comparison, if what is known of its sides leaves no doubt."""
    if operator in ("in", "not in"):
        if not isinstance(right, typed.List):
            return _contained(left, operator, right, facts)
        each = [constant_pair(left, "==", item, facts) for item in right.items]
        found = True if any(each) else False if all(result is False for result in each) else None
        if found is None:
            found = _all_listed(left, right, facts)
        return found if found is None or operator == "in" else not found
    for side, tested in ((left, right), (right, left)):
        if operator in ("==", "!=") and side.info.ty.base is Base.NULL:
            if tested.info.ty.base is Base.NULL:
                return operator == "=="
            return None if tested.info.ty.nullable and not is_present(tested, facts) else operator == "!="
    a, b = range_of(left, facts), range_of(right, facts)
    nullable = left.info.ty.nullable or right.info.ty.nullable
    both_may_be_null = left.info.ty.nullable and right.info.ty.nullable
    if operator in ("==", "!=") and (is_whole_and_fraction(left, right) or is_whole_and_fraction(right, left)):
        return operator == "!="
    if a is not None and b is not None:
        found = intervals.compared(operator, a, b)
        return None if both_may_be_null or (nullable and found is (operator == "==")) else found
    mine, other = values_of(left, facts), values_of(right, facts)
    if mine is None or other is None or operator not in ("==", "!="):
        return None
    if not set(mine) & set(other):
        return None if both_may_be_null else operator == "!="
    if len(mine) == len(other) == 1 and not nullable:
        return operator == "=="
    return None


def is_whole_and_fraction(left: Expr, right: Expr) -> bool:
    """Whether an integer is compared with a number that is none: null or not, the two are never equal."""
    value = right.info.constant if right.info.is_constant else None
    return left.info.ty.base is Base.INTEGER and isinstance(value, float) and not value.is_integer()


def _logical(is_and: bool, operands: tuple[Expr, ...], facts: Facts, narrowing: Narrowing) -> bool | None:
    in_doubt = False
    for operand in operands:
        found = constant_truth(operand, facts, narrowing)
        if found is not None and found is not is_and:
            return found
        in_doubt = in_doubt or found is None
        facts = narrowing.assume(operand, is_and, facts)
        if facts.impossible:
            return not is_and
    return None if in_doubt else is_and


def _chain(first: Expr, operators: tuple[str, ...], rest: tuple[Expr, ...], facts: Facts) -> bool | None:
    results = []
    left = first
    for operator, right in zip(operators, rest, strict=True):
        results.append(constant_pair(left, operator, right, facts))
        left = right
    return False if False in results else None if None in results else True


def _contained(left: Expr, operator: str, right: Expr, facts: Facts) -> bool | None:
    """Whether the one string occurs in the other, where it does so for all of their values or for none."""
    inside, whole = values_of(left, facts), values_of(right, facts)
    if inside is None or whole is None or len(inside) * len(whole) > _PAIRS:
        return None
    found = {(part in text) is (operator == "in") for part in inside for text in whole}
    return found.pop() if len(found) == 1 else None


def _all_listed(left: Expr, right: typed.List, facts: Facts) -> bool | None:
    """True where a list holds every value that a string can have."""
    known = values_of(left, facts)
    named = {item.value for item in right.items if isinstance(item, typed.Literal)}
    return True if known is not None and set(known) <= named and not left.info.ty.nullable else None


def _truth(value: Expr, facts: Facts) -> bool | None:
    known = range_of(value, facts)
    if known is None or (value.info.ty.nullable and value not in facts.present):
        return None
    zero = intervals.compared("==", known, intervals.exactly(0))
    return None if zero is None else not zero
