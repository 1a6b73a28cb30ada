"""Equality of computed numbers: where no warning says that rounding may decide it, floats are equal if the numbers are."""

from __future__ import annotations

import ast
import operator
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from formulaseed import check, load_evaluator
from formulaseed.language import intervals
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.intervals import Range, round_down
from hypothesis import given
from hypothesis import strategies as st

SIDES = (
    "N / M", "N * 100 / M", "N / M * 100", "(N + 1) / (M + 1)", "N * 0.5", "N * 0.1", "N * 0.5 + M * 0.25", "N * 0.1 + M * 0.2",
    "N * 1.5 / M", "0.3 * N / M", "N - 0.25", "N - 0.3", "-(N / M)", "max(N / M, 0.3)", "max(N * 0.1, 0.3)", "min(N / M, M / N)",
    "(N / M if N > 3 else 0.3)", "N / 8 + M / 8", "0.1 + 0.2", "abs(N / M - 1)", "coalesce(context.tier, N / M)", "2 ** N / 4",
)  # fmt: skip
LITERALS = (
    "0.3", "0.5", "2.5", "30", "1.2", "0.7", "0.75", "12.5", "M / N", "M * 0.5", "M * 0.3", "(M / N if M > N else 0.3)",
)  # fmt: skip
NUMBERS = tuple(product((1, 2, 3, 5, 6, 7, 9, 10), repeat=2))
_BINARY: dict[type[ast.operator], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow,
}  # fmt: skip
_FUNCTIONS: dict[str, Any] = {"max": max, "min": min, "abs": abs, "coalesce": lambda value, default: default}


def exact(node: ast.expr, n: int, m: int) -> Any:
    """The value of a formula without any rounding: a literal is the decimal that is written."""
    match node:
        case ast.Constant(value):
            return Fraction(str(value))
        case ast.Name(name):
            return Fraction(n if name == "N" else m)
        case ast.Attribute():
            return None
        case ast.UnaryOp(ast.USub(), operand):
            return -exact(operand, n, m)
        case ast.BinOp(left, sign, right):
            return _BINARY[type(sign)](exact(left, n, m), exact(right, n, m))
        case ast.IfExp(test, then, otherwise):
            return exact(then if exact(test, n, m) else otherwise, n, m)
        case ast.Compare(left, [ast.Gt()], [right]):
            return exact(left, n, m) > exact(right, n, m)
        case ast.Call(ast.Name(name), arguments):
            return _FUNCTIONS[name](*(exact(argument, n, m) for argument in arguments))
    raise AssertionError(ast.dump(node))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.thorough
def test_what_is_not_warned_of_is_exact_enough(side: str) -> None:
    """For every pair of small counts; a formula whose floats say another thing than its numbers has the warning."""
    formulas = [f"{side} == {literal}" for literal in LITERALS]
    seed: dict[str, Any] = {
        "task_name": "T",
        "context": [{"name": "tier", "type": "number", "nullable": True}],
        "extract": {"fields": []},
        "compute": [
            {"name": "N", "op": "count", "where": {"meta.stars": 1}},
            {"name": "M", "op": "count", "where": {"meta.stars": 2}},
            *({"name": f"X{place}", "op": "expr", "expr": formula} for place, formula in enumerate(formulas)),
        ],
    }
    seed["output"] = [step["name"] for step in seed["compute"]]
    warned = {d.pointer for d in check(seed) if d.code == "FS625"}
    evaluator, wrong = load_evaluator(seed), set[str]()
    for n, m in NUMBERS:
        rows = [{"meta": {"stars": stars}} for stars, count in ((1, n), (2, m)) for _ in range(count)]
        values = evaluator.evaluate(rows, {})
        for place, literal in enumerate(LITERALS):
            left, right = (exact(ast.parse(text, mode="eval").body, n, m) for text in (side, literal))
            if values[f"X{place}"] is not (left == right):
                wrong.add(f"/compute/{place + 2}/expr")
    assert wrong <= warned


def test_something_is_found() -> None:
    """The formulas above include some that floats decide wrongly, and some that are not warned of."""
    assert 0.1 * 3 != 0.3
    assert 7 / 100 * 100 != 7
    assert check_codes("N * 0.1 == 0.3") == ["FS625"]
    assert check_codes("N / M == 0.3 if M > 0 else false") == []


def check_codes(formula: str) -> list[str]:
    counts = [{"name": name, "op": "count", "where": {"meta.stars": stars}} for name, stars in (("N", 1), ("M", 2))]
    compute = [*counts, {"name": "X", "op": "expr", "expr": formula}]
    seed = {"task_name": "T", "extract": {"fields": []}, "compute": compute, "output": ["N", "M", "X"]}
    return [d.code for d in check(seed)]


@given(st.data(), st.integers(-15, 15))
def test_a_rounded_value_is_within_the_rounded_bounds(data: st.DataObject, digits: int) -> None:
    """Of floats and integers of any size, halves included; a clamped score keeps its bounds."""
    values = st.floats(-1e300, 1e300) | st.integers(-(2**63), 2**63) | st.integers(-400, 400).map(lambda n: n / 8)
    value, other = data.draw(values), data.draw(values)
    low, high = min(value, other), max(value, other)
    bounds = FUNCTIONS["round"].range(Range(round_down(low), -round_down(-high)), intervals.point(digits))
    assert bounds.low <= round(value, digits) <= bounds.high


def test_bounds_of_rounded_values_are_those_that_a_reader_expects() -> None:
    assert FUNCTIONS["round"].range(Range(0.0, 10.0), intervals.point(1)) == Range(0.0, 10.0)
    assert FUNCTIONS["round"].range(Range(-0.26, 9.95), intervals.point(1)) == Range(-0.3, 9.9)
