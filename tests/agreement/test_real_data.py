"""Real restaurants: the allergy task and benchmark requests, against values published for them.

Skipped where the data is not at hand.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest
from formulaseed import load_evaluator, load_requests
from helpers import TASKS, Outcome, formulaseed, read_lines, write_lines

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SEED = TASKS / "g1a_v2" / "seed.json"


def real(name: str, folder: str = "g1a") -> Path:
    path = DATA / folder / name
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    return path


def same(found: object, expected: object) -> bool:
    """Equal texts and booleans; numbers to a relative 1e-9."""
    if isinstance(found, int | float) and isinstance(expected, int | float) and not isinstance(found, bool):
        return math.isclose(found, expected, rel_tol=1e-9)
    return type(found) is type(expected) and found == expected


@pytest.mark.thorough
def test_every_step_has_its_published_value() -> None:
    """Fifty restaurants, each step of each: the value of the published computation."""
    expected = {line["business_id"]: line["values"] for line in read_lines(real("expected_v2.jsonl"))}
    found = formulaseed("evaluate", SEED, "--rows", real("rows.jsonl"), "--trace")
    assert found.status == 0, found.err
    steps = {result["business_id"]: result["steps"] for result in found.results}
    assert list(steps) == [line["business_id"] for line in read_lines(real("rows.jsonl"))]
    assert steps.keys() == expected.keys()
    pairs = [(place, name, steps[place][name], value) for place in expected for name, value in expected[place].items()]
    assert [pair for pair in pairs if not same(*pair[2:])] == []


@pytest.mark.thorough
def test_the_lexical_extractor_runs_on_real_reviews() -> None:
    """Each of the 25 restaurants gets a verdict; every relevant review is extracted."""
    found = formulaseed("run", SEED, "--contexts", real("contexts.jsonl"), "--extractor", "lexical")
    assert found.status == 0, found.err
    contexts = read_lines(real("contexts.jsonl"))
    assert len(found.results) == len(contexts) == 25
    for result, context in zip(found.results, contexts, strict=True):
        assert result["business_id"] == context["business_id"]
        assert result["name"] == context["business"]["name"]
        assert result["output"]["VERDICT"] in {"Low Risk", "High Risk", "Critical Risk"}
        counts = result["reviews"]
        assert counts["total"] == len(context["reviews"])
        assert counts["relevant"] == counts["extracted"] <= counts["total"]


@pytest.mark.thorough
def test_recorded_extractions_are_used_and_the_missing_ones_named(tmp_path: Path) -> None:
    """All recorded: 25 outputs. Five relevant ones taken out: status 3, the five ids reported, the others as before."""
    arguments = ("run", SEED, "--contexts", real("contexts.jsonl"), "--extractor", "recorded", "--extractions")
    complete = formulaseed(*arguments, real("extractions.jsonl"))
    assert complete.status == 0, complete.err
    assert len(complete.results) == 25
    assert all("output" in result for result in complete.results)

    is_relevant = load_evaluator(SEED).is_relevant
    reviews = {r["review_id"]: r["text"] for c in read_lines(real("contexts.jsonl")) for r in c["reviews"]}
    lines = read_lines(real("extractions.jsonl"))
    removed = [line for line in lines if is_relevant(reviews[line["review_id"]])][::10][:5]
    assert len(removed) == 5
    kept = write_lines(tmp_path / "extractions.jsonl", *[line for line in lines if line not in removed])
    found = formulaseed(*arguments, kept)
    assert found.status == 3
    reported = [line for line in found.err.splitlines() if line.startswith("failed: ")]
    assert len(reported) == 5
    for gone in removed:
        reason = f": {gone['business_id']}: review {gone['review_id']}: no extraction is recorded for it"
        assert any(line.endswith(reason) for line in reported)
    without = {gone["business_id"] for gone in removed}
    for result, before in zip(found.results, complete.results, strict=True):
        if result["business_id"] in without:
            assert (result["error"]["step"], result["error"]["kind"]) == (None, "extraction")
        else:
            assert result == before


def validated(*arguments: object, judged: bool = True, requests: Path | None = None) -> Outcome:
    """The benchmark's requests, or others, validated against its cafes."""
    given = {"--restaurants": "restaurants.jsonl", "--reviews": "reviews.jsonl", "--social": "social.json"}
    if judged:
        given["--judgements"] = "judgements.jsonl"
    options = [part for option, name in given.items() for part in (option, real(name, "philly"))]
    return formulaseed("validate", requests or real("requests.jsonl", "philly"), *options, *arguments)


@pytest.mark.thorough
def test_benchmark_requests_are_checked() -> None:
    """All fifty load; what they are warned of is a request outside its group's pattern, and `value` that disagrees."""
    path = real("requests.jsonl", "philly")
    assert formulaseed("check", path).status == 0
    found = load_requests(path)
    assert len(found.program.requests) == 50
    assert Counter(d.code for d in found.diagnostics) == {"FS813": 1, "FS816": 7}


@pytest.mark.thorough
def test_benchmark_requests_have_their_published_values(tmp_path: Path) -> None:
    """Fifty requests on fifty cafes: every one of the 2,500 values, and every request ok."""
    expected = json.loads(real("expected_matrix.json", "philly").read_text(encoding="utf-8"))
    done = validated("--matrix", tmp_path / "matrix.json", "--out", "-")
    assert done.status == 0, done.err
    assert json.loads((tmp_path / "matrix.json").read_text(encoding="utf-8")) == expected
    assert Counter(line["status"] for line in done.results) == {"ok": 50}


@pytest.mark.thorough
def test_benchmark_requests_beside_broken_ones(tmp_path: Path) -> None:
    """Five of the fifty broken in five ways are invalid; the others keep their published values, and are ok.

    Five more whose shorthands disagree with their structures are among those.
    """
    expected = json.loads(real("expected_matrix.json", "philly").read_text(encoding="utf-8"))
    lines = read_lines(real("requests.jsonl", "philly"))
    for at in (7, 14, 21, 33, 48):
        del expected[lines[at]["id"]]
    lines[7]["structure"]["args"][0]["evidence"]["kind"] = "item_metadata"
    del lines[14]["structure"]
    lines[21]["id"] = lines[20]["id"]
    lines[33]["persona"] = lines[33]["scenario"]
    for line in lines[40:45]:
        line["shorthand"] = "AND(a, b, c, d, e, f, g, h)"
    records: list[object] = [*lines[:48], json.dumps(lines[48]).encode()[:-9], lines[49]]
    requests = write_lines(tmp_path / "requests.jsonl", *records)
    done = validated("--matrix", tmp_path / "matrix.json", "--out", "-", requests=requests)
    assert done.status == 1
    statuses = [line["status"] for line in done.results]
    assert Counter(statuses) == {"ok": 45, "invalid": 5}
    assert [at for at, status in enumerate(statuses) if status == "invalid"] == [7, 14, 21, 33, 48]
    assert json.loads((tmp_path / "matrix.json").read_text(encoding="utf-8")) == expected


@pytest.mark.thorough
def test_benchmark_requests_on_the_texts_alone() -> None:
    """Without judgements only the requests that ask for judgements are open, and they say so."""
    done = validated("--out", "-", judged=False)
    assert done.status == 1
    for line in done.results:
        assert line["status"] == "ok" or line["matches"] == [] or line["status"] == "multi_match"
    assert "no judgements are given" in done.err
