"""Expressions as written to typed expressions: the type rules of the language.

In: an `ast.Expr`, a scope, the facts that hold there. Out: an `ir.Expr`. What is wrong has the type `error`,
which fits everywhere, so that each mistake is told once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from formulaseed.language import ast, intervals, typed
from formulaseed.language.check.comparisons import ComparisonChecker, Decision, is_null, joined_conditions
from formulaseed.language.check.facts import Facts, Narrowing, is_present, range_of
from formulaseed.language.check.failures import ALWAYS_NULL, Failure, failure_of
from formulaseed.language.check.foreign_calls import report_no_function
from formulaseed.language.check.partial_operations import report_partial_operation
from formulaseed.language.check.reasons import reason_of
from formulaseed.language.check.scope import Scope, error_at
from formulaseed.language.check.wording import arity, called, tested, unquoted_number, with_list
from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.intervals import Range
from formulaseed.language.operators import OPERATORS
from formulaseed.language.typed import Expr, Info, SymbolKind
from formulaseed.language.typed_text import expression_text
from formulaseed.language.types import BOOLEAN, INTEGER, NULL, NUMBER, STRING, Base, Type, Value, join, type_of
from formulaseed.source.text import Span

_DIGITS = 15
"""`round` takes this many places at most, either side of the point: a number has no more."""


class ExpressionChecker(ComparisonChecker):
    """Checks the expressions of one step. `per_review` allows `extraction.*`, `meta.*` and `$FILTER`."""

    def __init__(self, scope: Scope, narrowing: Narrowing, *, per_review: bool) -> None:
        super().__init__(scope, narrowing)
        self.per_review = per_review

    def check(self, node: ast.Expr, facts: Facts) -> Expr:
        match node:
            case ast.Literal(span, value):
                return _literal(value, span)
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
                return self._negation(self.condition(operand, facts), span)
            case ast.Conditional():
                return self._conditional(node, facts)
            case ast.Call():
                return self._call(node, facts)
            case ast.List(span):
                message = "a list can only stand after `in`, or inside `max`, `min` and `sum`"
                self.problems.add("FS301", span, message, "write a single value")
                return error_at(span)
            case ast.Invalid(span):
                return error_at(span)
            case ast.Comprehension() | ast.Subscript() | ast.Keyword():
                raise AssertionError("front ends leave none of these")

    def _guarded(self, found: Expr, facts: Facts) -> Expr:
        """A branch that its condition says is there, for a reason that a type checker does not follow."""
        return self.needed(found, facts) if self.scope.is_implied(found, facts.present) else found

    def as_float(self, found: Expr) -> Expr:
        """What a formula over a domain comes to: a float, or a text as it is."""
        function, ty = FUNCTIONS["float"], found.info.ty
        if ty.is_error or ty.base is Base.STRING:
            return self.needed(found, Facts())
        argument = self._argument(function, found, Facts())
        return argument if argument.info.ty.is_error else self._applied(function, [argument], found.info.span, Facts())

    def condition(self, node: ast.Expr, facts: Facts) -> Expr:
        """An expression that is true or false; of a nullable one it is asked whether there is a value."""
        found = self.check(node, facts)
        ty = found.info.ty
        if not (ty.is_error or ty.base is Base.BOOLEAN or ty.nullable):
            message = f"a condition must be true or false, and {called(found)} is {ty.noun}"
            self.problems.add("FS304", node.span, message, f"write `{tested(found)}`")
            return error_at(node.span)
        return found

    def _is_refused(self, failure: Failure, span: Span, facts: Facts) -> bool:
        """Tell of what can only fail: an error where the formula surely comes to it, and no error where it never does."""
        if facts.impossible:
            self._never_runs(facts)
        elif facts.is_certain or failure.is_silent:
            self.problems.add("FS306", span, failure.message(), failure.help)
            return True
        elif not facts.is_unknown:
            message = failure.message(" where it is reached")
            self.scope.report(failure.code, span, message, failure.help, f"{span.start} {span.end}")
        return False

    def _never_runs(self, facts: Facts) -> None:
        """Note the condition that keeps this from being reached."""
        if facts.closed_by is not None:
            condition, truth, before = facts.closed_by
            reason = reason_of(condition, self.decisions, before, self.narrowing)
            help = "remove the branch that never runs, or change the condition"
            self.closed.append(Decision(condition.info.span, truth, reason, help))

    def needed(self, found: Expr, facts: Facts, wanted: Type = INTEGER) -> Expr:
        """The expression where null has no meaning: checked at run time unless it is known to be present."""
        ty, info = found.info.ty, found.info
        if ty.base is Base.NULL or (info.is_constant and info.constant is None and not ty.is_error):
            if self._is_refused(ALWAYS_NULL, info.span, facts):
                return error_at(info.span)
            present = wanted if ty.base is Base.NULL else ty.present()
            return typed.Present(found, Info(present, info.span, intervals.ANY_NUMBER if present.is_numeric else None))
        if ty.is_error or not ty.nullable or is_present(found, facts):
            return found
        is_implied = facts.is_silent or (bool(facts.implied) and found in facts.implied)  # or never reached
        if is_implied or self.scope.is_implied(found, facts.present):
            return typed.Present(found, Info(ty.present(), info.span, info.range))
        if isinstance(found, typed.Ref) and found.symbol.kind is SymbolKind.STEP:
            self.scope.report_null_step(found)
        else:
            message = f"{called(found)} may be null here"
            name, nothing = expression_text(found), "''" if ty.base is Base.STRING else "0"
            tested = name if isinstance(found, typed.Ref) else f"({name})"
            help = f"write `({tested} or {nothing})`, or `… if {tested} != None else …`"
            if info.span.source.text[info.span.start : info.span.start + 1] == '"':  # the key of a condition object
                help = 'test for null first: {"!=": null, …}'
            self.scope.report("FS305", info.span, message, help, name)
        return typed.Present(found, Info(ty.present(), info.span, info.range))

    def _shaped(self, found: Expr, text: str) -> Expr:
        if isinstance(found, typed.Ref) and found.symbol.is_per_review and not self.per_review:
            message = f"`{text}` has a value for every review, and one for the restaurant is needed"
            help = "count or sum it over the reviews in a step of its own, and use that"
            self.scope.report("FS401", found.info.span, message, help, text)
            return error_at(found.info.span)
        return found

    # --- arithmetic

    def _numeric(self, found: Expr, operator: str, facts: Facts) -> Expr:
        """The operand as a number that is there."""
        ty = found.info.ty
        if not (ty.is_error or ty.is_numeric or ty.base is Base.NULL):
            help = unquoted_number(found) or "texts cannot be joined or counted; return them as they are"
            if ty.base is Base.BOOLEAN:
                help = f"write `int({expression_text(found)})` for 1 or 0"
            message = f"`{operator}` needs numbers, and {called(found)} is {ty.noun}"
            self.problems.add("FS301", found.info.span, message, help)
            return error_at(found.info.span)
        return self.needed(found, facts)

    def _unary(self, node: ast.Unary, facts: Facts) -> Expr:
        operand = self._numeric(self.check(node.operand, facts), node.operator, facts)
        if operand.info.ty.is_error:
            return error_at(node.span)
        if isinstance(operand, typed.Literal) and isinstance(operand.value, int | float):
            return _literal(-operand.value if node.operator == "-" else operand.value, node.span)
        known = range_of(operand, facts)
        if known is not None and node.operator == "-":
            known = intervals.negate(known)
        constant = _negated(operand.info, node.operator)
        info = Info(operand.info.ty, node.span, known, operand.info.is_constant, constant)
        return typed.Unary(node.operator, operand, info)

    def _binary(self, node: ast.Binary, facts: Facts) -> Expr:
        left = self._numeric(self.check(node.left, facts), node.operator, facts)
        right = self.check(node.right, facts)
        if left.info.ty.is_error:
            return error_at(node.span)
        right = self._numeric(right, node.operator, facts)
        if right.info.ty.is_error:
            return error_at(node.span)
        return self._operation(node.operator, left, right, node.span, facts)

    def _operation(self, symbol: str, left: Expr, right: Expr, span: Span, facts: Facts) -> Expr:
        """The operator on two numbers that are there."""
        operator = OPERATORS[symbol]
        ty = operator.result(left.info.ty, right.info.ty)
        if symbol == "**":
            ty = _power_type((left, right))
        known = [_known(left, facts), _known(right, facts)]
        computed = operator.range(known[0], known[1])
        failure = failure_of(symbol, (left, right), known, computed)
        if failure is not None:
            is_safe = operator.helper is None
            return self._failing(failure, typed.Binary(symbol, left, right, _any(ty, span), is_safe, True), facts)
        info = _computed((left, right), ty, computed, span, operator.apply)
        may_overflow = not computed.is_bounded and not info.is_constant
        made = typed.Binary(symbol, left, right, info, operator.is_safe(known), may_overflow)
        report_partial_operation(self.scope, facts, symbol, (left, right), known, computed, made)
        return made

    def _failing(self, failure: Failure, made: Expr, facts: Facts) -> Expr:
        """An operation that can only fail, as it is where the formula does not surely come to it."""
        return error_at(made.info.span) if self._is_refused(failure, made.info.span, facts) else made

    # --- conditions

    def _negation(self, operand: Expr, span: Span) -> Expr:
        if operand.info.ty.is_error:
            return error_at(span)
        made = typed.Not(operand, Info(BOOLEAN, span))
        return _folded(made, not operand.info.constant) if operand.info.is_constant else made

    def _logical(self, node: ast.Logical, facts: Facts) -> Expr:
        """`and` and `or` give one of their operands, as in Python."""
        truth = node.operator == "and"
        operands: list[Expr] = []
        reached: list[tuple[Expr, Range | None, bool]] = []
        inner = facts
        for operand_node in node.operands:
            operand = self.check(operand_node, inner)
            operands.append(operand)
            if facts.impossible or not inner.impossible:
                reached.append((operand, range_of(operand, inner), operand_node is node.operands[-1]))
            inner = inner.uncertain() if operand.info.ty.is_error else self.behind(operand, truth, inner)
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
            names = " and ".join(dict.fromkeys(operand.info.ty.noun for operand in operands))
            message = f"`{node.operator}` joins values of different types: {names}"
            self.problems.add("FS301", node.span, message, "compare each of them with something")
            return error_at(node.span)
        known = _range_of_first([each for each in reached if each[0].info.ty.base is not Base.NULL], truth)
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
        known = not condition.info.ty.is_error
        unknown = facts.unknown().uncertain()
        when_true = self.behind(condition, True, facts) if known else unknown
        when_false = self.behind(condition, False, facts) if known else unknown
        then = self._guarded(self.check(node.then, when_true), when_true)
        otherwise = self._guarded(self.check(node.otherwise, when_false), when_false)
        if condition.info.ty.is_error or then.info.ty.is_error or otherwise.info.ty.is_error:
            return error_at(node.span)
        ty = join(_narrowed(then, when_true), _narrowed(otherwise, when_false))
        if ty is None:
            message = f"one branch is {then.info.ty.noun}, the other {otherwise.info.ty.noun}"
            self.problems.add("FS301", node.span, message, "give both branches the same type")
            return error_at(node.span)
        a, b = range_of(then, when_true), range_of(otherwise, when_false)
        joined = intervals.union(a, b) if a and b else None
        if when_true.impossible is not when_false.impossible:  # only the other branch ever is the result
            joined = b if when_true.impossible else a
        if joined is None and ty.is_numeric:  # where one branch is null, it is the other's
            joined = (
                next((r for r, other in ((a, otherwise), (b, then)) if is_null(other)), None) or intervals.ANY_NUMBER
            )
        made = typed.Conditional(condition, then, otherwise, Info(ty, node.span, joined))
        taken = then if condition.info.constant else otherwise
        is_constant = condition.info.is_constant and taken.info.is_constant
        return _folded(made, taken.info.constant) if is_constant else made

    # --- calls

    def _call(self, node: ast.Call, facts: Facts) -> Expr:
        function = FUNCTIONS.get(node.name.text)
        if function is None:
            lists = any(isinstance(argument, ast.List) for argument in node.arguments)
            found = [self.check(argument, facts) for argument in node.arguments if not isinstance(argument, ast.List)]
            report_no_function(self.scope, node.name, [] if lists else found, facts)
            return error_at(node.span)
        arguments = node.arguments
        if function.takes_list and len(arguments) == 1 and isinstance(arguments[0], ast.List):
            arguments = arguments[0].items
            least = 0 if function.only_list else 1
        elif function.only_list:
            self.problems.add("FS303", node.span, f"`{function.name}` takes one list", with_list(node, function))
            return error_at(node.span)
        else:
            least = function.least
        if len(arguments) < least or (function.most is not None and len(arguments) > function.most):
            message = f"`{function.name}` takes {arity(function)}, not {len(arguments)}"
            help = f"write it like `{function.example}`"
            if node.arguments and not arguments:
                message = "the list is empty"
            elif function.name == "log" and len(arguments) == 2:
                help = "`log` is the natural logarithm: for another base divide by it, `log(x) / log(10)`"
            self.problems.add("FS303", node.span, message, help)
            return error_at(node.span)
        checked = [self._argument(function, self.check(argument, facts), facts) for argument in arguments]
        if any(argument.info.ty.is_error for argument in checked):
            return error_at(node.span)
        if function.name == "round" and len(checked) == 2 and not self._digits_are_sound(checked[1]):
            return error_at(node.span)
        return self._applied(function, checked, node.span, facts)

    def _applied(self, function: Function, arguments: list[Expr], span: Span, facts: Facts) -> Expr:
        if function.name == "sum" and not arguments:
            return _literal(0, span)
        if function.name == "sum":  # as additions, one by one: Python's own rounds differently from version to version
            total = arguments[0]
            for argument in arguments[1:]:
                total = self._operation("+", total, argument, span, facts)
                if total.info.ty.is_error:
                    break
            return total
        types = [argument.info.ty for argument in arguments]
        ty = _power_type(arguments) if function.name == "pow" else function.result(types)
        known = [_known(argument, facts) for argument in arguments]
        computed = function.range(known)
        failure = failure_of(function.name, arguments, known, computed)
        if failure is not None:
            is_safe = function.helper is None
            return self._failing(failure, typed.Call(function.name, tuple(arguments), _any(ty, span), is_safe), facts)
        info = _computed(arguments, ty, computed, span, function.apply)
        made = typed.Call(function.name, tuple(arguments), info, function.is_safe(known))
        report_partial_operation(self.scope, facts, function.name, arguments, known, computed, made)
        return made

    def _argument(self, function: Function, found: Expr, facts: Facts) -> Expr:
        ty = found.info.ty
        if not (ty.is_error or ty.base is Base.NULL or ty.base in function.takes):
            wanted = "a text" if Base.STRING in function.takes else "numbers"
            help = f"write it like `{function.example}`"
            if ty.base is Base.BOOLEAN:
                help = f"write `int({expression_text(found)})` for 1 or 0"
            elif wanted == "numbers":
                help = unquoted_number(found) or self.scope.words.number_for_text
            message = f"`{function.name}` takes {wanted}, and {called(found)} is {ty.noun}"
            self.problems.add("FS301", found.info.span, message, help)
            return error_at(found.info.span)
        return self.needed(found, facts, STRING if Base.STRING in function.takes else INTEGER)

    def _digits_are_sound(self, digits: Expr) -> bool:
        value = digits.info.constant
        if digits.info.is_constant and isinstance(value, int) and abs(value) <= _DIGITS:
            return True
        message = f"the places of `round` must be a literal integer from -{_DIGITS} to {_DIGITS}"
        self.problems.add("FS303", digits.info.span, message, "write it like `round(x, 2)`")
        return False


def _literal(value: Value, span: Span) -> Expr:
    ty = type_of(value)
    known = intervals.exactly(value) if isinstance(value, int | float) else None
    return typed.Literal(value, Info(ty, span, known, True, value))


def _known(found: Expr, facts: Facts) -> Range:
    """The range of a number, or of a boolean, which `int` and `float` take; texts have a length that nobody asks for."""
    known = range_of(found, facts)
    if known is None:
        known = intervals.ANY_NUMBER if found.info.ty.is_numeric else Range(0.0, 1.0)
    return known


def _range_of_first(operands: Sequence[tuple[Expr, Range | None, bool]], truth: bool) -> Range | None:
    """The range of what `and` (where `truth`) or `or` gives: of an operand that is not the last only what decides."""
    found: Range | None = None
    for operand, known, is_last in operands:
        if known is not None and not is_last:
            is_whole = operand.info.ty.base is not Base.NUMBER
            known = intervals.where_false(known) if truth else intervals.where_true(known, is_whole=is_whole)
            if known is None:
                continue
        if known is None:
            return None
        found = known if found is None else intervals.union(found, known)
    return found


def _folded(made: Expr, value: Value) -> Expr:
    """The expression, made of literals alone, with its value."""
    known = intervals.exactly(value) if isinstance(value, int | float) else None
    return replace(made, info=replace(made.info, range=known, is_constant=True, constant=value))


def _any(ty: Type, span: Span) -> Info:
    """What is known of a number that there never is."""
    return Info(ty, span, intervals.ANY_NUMBER)


def _computed(operands: Sequence[Expr], ty: Type, computed: Range, span: Span, apply: Callable[..., Value]) -> Info:
    """What is known of a result that there may be: its value, where literals alone say it."""
    if not all(operand.info.is_constant for operand in operands):
        return Info(ty, span, computed.clipped())
    value = apply(*(operand.info.constant for operand in operands))
    assert isinstance(value, int | float)
    return Info(ty, span, intervals.exactly(value), True, value)


def _negated(info: Info, operator: str) -> Value:
    if not info.is_constant or not isinstance(info.constant, int | float):
        return None
    return -info.constant if operator == "-" else info.constant


def _power_type(operands: Sequence[Expr]) -> Type:
    """An integer only where both are integers and the exponent is surely not negative."""
    base, exponent = operands
    if (
        base.info.ty.base is exponent.info.ty.base is Base.INTEGER
        and exponent.info.range
        and exponent.info.range.low >= 0
    ):
        return INTEGER
    return NUMBER


def _narrowed(found: Expr, facts: Facts) -> Type:
    return found.info.ty.present() if is_present(found, facts) else found.info.ty
