"""Write aggregates as formulas over the numbers of reviews in the cells, and over sums and extremes within each cell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import count
from typing import Any

from formulaseed.errors import require_extra
from formulaseed.language.types import Base
from formulaseed.proofs.cells import Cell, Component, Residual
from formulaseed.proofs.lowering import find_failures
from formulaseed.proofs.nodes import Interval, Node, is_short, walk
from formulaseed.proofs.pool import Pool

Formula = Any
"""An expression of z3, which has no types."""


class CellFormulas(ABC):
    """The formulas of a pool's aggregates. `components` are None if there are too many cells: aggregates are only bounded.

    With `is_whole`, numbers of reviews are integers; otherwise they are real numbers, 0 or at least 1, which is faster to decide.
    """

    def __init__(self, pool: Pool, components: Sequence[Component] | None, *, is_whole: bool) -> None:
        with require_extra("prove", "a proof"):
            import z3
        self.z3 = z3
        self.context: Any = z3.Context()
        self.pool = pool
        self.is_whole = is_whole
        self.components = components
        self.total = self.make_number("total", is_whole=True)
        self.counts: dict[Cell, Formula] = {}
        self._places: dict[Node, Component] = {}
        self._fresh = count()
        for place, component in enumerate(components or ()):
            self._places.update(dict.fromkeys(component.aggregates, component))
            for number, cell in enumerate(component.cells):
                self.counts[cell] = self.make_number(f"n{place}_{number}", is_whole=True)

    # --- parts of formulas

    @abstractmethod
    def term(self, node: Node) -> Formula:
        """Return the formula of a value."""

    def make_number(self, name: str, *, is_whole: bool = False) -> Formula:
        """Return a new variable for a number."""
        if is_whole and self.is_whole:
            return self.z3.ToReal(self.z3.Int(name, self.context))
        return self.z3.Real(name, self.context)

    def real(self, value: Fraction | int) -> Formula:
        """Return an exact number."""
        return self.z3.RealVal(str(Fraction(value)), self.context)

    def add(self, parts: Iterable[Formula]) -> Formula:
        """Return the sum of numbers."""
        return self.z3.Sum([self.real(0), *parts])

    def all_of(self, parts: Iterable[Formula]) -> Formula:
        """Return the condition that all parts hold."""
        return self.z3.And([self.z3.BoolVal(True, self.context), *parts])

    def any_of(self, parts: Iterable[Formula]) -> Formula:
        """Return the condition that a part holds."""
        return self.z3.Or([self.z3.BoolVal(False, self.context), *parts])

    def limit(self, variable: Formula, interval: Interval, factor: Formula = 1) -> Iterator[Formula]:
        """Yield the conditions that a number is in an interval, whose ends are multiplied by `factor`."""
        if isinstance(interval.low, Fraction):
            low = factor * self.real(interval.low)
            yield variable > low if interval.is_low_open else variable >= low
        if isinstance(interval.high, Fraction):
            high = factor * self.real(interval.high)
            yield variable < high if interval.is_high_open else variable <= high

    # --- aggregates

    def list_cell_axioms(self) -> Iterator[Formula]:
        """Yield that no number of reviews is below 0, and that the cells of each component make up all reviews."""
        yield self.total >= 0
        for size in self.counts.values():
            yield size >= 0 if self.is_whole else self.z3.Or(size == 0, size >= 1)
        for component in self.components or ():
            yield self.add(self.counts[cell] for cell in component.cells) == self.total

    def define_aggregate(self, node: Node, variable: Formula) -> Iterator[Formula]:
        """Yield the conditions on an aggregate by the numbers of reviews in the cells; nothing if proofs do not know it."""
        component = self._places.get(node)
        is_count = node.args[1].holds(Fraction(1))
        if component is None:
            if node.value == "total" and is_count:
                yield self.z3.And(variable >= 0, variable <= self.total)
        elif node.value == "total":
            parts = component.list_parts(node)
            terms = ((self.term(where), self._add_cell(cell, term)) for cell, (where, term) in parts)
            yield variable == self.add(self.z3.If(is_counted, term, self.real(0)) for is_counted, term in terms)
            for cell, (_, operand) in parts:
                yield from self._bound_cell_sums(cell, operand)
        elif node.value == "highest":
            yield from self._define_highest(variable, component.list_parts(node))

    def _is_present(self, cell: Cell, where: Node) -> Formula:
        """Return the condition that there is a review of the cell, and a condition on the restaurant holds."""
        return self.all_of([self.counts[cell] >= 1, self.term(where)])

    def _cell_variable(self, cell: Cell, name: str, operand: Node) -> Formula:
        """Return the variable of an operand's values over a cell: their sum, or the largest."""
        return self.make_number(f"{name}_{self.counts[cell]}_{operand.number}")

    def _add_cell(self, cell: Cell, operand: Node) -> Formula:
        """Return the sum of an operand over a cell, by the sums of the terms that vary within it."""
        terms, constant = split_linear(operand)
        size = self.counts[cell]
        parts = [size * self.real(constant)] if constant else []
        for term, factor in terms.items():
            amount = self._cell_variable(cell, "sum", term) if term.fields else size * self.term(term)
            parts.append(amount * self.real(factor))
        return self.add(parts)

    def _bound_cell_sums(self, cell: Cell, operand: Node) -> Iterator[Formula]:
        """Yield the conditions on the sums of a cell: at least the smallest term for each review, at most the largest."""
        size = self.counts[cell]
        for term in split_linear(operand)[0]:
            if term.fields:
                total = self._cell_variable(cell, "sum", term)
                interval = self.pool.bounds.bound(term)
                yield from self.limit(total, Interval(interval.low, interval.high), size)
                yield self.z3.Implies(size == 0, total == 0)
                if interval.is_low_open or interval.is_high_open:
                    yield self.z3.Implies(size > 0, self.all_of(self.limit(total, interval, size)))

    def _define_highest(self, variable: Formula, parts: list[tuple[Cell, Residual]]) -> Iterator[Formula]:
        """Yield the conditions on a maximum: it is the value of a cell with reviews, and no other is beyond."""
        reached = []
        is_present = []
        for cell, (where, operand) in parts:
            highest = self.term(operand)
            if operand.fields:
                highest = self._cell_variable(cell, "highest", operand)
                yield from self.limit(highest, self.pool.bounds.bound(operand))
                opposite = self.pool.compute("-", self.pool.number(0), operand)
                yield highest >= -self._cell_variable(cell, "highest", opposite)  # the lowest value
            is_present.append(self._is_present(cell, where))
            yield self.z3.Implies(is_present[-1], variable >= highest)
            reached.append(self.z3.And(is_present[-1], variable == highest))
        yield self.z3.Or(self.z3.Not(self.any_of(is_present)), *reached)

    def add_review(self, cell: Cell, aggregate: Node, before: Formula, after: Formula) -> Formula:
        """Return the condition that an aggregate grew by one review of a cell; it always holds if proofs do not know it."""
        where, operand = cell.residuals[aggregate]
        if where.holds(False):
            return after == before
        value = self.term(operand) if not operand.fields else self.make_number(f"added{operand.number}")
        limits = self.limit(value, self.pool.bounds.bound(operand)) if operand.fields else ()
        if aggregate.value == "total":
            grows = after == before + value
        elif aggregate.value == "highest":
            is_first = self.term(self.pool.count(aggregate.args[0])) == 0
            grows = self.z3.If(self.z3.Or(value > before, is_first), after == value, after == before)
        else:
            return self.all_of([])
        return self.all_of([*limits, self.z3.If(self.term(where), grows, after == before)])

    def list_failures(self, aggregate: Node, stops: Container[Node]) -> Iterator[Formula]:
        """Yield the conditions that an aggregate fails for a review; one that depends on the review may or may not hold.

        The failures of nodes in `stops` are those of earlier steps.
        """
        where, operand = aggregate.args
        # the conditions of cells lack the comparisons that cells were split at, which may fail themselves
        yield from self._list_part_failures(where, self.total >= 1, stops)
        component = self._places.get(aggregate)
        if component is None or any(
            part.base is Base.BOOLEAN and part.may_fail and part.fields for part in walk(operand)
        ):
            is_counted = self.z3.Bool(f"may_fail{next(self._fresh)}", self.context)
            yield from self._list_part_failures(operand, self.all_of([self.total >= 1, is_counted]), stops)
            return
        for cell, (own_where, own_operand) in component.list_parts(aggregate):
            yield from self._list_part_failures(own_operand, self._is_present(cell, own_where), stops)

    def _list_part_failures(self, part: Node, is_evaluated: Formula, stops: Container[Node]) -> Iterator[Formula]:
        """Yield the conditions that a condition or operand of reviews fails, if it is evaluated for one."""
        for conditions in find_failures(self.pool, part, stops):
            is_excluded = any(self.pool.bounds.decide(condition) is False for condition in conditions)
            if is_excluded or self.pool.conjoin(*conditions).holds(False):
                continue
            tests = [self.term(condition) for condition in conditions if not condition.fields]
            if len(tests) < len(conditions):
                tests.append(self.z3.Bool(f"may_fail{next(self._fresh)}", self.context))
            yield self.all_of([is_evaluated, *tests])


def split_linear(node: Node) -> tuple[dict[Node, Fraction], Fraction]:
    """Return a node as a sum of terms with constant factors, and a constant."""
    if isinstance(node.value, Fraction) and node.is_constant:
        return {}, node.value
    if node.op in ("+", "-"):
        (terms, constant), (right, right_constant) = map(split_linear, node.args)
        sign = 1 if node.op == "+" else -1
        for term, factor in right.items():
            terms[term] = terms.get(term, Fraction(0)) + sign * factor
        return terms, constant + sign * right_constant
    scaled = _split_factor(node)
    if scaled is None:
        return {node: Fraction(1)}, Fraction(0)
    terms, constant = split_linear(scaled[0])
    products = {term: amount * scaled[1] for term, amount in terms.items()}
    is_exact = all(map(is_short, (*products.values(), constant * scaled[1])))
    return (products, constant * scaled[1]) if is_exact else ({node: Fraction(1)}, Fraction(0))


def _split_factor(node: Node) -> tuple[Node, Fraction] | None:
    """Return a product with a constant, or a quotient by one, as the other operand and the constant factor; else None."""
    if node.op == "/" and node.args[1].is_constant and node.args[1].value:
        return node.args[0], 1 / node.args[1].value
    places = [place for place, arg in enumerate(node.args) if node.op == "*" and arg.is_constant]
    return (node.args[1 - places[0]], node.args[places[0]].value) if places else None
