"""The table of aggregates: an entry is all that the compiler knows of one."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from functools import partial
from operator import mul
from pathlib import Path
from typing import Any

import pytest
from formulaseed import check, compile_seed, explain, load_evaluator, load_seed
from formulaseed.compare.cover import cover
from formulaseed.draft import wire
from formulaseed.draft.session import SEED, system_prompt
from formulaseed.explanation.explanation import explanation_schema
from formulaseed.language.aggregates import AGGREGATES, Accumulator, AggregateFunction, LoopSpelling
from formulaseed.language.intervals import Range
from formulaseed.language.types import Value
from formulaseed.seed.json_schema import build_seed_schema
from formulaseed.seed.operations import OPERATIONS, build_aggregate_operation
from formulaseed.testing import reference_evaluate
from helpers import ROOT
from third_evaluator import Restaurant

PACKAGE = ROOT / "compiler" / "formulaseed"


def _power_range(term: Range) -> Range:
    return Range(0.0, float("inf")) if term.low >= 0 else Range(-float("inf"), float("inf"))


PRODUCT = AggregateFunction(
    name="product", keys=("expr", "where"), takes="number", description="The product of a formula; 1 over none.",
    result_doc="integer or number, as the formula", phrase="the product of {}",
    result=lambda operand: operand.non_null(), range=_power_range, intermediate=_power_range,
    start=lambda _: 1, step=mul, example={"name": "P", "op": "product", "expr": "extraction.x"}, examples=(((2, 3), 6), ((), 1)),
    spellings={"python": LoopSpelling(accumulators=(Accumulator(start="1"),), update="{state} *= {value}")},
)  # fmt: skip


def seed_of(kind: str, *steps: dict[str, Any]) -> dict[str, Any]:
    """Return a seed with one field `x` of a type, and steps, each of which is returned."""
    bounds = {"minimum": -10, "maximum": 10, "default": 0} if kind in ("integer", "number") else {}
    values = {"values": ["a", "b", "c"]} if kind == "enum" else {}
    fields = [{"name": "x", "type": kind, **bounds, **values}, {"name": "counted", "type": "boolean", "default": False}]
    output = [step["name"] for step in steps]
    return {"task_name": "T", "extract": {"fields": fields}, "compute": [*steps], "output": output}


def rows_of(operands: Sequence[Value]) -> list[dict[str, Any]]:
    """Return rows with these values of `x`, and between them some that `where` leaves out."""
    extractions = [{"counted": counted, "x": operand} for operand in operands for counted in (True, False)]
    return [
        {"review_id": f"r{place}", "extraction": {key: value for key, value in extraction.items() if value is not None}}
        for place, extraction in enumerate(extractions)
    ]


def kind_of(operands: Sequence[Value]) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "enum", type(None): "integer"}
    return kinds[type(operands[0])] if operands else "integer"


def list_errors(seed: Any) -> list[str]:
    return [d.code for d in check(seed) if d.severity == "error"]


EXAMPLES = [(entry.name, *example) for entry in AGGREGATES.values() for example in entry.examples]


def step_of(entry: AggregateFunction, kind: str) -> dict[str, Any]:
    """A step over the counted rows, without a default."""
    step: dict[str, Any] = {"name": "A", "op": entry.name, "where": {"extraction.counted": True}}
    if entry.takes == "condition":
        step["expr"] = "extraction.x" if kind == "boolean" else "extraction.x > 0"
    elif entry.takes != "nothing":
        step["expr" if "expr" in entry.keys else "field"] = "extraction.x"
    if "default" in entry.keys:
        step["default"] = -1
    return step


@pytest.mark.parametrize(("name", "operands", "value"), EXAMPLES, ids=str)
def test_the_examples_of_an_entry_hold_in_every_evaluator(name: str, operands: Sequence[Value], value: Value) -> None:
    """The module, the reference evaluator and the independent one compute what the entry says, of the same type."""
    kind, rows = kind_of(operands), rows_of(operands)
    seed = seed_of(kind, step_of(AGGREGATES[name], kind))
    decimals = frozenset({"A"} if str(load_seed(seed).program.steps[0].ty) == "number" else ())
    result = load_evaluator(seed).evaluate(rows, {})["A"]
    assert result == reference_evaluate(seed, rows, {})["A"] == value
    assert Restaurant(seed, rows, {}, {}, decimals).values()["A"] == value
    if not AGGREGATES[name].keeps_integers:
        assert type(result) is float


@pytest.mark.parametrize("name", AGGREGATES)
def test_the_value_over_no_reviews(name: str) -> None:
    """Over none there is the entry's value, else the step's `default`; without either the use must be guarded."""
    entry = AGGREGATES[name]
    step = step_of(entry, "integer")
    seed = seed_of("integer", step)
    expected = {"A": -1 if entry.empty_value is None else entry.empty_value}
    assert load_evaluator(seed).evaluate([], {}) == reference_evaluate(seed, [], {}) == expected
    if step.pop("default", None):
        assert list_errors(seed) == ["FS507"]


def test_evidence_has_the_rows_that_where_takes() -> None:
    """Whatever an aggregate makes of the rows, those that `where` takes went into it."""
    steps = [{**step_of(entry, "integer"), "name": f"A_{entry.name}"} for entry in AGGREGATES.values()]
    evidence = load_evaluator(seed_of("integer", *steps)).evidence(rows_of((1, 2)), {})
    assert evidence == {step["name"]: ["r0", "r2"] for step in steps}


def test_null_is_no_value_of_a_distinct_count() -> None:
    seed = seed_of("integer", {"name": "A", "op": "count_distinct", "field": "meta.user"})
    seed["extract"]["meta"] = [{"name": "user", "type": "string", "nullable": True}]
    rows = [{"extraction": {}, "meta": {"user": user}} for user in ("ann", None, "bob", "ann")]
    assert load_evaluator(seed).evaluate(rows, {}) == reference_evaluate(seed, rows, {}) == {"A": 2}


@pytest.mark.parametrize(("op", "first"), [("any", 1), ("all", -1)])
def test_every_row_is_tested_though_the_result_is_known(op: str, first: int) -> None:
    """`any` and `all` do not stop early: the first faulty row fails the step."""
    seed = seed_of("integer", {"name": "A", "op": op, "expr": "1 / extraction.x > 0"})
    for evaluate in (load_evaluator(seed).evaluate, partial(reference_evaluate, seed)):
        with pytest.raises(Exception, match="division_by_zero"):
            evaluate([{"extraction": {"x": first}}, {"extraction": {"x": 0}}], {})


def test_an_aggregate_added_to_the_table_is_known_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checker, ranges, both evaluators, module, evidence, explanation, coverage, schemas and prompts read the one entry."""
    seed = seed_of("integer", step_of(PRODUCT, "integer"), {"name": "S", "op": "expr", "expr": "clamp(A, 0, 9)"})
    assert list_errors(seed)[0] == "FS504"
    monkeypatch.setitem(OPERATIONS, "product", build_aggregate_operation(PRODUCT))
    (problem,) = check(seed)  # an operation that names an aggregate that the table lacks computes nothing else instead
    assert (problem.code, "KeyError" in problem.message) == ("FS901", True), problem
    monkeypatch.setitem(AGGREGATES, "product", PRODUCT)

    assert list_errors(seed) == []
    step = load_seed(seed).program.steps[0]
    assert str(step.ty) == "integer"
    assert step.range is not None
    assert step.range.low < -1e300
    rows = rows_of((2, 3, 4))
    for some_rows, value in ((rows, 24), ([], 1)):
        expected = {"A": value, "S": min(value, 9)}
        assert load_evaluator(seed).evaluate(some_rows, {}) == reference_evaluate(seed, some_rows, {}) == expected
    text = compile_seed(load_seed(seed))
    assert "a *= x" in text
    assert '_finite(a, "A")' in text
    assert load_evaluator(seed).evidence(rows, {})["A"] == ["r0", "r2", "r4"]
    explained = explain(seed, rows, {}, "b", output="S").text
    assert "the product of “x” over 3 of 6 reviews, where" in explained
    assert {item.name for item in cover(seed, [{"business_id": "b", "context": {}, "rows": rows}]).items} >= {"A"}
    assert '"product"' in json.dumps(build_seed_schema())
    assert '"product"' in json.dumps(explanation_schema())
    assert "`product`" in system_prompt(SEED)
    assert any("product" in branch["properties"]["op"]["enum"] for branch in wire.step_schema()["anyOf"])


_MAY_NAME = (
    "language/", "seed/operations.py", "seed/read/", "seed/write/migrate.py",
    "requests/", "backends/python/requests_plan.py",  # requests have an `agg` and a `metric` of their own
    "diagnostics/catalogue/seed.py", "diagnostics/catalogue/seed_v1.py",  # `all` of conditions, and the functions of seeds v1
    "compare/cover.py", "extractors/lexical_text.py",  # a key of JSON, and minutes
    "testing/", "draft/wire.py",  # which operations have a unit
)  # fmt: skip
"""The files that may distinguish these words."""


def list_distinguished_strings(node: ast.AST) -> list[str]:
    """Return the strings that a comparison, a pattern or a dictionary distinguishes."""
    parts: list[Any] = []
    match node:
        case ast.Compare(left, _, right):
            parts = [part for operand in (left, *right) for part in (operand, *getattr(operand, "elts", ()))]
        case ast.MatchValue(value):
            parts = [value]
        case ast.Dict(keys):
            parts = keys
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


@pytest.mark.thorough
def test_no_other_file_distinguishes_aggregates_by_name() -> None:
    """Nothing compares with the name of an aggregate, or maps from it, but the table and the readers of seeds."""
    files = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
    assert [
        f"{name}:{node.lineno}: {string}"  # type: ignore[attr-defined]
        for name, path in files.items()
        if not name.startswith(_MAY_NAME)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for string in list_distinguished_strings(node)
        if string in AGGREGATES
    ] == []


def test_the_docs_list_the_aggregates() -> None:
    text = Path(ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in AGGREGATES)
