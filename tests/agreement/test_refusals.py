"""Operations that can only fail: errors where every evaluation reaches them, and harmless behind a constant condition.

`test_three_ways` shows the same for random formulas.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from formulaseed.documents import analyse
from helpers import without_errors
from three_ways import Arguments, Json, Ways

STEPS: list[Json] = [
    {"name": "ZERO", "op": "const", "value": 0},
    {"name": "TEN", "op": "const", "value": 10},
    {"name": "NEGATIVE", "op": "const", "value": -3},
    {"name": "HUGE", "op": "const", "value": 1e200},
    {"name": "MODE", "op": "const", "value": "strict"},
    {"name": "DEBUG", "op": "const", "value": False},
    {"name": "LEVEL", "op": "case", "source": "param.X", "rules": [
        {"when": "> 5", "then": 5}, {"when": "> 0", "then": 1}, {"else": 0}]},
]  # fmt: skip
INPUTS: list[Arguments] = [([], {}, {"X": x}) for x in (-2, 0, 1, 7)]


def seed_of(formulas: list[str]) -> Json:
    return {
        "task_name": "T",
        "parameters": {"X": {"type": "integer", "default": 1}},
        "extract": {"fields": []},
        "compute": [*STEPS, *({"name": f"F{n}", "op": "expr", "expr": text} for n, text in enumerate(formulas))],
        "output": ["TEN"],
    }


GUARDS: dict[str, Callable[[str], str]] = {
    "a branch that is not taken": lambda part: f"{part} if ZERO > 0 else 7",
    "the other branch": lambda part: f"7 if MODE == 'strict' else {part}",
    "behind and": lambda part: f"8 if DEBUG and {part} > 1 else 7",
    "behind or": lambda part: f"7 if not DEBUG or {part} > 1 else 8",
    "the end of a chain": lambda part: f"8 if TEN < ZERO < {part} else 7",
    "a literal": lambda part: f"7 if True else {part}",
    "values": lambda part: f"7 + (ZERO and {part})",
    "in a branch in a branch": lambda part: f"({part} if param.X < 3 else 8) if param.X > 3 and param.X < 2 else 7",
}
FAILING = (
    "param.X / 0", "param.X // ZERO", "5 % ZERO", "log(0)", "sqrt(NEGATIVE)", "log(NEGATIVE - LEVEL)", "(None + 1)", "abs(None)",
    "sum([1, None])", "9 ** 9 ** 9", "HUGE * HUGE", "(TEN ** 300 * TEN ** 300)", "-(TEN ** 300) * TEN ** 300", "ZERO ** -1",
    "(NEGATIVE * HUGE) ** 3", "pow(HUGE, 2)", "NEGATIVE ** 0.5", "1e308 * TEN", "(10 ** 308 + 9 * 10 ** 308)",
    "clamp(param.X, 5, 1)", "(HUGE / 1e-200)", "NEGATIVE ** 1001", "int('a' in None)",
)  # fmt: skip


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.thorough
def test_behind_a_constant_guard_nothing_can_fail(guard: str) -> None:
    """No error, a warning that says why it never runs, and the value that Python gives, whatever is guarded."""
    seed = seed_of([GUARDS[guard](part) for part in FAILING])
    found = analyse(seed)
    constant = {d.pointer.split("/")[2] for d in found.diagnostics if d.code == "FS603"}
    assert constant == {str(len(STEPS) + place) for place in range(len(FAILING))}
    ways = Ways(seed, without_errors(found))
    for arguments in INPUTS:
        reference, generated = ways.reference(arguments), ways.generated(arguments)
        for place, part in enumerate(FAILING):
            assert reference[f"F{place}"] == generated[f"F{place}"], part
            assert reference[f"F{place}"] in (("value", "int", "7"), ("value", "float", "7.0")), part


@pytest.mark.parametrize("part", FAILING)
@pytest.mark.thorough
def test_what_can_only_fail_is_refused_where_it_is_evaluated(part: str) -> None:
    """It is an error where the formula surely comes to it, and a warning where that depends on the data."""
    for formula in (part, f"1 + {part}", f"{part} if TEN > ZERO else 7", f"({part} if MODE == 'strict' else 8) or 1"):
        errors = [d.code for d in analyse(seed_of([formula])).diagnostics if d.severity == "error"]
        assert errors == ["FS306"], formula
    warned = analyse(seed_of([f"{part} if param.X > 3 else 7"])).diagnostics
    reported = [d for d in warned if "where it is reached" in d.message or "lower bound" in d.message]
    assert {d.code for d in reported} <= {"FS305", "FS306", "FS604", "FS605", "FS606"}
    assert reported


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        ("sum(1 / 0 for e in extractions)", "FS306"),
        ("sum(1 / 0 for e in extractions) if len(extractions) > 3 else 1", "FS604"),
        ("1 / 0 + sum(e['n'] for e in extractions)", "FS306"),
        ("1 / 0 if False else sum(e['n'] for e in extractions)", "FS603"),
    ],
)
def test_loops_of_a_formula(formula: str, code: str) -> None:
    """A loop in a formula may not be asked for; one that is a step of its own fails for every review."""
    seed = {
        "task_name": "T",
        "extraction_fields": [{"name": "n", "type": "integer"}],
        "extraction_prompt": "{review_text}",
        "compute_dag": [{"name": "a", "formula": formula}],
        "output_fields": ["a"],
    }
    found = {d.code for d in analyse(seed).diagnostics}
    assert code in found
    assert found <= {code, "FS608", "FS611"}
