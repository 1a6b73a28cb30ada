"""Aggregates that share conditions are computed under one `if` of the module, and each condition keeps its guard."""

from __future__ import annotations

import pytest
from formulaseed import EvaluationError, compile_seed, load_evaluator
from formulaseed.documents import analyse
from formulaseed.testing import reference_evaluate
from helpers import without_errors
from hypothesis import given
from hypothesis import strategies as st
from three_ways import Json, evaluate_steps

GUARDS = (
    "e['useful'] > 0", "0 < e['useful']", "e['useful'] != 0", "e['useful'] >= 0", "0 < e['useful'] < 10", "0 < e['stars'] < 10",
    "e['stars'] > 1", "n > 0", "n > 1", "e['sev'] == 'a'",
)  # fmt: skip
RISKY = (
    "1 / e['useful'] > 0.5", "10 % e['useful'] > 0.5", "7 // e['useful'] > 1", "log(e['useful']) > 0.5",
    "sqrt(e['useful']) > 0.5", "e['useful'] ** 0.5 != 1", "10 ** e['useful'] > 50",
    "e['stars'] * e['stars'] * e['stars'] * e['stars'] > 0.5",
    "e['useful'] / n > 1", "round(e['stars'] * 1e300) > 1", "e['useful'] + e['stars'] > 2",
)  # fmt: skip
REVIEWS = st.fixed_dictionaries({
    "extraction": st.fixed_dictionaries({"sev": st.sampled_from("ab")}),
    "meta": st.fixed_dictionaries({
        "useful": st.sampled_from((-4, -1, 0, 1, 2, 2000)), "stars": st.sampled_from((0, 1, 2.5, 5, 1e100)),
        "fans": st.sampled_from((None, 0, 10)), "rank": st.sampled_from((None, 1, 2.5)),
    }),
})  # fmt: skip


@st.composite
def v1_seeds(draw: st.DrawFn) -> Json:
    """Draw seeds of counts and sums over the same few conditions in different orders, some only used behind a guard."""
    conditions = draw(st.lists(st.sampled_from(GUARDS + RISKY), min_size=1, max_size=4, unique=True))
    conditions.append(draw(st.sampled_from(RISKY)))
    steps = [{"name": "n", "formula": "sum(1 for e in extractions if e['sev'] == 'a')"}]
    for number in range(draw(st.integers(2, 4))):
        chosen = draw(st.permutations(conditions))[: draw(st.integers(1, len(conditions)))]
        term = draw(st.sampled_from(("1", "e['stars']")))
        loop = f"sum({term} for e in extractions if {' and '.join(chosen)})"
        loop += draw(st.sampled_from(("", "", " if n > 0 else 0", " if n > 1 else 0")))
        steps.append({"name": f"s{number}", "formula": loop})
    return {
        "task_name": "Shared",
        "extraction_fields": [{"name": "sev", "values": ["a", "b"]}],
        "compute_dag": steps,
        "output_fields": [step["name"] for step in steps],
    }


NULLABLE = {"fans": "integer", "rank": "number"}
TESTS = (
    {"meta.fans": {"!=": None}}, {"meta.fans": {">=": 10}}, {"meta.fans": None}, {"meta.fans": {"!=": None, ">=": 10}},
    {"meta.rank": {"!=": None}}, {"meta.rank": {"<": 2.5}}, {"meta.stars": {">": 2}},
    {"$HAS": True}, {"$HAS": False}, {"$BOTH": True},
)  # fmt: skip


@st.composite
def newer_seeds(draw: st.DrawFn) -> Json:
    """Draw seeds of counts over conditions on nullable fields, with filters that exclude null."""
    filters = [
        {"name": "HAS", "op": "define_filter", "meta": {"fans": {"!=": None}}},
        {"name": "BOTH", "op": "define_filter", "where": {"$HAS": True, "meta.rank": {"!=": None}}},
    ]
    chosen = draw(st.lists(st.sampled_from(TESTS), min_size=1, max_size=4))
    steps = [
        {
            "name": f"S{number}", "op": "count",
            "where": {key: test for tests in draw(st.permutations(chosen)) for key, test in tests.items()},
        }
        for number in range(draw(st.integers(2, 4)))
    ]  # fmt: skip
    meta = [{"name": name, "type": ty, "nullable": True} for name, ty in NULLABLE.items()]
    return {
        "task_name": "Shared",
        "extract": {"fields": [], "meta": meta},
        "compute": [*filters, *steps],
        "output": [step["name"] for step in steps],
    }


@given(v1_seeds() | newer_seeds(), st.lists(REVIEWS, max_size=3))
def test_a_condition_keeps_its_guard(seed: Json, rows: Json) -> None:
    """Module and interpreter agree in values and in faults; conditions on nullable fields keep their tests for null."""
    analysis = analyse(seed)
    if analysis.has_errors:
        return
    loaded = without_errors(analysis)
    evaluator = load_evaluator(loaded)
    expected = evaluate_steps(lambda: reference_evaluate(loaded, rows, {}))
    assert evaluate_steps(lambda: evaluator.trace(rows, {})) == expected, compile_seed(seed)


@pytest.mark.parametrize(
    ("guard", "risky", "useful"),
    [
        ("e['useful'] > 0", "1 / e['useful'] > 0.5", 0),
        ("e['useful'] > 0", "log(e['useful']) > 0.5", 0),
        ("e['useful'] >= 0", "e['useful'] ** 0.5 != 1", -4),
        ("0 < e['useful'] < 10", "10 ** e['useful'] > 0.5", 2000),
    ],
)
def test_the_unguarded_one_fails(guard: str, risky: str, useful: int) -> None:
    """The same words are safe in one step and not in the next, which is the one that is named."""
    loops = [f"sum(1 for e in extractions if {condition})" for condition in (f"{guard} and {risky}", risky)]
    seed = {
        "task_name": "Shared",
        "extraction_fields": [],
        "compute_dag": [{"name": name, "formula": loop} for name, loop in zip("ab", loops, strict=True)],
        "output_fields": ["a", "b"],
    }
    row = {"extraction": {}, "meta": {"useful": useful}}
    with pytest.raises(EvaluationError) as caught:
        load_evaluator(seed).evaluate([row], {})
    assert caught.value.step == "b"
