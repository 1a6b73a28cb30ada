"""A step that fails, or a number that falls, only for restaurants that no sample finds is never called safe, or proved."""

from __future__ import annotations

from typing import Any

import pytest
from formulaseed.proofs.proving import prove
from helpers import needs, tiny_seed

needs("z3", "prove")
IS_RARE = "context.review_count * context.review_count == 15241578750190521"  # for 123456789 alone
RARELY_NEGATIVE = {"name": "D", "op": "expr", "expr": f"4 - (5 if {IS_RARE} else 0)"}
ROW_TEST = "sqrt(1 - (2 if meta.useful * meta.funny == 391 else 0)) > 0"
COUNT = {"name": "N", "op": "count"}
HUGE = {"name": "HUGE", "op": "expr", "expr": " * ".join([f"(context.size if {IS_RARE} else 1)"] * 12)}


def formula(name: str, text: str) -> dict[str, Any]:
    """A step with a formula."""
    return {"name": name, "op": "expr", "expr": text}


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        ([formula("X", f"-1 if {IS_RARE} else min(N, 4)"), formula("T", "10 * X + sqrt(X)")], "T"),
        ([RARELY_NEGATIVE, formula("A", "1 + sqrt(D)"), formula("B", "sqrt(D)")], "A"),
        ([RARELY_NEGATIVE, formula("A", "sqrt(D) == None")], "A"),
        ([RARELY_NEGATIVE, formula("A", "2 ** floor(sqrt(D) / 10)")], "A"),
        (
            [
                formula("D", f"4 - (5 if context.opt == None and {IS_RARE} else 0)"),
                formula("A", "context.opt == sqrt(D)"),
            ],
            "A",
        ),
        (
            [
                {"name": "A", "op": "sum", "expr": f"1 if {ROW_TEST} else 0"},
                {"name": "F", "op": "define_filter", "expr": f"context.is_open == 1 and {ROW_TEST}"},
                {"name": "B", "op": "count", "where": {"$F": True}},
            ],
            "A",
        ),
        ([HUGE, formula("A", "0 * (HUGE * HUGE)")], "A"),
        ([HUGE, {"name": "A", "op": "sum", "expr": "0 * (HUGE * HUGE)"}], "A"),
        ([HUGE, formula("A", "1 if HUGE * HUGE > 0 else 1")], "A"),
        (
            [
                {"name": "F", "op": "define_filter", "expr": f"({HUGE['expr']}) * meta.useful >= 0"},
                {"name": "A", "op": "count", "where": {"$F": True}},
            ],
            "A",
        ),
    ],
    ids=[
        "known-bounds",
        "later-step",
        "null",
        "power",
        "nullable",
        "cells",
        "no factor",
        "no term",
        "no choice",
        "filter",
    ],
)
def test_a_rare_failure_is_not_excluded(steps: list[dict[str, Any]], name: str) -> None:
    context = [{"name": "opt", "type": "number", "nullable": True}, {"name": "size", "type": "number"}]
    seed = tiny_seed(parameters={}, context=context, compute=[COUNT, *steps], output=[name, "N"])
    statuses = {claim["name"]: claim["status"] for claim in prove(seed).json["failures"]}
    assert statuses[name] in ("unknown", "fails")


def test_a_rare_review_is_not_excluded() -> None:
    """A largest value has its default without reviews, also after a step asks whether there are any."""
    text = "10 - (20 if meta.useful * meta.funny == 391 else 0)"
    steps = [
        {"name": "ANY", "op": "define_filter", "expr": "meta.useful >= 0"},
        COUNT,
        formula("HAS", "N >= 1"),
        {"name": "M", "op": "max", "expr": text, "default": 5},
    ]
    seed = tiny_seed(parameters={}, compute=steps, output=["M", "HAS"])
    [claim] = prove(seed, properties=["never_lowers M by ANY"]).json["properties"]
    assert claim["status"] != "proved"
