"""Aggregates inside formulas of seed v1: each becomes a step of its own that is a part of the author's.

In: an aggregate inside a formula. Out: the name of the step that has its value. The same aggregate is computed once. The
condition before an aggregate, as in `sum(…) / n if n > 0 else 0`, becomes a condition of it if it could fail otherwise: it is
computed before the formula, and must not fail if the formula does not evaluate it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.language import ast
from formulaseed.language.functions import is_partial
from formulaseed.language.types import BOOLEAN, NUMBER, Type, type_of
from formulaseed.seed import surface
from formulaseed.seed.surface import AggregateCall, Named, mapped
from formulaseed.source.text import one_line

Key = tuple[object, ...]
_Guards = tuple[ast.Expr, ...]

_NAME_CHARACTERS = 80


class HoistedParts:
    """The steps made so far, those of the author and their parts."""

    def __init__(self, types: Mapping[str, Type], taken: set[str], problems: Problems) -> None:
        self.types: dict[str, Type | None] = dict(types)
        self.problems = problems
        self.steps: list[surface.Step] = []
        self._taken = taken
        self._names: dict[Key, str] = {}
        self._counted: dict[str, frozenset[Key]] = {}
        self._guard_size = 0
        self._number = 0
        self._owner = ""

    def add(self, step: surface.Step) -> None:
        """Add a step of the author, behind a part for each aggregate inside its formula."""
        self._guard_size = 0
        self._owner = step.name.text
        operation = step.operation
        if isinstance(operation, surface.Formula):
            found = self._hoisted(operation.expression, (), is_whole=True)
            operation = found.operation if isinstance(found, AggregateCall) else surface.Formula(found)
        self._note(step.name.text, operation)
        self.steps.append(replace(step, operation=operation))

    def _hoisted(self, node: ast.Expr, guards: _Guards, *, is_whole: bool = False) -> ast.Expr:
        """Return the expression with names in place of the aggregates, but for one that is the whole.

        `guards` are the conditions behind which it is evaluated.
        """
        found = node
        match node:
            case AggregateCall():
                found = replace(node, operation=self._guarded(node, guards))
            case ast.Conditional():
                found = self._conditional(node, guards)
            case ast.Logical(_, operator, operands):
                done: list[ast.Expr] = []
                for operand in operands:
                    done.append(self._hoisted(operand, guards))
                    guards = (*guards, *self._test(done[-1], operator == "and"))
                return replace(node, operands=tuple(done))
            case ast.Comparison(span, first, operators, rest):
                first, done = self._hoisted(first, guards), []
                for operand in rest:  # what is behind the first pair is evaluated if that holds
                    before = ast.Comparison(span, first, operators[: len(done)], tuple(done))
                    done.append(self._hoisted(operand, (*guards, before) if done else guards))
                return ast.Comparison(span, first, operators, tuple(done))
            case _:
                return mapped(node, self._hoisted, guards)
        return found if is_whole else self._named(found)

    def _conditional(self, node: ast.Conditional, guards: _Guards) -> ast.Expr:
        """Return the conditional; `max(…) if extractions else 0` is the extreme with a default."""
        condition = self._hoisted(node.condition, guards)
        when_true, when_false = self._test(condition, True), self._test(condition, False)
        then = self._hoisted(node.then, (*guards, *when_true), is_whole=True)
        otherwise = self._hoisted(node.otherwise, (*guards, *when_false), is_whole=True)
        for tests, found, other in ((when_true, then, otherwise), (when_false, otherwise, then)):
            default = folded(other)
            if (
                isinstance(found, AggregateCall)
                and found.operation.function in ("max", "min")
                and found.operation.default is None
                and isinstance(default, ast.Literal)
                and not isinstance(default.value, bool | str)
                and any(
                    self._asked(test) == _keys(found.operation.where) - _keys(surface.all_of(guards)) for test in tests
                )
            ):
                return AggregateCall(node.span, replace(found.operation, default=default), enclosed(node))
        return ast.Conditional(node.span, condition, self._named(then), self._named(otherwise))

    def _guarded(self, call: AggregateCall, guards: _Guards) -> surface.Aggregate:
        """Return the aggregate with conditions that keep it from failing where the formula does not evaluate it."""
        expression = call.operation.expression
        expression = self._hoisted(expression, ()) if expression is not None else None
        conditions = [self._hoisted(part, ()) for part in ast.conjuncts(call.operation.where)]
        if any(self._may_fail(part) for part in (*conditions, *([expression] if expression else []))):
            needed = [guard for guard in guards if not self._is_needless(guard, conditions)]
            self._guard_size += sum(1 for guard in needed for _ in ast.walk(guard))
            if self._guard_size > limits.FILTER_SIZE:
                self.problems.report(catalogue.long_guards(call.span))
                return replace(call.operation, where=ast.Invalid(call.span))
            conditions = [*needed, *conditions]
        return replace(call.operation, expression=expression, where=surface.all_of(conditions))

    def _named(self, found: ast.Expr) -> ast.Expr:
        """Return the name of the step that has the value of an aggregate; any other expression as it is."""
        if not isinstance(found, AggregateCall):
            return found
        operation, span = found.operation, found.span
        key = _key(operation)
        name = self._names.get(key)
        if name is None:
            self._number += 1
            if self._number > limits.STEPS:
                if self._number == limits.STEPS + 1:
                    self.problems.report(catalogue.too_many_loops(span))
                return ast.Invalid(span)
            name = self._free(operation)
            self._note(name, operation)
            self.steps.append(surface.Step(Named(span, name), span, operation, part_of=self._owner))
        return ast.Name(span, name, written=found.written)

    def used_steps(self) -> tuple[surface.Step, ...]:
        """Return the steps in their order, without parts that turned out not to be used."""
        used: set[str] = set()
        kept: list[surface.Step] = []
        for step in reversed(self.steps):
            if not step.part_of or step.name.text in used:
                kept.append(step)
                used.update(step.mentioned_names())
        return tuple(reversed(kept))

    def kind(self, node: ast.Expr) -> Type | None:
        """Return boolean or number if the type is apparent, else None."""
        match node:
            case ast.Comparison() | ast.Not():
                return BOOLEAN
            case ast.Unary() | ast.Binary() | ast.Call():
                return NUMBER
            case ast.Logical() | ast.Conditional():
                operands = node.operands if isinstance(node, ast.Logical) else (node.then, node.otherwise)
                kinds = {self.kind(operand) for operand in operands}
                return kinds.pop() if len(kinds) == 1 else None
            case AggregateCall(_, operation):
                return _type_of_aggregate(operation)
            case ast.Literal(_, value):
                ty: Type | None = type_of(value)
            case _:
                ty = self.types.get(node.text) if isinstance(node, ast.Name) else None
        if ty is None or ty.nullable:
            return None
        return NUMBER if ty.is_numeric else ty if ty == BOOLEAN else None

    def _test(self, node: ast.Expr, truth: bool) -> _Guards:
        """Return the condition that a value is true, or false; none if its kind is not known."""
        kind = self.kind(node)
        if kind == NUMBER:
            zero = ast.Literal(node.span, 0)
            return (ast.Comparison(node.span, node, ("!=" if truth else "==",), (zero,)),)
        if kind is None:
            return ()
        return (node if truth else ast.Not(node.span, node),)

    def _note(self, name: str, operation: surface.Operation) -> None:
        """Remember what later formulas may ask of a step."""
        self.types[name] = self.kind(operation.expression) if isinstance(operation, surface.Formula) else None
        if isinstance(operation, surface.Aggregate):
            self.types[name] = _type_of_aggregate(operation)
            if operation.function == "count":
                self._counted[name] = _keys(operation.where)
            nodes = ast.walk(operation.expression, operation.where)
            if all("." in node.text or node.text in self.types for node in nodes if isinstance(node, ast.Name)):
                # else each use of an unknown name is reported in its step
                self._names.setdefault(_key(operation), name)

    def _free(self, operation: surface.Aggregate) -> str:
        """Return a name that nothing else has, and that no formula mentions."""
        is_all = operation.function == "count" and operation.where is None
        name = "n_extractions" if is_all else f"{self._owner[:_NAME_CHARACTERS]}_{operation.function}"
        return surface.free_name(name.upper() if self._owner.isupper() else name, self._taken)

    def _may_fail(self, expression: ast.Expr) -> bool:
        for node in ast.walk(expression):
            match node:
                case ast.Binary(_, operator) if is_partial(operator):
                    return True
                case ast.Call(_, ast.Name(_, function)) if is_partial(function):
                    return True
                case ast.Name(_, text) if (ty := self.types.get(text)) is None or ty.nullable:
                    return True
        return False

    def _is_needless(self, guard: ast.Expr, conditions: Sequence[ast.Expr]) -> bool:
        """Return whether the guard only says that some reviews match: without any, nothing can fail."""
        asked = self._asked(guard)
        if asked is None:
            return False
        keys = {_key(part): part for part in conditions}
        return not asked or (asked <= keys.keys() and not any(self._may_fail(keys[key]) for key in keys.keys() - asked))

    def _asked(self, guard: ast.Expr) -> frozenset[Key] | None:
        """Return what the reviews match of which the guard says that there are some; None for a guard of another kind."""
        truth = not isinstance(guard, ast.Not)
        test = guard.operand if isinstance(guard, ast.Not) else guard
        if not isinstance(test, ast.Comparison) or len(test.operators) != 1:
            return None
        bounds = {">": 0, "!=": 0, ">=": 1} if truth else {"==": 0, "<=": 0, "<": 1}
        counted, against = test.first, test.rest[0]
        if not isinstance(counted, ast.Name) or not isinstance(against, ast.Literal):
            return None
        return self._counted.get(counted.text) if against.value == bounds.get(test.operators[0]) else None


def enclosed(node: ast.Expr) -> str:
    """Return what the author wrote, as one operand of something else, on one line."""
    text: str = json.loads(f'"{node.span.source.text[node.span.start : node.span.end]}"')
    line = one_line(text)
    return f"({line})" if isinstance(node, ast.Logical | ast.Conditional) else line


def folded(default: ast.Expr) -> ast.Expr:
    """Return a number with its sign as one literal."""
    match default:
        case ast.Unary(span, sign, ast.Literal(_, int() | float() as number)) if not isinstance(number, bool):
            return ast.Literal(span, -number if sign == "-" else number)
        case _:
            return default


def _type_of_aggregate(operation: surface.Aggregate) -> Type | None:
    is_present = operation.default is not None and operation.default.value is not None
    return NUMBER if operation.function in ("count", "sum") or is_present else None


def _keys(condition: ast.Expr | None) -> frozenset[Key]:
    return frozenset(_key(part) for part in ast.conjuncts(condition))


def _key(node: object) -> Key:
    """Return a key that is equal for two trees of the same meaning, wherever they are."""
    key: list[object] = []
    stack: list[object] = [node]
    while stack:
        part = stack.pop()
        fields: Mapping[str, object] | None = getattr(type(part), "__dataclass_fields__", None)
        if fields is not None:
            key.append(type(part).__name__)
            stack.extend(getattr(part, name) for name in fields if name not in ("span", "implied", "written", "call"))
        elif isinstance(part, tuple):
            key.append(len(part))
            stack.extend(part)
        else:
            key.append((type(part).__name__, repr(part)))
    return tuple(key)
