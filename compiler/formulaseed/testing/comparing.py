"""Evaluates restaurants for tests that compare: outcomes, sums of floats in two orders, a larger value of one step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

from formulaseed.documents import FormulaSeed, SeedLike
from formulaseed.errors import EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import interpret, prepare_evaluation
from formulaseed.language.types import Base, Value
from formulaseed.testing.inputs import Restaurant
from formulaseed.testing.loaded import load_cached_seed
from formulaseed.testing.values import Values

_ULP = 2.0**-52
_TOLERANCE = 1e-9
"""The absolute or relative difference of two values up to which they are equal, since formulas of floats are rounded."""


def try_evaluate(evaluate: Callable[..., Mapping[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Call `evaluate`, and return a copy of its values by name.

    If it raises `EvaluationError`, return the key `error` with its step and kind instead; other exceptions are raised.
    """
    try:
        return dict(evaluate(*arguments))
    except EvaluationError as error:
        return {"error": {"step": error.step, "kind": error.kind}}


def bound_rounding(seed: SeedLike | FormulaSeed, restaurant: Restaurant, name: str) -> float:
    """Return how much the sum of floats in the step `name` may differ between two orders of the rows, at most.

    Raises `KeyError` if no step of that name has an aggregate, and `EvaluationError` if an earlier step fails.
    """
    program = load_cached_seed(seed).program
    evaluation = prepare_evaluation(program, *restaurant)
    for step in program.steps:
        if step.name == name and step.aggregate is not None:
            magnitudes = [abs(float(term)) for _, term in evaluation.iter_terms(step.aggregate)]
            return len(magnitudes) * _ULP * sum(magnitudes)  # each addition rounds
        evaluation.evaluate_step(step)
    raise KeyError(name)


class Perturbation(NamedTuple):
    """Every step's value before and after one step's value was raised; both are empty if a step has no value."""

    before: Mapping[str, Value]
    after: Mapping[str, Value]

    def falls(self, name: str) -> bool:
        """Return True if the step's value is less than before, by more than rounding explains."""
        return self._moves(name, -1)

    def rises(self, name: str) -> bool:
        """Return True if the step's value is greater than before, by more than rounding explains."""
        return self._moves(name, 1)

    def _moves(self, name: str, sign: int) -> bool:
        """Return whether the step's value moves up for a `sign` of 1, down for -1, by more than rounding explains.

        Returns False if a value is missing or not a number.
        """
        before = self.before.get(name)
        after = self.after.get(name)
        if not isinstance(before, int | float) or not isinstance(after, int | float):
            return False
        return (after - before) * sign > 0 and not math.isclose(after, before, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def growth(seed: SeedLike | FormulaSeed, name: str) -> st.SearchStrategy[Any]:
    """Return a strategy for amounts by which `raise_step` may raise the step `name`; many are numbers of the seed."""
    program = load_cached_seed(seed).program
    return Values(program, wild=False).growth(_step(program, name).ty)


def raise_step(seed: SeedLike | FormulaSeed, restaurant: Restaurant, name: str, amount: int | float) -> Perturbation:
    """Evaluate a restaurant twice: as it is, and with the step `name` raised by `amount`, at most to its maximum.

    In the second evaluation the steps that use the raised step are computed from its new value. The result is empty if
    an evaluation fails or the value is not a number.
    """
    program = load_cached_seed(seed).program
    step = _step(program, name)
    try:
        before = interpret(program, *restaurant)
        value = before[name]
        if not isinstance(value, int | float):
            return Perturbation({}, {})
        maximum = step.range.high if step.range is not None else math.inf
        raised: int | float = max(min(value + amount, maximum), value)
        if step.ty.base is Base.INTEGER:
            raised = int(raised)
        return Perturbation(before, interpret(program, *restaurant, fixed={name: raised}))
    except EvaluationError:
        return Perturbation({}, {})


def _step(program: nodes.Program, name: str) -> nodes.Step:
    """Return the step called `name`. Raises `StopIteration` if there is none."""
    return next(step for step in program.steps if step.name == name)
