"""Prove what holds for every restaurant of one seed: rules and verdicts that are reached, failures, bounds, properties.

Each claim is proved, or shown by a restaurant that both evaluators confirm, or unknown. Sampling and climbing come first; only
what they do not reach is asked of the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from formulaseed import limits
from formulaseed.documents import FormulaSeed
from formulaseed.explanation.verdict import choose_verdict, list_verdicts
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.functions import is_partial
from formulaseed.language.types import Base, Value
from formulaseed.proofs.claims import BoundsClaim, Claims, EndClaim, FailureClaim, ReachClaim
from formulaseed.proofs.distance import RuleDistance
from formulaseed.proofs.intervals import ANY, End, Interval
from formulaseed.proofs.lowering import Lowering
from formulaseed.proofs.nodes import Node, to_constant, to_fraction, walk
from formulaseed.proofs.pool import Pool
from formulaseed.proofs.prover import Prover
from formulaseed.proofs.search import Candidate, Outcome, Runner, Sampler, Witness, climb, sample, shrink
from formulaseed.proofs.world import read_domain

_FAR = 4
"""How many times farther than all samples a restaurant must go to show that a number is open."""
_TOLERANCE = Fraction(1, 10**6)
_REMOTE = Fraction(10**15)


class Study:
    """A seed under study: its nodes, a prover unless `is_quick`, and random restaurants with their outcomes."""

    def __init__(
        self,
        seed: FormulaSeed,
        parameters: Mapping[str, Value] | None = None,
        *,
        effort: int = 1,
        is_quick: bool = False,
        is_wide: bool = False,
        any_parameters: bool = False,
    ) -> None:
        self.program = seed.program
        self.is_quick = is_quick
        self.domain = read_domain(seed.program, parameters, is_wide=is_wide, any_parameters=any_parameters)
        self.pool = Pool()
        self.lowering = Lowering(self.pool, seed.program, self.domain)
        self.lowering.lower_all()
        self.prover = Prover(self.pool, self.domain, effort)
        self.sampler = Sampler(self.domain, self.prover.create_builder(points=True))
        self.runner = Runner(seed, self.domain, {} if any_parameters else parameters or {})
        self._distance = RuleDistance(seed.program, parameters or {})
        self.samples: list[tuple[Candidate, Outcome]] = []
        for candidate in sample(self.sampler):
            outcome = self.runner.run(candidate)
            if outcome is not None:
                self.samples.append((candidate, outcome))

    def count_kind(self, name: str) -> Node:
        """Return the number of reviews that meet a filter, which the cells then tell apart."""
        node = self.pool.aggregate("count", self.lowering.filters[name], None, Base.INTEGER)
        if not node.is_constant:
            self.pool.anchors.setdefault(node)
        return node

    def prove(self) -> Claims:
        """Return every claim about the seed but its properties."""
        if not self.is_quick:
            self.prover.relate_aggregates()
        bounds = self._bound_steps()
        return Claims(
            tuple(self._list_rules()),
            tuple(self._list_verdicts()),
            tuple(self._list_failures()),
            tuple(bounds[name] for name in self.program.output if name in bounds),
            self.domain,
            self.prover.units,
            self.prover.has_cells,
            self.is_quick,
        )

    def _confirm(self, start: Candidate | None, holds: Callable[[Outcome], bool]) -> Witness | None:
        """Return the smallest part of a candidate for which `holds` is true, if both evaluators confirm it; else None."""

        def is_kept(candidate: Candidate) -> bool:
            """Return True if a candidate still shows it."""
            outcome = self.runner.run(candidate)
            return outcome is not None and holds(outcome)

        if start is None or not is_kept(start):
            return None
        witness = self.runner.confirm(shrink(self.sampler, start, is_kept))
        return witness if witness is not None and holds(witness.outcome) else None

    # --- rules and verdicts

    def _list_rules(self) -> Iterator[ReachClaim]:
        """Yield for each rule of each step that chooses among literals whether it is reached."""
        for step in self.program.steps:
            rules = step.rules()
            if len(rules) < 2:
                continue
            for place, condition in enumerate(self._list_conditions(step)):
                yield self._reach(step, place, rules[place][1], condition)

    def _list_verdicts(self) -> Iterator[ReachClaim]:
        """Yield for each value of the verdict whether it is reached."""
        step = choose_verdict(self.program)
        if step is None:
            return
        for value in list_verdicts(step):
            condition = self.pool.equate(self.lowering.steps[step.name], self.pool.constant(to_constant(value)))
            yield self._reach(step, None, value, condition)

    def _list_conditions(self, step: nodes.Step) -> list[Node]:
        """Return the condition under which each rule of a step applies: its own, and the opposite of those before."""
        pool = self.pool
        before: list[Node] = []
        conditions: list[Node] = []
        for condition, _ in step.rules():
            own = pool.true if condition is None else pool.truth(self.lowering.lower(condition))
            conditions.append(pool.conjoin(*before, own))
            before.append(pool.negate(own))
        return conditions

    def _reach(self, step: nodes.Step, place: int | None, value: Value, condition: Node) -> ReachClaim:
        """Return whether a restaurant reaches a rule, or a value if `place` is None, by sampling, climbing and the solver."""

        def measure(candidate: Candidate, outcome: Outcome) -> float:
            """Return the distance of a restaurant: 0 if it reaches the goal."""
            return self._measure_reach(step, place, value, candidate, outcome)

        def score(candidate: Candidate) -> float | None:
            """Return how close a candidate is; None if its data is not accepted."""
            outcome = self.runner.run(candidate)
            return None if outcome is None else -measure(candidate, outcome)

        start = next((candidate for candidate, outcome in self.samples if measure(candidate, outcome) == 0), None)
        if start is None:
            if not self.is_quick and self.prover.is_impossible(lambda e: e.term(condition), [condition]):
                return ReachClaim(step.name, place, value, "unreachable")
            start = self._search(score, condition)
        witness = self._confirm_reach(start, score) if start is not None else None
        return ReachClaim(step.name, place, value, "reached" if witness is not None else "unknown", witness)

    def _measure_reach(
        self, step: nodes.Step, place: int | None, value: Value, candidate: Candidate, outcome: Outcome
    ) -> float:
        """Return the distance of a restaurant from a rule, or a value if `place` is None: 0 if it is reached."""
        is_only = sum(then == value and type(then) is type(value) for _, then in step.rules()) == 1
        is_decided = outcome.failure is None and (place is None or is_only)
        if is_decided and outcome.values[step.name] == value:
            return 0.0
        if place is None:
            return max(0.01, self._distance.measure_value(step.name, value, candidate, outcome))
        distance = self._distance.measure_rule(step.name, place, candidate, outcome)
        return max(0.01, distance) if is_decided else distance

    def _search(self, score: Callable[[Candidate], float | None], condition: Node) -> Candidate | None:
        """Return a candidate with the score 0 by climbing, or one that the solver proposes; None if neither has it."""
        candidate = climb(self.sampler, [start for start, _ in self.samples], score, lambda best: best == 0)
        if (candidate is None or score(candidate) != 0) and not self.is_quick:
            candidate = self.prover.propose(lambda e: e.term(condition), [condition])
        return candidate if candidate is not None and score(candidate) == 0 else None

    def _confirm_reach(self, start: Candidate, score: Callable[[Candidate], float | None]) -> Witness | None:
        """Return the smallest part of a candidate whose score is still 0, if both evaluators agree on it; else None."""
        return self.runner.confirm(shrink(self.sampler, start, lambda candidate: score(candidate) == 0))

    # --- failures

    def _list_failures(self) -> Iterator[FailureClaim]:
        """Yield for each step with a partial operation whether it can fail."""
        reached: dict[str, tuple[Candidate, str]] = {}
        for candidate, outcome in self.samples:
            if outcome.failure is not None:
                reached.setdefault(outcome.failure[0], (candidate, outcome.failure[1]))
        for step in self.program.steps:
            if isinstance(step.operation, nodes.Filter):
                continue
            if step.name in reached:
                candidate, kind = reached[step.name]
                failure = (step.name, kind)
                witness = self._confirm(candidate, lambda outcome, failure=failure: outcome.failure == failure)  # type: ignore[misc]
                yield FailureClaim(step.name, "fails" if witness is not None else "unknown", kind, witness)
            elif _has_partial_operation(step, self.program) or self._may_overflow(step):
                node = self.lowering.steps[step.name]
                yield FailureClaim(step.name, "safe" if self._is_safe(step, node) else "unknown")

    def _is_safe(self, step: nodes.Step, node: Node) -> bool:
        """Return True if it is proved that a step cannot fail."""
        if self._may_overflow(step) and not self._is_far_from_overflow(node):
            return False
        if not node.may_fail:
            return True
        return not self.is_quick and self.prover.is_impossible(lambda e: e.fails(node), [node], failing=node)

    def _may_overflow(self, step: nodes.Step) -> bool:
        """Return True if the checker does not exclude that a number in a step is too large."""
        parts = [part for expression in step.expressions() for part in typed.walk(expression)]
        return any(isinstance(part, typed.Binary | typed.Aggregate) and part.may_overflow for part in parts)

    def _is_far_from_overflow(self, node: Node) -> bool:
        """Return True if every number in a step is within the largest one, by its interval."""
        stack = [node]
        for part in stack:
            stack += (
                inner
                for arg in part.args
                if part.op == "aggregate" or part is node
                for inner in walk(arg)
                if inner not in stack
            )
        numbers = (self.prover.bounds.bound(part) for part in stack if part.is_numeric)
        limit = to_fraction(limits.NUMBER_MAX)
        return all(interval.is_finite and interval.size < limit for interval in numbers)

    # --- bounds

    def _bound_steps(self) -> dict[str, BoundsClaim]:
        """Return the bounds of each numeric output; those of other steps are only refined, so that the solver knows them."""
        claims: dict[str, BoundsClaim] = {}
        for step in self.program.steps:
            node = self.lowering.steps.get(step.name)
            if node is None or not step.ty.is_numeric or isinstance(step.operation, nodes.Filter):
                continue
            ends = self._find_ends(step, node)
            if step.name in self.program.output:
                claims[step.name] = BoundsClaim(step.name, *ends)
        return claims

    def _interval(self, step: nodes.Step, node: Node) -> Interval:
        """Return the proved interval of a step: the checker's, and that of exact arithmetic."""
        checked = ANY
        if step.range is not None:
            ends = [
                to_fraction(end) if abs(end) <= limits.NUMBER_MAX else end for end in (step.range.low, step.range.high)
            ]
            checked = Interval(ends[0], ends[1])
        return self.prover.bounds.bound(node).meet(checked)

    def _find_ends(self, step: nodes.Step, node: Node) -> tuple[EndClaim, EndClaim]:
        """Return the claims about both ends of a number, and try to prove bounds that samples reach."""
        values = [
            (outcome.values[step.name], candidate) for candidate, outcome in self.samples if outcome.failure is None
        ]
        numbers = [(value, candidate) for value, candidate in values if isinstance(value, int | float)]
        if not numbers:
            low, high = (EndClaim("unknown", _finite(end), None) for end in self._interval(step, node)[:2])
            return low, high
        is_output = step.name in self.program.output
        farthest = [min(numbers, key=lambda pair: pair[0]), max(numbers, key=lambda pair: pair[0])]
        is_open = [False, False]
        for place, sign in enumerate((-1, 1)):
            end = self._interval(step, node)[place]
            if not _is_reached(end, farthest[place][0]):
                is_open[place], farthest[place] = self._stretch(
                    step.name, farthest[place], sign, end, is_output=is_output
                )
        if not self.is_quick and not node.is_constant:
            targets = [None if is_open[place] else to_fraction(farthest[place][0]) for place in (0, 1)]
            self.prover.refine(node, targets[0], targets[1])
        if not is_output:
            return EndClaim("unknown", None, None), EndClaim("unknown", None, None)
        ends = zip(self._interval(step, node)[:2], farthest, is_open, strict=True)
        low, high = (self._claim_end(step.name, end, value, is_open=is_far) for end, value, is_far in ends)
        return low, high

    def _stretch(
        self, name: str, farthest: tuple[int | float, Candidate], sign: int, end: End, *, is_output: bool
    ) -> tuple[bool, tuple[int | float, Candidate]]:
        """Look for a restaurant farther out than the samples, with more reviews of the same kind, then by climbing.

        Returns whether it is far enough to take the number for open, and the farthest value with its restaurant.
        """
        goal = _FAR * max(abs(farthest[0]), 1) * sign

        def score(candidate: Candidate) -> float | None:
            """Return the value of the number, with the sign of the search; None if there is none."""
            outcome = self.runner.run(candidate)
            value = outcome.values.get(name) if outcome is not None else None
            return value * sign if isinstance(value, int | float) else None

        candidate = farthest[1]
        repeated = [
            Candidate(candidate.rows * times, candidate.shared) for times in (4, 16) if len(candidate.rows) <= 60
        ]
        starts = [candidate, *repeated, *(other for other, _ in self.samples[:: len(self.samples) // 20 or 1])]

        def is_enough(best: float) -> bool:
            """Return True if a value is far out, or as far as it can be."""
            return best >= abs(goal) * 1.0 if goal * sign > 0 else best >= goal * sign or _is_reached(end, best * sign)

        best = climb(self.sampler, starts, score, is_enough, 120 if is_output else 30)
        value = score(best) if best is not None else None
        if best is not None and value is not None and value > farthest[0] * sign:
            farthest = (value * sign, best)
        return farthest[0] * sign >= abs(goal) and _is_remote(end), farthest

    def _claim_end(self, name: str, end: End, farthest: tuple[int | float, Candidate], *, is_open: bool) -> EndClaim:
        """Return the claim about one end of an output, with a confirmed restaurant for the farthest value."""
        value = farthest[0]
        tolerance = float(_TOLERANCE) * max(1.0, abs(value))
        if is_open:
            witness = self.runner.confirm(farthest[1])  # without one of its reviews it would not go so far
        else:
            witness = self._confirm(farthest[1], lambda outcome: _is_near(outcome.values.get(name), value, tolerance))
        reached = witness.outcome.values[name] if witness is not None else None
        if witness is not None and _is_reached(end, value):
            return EndClaim("tight", to_fraction(value), reached, witness)
        if not _is_remote(end):
            return EndClaim("bound", _finite(end), reached, witness)
        return EndClaim("open" if is_open and witness is not None else "unknown", None, reached, witness)


def _has_partial_operation(step: nodes.Step, program: nodes.Program) -> bool:
    """Return True if a step, or a filter that it uses, has an operation without a value for some operands."""
    filters = {s.name: s.operation.condition for s in program.steps if isinstance(s.operation, nodes.Filter)}
    stack = list(step.expressions())
    if isinstance(step.operation, nodes.Lookup) and not step.operation.has_default:
        return True
    for expression in stack:
        for part in typed.walk(expression):
            if isinstance(part, typed.Present) or is_partial(getattr(part, "operator", getattr(part, "function", ""))):
                return True
            if (
                isinstance(part, typed.Ref)
                and part.symbol.name in filters
                and part.symbol.kind is typed.SymbolKind.FILTER
            ):
                condition = filters[part.symbol.name]
                if condition not in stack:
                    stack.append(condition)
    return False


def _is_remote(end: End) -> bool:
    """Return True if an end is so far from 0 that it tells a reader nothing."""
    return end >= _REMOTE or end <= -_REMOTE


def _finite(end: End) -> Fraction | None:
    """Return an end that tells a reader something; None for any other."""
    return end if isinstance(end, Fraction) and not _is_remote(end) else None


def _is_reached(end: End, value: int | float) -> bool:
    """Return True if a value is at an end, or so near that rounding explains the difference."""
    return isinstance(end, Fraction) and abs(end - to_fraction(value)) <= _TOLERANCE * max(Fraction(1), abs(end))


def _is_near(value: Value, target: int | float, tolerance: float) -> bool:
    """Return True if a value is a number within the tolerance of a target."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value - target) <= tolerance
