"""One step of a surface program to a checked one: what each operation requires of its parts.

In: `surface.Step`. Out: `nodes.Step`, or None if it has an error. Raises nothing for a user's mistake.
"""

from __future__ import annotations

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.ir import nodes
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check.comparisons import is_constant_text
from formulaseed.language.check.constants import constant_truth
from formulaseed.language.check.expressions import ExpressionChecker
from formulaseed.language.check.facts import Facts, Narrowing
from formulaseed.language.check.partial_operations import report_large_sum
from formulaseed.language.check.reasons import reason_of
from formulaseed.language.check.scope import error_at
from formulaseed.language.intervals import Range
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import BOOLEAN, ERROR, INTEGER, STRING, Base, Type, Value, join, type_of
from formulaseed.seed import surface
from formulaseed.seed.check.literals import given_value, is_no_number, joined_type, literal_range
from formulaseed.seed.check.reachability import RuleReachability
from formulaseed.seed.check.scope import SeedScope
from formulaseed.source.text import Span

DECIDED_SIZE = 200
"""With more terms, those of its filters included, a condition is not checked for being constant: it takes time."""


class StepChecker:
    """Checks the steps of one program, one after the other."""

    def __init__(self, program: surface.Program, scope: SeedScope, narrowing: Narrowing) -> None:
        self.program = program
        self.scope = scope
        self.narrowing = narrowing
        self.problems = scope.problems
        self.checkers: list[ExpressionChecker] = []

    def report_constants(self) -> None:
        """Warn of the comparisons in the steps so far that are always true or false."""
        for checker in self.checkers:
            checker.report_constants()
        self.checkers.clear()

    def check(self, step: surface.Step) -> nodes.Step | None:
        """Return the checked step; None if anything in it is wrong, which has been reported."""
        match step.operation:
            case surface.Filter(condition=condition):
                return self._filter(step, condition)
            case surface.Aggregate():
                return self._aggregate(step, step.operation)
            case surface.Lookup():
                return self._lookup(step, step.operation)
            case surface.Formula(expression):
                return self._formula(step, expression)
            case surface.Const(literal):
                return self._const(step, literal)
            case surface.Case():
                return self._case(step, step.operation)
            case surface.Broken():
                return None

    def _filter(self, step: surface.Step, written: ast.Expr) -> nodes.Step | None:
        checker = self._checker(True)
        condition = checker.condition(written, Facts())
        if condition.info.ty.is_error or self._names_a_step(condition):
            return None
        size = self.scope.sizes[step.name.text] = self.scope.filter_size(condition)
        if size > limits.FILTER_SIZE:
            self.problems.report(catalogue.filter_too_large(step.name.span, step.name.text, size))
            return None
        depth = self.scope.depths[step.name.text] = self.scope.filter_depth(condition)
        if depth > limits.FILTER_NESTING:
            self.problems.report(catalogue.filters_nested_too_deeply(step.name.span, depth))
            return None
        self._report_if_decided(condition, checker, step.name.span, f"the filter `{step.name.text}`")
        return nodes.Step(step.name.text, nodes.Filter(condition), BOOLEAN, None, step.name.span)

    def _names_a_step(self, condition: Expr) -> bool:
        """Report the steps that a filter's formula names: it tests single reviews, before any step has a value."""
        named = [node for node in typed.walk(condition) if isinstance(node, typed.Ref)]
        steps = [node for node in named if node.symbol.kind is SymbolKind.STEP]
        for node in steps:
            self.scope.report_once(catalogue.step_in_condition(node.info.span, node.text), node.text)
        return bool(steps)

    def _report_if_decided(self, condition: Expr, checker: ExpressionChecker, span: Span, what: str) -> None:
        """Warn of a condition that every review meets, or none."""
        if self.scope.filter_size(condition) > DECIDED_SIZE:
            return
        truth = constant_truth(condition, Facts(), self.narrowing)
        if truth is None:
            return
        reason = reason_of(condition, checker.constants, Facts(), self.narrowing)
        self.problems.report(catalogue.constant_condition(span, what, truth, reason, checker.particular_help()))
        checker.forget_constants()

    def _report_if_constant(self, step: surface.Step, term: Expr, what: str) -> None:
        """Warn of an aggregate of a value that is the same for every review; seed v1 uses them on purpose."""
        if step.part_of or any(symbol.is_per_review for symbol in typed.symbols_in(term)):
            return
        self.problems.report(catalogue.aggregate_of_constant(term.info.span, what, expression_text(term)))

    def _made(
        self, step: surface.Step, operation: nodes.Operation | None, ty: Type, known: Range | None
    ) -> nodes.Step | None:
        if operation is None or ty.is_error:
            return None
        if not (ty.is_numeric or (ty.base is Base.BOOLEAN and known is not None and known.low == known.high)):
            known = None
        return nodes.Step(step.name.text, operation, ty, known, step.name.span, step.part_of, step.description)

    def _checker(self, per_review: bool) -> ExpressionChecker:
        self.checkers.append(ExpressionChecker(self.scope, self.narrowing, per_review=per_review))
        return self.checkers[-1]

    def _where(self, where: ast.Expr | None, step: surface.Step) -> tuple[Expr | None, bool]:
        """Return the checked condition, and whether it is sound; a missing one is."""
        if where is None:
            return None, True
        checker = self._checker(True)
        found = checker.condition(where, _start(step))
        if found.info.ty.is_error:
            return found, False
        if not isinstance(found, typed.Ref):  # a constant filter is reported where it is defined
            self._report_if_decided(found, checker, where.span, "`where`")
        return found, True

    def _per_review(self, step: surface.Step, expression: ast.Expr, where: Expr | None, what: str) -> Expr:
        """Check the formula of a number for each review that matches."""
        facts = _start(step)
        if where is not None and where.info.ty.is_error:
            facts = facts.unknown()
        elif where is not None:
            facts = self.narrowing.assume(where, True, facts)
        checker = self._checker(True)
        found = checker.check(expression, facts)
        ty = found.info.ty
        if not (ty.is_error or ty.is_numeric or ty.base is Base.NULL):
            is_boolean = ty.base is Base.BOOLEAN
            found_text = expression_text(found)
            self.problems.report(catalogue.not_numeric(expression.span, what, found_text, ty.noun, is_boolean))
            return error_at(expression.span)
        return checker.needed(found, facts)

    def _aggregate(self, step: surface.Step, operation: surface.Aggregate) -> nodes.Step | None:
        function, default = operation.function, operation.default
        where, sound = self._where(operation.where, step)
        if operation.call is not None:
            self.scope.calls[step.name.text] = operation.call
        if operation.expression is None:
            return self._made(step, nodes.Aggregate(function, None, where) if sound else None, INTEGER, intervals.COUNT)
        found = self._per_review(step, operation.expression, where, function)
        if default is not None and is_no_number(default):
            self.problems.report(catalogue.default_not_numeric(default.span, function))
            return None
        if found.info.ty.is_error or not sound:
            return None
        self._report_if_constant(step, found, function)
        ty, known = found.info.ty.present(), found.info.range or intervals.ANY_NUMBER
        if function == "sum":
            total = intervals.multiply(known, intervals.COUNT)  # 0 is in it, as a count can be 0
            total = Range(total.low, total.high)
            if not total.is_bounded:
                report_large_sum(self.scope, found, known, operation.expression.span)
            made = nodes.Aggregate(function, found, where, may_overflow=not total.is_bounded)
            return self._made(step, made, ty, total.clipped())
        if default is None or default.value is None:
            made = nodes.Aggregate(function, found, where, has_default=default is not None)
            return self._made(step, made, ty.or_null(), known)
        assert isinstance(default.value, int | float)
        made = nodes.Aggregate(function, found, where, default.value, has_default=True)
        joined = join(ty, type_of(default.value)) or ERROR
        return self._made(step, made, joined, intervals.union(known, intervals.exactly(default.value)))

    def _lookup(self, step: surface.Step, operation: surface.Lookup) -> nodes.Step | None:
        checker = self._checker(False)
        source = checker.check(operation.source, Facts())
        ty = source.info.ty
        if not ty.is_error and ty.base not in (Base.STRING, Base.NULL):
            self.problems.report(catalogue.source_not_string(source.info.span, expression_text(source), ty.noun))
            source = error_at(source.info.span)
        source = checker.needed(source, Facts(), STRING)
        literals = [entry.value for entry in operation.table]
        wrong = [value for value in literals if operation.match == "substring_max" and is_no_number(value)]
        for value in wrong:
            self.problems.report(catalogue.invalid_table(value.span, "no number"))
        if operation.default is not None:
            literals.append(operation.default)
        can_match = source.info.ty.values is None or self._keys_can_match(operation, source)
        joined = None if wrong else joined_type(literals, "a table's values", self.scope)
        if operation.default is None:
            self.problems.report(catalogue.lookup_without_default(step.name.span, step.name.text))
        is_whole = not any(isinstance(literal, surface.NoLiteral) for literal in literals)
        if joined is None or source.info.ty.is_error or not can_match or not is_whole:
            return None
        table = tuple((entry.key.text, given_value(entry.value)) for entry in operation.table)
        default = operation.default.value if operation.default else None
        made = nodes.Lookup(source, table, operation.match, operation.default is not None, default)
        return self._made(step, made, joined, literal_range(literals))

    def _keys_can_match(self, operation: surface.Lookup, source: Expr) -> bool:
        """Return whether every key can be found in one of the source's known values; report those that cannot.

        If the source has one value it is enough that one is found, or that there is a default.
        """
        values, text = source.info.ty.values or (), expression_text(source)
        never = [
            entry.key
            for entry in operation.table
            if not any(entry.key.text == v if operation.match == "exact" else entry.key.text in v for v in values)
        ]
        is_constant = is_constant_text(source)
        if is_constant and len(never) == len(operation.table) and operation.default is None:
            self.problems.report(catalogue.lookup_always_fails(operation.source.span))
            return False
        for key in never:
            self.problems.report(catalogue.key_never_found(key.span, text, key.text, values, is_constant))
        return is_constant or not never

    def _formula(self, step: surface.Step, expression: ast.Expr) -> nodes.Step | None:
        checker = self._checker(False)
        found = checker.check(expression, Facts())
        if found.info.ty.base is Base.NULL:
            self.problems.report(catalogue.always_null(expression.span, "this"))
            return None
        if self.program.reference is not None:
            if self.program.gives_numbers and found.info.ty.base is Base.STRING:
                self.problems.report(catalogue.rule_not_numeric(expression.span))
                return None
            found = checker.as_float(found)
        return self._made(step, nodes.Formula(found), found.info.ty, found.info.range)

    def _const(self, step: surface.Step, literal: ast.Literal) -> nodes.Step | None:
        if literal.value is None:
            self.problems.report(catalogue.always_null(literal.span, "this constant"))
            return None
        ty = joined_type([literal], "constants", self.scope)
        return self._made(step, nodes.Const(literal.value), ty, literal_range([literal])) if ty else None

    def _case(self, step: surface.Step, operation: surface.Case) -> nodes.Step | None:
        checker, facts = self._checker(False), Facts()
        rules: list[tuple[Expr, Value]] = []
        sound = True
        reachability = RuleReachability(self.narrowing, self.problems)
        for rule in operation.rules:
            condition = checker.condition(rule.condition, facts)
            if condition.info.ty.is_error:
                sound, facts = False, facts.unknown().uncertain()
                continue
            rules.append((condition, rule.then.value))
            reachability.rule(condition, rule, facts, checker)
            facts = checker.behind(condition, False, facts)
        literals = [*(rule.then for rule in operation.rules), operation.otherwise]
        is_whole = not any(isinstance(literal, surface.NoLiteral) for literal in literals)
        if sound and is_whole:
            reachability.otherwise(operation.otherwise, facts)
            reachability.report()
        joined = joined_type(literals, "a case's results", self.scope)
        if joined is not None and joined.base is Base.NULL:
            self.problems.report(catalogue.always_null(operation.otherwise.span, "this case"))
            return None
        if joined is None or not sound or not is_whole:
            return None
        return self._made(step, nodes.Case(tuple(rules), operation.otherwise.value), joined, literal_range(literals))


def _start(step: surface.Step) -> Facts:
    """Return what is known where the formula of an aggregate begins; a part of a formula may not be evaluated at all."""
    return Facts(is_certain=not step.part_of)
