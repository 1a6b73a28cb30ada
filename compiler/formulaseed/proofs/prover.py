"""Ask the solver whether a condition on steps can hold for some restaurant: first nearby steps only, then all of them.

An answer that it cannot hold is a proof; any other answer proves nothing. Effort is counted in the solver's own units, never in
seconds, so that a seed gives the same answers on each run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

from formulaseed.proofs.cell_formulas import Formula
from formulaseed.proofs.cells import CellBuilder, Component, TooManyCellsError
from formulaseed.proofs.encoding import Encoder
from formulaseed.proofs.intervals import hull
from formulaseed.proofs.nodes import ANY, Interval, Node, walk
from formulaseed.proofs.pool import Pool

Goal = Callable[[Encoder], Formula]
"""Return a condition in the formulas of an encoder."""
Lemma = tuple[tuple[Node, ...], Node]
"""A condition that is proved, with the nodes that it reads."""
UNIT = 100_000
"""The solver's own units of effort in one of ours."""
_LOCAL_UNITS = 3
_FULL_UNITS = 6
Depths = tuple[int | None, ...]
"""How many steps away definitions are added, in the order of attempts: 0 leaves out the cells of aggregates, None nothing."""
_DEPTHS: Depths = (0, 1, 3, None)
_WORLDS = ("relaxed", "whole")
_NEAR_DEPTHS = (0, 1)
_MAX_COMPARED = 24
_MAX_RELATED = 80


def assume_nothing(encoder: Encoder) -> Formula:
    """Return a condition that always holds."""
    return encoder.all_of([])


class Prover:
    """The nodes of one or two programs, with what has been proved of them: the bounds of the pool, and `lemmas`.

    With `is_quick`, nothing is proved, and the solver need not be installed.
    """

    def __init__(self, pool: Pool, effort: int = 1, *, is_quick: bool = False) -> None:
        self.pool = pool
        self.effort = effort
        self.is_quick = is_quick
        self._spent: dict[Any, int] = {}
        self.lemmas: list[Lemma] = []
        self.has_cells = True
        self._encoders: dict[str, Encoder] = {}

    @property
    def units(self) -> int:
        """The effort that has been spent so far."""
        return sum(self._spent.values()) // UNIT

    def relate_aggregates(self) -> None:
        """Add lemmas that follow from the cells: counts of fewer reviews are not larger, sums are within count times the term."""
        for component in self.encoder("relaxed").components or ():
            counts = [node for node in component.aggregates if node is self.pool.count(node.args[0])][:_MAX_RELATED]
            parts = {node: component.list_parts(node) for node in counts}
            covers = {node: {cell for cell, (where, _) in parts[node] if where.holds(True)} for node in counts}
            for node, other in permutations(counts, 2):
                if {cell for cell, _ in parts[node]} <= covers[other]:
                    self.lemmas.append(((node, other), self.pool.order(node, other, is_strict=False)))
            for node in component.aggregates:
                count = self.pool.count(node.args[0])
                if node.value == "total" and count in counts and node is not count:
                    terms = hull(self.pool.bounds.bound(operand) for _, (_, operand) in component.list_parts(node))
                    self.lemmas.append(((node, count), self.pool.limit(node, terms, count)))

    def encoder(self, world: str) -> Encoder:
        """Return the encoder of a world: `relaxed`, with real numbers of reviews, or `whole`."""
        if not self._encoders:
            components: list[Component] | None = None
            aggregates = [node for node in self.pool.nodes.values() if node.op == "aggregate"]
            try:
                components = CellBuilder(self.pool).build(aggregates)
            except TooManyCellsError:
                self.has_cells = False
            self._encoders = {name: Encoder(self.pool, components, is_whole=name == "whole") for name in _WORLDS}
        return self._encoders[world]

    # --- proofs

    def is_false(self, condition: Node) -> bool:
        """Return True if it is proved that a condition holds for no restaurant; False if that is unknown."""
        return self._is_impossible(lambda encoder: encoder.term(condition), condition)

    def is_safe(self, node: Node) -> bool:
        """Return True if it is proved that a step cannot fail, unless a step that it uses does."""
        return self._is_impossible(lambda encoder: encoder.fails(node), node, node)

    def prove_order(self, low: Node, high: Node, assume: Goal = assume_nothing) -> bool:
        """Return True if it is proved that a number is at most another one, given an assumption; this is then a lemma."""
        is_above = self.pool.order(high, low, is_strict=True)

        def goal(encoder: Encoder) -> Formula:
            """Return the condition that the order is another one."""
            return encoder.all_of([encoder.term(is_above), assume(encoder)])

        is_proved = self._is_impossible(goal, is_above, worlds=("relaxed",))
        if is_proved:
            self.lemmas.append(((low, high), self.pool.negate(is_above)))
        return is_proved

    def _is_impossible(
        self,
        goal: Goal,
        root: Node,
        failing: Node | None = None,
        worlds: Sequence[str] = _WORLDS,
        depths: Depths = _DEPTHS,
    ) -> bool:
        """Return True if it is proved that a goal holds for no restaurant; False if that is unknown.

        The goal reads the node `root`. It is assumed that no step but `failing` fails.
        """
        answer = None
        for world in () if self.is_quick else worlds:
            encoder = self.encoder(world)
            if world != worlds[0] and answer != encoder.z3.sat:
                break  # what is too hard for real numbers is harder for whole ones
            for depth in depths if world == "relaxed" else (None,):
                solver = encoder.z3.SimpleSolver(ctx=encoder.context)
                # exact reasoning about products of many unknowns may take hours between two checks of the effort
                solver.set("arith.nl.nra", depth in _NEAR_DEPTHS)
                is_complete = self.add_definitions(solver, encoder, [root], depth, failing)
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
        self, solver: Any, encoder: Encoder, roots: Sequence[Node], depth: int | None, failing: Node | None
    ) -> bool:
        """Add the definitions that the roots depend on, at most `depth` steps away. Return True if none is left out.

        Quotients are also compared with all constants in comparisons, by linear conditions.
        """
        solver.add(*encoder.domain_axioms)
        levels, left_out = self._find_levels(roots, depth)
        evaluated = self.pool.anchors if failing is None else self.pool.list_earlier(failing)
        for node in levels:
            if node.base.is_numeric and encoder.is_variable(node) and node is not failing:
                solver.add(*encoder.limit(encoder.term(node), self.pool.bounds.bound(node)))
            if node in left_out:
                continue
            if node in evaluated and node.may_fail:
                solver.add(encoder.z3.Not(encoder.fails(node)))
            solver.add(*encoder.define(node))
        known = levels.keys() - {failing}  # bounds and lemmas hold for the values of steps that do not fail
        solver.add(*(encoder.term(fact) for nodes, fact in self.lemmas if known.issuperset(nodes)))
        constants = [arg.value for node in levels if node.op in ("lt", "le") for arg in node.args if arg.is_constant]
        compared = list(dict.fromkeys(constants))[:_MAX_COMPARED]
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
        if any(part.function is not None and part.function.rounds for part in parts):
            for part in parts:
                if part.op == "/" and part is not node and not part.args[1].is_constant:
                    self._refine(part, end, sign, depths=(0, 1))
        self._refine(node, end, sign)

    def _refine(self, node: Node, end: Fraction, sign: int, depths: Depths = _DEPTHS) -> None:
        """Try to prove that a number is not beyond an end, with the definitions up to these depths."""
        interval = self.pool.bounds.bound(node)
        if interval.low >= end if sign < 0 else interval.high <= end:
            return
        limit = end + sign * abs(end) / 10**9
        proved = Interval(limit, ANY.high) if sign < 0 else Interval(ANY.low, limit)
        is_beyond = self.pool.negate(self.pool.limit(node, proved, self.pool.number(1)))
        if node.op == "/":  # it has a value
            is_zero = self.pool.equate(node.args[1], self.pool.number(0))
            is_beyond = self.pool.conjoin(self.pool.negate(is_zero), is_beyond)
        if self._is_impossible(lambda encoder: encoder.term(is_beyond), is_beyond, worlds=("relaxed",), depths=depths):
            self.pool.bounds.tighten(node, proved)
