"""Measure how far a restaurant is from a rule of a step, so that a search can climb towards the rule."""

from __future__ import annotations

from collections.abc import Mapping

from formulaseed.ir import nodes
from formulaseed.ir.interpret import Evaluation
from formulaseed.language import typed
from formulaseed.language.operators import COMPARE, NEGATED, Fault
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.proofs.search import Candidate, Outcome

_UNKNOWN = 0.5
"""The distance to a condition that cannot be measured."""


class RuleDistance:
    """The distances of restaurants to the rules of one program's steps. `parameters` are those that are not the defaults."""

    def __init__(self, program: nodes.Program, parameters: Mapping[str, Value]) -> None:
        self._program = program
        self._steps = {step.name: step for step in program.steps}
        self._parameters = {
            Symbol(SymbolKind.PARAMETER, known.name): parameters.get(known.name, known.default)
            for known in program.parameters
        }

    def measure_value(self, name: str, value: Value, candidate: Candidate, outcome: Outcome) -> float:
        """Return the distance to the nearest rule of the step `name` with this value: 0 if it applies, else at most about 1."""
        rules = self._steps[name].rules()
        places = [place for place, (_, then) in enumerate(rules) if then == value and type(then) is type(value)]
        if outcome.failure is not None or not places:
            return 1.0 if outcome.values.get(name) != value else 0.0
        return min(self.measure_rule(name, place, candidate, outcome) for place in places)

    def measure_rule(self, name: str, place: int, candidate: Candidate, outcome: Outcome) -> float:
        """Return the distance to the rule at `place` of the step `name`: 0 if it applies; 1 for a restaurant that fails."""
        if outcome.failure is not None:
            return 1.0
        shared = {**self._parameters, **dict(candidate.shared)}
        shared |= {Symbol(SymbolKind.STEP, step): value for step, value in outcome.values.items()}
        evaluation = Evaluation(shared, [])
        rules = self._steps[name].rules()
        conditions = [(condition, False) for condition, _ in rules[:place]] + [(rules[place][0], True)]
        parts = [_measure(condition, truth, evaluation) for condition, truth in conditions if condition is not None]
        return sum(parts) / max(1, len(parts))


def _measure(condition: Expr, truth: bool, evaluation: Evaluation) -> float:
    """Return the distance to a restaurant for which a condition has this truth: from 0, if it has, to 1."""
    if any(isinstance(part, typed.Aggregate) for part in typed.walk(condition)):
        return _UNKNOWN
    match condition:
        case typed.Not(operand):
            return _measure(operand, not truth, evaluation)
        case typed.Logical(word, operands):
            parts = [_measure(operand, truth, evaluation) for operand in operands]
            return sum(parts) / len(parts) if (word == "and") is truth else min(parts)
    try:
        if bool(evaluation.evaluate(condition, {})) is truth:
            return 0.0
        if isinstance(condition, typed.Comparison) and len(condition.operators) == 1:
            values = [evaluation.evaluate(side, {}) for side in (condition.first, condition.rest[0])]
            return _measure_comparison(condition.operators[0] if truth else NEGATED[condition.operators[0]], *values)
    except (Fault, TypeError, KeyError):
        return 1.0
    return 1.0


def _measure_comparison(operator: str, left: object, right: object) -> float:
    """Return the distance of two values from a comparison that does not hold: from above 0 to 1; 1 unless both are numbers."""
    if not isinstance(left, int | float) or not isinstance(right, int | float) or COMPARE.get(operator) is None:
        return 1.0
    gap = abs(left - right)
    return 0.01 + 0.99 * gap / (gap + 1)
