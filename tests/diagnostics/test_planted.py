"""Many mistakes in one seed are reported in one go, each with the help that fixes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from formulaseed import check
from helpers import TASKS, formulaseed

MISTAKES = {
    "a misspelt step": ("N_MILD + N_MODERATE + N_SEVERE", "N_MILD + N_MODERAT + N_SEVERE", "FS201", "`N_MODERATE`"),
    "a value that the field does not have": ('"extraction.safety_interaction": "betrayal"',
                                             '"extraction.safety_interaction": "betrayed"', "FS302", "`betrayal`"),
    "a misspelt field": ('"field": "meta.year"', '"field": "meta.yaer"', "FS204", "`meta.year`"),
    "a key of another spelling": ('"match": "substring_max"', '"mach": "substring_max"', "FS501", "`match`"),
    "an operation that is none": ('"name": "N_ALLERGY_REVIEWS", "op": "count"',
                                  '"name": "N_ALLERGY_REVIEWS", "op": "cuont"', "FS504", "`count`"),
    "a function that is none": ("max(0.1, min(1.0, TRUST_RAW))", "max(0.1, mni(1.0, TRUST_RAW))", "FS207", "`min`"),
    "an operator of another language": ("N_TOTAL_INCIDENTS > 0 else 0\"", "N_TOTAL_INCIDENTS > 0 && N_MILD > 0 else 0\"",
                                    "FS103", "`and`"),
    "a text in a sum": ("2025 - MOST_RECENT_YEAR", "'2025' - MOST_RECENT_YEAR", "FS301", "without quotes"),
    "a missing else": ('{"when": "RECENT_RATIO < 0.3 and N_TOTAL_INCIDENTS > 0", "then": 0.7},\n        {"else": 1.0}',
                       '{"when": "RECENT_RATIO < 0.3 and N_TOTAL_INCIDENTS > 0", "then": 0.7}', "FS506", "else"),
    "a division by zero": ("2 * (1.5 - TRUST_SCORE)", "2 / 0 * (1.5 - TRUST_SCORE)", "FS306", "by something else"),
}  # fmt: skip
"""Each with the right text, the wrong one, the code, and what the help must name."""
SEED = (TASKS / "g1a_v2" / "seed.json").read_text(encoding="utf-8")


def planted(names: list[str]) -> str:
    text = SEED
    for name in names:
        right, wrong, _, _ = MISTAKES[name]
        assert right in text, name
        text = text.replace(right, wrong, 1)
    return text


@pytest.mark.parametrize("name", MISTAKES)
def test_one(name: str, tmp_path: Path) -> None:
    """One mistake is one error, with the help that fixes it."""
    path = tmp_path / "seed.json"
    path.write_text(planted([name]), encoding="utf-8")
    _, _, code, help = MISTAKES[name]
    (error,) = [d for d in check(path) if d.severity == "error"]
    assert error.code == code
    assert help in error.help


def test_ten(tmp_path: Path) -> None:
    """Ten mistakes are ten errors in one run, each with its place and its help, and none hides another."""
    path = tmp_path / "seed.json"
    path.write_text(planted(list(MISTAKES)), encoding="utf-8")
    errors = [d for d in check(path) if d.severity == "error"]
    wrong = {code: help for _, _, code, help in MISTAKES.values()}
    assert len(errors) == len(MISTAKES) == len(wrong) == 10
    assert {error.code for error in errors} == wrong.keys()
    for error in errors:
        assert wrong[error.code] in error.help
        assert error.line > 1
    reported = formulaseed("check", str(path))
    assert reported.status == 1
    assert (reported.out + reported.err).count("= help: ") >= 10
