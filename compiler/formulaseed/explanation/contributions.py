"""Ranks the counts of reviews behind a verdict by their contribution: what the verdict's number is without their reviews."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from formulaseed.errors import EvaluationError
from formulaseed.explanation.record import EvaluationRecord
from formulaseed.ir import nodes
from formulaseed.ir.interpret import Evaluation, Observer, value_of
from formulaseed.language import typed
from formulaseed.language.operators import Fault
from formulaseed.language.typed import SymbolKind
from formulaseed.pages.values import format_value, is_number

_MAX_NAMED_COUNTS = 10
_MAX_COMPARED_COUNTS = 60
"""At most so many counts are compared by their contributions."""


@dataclass(frozen=True, slots=True)
class Contributions:
    """The counts among the `reached` steps that a verdict depends on.

    `uses` has the steps that each step names, `hidden` the steps that the seed's author does not know by name.
    """

    record: EvaluationRecord
    observer: Observer
    reached: Sequence[nodes.Step]
    uses: Mapping[str, Sequence[str]]
    hidden: Set[str]

    def describe(self, driver: str | None) -> str | None:
        """Return the counts with the value of the number `driver` without their reviews, the most different first.

        Returns None if there are fewer than two counts.
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
        for name in nonzero[:_MAX_NAMED_COUNTS]:
            value = without.get(name, math.inf)
            note = f" ({format_value(value)})" if math.isfinite(value) else ""
            parts.append(f"{name} {format_value(self.record.value_of(name))}{note}")
        more = f" and {len(nonzero) - _MAX_NAMED_COUNTS} more" if len(nonzero) > _MAX_NAMED_COUNTS else ""
        rest = "; all others are 0" if len(nonzero) < len(counts) else ""
        return f"{lead}: {', '.join(parts)}{more}{rest}."

    def _compute_values_without(self, driver: str | None, counts: Sequence[str]) -> dict[str, float]:
        """Return `driver` without the reviews of each count; empty if it is no number, or the comparison says nothing."""
        if driver is None or not is_number(self.record.value_of(driver)) or not 1 < len(counts) <= _MAX_COMPARED_COUNTS:
            return {}
        return {name: self._compute_value_without(driver, name) for name in counts}

    def _find_counts(self) -> list[str]:
        """Return the steps that count certain reviews, and the sums of such steps, in the seed's order."""
        counts: list[str] = []
        for step in self._sort_steps():
            operation, aggregate = step.operation, step.aggregate
            if aggregate is not None:
                is_count = aggregate.entry.counts and aggregate.where is not None
            else:
                is_count = isinstance(operation, nodes.Formula) and _is_sum(operation.expression, counts)
            if is_count and step.name not in self.hidden:
                counts.append(step.name)
        return counts

    def _sort_steps(self) -> list[nodes.Step]:
        """Return the reached steps in the seed's order, each behind those that it uses."""
        names = {step.name for step in self.reached}
        return [step for name, step in self.record.steps.items() if name in names]

    def _compute_value_without(self, driver: str, count: str) -> float:
        """Return `driver` as if the reviews counted by the step `count` did not exist; infinity if it then has no value."""
        removed = self._find_places(count)
        evaluation = Evaluation(dict(self.record.evaluation.shared), [])
        try:
            for step in self._sort_steps():
                if step.aggregate is not None:
                    terms = self.observer.terms[step.aggregate]
                    remaining = (terms[place] for place in terms if place not in removed)
                    evaluation.aggregates[step.aggregate] = value_of(step.aggregate, remaining)
            for step in self._sort_steps():
                evaluation.step(step)
        except (EvaluationError, Fault):
            return math.inf
        value = evaluation.results.get(driver, self.record.value_of(driver))
        return value if is_number(value) else math.inf

    def _find_places(self, name: str) -> set[int]:
        """Return the positions of the reviews that a count counts, or those that it adds up."""
        aggregate = self.record.steps[name].aggregate
        if aggregate is not None:
            return {*self.observer.terms[aggregate]}
        return {place for used in self.uses[name] for place in self._find_places(used)}


def _is_sum(expression: typed.Expr, names: Sequence[str]) -> bool:
    """Whether an expression adds up some of these steps."""
    if isinstance(expression, typed.Binary):
        sides = (expression.left, expression.right)
        return expression.operator == "+" and all(_is_sum(side, names) for side in sides)
    if not isinstance(expression, typed.Ref):
        return False
    return expression.symbol.kind is SymbolKind.STEP and expression.symbol.name in names
