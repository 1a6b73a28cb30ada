"""Prove what holds for every restaurant of one seed: rules and verdicts that are reached, failures and bounds.

Each claim is proved, or shown by a restaurant that both evaluators confirm, or unknown. Sampling and climbing come first; only
what they do not reach is asked of the solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from formulaseed import limits
from formulaseed.explanation.verdict import choose_verdict, list_verdicts
from formulaseed.ir import nodes
from formulaseed.ir.dependencies import find_filters
from formulaseed.language import typed
from formulaseed.language.functions import is_partial
from formulaseed.language.intervals import is_remote
from formulaseed.language.typed import Expr
from formulaseed.language.types import Value
from formulaseed.pages.values import format_plain
from formulaseed.proofs import claims
from formulaseed.proofs.distance import measure_rule
from formulaseed.proofs.lowering import may_fail
from formulaseed.proofs.nodes import End, Node, to_fraction, to_interval, walk
from formulaseed.proofs.runner import Candidate
from formulaseed.proofs.study import Answer, Study

_FAR = 4
"""How many times farther than all samples a restaurant must go to show that a number is open."""
_TOLERANCE = Fraction(1, 10**6)
_STATUSES: dict[Answer, Literal["reached", "unreachable", "unknown"]] = {
    "possible": "reached", "impossible": "unreachable", "unknown": "unknown",
}  # fmt: skip


class SeedStudy(Study):
    """One seed under study."""

    def count_kind(self, kind: Expr) -> Node:
        """Return the number of reviews that meet a condition, which the cells then tell apart."""
        node = self.pool.count(self.lowering.lower_condition(kind))
        if not node.is_constant:
            self.pool.anchors.setdefault(node)
        return node

    def read_value(self, candidate: Candidate, name: str) -> Value:
        """Return the value of a step for a candidate; None if it fails."""
        outcomes = self.trials.run(candidate)
        return outcomes[0].values.get(name) if outcomes is not None else None

    # --- rules and verdicts

    def list_rules(self) -> Iterator[claims.Reach]:
        """Yield for each rule, or key of a lookup, of each step that chooses among literals whether it is reached."""
        pool = self.pool
        for step in self.program.steps:
            before = pool.true
            rules = step.choices()
            for place, (condition, value) in enumerate(rules if len(rules) > 1 else ()):
                own = self.lowering.lower_condition(condition)
                yield self._reach(step, place, value, pool.conjoin(before, own))
                before = pool.conjoin(before, pool.negate(own))

    def list_verdicts(self) -> Iterator[claims.Reach]:
        """Yield for each value of the verdict whether it is reached."""
        step = choose_verdict(self.program)
        if step is not None:
            for value in list_verdicts(step):
                condition = self.pool.equate(self.lowering.steps[step.name], self.pool.literal(value))
                yield self._reach(step, None, value, condition)

    def _reach(self, step: nodes.Step, place: int | None, value: Value, condition: Node) -> claims.Reach:
        """Return whether a restaurant reaches a rule, or a value if `place` is None."""
        [runner] = self.trials.runners

        def score(candidate: Candidate) -> float | None:
            """Return the distance of a restaurant from the rule, with the opposite sign."""
            outcomes = self.trials.run(candidate)
            return None if outcomes is None else -measure_rule(runner, step.name, place, value, candidate, outcomes[0])

        rule = "" if place is None else f" rule {place + 1}"
        answer, witnesses = self.settle(score, condition, f"{step.name}{rule} {format_plain(value)}")
        return claims.Reach(step.name, place, value, _STATUSES[answer], *witnesses)

    # --- failures

    def list_failures(self) -> Iterator[claims.StepFailure]:
        """Yield for each step with a partial operation whether it can fail."""
        for step in (step for step in self.program.steps if step.name in self.lowering.steps):
            node = self.lowering.steps[step.name]

            def fails(candidate: Candidate, name: str = step.name) -> bool:
                """Return True if the step fails for a candidate."""
                outcomes = self.trials.run(candidate) or ()
                return any(outcome.failure is not None and outcome.failure.step == name for outcome in outcomes)

            start = self.trials.find(fails)
            if start is not None:
                witnesses = self.show(start, fails, f"{step.name} fails")
                kind = next((witness.error.kind for witness in witnesses if witness.error is not None), None)
                yield claims.StepFailure(step.name, "fails" if witnesses else "unknown", kind, *witnesses)
            elif may_fail(self.pool, node) or any(map(_is_partial, self._list_parts(step))):
                yield claims.StepFailure(step.name, "safe" if self._is_safe(step, node) else "unknown")

    def _is_safe(self, step: nodes.Step, node: Node) -> bool:
        """Return True if it is proved that a step cannot fail."""
        return self._is_far_from_overflow(step) and (not node.may_fail or self.prover.is_safe(node))

    def _list_parts(self, step: nodes.Step) -> list[Expr]:
        """Return the expressions in a step and in the filters that it uses, each with those in it."""
        filters = find_filters(step, self.program.filters())
        return [part for whole in (*step.expressions(), *filters.values()) for part in typed.walk(whole)]

    def _is_far_from_overflow(self, step: nodes.Step) -> bool:
        """Return True if every number that may overflow in a step is within the largest one, by its interval."""
        # each is lowered for itself, since the step's node may have been simplified to one without it
        parts = filter(_may_overflow, self._list_parts(step))
        numbers = (inner for part in parts for inner in walk(self.lowering.lower(part)) if inner.base.is_numeric)
        return all(max(-low, high) < limits.NUMBER_MAX for low, high, *_ in map(self.pool.bounds.bound, numbers))

    # --- bounds

    def bound_outputs(self) -> list[claims.Bounds]:
        """Return the bounds of each numeric output; those of other steps are only refined, so that the solver knows them."""
        bounds: dict[str, claims.Bounds] = {}
        for step in self.program.steps:
            if step.ty.is_numeric:
                node = self.lowering.steps[step.name]
                bounds[step.name] = claims.Bounds(step.name, *(self._find_end(step, node, sign) for sign in (-1, 1)))
        return [bounds[name] for name in self.program.output if name in bounds]

    def _get_end(self, step: nodes.Step, node: Node, sign: int) -> End:
        """Return the proved lowest value of a step, or the highest for the `sign` 1: the checker's, or that of exact numbers."""
        interval = self.pool.bounds.bound(node).meet(to_interval(step.range))
        return interval.low if sign < 0 else interval.high

    def _search_end(self, step: nodes.Step, end: End, sign: int) -> tuple[float, Candidate, bool] | None:
        """Return the value nearest to `end` that a search finds, its restaurant, and whether it is far beyond all samples.

        The result is None if the step has a value for no sample.
        """

        def score(candidate: Candidate) -> float | None:
            """Return the value of the number, with the sign of the search; None if there is none."""
            value = self.read_value(candidate, step.name)
            return value * sign if isinstance(value, int | float) else None

        candidates = self.trials.candidates
        scored = [(value, candidate) for candidate in candidates if (value := score(candidate)) is not None]
        if not scored:
            return None
        best, farthest = max(scored, key=lambda pair: pair[0])
        far = _FAR * max(abs(best), 1)
        if not _is_reached(end, best * sign):
            starts = [Candidate(farthest.rows * times, farthest.shared) for times in (1, 4, 16)]
            starts += candidates[:: len(candidates) // 20 or 1]
            steps = 120 if step.name in self.program.output else 30
            peak = self.trials.climb(starts, score, lambda value: value >= far or _is_reached(end, value * sign), steps)
            best, farthest = peak or (best, farthest)
        return best * sign, farthest, best >= far

    def _find_end(self, step: nodes.Step, node: Node, sign: int) -> claims.End:
        """Return the claim about the lowest value of a number, or the highest for the `sign` 1; try to prove what is reached."""
        end = self._get_end(step, node, sign)
        nearest = self._search_end(step, end, sign)
        if nearest is None:
            return claims.End("unknown", None if is_remote(end) else Fraction(end))
        value, farthest, is_far = nearest
        is_open = is_far and is_remote(end)
        if not (is_open or self.prover.is_quick or node.is_constant):
            self.prover.refine(node, to_fraction(value), sign)
        if step.name not in self.program.output:
            return claims.End("unknown")
        title = f"{step.name} {'lowest' if sign < 0 else 'highest'}"
        end = self._get_end(step, node, sign)

        def is_near(candidate: Candidate) -> bool:
            """Return True if the number has the farthest value for a candidate, up to rounding."""
            known = self.read_value(candidate, step.name)
            return isinstance(known, int | float) and abs(known - value) <= _TOLERANCE * max(1, abs(value))

        # without one of its reviews, a restaurant that goes far would not go so far
        witnesses = self.trials.confirm(farthest, title) if is_open else self.show(farthest, is_near, title)
        reached = witnesses[0].steps[step.name] if witnesses else None
        if witnesses and _is_reached(end, value):
            return claims.End("tight", to_fraction(value), reached, *witnesses)
        if not is_remote(end):
            return claims.End("bound", Fraction(end), reached, *witnesses)
        return claims.End("open" if is_open and witnesses else "unknown", None, reached, *witnesses)


def _may_overflow(part: Expr) -> bool:
    """Return True if the checker does not exclude that a number is too large."""
    return getattr(part, "may_overflow", False)


def _is_partial(part: Expr) -> bool:
    """Return True if an operation may be too large, or has no value for some numbers."""
    return _may_overflow(part) or is_partial(getattr(part, "operator", getattr(part, "function", "")))


def _is_reached(end: End, value: int | float) -> bool:
    """Return True if a value is at an end, or so near that rounding explains the difference."""
    return isinstance(end, Fraction) and abs(end - to_fraction(value)) <= _TOLERANCE * max(Fraction(1), abs(end))
