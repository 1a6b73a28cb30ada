"""Queries of the SQL target give what the reference evaluator gives, for every restaurant that they do not hand back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

duckdb = pytest.importorskip("duckdb", reason="queries need duckdb")
pytest.importorskip("sqlglot", reason="queries are parsed again")

from formulaseed import load_seed  # noqa: E402
from formulaseed.testing import contexts, parameters, rows, seeds  # noqa: E402
from helpers import IS_DEEP, TASKS  # noqa: E402
from hypothesis import HealthCheck, Phase, assume, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from sql_queries import evaluate_restaurants, find_wrong, run_query  # noqa: E402

GENERATE = settings(phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
FIELDS = [
    {"name": "mood", "type": "enum", "values": {"good": "x", "bad": "y"}, "description": "m"},
    {"name": "x", "type": "number", "description": "x"},
    {"name": "n", "type": "integer", "description": "n"},
]


def seed_of(*steps: Mapping[str, Any]) -> Any:
    """Return a seed of these steps, the last of which is its output, with the fields `mood`, `x` and `n`."""
    return load_seed(
        {"task_name": "T", "extract": {"fields": FIELDS}, "compute": [*steps], "output": [steps[-1]["name"]]}
    )


def row(x: float = 1.0, n: int = 1, mood: str = "good") -> dict[str, Any]:
    return {"extraction": {"mood": mood, "x": x, "n": n}, "meta": {}}


def compare(seed: Any, *restaurants: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the results of the query, after comparing them with those of the reference evaluator."""
    records = {f"b{at}": (list(lines), {}) for at, lines in enumerate(restaurants)}
    results = run_query(seed, records, steps=True)
    assert not find_wrong(results, evaluate_restaurants(seed, records))
    return results


def assert_random_seeds_agree(max_examples: int) -> None:
    @settings(GENERATE, max_examples=max_examples)
    @given(seeds(max_steps=6), st.data())
    def check(seed: Any, data: st.DataObject) -> None:
        loaded = load_seed(seed)
        assume(not any(field.path for field in loaded.program.context))  # a table has one column for a field
        wild = data.draw(st.integers(0, 3)) == 0
        records = st.tuples(rows(loaded, wild=wild), contexts(loaded, wild=wild))
        restaurants = {
            f"b{at}": record for at, record in enumerate(data.draw(st.lists(records, min_size=1, max_size=5)))
        }
        chosen = data.draw(parameters(loaded))
        results = run_query(loaded, restaurants, chosen, steps=True)
        assert not find_wrong(results, evaluate_restaurants(loaded, restaurants, chosen)), seed

    check()


def test_a_few_random_seeds() -> None:
    assert_random_seeds_agree(3)


@pytest.mark.thorough
def test_random_seeds() -> None:
    """All operations, operators and functions, with values at the limits, and parameters."""
    assert_random_seeds_agree(5_000 if IS_DEEP else 300)


@pytest.mark.parametrize("task", ["g1a_v2", pytest.param("kitchen_hygiene", marks=pytest.mark.thorough)])
def test_tasks(task: str) -> None:
    """No restaurant with plausible reviews is handed back."""
    seed = load_seed(TASKS / task / "seed.json")

    @settings(GENERATE, max_examples=100 if IS_DEEP else 3)
    @given(st.lists(st.tuples(rows(seed), contexts(seed)), min_size=1, max_size=5))
    def check(records: list[Any]) -> None:
        restaurants = {f"b{at}": record for at, record in enumerate(records)}
        results = run_query(seed, restaurants, steps=True)
        expected = evaluate_restaurants(seed, restaurants)
        assert not find_wrong(results, expected)
        assert not [result for result in results.values() if isinstance(result, tuple) and result[1] == "beyond"]

    check()


FAILURES = {
    "/": ("1 / {}", 0.0, "division_by_zero"),
    "//": ("1 // {}", 0.0, "division_by_zero"),
    "%": ("1 % {}", 0.0, "division_by_zero"),
    "** of 0": ("{} ** -1", 0.0, "division_by_zero"),
    "** of -8": ("{} ** 0.5", -8.0, "domain"),
    "** overflow": ("10 ** {}", 400.0, "overflow"),
    "*": ("{} * 1e300 * 1e300", 1.0, "overflow"),
    "log": ("log({})", 0.0, "domain"),
    "sqrt": ("sqrt({})", -1.0, "domain"),
}
"""A formula, a number for which it has no value, and the kind of its fault."""


@pytest.mark.parametrize(("formula", "bad", "kind"), FAILURES.values(), ids=FAILURES)
@pytest.mark.thorough
def test_each_failure_is_found_where_it_is_evaluated(formula: str, bad: float, kind: str) -> None:
    """In a row, in a step, in two rows and two steps; not in a branch that is not taken, nor behind `and`."""
    of_row = {"name": "S", "op": "sum", "expr": formula.format("extraction.x")}
    of_bad_row = {**of_row, "name": "R", "where": {"extraction.mood": "good"}}
    first = {"name": "A", "op": "max", "field": "extraction.x", "default": 1.0}
    of_step = {"name": "B", "op": "expr", "expr": formula.format("A")}
    branch = {"name": "C", "op": "expr", "expr": f"{formula.format('A')} if A == 2.0 else 1.0"}
    behind = {"name": "D", "op": "expr", "expr": f"A == 2.0 and {formula.format('A')} > 0"}
    lines = [row(2.0), row(bad), row(bad)]
    assert compare(seed_of(of_row), lines, [row(2.0)])["b0"] == ("S", kind)
    assert compare(seed_of(first, of_step, {**of_step, "name": "E"}), [row(bad)])["b0"] == ("B", kind)
    results = compare(seed_of(of_bad_row, first, branch, behind), [row(bad, mood="bad")], [row(2.0)])
    assert isinstance(results["b0"], dict)


def test_the_first_faulty_row_is_reported() -> None:
    steps = {"name": "S", "op": "sum", "expr": "log(extraction.x) + 1 / extraction.n"}
    results = compare(seed_of(steps), [row(), row(1.0, 0), row(0.0)], [row(), row(0.0), row(1.0, 0)])
    assert [results[key][1] for key in ("b0", "b1")] == ["division_by_zero", "domain"]


def test_a_lookup_without_a_match_and_a_null_are_faults() -> None:
    lookup = {"name": "L", "op": "lookup", "source": "context.city", "table": {"Rome": 1}, "match": "exact"}
    seed = load_seed({"task_name": "T", "extract": {"fields": []}, "compute": [lookup], "output": ["L"]})
    records = {name: ([], {"city": name}) for name in ("Rome", "Oslo")}
    results = run_query(seed, records)
    assert (results["Rome"], results["Oslo"]) == ({"L": (False, 1)}, ("L", "lookup"))


def test_integers_beyond_53_bits_are_handed_back() -> None:
    """Also a sum, a product and an input beyond 1e15; the largest exact ones are not."""
    product = {"name": "P", "op": "max", "expr": "extraction.n * extraction.n", "default": 0}
    for value, is_exact in ((94906265, True), (94906266, False), (10**15, False), (10**15 + 1, False)):
        result = compare(seed_of(product), [row(n=value)])["b0"]
        assert isinstance(result, dict) is is_exact, value
    total = {"name": "S", "op": "sum", "expr": "extraction.n"}
    assert isinstance(compare(seed_of(total), [row(n=10**15)] * 9)["b0"], dict)
    assert compare(seed_of(total), [row(n=10**15)] * 10)["b0"] == ("S", "beyond")


ARITHMETIC = (
    "extraction.x // extraction.n", "extraction.x % extraction.n", "extraction.n // -3", "extraction.n % -3",
    "-extraction.n // 4", "round(extraction.x, 2)", "round(extraction.x)", "int(extraction.x)", "floor(extraction.x)",
    "ceil(extraction.x)", "extraction.x // 0.1", "extraction.x % 0.3", "extraction.x % -0.3",
    "abs(extraction.x) ** 0.5", "extraction.n ** 3", "clamp(extraction.x, -1, 3)", "extraction.x or extraction.n",
    "extraction.n and extraction.x", "-(-extraction.n)",
    "round(round(extraction.x * 1e290, 1) or 1) if extraction.x > 1e20 else 1",
)  # fmt: skip


def test_arithmetic_has_the_bits_of_python() -> None:
    """Signs, halves, ties that binary fractions only seem to be, and quotients that rounding moves over an integer."""
    steps = [{"name": f"S{at}", "op": "max", "expr": text, "default": 0} for at, text in enumerate(ARITHMETIC)]
    values = (2.675, -2.675, 0.5, 1.5, 2.5, -0.5, 1.005, 0.1, 0.3, 1e15, -7.5, 7.0, 4503599627370497.5, 0.7, 123456.785)
    restaurants = [[row(value, number)] for value in values for number in (1, -2, 3, -7)]
    results = compare(seed_of(*steps), *restaurants)
    assert sum(isinstance(result, dict) for result in results.values()) > 50


def test_a_mean_of_any_numbers_is_rounded() -> None:
    mean = {"name": "M", "op": "mean", "expr": "extraction.x * 1e290", "default": 1}
    rounded = {"name": "R", "op": "expr", "expr": "ceil(M) if M < 10 else 0"}
    assert compare(seed_of(mean, rounded), [row(2.5)], [])["b1"]["R"][1] == 1


def test_sums_are_in_the_order_of_the_rows() -> None:
    values = [0.1, 1e16, -1e16, 0.2, 0.3, 1e-9] * 40
    results = compare(seed_of({"name": "S", "op": "sum", "expr": "extraction.x"}), [row(value) for value in values])
    assert results["b0"]["S"][1] == sum(values)


def test_one_bad_restaurant_leaves_the_others() -> None:
    steps = {"name": "S", "op": "sum", "expr": "1 / extraction.x"}
    results = compare(seed_of(steps), *[[row(0.0 if at == 500 else 4.0)] for at in range(1000)])
    assert results.pop("b500") == ("S", "division_by_zero")
    assert {result["S"] for result in results.values()} == {(False, 0.25)}
