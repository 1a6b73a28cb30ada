"""Tests a module with Hypothesis: it agrees with the reference evaluator, and has the properties that its seed declares.

In: a checked seed, and the evaluator of its module. Out: functions that raise `Failed`, whose message shows the smallest
restaurant that refutes the property.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from formulaseed.documents import FormulaSeed, SeedLike
from formulaseed.errors import EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import interpret, prepare_evaluation
from formulaseed.ir.reviews import meets_condition
from formulaseed.language import typed
from formulaseed.language.types import Base, Value
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.testing.inputs import Restaurant, Values, restaurants
from formulaseed.testing.loaded import load_cached_seed
from formulaseed.testing.naming import PROPERTIES, Failed, claim_name

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


def add_review(seed: FormulaSeed, restaurant: Restaurant, row: Mapping[str, Any], review: typed.Expr) -> Perturbation:
    """Evaluate a restaurant twice: as it is, and with the review `row` before its own.

    The result is empty if an evaluation fails, or the review does not meet the condition `review`.
    """
    program = seed.program
    if not meets_condition(program, row, restaurant.context, restaurant.parameters, review):
        return Perturbation({}, {})
    more = restaurant._replace(rows=[{**row, "review_id": "one more"}, *restaurant.rows])
    try:
        return Perturbation(interpret(program, *restaurant), interpret(program, *more))
    except EvaluationError:
        return Perturbation({}, {})


def _step(program: nodes.Program, name: str) -> nodes.Step:
    """Return the step called `name`. Raises `StopIteration` if there is none."""
    return next(step for step in program.steps if step.name == name)


MAX_PERMUTED_ROWS = 8


def property_tests(seed: FormulaSeed, evaluator: Evaluator) -> dict[str, Callable[[], None]]:
    """Return the tests of a module by name, to be called without arguments.

    A test draws examples with Hypothesis, and raises `Failed` if some restaurant refutes its property. There are three
    for every module, and one for each property that the seed declares.
    """
    tests: dict[str, Callable[[], None]] = {}
    for name, test in zip(PROPERTIES, (_test_agreement, _test_bounds, _test_order), strict=True):
        tests[name] = partial(test, seed, evaluator)
    for claim in seed.program.properties:
        tests[claim_name(claim)] = partial(_test_claim, seed, claim)
    return tests


def for_examples(*strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Return a decorator that turns a function into one without arguments, which calls it with many drawn examples."""
    # `Phase.explain` comments on arguments, which our messages do not print
    phases = [phase for phase in settings().phases if phase is not Phase.explain]
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    profile = settings(deadline=None, phases=phases, suppress_health_check=slow)
    return lambda function: profile(given(*strategies)(function))


def _build_failure(message: str, restaurant: Restaurant, **values: object) -> Failed:
    """Return, not raise, a failure whose message has a line of JSON for each part of a restaurant and each of `values`."""
    parts = {**restaurant._asdict(), **values}
    lines = [f"  {name}: {json.dumps(part, ensure_ascii=False)}" for name, part in parts.items()]
    return Failed("\n".join([message, *lines]))


def _find_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the names whose values differ, or that only one of the two mappings has."""
    return [name for name in {**after, **before} if before.get(name, ...) != after.get(name, ...)]


def _select(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the values of those `names` that `values` has, in the order of `names`."""
    return {name: values[name] for name in names if name in values}


def _test_agreement(seed: FormulaSeed, evaluator: Evaluator) -> None:
    """Raise `Failed` unless every step has the value, or the failure, of the reference evaluator.

    Restaurants may have any data that the seed accepts.
    """

    @for_examples(restaurants(seed, wild=True))
    def run(restaurant: Restaurant) -> None:
        """Raise `Failed` if the module and the reference evaluator disagree about a restaurant."""
        actual = try_evaluate(evaluator.trace, *restaurant)
        expected = try_evaluate(interpret, seed.program, *restaurant)
        if names := _find_differences(actual, expected):
            values = {"module": _select(actual, names), "reference": _select(expected, names)}
            raise _build_failure("the module and the reference evaluator disagree", restaurant, **values)

    run()


# --- bounds


def _test_bounds(seed: FormulaSeed, evaluator: Evaluator) -> None:
    """Raise `Failed` if an output is outside the type, values or bounds that the checker has proved.

    It is also raised if `evaluate` and `trace` disagree. Restaurants whose evaluation fails are skipped.
    """
    steps = {step.name: step for step in seed.program.steps}

    @for_examples(restaurants(seed))
    def run(restaurant: Restaurant) -> None:
        """Raise `Failed` if an output of a restaurant is not as proved; ignore a restaurant that fails."""
        try:
            trace = evaluator.trace(*restaurant)
            outputs = evaluator.evaluate(*restaurant)
        except EvaluationError:
            return
        if names := _find_differences(outputs, _select(trace, seed.program.output)):
            raise _build_failure(
                "`evaluate` and `trace` disagree", restaurant, evaluate=outputs, trace=_select(trace, names)
            )
        for name, value in outputs.items():
            if not _is_within_bounds(steps[name], value):
                message = f"{name} is {value!r}, and it is always {_describe_bounds(steps[name])}"
                raise _build_failure(message, restaurant, steps=trace)

    run()


def _is_within_bounds(step: nodes.Step, value: Value) -> bool:
    """Return whether a value has the type, the values and the bounds that the checker has proved for the step.

    None counts if the step may be null. An infinite number or NaN never does.
    """
    if value is None:
        return step.ty.nullable
    if step.ty.values is not None:
        return value in step.ty.values
    if not step.ty.is_numeric:
        return isinstance(value, bool if step.ty.base is Base.BOOLEAN else str)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    if step.ty.base is Base.INTEGER and not isinstance(value, int):
        return False
    return step.range is None or step.range.low <= value <= step.range.high


def _describe_bounds(step: nodes.Step) -> str:
    """Return the type and the bounds of a step for a message."""
    if step.ty.values is not None:
        return f"one of {', '.join(map(repr, step.ty.values))}"
    bounds = ""
    if step.ty.is_numeric and step.range is not None:
        bounds = f" from {step.range.low:g} to {step.range.high:g}"
    return f"{step.ty}{bounds}"


# --- the order of the rows


class _OrderEffects(NamedTuple):
    """The steps of a seed that the order of the rows may change, since each addition of floats rounds."""

    sums: tuple[str, ...]
    """The sums of floats that depend on no formula which contains a sum."""
    exact: frozenset[str]
    """The steps that depend on no sum of floats, so that no order changes them."""
    is_inside_formulas: bool
    """True if some formula contains a sum of floats, whose value is not that of a step."""


def _test_order(seed: FormulaSeed, evaluator: Evaluator) -> None:
    """Raise `Failed` if the order of the rows changes a step by more than the rounding of sums of floats explains.

    Restaurants whose evaluation fails in either order are skipped, and so are steps that depend on a sum which moved.
    """
    effects = _find_order_effects(seed.program)

    @for_examples(restaurants(seed), st.permutations(range(MAX_PERMUTED_ROWS)))
    def run(restaurant: Restaurant, order: list[int]) -> None:
        """Raise `Failed` if the restaurant's rows in another `order` change a step by more than rounding."""
        permuted = restaurant._replace(rows=[restaurant.rows[n] for n in order if n < len(restaurant.rows)])
        try:
            before: dict[str, Any] = evaluator.trace(*restaurant)
            after: dict[str, Any] = evaluator.trace(*permuted)
        except EvaluationError:
            return
        changed = _find_differences(before, after)
        moved_sums = [name for name in effects.sums if name in changed]
        # if a sum moves, its dependents are not compared: a verdict may be on either side of its threshold
        exact = effects.exact if moved_sums or effects.is_inside_formulas else changed
        wrong = [name for name in changed if name in exact]
        for name in moved_sums[:1]:
            if not math.isclose(before[name], after[name], rel_tol=0, abs_tol=bound_rounding(seed, restaurant, name)):
                wrong.append(name)
        if wrong:
            values = {"order": permuted.rows, "before": _select(before, wrong), "after": _select(after, wrong)}
            raise _build_failure(f"{', '.join(wrong)}: not the same in another order", restaurant, **values)

    run()


def _find_order_effects(program: nodes.Program) -> _OrderEffects:
    """Find the steps that the order of the rows may change by rounding, and those that it cannot change."""
    steps = [step for step in program.steps if not isinstance(step.operation, nodes.Filter)]
    rounded = {step.name for step in steps if any(map(_may_round, step.aggregates()))}
    inside = {step.name for step in steps if step.aggregate is None and step.name in rounded}
    sums = rounded - _add_dependents(program, inside)
    exact = frozenset(step.name for step in steps) - _add_dependents(program, rounded)
    return _OrderEffects(tuple(step.name for step in steps if step.name in sums), exact, bool(inside))


def _add_dependents(program: nodes.Program, names: set[str]) -> set[str]:
    """Return a copy of `names` with all steps that use one of them, directly or through other steps."""
    uses = program.uses()
    dependents = set(names)
    for step in program.steps:
        if uses[step.name] & dependents:
            dependents.add(step.name)
    return dependents


def _may_round(aggregate: typed.Aggregate) -> bool:
    """Return whether the aggregate's value may depend on the order of the rows, since it adds up floats."""
    operand = aggregate.operand
    return aggregate.entry.depends_on_order and operand is not None and operand.info.ty.base is Base.NUMBER


# --- declared properties


def _test_claim(seed: FormulaSeed, claim: nodes.Property) -> None:
    """Raise `Failed` if the claim's step moves the wrong way when the claim's variable grows, or a review is added.

    By more than rounding explains, the step must not fall if the claim is `increasing` or `never_lowers`, else not rise.
    """
    moved = "falls" if claim.sign > 0 else "rises"

    def check(change: Perturbation, cause: str, restaurant: Restaurant, **more: object) -> None:
        """Raise `Failed` if a change of a restaurant moves the step the wrong way."""
        if change.falls(claim.step) if claim.sign > 0 else change.rises(claim.step):
            names = _find_differences(change.before, change.after)
            values = {"before": _select(change.before, names), "after": _select(change.after, names)}
            raise _build_failure(f"{claim.step} {moved} when {cause}", restaurant, **more, **values)

    if claim.review is not None:
        review = claim.review

        @for_examples(restaurants(seed), restaurants(seed))
        def run(restaurant: Restaurant, other: Restaurant) -> None:
            """Raise `Failed` if the claim is wrong for a restaurant that gets one of another one's reviews."""
            for row in other.rows:
                check(add_review(seed, restaurant, row, review), "a review is added", restaurant, review=row)

    else:

        @for_examples(restaurants(seed), growth(seed, claim.variable))
        def run(restaurant: Restaurant, more: float) -> None:
            """Raise `Failed` if the claim is wrong for a restaurant whose variable grows by `more`."""
            change = raise_step(seed, restaurant, claim.variable, more)
            check(change, f"{claim.variable} grows by {more}", restaurant)

    run()
