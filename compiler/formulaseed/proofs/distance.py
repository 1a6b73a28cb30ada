"""Measure how far a restaurant is from a rule of a step, so that a search can climb towards the rule."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from formulaseed.ir.interpret import Evaluation
from formulaseed.language import typed
from formulaseed.language.operators import Fault
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.proofs.runner import Candidate, Outcome, Runner

_UNKNOWN = 0.5
"""The distance to a condition that cannot be measured."""


def measure_rule(
    runner: Runner, name: str, place: int | None, value: Value, candidate: Candidate, outcome: Outcome
) -> float:
    """Return the distance to the rule at `place` of the step `name`, or to its nearest rule with a value if `place` is None.

    The distance is 0 if the rule applies, else at most about 1.
    """
    if outcome.failure is not None:
        return 1.0
    rules = next(step for step in runner.program.steps if step.name == name).choices()
    places = [number for number, (_, then) in enumerate(rules) if then == value and type(then) is type(value)]
    # the value of the step shows whether the rule applied, unless another rule has the same value
    is_decided = place is None or len(places) == 1
    if is_decided and outcome.values[name] == value:
        return 0.0
    evaluation = Evaluation(_read_values(runner, candidate, outcome), [])
    tried = places if place is None else [place]
    nearest = min((_measure_path(rules, number, evaluation) for number in tried), default=1.0)
    return max(0.01, nearest) if is_decided else nearest


def _read_values(runner: Runner, candidate: Candidate, outcome: Outcome) -> dict[Symbol, Value]:
    """Return the fields of a restaurant, the parameters and the values of steps, by symbol."""
    context, parameters = runner.write_shared(candidate)
    parameters = {known.name: known.default for known in runner.program.parameters} | parameters
    sections = {SymbolKind.CONTEXT: context, SymbolKind.PARAMETER: parameters, SymbolKind.STEP: outcome.values}
    return {Symbol(kind, name): value for kind, section in sections.items() for name, value in section.items()}


def _measure_path(rules: Sequence[tuple[Expr | None, Value]], place: int, evaluation: Evaluation) -> float:
    """Return the mean distance from the condition of a rule, and from the opposite of those before it."""
    conditions = [(condition, number == place) for number, (condition, _) in enumerate(rules[: place + 1])]
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
    with suppress(Fault, TypeError, KeyError):
        if bool(evaluation.evaluate(condition, {})) is truth:
            return 0.0
        if isinstance(condition, typed.Comparison) and len(condition.operators) == 1:
            left, right = (evaluation.evaluate(side, {}) for side in (condition.first, condition.rest[0]))
            if isinstance(left, int | float) and isinstance(right, int | float):
                gap = abs(left - right)
                return 0.01 + 0.99 * gap / (gap + 1)
    return 1.0
