"""Requests are read however they are laid out, and `fmt` keeps the layout."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from formulaseed import SeedError, load_requests, validate_requests
from helpers import EXAMPLES, command, read_lines

REQUESTS = read_lines(EXAMPLES / "requests.jsonl")[:3]
CONTEXTS = EXAMPLES / "contexts.jsonl"

LAYOUTS: dict[str, Callable[[list[Any]], str]] = {
    "one a line": lambda values: "".join(f"{json.dumps(value)}\n" for value in values),
    "one a line, blank lines between": lambda values: "\n\n".join(map(json.dumps, values)),
    "one after another": lambda values: "\n".join(json.dumps(value, indent=2) for value in values),
    "a list": lambda values: json.dumps(values, indent=4),
    "a list on one line": json.dumps,
}


def broken_kind() -> list[Any]:
    """Return three requests, the second with a typo in a kind of evidence."""
    requests = json.loads(json.dumps(REQUESTS))
    requests[1]["structure"]["args"][1]["evidence"]["kind"] = "item_mata"
    return list(requests)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_read_by_every_command(tmp_path: Path, layout: str, suffix: str, count: int) -> None:
    """The layout and the name decide nothing: the requests, the module and the results are the same."""
    path = tmp_path / f"asked{suffix}"
    path.write_text(LAYOUTS[layout](REQUESTS[:count]), encoding="utf-8")
    plain = [request.structure for request in load_requests(REQUESTS[:count]).program.requests]
    assert [request.structure for request in load_requests(path).program.requests] == plain
    assert load_requests(path).data == REQUESTS[:count]
    assert command("check", path).out == f"{path}: no problems\n"
    assert command("compile", path, "--out", tmp_path).status == 0
    done = command("validate", path, "--restaurants", CONTEXTS, "--out", tmp_path / "out.jsonl")
    assert done.status == 0
    assert [result["status"] for result in read_lines(tmp_path / "out.jsonl")] == ["ok"] * count


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fmt_keeps_the_kind_of_a_file(tmp_path: Path, layout: str) -> None:
    """One request a line stays one a line, a list a list; a second run changes nothing, and `check` accepts the file."""
    shuffled = [dict(reversed(request.items())) for request in REQUESTS]
    path = tmp_path / "requests.jsonl"
    path.write_text(LAYOUTS[layout](shuffled), encoding="utf-8")
    assert command("fmt", "--check", path).status == 1
    done = command("fmt", path)
    assert (done.status, done.out) == (0, f"{path}\n")
    text = path.read_text(encoding="utf-8")
    assert [*load_requests(path).data] == REQUESTS
    assert list(load_requests(path).data[0]) == list(REQUESTS[0])
    if layout.startswith("one a line"):
        assert text == LAYOUTS["one a line"](REQUESTS)
    assert text.startswith("[") == layout.startswith("a list")
    assert command("fmt", "--check", path).status == 0
    assert command("check", path).out == f"{path}: no problems\n"


def test_fmt_leaves_one_line_of_requests_or_contexts_alone(tmp_path: Path) -> None:
    one, context = tmp_path / "one.jsonl", tmp_path / "context.jsonl"
    one.write_text(json.dumps(REQUESTS[0]) + "\n")
    context.write_text(CONTEXTS.read_text(encoding="utf-8").split("\n", 1)[0] + "\n", encoding="utf-8")
    before = (one.read_bytes(), context.read_bytes())
    assert command("fmt", one).status == 0
    refused = command("fmt", context)
    assert refused.status == 1
    assert "this is a file of contexts, not a seed, requests or rules" in refused.err
    assert (one.read_bytes(), context.read_bytes()) == before


@pytest.mark.parametrize(
    ("layout", "pointer"),
    [("one a line", ""), ("one after another", ""), ("a list", "/1"), ("a list on one line", "/1")],
)
def test_an_error_has_its_place_in_every_layout(tmp_path: Path, layout: str, pointer: str) -> None:
    path = tmp_path / "requests.json"
    text = LAYOUTS[layout](broken_kind())
    path.write_text(text, encoding="utf-8")
    (found,) = json.loads(command("check", path, "--format", "json").out)
    before = text[: text.index('"item_mata"')]
    assert found["pointer"] == f"{pointer}/structure/args/1/evidence/kind"
    assert (found["line"], found["column"]) == (before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
    assert command("validate", path, "--restaurants", CONTEXTS).out.count(" invalid ") == 1


ENCODINGS: list[Callable[[str], bytes]] = [
    lambda text: text.encode("utf-8-sig"),
    lambda text: text.replace("\n", "\r\n").encode(),
    lambda text: gzip.compress(text.encode()),
]


@pytest.mark.parametrize("encode", ENCODINGS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_line_ends_marks_and_compression_make_no_difference(
    tmp_path: Path, layout: str, encode: Callable[[str], bytes]
) -> None:
    data = encode(LAYOUTS[layout](REQUESTS))
    path = tmp_path / ("requests.json.gz" if data.startswith(b"\x1f\x8b") else "requests.json")
    path.write_bytes(data)
    assert load_requests(path).data == REQUESTS


def test_items_of_a_list_that_are_no_requests_are_reported_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "requests.json"
    path.write_text(json.dumps([REQUESTS[0], 5, "x", REQUESTS[1]]))
    found = json.loads(command("check", path, "--format", "json").out)
    assert [(each["code"], each["pointer"]) for each in found] == [("FS503", "/1"), ("FS503", "/2")]


# --- structures alone


def test_a_structure_alone_is_read_with_a_note(tmp_path: Path) -> None:
    """As documents print one, with `AND` or `OR`, or a condition: it has no gold restaurant, and its place as its id."""
    structure = REQUESTS[0]["structure"]
    path = tmp_path / "structures.json"
    path.write_text("\n".join(json.dumps(each, indent=2) for each in (structure, structure["args"][1])))
    done = command("check", path, "--notes")
    assert done.status == 0
    assert done.out.count("note[FS818]") == 2
    first, second = load_requests(path).program.requests
    assert (first.id, first.gold_restaurant, second.id) == ("structure 1", None, "structure 2")
    found = validate_requests(path, restaurants=CONTEXTS)
    assert [result.status for result in found.results] == ["ok", "multi_match"]
    named = validate_requests(REQUESTS[:1], restaurants=CONTEXTS)
    assert found.results[0].matches == named.results[0].matches
    assert command("compile", path, "--out", tmp_path).status == 0
    said = command("validate", path, "--restaurants", CONTEXTS)
    assert "note: 2 structures without a gold restaurant" in said.err


def test_a_structure_with_an_error_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "structure.json"
    path.write_text('{"op": "AND",\n "args": [{"aspect": "a", "evidence": {"kind": "item_mata"}}]}')
    (found,) = (d for d in json.loads(command("check", path, "--format", "json").out) if d["severity"] == "error")
    assert (found["line"], found["pointer"]) == (2, "/args/0/evidence/kind")


def test_a_fault_of_json_in_requests_is_the_only_error(tmp_path: Path) -> None:
    """A file of invalid JSON is read as what its keys say, so that nothing is missing from a seed that it is not."""
    text = json.dumps(REQUESTS[0], indent=2)
    placeholder = json.dumps({**REQUESTS[0], "structure": {}}, indent=2).replace("{}", "{ ... }")
    for broken, line in (
        (text[:-2] + ",\n}", text.count("\n")), (text[:-20], text.count("\n")), (placeholder, 7),
        ('{"op": "AND" | "OR", "args": [ ... ]}', 1), (f"[{text}, {text}", text.count("\n") * 2 + 1),
    ):  # fmt: skip
        path = tmp_path / "request.json"
        path.write_text(broken)
        found = json.loads(command("check", path, "--format", "json").out)
        assert (found[-1]["code"], found[-1]["line"]) == ("FS001", line)
        assert all("seed" not in each["message"] for each in found)


def test_no_requests_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text("\n\n")
    with pytest.raises(SeedError, match="holds no request"):
        load_requests(path)
    with pytest.raises(SeedError, match="holds no request"):
        load_requests([])
