"""The page of a report: it needs nothing else, holds every restaurant, and shows what data say as text."""

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
    return Page(report(write_lines(folder / "rows.jsonl", *restaurants())))


def report(rows: Path, *options: object, seed: Path = SEED, status: int = 0) -> str:
    out = rows.with_suffix(".html")
    assert command("report", seed, "--rows", rows, "--out", out, *options).status == status
    return out.read_text(encoding="utf-8")


def needs_nothing_else(page: Page) -> None:
    """No attribute names another file, no style imports one, and the policy of the page allows none."""
    for tag, attributes in page.elements:
        assert not {"src", "srcset", "action", "data", "background", "ping"} & attributes.keys(), tag
        assert (attributes.get("href") or "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on")]
    assert not page.of("link")
    outside = page.source.split('<script type="application/gzip"')[0]
    assert not re.search(r"https?:|url\(|@import", outside)
    (policy,) = page.of("meta", **{"http-equiv": "Content-Security-Policy"})
    assert (policy["content"] or "").startswith("default-src 'none'; style-src 'unsafe-inline'")


def explained(line: Json) -> Explanation:
    return explain(load_seed(SEED), line["rows"], line["context"], line["business_id"])


def test_a_page_needs_nothing_else_and_is_well_formed(page: Page) -> None:
    """A report and the page of an explanation are one file each, with balanced tags and ids that occur once."""
    for each in (page, Page(explained(restaurants()[0]).html)):
        needs_nothing_else(each)
        ids = [attributes["id"] for _, attributes in each.elements if "id" in attributes]
        assert len(set(ids)) == len(ids)
        assert [found["lang"] for found in each.of("html")] == ["en"]
        assert len(each.of("main")) == 1
        assert {found.get("scope") for found in each.of("th")} <= {"col", "row"}
        labels = {found.get("for") for found in each.of("label")}
        assert {found["id"] for found in (*each.of("select"), *each.of("input"))} == labels


def test_every_restaurant_is_there(page: Page) -> None:
    """Each has a line with its verdict and number, those with the highest number first, and its explanation in the data."""
    lines, evaluator = restaurants(), load_evaluator(SEED)
    outputs = {line["business_id"]: evaluator.evaluate(line["rows"], line["context"]) for line in lines}
    rows = [found for found in page.of("tr") if "data-anchor" in found]
    scores = [outputs[str(row["data-anchor"])]["FINAL_RISK_SCORE"] for row in rows]
    assert sorted(scores, key=float, reverse=True) == scores  # type: ignore[arg-type]
    assert {row["data-anchor"] for row in rows} == outputs.keys()
    articles = page.articles
    for row in rows:
        line, article = lines[int(row["data-at"] or "")], articles[int(row["data-at"] or "")]
        assert line["business_id"] == row["data-anchor"]
        assert article.source in explained(line).html
        assert ["Low Risk", "High Risk", "Critical Risk"][int(row["data-place"] or "")] in article.text
    verdicts = [text.strip() for tag, text in page.texts if tag == "span" and text.strip() in ("7", "2", "5")]
    assert verdicts == ["7", "2", "5"]
    assert "14 restaurants, 0 failed" in page.text


def test_what_data_say_is_text(tmp_path: Path) -> None:
    """Markup in names, ids, reviews and contexts is in no tag of the page, and in the data as it is."""
    lines = hostile_restaurants()
    page = Page(report(write_lines(tmp_path / "rows.jsonl", *lines)))
    needs_nothing_else(page)
    assert not page.of("img")
    assert [found.get("type") for found in page.of("script")] == ["application/gzip", None]
    for text, article in zip(HOSTILE, page.articles, strict=True):
        assert f"Name {text}" in page.text
        assert " ".join(text.split()) in article.text.partition("I am allergic and had hives ")[2]
        assert not {tag for tag, _ in article.elements} & {"script", "img", "style", "template", "svg"}
    assert "49" not in {text.strip() for _, text in page.texts}
    for line in lines:
        found = Page(explained(line).html)
        needs_nothing_else(found)
        assert not {tag for tag, _ in found.elements} & {"script", "img", "template"}


def test_a_long_chain_of_steps_has_pages() -> None:
    """However deep a computation is, it is shown, and no deeper than a browser and a terminal can show."""
    steps: list[Json] = [{"name": "S0", "op": "count"}]
    steps += [{"name": f"S{n}", "op": "expr", "expr": f"S{n - 1} + 1"} for n in range(1, 400)]
    seed = {"task_name": "Deep", "extract": {"fields": []}, "compute": steps, "output": ["S399"]}
    found = explain(seed, [], {}, "b")
    page = Page(found.html)
    assert {text for tag, text in page.texts if tag == "code"} >= {f"S{n}" for n in range(400)}
    assert page.deepest < 100
    assert max(map(len, found.text.splitlines())) < 200


def test_what_hides_or_moves_text_is_shown(tmp_path: Path) -> None:
    """A control character or one that reverses the writing direction is shown as its escape."""
    line = restaurants()[0]
    line["context"]["name"] = "Left \u202e right \x1b[31m \x00"
    page = report(write_lines(tmp_path / "rows.jsonl", line))
    assert "Left \\u202e right \\x1b[31m \\x00" in Page(page).text
    assert not set("\u202e\x1b\x00") & set(page)


def test_what_failed_is_there(tmp_path: Path) -> None:
    """Restaurants without a verdict have a line and say why, lines that cannot be read are listed; the status is 3."""
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
    places = [(row["data-anchor"], row["data-place"]) for row in page.of("tr") if "data-anchor" in row]
    assert places == [("good~2", "1"), ("good", "0"), ("zero", "2"), ("wrong", "2"), ("empty", "2")]
    texts = [article.text for article in page.articles]
    assert [("failed" in text) for text in texts] == [False, True, True, False, True]
    for reason in ("RATIO: division_by_zero: 1 / 0", "must be an integer of 64 bits", "`rows` is missing"):
        assert [text for text in texts if reason in text], (reason, texts)


def test_a_thousand_restaurants_fit() -> None:
    """Of 1,000 restaurants whose names, ids and reviews differ a page has less than 5 MB; it grows with their number."""
    lines, seed = restaurants(), load_seed(SEED)
    explainer, examples = Explainer(seed.program, load_evaluator(seed)), [*map(explained, lines)]
    sizes = []
    for count in (70, 140, 1000) if IS_DEEP else (70, 140):
        explanations = (varied(examples[number % len(examples)], number) for number in range(count))
        page = make_report(explainer, explanations, Failures())
        assert page.restaurants == count
        sizes.append(len(page.html.encode()))
    each = (sizes[1] - sizes[0]) / 70
    assert sizes[0] + each * 930 < 5_000_000
    assert sizes[-1] <= 1.1 * (sizes[0] + each * (930 if IS_DEEP else 70))


def varied(example: Explanation, number: int) -> Explanation:
    """The same for another restaurant, whose reviews say something else."""

    def other(text: str | None) -> str | None:
        return text and f"{text[: len(text) // 2]} {number} {text[len(text) // 2 :]}"

    evidence = [
        each.model_copy(
            update={
                "reviews": [
                    review.model_copy(
                        update={"review_id": f"{review.review_id}-{number}", "quote": other(review.quote)}
                    )
                    for review in each.reviews
                ]
            }
        )
        for each in example.evidence
    ]
    return example.model_copy(
        update={"business_id": f"{example.business_id}-{number}", "name": other(example.name), "evidence": evidence}
    )


def test_any_verdict_has_a_report(tmp_path: Path) -> None:
    """A number that is computed, a verdict by nested conditions, an output by name, parameters: each has its page."""
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
    page = Page(report(rows, "--param", "LIMIT=5", seed=path))
    assert "param.LIMIT 5" in page.text
    assert [found.get("data-place") for found in page.of("tr") if "data-at" in found] == ["0"]
    numeric = Page(report(rows, "--output", "TOTAL", seed=path))
    assert not numeric.of("select", id="verdict")
    assert len(numeric.of("option")) == 1
    empty = Page(report(write_lines(tmp_path / "none.jsonl"), seed=path))
    assert "0 restaurants, 0 failed" in empty.text


numbers = st.one_of(st.integers(-(10**6), 10**6), st.floats(allow_nan=False, allow_infinity=False))


@settings(max_examples=200)
@given(st.lists(st.tuples(numbers, st.sampled_from(["v0", "v4"])), max_size=40))
def test_a_histogram_counts_every_number(values: list[tuple[float, str]]) -> None:
    """Whatever the numbers are, there are few bins, each number is in one, and every bar is as high as its number says."""
    found = build_histogram("X", values, ["v0", "v4"])
    if found is None:
        assert not values or not math.isfinite(max(values)[0] - min(values)[0])
        return
    assert sum(bar.total for bar in found.bins) == len(values)
    assert 1 <= len(found.bins) <= 20
    assert 1 <= sum(bool(bar.label) for bar in found.bins) <= 8
    highest = max(bar.total for bar in found.bins)
    for bar in found.bins:
        assert {shade for shade, _ in bar.parts} <= {"v0", "v4"}
        assert sum(height for _, height in bar.parts) == pytest.approx(100 * bar.total / highest)


def test_contexts_are_refused_with_the_two_commands_to_run() -> None:
    """`explain`, `report`, `diff`, `cover` and `sensitivity` take rows; options of extraction are those of other commands."""
    contexts = EXAMPLES / "contexts.jsonl"
    for name, seeds, named, with_text in (
        ("explain", (SEED,), "SEED", " --with-text"),
        ("report", (SEED,), "SEED", " --with-text"),
        ("diff", (SEED, SEED), "OLD NEW", ""),
        ("cover", (SEED,), "SEED", ""),
        ("sensitivity", (SEED,), "SEED", ""),
    ):
        done = command(name, *seeds, "--contexts", contexts)
        extract = f"formulaseed extract {named.split()[0]} --contexts {contexts}{with_text} --out rows.jsonl"
        assert done.status == 2
        assert (
            f"`{name}` takes extracted rows; run `{extract}`, then `formulaseed {name} {named} --rows rows" in done.err
        )
        assert "--restaurants FILE --reviews FILE" in command(name, *seeds, "--reviews", contexts).err
        wrong = command(name, *seeds, "--rows", "rows.jsonl", "--extractor", "lexical")
        assert (wrong.status, "It is an option of `run`, `extract`" in wrong.err) == (2, True)
    assert "explain" not in command("evaluate", SEED, "--contexts", contexts).err


@pytest.mark.parametrize("task", sorted(path.name for path in TASKS.iterdir()))
def test_every_task_has_a_report(task: str, tmp_path: Path) -> None:
    """With the embedded extractor, of the examples' reviews."""
    out, rows = tmp_path / "report.html", tmp_path / "rows.jsonl"
    seed = TASKS / task / "seed.json"
    contexts = EXAMPLES / "contexts.jsonl"
    assert command("extract", seed, "--contexts", contexts, "--on-error", "skip", "--out", rows).status in (0, 3)
    done = command("report", seed, "--rows", rows, "--out", out)
    page = Page(out.read_text(encoding="utf-8"))
    needs_nothing_else(page)
    assert len(page.articles) == 14
    assert done.status in (0, 3)
