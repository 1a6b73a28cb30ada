"""Rank the counts of reviews behind a verdict by their contribution.

The contribution of a count is how far the number behind the verdict changes without the reviews that it counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from formulaseed.errors import EvaluationError
from formulaseed.explanation.record import EvaluationRecord
from formulaseed.ir import nodes
from formulaseed.ir.interpret import Evaluation, Observer, compute_aggregate
from formulaseed.language import typed
from formulaseed.language.operators import Fault
from formulaseed.language.typed import SymbolKind
from formulaseed.pages.values import format_value, is_number

_MAX_NAMED_COUNTS = 10
_MAX_COMPARED_COUNTS = 60  # with more counts, contributions are not computed


@dataclass(frozen=True, slots=True)
class Contributions:
    """The contributions of the counts among the `reached` steps, on which a verdict depends.

    `uses` has the steps that each step names, `hidden` the steps that the compiler made, which are not described.
    """

    record: EvaluationRecord
    observer: Observer
    reached: Sequence[nodes.Step]
    uses: Mapping[str, Sequence[str]]
    hidden: Set[str]

    def describe(self, driver: str | None) -> str | None:
        """Return a sentence with the counts, and for those that are not 0 the value of `driver` without their reviews.

        The counts that change that value most come first, counts of 0 last; without a numeric `driver` they keep the
        seed's order and have no such value. At most `_MAX_NAMED_COUNTS` are named. Returns None if there are fewer than
        two counts.
        """
        counts = self._find_counts()
        nonzero = [name for name in counts if self.record.value_of(name)]
        if len(counts) < 2:
            return None
        if not nonzero:
            return f"All {len(counts)} counts are 0."
        without = self._compute_values_without(driver, nonzero)
        lead = "Counts"
        if without:
            lead += f", and what {driver} is without their reviews"
            before = self.record.value_of(driver or "")
            assert is_number(before)  # else there are no values without
            nonzero.sort(key=lambda name: -abs(without[name] - before))
        parts = []
        zeros = [name for name in counts if name not in nonzero]
        for name in [*nonzero, *zeros][:_MAX_NAMED_COUNTS]:
            part = f"{name} {format_value(self.record.value_of(name))}"
            value = without.get(name, math.inf)
            if math.isfinite(value):
                part += f" ({format_value(value)})"
            parts.append(part)
        text = f"{lead}: {', '.join(parts)}"
        if len(counts) > _MAX_NAMED_COUNTS:
            text += f" and {len(counts) - _MAX_NAMED_COUNTS} more"
        return f"{text}."

    def _compute_values_without(self, driver: str | None, counts: Sequence[str]) -> dict[str, float]:
        """Return the value of `driver` without the reviews of each count, by name; infinity if it has no value.

        Empty if `driver` is None or not a number, if there is only one count, or if there are over
        `_MAX_COMPARED_COUNTS`.
        """
        if driver is None or not is_number(self.record.value_of(driver)) or not 1 < len(counts) <= _MAX_COMPARED_COUNTS:
            return {}
        return {name: self._compute_value_without(driver, name) for name in counts}

    def _find_counts(self) -> list[str]:
        """Return the names of steps that count reviews under a condition, and of sums of these, in the seed's order.

        Hidden steps, and aggregates that count all reviews, are left out.
        """
        counts: list[str] = []
        for step in self._sort_steps():
            operation = step.operation
            aggregate = step.aggregate
            if aggregate is not None:
                is_count = aggregate.entry.counts and aggregate.where is not None
            else:
                is_count = isinstance(operation, nodes.Formula) and _is_sum(operation.expression, counts)
            if is_count and step.name not in self.hidden:
                counts.append(step.name)
        return counts

    def _sort_steps(self) -> list[nodes.Step]:
        """Return the reached steps in the seed's order, each after those that it uses."""
        names = {step.name for step in self.reached}
        return [step for name, step in self.record.steps.items() if name in names]

    def _compute_value_without(self, driver: str, count: str) -> float:
        """Return `driver` as if the reviews that `count` counts did not exist; infinity if it then is no number.

        Infinity, too, if the evaluation then fails. Only the reached steps are evaluated again, and not in the
        record.
        """
        removed = self._find_places(count)
        evaluation = Evaluation(dict(self.record.evaluation.shared), [])
        try:
            for step in self._sort_steps():
                if step.aggregate is not None:
                    terms = self.observer.terms[step.aggregate]
                    remaining = (terms[place] for place in terms if place not in removed)
                    evaluation.aggregates[step.aggregate] = compute_aggregate(step.aggregate, remaining)
            for step in self._sort_steps():
                evaluation.evaluate_step(step)
        except (EvaluationError, Fault):
            return math.inf
        value = evaluation.results.get(driver, self.record.value_of(driver))
        return value if is_number(value) else math.inf

    def _find_places(self, name: str) -> set[int]:
        """Return the positions of the reviews that a count counts or, for a sum, any of its counts."""
        aggregate = self.record.steps[name].aggregate
        if aggregate is not None:
            return {*self.observer.terms[aggregate]}
        return {place for used in self.uses[name] for place in self._find_places(used)}


def _is_sum(expression: typed.Expr, names: Sequence[str]) -> bool:
    """Return True if an expression is one of the steps `names`, or adds up such steps with `+` and nothing else."""
    if isinstance(expression, typed.Binary):
        sides = (expression.left, expression.right)
        return expression.operator == "+" and all(_is_sum(side, names) for side in sides)
    if not isinstance(expression, typed.Ref):
        return False
    return expression.symbol.kind is SymbolKind.STEP and expression.symbol.name in names
