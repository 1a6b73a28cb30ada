"""Aggregates that share conditions are computed under one `if` of the module, and each condition keeps its guard.

The random seeds of `test_seed_v1` have the same conditions, of which some can fail, in several loops.
"""

from __future__ import annotations

import pytest
from formulaseed import EvaluationError, load_evaluator
from hypothesis import given
from hypothesis import strategies as st
from three_ways import Json, Ways

TESTS: tuple[Json, ...] = (
    {"meta.fans": {"!=": None}}, {"meta.fans": {">=": 10}}, {"meta.fans": None}, {"meta.fans": {"!=": None, ">=": 10}},
    {"meta.rank": {"!=": None}}, {"meta.rank": {"<": 2.5}}, {"meta.stars": {">": 2}},
    {"$HAS": True}, {"$HAS": False}, {"$BOTH": True},
)  # fmt: skip
FILTERS = [
    {"name": "HAS", "op": "define_filter", "meta": {"fans": {"!=": None}}},
    {"name": "BOTH", "op": "define_filter", "where": {"$HAS": True, "meta.rank": {"!=": None}}},
]
META = [{"name": name, "type": kind, "nullable": True} for name, kind in (("fans", "integer"), ("rank", "number"))]
ROWS: Json = [
    {"meta": {"stars": stars, "fans": fans, "rank": rank}}
    for stars in (1, 5) for fans in (None, 0, 10) for rank in (None, 1, 2.5)
]  # fmt: skip


@given(st.lists(st.sampled_from(TESTS), min_size=1, max_size=4), st.data())
def test_a_condition_keeps_its_test_for_null(chosen: list[Json], data: st.DataObject) -> None:
    """Counts over the same few conditions in different orders agree for every combination of values."""
    orders = data.draw(st.lists(st.permutations(chosen), min_size=2, max_size=4))
    wheres = [{key: test for tests in order for key, test in tests.items()} for order in orders]
    counts = [{"name": f"S{place}", "op": "count", "where": where} for place, where in enumerate(wheres)]
    extract = {"fields": [], "meta": META}
    ways = Ways.load({"task_name": "Shared", "extract": extract, "compute": [*FILTERS, *counts], "output": ["S0"]})
    for row in ROWS:
        ways.assert_agree_in_order(([row], {}, {}))


@pytest.mark.parametrize(
    ("guard", "risky", "useful"),
    [
        ("e['useful'] > 0", "1 / e['useful'] > 0.5", 0),
        ("e['useful'] > 0", "log(e['useful']) > 0.5", 0),
        ("e['useful'] >= 0", "e['useful'] ** 0.5 != 1", -4),
        ("0 < e['useful'] < 10", "10 ** e['useful'] > 0.5", 2000),
        ("0 < e['stars'] < 10", "e['stars'] * e['stars'] * e['stars'] * e['stars'] > 0.5", 0),
    ],
)
def test_the_unguarded_one_fails(guard: str, risky: str, useful: int) -> None:
    """The same words are safe in one step and not in the next, which is the one that is named."""
    loops = [f"sum(1 for e in extractions if {condition})" for condition in (f"{guard} and {risky}", risky)]
    steps = [{"name": name, "formula": loop} for name, loop in zip("ab", loops, strict=True)]
    seed = {"task_name": "Shared", "extraction_fields": [], "compute_dag": steps, "output_fields": ["a", "b"]}
    with pytest.raises(EvaluationError) as caught:
        load_evaluator(seed).evaluate([{"extraction": {}, "meta": {"useful": useful, "stars": 1e100}}], {})
    assert caught.value.step == "b"
