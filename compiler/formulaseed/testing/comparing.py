"""Evaluate restaurants for tests to compare: outcomes, sums of floats in two orders, a larger value of one step."""

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
from formulaseed.testing.loaded import loaded_seed
from formulaseed.testing.values import Values

_ULP = 2.0**-52
_TOLERANCE = 1e-9
"""A value that moves by less, absolutely or relatively, has not moved: formulas of floats are rounded."""


def outcome(evaluate: Callable[..., Mapping[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Return the values by name or, under `error`, the step that has none and the kind of its failure."""
    try:
        return dict(evaluate(*arguments))
    except EvaluationError as error:
        return {"error": {"step": error.step, "kind": error.kind}}


def rounding(seed: SeedLike | FormulaSeed, restaurant: Restaurant, name: str) -> float:
    """Return by how much a sum of floats may differ between two orders of the rows: each addition rounds."""
    program = loaded_seed(seed).program
    evaluation = prepare_evaluation(program, *restaurant)
    for step in program.steps:
        if step.name == name and step.aggregate is not None:
            sizes = [abs(float(term)) for _, term in evaluation.iter_terms(step.aggregate)]
            return len(sizes) * _ULP * sum(sizes)
        evaluation.evaluate_step(step)
    raise KeyError(name)


class Change(NamedTuple):
    """Every step's value before and after one value was raised; both empty if a step has no value."""

    before: Mapping[str, Value]
    after: Mapping[str, Value]

    def falls(self, name: str) -> bool:
        """Return True if the step is less than before, by more than rounding."""
        return self._moves(name, -1)

    def rises(self, name: str) -> bool:
        """Return True if the step is more than before, by more than rounding."""
        return self._moves(name, 1)

    def _moves(self, name: str, sign: int) -> bool:
        before = self.before.get(name)
        after = self.after.get(name)
        if not isinstance(before, int | float) or not isinstance(after, int | float):
            return False
        return (after - before) * sign > 0 and not math.isclose(after, before, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def growth(seed: SeedLike | FormulaSeed, name: str) -> st.SearchStrategy[Any]:
    """Return amounts by which `raised` may raise a step: often numbers of the seed, so that thresholds are passed."""
    program = loaded_seed(seed).program
    return Values(program, wild=False).growth(_step(program, name).ty)


def raised(seed: SeedLike | FormulaSeed, restaurant: Restaurant, name: str, by: int | float) -> Change:
    """Evaluate a restaurant twice: as it is, and with one step's value raised, at most to the end of its range.

    The second time the steps that use it are computed from the raised value, and all others are what they were.
    """
    program = loaded_seed(seed).program
    step = _step(program, name)
    try:
        before = interpret(program, *restaurant)
        value = before[name]
        if not isinstance(value, int | float):
            return Change({}, {})
        most = step.range.high if step.range is not None else math.inf
        larger: int | float = max(min(value + by, most), value)
        if step.ty.base is Base.INTEGER:
            larger = int(larger)
        return Change(before, interpret(program, *restaurant, fixed={name: larger}))
    except EvaluationError:
        return Change({}, {})


def _step(program: nodes.Program, name: str) -> nodes.Step:
    return next(step for step in program.steps if step.name == name)
