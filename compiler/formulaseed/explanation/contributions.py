"""The counts of reviews behind a verdict in one sentence: those that are not zero, by what its number is without their reviews.

In: one restaurant's evaluation, the steps that lead to the verdict, and what each review is to those over reviews.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from formulaseed.errors import EvaluationError
from formulaseed.explanation.record import Evaluated
from formulaseed.ir import nodes
from formulaseed.ir.interpret import Evaluation, Observer, value_of
from formulaseed.language import typed
from formulaseed.language.operators import Fault
from formulaseed.language.typed import SymbolKind
from formulaseed.pages.values import format_value, is_number

_NAMED, _TRIED = 10, 60
"""So many counts are named, and so many are compared by their effects."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts among the steps that lead to a verdict, which are `leading`.

    `uses` are what each step uses.
    """

    found: Evaluated
    observer: Observer
    leading: Sequence[nodes.Step]
    uses: Mapping[str, Sequence[str]]
    hidden: Set[str]
    """The steps that the seed's author does not know by name."""

    def sentence(self, driver: str | None) -> str | None:
        """Return the counts with what `driver`, a number, is without their reviews, the most different first; None for one."""
        counts = self._counts()
        some = [name for name in counts if self.found.value_of(name)]
        if len(counts) < 2:
            return None
        if not some:
            return f"All {len(counts)} counts are 0."
        lead, without = "Counts", dict[str, str]()
        before = None if driver is None else self.found.value_of(driver)
        if driver is not None and is_number(before) and 1 < len(some) <= _TRIED:
            after = {name: self._value_without(driver, name) for name in some}
            some.sort(key=lambda name: -abs(after[name] - before))
            lead += f", and what {driver} is without their reviews"
            without = {name: f" ({format_value(number)})" for name, number in after.items() if math.isfinite(number)}
        named = ", ".join(
            f"{name} {format_value(self.found.value_of(name))}{without.get(name, '')}" for name in some[:_NAMED]
        )
        more = f" and {len(some) - _NAMED} more" if len(some) > _NAMED else ""
        return f"{lead}: {named}{more}{'; all others are 0' if len(some) < len(counts) else ''}."

    def _counts(self) -> list[str]:
        """The steps that count certain reviews, and the sums of such, in the seed's order."""
        found: list[str] = []
        for step in self._steps():
            operation, aggregate = step.operation, step.aggregate
            if aggregate is not None:
                is_count = aggregate.entry.counts and aggregate.where is not None
            else:
                is_count = isinstance(operation, nodes.Formula) and _is_sum(operation.expression, found)
            if is_count and step.name not in self.hidden:
                found.append(step.name)
        return found

    def _steps(self) -> list[nodes.Step]:
        """The steps in the seed's order, each behind those that it uses."""
        names = {step.name for step in self.leading}
        return [step for name, step in self.found.steps.items() if name in names]

    def _value_without(self, driver: str, count: str) -> float:
        """Return `driver` as if the reviews counted by the step `count` did not exist; infinity if it then has no value."""
        gone = self._places(count)
        terms = ((each, self.observer.terms[each]) for step in self._steps() if (each := step.aggregate) is not None)
        evaluation = Evaluation(dict(self.found.evaluation.shared), [])
        try:
            for aggregate, known in terms:
                evaluation.aggregates[aggregate] = value_of(aggregate, (known[p] for p in known if p not in gone))
            for step in self._steps():
                evaluation.step(step)
        except (EvaluationError, Fault):
            return math.inf
        after = evaluation.results.get(driver, self.found.value_of(driver))
        return after if is_number(after) else math.inf

    def _places(self, name: str) -> set[int]:
        """Return the positions of the reviews that a count counts, or those that it adds up."""
        aggregate = self.found.steps[name].aggregate
        if aggregate is not None:
            return {*self.observer.terms[aggregate]}
        return {place for used in self.uses[name] for place in self._places(used)}


def _is_sum(expression: typed.Expr, names: Sequence[str]) -> bool:
    """Whether an expression adds up some of these steps."""
    if isinstance(expression, typed.Binary):
        return expression.operator == "+" and all(_is_sum(each, names) for each in (expression.left, expression.right))
    if not isinstance(expression, typed.Ref):
        return False
    return expression.symbol.kind is SymbolKind.STEP and expression.symbol.name in names
