"""Conditions in words: labels, the values of parameters, what is missing; and the opposite of each."""

from __future__ import annotations

from typing import Any

import pytest
from explaining import choose, count, make_seed
from formulaseed import explain
from formulaseed.explanation.explanation import Explanation

FIELDS: list[Any] = [
    {"name": "tone", "label": "tone of the staff", "type": "enum", "values": ["none", "good", "bad"]},
    {"name": "again", "type": "boolean", "default": False},
]
LATEST = {"RECENT_FROM": {"type": "integer", "default": 2020}}


def explain_count(condition: str, tone: str = "none", wait: int | None = None) -> Explanation:
    """Explain a verdict by the number of reviews that meet a condition, of one review of 2018."""
    filters = {"LOUD": "extraction.tone == 'bad'", "MEETS": condition}
    steps: list[Any] = [{"name": name, "op": "define_filter", "expr": expr} for name, expr in filters.items()]
    steps[0]["label"] = "loud evening"
    steps += [count("N", {"$MEETS": True}), choose("V", {"N > 0": "some"}, "none")]
    seed = make_seed(steps, "V", fields=FIELDS, parameters=LATEST)
    seed["extract"]["meta"] = [
        {"name": "wait", "type": "integer", "nullable": True},
        {"name": "year", "type": "integer"},
    ]
    row = {"review_id": "r", "extraction": {"tone": tone}, "meta": {"year": 2018, "wait": wait}}
    return explain(seed, [row], {}, "b")


@pytest.mark.parametrize(
    ("condition", "words", "failure"),
    [
        ("extraction.tone == 'good'", "“tone of the staff” is good", "“tone of the staff” is not good"),
        ("extraction.tone in ['good', 'bad']", "“tone of the staff” is good or bad", "“tone of the staff” is not good or bad"),
        ("not $LOUD and extraction.again", "it does not count as “loud evening” and “again” is true", "“again” is false"),
        ("meta.year >= param.RECENT_FROM", "year is 2020 (RECENT_FROM) or later", "year is before 2020 (RECENT_FROM)"),
        ("4 < meta.year - 2015", "meta.year - 2015 is over 4", "meta.year - 2015 is at most 4"),
        ("meta.wait != None and meta.wait > 9", "wait is known and wait is over 9",
         "wait is missing and wait is not over 9"),
        ("extraction.again or (extraction.tone == 'bad' and meta.year > 2020)",
         "“again” is true or (“tone of the staff” is bad and year is after 2020)",
         "“again” is false and (“tone of the staff” is not bad or year is 2020 or earlier)"),
    ],
)  # fmt: skip
def test_a_condition_and_its_opposite_are_said_in_words(condition: str, words: str, failure: str) -> None:
    """The definition has the condition, and the review that does not count the opposite of what it fails."""
    (evidence,) = explain_count(condition).evidence
    assert evidence.filters["“meets”"] == words
    assert evidence.condition == "it counts as “meets”"
    assert " and ".join(evidence.excluded[0].conditions) == failure


@pytest.mark.parametrize(
    ("extraction", "near"),
    [
        ({"tone": "good", "wait": 3}, ["r: its wait, 3, is not over 9"]),
        ({"tone": "good"}, ["r: its wait is missing"]),
        ({"tone": "bad", "wait": 30}, ["r: its “tone of the staff”, bad, is not good"]),
    ],
)
def test_what_one_condition_leaves_out_is_said_with_its_value(extraction: Any, near: list[str]) -> None:
    """A missing value has no order, so it is called missing and compared with nothing."""
    (evidence,) = explain_count("extraction.tone == 'good' and meta.wait > 9", **extraction).evidence
    assert [*evidence.excluded[0].near] == near
