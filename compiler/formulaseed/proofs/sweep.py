"""Prove what two seeds have in common, step by step, and which verdicts can differ.

A step of the new seed that says the same as one of the old seed over equal steps is the same node; one that is proved equal is
replaced by the old node, so that later steps are compared over equal steps again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise

from formulaseed.documents import FormulaSeed
from formulaseed.explanation.verdict import list_verdicts
from formulaseed.ir import nodes
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.proofs.claims import FAILED, FAR, Move, Region, SeedProof, Status, StepRelation
from formulaseed.proofs.distance import RuleDistance
from formulaseed.proofs.encoding import Encoder, Formula
from formulaseed.proofs.lowering import Lowering, find_failures
from formulaseed.proofs.nodes import Node, Segment, to_constant, walk
from formulaseed.proofs.pool import Pool
from formulaseed.proofs.prover import Prover, at_most
from formulaseed.proofs.search import Candidate, Outcome, Runner, Sampler, Witness, climb, sample, shrink
from formulaseed.proofs.world import Domain, join_domains, read_domain

Pair = tuple[Outcome, Outcome]
_TOLERANCE = 1e-9


@dataclass
class Comparison:
    """A comparison of two seeds in progress. `old_names` maps the steps of the new seed to those of the old one."""

    seeds: tuple[FormulaSeed, FormulaSeed]
    old_names: Mapping[str, str]
    parameters: tuple[Mapping[str, Value] | None, Mapping[str, Value] | None] = (None, None)
    effort: int = 1
    is_wide: bool = False
    _samples: list[tuple[Candidate, Pair]] = field(default_factory=list)
    _replaced: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Lower both seeds, and evaluate random restaurants. Raises `DataError` if no restaurant fits both seeds."""
        domains = [
            read_domain(s.program, p, is_wide=self.is_wide) for s, p in zip(self.seeds, self.parameters, strict=True)
        ]
        self.domain = join_domains(*domains)
        self.pool = Pool()
        self.old = self._lower(0, domains[0])
        first = self._lower(1, domains[1])  # so that the cells know the aggregates of both seeds
        self.new = Lowering(self.pool, first.program, first.domain)
        self.prover = Prover(self.pool, self.domain, self.effort)
        self._sampler = Sampler(self.domain, self.prover.create_builder(points=True))
        self._runners = [
            Runner(seed, domain, values or {})
            for seed, domain, values in zip(self.seeds, domains, self.parameters, strict=True)
        ]
        self._distances = [RuleDistance(s.program, p or {}) for s, p in zip(self.seeds, self.parameters, strict=True)]
        for candidate in sample(self._sampler):
            outcomes = self._run(candidate)
            if outcomes is not None:
                self._samples.append((candidate, outcomes))

    def _lower(self, place: int, own: Domain) -> Lowering:
        """Return the nodes of one of the seeds, with its own parameters, over the fields that both accept."""
        lowering = Lowering(self.pool, self.seeds[place].program, replace(self.domain, parameters=own.parameters))
        lowering.lower_all()
        return lowering

    def _run(self, candidate: Candidate) -> Pair | None:
        """Evaluate a candidate with both seeds; None if one does not accept its data."""
        old, new = (runner.run(candidate) for runner in self._runners)
        return None if old is None or new is None else (old, new)

    def prove(self, verdict: str | None, outputs: Sequence[str]) -> SeedProof:
        """Compare all common steps, and the verdict, by their names in the new seed; the result has those in `outputs`."""
        self.prover.relate_aggregates()
        relations: dict[str, StepRelation] = {}
        for step in self.new.program.steps:
            self.new.lower_step(step)
            if step.name in self.old_names and not isinstance(step.operation, nodes.Filter):
                relations[step.name] = self._relate(step)
        moves: list[Move] = []
        regions: tuple[Region, ...] | None = None
        if verdict is not None and relations[verdict].status not in ("same", "equal"):
            regions = self._find_regions(verdict)
            moves = list(self._list_moves(verdict, regions))
            possible = next((move.witness for move in moves if move.status == "possible"), None)
            if possible is not None:
                relations[verdict] = relations[verdict]._replace(status="differs", witness=possible)
        moves += self._compare_failures()
        listed = tuple(relations[name] for name in outputs)
        return SeedProof(listed, verdict, tuple(moves), regions, self.domain, self.prover.units, self.prover.has_cells)

    # --- steps

    def _relate(self, step: nodes.Step) -> StepRelation:
        """Compare a step of the new seed with its old one; if they are equal, the steps that follow use the old node."""
        old_name = self.old_names[step.name]
        old, new = self.old.steps[old_name], self.new.steps[step.name]
        if old is new:
            return StepRelation(step.name, old_name, "same")
        differs = next((c for c, pair in self._samples if self._differs(pair, old_name, step.name)), None)
        if differs is None:
            if self._is_typed_alike(old, new) and self.prover.is_impossible(lambda e: _differ(e, old, new), [old, new]):
                self._replaced.append(new)
                self.new.set_step(step.name, old)
                return StepRelation(step.name, old_name, "equal")
            return StepRelation(step.name, old_name, "unknown", self._order(old, new, old_name, step.name))
        witness = self._shrink(differs, lambda pair: self._differs(pair, old_name, step.name))
        status: Status = "differs" if witness is not None else "unknown"
        return StepRelation(step.name, old_name, status, self._order(old, new, old_name, step.name), witness)

    def _is_typed_alike(self, old: Node, new: Node) -> bool:
        """Return True if two nodes have values of the same kind, so that the solver can compare them."""
        return old.base is new.base or (old.is_numeric and new.is_numeric)

    def _differs(self, pair: Pair, old_name: str, new_name: str) -> bool:
        """Return True if both seeds evaluate a restaurant, and its two values differ by more than rounding."""
        if pair[0].failure is not None or pair[1].failure is not None:
            return False
        return _compare(pair[0].values[old_name], pair[1].values[new_name]) != 0

    def _order(self, old: Node, new: Node, old_name: str, new_name: str) -> str:
        """Return `never lower` or `never higher` if that is proved of the new number, and remember it; else an empty string."""
        if not (old.is_numeric and new.is_numeric) or old.nullable or new.nullable:
            return ""
        signs = {
            _compare(pair[0].values[old_name], pair[1].values[new_name])
            for _, pair in self._samples
            if pair[0].failure is None and pair[1].failure is None
        }
        for sign, low, high, words in ((-1, old, new, "never lower"), (1, new, old, "never higher")):
            if sign in signs:
                continue
            if self.prover.is_impossible(_is_above(low, high), [old, new], worlds=("relaxed",)):
                self.prover.lemmas.append(((low, high), at_most(low, high)))
                return words
        return ""

    # --- verdicts

    def _list_moves(self, verdict: str, regions: tuple[Region, ...] | None) -> Iterator[Move]:
        """Yield for each pair of two verdicts whether a restaurant can move from one to the other."""
        old, new = self.old.steps[self.old_names[verdict]], self.new.steps[verdict]
        known = None
        if regions is not None and all(region.move is not None for region in regions):
            known = {region.move for region in regions}
        for before in self._list_values(0, self.old_names[verdict]):
            for after in self._list_values(1, verdict):
                if before == after and type(before) is type(after):
                    continue
                if known is not None and (before, after) not in known:
                    yield Move(before, after, "impossible")
                else:
                    yield self._decide_move(old, new, before, after, verdict)

    def _list_values(self, place: int, name: str) -> tuple[Value, ...]:
        """Return the possible values of a verdict in one of the seeds."""
        step = next(step for step in self.seeds[place].program.steps if step.name == name)
        values = list_verdicts(step)
        return (*values, None) if values and step.ty.nullable and None not in values else values

    def _decide_move(self, old: Node, new: Node, before: Value, after: Value, verdict: str) -> Move:
        """Return whether a move is possible, with a witness, or impossible, or unknown."""
        old_name = self.old_names[verdict]

        def moves(pair: Pair) -> bool:
            """Return True if a restaurant moves so."""
            return pair[0].values.get(old_name) == before and pair[1].values.get(verdict) == after

        start = next((candidate for candidate, pair in self._samples if moves(pair)), None)
        if start is None:
            start = self._climb_to((old_name, verdict), (before, after))
        if start is None:

            def goal(encoder: Encoder) -> Formula:
                """Return the condition that the seeds have these verdicts."""
                return encoder.all_of([_has_value(encoder, old, before), _has_value(encoder, new, after)])

            if self.prover.is_impossible(goal, [old, new]):
                return Move(before, after, "impossible")
            start = self.prover.propose(goal, [old, new])
        witness = self._shrink(start, moves) if start is not None else None
        return Move(before, after, "possible" if witness is not None else "unknown", witness)

    def _climb_to(self, names: tuple[str, str], values: tuple[Value, Value]) -> Candidate | None:
        """Search for a restaurant with these verdicts by the old and the new seed; None if the search does not get there."""

        def score(candidate: Candidate) -> float | None:
            """Return how close a candidate is, 0 if it has the verdicts; None if a seed does not accept its data."""
            pair = self._run(candidate)
            if pair is None:
                return None
            sides = zip(self._distances, names, values, pair, strict=True)
            return -sum(
                distance.measure_value(name, value, candidate, outcome) for distance, name, value, outcome in sides
            )

        reached = climb(self._sampler, [candidate for candidate, _ in self._samples], score, lambda value: value == 0)
        return reached if reached is not None and score(reached) == 0 else None

    def _compare_failures(self) -> Iterator[Move]:
        """Yield whether one seed fails for a restaurant that the other evaluates; nothing if their steps fail alike."""
        sides = (self.old, self.new)
        own = [{node for node in side.steps.values() if _may_fail(self.pool, node)} for side in sides]
        # a step may be equal to the old one where both have a value, and fail where the old one does not
        own[1] |= {node for node in self._replaced if _may_fail(self.pool, node)}
        for place, (before, after) in enumerate(((FAILED, "evaluated"), ("evaluated", FAILED))):
            roots = sorted(own[place] - own[1 - place], key=lambda node: node.number)
            if not roots:
                continue

            def fails_once(pair: Pair, place: int = place) -> bool:
                """Return True if only the seed at `place` fails."""
                return pair[place].failure is not None and pair[1 - place].failure is None

            start = next((candidate for candidate, pair in self._samples if fails_once(pair)), None)
            witness = self._shrink(start, fails_once) if start is not None else None
            if witness is not None:
                yield Move(before, after, "possible", witness)
            elif not all(
                self.prover.is_impossible(lambda e, node=node: e.fails(node), [node], failing=node)  # type: ignore[misc]
                for node in roots
            ):
                yield Move(before, after, "unknown")

    def _shrink(self, candidate: Candidate, holds: Callable[[Pair], bool]) -> tuple[Witness, Witness] | None:
        """Return the smallest part of a restaurant for which `holds` is true, confirmed by both evaluators of both seeds."""

        def is_kept(smaller: Candidate) -> bool:
            """Return True if a smaller restaurant still shows it."""
            pair = self._run(smaller)
            return pair is not None and holds(pair)

        if not is_kept(candidate):
            return None
        smallest = shrink(self._sampler, candidate, is_kept)
        old, new = (runner.confirm(smallest) for runner in self._runners)
        if old is None or new is None or not holds((old.outcome, new.outcome)):
            return None
        return old, new

    # --- regions

    def _find_regions(self, verdict: str) -> tuple[Region, ...] | None:
        """Return the values of a number for which the verdicts differ, if both verdicts are rules over equal steps; else None."""
        old, new = self.old.steps[self.old_names[verdict]], self.new.steps[verdict]
        parts = [part for node in (old, new) for part in walk(node, self.pool.anchors) if part is not node]
        used = dict.fromkeys(part for part in parts if part in self.pool.anchors)
        names = {node: name for name, node in reversed(self.new.steps.items())}
        if not used.keys() <= set(self.old.steps.values()) & names.keys():
            return None
        for driver in used:
            regions = (
                list(self._cut(driver, names[driver], old, new)) if driver.is_numeric and not driver.nullable else []
            )
            if None in regions:
                return tuple(_merge([region for region in regions if region is not None]))
        return None

    def _cut(self, driver: Node, name: str, old: Node, new: Node) -> Iterator[Region | None]:
        """Yield for each segment of a number None if both verdicts are the same there, else the region."""
        limits = {
            other.value
            for node in (old, new)
            for part in walk(node, self.pool.anchors)
            if part.op in ("lt", "le", "eq") and driver in part.args
            for other in part.args
            if other.is_constant
        }
        interval = self.prover.bounds.bound(driver)
        for segment in _list_segments(
            Symbol(SymbolKind.STEP, name), sorted(limits), is_whole=driver.base is Base.INTEGER
        ):
            if segment.high < interval.low or segment.low > interval.high:
                continue
            is_point = segment.low == segment.high
            value = self.pool.constant(segment.low) if is_point else self.pool.segment(segment, driver.base)
            results = [self._rebuild(node, driver, value) for node in (old, new)]
            if results[0] is results[1]:
                yield None
            elif all(node.is_constant for node in results):
                yield Region(name, segment, (results[0].value, results[1].value))
            else:
                yield Region(name, segment, None)

    def _rebuild(self, node: Node, driver: Node, value: Node) -> Node:
        """Return a node with a value in place of the driver; other steps stay as they are."""
        if node is driver:
            return value
        if not node.args or node.op == "aggregate":
            return node
        args = tuple(
            arg if arg in self.pool.anchors and arg is not driver else self._rebuild(arg, driver, value)
            for arg in node.args
        )
        return self.pool.build(node.op, args, node.value, node.base)


def _list_segments(symbol: Symbol, limits: Sequence[Fraction], *, is_whole: bool) -> Iterator[Segment]:
    """Yield the numbers below, at, between and above limits, from the lowest on; of whole numbers those without a gap."""
    ends = [-FAR, *limits, FAR]
    for low, high in pairwise(ends):
        if low != -FAR:
            yield Segment(symbol, low, low)
        if not is_whole:
            yield Segment(symbol, low, high, is_low_open=True, is_high_open=True)
        elif low + 1 < high:
            yield Segment(symbol, low if low == -FAR else low + 1, high if high == FAR else high - 1)


def _merge(regions: Sequence[Region]) -> Iterator[Region]:
    """Yield the regions, those that touch and have the same move as one."""
    current: Region | None = None
    for region in regions:
        if current is None:
            current = region
        elif current.move == region.move and region.segment.low - current.segment.high in (0, 1):
            high = region.segment
            joined = replace(current.segment, high=high.high, is_high_open=high.is_high_open)
            current = current._replace(segment=joined)
        else:
            yield current
            current = region
    if current is not None:
        yield current


def _compare(old: Value, new: Value) -> int:
    """Return 0 for values that are equal up to rounding, 1 if the new number is larger, else -1."""
    if (
        isinstance(old, int | float)
        and isinstance(new, int | float)
        and not isinstance(old, bool)
        and not isinstance(new, bool)
    ):
        if math.isclose(old, new, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            return 0
        return 1 if new > old else -1
    return 0 if old == new and type(old) is type(new) else -1


def _differ(encoder: Encoder, old: Node, new: Node) -> Formula:
    """Return the condition that two values are not equal: one is null, or both are not and differ."""
    nulls = [encoder.null(node) for node in (old, new)]
    is_other = encoder.all_of([*map(encoder.z3.Not, nulls), encoder.term(old) != encoder.term(new)])
    return encoder.any_of([nulls[0] != nulls[1], is_other])


def _has_value(encoder: Encoder, node: Node, value: Value) -> Formula:
    """Return the condition that a node has a value."""
    if value is None:
        return encoder.null(node)
    return encoder.all_of(
        [encoder.z3.Not(encoder.null(node)), encoder.term(node) == encoder.constant(to_constant(value))]
    )


def _is_above(low: Node, high: Node) -> Callable[[Encoder], Formula]:
    """Return the goal that a number is above another one."""
    return lambda encoder: encoder.term(low) > encoder.term(high)


def _may_fail(pool: Pool, node: Node) -> bool:
    """Return True if a step may fail itself, not only a step that it uses."""
    if any(True for _ in find_failures(pool, node)):
        return True
    return any(part.op == "aggregate" and part.may_fail for part in walk(node, pool.anchors))
