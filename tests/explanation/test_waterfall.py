"""The chart of a score: bars that join, at the places of their sums, the zones of the policy, and the reviews of each part."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from explaining import LINES, choose, count, explain_line, formula, make_seed
from formulaseed import explain, load_seed
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.text import build_page_blocks
from formulaseed.explanation.waterfall import build_waterfall
from formulaseed.pages.blocks import Bar, Card, Details, Heading, ListItem, Table, Waterfall
from formulaseed.testing import contexts as contexts_of
from formulaseed.testing import rows as rows_of
from helpers import TASKS
from hypothesis import given, settings
from hypothesis import strategies as st

Json = Any


def draw(explanation: Explanation) -> Waterfall:
    """Return the chart of an explanation that has one."""
    assert explanation.attribution is not None
    return build_waterfall(explanation, explanation.attribution, {explanation.verdict: "v1"})


def check_chart(explanation: Explanation) -> None:
    """Bars join from 0 to the score, at places in proportion to their sums; the score is in the zone of its verdict."""
    chart = draw(explanation)
    attribution = explanation.attribution
    assert attribution is not None
    assert len(chart.bars) == len(chart.rows) == len(chart.reviews) == len(attribution.parts) + 2
    *steps, total = chart.bars
    assert all(before.after == after.before for before, after in pairwise(steps))
    assert total.before == steps[0].before
    # the last threshold says how much of the axis a unit takes; sums are rounded to two decimals, places too
    place, limit = chart.limits[-1]
    unit = (place - total.before) / float(limit)
    for bar, row in zip(chart.bars, chart.rows, strict=True):
        assert bar.after - total.before == pytest.approx(unit * float(row[3]), rel=0.01, abs=unit * 0.006 + 0.02)
    for zone in chart.zones:
        assert zone.before <= zone.after
        if zone.before < total.after < zone.after:
            assert zone.text == explanation.verdict


@pytest.mark.parametrize("name", LINES)
def test_bars_join_and_end_at_the_score(name: str) -> None:
    explanation = explain_line(name)
    check_chart(explanation)
    chart = draw(explanation)
    assert [zone.text for zone in chart.zones] == ["Low Risk", "High Risk", "Critical Risk"]
    assert [text for _, text in chart.limits] == ["4", "8"]
    assert [place for place, _ in chart.limits] == [zone.after for zone in chart.zones[:2]]
    assert (chart.zones[0].before, chart.zones[-1].after) == (0, 100)


@pytest.mark.thorough
@pytest.mark.parametrize("task", ["g1a_v2", "wait_times", "kitchen_hygiene", "date_night"])
@settings(max_examples=8)
@given(data=st.data())
def test_any_rows_have_a_chart(task: str, data: st.DataObject) -> None:
    """Policies whose first rules compare something else, with sums of either sign and limits."""
    seed = load_seed(TASKS / task / "seed.json")
    explanation = explain(seed, data.draw(rows_of(seed)), data.draw(contexts_of(seed)), "b")
    if explanation.attribution is not None:
        check_chart(explanation)
    assert explanation.html


def test_reviews_are_beside_their_part() -> None:
    """With the quote for what the part counts, date, stars and useful votes, the main one first; facts name the listing."""
    chart = draw(explain_line("lotus-garden"))
    assert [len(items) for items in chart.reviews] == [0, 3, 1, 1, 2, 0, 1, 0, 0]
    first = chart.reviews[1][0]
    assert isinstance(first, Card)
    assert first.name == "lotus-garden-15"
    assert first.about == "2022-04-09, 1 star, 42 useful votes"
    assert "severe" in first.fields
    assert chart.rows[5][1:] == ("risk of the cuisine: Thai", "+0.50", "159.73", "20.00", "from the listing")


def score(expr: str, rules: dict[str, Any], number: int, limited: str = "RAW", **sections: Json) -> Explanation:
    """Explain a restaurant with some reviews by a seed that counts them as N and compares SCORE, which is RAW or `limited`."""
    where = {"extraction.topic": "a"}
    steps = [
        count("N", where),
        count("OTHER"),
        formula("RAW", expr),
        formula("SCORE", limited),
        choose("V", rules, "low"),
    ]
    rows = [{"review_id": f"r{place}", "extraction": {"topic": "a"}} for place in range(number)]
    return explain(make_seed(steps, "V", **sections), rows, {}, "b")


def test_zones_are_left_out_where_the_rules_compare_more() -> None:
    """A rule that also compares something else, or was not reached, says nothing about the number alone."""
    assert [zone.text for zone in draw(score("N * 1.0", {"SCORE >= 3": "high"}, 1)).zones] == ["low", "high"]
    for condition in ("SCORE >= 3 and OTHER > 9", "not (SCORE >= 3)"):
        rules = {condition: "high", "SCORE >= 0": "some"}
        assert [zone.text for zone in draw(score("N * 1.0", rules, 4)).zones] == []
    behind = {"SCORE >= 3": "high", "OTHER > 5": "many"}
    assert [zone.text for zone in draw(score("N * 1.0", behind, 4)).zones] == ["high"]


def test_far_sums_are_cut_off() -> None:
    """A sum that a limit takes back does not squeeze the thresholds: its bar goes beyond the axis, on either side."""
    high = draw(score("N * 100.0", {"SCORE >= 5": "high"}, 9, "min(10.0, RAW)"))
    assert high.bars[1].after > 100
    assert 20 < high.limits[0][0] < 80
    low = draw(score("N * -100.0", {"SCORE >= -5": "high"}, 9, "max(-10.0, RAW)"))
    assert low.bars[1].after < 0
    assert 20 < low.limits[0][0] < 80
    still = draw(score("N * 0.0", {"SCORE > 0": "high"}, 1))
    assert still.bars[-1] == Bar(still.bars[-1].before, still.bars[-1].before, "v1")


def test_many_reviews_are_counted() -> None:
    """Five have cards; the others are counted there, and follow below the chart, where all have."""
    explanation = score("N * 1.0", {"SCORE >= 3": "high"}, 9)
    *cards, rest = draw(explanation).reviews[1]
    assert (len(cards), rest) == (5, ListItem("and 4 other reviews"))
    assert explanation.html.count('<li class="card">') == 5 + 9


def test_a_page_is_folded_below_the_facts() -> None:
    """The chart, what would change it, and the facts are in sight; without a chart the reviews are, too."""
    nullable = {"type": "integer", "nullable": True}
    sections: Json = {
        "context": [{"name": "tier", **nullable}],
        "parameters": {"LIMIT": {"type": "integer", "default": 3}},
    }
    with_chart = score("N * 1.0 + coalesce(context.tier, 0)", {"SCORE >= param.LIMIT": "high"}, 4, **sections)
    assert [(fact.name, fact.label, fact.value) for fact in with_chart.facts] == [
        ("context.tier", "tier", None), ("param.LIMIT", "limit", 3),
    ]  # fmt: skip
    blocks = [*build_page_blocks(with_chart)]
    assert [type(block) for block in blocks if isinstance(block, Waterfall | Heading)] == [Waterfall, Heading]
    facts = next(block for block in blocks if type(block) is Table)
    assert facts.rows == [("tier", "context.tier", "missing"), ("limit", "param.LIMIT", "3")]
    details = [block.summary for block in blocks if isinstance(block, Details)]
    assert details == [
        "The formulas", "The rules of V", "What would change it", "How it was computed",
        "The reviews behind it, of 4 reviews extracted", "All outputs, and what made them",
    ]  # fmt: skip
    without = [*build_page_blocks(score("N * 1.0", {"N > 2": "many", "SCORE > 1": "some", "SCORE > 2": "more"}, 4))]
    assert [block.text for block in without if isinstance(block, Heading)] == [
        "The reviews behind it, of 4 reviews extracted"
    ]
