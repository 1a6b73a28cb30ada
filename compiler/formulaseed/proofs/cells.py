"""Divide reviews into cells: within a cell, each aggregate treats all reviews alike, up to the values of numeric fields.

In: the aggregates of one or several programs. Out: for each group of fields that some aggregate joins, its cells. Fields are
substituted one by one, and equal states are merged, so that the product of all fields is never built.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Any, NamedTuple

from formulaseed.language.inputs import _parse_iso_date
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.proofs.nodes import Interval, Node, Segment
from formulaseed.proofs.pool import Pool
from formulaseed.proofs.world import FieldDomain

MAX_CELLS = 3_000
_DATE = Symbol(SymbolKind.META, "date")
_OTHER_DAYS = tuple(f"{2004 + number}-{number % 12 + 1:02}-15" for number in range(27))
Residual = tuple[Node, Node]
"""The condition and the operand of an aggregate for the reviews of a cell."""
State = tuple[Residual, ...]


class TooManyCellsError(Exception):
    """Raised when a seed divides reviews into more cells than proofs can handle."""


@dataclass(frozen=True, eq=False)
class Cell:
    """Reviews that all aggregates treat alike: `residuals` by aggregate."""

    residuals: Mapping[Node, Residual]


class Component(NamedTuple):
    """Cells that make up all reviews, for `aggregates` that share fields."""

    aggregates: tuple[Node, ...]
    cells: tuple[Cell, ...]

    def list_parts(self, aggregate: Node) -> list[tuple[Cell, Residual]]:
        """Return the cells whose reviews an aggregate may count, with its condition and operand there."""
        parts = ((cell, cell.residuals[aggregate]) for cell in self.cells)
        return [(cell, residual) for cell, residual in parts if not residual[0].holds(False)]


class CellBuilder:
    """A builder of components, and of samples of fields, that knows the constants in the nodes of a pool."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._strings: dict[Symbol, set[str]] = defaultdict(set)
        self._borders: dict[Symbol, set[tuple[Fraction, bool]]] = defaultdict(set)
        for node in pool.nodes.values():
            if node.op in ("eq", "lt", "le", "contains"):
                self._note_constants(node)

    def _note_constants(self, comparison: Node) -> None:
        """Note the constant that a comparison cuts the values of a field at.

        A cut is a number, and whether it belongs to the numbers below the cut.
        """
        for place, side in enumerate(comparison.args):
            while side.op == "present":
                side = side.args[0]
            limit = comparison.args[1 - place]
            if side.op == "input" and isinstance(limit.value, Fraction):
                cuts = (False, True) if comparison.op == "eq" else ((place == 0) is (comparison.op == "le"),)
                self._borders[side.value].update((limit.value, is_below) for is_below in cuts)
            elif side.op == "input" and limit.is_constant and isinstance(limit.value, str):
                self._strings[side.value].add(limit.value)

    def build(self, aggregates: Sequence[Node]) -> list[Component]:
        """Return the components of the aggregates. Raises `TooManyCellsError`."""
        return [self._build_component(group) for group in _group_aggregates(aggregates)]

    def _build_component(self, aggregates: Sequence[Node]) -> Component:
        """Return the cells of aggregates that share fields."""
        symbols = dict.fromkeys(s for a in aggregates for arg in a.args for s in sorted(arg.fields, key=str))
        states: Iterable[State] = [tuple((where, operand) for where, operand in (a.args for a in aggregates))]
        for symbol in symbols:
            field_node = self.pool.field(symbol)
            classes = self.list_classes(self.pool.domain.fields[symbol])
            states = _collect(self._substitute(state, {field_node: part}) for part in classes for state in states)
        cells = _collect(split for state in states for split in self._split_conditions(state))
        return Component(tuple(aggregates), tuple(Cell(dict(zip(aggregates, cell, strict=True))) for cell in cells))

    def _substitute(self, state: State, replacements: Mapping[Node, Node]) -> State:
        """Return the residuals with other nodes in place of some; an operand that is never used is left out."""
        pool = self.pool
        memo: dict[Node, Node] = {}
        changed: list[Residual] = []
        for where, operand in state:
            condition = pool.substitute(where, replacements, memo, pool.anchors)
            is_unused = condition.holds(False)
            value = pool.number(0) if is_unused else pool.substitute(operand, replacements, memo, pool.anchors)
            changed.append((condition, value))
        return tuple(changed)

    def _split_conditions(self, state: State) -> Iterator[State]:
        """Yield the residuals for each truth of the comparisons of reviews that remain in the conditions."""
        stack = [state]
        while stack:
            current = stack.pop()
            atom = next((atom for where, _ in current if where.fields for atom in _find_atoms(where)), None)
            if atom is None:
                yield current
                continue
            decided = self.pool.bounds.decide(atom)
            for truth in (True, False) if decided is None else (decided,):
                stack.append(self._substitute(current, {atom: self.pool.constant(truth)}))

    # --- classes of fields

    def list_classes(self, known: FieldDomain) -> list[Node]:
        """Return the classes of a field: constants, and segments of numbers and strings."""
        if known.values:
            classes = [self.pool.constant(value) for value in known.values]
        elif known.base.is_numeric:
            segments = (Segment(known.symbol, part) for part in self._cut(known))
            classes = [self.pool.segment(segment, known.base) for segment in segments]
        else:
            texts = sorted(self._strings[known.symbol])
            other = self.pool.segment(Segment(known.symbol, excluded=frozenset(texts)), Base.STRING)
            classes = [other, *map(self.pool.constant, texts)]
        return [*classes, self.pool.constant(None)] if known.nullable else classes

    def list_samples(self, known: FieldDomain) -> list[Value]:
        """Return a few values of a field: those that the seed mentions, and others next to them."""
        samples = [value for part in self.list_classes(known) for value in _pick_values(part, known.per_unit)]
        if known.symbol == _DATE:
            dates = filter(_parse_iso_date, sorted(self._strings[_DATE]))
            samples = [*dates, *_OTHER_DAYS, *(value for value in samples if value is None)]
        return [known.to_json(value) for value in dict.fromkeys(samples)]

    def _cut(self, known: FieldDomain) -> list[Interval]:
        """Return the intervals between the borders of a numeric field, from the lowest to the highest."""
        first, last = (known.low, False), (known.high, True)
        borders = sorted(border for border in self._borders[known.symbol] if first < border < last)
        ends = pairwise([first, *borders, last])
        intervals = [Interval(low, high, is_below, not is_closed) for (low, is_below), (high, is_closed) in ends]
        if known.per_unit is not None:
            intervals = [interval.close(known.per_unit) for interval in intervals]
        return [interval for interval in intervals if not interval.is_empty]


def _pick_values(part: Node, per_unit: int | None) -> Sequence[Any]:
    """Return a few values of a class of a field."""
    if part.is_constant:
        return (part.value,)
    return pick_numbers(part.interval, per_unit) if part.base.is_numeric else (pick_string(part.value.excluded),)


def pick_numbers(interval: Interval, per_unit: int | None) -> list[Fraction]:
    """Return a few numbers of a finite interval: the ends, or those next to an open end, and small ones."""
    low, high = Fraction(interval.low), Fraction(interval.high)
    step = min(Fraction(1, 100), (high - low) / 4)
    low += step if interval.is_low_open else 0
    high -= step if interval.is_high_open else 0
    numbers = [low, high, *map(Fraction, (0, 1, 10, 1000))]
    if abs(low) < 10**6 < high:
        numbers += (low + 1, low + 30)
    if high - low < 100:
        numbers.append(Fraction(floor((low + high) / 2)) if per_unit == 1 else (low + high) / 2)
    return sorted({number for number in numbers if low <= number <= high})


def pick_string(excluded: Iterable[str]) -> str:
    """Return a short string that none of `excluded` is equal to or a part of."""
    parts = set(excluded) - {""}
    candidates = (letter * length for length in range(1, len(parts) + 3) for letter in ("x", "~"))
    return next((text for text in candidates if text not in parts and not any(p in text for p in parts)), "?")


def _collect(states: Iterable[State]) -> list[State]:
    """Return the states, equal ones once. Raises `TooManyCellsError`."""
    merged: dict[State, None] = {}
    for state in states:
        merged.setdefault(state)
        if len(merged) > MAX_CELLS:
            raise TooManyCellsError
    return list(merged)


def _find_atoms(condition: Node) -> Iterator[Node]:
    """Yield the comparisons of reviews in a condition."""
    stack = [condition]
    while stack:
        node = stack.pop()
        if node.op in ("and", "or", "not"):
            stack += (arg for arg in node.args if arg.fields)
        elif node.fields:
            yield node


def _group_aggregates(aggregates: Sequence[Node]) -> list[list[Node]]:
    """Return the aggregates in groups that share no field of reviews."""
    groups: list[tuple[frozenset[Symbol], list[Node]]] = []
    for aggregate in aggregates:
        fields = frozenset(symbol for arg in aggregate.args for symbol in arg.fields)
        joined = [group for group in groups if not group[0].isdisjoint(fields)]
        groups = [group for group in groups if group[0].isdisjoint(fields)]
        members = [member for _, group in joined for member in group]
        groups.append((fields.union(*(group[0] for group in joined)), [*members, aggregate]))
    return [members for _, members in groups]
