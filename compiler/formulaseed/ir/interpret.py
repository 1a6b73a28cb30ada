"""The reference evaluator: a plain walk over the checked tree, slow and obviously right.

In: a checked program, JSON rows and a JSON context. Out: every step's value. What every backend is compared
with; shares nothing with them but the tree and the table of operators and functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from formulaseed import limits
from formulaseed.domain.builtins import COMPARE, FUNCTIONS, OPERATORS, Fault, finite
from formulaseed.domain.types import Base, Type, Value
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.nodes import Expr, Symbol, SymbolKind

_KINDS = {
    Base.INTEGER: (int,),
    Base.NUMBER: (int, float),
    Base.BOOLEAN: (bool,),
    Base.STRING: (str,),
}
Values = dict[Symbol, Any]


def interpret(
    program: nodes.Program,
    rows: Iterable[Mapping[str, Any]],
    context: Mapping[str, Any],
    parameters: Mapping[str, Value] | None = None,
    record: Mapping[str, Any] | None = None,
) -> dict[str, Value]:
    """Every step's value by name, in the seed's order; filters and parts of other steps are left out.

    `record` holds the fields of a domain's entities by their full names; an entity itself is true, or null.

    Raises `EvaluationError` for the first step, in that order, that has no value, and `DataError` for a row
    or context that lacks what the seed uses.
    """
    used = program.used()
    shared: Values = {Symbol(SymbolKind.PARAMETER, p.name): p.default for p in program.parameters}
    known = {p.name: p for p in program.parameters}
    for name, value in (parameters or {}).items():
        if name not in known:
            raise DataError(f"there is no parameter `{name}`")
        shared[Symbol(SymbolKind.PARAMETER, name)] = _parameter(known[name], value)
    shared.update(_inputs(program.context, SymbolKind.CONTEXT, context, used))
    for given in program.record:
        value = (record or {}).get(given.name)
        if value is None and not given.ty.nullable:
            raise DataError(f"`{program.spelled(given.name)}` is missing; it must be {given.ty.noun}")
        shared[Symbol(SymbolKind.FIELD, given.name)] = _read(value, given.ty, program.spelled(given.name))
    evaluator = _Evaluator(shared, [_row(program, row, used) for row in rows])
    for step in program.steps:
        evaluator.step(step)
    return evaluator.results


def _row(program: nodes.Program, row: Mapping[str, Any], used: frozenset[Symbol]) -> Values:
    meta = {name: value for name, value in row.get("meta", {}).items() if value is not None}
    for part, (name, most) in enumerate((("year", 9999), ("month", 12))):
        if Symbol(SymbolKind.META, name) in used and name not in meta and isinstance(meta.get("date"), str):
            parts = meta["date"][:10].split("-")
            if len(parts) != 3 or not parts[part].isdecimal() or not 1 <= int(parts[part]) <= most:
                raise DataError("`meta.date` must be YYYY-MM-DD")
            meta[name] = int(parts[part])
    values = _inputs(program.fields, SymbolKind.EXTRACTION, row.get("extraction", {}), used)
    return {**values, **_inputs(program.meta, SymbolKind.META, meta, used)}


def _inputs(
    fields: Iterable[nodes.InputField | nodes.ExtractionField],
    kind: SymbolKind,
    given: Mapping[str, Any],
    used: frozenset[Symbol],
) -> Values:
    return {Symbol(kind, f.name): _input(given, kind, f) for f in fields if Symbol(kind, f.name) in used}


def _input(given: Mapping[str, Any], kind: SymbolKind, field: nodes.InputField | nodes.ExtractionField) -> Any:
    value = given.get(field.name)
    if value is None and isinstance(field, nodes.ExtractionField):
        value = field.default
    return _read(value, field.ty, f"{kind.value}.{field.name}")


def _read(value: Any, ty: Type, place: str) -> Any:
    if value is None and ty.nullable:
        return None
    if isinstance(value, float) and ty.base is Base.INTEGER and value.is_integer():
        value = int(value)
    if not isinstance(value, _KINDS[ty.base]) or (isinstance(value, bool) and ty.base is not Base.BOOLEAN):
        raise DataError(f"`{place}` must be of type {ty}, not {repr(value)[:80]}")
    if ty.values is not None and value not in ty.values:
        raise DataError(f"`{place}` must be of type {ty}, not {repr(value)[:80]}")
    most = limits.INPUT_MAX if ty.base is Base.NUMBER else limits.INTEGER_MAX
    if isinstance(value, int | float) and not abs(value) <= most:  # NaN is not
        raise DataError(f"`{place}` is out of range: {repr(value)[:80]}")
    return float(value) if ty.base is Base.NUMBER else value


def _parameter(parameter: nodes.Parameter, value: Any) -> Any:
    given = nodes.InputField(parameter.name, parameter.ty, "")
    read = _input({parameter.name: value}, SymbolKind.PARAMETER, given)
    low, high = parameter.minimum, parameter.maximum
    if (low is not None and read < low) or (high is not None and read > high):
        raise DataError(f"`param.{parameter.name}` is out of bounds: {value!r}")
    return read


@dataclass
class _Evaluator:
    shared: Values
    rows: list[Values]
    filters: dict[str, Expr] = field(default_factory=dict)
    results: dict[str, Value] = field(default_factory=dict)

    def step(self, step: nodes.Step) -> None:
        if isinstance(step.operation, nodes.Filter):
            self.filters[step.name] = step.operation.condition
            return
        try:
            value = self.operation(step.operation, step.ty)
        except Fault as fault:
            raise EvaluationError(step.owner, fault.kind, fault.message, fault.operands) from None
        if not step.part_of:
            self.results[step.name] = value
        self.shared[Symbol(SymbolKind.STEP, step.name)] = value

    def operation(self, operation: nodes.Operation, ty: Type) -> Value:
        match operation:
            case nodes.Count(where):
                return sum(1 for _ in self.matching(where))
            case nodes.Sum(expression, where):
                total: int | float = 0 if ty.base is Base.INTEGER else 0.0
                for row in self.matching(where):
                    total += self.value(expression, row)
                return finite(total)
            case nodes.Extreme(largest, expression, where, default):
                best = None
                for row in self.matching(where):
                    value = self.value(expression, row)
                    if best is None or (value > best if largest else value < best):
                        best = value
                return default if best is None else best
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

    def matching(self, where: Expr | None) -> Iterable[Values]:
        return (row for row in self.rows if where is None or self.value(where, row))

    def lookup(self, operation: nodes.Lookup) -> Value:
        source = self.value(operation.source, {})
        if operation.match == "exact":
            found: list[Any] = [value for key, value in operation.table if key == source]
        else:
            found = [value for key, value in operation.table if key in source]
        if not found:
            if operation.has_default:
                return operation.default
            raise Fault("lookup", f"no key of the table is found in {source!r}", (source,))
        result: Value = max(found) if operation.match == "substring_max" else found[0]
        return result

    def value(self, expression: Expr, row: Values) -> Any:
        match expression:
            case nodes.Literal(value):
                return value
            case nodes.Ref(symbol):
                if symbol.kind is SymbolKind.FILTER:
                    return self.value(self.filters[symbol.name], row)
                return row[symbol] if symbol in row else self.shared[symbol]
            case nodes.Present(operand):
                found = self.value(operand, row)
                if found is None:
                    name = operand.text if isinstance(operand, nodes.Ref) else "a value"
                    raise Fault("null", f"{name} is null", (None,))
                return found
            case nodes.Unary(sign, operand):
                number = self.value(operand, row)
                return -number if sign == "-" else number
            case nodes.Binary(symbol_, left, right):
                return OPERATORS[symbol_].apply(self.value(left, row), self.value(right, row))
            case nodes.Call(name, arguments):
                return FUNCTIONS[name].apply(*[self.value(argument, row) for argument in arguments])
            case nodes.Comparison(first, operators, rest):
                left_value = self.value(first, row)
                for compare, right in zip(operators, rest, strict=True):
                    right_value = self.value(right, row)
                    if not COMPARE[compare](left_value, right_value):
                        return False
                    left_value = right_value
                return True
            case nodes.Logical(word, operands):
                found = None
                for operand in operands:
                    found = self.value(operand, row)
                    if bool(found) is (word == "or"):
                        break
                return found
            case nodes.Not(operand):
                return not self.value(operand, row)
            case nodes.Conditional(condition, then, otherwise):
                return self.value(then if self.value(condition, row) else otherwise, row)
            case nodes.List(items):
                return [self.value(item, row) for item in items]
