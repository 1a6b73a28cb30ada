"""The functions and operators that a formula reference lists are those that its formulas may use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from formulaseed import compile_formula
from formulaseed.documents import load_reference
from formulaseed.errors import SeedError
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import OPERATORS_BY_KIND
from formulaseed.reference.document import build_document
from formulaseed.reference.model import apply_overlay
from helpers import command, write_json
from test_formula_reference import check_examples

FIELDS = {"x": "float", "y": {"type": "float", "nullable": True}, "flag": "boolean", "name": "string"}
USES = {
    "+": "x + 1", "-": "-x", "*": "x * 2", "/": "x / 2", "//": "x // 2", "%": "x % 2", "**": "x ** 2",
    "==": "x == 1", "!=": "x != 1", "<": "x < 1", "<=": "x <= 1", ">": "x > 1", ">=": "x >= 1",
    "in": "name in ['a', 'b']", "not in": "name not in ['a', 'b']",
    "and": "flag and flag", "or": "y or x", "not": "not flag",
}  # fmt: skip
"""For each operator a formula with that operator alone."""


def schema(**sections: Any) -> dict[str, Any]:
    return {"root": "shop", "entities": {"shop": {"fields": FIELDS}}, **sections}


def list_operators(*names: str) -> dict[str, dict[str, str]]:
    return {kind: {name: "" for name in group if name in names} for kind, group in OPERATORS_BY_KIND.items()}


def find_errors(formula: str, reference: dict[str, Any]) -> list[tuple[str, str]]:
    """The code and message of each error of a formula over a reference."""
    try:
        compile_formula(formula, reference=reference)
    except SeedError as error:
        return [(d.code, d.message) for d in error.diagnostics if d.severity == "error"]
    return []


@pytest.mark.parametrize("operator", [name for group in OPERATORS_BY_KIND.values() for name in group])
def test_operators(operator: str) -> None:
    """An operator can be used if it alone is listed, and cannot if all others are."""
    message = f"the reference does not list the operator `{operator}`"
    assert find_errors(USES[operator], schema(operators=list_operators(operator))) == []
    unlisted = schema(operators=list_operators(*(USES.keys() - {operator})))
    assert find_errors(USES[operator], unlisted) == [("FS103", message)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions(function: str) -> None:
    example = FUNCTIONS[function].example
    assert find_errors(example, schema(functions={function: {}})) == []
    unlisted = {name: {} for name in FUNCTIONS if name != function}
    message = f"the reference does not list the function `{function}`"
    assert find_errors(example, schema(functions=unlisted)) == [("FS207", message)]


def test_sections() -> None:
    """A section that is missing allows the whole language, an empty one nothing; a choice between values is syntax."""
    formula = "sqrt(max(x, 0)) * 2 % 3"
    assert find_errors(formula, schema()) == []
    assert {code for code, _ in find_errors(formula, schema(functions={}))} == {"FS207"}
    assert {code for code, _ in find_errors(formula, schema(operators={}))} == {"FS103"}
    few = schema(functions={"max": {}}, operators=list_operators("+"))
    assert [message.rpartition(" ")[2] for _, message in find_errors(formula, few)] == ["`sqrt`", "`*`", "`%`"]
    assert find_errors("max(x + 1, 2) if flag else x", few) == []


def test_the_help_names_what_is_listed() -> None:
    few = schema(functions={"max": {}, "min": {}}, operators=list_operators("+"))
    with pytest.raises(SeedError) as error:
        compile_formula("sqrtt(x) + abs(x) + x * 2", reference=few)
    assert [d.help for d in error.value.diagnostics if d.severity == "error"] == [
        "functions: `max`, `min`",
        "list it in `functions`, or use what is listed: `max`, `min`",
        "list it in `operators`, or use what is listed: `+`",
    ]


@pytest.mark.parametrize(
    ("sections", "code", "message"),
    [
        ({"functions": {"median": {}}}, "FS207", "the language has no function `median` to list"),
        ({"operators": {"arithmetic": {"^": "Power"}}}, "FS103", "the language has no operator `^` to list"),
        ({"operators": {"bitwise": {"&": "And"}}}, "FS501", "`operators` has no key `bitwise`"),
        ({"functions": ["max"]}, "FS503", "`functions` must be an object, not a list"),
    ],
)
def test_what_the_language_lacks(sections: dict[str, Any], code: str, message: str) -> None:
    """It is an error when the reference is loaded."""
    with pytest.raises(SeedError) as error:
        load_reference(schema(**sections))
    assert (code, message) in [(d.code, d.message) for d in error.value.diagnostics]


def test_stages_and_rules(tmp_path: Path) -> None:
    """An unlisted function fails the security stage; a file of rules is checked in the same way."""
    reference = write_json(tmp_path / "formula_reference.json", schema(functions={}, operators=list_operators("+")))
    done = command("formula", "sqrt(4) + x", "--reference", reference, "--format", "json")
    stages = json.loads(done.out)["stages"]
    assert (stages["syntax"], stages["security"]) == ("passed", "failed")
    rules = [{"name": "a", "formula": "x + 1"}, {"name": "b", "formula": "x * 2"}]
    checked = command("check", write_json(tmp_path / "rules.json", rules))
    message = "the reference does not list the operator `*`"
    assert (message in checked.out, checked.out.count("error[")) == (True, 1)


def test_published_references() -> None:
    """A reference that is published again lists the same, its own formulas use nothing else, and an overlay's lists win."""
    few = load_reference(schema(functions={"max": {}}, operators=list_operators("+", ">=")))
    document = build_document(few)
    assert list(document["functions"]) == ["max"]
    assert {name for group in document["operators"].values() for name in group} == {"+", ">="}
    check_examples(load_reference(document))
    whole = load_reference(schema())
    assert apply_overlay(whole, few).functions == ("max",)
    assert apply_overlay(few, whole).operators == ("+", ">=")
