"""The table of aggregates: an entry is all that the compiler knows of one."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from operator import mul
from pathlib import Path
from typing import Any

import pytest
from formulaseed import check, compile_seed, explain, load_evaluator, load_seed
from formulaseed.compare.cover import cover
from formulaseed.draft import wire
from formulaseed.draft.prompts import SEED, system_prompt
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


def seed_of(step: dict[str, Any], kind: str, *more: dict[str, Any]) -> dict[str, Any]:
    """A seed with one field `x` of a type, and a step."""
    declared: dict[str, Any] = {"name": "x", "type": kind}
    if kind in ("integer", "number"):
        declared |= {"minimum": -10, "maximum": 10, "default": 0}
    if kind == "enum":
        declared["values"] = ["a", "b", "c"]
    fields = [declared, {"name": "counted", "type": "boolean", "default": False}]
    return {"task_name": "T", "extract": {"fields": fields}, "compute": [step, *more], "output": [step["name"]]}


def rows_of(operands: Sequence[Value]) -> list[dict[str, Any]]:
    """Rows with these values of `x`, and between them some that `where` leaves out."""
    return [
        {"review_id": f"r{place}", "extraction": {"counted": counted} | ({} if operand is None else {"x": operand})}
        for place, (operand, counted) in enumerate(pair for each in operands for pair in ((each, True), (each, False)))
    ]


def kind_of(operands: Sequence[Value]) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "enum", type(None): "integer"}
    return kinds[type(operands[0])] if operands else "integer"


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
    seed = seed_of(step_of(AGGREGATES[name], kind_of(operands)), kind_of(operands))
    assert [d.message for d in check(seed) if d.severity == "error"] == []
    rows = rows_of(operands)
    decimals = frozenset({"A"} if str(load_seed(seed).program.steps[0].ty) == "number" else ())
    found = load_evaluator(seed).evaluate(rows, {})["A"]
    assert found == value
    assert reference_evaluate(seed, rows, {})["A"] == value
    assert Restaurant(seed, rows, {}, {}, decimals).values()["A"] == value
    if not AGGREGATES[name].keeps_integers:
        assert type(found) is float


@pytest.mark.parametrize("name", AGGREGATES)
def test_the_value_over_no_reviews(name: str) -> None:
    """Over none there is the entry's value, else the step's `default`; without either the use must be guarded."""
    entry = AGGREGATES[name]
    seed = seed_of(step_of(entry, "integer"), "integer")
    expected = -1 if entry.empty_value is None else entry.empty_value
    assert load_evaluator(seed).evaluate([], {})["A"] == expected
    assert reference_evaluate(seed, [], {})["A"] == expected
    if "default" in entry.keys:
        bare = seed_of({k: v for k, v in step_of(entry, "integer").items() if k != "default"}, "integer")
        assert [d.code for d in check(bare) if d.severity == "error"] == ["FS507"]


def test_evidence_has_the_rows_that_where_takes() -> None:
    """Whatever an aggregate makes of the rows, those that `where` takes went into it."""
    steps = [{**step_of(entry, "integer"), "name": f"A_{entry.name}"} for entry in AGGREGATES.values()]
    seed = seed_of(steps[0], "integer", *steps[1:])
    seed["output"] = [step["name"] for step in steps]
    evidence = load_evaluator(seed).evidence(rows_of((1, 2)), {})
    assert evidence == {step["name"]: ["r0", "r2"] for step in steps}


def test_null_is_no_value_of_a_distinct_count() -> None:
    seed = seed_of({"name": "A", "op": "count_distinct", "field": "meta.user"}, "integer")
    seed["extract"]["meta"] = [{"name": "user", "type": "string", "nullable": True}]
    assert [d.message for d in check(seed) if d.severity == "error"] == []
    rows = [{"extraction": {}, "meta": {"user": user}} for user in ("ann", None, "bob", "ann")]
    assert load_evaluator(seed).evaluate(rows, {}) == {"A": 2}
    assert reference_evaluate(seed, rows, {})["A"] == 2


def test_every_row_is_tested_though_the_result_is_known() -> None:
    """`any` and `all` do not stop early: the first faulty row fails the step."""
    for op, first in (("any", 1), ("all", -1)):
        seed = seed_of({"name": "A", "op": op, "expr": "1 / extraction.x > 0"}, "integer")
        for evaluate in (load_evaluator(seed).evaluate, lambda rows, c, seed=seed: reference_evaluate(seed, rows, c)):
            with pytest.raises(Exception, match="division_by_zero"):
                evaluate([{"extraction": {"x": first}}, {"extraction": {"x": 0}}], {})


def test_an_aggregate_added_to_the_table_is_known_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checker, ranges, both evaluators, module, evidence, explanation, coverage, schemas and prompts read the one entry."""
    seed = seed_of(step_of(PRODUCT, "integer"), "integer", {"name": "S", "op": "expr", "expr": "clamp(A, 0, 9)"})
    seed["output"] = ["A", "S"]
    assert next(d.code for d in check(seed) if d.severity == "error") == "FS504"
    monkeypatch.setitem(AGGREGATES, "product", PRODUCT)
    monkeypatch.setitem(OPERATIONS, "product", build_aggregate_operation(PRODUCT))

    assert [d.message for d in check(seed) if d.severity == "error"] == []
    step = load_seed(seed).program.steps[0]
    assert str(step.ty) == "integer"
    assert step.range is not None
    assert step.range.low < -1e300
    rows = rows_of((2, 3, 4))
    for given, value in ((rows, 24), ([], 1)):
        assert load_evaluator(seed).evaluate(given, {})["A"] == value
        assert reference_evaluate(seed, given, {})["A"] == value
    text = compile_seed(load_seed(seed))
    assert "a *= x" in text
    assert '_finite(a, "A")' in text
    assert load_evaluator(seed).evidence(rows, {}) == {"A": ["r0", "r2", "r4"]}
    found = explain(seed, rows, {}, "b", output="S")
    assert "the product of extraction.x over the 3 of 6 reviews that meet" in found.text
    assert {item.name for item in cover(seed, [{"business_id": "b", "context": {}, "rows": rows}]).items} >= {"A"}
    assert '"product"' in json.dumps(build_seed_schema())
    assert '"product"' in json.dumps(explanation_schema())
    assert "`product`" in system_prompt(SEED)
    assert any("product" in each["properties"]["op"]["enum"] for each in wire.step_schema()["anyOf"])


def test_an_operation_without_an_entry_is_no_aggregate(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operation that names an aggregate that the table lacks computes nothing else instead."""
    monkeypatch.setitem(OPERATIONS, "product", build_aggregate_operation(PRODUCT))
    (found,) = check(seed_of(step_of(PRODUCT, "integer"), "integer"))
    assert (found.code, "KeyError" in found.message) == ("FS901", True), found


_MAY_NAME = (
    "language/", "seed/operations.py", "seed/read/", "seed/write/migrate.py",
    "requests/", "backends/python/requests_plan.py",  # requests have an `agg` and a `metric` of their own
    "diagnostics/catalogue/seed.py", "diagnostics/catalogue/seed_v1.py",  # `all` of conditions, and the functions of seeds v1
    "compare/cover.py", "extractors/lexical_text.py",  # a key of JSON, and minutes
    "testing/",
)  # fmt: skip
"""The files that may distinguish these words."""


def _named_in(node: ast.AST) -> list[str]:
    """The strings that a comparison, a pattern or a dictionary distinguishes."""
    match node:
        case ast.Compare():
            operands: list[ast.AST] = [node.left, *node.comparators]
            parts = [
                part
                for each in operands
                for part in (each.elts if isinstance(each, ast.Tuple | ast.Set | ast.List) else [each])
            ]
        case ast.MatchValue():
            parts = [node.value]
        case ast.Dict():
            parts = [key for key in node.keys if key is not None]
        case _:
            return []
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def test_no_other_file_distinguishes_aggregates_by_name() -> None:
    """Nothing compares with the name of an aggregate, or maps from it, but the table and the readers of seeds."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(_MAY_NAME):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found += [
                f"{place}:{node.lineno}: {name}"
                for node in ast.walk(tree)
                for name in _named_in(node)
                if name in AGGREGATES and isinstance(node, ast.expr | ast.pattern)
            ]
    assert found == []


def test_the_docs_list_the_aggregates() -> None:
    text = Path(ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in AGGREGATES)
