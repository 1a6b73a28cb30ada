"""Comparisons: which values can be compared, and with what result.

Beside the type rules this reports constant comparisons. `ExpressionChecker` builds on it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check import wording
from formulaseed.language.check.facts import Facts, Narrowing, constant_pair, is_null, items
from formulaseed.language.check.nulls import report_difference
from formulaseed.language.check.rounding import report_inexact
from formulaseed.language.check.scope import Scope, error_at
from formulaseed.language.info import Info
from formulaseed.language.operators import COMPARE
from formulaseed.language.printer import called
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import BOOLEAN, INTEGER, STRING, Base, Type, Value, join, type_of
from formulaseed.source.text import Span


class ComparisonChecker(ABC):
    """Checks comparisons; `check` checks their operands."""

    def __init__(self, scope: Scope, narrowing: Narrowing) -> None:
        self.scope = scope
        self.problems = scope.problems
        self.narrowing = narrowing
        self.constants: list[wording.ConstantComparison] = []
        """Not reported yet: where they make a whole rule or filter constant, that is reported instead."""
        self.closed: list[wording.ConstantComparison] = []
        """The conditions that keep something from being reached that can only fail."""

    def report_constants(self) -> None:
        known = list(self.constants)  # a condition needs no second warning beside that of a part of it
        for closing in self.closed:
            if not any(closing.span.covers(noted.span) for noted in known):
                known.append(closing)
        for found in known:
            self.problems.report(catalogue.constant_comparison(found.span, found.result, found.reason, found.help))
        self.forget_constants()

    def particular_help(self) -> str:
        """Return what to do about a comparison that was noted; empty if there is nothing particular."""
        return next((found.help for found in self.constants if found.help), "")

    def forget_constants(self) -> None:
        self.constants.clear()
        self.closed.clear()

    @abstractmethod
    def check(self, node: ast.Expr, facts: Facts) -> Expr:
        """The expression, typed."""

    @abstractmethod
    def needed(self, found: Expr, facts: Facts, wanted: Type = INTEGER) -> Expr:
        """The expression where null has no meaning; of a literal null `wanted` is the type."""

    def behind(self, condition: Expr, facts: Facts) -> tuple[Facts, Facts]:
        """The facts where the condition was found true, and where it was found false, and whether that is ever so, or always."""
        split = self.narrowing.split(condition, facts)
        if facts.impossible:
            return split
        when_true, when_false = (
            found.changed(closed_by=(condition, truth, facts)) if found.impossible else found
            for found, truth in zip(split, (False, True), strict=True)
        )
        return (
            when_true if when_false.impossible else when_true.uncertain(),
            when_false if when_true.impossible else when_false.uncertain(),
        )

    def _side(self, node: ast.Expr, beside: Type | None, facts: Facts) -> Expr:
        """A side of a comparison with what has this type."""
        return self.scope.report_unquoted(node, beside) or self.check(node, facts)

    def comparison(self, node: ast.Comparison, facts: Facts) -> Expr:
        first = self._side(node.first, self.scope.type_of(node.rest[0]), facts)
        operands = [first]
        links: list[Expr] = []
        wrong = False
        known = [facts]
        for operator, right_node in zip(node.operators, node.rest, strict=True):
            links.append(operands[-1])
            if operator in ("in", "not in"):
                left, right = self._membership(operands[-1], operator, right_node, facts)
            else:
                right = self._side(right_node, operands[-1].info.ty, facts)
                left, right = self._pair(operands[-1], operator, right, len(node.operators) > 1, facts)
            wrong = wrong or left.info.ty.is_error or right.info.ty.is_error
            operands[-1] = left
            operands.append(right)
            if not wrong and len(node.operators) > 1:
                pair_info = Info(BOOLEAN, _pair_span(left, right, node.span))
                facts, _ = self.behind(typed.Comparison(left, (operator,), (right,), pair_info), facts)
                known.append(facts)
        if wrong:
            return error_at(node.span)
        span = node.span if node.span.source is not first.info.span.source else node.span.to(operands[-1].info.span)
        info = Info(BOOLEAN, span)
        for left, operator, right, before in zip(operands, node.operators, operands[1:], known, strict=False):
            self._note_if_constant(left, operator, right, before, node.span)
            report_difference(left, operator, right, self.scope, before)
            is_link = len(node.operators) > 1
            report_inexact(left, operator, right, node.span, self.scope, before, is_link=is_link)
        if len(operands) == 2 and not _are_literals(operands[0], operands[1]):
            plain = _boolean_test(operands[0], node.operators[0], operands[1], info)
            if plain is not None:
                return plain
        return self._parted(operands, links, node.operators, known, info)

    def _parted(
        self, operands: list[Expr], links: list[Expr], operators: tuple[str, ...], known: list[Facts], info: Info
    ) -> Expr:
        """A chain as several that must all hold, parted where one alone cannot say it.

        That is where a link may be null for the comparison on its left alone: `0 == n < 5` is `0 == n and n < 5`, and
        Python asks for the order only where `n` is 0. And it is beside a pair that a type checker would point out.
        """
        rights = [*links[1:], operands[-1]]  # as the comparison on their left has them: null may still be null
        pairs = zip(operands, operators, rights, known, strict=False)
        alone = [_is_null_test(a, b, at) or _is_apart(a, sign, b) or _are_literals(a, b) for a, sign, b, at in pairs]
        parts: list[Expr] = []
        start = 0
        for place in range(1, len(operands)):
            is_last, operator = place == len(operands) - 1, operators[place - 1]
            is_link_null = not is_last and operands[place] is not links[place] and operator in ("==", "!=")
            if is_last or is_link_null or alone[place - 1] or alone[place]:
                part = [*operands[start:place], links[place] if is_link_null else operands[place]]
                parts.append(self._part(part, operators[start:place], known[start], info, is_first=start == 0))
                start = place
        return joined_conditions("and", parts, info)

    def _part(
        self, operands: list[Expr], operators: tuple[str, ...], facts: Facts, info: Info, *, is_first: bool
    ) -> Expr:
        """A comparison that is printed as one; a literal where it is constant, and cannot fail.

        Where it is not the first of its chain, its first operand has been computed already.
        """
        operator, is_single = operators[0], len(operands) == 2
        if is_single and _are_literals(*operands):
            return literal(COMPARE[operator](operands[0].info.constant, _constant(operands[1])), info.span)
        may_raise = any(typed.may_raise(operand) for operand in operands[0 if is_first else 1 :])
        if is_single and isinstance(operands[0], typed.Literal) and operator in ("==", "!="):
            is_turned = is_null(operands[0]) or _is_apart(operands[0], operator, operands[1])
            operands = operands[::-1] if is_turned else operands
        first, *rest = operands
        is_present = facts.is_present(first)
        is_constant = is_single and self._is_constant(first, operator, rest[0], facts)
        is_known = is_constant and (_is_null_test(first, rest[0], facts) or isinstance(first, typed.Literal))
        if is_known and (is_present or not may_raise):  # what was tested before has been computed before
            return literal(operator in ("!=", "not in"), info.span)
        may_be_null = is_constant and first.info.ty.nullable and not is_present
        return typed.Comparison(first, operators, tuple(rest), info, is_constant, may_be_null)

    def _note_if_constant(self, left: Expr, operator: str, right: Expr, facts: Facts, whole: Span) -> None:
        """Note a comparison whose result the ranges and values of its sides leave in no doubt."""
        if facts.is_silent:
            return
        reason = ""
        results = self._results_of(left) if operator in ("==", "!=") and right.info.is_constant else None
        if results is not None and right.info.constant not in results:
            result: bool | None = operator == "!="
            reason = wording.only_values(left, results)
        elif left == right and not left.info.is_constant:
            result, reason = operator in ("==", "<=", ">=", "in"), catalogue.BOTH_ARE_SAME
        elif _are_literals(left, right):
            result = COMPARE[operator](left.info.constant, _constant(right))
        else:
            result = constant_pair(left, operator, right, facts)
        if result is None:
            return
        span = _pair_span(left, right, whole)
        if _is_null_test(left, right, facts):
            self.constants.append(_needless(items(right)[0] if is_null(left) else left, result, span))
            return
        parts = [wording.known_text(side, facts) for side in (left, *items(right)) if not side.info.is_constant]
        reason = reason or wording.whole_text(left, right) or " and ".join(dict.fromkeys(parts))
        self.constants.append(wording.ConstantComparison(span, result, reason or catalogue.BOTH_ARE_CONSTANTS))

    def _is_constant(self, left: Expr, operator: str, right: Expr, facts: Facts) -> bool:
        """Whether a type checker, too, would see that a comparison is constant."""
        if _is_null_test(left, right, facts) or _is_apart(left, operator, right):
            return True
        named = [item.value for item in items(right) if isinstance(item, typed.Literal)]
        results = self._results_of(left) if operator in ("==", "!=") and right.info.ty.is_numeric else None
        known: Sequence[Value] | None = facts.of(left).values
        if results is not None and not set(results) & set(named):
            known = results
        if known is None or len(named) < len(items(right)) or isinstance(left, typed.Literal):
            return False
        if operator in ("in", "not in") and not isinstance(right, typed.List):
            return False
        if facts.may_be_null(left):
            known = [*known, None]
        possible = [value for value in known if value in named]
        return not possible or (len(possible) == len(known) and len(named) == 1)

    def _results_of(self, found: Expr) -> Sequence[Value] | None:
        """The numbers that a step can be, where it chooses among literals."""
        if not isinstance(found, typed.Ref) or found.symbol.kind is not SymbolKind.STEP or not found.info.ty.is_numeric:
            return None
        return self.scope.results_of(found.symbol.name)

    def _pair(self, left: Expr, operator: str, right: Expr, in_chain: bool, facts: Facts) -> tuple[Expr, Expr]:
        if left.info.ty.is_error or right.info.ty.is_error:
            return left, right
        if operator in ("==", "!="):
            return left, self._comparable(left, right, in_chain)
        for operand, other in ((left, right), (right, left)):
            ty = operand.info.ty
            if not (ty.is_numeric or ty.base is Base.NULL):
                span, help = operand.info.span, wording.help_for_order(operand, other)
                found = catalogue.wrong_order(span, operator, called(operand), ty.noun, help)
                self.scope.report_once(found, f"{span.pointer} {span.start}")
                return left, error_at(span)
        return self.needed(left, facts), self.needed(right, facts)

    def _comparable(self, left: Expr, right: Expr, in_chain: bool = False) -> Expr:
        """The right side, if the two can ever be equal: strings with known values must have one in common."""
        a, b = left.info.ty, right.info.ty
        if Base.NULL in (a.base, b.base):
            return right
        if join(a, b) is None:
            help = catalogue.IN_A_CHAIN if in_chain else wording.help_for_pair(left, right)
            sides = (called(left), a.noun), (called(right), b.noun)
            self.problems.report(catalogue.incomparable(right.info.span, *sides, help))
            return error_at(right.info.span)
        if a.values is None or b.values is None or set(a.values) & set(b.values):
            return right
        if is_constant_text(left) and is_constant_text(right):  # needless only
            return right
        if not isinstance(left, typed.Literal) and not isinstance(right, typed.Literal):
            sides = (called(left), wording.listed(a.values)), (called(right), wording.listed(b.values))
            self.problems.report(catalogue.no_common_value(right.info.span, *sides))
            return error_at(right.info.span)
        text, known, culprit = b.values[0], a.values, right
        if not isinstance(right, typed.Literal):
            text, known, culprit = a.values[0], b.values, left
        other = left if culprit is right else right
        others = {text} & self.scope.declared_values
        self.problems.report(catalogue.unknown_value(culprit.info.span, called(other), text, known, others))
        return error_at(right.info.span)

    def _membership(self, left: Expr, operator: str, node: ast.Expr, facts: Facts) -> tuple[Expr, Expr]:
        if isinstance(node, ast.List):
            written = [self._side(item, left.info.ty, facts) for item in node.items]
            if not written:
                self.problems.report(catalogue.empty_list(node.span, operator))
                return left, error_at(node.span)
            checked = [self._comparable(left, item) for item in written]
            if any(item.info.ty.is_error for item in (left, *checked)):
                return left, error_at(node.span)
            if not left.info.ty.nullable and not all(map(is_null, checked)) and not facts.is_silent:
                self.constants += [_needless(left, False, item.info.span) for item in checked if is_null(item)]
            return left, typed.List(tuple(checked), Info(left.info.ty, node.span))
        right = self.check(node, facts)
        for operand in (right, left):
            ty = operand.info.ty
            if not ty.is_error and ty.base not in (Base.STRING, Base.NULL):
                found = catalogue.not_searchable(operand.info.span, operator, called(operand), ty.noun)
                self.problems.report(found)
                return left, error_at(node.span)
        return self.needed(left, facts, STRING), self.needed(right, facts, STRING)


def joined_conditions(word: str, parts: Sequence[Expr], info: Info) -> Expr:
    """Conditions joined by `and` or `or`, as far as literals among them leave any: `x and True` is `x`.

    One that decides makes those behind it needless, and those before it, too, where they cannot fail.
    """
    decisive = word == "or"
    last = next((place for place, part in enumerate(parts) if _is_truth(part, decisive)), len(parts) - 1)
    if _is_truth(parts[last], decisive) and not any(map(typed.may_raise, parts[:last])):
        return parts[last]
    left = parts[: last + 1]
    if all(part.info.ty == BOOLEAN for part in left):  # `flag or False` is false where the flag is null
        left = [part for part in left if not _is_truth(part, not decisive)] or parts[:1]
    return left[0] if len(left) == 1 else typed.Logical(word, tuple(left), info)


def _is_null_test(left: Expr, right: Expr, facts: Facts) -> bool:
    """Whether null is looked for among what is not null here."""
    if is_null(left):
        return not any(map(facts.may_be_null, items(right)))
    return not facts.may_be_null(left) and all(map(is_null, items(right)))


def _is_apart(left: Expr, operator: str, right: Expr) -> bool:
    """Whether a string equals none of the strings that it is compared with, as the types say."""
    if operator not in ("==", "!=") and not isinstance(right, typed.List):
        return False
    known = left.info.ty.values
    others = [item.info.ty.values for item in items(right)]
    return known is not None and all(values is not None and not set(values) & set(known) for values in others)


def _are_literals(left: Expr, right: Expr) -> bool:
    return left.info.is_constant and all(item.info.is_constant for item in items(right))


def _is_truth(found: Expr, truth: bool) -> bool:
    return isinstance(found, typed.Literal) and found.value is truth


def _constant(right: Expr) -> object:
    """The value of a constant, or those of a list of them."""
    return [item.info.constant for item in right.items] if isinstance(right, typed.List) else right.info.constant


def literal(value: Value, span: Span) -> typed.Literal:
    known = intervals.exactly(value) if isinstance(value, int | float) else None
    return typed.Literal(value, Info(type_of(value), span, known, True, value))


def is_constant_text(found: Expr) -> bool:
    """Whether a string is the same for all data: a literal, or a step that has one value."""
    ty = found.info.ty
    if ty.values is None or len(ty.values) != 1 or ty.nullable:
        return False
    return all(node.symbol.kind is SymbolKind.STEP for node in typed.walk(found) if isinstance(node, typed.Ref))


def _needless(tested: Expr, result: bool, span: Span) -> wording.ConstantComparison:
    """A test for null of what never is null."""
    if isinstance(tested, typed.Present) or tested.info.ty.nullable:
        return wording.ConstantComparison(span, result, catalogue.KNOWN_PRESENT.format(called(tested)))
    help = catalogue.REMOVE_THE_TEST
    if isinstance(tested, typed.Ref) and tested.symbol.kind in (SymbolKind.META, SymbolKind.CONTEXT):
        help = catalogue.declare_nullable(tested.symbol.name, tested.info.ty.base.value)
    return wording.ConstantComparison(span, result, catalogue.NEVER_NULL.format(called(tested)), help)


def _pair_span(left: Expr, right: Expr, whole: Span) -> Span:
    """Where a comparison of a chain is written; its right side, where its left one is written elsewhere."""
    here, there = left.info.span, right.info.span
    together = there.pointer.startswith(here.pointer) and whole.pointer != there.pointer
    return here.to(there) if together or here.pointer == there.pointer else there


def _boolean_test(left: Expr, operator: str, right: Expr, info: Info) -> Expr | None:
    """`flag == True` is `flag`, `flag != True` is `not flag`; None for any other comparison."""
    if operator not in ("==", "!=") or not isinstance(right, typed.Literal) or not isinstance(right.value, bool):
        return None
    if left.info.ty.base is not Base.BOOLEAN or left.info.ty.nullable:
        return None
    return left if right.value is (operator == "==") else typed.Not(left, info)
