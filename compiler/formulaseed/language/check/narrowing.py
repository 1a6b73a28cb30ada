"""Turns conditions into facts, and finds conditions that are constant: the same for all data.

A condition splits the facts before it into those if it is true and those if it is false. It is constant if one of the two is
impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product

from formulaseed.language import intervals, typed
from formulaseed.language.check.scope import Facts
from formulaseed.language.intervals import Range
from formulaseed.language.operators import MIRRORED, NEGATED
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base
from formulaseed.source.text import value_node

MAX_STRING_PAIRS = 100
"""Whether one string contains another is not tested for more pairs of their values: it takes time."""


@value_node
class Narrowing:
    """The rules by which conditions become facts. The two functions look up steps that were checked before."""

    filter_condition: Callable[[str], Expr | None]
    """Return the condition of a filter by its name; None if nothing is to be concluded from it."""
    non_empty: Callable[[Expr], tuple[Expr, ...]]
    """Return the aggregates that have a value if the argument, a count, is 1 or more."""

    def constant_truth(self, condition: Expr, facts: Facts) -> bool | None:
        """Return the result of a condition if it is the same for all data that reach it.

        Returns None if the result varies, or if no data reach it.
        """
        when_true, when_false = self.split(condition, facts)
        return None if when_true.impossible is when_false.impossible else when_false.impossible

    def split(self, condition: Expr, facts: Facts) -> tuple[Facts, Facts]:
        """Return the facts if the condition is true, and those if it is false. Facts that cannot be are impossible."""
        return self._split(condition, facts.compact())

    def _split(self, condition: Expr, facts: Facts) -> tuple[Facts, Facts]:
        """Return the facts if a condition is true, and those if it is false, as `split` does.

        Unlike `split`, it does not make the facts compact first.
        """
        match condition:
            case typed.Not(operand):
                return self._split(operand, facts)[::-1]
            case typed.Logical(operator, operands):
                return self._split_sequence(operands, operator == "and", facts)
            case typed.Comparison(first, (operator,), (right,)):
                return self._split_pair(first, operator, right, facts)
            case typed.Comparison():
                return self._split_sequence(split_chain(condition), True, facts)
            case typed.Ref(Symbol(SymbolKind.FILTER, name)):
                inner = self.filter_condition(name)
                when_true = when_false = facts
                if inner is not None:
                    when_true, when_false = self._split(inner, facts)
                return when_true.learn_truth(condition, True), when_false.learn_truth(condition, False)
            case typed.Conditional(test, then, otherwise):
                if_test, if_not = self._split(test, facts)
                then_true, then_false = self._split(then, if_test)
                otherwise_true, otherwise_false = self._split(otherwise, if_not)
                when_true = then_true.merge(otherwise_true).learn(condition, is_present=True)
                return when_true, then_false.merge(otherwise_false)
            case _:
                return _split_value(condition, facts)

    def _split_sequence(self, operands: Sequence[Expr], is_and: bool, facts: Facts) -> tuple[Facts, Facts]:
        """Return the facts if `and`, or else `or`, of the operands is true, and those if it is false, as `is_and` says.

        Each operand is evaluated only if none before it decides.
        """
        if not is_and:  # by De Morgan's laws
            negated = [typed.Not(operand, operand.info) for operand in operands]
            return self._split_sequence(negated, True, facts)[::-1]
        when_false = facts.as_impossible()
        for operand in operands:
            facts, stopped = self._split(operand, facts)
            when_false = when_false.merge(stopped)
        return facts, when_false

    def _split_pair(self, left: Expr, operator: str, right: Expr, facts: Facts) -> tuple[Facts, Facts]:
        """Return the facts if one comparison is true, and those if it is false.

        If the comparison is constant, the facts of the other result are impossible.
        """
        result = constant_result(left, operator, right, facts)
        when_true = when_false = facts.as_impossible()
        if result is not False:
            when_true = self._assume_comparison(left, operator, right, facts)
        if not result:
            when_false = self._assume_comparison(left, NEGATED[operator], right, facts)
        return when_true, when_false

    def _assume_comparison(self, left: Expr, operator: str, right: Expr, facts: Facts) -> Facts:
        """Return the facts if the comparison is true: ranges, values of strings, and that a side is not null.

        A string that contains another says nothing, nor does `not in`, except about the values of strings.
        """
        facts = _narrow_values(left, operator, right, facts)
        if operator == "in" and isinstance(right, typed.List):
            return self._narrow_member(left, right.items, facts)
        if operator in ("in", "not in"):
            return facts
        for side, sign, other in ((left, operator, right), (right, MIRRORED[operator], left)):
            if side.info.is_constant:
                continue
            if sign == "!=" and is_null(other):
                return facts.learn(side, is_present=True)
            if sign == "==" and side.info.ty.nullable and not other.info.ty.nullable:
                facts = facts.learn(side, is_implied=True)
            elif sign not in ("==", "!=") and isinstance(side, typed.Present):
                facts = facts.learn(side.operand, is_implied=True)  # or evaluation fails at this very place
            facts = self._narrow_range(side, sign, other, facts)
        return facts

    def _narrow_range(self, side: Expr, sign: str, other: Expr, facts: Facts) -> Facts:
        """Return the facts with the range of `side` if it compares with `other` by `sign`.

        The facts are unchanged if one of the two is no number, or for `!=` with anything but 0.
        """
        mine = facts.range_of(side)
        limit = facts.range_of(other)
        if mine is None or limit is None or (sign == "!=" and not limit.is_zero):
            return facts
        is_whole = side.info.ty.base is Base.INTEGER
        if sign == "!=":
            low = mine.low
            if is_whole and low == 0:
                low = 1.0
            return self._learn_range(side, Range(low, max(low, mine.high), nonzero=True), facts)
        if sign in (">", ">="):
            limit = intervals.range_above(limit.low, strict=sign == ">", integer=is_whole)
        elif sign in ("<", "<="):
            limit = intervals.range_below(limit.high, strict=sign == "<", integer=is_whole)
        return self._learn_range(side, intervals.intersection(mine, limit), facts)

    def _narrow_member(self, left: Expr, members: Sequence[Expr], facts: Facts) -> Facts:
        """Return the facts if a value is one of the `members` of a list.

        These are its range, unless that of a member is not known, and that it is not null if no member is nullable.
        """
        if left.info.ty.nullable and not any(item.info.ty.nullable for item in members):
            facts = facts.learn(left, is_implied=True)
        mine = facts.range_of(left)
        ranges = [facts.range_of(item) for item in members]
        known = [item_range for item_range in ranges if item_range is not None]
        if mine is None or len(known) < len(ranges) or left.info.is_constant:
            return facts
        return self._learn_range(left, intervals.intersection(mine, reduce(intervals.union, known)), facts)

    def _learn_range(self, value: Expr, known: Range, facts: Facts) -> Facts:
        """Return the facts with a new range of a value.

        A count of 1 or more implies that the aggregates over the same reviews have a value.
        """
        facts = facts.learn(value, range=known)
        if known.low >= 1:
            for aggregate in self.non_empty(value):
                facts = facts.learn(aggregate, is_implied=True)
        return facts


def split_chain(chain: typed.Comparison) -> list[typed.Comparison]:
    """Return the comparisons of a chain, which is true if all of them are."""
    sides = (chain.first, *chain.rest)
    pairs = zip(sides, chain.operators, chain.rest, strict=False)
    return [typed.Comparison(left, (operator,), (right,), chain.info) for left, operator, right in pairs]


def list_items(right: Expr) -> tuple[Expr, ...]:
    """Return the items of a list on the right side of a comparison; a tuple of the expression itself if it is no list."""
    return right.items if isinstance(right, typed.List) else (right,)


def is_null(expression: Expr) -> bool:
    """Return True if an expression is the literal null."""
    return isinstance(expression, typed.Literal) and expression.value is None


def is_whole_and_fraction(left: Expr, right: Expr) -> bool:
    """Return True if an integer, or null, on the left can never equal a constant with a fraction on the right."""
    if not right.info.is_constant or left.info.ty.base is not Base.INTEGER:
        return False
    value = right.info.constant
    return isinstance(value, float) and not value.is_integer()


def constant_result(left: Expr, operator: str, right: Expr, facts: Facts) -> bool | None:
    """Return the result of one comparison if it is the same for all data; None if it depends on them.

    It depends on them also if a side may be null and null may give the other result.
    """
    if operator in ("in", "not in"):
        is_contained = _constant_membership(left, right, facts)
        return is_contained if is_contained is None or operator == "in" else not is_contained
    is_equality = operator in ("==", "!=")
    if is_equality and Base.NULL in (left.info.ty.base, right.info.ty.base):
        return _constant_null_test(left, operator, right, facts)
    if is_equality and (is_whole_and_fraction(left, right) or is_whole_and_fraction(right, left)):
        return operator == "!="
    result = _compare_known(left, operator, right, facts)
    nullable = [side.info.ty.nullable for side in (left, right)]
    if all(nullable) or (any(nullable) and result is (operator == "==")):  # null may give the other result
        return None
    return result


def _compare_known(left: Expr, operator: str, right: Expr, facts: Facts) -> bool | None:
    """Return the result of comparing values that are not null, by their ranges or values; None if it depends on data.

    `operator` is not `in` or `not in`.
    """
    a = facts.range_of(left)
    b = facts.range_of(right)
    if a is not None and b is not None:
        return intervals.compare(operator, a, b)
    mine = facts.values_of(left)
    other = facts.values_of(right)
    if mine is None or other is None or operator not in ("==", "!="):
        return None
    if set(mine).isdisjoint(other):
        return operator == "!="
    if len(mine) == len(other) == 1:
        return operator == "=="
    return None


def _constant_null_test(left: Expr, operator: str, right: Expr, facts: Facts) -> bool | None:
    """Return the result of `==` or `!=` with null, on either side; None if the other side may be null."""
    if left.info.ty.base is right.info.ty.base:
        return operator == "=="
    if left.info.ty.base is Base.NULL:
        left, right = right, left
    return None if facts.may_be_null(left) else operator == "!="


def _constant_membership(left: Expr, right: Expr, facts: Facts) -> bool | None:
    """Return True if a value is always in a list, or a string in another; False if it never is.

    Returns None if that depends on data, or if there are more than `MAX_STRING_PAIRS` pairs of strings to try.
    """
    known = facts.values_of(left)
    if isinstance(right, typed.List):
        results = {constant_result(left, "==", item, facts) for item in right.items}
        literals = {item.value for item in right.items if isinstance(item, typed.Literal)}
        if True in results or (known is not None and literals.issuperset(known) and not left.info.ty.nullable):
            return True
        return False if results <= {False} else None
    whole = facts.values_of(right)
    if known is None or whole is None or len(known) * len(whole) > MAX_STRING_PAIRS:
        return None
    contained = {part in text for part, text in product(known, whole)}
    return contained.pop() if len(contained) == 1 else None


def _split_value(value: Expr, facts: Facts) -> tuple[Facts, Facts]:
    """Return the facts if a value is true, and those if it is null, 0, False or an empty string.

    The facts are impossible for a result that its range or a literal excludes.
    """
    known = facts.range_of(value)
    is_false = None
    if isinstance(value, typed.Literal):
        is_false = not value.value
    elif known is not None:
        is_false = intervals.compare("==", known, intervals.point(0))
        if is_false is False and facts.may_be_null(value):
            is_false = None
    when_true = when_false = facts
    if value.info.ty.base is Base.BOOLEAN and not value.info.ty.nullable:
        when_true = facts.learn_truth(value, True)
        when_false = facts.learn_truth(value, False)
    if known is not None:
        when_true = when_true.learn(value, range=Range(known.low, known.high, nonzero=True))
    when_true = when_true.learn(value, is_present=True)
    if is_false:
        when_true = when_true.as_impossible()
    if is_false is False:
        when_false = when_false.as_impossible()
    return when_true, when_false


def _narrow_values(left: Expr, operator: str, right: Expr, facts: Facts) -> Facts:
    """Return the facts with the values that the string `left` can still have if `left operator right` holds.

    `operator` is `==`, `!=`, `in` or `not in`.
    The facts are unchanged if the values of `left` are not known, or if `right` is anything but strings or a list of
    them.
    """
    known = facts.values_of(left)
    if known is None or isinstance(left, typed.Literal):
        return facts
    if operator in ("in", "not in") and not isinstance(right, typed.List):
        return facts
    named = [item.value if isinstance(item, typed.Literal) else None for item in list_items(right)]
    if not all(isinstance(value, str) for value in named):
        return facts
    return facts.learn(left, values=tuple(value for value in known if (value in named) is (operator in ("==", "in"))))
