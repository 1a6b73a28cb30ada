"""Comparisons: which values can be compared, and with what result.

Beside the type rules this tells of comparisons whose result is in no doubt. `ExpressionChecker` builds on it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from formulaseed.checker.decided import decided_pair, is_whole_and_fraction
from formulaseed.checker.facts import Facts, Narrowing, is_present, range_of, values_of
from formulaseed.checker.scope import Scope, error_at
from formulaseed.checker.wording import called, help_for_order, help_for_pair, in_quotes
from formulaseed.diagnostics.suggest import did_you_mean
from formulaseed.domain.ranges import described
from formulaseed.domain.types import BOOLEAN, Base, Value, join
from formulaseed.ir import nodes
from formulaseed.ir.nodes import Expr, Info, SymbolKind
from formulaseed.ir.text import value_text
from formulaseed.source.text import Span
from formulaseed.syntax import ast


@dataclass(frozen=True, slots=True)
class Decision:
    """A comparison whose result is in no doubt, and why."""

    span: Span
    result: bool
    reason: str


class ComparisonChecker(ABC):
    """Checks comparisons; what stands in them is for `check` to say."""

    def __init__(self, scope: Scope, narrowing: Narrowing) -> None:
        self.scope = scope
        self.problems = scope.problems
        self.narrowing = narrowing
        self.decisions: list[Decision] = []
        """Not told yet: where they decide a whole rule or filter, that is told instead."""

    def tell_decisions(self) -> None:
        for decision in self.decisions:
            message = f"this is always {str(decision.result).lower()}: {decision.reason}"
            help = "remove the comparison, or compare with what leaves it open"
            self.problems.add("FS603", decision.span, message, help)
        self.decisions.clear()

    @abstractmethod
    def check(self, node: ast.Expr, facts: Facts) -> Expr:
        """The expression, typed."""

    @abstractmethod
    def needed(self, found: Expr, facts: Facts) -> Expr:
        """The expression where null has no meaning."""

    def comparison(self, node: ast.Comparison, facts: Facts) -> Expr:
        first = self.scope.tell_unquoted(node.first, self.scope.type_of(node.rest[0])) or self.check(node.first, facts)
        operands = [first]
        links: list[Expr] = []
        wrong = False
        known = [facts]
        for operator, right_node in zip(node.operators, node.rest, strict=True):
            links.append(operands[-1])
            if operator in ("in", "not in"):
                left, right = self._membership(operands[-1], operator, right_node, facts)
            else:
                right = self.scope.tell_unquoted(right_node, operands[-1].info.ty) or self.check(right_node, facts)
                left, right = self._pair(operands[-1], operator, right, len(node.operators) > 1, facts)
            wrong = wrong or left.info.ty.is_error or right.info.ty.is_error
            operands[-1] = left
            operands.append(right)
            if not wrong and len(node.operators) > 1:
                pair_info = Info(BOOLEAN, node.span)
                facts = self.narrowing.assume(nodes.Comparison(left, (operator,), (right,), pair_info), True, facts)
                known.append(facts)
        if wrong:
            return error_at(node.span)
        span = node.span if node.span.source is not first.info.span.source else node.span.to(operands[-1].info.span)
        info = Info(BOOLEAN, span)
        if len(operands) == 2 and node.operators[0] in ("==", "!="):
            if is_null(operands[0]):
                operands.reverse()
            if is_null(operands[1]) and is_present(operands[0], facts):
                return self._never_null(operands[0], node.operators[0], info)
            if all(operand.info.is_constant and operand.info.ty.is_numeric for operand in operands):
                equal = operands[0].info.constant == operands[1].info.constant
                return self._constant(equal is (node.operators[0] == "=="), "both sides are constants", info)
        if len(operands) == 2:
            plain = _boolean_test(operands[0], node.operators[0], operands[1], info)
            if plain is not None:
                return plain
        decided = self._is_decided(operands[0], node.operators[0], operands[1], known[0]) and len(operands) == 2
        for left, operator, right, before in zip(operands, node.operators, operands[1:], known, strict=False):
            self._note_if_decided(left, operator, right, before, node.span)
        for place in range(1, len(links)):
            if operands[place] is not links[place] and node.operators[place - 1] in ("==", "!="):
                return _split(operands, links, node.operators, info)
        may_be_null = decided and operands[0].info.ty.nullable and not is_present(operands[0], known[0])
        return nodes.Comparison(operands[0], node.operators, tuple(operands[1:]), info, decided, may_be_null)

    def _never_null(self, tested: Expr, operator: str, info: Info) -> Expr:
        """A test for null of what was tested already: a constant."""
        return self._constant(operator == "!=", f"here {called(tested)} is known to be there", info)

    def _constant(self, result: bool, reason: str, info: Info) -> Expr:
        self.decisions.append(Decision(info.span, result, reason))
        return nodes.Literal(result, Info(BOOLEAN, info.span, None, True, result))

    def _note_if_decided(self, left: Expr, operator: str, right: Expr, facts: Facts, whole: Span) -> None:
        """Note a comparison whose result the ranges and values of its sides leave in no doubt."""
        if facts.impossible:
            return
        reason = ""
        results = self._results_of(left) if operator in ("==", "!=") and right.info.is_constant else None
        if results is not None and right.info.constant not in results:
            result: bool | None = operator == "!="
            reason = f"{called(left)} can only be {_listed(results)}"
        else:
            result = decided_pair(left, operator, right, facts)
        if result is None:
            return
        sides = right.items if isinstance(right, nodes.List) else (right,)
        reason = reason or whole_text(left, right)
        parts = [known_text(side, facts) for side in (left, *sides) if not side.info.is_constant]
        reason = reason or " and ".join(dict.fromkeys(parts)) or "both sides are constants"
        here, there = left.info.span, right.info.span
        together = there.pointer.startswith(here.pointer) and whole.pointer != there.pointer
        span = here.to(there) if together or here.pointer == there.pointer else there
        self.decisions.append(Decision(span, result, reason))

    def _is_decided(self, left: Expr, operator: str, right: Expr, facts: Facts) -> bool:
        """Whether a type checker, too, would see that a comparison is in no doubt."""
        known: Sequence[Value] | None = values_of(left, facts)
        items = right.items if isinstance(right, nodes.List) else (right,)
        named = [item.value for item in items if isinstance(item, nodes.Literal)]
        results = self._results_of(left) if operator in ("==", "!=") and right.info.ty.is_numeric else None
        if results is not None and not set(results) & set(named):
            known = results
        elif left not in facts.values:
            return False
        if known is None or len(named) < len(items):
            return False
        if isinstance(left, nodes.Literal) or (operator in ("in", "not in") and not isinstance(right, nodes.List)):
            return False
        possible = [value for value in known if value in named]
        return not possible or (len(possible) == len(known) and len(named) == 1)

    def _results_of(self, found: Expr) -> list[Value] | None:
        """The numbers that a step can be, where it chooses among literals."""
        if not isinstance(found, nodes.Ref) or found.symbol.kind is not SymbolKind.STEP or not found.info.ty.is_numeric:
            return None
        match self.scope.steps[found.symbol.name].operation:
            case nodes.Const(value):
                return [value]
            case nodes.Case(rules, otherwise):
                return list(dict.fromkeys([*(then for _, then in rules), otherwise]))
            case _:
                return None

    def _pair(self, left: Expr, operator: str, right: Expr, in_chain: bool, facts: Facts) -> tuple[Expr, Expr]:
        if left.info.ty.is_error or right.info.ty.is_error:
            return left, right
        if operator in ("==", "!="):
            return left, self._comparable(left, right, in_chain)
        for operand, other in ((left, right), (right, left)):
            ty = operand.info.ty
            if not (ty.is_numeric or ty.base is Base.NULL):
                message = f"`{operator}` orders numbers, and {called(operand)} is {ty.noun}"
                once = f"{operand.info.span.pointer} {operand.info.span.start}"
                self.scope.tell("FS301", operand.info.span, message, help_for_order(operand, other), once)
                return left, error_at(operand.info.span)
        return self.needed(left, facts), self.needed(right, facts)

    def _comparable(self, left: Expr, right: Expr, in_chain: bool = False) -> Expr:
        """The right side, if the two can ever be equal."""
        a, b = left.info.ty, right.info.ty
        if Base.NULL in (a.base, b.base):
            other = b if a.base is Base.NULL else a
            if other.nullable:
                return right
            tested = right if a.base is Base.NULL else left
            help = "remove the test"
            if isinstance(tested, nodes.Ref) and tested.symbol.kind in (SymbolKind.META, SymbolKind.CONTEXT):
                declared = f'{{"name": "{tested.symbol.name}", "type": "{other.base.value}", "nullable": true}}'
                help = f"remove the test, or declare the field: {declared}"
            self.problems.add("FS301", right.info.span, f"{called(tested)} is never null", help)
            return error_at(right.info.span)
        if join(a, b) is None:
            message = f"{called(left)} is {a.noun}, and {called(right)} is {b.noun}"
            chain = "in a chain `a > b == c` the middle is compared with both; join two comparisons with `and`"
            self.problems.add("FS301", right.info.span, message, chain if in_chain else help_for_pair(left, right))
            return error_at(right.info.span)
        return self._closed(left, right)

    def _closed(self, left: Expr, right: Expr) -> Expr:
        """Two texts with known values must have one in common."""
        a, b = left.info.ty, right.info.ty
        if a.values is None or b.values is None or set(a.values) & set(b.values):
            return right
        if not isinstance(left, nodes.Literal) and not isinstance(right, nodes.Literal):
            message = f"{called(left)} and {called(right)} have no value in common"
            help = f"{called(left)} can be {_listed(a.values)}, {called(right)} {_listed(b.values)}"
            self.problems.add("FS302", right.info.span, message, help)
            return error_at(right.info.span)
        text, known, culprit = b.values[0], a.values, right
        if not isinstance(right, nodes.Literal):
            text, known, culprit = a.values[0], b.values, left
        other = left if culprit is right else right
        message = f"{called(other)} never is `{text}`"
        elsewhere = {text} & self.scope.declared_values
        help, span = did_you_mean(text, known, what="values", others=elsewhere), culprit.info.span
        is_json = bool(span.pointer) and span.source.text.startswith('"', span.start)
        self.problems.add("FS302", span, message, help if is_json else in_quotes(help))
        return error_at(right.info.span)

    def _membership(self, left: Expr, operator: str, node: ast.Expr, facts: Facts) -> tuple[Expr, Expr]:
        if isinstance(node, ast.List):
            items = [self.scope.tell_unquoted(item, left.info.ty) or self.check(item, facts) for item in node.items]
            if not items:
                self.problems.add("FS509", node.span, f"`{operator}` has an empty list", "list the values")
                return left, error_at(node.span)
            if left.info.ty.is_error:
                return left, error_at(node.span)
            checked = [item if item.info.ty.is_error else self._comparable(left, item) for item in items]
            if any(item.info.ty.is_error for item in checked):
                return left, error_at(node.span)
            return left, nodes.List(tuple(checked), Info(left.info.ty, node.span))
        right = self.check(node, facts)
        for operand in (right, left):
            ty = operand.info.ty
            if not ty.is_error and ty.base not in (Base.STRING, Base.NULL):
                message = f"`{operator}` looks in a text or in a list, and {called(operand)} is {ty.noun}"
                self.problems.add("FS301", operand.info.span, message, "write a list: `x in [1, 2]`")
                return left, error_at(node.span)
        return self.needed(left, facts), self.needed(right, facts)


def whole_text(left: Expr, right: Expr) -> str:
    """Why an integer equals none of the numbers that it is compared with; empty where it may."""
    sides = right.items if isinstance(right, nodes.List) else (right,)
    for whole, others in ((left, sides), (right, (left,))):
        if all(is_whole_and_fraction(whole, other) for other in others):
            return f"{called(whole)} is an integer"
    return ""


def known_text(found: Expr, facts: Facts) -> str:
    """What is known of an expression, in words."""
    values: Sequence[Value] | None = values_of(found, facts)
    if values is not None:
        may_be_null = found.info.ty.nullable and found not in facts.present and found not in facts.implied
        return f"{called(found)} can only be {_listed([*values, None] if may_be_null else values)}"
    known = range_of(found, facts)
    return f"{called(found)} is {described(known)}" if known is not None else f"{called(found)} was tested before"


def is_null(found: Expr) -> bool:
    return isinstance(found, nodes.Literal) and found.value is None


def _split(operands: Sequence[Expr], links: Sequence[Expr], operators: tuple[str, ...], info: Info) -> Expr:
    """A chain as several that must all hold, parted where a link may be null for the comparison on its left alone.

    `0 == n < 5` is `0 == n and n < 5`, and Python asks for the order only where `n` is 0.
    """
    parts: list[Expr] = []
    start = 0
    for place in range(1, len(operands)):
        is_last = place == len(operands) - 1
        if is_last or (operands[place] is not links[place] and operators[place - 1] in ("==", "!=")):
            part = [*operands[start:place], operands[place] if is_last else links[place]]
            if len(part) == 2 and is_null(part[0]):
                part.reverse()
            parts.append(nodes.Comparison(part[0], operators[start:place], tuple(part[1:]), info))
            start = place
    return nodes.Logical("and", tuple(parts), info)


def _boolean_test(left: Expr, operator: str, right: Expr, info: Info) -> Expr | None:
    """`flag == True` is `flag`, `flag != True` is `not flag`; None for any other comparison."""
    if operator not in ("==", "!=") or not isinstance(right, nodes.Literal) or not isinstance(right.value, bool):
        return None
    if left.info.ty.base is not Base.BOOLEAN or left.info.ty.nullable:
        return None
    return left if right.value is (operator == "==") else nodes.Not(left, info)


def _listed(values: Sequence[Value]) -> str:
    texts = [value_text(value) for value in values[:4]]
    if len(values) > len(texts):
        return f"one of {', '.join(texts)} and {len(values) - len(texts)} more"
    return " or ".join(texts)
