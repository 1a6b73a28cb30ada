"""Write aggregates as formulas over the numbers of reviews in the cells, and over sums and extremes within each cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import count
from typing import Any, Protocol

from formulaseed.proofs.cells import Cell, Component, Residual
from formulaseed.proofs.intervals import Bounds, Interval
from formulaseed.proofs.lowering import find_failures
from formulaseed.proofs.nodes import Node
from formulaseed.proofs.pool import Pool

Formula = Any
"""An expression of z3, which has no types."""


class TermWriter(Protocol):
    """The part of an encoder that writes terms."""

    z3: Any
    context: Any
    is_whole: bool
    pool: Pool
    bounds: Bounds

    def make_number(self, name: str, *, is_whole: bool = False) -> Formula:
        """Return a new variable for a number."""

    def make_boolean(self, name: str) -> Formula:
        """Return a new variable for a condition."""

    def real(self, value: Fraction | int) -> Formula:
        """Return an exact number."""

    def term(self, node: Node) -> Formula:
        """Return the formula of a value."""

    def limit(self, variable: Formula, interval: Interval) -> Iterator[Formula]:
        """Yield the conditions that a number is in an interval."""

    def all_of(self, parts: Iterable[Formula]) -> Formula:
        """Return the condition that all parts hold."""

    def any_of(self, parts: Iterable[Formula]) -> Formula:
        """Return the condition that a part holds."""


class CellFormulas:
    """The formulas of an encoder's aggregates. `components` are None if there are too many cells: aggregates are only bounded."""

    def __init__(self, encoder: TermWriter, components: Sequence[Component] | None) -> None:
        self._encoder = encoder
        self.components = components
        self.total = encoder.make_number("total", is_whole=True)
        self.counts: dict[Cell, Formula] = {}
        self._fresh = count()
        for place, component in enumerate(components or ()):
            for number, cell in enumerate(component.cells):
                self.counts[cell] = encoder.make_number(f"n{place}_{number}", is_whole=True)

    def list_axioms(self) -> Iterator[Formula]:
        """Yield that no number of reviews is below 0, and that the cells of each component make up all reviews."""
        z3 = self._encoder.z3
        yield self.total >= 0
        for size in self.counts.values():
            yield size >= 0 if self._encoder.is_whole else z3.Or(size == 0, size >= 1)
        for component in self.components or ():
            yield z3.Sum([self.counts[cell] for cell in component.cells]) == self.total

    def define(self, node: Node, variable: Formula) -> Iterator[Formula]:
        """Yield the conditions on an aggregate by the numbers of reviews in the cells."""
        parts = list(self._list_parts(node))
        if not any(node in component.aggregates for component in self.components or ()):
            if node.value in ("count", "count_distinct"):
                yield self._encoder.z3.And(variable >= 0, variable <= self.total)
            return
        match node.value:
            case "count":
                yield variable == self._sum_counts(parts)
            case "sum":
                yield from self._define_sum(variable, parts)
            case "max" | "min":
                yield from self._define_extreme(node, variable, parts)
            case "count_distinct":
                yield self._encoder.z3.And(variable >= 0, variable <= self._sum_counts(parts))
                is_certain = [
                    self._is_present(cell, where)
                    for cell, (where, operand) in parts
                    if operand and not operand.nullable
                ]
                yield self._encoder.z3.Implies(self._encoder.any_of(is_certain), variable >= 1)

    def _define_sum(self, variable: Formula, parts: list[tuple[Cell, Residual]]) -> Iterator[Formula]:
        """Yield the conditions on a sum: it is that of the cells, and each of these is within its limits."""
        terms = [self._gate(where, self._sum_cell(cell, operand)) for cell, (where, operand) in parts if operand]
        yield variable == self._encoder.z3.Sum([self._encoder.real(0), *terms])
        for cell, (_, operand) in parts:
            if operand:
                yield from self._bound_cell_sums(cell, operand)

    def _list_parts(self, node: Node) -> Iterator[tuple[Cell, Residual]]:
        """Yield the cells whose reviews an aggregate may count, with its condition and operand there."""
        for component in self.components or ():
            if node in component.aggregates:
                for cell in component.cells:
                    residual = cell.residuals[node]
                    if not residual[0].holds(False):
                        yield cell, residual

    def _sum_counts(self, parts: Iterable[tuple[Cell, Residual]]) -> Formula:
        """Return the number of reviews of cells for which the conditions hold."""
        return self._encoder.z3.Sum(
            [self._encoder.real(0), *(self._gate(where, self.counts[cell]) for cell, (where, _) in parts)]
        )

    def _gate(self, where: Node, term: Formula) -> Formula:
        """Return the term, or 0 where a condition on the restaurant does not hold."""
        return (
            term if where.holds(True) else self._encoder.z3.If(self._encoder.term(where), term, self._encoder.real(0))
        )

    def _is_present(self, cell: Cell, where: Node) -> Formula:
        """Return the condition that there is a review of the cell, and a condition on the restaurant holds."""
        has_rows = self.counts[cell] >= 1
        return has_rows if where.holds(True) else self._encoder.z3.And(has_rows, self._encoder.term(where))

    def _cell_variable(self, cell: Cell, name: str, operand: Node) -> Formula:
        """Return the variable of an operand's values over a cell: their sum, maximum or minimum."""
        return self._encoder.z3.Real(f"{name}_{self.counts[cell]}_{operand.number}", self._encoder.context)

    def _sum_cell(self, cell: Cell, operand: Node) -> Formula:
        """Return the sum of an operand over a cell, by the sums of the terms that vary within it."""
        terms, constant = split_linear(operand)
        parts = [self.counts[cell] * self._encoder.real(constant)] if constant else []
        for term, factor in terms.items():
            amount = (
                self._cell_variable(cell, "sum", term) if term.fields else self.counts[cell] * self._encoder.term(term)
            )
            parts.append(amount * self._encoder.real(factor))
        return self._encoder.z3.Sum([self._encoder.real(0), *parts])

    def _bound_cell_sums(self, cell: Cell, operand: Node) -> Iterator[Formula]:
        """Yield the conditions on the sums of a cell: at least the smallest term for each review, at most the largest."""
        size = self.counts[cell]
        for term in split_linear(operand)[0]:
            if term.fields:
                total = self._cell_variable(cell, "sum", term)
                interval = self._encoder.bounds.bound(term)
                if isinstance(interval.low, Fraction):
                    yield total >= size * self._encoder.real(interval.low)
                if isinstance(interval.high, Fraction):
                    yield total <= size * self._encoder.real(interval.high)
                yield self._encoder.z3.Implies(size == 0, total == 0)
                if interval.low == 0 and interval.excludes_zero:
                    yield self._encoder.z3.Implies(size > 0, total > 0)

    def value_of_review(self, operand: Node) -> tuple[Formula, list[Formula]]:
        """Return the value of an operand for one more review of a cell, and its limits."""
        if not operand.fields:
            return self._encoder.term(operand), []
        value = self._encoder.make_number(f"added{operand.number}")
        return value, list(self._encoder.limit(value, self._encoder.bounds.bound(operand)))

    def _define_extreme(self, node: Node, variable: Formula, parts: list[tuple[Cell, Residual]]) -> Iterator[Formula]:
        """Yield the conditions on a maximum or minimum: it is the value of a cell with reviews, and no other is beyond."""
        reached = []
        for cell, (where, operand) in parts:
            if operand is None:
                continue
            extreme = self._extreme_of_cell(cell, node.value, operand)
            is_present = self._is_present(cell, where)
            yield self._encoder.z3.Implies(
                is_present, variable >= extreme if node.value == "max" else variable <= extreme
            )
            reached.append(self._encoder.z3.And(is_present, variable == extreme))
            if operand.fields:
                low, high = (self._extreme_of_cell(cell, name, operand) for name in ("min", "max"))
                interval = self._encoder.bounds.bound(operand)
                yield from self._encoder.limit(low, interval)
                yield from self._encoder.limit(high, interval)
                yield low <= high
                yield from self._limit_open(operand, low, high)
        is_empty = self._encoder.z3.Not(
            self._encoder.any_of(self._is_present(cell, where) for cell, (where, _) in parts)
        )
        yield self._encoder.z3.Or(is_empty, *reached)

    def _limit_open(self, operand: Node, low: Formula, high: Formula) -> Iterator[Formula]:
        """Yield that the values of a segment do not reach its open ends."""
        if operand.op == "segment":
            if operand.value.is_low_open:
                yield low > self._encoder.real(operand.value.low)
            if operand.value.is_high_open:
                yield high < self._encoder.real(operand.value.high)

    def _extreme_of_cell(self, cell: Cell, name: str, operand: Node) -> Formula:
        """Return the largest (`max`) or smallest value of an operand in a cell."""
        return self._cell_variable(cell, name, operand) if operand.fields else self._encoder.term(operand)

    def list_failures(self, aggregate: Node) -> Iterator[Formula]:
        """Yield the conditions that an aggregate fails for a review; one that depends on the review may or may not hold."""
        if not aggregate.may_fail:
            return
        has_cells = any(aggregate in component.aggregates for component in self.components or ())
        parts: Iterable[tuple[Cell | None, Residual]] = [(None, (aggregate.args[0], aggregate.args[-1]))]
        if has_cells:
            parts = self._list_parts(aggregate)
        for cell, (where, operand) in parts:
            has_rows = self.total >= 1
            yield from self._list_part_failures(where, has_rows)
            if operand is not None:
                yield from self._list_part_failures(
                    operand, has_rows if cell is None else self._is_present(cell, where)
                )

    def _list_part_failures(self, part: Node, is_evaluated: Formula) -> Iterator[Formula]:
        """Yield the conditions that a condition or operand of reviews fails, if it is evaluated for one."""
        for place in find_failures(self._encoder.pool, part):
            if any(self._encoder.bounds.decide(condition) is False for condition in place.conditions):
                continue
            tests = [self._encoder.term(condition) for condition in place.conditions if not condition.fields]
            if len(tests) < len(place.conditions):
                tests.append(self._encoder.make_boolean(f"may_fail{next(self._fresh)}"))
            yield self._encoder.all_of([is_evaluated, *tests])


def split_linear(node: Node) -> tuple[dict[Node, Fraction], Fraction]:
    """Return a node as a sum of terms with constant factors, and a constant."""
    if isinstance(node.value, Fraction) and node.is_constant:
        return {}, node.value
    if node.op in ("+", "-"):
        (left, a), (right, b) = map(split_linear, node.args)
        sign = 1 if node.op == "+" else -1
        terms = dict(left)
        for term, factor in right.items():
            terms[term] = terms.get(term, Fraction(0)) + sign * factor
        return terms, a + sign * b
    if node.op in ("*", "/") and node.args[1].is_constant and node.args[1].value:
        factor = node.args[1].value if node.op == "*" else 1 / node.args[1].value
        terms, constant = split_linear(node.args[0])
        return {term: amount * factor for term, amount in terms.items()}, constant * factor
    if node.op == "*" and node.args[0].is_constant:
        terms, constant = split_linear(node.args[1])
        return {term: amount * node.args[0].value for term, amount in terms.items()}, constant * node.args[0].value
    return {node: Fraction(1)}, Fraction(0)
