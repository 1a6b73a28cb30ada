"""The page of a report is self-contained, has every restaurant, and shows strings of data as text."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from formulaseed import explain, load_evaluator, load_seed
from formulaseed.data.results import Failures
from formulaseed.explanation.explainer import Explainer
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.report import make_report
from formulaseed.pages.histogram import build_histogram
from helpers import EXAMPLES, IS_DEEP, TASKS, command, write_json, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st
from report_pages import HOSTILE, SEED, Page, hostile_restaurants, restaurants

Json = Any


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The report of the examples."""
    folder = tmp_path_factory.mktemp("report")
    return Page(write_report(write_lines(folder / "rows.jsonl", *restaurants())))


def write_report(rows: Path, *options: object, seed: Path = SEED, status: int = 0) -> str:
    out = rows.with_suffix(".html")
    assert command("report", seed, "--rows", rows, "--out", out, *options).status == status
    return out.read_text(encoding="utf-8")


def check_self_contained(page: Page) -> None:
    """No attribute names another file, no style imports one, and the policy of the page allows none."""
    for tag, attributes in page.elements:
        assert not {"src", "srcset", "action", "data", "background", "ping"} & attributes.keys(), tag
        assert (attributes.get("href") or "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on")]
    assert not page.select("link")
    outside = page.source.split('<script type="application/gzip"')[0]
    assert not re.search(r"https?:|url\(|@import", outside)
    (policy,) = page.select("meta", **{"http-equiv": "Content-Security-Policy"})
    assert (policy["content"] or "").startswith("default-src 'none'; style-src 'unsafe-inline'")


def explain_line(line: Json) -> Explanation:
    return explain(load_seed(SEED), line["rows"], line["context"], line["business_id"])


def test_a_page_needs_nothing_else_and_is_well_formed(page: Page) -> None:
    """A report and the page of an explanation are one file each, with balanced tags and ids that occur once."""
    for checked in (page, Page(explain_line(restaurants()[0]).html)):
        check_self_contained(checked)
        ids = [attributes["id"] for _, attributes in checked.elements if "id" in attributes]
        assert len(set(ids)) == len(ids)
        assert [html["lang"] for html in checked.select("html")] == ["en"]
        assert len(checked.select("main")) == 1
        assert {head.get("scope") for head in checked.select("th")} <= {"col", "row"}
        labels = {label.get("for") for label in checked.select("label")}
        assert {control["id"] for control in (*checked.select("select"), *checked.select("input"))} == labels


@pytest.mark.thorough
def test_every_restaurant_is_there(page: Page) -> None:
    """Each has a line with its verdict and number, the highest number first, and its explanation in the data."""
    lines = restaurants()
    evaluator = load_evaluator(SEED)
    outputs = {line["business_id"]: evaluator.evaluate(line["rows"], line["context"]) for line in lines}
    rows = [row for row in page.select("tr") if "data-anchor" in row]
    scores = [outputs[str(row["data-anchor"])]["FINAL_RISK_SCORE"] for row in rows]
    assert sorted(scores, key=float, reverse=True) == scores  # type: ignore[arg-type]
    assert {row["data-anchor"] for row in rows} == outputs.keys()
    articles = page.articles
    for row in rows:
        number = int(row["data-at"] or "")
        line, article = lines[number], articles[number]
        assert line["business_id"] == row["data-anchor"]
        assert article.source in explain_line(line).html
        assert ["Low Risk", "High Risk", "Critical Risk"][int(row["data-place"] or "")] in article.text
    verdicts = [text.strip() for tag, text in page.texts if tag == "span" and text.strip() in ("7", "2", "5")]
    assert verdicts == ["7", "2", "5"]
    assert "14 restaurants, 0 failed" in page.text


@pytest.mark.thorough
def test_strings_of_data_are_text(tmp_path: Path) -> None:
    """Markup in names, ids, reviews and contexts is in no tag of the page, and in the data as it is."""
    lines = hostile_restaurants()
    page = Page(write_report(write_lines(tmp_path / "rows.jsonl", *lines)))
    check_self_contained(page)
    assert not page.select("img")
    assert [script.get("type") for script in page.select("script")] == ["application/gzip", None]
    for text, article in zip(HOSTILE, page.articles, strict=True):
        assert f"Name {text}" in page.text
        assert " ".join(text.split()) in article.text.partition("I am allergic and had hives ")[2]
        assert not {tag for tag, _ in article.elements} & {"script", "img", "style", "template", "svg"}
    assert "49" not in {text.strip() for _, text in page.texts}
    for line in lines:
        alone = Page(explain_line(line).html)
        check_self_contained(alone)
        assert not {tag for tag, _ in alone.elements} & {"script", "img", "template"}


def test_a_long_chain_of_steps_has_pages() -> None:
    """However deep a computation is, it is shown, and no deeper than a browser and a terminal can show."""
    steps: list[Json] = [{"name": "S0", "op": "count"}]
    steps += [{"name": f"S{n}", "op": "expr", "expr": f"S{n - 1} + 1"} for n in range(1, 400)]
    seed = {"task_name": "Deep", "extract": {"fields": []}, "compute": steps, "output": ["S399"]}
    explanation = explain(seed, [], {}, "b")
    page = Page(explanation.html)
    assert {text for tag, text in page.texts if tag == "code"} >= {f"S{n}" for n in range(400)}
    assert page.deepest < 100
    assert max(map(len, explanation.text.splitlines())) < 200


def test_characters_that_hide_or_move_text_are_escaped(tmp_path: Path) -> None:
    line = restaurants()[0]
    line["context"]["name"] = "Left \u202e right \x1b[31m \x00"
    page = write_report(write_lines(tmp_path / "rows.jsonl", line))
    assert "Left \\u202e right \\x1b[31m \\x00" in Page(page).text
    assert not set("\u202e\x1b\x00") & set(page)


def test_failures_are_there(tmp_path: Path) -> None:
    """Restaurants without a verdict have a line with the reason, unreadable lines are listed; the status is 3."""
    seed = {
        "task_name": "Ratio",
        "extract": {"fields": [{"name": "n", "type": "integer"}]},
        "compute": [
            {"name": "TOTAL", "op": "sum", "expr": "extraction.n"},
            {"name": "RATIO", "op": "expr", "expr": "1 / TOTAL"},
            {"name": "VERDICT", "op": "case", "rules": [{"when": "RATIO > 0.5", "then": "high"}, {"else": "low"}]},
        ],
        "output": ["TOTAL", "VERDICT"],
    }
    lines = [
        {"business_id": business_id, "context": {"name": f"The {business_id}"}, "rows": [{"extraction": {"n": n}}]}
        for business_id, n in (("good", 1), ("zero", 0), ("wrong", "one"), ("good", 4))
    ]
    rows = write_lines(tmp_path / "rows.jsonl", *lines, {"business_id": "empty"}, b"{")
    out = tmp_path / "report.html"
    done = command("report", write_json(tmp_path / "seed.json", seed), "--rows", rows, "--out", out)
    assert done.status == 3
    page = Page(out.read_text(encoding="utf-8"))
    failures = [line.removeprefix("failed: ") for line in done.err.splitlines() if line.startswith("failed: ")]
    assert len(failures) == 4
    assert all(line in page.text for line in failures)
    places = [(row["data-anchor"], row["data-place"]) for row in page.select("tr") if "data-anchor" in row]
    assert places == [("good~2", "1"), ("good", "0"), ("zero", "2"), ("wrong", "2"), ("empty", "2")]
    texts = [article.text for article in page.articles]
    assert [("failed" in text) for text in texts] == [False, True, True, False, True]
    for reason in ("RATIO: division_by_zero: 1 / 0", "must be an integer of 64 bits", "`rows` is missing"):
        assert [text for text in texts if reason in text], (reason, texts)


@pytest.mark.thorough
def test_a_thousand_restaurants_fit() -> None:
    """The page of 1,000 restaurants whose names, ids and reviews differ has less than 5 MB; it grows with their number."""
    explainer = Explainer(load_seed(SEED).program, load_evaluator(SEED))
    examples = [*map(explain_line, restaurants())]
    sizes = []
    for count in (70, 140, 1000) if IS_DEEP else (70, 140):
        explanations = (vary(examples[number % len(examples)], number) for number in range(count))
        page = make_report(explainer, explanations, Failures())
        assert page.restaurants == count
        sizes.append(len(page.html.encode()))
    size = (sizes[1] - sizes[0]) / 70
    assert sizes[0] + size * 930 < 5_000_000
    assert sizes[-1] <= 1.1 * (sizes[0] + size * (930 if IS_DEEP else 70))


def vary(example: Explanation, number: int) -> Explanation:
    """Return the explanation of another restaurant, with other names, ids and texts of reviews."""

    def change(text: str | None) -> str | None:
        return text and f"{text[: len(text) // 2]} {number} {text[len(text) // 2 :]}"

    evidence = []
    for part in example.evidence:
        changes = [
            {"review_id": f"{review.review_id}-{number}", "quote": change(review.quote)} for review in part.reviews
        ]
        reviews = [review.model_copy(update=new) for review, new in zip(part.reviews, changes, strict=True)]
        evidence.append(part.model_copy(update={"reviews": reviews}))
    business_id = f"{example.business_id}-{number}"
    return example.model_copy(update={"business_id": business_id, "name": change(example.name), "evidence": evidence})


def test_any_verdict_has_a_report(tmp_path: Path) -> None:
    """A boolean, a chosen number, parameters, no restaurants at all."""
    row = {"review_id": "r", "extraction": {"n": 3}, "meta": {}}
    seed: Json = {
        "task_name": "Any",
        "parameters": {"LIMIT": {"type": "integer", "default": 2}},
        "extract": {"fields": [{"name": "n", "type": "integer"}]},
        "compute": [
            {"name": "TOTAL", "op": "sum", "expr": "extraction.n"},
            {"name": "IS_HIGH", "op": "expr", "expr": "TOTAL > param.LIMIT"},
        ],
        "output": ["TOTAL", "IS_HIGH"],
    }
    path = write_json(tmp_path / "seed.json", seed)
    rows = write_lines(tmp_path / "rows.jsonl", {"business_id": "b", "context": {}, "rows": [row]})
    page = Page(write_report(rows, "--param", "LIMIT=5", seed=path))
    assert "param.LIMIT 5" in page.text
    assert [row.get("data-place") for row in page.select("tr") if "data-at" in row] == ["0"]
    numeric = Page(write_report(rows, "--output", "TOTAL", seed=path))
    assert not numeric.select("select", id="verdict")
    assert len(numeric.select("option")) == 1
    empty = Page(write_report(write_lines(tmp_path / "none.jsonl"), seed=path))
    assert "0 restaurants, 0 failed" in empty.text


numbers = st.one_of(st.integers(-(10**6), 10**6), st.floats(allow_nan=False, allow_infinity=False))


@settings(max_examples=200)
@given(st.lists(st.tuples(numbers, st.sampled_from(["v0", "v4"])), max_size=40))
def test_a_histogram_counts_every_number(values: list[tuple[float, str]]) -> None:
    """Whatever the numbers are, there are few bins, each number is in one, and the bars' heights are in proportion."""
    histogram = build_histogram("X", values, ["v0", "v4"])
    if histogram is None:
        assert not values or not math.isfinite(max(values)[0] - min(values)[0])
        return
    totals = [bin.total for bin in histogram.bins]
    assert sum(totals) == len(values)
    assert 1 <= len(totals) <= 20
    assert 1 <= sum(bool(bin.label) for bin in histogram.bins) <= 8
    for bin in histogram.bins:
        assert {shade for shade, _ in bin.parts} <= {"v0", "v4"}
        assert sum(height for _, height in bin.parts) == pytest.approx(100 * bin.total / max(totals))


def test_contexts_are_refused_with_the_two_commands_to_run() -> None:
    """Commands that explain and analyse take rows; options of extraction are those of other commands."""
    contexts = EXAMPLES / "contexts.jsonl"
    for name in ("explain", "report", "diff", "expect", "cover", "sensitivity"):
        seeds, operands = ((SEED, SEED), "OLD NEW") if name == "diff" else ((SEED,), "SEED")
        with_text = " --with-text" if name in ("explain", "report") else ""
        done = command(name, *seeds, "--contexts", contexts)
        extract = f"formulaseed extract {operands.split()[0]} --contexts {contexts}{with_text} --out rows.jsonl"
        score = f"formulaseed {name} {operands} --rows rows"
        assert done.status == 2
        assert f"`{name}` takes extracted rows; run `{extract}`, then `{score}" in done.err
        assert "--restaurants FILE --reviews FILE" in command(name, *seeds, "--reviews", contexts).err
        wrong = command(name, *seeds, "--rows", "rows.jsonl", "--extractor", "lexical")
        assert (wrong.status, "It is an option of `run`, `extract`" in wrong.err) == (2, True)
    assert "explain" not in command("evaluate", SEED, "--contexts", contexts).err


@pytest.mark.thorough
@pytest.mark.parametrize("task", sorted(path.name for path in TASKS.iterdir()))
def test_every_task_has_a_report(task: str, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    rows = tmp_path / "rows.jsonl"
    seed = TASKS / task / "seed.json"
    source = ("--contexts", EXAMPLES / "contexts.jsonl", "--on-error", "skip")
    assert command("extract", seed, *source, "--out", rows).status in (0, 3)
    done = command("report", seed, "--rows", rows, "--out", out)
    page = Page(out.read_text(encoding="utf-8"))
    check_self_contained(page)
    assert len(page.articles) == 14
    assert done.status in (0, 3)
