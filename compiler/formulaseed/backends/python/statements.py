"""The statements of a generated module's computation, as lines of code.

In: a checked program and the names that its symbols have. Out: indented lines. Used by `plan` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from formulaseed.backends.python.code import Code, addresses_a_tool, comment_text, literal
from formulaseed.backends.python.expressions import ExpressionPrinter, Parts, Printed
from formulaseed.backends.python.schedule import Pass, schedule
from formulaseed.ir import nodes
from formulaseed.ir.text import step_text
from formulaseed.language import typed
from formulaseed.language.operators import AND
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base

_INDENT = "    "

_DEEPEST = 10
"""So many conditions that neighbours share stand inside one another; Python knows a hundred indentations."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The Python names of a program's things."""

    symbols: Mapping[Symbol, Printed]
    locals: Mapping[str, Code]
    types: Mapping[str, Code]
    tables: Mapping[str, Code]
    row: tuple[tuple[Symbol, Code], ...]
    """The fields of a row, in their order, each with the local that a loop unpacks it into."""
    parts: Parts


@dataclass(frozen=True, slots=True)
class _Guarded:
    """Statements under conditions, in one loop: `if a: if b: body`, with neighbours sharing their first ones."""

    conditions: tuple[Expr, ...]
    extra: Code | None
    comment: Code
    body: tuple[Code, ...]
    step: str


class StatementPrinter:
    """Prints the body of `trace` and of `evidence`."""

    def __init__(self, program: nodes.Program, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.filters = {s.name: s for s in program.steps if isinstance(s.operation, nodes.Filter)}
        self.steps = [s for s in program.steps if not isinstance(s.operation, nodes.Filter)]
        self.symbols = dict(vocabulary.symbols)
        self.lazy: set[str] = set()
        self.conditions: dict[Code, Expr] = {}
        """The conditions of rows by how they are printed: the same words may be safe behind one guard, and not another."""
        self.raising: set[int] = set()
        """The conditions of rows that may raise, by identity."""
        self.nullable = {
            *(Symbol(SymbolKind.EXTRACTION, field.name) for field in program.fields if field.ty.nullable),
            *(Symbol(SymbolKind.META, field.name) for field in program.meta if field.ty.nullable),
            *(Symbol(SymbolKind.CONTEXT, field.name) for field in program.context if field.ty.nullable),
            *(Symbol(SymbolKind.STEP, step.name) for step in self.steps if step.ty.nullable),
        }
        self._make_filters_lazy()
        self._find_floats()

    def trace(self) -> list[Code]:
        """Every step's value into its local."""
        return self._computed(self.steps, least_passes=2)

    def _computed(self, steps: Sequence[nodes.Step], least_passes: int) -> list[Code]:
        """The steps' values into their locals; with so many passes over them the rows are kept."""
        items = schedule(steps, self._raises)
        lines: list[Code] = []
        if sum(isinstance(item, Pass) for item in items) >= least_passes:
            lines.append(Code("rows = tuple(rows)"))
        for item in items:
            lines += self._pass(item) if isinstance(item, Pass) else self._step(item)
        return lines

    def _asked_for(self, used: set[Symbol]) -> list[nodes.Step]:
        """The steps among the symbols, and those that they use, in the seed's order."""
        wanted: set[str] = set()
        stack = [symbol.name for symbol in used if symbol.kind is SymbolKind.STEP]
        by_name = {step.name: step for step in self.steps}
        while stack:
            name = stack.pop()
            if name not in wanted:
                wanted.add(name)
                stack += [symbol.name for symbol in by_name[name].symbols() if symbol.kind is SymbolKind.STEP]
        return [step for step in self.steps if step.name in wanted]

    def evidence(self) -> list[Code]:
        """One loop that notes, for each aggregate, the positions of the rows that it counts."""
        aggregates = [step for step in self.steps if step.is_aggregate and not step.part_of]
        guarded = [
            _Guarded(
                self._conditions(step),
                None,
                Code(""),
                (Code(f"counted[{literal(step.name)}].append(position)"),),
                step.owner,
            )
            for step in aggregates
        ]
        used = {s for step in aggregates for part in typed.conjuncts(_where(step)) for s in _symbols(part)}
        head = f"for position, {self._target(used, parenthesized=True)} in enumerate(rows):"
        before = self._asked_for(used)  # a condition of a seed v1 may ask for the value of a step
        lines = self._computed(before, least_passes=1) if before else []
        return [*lines, Code(head), *_indented([*self._filter_lines(used), *self._blocks(guarded)])]

    # --- filters

    def _make_filters_lazy(self) -> None:
        """Some filters are printed where they are used instead of into a local.

        One that may raise, so that it is asked only when it matters; one that tests what may be null, so that
        a type checker sees the test.
        """
        for name, step in self.filters.items():
            operation = step.operation
            assert isinstance(operation, nodes.Filter)
            nullable = any(node.info.ty.nullable for node in typed.walk(operation.condition))
            if nullable or self._printer(name).finished(operation.condition).raises:
                self.lazy.add(name)

    def _find_floats(self) -> None:
        """Note which steps surely are floats: see `Printed.floats`."""
        for step in self.steps:
            symbol = Symbol(SymbolKind.STEP, step.name)
            self.symbols[symbol] = replace(self.symbols[symbol], floats=self._is_float(step))

    def _is_float(self, step: nodes.Step) -> bool:
        printer = self._printer(step.owner)
        match step.operation:
            case nodes.Aggregate("sum"):
                return step.ty.base is Base.NUMBER
            case nodes.Aggregate("max" | "min", expression, _, default) if expression is not None:
                return printer.print(expression).floats and not isinstance(default, int)
            case nodes.Formula(expression):
                return printer.print(expression).floats
            case nodes.Const(value):
                return isinstance(value, float)
            case nodes.Lookup(_, table, _, has_default, default):
                values = [value for _, value in table] + ([default] if has_default else [])
                return all(isinstance(value, float) for value in values)
            case nodes.Case(rules, otherwise):
                return all(isinstance(value, float) for value in (*(then for _, then in rules), otherwise))
            case _:
                return False

    def _printer(self, step: str) -> ExpressionPrinter:
        symbols = self.symbols
        if self.lazy:
            symbols = dict(symbols)
            for name in self.filters:
                if name in self.lazy:
                    operation = self.filters[name].operation
                    assert isinstance(operation, nodes.Filter)
                    printed = ExpressionPrinter(symbols, step, self.vocabulary.parts).finished(operation.condition)
                    symbols[Symbol(SymbolKind.FILTER, name)] = printed
        return ExpressionPrinter(symbols, step, self.vocabulary.parts)

    def _filters_among(self, used: set[Symbol]) -> list[nodes.Step]:
        """The filters that are used, directly or through one another, in the seed's order."""
        wanted: set[str] = set()
        stack = [symbol for symbol in used if symbol.kind is SymbolKind.FILTER]
        while stack:
            name = stack.pop().name
            if name not in wanted:
                wanted.add(name)
                stack += [s for s in self.filters[name].symbols() if s.kind is SymbolKind.FILTER]
        return [step for name, step in self.filters.items() if name in wanted]

    def _filter_lines(self, used: set[Symbol]) -> list[Code]:
        lines: list[Code] = []
        for step in self._filters_among(used):
            if step.name not in self.lazy:
                operation = step.operation
                assert isinstance(operation, nodes.Filter)
                condition = self._printer(step.owner).finished(operation.condition)
                lines.append(_comment(step, "$"))
                lines.append(Code(f"{self.symbols[Symbol(SymbolKind.FILTER, step.name)].code} = {condition.code}"))
        return lines

    # --- loops

    def _conditions(self, step: nodes.Step) -> tuple[Expr, ...]:
        """What must hold for a row to count; equal conditions are one object, so that comparing them takes no time."""
        found = []
        printer = self._printer(step.owner)
        for condition in typed.conjuncts(_where(step)):
            printed = printer.finished(condition)
            known = self.conditions.setdefault(printed.code, condition)
            if printed.raises:
                self.raising.add(id(known))
            found.append(known)
        return tuple(found)

    def _pass(self, item: Pass) -> list[Code]:
        lines = [line for step in item.aggregates for line in self._start(step)]
        guarded = [self._guarded(step) for step in item.aggregates]
        used = {symbol for step in item.aggregates for symbol in step.symbols()}
        lines.append(Code(f"for {self._target(used)} in rows:"))
        return [*lines, *_indented([*self._filter_lines(used), *self._blocks(guarded)]), Code("")]

    def _target(self, used: set[Symbol], parenthesized: bool = False) -> str:
        """What a loop unpacks a row into; a field that the loop does not use goes into `_`."""
        used = used | {symbol for step in self._filters_among(used) for symbol in step.symbols()}
        names = [local if symbol in used else "_" for symbol, local in self.vocabulary.row]
        if all(name == "_" for name in names):
            return "_"
        target = ", ".join(names) + ("," if len(names) == 1 else "")
        return f"({target})" if parenthesized or len(names) == 1 else target

    def _start(self, step: nodes.Step) -> list[Code]:
        local = self.vocabulary.locals[step.name]
        ty = self.vocabulary.types[step.name]
        match step.operation:
            case nodes.Aggregate("max" | "min"):
                plain = ty.removesuffix(" | None")
                return [Code(f"{local}: {plain} | None = None")]
            case nodes.Aggregate("sum") if step.ty.base is Base.NUMBER:
                return [Code(f"{local} = 0.0")]
            case _:
                return [Code(f"{local} = 0")]

    def _guarded(self, step: nodes.Step) -> _Guarded:
        local = self.vocabulary.locals[step.name]
        printer = self._printer(step.owner)
        conditions = self._conditions(step)
        comment = _comment(step)
        match step.operation:
            case nodes.Aggregate("sum", expression) if expression is not None:
                value = printer.print(expression)
                tests_raise = any(printer.finished(condition).raises for condition in conditions)
                if value.raises or tests_raise or step.ty.base is Base.INTEGER:
                    value = printer.settled(value)
                return _Guarded(conditions, None, comment, (Code(f"{local} += {value.code}"),), step.owner)
            case nodes.Aggregate("max" | "min" as function, expression) if expression is not None:
                value = printer.finished(expression)
                sign = ">" if function == "max" else "<"
                if isinstance(expression, typed.Ref):
                    better = Code(f"({local} is None or {value.code} {sign} {local})")
                    return _Guarded(conditions, better, comment, (Code(f"{local} = {value.code}"),), step.owner)
                candidate = self.vocabulary.locals[f"candidate {step.name}"]
                body = (
                    Code(f"{candidate} = {value.code}"),
                    Code(f"if {local} is None or {candidate} {sign} {local}:"),
                    Code(f"{_INDENT}{local} = {candidate}"),
                )
                return _Guarded(conditions, None, comment, body, step.owner)
            case _:
                return _Guarded(conditions, None, comment, (Code(f"{local} += 1"),), step.owner)

    def _blocks(self, guarded: Sequence[_Guarded], depth: int = 0) -> list[Code]:
        """Neighbours that share a condition stand under one `if`."""
        known = [frozenset(map(id, g.conditions)) for g in guarded]
        raising = [any(id(condition) in self.raising for condition in g.conditions) for g in guarded]
        lines: list[Code] = []
        index = 0
        while index < len(guarded):
            shared, end = self._shared(guarded, known, raising, index) if depth < _DEEPEST else (None, index)
            if shared is None:
                lines += self._block(guarded[index])
                index += 1
                continue
            inner = [
                replace(g, conditions=tuple(c for c in g.conditions if c is not shared)) for g in guarded[index:end]
            ]
            head = self._condition((shared,), None, guarded[index].step)
            lines += [Code(f"if {head}:"), *_indented(self._blocks(inner, depth + 1))]
            index = end
        return lines

    def _shared(
        self, guarded: Sequence[_Guarded], known: Sequence[frozenset[int]], raising: Sequence[bool], index: int
    ) -> tuple[Expr | None, int]:
        """The condition that most neighbours from `index` on share, and where they end; None where none does.

        One that is not the first of all of them is moved before others, which is only right where none can raise, and
        where it needs none of the others to hold.
        """
        best, best_end = None, index + 1
        for condition in guarded[index].conditions:
            end = index
            while end < len(guarded) and id(condition) in known[end]:
                end += 1
            is_first = all(g.conditions[0] is condition for g in guarded[index:end])
            if end > best_end and (is_first or (self._stands_alone(condition) and not any(raising[index:end]))):
                best, best_end = condition, end
        return best, best_end

    def _stands_alone(self, condition: Expr) -> bool:
        """Whether Python computes it whatever the inputs are: no condition before it keeps it from a fault.

        Where another decides that a row does not count, a sum that is infinite then does no harm.
        """
        match condition:
            case typed.Ref(Symbol(SymbolKind.FILTER, name)):
                operation = self.filters[name].operation
                assert isinstance(operation, nodes.Filter)
                return name not in self.lazy or self._stands_alone(operation.condition)
            case typed.Ref(symbol):
                return symbol not in self.nullable
            case typed.Comparison(first, operators, rest) if all(
                operator in ("==", "!=") or isinstance(right, typed.List)
                for operator, right in zip(operators, rest, strict=True)
            ):  # which null takes part in
                return all(
                    self._stands_alone(operand)
                    for operand in (first, *rest)
                    if not (isinstance(operand, typed.Ref) and operand.symbol in self.nullable)
                )
            case typed.Binary(operator) if operator not in ("+", "-", "*"):
                return False
            case typed.Call() | typed.Present():
                return False
            case _:
                return all(map(self._stands_alone, typed.children(condition)))

    def _block(self, guarded: _Guarded) -> list[Code]:
        lines = [guarded.comment] if guarded.comment else []
        condition = self._condition(guarded.conditions, guarded.extra, guarded.step)
        if not condition:
            return [*lines, *guarded.body]
        return [*lines, Code(f"if {condition}:"), *_indented(guarded.body)]

    def _condition(self, conditions: Sequence[Expr], extra: Code | None, step: str) -> Code:
        printer = self._printer(step)
        parts = [printer.finished(condition) for condition in conditions]
        if parts and parts[0].code == "False":
            return parts[0].code
        if extra is None:
            if len(parts) == 1:
                return parts[0].code
            return Code(" and ".join(part.at(AND + 1) for part in parts))
        if not parts:
            return Code(extra[1:-1])
        return Code(" and ".join([*(part.at(AND + 1) for part in parts), extra]))

    # --- steps

    def _step(self, step: nodes.Step) -> list[Code]:
        local = self.vocabulary.locals[step.name]
        printer = self._printer(step.owner)
        name = literal(step.owner)
        match step.operation:
            case nodes.Aggregate(default=default, may_overflow=may_overflow):
                if may_overflow:
                    return [Code(f"{local} = _finite({local}, {name})")]
                if default is None:
                    return []
                comment = Code(f"# {step.name}, over no review")
                return [comment, Code(f"if {local} is None:"), Code(f"{_INDENT}{local} = {literal(default)}")]
            case nodes.Lookup():
                return [_comment(step), *self._lookup(step, step.operation, printer)]
            case nodes.Formula(expression):
                value = printer.finished(expression)
                return [_comment(step), Code(f"{self._declared(step)} = {value.code}")]
            case nodes.Const(value_):
                return [_comment(step), Code(f"{self._declared(step)} = {literal(value_)}")]
            case nodes.Case():
                return self._case(step, step.operation, printer)
            case nodes.Filter():
                raise AssertionError("filters are no values")

    def _declared(self, step: nodes.Step) -> str:
        """The step's local, with its type where a type checker would infer another."""
        local = self.vocabulary.locals[step.name]
        operation = step.operation
        constant = isinstance(operation, nodes.Const) or (
            isinstance(operation, nodes.Formula) and operation.expression.info.is_constant
        )
        if step.ty.values is None and not step.ty.nullable and not constant:
            return local
        return f"{local}: {self.vocabulary.types[step.name]}"

    def _lookup(self, step: nodes.Step, operation: nodes.Lookup, printer: ExpressionPrinter) -> list[Code]:
        table, name = self.vocabulary.tables[step.name], literal(step.name)
        source = printer.finished(operation.source).code
        default = literal(operation.default) if operation.has_default else Code("None")
        if operation.match == "exact":
            found = f"{table}.get({source})" if operation.default is None else f"{table}.get({source}, {default})"
        else:
            found = f"_{operation.match}({table}, {source}, {default})"
        if not operation.has_default:
            found = f"_found({found}, {source}, {name})"
        return [Code(f"{self._declared(step)} = {found}")]

    def _case(self, step: nodes.Step, operation: nodes.Case, printer: ExpressionPrinter) -> list[Code]:
        local = self.vocabulary.locals[step.name]
        lines = [_comment(step), Code(f"{local}: {self.vocabulary.types[step.name]}")]
        if not operation.rules:
            return [lines[0], Code(f"{lines[1]} = {literal(operation.otherwise)}")]
        word = "if"
        for condition, then in operation.rules:
            lines += [
                Code(f"{word} {printer.finished(condition).code}:"),
                Code(f"{_INDENT}{local} = {literal(then)}"),
            ]
            word = "elif"
        return [*lines, Code("else:"), Code(f"{_INDENT}{local} = {literal(operation.otherwise)}")]

    def _raises(self, step: nodes.Step) -> bool:
        """Whether the step may raise where it is computed; of an aggregate, inside its loop."""
        printer = self._printer(step.owner)
        operation = step.operation
        if isinstance(operation, nodes.Aggregate) and operation.function == "sum" and operation.expression is not None:
            value = printer.print(operation.expression)
            where = operation.where is not None and printer.finished(operation.where).raises
            return value.raises or where
        if isinstance(operation, nodes.Lookup) and not operation.has_default:
            return True
        return any(printer.finished(expression).raises for expression in step.expressions())


def _where(step: nodes.Step) -> Expr | None:
    operation = step.operation
    assert isinstance(operation, nodes.Aggregate)
    return operation.where


def _symbols(expression: Expr) -> list[Symbol]:
    return [node.symbol for node in typed.walk(expression) if isinstance(node, typed.Ref)]


def _comment(step: nodes.Step, sign: str = "") -> Code:
    part = f", part of {step.part_of}" if step.part_of else ""
    text = f"{sign}{step.name}{part}: {comment_text(step_text(step))}"
    return Code(f"# step {text}" if addresses_a_tool(text) else f"# {text}")


def _indented(lines: Sequence[Code]) -> list[Code]:
    return [Code(f"{_INDENT}{line}") for line in lines]
