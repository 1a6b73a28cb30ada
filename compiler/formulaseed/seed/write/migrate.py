"""A seed v1 as a seed v2 that computes the same.

In: the JSON of the v1, and the program that it was lowered to, without errors. Out: the JSON of the v2, and a list of what it
cannot express. A loop inside a larger formula becomes a step of its own. Conditions that compare a field with a value become
`where`, any other condition on a review a filter with `expr`; one that uses a step goes into the formula of a count or sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from formulaseed.language import ast
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.printer import expression_text
from formulaseed.language.types import Value
from formulaseed.seed import surface
from formulaseed.seed.read.conditions import Object, Test, as_tests, merge
from formulaseed.source.json_reader import Plain
from formulaseed.source.text import Span

_KEPT = ("task_name", "version", "description", "parameters", "context", "review_handling", "allow")


@dataclass(frozen=True, slots=True)
class NotMoved:
    """Something of the seed v1 that v2 lacks, and why."""

    span: Span
    reason: str


@dataclass(slots=True)
class Migration:
    """The seed v2. If `not_moved` names any step it is incomplete; what is `left_out` changes no result."""

    seed: Object
    not_moved: list[NotMoved] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def migrate(seed: Mapping[str, Any], program: surface.Program) -> Migration:
    """Rewrite a seed v1 as v2."""
    moved: Object = {key: seed[key] for key in _KEPT if key in seed}
    if program.keywords:
        moved["filter"] = {"keywords": [keyword.text for keyword in program.keywords]}
    fields = seed["extraction_fields"]
    moved["extract"] = {"fields": [{"name": field["name"], "type": "enum", **field} for field in fields]}
    migration = Migration(moved)
    writer = _Writer(program, migration.not_moved)
    written = {step["name"]: step for step in seed["compute_dag"]}
    for step in program.steps:
        writer.step(step)
        allowed = written.get(step.name.text, {}).get("allow")
        if allowed is not None:
            writer.steps[-1]["allow"] = allowed
    moved["compute"] = list(writer.steps)
    moved["output"] = [name.text for name in program.output]
    if program.extraction_prompt:
        migration.left_out.append("`extraction_prompt`: the descriptions of fields and values say what to extract")
    described = [str(name) for name, step in written.items() if step.get("description")]
    if described:
        names = ", ".join(f"`{name}`" for name in described)
        migration.left_out.append(f"the descriptions of {names}: steps have none")
    return migration


class _Writer:
    """Writes the steps of the seed v2."""

    def __init__(self, program: surface.Program, not_moved: list[NotMoved]) -> None:
        self.not_moved = not_moved
        self.steps: list[Object] = []
        self.taken = {step.name.text for step in program.steps}
        self.name = ""

    def step(self, step: surface.Step) -> None:
        self.name = step.name.text
        match step.operation:
            case surface.Aggregate("count", _, where):
                tests, rest = self._where(where)
                if rest is None:
                    self._add("count", **tests)
                else:
                    self._add("sum", expr=f"1 if {expression_text(rest)} else 0", **tests)
            case surface.Aggregate("sum", expression, where) if expression is not None:
                tests, rest = self._where(where)
                if rest is not None:
                    expression = ast.Conditional(rest.span, rest, expression, ast.Literal(rest.span, 0))
                self._add("sum", expr=expression_text(expression), **tests)
            case surface.Aggregate():
                self._extreme(step.operation, step.span)
            case surface.Formula(expression):
                self._formula(expression)
            case _:
                raise AssertionError("seed v1 has no other operations")

    def _add(self, op: str, **parts: Plain) -> None:
        self.steps.append({"name": self.name, "op": op, **parts})

    def _extreme(self, operation: surface.Aggregate, span: Span) -> None:
        op = operation.function
        tests, rest = self._where(operation.where)
        if rest is not None:
            reason = f"`{op}` over reviews where `{expression_text(rest)}`: no condition on reviews can use a step"
            self.not_moved.append(NotMoved(span, reason))
        expression = operation.expression
        assert expression is not None
        is_field = isinstance(expression, ast.Name) and expression.text.startswith(("extraction.", "meta."))
        value = {"field" if is_field else "expr": expression_text(expression)}
        default = {"default": operation.default.value} if operation.default is not None else {}
        self._add(op, **value, **tests, **default)

    def _formula(self, expression: ast.Expr) -> None:
        rules = [*_rules(expression)]
        if len(rules) > 1 and all(self._is_plain(value) for _, value in rules):
            *cases, (_, otherwise) = rules
            written: list[Plain] = [{"when": expression_text(when), "then": value} for when, value in cases if when]
            self._add("case", rules=[*written, {"else": otherwise}])
        elif isinstance(expression, ast.Literal) and self._is_plain(expression.value):
            self._add("const", value=expression.value)
        else:
            self._add("expr", expr=expression_text(expression))

    def _is_plain(self, value: Value) -> bool:
        """Return whether a literal cannot be read as a formula."""
        words = re.findall(r"[A-Za-z_]\w*", value) if isinstance(value, str) else []
        return not any(word in self.taken or word in FUNCTIONS for word in words)

    # --- conditions

    def _where(self, where: ast.Expr | None) -> tuple[Object, ast.Expr | None]:
        """Return the condition as `where`, as far as it goes, and the rest, which is to be tested after it."""
        tests: list[Test] = []
        parts = ast.conjuncts(where)
        for index, part in enumerate(parts):
            if any(isinstance(node, ast.Name) and "." not in node.text for node in ast.walk(part)):  # a step
                return self._object(tests), surface.all_of(parts[index:])
            tests += as_tests(part) or [(self._filter(expr=expression_text(part)), True)]
        return self._object(tests), None

    def _object(self, tests: Sequence[Test]) -> Object:
        """Return one object; what cannot be an entry of it, as its key is there already, goes into a filter."""
        merged: Object = {}
        for key, test in tests:
            if not merge(merged, (key, test)):
                merged[self._filter(where={key: test})] = True
        return {"where": merged} if merged else {}

    def _filter(self, **parts: Plain) -> str:
        """Add a filter, and return the key that tests it."""
        suffix = "_WHERE" if self.name.isupper() else "_where"
        name = surface.free_name(f"{self.name[:80]}{suffix}", self.taken)
        self.steps.append({"name": name, "op": "define_filter", **parts})
        return f"${name}"


def _rules(expression: ast.Expr) -> Iterator[tuple[ast.Expr | None, Value]]:
    """Yield the rules of a chain of conditions that chooses among literals, `else` last; nothing for any other formula."""
    found: list[tuple[ast.Expr | None, Value]] = []
    while isinstance(expression, ast.Conditional) and isinstance(expression.then, ast.Literal):
        found.append((expression.condition, expression.then.value))
        expression = expression.otherwise
    if isinstance(expression, ast.Literal):
        yield from found
        yield None, expression.value
