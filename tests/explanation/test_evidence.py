"""Explanations of the reviews behind a value, and of reviews that would change the verdict."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from explaining import G1A, LINES, SEED, choose, count, explain_line, formula, join_words, make_seed
from formulaseed import diff, explain
from formulaseed.explanation.evidence_text import describe_exclusions
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.model import Change, Evidence
from formulaseed.pages.values import format_plain
from formulaseed.testing import reference_evaluate
from helpers import EXAMPLES, command, read_lines, write_lines

Json = Any
SOME = choose("V", {"N > 0": "some"}, "none")
"""A verdict by the count `N`."""


def find_evidence(explanation: Explanation | str, step: str) -> Evidence:
    """Return the evidence of a step, of an explanation or of a restaurant of the examples."""
    if isinstance(explanation, str):
        explanation = explain_line(explanation)
    return next(part for part in explanation.evidence if part.step == step)


def explain_steps(*compute: Json, rows: Any = (), output: str | None = None) -> Explanation:
    """Explain the last step of a seed, or `output`, for rows that are values of `meta`, called r0, r1, r2."""
    reviews = [{"review_id": f"r{at}", "meta": meta} for at, meta in enumerate(rows)]
    return explain(make_seed([*compute], output or compute[-1]["name"]), reviews, {}, "b")


def additions(name: str) -> list[Change]:
    return [change for change in explain_line(name).changes if change.kind == "more reviews"]


@pytest.mark.parametrize("name", LINES)
@pytest.mark.thorough
def test_all_of_an_added_review_that_decides_is_named(name: str) -> None:
    """A field that a sentence does not name can have any other value, and the verdict is the same."""
    line, unnamed = LINES[name], {"funny": 99, "cool": 99, "month": None}
    labels = {field.name: f"“{field.label}”" for field in G1A.program.fields}
    labels |= {"stars": "star rating", "useful": "number of useful votes"}
    for change in additions(name):
        assert change.row is not None
        for key, other in unnamed.items():
            assert key not in change.text
            row = copy.deepcopy(change.row)
            row["meta"][key] = other
            row["meta"].pop("date", None)
            steps = reference_evaluate(G1A, [*line["rows"], *[row] * int(change.number)], line["context"])
            assert steps["VERDICT"] == change.verdict
        for key, value in {**change.row["extraction"], **change.row["meta"]}.items():
            label = labels.get(key, key)
            forms = (f"{label} {format_plain(value)}", f"{label} is {format_plain(value)}")
            assert key in (*unnamed, "date") or any(form in change.text for form in forms), key


def test_an_added_review_is_one_of_the_restaurants_or_the_latest_but_for_what_a_step_asks_for() -> None:
    """The latest that a step counts is copied, or else the latest of all, by name; without reviews a row that is stated."""
    high, low = additions("nonna-pia")
    assert (high.verdict, low.verdict) == ("High Risk", "Low Risk")
    (copied,) = [row for row in LINES["nonna-pia"]["rows"] if row["review_id"] == "nonna-pia-06"]
    assert high.row == low.row == copied
    assert high.text.startswith("with 4 new reviews like nonna-pia-06 (“allergic reaction” none, “whose story it is” ")
    for name, number in ("slice-parade", 2), ("rusty-anchor", 1):
        latest = max(LINES[name]["rows"], key=lambda row: row["meta"]["date"])
        meta = latest["meta"] | {"date": f"{latest['meta']['date'][:7]}-01"}
        changed = [change for change in additions(name) if not change.is_observed]
        assert [change.row and change.row["meta"] for change in changed] == [meta] * number
        assert all(f"(otherwise as in {latest['review_id']}: " in change.text for change in changed)
    explanation = explain(G1A, [], {"categories": "Thai"}, "b")
    assert all("(assumed, as there is no review to go by: " in change.text for change in explanation.changes)
    assert "star rating 3, number of useful votes 0, year 2025)" in explanation.changes[0].text
    (more,) = explain_steps(count("N", {"meta.stars": {">": 2}}), SOME).changes
    assert more.text == "with 1 new review (assumed, as there is no review to go by: star rating 3)"


def test_each_verdict_is_reached_or_said_not_to_be() -> None:
    """Also one for which more reviews have to be left out than for another one; what was searched is said first."""
    carp = explain_line("golden-carp")
    assert [(change.verdict, change.number, change.kind) for change in carp.changes] == [
        ("High Risk", 5, "fewer reviews"),
    ]  # fmt: skip
    assert carp.not_found == ["Low Risk"]
    assert "golden-carp-11, golden-carp-04 did not count" in join_words(carp.steps_text)
    lotus = explain_line("lotus-garden")
    assert lotus.not_found == ["High Risk"]
    searched = (
        "Tried: each review left out, some combinations of up to 5, up to 12 reviews of one kind added, each parameter."
    )
    order = [
        searched,
        "- Low Risk if R1, R2 and R3 did not count (2.00) - if reviews lotus-",
        "High Risk: none of these leads there",
    ]
    assert sorted(order, key=join_words(lotus.steps_text).index) == order
    assert all("none of these leads there" in form for form in (lotus.html, lotus.markdown))


def test_verdicts_between_two_others_are_found() -> None:
    """One that only some numbers of reviews give."""
    verdict = choose("V", {"N < 10": "few", "N < 12": "some"}, "many")
    explanation = explain_steps(count("N", {"meta.stars": 1}), verdict, rows=[{"stars": 5}])
    assert [(change.verdict, change.number) for change in explanation.changes] == [("some", 10), ("many", 12)]
    assert explanation.not_found == []


def test_a_default_is_not_shown_as_a_value_of_the_data() -> None:
    """The year of the last incident where there is none: in the evidence, in the tree, and in what would change it."""
    explanation = explain_line("slice-parade")
    year = find_evidence(explanation, "MOST_RECENT_YEAR")
    assert (year.value, year.is_default, year.number, year.reviews) == (2020, True, 0, [])
    text = join_words(explanation.steps_text)
    assert "MOST_RECENT_YEAR = 2020, the default: none of 5 reviews, where it counts as “firsthand reaction”" in text
    assert "MOST_RECENT_YEAR = 2020, the default, as no review counts: max of meta.year" in text
    assert "MOST_RECENT_YEAR 2020 (the default) to 2022" in text
    assert "the default, as no review counts" in explanation.html
    assert "MOST_RECENT_YEAR 2017 to 2020 (the default)" in join_words(explain_line("nonna-pia").steps_text)


def test_a_value_that_equals_the_default_is_no_default_where_a_review_counts() -> None:
    """A review of the year that is the default counts as any other."""
    last = {"name": "LAST", "op": "max", "field": "meta.year", "where": {"meta.stars": 1}, "default": 2020}
    rows = [{"stars": 1, "year": 2020}, {"stars": 5, "year": 2021}]
    explanation = explain_steps(last, choose("V", {"LAST > 2020": "new"}, "old"), rows=rows)
    assert [step.is_default for step in explanation.steps] == [False, False]
    (more,) = explanation.changes
    assert (more.effects["LAST"].default, more.effects["LAST"].after) == (None, 2021)


def test_of_a_maximum_those_that_have_it_are_shown() -> None:
    """And how many others count, with a condition and without."""
    year = find_evidence("lotus-garden", "MOST_RECENT_YEAR")
    assert (year.number, [review.review_id for review in year.reviews]) == (5, ["lotus-garden-15"])
    text = join_words(explain_line("lotus-garden").steps_text)
    assert (
        "MOST_RECENT_YEAR = 2022: the highest year of 5 of 14 reviews, where it counts as “firsthand reaction”" in text
    )
    assert "4 others have less" in text
    maximum = {"name": "M", "op": "max", "field": "meta.stars", "default": 0}
    text = explain_steps(maximum, rows=[{"stars": stars} for stars in (4, 2, 3)]).steps_text
    assert "M = 4: the highest star rating of 3 reviews\n  - r0 (4 stars)\n  - 2 others have less" in text


def test_what_reviews_add_to_a_sum_is_said() -> None:
    weight = find_evidence("lotus-garden", "TOTAL_WEIGHT")
    assert sum(review.amount or 0 for review in weight.reviews) == pytest.approx(weight.value)
    assert "lotus-garden-04, adds 6.7081" in explain_line("lotus-garden").steps_text


def test_a_filter_is_explained_where_it_is_first_named() -> None:
    """In the computation and in the reviews once each, with the filters that it names."""
    meaning = (
        "“firsthand reaction” means: “whose story it is” is firsthand and “allergic reaction” is mild, moderate or"
    )
    text = join_words(explain_line("nonna-pia").steps_text)
    assert text.count(meaning) == 2
    assert text.index(meaning) < text.index("MOST_RECENT_YEAR = 2017: max of")
    assert join_words(explain_line("nonna-pia").html).count("“firsthand reaction” means: ") == 2
    explanation = explain_steps(
        {"name": "LOW", "op": "define_filter", "meta": {"stars": {"<": 3}}},
        {"name": "OLD_LOW", "op": "define_filter", "where": {"$LOW": True, "meta.year": {"<": 2020}}},
        count("N", {"$OLD_LOW": True}),
        rows=[{"stars": 5, "year": 2019}],
    )
    assert explanation.evidence[0].filters == {
        "“old low”": "it counts as “low” and year is before 2020",
        "“low”": "star rating is under 3",
    }
    assert [part.conditions for part in explanation.evidence[0].excluded] == [["star rating is at least 3"]]
    assert explanation.because == [
        "the number of “n” is 0: none of 1 review, where it counts as “old low” "
        "(“old low” means: it counts as “low” and year is before 2020)."
    ]


def test_every_condition_that_a_review_does_not_meet_is_named() -> None:
    """Each review is in one group, that of the conditions that it does not meet."""
    unmet = {}
    for row in LINES["nonna-pia"]["rows"]:
        met = {
            "“whose story it is” is not firsthand": row["extraction"]["account_type"] == "firsthand",
            "“allergic reaction” is not mild, moderate or severe": row["extraction"]["incident_severity"] != "none",
            "year is before 2023": row["meta"]["year"] >= 2023,
        }  # fmt: skip
        unmet[row["review_id"]] = [condition for condition, is_met in met.items() if not is_met]
    groups = find_evidence("nonna-pia", "N_RECENT").excluded
    pairs = [(review_id, group.conditions) for group in groups for review_id in group.review_ids]
    assert sorted(pairs) == sorted(unmet.items())


def test_reviews_that_one_condition_leaves_out_are_named() -> None:
    """With what they have instead, but for those that another step counts by the same field; the numbers add up."""
    severe = find_evidence("golden-carp", "N_SEVERE")
    near = "golden-carp-12: its “whose story it is”, secondhand, is not firsthand"
    assert [(group.near, len(group.conditions)) for group in severe.excluded if group.near] == [([near], 1)]
    assert [*describe_exclusions(severe)] == [
        f"not counted: {near}",
        "5 other reviews do not count: “allergic reaction” is not severe and “whose story it is” is not firsthand (3); "
        "“allergic reaction” is not severe (2)",
    ]
    text = join_words(explain_line("nonna-pia").steps_text)
    assert "N_RECENT, N_MILD and N_SEVERE are 0: none of 11 reviews counts" in text
    assert "N_RECENT: not counted: nonna-pia-07: its year, 2017, is before 2023" in text
    rows = [{"stars": 1 + n // 8, "useful": 0} for n in range(12)]
    few = explain_steps(count("N", {"meta.stars": 1, "meta.useful": {">": 3}}), rows=rows)
    assert [*describe_exclusions(find_evidence(few, "N"))] == [
        "not counted: " + "; ".join(f"r{n}: its number of useful votes, 0, is at most 3" for n in range(5)),
        "7 other reviews do not count: star rating is not 1 and number of useful votes is at most 3 (4); "
        "number of useful votes is at most 3 (3)",
    ]


def test_all_steps_that_a_change_moves_are_data_and_the_words_say_how_many() -> None:
    """Twelve counts change with one review; steps that do not lead to the verdict are left out."""
    names = [f"N{i}" for i in range(12)]
    counts = [count(name, {"meta.stars": {"<=": 1 + i / 100}}) for i, name in enumerate(names)]
    total = formula("TOTAL", " + ".join(names))
    steps = [*counts, count("ASIDE", {"meta.stars": 1}), total, choose("V", {"TOTAL > 0": "some"}, "none")]
    rows = [{"review_id": "r", "meta": {"stars": 1}}]
    explanation = explain(make_seed(steps, "V", "ASIDE"), rows, {}, "b", output="V")
    assert [*explanation.changes[0].effects] == ["TOTAL", *names]
    text = join_words(explanation.steps_text)
    assert ("TOTAL 12 to 0, N0 1 to 0" in text, "and 2 other steps" in text) == (True, True)


@pytest.mark.thorough
def test_steps_that_use_each_other_many_times_are_explained_at_once() -> None:
    """Each of 600 steps uses the two before it: there are more ways through them than can be followed."""
    steps = [formula(f"S{i}", f"min(9, S{i - 1} + S{i - 2})") for i in range(2, 600)]
    explanation = explain_steps(count("S0"), formula("S1", "S0 + 1"), *steps)
    places = {step.name: place for place, step in enumerate(explanation.steps)}
    assert len(places) == 600
    assert all(places[step.name] < places[used] for step in explanation.steps for used in step.uses)


def test_one_rule_chooses_the_verdict() -> None:
    """The step that `explain` explains is that of `diff`, also where a number that rules choose is the last output."""
    seed = make_seed([count("N"), SOME, choose("GRADE", {"N > 0": 1}, 2)], "N", "V", "GRADE")
    difference = diff(seed, seed, [{"business_id": "b", "context": {}, "rows": []}])
    assert explain(seed, [], {}, "b").step == difference.json["data"]["verdict"] == "V"


def test_rows_with_dates_alone_are_added_to() -> None:
    """The newest year is that of their dates."""
    line = copy.deepcopy(LINES["slice-parade"])
    for row in line["rows"]:
        del row["meta"]["year"], row["meta"]["month"]
    explanation = explain(G1A, line["rows"], line["context"], "slice-parade")
    texts = [[change.text for change in one.changes] for one in (explanation, explain_line("slice-parade"))]
    assert texts[0] == texts[1]


def test_recorded_quotes_are_shown_where_the_review_has_them(tmp_path: Path) -> None:
    """A recorded extraction's quote is the extractor's; one that the review does not contain is not shown."""
    recorded = {line["review_id"]: line for line in read_lines(EXAMPLES / "extractions-g1a_v2.jsonl")}
    reasons = {"incident_severity": "Swelling."}
    recorded["nonna-pia-07"] |= {"quotes": {"incident_severity": "my face had puffed up"}, "reasons": reasons}
    recorded["nonna-pia-06"]["quotes"] = {"safety_interaction": "words that nobody wrote"}
    extractions = write_lines(tmp_path / "recorded.jsonl", *recorded.values())
    arguments = ("--contexts", EXAMPLES / "contexts.jsonl", "--extractor", "recorded", "--extractions", extractions)
    rows = tmp_path / "rows.jsonl"
    assert command("extract", SEED, *arguments, "--with-text", "--out", rows).status == 0
    done = command("explain", SEED, "--rows", rows, "--id", "nonna-pia", "--format", "json")
    explanation = Explanation.model_validate_json(done.out)
    assert [review.quote for review in find_evidence(explanation, "N_MODERATE").reviews] == ["my face had puffed up"]
    assert [review.quoted_by for review in find_evidence(explanation, "N_POSITIVE").reviews] == ["whole"]
    (row,) = [row for line in read_lines(rows) for row in line["rows"] if row["review_id"] == "nonna-pia-07"]
    assert (row["quotes"]["incident_severity"]["verified"], row["reasons"]) == (True, reasons)


def test_a_verdict_that_a_formula_passes_on_is_explained() -> None:
    """A chain of conditions that chooses from steps has rules, and the reasons go on with the step that it passes on."""
    compute: list[Json] = [
        count("LOW", {"meta.stars": {"<": 3}}),
        choose("BAND", {"LOW >= 2": "bad"}, "good"),
        {"name": "CLOSED", "op": "const", "value": "closed"},
        formula("V", "CLOSED if context.is_open == 0 else 'new' if context.review_count < 3 else BAND"),
    ]
    rows = [{"review_id": "r", "meta": {"stars": 1}}]
    explanation = explain(make_seed(compute, "V"), rows, {"is_open": 1, "review_count": 5}, "b")
    rules = [(rule.result, rule.state) for rule in explanation.rules]
    assert rules == [("closed", "false"), ("new", "false"), ("bad", "false"), ("good", "taken")]
    assert explanation.because == [
        "good because no other rule applies: “is open” is 1, not 0; “review count” is 5, at least 3.",
        "“band” is good because no other rule applies: the number of “low” is 1, under 2.",
        "The number of “low” is 1: 1 of 1 review, where star rating is under 3.",
    ]
    assert [(change.verdict, change.number) for change in explanation.changes] == [("bad", 1)]
    _, _, below_the_first_screen = explanation.steps_text.partition("What would change it")
    assert join_words(below_the_first_screen).count("bad with 1 new review") == 1
    assert explanation.attribution is not None
    assert (explanation.attribution.step, explanation.attribution.value) == ("LOW", 1.0)


def test_a_condition_with_parts_that_are_not_plain_is_tried() -> None:
    """Negated filters and alternatives: what is asked for is said, what holds anyway is assumed."""
    joke = {"name": "JOKE", "op": "define_filter", "expr": "meta.funny > 10 and meta.cool <= 2"}
    counted = count("N", {"$JOKE": False, "meta.stars": 1, "meta.date": {"in": ["2020-01-01"]}})
    row = {"stars": 5, "funny": 0, "cool": 0, "date": "2019-05-05"}
    (more,) = explain_steps(joke, counted, SOME, rows=[row]).changes
    assert more.text == (
        "with 1 new review where star rating is 1 and date is 2020-01-01 "
        "(otherwise as in r0: number of funny votes 0, number of cool votes 0)"
    )


def test_what_hides_or_lays_out_text_is_shown_in_every_format() -> None:
    """Entities and list markers are no Markdown; what moves text in a terminal is escaped in JSON, which says the same."""
    line = copy.deepcopy(LINES["nonna-pia"])
    line["context"]["categories"] = "Italian &lt;b&gt; \u202eevil\x9b2J"
    for row in line["rows"]:
        row["review_id"] = f"- {row['review_id']}"
    explanation = explain(G1A, line["rows"], line["context"], "nonna-pia")
    assert "Italian \\&lt;b\\&gt;" in explanation.markdown
    assert "- \\- nonna-pia-07" in explanation.markdown
    assert explanation.json.isascii() or not {"\u202e", "\x9b"} & set(explanation.json)
    assert json.loads(explanation.json)["lookups"][0]["text"] == line["context"]["categories"]


def test_conditions_behind_a_guard_against_null_are_explained() -> None:
    """In rules, and in what a review must meet: what has no value does not hold."""
    dear = choose("V", {"context.tier != None and context.tier > 2": "dear"}, "cheap")
    steps = [count("N", {"meta.wait": {"!=": None, ">": 10}}), dear, choose("W", {"N > 0": "long"}, "short")]
    seed = make_seed(steps, "V", "W", context=[{"name": "tier", "type": "integer", "nullable": True}])
    seed["extract"] = {"fields": [], "meta": [{"name": "wait", "type": "integer", "nullable": True}]}
    assert explain(seed, [], {"tier": None}, "b", output="V").because == [
        "cheap because no other rule applies: “tier” is null, not over 2."
    ]
    rows = [{"review_id": str(wait), "meta": {"wait": wait}} for wait in (None, 5, 20)]
    explanation = explain(seed, rows, {"tier": 3}, "b", output="W")
    assert [part.review_ids for part in find_evidence(explanation, "N").excluded] == [["None"], ["5"]]
    assert all((explanation.html, explanation.markdown))


def test_the_reasons_follow_the_largest_part() -> None:
    """The value before a limit, and which limits there are; then the parts of the number, by their labels."""
    assert explain_line("golden-carp").because[:2] == [
        "Critical Risk because no other rule applies: “risk score” is 20, at least 8.",
        "“risk score” is 20, its maximum; “risk score, before limits” is 178.7328.",
    ]
    assert explain_line("saigon-lantern").because[1] == (
        "“risk score” is 0, its minimum; “risk score, before limits” is -0.0178."
    )
    assert explain_line("slice-parade").because[1:3] == [
        "“risk score” is 2.25, which is “risk score, before limits” within its limits, 0 to 20.",
        "“risk score, before limits” is 2.25: “risk of every restaurant” 2 + “impact of the cuisine” 0.25.",
    ]


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("max(N, 0)", "“s” is 3, which is the number of “n” within its limits, at least 0."),
        ("min(N, 9)", "“s” is 3, which is the number of “n” within its limits, at most 9."),
        ("clamp(N, 4, 9)", "“s” is 4, its minimum; the number of “n” is 3."),
        ("round(N / 2)", "“s” is 2: N / 2 = 3 / 2."),
        ("round(H)", "“s” is 2, rounded; “h” is 1.5."),
    ],
)
def test_limits_of_every_kind_are_said(score: str, message: str) -> None:
    assert explain_steps(count("N"), formula("H", "N / 2"), formula("S", score), rows=[{}] * 3).because[0] == message


def test_the_tree_shows_the_rules_and_branches_that_were_taken() -> None:
    """With the values of no other one; a step over a default says that it is; a change names first what moves the score."""
    explanation = explain_line("boulevard-smoke")
    text = join_words(explanation.steps_text)
    rules = "1.3 if RECENT_RATIO > 0.7; 0.7 if RECENT_RATIO < 0.3 and N_TOTAL_INCIDENTS > 0; else 1.0"
    for words in (
        f"TRAJECTORY_MULTIPLIER = 1, as no other rule applies: {rules}", "TRAJECTORY_MULTIPLIER 1 to 1.3",
        "else 1.0 = 1.0, as “reactions” is at most 0",
        "INCIDENT_AGE = 5 (from a default: no review counts): 2025 - MOST_RECENT_YEAR = 2025 - 2020",
    ):  # fmt: skip
        assert words in text
    moved = ["FINAL_RISK_SCORE", "INCIDENT_IMPACT", "TRAJECTORY_MULTIPLIER", "N_MILD"]
    assert [*explanation.changes[0].effects][:4] == moved
    assert "from a default: no review counts" in explanation.html
    defaults = {step.name: step.from_defaults for step in explain_line("desert-bloom").steps}
    assert (defaults["CUISINE_IMPACT"], defaults["SILENCE_PENALTY"]) == (["CUISINE_MODIFIER"], [])
