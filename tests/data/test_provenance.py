"""Every result has its provenance, and the closing line counts every line of the input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from formulaseed import load_evaluator, load_seed
from helpers import ROOT, TASKS, command, tiny_row, tiny_rows, tiny_seed, write_json, write_lines

KEYS = ["seed_sha256", "seed_version", "parameters", "extractor", "prompt_sha256"]
REVIEW = {"review_id": "r1", "text": "Good soup", "stars": 4, "date": "2020-02-29"}


def common_provenance(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the provenance that all results have, as the last key of each."""
    assert lines
    assert all(list(line)[-1] == "run" and list(line["run"]) == KEYS for line in lines)
    [run] = {json.dumps(line["run"]) for line in lines}
    return dict(json.loads(run))


@pytest.mark.parametrize(
    ("version", "expected"), [({}, None), ({"version": "2.1 β"}, "2.1 β"), ({"version": ""}, None)]
)
@pytest.mark.thorough
def test_a_seed_and_its_module_have_the_same_provenance(
    version: dict[str, str], expected: str | None, tmp_path: Path
) -> None:
    """Hash, version and effective parameters with defaults, also for failures; no extractor and no prompt."""
    parameters = {
        **tiny_seed()["parameters"],
        "class": {"type": "number", "default": 1},
        "_x": {"type": "string", "default": "ä"},
    }
    seed = tiny_seed(**version, parameters=parameters)
    path = write_json(tmp_path / "seed.json", seed)
    rows = write_lines(tmp_path / "rows.jsonl", tiny_rows("a", tiny_row("r1")), tiny_rows("b"), {"business_id": "c"})
    assert command("compile", path, "--out", tmp_path).status == 0
    values = load_seed(seed).sha256, expected, {"LEAST": 3, "class": 1.0, "_x": "ä"}, None, None
    for policy in (path, tmp_path / "tiny_1.py"):
        done = command("evaluate", policy, "--rows", rows, "--param", "LEAST=3", "--trace")
        assert (done.status, ["error" in line for line in done.results]) == (3, [False, True, True])
        assert common_provenance(done.results) == dict(zip(KEYS, values, strict=True))


def test_a_run_names_its_extractor(tmp_path: Path) -> None:
    """Also in the results of restaurants that failed."""
    path = write_json(tmp_path / "seed.json", tiny_seed())
    places = [{"business_id": "a", "reviews": [REVIEW]}, {"business_id": "b", "reviews": []}, {"business_id": "c"}]
    contexts = write_lines(tmp_path / "contexts.jsonl", *({**place, "is_open": 1} for place in places))
    recorded = write_lines(
        tmp_path / "recorded.jsonl", {"business_id": "a", "review_id": "r1", "fields": {"mood": "good", "score": 1}}
    )
    for options, name in (((), "lexical"), (("--extractor", "recorded", "--extractions", recorded), "recorded")):
        done = command("run", path, "--contexts", contexts, *options)
        assert (done.status, len(done.results)) == (3, 3)
        run = common_provenance(
            [{**result, "run": {key: result["run"][key] for key in KEYS}} for result in done.results]
        )
        assert (run["extractor"], run["prompt_sha256"], run["parameters"]) == (name, None, {"LEAST": 2})


def test_an_evaluator_returns_its_provenance() -> None:
    seed = tiny_seed(version=3)
    values = load_seed(seed).sha256, "3", {"LEAST": 5}, "mine", None
    run = load_evaluator(seed).provenance({"LEAST": 5.0}, "mine")
    assert run.to_json() == dict(zip(KEYS, values, strict=True))
    task, module = TASKS / "g1a_v2" / "seed.json", ROOT / "generated" / "g1a_v2.py"
    assert load_evaluator(task).provenance() == load_evaluator(module).provenance()
    assert load_evaluator(module).provenance().seed_sha256 == load_seed(task).sha256


def test_evaluate_counts_every_line(tmp_path: Path) -> None:
    """Restaurants with a value, those without, unreadable lines; blank lines are not counted."""
    path = write_json(tmp_path / "seed.json", tiny_seed())
    good = [tiny_rows(f"g{i}", tiny_row("r1")) for i in range(6)]
    rows = write_lines(tmp_path / "rows.jsonl", *good, b"", b"{", tiny_rows("none"), {"rows": []})
    done = command("evaluate", path, "--rows", rows)
    assert (done.status, len(done.results)) == (3, 7)
    assert done.err.splitlines()[-1] == "9 lines: 7 restaurants, 1 failed; 2 lines unreadable"
    empty = command("evaluate", path, "--rows", write_lines(tmp_path / "empty.jsonl"))
    assert (empty.status, empty.err.splitlines()[-1]) == (0, "0 lines: 0 restaurants, 0 failed")


def test_run_counts_every_line(tmp_path: Path) -> None:
    """In two files also lines that belong to no restaurant, and those of a restaurant that has a line already."""
    seed = tiny_seed()
    seed["extract"]["fields"][0]["default"] = "good"
    path = write_json(tmp_path / "seed.json", seed)
    good = [{"business_id": f"g{i}", "is_open": 1, "reviews": [REVIEW]} for i in range(6)]
    contexts = write_lines(tmp_path / "contexts.jsonl", *good, b"[]", {"reviews": []}, {"business_id": "none"})
    places = write_lines(tmp_path / "places.jsonl", *[{"business_id": b, "is_open": 1} for b in "abcb"], b"{")
    known = [{**REVIEW, "business_id": b} for b in "abxyx"]
    reviews = write_lines(tmp_path / "reviews.jsonl", *known, {"business_id": "c", "text": "soup"}, b"null")
    for options, lines in (
        (("--contexts", contexts), "7 restaurants, 1 failed; 2 lines unreadable; 6 of 6 reviews relevant, 6 extracted"),
        (
            ("--restaurants", places, "--reviews", reviews),
            "3 restaurants, 1 failed; 3 lines unreadable; 4 lines unused; 2 of 2 reviews relevant, 2 extracted",
        ),
    ):
        done = command("run", path, *options)
        assert (done.status, done.err.splitlines()[-1]) == (3, f"{lines} (lexical)")
        assert f"{len(done.results)} restaurants" in lines
