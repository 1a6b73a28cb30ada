"""Properties that hold for every seed: random seeds, random data, the reference evaluator as the judge."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import third_evaluator
from formulaseed import DataError, EvaluationError, FormulaSeed, load_evaluator, load_seed
from formulaseed.backends.python.verify import verify_source
from formulaseed.documents import compile_seed
from formulaseed.ir import interpret, nodes
from formulaseed.language import intervals, typed
from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.info import Info
from formulaseed.language.operators import OPERATORS, Fault, OperandFacts, Operation, Operator
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr
from formulaseed.language.types import NUMBER, Base, Type
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_source
from formulaseed.source.text import Source, Span
from formulaseed.testing import contexts, parameters, reference_evaluate, restaurants, rows
from guarded_formulas import guarded_seeds
from helpers import SEEDS_V2, places
from hypothesis import assume, given, settings
from hypothesis import strategies as st

Json = Any


def examples(share: float) -> Callable[[Any], Any]:
    """So many examples, relative to the profile's number."""
    return settings(max_examples=max(1, round(settings.default.max_examples * share)))  # type: ignore[union-attr]


def evaluator(source: str) -> Evaluator:
    return Evaluator(module_from_source(source, "tried"))


def outcome(function: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    """What a computation gives: values, or the step at fault and its kind."""
    try:
        return ("values", function(*arguments))
    except EvaluationError as error:
        return ("error", error.step, error.kind, error.operands, error.message)
    except DataError:
        return ("refused", "", "")


def third_outcome(seed: FormulaSeed, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    decimals = frozenset(step.name for step in seed.program.steps if step.ty.base is Base.NUMBER)
    try:
        return ("values", third_evaluator.Restaurant(seed.data, *arguments, decimals).values())
    except third_evaluator.Fault as fault:
        return ("error", fault.step, fault.kind)


def assert_same_outcome(found: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    """Equal values of one type; an integer and a float of equal value are the same, 0.0 and -0.0 too."""
    assert found == expected
    if found[0] == "values":
        assert list(found[1]) == list(expected[1])
        for name, value in found[1].items():
            types = {type(value), type(expected[1][name])}
            assert len(types) == 1 or types == {int, float}, (name, value, expected[1][name])


def assert_agrees(seed: FormulaSeed, module: Evaluator, data: st.DataObject, times: int) -> list[tuple[Any, ...]]:
    """The module, the reference and the third evaluator give the same for rows, contexts and parameters that fit.

    Returns what they give.
    """
    drawn, outcomes = restaurants(seed, wild=True), []
    for _ in range(times):
        arguments = data.draw(drawn)
        found = outcome(module.trace, *arguments)
        expected = outcome(reference_evaluate, seed, *arguments)
        assert_same_outcome(found, expected)
        assert_same_outcome(found[:3], third_outcome(seed, arguments))
        assert found[0] != "refused"
        if found[0] == "values":
            assert module.evaluate(*arguments) == {name: found[1][name] for name in module.output}
            assert_evidence(seed, module, arguments, found[1])
        outcomes.append(found)
    return outcomes


def assert_evidence(seed: FormulaSeed, module: Evaluator, arguments: Any, values: Mapping[str, Any]) -> None:
    evidence = module.evidence(*arguments)
    ids = [row["review_id"] for row in arguments[0]]
    aggregates = [step for step in seed.program.steps if step.aggregate is not None]
    assert list(evidence) == [step.name for step in aggregates]
    for step in aggregates:
        found = evidence[step.name]
        assert found == [review for review in ids if review in set(found)], "in the order of the rows, none twice"
        if step.aggregate is not None and step.aggregate.function == "count":
            assert len(found) == values[step.name]


# --- what the checker knows is so


class Watching(interpret.Evaluation):
    """The reference evaluator, with a look at every value of every expression.

    It notes what comparisons, filters and cases come to, by their places.
    """

    noted: dict[Any, set[bool]]
    fired: set[tuple[str, int]]

    def evaluate(self, expression: Expr, row: Any) -> Any:
        value, info = super().evaluate(expression, row), expression.info
        if not isinstance(expression, typed.List):
            assert fits(value, info.ty), (expression_text(expression), value, info.ty)
            if info.range is not None and value is not None:
                assert info.range.low <= value <= info.range.high, (expression_text(expression), value, info.range)
                assert value != 0 or not info.range.nonzero, (expression_text(expression), value, info.range)
        if isinstance(value, bool):
            Watching.noted.setdefault((info.span.start, info.span.end), set()).add(value)
        if isinstance(expression, typed.Ref) and expression.symbol.kind is typed.SymbolKind.FILTER:
            Watching.noted.setdefault(expression.symbol.name, set()).add(value)
        return value

    def evaluate_step(self, step: nodes.Step) -> None:
        super().evaluate_step(step)
        if step.name in self.results:
            value = self.results[step.name]
            assert fits(value, step.ty), (step.name, value, step.ty)
            if step.range is not None and value is not None:
                assert step.range.low <= value <= step.range.high, (step.name, value, step.range)

    def evaluate_operation(self, operation: nodes.Operation) -> Any:
        value = super().evaluate_operation(operation)
        for condition, _ in operation.rules if isinstance(operation, nodes.Case) else ():
            if self.evaluate(condition, {}):
                Watching.fired.add((condition.info.span.pointer, condition.info.span.start))
                break
        return value


def fits(value: Any, ty: Type) -> bool:
    if value is None:
        return ty.nullable
    if ty.values is not None:
        return value in ty.values
    kinds = {Base.INTEGER: (int,), Base.NUMBER: (int, float), Base.BOOLEAN: (bool,), Base.STRING: (str,)}
    return type(value) in kinds[ty.base]


def assert_reported_rightly(seed: FormulaSeed, outcomes: list[tuple[Any, ...]]) -> None:
    """FS603, FS607 and FS610 speak of all data; and a step without a warning cannot fail but by size."""
    compute = seed.data["compute"]
    risky = {"FS305", "FS507", "FS601", "FS604", "FS605"}
    about = [d for d in seed.diagnostics if d.code in risky]
    places = {step["name"]: f"/compute/{index}/" for index, step in enumerate(compute)}
    for found in outcomes:
        if found[0] == "error" and found[2] != "overflow":
            used = reached(seed, found[1])
            assert any(f"{d.pointer}/".startswith(places[name]) for d in about for name in used), found
    for d in seed.diagnostics:
        if d.code == "FS607":
            assert (d.pointer, d.span.start) not in Watching.fired, d
        if d.code == "FS603":
            assert Watching.noted.get((d.span.start, d.span.end), set()) <= {"always true" in d.message}, d
        if d.code == "FS610" and "the filter" in d.message:
            name = compute[int(d.pointer.split("/")[2])]["name"]
            assert Watching.noted.get(name, set()) <= {d.message.startswith("every")}, d


def reached(seed: FormulaSeed, name: str) -> set[str]:
    """The step with the filters that it uses, directly or through one another."""
    steps = {step.name: step for step in seed.program.steps}
    found, stack = {name}, [name]
    while stack:
        for symbol in steps[stack.pop()].symbols():
            if symbol.kind is typed.SymbolKind.FILTER and symbol.name not in found:
                found.add(symbol.name)
                stack.append(symbol.name)
    return found


# --- what is compiled does what the seed says


@examples(1.5)
@given(guarded_seeds(), st.data())
def test_module_agrees_with_the_reference(seed: Json, data: st.DataObject) -> None:
    """The module gives what the reference gives, which meets the types, the ranges and the warnings of the checker."""
    loaded = load_seed(seed)
    source = compile_seed(loaded, formatted=False)
    assert verify_source(source) is None
    Watching.noted, Watching.fired = {}, set()
    with mock.patch.object(interpret, "Evaluation", Watching):
        outcomes = assert_agrees(loaded, evaluator(source), data, times=4)
    assert_reported_rightly(loaded, outcomes)


@cache
def task(path: Path) -> tuple[FormulaSeed, Evaluator]:
    seed = load_seed(path)
    return seed, evaluator(compile_seed(seed, formatted=False))


@pytest.mark.parametrize("path", SEEDS_V2, ids=lambda path: path.parent.name)
@examples(0.15)
@given(data=st.data())
def test_tasks_agree_with_the_reference(path: Path, data: st.DataObject) -> None:
    assert_agrees(*task(path), data, times=2)


_SCRAPS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=6),
    st.sampled_from([[], {}, [[]], [None], {"name": "A"}, {"in": []}, "param.P", "count", "$A", 2**63, 10**60]),
)  # fmt: skip
_EDGES = st.sampled_from([
    2**63 - 1, 2**63, -(2**63), 1e100, 1.1e100, 3.0, 3.5, True, "2020-01-01", "20", "0000-00-00", "2020-1-1", "²020-01-01",
])  # fmt: skip


@examples(0.5)
@given(guarded_seeds(max_steps=4), st.data())
@pytest.mark.thorough
def test_bad_data_is_refused_as_by_the_reference(seed: Json, data: st.DataObject) -> None:
    loaded = load_seed(seed)
    module = evaluator(compile_seed(loaded, formatted=False))
    some_rows = rows(loaded, min_size=1, max_size=2, wild=True)
    drawn = st.tuples(some_rows, contexts(loaded, wild=True), parameters(loaded, wild=True))
    for _ in range(4):
        arguments = data.draw(drawn)
        for argument in arguments:
            known = [(holder, key) for holder, key in places(argument) if not isinstance(holder[key], dict | list)]
            if known and data.draw(st.booleans()):
                holder, key = data.draw(st.sampled_from(known))
                holder[key] = data.draw(st.one_of(_SCRAPS, _EDGES))
        assert_same_outcome(outcome(module.trace, *arguments), outcome(reference_evaluate, loaded, *arguments))


@examples(0.3)
@given(guarded_seeds(max_steps=1), st.data())
def test_relevant_reviews_contain_a_keyword(seed: Json, data: st.DataObject) -> None:
    keywords = seed.get("filter", {}).get("keywords", [])
    module = evaluator(compile_seed(seed, formatted=False))
    known = [text for keyword in keywords for text in (keyword, keyword.upper(), keyword.swapcase(), keyword[1:])]
    text = "".join(data.draw(st.lists(st.one_of(st.sampled_from(["", *known]), st.text(max_size=5)), max_size=4)))
    expected = not keywords or any(keyword.casefold() in text.casefold() for keyword in keywords)
    assert module.is_relevant(text) is expected


@examples(0.03)
@given(guarded_seeds(), st.data())
def test_formatting_changes_nothing(seed: Json, data: st.DataObject) -> None:
    """The formatted module computes the same, and an equal seed gives the same bytes."""
    loaded = load_seed(seed)
    source = compile_seed(loaded)
    assert verify_source(source) is None
    assert source == compile_seed(json.loads(json.dumps(seed)))
    assert_agrees(loaded, evaluator(source), data, times=2)


# --- what is known of operators and functions is so

_POINTS = st.one_of(
    st.sampled_from([0, 1, 2, 3, 5, -1, -2, 0.0, 0.1, 0.5, 1.0, 2.5, -0.5, 1e-9, 5e-324, 1e16, 1e100, -1e100, 1e200, 1e308]),
    st.sampled_from([2**53 - 1, 2**53, 2**53 + 1, 3 * (2**53 + 1), 2**62 + 1, 2**63 - 1, 2**1000, -(2**53) - 1]),
    st.integers(-20, 20), st.integers(-(2**63), 2**63), st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip


@st.composite
def ranged(draw: st.DrawFn) -> tuple[intervals.Range, Any]:
    """A number, and a range that it lies in."""
    low, value, high = sorted(draw(st.lists(_POINTS, min_size=3, max_size=3)))
    if draw(st.booleans()):
        low = high = value
    elif draw(st.booleans()):
        low, value, high = draw(st.sampled_from([(low, low, high), (low, high, high)]))
    known = intervals.union(intervals.point(low), intervals.point(high))
    nonzero = value != 0 and draw(st.booleans())
    return intervals.Range(known.low, known.high, nonzero), value


_BARE: dict[str, Callable[..., Any]] = {
    "/": operator.truediv, "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "pow": operator.pow,
    "log": math.log, "sqrt": math.sqrt,
}  # fmt: skip
"""What is printed where the operation is safe: it may give infinity, and never raises."""
_KNOWN: Any = Info(NUMBER, Span(Source("", ""), 0, 0))


def applied(operation: Operation, values: list[Any]) -> Any:
    try:
        return operation.compute(*values)
    except Fault as fault:
        return fault


@examples(10)
@given(st.sampled_from([*OPERATORS.values(), *FUNCTIONS.values()]), st.data())
@pytest.mark.thorough
def test_ranges_of_operators_and_functions_hold(operation: Operator | Function, data: st.DataObject) -> None:
    drawn = [data.draw(ranged()), data.draw(ranged())]
    if isinstance(operation, Function):
        assume(Base.STRING not in operation.takes)
        count = max(operation.min_arguments, data.draw(st.sampled_from([1, 2, 3])))
        drawn = [data.draw(ranged()) for _ in range(count)][: operation.max_arguments]
        if operation.literal is not None and len(drawn) == len(operation.parameters):
            digits = data.draw(st.integers(*operation.literal))
            drawn[-1] = (intervals.point(digits), digits)
    ranges, values = [each for each, _ in drawn], [value for _, value in drawn]
    known = operation.range(*ranges)
    operands = OperandFacts([_KNOWN] * len(drawn), ranges, known)
    if operation.name in _BARE and operation.is_safe(operands):
        _BARE[operation.name](*values)
    value = applied(operation, values)
    if isinstance(value, Fault):
        assert not known.is_bounded or value.kind != "overflow", values
        assert operation.name not in _BARE or value.kind == "overflow" or not operation.is_safe(operands)
        return
    failures = [failure for failure in operation.failures if failure.effect != "useless"]
    assert not any(failure.is_certain(operands) for failure in failures), values
    assert known.low <= value <= known.high, (values, value, known)
    assert value != 0 or not known.nonzero, (values, value, known)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_rounded_quotient_without_a_bound_on_one_side_is_rounded_on_the_other(sign: int) -> None:
    """What is 0 after rounding must not be taken for a number that one can divide by."""
    known = intervals.floor_divide(intervals.hull(sign * 1e-9, sign * 1e301), intervals.Range(1e-9, 1.0))
    assert known.low <= sign * 1e-9 // 1 <= known.high
    assert known.may_be_zero


@pytest.mark.parametrize("literal", ["9007199254740992", "9007199254740992.0"])
@pytest.mark.parametrize(("operator", "result"), [("==", 0), ("!=", 1)])
def test_a_comparison_that_is_in_no_doubt_is_exact(literal: str, operator: str, result: int) -> None:
    """An integer among numbers stays what it is inside a formula, beyond what a float holds too."""
    formula = f"1 if ({2**53 + 1} if N > 0 else 1.5) {operator} {literal} else 0"
    compute = [{"name": "N", "op": "count"}, {"name": "D", "op": "expr", "expr": formula}]
    seed = {"task_name": "Exact", "extract": {"fields": []}, "compute": compute, "output": ["D"]}
    assert load_evaluator(seed).evaluate([{}], {}) == {"D": result}
    assert reference_evaluate(seed, [{}], {})["D"] == result
