"""Test SARIF logs: they match the published schema, and their places lead back to the text in the files."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from case_files import blocks_of
from formulaseed import __version__
from formulaseed.diagnostics.codes import CODES, SEVERITIES, read_explanation, read_page
from formulaseed.diagnostics.model import Diagnostic, Suggestion
from formulaseed.diagnostics.sarif import FINGERPRINT, render_sarif
from formulaseed.documents import analyse, analyse_file
from formulaseed.source.text import Source, Span
from helpers import ROOT, SEEDS, command, formulaseed, write_json
from jsonschema import Draft4Validator

Json = Any

CASES = ROOT / "tests" / "cases" / "bad"
PUBLISHED = json.loads((Path(__file__).parent / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
VALIDATOR = Draft4Validator(PUBLISHED, format_checker=Draft4Validator.FORMAT_CHECKER)
URI = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-F]{2})+")
"""A URI reference without query and fragment (RFC 3986)."""


PLACE = Span(Source("seed.json", '{"a": 1}'), 1, 4)


def small_seed(**changes: object) -> dict[str, Any]:
    """Return a seed without problems, with changes."""
    step = {"name": "N", "op": "count"}
    return {"task_name": "Small", "extract": {"fields": []}, "compute": [step], "output": ["N"], **changes}


def log_of(*diagnostics: Diagnostic) -> Json:
    """Return the log, after checking it against the published schema and the demands of code scanning services."""
    log = json.loads(render_sarif(diagnostics, __version__))
    assert [error.message for error in VALIDATOR.iter_errors(log)] == []
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == len(diagnostics)
    for result in run["results"]:
        assert (rules[result["ruleIndex"]]["id"], result["level"] in SEVERITIES) == (result["ruleId"], True)
        assert result["message"]["text"]
        (location,) = result["locations"]
        assert URI.fullmatch(location["physicalLocation"]["artifactLocation"]["uri"])
        assert location["physicalLocation"]["region"]["startLine"] >= 1
        assert len(result["partialFingerprints"]) == 1
    return log


def results_of(*diagnostics: Diagnostic) -> list[Json]:
    results: list[Json] = log_of(*diagnostics)["runs"][0]["results"]
    return results


def read_back(folder: Path, location: Json) -> str:
    """Return the text at a physical location, as a reader of the log finds it: by URI, lines and columns."""
    artifact, region = location["artifactLocation"], location["region"]
    uri = unquote(urlsplit(artifact["uri"]).path, errors="surrogateescape")
    path = Path(os.fsdecode(uri.encode("utf-8", "surrogateescape")))
    assert path.is_absolute() != ("uriBaseId" in artifact)
    lines = (folder / path).read_bytes().decode("utf-8-sig", "replace").split("\n")
    first, last = region["startLine"] - 1, region["endLine"] - 1
    covered = lines[first : last + 1]
    covered[-1] = covered[-1][: region["endColumn"] - 1]
    covered[0] = covered[0][region["startColumn"] - 1 :]
    return "\n".join(covered)


def test_the_schema_is_the_published_one() -> None:
    assert PUBLISHED["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    assert PUBLISHED["title"] == "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"
    assert len(PUBLISHED["definitions"]) == 52
    Draft4Validator.check_schema(PUBLISHED)
    assert [*VALIDATOR.iter_errors({"version": "2.1.0", "runs": [{"tool": {}, "results": 1}]})]


@pytest.mark.parametrize("path", sorted(CASES.glob("*.md")), ids=lambda path: path.stem)
@pytest.mark.thorough
def test_every_kind_of_problem(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each bad case gives a valid log, whose regions have the text of the diagnostics' spans."""
    monkeypatch.chdir(tmp_path)
    name = "requests.jsonl" if path.stem.startswith("requests_") else "seed.json"
    Path(name).write_text(blocks_of(path)[0].body.removesuffix("\n"), encoding="utf-8")
    diagnostics = analyse_file(name).diagnostics
    for diagnostic, result in zip(diagnostics, results_of(*diagnostics), strict=True):
        (location,) = result["locations"]
        span = diagnostic.span
        places = [location, *result.get("relatedLocations", [])]
        assert [read_back(tmp_path, place["physicalLocation"]) for place in places] == [
            place.source.text[place.start : place.end] for place in (span, *diagnostic.related)
        ]
        named = [logical["fullyQualifiedName"] for logical in location.get("logicalLocations", [])]
        assert named == ([span.pointer] if span.pointer else [])
        assert (result["ruleId"], result["level"]) == (diagnostic.code, diagnostic.severity)
        assert result["message"]["text"].startswith(diagnostic.message[:20].replace("](", "]\\("))


NAMES = (
    "two words.json", "100%25.json", "für & mich#1?.json", "日本/ü.json", "a:b.json", "<x>.json", os.fsdecode(b"\xff.json"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "encoding", "newline"),
    [*((name, "utf-8", "\n") for name in NAMES), *(("seed.json", *form) for form in (
        ("utf-8-sig", "\n"), ("utf-8", "\r\n"), ("utf-8-sig", "\r\n")))],
)  # fmt: skip
def test_places_lead_back_to_the_file(
    name: str, encoding: str, newline: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a relative and an absolute path; no byte order mark, line break or emoji moves a column."""
    monkeypatch.chdir(tmp_path)
    Path(name).parent.mkdir(exist_ok=True)
    seed = json.dumps(small_seed(description="🍜🍜", output=["N", "NOPE"]), ensure_ascii=False)
    Path(name).write_text(seed.replace(', "output"', ',\n"output"'), encoding=encoding, newline=newline)
    for path in (name, str(tmp_path / name)):
        (result,) = results_of(*analyse(path).diagnostics)
        location = result["locations"][0]["physicalLocation"]
        assert (location["region"]["startLine"], read_back(tmp_path, location)) == (2, '"NOPE"')


def test_a_seed_in_memory_and_nothing_to_report() -> None:
    """A run without results has an empty list, by which services close earlier alerts."""
    (result,) = results_of(*analyse(small_seed(output=["N", "NOPE"])).diagnostics)
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "%3Cseed%3E"
    (run,) = log_of()["runs"]
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])


def test_every_rule_is_described() -> None:
    """Each code has a name, a summary, a text and a page."""
    diagnostics = [Diagnostic(code, entry.severity, "m", PLACE, "h") for code, entry in CODES.items()]
    (run,) = log_of(*diagnostics)["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(CODES)
    for rule in rules:
        code, summary, text = rule["id"], rule["shortDescription"]["text"], rule["fullDescription"]["text"]
        assert re.fullmatch(r"([A-Z][a-z0-9]*)+", rule["name"])
        assert text == rule["help"]["text"] == read_explanation(code)
        assert rule["help"]["markdown"] == read_page(code)
        assert rule["defaultConfiguration"] == {"level": CODES[code].severity}
        assert text.startswith(summary)
        assert re.fullmatch(r".{,249}[.?!]", summary)


@pytest.mark.parametrize(
    ("written", "escaped"),
    [("write `{0}`", "write `{{0}}`"), ('write {">=": 2020}', 'write {">=": 2020}'),
     ("no key `[here](https://example.org)`", "no key `[here]\\(https://example.org)`")],
)  # fmt: skip
def test_text_of_a_seed_is_no_markup(written: str, escaped: str) -> None:
    """A viewer finds neither a placeholder nor a link in a message; text to type stays as it is."""
    (result,) = results_of(Diagnostic("FS501", "error", written, PLACE, "help"))
    assert result["message"]["text"] == f"{escaped}\nhelp"


def test_fingerprints_survive_moved_lines(tmp_path: Path) -> None:
    """The same problem of the same value keeps its fingerprint when lines are added above or the layout changes."""
    path = tmp_path / "seed.json"
    seed = small_seed(output=["NOPE", "N"], description="old")

    def fingerprints() -> list[str]:
        return [result["partialFingerprints"][FINGERPRINT] for result in results_of(*analyse(path).diagnostics)]

    path.write_text(json.dumps(seed), encoding="utf-8")
    before = fingerprints()
    write_json(path, {"version": "2", **seed, "description": "new"})
    assert fingerprints() == before
    write_json(path, {**seed, "output": ["OTHER", "N"]})
    assert not set(fingerprints()) & set(before)


def test_equal_problems_have_fingerprints_of_their_own() -> None:
    """Equal mistakes in one formula are numbered; the same mistake in another file begins again."""
    source, other = Source("a.json", '["1/0 + 1/0"]'), Source("b.json", '["1/0"]')
    places = [Span(source, 2, 5, "/0"), Span(source, 8, 11, "/0"), Span(other, 2, 5, "/0")]
    results = results_of(*(Diagnostic("FS306", "error", "the divisor is 0", place, "h") for place in places))
    first, second, third = (result["partialFingerprints"][FINGERPRINT] for result in results)
    assert first == third != second


def test_fixes_fix_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The problem is gone after the replacement that the fix states."""
    monkeypatch.chdir(tmp_path)
    path = write_json(Path("seed.json"), small_seed(compute=[{"name": "SCORE", "op": "count"}], output=["SCOER"]))
    (result,) = results_of(*analyse(path).diagnostics)
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    (replacement,) = change["replacements"]
    location = {"artifactLocation": change["artifactLocation"], "region": replacement["deletedRegion"]}
    assert location == result["locations"][0]["physicalLocation"]
    text = path.read_text(encoding="utf-8")
    assert fix["description"]["text"] in result["message"]["text"]
    text = text.replace(read_back(tmp_path, location), replacement["insertedContent"]["text"])
    path.write_text(text, encoding="utf-8")
    assert analyse(path).diagnostics == ()


def test_only_safe_suggestions_are_fixes() -> None:
    for suggestion in (None, Suggestion("h", '"b"', "unsafe"), Suggestion("h", '"b"', "display")):
        (result,) = results_of(Diagnostic("FS501", "error", "m", PLACE, "h", suggestion))
        assert "fixes" not in result
    (result,) = results_of(Diagnostic("FS501", "error", "m", PLACE, "h", Suggestion("h", '"b"')))
    (replacement,) = result["fixes"][0]["artifactChanges"][0]["replacements"]
    region = replacement["deletedRegion"]
    assert (replacement["insertedContent"], region["startColumn"], region["endColumn"]) == ({"text": '"b"'}, 2, 5)


@pytest.mark.thorough
def test_the_command_prints_one_run_for_all_files(tmp_path: Path) -> None:
    """Several files give one log, the same each time; the exit status is that of check."""
    write_json(tmp_path / "a.json", small_seed(output=["N", "NOPE"]))
    write_json(tmp_path / "b.json", small_seed(note=1))
    arguments = ("check", "a.json", SEEDS[0], "b.json", "--format", "sarif")
    first, second = (formulaseed(*arguments, cwd=tmp_path, env={"PYTHONHASHSEED": seed}) for seed in ("1", "2"))
    assert (first.status, first.out) == (1, second.out)
    log = json.loads(first.out)
    assert [*VALIDATOR.iter_errors(log)] == []
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"], run["columnKind"]) == ("formulaseed", __version__, "unicodeCodePoints")
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
    assert [uri for uri in uris if not uri.startswith("file:")] == ["a.json", "b.json"]


def test_the_command_for_a_sound_and_for_a_missing_file(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", small_seed())
    for file, status in ((path, 0), (tmp_path / "no.json", 2)):
        outcome = command("check", file, "--format", "sarif")
        assert (outcome.status, [*VALIDATOR.iter_errors(json.loads(outcome.out))]) == (status, [])
