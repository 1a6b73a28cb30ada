"""Every sentence about a change comes true: the input is changed by its data, and the module evaluates it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from explaining import G1A, LINES, choose, count, explain_line, explain_run, formula, join_words, make_seed
from formulaseed import DataError, EvaluationError, Evaluator, explain, extract, load_evaluator
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.model import MAX_ADDED_REVIEWS, MAX_LEFT_OUT_REVIEWS, Change
from formulaseed.explanation.summary import describe_changes, format_score, join_ways
from formulaseed.testing import contexts as contexts_of
from formulaseed.testing import rows as rows_of
from formulaseed.testing.random_seeds import seeds
from helpers import EXAMPLES, TASKS, command
from hypothesis import assume, given
from hypothesis import strategies as st

Json = Any
V2_TASKS = [
    pytest.param(name, marks=() if name in ("g1a_v2", "wait_times") else pytest.mark.thorough)
    for name in sorted(path.parent.name for path in TASKS.glob("*/seed.json"))
    if name != "g1a_v1"
]


def evaluate_change(evaluator: Evaluator, change: Change, rows: Sequence[Json], context: Json) -> Json:
    """Return all steps after a change, made by its data alone: reviews left out, rows added, a parameter set."""
    reviews = [row for row in rows if row.get("review_id") not in change.review_ids]
    assert len(rows) - len(reviews) == len(change.review_ids)
    if change.row is not None:
        reviews += [{**change.row, "review_id": f"added {number}"} for number in range(int(change.number))]
    parameters = None
    if change.parameter is not None:
        whole = change.number == int(change.number)
        parameters = {change.parameter: int(change.number) if whole else change.number}
    return evaluator.trace(reviews, context, parameters)


def write_sentences(explanation: Explanation) -> list[str]:
    """The sentences about changes, each with all ways."""
    return [f"{sentence.verdict} {join_ways(sentence.ways)}." for sentence in describe_changes(explanation)]


def check_sentences(explanation: Explanation, evaluator: Evaluator, rows: Sequence[Json], context: Json) -> int:
    """Assert that all sentences of an explanation come true; return how many changes they state."""
    checked = 0
    attribution = explanation.attribution
    for sentence in describe_changes(explanation):
        assert len(sentence.changes) == len(sentence.scores) > 0
        for change, score in zip(sentence.changes, sentence.scores, strict=True):
            steps = evaluate_change(evaluator, change, rows, context)
            assert steps[explanation.step] == sentence.verdict != explanation.verdict
            if score:
                assert attribution is not None
                assert score == format_score(float(steps[attribution.step]))
                assert score in join_ways(sentence.ways)
            checked += 1
    assert checked == len(explanation.changes)
    return checked


@pytest.mark.parametrize("task", V2_TASKS)
def test_every_sentence_comes_true(task: str) -> None:
    """Of all restaurants of the examples: leaving out, adding or setting what it says gives its verdict and its score."""
    seed = TASKS / task / "seed.json"
    lines = [*LINES.values()] if task == "g1a_v2" else extract(seed, EXAMPLES / "contexts.jsonl")
    evaluator = load_evaluator(seed)
    explanations = explain_run(seed, lines)
    checked = [
        check_sentences(explanation, evaluator, line["rows"], line["context"])
        for explanation, line in zip(explanations, lines, strict=True)
    ]
    assert sum(checked) > len(lines)
    for explanation in explanations:
        assert len([line for line in explanation.text.splitlines() if line]) <= 14


@pytest.mark.thorough
@given(seeds(), st.data())
def test_every_sentence_comes_true_for_any_seed(seed: Json, data: st.DataObject) -> None:
    """Random seeds, rows and contexts; the words for names and rules never fail."""
    rows, context = data.draw(rows_of(seed)), data.draw(contexts_of(seed))
    evaluator = load_evaluator(seed)
    rows = [{**row, "review_id": f"r{place}"} for place, row in enumerate(rows)]
    try:
        evaluator.trace(rows, context)
    except (EvaluationError, DataError):
        assume(False)
    check_sentences(explain(seed, rows, context, "b"), evaluator, rows, context)


def test_what_is_no_advice_is_not_said() -> None:
    """Dozens of reviews more or fewer, and scores that the rule of the new verdict does not compare."""
    verdict = choose("V", {"N < 4": "few", "SCORE > 50": "high", "SCORE > 45": "middle"}, "low")
    steps = [count("N"), formula("SCORE", "2 * N"), verdict]
    explanation = explain(make_seed(steps, "V"), [{"review_id": f"r{place}"} for place in range(10)], {}, "b")
    assert [change.verdict for change in explanation.changes] == []
    assert explanation.not_found == ["few", "high", "middle"]
    assert (MAX_ADDED_REVIEWS, MAX_LEFT_OUT_REVIEWS) == (12, 5)
    explanation = explain(make_seed(steps, "V"), [{"review_id": f"r{place}"} for place in range(5)], {}, "b")
    (sentence,) = describe_changes(explanation)
    assert (sentence.verdict, sentence.scores) == ("few", [""])


def test_single_reviews_share_a_sentence_and_parts_have_their_code() -> None:
    """With the score without each; several reviews that are a whole part are named by its code."""
    sentences = [
        f"{sentence.verdict} {join_ways(sentence.ways)}."
        for sentence in describe_changes(explain_line("hanks-blue-plate"))
    ]
    assert sentences[0].startswith("Low Risk if either of two reviews did not count (R1 2.85; R2 3.71)")
    assert [
        f"{sentence.verdict} {join_ways(sentence.ways)}." for sentence in describe_changes(explain_line("lotus-garden"))
    ] == ["Low Risk if R1, R2 and R3 did not count (2.00)."]


def test_a_review_of_a_larger_part_is_named_with_its_code() -> None:
    """Only parts that are shown give names: on the first screen those in the table, without a choice all."""
    explanation = explain_line("marigold-bakehouse")
    (low, critical) = describe_changes(explanation)
    assert low.ways[-1].endswith("“helpful staff” (3.64 for copies of marigold-bakehouse-10 of R2)")
    assert critical.ways[-1].endswith("counted as “moderate reactions” (9.79 for a copy of the review of R1)")
    (low, _) = describe_changes(explanation, parts=())
    assert low.ways[0] == "if marigold-bakehouse-05 did not count (1.50)"
    assert low.ways[1].endswith("(3.64 for copies of marigold-bakehouse-10)")


def test_a_copy_of_a_review_does_what_the_sentence_says() -> None:
    """The rows of the named review are added and evaluated, for the whole run and for each restaurant by itself."""
    rows = {row["review_id"]: row for line in LINES.values() for row in line["rows"]}
    alone = [explain_line(name) for name in LINES]
    copied = 0
    for explanation in [*explain_run(G1A, [*LINES.values()]), *alone]:
        line = LINES[explanation.business_id]
        for sentence in describe_changes(explanation):
            for change in sentence.changes:
                if change.is_copy:
                    review = rows[change.like or ""]
                    added = [{**review, "review_id": f"copy {place}"} for place in range(int(change.number))]
                    values = load_evaluator(G1A).trace([*line["rows"], *added], line["context"])
                    assert values["VERDICT"] == change.verdict
                    copied += 1
            assert sum("cop" in way for way in sentence.ways) <= sum(change.is_copy for change in sentence.changes)
    assert copied > len(LINES)


def test_added_reviews_are_those_of_the_run() -> None:
    """One of another restaurant that a step counts is preferred to values that no review has; these come last, and say so."""
    fields = [{"name": "tone", "type": "enum", "values": ["none", "good", "bad"]}]
    counts = [count(f"N_{tone.upper()}", {"extraction.tone": tone}) for tone in ("good", "bad")]
    seed = make_seed([*counts, choose("V", {"N_GOOD > 0": "good", "N_BAD > 1": "bad"}, "fair")], "V", fields=fields)
    rows = {"a": "none", "b": "bad"}
    lines: list[Json] = [
        {"business_id": name, "context": {}, "rows": [{"review_id": f"{name}1", "extraction": {"tone": tone}}]}
        for name, tone in rows.items()
    ]
    first, _ = explain_run(seed, lines)
    assert write_sentences(first) == [
        "good with 1 new review counted as “good”, which no review of this run is (1.00).",
        "bad with 2 new reviews counted as “bad” (copies of b1).",
    ]
    assert [(change.like, change.is_observed) for change in first.changes] == [("a1", False), ("b1", True)]
    alone = explain(seed, lines[0]["rows"], {}, "a")
    assert [change.is_observed for change in alone.changes] == [False, False]


def test_the_command_reads_the_reviews_of_all_restaurants() -> None:
    """`explain` of one restaurant says what the report says of it."""
    done = command(
        "explain", TASKS / "g1a_v2" / "seed.json", "--rows", EXAMPLES / "rows-g1a_v2.jsonl", "--id", "slice-parade"
    )
    report = {explanation.business_id: explanation for explanation in explain_run(G1A, [*LINES.values()])}
    assert done.out == report["slice-parade"].text
    assert "a copy of farol-azul-12" in join_words(done.out)
