"""What a condition proves of the expressions that it tests.

In `x / n if n > 0 else 0` the first branch knows that `n` is at least 1. Facts map an expression to the range it
is known to lie in, and hold the expressions known to be present. They only ever grow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from formulaseed.language import intervals, typed
from formulaseed.language.intervals import Range
from formulaseed.language.operators import MIRRORED, NEGATED
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base


@dataclass(frozen=True, slots=True)
class Facts:
    """`present` holds what was tested for null itself, `implied` what must be there for another reason.

    A type checker of Python follows the first and not the second.
    """

    ranges: Mapping[Expr, Range] = field(default_factory=dict)
    values: Mapping[Expr, tuple[str, ...]] = field(default_factory=dict)
    """The values that a string with known ones can still have."""
    truths: Mapping[Expr, bool] = field(default_factory=dict)
    """Flags and filters that were tested, with what was found."""
    present: frozenset[Expr] = frozenset()
    implied: frozenset[Expr] = frozenset()
    impossible: bool = False
    """The conditions contradict one another: whatever is behind them is never reached."""
    is_certain: bool = True
    """Whatever is here is evaluated whenever the formula is; otherwise that depends on the data, or is not known."""
    is_unknown: bool = False
    """A condition on the way has an error: what it excludes is not known, and nothing is warned of."""
    closed_by: tuple[Expr, bool, Facts] | None = None
    """The condition that made this impossible, with the truth that it always has and the facts where it is asked."""

    @property
    def is_silent(self) -> bool:
        """Whether nothing is warned of here."""
        return self.impossible or self.is_unknown

    def with_range(self, expression: Expr, known: Range) -> Facts:
        return replace(self, ranges={**self.ranges, expression: known})

    def with_values(self, expression: Expr, values: tuple[str, ...]) -> Facts:
        return replace(self, values={**self.values, expression: values})

    def with_truth(self, expression: Expr, truth: bool) -> Facts:
        if self.truths.get(expression, truth) is not truth:
            return self.contradicted()
        return replace(self, truths={**self.truths, expression: truth})

    def with_present(self, expression: Expr) -> Facts:
        return replace(self, present=self.present | {expression})

    def with_implied(self, expression: Expr) -> Facts:
        return replace(self, implied=self.implied | {expression})

    def contradicted(self) -> Facts:
        return replace(self, impossible=True)

    def unknown(self) -> Facts:
        return replace(self, is_unknown=True)

    def uncertain(self) -> Facts:
        return replace(self, is_certain=False)

    def either(self, other: Facts) -> Facts:
        """What holds whichever of the two holds."""
        if self.impossible or other.impossible:
            return other if self.impossible else self
        known = {e: intervals.union(r, other.ranges[e]) for e, r in self.ranges.items() if e in other.ranges}
        values = {
            e: tuple(dict.fromkeys((*mine, *other.values[e]))) for e, mine in self.values.items() if e in other.values
        }
        truths = {e: truth for e, truth in self.truths.items() if other.truths.get(e) is truth}
        present, implied = self.present & other.present, self.implied & other.implied
        return replace(self, ranges=known, values=values, truths=truths, present=present, implied=implied)


_ALTERNATIVES, _DEPTH = 50, 3
"""Of a longer `or`, and of one deeper inside others, nothing is learnt: it takes time, and leaves little to know."""

FilterCondition = Callable[[str], Expr | None]
"""The condition of a filter, by the filter's name."""

NonEmpty = Callable[[str], tuple[str, ...]]
"""The extremes that have a value where the count of this name is 1 or more."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Turns conditions into facts; knows the steps checked so far."""

    filter_condition: FilterCondition
    non_empty: NonEmpty

    def assume(self, condition: Expr, truth: bool, facts: Facts, depth: int = 0) -> Facts:
        """The facts where the condition is known to be true, or known to be false.

        `depth` counts the alternatives around this one.
        """
        match condition:
            case typed.Not(operand):
                return self.assume(operand, not truth, facts, depth)
            case typed.Logical(operator, operands):
                if (operator == "and") is truth:
                    for operand in operands:
                        facts = self.assume(operand, truth, facts, depth)
                    return facts
                return self._any_of(operands, truth, facts, depth)
            case typed.Comparison(first, operators, rest):
                return self._chain(first, operators, rest, truth, facts)
            case typed.Ref(Symbol(SymbolKind.FILTER, name)):
                inner = self.filter_condition(name)
                facts = facts.with_truth(condition, truth)
                return self.assume(inner, truth, facts, depth) if inner is not None else facts
            case _:
                return self._truth(condition, truth, facts)

    def _any_of(self, operands: tuple[Expr, ...], truth: bool, facts: Facts, depth: int) -> Facts:
        """The facts where one of the operands is true (or false) and those before it are not."""
        if depth >= _DEPTH or len(operands) > _ALTERNATIVES:
            return facts
        found, before = facts.contradicted(), facts
        for operand in operands:
            found = found.either(self.assume(operand, truth, before, depth + 1))
            before = self.assume(operand, not truth, before, depth + 1)
        return found

    def _truth(self, value: Expr, truth: bool, facts: Facts) -> Facts:
        known = range_of(value, facts)
        if isinstance(value, typed.Literal) and bool(value.value) is not truth:
            return facts.contradicted()
        is_zero = intervals.compared("==", known, intervals.exactly(0)) if known is not None else None
        may_be_null = value.info.ty.nullable and not is_present(value, facts)
        if is_zero is truth and (truth or not may_be_null):
            return facts.contradicted()
        if value.info.ty.base is Base.BOOLEAN and not value.info.ty.nullable:
            facts = facts.with_truth(value, truth)
        if not truth:
            return facts
        facts = facts.with_present(value)
        return facts.with_range(value, Range(known.low, known.high, nonzero=True)) if known else facts

    def _chain(
        self, first: Expr, operators: tuple[str, ...], rest: tuple[Expr, ...], truth: bool, facts: Facts
    ) -> Facts:
        if not truth:
            if len(operators) > 1:
                return facts
            return self._pair(first, NEGATED[operators[0]], rest[0], facts)
        left = first
        for operator, right in zip(operators, rest, strict=True):
            facts = self._pair(left, operator, right, facts)
            left = right
        return facts

    def _pair(self, left: Expr, operator: str, right: Expr, facts: Facts) -> Facts:
        facts = _narrow_values(left, operator, right, facts)
        if operator == "in":
            return self._member(left, right, facts)
        if operator == "not in":
            return facts
        if operator == "!=":
            if _is_null(right):
                return facts.with_present(left)
            if _is_null(left):
                return facts.with_present(right)
            facts = self._not_zero(left, right, facts)
            return self._not_zero(right, left, facts)
        if operator == "==" and (left.info.ty.nullable or right.info.ty.nullable):
            if not right.info.ty.nullable:
                facts = facts.with_implied(left)
            elif not left.info.ty.nullable:
                facts = facts.with_implied(right)
        elif operator != "==":  # an order is asked of what is there, or evaluation fails at this very place
            for operand in (left, right):
                if isinstance(operand, typed.Present):
                    facts = facts.with_implied(operand.operand)
        facts = self._bound(left, operator, right, facts)
        return self._bound(right, MIRRORED[operator], left, facts)

    def _bound(self, left: Expr, operator: str, right: Expr, facts: Facts) -> Facts:
        mine, other = range_of(left, facts), range_of(right, facts)
        if mine is None or other is None:
            return facts
        both_may_be_null = left.info.ty.nullable and right.info.ty.nullable
        if not both_may_be_null and intervals.compared(operator, mine, other) is False:
            return facts.contradicted()
        integer = left.info.ty.base is Base.INTEGER
        if operator == "==":
            known = other
        elif operator in (">", ">="):
            known = intervals.above(other.low, strict=operator == ">", integer=integer)
        else:
            known = intervals.below(other.high, strict=operator == "<", integer=integer)
        return self._learn(left, intervals.intersection(mine, known), facts)

    def _not_zero(self, left: Expr, right: Expr, facts: Facts) -> Facts:
        mine, other = range_of(left, facts), range_of(right, facts)
        if mine is None or other is None:
            return facts
        if intervals.compared("!=", mine, other) is False and not left.info.ty.nullable and not right.info.ty.nullable:
            return facts.contradicted()
        if (other.low, other.high) != (0.0, 0.0):
            return facts
        known = Range(mine.low, mine.high, nonzero=True)
        if left.info.ty.base is Base.INTEGER and mine.low == 0:
            known = Range(1.0, max(mine.high, 1.0), nonzero=True)
        return self._learn(left, known, facts)

    def _member(self, left: Expr, right: Expr, facts: Facts) -> Facts:
        if not isinstance(right, typed.List):
            return facts
        if left.info.ty.nullable and not any(item.info.ty.nullable for item in right.items):
            facts = facts.with_implied(left)
        found = [range_of(item, facts) for item in right.items]
        mine = range_of(left, facts)
        known: Range | None = None
        for item in found:
            if item is None:
                return facts
            known = item if known is None else intervals.union(known, item)
        may_be_null = left.info.ty.nullable and any(item.info.ty.nullable for item in right.items)
        if mine and not may_be_null and all(item and intervals.compared("==", mine, item) is False for item in found):
            return facts.contradicted()
        return self._learn(left, intervals.intersection(mine, known), facts) if mine and known else facts

    def _learn(self, value: Expr, known: Range, facts: Facts) -> Facts:
        if value.info.is_constant:
            return facts
        facts = facts.with_range(value, known)
        if isinstance(value, typed.Ref) and value.symbol.kind is SymbolKind.STEP and known.low >= 1:
            for name in self.non_empty(value.symbol.name):
                facts = facts.with_implied(typed.Ref(Symbol(SymbolKind.STEP, name), value.info))
        return facts


def range_of(expression: Expr, facts: Facts) -> Range | None:
    """The tightest known range of a number; None for what is no number."""
    if isinstance(expression, typed.Present):
        expression = expression.operand
    known = facts.ranges.get(expression) if facts.ranges else None  # a long expression takes long to look up
    return known if known is not None else expression.info.range


def values_of(expression: Expr, facts: Facts) -> tuple[str, ...] | None:
    """The values that a string can have here; None where they are not known."""
    if isinstance(expression, typed.Present):
        expression = expression.operand
    known = expression.info.ty.values
    return facts.values.get(expression, known) if facts.values else known


def _narrow_values(left: Expr, operator: str, right: Expr, facts: Facts) -> Facts:
    known = values_of(left, facts)
    items = right.items if isinstance(right, typed.List) else (right,)
    named = {item.value for item in items if isinstance(item, typed.Literal) and isinstance(item.value, str)}
    if known is None or len(named) < len(items) or isinstance(left, typed.Literal):
        return facts
    if operator in ("in", "not in") and not isinstance(right, typed.List):
        return facts
    left_over = tuple(value for value in known if (value in named) is (operator in ("==", "in")))
    facts = facts.with_values(left, left_over)
    is_empty = not left_over and (operator in ("==", "in") or not left.info.ty.nullable)
    return facts.contradicted() if is_empty else facts


def is_present(expression: Expr, facts: Facts) -> bool:
    return bool(facts.present) and expression in facts.present


def _is_null(expression: Expr) -> bool:
    return isinstance(expression, typed.Literal) and expression.value is None
