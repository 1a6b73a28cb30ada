"""Rewrites a seed v1 as a seed v2 that computes the same.

In: the JSON of the v1, and its checked program, without errors. Out: the JSON of the v2, and a list of parts that it lacks. A
loop inside a larger formula becomes a step of its own. Conditions that compare a field with a value become `where`, any other
condition on a review a filter with `expr`; one that uses a step goes into the formula of a count or sum.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from formulaseed.diagnostics.model import Problems
from formulaseed.ir import nodes
from formulaseed.ir.hoisting import hoist
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.info import Info
from formulaseed.language.parser import parse_formula
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import INTEGER, Value
from formulaseed.seed.read.conditions import Object, Test, as_tests, merge
from formulaseed.source.json_reader import JsonString, Plain, read_json
from formulaseed.source.text import Source, Span, free_name

SUM = "sum"
_SAME_KEYS = ("task_name", "version", "description", "parameters", "context", "review_handling", "properties", "allow")


@dataclass(frozen=True, slots=True)
class NotMoved:
    """A part of the seed v1 that v2 cannot express, and why."""

    span: Span
    reason: str


@dataclass(slots=True)
class Migration:
    """The seed v2. If `not_moved` names any step it is incomplete; what is `left_out` changes no result."""

    seed: Object
    not_moved: list[NotMoved] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def migrate(seed: Mapping[str, Any], program: nodes.Program) -> Migration:
    """Rewrite a seed v1 as v2."""
    moved: Object = {key: seed[key] for key in _SAME_KEYS if key in seed}
    if program.keywords:
        moved["filter"] = {"keywords": list(program.keywords)}
    fields = seed["extraction_fields"]
    moved["extract"] = {"fields": [{"name": field["name"], "type": "enum", **field} for field in fields]}
    migration = Migration(moved)
    writer = _Writer(program, migration.not_moved)
    written = {step["name"]: step for step in seed["compute_dag"]}
    for step in hoist(program).steps:
        writer.step(step)
        allowed = written.get(step.name, {}).get("allow")
        if allowed is not None:
            writer.steps[-1]["allow"] = allowed
    moved["compute"] = list(writer.steps)
    moved["output"] = list(program.output)
    if program.extraction_prompt:
        migration.left_out.append("`extraction_prompt`: the descriptions of fields and values say what to extract")
    described = [str(name) for name, step in written.items() if step.get("description")]
    if described:
        names = ", ".join(f"`{name}`" for name in described)
        migration.left_out.append(f"the descriptions of {names}: steps have none")
    return migration


class _Writer:
    """Writes the steps of the seed v2."""

    def __init__(self, program: nodes.Program, not_moved: list[NotMoved]) -> None:
        self.not_moved = not_moved
        self.steps: list[Object] = []
        self.taken = {step.name for step in program.steps}
        self.name = ""

    def step(self, step: nodes.Step) -> None:
        """Write one step, and the filters that it needs before it."""
        self.name = step.name
        match step.operation:
            case nodes.Formula(typed.Aggregate() as aggregate):
                self._aggregate(aggregate, step.span)
            case nodes.Formula(expression):
                self._formula(expression, step.rules())
            case _:
                raise AssertionError("seed v1 has no other operations")

    def _add(self, op: str, **parts: Plain) -> None:
        self.steps.append({"name": self.name, "op": op, **parts})

    def _aggregate(self, aggregate: typed.Aggregate, span: Span) -> None:
        op = aggregate.function
        operand = aggregate.operand
        tests, rest = self._where(aggregate.where)
        if rest is not None and aggregate.entry.counts:
            op = SUM
            operand = typed.Conditional(rest, _number(1, rest), _number(0, rest), rest.info)
        elif rest is not None and operand is not None and op == SUM:
            operand = typed.Conditional(rest, operand, _number(0, rest), operand.info)
        elif rest is not None:
            reason = f"`{op}` over reviews where `{_text(rest)}`: no condition on reviews can use a step"
            self.not_moved.append(NotMoved(span, reason))
        value: Object = {}
        if operand is not None:
            is_name = isinstance(operand, typed.Ref) and operand.symbol.is_per_review
            value = {"field" if is_name and "field" in aggregate.entry.keys else "expr": _text(operand)}
        default: Object = {"default": aggregate.default.value} if aggregate.default is not None else {}
        self._add(op, **value, **tests, **default)

    def _formula(self, expression: Expr, rules: Sequence[tuple[Expr | None, Value]]) -> None:
        if rules and all(self._is_plain(value) for _, value in rules):
            *cases, (_, otherwise) = rules
            written: list[Plain] = [{"when": _text(when), "then": value} for when, value in cases if when]
            self._add("case", rules=[*written, {"else": otherwise}])
        elif isinstance(expression, typed.Literal) and self._is_plain(expression.value):
            self._add("const", value=expression.value)
        else:
            self._add("expr", expr=_text(expression))

    def _is_plain(self, value: Value) -> bool:
        """Return True if a literal cannot be read as a formula."""
        words = re.findall(r"[A-Za-z_]\w*", value) if isinstance(value, str) else []
        return not any(word in self.taken or word in FUNCTIONS for word in words)

    # --- conditions

    def _where(self, where: Expr | None) -> tuple[Object, Expr | None]:
        """Return the condition as `where` up to the first part that uses a step, and the rest; None if there is no rest."""
        tests: list[Test] = []
        parts = typed.conjuncts(where)
        for index, part in enumerate(parts):
            if any(symbol.kind is SymbolKind.STEP for symbol in typed.symbols_in(part)):
                rest = parts[index:]
                return self._object(tests), rest[0] if len(rest) == 1 else typed.Logical("and", rest, part.info)
            tests += _tests(_text(part)) or [(self._filter(expr=_text(part)), True)]
        return self._object(tests), None

    def _object(self, tests: Sequence[Test]) -> Object:
        """Return the tests as one object. A test whose key is there already goes into a filter."""
        merged: Object = {}
        for key, test in tests:
            if not merge(merged, (key, test)):
                merged[self._filter(where={key: test})] = True
        return {"where": merged} if merged else {}

    def _filter(self, **parts: Plain) -> str:
        """Add a filter, and return the key that tests it."""
        suffix = "_WHERE" if self.name.isupper() else "_where"
        name = free_name(f"{self.name[:80]}{suffix}", self.taken)
        self.steps.append({"name": name, "op": "define_filter", **parts})
        return f"${name}"


def _number(value: int, beside: Expr) -> Expr:
    return typed.Literal(value, Info(INTEGER, beside.info.span))


def _text(expression: Expr) -> str:
    """Return the expression as a formula of a seed v2, which names fields in full."""
    return expression_text(_with_full_names(expression))


def _with_full_names(expression: Expr) -> Expr:
    if isinstance(expression, typed.Ref):
        return replace(expression, written="")
    return typed.mapped(expression, _with_full_names)


def _tests(condition: str) -> list[Test] | None:
    """Return the tests of `where` that a condition is equal to; None if only a formula can express it."""
    text, _ = read_json(Source("<condition>", json.dumps(condition)))
    parsed = parse_formula(text, Problems()) if isinstance(text, JsonString) else None
    return as_tests(parsed) if parsed is not None else None
