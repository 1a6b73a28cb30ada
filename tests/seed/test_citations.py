"""A seed is compared with its policy: what it quotes, the values that it uses, and the sentences that it leaves out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from formulaseed.documents import analyse_text
from formulaseed.seed.citations import Gaps, Policy, find_gaps, list_citations, normalize, report_gaps
from formulaseed.seed.surface import Program
from formulaseed.seed.task_text import read_task
from formulaseed.source.json_reader import JsonObject
from formulaseed.source.text import Source
from hypothesis import given
from hypothesis import strategies as st

RULE = "Reviews from **2019** weigh `1.5`."


def seed_with(*steps: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A seed with these steps, which returns the last of them."""
    return {
        "task_name": "Cited",
        "extract": {"fields": []},
        "compute": [*steps],
        "output": [steps[-1]["name"]],
        **changes,
    }


def compare(policy: str, seed: dict[str, Any], no_rule: tuple[str, ...] = ()) -> Gaps:
    """Compare a seed without errors with the text of a policy."""
    analysis = analyse_text(Source("seed.json", json.dumps(seed)))
    assert not analysis.has_errors, analysis.diagnostics
    assert isinstance(analysis.parsed, Program)
    assert isinstance(analysis.document.tree, JsonObject)
    citations = list_citations(analysis.parsed, analysis.document.tree)
    return find_gaps(citations, Policy(read_task(policy.encode()).sentences), no_rule)


def constant(value: object, *sources: str) -> dict[str, Any]:
    return seed_with({"name": "X", "op": "const", "value": value, "sources": [*sources]})


def unstated(gaps: Gaps) -> list[object]:
    return [used.value for _, used in gaps.unstated]


# --- quotations


@pytest.mark.parametrize(
    ("policy", "quotation"),
    [
        (RULE, RULE),
        (RULE, "Reviews from 2019 weigh 1.5."),
        ("Reviews from\n  2019\tweigh\n1.5.", "Reviews from 2019  weigh 1.5."),
        ("1. Reviews from 2019 weigh 1.5.", "Reviews from 2019 weigh 1.5."),
        ("| a | weight |\n|---|---|\n| `2019` | 1.5 |", "2019 | 1.5"),
        ("| a | weight |\n|---|---|\n| `2019` | 1.5 |", "| 2019 | 1.5 |"),
        ("Since the start, reviews from 2019 weigh 1.5, others less.", "reviews from 2019 weigh 1.5"),
        ("Reviews from 2019 count. They weigh 1.5.", "Reviews from 2019 count. They weigh 1.5."),
    ],
)
def test_marks_and_white_space_do_not_matter(policy: str, quotation: str) -> None:
    gaps = compare(policy, constant(1.5, quotation))
    assert gaps == Gaps((), (), (), ())


@pytest.mark.parametrize(
    "quotation",
    [
        "Reviews from 2018 weigh 1.5.",
        "Reviews from 2019 weigh 1.55.",
        "reviews from 2019 weigh 1.5.",
        "Reviews from 2019 weigh 1",
        "weigh 1.5",
        "eviews from 2019 weigh 1.5.",
        "",
    ],
)
def test_every_word_of_a_quotation_matters(quotation: str) -> None:
    """Also its case; a part of a word is no quotation, nor are fewer than four words of a sentence."""
    gaps = compare(RULE, constant(1, quotation))
    expected = quotation != "Reviews from 2019 weigh 1"  # five words: a quotation that ends before the point of 1.5
    assert [one.value for _, one in gaps.misquotations] == ([quotation] if expected else [])


def test_multiplication_is_no_emphasis() -> None:
    """2*3 and 2 * 3 keep their signs, so that 23 is not read."""
    assert normalize("**Two** *or* _three_: 2*3, 2 * 3, `A_B`") == "Two or three: 2*3, 2 * 3, A_B"


# --- values


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (8.0, "The limit is 8."), (8, "The limit is 8.0."), (1000, "The limit is 1,000 points."),
        (3, "Three or more reviews."), (12, "At most twelve reviews."), (0.5, "It counts 50 % then."),
        (0.5, "It counts 50% then."), (50, "It counts 50 percent then."), (0.5, "It counts half."), (2, "It counts twice."),
        (-4, "It loses 4 points."), (0, "Nothing of that kind."), (1, "Nothing of that kind."), (-1.0, "Nothing of that kind."),
        (20, "It costs $20 or more."), ("Low Risk", "The verdict is low risk then."), ("walked_out", "They walked out then."),
        ("walked_out", "| walked_out |"), ("", "Nothing of that kind."), (True, "Nothing of that kind."),
    ],
)  # fmt: skip
def test_a_value_that_its_sentence_has(value: object, sentence: str) -> None:
    assert unstated(compare(sentence, constant(value, sentence))) == []


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (8, "The limit is 80."), (8, "The limit is 1.8."), (13, "Three or thirteen reviews."), (2, "The limit of N_2 is set."),
        (500, "It counts 50 % then."), (0.05, "It counts 50 % then."), ("severe", "Count them as `N_SEVERE` here."),
        ("Low", "The verdict is Lower then."), ("mild", "It was a milder one."),
    ],
)  # fmt: skip
def test_a_value_that_its_sentence_does_not_have(value: object, sentence: str) -> None:
    assert unstated(compare(sentence, constant(value, sentence))) == [value]


@given(st.integers(2, 10**9), st.integers(2, 10**9))
def test_a_sentence_states_the_number_in_it_and_no_other(number: int, other: int) -> None:
    """With separators of thousands and decimals or not."""
    for written in (str(number), f"{number:,}", f"{number}.0"):
        sentence = f"The limit is {written} points."
        assert unstated(compare(sentence, constant(other, sentence))) == [other] * (other != number)


def test_every_kind_of_part_is_compared() -> None:
    """Conditions, formulas, rules, tables and defaults of steps; values and bounds of fields, inputs and parameters."""
    step = {"sources": ["Nothing of that kind."]}
    field = {"name": "mood", "type": "enum", "values": {"fine": "It is"}, **step}
    seed = seed_with(
        {"name": "F", "op": "define_filter", "meta": {"year": {">=": 2019}}, **step},
        {"name": "N", "op": "count", "where": {"extraction.mood": "fine", "$F": True}, **step},
        {"name": "M", "op": "max", "field": "meta.stars", "default": 9, **step},
        {
            "name": "L",
            "op": "lookup",
            "source": "context.city",
            "table": {"Tampa": 7},
            "match": "exact",
            "default": 6,
            **step,
        },
        {"name": "E", "op": "expr", "expr": "N * 5 + M  # and 77", **step},
        {"name": "C", "op": "case", "rules": [{"when": "E > 4", "then": "high"}, {"else": "low"}], **step},
        context=[{"name": "tier", "type": "enum", "values": ["top"], **step}],
        extract={"fields": [field], "passes": 3},
        parameters={"P": {"type": "integer", "default": 11, "minimum": 2, "maximum": 22, **step}},
        review_handling={"max_length": 2000, "strategy": "reject"},
        **step,
    )
    gaps = compare("Nothing of that kind.", seed)
    assert {part.name for part, _ in gaps.unstated} == {
        "seed", "parameter P", "input tier", "field mood", "step F", "step N", "step M", "step L", "step E", "step C",
    }  # fmt: skip
    values = [3, 2000, 11, 2, 22, "top", "fine", 2019, "fine", 9, "Tampa", 7, 6, 5, 4, "high", "low"]
    assert sorted(map(str, unstated(gaps))) == sorted(map(str, values))
    places = [used.span.source.text[used.span.start : used.span.end].strip("\"'") for _, used in gaps.unstated]
    assert places == [str(value) for value in unstated(gaps)]


def test_a_false_quotation_states_nothing() -> None:
    gaps = compare("Nothing of that kind.", constant(15, "A severe reaction weighs 15."))
    assert unstated(gaps) == [15]


# --- sentences and parts


def test_each_sentence_is_cited_or_states_no_rule() -> None:
    """Headings need neither; a row of a table does, and a row that occurs twice is cited in both places."""
    policy = "# Title\n\nCount all. Higher is worse. Add two.\n\n| a | b |\n|---|---|\n| none | No |\n\nThen:\n\n| none | No |\n"
    gaps = compare(policy, constant(1, "Count all.", "none | No"), ("Higher is worse.",))
    assert [(sentence.text, sentence.line) for sentence in gaps.uncited] == [("Add two.", 3), ("Then:", 9)]


def test_parts_without_sources() -> None:
    """Nothing else is reported of them; the seed itself needs none unless it has a number."""
    seed = seed_with(
        {"name": "X", "op": "const", "value": 15},
        filter={"keywords": ["soup"]},
        parameters={"P": {"type": "integer", "default": 7}},
    )
    gaps = compare("Count all.", seed)
    assert [part.name for part in gaps.unsourced] == ["filter", "parameter P", "step X"]
    assert gaps.unstated == ()


def test_places_in_the_policy() -> None:
    """A sentence is underlined where it begins, also in the middle of a line."""
    policy = "Count all. Add two for\neach. Add it up."
    gaps = compare(policy, constant(1, "Count all."))
    findings = report_gaps(gaps, Source("task.md", policy), ())
    assert [(f.problem.line, f.problem.column, f.problem.end_column) for f in findings] == [(1, 12, 23), (2, 7, 17)]
    assert [f.gap for f in findings] == ["FS643 Add two for each.", "FS643 Add it up."]


@pytest.mark.parametrize("piece", ["- ", "| -", "**a** ", "* ", "a b c d e ", "`", "_", "1 ", "a. A"])
@pytest.mark.thorough
def test_long_policies_take_no_time(piece: str) -> None:
    text = f"{(piece * 200_000)[:400_000]} x y z"
    gaps = compare(text, constant(15, *[f"a b c d e a {n}" for n in range(90)], "x y z"))
    assert len(report_gaps(gaps, Source("task.md", text), ())) >= 90
