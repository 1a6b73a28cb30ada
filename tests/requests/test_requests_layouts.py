"""Files of requests in any layout: lines, a list, values over several lines; and structures without their requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from formulaseed import SeedError, load_requests, validate_requests
from formulaseed.documents import analyse_file, analyse_requests, read_requests
from helpers import formulaseed
from test_requests import diagnose, request

TWO = [request("R01"), request("R02")]
LAYOUTS = {
    "one a line": "\n".join(map(json.dumps, TWO)),
    "with blank lines": "\n\n".join(map(json.dumps, TWO)) + "\n \n",
    "one after another": " ".join(map(json.dumps, TWO)),
    "over several lines": "\n".join(json.dumps(line, indent=2) for line in TWO),
    "without indentation": "\n".join(json.dumps(line, indent=0) for line in TWO),
    "one line, then several": json.dumps(TWO[0]) + "\n" + json.dumps(TWO[1], indent=4),
    "several lines, then one": json.dumps(TWO[0], indent=4) + "\n" + json.dumps(TWO[1]),
    "a list on a line": json.dumps(TWO),
    "a list": json.dumps(TWO, indent=2),
    "a list of lines": "[\n" + ",\n".join(map(json.dumps, TWO)) + "\n]\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["requests.jsonl", "requests.json"])
def test_requests_are_read_however_they_are_laid_out(layout: str, name: str, tmp_path: Path) -> None:
    """The same requests with the same hash, whatever the file is called; they compile and are validated."""
    path = tmp_path / name
    path.write_text(LAYOUTS[layout], encoding="utf-8")
    assert analyse_file(path).diagnostics == ()
    loaded = load_requests(path)
    assert [line.id for line in loaded.program.requests] == ["R01", "R02"]
    assert loaded.sha256 == load_requests(TWO).sha256
    validated = validate_requests(path, restaurants=[])
    assert [result.status for result in validated.results] == ["no_match", "no_match"]
    assert formulaseed("compile", path, "--out", tmp_path).status == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_diagnostics_have_their_place_in_any_layout(layout: str, tmp_path: Path) -> None:
    """The line and column of the second request's mistake; the first is valid."""
    path = tmp_path / "requests.json"
    path.write_text(LAYOUTS[layout].replace('"R02"', '" R2"'), encoding="utf-8")
    (diagnostic,) = analyse_file(path).diagnostics
    text = path.read_text(encoding="utf-8")
    before = text[: text.index('" R2"')]
    assert (diagnostic.code, diagnostic.line) == ("FS811", before.count("\n") + 1)
    assert diagnostic.column == len(before) - before.rfind("\n")
    assert [type(line).__name__ for line in read_requests(path).parsed or ()] == ["Request", "InvalidRequest"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" + json.dumps(TWO[0]) + " " + json.dumps(TWO[1]) + "]", "missing comma before this"),
        (json.dumps(TWO, indent=2)[:-1], "the list that opens on line 1 is not closed"),
        (json.dumps(TWO) + "x", "unexpected content after the end of the document"),
        (json.dumps(TWO[0], indent=2)[:-1], "the object that opens on line 1 is not closed"),
    ],
)
def test_a_list_that_is_not_json_is_refused_as_a_whole(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text(text, encoding="utf-8")
    (diagnostic,) = analyse_file(path).diagnostics
    assert (diagnostic.code, diagnostic.message) == ("FS001", message)
    with pytest.raises(SeedError):
        read_requests(path)


def test_a_broken_line_spoils_no_other(tmp_path: Path) -> None:
    """The first line, a later one, or a line that is no JSON at all."""
    good = [json.dumps(line) for line in TWO]
    for broken in ([good[0][:-1], good[1]], [good[0], "not JSON", good[1]], [*good, '{"id": "R03",']):
        path = tmp_path / "requests.jsonl"
        path.write_text("\n".join(broken), encoding="utf-8")
        kinds = [type(line).__name__ for line in read_requests(path).parsed or ()]
        assert sorted(kinds) == ["InvalidRequest", *["Request"] * (len(broken) - 1)]


def test_a_structure_alone(tmp_path: Path) -> None:
    """It is checked with a note, compiles, and is validated without a gold restaurant; an error in it has its place."""
    structure = TWO[0]["structure"]
    for text in (json.dumps(structure), json.dumps(structure, indent=2), json.dumps([structure])):
        path = tmp_path / "structure.json"
        path.write_text(text, encoding="utf-8")
        (note,) = analyse_file(path).diagnostics
        assert (note.code, note.severity) == ("FS818", "note")
        (diagnostic,) = load_requests(path).program.requests
        assert (diagnostic.id, diagnostic.group, diagnostic.gold_restaurant) == ("structure 1", None, None)
        assert formulaseed("compile", path, "--out", tmp_path).status == 0
        (result,) = validate_requests(path, restaurants=[]).results
        assert (result.status, result.gold_restaurant) == ("no_match", None)
    path.write_text(json.dumps(structure["args"][0] | {"aspct": "x"}, indent=2), encoding="utf-8")
    (diagnostic,) = [d for d in analyse_file(path).diagnostics if d.severity == "error"]
    assert (diagnostic.code, diagnostic.pointer) == ("FS501", "/aspct")


def test_the_status_of_a_structure_alone() -> None:
    """One match is `ok`, as nothing says which it should be; several are not."""
    structure = {"aspect": "quiet", "evidence": {"kind": "item_meta", "path": ["quiet"], "true": "True"}}
    for places, status in (((1,), "ok"), ((1, 1), "multi_match"), ((0,), "no_match")):
        restaurants = [
            {"business_id": f"b{at}", "name": "B", "quiet": str(bool(quiet)), "reviews": []}
            for at, quiet in enumerate(places)
        ]
        (result,) = validate_requests([structure], restaurants=restaurants).results
        assert result.status == status


def test_more_requests_than_may_be_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    for text in ("1 " * 100_000, "[" + "1," * 100_000 + "1]"):
        path.write_text(text, encoding="utf-8")
        (diagnostic,) = analyse_file(path).diagnostics
        assert (diagnostic.code, diagnostic.message) == ("FS510", "the file holds more than 1000 requests")


def test_two_structures_and_an_id_that_is_taken() -> None:
    structure = TWO[0]["structure"]
    assert [line.id for line in analyse_requests([structure, structure]).parsed or ()] == ["structure 1", "structure 2"]
    (diagnostic,) = [d for d in diagnose(request("structure 2"), structure) if d.severity == "error"]
    assert (diagnostic.code, diagnostic.message) == ("FS203", "duplicate id `structure 2`, first on line 1")
