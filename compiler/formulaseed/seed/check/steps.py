"""One step of a surface program to a checked one: what each operation demands of its parts.

In: `surface.Step`. Out: `nodes.Step`, or None where there is an error in it. Raises nothing for a user's mistake.
"""

from __future__ import annotations

from dataclasses import replace

from formulaseed import limits
from formulaseed.diagnostics.model import Help
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.ir import nodes
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check.comparisons import is_constant_text
from formulaseed.language.check.constants import decided
from formulaseed.language.check.expressions import ExpressionChecker
from formulaseed.language.check.facts import Facts, Narrowing
from formulaseed.language.check.partial_operations import report_large_sum
from formulaseed.language.check.reasons import reason_of
from formulaseed.language.check.scope import error_at
from formulaseed.language.intervals import Range
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.typed_text import expression_text
from formulaseed.language.types import BOOLEAN, ERROR, INTEGER, STRING, Base, Type, Value, join, type_of
from formulaseed.seed import surface
from formulaseed.seed.check.literals import given_value, is_no_number, joined_type, literal_range
from formulaseed.seed.check.reachability import Reach
from formulaseed.seed.check.scope import SeedScope
from formulaseed.source.text import Span

DECIDED_SIZE = 200
"""With more terms, filters written out, nothing is concluded from a condition: it takes time."""


class StepChecker:
    """Checks the steps of one program, one after the other."""

    def __init__(self, program: surface.Program, scope: SeedScope, narrowing: Narrowing) -> None:
        self.program = program
        self.scope = scope
        self.narrowing = narrowing
        self.problems = scope.problems
        self.checkers: list[ExpressionChecker] = []

    def report_decisions(self) -> None:
        """Warn of the comparisons in the steps so far that are always true or false."""
        for checker in self.checkers:
            checker.report_decisions()
        self.checkers.clear()

    def check(self, step: surface.Step) -> nodes.Step | None:
        """The checked step; None where something in it is wrong, and was told."""
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
            case surface.Broken(parts):
                for part in parts:
                    self.check(replace(step, operation=part))
                return None

    def _filter(self, step: surface.Step, written: ast.Expr) -> nodes.Step | None:
        checker = self._checker(True)
        condition = checker.condition(written, Facts())
        if condition.info.ty.is_error or self._names_a_step(condition):
            return None
        size = self.scope.sizes[step.name.text] = self.scope.filter_size(condition)
        if size > limits.FILTER_SIZE:
            message = (
                f"with the filters that it uses, `{step.name.text}` has {size} terms, more than {limits.FILTER_SIZE}"
            )
            self.problems.add("FS510", step.name.span, message, "use fewer filters in one another")
            return None
        depth = self.scope.depths[step.name.text] = self.scope.filter_depth(condition)
        if depth > limits.FILTER_NESTING:
            message = f"{depth} filters use one another in a row, more than {limits.FILTER_NESTING}"
            self.problems.add("FS510", step.name.span, message, "name the conditions themselves")
            return None
        self._report_if_decided(condition, checker, step.name.span, f"the filter `{step.name.text}`")
        return nodes.Step(step.name.text, nodes.Filter(condition), BOOLEAN, None, step.name.span)

    def _names_a_step(self, condition: Expr) -> bool:
        """Report the steps that a filter's formula names: it tests one review at a time, before any step has a value."""
        named = [node for node in typed.walk(condition) if isinstance(node, typed.Ref)]
        steps = [node for node in named if node.symbol.kind is SymbolKind.STEP]
        for node in steps:
            message = f"`{node.text}` is a step, with one value for all reviews: no review can be tested by it"
            help = f"compare with it in the formula of a `sum`, such as `int(meta.stars > {node.text})`"
            self.scope.report("FS205", node.info.span, message, help, node.text)
        return bool(steps)

    def _report_if_decided(self, condition: Expr, checker: ExpressionChecker, span: Span, what: str) -> None:
        """Warn of a condition that every review meets, or none."""
        if self.scope.filter_size(condition) > DECIDED_SIZE:
            return
        truth = decided(condition, Facts(), self.narrowing)
        if truth is None:
            return
        reason = reason_of(condition, checker.decisions, Facts(), self.narrowing)
        which, help = "no", "change the conditions so that a review can meet them all"
        if truth:
            which, help = "every", "remove the filter, or test for what tells reviews apart"
        help = checker.particular_help() or help
        checker.forget_decisions()
        self.problems.add("FS610", span, f"{which} review passes {what}: {reason}", help)

    def _report_if_constant(self, step: surface.Step, term: Expr, what: str) -> None:
        """Warn of an aggregate of what is the same for every review; an author of loops writes them on purpose."""
        if step.part_of or any(symbol.is_per_review for symbol in typed.symbols_in(term)):
            return
        text = expression_text(term)
        if what == "sum":
            help = 'count the reviews: "op": "count"'
            if text != "1":
                help += f", and multiply by `{text}` in an `expr` step"
        else:
            help = f"name a field of the review, or use `{text}` itself in an `expr` step"
        message = f"`{what}` of `{text}`, which is the same for every review"
        self.problems.add("FS621", term.info.span, message, help)

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
        """The checked condition, and whether it is sound; a missing one is."""
        if where is None:
            return None, True
        checker = self._checker(True)
        found = checker.condition(where, _start(step))
        if found.info.ty.is_error:
            return found, False
        if not isinstance(found, typed.Ref):  # a filter that never varies is told where it is defined
            self._report_if_decided(found, checker, where.span, "`where`")
        return found, True

    def _per_review(self, step: surface.Step, expression: ast.Expr, where: Expr | None, what: str) -> Expr:
        """A number for each review that matches."""
        facts = _start(step)
        if where is not None and where.info.ty.is_error:
            facts = facts.unknown()
        elif where is not None:
            facts = self.narrowing.assume(where, True, facts)
        checker = self._checker(True)
        found = checker.check(expression, facts)
        ty = found.info.ty
        if not (ty.is_error or ty.is_numeric or ty.base is Base.NULL):
            text = expression_text(found)
            help = "name a numeric field"
            if ty.base is Base.BOOLEAN:
                help = f'write "expr": "int({text})", or count the reviews where it is true'
            self.problems.add("FS301", expression.span, f"`{what}` takes numbers, and `{text}` is {ty.noun}", help)
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
            message = f"`default` of `{function}` must be a number"
            self.problems.add("FS301", default.span, message, "write the number that stands for no review")
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
            message = f"a lookup's `source` must be a text, and `{expression_text(source)}` is {ty.noun}"
            self.problems.add("FS301", source.info.span, message, "name a text such as `context.categories`")
            source = error_at(source.info.span)
        source = checker.needed(source, Facts(), STRING)
        literals = [entry.value for entry in operation.table]
        wrong = [value for value in literals if operation.match == "substring_max" and is_no_number(value)]
        for value in wrong:
            message = "`substring_max` takes the highest value, so every value must be a number"
            self.problems.add("FS508", value.span, message, "use `substring_first`, or numbers")
        if operation.default is not None:
            literals.append(operation.default)
        can_match = source.info.ty.values is None or self._keys_can_match(operation, source)
        joined = None if wrong else joined_type(literals, "a table's values", self.scope)
        if operation.default is None:
            message = f"`{step.name.text}` has no `default`: it fails where no key is found"
            self.problems.add("FS601", step.name.span, message, 'give it a "default"')
        is_whole = not any(isinstance(literal, surface.NoLiteral) for literal in literals)
        if joined is None or source.info.ty.is_error or not can_match or not is_whole:
            return None
        table = tuple((entry.key.text, given_value(entry.value)) for entry in operation.table)
        default = operation.default.value if operation.default else None
        made = nodes.Lookup(source, table, operation.match, operation.default is not None, default)
        return self._made(step, made, joined, literal_range(literals))

    def _keys_can_match(self, operation: surface.Lookup, source: Expr) -> bool:
        """Whether every key can be found in one of the source's known values; those that cannot are told.

        Of a source that has one value it is enough that one is found, or that there is a default.
        """
        help: Help
        values, text = source.info.ty.values or (), expression_text(source)
        never = [
            entry.key
            for entry in operation.table
            if not any(entry.key.text == v if operation.match == "exact" else entry.key.text in v for v in values)
        ]
        is_constant = is_constant_text(source)
        if is_constant and len(never) == len(operation.table) and operation.default is None:
            message, help = "this always fails: no key of the table is ever found", 'give it a "default"'
            self.problems.add("FS306", operation.source.span, message, help)
            return False
        for key in never:
            message, help = f"`{text}` never is `{key.text}`", did_you_mean(key.text, values, what="values")
            if is_constant:
                message, help = f"this is never found: {message}", "remove the key, or look up what varies"
            self.problems.add("FS603" if is_constant else "FS302", key.span, message, help)
        return is_constant or not never

    def _formula(self, step: surface.Step, expression: ast.Expr) -> nodes.Step | None:
        checker = self._checker(False)
        found = checker.check(expression, Facts())
        if found.info.ty.base is Base.NULL:
            self.problems.add("FS301", expression.span, "this is always null", "write a value")
            return None
        if self.program.reference is not None:
            if self.program.gives_numbers and found.info.ty.base is Base.STRING:
                help = "compare it, and give a number for each: `10 if x == 'a' else 0`"
                self.problems.add("FS301", expression.span, "a rule gives a number, and this is a text", help)
                return None
            found = checker.as_float(found)
        return self._made(step, nodes.Formula(found), found.info.ty, found.info.range)

    def _const(self, step: surface.Step, literal: ast.Literal) -> nodes.Step | None:
        if literal.value is None:
            self.problems.add("FS301", literal.span, "a constant cannot be null", "write a value")
            return None
        ty = joined_type([literal], "constants", self.scope)
        return self._made(step, nodes.Const(literal.value), ty, literal_range([literal])) if ty else None

    def _case(self, step: surface.Step, operation: surface.Case) -> nodes.Step | None:
        checker, facts = self._checker(False), Facts()
        rules: list[tuple[Expr, Value]] = []
        sound = True
        reach = Reach(self.narrowing, self.problems)
        for rule in operation.rules:
            condition = checker.condition(rule.condition, facts)
            if condition.info.ty.is_error:
                sound, facts = False, facts.unknown().uncertain()
                continue
            rules.append((condition, rule.then.value))
            reach.rule(condition, rule, facts, checker)
            facts = checker.behind(condition, False, facts)
        literals = [*(rule.then for rule in operation.rules), operation.otherwise]
        if sound and not any(isinstance(literal, surface.NoLiteral) for literal in literals):
            reach.otherwise(operation.otherwise, facts)
            reach.report()
        joined = joined_type(literals, "a case's results", self.scope)
        if joined is not None and joined.base is Base.NULL:
            self.problems.add("FS301", operation.otherwise.span, "this case is always null", "write values")
            return None
        if joined is None or not sound:
            return None
        return self._made(step, nodes.Case(tuple(rules), operation.otherwise.value), joined, literal_range(literals))


def _start(step: surface.Step) -> Facts:
    """What is known where the formula of an aggregate begins; a loop may have no reviews, or not be asked for at all."""
    return Facts(is_certain=not step.part_of)
