"""The reference evaluator: a plain walk over the checked tree, slow and obviously right.

In: a checked program, JSON rows and a JSON context. Out: every step's value, and where in the seed an evaluation failed.
What every backend is compared with; shares nothing with them but the tree and the table of operators and functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

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

_NO_VALUE = (Fault, KeyError, TypeError)
"""A condition may raise these if it is tested although an earlier one is not met."""


def interpret(
    program: nodes.Program,
    rows: Iterable[Mapping[str, Any]],
    context: Mapping[str, Any],
    parameters: Mapping[str, Value] | None = None,
    record: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """Return every step's value by name, in the seed's order; filters are left out.

    `record` holds the fields of a domain's entities by their full names; an entity itself is true, or null. `fixed` steps
    have the values that it gives: they are not computed, and the steps that use them are computed from these values.

    Raises `EvaluationError` for the first step, in that order, that has no value, and `DataError` for a row
    or context that lacks what the seed uses.
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
    """Read the inputs as `interpret` does; no step is evaluated yet. Raises `DataError`."""
    used = program.used()
    shared: SymbolValues = {Symbol(SymbolKind.PARAMETER, p.name): p.default for p in program.parameters}
    known = {p.name: p for p in program.parameters}
    for name, value in check_object({} if parameters is None else parameters, "the parameters").items():
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
    """A record of an evaluation's course. It changes no value.

    `watched` has the identities of expressions, each with True if it is tested for null, not for being true. `counts` says how
    often the test of each of these was true and false; for how many rows each filter, by its name, is true and false; and how
    often each lookup, by its identity, chose the entry at a position, -1 for its default.
    """

    watched: Mapping[int, bool] = field(default_factory=dict)
    counts: Counter[tuple[object, object]] = field(default_factory=Counter)
    met: dict[typed.Aggregate, list[dict[Expr, bool]]] = field(default_factory=dict)
    """For each aggregate and row the conjuncts of `where`, filters expanded, with whether the row meets them."""
    terms: dict[typed.Aggregate, dict[int, Any]] = field(default_factory=dict)
    """For each aggregate the operand's value for each matching row, by its position."""


@dataclass
class Evaluation:
    """The inputs of one restaurant, and the values of the steps evaluated so far.

    `shared` holds what is the same for all reviews, by symbol; `rows` each review's own values.
    """

    shared: SymbolValues
    rows: list[SymbolValues]
    filters: dict[str, Expr] = field(default_factory=dict)
    results: dict[str, Value] = field(default_factory=dict)
    observer: Observer | None = None
    aggregates: dict[typed.Aggregate, Value] = field(default_factory=dict)
    """The value of each aggregate evaluated so far."""

    def evaluate_step(self, step: nodes.Step) -> None:
        """Evaluate a step; those that it uses were evaluated before. Raises `EvaluationError`.

        The aggregates in a formula are evaluated before it, whether or not it then uses their values.
        """
        if isinstance(step.operation, nodes.Filter):
            self.filters[step.name] = step.operation.condition
            if self.observer is not None:
                tests = (self._test(step.operation.condition, row) for row in self.rows)
                self.observer.counts.update((step.name, truth) for truth in tests if truth is not None)
            return
        try:
            for aggregate in step.aggregates():
                self.evaluate_aggregate(aggregate)
            value = self.evaluate_operation(step.operation)
        except Fault as fault:
            raise EvaluationError(step.name, fault.kind, fault.message, fault.operands) from None
        self.set_value(step, _convert_integer(value, step.ty))

    def set_value(self, step: nodes.Step, value: Value) -> None:
        """Give a step its value, which the steps after it use."""
        self.results[step.name] = value
        self.shared[Symbol(SymbolKind.STEP, step.name)] = value

    def evaluate_operation(self, operation: nodes.Operation) -> Value:
        """Return the value of an operation. Raises `Fault`."""
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
        """Return the value of an aggregate, which is computed once. Raises `Fault`."""
        if aggregate not in self.aggregates:
            if self.observer is not None:
                self._observe(aggregate, self.observer)
            self.aggregates[aggregate] = compute_aggregate(aggregate, (term for _, term in self.iter_terms(aggregate)))
        return self.aggregates[aggregate]

    def iter_terms(self, aggregate: typed.Aggregate) -> Iterator[tuple[int, Any]]:
        """Yield the position of each matching row with the operand's value for it, None for an aggregate without operand."""
        where = aggregate.where
        operand = aggregate.operand
        for place, row in enumerate(self.rows):
            if where is None or self.evaluate(where, row):
                term = self.evaluate(operand, row) if operand is not None else None
                if self.observer is not None:
                    self.observer.terms[aggregate][place] = term
                yield place, term

    def _observe(self, aggregate: typed.Aggregate, observer: Observer) -> None:
        """Note which conjuncts each row meets, also those that its value does not depend on."""
        conjuncts = [*dict.fromkeys(self._conjuncts(aggregate.where))]
        observer.terms[aggregate] = {}
        observer.met[aggregate] = [{part: bool(self._test(part, row)) for part in conjuncts} for row in self.rows]

    def _conjuncts(self, where: Expr | None) -> Iterator[Expr]:
        """Yield the conjuncts of a condition, with those of filters in place of their names."""
        for part in typed.conjuncts(where):
            if isinstance(part, typed.Ref) and part.symbol.kind is SymbolKind.FILTER:
                yield from self._conjuncts(self.filters[part.symbol.name])
            else:
                yield part

    def _test(self, condition: Expr, row: SymbolValues) -> bool | None:
        """Return True if a row meets a condition, None if the condition has no value. Nothing inside it is observed."""
        try:
            return bool(Evaluation(self.shared, [], self.filters, aggregates=self.aggregates).evaluate(condition, row))
        except _NO_VALUE:
            return None

    def evaluate_lookup(self, operation: nodes.Lookup) -> Value:
        """Return the value of a lookup. Raises `Fault` if it finds no key and has no default."""
        source = self.evaluate(operation.source, {})
        is_exact = operation.match == "exact"
        matches = [n for n, (key, _) in enumerate(operation.table) if (key == source if is_exact else key in source)]
        if not matches and not operation.has_default:
            raise Fault("lookup", f"no key of the table is found in {_quote(source)}", (source,))
        values: list[Any] = [value for _, value in operation.table]
        chosen = matches[0] if matches else -1
        if matches and operation.match == "substring_max":
            chosen = max(matches, key=values.__getitem__)
        if self.observer is not None:
            self.observer.counts[id(operation), chosen] += 1
        result: Value = values[chosen] if matches else operation.default
        return result

    def evaluate(self, expression: Expr, row: SymbolValues) -> Any:
        """Return the value of an expression, for a review of `rows` or, with no row, for the restaurant. Raises `Fault`."""
        value = self._evaluate(expression, row)
        if self.observer is not None and id(expression) in self.observer.watched:
            truth = value is not None if self.observer.watched[id(expression)] else bool(value)
            self.observer.counts[id(expression), truth] += 1
        return value

    def _evaluate(self, expression: Expr, row: SymbolValues) -> Any:
        match expression:
            case typed.Aggregate():
                return self.evaluate_aggregate(expression)
            case typed.Literal(value):
                return value
            case typed.Ref(symbol):
                if symbol.kind is SymbolKind.FILTER:
                    return self.evaluate(self.filters[symbol.name], row)
                return row[symbol] if symbol in row else self.shared[symbol]
            case typed.Present(operand):
                return self._present_value(operand, row)
            case typed.Unary(sign, operand):
                number = self.evaluate(operand, row)
                return -number if sign == "-" else number
            case typed.Binary(symbol_, left, right):
                return OPERATORS[symbol_].compute(self.evaluate(left, row), self.evaluate(right, row))
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
        """Return True if every link of a comparison holds; as in Python, none behind the first that does not is evaluated."""
        left = self.evaluate(comparison.first, row)
        for operator, operand in zip(comparison.operators, comparison.rest, strict=True):
            right = self.evaluate(operand, row)
            if not COMPARE[operator](left, right):
                return False
            left = right
        return True

    def _logical_value(self, expression: typed.Logical, row: SymbolValues) -> Any:
        """Return the operand that decides `and` or `or`, else the last; as in Python, none behind it is evaluated."""
        value = None
        for operand in expression.operands:
            value = self.evaluate(operand, row)
            if bool(value) is (expression.operator == "or"):
                break
        return value


def compute_aggregate(aggregate: typed.Aggregate, terms: Iterable[Any]) -> Value:
    """Return the value of an aggregate over the operand's values for the matching rows. Raises `Fault` if it is too large."""
    operand = aggregate.operand
    value: Value = aggregate.entry.compute(terms, operand.info.ty if operand is not None else INTEGER)
    if value is None and aggregate.default is not None:
        value = aggregate.default.value
    return _convert_integer(value, aggregate.info.ty)


def _convert_integer(value: Value, ty: Type) -> Value:
    """Return the value, an integer as a float where the type is a number."""
    return float(value) if ty.base is Base.NUMBER and isinstance(value, int) else value


def find_failure_span(program: nodes.Program, name: str, kind: str) -> Span | None:
    """Return the span of the operation that failed, or of its step if several could have; None for an unknown step."""
    step = next((step for step in program.steps if step.name == name), None)
    if step is None:
        return None
    suspects = [node for node in _walk_step(program, step) if _may_raise(node, kind)]
    if len(suspects) == 1 and not isinstance(suspects[0], typed.Aggregate):
        return suspects[0].info.span
    return step.span


def _walk_step(program: nodes.Program, step: nodes.Step) -> Iterator[Expr]:
    """Yield every expression that is evaluated for the step, including those of its filters."""
    filters = {s.name: s.operation.condition for s in program.steps if isinstance(s.operation, nodes.Filter)}
    stack = list(step.expressions())
    seen: set[str] = set()
    while stack:
        for node in typed.walk(stack.pop()):
            yield node
            if isinstance(node, typed.Ref) and node.symbol.kind is SymbolKind.FILTER and node.symbol.name not in seen:
                seen.add(node.symbol.name)
                stack.append(filters[node.symbol.name])


def _may_raise(node: Expr, kind: str) -> bool:
    """Return True if an operation itself, apart from its operands, may fail with the fault `kind`."""
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
    """Return True if an operation may fail with the fault `kind`."""
    return not is_safe and any(failure.kind == kind for failure in operation.failures)
