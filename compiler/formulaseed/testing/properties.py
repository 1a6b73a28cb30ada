"""Tests a module with Hypothesis: it agrees with the reference evaluator, and has the properties that its seed has.

In: a checked seed, and the evaluator of its module. Out: functions that raise `Failed` with the smallest restaurant found.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from formulaseed.documents import FormulaSeed
from formulaseed.errors import EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import interpret
from formulaseed.language import typed
from formulaseed.language.types import Base, Value
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.testing.comparing import growth, outcome, raised, rounding
from formulaseed.testing.inputs import Restaurant, restaurants
from formulaseed.testing.naming import PROPERTIES, Failed, claim_name

MAX_PERMUTED_ROWS = 8


def property_tests(seed: FormulaSeed, evaluator: Evaluator) -> dict[str, Callable[[], None]]:
    """Return the tests of a module by name. Each raises `Failed` if it finds a restaurant that refutes its property."""
    tests: dict[str, Callable[[], None]] = {}
    for name, test in zip(PROPERTIES, (_test_agreement, _test_bounds, _test_order), strict=True):
        tests[name] = partial(test, seed, evaluator)
    for claim in seed.program.properties:
        tests[claim_name(claim)] = partial(_test_claim, seed, claim)
    return tests


def _for_examples(*strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Return the decorator of a function that Hypothesis calls with examples of the strategies."""
    # `Phase.explain` comments on arguments, which our messages do not print.
    phases = [phase for phase in settings().phases if phase is not Phase.explain]
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    profile = settings(deadline=None, phases=phases, suppress_health_check=slow)
    return lambda function: profile(given(*strategies)(function))


def _failed(message: str, restaurant: Restaurant, **values: object) -> Failed:
    """Return a failure that shows a restaurant and what it leads to, a line of JSON for each part."""
    parts = {**restaurant._asdict(), **values}
    lines = [f"  {name}: {json.dumps(part, ensure_ascii=False)}" for name, part in parts.items()]
    return Failed("\n".join([message, *lines]))


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the names whose values differ, or that only one of the two has."""
    return [name for name in {**after, **before} if before.get(name, ...) != after.get(name, ...)]


def _only(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _test_agreement(seed: FormulaSeed, evaluator: Evaluator) -> None:
    """Every step has the value that the reference evaluator computes, or fails as there, also on implausible data."""

    @_for_examples(restaurants(seed, wild=True))
    def run(restaurant: Restaurant) -> None:
        actual = outcome(evaluator.trace, *restaurant)
        expected = outcome(interpret, seed.program, *restaurant)
        if names := _changed(actual, expected):
            values = {"module": _only(actual, names), "reference": _only(expected, names)}
            raise _failed("the module and the reference evaluator disagree", restaurant, **values)

    run()


# --- bounds


def _test_bounds(seed: FormulaSeed, evaluator: Evaluator) -> None:
    """Every output is what the checker has proved it to be: within bounds, or one of its values."""
    steps = {step.name: step for step in seed.program.steps}

    @_for_examples(restaurants(seed))
    def run(restaurant: Restaurant) -> None:
        try:
            trace = evaluator.trace(*restaurant)
            outputs = evaluator.evaluate(*restaurant)
        except EvaluationError:
            return
        if names := _changed(outputs, _only(trace, seed.program.output)):
            raise _failed("`evaluate` and `trace` disagree", restaurant, evaluate=outputs, trace=_only(trace, names))
        for name, value in outputs.items():
            if not _is_within_bounds(steps[name], value):
                message = f"{name} is {value!r}, and it is always {_bounds_text(steps[name])}"
                raise _failed(message, restaurant, steps=trace)

    run()


def _is_within_bounds(step: nodes.Step, value: Value) -> bool:
    """Return True if the value is one that the checker knows the step to have."""
    if value is None:
        return step.ty.nullable
    if step.ty.values is not None:
        return value in step.ty.values
    if not step.ty.is_numeric:
        return isinstance(value, bool if step.ty.base is Base.BOOLEAN else str)
    types = (int,) if step.ty.base is Base.INTEGER else (int, float)
    if isinstance(value, bool) or not isinstance(value, types) or not math.isfinite(value):
        return False
    return step.range is None or step.range.low <= value <= step.range.high


def _bounds_text(step: nodes.Step) -> str:
    if step.ty.values is not None:
        return f"one of {', '.join(map(repr, step.ty.values))}"
    bounds = ""
    if step.ty.is_numeric and step.range is not None:
        bounds = f" from {step.range.low:g} to {step.range.high:g}"
    return f"{step.ty}{bounds}"


# --- the order of the rows


class _Rounding(NamedTuple):
    """The steps of a seed by what the order of the rows may do to them, since each addition of floats rounds."""

    sums: tuple[str, ...]
    """The sums of floats that depend on no formula with a sum inside."""
    exact: frozenset[str]
    """The steps that depend on no sum of floats: they are the same in every order."""
    is_inside_formulas: bool
    """Whether some formula contains a sum of floats, which no step has as its value."""


def _test_order(seed: FormulaSeed, evaluator: Evaluator) -> None:
    """No step depends on the order of the rows, but for the rounding of sums of floats and what that changes."""
    kinds = _rounding_of(seed.program)

    @_for_examples(restaurants(seed), st.permutations(range(MAX_PERMUTED_ROWS)))
    def run(restaurant: Restaurant, order: list[int]) -> None:
        permuted = restaurant._replace(rows=[restaurant.rows[n] for n in order if n < len(restaurant.rows)])
        try:
            before: dict[str, Any] = evaluator.trace(*restaurant)
            after: dict[str, Any] = evaluator.trace(*permuted)
        except EvaluationError:
            return
        changed = _changed(before, after)
        moved_sums = [name for name in kinds.sums if name in changed]
        # If a sum moves, what it changes is not compared: a verdict may be on either side of its threshold.
        exact = kinds.exact if moved_sums or kinds.is_inside_formulas else changed
        wrong = [name for name in changed if name in exact]
        for name in moved_sums[:1]:
            if not math.isclose(before[name], after[name], rel_tol=0, abs_tol=rounding(seed, restaurant, name)):
                wrong.append(name)
        if wrong:
            values = {"before": _only(before, wrong), "after": _only(after, wrong)}
            raise _failed(
                f"{', '.join(wrong)}: not the same in another order", restaurant, order=permuted.rows, **values
            )

    run()


def _rounding_of(program: nodes.Program) -> _Rounding:
    steps = [step for step in program.steps if not isinstance(step.operation, nodes.Filter)]
    rounded = {step.name for step in steps if any(map(_may_round, step.aggregates()))}
    inside = {step.name for step in steps if step.aggregate is None and step.name in rounded}
    all_rounded, moved_by_formulas = _with_dependents(program, rounded), _with_dependents(program, inside)
    sums = tuple(step.name for step in steps if step.name in rounded - moved_by_formulas)
    return _Rounding(sums, frozenset(step.name for step in steps) - all_rounded, bool(inside))


def _with_dependents(program: nodes.Program, names: set[str]) -> set[str]:
    """Return the steps, and all that use one of them, directly or through others."""
    uses, dependents = program.uses(), set(names)
    for step in program.steps:
        if uses[step.name] & dependents:
            dependents.add(step.name)
    return dependents


def _may_round(aggregate: typed.Aggregate) -> bool:
    """Return True if the value may depend on the order of the rows."""
    operand = aggregate.operand
    return aggregate.entry.depends_on_order and operand is not None and operand.info.ty.base is Base.NUMBER


# --- declared properties


def _test_claim(seed: FormulaSeed, claim: nodes.Property) -> None:
    """The step does not fall, or rise, when the variable grows and only what uses it changes."""
    is_increasing = claim.direction == "increasing"

    @_for_examples(restaurants(seed), growth(seed, claim.variable))
    def run(restaurant: Restaurant, more: float) -> None:
        change = raised(seed, restaurant, claim.variable, more)
        if change.falls(claim.step) if is_increasing else change.rises(claim.step):
            moved = "falls" if is_increasing else "rises"
            names = _changed(change.before, change.after)
            values = {"before": _only(change.before, names), "after": _only(change.after, names)}
            raise _failed(f"{claim.step} {moved} when {claim.variable} grows by {more}", restaurant, **values)

    run()
