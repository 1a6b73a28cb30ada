"""What an extension costs: an entry in a table, which everything else derives from."""

from __future__ import annotations

import json
import math
from functools import partial
from typing import Any

import pytest
from formulaseed import check, compile_formula, compile_seed, load_evaluator, load_seed
from formulaseed.diagnostics.model import Problems
from formulaseed.draft.session import SEED, system_prompt
from formulaseed.language.functions import FUNCTIONS, Function, function_table
from formulaseed.language.hints import FOREIGN_CALLS, HINTS
from formulaseed.language.intervals import Range
from formulaseed.language.operators import OPERATORS, Operation, Spelling, domain_failure, number_type
from formulaseed.language.parser import parse_formula, parse_v1_formula
from formulaseed.reference.document import build_document
from formulaseed.reference.restaurant import build_restaurant_reference
from formulaseed.seed.json_schema import build_seed_schema
from formulaseed.source.json_reader import PlainText
from formulaseed.source.text import Source, Span
from formulaseed.testing import reference_evaluate
from helpers import ROOT

ACOSH = Function(
    name="acosh", parameters=("value",), description="The inverse hyperbolic cosine; below 1 it is an error",
    examples=(("acosh(1)", 0.0),), result=number_type, is_float=True,
    range=lambda a: Range(math.acosh(max(a.low, 1.0)) - 1e-6, math.acosh(max(a.high, 1.0)) + 1e-6), apply=math.acosh,
    failures=(domain_failure("<", 1, "the inverse hyperbolic cosine needs a number of 1 or more", instead="acosh(max({}, 1))"),),
    spellings={"python": Spelling("math.acosh({0})")},
)  # fmt: skip


def seed(formula: str) -> dict[str, Any]:
    """A seed with a formula over a count, which is 0 or more."""
    compute = [{"name": "N", "op": "count"}, {"name": "X", "op": "expr", "expr": formula}]
    return {"task_name": "T", "extract": {"fields": []}, "compute": compute, "output": ["X"]}


def test_a_function_added_to_the_table_is_known_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checker, intervals, guards, interpreter, generated module, documents, schema and prompt read the one entry."""
    (unknown,) = check(seed("acosh(N + 1)"))
    assert unknown.code == "FS207"
    monkeypatch.setitem(FUNCTIONS, "acosh", ACOSH)
    needed = "the inverse hyperbolic cosine needs a number of 1 or more"
    for formula, expected in (
        ("acosh(N + 1)", []),
        ("acosh(N) if N >= 1 else 0", []),
        ("acosh('a') + N", [("FS301", "`acosh` takes numbers, and `'a'` is a string")]),
        ("acosh(N)", [("FS605", f"{needed}, and `N` is 0 or more")]),
        ("acosh(0) + N", [("FS306", f"this always fails: acosh(0): {needed}")]),
    ):
        assert [(d.code, d.message) for d in check(seed(formula))] == expected
    assert check(seed("acosh(N)"))[0].help == "guard it: `acosh(N) if N >= 1 else 0`, or bound it: `acosh(max(…, 1))`"
    step = load_seed(seed("acosh(N + 1)")).program.steps[-1]
    assert (str(step.ty), step.range and step.range.low) == ("number", pytest.approx(0, abs=1e-5))

    for formula, more in (("acosh(N + 1)", 1), ("acosh(N)", 0)):
        assert "math.acosh(" in compile_seed(load_seed(seed(formula)))
        for count in (1, 3):
            value = math.acosh(count + more)
            assert load_evaluator(seed(formula)).evaluate([{}] * count, {}) == {"X": value}
            assert reference_evaluate(seed(formula), [{}] * count, {})["X"] == value
    for evaluate in (load_evaluator(seed("acosh(N)")).evaluate, partial(reference_evaluate, seed("acosh(N)"))):
        with pytest.raises(Exception, match=rf"domain: acosh\(0\): {needed}"):
            evaluate([], {})

    assert "| `acosh(value)` | The inverse hyperbolic cosine" in function_table()
    assert build_document(build_restaurant_reference())["functions"]["acosh"]["example"] == "acosh(1)"
    assert "`acosh(value)`" in json.dumps(build_seed_schema())
    assert "acosh(value)" in system_prompt(SEED)


@pytest.mark.parametrize("entry", [*OPERATORS.values(), *FUNCTIONS.values()], ids=lambda entry: entry.name)
def test_the_examples_of_an_entry_hold(entry: Operation) -> None:
    assert entry.examples
    for formula, expected in entry.examples:
        value = compile_formula(formula).evaluate({})
        assert value == expected
        assert type(value) is float or isinstance(expected, int | str)


def test_the_documented_functions_are_those_of_the_table() -> None:
    assert function_table() in (ROOT / "docs" / "language.md").read_text(encoding="utf-8")


def read_plainly(text: str) -> PlainText:
    return PlainText(Span(Source("", text), 0, len(text)), text)


@pytest.mark.parametrize("hint", HINTS, ids=lambda hint: hint.example)
def test_the_example_of_a_hint(hint: Any) -> None:
    """The parser stops at what the hint is about, and the hint is given; with a safe fix, the rest has no syntax error."""
    problems, text = Problems(), read_plainly(hint.example)
    if hint.used_in == "v1":
        parsed = parse_v1_formula(text, problems)
    else:
        parsed = parse_formula(text, problems, is_condition=hint.used_in == "condition")
    (problem,) = problems.sorted()
    before, _, behind = hint.message.partition("{0}")
    assert (problem.code, parsed is not None) == (hint.code, hint.is_safe)
    assert problem.message.startswith(before)
    assert problem.message.endswith(behind)


@pytest.mark.parametrize("written", sorted(set(FOREIGN_CALLS.values())))
def test_what_a_call_of_another_language_is_here(written: str) -> None:
    """Each rewriting is a formula."""
    assert parse_formula(read_plainly(written), problems := Problems())
    assert not problems.sorted()
