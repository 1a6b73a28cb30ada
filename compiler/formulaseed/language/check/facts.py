"""Derives facts from conditions, and finds conditions that are constant: the same for all data.

In `x / n if n > 0 else 0` the first branch knows that `n` is at least 1. Facts map an expression to what is known of it; a
condition splits them into those where it is true and those where it is false. It is constant if one of the two is impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

from formulaseed.language import intervals, typed
from formulaseed.language.info import Info
from formulaseed.language.intervals import Range
from formulaseed.language.operators import MIRRORED, NEGATED
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base
from formulaseed.source.text import tree_node, value_node

MAX_STRING_PAIRS = 100
"""Nothing is concluded from two strings that have more pairs of values: it takes time."""
OVERLAY_SIZE = 10
"""New facts stay in a small overlay; merging each one would copy the whole map."""


class Known(NamedTuple):
    """The facts about one expression."""

    range: Range | None = None
    values: tuple[str, ...] | None = None
    """The values that a string with known ones can still have."""
    truth: bool | None = None
    """The result of an earlier test of a flag or filter; None if there was none."""
    is_present: bool = False
    """It was tested for null itself."""
    is_implied: bool = False
    """It is not null for another reason, which a type checker of Python does not follow."""

    def merge(self, other: Known, info: Info) -> Known:
        """Return the facts that hold if either of the two holds, without a range that `info` states anyway."""
        known = intervals.union(self.range, other.range) if self.range and other.range else None
        values = None
        if self.values is not None and other.values is not None:
            values = tuple(dict.fromkeys((*self.values, *other.values)))
        return Known(
            known if known != info.range else None,
            values,
            self.truth if self.truth is other.truth else None,
            self.is_present and other.is_present,
            self.is_implied and other.is_implied,
        )


_NO_FACTS = Known()


@tree_node
class Path:
    """The conditions on the way to one place of a formula: the last one, with its truth there, and those before it."""

    before: Path | None
    condition: Expr
    truth: bool


@value_node
class Facts:
    """The facts at one place of a formula. Facts only ever grow; each method that changes them returns new ones."""

    recent: Mapping[Expr, Known] = field(default_factory=dict)
    """The facts learnt last; each includes those that `older` has of the expression."""
    older: Mapping[Expr, Known] = field(default_factory=dict)
    impossible: bool = False
    """The conditions contradict one another: whatever is behind them is never reached."""
    is_certain: bool = True
    """Whatever is here is evaluated whenever the formula is; otherwise that depends on the data, or is not known."""
    is_unknown: bool = False
    """A condition on the way has an error: what it excludes is not known, and nothing is warned of."""
    closed_by: tuple[Expr, bool, Facts] | None = None
    """The condition that made this impossible, with the truth that it always has and the facts where it is asked."""
    path: Path | None = None
    """Followed only where formulas can hold aggregates."""

    @property
    def is_silent(self) -> bool:
        """True if nothing is warned of here."""
        return self.impossible or self.is_unknown

    def with_changes(self, **changes: object) -> Facts:
        """Return the facts with these changes. Much faster than `replace`, and every comparison changes some."""
        copy = Facts(
            self.recent, self.older, self.impossible, self.is_certain, self.is_unknown, self.closed_by, self.path
        )
        for name, value in changes.items():
            setattr(copy, name, value)
        return copy

    def get(self, expression: Expr) -> Known:
        """Return the facts about an expression; of a constant there are none."""
        if expression.info.is_constant:  # a long expression takes long to look up
            return _NO_FACTS
        known = self.recent.get(expression) if self.recent else None
        return known or (self.older.get(expression, _NO_FACTS) if self.older else _NO_FACTS)

    def items(self) -> Iterable[tuple[Expr, Known]]:
        """Return the expressions with the facts about them."""
        return {**self.older, **self.recent}.items()

    def range_of(self, expression: Expr) -> Range | None:
        """Return the tightest known range of a number; None if the expression is no number."""
        if isinstance(expression, typed.Present):
            expression = expression.operand
        return self.get(expression).range or expression.info.range

    def values_of(self, expression: Expr) -> tuple[str, ...] | None:
        """Return the values that a string can have here; None if they are not known."""
        if isinstance(expression, typed.Present):
            expression = expression.operand
        values = self.get(expression).values
        return expression.info.ty.values if values is None else values

    def is_present(self, expression: Expr) -> bool:
        """Return True if an expression was tested for null itself."""
        return self.get(expression).is_present

    def may_be_null(self, expression: Expr) -> bool:
        """Return True if the type of an expression is nullable and no test excludes null."""
        return expression.info.ty.nullable and not self.is_present(expression)

    def learn(self, expression: Expr, **changes: Any) -> Facts:
        """Return the facts with `changes`, fields of `Known`, about an expression."""
        before = self.get(expression)
        known = before._replace(**changes)
        return self if known == before else self.with_changes(recent={**self.recent, expression: known})

    def learn_truth(self, expression: Expr, truth: bool) -> Facts:
        """Return the facts with the result of testing an expression; impossible ones if an earlier test differs."""
        if self.get(expression).truth is (not truth):
            return self.as_impossible()
        return self.learn(expression, truth=truth)

    def as_impossible(self) -> Facts:
        return self if self.impossible else self.with_changes(impossible=True)

    def as_unknown(self) -> Facts:
        return self.with_changes(is_unknown=True)

    def as_uncertain(self) -> Facts:
        return self.with_changes(is_certain=False) if self.is_certain else self

    def merge(self, other: Facts) -> Facts:
        """Return the facts that hold if either of the two holds. Both must have the same older facts."""
        if self.impossible or other.impossible:
            return other if self.impossible else self
        both = {e: known.merge(other.get(e), e.info) for e, known in self.recent.items()}
        return self.with_changes(recent={e: known for e, known in both.items() if known != _NO_FACTS})

    def compact(self) -> Facts:
        """Return the same facts, the recent ones merged into the older ones if there are many."""
        return (
            self
            if len(self.recent) <= OVERLAY_SIZE
            else self.with_changes(older={**self.older, **self.recent}, recent={})
        )


@value_node
class Narrowing:
    """Turns conditions into facts; knows the steps checked so far."""

    filter_condition: Callable[[str], Expr | None]
    """Return the condition of a filter by its name; None if it is not to be followed."""
    non_empty: Callable[[Expr], tuple[Expr, ...]]
    """Return the aggregates that have a value if this value, a count, is 1 or more."""

    def constant_truth(self, condition: Expr, facts: Facts) -> bool | None:
        """Return the truth of a condition if it is the same for all data that reach it; None if it varies, or none do."""
        when_true, when_false = self.split(condition, facts)
        return None if when_true.impossible is when_false.impossible else when_false.impossible

    def split(self, condition: Expr, facts: Facts) -> tuple[Facts, Facts]:
        """Return the facts where the condition is true, and those where it is false."""
        return self._split(condition, facts.compact())

    def _split(self, condition: Expr, facts: Facts) -> tuple[Facts, Facts]:
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
                when_true, when_false = self._split(inner, facts) if inner is not None else (facts, facts)
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
        """Split by the operands of `and` or `or`, each of which is evaluated only if none before it decides."""
        passed = facts
        stopped = facts.as_impossible()
        for operand in operands:
            when_true, when_false = self._split(operand, passed)
            passed, left = (when_true, when_false) if is_and else (when_false, when_true)
            stopped = stopped.merge(left)
        return (passed, stopped) if is_and else (stopped, passed)

    def _split_pair(self, left: Expr, operator: str, right: Expr, facts: Facts) -> tuple[Facts, Facts]:
        result = constant_result(left, operator, right, facts)
        when_true = facts.as_impossible() if result is False else self._assume_comparison(left, operator, right, facts)
        when_false = facts.as_impossible() if result else self._assume_comparison(left, NEGATED[operator], right, facts)
        return when_true, when_false

    def _assume_comparison(self, left: Expr, operator: str, right: Expr, facts: Facts) -> Facts:
        """Return the facts where the comparison is true."""
        facts = _narrow_values(left, operator, right, facts)
        if operator in ("in", "not in"):
            is_list = operator == "in" and isinstance(right, typed.List)
            return self._narrow_member(left, list_items(right), facts) if is_list else facts
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
        """Return the facts with the range that `side` has if it compares so with `other`."""
        mine = facts.range_of(side)
        limit = facts.range_of(other)
        if mine is None or limit is None or (sign == "!=" and not limit.is_zero):
            return facts
        is_whole = side.info.ty.base is Base.INTEGER
        if sign == "!=":
            low = 1.0 if is_whole and mine.low == 0 else mine.low
            return self._learn_range(side, Range(low, max(low, mine.high), nonzero=True), facts)
        if sign in (">", ">="):
            limit = intervals.range_above(limit.low, strict=sign == ">", integer=is_whole)
        elif sign in ("<", "<="):
            limit = intervals.range_below(limit.high, strict=sign == "<", integer=is_whole)
        return self._learn_range(side, intervals.intersection(mine, limit), facts)

    def _narrow_member(self, left: Expr, members: Sequence[Expr], facts: Facts) -> Facts:
        """Return the facts where a value is one of the `members` of a list."""
        if left.info.ty.nullable and not any(item.info.ty.nullable for item in members):
            facts = facts.learn(left, is_implied=True)
        mine = facts.range_of(left)
        ranges = [facts.range_of(item) for item in members]
        known = [item_range for item_range in ranges if item_range is not None]
        if mine is None or len(known) < len(ranges) or left.info.is_constant:
            return facts
        return self._learn_range(left, intervals.intersection(mine, reduce(intervals.union, known)), facts)

    def _learn_range(self, value: Expr, known: Range, facts: Facts) -> Facts:
        facts = facts.learn(value, range=known)
        if known.low >= 1:
            for aggregate in self.non_empty(value):
                facts = facts.learn(aggregate, is_implied=True)
        return facts


def split_chain(chain: typed.Comparison) -> list[typed.Comparison]:
    """Return the comparisons of a chain, which must all be true."""
    sides = (chain.first, *chain.rest)
    pairs = zip(sides, chain.operators, chain.rest, strict=False)
    return [typed.Comparison(left, (operator,), (right,), chain.info) for left, operator, right in pairs]


def list_items(right: Expr) -> tuple[Expr, ...]:
    """Return the items of a list on the right side of a comparison; of any other value only itself."""
    return right.items if isinstance(right, typed.List) else (right,)


def is_null(expression: Expr) -> bool:
    """Return True if an expression is the literal null."""
    return isinstance(expression, typed.Literal) and expression.value is None


def is_whole_and_fraction(left: Expr, right: Expr) -> bool:
    """Return True if an integer is compared with a constant that has a fraction: null or not, the two are never equal."""
    value = right.info.constant if right.info.is_constant else None
    return left.info.ty.base is Base.INTEGER and isinstance(value, float) and not value.is_integer()


def constant_result(left: Expr, operator: str, right: Expr, facts: Facts) -> bool | None:
    """Return the result of one comparison if it is the same for all data; None if it depends on them."""
    if operator in ("in", "not in"):
        contained = _constant_membership(left, right, facts)
        return contained if contained is None or operator == "in" else not contained
    is_equality = operator in ("==", "!=")
    if is_equality and Base.NULL in (left.info.ty.base, right.info.ty.base):
        return _constant_null_test(left, operator, right, facts)
    if is_equality and (is_whole_and_fraction(left, right) or is_whole_and_fraction(right, left)):
        return operator == "!="
    result = _compare_known(left, operator, right, facts)
    nullable = [side.info.ty.nullable for side in (left, right)]
    is_lost = all(nullable) or (any(nullable) and result is (operator == "=="))  # null may give the other result
    return None if is_lost else result


def _compare_known(left: Expr, operator: str, right: Expr, facts: Facts) -> bool | None:
    """Return the result of a comparison of values that are not null, by their ranges or values; None if it depends on data."""
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
    return operator == "==" if len(mine) == len(other) == 1 else None


def _constant_null_test(left: Expr, operator: str, right: Expr, facts: Facts) -> bool | None:
    """Return the result of `==` or `!=` with null; None if the other side may be null."""
    if left.info.ty.base is right.info.ty.base:
        return operator == "=="
    tested = right if left.info.ty.base is Base.NULL else left
    return None if facts.may_be_null(tested) else operator == "!="


def _constant_membership(left: Expr, right: Expr, facts: Facts) -> bool | None:
    """Return True if a value is always in a list, or a string in another; False if it never is; None if it depends on data."""
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
    """Split by a value that is tested for being true: neither null nor 0, nor an empty string."""
    known = facts.range_of(value)
    is_zero = intervals.compare("==", known, intervals.point(0)) if known is not None else None
    if isinstance(value, typed.Literal):
        is_zero = not value.value
    elif is_zero is False and facts.may_be_null(value):
        is_zero = None
    when_true = when_false = facts
    if value.info.ty.base is Base.BOOLEAN and not value.info.ty.nullable:
        when_true = facts.learn_truth(value, True)
        when_false = facts.learn_truth(value, False)
    if known is not None:
        when_true = when_true.learn(value, range=Range(known.low, known.high, nonzero=True))
    when_true = when_true.learn(value, is_present=True)
    return (
        when_true.as_impossible() if is_zero else when_true,
        when_false.as_impossible() if is_zero is False else when_false,
    )


def _narrow_values(left: Expr, operator: str, right: Expr, facts: Facts) -> Facts:
    """Return the facts with the values that a string can still have if it compares so with literals."""
    known = facts.values_of(left)
    if known is None or isinstance(left, typed.Literal):
        return facts
    if operator in ("in", "not in") and not isinstance(right, typed.List):
        return facts
    named = [item.value if isinstance(item, typed.Literal) else None for item in list_items(right)]
    if not all(isinstance(value, str) for value in named):
        return facts
    return facts.learn(left, values=tuple(value for value in known if (value in named) is (operator in ("==", "in"))))
