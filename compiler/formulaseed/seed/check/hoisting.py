"""Aggregates inside formulas, which seeds v1 have: each becomes a step of its own that is a part of its author's.

In: an aggregate, and the facts where the formula evaluates it. Out: a reference to the step that has its value. The same
aggregate is computed once. The conditions before it, as in `sum(…) / n if n > 0 else 0`, become conditions of it if it could
fail otherwise: it is computed before the formula, and must not fail where the formula does not evaluate it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.ir import nodes
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check.comparisons import joined_conditions, literal
from formulaseed.language.check.expressions import ExpressionChecker
from formulaseed.language.check.facts import Facts, Narrowing, Path
from formulaseed.language.check.scope import error_at
from formulaseed.language.functions import is_partial
from formulaseed.language.intervals import Range
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, Info, Symbol, SymbolKind
from formulaseed.language.types import BOOLEAN, ERROR, Base, Type, Value, join, type_of
from formulaseed.seed.check.scope import SeedScope
from formulaseed.seed.surface import free_name

Aggregated = tuple[nodes.Aggregate, Type, Range]
"""A checked aggregate with the type of its value, and the range."""
_NAME_CHARACTERS = 80
_THERE_ARE_SOME = {True: {">": 0, "!=": 0, ">=": 1}, False: {"==": 0, "<=": 0, "<": 1}}
"""The comparisons of a count with a number that say, being true or false, that there are some."""


class FormulaChecker(ExpressionChecker):
    """Checks expressions that may hold aggregates. `per_review` as for `ExpressionChecker`."""

    def __init__(self, scope: SeedScope, narrowing: Narrowing, hoisting: Hoisting, *, per_review: bool) -> None:
        super().__init__(scope, narrowing, per_review=per_review)
        self.hoisting = hoisting

    def behind(self, condition: Expr, facts: Facts) -> tuple[Facts, Facts]:
        when_true, when_false = super().behind(condition, facts)
        return (
            when_true.changed(path=Path(facts.path, condition, True)),
            when_false.changed(path=Path(facts.path, condition, False)),
        )

    def aggregate(self, node: ast.Aggregate, facts: Facts) -> Expr:
        return self.hoisting.hoisted(node, Facts() if self.per_review else facts)

    def _conditional(self, node: ast.Conditional, facts: Facts) -> Expr:
        first = len(self.hoisting.new)
        return self.hoisting.with_default(super()._conditional(node, facts), first)


class Hoisting:
    """Makes the parts of one program. `check` checks an aggregate, `add` makes a part known to what is checked after it."""

    def __init__(
        self,
        scope: SeedScope,
        taken: set[str],
        check: Callable[[ast.Aggregate, Facts], Aggregated | None],
        add: Callable[[nodes.Step], None],
    ) -> None:
        self.scope = scope
        self.new: list[nodes.Step] = []
        """The parts of the step that is being checked which no step before it has."""
        self._taken = taken
        self._check = check
        self._add = add
        self._unnoted: list[nodes.Step] = []
        self._names: dict[tuple[object, ...], str] = {}
        self._written: dict[str, frozenset[Expr]] = {}
        """For each part the conditions inside the aggregate itself."""
        self._number = 0
        self._guard_size = 0

    def finish(self, checked: nodes.Step | None) -> list[nodes.Step]:
        """Return the parts of a step that has been checked. What is checked next belongs to another one."""
        new, self.new, self._guard_size = self.new, [], 0
        if checked is not None:
            self._unnoted.append(checked)
        return new

    def hoisted(self, node: ast.Aggregate, facts: Facts) -> Expr:
        """Return a reference to the step that has the value of an aggregate, which is evaluated under these facts."""
        guards = _guards(facts.path) if self._may_fail(node) else []
        checked = self._check(node, facts.uncertain() if guards else Facts(is_certain=False))
        if checked is None:
            return error_at(node.span)
        operation, ty, known = checked
        conditions = typed.conjuncts(operation.where)
        needed = [guard for guard in guards if not self._is_needless(guard, conditions)]
        if needed:
            self._guard_size += sum(1 for guard in needed for _ in typed.walk(guard))
            if self._guard_size > limits.FILTER_SIZE:
                self.scope.problems.report(catalogue.long_guards(node.span))
                return error_at(node.span)
            where = joined_conditions("and", [*needed, *conditions], Info(BOOLEAN, node.span))
            operation = replace(operation, where=where)
        name = self._known(operation) or self._new(node, operation, ty, known, frozenset(conditions))
        if not name:
            return error_at(node.span)
        found = typed.Ref(Symbol(SymbolKind.STEP, name), Info(ty, node.span, known), node.written)
        if ty.nullable and not operation.has_default and self._has_reviews(frozenset(conditions), facts):
            return typed.Present(found, Info(ty.present(), node.span, known))
        return found

    def with_default(self, found: Expr, first: int) -> Expr:
        """Return `max(…) if n > 0 else 0`, where `n` counts the same reviews, as the extreme with a default.

        `first` is the number of new parts before this formula.
        """
        if not isinstance(found, typed.Conditional):
            return found
        for truth, value, other in ((True, found.then, found.otherwise), (False, found.otherwise, found.then)):
            place = self._place(value, first)
            default = other.info.constant
            if place is None or not other.info.ty.is_numeric or not isinstance(default, int | float):
                continue
            part = self.new[place]
            if part.needs_default and self._counted(found.condition, truth) == self._written[part.name]:
                assert isinstance(part.operation, nodes.Aggregate)
                del self._names[_key(part.operation)]
                operation, ty, known = with_default(part.operation, part.ty, part.range, default)
                self.new[place] = self.scope.steps[part.name] = replace(part, operation=operation, ty=ty, range=known)
                self._names[_key(operation)] = part.name
                info = Info(ty, found.info.span, known)
                return typed.Ref(Symbol(SymbolKind.STEP, part.name), info, f"({expression_text(found)})")
        return found

    def whole(self, found: Expr) -> Aggregated | None:
        """Return the part that is all of a formula, if it is new, and forget it: the author's step takes its place."""
        place = self._place(found, 0)
        if place is None:
            return None
        part = self.new.pop(place)
        assert isinstance(part.operation, nodes.Aggregate)
        self._taken.discard(part.name)
        del self.scope.steps[part.name], self._names[_key(part.operation)]
        return part.operation, part.ty, part.range or intervals.ANY_NUMBER

    # --- parts

    def _place(self, found: Expr, first: int) -> int | None:
        """Return the place among the new parts, from the `first` on, of the one that an expression refers to."""
        found = found.operand if isinstance(found, typed.Present) else found
        name = found.symbol.name if isinstance(found, typed.Ref) and found.symbol.kind is SymbolKind.STEP else None
        return next((place for place, part in enumerate(self.new) if place >= first and part.name == name), None)

    def _known(self, operation: nodes.Aggregate) -> str:
        """Return the name of the step that has the value already; empty if there is none."""
        for step in self._unnoted:
            if isinstance(step.operation, nodes.Aggregate):
                self._names.setdefault(_key(step.operation), step.name)
        self._unnoted.clear()
        return self._names.get(_key(operation), "")

    def _new(
        self, node: ast.Aggregate, operation: nodes.Aggregate, ty: Type, known: Range, written: frozenset[Expr]
    ) -> str:
        """Add a part under a name that nothing else has, and that no formula mentions; empty if there are too many."""
        self._number += 1
        if self._number > limits.STEPS:
            if self._number == limits.STEPS + 1:
                self.scope.problems.report(catalogue.too_many_loops(node.span))
            return ""
        owner = self.scope.current
        is_all = operation.function == "count" and operation.where is None
        name = "n_extractions" if is_all else f"{owner[:_NAME_CHARACTERS]}_{operation.function}"
        name = free_name(name.upper() if owner.isupper() else name, self._taken)
        part = nodes.Step(name, operation, ty, known, node.span, owner)
        self.new.append(part)
        self._names[_key(operation)] = name
        self._written[name] = written
        self._add(part)
        return name

    # --- conditions

    def _may_fail(self, node: ast.Aggregate) -> bool:
        """Return whether a condition or the expression of an aggregate may have no value for some reviews."""
        for part in ast.walk(node):
            match part:
                case ast.Binary(_, operator) if is_partial(operator):
                    return True
                case ast.Call(_, ast.Name(_, function)) if is_partial(function):
                    return True
                case ast.Name() if (ty := self.scope.type_of(part)) is None or ty.nullable:
                    return True
        return False

    def _is_needless(self, guard: Expr, conditions: Sequence[Expr]) -> bool:
        """Return whether the guard only says that some reviews match: without any, nothing can fail."""
        counted = self._counted(guard, True)
        if counted is None or not counted <= set(conditions):
            return False
        others = [node for part in conditions if part not in counted for node in typed.walk(part)]
        return not any(isinstance(node, typed.Binary | typed.Call) or node.info.ty.nullable for node in others)

    def _has_reviews(self, conditions: frozenset[Expr], facts: Facts) -> bool:
        """Return whether a count of some of these reviews is known to be 1 or more."""
        for value, known in facts.items():
            if not isinstance(value, typed.Ref) or value.symbol.kind is not SymbolKind.STEP:
                continue
            if known.range is None or not (known.range.low > 0 or known.range.nonzero):
                continue
            operation = self.scope.steps[value.symbol.name].operation
            if not isinstance(operation, nodes.Aggregate) or operation.function != "count":
                continue
            if conditions <= set(typed.conjuncts(operation.where)):
                return True
        return False

    def _counted(self, condition: Expr, truth: bool) -> frozenset[Expr] | None:
        """Return what the reviews match of which a condition says that there are some; None for one of another kind."""
        match condition:
            case typed.Not(operand):
                return self._counted(operand, not truth)
            case typed.Comparison(typed.Ref(Symbol(SymbolKind.STEP, name)), (sign,), (typed.Literal(bound),)):
                operation = self.scope.steps[name].operation
                if isinstance(operation, nodes.Aggregate) and operation.function == "count":
                    is_some = bound == _THERE_ARE_SOME[truth].get(sign)
                    return frozenset(typed.conjuncts(operation.where)) if is_some else None
        return None


def with_default(operation: nodes.Aggregate, ty: Type, known: Range | None, default: int | float) -> Aggregated:
    """Return an extreme, whose type and range these are, with the value that it has over no reviews."""
    known = intervals.union(known or intervals.ANY_NUMBER, intervals.exactly(default))
    return replace(operation, default=default, has_default=True), join(ty.present(), type_of(default)) or ERROR, known


def _guards(path: Path | None) -> list[Expr]:
    """Return the conditions on the way to a place, in their order, each as one that is true there."""
    guards: list[Expr] = []
    while path is not None:
        guards.append(_test(path.condition, path.truth))
        path = path.before
    return guards[::-1]


def _test(value: Expr, truth: bool) -> Expr:
    """Return the condition that a value counts as true, or as false: as null, 0 and the empty string do."""
    ty, span = value.info.ty, value.info.span
    info = Info(BOOLEAN, span)
    sign = "!=" if truth else "=="
    false: list[Value] = [None] if ty.nullable else []
    if ty.base is not Base.BOOLEAN:
        false.append(0 if ty.is_numeric else "")
    tests: list[Expr] = [typed.Comparison(value, (sign,), (literal(each, span),), info) for each in false]
    if ty.base is Base.BOOLEAN:
        tests.append(value if truth else typed.Not(value, info))
    return joined_conditions("and" if truth else "or", tests, info)


def _key(operation: nodes.Aggregate) -> tuple[object, ...]:
    """Return what is equal for two aggregates of the same value."""
    return operation.function, operation.expression, operation.where, operation.has_default, repr(operation.default)
