"""Prove what two seeds have in common, step by step, and which verdicts can differ.

A step of the new seed that says the same as one of the old seed over equal steps is the same node; one that is proved equal is
replaced by the old node, so that later steps are compared over equal steps again.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise, product

from formulaseed.documents import FormulaSeed
from formulaseed.explanation.verdict import list_verdicts
from formulaseed.ir import nodes
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.pages.values import format_plain
from formulaseed.proofs.claims import FAILED, Move, Region, SeedProof, StepRelation
from formulaseed.proofs.distance import measure_rule
from formulaseed.proofs.intervals import hull
from formulaseed.proofs.lowering import Lowering, may_fail
from formulaseed.proofs.nodes import ANY, Interval, Node, Segment, walk
from formulaseed.proofs.runner import Candidate
from formulaseed.proofs.study import Options, Study
from formulaseed.proofs.world import format_interval

_TOLERANCE = 1e-9
Change = tuple[Value, Value] | tuple[()] | None
"""The old and the new verdict; empty if they are the same, None if other steps decide, too."""


class Comparison(Study):
    """Two seeds under study. `old_names` maps the steps of the new seed to those of the old one; `unchanged` say the same."""

    def __init__(
        self,
        seeds: Sequence[FormulaSeed],
        old_names: Mapping[str, str],
        parameters: Sequence[Mapping[str, Value] | None],
        unchanged: Container[str],
    ) -> None:
        super().__init__(seeds, parameters, Options())
        self.old_names = old_names
        self.unchanged = unchanged
        self.old = self.lowerings[0]
        # the new seed is lowered twice, so that the cells know the aggregates of both seeds from the start
        self.new = Lowering(self.pool, self.program, self.lowering.domain)
        self._replaced: list[Node] = []

    def prove(self, verdict: str | None, outputs: Sequence[str]) -> SeedProof:
        """Compare all common steps, and the verdict, by their names in the new seed; the result has those in `outputs`."""
        self.prover.relate_aggregates()
        relations: dict[str, StepRelation] = {}
        for step in self.program.steps:
            self.new.lower_step(step)
            if step.name in self.old_names and not isinstance(step.operation, nodes.Filter):
                relations[step.name] = self._relate(step)
        moves: list[Move] = []
        regions: list[Region] | None = None
        if verdict is not None and relations[verdict].status not in ("same", "equal"):
            regions = self._find_regions(relations[verdict])
            moves = list(self._list_moves(verdict, regions))
            possible = next((move.witness for move in moves if move.status == "possible"), None)
            if possible is not None:
                named = tuple(replace(witness, business_id=verdict) for witness in possible)
                relations[verdict] = replace(relations[verdict], status="differs", witness=named)
        moves += self._compare_failures()
        return SeedProof(
            relations=[relations[name] for name in outputs],
            verdict=verdict,
            moves=moves,
            regions=regions,
            domain=self.domain,
            effort=self.prover.units,
            has_cells=self.prover.has_cells,
        )

    # --- steps

    def _relate(self, step: nodes.Step) -> StepRelation:
        """Compare a step of the new seed with its old one; if they are equal, the steps that follow use the old node."""
        old_name = self.old_names[step.name]
        old, new = self.old.steps[old_name], self.new.steps[step.name]
        if old is new and step.name in self.unchanged:
            return StepRelation(step.name, old_name, "same")

        def differs(candidate: Candidate) -> bool:
            """Return True if both seeds evaluate a restaurant, and its two values differ by more than rounding."""
            return self._compare(candidate, old_name, step.name) not in (0, None)

        start = self.trials.find(differs)
        is_typed_alike = old.base is new.base or (old.base.is_numeric and new.base.is_numeric)
        if start is None and is_typed_alike and self.prover.is_false(self.pool.negate(self.pool.equate(old, new))):
            self._replaced.append(new)
            self.new.set_step(step.name, old)
            return StepRelation(step.name, old_name, "equal")
        witness = self.show(start, differs, step.name)
        order = self._order(old, new, old_name, step.name)
        return StepRelation(step.name, old_name, "differs" if witness else "unknown", order, witness)

    def _compare(self, candidate: Candidate, old_name: str, new_name: str) -> int | None:
        """Return 0 if two steps have equal values up to rounding, 1 if the new number is larger, else -1; None if one fails."""
        outcomes = self.trials.run(candidate)
        if outcomes is None or any(outcome.failure is not None for outcome in outcomes):
            return None
        old, new = outcomes[0].values[old_name], outcomes[1].values[new_name]
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in (old, new)):
            if math.isclose(old, new, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):  # type: ignore[arg-type]
                return 0
            return 1 if new > old else -1  # type: ignore[operator]
        return 0 if old == new and type(old) is type(new) else -1

    def _order(self, old: Node, new: Node, old_name: str, new_name: str) -> str | None:
        """Return `never lower` or `never higher` if that is proved of the new number, and remember it; else None."""
        if not (old.base.is_numeric and new.base.is_numeric) or old.nullable or new.nullable:
            return None
        signs = {self._compare(candidate, old_name, new_name) for candidate in self.trials.candidates}
        for sign, low, high, words in ((-1, old, new, "never lower"), (1, new, old, "never higher")):
            if sign not in signs and self.prover.prove_order(low, high):
                return words
        return None

    # --- verdicts

    def _list_moves(self, verdict: str, regions: list[Region] | None) -> Iterator[Move]:
        """Yield for each pair of two verdicts whether a restaurant can move from one to the other."""
        old_name = self.old_names[verdict]
        changes = {region.move for region in regions or ()}
        is_exact = regions is not None and None not in changes
        for before, after in product(self._list_values(0, old_name), self._list_values(1, verdict)):
            if before == after and type(before) is type(after):
                continue
            if is_exact and (before, after) not in changes:
                yield Move(before, after, "impossible")
            else:
                yield self._decide_move(old_name, verdict, before, after)

    def _list_values(self, place: int, name: str) -> tuple[Value, ...]:
        """Return the possible values of a verdict in one of the seeds."""
        step = next(step for step in self.lowerings[place].program.steps if step.name == name)
        values = list_verdicts(step)
        return (*values, None) if values and step.ty.nullable and None not in values else values

    def _decide_move(self, old_name: str, new_name: str, before: Value, after: Value) -> Move:
        """Return whether a move is possible, with a witness, or impossible, or unknown."""
        old, new = self.old.steps[old_name], self.new.steps[new_name]

        def score(candidate: Candidate) -> float | None:
            """Return the distance of a restaurant from both verdicts, with the opposite sign."""
            outcomes = self.trials.run(candidate)
            if outcomes is None:
                return None
            sides = zip(self.trials.runners, (old_name, new_name), (before, after), outcomes, strict=True)
            return -sum(measure_rule(runner, name, None, value, candidate, own) for runner, name, value, own in sides)

        tests = (self.pool.equate(node, self.pool.literal(value)) for node, value in ((old, before), (new, after)))
        title = f"{format_plain(before)} to {format_plain(after)}"
        answer, witness = self.settle(score, self.pool.conjoin(*tests), title)
        return Move(before, after, answer, witness)

    def _compare_failures(self) -> Iterator[Move]:
        """Yield whether one seed fails for a restaurant that the other evaluates; nothing if their steps fail alike."""
        # a step may be equal to the old one where both have a value, and fail where the old one does not
        sides = (self.old.steps.values(), (*self.new.steps.values(), *self._replaced))
        own = [{node for node in side if may_fail(self.pool, node)} for side in sides]
        for place, (before, after) in enumerate(((FAILED, "evaluated"), ("evaluated", FAILED))):
            roots = sorted(own[place] - own[1 - place], key=lambda node: node.number)
            if not roots:
                continue

            def fails_once(candidate: Candidate, place: int = place) -> bool:
                """Return True if only the seed at `place` fails."""
                outcomes = self.trials.run(candidate) or ()
                return [outcome.failure is not None for outcome in outcomes] == [place == 0, place == 1]

            witness = self.show(self.trials.find(fails_once), fails_once, f"{before} to {after}")
            if witness:
                yield Move(before, after, "possible", witness)
            elif not all(map(self.prover.is_safe, roots)):
                yield Move(before, after, "unknown")

    # --- regions

    def _find_regions(self, verdict: StepRelation) -> list[Region] | None:
        """Return the values of a number for which the verdicts differ, if both verdicts are rules over equal steps; else None.

        None as well if a restaurant is known to move by rounding only, outside of these regions.
        """
        old, new = self.old.steps[verdict.old_name], self.new.steps[verdict.name]
        parts = [part for node in (old, new) for part in walk(node, self.pool.anchors) if part is not node]
        used = dict.fromkeys(part for part in parts if part in self.pool.anchors)
        names = {node: name for name, node in reversed(self.new.steps.items())}
        if not used.keys() <= set(self.old.steps.values()) & names.keys():
            return None
        for driver in used:
            if driver.base.is_numeric and not driver.nullable:
                changes = list(self._cut(driver, names[driver], old, new))
                known = {change for _, change in changes}
                if () in known and not known.isdisjoint((None, _read_move(verdict))):
                    return list(_describe_changes(names[driver], changes))
        return None

    def _cut(self, driver: Node, name: str, old: Node, new: Node) -> Iterator[tuple[Interval, Change]]:
        """Yield the parts of the range of a number, from the lowest to the highest, with the change of the verdict there."""
        parts = (*walk(old, self.pool.anchors), *walk(new, self.pool.anchors))
        comparisons = [part for part in parts if part.op in ("lt", "le", "eq") and driver in part.args]
        limits = {arg.value for part in comparisons for arg in part.args if arg.is_constant}
        known = self.pool.bounds.bound(driver)
        symbol = Symbol(SymbolKind.STEP, name)
        for low, high in pairwise([ANY.low, *sorted([*limits, *limits]), ANY.high]):
            interval = Interval(low, high, low < high, low < high)
            interval = interval.close(1) if driver.base is Base.INTEGER else interval
            if interval.is_empty or interval.meet_or_none(known) is None:
                continue
            value = self.pool.segment(Segment(symbol, interval), driver.base)
            results = [self.pool.substitute(node, {driver: value}, {}, self.pool.anchors) for node in (old, new)]
            change: Change = None
            if results[0] is results[1]:
                change = ()
            elif all(node.is_constant for node in results):
                change = (results[0].value, results[1].value)
            yield interval, change


def _read_move(verdict: StepRelation) -> tuple[Value, ...]:
    """Return the old and the new verdict of the restaurant that shows a difference; empty without one."""
    return tuple(
        side.steps[name] for side, name in zip(verdict.witness, (verdict.old_name, verdict.name), strict=False)
    )


def _describe_changes(name: str, parts: Iterable[tuple[Interval, Change]]) -> Iterator[Region]:
    """Yield the regions of the number `name` in which the verdict changes, neighbours with the same change as one."""
    for change, neighbours in groupby(parts, key=lambda part: part[1]):
        if change != ():
            yield Region(format_interval(name, hull(interval for interval, _ in neighbours)), change or None)
