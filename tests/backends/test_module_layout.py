"""What the person who approves a module reads: bounds, sentences of the policy, chains, named lists, conditions tested once."""

from __future__ import annotations

from typing import Any

import pytest
from formulaseed import compile_seed, load_evaluator
from formulaseed.testing import reference_evaluate
from helpers import tiny_seed

MONTHS = {"meta.month": {"in": [11, 12, 1, 2]}}


def seed(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A seed with these steps, the last of which is its output."""
    fields = [{"name": "mood", "type": "enum", "values": {"good": "Liked", "fair": "So-so", "bad": "Disliked"}}]
    extract = {"fields": fields, "meta": [{"name": "fans", "type": "integer", "nullable": True}]}
    return {"task_name": "T", "extract": extract, "compute": [*steps], "output": [steps[-1]["name"]], **more}


def rows(*months: int, stars: float = 3) -> list[dict[str, Any]]:
    moods = ("good", "fair", "bad")
    return [
        {"extraction": {"mood": moods[month % 3]}, "meta": {"stars": stars, "year": 2020, "month": month, "fans": None}}
        for month in months
    ]


def agree(written: dict[str, Any], *given: list[dict[str, Any]]) -> None:
    """The module and the reference evaluator give the same values."""
    evaluator = load_evaluator(written)
    for each in given:
        assert evaluator.trace(each, {}) == reference_evaluate(written, each, {})


def function(source: str, name: str) -> str:
    """The text of a function of a module."""
    return source.split(f"def {name}(")[1].split("\n\n\n")[0]


def test_a_chain_of_conditional_expressions_is_a_choice() -> None:
    """`if` and `elif` in the order of the formula, in each place where a value is chosen among further choices."""
    verdict = "'c' if N > 3 else ('a' if N == 1 else 'b') if N > 0 else 'none'"
    ratio = "(1 / N if N > 1 else N) if N > 0 else N / 2"
    written = seed(
        {"name": "N", "op": "count"},
        {"name": "VERDICT", "op": "expr", "expr": verdict},
        {"name": "X", "op": "expr", "expr": ratio},
    )
    computed = function(compile_seed(written), "_compute")
    assert " else " not in computed
    assert computed.count("elif") == 1
    assert "    x = float(n)\n" in computed.replace("        x", "    x")
    agree(written, *(rows(*[1] * count) for count in range(6)))


def test_a_single_conditional_expression_stays_one() -> None:
    written = seed({"name": "N", "op": "count"}, {"name": "X", "op": "expr", "expr": "1 / N if N > 0 else 0"})
    assert "    x = 1 / n if n > 0 else 0.0\n" in compile_seed(written)


def test_a_condition_that_repeats_a_filter_is_tested_once() -> None:
    """The operand of an aggregate uses the filter's local."""
    written = seed(
        {"name": "DARK", "op": "define_filter", "where": MONTHS},
        {"name": "N_DARK", "op": "count", "where": {"$DARK": True}},
        {"name": "W", "op": "sum", "expr": "(3 if meta.month in [11, 12, 1, 2] else 2)"},
        {"name": "ANY", "op": "any", "expr": "not meta.month in [11, 12, 1, 2] and extraction.mood == 'good'"},
    )
    computed = function(compile_seed(written), "_compute")
    assert computed.count("month in MONTHS") == 1
    agree(written, rows(), rows(1, 5), rows(12, 6, 3))


def test_a_filter_that_no_aggregate_uses_is_not_computed_for_an_operand() -> None:
    written = seed(
        {"name": "DARK", "op": "define_filter", "where": MONTHS},
        {
            "name": "W",
            "op": "sum",
            "expr": "3 if meta.month in [11, 12, 1, 2] else 2",
            "where": {"extraction.mood": "bad"},
        },
    )
    assert " dark = " not in compile_seed(written)
    agree(written, rows(1, 5, 11))


def test_a_filter_that_may_fail_is_asked_where_the_formula_asks() -> None:
    """Its condition repeats in the formula, behind a guard: without it the step would fail."""
    risky = "meta.fans > 3"
    written = seed(
        {"name": "KNOWN", "op": "count", "where": {"meta.fans": {"!=": None}}},
        {"name": "FANS", "op": "define_filter", "expr": risky},
        {"name": "N", "op": "count", "where": {"meta.fans": {"!=": None}, "$FANS": True}},
        {"name": "W", "op": "sum", "expr": f"(2 if {risky} else 1) if meta.fans != None else 0"},
    )
    agree(written, rows(1, 2), [{**row, "meta": {**row["meta"], "fans": 5}} for row in rows(3, 4)])


def test_a_list_of_values_is_named_once() -> None:
    """At the top of the module, in whatever step it is; short lists and values of an enum stay where they are."""
    written = seed(
        {"name": "N", "op": "count", "where": MONTHS},
        {
            "name": "M",
            "op": "count",
            "where": {"meta.month": {"in": [5, 6, 7]}, "extraction.mood": {"in": ["good", "fair", "bad"]}},
        },
        {"name": "K", "op": "sum", "expr": "1 if meta.month in [11, 12, 1, 2] or meta.month in [3, 4] else 0"},
        {"name": "IN", "op": "expr", "expr": "(N + M + K) in [1, 2, 3, 4]"},
    )
    source = compile_seed(written)
    assert "\nMONTHS: Final = (11, 12, 1, 2)\nMONTHS_2: Final = (5, 6, 7)\nINS: Final = (1, 2, 3, 4)\n" in source
    assert function(source, "_compute").count("(11, 12, 1, 2)") == 0
    assert '("good", "fair", "bad")' not in function(source, "_compute") or "mood in (" in source
    assert "month in (3, 4)" in source
    agree(written, rows(), rows(1, 5, 11), rows(3, 4, 6, 12))


def test_outputs_have_their_bounds() -> None:
    """As the checker derives them; a value without any has no comment."""
    steps = [
        {"name": "N", "op": "count"},
        {"name": "SCORE", "op": "expr", "expr": "max(0.5, min(20.0, N * 2.5))"},
        {"name": "LOSS", "op": "expr", "expr": "-N"},
        {"name": "SUM", "op": "sum", "expr": "meta.cool"},
        {"name": "IS_HIGH", "op": "expr", "expr": "SCORE > 3"},
    ]
    result = (
        compile_seed(seed(*steps) | {"output": [step["name"] for step in steps]})
        .split("class Result")[1]
        .split("\n\n\n")[0]
    )
    assert (
        "    N: int  # 0 or more\n    SCORE: float  # 0.5 to 20\n    LOSS: int  # 0 or less\n    SUM: int\n    IS_HIGH: bool"
        in result
    )


def test_the_policy_is_beside_its_steps() -> None:
    """Sentences as they are, above the declaration of a step or filter; the version is in the first lines."""
    steps = (
        {"name": "DARK", "op": "define_filter", "where": MONTHS, "sources": ["Winter is dark."]},
        {
            "name": "N",
            "op": "count",
            "where": {"$DARK": True},
            "sources": ["Count the dark visits.", "Each one counts."],
        },
    )
    source = compile_seed(seed(*steps, version="3.1", description="Says how dark it was."))
    assert source.split("\n")[2] == "T, version 3.1. Says how dark it was."
    assert (
        '    # policy: "Winter is dark."\n    # $DARK: meta.month in [11, 12, 1, 2]\n'
        '    # policy: "Count the dark visits."\n    # policy: "Each one counts."\n    N: int  # count where $DARK\n'
    ) in source


@pytest.mark.parametrize(
    "sentence",
    ['"""\nimport os\n"""', "# type: ignore", "x\u2028import os", "{{ 7 }} {% raw %}", "\\", "'" * 3, "a" * 900],
)
def test_a_sentence_is_a_comment_whatever_it_says(sentence: str) -> None:
    """The code of the module is the same as without it."""
    written = tiny_seed()
    plain = compile_seed(written)
    written["compute"][0]["sources"] = [sentence]
    source = compile_seed(written)
    added = [line for line in source.split("\n") if line not in plain.split("\n")]
    assert [line for line in added if not line.startswith(("    # ", "SEED_SHA256", "BODY_SHA256"))] == []
    assert any("policy: " in line for line in added)
