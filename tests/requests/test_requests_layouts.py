"""Files of requests in any layout: lines, a list, values over several lines; and structures without their requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from formulaseed import SeedError, load_requests, validate_requests
from formulaseed.documents import analyse_file, analyse_requests, read_requests
from helpers import command
from test_requests import request

TWO = [request("R01"), request("R02")]
TWO_LINES = [json.dumps(line) for line in TWO]
LAYOUTS = {
    "one a line": "\n".join(TWO_LINES),
    "with blank lines": "\n\n".join(TWO_LINES) + "\n \n",
    "one after another": " ".join(TWO_LINES),
    "over several lines": "\n".join(json.dumps(line, indent=2) for line in TWO),
    "without indentation": "\n".join(json.dumps(line, indent=0) for line in TWO),
    "one line, then several": TWO_LINES[0] + "\n" + json.dumps(TWO[1], indent=4),
    "several lines, then one": json.dumps(TWO[0], indent=4) + "\n" + TWO_LINES[1],
    "a list on a line": json.dumps(TWO),
    "a list": json.dumps(TWO, indent=2),
    "a list of lines": "[\n" + ",\n".join(TWO_LINES) + "\n]\n",
}


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["requests.jsonl", "requests.json"])
@pytest.mark.thorough
def test_requests_are_read_however_they_are_laid_out(layout: str, name: str, tmp_path: Path) -> None:
    """The same requests with the same hash, whatever the file is called; they compile and are validated."""
    path = write_text(tmp_path / name, LAYOUTS[layout])
    assert analyse_file(path).diagnostics == ()
    loaded = load_requests(path)
    assert [line.id for line in loaded.program.requests] == ["R01", "R02"]
    assert loaded.sha256 == load_requests(TWO).sha256
    validated = validate_requests(path, restaurants=[])
    assert [result.status for result in validated.results] == ["no_match", "no_match"]
    assert command("compile", path, "--out", tmp_path).status == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_diagnostics_have_their_place_in_any_layout(layout: str, tmp_path: Path) -> None:
    """The line and column of the second request's mistake; the first is valid."""
    text = LAYOUTS[layout].replace('"R02"', '" R2"')
    path = write_text(tmp_path / "requests.json", text)
    (diagnostic,) = analyse_file(path).diagnostics
    before = text[: text.index('" R2"')]
    assert (diagnostic.code, diagnostic.line) == ("FS811", before.count("\n") + 1)
    assert diagnostic.column == len(before) - before.rfind("\n")
    assert [type(line).__name__ for line in read_requests(path).parsed or ()] == ["Request", "InvalidRequest"]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (f"[{TWO_LINES[0]} {TWO_LINES[1]}]", "FS001", "missing comma before this"),
        (json.dumps(TWO, indent=2)[:-1], "FS001", "the list that opens on line 1 is not closed"),
        (json.dumps(TWO) + "x", "FS001", "unexpected content after the end of the document"),
        (json.dumps(TWO[0], indent=2)[:-1], "FS001", "the object that opens on line 1 is not closed"),
        ("1 " * 100_000, "FS510", "the file holds more than 1000 requests"),
        ("[" + "1," * 100_000 + "1]", "FS510", "the file holds more than 1000 requests"),
    ],
    ids=["no comma", "no end of a list", "more behind a list", "no end of an object", "too many", "too many in a list"],
)
def test_a_file_is_refused_as_a_whole(text: str, code: str, message: str, tmp_path: Path) -> None:
    """If it is no JSON, or has more requests than may be, which are not read."""
    path = write_text(tmp_path / "requests.jsonl", text)
    (diagnostic,) = analyse_file(path).diagnostics
    assert (diagnostic.code, diagnostic.message) == (code, message)
    with pytest.raises(SeedError):
        read_requests(path)


@pytest.mark.parametrize(
    "broken", [[TWO_LINES[0][:-1], TWO_LINES[1]], [TWO_LINES[0], "not JSON", TWO_LINES[1]], [*TWO_LINES, '{"id": "R03",']]
)  # fmt: skip
def test_a_broken_line_spoils_no_other(broken: list[str], tmp_path: Path) -> None:
    """The first line, a later one, or a line that is no JSON at all."""
    parsed = read_requests(write_text(tmp_path / "requests.jsonl", "\n".join(broken))).parsed or ()
    assert sorted(type(line).__name__ for line in parsed) == ["InvalidRequest", *["Request"] * (len(broken) - 1)]


STRUCTURE = TWO[0]["structure"]


@pytest.mark.parametrize("text", [json.dumps(STRUCTURE), json.dumps(STRUCTURE, indent=2), json.dumps([STRUCTURE])])
def test_a_structure_alone(text: str, tmp_path: Path) -> None:
    """It is checked with a note, compiles, and is validated without a gold restaurant."""
    path = write_text(tmp_path / "structure.json", text)
    (note,) = analyse_file(path).diagnostics
    assert (note.code, note.severity) == ("FS818", "note")
    (only,) = load_requests(path).program.requests
    assert (only.id, only.group, only.gold_restaurant) == ("structure 1", None, None)
    assert command("compile", path, "--out", tmp_path).status == 0
    (result,) = validate_requests(path, restaurants=[]).results
    assert (result.status, result.gold_restaurant) == ("no_match", None)


def test_an_error_in_a_structure_alone_has_its_place(tmp_path: Path) -> None:
    path = write_text(tmp_path / "structure.json", json.dumps(STRUCTURE["args"][0] | {"aspct": "x"}, indent=2))
    errors = [(d.code, d.pointer) for d in analyse_file(path).diagnostics if d.severity == "error"]
    assert errors == [("FS501", "/aspct")]


@pytest.mark.parametrize(
    ("quiet", "status"), [(["True"], "ok"), (["True", "True"], "multi_match"), (["False"], "no_match")]
)
def test_the_status_of_a_structure_alone(quiet: list[str], status: str) -> None:
    """One match is `ok`, as nothing says which it should be; several are not."""
    structure = {"aspect": "quiet", "evidence": {"kind": "item_meta", "path": ["quiet"], "true": "True"}}
    restaurants = [{"business_id": f"b{at}", "quiet": text, "reviews": []} for at, text in enumerate(quiet)]
    (result,) = validate_requests([structure], restaurants=restaurants).results
    assert result.status == status


def test_two_structures_and_an_id_that_is_taken() -> None:
    two = analyse_requests([STRUCTURE, STRUCTURE]).parsed or ()
    assert [line.id for line in two] == ["structure 1", "structure 2"]
    diagnostics = analyse_requests([request("structure 2"), STRUCTURE]).diagnostics
    errors = [(d.code, d.message) for d in diagnostics if d.severity == "error"]
    assert errors == [("FS203", "duplicate id `structure 2`, first on line 1")]
