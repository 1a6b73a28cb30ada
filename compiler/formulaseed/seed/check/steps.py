"""Checks the steps of a surface program: what each operation requires of its parts.

In: `surface.Step`. Out: `nodes.Step`, or None if it has an error. Raises nothing for a user's mistake.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce

from formulaseed import limits
from formulaseed.diagnostics.catalogue import lint as lint_catalogue
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.ir import nodes
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check.choices import is_constant_string
from formulaseed.language.check.comparisons import ComparisonChecker
from formulaseed.language.check.expressions import ExpressionChecker
from formulaseed.language.check.narrowing import Narrowing
from formulaseed.language.check.scope import Facts, build_error
from formulaseed.language.check.wording import explain_constant, help_for_quotes
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.intervals import Range
from formulaseed.language.printer import expression_text, value_text
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import BOOLEAN, ERROR, NUMBER, STRING, Base, Type, Value, join, literal_type
from formulaseed.seed import surface
from formulaseed.seed.check.aggregates import AggregateChecker, FormulaChecker, is_not_numeric
from formulaseed.seed.check.scope import SeedScope
from formulaseed.source.text import Span

MAX_COMPARED_RULES = 40  # comparing each rule with all earlier ones takes time that grows with the square
_ALL_TAKEN_REASON = "the rules before it take every restaurant"
NARROWING_SIZE = 200  # conditions with more terms, filters expanded, are not checked for being constant: it takes time


class StepChecker:
    """Checks the steps of one program, one after the other."""

    def __init__(self, program: surface.Program, scope: SeedScope, narrowing: Narrowing) -> None:
        """Prepare to check the steps of `program`; problems go to those of `scope`."""
        self.program = program
        self.scope = scope
        self.narrowing = narrowing
        self.problems = scope.problems
        self.checkers: list[ExpressionChecker] = []
        self.aggregates = AggregateChecker(scope, narrowing, self._check_where, lambda: self._add_checker(True))

    def report_constants(self) -> None:
        """Warn of the comparisons that are always true or false in the steps checked since the last call."""
        for checker in self.checkers:
            checker.report_constants()
        self.checkers.clear()

    def check(self, step: surface.Step) -> nodes.Step | None:
        """Return the checked step; None, with the problem reported, if anything in it is wrong."""
        self.aggregates.start_step()
        match step.operation:
            case surface.Filter(condition=condition):
                return self._check_filter(step, condition)
            case ast.Aggregate():
                return self._check_aggregate(step, step.operation)
            case surface.Lookup():
                return self._check_lookup(step, step.operation)
            case surface.Formula(expression):
                return self._check_formula(step, expression)
            case surface.Const(literal):
                return self._check_const(step, literal)
            case surface.Case():
                return self._check_case(step, step.operation)
            case surface.Broken():
                return None

    def _check_filter(self, step: surface.Step, written: ast.Expr) -> nodes.Step | None:
        """Check a filter; None, with a report, if it has an error, uses a step, or is too large or deeply nested.

        Stores its size and depth in the scope, and warns of a condition that is constant.
        """
        checker = self._add_checker(True)
        condition = checker.check_condition(written, Facts())
        named = [node for node in typed.walk(condition) if isinstance(node, typed.Ref)]
        steps = [node for node in named if node.symbol.kind is SymbolKind.STEP]
        for node in steps:  # a filter tests single reviews, before any step has a value
            self.scope.report_once(catalogue.step_in_condition(node.info.span, node.text), node.text)
        if condition.info.ty.is_error or steps:
            return None
        size = self.scope.sizes[step.name.text] = self.scope.measure_filter(condition)
        if size > limits.FILTER_SIZE:
            self.problems.report(catalogue.filter_too_large(step.name.span, step.name.text, size))
            return None
        used = [node.symbol.name for node in named if node.symbol.kind is SymbolKind.FILTER]
        depth = 1 + max((self.scope.depths.get(name, 0) for name in used), default=0)
        self.scope.depths[step.name.text] = depth
        if depth > limits.FILTER_NESTING:
            self.problems.report(catalogue.filters_nested_too_deeply(step.name.span, depth))
            return None
        self._report_constant_condition(condition, checker, step.name.span, f"the filter `{step.name.text}`")
        return nodes.Step(step.name.text, nodes.Filter(condition), BOOLEAN, None, step.name.span, sources=step.sources)

    def _report_constant_condition(self, condition: Expr, checker: ExpressionChecker, span: Span, noun: str) -> None:
        """Warn of a condition that every review meets, or none; `checker` then forgets the notes on its parts.

        Conditions too large for narrowing are passed over.
        """
        if self.scope.measure_filter(condition) > NARROWING_SIZE:
            return
        truth = self.narrowing.constant_truth(condition, Facts())
        if truth is None:
            return
        reason = explain_constant(condition, checker.constants, Facts(), self.narrowing)
        self.problems.report(catalogue.constant_condition(span, noun, truth, reason, checker.find_special_help()))
        checker.forget_constants()

    def _build(
        self, step: surface.Step, operation: nodes.Operation, ty: Type, known: Range | None
    ) -> nodes.Step | None:
        """Return the checked step; None, with nothing reported, if the type is an error.

        `known`, the range, is kept only for a number and for a boolean that is constant.
        """
        if ty.is_error:
            return None
        if not (ty.is_numeric or (ty.base is Base.BOOLEAN and known is not None and known.low == known.high)):
            known = None
        return nodes.Step(step.name.text, operation, ty, known, step.name.span, step.description, step.sources)

    def _add_checker(self, per_review: bool) -> ExpressionChecker:
        self.checkers.append(FormulaChecker(self.scope, self.narrowing, self.aggregates, per_review=per_review))
        return self.checkers[-1]

    def _check_where(self, where: ast.Expr | None, facts: Facts) -> tuple[Expr | None, bool]:
        """Return the checked condition, None without one, and True if it has no error. Warns of a constant one."""
        if where is None:
            return None, True
        checker = self._add_checker(True)
        condition = checker.check_condition(where, facts)
        if condition.info.ty.is_error:
            return condition, False
        if not isinstance(condition, typed.Ref):  # a constant filter is reported where it is defined
            self._report_constant_condition(condition, checker, where.span, "`where`")
        return condition, True

    def _check_aggregate(self, step: surface.Step, written: ast.Aggregate) -> nodes.Step | None:
        """Return the step of an aggregate; None, with the problem reported, if it has an error."""
        aggregate = self.aggregates.check(written, Facts())
        return self._build_aggregate(step, aggregate) if aggregate is not None else None

    def _build_aggregate(self, step: surface.Step, aggregate: typed.Aggregate) -> nodes.Step | None:
        """Return the step of an aggregate, None if its type is an error. Warns of an operand that is constant."""
        operand = aggregate.operand
        if operand is not None and not any(symbol.is_per_review for symbol in typed.symbols_in(operand)):
            text = expression_text(operand)
            is_total = aggregate.entry.purpose == "total"
            self.problems.report(catalogue.aggregate_of_constant(operand.info.span, aggregate.function, text, is_total))
        return self._build(step, nodes.Formula(aggregate), aggregate.info.ty, aggregate.info.range)

    def _check_lookup(self, step: surface.Step, operation: surface.Lookup) -> nodes.Step | None:
        """Check a lookup. Returns None, with the problem reported, if its source, a key or a value is wrong.

        Also reports a lookup without a default, which is still returned.
        """
        source = self._check_lookup_source(operation)
        literals = [entry.value for entry in operation.table]
        wrong = [value for value in literals if operation.match == "substring_max" and is_not_numeric(value)]
        for value in wrong:
            self.problems.report(catalogue.table_not_numeric(value.span, help_for_quotes(value.value, NUMBER)))
        if operation.default is not None:
            literals.append(operation.default)
        can_match = source.info.ty.values is None or self._keys_can_match(operation, source)
        joined = None if wrong else _join_types(literals, "a table's values", self.scope)
        if operation.default is None:
            self.problems.report(catalogue.lookup_without_default(step.name.span, step.name.text))
        if joined is None or source.info.ty.is_error or not can_match or not _are_complete(literals):
            return None
        lookup = _build_lookup(operation, source)
        return self._build(step, lookup, joined, _find_literal_range(literals))

    def _check_lookup_source(self, operation: surface.Lookup) -> Expr:
        """Return the checked source of a lookup, which must be a string; for any other, reported, an error expression.

        A source that may be null is reported, too, and returned marked as present, so that null fails when it is evaluated.
        """
        checker = self._add_checker(False)
        source = checker.check(operation.source, Facts())
        ty = source.info.ty
        if not ty.is_error and ty.base not in (Base.STRING, Base.NULL):
            self.problems.report(catalogue.source_not_string(source.info.span, expression_text(source), ty.noun))
            source = build_error(source.info.span)
        return checker.require_present(source, Facts(), STRING)

    def _keys_can_match(self, operation: surface.Lookup, source: Expr) -> bool:
        """Return True if every key can be found in one of the source's known values; report the keys that cannot.

        If the source is constant, one match or a default is enough; keys that cannot match are still reported.
        """
        values = source.info.ty.values or ()
        is_exact = operation.match == "exact"
        keys = [entry.key for entry in operation.table]
        never = [key for key in keys if not any(key.text == v if is_exact else key.text in v for v in values)]
        is_constant = is_constant_string(source)
        if is_constant and len(never) == len(keys) and operation.default is None:
            self.problems.report(catalogue.lookup_always_fails(operation.source.span))
            return False
        for key in never:
            text = expression_text(source)
            self.problems.report(catalogue.key_never_found(key.span, text, key.text, values, is_constant))
        return is_constant or not never

    def _check_formula(self, step: surface.Step, expression: ast.Expr) -> nodes.Step | None:
        """Return the step of a formula; None, with the problem reported, if it has an error or is always null.

        Over a formula reference the value becomes a float, and if the rules give numbers a string is an error.
        """
        checker = self._add_checker(False)
        checked = checker.check(expression, Facts())
        if checked.info.ty.base is Base.NULL:
            self.problems.report(catalogue.always_null(expression.span, "this"))
            return None
        if self.program.reference is not None:
            if self.program.requires_numbers and checked.info.ty.base is Base.STRING:
                self.problems.report(catalogue.rule_not_numeric(expression.span))
                return None
            checked = checker.convert_to_float(checked)
        if isinstance(checked, typed.Aggregate):
            return self._build_aggregate(step, checked)
        return self._build(step, nodes.Formula(checked), checked.info.ty, checked.info.range)

    def _check_const(self, step: surface.Step, literal: ast.Literal) -> nodes.Step | None:
        """Return the step of a literal; None, with a report, if it is null, missing or looks like a formula."""
        if literal.value is None:
            self.problems.report(catalogue.always_null(literal.span, "this constant"))
            return None
        ty = _join_types([literal], "constants", self.scope)
        return self._build(step, nodes.Const(literal.value), ty, _find_literal_range([literal])) if ty else None

    def _check_case(self, step: surface.Step, operation: surface.Case) -> nodes.Step | None:
        """Check a case rule by rule; None, with the problem reported, if a rule has an error or all results are null.

        Reports unreachable rules if no rule has an error.
        """
        checker = self._add_checker(False)
        facts = Facts()
        rules: list[tuple[Expr, Value]] = []
        is_sound = True
        reachability = RuleReachability(self.narrowing, self.problems)
        for rule in operation.rules:
            condition = checker.check_condition(rule.condition, facts)
            if condition.info.ty.is_error:
                is_sound = False
                facts = facts.as_unknown().as_uncertain()
                continue
            rules.append((condition, rule.then.value))
            facts = reachability.add(condition, rule, facts, checker)
        literals = [*(rule.then for rule in operation.rules), operation.otherwise]
        is_complete = _are_complete(literals)
        if is_sound and is_complete:
            reachability.report(operation.otherwise, facts)
        joined = _join_types(literals, "a case's results", self.scope)
        if joined is not None and joined.base is Base.NULL:
            self.problems.report(catalogue.always_null(operation.otherwise.span, "this case"))
            return None
        if joined is None or not is_sound or not is_complete:
            return None
        because = (*(rule.because for rule in operation.rules), operation.else_because)
        case = nodes.Case(tuple(rules), operation.otherwise.value, because)
        return self._build(step, case, joined, _find_literal_range(literals))


def _build_lookup(operation: surface.Lookup, source: Expr) -> nodes.Lookup:
    table = tuple((entry.key.text, v) for entry in operation.table if (v := entry.value.value) is not None)
    default = operation.default.value if operation.default else None
    return nodes.Lookup(source, table, operation.match, operation.default is not None, default)


# --- the rules of a case


class RuleReachability:
    """The rules of one case, added in order with the facts that hold before each, and the reasons why some can never fire."""

    def __init__(self, narrowing: Narrowing, problems: Problems) -> None:
        """Begin without rules; problems are reported to `problems` by `report` and by the checkers given to `add`."""
        self.narrowing = narrowing
        self.problems = problems
        self.rules: list[tuple[Span, Value, str]] = []
        """The place and the value of each rule, and the reason why it never fires; empty if it may."""
        self.before: list[Expr] = []
        self.closed = ""
        """The reason why the rules so far let nothing through; empty if they may."""

    def add(self, condition: Expr, rule: surface.Rule, facts: Facts, checker: ComparisonChecker) -> Facts:
        """Add the next rule, whose condition was checked under `facts`; return those that hold if it does not fire.

        Makes `checker` report its constant comparisons, or forget them if the rule never or always fires.
        """
        never = self.closed or (_ALL_TAKEN_REASON if facts.impossible else "")
        if_met, if_not = checker.split_facts(condition, facts)
        truth = None if if_met.impossible is if_not.impossible else if_not.impossible
        if not never and truth is False:
            never = explain_constant(condition, checker.constants, facts, self.narrowing)
        elif not never:
            never = self._find_covering_rule(if_met)
        if truth and not self.closed:
            reason = explain_constant(condition, checker.constants, facts, self.narrowing)
            self.closed = f"the rule before it always holds, as {reason}"
        if never or truth:
            checker.forget_constants()
        checker.report_constants()
        self.rules.append((rule.condition.span, rule.then.value, never))
        self.before.append(condition)
        return if_not

    def report(self, otherwise: ast.Literal, facts: Facts) -> None:
        """Report the rules that never fire, and an `else` that is never reached; `facts` hold if no rule fires."""
        never = self.closed or (_ALL_TAKEN_REASON if facts.impossible else "")
        rules = [*self.rules, (otherwise.span, otherwise.value, never)]
        verdicts = [value for _, value, never in rules if not never]
        for number, (span, value, never) in enumerate(rules):
            if never:
                lost = "" if value in verdicts else value_text(value)
                self.problems.report(lint_catalogue.unreachable_rule(span, number == len(self.rules), lost, never))

    def _find_covering_rule(self, if_met: Facts) -> str:
        """Return the reason why an earlier rule fires whenever `if_met` hold; empty if none does, or after many."""
        if len(self.before) > MAX_COMPARED_RULES:
            return ""
        for number, earlier in enumerate(self.before):
            if all(self.narrowing.constant_truth(part, if_met) for part in typed.conjuncts(earlier)):
                return f"rule {number + 1} takes every restaurant that it would"
        return ""


# --- literals, such as the results of a case


def _are_complete(literals: Sequence[ast.Literal]) -> bool:
    """Return True if no literal is a `NoLiteral`, one that is missing or wrong."""
    return not any(isinstance(literal, surface.NoLiteral) for literal in literals)


def _join_types(literals: Sequence[ast.Literal], noun: str, scope: SeedScope) -> Type | None:
    """Return the common type of literals; None, with the problem reported, if there is none. Null fits any type.

    A string that looks like a formula is reported, and gives None. `NoLiteral`s are skipped; without any other literal
    the result is None.
    """
    present = [literal for literal in literals if not isinstance(literal, surface.NoLiteral)]
    formulas = [literal for literal in present if isinstance(literal.value, str) and _is_formula(literal.value, scope)]
    for literal in formulas:
        scope.problems.report(catalogue.formula_as_literal(literal.span, str(literal.value), noun))
    if formulas or not present:
        return None
    sorts: dict[Base, list[ast.Literal]] = {}
    for literal in present:
        if literal.value is not None:
            ty = literal_type(literal.value)
            sorts.setdefault(Base.NUMBER if ty.is_numeric else ty.base, []).append(literal)
    if len(sorts) <= 1:
        return _join_all_types(present)
    _report_mixed(list(sorts.values()), noun, scope)
    return None


def _join_all_types(literals: Sequence[ast.Literal]) -> Type:
    return reduce(lambda joined, ty: join(joined, ty) or ERROR, [literal_type(literal.value) for literal in literals])


def _report_mixed(sorts: Sequence[Sequence[ast.Literal]], noun: str, scope: SeedScope) -> None:
    """Report the literals that are not of the most frequent sort; `sorts` are in the order of their first literals.

    If several are as frequent, the first of them is expected.
    """
    most = max(sorts, key=len)
    expected = f"{'first' if most is sorts[0] else 'mostly'} {_join_all_types(most).noun}"
    for literal in (literal for sort in sorts if sort is not most for literal in sort):
        actual = literal_type(literal.value).noun
        help = help_for_quotes(literal.value, _join_all_types(most))
        scope.problems.report(catalogue.literal_types_differ(literal.span, noun, expected, actual, help))


def _is_formula(text: str, scope: SeedScope) -> bool:
    """Return True if a string looks like a formula: only names, all of them known, numbers and operators."""
    words = re.findall(r"[A-Za-z_][\w.]*", text)
    if not words or re.search(r"[^\w.\s()+*/%-]", text):
        return False
    kinds = {kind.value: fields for kind, fields in scope.inputs.items()}
    parts = [word.partition(".") for word in words]
    return all(
        rest in kinds.get(word, {}) if dot else word in scope.places or (word in FUNCTIONS and "(" in text)
        for word, dot, rest in parts
    )


def _find_literal_range(literals: Sequence[ast.Literal]) -> Range | None:
    """Return the range of the literals that are not null; None if any of them is no number."""
    values = [literal.value for literal in literals if literal.value is not None]
    ranges = [intervals.point(value) for value in values if isinstance(value, int | float)]
    return reduce(intervals.union, ranges) if ranges and len(ranges) == len(values) else None
