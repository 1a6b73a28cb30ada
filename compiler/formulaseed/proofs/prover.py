"""Ask the solver whether a condition on steps can hold for some restaurant: first nearby steps only, then all of them.

An answer that it cannot hold is a proof; any other answer proves nothing. Effort is counted in the solver's own units, never in
seconds, so that a seed gives the same answers on each run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

from formulaseed.language.functions import FUNCTIONS
from formulaseed.proofs.cell_formulas import Formula
from formulaseed.proofs.cells import CellBuilder, Component, TooManyCellsError
from formulaseed.proofs.encoding import Encoder
from formulaseed.proofs.intervals import hull
from formulaseed.proofs.nodes import ANY, Interval, Node, walk
from formulaseed.proofs.pool import Pool

Goal = Callable[[Encoder], Formula]
"""Return the condition to ask about, in the formulas of an encoder."""
Lemma = tuple[tuple[Node, ...], Goal]
"""A condition that is proved, with the nodes that it reads."""
UNIT = 100_000
"""The solver's own units of effort in one of ours."""
_LOCAL_UNITS = 3
_FULL_UNITS = 6
_DEPTHS = (0, 1, 3)
"""How many steps away definitions are added, in the order of attempts; 0 is the nearest steps without the cells of aggregates."""
_NEAR_DEPTHS = (0, 1)
_MAX_COMPARED = 24
_MAX_RELATED = 80


def list_aggregates(roots: Iterable[Node]) -> list[Node]:
    """Return the aggregates that nodes depend on, each once, in the order of their numbers."""
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += node.args
    return sorted((node for node in seen if node.op == "aggregate"), key=lambda node: node.number)


class Prover:
    """The nodes of one or two programs, with what has been proved of them: the bounds of the pool, and `lemmas`."""

    def __init__(self, pool: Pool, effort: int = 1) -> None:
        self.pool = pool
        self.effort = effort
        self._spent: dict[Any, int] = {}
        self.lemmas: list[Lemma] = []
        self.has_cells = True
        self._encoders: dict[str, Encoder] = {}

    def create_builder(self) -> CellBuilder:
        """Return a builder of cells that knows the constants in all anchors."""
        builder = CellBuilder(self.pool)
        aggregates = list_aggregates(self.pool.anchors)
        builder.note_constants(node for root in (*self.pool.anchors, *aggregates) for node in walk(root))
        builder.note_constants(node for root in aggregates for arg in root.args for node in walk(arg))
        return builder

    @property
    def units(self) -> int:
        """The effort that has been spent so far."""
        return sum(self._spent.values()) // UNIT

    def relate_aggregates(self) -> None:
        """Add lemmas that follow from the cells: counts of fewer reviews are not larger, sums are within count times the term."""
        for component in self.encoder("relaxed").components or ():
            counts = [node for node in component.aggregates if node.args[1].holds(Fraction(1))][:_MAX_RELATED]
            parts = {node: component.list_parts(node) for node in counts}
            covers = {node: {cell for cell, (where, _) in parts[node] if where.holds(True)} for node in counts}
            for node, other in permutations(counts, 2):
                if {cell for cell, _ in parts[node]} <= covers[other]:
                    self.lemmas.append(((node, other), at_most(node, other)))
            for node in component.aggregates:
                count = self.pool.count(node.args[0])
                if node.value == "total" and count in counts and node is not count:
                    terms = hull(self.pool.bounds.bound(operand) for _, (_, operand) in component.list_parts(node))
                    self.lemmas.append(((node, count), _within(node, count, terms)))

    def encoder(self, world: str) -> Encoder:
        """Return the encoder of a world: `relaxed`, with real numbers of reviews, or `whole`."""
        if not self._encoders:
            components: list[Component] | None = None
            try:
                components = self.create_builder().build(list_aggregates(self.pool.anchors))
            except TooManyCellsError:
                self.has_cells = False
            self._encoders["relaxed"] = Encoder(self.pool, components, is_whole=False)
            self._encoders["whole"] = Encoder(self.pool, components, is_whole=True)
        return self._encoders[world]

    # --- proofs

    def is_impossible(
        self,
        goal: Goal,
        roots: Sequence[Node],
        *,
        failing: Node | None = None,
        worlds: Sequence[str] = ("relaxed", "whole"),
        limits: Sequence[Fraction] = (),
        depths: Sequence[int | None] = (*_DEPTHS, None),
    ) -> bool:
        """Return True if it is proved that the goal holds for no restaurant; False if that is unknown.

        `roots` are the nodes that the goal reads, `limits` the numbers that it compares them with. It is assumed that no step
        fails, apart from the step of `failing`.
        """
        answer = None
        for world in worlds:
            encoder = self.encoder(world)
            if world != worlds[0] and answer != encoder.z3.sat:
                break  # what is too hard for real numbers is harder for whole ones
            for depth in depths if world == "relaxed" else (None,):
                solver = encoder.z3.SimpleSolver(ctx=encoder.context)
                # exact reasoning about products of many unknowns may take hours between two checks of the effort
                solver.set("arith.nl.nra", depth in _NEAR_DEPTHS)
                is_complete = self.add_definitions(solver, encoder, roots, depth, failing, limits)
                solver.add(goal(encoder), *encoder.list_string_axioms())
                answer = self._check(solver, _FULL_UNITS if depth is None else _LOCAL_UNITS)
                if answer == encoder.z3.unsat:
                    return True
                if answer == encoder.z3.sat and is_complete:
                    break
        return False

    def _check(self, solver: Any, units: int) -> Any:
        """Return the solver's answer, which gives up after so many units, and count its effort."""
        solver.set("rlimit", units * self.effort * UNIT)
        answer = solver.check()
        statistics = solver.statistics()
        if "rlimit count" in statistics.keys():  # noqa: SIM118  # an object of z3, no mapping
            # the solver counts the effort of all queries of a context
            self._spent[solver.ctx] = statistics.get_key_value("rlimit count")
        return answer

    def add_definitions(
        self,
        solver: Any,
        encoder: Encoder,
        roots: Sequence[Node],
        depth: int | None,
        failing: Node | None,
        limits: Sequence[Fraction] = (),
    ) -> bool:
        """Add the definitions that the roots depend on, at most `depth` steps away. Return True if none is left out.

        Quotients are also compared with the `limits`, and with all constants in comparisons, by linear conditions.
        """
        solver.add(*encoder.domain_axioms)
        levels, left_out = self._find_levels(roots, depth)
        for node in levels:
            solver.add(*encoder.list_bounds(node))
            if node in left_out:
                continue
            if node in self.pool.anchors and node.may_fail and node is not failing:
                solver.add(encoder.z3.Not(encoder.fails(node)))
            solver.add(*encoder.define(node))
        solver.add(*(write(encoder) for nodes, write in self.lemmas if all(node in levels for node in nodes)))
        comparisons = (node for node in levels if node.op in ("lt", "le"))
        constants = [part.value for node in comparisons for part in node.args if part.is_constant]
        compared = list(dict.fromkeys([*limits, *constants]))[:_MAX_COMPARED]
        for node in levels:
            solver.add(*encoder.compare_quotient(node, compared))
        return not left_out

    def _find_levels(self, roots: Sequence[Node], depth: int | None) -> tuple[dict[Node, int], set[Node]]:
        """Return the nodes that the roots depend on, with how many steps away they are, and those whose definition is too far."""
        levels: dict[Node, int] = {}
        left_out: set[Node] = set()
        queue = [(root, 0) for root in roots]
        for node, level in queue:
            if levels.get(node, level + 1) <= level:
                continue
            levels[node] = level
            left_out.discard(node)
            is_anchor = node in self.pool.anchors
            if (depth == 0 and node.op == "aggregate") or (is_anchor and depth is not None and level >= max(depth, 1)):
                left_out.add(node)
                continue
            inner: Iterable[Node] = node.args
            if node.op == "aggregate":
                inner = (part for arg in node.args for part in walk(arg) if not part.fields)
            queue += ((part, level + is_anchor) for part in inner)
        return levels, left_out

    def refine(self, node: Node, end: Fraction, sign: int) -> None:
        """Try to prove that a number is never below `end`, or for the `sign` 1 never above; note that in the bounds.

        Rounding keeps such a bound of a quotient, so the quotients in a rounded number are bounded first.
        """
        parts = list(walk(node, self.pool.anchors))
        if any(part.op in FUNCTIONS and FUNCTIONS[part.op].rounds for part in parts):
            for part in parts:
                if part.op == "/" and part is not node and not part.args[1].is_constant:
                    self._refine(part, end, sign, depths=(0, 1))
            self.pool.bounds.forget(node)
        self._refine(node, end, sign, (*_DEPTHS, None))

    def _refine(self, node: Node, end: Fraction, sign: int, depths: Sequence[int | None]) -> None:
        """Try to prove that a number is not beyond an end, with the definitions up to these depths."""
        interval = self.pool.bounds.bound(node)
        if interval.low >= end if sign < 0 else interval.high <= end:
            return
        limit = end + sign * abs(end) / 10**9
        proved = Interval(limit, ANY.high) if sign < 0 else Interval(ANY.low, limit)

        def goal(encoder: Encoder) -> Formula:
            """Return the condition that the number is beyond the limit, and no quotient without a value."""
            is_within = encoder.all_of(encoder.limit(encoder.term(node), proved))
            has_value = [encoder.term(node.args[1]) != 0] if node.op == "/" else []
            return encoder.all_of([encoder.z3.Not(is_within), *has_value])

        if self.is_impossible(goal, [node], worlds=("relaxed",), limits=[limit], depths=depths):
            self.pool.bounds.tighten(node, proved)


def at_most(node: Node, other: Node) -> Goal:
    """Return the condition that a number is at most another one."""
    return lambda encoder: encoder.term(node) <= encoder.term(other)


def _within(total: Node, count: Node, interval: Interval) -> Goal:
    """Return the condition that a sum is between the ends of an interval, each times the number of terms."""
    closed = Interval(interval.low, interval.high)
    return lambda encoder: encoder.all_of(encoder.limit(encoder.term(total), closed, encoder.term(count)))
