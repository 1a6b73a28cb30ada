"""Checks comparisons: the types of their sides, and whether the result is constant. `ExpressionChecker` builds on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.model import Help
from formulaseed.language import ast, typed
from formulaseed.language.check import wording
from formulaseed.language.check.choices import build_literal, is_constant_string, join_conditions
from formulaseed.language.check.narrowing import Narrowing, constant_result, is_null, list_items
from formulaseed.language.check.partial_operations import report_difference
from formulaseed.language.check.rounding import report_inexact
from formulaseed.language.check.scope import Facts, Scope, build_error
from formulaseed.language.operators import COMPARE
from formulaseed.language.printer import quote
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import BOOLEAN, INTEGER, STRING, Base, Info, Type, Value, join
from formulaseed.source.text import Span


class ComparisonChecker(ABC):
    """The part of the expression checker for comparisons. A subclass checks their operands."""

    def __init__(self, scope: Scope, narrowing: Narrowing) -> None:
        """Check names by `scope`, and derive facts by `narrowing`."""
        self.scope = scope
        self.problems = scope.problems
        self.narrowing = narrowing
        self.constants: list[wording.ConstantComparison] = []
        """Constant comparisons noted, but not reported yet: if they make a whole rule or filter constant, that is reported."""
        self.closed: list[wording.ConstantComparison] = []
        """The constant conditions because of which an operation that always fails is never reached."""

    def report_constants(self) -> None:
        """Report the constant comparisons noted so far, and forget them.

        A condition in `closed` is left out if another one that is reported is a part of it.
        """
        known = list(self.constants)  # a condition needs no second warning beside that of a part of it
        for closing in self.closed:
            if not any(closing.span.covers(noted.span) for noted in known):
                known.append(closing)
        for noted in known:
            self.problems.report(catalogue.constant_comparison(noted.span, noted.result, noted.reason, noted.help))
        self.forget_constants()

    def find_special_help(self) -> str:
        """Return the help of the first noted constant comparison that has its own help; empty if none has."""
        return next((constant.help for constant in self.constants if constant.help), "")

    def forget_constants(self) -> None:
        """Forget the constant comparisons noted so far without reporting them."""
        self.constants.clear()
        self.closed.clear()

    @abstractmethod
    def check(self, node: ast.Expr, facts: Facts) -> Expr:
        """Check an expression, and return it typed. Reports problems; a wrong expression becomes one of the type error."""

    @abstractmethod
    def require_present(self, expression: Expr, facts: Facts, wanted: Type = INTEGER) -> Expr:
        """Return an expression that is not null, for a place that excludes null. `wanted` is the type of a literal null."""

    def split_facts(self, condition: Expr, facts: Facts) -> tuple[Facts, Facts]:
        """Return the facts if the condition is true, and those if it is false.

        If both results are possible, both facts are uncertain. If a condition is constant, the facts for the other
        result are impossible, and `closed_by` the condition. Facts that were impossible before stay so.
        """
        when_true, when_false = self.narrowing.split(condition, facts)
        if facts.impossible:
            return when_true, when_false
        if when_true.impossible:
            when_true = when_true.with_changes(closed_by=(condition, False, facts))
        else:
            when_false = when_false.as_uncertain()
        if when_false.impossible:
            when_false = when_false.with_changes(closed_by=(condition, True, facts))
        else:
            when_true = when_true.as_uncertain()
        return when_true, when_false

    def _check_side(self, node: ast.Expr, beside: Type | None, facts: Facts) -> Expr:
        """Check a side of a comparison. `beside` is the type of the other side; None if that is unknown.

        A string without its quotes is reported, and then an error expression returned.
        """
        return self.scope.report_unquoted(node, beside) or self.check(node, facts)

    def check_comparison(self, node: ast.Comparison, facts: Facts) -> Expr:
        """Return a comparison, or a chain, typed; an error if one of its sides is wrong, which is reported.

        Each comparison of a chain is checked with the facts if those before it are true. Notes constant comparisons.
        Reports sides that may be null, and results that rounding may decide. `flag == True` becomes `flag`.
        """
        is_chain = len(node.operators) > 1
        first = self._check_side(node.first, self.scope.type_of(node.rest[0]), facts)
        operands = [first]
        links: list[Expr] = []
        known = [facts]
        for operator, right_node in zip(node.operators, node.rest, strict=True):
            links.append(operands[-1])
            if operator in ("in", "not in"):
                left, right = self._check_membership(operands[-1], operator, right_node, facts)
            else:
                right = self._check_side(right_node, operands[-1].info.ty, facts)
                left, right = self._check_pair(operands[-1], operator, right, is_chain, facts)
            operands[-1:] = [left, right]
            if is_chain and not any(operand.info.ty.is_error for operand in operands):
                pair_info = Info(BOOLEAN, _find_pair_span(left, right, node.span))
                facts, _ = self.split_facts(typed.Comparison(left, (operator,), (right,), pair_info), facts)
                known.append(facts)
        if any(operand.info.ty.is_error for operand in operands):
            return build_error(node.span)
        span = node.span
        if span.source is first.info.span.source:
            span = span.to(operands[-1].info.span)
        info = Info(BOOLEAN, span)
        for left, operator, right, before in zip(operands, node.operators, operands[1:], known, strict=False):
            self._note_if_constant(left, operator, right, before, node.span)
            report_difference(left, operator, right, self.scope, before)
            report_inexact(left, operator, right, node.span, self.scope, before, is_link=is_chain)
        if not is_chain and not _are_literals(operands[0], operands[1]):
            plain = _simplify_boolean_test(operands[0], node.operators[0], operands[1], info)
            if plain is not None:
                return plain
        return self._build_chain(operands, links, node.operators, known, info)

    def _build_chain(
        self, operands: list[Expr], links: list[Expr], operators: tuple[str, ...], known: list[Facts], info: Info
    ) -> Expr:
        """Return a chain as one comparison, or as several joined by `and` if one cannot express it.

        A chain is split at a value that may be null only for the comparison on its left: `0 == n < 5` is `0 == n and n < 5`, and
        Python tests the order only if `n` is 0. It is also split beside a pair that a type checker would report. `links` are the
        left sides before they were required to be present, `known` the facts where each pair is evaluated.
        """
        rights = [*links[1:], operands[-1]]  # as in the comparison on their left, for which null is allowed
        pairs = zip(operands, operators, rights, known, strict=False)
        alone = [_is_null_test(a, b, at) or _is_apart(a, sign, b) or _are_literals(a, b) for a, sign, b, at in pairs]
        parts: list[Expr] = []
        start = 0
        for place in range(1, len(operands)):
            is_last = place == len(operands) - 1
            is_equality = operators[place - 1] in ("==", "!=")
            is_link_null = not is_last and operands[place] is not links[place] and is_equality
            if is_last or is_link_null or alone[place - 1] or alone[place]:
                part = operands[start : place + 1]
                if is_link_null:
                    part[-1] = links[place]
                parts.append(
                    self._build_comparison(part, operators[start:place], known[start], info, is_first=start == 0)
                )
                start = place
        return join_conditions("and", parts, info)

    def _build_comparison(
        self, operands: list[Expr], operators: tuple[str, ...], facts: Facts, info: Info, *, is_first: bool
    ) -> Expr:
        """Return a comparison of two or more operands; a literal for two if the result is constant and cannot fail.

        `is_first`: it is the first of its chain, so that its left side has not been computed by the comparison before.
        A literal on the left changes places with a right side that it never equals.
        """
        if len(operands) > 2:
            return typed.Comparison(operands[0], operators, tuple(operands[1:]), info)
        left, right = operands
        operator = operators[0]
        if _are_literals(left, right):
            return build_literal(COMPARE[operator](left.info.constant, _constant_value(right)), info.span)
        may_raise = typed.may_raise(right) or (is_first and typed.may_raise(left))
        if operator in ("==", "!=") and isinstance(left, typed.Literal) and _is_never_equal(left, operator, right):
            left, right = right, left
        is_present = facts.is_present(left)
        is_constant = self._is_constant(left, operator, right, facts)
        is_known = is_constant and (_is_null_test(left, right, facts) or isinstance(left, typed.Literal))
        if is_known and (is_present or not may_raise):  # the value tested has been computed before
            return build_literal(operator in ("!=", "not in"), info.span)
        may_be_null = is_constant and left.info.ty.nullable and not is_present
        return typed.Comparison(left, operators, (right,), info, is_constant, may_be_null)

    def _note_if_constant(self, left: Expr, operator: str, right: Expr, facts: Facts, whole: Span) -> None:
        """Add a comparison to `constants` if it has one result for all data, unless the facts are silent."""
        if facts.is_silent:
            return
        result, reason = self._constant_result(left, operator, right, facts)
        if result is None:
            return
        span = _find_pair_span(left, right, whole)
        if _is_null_test(left, right, facts):
            self.constants.append(_needless_test(list_items(right)[0] if is_null(left) else left, result, span))
            return
        if not reason:
            sides = [side for side in (left, *list_items(right)) if not side.info.is_constant]
            texts = dict.fromkeys(wording.describe_known(side, facts) for side in sides)
            reason = wording.explain_integer(left, right) or " and ".join(texts) or catalogue.BOTH_ARE_CONSTANTS
        self.constants.append(wording.ConstantComparison(span, result, reason))

    def _constant_result(self, left: Expr, operator: str, right: Expr, facts: Facts) -> tuple[bool | None, str]:
        """Return the result of a comparison for all data, or None if it varies, and the reason, which may be empty."""
        if operator in ("==", "!=") and right.info.is_constant:
            results = self._results_of(left)
            if results is not None and right.info.constant not in results:
                return operator == "!=", wording.describe_values(left, results)
        if left == right and not left.info.is_constant:
            return operator in ("==", "<=", ">=", "in"), catalogue.BOTH_ARE_SAME
        if _are_literals(left, right):
            return COMPARE[operator](left.info.constant, _constant_value(right)), ""
        return constant_result(left, operator, right, facts), ""

    def _is_constant(self, left: Expr, operator: str, right: Expr, facts: Facts) -> bool:
        """Return whether a type checker of the generated code would also see that a comparison is constant."""
        if _is_null_test(left, right, facts) or _is_apart(left, operator, right):
            return True
        compared = [item.value for item in list_items(right) if isinstance(item, typed.Literal)]
        known = self._possible_values(left, operator, right, compared, facts)
        if known is None or len(compared) < len(list_items(right)) or isinstance(left, typed.Literal):
            return False
        if operator in ("in", "not in") and not isinstance(right, typed.List):
            return False
        if facts.may_be_null(left):
            known = [*known, None]
        possible = [value for value in known if value in compared]
        return not possible or (len(possible) == len(known) and len(compared) == 1)

    def _possible_values(
        self, left: Expr, operator: str, right: Expr, compared: Sequence[Value], facts: Facts
    ) -> Sequence[Value] | None:
        """Return the values of the left side that a type checker knows; None if it knows none."""
        if operator in ("==", "!=") and right.info.ty.is_numeric:
            results = self._results_of(left)
            if results is not None and not set(results) & set(compared):
                return results
        return facts.get(left).values

    def _results_of(self, expression: Expr) -> Sequence[Value] | None:
        """Return the numbers that a step chooses from; None for any other step or expression."""
        is_step = isinstance(expression, typed.Ref) and expression.symbol.kind is SymbolKind.STEP
        if not isinstance(expression, typed.Ref) or not is_step or not expression.info.ty.is_numeric:
            return None
        return self.scope.results_of(expression.symbol.name)

    def _check_pair(self, left: Expr, operator: str, right: Expr, in_chain: bool, facts: Facts) -> tuple[Expr, Expr]:
        """Return the sides of a comparison other than `in`, with checks for null if `operator` is an order.

        Reports a side of the wrong type, and returns an error in place of the right side. `in_chain` decides the help.
        """
        if left.info.ty.is_error or right.info.ty.is_error:
            return left, right
        if operator in ("==", "!="):
            return left, self._check_comparable(left, right, in_chain)
        for operand, other in ((left, right), (right, left)):
            ty = operand.info.ty
            if not (ty.is_numeric or ty.base is Base.NULL):
                span = operand.info.span
                help = wording.help_for_order(operand, other)
                problem = catalogue.wrong_order(span, operator, quote(operand), ty.noun, help)
                self.scope.report_once(problem, f"{span.pointer} {span.start}")
                return left, build_error(span)
        return self.require_present(left, facts), self.require_present(right, facts)

    def _check_comparable(self, left: Expr, right: Expr, in_chain: bool = False) -> Expr:
        """Return the right side if the two sides can be equal, or one is null. Reports others, and returns an error.

        Enums must have a value in common, unless both sides are constant. `in_chain` decides the help.
        """
        a = left.info.ty
        b = right.info.ty
        if Base.NULL in (a.base, b.base):
            return right
        if join(a, b) is None:
            help: Help = catalogue.IN_A_CHAIN
            if not in_chain:
                help = wording.help_for_pair(left, right)
            sides = (quote(left), a.noun), (quote(right), b.noun)
            self.problems.report(catalogue.incomparable(right.info.span, *sides, help))
            return build_error(right.info.span)
        if a.values is None or b.values is None or set(a.values) & set(b.values):
            return right
        if is_constant_string(left) and is_constant_string(right):  # needless only
            return right
        if not isinstance(left, typed.Literal) and not isinstance(right, typed.Literal):
            sides = (
                (quote(left), wording.list_values(a.values)),
                (quote(right), wording.list_values(b.values)),
            )
            self.problems.report(catalogue.no_common_value(right.info.span, *sides))
            return build_error(right.info.span)
        value = left
        tested = right
        if isinstance(right, typed.Literal):
            value = right
            tested = left
        text = (value.info.ty.values or ("",))[0]
        known = tested.info.ty.values or ()
        elsewhere = {text} & self.scope.field_values
        self.problems.report(catalogue.unknown_value(value.info.span, quote(tested), text, known, elsewhere))
        return build_error(right.info.span)

    def _check_membership(self, left: Expr, operator: str, node: ast.Expr, facts: Facts) -> tuple[Expr, Expr]:
        """Return both sides of `in` or `not in`, which takes a list or a string; strings are checked for null.

        Reports an empty list, items that the left side never equals, and sides that are not strings; the right side is
        then an error. Notes a null in the list in `constants` if the left side is never null.
        """
        if isinstance(node, ast.List):
            written = [self._check_side(item, left.info.ty, facts) for item in node.items]
            if not written:
                self.problems.report(catalogue.empty_list(node.span, operator))
                return left, build_error(node.span)
            checked = [self._check_comparable(left, item) for item in written]
            if any(item.info.ty.is_error for item in (left, *checked)):
                return left, build_error(node.span)
            if not left.info.ty.nullable and not all(map(is_null, checked)) and not facts.is_silent:
                self.constants += [_needless_test(left, False, item.info.span) for item in checked if is_null(item)]
            return left, typed.List(tuple(checked), Info(left.info.ty, node.span))
        right = self.check(node, facts)
        for operand in (right, left):
            ty = operand.info.ty
            if not ty.is_error and ty.base not in (Base.STRING, Base.NULL):
                problem = catalogue.not_searchable(operand.info.span, operator, quote(operand), ty.noun)
                self.problems.report(problem)
                return left, build_error(node.span)
        return self.require_present(left, facts, STRING), self.require_present(right, facts, STRING)


def _is_null_test(left: Expr, right: Expr, facts: Facts) -> bool:
    """Return whether a comparison tests for null a value that is never null here."""
    if is_null(left):
        return not any(map(facts.may_be_null, list_items(right)))
    return not facts.may_be_null(left) and all(map(is_null, list_items(right)))


def _is_apart(left: Expr, operator: str, right: Expr) -> bool:
    """Return True if by its type a string never equals any string on the right of `==`, `!=`, or `in` a list."""
    if operator not in ("==", "!=") and not isinstance(right, typed.List):
        return False
    known = left.info.ty.values
    other_values = [item.info.ty.values for item in list_items(right)]
    return known is not None and all(values is not None and not set(values) & set(known) for values in other_values)


def _is_never_equal(left: Expr, operator: str, right: Expr) -> bool:
    """Return True if the left side is null, or by its type never equal to the right one."""
    return is_null(left) or _is_apart(left, operator, right)


def _are_literals(left: Expr, right: Expr) -> bool:
    """Return True if both sides are constants, also a list of constants."""
    return left.info.is_constant and all(item.info.is_constant for item in list_items(right))


def _constant_value(right: Expr) -> object:
    """Return the value of a constant, or the values of a list of constants."""
    if isinstance(right, typed.List):
        return [item.info.constant for item in right.items]
    return right.info.constant


def _needless_test(tested: Expr, result: bool, span: Span) -> wording.ConstantComparison:
    """Return the comparison, with `result` and help, of null with a value `tested` that is never null."""
    if isinstance(tested, typed.Present) or tested.info.ty.nullable:
        return wording.ConstantComparison(span, result, catalogue.KNOWN_PRESENT.format(quote(tested)))
    help = catalogue.REMOVE_THE_TEST
    if isinstance(tested, typed.Ref) and tested.symbol.kind in (SymbolKind.META, SymbolKind.CONTEXT):
        help = catalogue.declare_nullable(tested.symbol.name, tested.info.ty.base.value)
    return wording.ConstantComparison(span, result, catalogue.NEVER_NULL.format(quote(tested)), help)


def _find_pair_span(left: Expr, right: Expr, whole: Span) -> Span:
    """Return the span of both sides, or of the right one alone if the left one is in another JSON value."""
    here = left.info.span
    there = right.info.span
    together = there.pointer.startswith(here.pointer) and whole.pointer != there.pointer
    return here.to(there) if together or here.pointer == there.pointer else there


def _simplify_boolean_test(left: Expr, operator: str, right: Expr, info: Info) -> Expr | None:
    """Return `flag` for `flag == True` or `flag != False`, and `not flag` for the opposite tests.

    Returns None for any other comparison, and if `left` is not a boolean or may be null.
    """
    if operator not in ("==", "!=") or not isinstance(right, typed.Literal) or not isinstance(right.value, bool):
        return None
    if left.info.ty.base is not Base.BOOLEAN or left.info.ty.nullable:
        return None
    if right.value is (operator == "=="):
        return left
    return typed.Not(left, info)
