"""Checks aggregates: steps of a seed v2, and calls over reviews inside the formulas of a seed v1.

In: an `ast.Aggregate`, and the facts where it is evaluated. Out: a `typed.Aggregate`; errors are reported. A backend computes the
aggregates of a formula before the formula. So the conditions on the way to an aggregate, as in `sum(…) / n if n > 0 else 0`,
become conditions of the aggregate if it might raise without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.catalogue import seed_v1
from formulaseed.language import ast, intervals, typed
from formulaseed.language.aggregates import AGGREGATES, COUNT
from formulaseed.language.check.choices import build_literal, join_conditions
from formulaseed.language.check.expressions import ExpressionChecker
from formulaseed.language.check.narrowing import Narrowing
from formulaseed.language.check.partial_operations import report_large_sum
from formulaseed.language.check.scope import Facts, Path, build_error
from formulaseed.language.check.wording import help_for_quotes
from formulaseed.language.functions import is_partial
from formulaseed.language.intervals import Range
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr
from formulaseed.language.types import BOOLEAN, ERROR, INTEGER, NUMBER, Base, Info, Type, Value, join, literal_type
from formulaseed.seed.check.scope import SeedScope

_NON_EMPTY_COMPARISONS = {True: {">": 0, "!=": 0, ">=": 1}, False: {"==": 0, "<=": 0, "<": 1}}
"""By truth and operator, the number for which `count <operator> number` with this truth proves that there are reviews."""


class FormulaChecker(ExpressionChecker):
    """Checks expressions that may contain aggregates. `per_review` as for `ExpressionChecker`."""

    def __init__(
        self, scope: SeedScope, narrowing: Narrowing, aggregates: AggregateChecker, *, per_review: bool
    ) -> None:
        super().__init__(scope, narrowing, per_review=per_review)
        self.aggregates = aggregates

    def split_facts(self, condition: Expr, facts: Facts) -> tuple[Facts, Facts]:
        """Return the facts if `condition` is true and if it is false, each with the condition added to its path."""
        when_true, when_false = super().split_facts(condition, facts)
        return (
            when_true.with_changes(path=Path(facts.path, condition, True)),
            when_false.with_changes(path=Path(facts.path, condition, False)),
        )

    def check_aggregate(self, node: ast.Aggregate, facts: Facts) -> Expr:
        """Check an aggregate inside the formula; return an error expression, with a report, if it is wrong.

        Over single reviews it does not depend on `facts`.
        """
        return self.aggregates.check_in_formula(node, Facts() if self.per_review else facts)

    def _check_conditional(self, node: ast.Conditional, facts: Facts) -> Expr:
        """Check a conditional expression; one that only guards an aggregate becomes an aggregate with a default."""
        return self.aggregates.add_default(super()._check_conditional(node, facts))


class AggregateChecker:
    """Checks the aggregates of one program. `check_where` checks a condition and returns whether it has no error."""

    def __init__(
        self,
        scope: SeedScope,
        narrowing: Narrowing,
        check_where: Callable[[ast.Expr | None, Facts], tuple[Expr | None, bool]],
        new_checker: Callable[[], ExpressionChecker],
    ) -> None:
        """Keep the arguments. `new_checker` returns a checker of expressions on single reviews.

        `check_where` returns the checked condition (None if there is none) and True if it has no error.
        """
        self.scope = scope
        self.problems = scope.problems
        self.narrowing = narrowing
        self.check_where = check_where
        self.new_checker = new_checker
        self._own_conditions: dict[typed.Aggregate, frozenset[Expr]] = {}
        """The conditions of each aggregate inside a formula, without the guards on the way to it."""
        self._guard_size = 0

    def start_step(self) -> None:
        """Begin to check another step: the size of the guards in its formulas counts from 0."""
        self._guard_size = 0

    # --- an aggregate

    def check(self, node: ast.Aggregate, facts: Facts) -> typed.Aggregate | None:
        """Check an aggregate that is evaluated under `facts`; None, with the problem reported, if anything is wrong.

        A sum of a condition becomes a count. A sum that may exceed the largest number is reported, too, but returned.
        """
        where, is_sound = self.check_where(node.where, facts)
        if node.expression is None:
            return self._build(node, None, where, INTEGER, intervals.point(0)) if is_sound else None
        if where is not None:
            facts = self.narrowing.split(where, facts)[0] if is_sound else facts.as_unknown()
        operand = self._check_operand(node, node.expression, facts)
        if operand.info.ty == BOOLEAN and AGGREGATES[node.function].takes == "number":
            return self._build_true_count(node, where, operand) if is_sound else None
        if node.default is not None and is_not_numeric(node.default):
            help = help_for_quotes(node.default.value, NUMBER)
            self.problems.report(catalogue.default_not_numeric(node.default.span, node.function, help))
            return None
        if operand.info.ty.is_error or not is_sound:
            return None
        known = operand.info.range or intervals.ANY_NUMBER
        if _may_overflow(node, known):
            report_large_sum(self.scope, operand, known, node.expression.span)
        return self._build(node, operand, where, operand.info.ty, known)

    def _check_operand(self, node: ast.Aggregate, expression: ast.Expr, facts: Facts) -> Expr:
        """Check the operand of an aggregate: a condition, a number or any value, whichever the function takes.

        Reports a wrong operand, and returns an error expression for it. In a seed v1 a number may be a condition.
        """
        checker = self.new_checker()
        takes = AGGREGATES[node.function].takes
        if takes == "condition":
            return checker.check_condition(expression, facts)
        operand = checker.check(expression, facts)
        if takes != "number" or (operand.info.ty == BOOLEAN and node.written):
            return operand
        return checker.require_present(self._require_numeric(node, operand), facts)

    def _build(
        self, node: ast.Aggregate, operand: Expr | None, where: Expr | None, ty: Type, known: Range
    ) -> typed.Aggregate:
        """Return the typed aggregate of an operand with the type `ty` and the range `known`, under `where`, if given.

        The result is nullable if the function has no value over no reviews, and `node` has no numeric default.
        """
        entry = AGGREGATES[node.function]
        result = entry.result(ty)
        if entry.empty_value is None:
            result = result.or_null()
        info = Info(result, node.span, entry.range(known).clip() if result.is_numeric else None)
        may_overflow = _may_overflow(node, known)
        aggregate = typed.Aggregate(node.function, operand, where, None, info, may_overflow, node.written)
        if node.default is None:
            return aggregate
        if node.default.value is None:
            return replace(aggregate, default=build_literal(None, node.default.span))
        assert isinstance(node.default.value, int | float)
        return _set_default(aggregate, build_literal(node.default.value, node.default.span))

    def _require_numeric(self, node: ast.Aggregate, operand: Expr) -> Expr:
        """Return an operand that is a number, null or an error; any other is reported, and becomes an error."""
        ty = operand.info.ty
        if ty.is_error or ty.is_numeric or ty.base is Base.NULL:
            return operand
        text = expression_text(operand)
        is_boolean = ty.base is Base.BOOLEAN
        self.problems.report(catalogue.not_numeric(operand.info.span, node.function, text, ty.noun, is_boolean))
        return build_error(operand.info.span)

    def _build_true_count(self, node: ast.Aggregate, where: Expr | None, operand: Expr) -> typed.Aggregate | None:
        """Return the sum of the condition `operand` as a count of the reviews that also meet it, for a seed v1.

        Returns None, with the problem reported, for any other function, such as `max`.
        """
        if AGGREGATES[node.function].purpose != "total":
            self.problems.report(seed_v1.boolean_extreme(operand.info.span, node.function))
            return None
        conditions = [*typed.conjuncts(where), *typed.conjuncts(operand)]
        whole = join_conditions("and", conditions, Info(BOOLEAN, node.span))
        is_all = isinstance(whole, typed.Literal) and whole.value is True
        count = replace(node, function=COUNT.name, expression=None)
        return self._build(count, None, None if is_all else whole, INTEGER, intervals.point(0))

    # --- inside a formula

    def check_in_formula(self, node: ast.Aggregate, facts: Facts) -> Expr:
        """Check an aggregate in a formula; return an error expression, with the problem reported, if it is wrong.

        The conditions on the way to it become its own if it might fail without them. Reports too many or too long ones.
        A nullable aggregate whose reviews are known to exist is returned as `typed.Present`. A new one is passed to the
        scope.
        """
        guards = _list_guards(facts.path) if self._may_fail(node) else []
        checked = self.check(node, facts.as_uncertain() if guards else Facts(is_certain=False))
        if checked is None:
            return build_error(node.span)
        conditions = typed.conjuncts(checked.where)
        needed = [guard for guard in guards if not self._is_needless(guard, conditions)]
        if needed:
            self._guard_size += sum(1 for guard in needed for _ in typed.walk(guard))
            if self._guard_size > limits.FILTER_SIZE:
                self.problems.report(catalogue.long_guards(node.span))
                return build_error(node.span)
            where = join_conditions("and", [*needed, *conditions], Info(BOOLEAN, node.span))
            checked = replace(checked, where=where)
        if checked not in self._own_conditions:
            if len(self._own_conditions) == limits.STEPS:
                self.scope.report_once(catalogue.too_many_loops(node.span), "")
                return build_error(node.span)
            self._own_conditions[checked] = frozenset(conditions)
            self.scope.add_aggregate(checked)
        if checked.info.ty.nullable and checked.default is None and self._has_reviews(frozenset(conditions), facts):
            return typed.Present(checked, replace(checked.info, ty=checked.info.ty.non_null()))
        return checked

    def add_default(self, formula: Expr) -> Expr:
        """Return `max(…) if n > 0 else 0` as an aggregate with a default; any other formula as it is.

        The condition must prove, by a count under the same conditions, that the aggregate has reviews, and the other
        branch must be a constant number. The branches may be exchanged.
        """
        if not isinstance(formula, typed.Conditional):
            return formula
        for truth, value, other in ((True, formula.then, formula.otherwise), (False, formula.otherwise, formula.then)):
            inner = value.operand if isinstance(value, typed.Present) else value
            default = other.info.constant
            if not isinstance(inner, typed.Aggregate) or not inner.needs_default:
                continue
            if not other.info.ty.is_numeric or not isinstance(default, int | float):
                continue
            if self._find_proved_reviews(formula.condition, truth) == self._own_conditions.get(inner):
                aggregate = _set_default(inner, build_literal(default, other.info.span))
                info = Info(aggregate.info.ty, formula.info.span, aggregate.info.range)
                return replace(aggregate, info=info, written=f"({expression_text(formula)})")
        return formula

    # --- conditions

    def _may_fail(self, node: ast.Aggregate) -> bool:
        """Return True if a part of an aggregate may have no value for some reviews.

        Such a part is a partial operator or function, or a nullable or unknown name.
        """
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
        """Return True if `guard` only says that some reviews match, and the other `conditions` cannot fail.

        Without matching reviews nothing else is evaluated.
        """
        matched = self._find_proved_reviews(guard, True)
        if matched is None or not matched.issubset(conditions):
            return False
        rest = [node for part in conditions if part not in matched for node in typed.walk(part)]
        return not any(isinstance(node, typed.Binary | typed.Call) or node.info.ty.nullable for node in rest)

    def _has_reviews(self, conditions: frozenset[Expr], facts: Facts) -> bool:
        """Return True if `facts` prove that some reviews meet `conditions`: a count under these or more is not 0."""
        for value, known in facts.items():
            if known.range is None or not (known.range.low > 0 or known.range.nonzero):
                continue
            aggregate = self.scope.find_aggregate(value)
            if aggregate is None or not aggregate.entry.counts:
                continue
            if conditions <= set(typed.conjuncts(aggregate.where)):
                return True
        return False

    def _find_proved_reviews(self, condition: Expr, truth: bool) -> frozenset[Expr] | None:
        """Return the conditions of the count that is not 0 if `condition` equals `truth`; None if nothing is proved.

        Only a comparison of one count with a literal, or its negation, is a proof. A count of all reviews gives an
        empty set.
        """
        match condition:
            case typed.Not(operand):
                return self._find_proved_reviews(operand, not truth)
            case typed.Comparison(value, (sign,), (typed.Literal(bound),)):
                aggregate = self.scope.find_aggregate(value)
                if aggregate is not None and aggregate.entry.counts:
                    is_some = bound == _NON_EMPTY_COMPARISONS[truth].get(sign)
                    return frozenset(typed.conjuncts(aggregate.where)) if is_some else None
        return None


def _set_default(aggregate: typed.Aggregate, default: typed.Literal) -> typed.Aggregate:
    """Return a copy of an aggregate with a number as the default over no reviews.

    The type becomes non-null, and type and range include the default. Raises `AssertionError` if `default` is no
    number.
    """
    assert isinstance(default.value, int | float)
    info = aggregate.info
    ty = join(info.ty.non_null(), literal_type(default.value)) or ERROR
    known = intervals.union(info.range or intervals.ANY_NUMBER, intervals.point(default.value))
    return replace(aggregate, default=default, info=Info(ty, info.span, known))


def _may_overflow(node: ast.Aggregate, known: Range) -> bool:
    """Return True if computing the aggregate over operands of a range may exceed the largest number."""
    intermediate = AGGREGATES[node.function].intermediate
    return intermediate is not None and not intermediate(known).is_bounded


def is_not_numeric(default: ast.Literal) -> bool:
    """Return True if a literal is neither a number nor null."""
    return default.value is not None and (isinstance(default.value, bool) or not isinstance(default.value, int | float))


def _list_guards(path: Path | None) -> list[Expr]:
    """Return the conditions on the way to a place, the outermost first, each as one that is true there.

    Returns an empty list if `path` is None.
    """
    guards: list[Expr] = []
    while path is not None:
        guards.append(_build_truth_test(path.condition, path.truth))
        path = path.before
    return guards[::-1]


def _build_truth_test(value: Expr, truth: bool) -> Expr:
    """Return the condition that `value` counts as true, or, if `truth` is False, as false.

    Null, 0, False and the empty string count as false.
    """
    ty = value.info.ty
    span = value.info.span
    info = Info(BOOLEAN, span)
    sign = "!=" if truth else "=="
    falsy_values: list[Value] = [None] if ty.nullable else []
    if ty.base is not Base.BOOLEAN:
        falsy_values.append(0 if ty.is_numeric else "")
    tests: list[Expr] = [
        typed.Comparison(value, (sign,), (build_literal(falsy, span),), info) for falsy in falsy_values
    ]
    if ty.base is Base.BOOLEAN:
        tests.append(value if truth else typed.Not(value, info))
    return join_conditions("and" if truth else "or", tests, info)
