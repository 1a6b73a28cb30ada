"""Evaluates checked programs by a plain walk over the tree, slow and obviously right: the reference evaluator.

In: a checked program, JSON rows and a JSON context. Out: the value of every step, and the place in the seed of a failure. Every
backend is compared with this evaluator, which shares only the tree and the tables of operators and functions with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.inputs import (
    SymbolValues,
    check_bounds,
    check_object,
    check_rows,
    read_row,
    read_section,
    read_value,
)
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.json_values import _quote
from formulaseed.language.operators import COMPARE, OPERATORS, Fault, Operation
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import INTEGER, Base, Type, Value
from formulaseed.source.text import Span

_Result = TypeVar("_Result")
_NO_VALUE = (Fault, KeyError, TypeError)
"""The exceptions of a condition that is tested although an earlier one, which guards it, is false."""


def interpret(
    program: nodes.Program,
    rows: Iterable[Mapping[str, Any]],
    context: Mapping[str, Any],
    parameters: Mapping[str, Value] | None = None,
    record: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """Return the value of every step by name, in the order of the seed; filters are left out.

    `parameters` replace the defaults of the parameters that they name. `record` holds the fields of the entities of a
    domain by their full names; a whole entity is true, or null. `fixed` has values of steps that are not computed; the
    steps that use them are computed from these values.

    Raises `EvaluationError` for the first step, in that order, that has no value, and `DataError` for invalid inputs.
    """
    evaluation = prepare_evaluation(program, rows, context, parameters, record)
    for step in program.steps:
        if fixed is not None and step.name in fixed:
            evaluation.set_value(step, fixed[step.name])
        else:
            evaluation.evaluate_step(step)
    return evaluation.results


def prepare_evaluation(
    program: nodes.Program,
    rows: Iterable[Mapping[str, Any]],
    context: Mapping[str, Any],
    parameters: Mapping[str, Value] | None = None,
    record: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Read the inputs of `interpret`, and return an evaluation in which no step has been evaluated.

    Parameters, all of them if `parameters` is None, have their defaults unless given; absent fields of `record` are
    null. Raises `DataError` for a wrong or missing input, and for a parameter that does not exist.
    """
    used = program.used()
    shared: SymbolValues = {Symbol(SymbolKind.PARAMETER, p.name): p.default for p in program.parameters}
    known = {p.name: p for p in program.parameters}
    if parameters is None:
        parameters = {}
    for name, value in check_object(parameters, "the parameters").items():
        if name not in known:
            raise DataError(f"there is no parameter `{name}`")
        number = read_value(value, known[name].ty, f"param.{name}")
        shared[Symbol(SymbolKind.PARAMETER, name)] = check_bounds(number, known[name], f"param.{name}")
    shared.update(
        read_section(program, SymbolKind.CONTEXT, program.context, check_object(context, "the context"), used)
    )
    for input_field in program.record:
        value = (record or {}).get(input_field.name)
        spelled = program.short_name(input_field.name)
        if value is None and not input_field.ty.nullable:
            raise DataError(f"`{spelled}` is missing; it must be {input_field.ty.noun}")
        shared[Symbol(SymbolKind.FIELD, input_field.name)] = read_value(value, input_field.ty, spelled)
    return Evaluation(shared, [read_row(program, check_object(row, "a row"), used) for row in check_rows(rows)])


@dataclass
class Observer:
    """A record of what happened in an evaluation, which it does not change.

    `watched` maps the `id` of each expression to count to True if it is tested for null, or False if for being true. `counts` has
    three kinds of pairs: the `id` of such an expression with its result; the name of a filter with its result for a row; the `id`
    of a lookup with the position of the entry that it chose, -1 for its default.
    """

    watched: Mapping[int, bool] = field(default_factory=dict)
    counts: Counter[tuple[object, object]] = field(default_factory=Counter)
    unmet: dict[typed.Aggregate, dict[tuple[Expr, ...], list[int]]] = field(default_factory=dict)
    """The positions of the rows by aggregate and by the conjuncts of `where` that they fail, which are none for matching rows."""
    terms: dict[typed.Aggregate, dict[int, Any]] = field(default_factory=dict)
    """The value of the operand by aggregate and by the position of each matching row."""


@dataclass
class Evaluation:
    """The inputs of one restaurant, and the values of the steps evaluated so far.

    `shared` holds the values that are the same for all reviews, by symbol; `rows` the values of each review.
    """

    shared: SymbolValues
    rows: list[SymbolValues]
    filters: dict[str, Expr] = field(default_factory=dict)
    results: dict[str, Value] = field(default_factory=dict)
    observer: Observer | None = None
    aggregates: dict[typed.Aggregate, Value] = field(default_factory=dict)
    """The value of each aggregate evaluated so far."""

    def evaluate_step(self, step: nodes.Step) -> None:
        """Evaluate a step whose dependencies have been evaluated, and set its value in `results` and `shared`.

        Of a filter, only the condition is noted, in `filters`. The aggregates in a formula are evaluated first, also
        those whose values the formula then does not use. Raises `EvaluationError`.
        """
        if isinstance(step.operation, nodes.Filter):
            self.filters[step.name] = step.operation.condition
            if self.observer is not None:
                condition = step.operation.condition
                tests = Counter(self.map_rows(lambda row: self._test(condition, row), [condition]))
                self.observer.counts.update({(step.name, truth): tests[truth] for truth in tests.keys() - {None}})
            return
        try:
            for aggregate in step.aggregates():
                self.evaluate_aggregate(aggregate)
            value = self.evaluate_operation(step.operation)
        except Fault as fault:
            raise EvaluationError(step.name, fault.kind, fault.message, fault.operands) from None
        self.set_value(step, _convert_integer(value, step.ty))

    def set_value(self, step: nodes.Step, value: Value) -> None:
        """Set the value of a step in `results`, and in `shared` for the steps that use it."""
        self.results[step.name] = value
        self.shared[Symbol(SymbolKind.STEP, step.name)] = value

    def evaluate_operation(self, operation: nodes.Operation) -> Value:
        """Return the value of an operation. Raises `Fault` if it has none, and `AssertionError` for a filter."""
        match operation:
            case nodes.Lookup():
                return self.evaluate_lookup(operation)
            case nodes.Formula(expression):
                result: Value = self.evaluate(expression, {})
                return result
            case nodes.Const(value):
                return value
            case nodes.Case(rules, otherwise):
                return next((then for condition, then in rules if self.evaluate(condition, {})), otherwise)
            case nodes.Filter():
                raise AssertionError("filters have no value")

    def evaluate_aggregate(self, aggregate: typed.Aggregate) -> Value:
        """Return the value of an aggregate, which is computed the first time. Raises `Fault` if it has none."""
        if aggregate not in self.aggregates:
            if self.observer is not None:
                self._observe(aggregate, self.observer)
            self.aggregates[aggregate] = compute_aggregate(aggregate, (term for _, term in self.iter_terms(aggregate)))
        return self.aggregates[aggregate]

    def iter_terms(self, aggregate: typed.Aggregate) -> Iterator[tuple[int, Any]]:
        """Yield the position of each matching row with the operand's value, or None if there is no operand.

        Notes each value in the observer. Raises `Fault`.
        """
        observed = self.observer.terms[aggregate] if self.observer is not None else {}
        terms = self.map_rows(lambda row: self._evaluate_term(aggregate, row), [aggregate])
        for place, row_terms in enumerate(terms):
            for term in row_terms:
                observed[place] = term
                yield place, term

    def _evaluate_term(self, aggregate: typed.Aggregate, row: SymbolValues) -> list[Any]:
        """Return the operand's value for a row in a list, or None in it if there is no operand; empty if the row does not match.

        Raises `Fault`.
        """
        if aggregate.where is not None and not self.evaluate(aggregate.where, row):
            return []
        return [None if aggregate.operand is None else self.evaluate(aggregate.operand, row)]

    def _observe(self, aggregate: typed.Aggregate, observer: Observer) -> None:
        """Note in the observer which conjuncts of an aggregate each row fails, also those that a guard protects."""
        observer.terms[aggregate] = {}
        groups = observer.unmet[aggregate] = {}
        conjuncts = self.list_conjuncts(aggregate.where)

        def find_group(row: SymbolValues) -> list[int]:
            """Return the positions of the rows before `row` that fail the same conjuncts."""
            return groups.setdefault(tuple(part for part in conjuncts if not self._test(part, row)), [])

        for place, group in enumerate(self.map_rows(find_group, conjuncts)):
            group.append(place)

    def list_conjuncts(self, where: Expr | None) -> list[Expr]:
        """Return the different conjuncts of a condition, with those of filters in place of their names.

        Empty if `where` is None.
        """
        conjuncts: dict[Expr, None] = {}
        for part in typed.conjuncts(where):
            if isinstance(part, typed.Ref) and part.symbol.kind is SymbolKind.FILTER:
                conjuncts.update(dict.fromkeys(self.list_conjuncts(self.filters[part.symbol.name])))
            else:
                conjuncts[part] = None
        return [*conjuncts]

    def map_rows(self, function: Callable[[SymbolValues], _Result], uses: Sequence[Expr]) -> Iterator[_Result]:
        """Yield the result of `function` for each row, which depends on the row through the expressions `uses` alone."""
        return map(function, self.rows)

    def _test(self, condition: Expr, row: SymbolValues) -> bool | None:
        """Return whether a row meets a condition; None if the evaluation fails. The observer notes nothing."""
        try:
            return bool(Evaluation(self.shared, [], self.filters, aggregates=self.aggregates).evaluate(condition, row))
        except _NO_VALUE:
            return None

    def evaluate_lookup(self, operation: nodes.Lookup) -> Value:
        """Return the value of the first key that matches; with `substring_max`, the largest of all that match.

        Returns the default if none matches. Raises `Fault` if there is no default either.
        """
        source = self.evaluate(operation.source, {})
        matches = COMPARE["==" if operation.match == "exact" else "in"]
        places = [place for place, (key, _) in enumerate(operation.table) if matches(key, source)]
        if not places and not operation.has_default:
            raise Fault("lookup", f"no key of the table is found in {_quote(source)}", (source,))
        values: list[Any] = [value for _, value in operation.table]
        chosen = next(iter(places), -1)
        if places and operation.match == "substring_max":
            chosen = max(places, key=values.__getitem__)
        if self.observer is not None:
            self.observer.counts[id(operation), chosen] += 1
        result: Value = values[chosen] if places else operation.default
        return result

    def evaluate(self, expression: Expr, row: SymbolValues) -> Any:
        """Return the value of an expression for a row of `rows`, or for the restaurant if `row` is empty.

        Counts the result of an expression that the observer watches. Raises `Fault`.
        """
        value = self._evaluate(expression, row)
        if self.observer is not None and id(expression) in self.observer.watched:
            truth = bool(value)
            if self.observer.watched[id(expression)]:
                truth = value is not None
            self.observer.counts[id(expression), truth] += 1
        return value

    def _evaluate(self, expression: Expr, row: SymbolValues) -> Any:
        """Return the value of an expression by its kind. Raises `Fault` if it has none."""
        match expression:
            case typed.Aggregate():
                return self.evaluate_aggregate(expression)
            case typed.Literal(value):
                return value
            case typed.Ref(Symbol(SymbolKind.FILTER, name)):
                return bool(self.evaluate(self.filters[name], row))  # a filter may be a value that is tested for truth
            case typed.Ref(symbol):
                return (row if symbol in row else self.shared)[symbol]
            case typed.Present(operand):
                return self._present_value(operand, row)
            case typed.Unary(sign, operand):
                number = self.evaluate(operand, row)
                return -number if sign == "-" else number
            case typed.Binary(operator, left, right):
                return OPERATORS[operator].compute(self.evaluate(left, row), self.evaluate(right, row))
            case typed.Call(name, (first, default)) if FUNCTIONS[name].replaces_null:
                value = self.evaluate(first, row)
                return self.evaluate(default, row) if value is None else value
            case typed.Call(name, arguments):
                return FUNCTIONS[name].compute(*[self.evaluate(argument, row) for argument in arguments])
            case typed.Comparison():
                return self._holds(expression, row)
            case typed.Logical():
                return self._logical_value(expression, row)
            case typed.Not(operand):
                return not self.evaluate(operand, row)
            case typed.Conditional(condition, then, otherwise):
                return self.evaluate(then if self.evaluate(condition, row) else otherwise, row)
            case typed.List(items):
                return [self.evaluate(item, row) for item in items]

    def _present_value(self, operand: Expr, row: SymbolValues) -> Any:
        """Return the value of an operand. Raises `Fault` if it is null."""
        value = self.evaluate(operand, row)
        if value is None:
            name = operand.text if isinstance(operand, typed.Ref) else "a value"
            raise Fault("null", f"{name} is null", (None,))
        return value

    def _holds(self, comparison: typed.Comparison, row: SymbolValues) -> bool:
        """Return whether every comparison of a chain is true; those after the first false one are not evaluated.

        Raises `Fault`.
        """
        left = self.evaluate(comparison.first, row)
        for operator, operand in zip(comparison.operators, comparison.rest, strict=True):
            right = self.evaluate(operand, row)
            if not COMPARE[operator](left, right):
                return False
            left = right
        return True

    def _logical_value(self, expression: typed.Logical, row: SymbolValues) -> Any:
        """Return the first operand that decides `and` or `or`, or the last one. Those after it are not evaluated.

        Raises `Fault`.
        """
        value = None
        for operand in expression.operands:
            value = self.evaluate(operand, row)
            if bool(value) is (expression.operator == "or"):
                break
        return value


def compute_aggregate(aggregate: typed.Aggregate, terms: Iterable[Any]) -> Value:
    """Return the value of an aggregate over `terms`, the values of its operand for the matching rows.

    Returns its default, or else None, if it has no value over no rows. Raises `Fault`, also one from `terms`.
    """
    ty = aggregate.operand.info.ty if aggregate.operand is not None else INTEGER
    value: Value = aggregate.entry.compute(terms, ty)
    if value is None and aggregate.default is not None:
        value = aggregate.default.value
    return _convert_integer(value, aggregate.info.ty)


def _convert_integer(value: Value, ty: Type) -> Value:
    """Return the value; an integer as a float if the type is number."""
    if ty.base is Base.NUMBER and isinstance(value, int):
        return float(value)
    return value


def find_failure_span(program: nodes.Program, name: str, kind: str) -> Span | None:
    """Return the span of the operation in the step `name` that failed with a fault of the `kind`.

    That is the span of the whole step unless exactly one operation, no aggregate, may have failed so. None if there is
    no such step.
    """
    step = next((step for step in program.steps if step.name == name), None)
    if step is None:
        return None
    suspects = [node for node in _walk_step(program, step) if _may_raise(node, kind)]
    if len(suspects) == 1 and not isinstance(suspects[0], typed.Aggregate):
        return suspects[0].info.span
    return step.span


def _walk_step(program: nodes.Program, step: nodes.Step) -> Iterator[Expr]:
    """Yield all expressions in a step, and in the filters that it uses, each filter once."""
    filters = program.filters()
    stack = list(step.expressions())
    seen: set[str] = set()
    while stack:
        for node in typed.walk(stack.pop()):
            yield node
            if isinstance(node, typed.Ref) and node.symbol.kind is SymbolKind.FILTER and node.symbol.name not in seen:
                seen.add(node.symbol.name)
                stack.append(filters[node.symbol.name])


def _may_raise(node: Expr, kind: str) -> bool:
    """Return whether an operation itself, apart from its operands, may fail with a fault of the `kind`."""
    match node:
        case typed.Present():
            return kind == "null"
        case typed.Aggregate(may_overflow=may_overflow):
            return kind == "overflow" and may_overflow
        case typed.Binary(symbol, is_safe=is_safe, may_overflow=may_overflow):
            return _may_fail(OPERATORS[symbol], kind, is_safe) or (kind == "overflow" and may_overflow)
        case typed.Call(function, is_safe=is_safe):
            return _may_fail(FUNCTIONS[function], kind, is_safe)
        case _:
            return False


def _may_fail(operation: Operation, kind: str, is_safe: bool) -> bool:
    """Return True if an operation that is not `is_safe` may fail with a fault of the `kind`."""
    return not is_safe and any(failure.kind == kind for failure in operation.failures)
