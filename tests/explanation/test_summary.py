"""The first screen: a sum of reasons that is right, sentences about changes that come true, and at most 14 lines."""

from __future__ import annotations

import math
import re

import pytest
from explaining import G1A, LINES, choose, count, explain_line, formula, make_seed
from formulaseed import explain, load_evaluator, load_seed
from formulaseed.explanation.summary import build_parts_table
from formulaseed.testing import contexts as contexts_of
from formulaseed.testing import reference_evaluate
from formulaseed.testing import rows as rows_of
from helpers import TASKS
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize("name", LINES)
def test_the_parts_add_up_to_the_score(name: str) -> None:
    """The base and all changes are the score; the columns of the table add up as they are written; 14 lines at most."""
    explanation = explain_line(name)
    attribution = explanation.attribution
    assert attribution is not None
    total = attribution.base + math.fsum(part.change for part in attribution.parts)
    assert math.isclose(total, attribution.value, rel_tol=1e-9, abs_tol=1e-9)
    assert attribution.value == explanation.outputs["FINAL_RISK_SCORE"]
    table = build_parts_table(explanation, attribution)
    scores = [float(row[3]) for row in table.rows]
    for before, row in zip(scores, table.rows[1:], strict=False):
        assert round(before + float(row[2]), 2) == float(row[3])
    assert math.isclose(scores[-1], attribution.value, abs_tol=0.005)
    lines = explanation.text.splitlines()
    assert len(lines) <= 14
    assert all(lines)
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("name", LINES)
def test_the_base_is_the_score_without_the_parts(name: str) -> None:
    """Without the reviews of all parts, and with a cuisine that is in no table, the policy gives the base."""
    line, attribution = LINES[name], explain_line(name).attribution
    assert attribution is not None
    left_out = {review for part in attribution.parts for review in part.reviews}
    rows = [row for row in line["rows"] if row["review_id"] not in left_out]
    context = {**line["context"], **({"categories": ""} if any(part.fields for part in attribution.parts) else {})}
    counted = load_evaluator(G1A).trace(rows, context)
    assert math.isclose(counted["RAW_RISK"], attribution.base, abs_tol=1e-9)


@pytest.mark.parametrize("name", LINES)
def test_a_part_says_what_the_policy_gives_without_it(name: str) -> None:
    """The reviews of each part are left out, and evaluated: the score and, if it is another one, the verdict."""
    line, explanation = LINES[name], explain_line(name)
    assert explanation.attribution is not None
    for part in explanation.attribution.parts:
        if part.source == "reviews":
            rows = [row for row in line["rows"] if row["review_id"] not in part.reviews]
            values = load_evaluator(G1A).trace(rows, line["context"])
            assert (part.without, part.verdict_without or explanation.verdict) == (
                values["FINAL_RISK_SCORE"], values["VERDICT"],
            )  # fmt: skip


def test_a_part_that_alone_would_do_the_opposite_is_named() -> None:
    """An old mild reaction raises the score; beside severe ones it lowers the share of recent reactions."""
    line, explanation = LINES["golden-carp"], explain_line("golden-carp")
    assert explanation.attribution is not None
    assert "R3 can raise or lower the score, depending on which other parts count." in " ".join(
        explanation.text.split()
    )
    part = next(part for part in explanation.attribution.parts if part.code == "R3")
    counted = {review for other in explanation.attribution.parts for review in other.reviews} - {*part.reviews}
    rows = [row for row in line["rows"] if row["review_id"] not in counted]
    alone = load_evaluator(G1A).trace(rows, {**line["context"], "categories": ""})
    assert part.alone == pytest.approx(alone["RAW_RISK"])
    assert part.alone > explanation.attribution.base


@pytest.mark.parametrize("name", LINES)
def test_signs_that_differ_are_named(name: str) -> None:
    """Parts in the table that raise the score on average, but alone or beside all others lower it, or the other way around.

    Beside all others they can also have no effect, unless the score is limited.
    """
    explanation = explain_line(name)
    attribution = explanation.attribution
    assert attribution is not None
    text = " ".join(explanation.text.split())
    found: dict[str, str] = {}
    for codes, words in re.findall(r"\b(R\d[^.;]*?) can ([^.]*), depending on which other parts count\.", text):
        found |= dict.fromkeys(re.split(r", | and ", codes), words)
    is_limited = any(part.source == "limit" for part in attribution.parts)
    for part in attribution.parts:
        if f" {part.code} " not in text or part.without is None or part.alone is None:
            continue
        alone, beside = round(part.alone - attribution.base, 2), round(attribution.value - part.without, 2)
        expected = None
        if alone * part.change < 0 or beside * part.change < 0:
            expected = "raise or lower the score"
        elif beside == 0 and not is_limited:
            expected = "change the score or leave it as it is"
        assert found.pop(part.code, None) == expected
    assert not found


def test_all_rules_are_in_the_scale() -> None:
    """Also those that compare something else than the score: in words if there is one comparison."""
    rules = {"N < 2": "few", "SCORE > 8 and N > 4": "many", "SCORE > 6": "high"}
    steps = [count("N"), formula("SCORE", "N * 2.0"), choose("V", rules, "low")]
    text = explain(make_seed(steps, "V"), [{"review_id": f"r{place}"} for place in range(3)], {}, "b").text
    assert "(few under 2, many by another rule, high if “score” is over 6, else low)" in text


@pytest.mark.parametrize("task", ["g1a_v2", "wait_times", "kitchen_hygiene", "date_night"])
@given(data=st.data())
@pytest.mark.thorough
def test_the_parts_add_up_for_any_rows(task: str, data: st.DataObject) -> None:
    """Random rows of policies whose scores divide, multiply, round and take logarithms; the value is the reference's."""
    seed = load_seed(TASKS / task / "seed.json")
    rows = data.draw(rows_of(seed))
    context = data.draw(contexts_of(seed))
    explanation = explain(seed, rows, context, "b")
    attribution = explanation.attribution
    if attribution is None:
        return
    total = attribution.base + math.fsum(part.change for part in attribution.parts)
    assert math.isclose(total, attribution.value, rel_tol=1e-6, abs_tol=1e-6)
    assert attribution.value == reference_evaluate(seed, rows, context)[attribution.step]
    assert explanation.text.count("\n") <= 30


def test_a_verdict_of_another_rule_has_no_sum() -> None:
    """Where the rule that holds compares something else than the score, its sentence takes the place of the sum."""
    steps = [
        count("N"),
        formula("SCORE", "N * 2.0"),
        choose("V", {"N == 0": "none", "SCORE > 3": "high", "SCORE > 1": "some"}, "low"),
    ]
    seed = make_seed(steps, "V")
    assert explain(seed, [], {}, "b").attribution is None
    assert "none because the number of “n” is 0." in explain(seed, [], {}, "b").text
    high = explain(seed, [{"review_id": "r", "extraction": {}}] * 1, {}, "b")
    assert high.attribution is not None
    assert (high.verdict, high.attribution.step) == ("some", "SCORE")


@pytest.mark.parametrize(("adverse", "labels"), [("higher", ["bad"]), ("lower", ["good"]), (None, ["bad", "good"])])
def test_reasons_are_the_parts_that_hurt(adverse: str | None, labels: list[str]) -> None:
    """`adverse` says which direction speaks against a restaurant; without it both do, the largest first."""
    fields = [{"name": "tone", "type": "enum", "values": ["none", "good", "bad"]}]
    score = formula("SCORE", "3.0 * N_BAD - 2.0 * N_GOOD") | ({} if adverse is None else {"adverse": adverse})
    steps = [count("N_BAD", {"extraction.tone": "bad"}), count("N_GOOD", {"extraction.tone": "good"}), score]
    seed = make_seed([*steps, choose("V", {"SCORE > 0": "bad"}, "good")], "V", fields=fields)
    rows = [{"review_id": tone, "extraction": {"tone": tone}} for tone in ("good", "bad", "none")]
    explanation = explain(seed, rows, {}, "b")
    reasons = explanation.select_reasons()
    assert [reason.label for reason in reasons] == labels
    assert {reason.label: reason.change for reason in reasons} == {
        label: {"bad": 3.0, "good": -2.0}[label] for label in labels
    }
    assert {review for reason in reasons for review in reason.reviews} == {*labels}
    assert explanation.attribution is not None
    assert explanation.attribution.uncounted == 1


def test_many_groups_share_a_part() -> None:
    """Parts beyond eight are one, and all still add up."""
    fields = [{"name": f"f{place}", "type": "boolean", "default": False} for place in range(12)]
    counts = [count(f"N{place}", {f"extraction.f{place}": True}) for place in range(12)]
    score = formula("SCORE", " + ".join(f"{place + 1} * N{place}" for place in range(12)))
    seed = make_seed([*counts, score, choose("V", {"SCORE > 9": "high"}, "low")], "V", fields=fields)
    rows = [{"review_id": f"r{place}", "extraction": {f"f{place}": True}} for place in range(12)]
    attribution = explain(seed, rows, {}, "b").attribution
    assert attribution is not None
    assert len(attribution.parts) == 8
    assert (attribution.base, round(sum(part.change for part in attribution.parts), 9)) == (0.0, 78.0)
    assert attribution.parts[0].label == "5 smaller parts together"
