"""What an extension costs: an entry in a table, from which everything else derives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from drafts import CONDITIONS, G1A, good_seed
from formulaseed import check, load_evaluator
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.draft import wire
from formulaseed.draft.conversion import assemble_draft, convert_draft
from formulaseed.draft.session import SEED, system_prompt
from formulaseed.language import ast
from formulaseed.seed import surface
from formulaseed.seed.json_schema import build_seed_schema
from formulaseed.seed.operations import OPERATIONS, Key, OperationSpec
from formulaseed.seed.read.steps import Arguments
from formulaseed.testing import reference_evaluate
from helpers import ROOT
from jsonschema import Draft7Validator


def _any(step: Arguments) -> surface.Operation:
    """1 if a review matches, else 0: the largest 1 over the matching reviews."""
    one, zero = ast.Literal(step.span, 1), ast.Literal(step.span, 0)
    return ast.Aggregate(step.span, "max", one, step.where, zero)


ANY = OperationSpec(
    "is_there",
    "1 if a review matches, else 0.",
    "integer",
    (Key("where", "conditions", "Which reviews to look for.", required=True, examples=({"meta.stars": {"<": 3}},)),),
    _any,
    {"name": "HAS_LOW", "op": "is_there", "where": {"meta.stars": {"<": 3}}},
    also_called="exists_one",
)


@pytest.fixture
def operation(monkeypatch: pytest.MonkeyPatch) -> OperationSpec:
    monkeypatch.setitem(OPERATIONS, ANY.name, ANY)
    return ANY


def seed_of(*steps: object, output: str) -> dict[str, Any]:
    counts = [{"name": name, "op": "count"} for name in ("N", "N_MILD", "N_SEVERE")]
    return {"task_name": "Extended", "extract": {"fields": []}, "compute": [*counts, *steps], "output": [output]}


def list_errors(seed: Any) -> list[Diagnostic]:
    return [d for d in check(seed) if d.severity == "error"]


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_example_of_an_operation_is_a_step(name: str) -> None:
    example = OPERATIONS[name].example
    count = {"name": "N_MATCHING", "op": "count", "where": {f"${example['name']}": True}}
    steps = [example, count] if name == "define_filter" else [example]
    output = "N_MATCHING" if name == "define_filter" else str(example["name"])
    assert list_errors(seed_of(*steps, output=output)) == []


def operations_table() -> str:
    """Return the table of the docs, in Markdown."""
    rows = ["| `op` | keys | value |", "|---|---|---|"]
    for operation in OPERATIONS.values():
        keys = [f"`{key.name}`" for key in operation.keys if key.name not in operation.one_of]
        chosen = [" or ".join(f"`{key}`" for key in operation.one_of)] if operation.one_of else []
        rows.append(f"| `{operation.name}` | {', '.join([*chosen, *keys])} | {operation.doc} |")
    return "\n".join(rows) + "\n"


def test_the_docs_have_the_table() -> None:
    assert operations_table() in (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")


def test_an_operation_added_to_the_table_is_known_everywhere(operation: OperationSpec) -> None:
    """It is read, checked, compiled and evaluated, and is in the JSON Schema, the drafting schema and prompt, and the docs."""
    seed = seed_of(operation.example, output="HAS_LOW")
    assert list_errors(seed) == []
    rows = [{"meta": {"stars": stars}} for stars in (5.0, 2.0)]
    for some_rows, value in (([], 0), (rows[:1], 0), (rows, 1)):
        assert load_evaluator(seed).evaluate(some_rows, {}) == {"HAS_LOW": value}
        assert reference_evaluate(seed, some_rows, {})["HAS_LOW"] == value

    wrong = [{"name": "X", "op": "is_there", "were": {"meta.satrs": 1}}, {"name": "Y", "op": "exists_one"}]
    assert [d.code for d in list_errors(seed_of(*wrong, output="X"))] == ["FS501", "FS204", "FS504"]
    (missing,) = list_errors(seed_of({"name": "X", "op": "is_there"}, output="X"))
    assert (missing.code, missing.help) == ("FS502", 'add "where": {"meta.stars": {"<": 3}}')

    validator = Draft7Validator(build_seed_schema())
    assert validator.is_valid(seed)
    assert not validator.is_valid(seed_of({"name": "X", "op": "is_there", "expr": "1"}, output="X"))
    for table in (operations_table(), system_prompt(SEED)):
        assert "| `is_there` | `where` | 1 if a review matches, else 0. |" in table
    assert any("is_there" in branch["properties"]["op"]["enum"] for branch in wire.step_schema()["anyOf"])
    condition = {"subject": "meta.stars", "test": "<", "values": [3]}
    answer = {**good_seed(), "steps": [{"name": "HAS_LOW", "op": "is_there", "where": [condition], "sources": [1]}]}
    text, faults = convert_draft(assemble_draft(CONDITIONS, answer), G1A)
    assert not faults
    (step,) = json.loads(text)["compute"]
    assert {key: step[key] for key in operation.example} == operation.example
