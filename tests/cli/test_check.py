"""`check`: severities, forms of output, colours, fixes as a diff, and checking again on a change."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from formulaseed.cli import check
from formulaseed.diagnostics.codes import CODES, SEVERITIES
from formulaseed.documents import analyse, analyse_text
from formulaseed.source.text import Source
from helpers import TASKS, command, formulaseed, read_lines, tiny_seed, write_json

G1A = TASKS / "g1a_v2" / "seed.json"
POLICIES = read_lines(Path(__file__).parent / "policies.jsonl")
"""Seeds as a model writes them."""
NOTED = next(policy for policy in POLICIES if policy["task_name"] == "Delivery reliability")
"""A seed that has notes alone."""


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A seed with an error, a warning and two notes about one thing each."""
    fields = [{"name": name, "type": "boolean"} for name in ("late", "cold")]
    steps = [
        {"name": "N", "op": "count"},
        {"name": "SHARE", "op": "expr", "expr": "1 / N"},
        {"name": "BAD", "op": "expr", "expr": "N + MISING"},
    ]
    keywords = {"keywords": ["slow", "slower", "slowly"]}
    seed = {"task_name": "Mixed", "filter": keywords, "extract": {"fields": fields}, "compute": steps}
    return write_json(tmp_path / "mixed.json", {**seed, "output": ["SHARE", "BAD"]})


def codes(text: str) -> list[str]:
    """Return the codes of diagnostics in text, in their order."""
    return re.findall(rf"^(?:{'|'.join(SEVERITIES)})\[(\w+)\]", text, re.MULTILINE)


# --- severities


def test_warnings_are_few() -> None:
    """Half of 38 policies have one warning or none, and a third have none."""
    severities = [[d.severity for d in analyse(policy).diagnostics] for policy in POLICIES]
    numbers = [names.count("warning") for names in severities]
    assert (statistics.median(numbers), numbers.count(0)) == (1, 13)
    assert not any("error" in names for names in severities)


def test_notes_are_counted_and_shown_on_request(mixed: Path) -> None:
    """Errors come first, then warnings; notes only with --notes, in JSON and SARIF always; they change no exit status."""
    done = formulaseed("check", mixed)
    assert (done.status, codes(done.out)) == (1, ["FS201", "FS604"])
    assert done.out.endswith(f"{mixed}: 1 error, 1 warning, 1 note (see --notes)\n")
    with_notes = formulaseed("check", mixed, "--notes")
    assert codes(with_notes.out) == ["FS201", "FS604", "FS617"]
    assert with_notes.out.endswith(f"{mixed}: 1 error, 1 warning, 1 note\n")
    in_json = json.loads(formulaseed("check", mixed, "--format", "json").out)
    severities = {"FS201": "error", "FS604": "warning", "FS617": "note"}
    assert {d["code"]: d["severity"] for d in in_json} == severities
    sarif = json.loads(formulaseed("check", mixed, "--format", "sarif").out)
    assert [result["level"] for result in sarif["runs"][0]["results"]] == ["note", "warning", "error"]


def test_a_note_is_no_error_where_warnings_are(tmp_path: Path) -> None:
    """--strict makes errors of warnings alone, in `check` and in `compile`."""
    noted = write_json(tmp_path / "noted.json", {**NOTED, "task_name": "Noted"})
    assert formulaseed("check", noted, "--strict").out == f"{noted}: 3 notes (see --notes)\n"
    compiled = formulaseed("compile", noted, "--strict", "--stdout")
    assert (compiled.status, compiled.err) == (0, "")


def test_only_errors(mixed: Path) -> None:
    """--errors-only lists and counts nothing else, in every form."""
    text = formulaseed("check", mixed, "--errors-only").out
    assert (codes(text), text.splitlines()[-1]) == (["FS201"], f"{mixed}: 1 error")
    assert len(json.loads(formulaseed("check", mixed, "--errors-only", "--format", "json").out)) == 1
    assert formulaseed("check", mixed, "--errors-only", "--format", "github").out.count("\n") == 1
    assert formulaseed("check", G1A, "--errors-only").out == f"{G1A}: no errors\n"


# --- one diagnostic for several places


def test_the_same_of_several_places_is_one_diagnostic(mixed: Path) -> None:
    """It names them all, JSON lists the other places, and on one line all are underlined."""
    (note,) = [d for d in analyse(mixed).diagnostics if d.code == "FS617"]
    assert note.message == "2 keywords add nothing: `slower` beside `slow`; `slowly` beside `slow`"
    (related,) = note.to_json()["related"]
    assert (note.pointer, related["pointer"]) == ("/filter/keywords/1", "/filter/keywords/2")
    one_line = json.dumps(json.loads(mixed.read_text()))
    (note,) = [d for d in analyse_text(Source("seed.json", one_line)).diagnostics if d.code == "FS617"]
    _, _, _, text, underline, *_ = str(note).splitlines()
    assert "".join(text[at] for at, mark in enumerate(underline) if mark == "^") == '"slower""slowly"'


def test_a_suppression_takes_its_own_place_out_of_several() -> None:
    """A field that may be unused is not named with the others; one that is left is reported as it is alone."""
    fields: list[dict[str, Any]] = [{"name": name, "type": "boolean"} for name in ("late", "cold", "loud")]
    seed = tiny_seed(extract={"fields": [*tiny_seed()["extract"]["fields"], *fields]})
    messages = []
    for suppressed in ({}, fields[1], fields[0]):
        suppressed["allow"] = {"FS611": "for later"}
        messages += [d.message for d in analyse(seed).diagnostics if d.code == "FS611"]
    assert messages == [
        "3 inputs are never used: `extraction.late`; `extraction.cold`; `extraction.loud`",
        "2 inputs are never used: `extraction.late`; `extraction.loud`",
        "`extraction.loud` is never used",
    ]


def test_many_places_are_counted() -> None:
    """A dozen are named, the others counted, and every place is listed."""
    keywords = ["slow", *(f"slow {number}" for number in range(40))]
    (note,) = [d for d in analyse(tiny_seed(filter={"keywords": keywords})).diagnostics if d.code == "FS617"]
    assert note.message.startswith("40 keywords add nothing: ")
    assert (note.message.rpartition("; ")[2], len(note.related)) == ("28 more", 39)


# --- forms


def test_a_code_is_explained_once(mixed: Path, tmp_path: Path) -> None:
    """The line that says where to read more is printed for the first diagnostic of a code, over all files."""
    again = write_json(tmp_path / "again.json", json.loads(mixed.read_text()))
    lines = [line for line in formulaseed("check", mixed, again).out.splitlines() if "= more: " in line]
    assert lines == [f"   = more: formulaseed rule {code}" for code in ("FS201", "FS604")]


def test_annotations_of_a_workflow(tmp_path: Path) -> None:
    """--format github, or --output-format, prints one command a diagnostic, with what would end a part of it escaped."""
    seed = write_json(tmp_path / "a,b%.json", tiny_seed(task_name="50%\n", output=["N_GOD"]))
    done = formulaseed("check", seed.name, "--output-format", "github", cwd=tmp_path)
    lines = [line for line in done.out.splitlines() if line.startswith("::error file=a%2Cb%25.json,line=")]
    assert [line.split("title=")[1].split("::")[0] for line in lines] == ["FS206 invalid-name", "FS201 unknown-name"]
    notes = formulaseed("check", G1A, "--format", "github", "--notes").out.splitlines()
    assert [line.split()[0] for line in notes].count("::notice") == 4


def test_statistics() -> None:
    """A line for each code with its number over all files, the most frequent first."""
    fine = [*TASKS.glob("w*/seed.json")]
    head, *rows = [line.split() for line in command("check", G1A, *fine, "--statistics").out.splitlines()]
    assert head == ["number", "code", "severity", "name"]
    assert [row[2] for row in rows].count("note") == 4
    assert command("check", *fine, "--statistics").out == "no problems\n"


@pytest.mark.parametrize(
    ("environment", "is_colored"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
    ],
)
def test_colors(environment: dict[str, str], is_colored: bool, mixed: Path) -> None:
    """On a terminal, or if the environment asks for them; what is coloured reads the same."""
    plain = formulaseed("check", mixed).out
    done = formulaseed("check", mixed, env={"NO_COLOR": "", "FORCE_COLOR": "", **environment}).out
    assert ("\x1b[1;31merror[FS201]\x1b[0m" in done) == is_colored
    assert (done == plain) != is_colored


def test_all_codes_are_listed() -> None:
    """`rule` without a code shows each with its severity and name."""
    lines = [line.split() for line in formulaseed("rule").out.splitlines()[1:]]
    assert lines == [[entry.code, entry.severity, entry.name] for entry in CODES.values()]


# --- fixes, and files that change


def test_a_fix_as_a_diff(tmp_path: Path) -> None:
    """--fix --diff writes nothing, prints what would change, and ends with 1; without anything to fix with 0."""
    seed = write_json(tmp_path / "seed.json", tiny_seed(output=["N_GOD"]))
    before = seed.read_bytes()
    done = formulaseed("check", seed.name, "--fix", "--diff", cwd=tmp_path)
    assert (done.status, seed.read_bytes()) == (1, before)
    changed = [line for line in done.out.splitlines() if line.startswith(("+", "-"))]
    assert changed == ["--- seed.json", "+++ seed.json (fixed)", '-    "N_GOD"', '+    "N_GOOD"']
    assert done.err == "seed.json: 1 error can be fixed\n"
    assert formulaseed("check", seed, "--fix").status == 0
    assert formulaseed("check", seed, "--fix", "--diff") == type(done)(0, "", f"{seed}: there are no errors to fix\n")


def test_a_changed_file_is_checked_again(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--watch looks at the file until it is interrupted, and checks it when it was written, is gone or is back."""
    text = mixed.read_text()
    steps = iter((lambda: None, lambda: mixed.write_text(text.replace("MISING", "N")), mixed.unlink))

    def wait(_: float) -> None:
        try:
            next(steps)()
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(check.time, "sleep", wait)
    done = command("check", mixed, "--watch", cwd=mixed.parent, env={})
    assert done.status == 130
    assert [line for line in done.out.splitlines() if line.startswith(str(mixed))] == [
        f"{mixed}: 1 error, 1 warning, 1 note (see --notes)",
        f"{mixed}: 1 warning, 2 notes (see --notes)",
    ]
    assert f"cannot read {mixed}" in done.err
