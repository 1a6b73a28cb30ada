"""The older shape of seeds: computed as Python computes it, refused by name where it cannot be placed."""

from __future__ import annotations

import math
from typing import Any

from formulaseed import EvaluationError, load_seed
from formulaseed.pipeline import analyse, compile_seed
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_source
from formulaseed.testing import reference_evaluate
from hypothesis import assume, given
from hypothesis import strategies as st
from older_seeds import older_inputs, older_seeds, python_scope

Json = Any
_FUNCTIONS = {
    "log": math.log, "sqrt": math.sqrt, "floor": math.floor, "ceil": math.ceil,
    "clamp": lambda value, low, high: max(low, min(high, value)),
}  # fmt: skip


def as_python(seed: Json, rows: list[Json], context: Json) -> tuple[Any, ...]:
    """Every step's value by `eval`, or the first step that has none."""
    scope = {**_FUNCTIONS, **python_scope(rows, context)}
    values = {}
    for step in seed["compute_dag"]:
        try:
            values[step["name"]] = eval(step["formula"], scope)
        except (ArithmeticError, ValueError):
            return ("error", step["name"])
        scope[step["name"]] = values[step["name"]]
    return ("values", values)


def outcome(evaluate: Any, *arguments: Any) -> tuple[Any, ...]:
    try:
        return ("values", evaluate(*arguments))
    except EvaluationError as error:
        return ("error", error.step)


def assert_same(found: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    assert found == expected
    if found[0] == "values":
        assert list(found[1]) == list(expected[1])
        for name, value in found[1].items():
            kinds = {type(value), type(expected[1][name])}
            assert len(kinds) == 1 or kinds == {int, float}, (name, value, expected[1][name])


@given(older_seeds(), st.data())
def test_formulas_are_what_python_makes_of_them(seed: Json, data: st.DataObject) -> None:
    """Each step has the value that `eval` gives its formula; where that fails, so does the step, in both evaluators."""
    errors = [d for d in analyse(seed).diagnostics if d.severity == "error"]
    assert all(d.code == "FS306" for d in errors), (seed, [(d.code, d.pointer, d.message, d.help) for d in errors])
    assume(not errors)
    loaded = load_seed(seed)
    module = Evaluator(module_from_source(compile_seed(loaded, formatted=False), "older"))
    for _ in range(4):
        rows, context = data.draw(older_inputs)
        expected = as_python(seed, rows, context)
        assert_same(outcome(reference_evaluate, loaded, rows, context), expected)
        assert_same(outcome(module.trace, rows, context), expected)
