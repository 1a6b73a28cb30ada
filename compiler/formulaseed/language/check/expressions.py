"""Checks expressions as written and builds typed ones: the type rules of the language.

In: an `ast.Expr`, a scope, the facts at its place. Out: a typed expression. A wrong expression has the type `error`, which fits
everywhere, so that each mistake is reported once.
"""

from __future__ import annotations

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.model import Help
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check import choices, partial_operations
from formulaseed.language.check.calls import check_literal, report_unknown_function, unpack_arguments
from formulaseed.language.check.choices import build_literal, join_conditions, note_value
from formulaseed.language.check.comparisons import ComparisonChecker
from formulaseed.language.check.narrowing import Narrowing
from formulaseed.language.check.partial_operations import (
    is_unproven,
    report_joined,
    report_negated_difference,
    report_null,
    report_truth,
)
from formulaseed.language.check.scope import Facts, Scope, build_error
from formulaseed.language.check.wording import (
    ConstantComparison,
    explain_constant,
    help_for_quoted_number,
    propose_test,
)
from formulaseed.language.functions import FUNCTIONS, TO_FLOAT, Function
from formulaseed.language.intervals import Range
from formulaseed.language.operators import OPERATORS, OperandFacts, Operator
from formulaseed.language.printer import expression_text, quote
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import BOOLEAN, INTEGER, STRING, Base, Info, Type, join
from formulaseed.source.text import Span

_RESULTS_FOR_EQUAL_OPERANDS = {"-": 0, "%": 0, "/": 1, "//": 1}
"""The results of operators whose two operands are the same, unless they fail."""


class ExpressionChecker(ComparisonChecker):
    """Checks the expressions of one step. `per_review` allows `extraction.*`, `meta.*` and `$FILTER`."""

    def __init__(self, scope: Scope, narrowing: Narrowing, *, per_review: bool) -> None:
        super().__init__(scope, narrowing)
        self.per_review = per_review

    def check(self, node: ast.Expr, facts: Facts) -> Expr:
        """Return an expression typed, or an error, reported, if a part is wrong. Raises `AssertionError` for a loop."""
        match node:
            case ast.Literal(span, value):
                return build_literal(value, span)
            case ast.Name():
                return self._check_shape(self.scope.resolve(node, self.per_review), node.text)
            case ast.FilterName():
                return self._check_shape(self.scope.resolve_filter(node), f"${node.text}")
            case ast.Unary():
                return self._check_unary(node, facts)
            case ast.Binary():
                return self._check_binary(node, facts)
            case ast.Comparison():
                return self.check_comparison(node, facts)
            case ast.Logical():
                return self._check_logical(node, facts)
            case ast.Not(span, operand):
                return self._build_negation(self.check_condition(operand, facts, is_negated=True), span, facts)
            case ast.Conditional():
                return self._check_conditional(node, facts)
            case ast.Call():
                return self._check_call(node, facts)
            case ast.List(span):
                self.problems.report(catalogue.misplaced_list(span))
                return build_error(span)
            case ast.Aggregate():
                return self.check_aggregate(node, facts)
            case ast.Invalid(span):
                return build_error(span)
            case _:
                raise AssertionError("front ends leave no loops")

    def check_aggregate(self, node: ast.Aggregate, facts: Facts) -> Expr:
        """Raise `AssertionError`: only formulas of seeds v1 have aggregates, and their checker overrides this."""
        raise AssertionError("there are no reviews")

    def _require_implied(self, branch: Expr, facts: Facts) -> Expr:
        """Return a branch, marked as present if its condition implies that in a way that type checkers do not follow."""
        if self.scope.is_implied(branch, facts.is_present):
            return self.require_present(branch, facts)
        return branch

    def convert_to_float(self, result: Expr) -> Expr:
        """Return the result of a formula over a domain as a float, or its string. Reports one that may be null."""
        if result.info.ty.is_error or result.info.ty.base is Base.STRING:
            return self.require_present(result, Facts())
        argument = self._check_argument(TO_FLOAT, result, Facts())
        return (
            argument if argument.info.ty.is_error else self._build_call(TO_FLOAT, [argument], result.info.span, Facts())
        )

    def check_condition(self, node: ast.Expr, facts: Facts, *, is_negated: bool = False) -> Expr:
        """Check an expression that is used as a condition, under a `not` if `is_negated` is true.

        A value that may be null is reported. A string or number is reported, and an error expression returned, unless
        it may be null: then it is a test for a value.
        """
        checked = self._check_truth(node, facts)
        ty = checked.info.ty
        if not (ty.is_error or ty.base is Base.BOOLEAN or ty.nullable):
            self.problems.report(catalogue.not_a_condition(node.span, quote(checked), ty.noun, propose_test(checked)))
            return build_error(node.span)
        report_truth(checked, self.scope, facts, is_negated=is_negated)
        return checked

    def _check_truth(self, node: ast.Expr, facts: Facts) -> Expr:
        """Check an expression that is only tested for being true, and so are the operands of its `and` and `or`."""
        if isinstance(node, ast.Logical):
            return self._check_logical(node, facts, is_condition=True)
        return self.check(node, facts)

    def _report_certain_failure(self, failure: partial_operations.CertainFailure, span: Span, facts: Facts) -> bool:
        """Report an operation that always fails. Returns True if that is an error, since every evaluation reaches it.

        If some evaluations may reach it, that is a warning; if none does, the condition that excludes it is added to `closed`.
        """
        if facts.impossible:
            if facts.closed_by is not None:
                condition, truth, before = facts.closed_by
                reason = explain_constant(condition, self.constants, before, self.narrowing)
                noted = ConstantComparison(condition.info.span, truth, reason, catalogue.REMOVE_THE_BRANCH)
                self.closed.append(noted)
        elif facts.is_certain or failure.is_useless:
            self.problems.report(catalogue.always_fails(span, failure.text, failure.help))
            return True
        elif not facts.is_unknown:
            problem = catalogue.fails_if_reached(failure.kind, span, failure.text, failure.help)
            self.scope.report_once(problem, f"{span.start} {span.end}")
        return False

    def require_present(self, expression: Expr, facts: Facts, wanted: Type = INTEGER) -> Expr:
        """Return an expression that is not null, with a check at run time unless it is known to be present.

        Reports an expression that may be null; one that always is, and is always reached, becomes an error. `wanted` is
        the type that a literal null is taken to have.
        """
        info = expression.info
        ty = info.ty
        if ty.base is Base.NULL or (info.is_constant and info.constant is None and not ty.is_error):
            if self._report_certain_failure(partial_operations.ALWAYS_NULL, info.span, facts):
                return build_error(info.span)
            if ty.base is not Base.NULL:
                wanted = ty.non_null()
            known = intervals.ANY_NUMBER if wanted.is_numeric else None
            return typed.Present(expression, Info(wanted, info.span, known))
        if ty.is_error or not facts.may_be_null(expression):
            return expression
        if is_unproven(expression, self.scope, facts) and not self._report_missing_default(expression):
            report_null(expression, self.scope, facts)
        return typed.Present(expression, Info(ty.non_null(), info.span, info.range))

    def _report_missing_default(self, expression: Expr) -> bool:
        """Report an aggregate, or a step that is one, that needs a default. Returns False for any other value."""
        is_step = isinstance(expression, typed.Ref) and expression.symbol.kind is SymbolKind.STEP
        return (is_step or isinstance(expression, typed.Aggregate)) and self.scope.report_missing_default(expression)

    def _check_shape(self, expression: Expr, text: str) -> Expr:
        """Return the expression of a name. Reports a review's value without a review, and returns an error."""
        if isinstance(expression, typed.Ref) and expression.symbol.is_per_review and not self.per_review:
            self.scope.report_once(catalogue.review_value(expression.info.span, text), text)
            return build_error(expression.info.span)
        return expression

    # --- arithmetic

    def _require_number(self, operand: Expr, operator: str, facts: Facts) -> Expr:
        """Return an operand that is a number, not null. Reports an operand of another type, and returns an error."""
        ty = operand.info.ty
        if not (ty.is_error or ty.is_numeric or ty.base is Base.NULL):
            help = help_for_quoted_number(operand) or self.scope.words.string_in_arithmetic
            if ty.base is Base.BOOLEAN:
                help = catalogue.AS_INTEGER.format(expression_text(operand))
            self.problems.report(catalogue.needs_numbers(operand.info.span, operator, quote(operand), ty.noun, help))
            return build_error(operand.info.span)
        return self.require_present(operand, facts)

    def _check_unary(self, node: ast.Unary, facts: Facts) -> Expr:
        """Return a signed number, computed if it is constant. Reports any other operand, and returns an error."""
        operand = self._require_number(self.check(node.operand, facts), node.operator, facts)
        if operand.info.ty.is_error:
            return build_error(node.span)
        known = facts.range_of(operand)
        value = operand.info.constant
        if node.operator == "-":
            known = known and intervals.negate(known)
            value = -value if isinstance(value, int | float) else None
        if isinstance(operand, typed.Literal):
            return build_literal(value, node.span)
        signed = typed.Unary(node.operator, operand, Info(operand.info.ty, node.span, known))
        return signed if value is None else note_value(signed, value)

    def _check_binary(self, node: ast.Binary, facts: Facts) -> Expr:
        """Return an arithmetic operation; an error if an operand is wrong. Reports equal operands, as in `x - x`."""
        left = self._require_number(self.check(node.left, facts), node.operator, facts)
        right = self._check_operand(OPERATORS[node.operator], 1, node.right, facts)
        if left.info.ty.is_error:
            return build_error(node.span)
        right = self._require_number(right, node.operator, facts)
        if right.info.ty.is_error:
            return build_error(node.span)
        same = _RESULTS_FOR_EQUAL_OPERANDS.get(node.operator)
        if same is not None and left == right and not left.info.is_constant and not facts.is_silent:
            text = expression_text(left)
            self.problems.report(catalogue.identical_operands(node.span, node.operator, text, same))
        return self._build_operation(OPERATORS[node.operator], [left, right], node.span, facts)

    def _check_operand(self, entry: Operator | Function, place: int, node: ast.Expr, facts: Facts) -> Expr:
        """Check an operand of the operation `entry`. If the operation fails for 0, `n or 1` is intended and not reported."""
        if isinstance(node, ast.Logical) and entry.refuses_zero(place):
            return self._check_logical(node, facts, refuses_zero=True)
        return self.check(node, facts)

    def _build_operation(self, entry: Operator | Function, operands: list[Expr], span: Span, facts: Facts) -> Expr:
        """Return an operator or function of operands of the right types, with its value if all operands are constants.

        Reports operands for which it may fail, unless `facts` are silent. An operation that fails for all operands
        becomes an error expression if that is reported, and else an operation of any number.
        """
        infos = [operand.info for operand in operands]
        ranges = [facts.operand_range(operand) for operand in operands]
        known = OperandFacts(infos, ranges, self._result_range(entry, operands, ranges))
        failure = partial_operations.find_certain_failure(entry, operands, known)
        if failure is not None and self._report_certain_failure(failure, span, facts):
            return build_error(span)
        is_constant = failure is None and all(info.is_constant for info in infos)
        info = Info(entry.result(infos), span, intervals.ANY_NUMBER if failure else known.result.clip())
        is_safe = entry.is_safe(known)
        operation: typed.Binary | typed.Call
        if isinstance(entry, Operator):
            may_overflow = failure is not None or not (is_constant or known.result.is_bounded)
            operation = typed.Binary(entry.name, operands[0], operands[1], info, is_safe, may_overflow)
        else:
            operation = typed.Call(entry.name, tuple(operands), info, is_safe)
        if is_constant:
            return note_value(operation, entry.compute(*(info.constant for info in infos)))
        if failure is None and not facts.is_silent:
            partial_operations.report_partial_operation(self.scope, entry, operands, known, operation)
        return operation

    def _result_range(self, entry: Operator | Function, operands: list[Expr], ranges: list[Range]) -> Range:
        """Return the range of an operation, which is narrower if one operand is known to be a part of the other."""
        result = entry.range(*ranges)
        if entry.name == "/" and self.scope.is_part(*operands):
            return intervals.intersection(intervals.SHARE_RANGE, result)
        if entry.name == "-" and self.scope.is_part(*reversed(operands)):
            return intervals.intersection(intervals.REST_RANGE, result)
        return result

    # --- conditions

    def _build_negation(self, operand: Expr, span: Span, facts: Facts) -> Expr:
        """Return the negation of a condition. Reports sides of a comparison under it that may be null."""
        if operand.info.ty.is_error:
            return build_error(span)
        report_negated_difference(operand, self.scope, facts)
        negation = typed.Not(operand, Info(BOOLEAN, span))
        if operand.info.is_constant:
            return note_value(negation, not operand.info.constant)
        return negation

    def _check_logical(
        self, node: ast.Logical, facts: Facts, *, is_condition: bool = False, refuses_zero: bool = False
    ) -> Expr:
        """Check `and` or `or`, whose value is one of the operands, as in Python. Reports values that are lost by it.

        `is_condition`: the result is only tested for being true. `refuses_zero`: the operation around it fails for 0.
        Reports operands without a common type, and returns an error.
        """
        is_and = node.operator == "and"
        checked = self._operands_with_facts(node, facts, is_condition=is_condition)
        operands = [operand for operand, _ in checked]
        if any(operand.info.ty.is_error for operand in operands):
            return build_error(node.span)
        ty = choices.find_choice_type(operands, self.scope, is_and=is_and)
        if ty is None:
            nouns = [operand.info.ty.noun for operand in operands]
            self.problems.report(catalogue.operand_types_differ(node.span, node.operator, nouns))
            return build_error(node.span)
        report_joined(node, checked, self.scope, is_condition=is_condition, refuses_zero=refuses_zero)
        known = choices.find_choice_range(checked, facts, is_and=is_and)
        if known is None and ty.is_numeric:
            known = intervals.ANY_NUMBER
        info = Info(ty, node.span, known)
        choice: Expr = typed.Logical(node.operator, tuple(operands), info)
        if ty == BOOLEAN:
            choice = join_conditions(node.operator, operands, info)
        deciding = choices.find_constant_choice(operands, is_and=is_and)
        return choice if deciding is None else note_value(choice, deciding.info.constant)

    def _operands_with_facts(self, node: ast.Logical, facts: Facts, *, is_condition: bool) -> list[tuple[Expr, Facts]]:
        """Return the operands, conditions if `is_condition`, each with the facts if those before it did not decide."""
        checked: list[tuple[Expr, Facts]] = []
        check = self._check_truth if is_condition else self.check
        for operand_node in node.operands:
            operand = check(operand_node, facts)
            checked.append((operand, facts))
            if operand.info.ty.is_error:
                facts = facts.as_uncertain()
            elif operand_node is not node.operands[-1]:
                when_true, when_false = self.split_facts(operand, facts)
                facts = when_true if node.operator == "and" else when_false
        return checked

    def _check_conditional(self, node: ast.Conditional, facts: Facts) -> Expr:
        """Return a conditional expression. Reports branches of unlike types, and returns an error."""
        condition = self.check_condition(node.condition, facts)
        if condition.info.ty.is_error:
            when_true = when_false = facts.as_unknown().as_uncertain()
        else:
            when_true, when_false = self.split_facts(condition, facts)
        then = self._require_implied(self.check(node.then, when_true), when_true)
        otherwise = self._require_implied(self.check(node.otherwise, when_false), when_false)
        if any(part.info.ty.is_error for part in (condition, then, otherwise)):
            return build_error(node.span)
        branches = ((then, when_true), (otherwise, when_false))
        ty = join(*(part.info.ty.non_null() if inner.is_present(part) else part.info.ty for part, inner in branches))
        if ty is None:
            self.problems.report(catalogue.mixed_branches(node.span, then.info.ty.noun, otherwise.info.ty.noun))
            return build_error(node.span)
        info = Info(ty, node.span, choices.find_branch_range(branches, ty))
        conditional = typed.Conditional(condition, then, otherwise, info)
        taken = then if condition.info.constant else otherwise
        if condition.info.is_constant and taken.info.is_constant:
            return note_value(conditional, taken.info.constant)
        return conditional

    # --- calls

    def _check_call(self, node: ast.Call, facts: Facts) -> Expr:
        """Return a call. Reports an unknown function or wrong arguments, and returns an error."""
        function = FUNCTIONS.get(node.name.text)
        if function is None:
            plain = [argument for argument in node.arguments if not isinstance(argument, ast.List)]
            checked = [self.check(argument, facts) for argument in plain]
            if len(checked) < len(node.arguments):
                checked = []
            report_unknown_function(self.scope, node.name, checked, facts)
            return build_error(node.span)
        arguments = unpack_arguments(node, function, self.problems)
        if arguments is None:
            return build_error(node.span)
        if function.replaces_null:
            value = self.check(arguments[0], facts)
            if_null = facts.as_unknown()
            if not value.info.ty.is_error:
                if_null, _ = self.split_facts(choices.build_null_test(value), facts)
            default = self.check(arguments[1], if_null)
            return choices.build_coalesce(value, default, node.span, self.scope, (facts, if_null))
        checked = [
            self._check_argument(function, self._check_operand(function, place, argument, facts), facts)
            for place, argument in enumerate(arguments)
        ]
        has_error = any(argument.info.ty.is_error for argument in checked)
        if has_error or not check_literal(function, checked, self.problems):
            return build_error(node.span)
        return self._build_call(function, checked, node.span, facts)

    def _build_call(self, function: Function, arguments: list[Expr], span: Span, facts: Facts) -> Expr:
        """Return a call of checked arguments; without arguments the function's value of an empty list.

        A function that stands for an operator becomes operations between the arguments, up to the first with an error.
        """
        if not arguments:
            return build_literal(function.empty_value, span)
        if not function.folds:
            return self._build_operation(function, arguments, span, facts)
        total = arguments[0]  # one by one: Python's own `sum` rounds differently from version to version
        for argument in arguments[1:]:
            total = self._build_operation(OPERATORS[function.folds], [total, argument], span, facts)
            if total.info.ty.is_error:
                break
        # the text of a single argument needs a number, too, when it is read again
        return typed.Unary("+", total, total.info) if isinstance(total, typed.Present) else total

    def _check_argument(self, function: Function, argument: Expr, facts: Facts) -> Expr:
        """Return an argument, not null, of a type that the function takes. Reports others, and returns an error."""
        ty = argument.info.ty
        takes_strings = Base.STRING in function.takes
        if not (ty.is_error or ty.base is Base.NULL or ty.base in function.takes):
            help: Help = catalogue.LIKE.format(function.example)
            if ty.base is Base.BOOLEAN:
                help = catalogue.AS_INTEGER.format(expression_text(argument))
            elif not takes_strings:
                help = help_for_quoted_number(argument) or self.scope.words.number_for_string
            wanted = "a string" if takes_strings else "numbers"
            self.problems.report(
                catalogue.wrong_argument(argument.info.span, function.name, wanted, quote(argument), ty.noun, help)
            )
            return build_error(argument.info.span)
        return self.require_present(argument, facts, STRING if takes_strings else INTEGER)
