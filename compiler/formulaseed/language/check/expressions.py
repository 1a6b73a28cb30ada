"""Expressions as written to typed expressions: the type rules of the language.

In: an `ast.Expr`, a scope, the facts that hold there. Out: a typed expression. What is wrong has the type `error`, which fits
everywhere, so that each mistake is reported once.
"""

from __future__ import annotations

from dataclasses import replace

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.model import Help
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check.calls import arguments_of, has_literal
from formulaseed.language.check.choices import coalesced, is_missing, range_of_first
from formulaseed.language.check.comparisons import ComparisonChecker, joined_conditions, literal
from formulaseed.language.check.facts import Facts, Narrowing, is_null
from formulaseed.language.check.nulls import (
    is_unproven,
    report_joined,
    report_negated_difference,
    report_null,
    report_truth,
)
from formulaseed.language.check.partial_operations import (
    ALWAYS_NULL,
    CertainFailure,
    certain_failure,
    report_partial_operation,
)
from formulaseed.language.check.scope import Scope, error_at
from formulaseed.language.check.wording import ConstantComparison, number_in_quotes, reason_of, tested
from formulaseed.language.functions import FUNCTIONS, TO_FLOAT, Function
from formulaseed.language.info import Info
from formulaseed.language.intervals import Range
from formulaseed.language.operators import OPERATORS, Operands, Operator
from formulaseed.language.printer import called, expression_text
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import BOOLEAN, INTEGER, NULL, STRING, Base, Type, Value, join
from formulaseed.source.text import Span

_OF_IDENTICAL = {"-": 0, "%": 0, "/": 1, "//": 1}
"""What an operator gives for equal operands, where it gives anything."""


class ExpressionChecker(ComparisonChecker):
    """Checks the expressions of one step. `per_review` allows `extraction.*`, `meta.*` and `$FILTER`."""

    def __init__(self, scope: Scope, narrowing: Narrowing, *, per_review: bool) -> None:
        super().__init__(scope, narrowing)
        self.per_review = per_review

    def check(self, node: ast.Expr, facts: Facts) -> Expr:
        match node:
            case ast.Literal(span, value):
                return literal(value, span)
            case ast.Name():
                return self._shaped(self.scope.resolve(node, self.per_review), node.text)
            case ast.FilterName():
                return self._shaped(self.scope.resolve_filter(node), f"${node.text}")
            case ast.Unary():
                return self._unary(node, facts)
            case ast.Binary():
                return self._binary(node, facts)
            case ast.Comparison():
                return self.comparison(node, facts)
            case ast.Logical():
                return self._logical(node, facts)
            case ast.Not(span, operand):
                return self._negation(self.condition(operand, facts, is_negated=True), span, facts)
            case ast.Conditional():
                return self._conditional(node, facts)
            case ast.Call():
                return self._call(node, facts)
            case ast.List(span):
                self.problems.report(catalogue.misplaced_list(span))
                return error_at(span)
            case ast.Aggregate():
                return self.aggregate(node, facts)
            case ast.Invalid(span):
                return error_at(span)
            case _:
                raise AssertionError("front ends leave no loops")

    def aggregate(self, node: ast.Aggregate, facts: Facts) -> Expr:
        """Check an aggregate inside a formula; only formulas of seeds v1 have any."""
        raise AssertionError("there are no reviews")

    def _guarded(self, found: Expr, facts: Facts) -> Expr:
        """A branch that its condition says is there, for a reason that a type checker does not follow."""
        return self.needed(found, facts) if self.scope.is_implied(found, facts.is_present) else found

    def as_float(self, found: Expr) -> Expr:
        """The result of a formula over a domain: a float, or a string as it is."""
        function, ty = TO_FLOAT, found.info.ty
        if ty.is_error or ty.base is Base.STRING:
            return self.needed(found, Facts())
        argument = self._argument(function, found, Facts())
        return argument if argument.info.ty.is_error else self._applied(function, [argument], found.info.span, Facts())

    def condition(self, node: ast.Expr, facts: Facts, *, is_negated: bool = False) -> Expr:
        """An expression that is true or false, or under `not`; of a nullable number it is asked whether there is a value."""
        match node:
            case ast.Logical():
                found = self._logical(node, facts, is_condition=True)
            case _:
                found = self.check(node, facts)
        ty = found.info.ty
        if not (ty.is_error or ty.base is Base.BOOLEAN or ty.nullable):
            self.problems.report(catalogue.not_a_condition(node.span, called(found), ty.noun, tested(found)))
            return error_at(node.span)
        report_truth(found, self.scope, facts, is_negated=is_negated)
        return found

    def _is_refused(self, failure: CertainFailure, span: Span, facts: Facts) -> bool:
        """Report what always fails: as an error where the formula is sure to reach it, not at all where it never does."""
        if facts.impossible:
            if facts.closed_by is not None:  # note the condition that keeps this from being reached
                condition, truth, before = facts.closed_by
                reason = reason_of(condition, self.constants, before, self.narrowing)
                noted = ConstantComparison(condition.info.span, truth, reason, catalogue.REMOVE_THE_BRANCH)
                self.closed.append(noted)
        elif facts.is_certain or failure.is_useless:
            self.problems.report(catalogue.always_fails(span, failure.text, failure.help))
            return True
        elif not facts.is_unknown:
            found = catalogue.fails_if_reached(failure.kind, span, failure.text, failure.help)
            self.scope.report_once(found, f"{span.start} {span.end}")
        return False

    def needed(self, found: Expr, facts: Facts, wanted: Type = INTEGER) -> Expr:
        """The expression where null has no meaning: checked at run time unless it is known to be present."""
        ty, info = found.info.ty, found.info
        if ty.base is Base.NULL or (info.is_constant and info.constant is None and not ty.is_error):
            if self._is_refused(ALWAYS_NULL, info.span, facts):
                return error_at(info.span)
            present = wanted if ty.base is Base.NULL else ty.present()
            return typed.Present(found, Info(present, info.span, intervals.ANY_NUMBER if present.is_numeric else None))
        if ty.is_error or not facts.may_be_null(found):
            return found
        if is_unproven(found, self.scope, facts) and not self._lacks_default(found):
            report_null(found, self.scope, facts)
        return typed.Present(found, Info(ty.present(), info.span, info.range))

    def _lacks_default(self, found: Expr) -> bool:
        """Report an aggregate that needs a default, itself or as a step; return False for any other value."""
        is_step = isinstance(found, typed.Ref) and found.symbol.kind is SymbolKind.STEP
        return (is_step or isinstance(found, typed.Aggregate)) and self.scope.report_missing_default(found)

    def _shaped(self, found: Expr, text: str) -> Expr:
        if isinstance(found, typed.Ref) and found.symbol.is_per_review and not self.per_review:
            self.scope.report_once(catalogue.review_value(found.info.span, text), text)
            return error_at(found.info.span)
        return found

    # --- arithmetic

    def _numeric(self, found: Expr, operator: str, facts: Facts) -> Expr:
        """The operand as a number that is there."""
        ty = found.info.ty
        if not (ty.is_error or ty.is_numeric or ty.base is Base.NULL):
            is_flag = ty.base is Base.BOOLEAN
            help = catalogue.AS_INTEGER.format(expression_text(found)) if is_flag else number_in_quotes(found)
            self.problems.report(catalogue.needs_numbers(found.info.span, operator, called(found), ty.noun, help))
            return error_at(found.info.span)
        return self.needed(found, facts)

    def _unary(self, node: ast.Unary, facts: Facts) -> Expr:
        operand = self._numeric(self.check(node.operand, facts), node.operator, facts)
        if operand.info.ty.is_error:
            return error_at(node.span)
        if isinstance(operand, typed.Literal) and isinstance(operand.value, int | float):
            return literal(-operand.value if node.operator == "-" else operand.value, node.span)
        known = facts.range_of(operand)
        if known is not None and node.operator == "-":
            known = intervals.negate(known)
        made = typed.Unary(node.operator, operand, Info(operand.info.ty, node.span, known))
        value = operand.info.constant
        if not isinstance(value, int | float):
            return made
        return _folded(made, -value if node.operator == "-" else value)

    def _binary(self, node: ast.Binary, facts: Facts) -> Expr:
        left = self._numeric(self.check(node.left, facts), node.operator, facts)
        right = self._operand(OPERATORS[node.operator], 1, node.right, facts)
        if left.info.ty.is_error:
            return error_at(node.span)
        right = self._numeric(right, node.operator, facts)
        if right.info.ty.is_error:
            return error_at(node.span)
        same = _OF_IDENTICAL.get(node.operator)
        if same is not None and left == right and not left.info.is_constant and not facts.is_silent:
            text = expression_text(left)
            self.problems.report(catalogue.identical_operands(node.span, node.operator, text, same))
        return self._operation(OPERATORS[node.operator], [left, right], node.span, facts)

    def _operand(self, entry: Operator | Function, place: int, node: ast.Expr, facts: Facts) -> Expr:
        """An operand as it is; `n or 1` in a place where 0 has no value is taken as meant."""
        if isinstance(node, ast.Logical) and entry.refuses_zero(place):
            return self._logical(node, facts, refuses_zero=True)
        return self.check(node, facts)

    def _operation(self, entry: Operator | Function, operands: list[Expr], span: Span, facts: Facts) -> Expr:
        """An operator or a function on operands of the right types that are present."""
        infos, ranges = [operand.info for operand in operands], [_known(operand, facts) for operand in operands]
        result = entry.range(*ranges)
        if entry.name == "/" and self.scope.is_part(*operands):
            result = intervals.intersection(intervals.SHARE, result)
        if entry.name == "-" and len(operands) == 2 and self.scope.is_part(*reversed(operands)):
            result = intervals.intersection(intervals.REST, result)
        known = Operands(infos, ranges, result)
        failure = certain_failure(entry, operands, known)
        if failure is not None and self._is_refused(failure, span, facts):
            return error_at(span)
        is_constant = failure is None and all(info.is_constant for info in infos)
        range, value = intervals.ANY_NUMBER if failure else known.result.clipped(), None
        if is_constant:
            value = entry.value(*(info.constant for info in infos))
            range = intervals.exactly(value)
        info = Info(entry.result(infos), span, range, is_constant, value)
        is_safe = entry.is_safe(known)
        made: typed.Binary | typed.Call
        if isinstance(entry, Operator):
            may_overflow = failure is not None or not (is_constant or known.result.is_bounded)
            made = typed.Binary(entry.name, operands[0], operands[1], info, is_safe, may_overflow)
        else:
            made = typed.Call(entry.name, tuple(operands), info, is_safe)
        if failure is None and not is_constant and not facts.is_silent:
            report_partial_operation(self.scope, entry, operands, known, made)
        return made

    # --- conditions

    def _negation(self, operand: Expr, span: Span, facts: Facts) -> Expr:
        if operand.info.ty.is_error:
            return error_at(span)
        report_negated_difference(operand, self.scope, facts)
        made = typed.Not(operand, Info(BOOLEAN, span))
        return _folded(made, not operand.info.constant) if operand.info.is_constant else made

    def _logical(
        self, node: ast.Logical, facts: Facts, *, is_condition: bool = False, refuses_zero: bool = False
    ) -> Expr:
        """`and` and `or` give one of their operands, as in Python.

        `is_condition` says that only the truth of the result counts, `refuses_zero` that the result must not be 0.
        """
        truth = node.operator == "and"
        operands: list[Expr] = []
        reached: list[tuple[Expr, Range | None, bool]] = []
        inner = facts
        known_facts: list[Facts] = []
        for operand_node in node.operands:
            if is_condition and isinstance(operand_node, ast.Logical):
                operand = self._logical(operand_node, inner, is_condition=True)
            else:
                operand = self.check(operand_node, inner)
            operands.append(operand)
            known_facts.append(inner)
            if facts.impossible or not inner.impossible:
                reached.append((operand, inner.range_of(operand), operand_node is node.operands[-1]))
            if operand.info.ty.is_error:
                inner = inner.uncertain()
            elif operand_node is not node.operands[-1]:
                inner = self.behind(operand, inner)[not truth]
        if any(operand.info.ty.is_error for operand in operands):
            return error_at(node.span)
        ty: Type | None = operands[-1].info.ty
        for operand in reversed(operands[:-1]):
            left = operand.info.ty
            if truth and self.scope.is_entity(operand) and ty is not None and ty.base is not Base.BOOLEAN:
                left = NULL  # an entity that is there is true, and so never is the result
            if not truth:
                left = left.present()
                if left.base is Base.NULL:
                    continue
            ty = join(left, ty) if ty is not None else None
        if ty is None:
            nouns = [operand.info.ty.noun for operand in operands]
            self.problems.report(catalogue.mixed_operands(node.span, node.operator, nouns))
            return error_at(node.span)
        report_joined(
            node.operator,
            operands,
            known_facts,
            node.span,
            self.scope,
            is_condition=is_condition,
            refuses_zero=refuses_zero,
        )
        known = range_of_first([each for each in reached if each[0].info.ty.base is not Base.NULL], truth)
        if known is None and ty.is_numeric:
            known = intervals.ANY_NUMBER
        info = Info(ty, node.span, known)
        if ty == BOOLEAN:
            made = joined_conditions(node.operator, operands, info)
        else:
            made = typed.Logical(node.operator, tuple(operands), info)
        for operand in operands:
            if not operand.info.is_constant:
                return made
            if operand is operands[-1] or bool(operand.info.constant) is not truth:
                return _folded(made, operand.info.constant)
        raise AssertionError("there are operands")

    def _conditional(self, node: ast.Conditional, facts: Facts) -> Expr:
        condition = self.condition(node.condition, facts)
        if condition.info.ty.is_error:
            when_true = when_false = facts.unknown().uncertain()
        else:
            when_true, when_false = self.behind(condition, facts)
        then = self._guarded(self.check(node.then, when_true), when_true)
        otherwise = self._guarded(self.check(node.otherwise, when_false), when_false)
        if condition.info.ty.is_error or then.info.ty.is_error or otherwise.info.ty.is_error:
            return error_at(node.span)
        results = ((then, when_true), (otherwise, when_false))
        ty = join(*(each.info.ty.present() if inner.is_present(each) else each.info.ty for each, inner in results))
        if ty is None:
            self.problems.report(catalogue.mixed_branches(node.span, then.info.ty.noun, otherwise.info.ty.noun))
            return error_at(node.span)
        a, b = when_true.range_of(then), when_false.range_of(otherwise)
        joined = intervals.union(a, b) if a and b else None
        if when_true.impossible is not when_false.impossible:  # only the other branch ever is the result
            joined = b if when_true.impossible else a
        if joined is None and ty.is_numeric:  # where one branch is null, it is the other's
            joined = (
                next((r for r, other in ((a, otherwise), (b, then)) if is_null(other)), None) or intervals.ANY_NUMBER
            )
        made = typed.Conditional(condition, then, otherwise, Info(ty, node.span, joined))
        taken = then if condition.info.constant else otherwise
        return _folded(made, taken.info.constant) if condition.info.is_constant and taken.info.is_constant else made

    # --- calls

    def _call(self, node: ast.Call, facts: Facts) -> Expr:
        function = FUNCTIONS.get(node.name.text)
        if function is None:
            from formulaseed.language.check.unknown_calls import report_unknown_function

            lists = any(isinstance(argument, ast.List) for argument in node.arguments)
            found = [self.check(argument, facts) for argument in node.arguments if not isinstance(argument, ast.List)]
            report_unknown_function(self.scope, node.name, [] if lists else found, facts)
            return error_at(node.span)
        arguments = arguments_of(node, function, self.problems)
        if arguments is None:
            return error_at(node.span)
        if function.replaces_null:
            value = self.check(arguments[0], facts)
            behind = facts.unknown() if value.info.ty.is_error else self.behind(is_missing(value), facts)[0]
            return coalesced(value, self.check(arguments[1], behind), node.span, self.scope, (facts, behind))
        checked = [
            self._argument(function, self._operand(function, place, argument, facts), facts)
            for place, argument in enumerate(arguments)
        ]
        if any(argument.info.ty.is_error for argument in checked) or not has_literal(function, checked, self.problems):
            return error_at(node.span)
        return self._applied(function, checked, node.span, facts)

    def _applied(self, function: Function, arguments: list[Expr], span: Span, facts: Facts) -> Expr:
        if not arguments:
            return literal(function.of_none, span)
        if not function.folds:
            return self._operation(function, arguments, span, facts)
        total = arguments[0]  # one by one: Python's own `sum` rounds differently from version to version
        for argument in arguments[1:]:
            total = self._operation(OPERATORS[function.folds], [total, argument], span, facts)
            if total.info.ty.is_error:
                break
        return total

    def _argument(self, function: Function, found: Expr, facts: Facts) -> Expr:
        ty, takes_strings = found.info.ty, Base.STRING in function.takes
        if not (ty.is_error or ty.base is Base.NULL or ty.base in function.takes):
            help: Help = catalogue.LIKE.format(function.example)
            if ty.base is Base.BOOLEAN:
                help = catalogue.AS_INTEGER.format(expression_text(found))
            elif not takes_strings:
                help = number_in_quotes(found) or self.scope.words.number_for_string
            wanted = "a string" if takes_strings else "numbers"
            self.problems.report(
                catalogue.wrong_argument(found.info.span, function.name, wanted, called(found), ty.noun, help)
            )
            return error_at(found.info.span)
        return self.needed(found, facts, STRING if takes_strings else INTEGER)


def _known(found: Expr, facts: Facts) -> Range:
    """The range of a number, or of a boolean, which `int` and `float` take; the range of a string is not used."""
    return facts.range_of(found) or (intervals.ANY_NUMBER if found.info.ty.is_numeric else Range(0.0, 1.0))


def _folded(made: Expr, value: Value) -> Expr:
    """The expression, made of literals alone, with its value."""
    known = intervals.exactly(value) if isinstance(value, int | float) else None
    return replace(made, info=replace(made.info, range=known, is_constant=True, constant=value))
