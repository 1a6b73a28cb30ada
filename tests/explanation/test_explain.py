"""Why a restaurant got its verdict: what an explanation says is so, and what it says would change the verdict does."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from explaining import G1A, LINES, ROWS, SEED, choose, count, explain_line, formula, make_seed
from formulaseed import DataError, EvaluationError, Outcome, explain, extract, load_evaluator, run
from formulaseed.explanation.explanation import Explanation, explanation_schema
from formulaseed.seed.write.canonical import format_json
from formulaseed.testing import reference_evaluate
from formulaseed.testing.inputs import contexts, rows
from formulaseed.testing.random_seeds import seeds
from helpers import EXAMPLES, ROOT, command
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

Json = Any
SCHEMA = Draft202012Validator(explanation_schema())
SUM = {"name": "TOTAL", "op": "sum", "expr": "extraction.n"}


@pytest.mark.parametrize("name", LINES)
def test_each_part_of_an_explanation_is_so(name: str) -> None:
    """Values are those of the evaluator, one rule is taken, counts are the numbers of their reviews, nothing is lost."""
    line, explanation = LINES[name], explain_line(name)
    evaluator = load_evaluator(G1A)
    steps = evaluator.trace(line["rows"], line["context"])
    evidence = evaluator.evidence(line["rows"], line["context"])
    values = {step.name: step.value for step in explanation.steps}
    assert values == {name: steps[name] for name in values}
    assert (explanation.verdict, explanation.step) == (steps["VERDICT"], "VERDICT")
    assert [rule.result for rule in explanation.rules if rule.state == "taken"] == [explanation.verdict]
    for part in explanation.evidence:
        assert part.number + sum(excluded.number for excluded in part.excluded) == len(line["rows"])
        if part.condition is not None and part.step != "MOST_RECENT_YEAR":
            assert [review.review_id for review in part.reviews] == evidence[part.step]
        if part.step.startswith("N_"):
            assert part.number == part.value
    assert all({*step.uses} <= values.keys() for step in explanation.steps)


@pytest.mark.parametrize("name", LINES)
def test_each_change_leads_to_the_verdict_that_it_names(name: str) -> None:
    """Made by hand and evaluated by the interpreter; each review that is left out, and the last one added, is needed."""
    line, explanation = LINES[name], explain_line(name)

    def evaluate(rows: list[Json]) -> Json:
        return reference_evaluate(G1A, rows, line["context"])

    assert explanation.changes
    for change in explanation.changes:
        assert change.verdict != explanation.verdict
        if change.kind == "more reviews":
            fewer = [[*line["rows"], *[change.row] * int(change.number - 1)]] if change.number > 1 else []
            changed = [*line["rows"], *[change.row] * int(change.number)]
        else:
            assert change.kind == "fewer reviews"
            changed = [row for row in line["rows"] if row["review_id"] not in change.review_ids]
            ids = [{*change.review_ids} - {review_id} for review_id in change.review_ids]
            fewer = [[row for row in line["rows"] if row["review_id"] not in left_out] for left_out in ids]
        steps = evaluate(changed)
        assert steps["VERDICT"] == change.verdict
        assert all(steps[step] == effect.after != effect.before for step, effect in change.effects.items())
        assert all(evaluate(reviews)["VERDICT"] != change.verdict for reviews in fewer)


@pytest.mark.parametrize(("minimum", "nearest"), [(0, [("LIMIT", 7, "high")]), (8, [])])
def test_the_nearest_value_of_a_parameter_is_found(minimum: int, nearest: list[Any]) -> None:
    """A threshold given as a parameter is moved just as far as the verdict needs, within its bounds."""
    limit = {"type": "integer", "default": 10, "minimum": minimum, "maximum": 50}
    fields = [{"name": "n", "type": "integer", "minimum": 0, "maximum": 9}]
    steps = [SUM, choose("V", {"TOTAL >= param.LIMIT": "high"}, "low")]
    seed = make_seed(steps, "V", fields=fields, parameters={"LIMIT": limit})
    changes = explain(seed, [{"review_id": "r", "extraction": {"n": 7}}], {}, "b").changes
    assert [(c.parameter, c.number, c.verdict) for c in changes if c.kind == "parameter"] == nearest


def test_the_story_of_one_restaurant() -> None:
    """Verdict and reasons come first, then rules, what would change it, the computation, and the reviews."""
    text = explain_line("nonna-pia").steps_text
    order = [
        "Trattoria Nonna Pia (nonna-pia): Critical Risk\n", "“risk score” is 11.1634", "The rules of VERDICT",
        "What would change it", "if review nonna-pia-07 did not count", "How it was computed",
        "'Italian, Wine Bars, Restaurants', which has Italian", "The reviews behind it",
    ]  # fmt: skip
    assert sorted(order, key=text.index) == order
    assert text.startswith(order[0])
    assert all(len(row) <= 120 for row in text.splitlines())


def test_a_quote_is_the_extractors_where_it_gave_one() -> None:
    """Else a sentence that speaks for the value, which the explanation says; a row without a text shows none."""
    line = copy.deepcopy(LINES["nonna-pia"])
    row = next(row for row in line["rows"] if row["review_id"] == "nonna-pia-07")
    long = "Nice room, and a long wait for a table. " * 20
    recorded = {"incident_severity": {"text": "hives all over", "verified": True, "start": 33, "end": 47}}
    sick = "Nice room. I had the tacos. We left, and I was sick."
    for texts, quote in (
        ({"text": "Nice room. My lips swelled and I had hives all over. We left."},
         ("My lips swelled and I had hives all over.", "words")),
        ({"text": sick}, (sick, "whole")), ({"text": long}, (f"{long[:392]} …", "beginning")),
        ({"text": long, "quotes": recorded}, ("hives all over", "extractor")), ({}, (None, None)),
    ):  # fmt: skip
        for key in ("text", "quotes"):
            row.pop(key, None)
        row |= texts
        evidence = explain(G1A, line["rows"], line["context"], "nonna-pia").evidence
        (review,) = next(part for part in evidence if part.step == "N_MODERATE").reviews
        assert (review.quote, review.quoted_by) == quote


def test_a_step_that_failed_is_explained() -> None:
    """The error is shown with the values that led to it."""
    seed = make_seed([SUM, formula("RATIO", "1 / TOTAL")], "RATIO", fields=[{"name": "n", "type": "integer"}])
    explanation = explain(seed, [{"review_id": "r", "extraction": {"n": 0}}], {}, "b")
    assert explanation.error is not None
    assert (explanation.error.step, explanation.error.kind, explanation.verdict) == ("RATIO", "division_by_zero", None)
    assert [(step.name, step.value) for step in explanation.steps] == [("RATIO", None), ("TOTAL", 0)]
    assert "RATIO failed" in explanation.steps_text


@pytest.mark.thorough
@given(seeds(), st.data())
def test_any_seed_is_explained(seed: Json, data: st.DataObject) -> None:
    """For random seeds and rows every value is the interpreter's, in every format, and nothing but data errors is raised."""
    given_rows, context = data.draw(rows(seed)), data.draw(contexts(seed))
    try:
        steps = reference_evaluate(seed, given_rows, context)
    except (EvaluationError, DataError):
        assume(False)
    explanation = explain(seed, given_rows, context, "b")
    assert {step.name: step.value for step in explanation.steps if step.name in steps}.items() <= steps.items()
    assert Explanation.model_validate_json(explanation.json) == explanation
    SCHEMA.validate(json.loads(explanation.json))
    assert all((explanation.steps_text, explanation.markdown, explanation.html))


def test_what_is_missing_is_said() -> None:
    """Null fields that the verdict's steps use, through filters too; not those of other steps, nor values that are there."""
    nullable = {"type": "integer", "nullable": True}
    where = {"$IS_OLD": True}
    steps: list[Json] = [
        {"name": "IS_OLD", "op": "define_filter", "expr": "coalesce(meta.age, 0) > 60"},
        count("N", where),
        {"name": "VISITS", "op": "sum", "expr": "coalesce(meta.visits, 1)", "where": where},
        {"name": "OTHER", "op": "sum", "expr": "coalesce(meta.other, coalesce(context.elsewhere, 1))"},
        formula("SCORE", "coalesce(context.tier, 1) + coalesce(context.given, 1) + VISITS + N"),
        choose("VERDICT", {"SCORE > 3": "high"}, "low"),
    ]
    seed = make_seed(
        steps, "VERDICT", "OTHER", context=[{"name": n, **nullable} for n in ("tier", "given", "elsewhere")]
    )
    seed["extract"] = {"fields": [], "meta": [{"name": name, **nullable} for name in ("visits", "age", "other")]}
    metas = ({}, {"age": 70}, {"age": 0, "visits": 0})
    explanation = explain(
        seed, [{"review_id": f"r{n}", "meta": meta} for n, meta in enumerate(metas)], {"given": 0}, "b"
    )
    html = explanation.html.replace("<wbr>", "")
    missing = {part.name: part.reviews for part in explanation.missing}
    assert missing == {"context.tier": None, "meta.visits": 2, "meta.age": 1}
    for sentence in ("context.tier is missing.", *(f"{name} is missing in {missing[name]} of 3 reviews." for name in missing
                                                   if missing[name])):  # fmt: skip
        assert all(sentence in form for form in (explanation.steps_text, explanation.markdown, html))
    assert not [words for words in ("context.given is", "elsewhere") if words in explanation.steps_text]


def test_the_schema_of_explanations_is_published() -> None:
    """The committed one is current, describes every key, and refuses what is missing or unknown."""
    committed = ROOT / "grammar" / "explanation.schema.json"
    assert committed.read_text(encoding="utf-8") == format_json(explanation_schema())
    for part in (SCHEMA.schema, *SCHEMA.schema["$defs"].values()):
        assert [name for name, key in part["properties"].items() if not {"description", "$ref"} & {*key}] == []
    document = json.loads(explain_line("nonna-pia").json)
    for wrong in ({**document, "more": 1}, {name: value for name, value in document.items() if name != "changes"}):
        assert not SCHEMA.is_valid(wrong)
    again = command("schema", "--of", "explanation", "--check", committed)
    assert (again.status, again.out) == (0, f"{committed}: current\n")


def test_what_data_say_is_text_in_every_format(tmp_path: Path) -> None:
    """Markup and control characters of a seed's and a review's text are shown, not obeyed."""
    line = copy.deepcopy(LINES["nonna-pia"])
    nasty = "<script>alert(1)</script> \x1b[31m [x](javascript:1) | `a` hives"
    line["context"]["name"] = nasty
    for row in line["rows"]:
        row["text"] = nasty
    explanation = explain(G1A, line["rows"], line["context"], "nonna-pia")
    assert "<script>" not in explanation.html + explanation._repr_html_()
    assert "&lt;script&gt;" in explanation.html
    assert "\\<script\\>" in explanation.markdown
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(line), encoding="utf-8")
    done = command("explain", SEED, "--rows", path)
    assert (done.status, "\x1b" in done.out) == (0, False)


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ("", 2, "pass --id"),
        ("--id nonapia", 2, "did you mean `nonna-pia`"),
        ("--id nonna-pia --output SCORE", 1, "no output `SCORE`"),
    ],
)
def test_the_command_says_what_is_wrong(options: str, status: int, message: str) -> None:
    done = command("explain", SEED, "--rows", ROWS, *options.split())
    assert (done.status, message in done.err) == (status, True)


def test_the_command_writes_each_format(tmp_path: Path) -> None:
    explained = ("explain", SEED, "--rows", ROWS, "--id", "nonna-pia")
    assert (command(*explained).out, page := tmp_path / "page.html") == (explain_line("nonna-pia").text, page)
    assert json.loads(command(*explained, "--format", "json").out)["verdict"] == "Critical Risk"
    assert command(*explained, "--format", "html", "--out", page).status == 0
    assert page.read_text().startswith("<!doctype html>")


def test_a_notebook_shows_tables_and_pages() -> None:
    """A seed is a table of its steps, results are a table with what failed, an explanation is its page; all without scripts."""
    pages = {
        "seed": G1A._repr_html_(),  # type: ignore[misc, operator]
        "results": run(G1A, EXAMPLES / "contexts.jsonl")._repr_html_(),
        "rows": extract(G1A, EXAMPLES / "contexts.jsonl", limit=2)._repr_html_(),
        "explanation": explain(G1A, [], {"categories": "Thai"}, "nobody")._repr_html_(),
    }
    rows = {name: text.count("<tr>") for name, text in pages.items() if name != "explanation"}
    assert rows == {"seed": len(G1A.program.steps) + 1, "results": 15, "rows": 3}
    assert "FINAL_RISK_SCORE" in pages["seed"].replace("<wbr>", "")
    assert "<td>Lotus Garden" in pages["results"]
    assert not any("<script" in text for text in pages.values())
    error = {"step": "X", "kind": "null", "message": "null"}
    assert Outcome([{"business_id": "<b>", "error": error}], ["<b>: X: null"])._repr_html_().count("&lt;b&gt;") == 2


def test_what_a_notebook_shows_is_short() -> None:
    """A seed, an evaluator and a diagnostic say what they are; a flat row is told where its fields go."""
    assert repr(G1A) == "FormulaSeed('G1a-v2', 34 steps, 4 notes)"
    evaluator = load_evaluator(G1A)
    assert repr(evaluator).startswith("Evaluator('G1a-v2', output N_TOTAL_INCIDENTS, ")
    text = str(G1A.diagnostics[0])
    assert (text.startswith(f"note[{G1A.diagnostics[0].code}]"), "^" in text) == (True, True)
    with pytest.raises(DataError, match="a row has `extraction` and `meta`: put `incident_severity` into `extraction`"):
        evaluator.evaluate([{"review_id": "r", "incident_severity": "none", "stars": 3}], {"categories": "Thai"})


# --- the first lines

COUNTS = [count("LONG", {"extraction.wait": "long"}), count("RUDE", {"extraction.rude": True})]
RULES = {"LONG > 7": "a", "RUDE > 8": "b", "SCORE > 9": "c", "LONG + RUDE > 30": "d", "LONG * RUDE > 40": "e"}
WAITS = [
    {"review_id": id, "extraction": {"wait": wait, "rude": rude}, "text": "We came."}
    for id, wait, rude in (("m1", "long", True), ("m2", "long", False), ("m3", "none", True))
]


def explain_waits(score: str = "RUDE - 2 * LONG", output: str = "V") -> Explanation:
    wait = {"name": "wait", "type": "enum", "values": ["none", "long"]}
    steps = [*COUNTS, formula("SCORE", score), *([choose("V", RULES, "fine")] if output == "V" else ())]
    seed = make_seed(steps, output, fields=[wait, {"name": "rude", "type": "boolean", "default": False}])
    return explain(seed, WAITS, {}, "b")


def test_what_the_first_line_leaves_out_is_counted() -> None:
    """It compares some rules; a review that is shown again has the fields of the step, not those of another one."""
    explanation = explain_waits()
    assert explanation.because[0].endswith("; “score” is -2, at most 9; and 2 more below.")
    assert "  - m1: rude: true; " in explanation.steps_text
    assert "  - m1 (see above): wait: long\n" in explanation.steps_text


@pytest.mark.parametrize(
    ("score", "line", "followed"),
    [
        ("RUDE - 2 * LONG", "“score” is -2: RUDE - 2 * LONG = 2 - 2 * 2.", "long"),
        ("3 * RUDE - 2 * LONG", "“score” is 2: 3 * RUDE - 2 * LONG = 3 * 2 - 2 * 2.", "rude"),
    ],
)
def test_a_sum_goes_on_with_the_term_that_decides_its_sign(score: str, line: str, followed: str) -> None:
    """A sum with factors is shown in values; a negative one goes on with a subtracted term, a positive with an added one."""
    *_, score_line, last = explain_waits(score, "SCORE").because
    assert (score_line, last.startswith(f"The number of “{followed}” is 2: 2 of 3 reviews, where ")) == (line, True)
