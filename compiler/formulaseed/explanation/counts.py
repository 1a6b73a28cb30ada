"""The counts of reviews behind a verdict in one sentence: those that are not zero, by what its number is without their reviews.

In: one restaurant's evaluation, the steps that lead to the verdict, and what each review is to those over reviews.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from formulaseed.errors import EvaluationError
from formulaseed.explanation.evaluated import Evaluated
from formulaseed.explanation.values import is_number, shown
from formulaseed.ir import nodes
from formulaseed.ir.interpret import Evaluation
from formulaseed.language import typed
from formulaseed.language.typed import SymbolKind
from formulaseed.language.types import Value

_NAMED, _TRIED = 10, 60
"""So many counts are named, and so many are compared by their effects."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts among the steps that lead to a verdict, which are `leading`.

    `uses` are what each step uses, `terms` what the reviews that count are to a step over reviews, by their places.
    """

    found: Evaluated
    leading: Sequence[nodes.Step]
    uses: Mapping[str, Sequence[str]]
    terms: Mapping[str, Mapping[int, Any]]

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
            after = {name: self._without_reviews_of(name, driver) for name in some}
            some.sort(key=lambda name: -abs(after[name] - before))
            lead += f", and what {driver} is without their reviews"
            without = {name: f" ({shown(number)})" for name, number in after.items() if math.isfinite(number)}
        named = ", ".join(f"{name} {shown(self.found.value_of(name))}{without.get(name, '')}" for name in some[:_NAMED])
        more = f" and {len(some) - _NAMED} more" if len(some) > _NAMED else ""
        return f"{lead}: {named}{more}{'; all others are 0' if len(some) < len(counts) else ''}."

    def _counts(self) -> list[str]:
        """The steps that count certain reviews, and the sums of such, in the seed's order."""
        found: list[str] = []
        for step in self._steps():
            if step.part_of:
                continue
            operation = step.operation
            if isinstance(operation, nodes.Aggregate):
                is_count = operation.function == "count" and operation.where is not None
            else:
                is_count = isinstance(operation, nodes.Formula) and _is_sum(operation.expression, found)
            if is_count:
                found.append(step.name)
        return found

    def _steps(self) -> list[nodes.Step]:
        """The steps in the seed's order, each behind those that it uses."""
        names = {step.name for step in self.leading}
        return [step for name, step in self.found.steps.items() if name in names]

    def _without_reviews_of(self, name: str, driver: str) -> float:
        """What a number is without the reviews that a count counts; infinity where it has no value then."""
        evaluation = Evaluation(dict(self.found.evaluation.shared), [])
        gone = self._places(name)
        moved: set[str] = set()
        for step in self._steps():
            operation = step.operation
            try:
                if isinstance(operation, nodes.Aggregate):
                    if gone.isdisjoint(self.terms[step.name]):
                        continue
                    evaluation.set(step, self._without(step.name, operation, gone))
                elif moved.isdisjoint(self.uses[step.name]):
                    continue
                else:
                    evaluation.step(step)
            except EvaluationError:
                return math.inf
            moved.add(step.name)
        after = evaluation.results.get(driver, self.found.value_of(driver))
        return after if is_number(after) else math.inf

    def _places(self, name: str) -> set[int]:
        """The places of the reviews that a count counts, or those that it adds up."""
        if name in self.terms:
            return {*self.terms[name]}
        return {place for used in self.uses[name] for place in self._places(used)}

    def _without(self, name: str, operation: nodes.Aggregate, gone: set[int]) -> Value:
        """What a step over reviews is without some of them."""
        values = [value for place, value in self.terms[name].items() if place not in gone]
        if operation.expression is None:
            return len(values)
        if operation.function == "sum":
            total: int | float = sum(values)
            return total
        best: Value = (max if operation.function == "max" else min)(values, default=operation.default)
        return best


def _is_sum(expression: typed.Expr, names: Sequence[str]) -> bool:
    """Whether an expression adds up some of these steps."""
    if isinstance(expression, typed.Binary):
        return expression.operator == "+" and all(_is_sum(each, names) for each in (expression.left, expression.right))
    if not isinstance(expression, typed.Ref):
        return False
    return expression.symbol.kind is SymbolKind.STEP and expression.symbol.name in names
