"""Expected outputs: who differs is who evaluates to something else, faults are named, and changes that break one are marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import formulaseed as library
import pytest
from formulaseed import DataError
from helpers import (
    EXAMPLES,
    TASKS,
    command,
    formulaseed,
    read_lines,
    tiny_row,
    tiny_rows,
    tiny_seed,
    write_json,
    write_lines,
)
from hypothesis import given
from hypothesis import strategies as st

G1A = TASKS / "g1a_v2" / "seed.json"
ROWS = EXAMPLES / "rows-g1a_v2.jsonl"
EXPECTED = TASKS / "g1a_v2" / "expected.jsonl"
SEED = library.load_seed(G1A)
LINES = read_lines(ROWS)
RESULTS = {line["business_id"]: library.load_evaluator(SEED).evaluate(line["rows"], line["context"]) for line in LINES}
VERDICTS = ("Low Risk", "High Risk", "Critical Risk")


def expected(business_id: str, note: str = "", **output: object) -> dict[str, Any]:
    return {"business_id": business_id, "output": output, "note": note}


GOOD = tiny_rows("good", tiny_row("r1"), tiny_row("r2"))
MIXED = tiny_rows("mixed", tiny_row("r1"), tiny_row("r2", "bad"))
EMPTY = tiny_rows("empty")
"""A restaurant that fails: `SHARE` has no value."""


# --- who agrees


def test_the_example_agrees() -> None:
    """The file is found beside the seed, and every verdict of the table is on its diagonal."""
    outcome = formulaseed("expect", G1A, "--rows", ROWS)
    assert outcome.status == 0
    assert "8 of 8 restaurants have the expected outputs, 0 differ." in outcome.out
    matrix = library.expect(SEED, ROWS, EXPECTED).matrix
    assert matrix == {("Critical Risk",) * 2: 3, ("High Risk",) * 2: 2, ("Low Risk",) * 2: 3}


@given(st.dictionaries(st.sampled_from(sorted(RESULTS)), st.sampled_from(VERDICTS), min_size=1))
@pytest.mark.thorough
def test_who_differs_is_who_evaluates_to_something_else(verdicts: dict[str, str]) -> None:
    """For any expectations of any restaurants: the counts, the matrix and the pairs are those of the evaluator."""
    lines = [expected(name, VERDICT=verdict) for name, verdict in verdicts.items()]
    comparison = library.expect(SEED, LINES, lines)
    differing = {name for name, verdict in verdicts.items() if RESULTS[name]["VERDICT"] != verdict}
    assert {entry.business_id for entry in comparison.disagreements} == differing
    assert comparison.agreeing == len(verdicts) - len(differing)
    for entry in comparison.disagreements:
        actual = RESULTS[entry.business_id]["VERDICT"]
        assert entry.outputs == {"VERDICT": {"expected": verdicts[entry.business_id], "actual": actual}}
        assert entry.reason.startswith(f"VERDICT is '{actual}' because ")
    assert sum(comparison.matrix.values()) == len(verdicts)
    assert sum(count for (wanted, got), count in comparison.matrix.items() if wanted != got) == len(differing)


@given(st.sampled_from(sorted(RESULTS)), st.floats(0, 20))
@pytest.mark.thorough
def test_floats_agree_in_the_digits_that_reports_print(name: str, score: float) -> None:
    """What a table shows can be written into a file of expected outputs; a number that prints otherwise differs."""
    actual = RESULTS[name]["FINAL_RISK_SCORE"]
    printed = round(actual, 4)
    assert library.expect(SEED, LINES, [expected(name, FINAL_RISK_SCORE=printed)]).agreeing == 1
    is_near = abs(score - actual) < 0.00004
    is_far = abs(score - actual) > 0.0002
    agreeing = library.expect(SEED, LINES, [expected(name, FINAL_RISK_SCORE=score)]).agreeing
    assert not (is_far and agreeing)
    assert not (is_near and printed == round(score, 4) and not agreeing)


def test_the_reason_is_that_of_the_verdict_or_else_of_the_output_that_differs() -> None:
    lines = [
        expected("lotus-garden", "panel", FINAL_RISK_SCORE=7.5, VERDICT="High Risk"),
        expected("farol-azul", FINAL_RISK_SCORE=9, VERDICT="Critical Risk", N_TOTAL_INCIDENTS=2),
    ]
    first, second = library.expect(SEED, LINES, lines).disagreements
    assert first.reason.startswith("VERDICT is 'Critical Risk' because ")
    assert (first.note, first.place, [*first.outputs]) == ("panel", "<expected>:1", ["FINAL_RISK_SCORE", "VERDICT"])
    assert second.reason.startswith("FINAL_RISK_SCORE is 9.725")
    assert [*second.outputs] == ["FINAL_RISK_SCORE"]


def test_parameters_count() -> None:
    lines = [expected("good", VERDICT="few")]
    assert library.expect(tiny_seed(), [GOOD], lines).agreeing == 0
    assert library.expect(tiny_seed(), [GOOD], lines, parameters={"LEAST": 3}).agreeing == 1
    with pytest.raises(DataError, match="LEAST"):
        library.expect(tiny_seed(), [GOOD], lines, parameters={"LEAST": 30})


def test_only_expected_restaurants_are_evaluated() -> None:
    """One that nobody expects anything of may fail; a line that cannot be read is a failure, as it may be any restaurant."""
    lines = [expected("good", N_GOOD=2)]
    comparison = library.expect(tiny_seed(), [GOOD, EMPTY, {"business_id": "b", "rows": 3}], lines)
    assert (comparison.agreeing, comparison.failures.lines) == (1, [])
    assert len(library.expect(tiny_seed(), [GOOD, {"rows": []}], lines).failures.lines) == 1


# --- the command


def run_tiny(folder: Path, *lines: object, rows: tuple[object, ...] = (GOOD, MIXED, EMPTY), form: str = "text") -> Any:
    seed = write_json(folder / "seed.json", tiny_seed())
    files = (write_lines(folder / "rows.jsonl", *rows), write_lines(folder / "expected.jsonl", *lines))
    return command("expect", seed, "--rows", files[0], "--expected", files[1], "--format", form)


def test_exit_status_and_text(tmp_path: Path) -> None:
    """1 where a restaurant differs, 3 where none does but one fails, else 0; who differs is in a table with the note."""
    good, bad = expected("good", VERDICT="good"), expected("mixed", "by the panel", VERDICT="good")
    fails = expected("empty", VERDICT="few")
    assert run_tiny(tmp_path, good).status == 0
    failing = run_tiny(tmp_path, good, fails)
    assert (failing.status, "failed: " in failing.err) == (3, True)
    assert "1 of 2 restaurants have the expected outputs, 0 differ, 1 failed." in " ".join(failing.out.split())
    differing = run_tiny(tmp_path, good, bad, fails)
    assert differing.status == 1
    assert ["mixed", "VERDICT", "good", "bad", "by", "the", "panel"] in [
        line.split() for line in differing.out.splitlines()
    ]
    assert "- mixed: VERDICT is 'bad' because " in differing.out
    matrix = differing.out.partition("expected \\ actual")[2].splitlines()
    assert [line.split() for line in matrix[1:4]] == [
        ["few", "0", "0", "0", "1"],
        ["good", "0", "1", "1", "0"],
        ["bad", *"0000"],
    ]


def test_json(tmp_path: Path) -> None:
    """It has the keys that docs/analysis.md describes."""
    values = json.loads(run_tiny(tmp_path, expected("good", N_GOOD=1), expected("empty", N_GOOD=0), form="json").out)
    assert {*values} == {"seed", "restaurants", "agreeing", "differing", "failed", "matrix", "failures"}
    assert (values["restaurants"], values["agreeing"], values["failed"], values["matrix"]) == (2, 0, ["empty"], [])
    (entry,) = values["differing"]
    assert {*entry} == {"business_id", "outputs", "note", "reason", "place"}
    assert entry["outputs"] == {"N_GOOD": {"expected": 1, "actual": 2}}


def test_hostile_notes_and_ids_stay_text(tmp_path: Path) -> None:
    """No escape sequence, no line of its own, no markup."""
    name = "a\x1b[31m\n<script>"
    rows = tiny_rows(name, tiny_row("r1"), tiny_row("r2"))
    lines = [expected(name, "x\n# no <script>\x1b[0m", VERDICT="bad")]
    comparison = library.expect(tiny_seed(), [rows], lines)
    assert "\x1b" not in comparison.text + comparison.markdown + comparison.html
    assert "\n# no" not in comparison.text + comparison.markdown
    assert "<script>x" not in comparison.html
    outcome = run_tiny(tmp_path, *lines, rows=(rows,))
    assert (outcome.status, "\x1b" in outcome.out + outcome.err) == (1, False)


def test_a_long_list_is_cut_and_says_so() -> None:
    """JSON has all of them."""
    rows = [tiny_rows(f"r{number}", tiny_row("r1"), tiny_row("r2")) for number in range(25)]
    comparison = library.expect(tiny_seed(), rows, [expected(line["business_id"], VERDICT="bad") for line in rows])
    assert "Restaurants with other outputs, the first 20 of 25" in comparison.text
    assert "r19: " in comparison.text
    assert "r20" not in comparison.text
    assert len(comparison.json["differing"]) == 25


def test_two_lines_of_rows_are_a_warning(tmp_path: Path) -> None:
    outcome = run_tiny(tmp_path, expected("good", VERDICT="good"), rows=(GOOD, GOOD))
    assert "warning: duplicate business_id good" in outcome.err
    assert "2 of 2 restaurants" in " ".join(outcome.out.split())


# --- faults


FAULTS: dict[str, tuple[list[object], str]] = {
    "an unknown output": (
        [expected("good", VERDCT="good")],
        "expected.jsonl:1: `output.VERDCT` is no output of the seed; did you mean `VERDICT`?",
    ),
    "a step that is no output": (
        [expected("good", N=2)],
        "expected.jsonl:1: `output.N` is no output of the seed; outputs: `N_GOOD`, `TOTAL`, `SHARE`, `VERDICT`",
    ),
    "another verdict": (
        [expected("good", VERDICT="god")],
        "expected.jsonl:1: `output.VERDICT` cannot be 'god'; did you mean `good`?",
    ),
    "null": ([expected("good", VERDICT=None)], "expected.jsonl:1: `output.VERDICT` must be of type enum"),
    "another type": ([expected("good", N_GOOD="2")], "expected.jsonl:1: `output.N_GOOD` must be of type integer, not '2'"),
    "a list": ([expected("good", SHARE=[1])], "expected.jsonl:1: `output.SHARE` must be of type number, not [1]"),
    "a fraction": ([expected("good", N_GOOD=1.5)], "expected.jsonl:1: `output.N_GOOD` must be of type integer, not 1.5"),
    "too small": ([expected("good", N_GOOD=-1)], "expected.jsonl:1: `output.N_GOOD` cannot be -1; its smallest value is 0"),
    "no output": ([{"business_id": "good", "output": {}}], "expected.jsonl:1: `output` "),
    "a misspelt key": (
        [{"business_id": "good", "outputs": {"N_GOOD": 2}}],
        "expected.jsonl:1: `output` is missing, but there is `outputs`",
    ),
    "an unknown key": ([{**expected("good", N_GOOD=2), "who": "me"}], "expected.jsonl:1: `who` is an unknown key"),
    "a duplicate": (
        [expected("good", N_GOOD=2), expected("mixed", N_GOOD=1), expected("good", N_GOOD=2)],
        "expected.jsonl:3: `business_id` 'good' is also in ",
    ),
    "no rows": ([expected("god", N_GOOD=2)], "expected.jsonl:1: `business_id` 'god' has no rows; did you mean `good`?"),
    "nothing": ([], "no output is expected; write lines such as "),
    "no object": ([[1]], "expected.jsonl:1: "),
}  # fmt: skip
"""Lines of expected outputs, and the error that they cause."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of rows opened, and never read
@pytest.mark.parametrize(("lines", "error"), FAULTS.values(), ids=FAULTS)
@pytest.mark.thorough
def test_a_fault_is_named_with_its_line_and_field(lines: list[object], error: str, tmp_path: Path) -> None:
    """Whatever the command: `diff` and `sensitivity` read the same files."""
    outcome = run_tiny(tmp_path, *lines)
    assert outcome.status in (1, 2)
    assert error in outcome.err
    seed, rows, file = (tmp_path / name for name in ("seed.json", "rows.jsonl", "expected.jsonl"))
    for arguments in (("diff", seed, seed), ("sensitivity", seed, "--quiet")):
        other = command(*arguments, "--rows", rows, "--expected", file)
        assert other.status in (1, 2)
        assert error in other.err


def test_an_unreadable_line_of_rows_may_be_the_missing_restaurant(tmp_path: Path) -> None:
    outcome = run_tiny(tmp_path, expected("mixed", VERDICT="bad"), rows=(GOOD, {"rows": []}))
    assert (outcome.status, "has no rows; restaurants: `good`; " in outcome.err) == (1, True)
    assert "rows.jsonl:2 cannot be read" in outcome.err


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    rows = write_lines(tmp_path / "rows.jsonl", GOOD)
    outcome = command("expect", seed, "--rows", rows)
    assert (
        outcome.status,
        f"there is no {tmp_path / 'expected.jsonl'} beside the seed; pass --expected FILE" in outcome.err,
    ) == (2, True)
    assert command("expect", seed, "--rows", rows, "--expected", tmp_path / "other.jsonl").status == 2
    for arguments in (("diff", seed, seed), ("diff", seed, seed, "--new-rows", rows)):
        assert command(*arguments, "--expected", EXPECTED).status == 2


# --- changes that break an expectation


def read_changed_seed(*changes: tuple[str, str]) -> Any:
    text = G1A.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return json.loads(text)


@pytest.mark.thorough
def test_diff_marks_what_breaks_an_expectation() -> None:
    """That is what `expect` reports of the new seed and not of the old one, also if the new seed has another name for it."""
    lines = [*read_lines(EXPECTED), expected("farol-azul", VERDICT="Low Risk")]  # the last is not met before, either
    raised = read_changed_seed(("< 4.0", "< 5.0"))
    outcomes = library.diff(SEED, raised, LINES, expected=lines).outcomes
    assert outcomes is not None
    broken = {
        entry.business_id: [*entry.outputs]
        for entry in library.expect(raised, LINES, read_lines(EXPECTED)).disagreements
    }
    assert outcomes.broken == broken == {"hanks-blue-plate": ["VERDICT"]}
    riskier = ('"value": 2.0', '"value": 4.0')
    broken = {
        entry.business_id
        for entry in library.expect(read_changed_seed(riskier), LINES, read_lines(EXPECTED)).disagreements
    }
    renamed = read_changed_seed(riskier, ('"VERDICT"', '"RATING"'))
    assert {*library.diff(SEED, renamed, LINES, expected=lines).json["data"]["broken"]} == broken != set()
    difference = library.diff(SEED, raised, LINES, expected=lines)
    assert "Expectations are broken for 1 restaurant." in difference.text
    (row,) = [line for line in difference.text.splitlines() if line.strip().startswith("hanks-blue-plate")]
    assert "VERDICT" in row
    assert library.diff(SEED, raised, LINES).json["data"]["broken"] is None
    assert library.diff(SEED, SEED, LINES, expected=lines).json["data"]["broken"] == {}


def test_a_restaurant_that_fails_with_the_new_seed_breaks_its_expectations() -> None:
    unguarded = tiny_seed()
    unguarded["compute"][3]["expr"] = "N_GOOD / (N - 2)"
    lines = [expected("good", VERDICT="good", N_GOOD=2), expected("mixed", VERDICT="good")]
    outcomes = library.diff(tiny_seed(), unguarded, [GOOD, MIXED], expected=lines).outcomes
    assert outcomes is not None
    assert outcomes.broken == {"good": ["VERDICT", "N_GOOD"]}


def test_a_restaurant_that_only_one_run_has_breaks_no_expectation() -> None:
    """It is listed as gone; those that both runs have break what their other rows do not meet any more."""
    lines = [expected("good", VERDICT="good", N_GOOD=2), expected("mixed", VERDICT="bad")]
    moved = {**MIXED, "business_id": "good"}
    for new_rows, gone, broken in (([MIXED], ["good"], {}), ([moved], ["mixed"], {"good": ["VERDICT", "N_GOOD"]})):
        outcomes = library.diff(tiny_seed(), tiny_seed(), [GOOD, MIXED], new_rows=new_rows, expected=lines).outcomes
        assert outcomes is not None
        assert ([restaurant.business_id for restaurant in outcomes.gone], outcomes.broken) == (gone, broken)


@pytest.mark.thorough
def test_sensitivity_marks_what_breaks_an_expectation() -> None:
    """Each variant breaks what the edited seed does not meet any more."""
    lines = read_lines(EXPECTED)
    ranking = library.sensitivity(SEED, LINES, expected=lines)
    assert "4 break an expectation for 8 restaurants" in " ".join(ranking.text.split())
    marked = [number for number in ranking.numbers if number.broken]
    assert len(marked) == 4
    number = next(number for number in marked if number.enclosing_text == "N_TOTAL_INCIDENTS > 0")
    assert number.up is not None
    edited = read_changed_seed(("INCIDENTS if N_TOTAL_INCIDENTS > 0", "INCIDENTS if N_TOTAL_INCIDENTS > 1"))
    assert {*number.up.broken} == {entry.business_id for entry in library.expect(edited, LINES, lines).disagreements}
