"""Bound the values of nodes by interval arithmetic over exact numbers; bounds that floats round would not be proofs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import OPERATORS
from formulaseed.language.types import Base
from formulaseed.proofs.nodes import ANY, COUNT, Interval, Node, is_short, pair_arms
from formulaseed.proofs.world import Domain

_MAX_END = 10**300
"""Ends beyond are given up, so that every end fits into a float."""
_EXACT_RULES = frozenset({"+", "-", "*", "/"})
"""The operators whose rule in the table is exact for fractions."""
_ZERO = Interval(Fraction(0), Fraction(0))
_NOT_NEGATIVE = Interval(Fraction(0), ANY.high)


def hull(intervals: Iterable[Interval]) -> Interval:
    """Return the smallest interval that includes all; any number if there are none."""
    parts = list(intervals)
    if not parts:
        return ANY
    low, is_low_open = min((part.low, part.is_low_open) for part in parts)
    high, is_high_closed = max((part.high, not part.is_high_open) for part in parts)
    return Interval(low, high, is_low_open, not is_high_closed)


class Bounds:
    """Intervals of nodes."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._intervals: dict[Node, Interval] = {}
        self._proved: dict[Node, Interval] = {}

    def tighten(self, node: Node, interval: Interval) -> None:
        """Note a proved interval of a node."""
        self._proved[node] = self.bound(node).meet(interval)
        self._intervals.clear()  # those of nodes that use this one may be tighter, too

    def bound(self, node: Node, facts: Mapping[Node, Interval] | None = None) -> Interval:
        """Return an interval of a number; under `facts`, intervals of some nodes, only those are used that it mentions."""
        if facts:
            known = self._intervals.get(node, ANY)
            return known.meet(self._compute(node, facts)).meet(facts.get(node, ANY))
        if node not in self._intervals:
            interval = self._compute(node, {}).meet(self._proved.get(node, ANY))
            if node.base is Base.INTEGER:
                interval = interval.meet(interval.close(1))
            self._intervals[node] = interval
        return self._intervals[node]

    def decide(self, condition: Node) -> bool | None:
        """Return whether a comparison of numbers always or never holds; None if that is unknown or depends."""
        if condition.op == "not":
            answer = self.decide(condition.args[0])
            return None if answer is None else not answer
        if condition.op not in ("lt", "le", "eq") or not condition.args[0].base.is_numeric:
            return None
        left, right = (self.bound(arg) for arg in condition.args)
        if condition.op == "eq":
            is_apart = left.is_below(right, is_strict=True) or right.is_below(left, is_strict=True)
            return False if is_apart else None
        return left.decide_order(right, is_strict=condition.op == "lt")

    def _compute(self, node: Node, facts: Mapping[Node, Interval]) -> Interval:
        """Return an interval of a node from those of its operands."""
        match node.op:
            case "const" | "segment":
                return node.interval
            case "input":
                field = self._domain.fields.get(node.value)
                return Interval(field.low, field.high) if node.base.is_numeric and field is not None else ANY
            case "switch":
                return self._bound_switch(node, facts)
            case "aggregate":
                return self._bound_aggregate(node)
            case "present":
                return self.bound(node.args[0], facts)
        if not node.base.is_numeric or node.op == "fail":
            return ANY
        result = apply(node.op, [self.bound(arg, facts) for arg in node.args])
        is_square = node.op == "*" and node.args[0] is node.args[1]
        return result.meet(_NOT_NEGATIVE) if is_square else result

    def _bound_switch(self, node: Node, facts: Mapping[Node, Interval]) -> Interval:
        """Return the hull of the values, each bounded under its condition and the opposite of those before; null is left out."""
        cases: list[tuple[Node, Mapping[Node, Interval]]] = []
        for condition, value in pair_arms(node):
            if self.decide(condition) is not False:
                cases.append((value, self._assume(condition, facts, truth=True)))
                facts = self._assume(condition, facts, truth=False)
        cases.append((node.args[-1], facts))
        return hull(self.bound(value, known) for value, known in cases if value.base.is_numeric and value.op != "fail")

    def _assume(self, condition: Node, facts: Mapping[Node, Interval], *, truth: bool) -> dict[Node, Interval]:
        """Return the facts with those that follow if a condition has this truth."""
        known = dict(facts)
        stack = [(condition, truth)]
        while stack:
            part, is_true = stack.pop()
            if part.op == "not":
                stack.append((part.args[0], not is_true))
            elif part.op == ("and" if is_true else "or"):
                stack += ((operand, is_true) for operand in part.args)
            elif part.op in ("lt", "le") and part.args[0].base.is_numeric:
                low, high = part.args if is_true else reversed(part.args)
                self._assume_order(low, high, known, is_strict=(part.op == "lt") is is_true)
            elif part.op == "eq" and is_true and part.args[0].base.is_numeric:
                for low, high in (part.args, reversed(part.args)):
                    self._assume_order(low, high, known, is_strict=False)
        return known

    def _assume_order(self, low: Node, high: Node, known: dict[Node, Interval], *, is_strict: bool) -> None:
        """Add to `known` the fact that a number is below another one, or at most that; one of them must be a constant."""
        if high.is_constant:
            fact = Interval(ANY.low, high.value, is_high_open=is_strict)
            known[low] = known.get(low, ANY).meet(fact.close(1) if low.base is Base.INTEGER else fact)
        elif low.is_constant:
            fact = Interval(low.value, ANY.high, is_low_open=is_strict)
            known[high] = known.get(high, ANY).meet(fact.close(1) if high.base is Base.INTEGER else fact)

    def _bound_aggregate(self, node: Node) -> Interval:
        """Return an interval of an aggregate from that of its operand."""
        where, operand = node.args
        term = self.bound(operand, self._assume(where, {}, truth=True))
        if node.value == "total":
            return hull([apply("*", [term, COUNT]), _ZERO])
        return term if node.value == "highest" else ANY


def apply(op: str, operands: Iterable[Interval]) -> Interval:
    """Return an interval of an operation of numbers in these intervals; any number if proofs do not know the operation."""
    parts = [_clip(part.low, part.high) for part in operands]
    entry = FUNCTIONS.get(op)
    if op in _EXACT_RULES or (entry is not None and entry.is_extreme):
        known = (entry or OPERATORS[op]).range(*parts)
        return _clip(known.low, known.high)
    if entry is not None and entry.rounds:
        digits = [int(digit.low) for digit in parts[1:]]
        low, high = (end if isinstance(end, float) else Fraction(entry.apply(end, *digits)) for end in parts[0][:2])
        return Interval(low, high)
    if entry is not None and entry.curve is not None:
        return Interval(entry.curve.bound(parts[0].low, -1), entry.curve.bound(parts[0].high, 1))
    return ANY


def _clip(low: Fraction | float, high: Fraction | float) -> Interval:
    """Return an interval with exact ends, of which those that are too large or have too many digits are moved outward."""
    first = Fraction(min(low, _MAX_END)) if low >= -_MAX_END else ANY.low
    last = Fraction(max(high, -_MAX_END)) if high <= _MAX_END else ANY.high
    return Interval(first if is_short(first) else ANY.low, last if is_short(last) else ANY.high)
