"""Each number of a policy is moved where it is written, and what flips is what evaluating the edited seed shows."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import formulaseed as library
import pytest
from formulaseed.compare.changes import find_changes
from formulaseed.compare.constants import Constant, find_constants, move_number
from formulaseed.compare.sensitivity import MovedNumber, Sensitivity, sensitivity
from formulaseed.documents import analyse_text
from helpers import SEEDS, TASKS, formulaseed, tiny_row, tiny_rows, tiny_seed, write_json, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st

G1A = TASKS / "g1a_v2" / "seed.json"
LOADED = {path: library.load_seed(path) for path in SEEDS}


def rank_numbers(seed: Any, rows: Any, **options: Any) -> dict[tuple[str, str], MovedNumber]:
    return {(number.step, number.enclosing_text): number for number in sensitivity(seed, rows, **options).numbers}


# --- the constants


@pytest.mark.thorough
@settings(max_examples=25)
@given(st.data())
def test_another_number_changes_its_step_alone(data: st.DataObject) -> None:
    """The edited text is a seed that differs in the step that the constant is said to be in, and nowhere else."""
    path = data.draw(st.sampled_from(SEEDS))
    constant = data.draw(st.sampled_from(find_constants(LOADED[path])))
    value = move_number(constant.value, data.draw(st.sampled_from([-0.1, 0.1, 0.5])), is_year=constant.is_year)
    edited = constant.replace_with(value)
    if value == constant.value:
        assert edited.text == constant.span.source.text
        return
    analysis = analyse_text(edited)
    if analysis.program is None:
        return  # such as a threshold beside an equal one
    between = find_changes(LOADED[path], library.load_seed(json.loads(edited.text)))
    values = [change.name for change in between.select("values")]
    assert values == [constant.step]


def test_every_number_of_the_example_is_found() -> None:
    """As many as its steps have in the text, but for the digit in a name and what is written for people."""
    steps = json.loads(G1A.read_text(encoding="utf-8"))["compute"]
    text = json.dumps(
        [{key: value for key, value in step.items() if key not in ("label", "sources", "allow")} for step in steps]
    )
    text = re.sub(r', "because": "[^"]*"', "", text)
    assert len(find_constants(LOADED[G1A])) == len(re.findall(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?", text))


def test_what_is_a_constant() -> None:
    """Values, results, keys, defaults and operands of conditions are, also in a seed v1; fields and strings are not."""
    seed = tiny_seed()
    seed["extract"]["fields"][1] |= {"minimum": 0, "maximum": 9}
    seed["compute"][1]["where"]["extraction.score"] = {"in": [3, 4]}
    seed["compute"].insert(0, {"name": "K", "op": "const", "value": 2.5})
    seed["compute"].insert(
        1,
        {
            "name": "L",
            "op": "lookup",
            "source": "context.name",
            "table": {"a": 5, "b": 6},
            "match": "exact",
            "default": 7,
        },
    )
    seed["compute"].insert(2, {"name": "M", "op": "max", "field": "meta.stars", "default": -1})
    seed["compute"].insert(3, {"name": "C", "op": "case", "rules": [{"when": "M < 8", "then": 9}, {"else": 10}]})
    seed["output"] += ["K", "L", "C"]
    constants = find_constants(library.load_seed(seed))
    assert [(number.step, number.value) for number in constants] == [
        ("K", 2.5), ("L", 5), ("L", 6), ("L", 7), ("M", -1), ("C", 8), ("C", 9), ("C", 10), ("N_GOOD", 3), ("N_GOOD", 4),
        ("VERDICT", 0.5), ("VERDICT", 1),
    ]  # fmt: skip
    assert {number.enclosing_text for number in constants if number.step in "KLMC"} == {
        "value", "'a'", "'b'", "default", "M < 8", "result of rule 1", "else",
    }  # fmt: skip
    assert [number.value for number in constants if not number.is_json] == [8, 0.5, 1]
    formulas = {
        "n": "len([e for e in extractions if e['year'] >= 2023])",
        "m": "max((e['year'] for e in extractions), default=2020)",
        "s": "n * 1.5 - m",
    }
    steps = [{"name": name, "formula": formula} for name, formula in formulas.items()]
    v1 = {
        "task_name": "T",
        "extraction_fields": [{"name": "k", "values": ["a", "b"]}],
        "compute_dag": steps,
        "output_fields": ["s"],
    }
    constants = find_constants(library.load_seed(v1))
    assert [(number.step, number.value, number.is_year) for number in constants] == [
        ("n", 2023, True),
        ("m", 2020, True),
        ("s", 1.5, False),
    ]


def test_years() -> None:
    """A year that the years of the data are compared with, or taken from, moves by one; a number as large does not."""
    years = {number.value for number in find_constants(LOADED[G1A]) if number.is_year}
    assert years == {2020, 2023, 2025}
    seed = tiny_seed()
    seed["compute"] += [
        {"name": "NOW", "op": "const", "value": 2025},
        {"name": "LAST", "op": "max", "field": "meta.year", "default": 2000},
        {"name": "AGE", "op": "expr", "expr": "NOW - LAST"},
        {"name": "POINTS", "op": "expr", "expr": "TOTAL + 2000"},
    ]
    seed["output"] += ["AGE", "POINTS"]
    constants = {
        number.step: number.is_year for number in find_constants(library.load_seed(seed)) if number.value >= 2000
    }
    assert constants == {"NOW": True, "LAST": True, "POINTS": False}


@given(st.integers(-(10**9), 10**9), st.sampled_from([-0.1, 0.1, 0.001, -2.0]))
def test_integers_move_by_one_at_least(value: int, share: float) -> None:
    other = move_number(value, share, is_year=False)
    assert type(other) is int
    assert (other - value) * share > 0
    assert abs(other - value) == max(1, round(abs(value * share)))


@pytest.mark.parametrize(
    ("value", "share", "other"), [(0.15, 0.1, 0.165), (-0.5, 0.1, -0.45), (0.0, 0.1, 0.0), (4.0, -0.1, 3.6)]
)
def test_numbers_move_by_their_share(value: float, share: float, other: float) -> None:
    """Up is up, also of a negative number, and the digits are those that a person would write."""
    assert move_number(value, share, is_year=False) == other


def test_a_negative_number_in_a_formula_is_in_parentheses() -> None:
    """-1 ** 2 is not (-1) ** 2."""
    seed = tiny_seed()
    seed["compute"][3]["expr"] = "N_GOOD + 0 ** 2"
    constant = next(number for number in find_constants(library.load_seed(seed)) if number.step == "SHARE")
    assert isinstance(constant, Constant)
    assert json.loads(constant.replace_with(-1).text)["compute"][3]["expr"] == "N_GOOD + (-1) ** 2"


# --- what flips


def list_verdicts(seed: Any, lines: list[dict[str, Any]]) -> list[Any]:
    evaluator = library.load_evaluator(seed)
    return [evaluator.evaluate(line["rows"], line["context"])["VERDICT"] for line in lines]


def build_good_rows(*shares: tuple[int, int]) -> list[dict[str, Any]]:
    """Restaurants of the small seed with so many good and bad reviews."""
    return [
        tiny_rows(f"r{i}", *(tiny_row(f"g{j}") for j in range(n)), *(tiny_row(f"b{j}", "bad") for j in range(m)))
        for i, (n, m) in enumerate(shares)
    ]


def build_table_seed(base: float = 2.0, key: float = 0.5, least: float = 4.0) -> dict[str, Any]:
    """A seed with a verdict on a score of stars and a table's value."""
    seed = tiny_seed(parameters={}, output=["SCORE", "VERDICT"])
    seed["compute"] = [
        {"name": "BASE", "op": "const", "value": base},
        {"name": "PLACE", "op": "lookup", "source": "context.name", "table": {"r1": key, "r2": 1.0}, "match": "substring_first",
         "default": 0.0},
        {"name": "STARS", "op": "sum", "expr": "meta.stars", "where": {"extraction.mood": "good"}},
        {"name": "SCORE", "op": "expr", "expr": "BASE * PLACE + STARS / 4"},
        {"name": "VERDICT", "op": "case", "source": "SCORE", "rules": [{"when": f"< {least}", "then": "low"}, {"else": "high"}]},
    ]  # fmt: skip
    return seed


@pytest.mark.thorough
def test_flips_are_those_of_the_edited_seed() -> None:
    """For a threshold, a base and the entry of a table: the same edit, done by hand and evaluated."""
    lines = build_good_rows((1, 0), (2, 1), (1, 2), (2, 1), (3, 0), (0, 2), (2, 2))
    ranking = rank_numbers(build_table_seed(), lines, by=50)
    edits = {"least": ("VERDICT", "SCORE < 4.0", 4.0), "base": ("BASE", "value", 2.0), "key": ("PLACE", "'r1'", 0.5)}
    for name, (step, inside, value) in edits.items():
        variants = ranking[step, inside].variants
        assert [variant.value for variant in variants] == [value / 2, value * 1.5]
        for variant in variants:
            pairs = zip(
                list_verdicts(build_table_seed(), lines),
                list_verdicts(build_table_seed(**{name: variant.value}), lines),
                strict=True,
            )
            assert variant.flips == Counter(pair for pair in pairs if pair[0] != pair[1])
    assert all(ranking[step, inside].flip_count > 0 for step, inside, _ in edits.values())


def test_the_ranking() -> None:
    """Most verdicts first, then the largest change of the score, then the order of the file; parameters take part."""
    ranking = sensitivity(tiny_seed(), build_good_rows((1, 1), (2, 0), (1, 0), (11, 10)), by=10)
    assert [(number.step, number.enclosing_text, number.flip_count) for number in ranking.numbers] == [
        ("VERDICT", "context.is_open == 1", 4),
        ("", "param.LEAST", 3),
        ("VERDICT", "SHARE > 0.5", 2),
    ]
    down, up = ranking.numbers[2].variants
    assert (down.value, down.flips, up.value, up.flips) == (0.45, {("bad", "good"): 1}, 0.55, {("good", "bad"): 1})
    assert ranking.restaurants == 4


def test_a_guard_that_does_not_guard() -> None:
    """Restaurants that fail with a variant are counted apart: they have no other verdict."""
    seed = tiny_seed()
    seed["compute"][3]["expr"] = "N_GOOD / N if N > 0 else 0.0"
    guard = rank_numbers(seed, build_good_rows((0, 0), (2, 0)))["SHARE", "N > 0"]
    assert guard.down is not None
    assert (guard.down.failure_count, guard.down.flip_count) == (1, 0)


def test_what_is_skipped_says_why() -> None:
    """What stays as it is, what makes the seed invalid, and a parameter out of its bounds."""
    seed = tiny_seed()
    seed["parameters"]["LEAST"]["maximum"] = 2
    seed["compute"][3]["expr"] = "N_GOOD / (1 - 0) + 0.0"
    ranking = sensitivity(seed, build_good_rows((1, 1)))
    reasons = {what: reason for what, reason, _ in ranking.skipped}
    assert set(reasons) == {"3 in param.LEAST", "0.0 in N_GOOD / (1 - 0) + 0.0", "0 in 1 - 0", "1 in 1 - 0"}
    assert "must be from 1 to 2" in reasons["3 in param.LEAST"]
    assert "divides by zero" in reasons["1 in 1 - 0"]


def test_without_a_verdict_numbers_are_ranked() -> None:
    """A numeric output that is named is what is looked at."""
    ranking = sensitivity(tiny_seed(), build_good_rows((1, 1)), output="SHARE")
    assert ranking.verdict is None
    assert ranking.score == "SHARE"
    assert all(number.flip_count == 0 for number in ranking.numbers)
    with pytest.raises(library.DataError, match="there is no output `NONE`"):
        sensitivity(tiny_seed(), build_good_rows((1, 1)), output="NONE")


# --- the renderings and the command


def rank_small_seed() -> Sensitivity:
    return sensitivity(
        tiny_seed(), [*build_good_rows((1, 1), (2, 0)), {"business_id": "bad", "context": {}, "rows": [{}]}]
    )


def test_json_is_plain() -> None:
    ranking = rank_small_seed()
    values = json.loads(json.dumps(ranking.json))
    keys = "seed by verdict score restaurants expected constants skipped failures"
    assert set(values) == {*keys.split()}
    assert set(values["constants"][0]) == {"value", "step", "inside", "place", "flipped", "down", "up"}
    assert set(values["constants"][0]["up"]) == {"value", "flipped", "failing", "flips", "changes", "broken"}
    assert len(ranking.failures.lines) == 1
    for text in (ranking.text, ranking.markdown, ranking._repr_html_()):
        assert "SHARE" in text


def test_the_command(tmp_path: Path) -> None:
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    lines = write_lines(tmp_path / "rows.jsonl", *build_good_rows((1, 1), (2, 0)))
    done = formulaseed("sensitivity", seed, "--rows", lines, "--by", "20", "--param", "LEAST=3", "--format", "json")
    assert done.status == 0
    assert json.loads(done.out)["constants"][0]["inside"] == "param.LEAST"
    assert formulaseed("sensitivity", seed, "--rows", lines, "--by", "0%").status == 2
    assert formulaseed("sensitivity", seed, "--rows", lines, "--output", "NONE").status == 1
    bad = write_lines(
        tmp_path / "bad.jsonl", *build_good_rows((1, 1)), {"business_id": "x", "context": {}, "rows": [{}]}
    )
    failing = formulaseed("sensitivity", seed, "--rows", bad)
    assert failing.status == 3
    assert "3 numbers moved by 10% over 1 restaurant" in " ".join(failing.out.split())
