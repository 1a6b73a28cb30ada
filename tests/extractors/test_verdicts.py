"""`agreement --verdicts`: both sides evaluated, their outputs compared, with intervals that are the same each time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from asking import restaurant
from formulaseed.extractors.verdicts import bootstrap_interval, wilson_interval
from helpers import EXAMPLES, TASKS, Outcome, formulaseed, write_json, write_lines
from hypothesis import given
from hypothesis import strategies as st

G1A = (TASKS / "g1a_v2" / "seed.json", "--contexts", EXAMPLES / "contexts.jsonl")
RECORDED = EXAMPLES / "extractions-g1a_v2.jsonl"
SEED = {
    "task_name": "Soups",
    "filter": {"keywords": ["soup"]},
    "parameters": {"LEAST": {"type": "integer", "default": 2}},
    "extract": {"fields": [{"name": "mood", "type": "enum", "values": ["none", "good", "bad"]}]},
    "compute": [
        {"name": "N_GOOD", "op": "count", "where": {"extraction.mood": "good"}},
        {"name": "N_BAD", "op": "count", "where": {"extraction.mood": "bad"}},
        {"name": "RATIO", "op": "expr", "expr": "N_GOOD / (3 - N_BAD)"},
        {"name": "VERDICT", "op": "case", "rules": [{"when": "N_GOOD >= param.LEAST", "then": "Go"}, {"else": "Stay"}]},
    ],
    "output": ["N_GOOD", "RATIO", "VERDICT"],
}


def test_wilsons_interval_is_that_of_the_literature() -> None:
    """Eight of ten, none of ten, all of ten, to three places."""
    assert [tuple(round(x, 3) for x in wilson_interval(n, 10)) for n in (8, 0, 10)] == [
        (0.490, 0.943), (0.0, 0.278), (0.722, 1.0),
    ]  # fmt: skip


@given(st.integers(1, 2000), st.data())
def test_an_interval_of_a_share_contains_it(n: int, data: st.DataObject) -> None:
    """It stays between 0 and 1, and is narrower for more restaurants."""
    equal = data.draw(st.integers(0, n))
    low, high = wilson_interval(equal, n)
    assert 0 <= low <= equal / n <= high <= 1
    lower, higher = wilson_interval(4 * equal, 4 * n)
    assert higher - lower < high - low


@given(st.lists(st.floats(0, 1e308), min_size=1, max_size=30))
@pytest.mark.thorough
def test_a_bootstrap_is_the_same_each_time(values: list[float]) -> None:
    """It lies between the smallest and the largest value; of equal values it is that value."""
    low, high = bootstrap_interval(values)
    assert (low, high) == bootstrap_interval(values)
    assert min(values) <= low * (1 + 1e-9) + 1e-300
    assert low <= high <= max(values) * (1 + 1e-9) + 1e-300
    one, same = bootstrap_interval([values[0]])
    assert one == same == pytest.approx(values[0])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three restaurants; one disagreement turns a verdict, one does not, one is in a review that is not relevant."""
    write_json(tmp_path / "seed.json", SEED)
    write_lines(
        tmp_path / "contexts.jsonl",
        restaurant("a", "soup", "soup", "soup"),
        restaurant("b", "soup", "tea"),
        restaurant("c", "soup", "soup"),
        restaurant("d", "tea"),
    )
    moods = {"a-0": "good", "a-1": "good", "a-2": "none", "b-0": "good", "b-1": "bad", "c-0": "none", "d-0": "good"}
    wrong = {**moods, "a-1": "none", "b-0": "good", "b-1": "good", "c-0": "bad"}
    for name, side in (("recorded", moods), ("predicted", wrong)):
        write_lines(
            tmp_path / f"{name}.jsonl",
            *({"business_id": key[0], "review_id": key, "fields": {"mood": mood}} for key, mood in side.items()),
        )
    return tmp_path


def agreement(folder: Path, *options: object) -> Outcome:
    files = ("--contexts", "contexts.jsonl", "--extractions", "recorded.jsonl", "--predictions", "predicted.jsonl")
    return formulaseed("agreement", "seed.json", *files, *options, cwd=folder)


def test_what_a_disagreement_does_to_verdicts(folder: Path) -> None:
    """Relevant reviews that both sides have count, on both sides the same; text and JSON have the same numbers."""
    text = agreement(folder, "--verdicts").expect(0)
    assert "7 reviews with a recorded extraction and a prediction" in text.out
    assert "3 restaurants evaluated with either side, over 5 of their 6 relevant reviews\n" in text.out
    found = json.loads(agreement(folder, "--verdicts", "--format", "json").out)
    assert [field["equal"] for field in found["fields"]] == [4]
    verdicts = found["verdicts"]
    assert {name: verdicts[name] for name in ("restaurants", "failed", "reviews", "relevant")} == {
        "restaurants": 3, "failed": 0, "reviews": 5, "relevant": 6,
    }  # fmt: skip
    outputs = {one["output"]: one for one in verdicts["outputs"]}
    assert {name: (one["n"], one["equal"]) for name, one in outputs.items()} == {
        "N_GOOD": (3, 2), "RATIO": (3, 2), "VERDICT": (3, 2),
    }  # fmt: skip
    assert outputs["VERDICT"]["confusion"] == {"Go": {"Stay": 1}, "Stay": {"Stay": 2}}
    assert outputs["VERDICT"]["mean_difference"] is outputs["VERDICT"]["difference_interval"] is None
    assert (outputs["N_GOOD"]["mean_difference"], outputs["N_GOOD"]["confusion"]) == (pytest.approx(1 / 3), None)
    assert outputs["RATIO"]["mean_difference"] == pytest.approx(1 / 9)
    assert outputs["VERDICT"]["interval"] == [pytest.approx(x) for x in wilson_interval(2, 3)]
    row = next(line.split() for line in text.out.splitlines() if line.startswith("VERDICT "))
    assert row == ["VERDICT", "3", "2", "0.667", "0.208", "0.939", "-", "-", "-"]


def test_parameters_decide_verdicts(folder: Path) -> None:
    """A verdict that asks for one good review turns in no restaurant; without --verdicts there is nothing to give."""
    found = json.loads(agreement(folder, "--verdicts", "--format", "json", "--param", "LEAST=1").out)
    assert [one["equal"] for one in found["verdicts"]["outputs"]] == [2, 2, 3]
    assert agreement(folder, "--param", "LEAST=1").status == 2


def test_a_side_without_outputs_fails_its_restaurant(folder: Path) -> None:
    """It is listed with the side, and the others are compared."""
    lines = [{"business_id": "a", "review_id": f"a-{n}", "fields": {"mood": "bad"}} for n in range(3)]
    lines.append({"business_id": "c", "review_id": "c-0", "fields": {"mood": "none"}})
    write_lines(folder / "predicted.jsonl", *lines)
    found = agreement(folder, "--verdicts").expect(3, "failed: contexts.jsonl:1: a: with the predicted values RATIO: ")
    assert "2 restaurants evaluated with either side, over 4 of their 5 relevant reviews, 1 failed" in found.out
    assert "VERDICT  1      1  1.000     0.207  1.000" in found.out


@pytest.mark.thorough
def test_equal_sides_agree_and_the_lexical_ones_do_not() -> None:
    """Recorded extractions against themselves, and against the lexical extractor; twice the same bytes."""
    same = formulaseed(
        "agreement", *G1A, "--extractions", RECORDED, "--predictions", RECORDED, "--verdicts", "--format", "json"
    )
    outputs: list[Any] = json.loads(same.out)["verdicts"]["outputs"]
    assert [(one["n"], one["equal"], one["share"]) for one in outputs] == [(14, 14, 1.0)] * 12
    assert all(one["mean_difference"] in (0.0, None) for one in outputs)
    first, second = (formulaseed("agreement", *G1A, "--extractions", RECORDED, "--verdicts") for _ in range(2))
    assert (first.status, first.out) == (0, second.out)
    assert "14 restaurants evaluated with either side, over 114 of their 114 relevant reviews" in first.out


def test_nothing_to_compare(folder: Path) -> None:
    write_lines(folder / "predicted.jsonl")
    found = agreement(folder, "--verdicts")
    assert (found.status, "0 restaurants evaluated with either side, over 0 of" in found.out) == (0, True)
