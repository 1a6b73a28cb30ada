"""The functions of the requests document, and a folder with its files: what they return is what the module gives."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import formulaseed as package
import pytest
from formulaseed import DataError, SeedError
from formulaseed.requests import evaluate_condition, evaluate_structure, reduce_tv, validate_request
from helpers import EXAMPLES, formulaseed


def read_lines(name: str) -> list[Any]:
    return [json.loads(line) for line in (EXAMPLES / name).read_text(encoding="utf-8").splitlines()]


RESTAURANTS = read_lines("contexts.jsonl")
BACKGROUND: dict[str, Any] = {
    "judgements": read_lines("judgements.jsonl"), "social": json.loads((EXAMPLES / "social.json").read_text(encoding="utf-8"))
}  # fmt: skip
NO_TV = {"aspect": "no_tv", "evidence": {"kind": "item_meta", "path": ["attributes", "HasTV"], "true": "False"}}


@pytest.mark.parametrize("background", [{}, BACKGROUND], ids=["plain", "judged"])
def test_functions_give_what_the_module_gives(background: dict[str, Any]) -> None:
    """For every request and restaurant of the examples, each condition, structure and request."""
    requests = read_lines("requests.jsonl")
    expected = package.validate_requests(requests, restaurants=RESTAURANTS, **background)
    assert tuple(validate_request(request, RESTAURANTS, **background) for request in requests) == expected.results
    for request in requests:
        structure = request["structure"]
        for restaurant in RESTAURANTS:
            value = evaluate_structure(structure, restaurant, **background)
            assert value == expected.matrix[request["id"]][restaurant["business_id"]]
            if all("aspect" in part for part in structure.get("args", [{}])):
                parts = [evaluate_condition(part, restaurant, **background) for part in structure["args"]]
                assert reduce_tv(structure["op"], parts) == value


def test_values_are_reduced_by_the_document() -> None:
    """AND: -1 dominates, then 0. OR: 1 dominates, then 0."""
    for values, both, either in (
        ([1, 1], 1, 1),
        ([1, 0], 0, 1),
        ([1, -1], -1, 1),
        ([0, -1], -1, 0),
        ([-1, -1], -1, -1),
    ):
        assert (reduce_tv("AND", values), reduce_tv("OR", values)) == (both, either)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: reduce_tv("XOR", [1]), DataError, "reduce_tv takes AND or OR"),
        (lambda: reduce_tv("AND", []), DataError, r"one or more of 1, 0 and -1; not 'AND' and \[\]"),
        (lambda: reduce_tv("AND", 1), DataError, "a list of one or more of 1, 0 and -1; not 'AND' and 1"),  # type: ignore[arg-type]
        (
            lambda: evaluate_condition({"op": "AND", "args": [NO_TV]}, {}),
            DataError,
            "evaluate_structure takes AND and OR",
        ),
        (
            lambda: evaluate_structure({"aspect": "a", "evidence": {"kind": "x"}}, {}),
            SeedError,
            "unknown kind of evidence `x`",
        ),
        (lambda: evaluate_structure({"aspect": object()}, {}), DataError, "a request is an object of JSON"),
        (lambda: validate_request(NO_TV, [{"name": "A"}]), DataError, "`business_id` of its own"),
    ],
)
def test_wrong_input_is_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_the_functions_are_what_the_package_exports() -> None:
    names: dict[str, Any] = {}
    exec("from formulaseed.requests import *", names)
    functions = [evaluate_condition, evaluate_structure, reduce_tv, validate_request]
    assert [names[function.__name__] for function in functions] == functions
    assert set(names) - {"__builtins__"} == {function.__name__ for function in functions}


def test_a_folder_is_a_dataset(tmp_path: Path) -> None:
    """With restaurants and reviews in two files, or contexts; what is written has the documented names."""
    for name in ("requests.jsonl", "social.json", "judgements.jsonl", "contexts.jsonl"):
        shutil.copy(EXAMPLES / name, tmp_path)
    done = formulaseed("validate", tmp_path)
    assert (done.status, done.out.splitlines()[-1]) == (0, "24 requests, 14 restaurants, 215 reviews: 24 ok")
    written = {name: (tmp_path / name).read_text() for name in ("groundtruth.jsonl", "condition_matrix.json")}
    (tmp_path / "contexts.jsonl").unlink()
    reviews = [{"business_id": place["business_id"], **review} for place in RESTAURANTS for review in place["reviews"]]
    places = [{**place["business"], "business_id": place["business_id"]} for place in RESTAURANTS]
    for name, records in (("restaurants.jsonl", places), ("reviews.jsonl", reviews)):
        (tmp_path / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    assert formulaseed("validate", tmp_path).out == done.out
    assert written == {name: (tmp_path / name).read_text() for name in written}


def test_a_folder_that_is_no_dataset_is_named_with_the_missing_file(tmp_path: Path) -> None:
    folder = tmp_path / "philly_cafes"

    def refuse(path: Path) -> str:
        refused = formulaseed("validate", path)
        assert (refused.status, refused.out) == (2, "")
        return refused.err.splitlines()[-1]

    content = "a folder has requests.jsonl, and contexts.jsonl or both restaurants.jsonl and reviews.jsonl"
    assert refuse(folder) == f"Error: there is no folder or file `{folder}`; {content}"
    folder.mkdir()
    shutil.copy(EXAMPLES / "requests.jsonl", folder)
    missing = f"Error: {folder} has neither restaurants.jsonl nor contexts.jsonl; add one, or pass --restaurants"
    assert refuse(folder) == missing
    assert refuse(folder / "requests.jsonl") == f"Error: pass --restaurants FILE or a folder; {content}"
    (folder / "requests.jsonl").unlink()
    shutil.copy(EXAMPLES / "contexts.jsonl", folder)
    assert refuse(folder) == f"formulaseed: cannot read {folder / 'requests.jsonl'}: No such file or directory"


EVIDENCE: dict[str, dict[str, Any]] = {
    "attribute": {"kind": "item_meta", "path": ["attributes", "HasTV"], "true": "True"},
    "absent": {"kind": "item_meta", "path": ["attributes", "HasTV"], "not_true": "True"},
    "none": {"kind": "item_meta", "path": ["attributes", "Alcohol"], "contains": "none"},
    "text": {"kind": "review_text", "pattern": "tv"},
}


@pytest.mark.parametrize(
    ("name", "evidence", "is_noted"),
    [
        ("no_tv", "attribute", True), ("no_tv", "absent", False), ("no_alcohol", "none", False), ("has_tv", "attribute", False),
        ("has_tv", "absent", True), ("tv_reviews", "text", False), ("tv_reviews", "attribute", True),
        ("review_meta_tv", "text", True), ("hours_late", "text", True), ("social_tv", "text", True), ("indoor", "absent", False),
    ],
)  # fmt: skip
def test_a_name_that_contradicts_its_evidence_is_noted(name: str, evidence: str, is_noted: bool) -> None:
    structure = {"aspect": name, "evidence": EVIDENCE[evidence]}
    codes = {problem.code for problem in package.load_requests([structure]).diagnostics}
    assert ("FS819" in codes) == is_noted
