"""What an extension costs: an entry in a table, which everything else derives from."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from formulaseed import check, compile_formula, compile_seed, load_evaluator, load_seed
from formulaseed.diagnostics.model import Problems
from formulaseed.draft.prompts import SEED, system_prompt
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

    sound = seed("acosh(N + 1)")
    assert [found.code for found in check(sound)] == []
    step = load_seed(sound).program.steps[-1]
    assert str(step.ty) == "number"
    assert step.range is not None
    assert step.range.low == pytest.approx(0, abs=1e-5)
    (wrong,) = check(seed("acosh('a') + N"))
    assert (wrong.code, wrong.message) == ("FS301", "`acosh` takes numbers, and `'a'` is a string")

    (partial,) = check(seed("acosh(N)"))
    assert partial.code == "FS605"
    assert partial.message == "the inverse hyperbolic cosine needs a number of 1 or more, and `N` is 0 or more"
    assert partial.help == "guard it: `acosh(N) if N >= 1 else 0`, or bound it: `acosh(max(…, 1))`"
    assert check(seed("acosh(N) if N >= 1 else 0")) == []
    (certain,) = check(seed("acosh(0) + N"))
    assert certain.code == "FS306"

    for formula in ("acosh(N + 1)", "acosh(N)"):
        text = compile_seed(load_seed(seed(formula)))
        assert "math.acosh(" in text
        for count in (1, 3):
            expected = {"X": math.acosh(count + (formula == "acosh(N + 1)"))}
            assert load_evaluator(seed(formula)).evaluate([{}] * count, {}) == expected
            assert reference_evaluate(seed(formula), [{}] * count, {})["X"] == expected["X"]
    for evaluate in (
        load_evaluator(seed("acosh(N)")).evaluate,
        lambda rows, c: reference_evaluate(seed("acosh(N)"), rows, c),
    ):
        with pytest.raises(
            Exception, match=r"domain: acosh\(0\): the inverse hyperbolic cosine needs a number of 1 or more"
        ):
            evaluate([], {})

    assert "| `acosh(value)` | The inverse hyperbolic cosine" in function_table()
    assert build_document(build_restaurant_reference())["functions"]["acosh"]["example"] == "acosh(1)"
    assert "`acosh(value)`" in json.dumps(build_seed_schema())
    assert "acosh(value)" in system_prompt(SEED)


@pytest.mark.parametrize("entry", [*OPERATORS.values(), *FUNCTIONS.values()], ids=lambda entry: entry.name)
def test_the_examples_of_an_entry_hold(entry: Operation) -> None:
    """Each example of the tables is a formula with this value."""
    assert entry.examples
    for formula, value in entry.examples:
        found = compile_formula(formula).evaluate({})
        assert found == value
        assert type(found) is float or isinstance(value, int | str)


def test_the_documented_functions_are_those_of_the_table() -> None:
    """docs/language.md has the table as it is made."""
    assert function_table() in (ROOT / "docs" / "language.md").read_text(encoding="utf-8")


# --- hints


@pytest.mark.parametrize("hint", HINTS, ids=lambda hint: hint.example)
def test_the_example_of_a_hint(hint: Any) -> None:
    """The parser stops at what the hint is about, and the hint is given; with a safe fix, the rest has no syntax error."""
    problems = Problems()
    text = PlainText(Span(Source("", hint.example), 0, len(hint.example)), hint.example)
    if hint.used_in == "v1":
        parsed = parse_v1_formula(text, problems)
    else:
        parsed = parse_formula(text, problems, is_condition=hint.used_in == "condition")
    (found,) = problems.sorted()
    assert found.code == hint.code
    before, _, behind = hint.message.partition("{0}")
    assert found.message.startswith(before)
    assert found.message.endswith(behind)
    assert (parsed is not None) is hint.is_safe


@pytest.mark.parametrize("written", sorted(set(FOREIGN_CALLS.values())))
def test_what_a_call_of_another_language_is_here(written: str) -> None:
    """Each rewriting is a formula."""
    assert parse_formula(PlainText(Span(Source("", written), 0, len(written)), written), problems := Problems())
    assert not problems.sorted()
