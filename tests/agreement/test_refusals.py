"""Random formulas with guards: refused as always failing is only what has a value for no input.

The formulas are written here as Python reads them, over steps whose value is known (`const`), steps that choose among
known values (`case`, `lookup`), parameters and literals; many of them hold an operation that can only fail. What they
come to is for the third evaluator to say, which uses Python's own parser and operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product

import pytest
import third_evaluator
from formulaseed.documents import analyse
from formulaseed.testing.formulas import Chooser
from helpers import without_errors
from hypothesis import given
from hypothesis import strategies as st
from three_ways import Arguments, Json, Ways, without

STEPS: list[Json] = [
    {"name": "ZERO", "op": "const", "value": 0},
    {"name": "TEN", "op": "const", "value": 10},
    {"name": "HALF", "op": "const", "value": 0.5},
    {"name": "NEGATIVE", "op": "const", "value": -3},
    {"name": "HUGE", "op": "const", "value": 1e200},
    {"name": "MODE", "op": "const", "value": "strict"},
    {"name": "DEBUG", "op": "const", "value": False},
    {"name": "LEVEL", "op": "case", "source": "param.X", "rules": [
        {"when": "> 5", "then": 5}, {"when": "> 0", "then": 1}, {"else": 0}]},
    {"name": "ALONE", "op": "case", "source": "param.X", "rules": [{"when": "> 5", "then": 0}, {"else": 0}]},
    {"name": "KIND", "op": "case", "rules": [{"when": "param.B", "then": "mild"}, {"else": "severe"}]},
    {"name": "PRICE", "op": "lookup", "source": "context.name", "match": "exact", "table": {"Thai": 2.5}, "default": 0},
]  # fmt: skip
INPUTS: list[Arguments] = [
    ([], {"name": name}, {"X": x, "B": b}) for x, b, name in product((-2, 0, 1, 7), (True, False), ("Thai", "Bars"))
]
NUMBERS = (
    "0", "1", "2", "5", "0.5", "0.0", "1e308", "9", "ZERO", "TEN", "HALF", "NEGATIVE", "HUGE", "LEVEL", "ALONE", "PRICE",
    "param.X", "param.X", "LEVEL", "None",
)  # fmt: skip
CONDITIONS = (
    "True", "False", "DEBUG", "param.B", "MODE == 'strict'", "MODE == 'lenient'", "'lenient' != MODE", "'a' == 'b'",
    "'s' in MODE", "MODE in ['lenient', 'strict']", "MODE not in ['lenient']", "KIND == 'mild'", "KIND != 'severe'",
    "ZERO == None", "None != LEVEL", "KIND in ['mild', 'severe']", "None == None", "LEVEL == 3", "DEBUG == False",
)  # fmt: skip
OPERATIONS = (
    "({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} / {1})", "({0} / {1})", "({0} // {1})", "({0} % {1})", "({0} ** {1})",
    "log({0})", "sqrt({0})", "abs({0})", "max({0}, {1})", "min({0}, {1})", "(-{0})", "sum([{0}, {1}])", "pow({0}, {1})",
    "({0} and {1})", "({0} or {1})", "int({0})", "({0} / 0)", "log(0 - {0} * {0})", "(HUGE * HUGE)", "(10 ** 200 * TEN ** 200)",
)  # fmt: skip
COMPARED = ("==", "!=", "<", "<=", ">", ">=")


class Writer(Chooser):
    """Writes formulas of a depth."""

    def number(self, depth: int) -> str:
        if depth <= 0 or self.one_in(5):
            return self.choose(NUMBERS)
        if self.one_in(3):
            return f"({self.number(depth - 1)} if {self.condition(depth - 1)} else {self.number(depth - 1)})"
        operation = self.choose(OPERATIONS)
        return operation.format(*[self.number(depth - 1) for place in ("{0}", "{1}") if place in operation])

    def condition(self, depth: int) -> str:
        if depth <= 0 or self.one_in(5):
            return self.choose(CONDITIONS)
        match self.choose(("and", "or", "not", "in", "chain", "chain")):
            case "not":
                return f"(not {self.condition(depth - 1)})"
            case "in":
                items = ", ".join(self.number(depth - 2) for _ in range(self.choose((1, 2, 3))))
                return f"({self.number(depth - 1)} {self.choose(('in', 'not in'))} [{items}])"
            case "chain":
                chain = [self.number(depth - 1)]
                for _ in range(self.choose((1, 2, 3))):
                    chain += [self.choose(COMPARED), self.number(depth - 2)]
                return f"({' '.join(chain)})"
            case word:
                return f"({f' {word} '.join(self.condition(depth - 1) for _ in range(self.choose((2, 3))))})"


@st.composite
def formulas(draw: st.DrawFn) -> list[str]:
    """Eight numbers and four conditions."""
    writer = Writer(draw)
    numbers = [f"0 + {writer.number(4)}" for _ in range(8)]
    return numbers + [f"1 if {writer.condition(4)} else 2" for _ in range(4)]


def seed_of(formulas: list[str]) -> Json:
    return {
        "task_name": "T",
        "parameters": {"X": {"type": "integer", "default": 1}, "B": {"type": "boolean", "default": True}},
        "extract": {"fields": []},
        "compute": [*STEPS, *({"name": f"F{n}", "op": "expr", "expr": text} for n, text in enumerate(formulas))],
        "output": ["TEN"],
    }


def assert_refused_rightly(formulas: list[str]) -> Counter[str]:
    """Those that are refused have a value for no input; of the others all evaluators give the same."""
    seed, tried = seed_of(formulas), Counter[str]()
    found = analyse(seed)
    errors = [d for d in found.diagnostics if d.severity == "error"]
    assert {d.code for d in errors} <= {"FS306"}, [(d.code, d.message, formulas) for d in errors]
    refused = {int(d.pointer.split("/")[2]) - len(STEPS) for d in errors}
    tried["refused"] += len(refused)
    for arguments in INPUTS if refused else []:
        values = third_evaluator.Restaurant(seed, *arguments, frozenset()).values(apart=True)
        for place in refused:
            assert isinstance(values[f"F{place}"], third_evaluator.Fault), ("is refused", formulas[place], arguments)
    if refused:
        seed = without(seed, [f"F{place}" for place in refused])
        found = analyse(seed)
    ways = Ways(seed, without_errors(found))
    for arguments in INPUTS:
        tried.update(outcome[0] for outcome in ways.assert_agree(arguments, whole=False).values())
    return tried


def test_what_is_refused_has_no_value() -> None:
    """A formula that Python computes for some input is not refused, whatever in it can only fail."""
    tried: Counter[str] = Counter()

    @given(formulas())
    def agree(formulas: list[str]) -> None:
        tried.update(assert_refused_rightly(formulas))

    agree()
    assert tried["refused"]
    assert tried["value"] > tried["error"] > 0


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
def test_behind_a_constant_guard_nothing_can_fail(guard: str) -> None:
    """No error, a warning that says why it never runs, and the value that Python gives, whatever is guarded."""
    seed = seed_of([GUARDS[guard](part) for part in FAILING])
    found = analyse(seed)
    constant = {d.pointer.split("/")[2] for d in found.diagnostics if d.code == "FS603"}
    assert constant == {str(len(STEPS) + place) for place in range(len(FAILING))}
    ways = Ways(seed, without_errors(found))
    for arguments in INPUTS[:8]:
        reference, generated = ways.reference(arguments), ways.generated(arguments)
        for place, part in enumerate(FAILING):
            assert reference[f"F{place}"] == generated[f"F{place}"], part
            assert reference[f"F{place}"] in (("value", "int", "7"), ("value", "float", "7.0")), part


@pytest.mark.parametrize("part", FAILING)
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
