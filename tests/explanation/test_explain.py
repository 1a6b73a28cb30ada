"""Why a restaurant got its verdict: what an explanation says is so, and what it says would change the verdict does."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from formulaseed import DataError, EvaluationError, Outcome, explain, extract, load_evaluator, load_seed, run
from formulaseed.explanation.explanation import Explanation, explanation_schema
from formulaseed.seed.write.canonical import format_json
from formulaseed.testing import reference_evaluate
from formulaseed.testing.inputs import contexts, rows
from formulaseed.testing.random_seeds import seeds
from helpers import EXAMPLES, ROOT, TASKS, formulaseed
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

Json = Any
G1A = load_seed(TASKS / "g1a_v2" / "seed.json")
LINES = {
    line["business_id"]: line for line in map(json.loads, (EXAMPLES / "rows-g1a_v2.jsonl").read_text().splitlines())
}

SCHEMA = Draft202012Validator(explanation_schema())


def explain_line(name: str) -> Explanation:
    line = LINES[name]
    return explain(G1A, line["rows"], line["context"], name)


@pytest.mark.parametrize("name", LINES)
def test_each_part_of_an_explanation_is_so(name: str) -> None:
    """Values are those of the evaluator, one rule is taken, counts are the numbers of their reviews, nothing is lost."""
    line, explanation = LINES[name], explain_line(name)
    evaluator = load_evaluator(G1A)
    steps = evaluator.trace(line["rows"], line["context"])
    evidence = evaluator.evidence(line["rows"], line["context"])
    assert {step.name: step.value for step in explanation.steps} == {
        step.name: steps[step.name] for step in explanation.steps
    }
    assert (explanation.verdict, explanation.step) == (steps["VERDICT"], "VERDICT")
    assert [rule.result for rule in explanation.rules if rule.state == "taken"] == [explanation.verdict]
    for part in explanation.evidence:
        assert part.number + sum(excluded.number for excluded in part.excluded) == len(line["rows"])
        if part.condition is not None and part.step != "MOST_RECENT_YEAR":
            assert [review.review_id for review in part.reviews] == evidence[part.step]
        if part.step.startswith("N_"):
            assert part.number == part.value
    for step in explanation.steps:
        assert set(step.uses) <= {other.name for other in explanation.steps}


@pytest.mark.parametrize("name", LINES)
def test_each_change_leads_to_the_verdict_that_it_names(name: str) -> None:
    """Made by hand and evaluated by the interpreter, a change gives the other verdict; one review fewer or more does not."""
    line, explanation = LINES[name], explain_line(name)
    assert explanation.changes
    for change in explanation.changes:
        assert change.verdict != explanation.verdict
        steps = reference_evaluate(G1A, apply_change(line["rows"], change), line["context"])
        assert steps["VERDICT"] == change.verdict
        assert all(steps[step] == effect.after != effect.before for step, effect in change.effects.items())
        if change.kind == "more reviews" and change.number > 1:
            assert change.row is not None
            fewer = [*line["rows"], *[change.row] * int(change.number - 1)]
            assert reference_evaluate(G1A, fewer, line["context"])["VERDICT"] != change.verdict


def apply_change(rows_before: list[Json], change: Any) -> list[Json]:
    if change.kind == "more reviews":
        return [*rows_before, *[change.row] * int(change.number)]
    assert change.kind == "fewer reviews"
    return [row for row in rows_before if row["review_id"] not in change.review_ids]


def test_the_nearest_value_of_a_parameter_is_found() -> None:
    """A threshold given as a parameter is moved just as far as the verdict needs, within its bounds."""
    seed = {
        "task_name": "Threshold",
        "parameters": {"LIMIT": {"type": "integer", "default": 10, "minimum": 0, "maximum": 50}},
        "extract": {"fields": [{"name": "n", "type": "integer", "minimum": 0, "maximum": 9}]},
        "compute": [
            {"name": "TOTAL", "op": "sum", "expr": "extraction.n"},
            {"name": "V", "op": "case", "rules": [{"when": "TOTAL >= param.LIMIT", "then": "high"}, {"else": "low"}]},
        ],
        "output": ["V"],
    }
    explanation = explain(seed, [{"review_id": "r", "extraction": {"n": 7}}], {}, "b")
    (change,) = [change for change in explanation.changes if change.kind == "parameter"]
    assert (change.parameter, change.number, change.verdict) == ("LIMIT", 7, "high")
    seed["parameters"]["LIMIT"]["minimum"] = 8
    explanation = explain(seed, [{"review_id": "r", "extraction": {"n": 7}}], {}, "b")
    assert "parameter" not in {change.kind for change in explanation.changes}


def test_the_story_of_one_restaurant() -> None:
    """Verdict and reasons come first, then rules, what would change it, the computation, and the reviews."""
    text = explain_line("nonna-pia").text
    assert text.startswith("Trattoria Nonna Pia (nonna-pia): Critical Risk\n")
    order = [
        "FINAL_RISK_SCORE is 11.1634", "The rules of VERDICT", "What would change it", "How it was computed",
        "The reviews behind it",
    ]  # fmt: skip
    assert sorted(order, key=text.index) == order
    assert "Low Risk if review nonna-pia-07 did not count" in text
    assert "'Italian, Wine Bars, Restaurants', which has Italian" in text
    assert all(len(row) <= 100 for row in text.splitlines())


def test_a_quote_is_the_extractors_where_it_gave_one() -> None:
    """Else a sentence that speaks for the value, which the explanation says; a row without a text shows none."""
    line = copy.deepcopy(LINES["nonna-pia"])
    row = next(row for row in line["rows"] if row["review_id"] == "nonna-pia-07")
    row["text"] = "Nice room. My lips swelled and I had hives all over. We left."

    def quote() -> tuple[str | None, str | None]:
        explanation = explain(G1A, line["rows"], line["context"], "nonna-pia")
        (review,) = next(diagnostic for diagnostic in explanation.evidence if diagnostic.step == "N_MODERATE").reviews
        return review.quote, review.quoted_by

    assert quote() == ("My lips swelled and I had hives all over.", "words")
    row["text"] = "Nice room. I had the tacos. We left, and I was sick."
    assert quote() == (row["text"], "whole")
    row["text"] = "Nice room, and a long wait for a table. " * 20
    words, kind = quote()
    assert (kind, words and words[-2:]) == ("beginning", " …")
    row["quotes"] = {"incident_severity": {"text": "hives all over", "verified": True, "start": 33, "end": 47}}
    assert quote() == ("hives all over", "extractor")
    del row["quotes"], row["text"]
    assert quote() == (None, None)


def test_a_step_that_failed_is_explained() -> None:
    """The error is shown with the values that led to it, with status 3."""
    seed = {
        "task_name": "Ratio",
        "extract": {"fields": [{"name": "n", "type": "integer"}]},
        "compute": [
            {"name": "TOTAL", "op": "sum", "expr": "extraction.n"},
            {"name": "RATIO", "op": "expr", "expr": "1 / TOTAL"},
        ],
        "output": ["RATIO"],
    }
    explanation = explain(seed, [{"review_id": "r", "extraction": {"n": 0}}], {}, "b")
    assert explanation.error is not None
    assert (explanation.error.step, explanation.error.kind, explanation.verdict) == ("RATIO", "division_by_zero", None)
    assert [(step.name, step.value) for step in explanation.steps] == [("RATIO", None), ("TOTAL", 0)]
    assert "RATIO failed" in explanation.text
    with pytest.raises(EvaluationError):
        load_evaluator(seed).evaluate([{"review_id": "r", "extraction": {"n": 0}}], {})


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
    assert all((explanation.text, explanation.markdown, explanation.html))


def test_what_is_missing_is_said() -> None:
    """Null fields that the verdict's steps use, through filters too; not those of other steps, nor values that are there."""
    nullable = {"type": "integer", "nullable": True}
    seed = {
        "task_name": "T",
        "context": [{"name": name, **nullable} for name in ("tier", "given", "elsewhere")],
        "extract": {"fields": [], "meta": [{"name": name, **nullable} for name in ("visits", "age", "other")]},
        "compute": [
            {"name": "IS_OLD", "op": "define_filter", "expr": "coalesce(meta.age, 0) > 60"},
            {"name": "N", "op": "count", "where": {"$IS_OLD": True}},
            {"name": "VISITS", "op": "sum", "expr": "coalesce(meta.visits, 1)", "where": {"$IS_OLD": True}},
            {"name": "OTHER", "op": "sum", "expr": "coalesce(meta.other, coalesce(context.elsewhere, 1))"},
            {
                "name": "SCORE",
                "op": "expr",
                "expr": "coalesce(context.tier, 1) + coalesce(context.given, 1) + VISITS + N",
            },
            {
                "name": "VERDICT",
                "op": "case",
                "source": "SCORE",
                "rules": [{"when": "> 3", "then": "high"}, {"else": "low"}],
            },
        ],
        "output": ["VERDICT", "OTHER"],
    }
    reviews = [
        {"review_id": f"r{n}", "meta": meta} for n, meta in enumerate(({}, {"age": 70}, {"age": 0, "visits": 0}))
    ]
    explanation = explain(seed, reviews, {"given": 0}, "b")
    assert {diagnostic.name: diagnostic.reviews for diagnostic in explanation.missing} == {
        "context.tier": None,
        "meta.visits": 2,
        "meta.age": 1,
    }
    for sentence in (
        "context.tier is missing.",
        "meta.visits is missing in 2 of 3 reviews.",
        "meta.age is missing in 1 of 3 reviews.",
    ):
        assert sentence in explanation.text
        assert sentence in explanation.markdown
        assert sentence in explanation.html
    assert "context.given is" not in explanation.text
    assert "elsewhere" not in explanation.text


def test_the_schema_of_explanations_is_published() -> None:
    """The committed one is current, describes every key, and refuses what is missing or unknown."""
    committed = ROOT / "grammar" / "explanation.schema.json"
    assert committed.read_text(encoding="utf-8") == format_json(explanation_schema())
    for part in (SCHEMA.schema, *SCHEMA.schema["$defs"].values()):
        assert [name for name, key in part["properties"].items() if not {"description", "$ref"} & {*key}] == []
    document = json.loads(explain_line("nonna-pia").json)
    for wrong in ({**document, "more": 1}, {name: value for name, value in document.items() if name != "changes"}):
        assert not SCHEMA.is_valid(wrong)
    again = formulaseed("schema", "--of", "explanation", "--check", committed)
    assert (again.status, again.out) == (0, f"{committed}: current\n")


def test_what_data_say_is_text_in_every_format(tmp_path: Any) -> None:
    """Markup and control characters of a seed's and a review's text are shown, not obeyed."""
    line = copy.deepcopy(LINES["nonna-pia"])
    nasty = "<script>alert(1)</script> \x1b[31m [x](javascript:1) | `a` hives"
    line["context"]["name"] = nasty
    for row in line["rows"]:
        row["text"] = nasty
    explanation = explain(G1A, line["rows"], line["context"], "nonna-pia")
    assert "<script>" not in explanation.html
    assert "&lt;script&gt;" in explanation.html
    assert "<script>" not in explanation._repr_html_()
    assert "\\<script\\>" in explanation.markdown
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(line), encoding="utf-8")
    done = formulaseed("explain", TASKS / "g1a_v2" / "seed.json", "--rows", path)
    assert done.status == 0
    assert "\x1b" not in done.out


def test_the_command(tmp_path: Any) -> None:
    """It takes a seed or a module, names the restaurant or asks which, and writes each format."""
    seed, rows_file = TASKS / "g1a_v2" / "seed.json", EXAMPLES / "rows-g1a_v2.jsonl"
    one = formulaseed("explain", seed, "--rows", rows_file, "--id", "nonna-pia")
    assert (one.status, one.out) == (0, explain_line("nonna-pia").text)
    whole = formulaseed("explain", seed, "--rows", rows_file, "--id", "nonna-pia", "--format", "json")
    assert json.loads(whole.out)["verdict"] == "Critical Risk"
    page = tmp_path / "page.html"
    assert (
        formulaseed("explain", seed, "--rows", rows_file, "--id", "nonna-pia", "--format", "html", "--out", page).status
        == 0
    )
    assert page.read_text().startswith("<!doctype html>")
    unclear = formulaseed("explain", seed, "--rows", rows_file)
    assert (unclear.status, "pass --id" in unclear.err) == (2, True)
    unknown = formulaseed("explain", seed, "--rows", rows_file, "--id", "nonapia")
    assert (unknown.status, "did you mean `nonna-pia`" in unknown.err) == (2, True)
    wrong = formulaseed("explain", seed, "--rows", rows_file, "--id", "nonna-pia", "--output", "SCORE")
    assert (wrong.status, "no output `SCORE`" in wrong.err) == (1, True)


def test_a_notebook_shows_tables_and_pages() -> None:
    """A seed is a table of its steps, results are a table with what failed, an explanation is its page; all without scripts."""
    seed = load_seed(TASKS / "g1a_v2" / "seed.json")
    pages = {
        "seed": seed._repr_html_(),  # type: ignore[misc, operator]
        "results": run(seed, EXAMPLES / "contexts.jsonl")._repr_html_(),
        "rows": extract(seed, EXAMPLES / "contexts.jsonl", limit=2)._repr_html_(),
        "explanation": explain(seed, [], {"categories": "Thai"}, "nobody")._repr_html_(),
    }
    assert "FINAL_RISK_SCORE" in pages["seed"]
    assert pages["seed"].count("<tr>") == len(seed.program.steps) + 1
    assert pages["results"].count("<tr>") == 15
    assert "<td>Lotus Garden" in pages["results"]
    assert pages["rows"].count("<tr>") == 3
    assert not any("<script" in text for text in pages.values())
    failed = Outcome(
        [{"business_id": "<b>", "error": {"step": "X", "kind": "null", "message": "null"}}], ["<b>: X: null"]
    )
    assert failed._repr_html_().count("&lt;b&gt;") == 2


def test_what_a_notebook_shows_is_short() -> None:
    """A seed, an evaluator and a diagnostic say what they are; a flat row is told where its fields go."""
    assert repr(G1A) == "FormulaSeed('G1a-v2', 34 steps, 5 warnings, 4 notes)"
    evaluator = load_evaluator(G1A)
    assert repr(evaluator).startswith("Evaluator('G1a-v2', output N_TOTAL_INCIDENTS, ")
    text = str(G1A.diagnostics[0])
    assert text.startswith(f"note[{G1A.diagnostics[0].code}]")
    assert "^" in text
    with pytest.raises(DataError, match="a row has `extraction` and `meta`: put `incident_severity` into `extraction`"):
        evaluator.evaluate([{"review_id": "r", "incident_severity": "none", "stars": 3}], {"categories": "Thai"})


POLICY: dict[str, Any] = {
    "task_name": "Waits",
    "extract": {
        "fields": [
            {"name": "wait", "type": "enum", "values": ["none", "long"]},
            {"name": "rude", "type": "boolean", "default": False},
        ]
    },
    "compute": [
        {"name": "LONG", "op": "count", "where": {"extraction.wait": "long"}},
        {"name": "RUDE", "op": "count", "where": {"extraction.rude": True}},
        {"name": "SCORE", "op": "expr", "expr": "RUDE - 2 * LONG"},
        {
            "name": "V",
            "op": "case",
            "rules": [
                {"when": "LONG > 7", "then": "a"},
                {"when": "RUDE > 8", "then": "b"},
                {"when": "SCORE > 9", "then": "c"},
                {"when": "LONG + RUDE > 30", "then": "d"},
                {"when": "LONG * RUDE > 40", "then": "e"},
                {"else": "fine"},
            ],
        },
    ],
    "output": ["V", "SCORE"],
}
WAITS = [
    {"review_id": "m1", "extraction": {"wait": "long", "rude": True}, "text": "We waited."},
    {"review_id": "m2", "extraction": {"wait": "long", "rude": False}, "text": "We waited, too."},
    {"review_id": "m3", "extraction": {"wait": "none", "rude": True}, "text": "Grumpy."},
]


def test_rules_that_the_first_line_leaves_out_are_counted() -> None:
    """It compares some; how many more there are is said, and they are in the table of the rules."""
    because = explain(POLICY, WAITS, {}, "b").because[0]
    assert because.endswith("; SCORE is -2, at most 9; and 2 more below.")


def test_a_sum_with_factors_is_shown_in_values() -> None:
    """`2 * LONG 4` would read as a product with 4."""
    seed = {**POLICY, "output": ["SCORE"]}
    assert "SCORE is -2: RUDE - 2 * LONG = 2 - 2 * 2." in explain(seed, WAITS, {}, "b", output="SCORE").because


@pytest.mark.parametrize(("formula", "followed"), [("RUDE - 2 * LONG", "LONG"), ("3 * RUDE - 2 * LONG", "RUDE")])
def test_a_sum_goes_on_with_the_term_that_decides_its_sign(formula: str, followed: str) -> None:
    """A negative sum goes on with a subtracted term, a positive one with an added term."""
    steps = [*POLICY["compute"][:2], {"name": "SCORE", "op": "expr", "expr": formula}]
    because = explain({**POLICY, "compute": steps, "output": ["SCORE"]}, WAITS, {}, "b", output="SCORE").because
    assert because[-1].startswith(f"{followed} is 2: 2 of 3 reviews meet ")
    assert because[-2].startswith(f"SCORE is {'-' if followed == 'LONG' else ''}2: ")


def test_a_review_that_is_shown_again_has_the_fields_of_the_step() -> None:
    """The fields above are those of another step."""
    text = explain(POLICY, WAITS, {}, "b").text
    assert "  - m1: rude true; " in text
    assert "  - m1 (see above): wait long\n" in text
