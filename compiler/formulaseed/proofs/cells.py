"""Divide reviews into cells: within a cell, each aggregate treats all reviews alike, up to the values of numeric fields.

In: the aggregates of one or several programs. Out: for each group of fields that some aggregate joins, its cells. Fields are
substituted one by one, and equal states are merged, so that the product of all fields is never built.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

from formulaseed.language.inputs import _parse_iso_date
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.proofs.intervals import Bounds
from formulaseed.proofs.nodes import Constant, Node, Segment
from formulaseed.proofs.pool import Pool
from formulaseed.proofs.world import Domain, FieldDomain

MAX_CELLS = 3_000
_DATE = Symbol(SymbolKind.META, "date")
_YEAR = Symbol(SymbolKind.META, "year")
_MONTH = Symbol(SymbolKind.META, "month")
Residual = tuple[Node, Node | None]
"""The condition and the operand of an aggregate for the reviews of a cell."""


class TooManyCellsError(Exception):
    """Raised when a seed divides reviews into more cells than proofs can handle."""


@dataclass(frozen=True, eq=False)
class Cell:
    """Reviews that all aggregates treat alike: `residuals` by aggregate, and the class of each field that they may differ in."""

    residuals: Mapping[Node, Residual]
    row: Mapping[Symbol, Node]


@dataclass(frozen=True)
class Component:
    """Cells that make up all reviews, for `aggregates` that share fields."""

    aggregates: tuple[Node, ...]
    cells: tuple[Cell, ...]


FieldClass = dict[Symbol, Node]
"""A class of the values of one or several fields: a constant or a segment for each."""


@dataclass
class CellBuilder:
    """A builder of the components of some aggregates. With `points`, numeric fields have a few values only."""

    pool: Pool
    domain: Domain
    bounds: Bounds
    points: bool = False
    _constants: dict[Symbol, set[Constant]] = field(default_factory=lambda: defaultdict(set))
    _borders: dict[Symbol, set[tuple[Fraction, bool]]] = field(default_factory=lambda: defaultdict(set))

    def note_constants(self, nodes: Iterable[Node]) -> None:
        """Note the constants that conditions in these nodes compare fields with."""
        for node in nodes:
            self._note_comparison(node)

    def build(self, aggregates: Sequence[Node]) -> list[Component]:
        """Return the components; the constants must have been noted. Raises `TooManyCellsError`."""
        return [self._build_component(group) for group in _group_aggregates(aggregates)]

    def _note_comparison(self, node: Node) -> None:
        """Note the constants that a comparison of a field cuts its values at."""
        if node.op not in ("eq", "lt", "le", "contains"):
            return
        for place, side in enumerate(node.args):
            other = node.args[1 - place]
            while side.op == "present":
                side = side.args[0]
            if side.op != "input" or not other.is_constant:
                continue
            if node.op == "eq" or not isinstance(other.value, Fraction):
                self._constants[side.value].add(other.value)
            else:
                # the border is below the constant if the constant belongs to the upper side
                self._borders[side.value].add((other.value, (place == 0) is (node.op == "le")))

    def _build_component(self, aggregates: Sequence[Node]) -> Component:
        """Return the cells of aggregates that share fields."""
        symbols = list(dict.fromkeys(s for a in aggregates for arg in a.args for s in sorted(arg.fields, key=str)))
        states: dict[tuple[Residual, ...], FieldClass] = {
            tuple((a.args[0], a.args[1] if len(a.args) > 1 else None) for a in aggregates): {}
        }
        for classes in self._list_classes(symbols):
            states = _collect(
                (changed, {**row, **field_class})
                for field_class in classes
                for changed, row in self._substitute(field_class, states)
            )
        cells = _collect(
            (split, row) for residuals, row in states.items() for split in self._split_conditions(residuals)
        )
        built = (Cell(dict(zip(aggregates, residuals, strict=True)), row) for residuals, row in cells.items())
        return Component(tuple(aggregates), tuple(built))

    def _substitute(
        self, field_class: FieldClass, states: Mapping[tuple[Residual, ...], FieldClass]
    ) -> Iterator[tuple[tuple[Residual, ...], FieldClass]]:
        """Yield the states with the values of a class in place of its fields."""
        known = {symbol: value for symbol, value in field_class.items() if symbol in self.domain.fields}
        replacements = {self._input(symbol): value for symbol, value in known.items()}
        memo: dict[Node, Node] = {}

        def change(node: Node | None) -> Node | None:
            """Return the node with the values of the class; None if there is none."""
            return None if node is None else self.pool.substitute(node, replacements, memo)

        for residuals, row in states.items():
            yield _drop_operands(tuple((change(where) or where, change(operand)) for where, operand in residuals)), row

    def _input(self, symbol: Symbol) -> Node:
        """Return the node of a field."""
        known = self.domain.fields[symbol]
        return self.pool.input(symbol, known.exact_base, nullable=known.nullable)

    def _split_conditions(self, residuals: tuple[Residual, ...]) -> Iterator[tuple[Residual, ...]]:
        """Yield the residuals for each truth of the comparisons of reviews that remain in the conditions."""
        stack = [residuals]
        while stack:
            current = stack.pop()
            atom = next((atom for where, _ in current if where.fields for atom in _find_atoms(where)), None)
            if atom is None:
                yield _drop_operands(current)
                continue
            decided = self.bounds.decide(atom)
            if len(stack) > MAX_CELLS:
                raise TooManyCellsError
            for truth in (True, False) if decided is None else (decided,):
                replacements = {atom: self.pool.constant(truth)}
                memo: dict[Node, Node] = {}
                stack.append(
                    tuple((self.pool.substitute(where, replacements, memo), operand) for where, operand in current)
                )

    # --- classes of fields

    def _list_classes(self, symbols: Sequence[Symbol]) -> Iterator[list[FieldClass]]:
        """Yield the classes of each field; a date is joined with its year and month."""
        for symbol in symbols:
            if symbol == _DATE:
                yield list(self._list_dates(symbols))
            elif not (symbol in (_YEAR, _MONTH) and self.points and _DATE in symbols):
                yield [{symbol: value} for value in self.list_values(self.domain.fields[symbol])]

    def _list_dates(self, symbols: Sequence[Symbol]) -> Iterator[FieldClass]:
        """Yield the classes of a date: days that the seed names, and all others, for points with their year and month."""
        days = sorted(value for value in self._constants[_DATE] if isinstance(value, str) and _parse_iso_date(value))
        other_days = [f"{year}-{month:02}-15" for year in self._list_years() for month in range(1, 13)]
        if not self.points:
            yield from ({_DATE: self.pool.constant(day)} for day in days)
            yield {_DATE: self._other_string(_DATE)}
            return
        for day in [*days, *(day for day in other_days if day not in days)]:
            date = datetime.date.fromisoformat(day[:10])
            parts = {
                _DATE: self.pool.constant(day),
                _YEAR: self.pool.number(date.year),
                _MONTH: self.pool.number(date.month),
            }
            yield {symbol: value for symbol, value in parts.items() if symbol in symbols}

    def _list_years(self) -> list[int]:
        """Return years for days that the seed does not name: those at the borders of its conditions."""
        if _YEAR not in self.domain.fields:
            return [2020]
        values = (node.value for node in self.list_values(self.domain.fields[_YEAR]))
        return sorted({int(value) for value in values if isinstance(value, Fraction) and 1 <= value <= 9999}) or [2020]

    def list_row_values(self, symbols: Sequence[Symbol]) -> Iterator[list[tuple[tuple[Symbol, Value], ...]]]:
        """Yield the values to sample for each field of reviews, those of a date with its year and month."""
        for classes in self._list_classes(symbols):
            yield [self.write_row(field_class) for field_class in classes]

    def write_row(self, row: Mapping[Symbol, Node]) -> tuple[tuple[Symbol, Value], ...]:
        """Return the fields of a review, which are constants, as JSON values."""
        known = self.domain.fields
        return tuple((symbol, known[symbol].to_json(node.value)) for symbol, node in row.items())

    def list_shared_values(self, known: FieldDomain) -> list[Value]:
        """Return the values to sample for a field of restaurants; of a string also lists of keys that it may contain."""
        values = [known.to_json(node.value) for node in self.list_values(known)]
        if known.base is Base.STRING and not known.values:
            keys = [value for value in values if isinstance(value, str)]
            values += (", ".join(pair) for pair in pairwise(keys))
        return values

    def list_values(self, known: FieldDomain) -> list[Node]:
        """Return the classes of a field: constants and, unless for points, segments."""
        pool = self.pool
        classes = [pool.constant(value) for value in known.values]
        if known.base is Base.STRING and not known.values:
            texts = sorted(value for value in self._constants[known.symbol] if isinstance(value, str))
            classes = [self._other_string(known.symbol), *map(pool.constant, texts)]
        elif known.base in (Base.INTEGER, Base.NUMBER):
            segments = self._list_segments(known)
            if self.points:
                picked = dict.fromkeys(value for segment in segments for value in pick_numbers(segment, known.per_unit))
                classes = [pool.constant(value) for value in picked]
            else:
                classes = [self._segment_node(segment, known) for segment in segments]
        if known.nullable:
            classes.append(pool.constant(None))
        return classes

    def _segment_node(self, segment: Segment, known: FieldDomain) -> Node:
        """Return a segment as a node; a constant if it has one number only."""
        if segment.low == segment.high:
            return self.pool.constant(segment.low)
        return self.pool.segment(segment, known.exact_base)

    def _other_string(self, symbol: Symbol) -> Node:
        """Return the class of strings that no condition names; for points, one of them."""
        excluded = frozenset(value for value in self._constants[symbol] if isinstance(value, str))
        if self.points:
            return self.pool.constant(pick_string(excluded))
        return self.pool.segment(Segment(symbol, excluded=excluded), Base.STRING)

    def _list_segments(self, known: FieldDomain) -> list[Segment]:
        """Return the segments between the borders of a numeric field, from the lowest to the highest."""
        borders = set(self._borders[known.symbol])
        for value in self._constants[known.symbol]:
            if isinstance(value, Fraction):
                borders |= {(value, False), (value, True)}
        segments: list[Segment] = []
        low, is_open = known.low, False
        # a border is a number, and whether that number belongs to the segment below
        for value, is_below in sorted(borders):
            if value < low or value > known.high or (value == low and (is_open or not is_below)):
                continue
            segments.append(Segment(known.symbol, low, value, is_open, not is_below))
            low, is_open = value, is_below
        segments.append(Segment(known.symbol, low, known.high, is_open, False))
        if known.per_unit is not None:
            segments = [_close(segment, known.per_unit) for segment in segments]
        return [segment for segment in segments if not segment.is_empty]


def pick_numbers(segment: Segment, per_unit: int | None) -> list[Fraction]:
    """Return a few numbers of a segment: the ends, or those next to an open end, and small ones."""
    low, high = segment.low, segment.high
    if per_unit is None:
        step = min(Fraction(1, 100), (high - low) / 4) if high > low else Fraction(0)
        low += step if segment.is_low_open else 0
        high -= step if segment.is_high_open else 0
    numbers = [low, high]
    numbers += (Fraction(value) for value in (0, 1, 10, 1000) if low < value < high)
    if abs(low) < 10**6 < high:
        numbers += (low + offset for offset in (1, 30) if low + offset < high)
    if high - low < 100:
        numbers.append(Fraction(floor((low + high) / 2)) if per_unit == 1 else (low + high) / 2)
    return sorted({number for number in numbers if low <= number <= high})


def pick_string(excluded: Iterable[str]) -> str:
    """Return a short string that none of `excluded` is equal to or a part of."""
    parts = set(excluded) - {""}
    candidates = (letter * length for length in range(1, len(parts) + 3) for letter in ("x", "~"))
    return next((text for text in candidates if text not in parts and not any(p in text for p in parts)), "?")


def _close(segment: Segment, per_unit: int) -> Segment:
    """Return a segment of whole numbers, or of halves, with its ends moved to the next ones inside."""
    low = Fraction(ceil(segment.low * per_unit), per_unit)
    high = Fraction(floor(segment.high * per_unit), per_unit)
    if segment.is_low_open and low == segment.low:
        low += Fraction(1, per_unit)
    if segment.is_high_open and high == segment.high:
        high -= Fraction(1, per_unit)
    return Segment(segment.symbol, low, high)


def _collect(states: Iterable[tuple[tuple[Residual, ...], FieldClass]]) -> dict[tuple[Residual, ...], FieldClass]:
    """Return the states, equal ones once. Raises `TooManyCellsError`."""
    merged: dict[tuple[Residual, ...], FieldClass] = {}
    for residuals, row in states:
        merged.setdefault(residuals, row)
        if len(merged) > MAX_CELLS:
            raise TooManyCellsError
    return merged


def _drop_operands(residuals: tuple[Residual, ...]) -> tuple[Residual, ...]:
    """Return the residuals without the operands of those whose condition is false."""
    return tuple((where, None if where.holds(False) else operand) for where, operand in residuals)


def _find_atoms(condition: Node) -> Iterator[Node]:
    """Yield the comparisons of reviews in a condition."""
    stack = [condition]
    while stack:
        node = stack.pop()
        if node.op in ("and", "or", "not"):
            stack += (arg for arg in node.args if arg.fields)
        elif node.fields:
            yield node


def _list_fields(aggregates: Sequence[Node]) -> dict[Node, set[Symbol]]:
    """Return the fields that each aggregate uses; if a date is used, those of its parts include the date."""
    fields_by_node = {node: {symbol for arg in node.args for symbol in arg.fields} for node in aggregates}
    has_date = any(_DATE in fields for fields in fields_by_node.values())
    for fields in fields_by_node.values():
        if has_date and fields & {_YEAR, _MONTH}:
            fields.add(_DATE)
    return fields_by_node


def _group_aggregates(aggregates: Sequence[Node]) -> list[list[Node]]:
    """Return the aggregates in groups that share no field of reviews. A date is one field with its year and month."""
    fields_by_node = _list_fields(aggregates)
    groups: list[tuple[set[Symbol], list[Node]]] = []
    for aggregate, fields in fields_by_node.items():
        joined = [group for group in groups if not group[0].isdisjoint(fields)]
        groups = [group for group in groups if group[0].isdisjoint(fields)]
        members = [member for _, group in joined for member in group]
        groups.append((fields.union(*(group[0] for group in joined)), [*members, aggregate]))
    return [members for _, members in groups]
