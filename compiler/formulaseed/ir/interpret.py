"""The reference evaluator: a plain walk over the checked tree, slow and obviously right.

In: a checked program, JSON rows and a JSON context. Out: every step's value, and where in the seed an evaluation failed.
What every backend is compared with; shares nothing with them but the tree and the table of operators and functions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from formulaseed import limits
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.attributes import _attribute_at_path, _read_attribute
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.inputs import _find_typo, _is_similar, _parse_iso_date
from formulaseed.language.json_values import _quote
from formulaseed.language.operators import COMPARE, OPERATORS, Fault, Operation
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import INTEGER, Base, Type, Value
from formulaseed.source.text import Span

_KINDS = {Base.INTEGER: (int,), Base.NUMBER: (int, float), Base.BOOLEAN: (bool,), Base.STRING: (str,)}
_NUMERAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
"""A number as Yelp's attributes write it, in a string."""
Values = dict[Symbol, Any]
_NO_VALUE = (Fault, KeyError, TypeError)
"""What a condition raises that is tested although an earlier one is not met."""


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
    evaluation = prepare(program, rows, context, parameters, record)
    for step in program.steps:
        if fixed is not None and step.name in fixed:
            evaluation.set(step, fixed[step.name])
        else:
            evaluation.step(step)
    return evaluation.results


def prepare(
    program: nodes.Program,
    rows: Iterable[Mapping[str, Any]],
    context: Mapping[str, Any],
    parameters: Mapping[str, Value] | None = None,
    record: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Read the inputs as `interpret` does; no step is evaluated yet. Raises `DataError`."""
    used = program.used()
    shared: Values = {Symbol(SymbolKind.PARAMETER, p.name): p.default for p in program.parameters}
    known = {p.name: p for p in program.parameters}
    for name, value in object_of({} if parameters is None else parameters, "the parameters").items():
        if name not in known:
            raise DataError(f"there is no parameter `{name}`")
        parameter, place = known[name], f"param.{name}"
        shared[Symbol(SymbolKind.PARAMETER, name)] = _within(_read(value, parameter.ty, place), parameter, place)
    shared.update(_inputs(program, SymbolKind.CONTEXT, program.context, object_of(context, "the context"), used))
    for given in program.record:
        value, spelled = (record or {}).get(given.name), program.spelled(given.name)
        if value is None and not given.ty.nullable:
            raise DataError(f"`{spelled}` is missing; it must be {given.ty.noun}")
        shared[Symbol(SymbolKind.FIELD, given.name)] = _read(value, given.ty, spelled)
    return Evaluation(shared, [_row(program, object_of(row, "a row"), used) for row in rows_of(rows)])


def rows_of(given: object) -> Iterable[Any]:
    """Return the rows as they are given. Raises `DataError` for what holds none."""
    if type(given) is not list and (isinstance(given, Mapping | str) or not isinstance(given, Iterable)):
        raise DataError(f"rows must be a list of objects, not {type(given).__name__}")
    return given


def object_of(value: Any, what: str) -> Mapping[str, Any]:
    """Return a JSON object as it is given. Raises `DataError`, which names it as `what`, for any other value."""
    if type(value) is dict or isinstance(value, Mapping):  # the first is much faster
        return value
    raise DataError(f"{what} must be an object, not {_quote(value)}")


def _row(program: nodes.Program, row: Mapping[str, Any], used: frozenset[Symbol]) -> Values:
    values: Values = {}
    for kind, fields in ((SymbolKind.EXTRACTION, program.fields), (SymbolKind.META, program.meta)):
        if any(Symbol(kind, field.name) in used for field in fields):
            section = _section(row, kind.value)
            given = _dated(section, used) if kind is SymbolKind.META else section
            values |= _inputs(program, kind, fields, given, used)
    return values


def _section(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    keys = [key for key in row if isinstance(key, str)]
    typo = next((key for key in keys if _is_similar(name, key) or key.casefold().startswith(name)), None)
    if name not in row:
        raise DataError(f"`{name}` is missing" + (f", but there is `{typo[:80]}`" if typo is not None else ""))
    return object_of(row[name], f"`{name}`")


def _dated(meta: Mapping[str, Any], used: frozenset[Symbol]) -> Mapping[str, Any]:
    """The metadata with what the date says of year and month, as far as these are in use."""
    parts = [part for part in ("year", "month") if Symbol(SymbolKind.META, part) in used]
    if meta.get("date") is None or not (parts or Symbol(SymbolKind.META, "date") in used):
        return meta
    found = _parse_iso_date(meta["date"]) if isinstance(meta["date"], str) else None
    if found is None:
        raise DataError("`meta.date` must be an ISO date or date-time")
    of_date = dict(zip(("year", "month"), found, strict=True))
    for part in parts:
        given = meta.get(part)
        if given is not None and given != of_date[part]:
            raise DataError(f"`meta.{part}` is not that of `meta.date`")
        if given is None:
            meta = {**meta, part: of_date[part]}
    return meta


def _inputs(
    program: nodes.Program,
    kind: SymbolKind,
    fields: Iterable[nodes.InputField | nodes.ExtractionField],
    given: Mapping[str, Any],
    used: frozenset[Symbol],
) -> Values:
    known = program.inputs(kind)
    return {Symbol(kind, f.name): _input(given, kind, f, known) for f in fields if Symbol(kind, f.name) in used}


def _input(
    given: Mapping[str, Any], kind: SymbolKind, field: nodes.InputField | nodes.ExtractionField, known: tuple[str, ...]
) -> Any:
    value, place = given.get(field.name), f"{kind.value}.{field.name}"
    if isinstance(field, nodes.InputField) and value is None and field.path:
        value = _attribute_at_path(given, field.path)
        if value is None:
            _refuse_misspelt(given, field.path)
        if isinstance(value, str) and field.ty.is_numeric and _NUMERAL.fullmatch(value):
            value = float(value) if "." in value else int(value)
    keys = [key for key in given if isinstance(key, str)]
    typo = _find_typo(field.name, keys, known) if value is None and field.name not in keys else None
    if typo is not None:
        raise DataError(f"`{place}` is missing, but there is `{typo[:80]}`")
    if isinstance(field, nodes.ExtractionField):
        return _within(_read(field.default if value is None else value, field.ty, place), field, place)
    return _read(value, field.ty, place)


def _refuse_misspelt(given: Mapping[str, Any], path: tuple[str, ...]) -> None:
    """Raise `DataError` where a path leads to nothing because a key is misspelt, or a value is not an object."""
    found: Any = given
    for key in path:
        found = _read_attribute(found) if isinstance(found, str) else found
        if found is None:
            return
        typo = None if key in object_of(found, "a part of the path") else _find_typo(key, found)
        if typo is not None:
            raise DataError(f"`{key}` is missing, but there is `{typo[:80]}`")
        found = found.get(key)


def _read(value: Any, ty: Type, place: str) -> Any:
    if value is None and ty.nullable:
        return None
    if isinstance(value, float) and ty.base is Base.INTEGER and value.is_integer():
        value = int(value)
    is_kind = isinstance(value, _KINDS[ty.base]) and isinstance(value, bool) is (ty.base is Base.BOOLEAN)
    if not is_kind or (ty.values is not None and value not in ty.values):
        raise DataError(f"`{place}` must be of type {ty}, not {_quote(value)}")
    most = limits.INPUT_MAX if ty.base is Base.NUMBER else limits.INTEGER_MAX
    if isinstance(value, int | float) and not abs(value) <= most:  # NaN is not
        raise DataError(f"`{place}` is out of range: {_quote(value)}")
    return float(value) if ty.base is Base.NUMBER else value


def _within(value: Any, field: nodes.ExtractionField | nodes.Parameter, place: str) -> Any:
    low, high = field.minimum, field.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        raise DataError(f"`{place}` is out of bounds: {_quote(value)}")
    return value


@dataclass
class Observer:
    """What an evaluation notes of its way, beside the values: it changes none of them.

    `watched` are the identities of expressions, with whether each is tested for null instead of for being true. `counts` says how
    often the test of each of these was true and false; of how many rows each filter, by its
    name, is true and false; and how often each lookup, by its identity, found the key at a position, -1 for its default.
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

    shared: Values
    rows: list[Values]
    filters: dict[str, Expr] = field(default_factory=dict)
    results: dict[str, Value] = field(default_factory=dict)
    observer: Observer | None = None
    aggregates: dict[typed.Aggregate, Value] = field(default_factory=dict)
    """The value of each aggregate evaluated so far."""

    def step(self, step: nodes.Step) -> None:
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
                self.aggregate(aggregate)
            value = self.operation(step.operation)
        except Fault as fault:
            raise EvaluationError(step.name, fault.kind, fault.message, fault.operands) from None
        self.set(step, _as_typed(value, step.ty))

    def set(self, step: nodes.Step, value: Value) -> None:
        """Give a step its value, which the steps after it use."""
        self.results[step.name] = value
        self.shared[Symbol(SymbolKind.STEP, step.name)] = value

    def operation(self, operation: nodes.Operation) -> Value:
        """Return the value of an operation. Raises `Fault`."""
        match operation:
            case nodes.Lookup():
                return self.lookup(operation)
            case nodes.Formula(expression):
                result: Value = self.value(expression, {})
                return result
            case nodes.Const(value):
                return value
            case nodes.Case(rules, otherwise):
                return next((then for condition, then in rules if self.value(condition, {})), otherwise)
            case nodes.Filter():
                raise AssertionError("filters have no value")

    def aggregate(self, aggregate: typed.Aggregate) -> Value:
        """Return the value of an aggregate, which is computed once. Raises `Fault`."""
        if aggregate not in self.aggregates:
            if self.observer is not None:
                self._observe(aggregate, self.observer)
            self.aggregates[aggregate] = value_of(aggregate, (term for _, term in self.terms(aggregate)))
        return self.aggregates[aggregate]

    def terms(self, aggregate: typed.Aggregate) -> Iterator[tuple[int, Any]]:
        """Yield the position of each matching row with the operand's value for it, None for an aggregate without operand."""
        where, operand = aggregate.where, aggregate.operand
        for place, row in enumerate(self.rows):
            if where is None or self.value(where, row):
                term = self.value(operand, row) if operand is not None else None
                if self.observer is not None:
                    self.observer.terms[aggregate][place] = term
                yield place, term

    def _observe(self, aggregate: typed.Aggregate, observer: Observer) -> None:
        """Note which conjuncts each row meets, also those that its value does not depend on."""
        conjuncts = [*dict.fromkeys(self._conjuncts(aggregate.where))]
        observer.terms[aggregate] = {}
        observer.met[aggregate] = [{each: bool(self._test(each, row)) for each in conjuncts} for row in self.rows]

    def _conjuncts(self, where: Expr | None) -> Iterator[Expr]:
        """Yield the conjuncts of a condition, with those of filters in place of their names."""
        for part in typed.conjuncts(where):
            if isinstance(part, typed.Ref) and part.symbol.kind is SymbolKind.FILTER:
                yield from self._conjuncts(self.filters[part.symbol.name])
            else:
                yield part

    def _test(self, condition: Expr, row: Values) -> bool | None:
        """Return whether a row meets a condition, and None if that has no value; what is inside is not observed."""
        try:
            return bool(Evaluation(self.shared, [], self.filters, aggregates=self.aggregates).value(condition, row))
        except _NO_VALUE:
            return None

    def lookup(self, operation: nodes.Lookup) -> Value:
        source = self.value(operation.source, {})
        is_exact = operation.match == "exact"
        found = [n for n, (key, _) in enumerate(operation.table) if (key == source if is_exact else key in source)]
        if not found and not operation.has_default:
            raise Fault("lookup", f"no key of the table is found in {_quote(source)}", (source,))
        values: list[Any] = [value for _, value in operation.table]
        chosen = (
            (max(found, key=values.__getitem__) if operation.match == "substring_max" else found[0]) if found else None
        )
        if self.observer is not None:
            self.observer.counts[id(operation), -1 if chosen is None else chosen] += 1
        result: Value = operation.default if chosen is None else values[chosen]
        return result

    def value(self, expression: Expr, row: Values) -> Any:
        """Return the value of an expression, for a review of `rows` or, with no row, for the restaurant. Raises `Fault`."""
        value = self._value(expression, row)
        if self.observer is not None and id(expression) in self.observer.watched:
            truth = value is not None if self.observer.watched[id(expression)] else bool(value)
            self.observer.counts[id(expression), truth] += 1
        return value

    def _value(self, expression: Expr, row: Values) -> Any:
        match expression:
            case typed.Aggregate():
                return self.aggregate(expression)
            case typed.Literal(value):
                return value
            case typed.Ref(symbol):
                if symbol.kind is SymbolKind.FILTER:
                    return self.value(self.filters[symbol.name], row)
                return row[symbol] if symbol in row else self.shared[symbol]
            case typed.Present(operand):
                found = self.value(operand, row)
                if found is None:
                    name = operand.text if isinstance(operand, typed.Ref) else "a value"
                    raise Fault("null", f"{name} is null", (None,))
                return found
            case typed.Unary(sign, operand):
                number = self.value(operand, row)
                return -number if sign == "-" else number
            case typed.Binary(symbol_, left, right):
                return OPERATORS[symbol_].value(self.value(left, row), self.value(right, row))
            case typed.Call(name, (first, default)) if FUNCTIONS[name].replaces_null:
                found = self.value(first, row)
                return self.value(default, row) if found is None else found
            case typed.Call(name, arguments):
                return FUNCTIONS[name].value(*[self.value(argument, row) for argument in arguments])
            case typed.Comparison(first, operators, rest):
                left_value = self.value(first, row)
                for compare, right in zip(operators, rest, strict=True):
                    right_value = self.value(right, row)
                    if not COMPARE[compare](left_value, right_value):
                        return False
                    left_value = right_value
                return True
            case typed.Logical(word, operands):
                found = None
                for operand in operands:
                    found = self.value(operand, row)
                    if bool(found) is (word == "or"):
                        break
                return found
            case typed.Not(operand):
                return not self.value(operand, row)
            case typed.Conditional(condition, then, otherwise):
                return self.value(then if self.value(condition, row) else otherwise, row)
            case typed.List(items):
                return [self.value(item, row) for item in items]


def value_of(aggregate: typed.Aggregate, terms: Iterable[Any]) -> Value:
    """Return the value of an aggregate over the operand's values for the matching rows. Raises `Fault` if it is too large."""
    operand = aggregate.operand
    value: Value = aggregate.entry.value(terms, operand.info.ty if operand is not None else INTEGER)
    if value is None and aggregate.default is not None:
        value = aggregate.default.value
    return _as_typed(value, aggregate.info.ty)


def _as_typed(value: Value, ty: Type) -> Value:
    """Return the value, an integer as a float where the type is a number."""
    return float(value) if ty.base is Base.NUMBER and isinstance(value, int) else value


def place_of(program: nodes.Program, name: str, kind: str) -> Span | None:
    """The span of the operation that failed, or of its step where several could have; None for an unknown step."""
    step = next((step for step in program.steps if step.name == name), None)
    if step is None:
        return None
    found = [node for node in _reached(program, step) if _may_raise(node, kind)]
    return found[0].info.span if len(found) == 1 and not isinstance(found[0], typed.Aggregate) else step.span


def _reached(program: nodes.Program, step: nodes.Step) -> Iterator[Expr]:
    """Every expression that is evaluated for the step, those of its filters too."""
    filters = {s.name: s.operation.condition for s in program.steps if isinstance(s.operation, nodes.Filter)}
    stack, seen = list(step.expressions()), set[str]()
    while stack:
        for node in typed.walk(stack.pop()):
            yield node
            if isinstance(node, typed.Ref) and node.symbol.kind is SymbolKind.FILTER and node.symbol.name not in seen:
                seen.add(node.symbol.name)
                stack.append(filters[node.symbol.name])


def _may_raise(node: Expr, kind: str) -> bool:
    match node:
        case typed.Present():
            return kind == "null"
        case typed.Aggregate(may_overflow=may_overflow):
            return kind == "overflow" and may_overflow
        case typed.Binary(symbol, is_safe=is_safe, may_overflow=may_overflow):
            return _fails(OPERATORS[symbol], kind, is_safe) or (kind == "overflow" and may_overflow)
        case typed.Call(function, is_safe=is_safe):
            return _fails(FUNCTIONS[function], kind, is_safe)
        case _:
            return False


def _fails(operation: Operation, kind: str, is_safe: bool) -> bool:
    return not is_safe and any(failure.kind == kind for failure in operation.failures)
