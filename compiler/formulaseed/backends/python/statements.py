"""Print the statements of a generated module's computation.

In: a checked program and the names that its symbols have. Out: blocks. Used by `plan` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formulaseed.backends.python.accumulators import AggregatePrinter, exact, print_starts
from formulaseed.backends.python.blocks import Block, Branch, Choice, Comment, Loop, Statement
from formulaseed.backends.python.code import Code, addresses_a_tool, comment_text, literal
from formulaseed.backends.python.expressions import ExpressionPrinter
from formulaseed.backends.python.nesting import Guarded, Test, nest
from formulaseed.backends.python.printed import Parts, Printed
from formulaseed.backends.python.schedule import Pass, schedule
from formulaseed.ir import nodes
from formulaseed.ir.hoisting import HoistedProgram
from formulaseed.ir.text import step_text
from formulaseed.language import typed
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base, Value


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The Python names of what a program consists of."""

    symbols: Mapping[Symbol, Printed]
    locals: Mapping[str, Code]
    types: Mapping[str, Code]
    tables: Mapping[str, Code]
    row: tuple[tuple[Symbol, Code], ...]
    """The fields of a row, in their order, each with the local that a loop unpacks it into."""
    parts: Parts
    constants: Mapping[Code, Code]
    """The names of lists, each by the list as it is printed."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The statements of `evidence`: what each aggregate begins with, the steps that conditions need, and the loop.

    `loop` is None if every aggregate counts all rows.
    """

    starts: tuple[Code, ...]
    before: tuple[Block, ...] = ()
    loop: Loop | None = None


class StatementPrinter:
    """Prints the bodies of `_compute` and `evidence`."""

    def __init__(self, program: nodes.Program, hoisted: HoistedProgram, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.hoisted = hoisted
        self.filters = {s.name: s for s in hoisted.steps if isinstance(s.operation, nodes.Filter)}
        self.steps = [s for s in hoisted.steps if not isinstance(s.operation, nodes.Filter)]
        self.symbols = dict(vocabulary.symbols)
        self.inlined: dict[str, None] = {}
        self.tests: dict[Code, Test] = {}
        """The conditions of rows by how they are printed: the same words may be safe behind one guard, and not another."""
        inputs = (
            (SymbolKind.EXTRACTION, program.fields),
            (SymbolKind.META, program.meta),
            (SymbolKind.CONTEXT, program.context),
        )
        self.nullable = {Symbol(kind, field.name) for kind, fields in inputs for field in fields if field.ty.nullable}
        self.nullable |= {Symbol(SymbolKind.STEP, step.name) for step in self.steps if step.ty.nullable}
        self._inline_filters()

    def computation(self) -> list[Block]:
        """Return the statements that compute every step's value into its local."""
        return self._compute(self.steps)

    def _compute(self, steps: Sequence[nodes.Step]) -> list[Block]:
        blocks: list[Block] = []
        for item in schedule(steps, self._raises):
            blocks += self._pass(item) if isinstance(item, Pass) else self._step(item)
        return blocks

    def _needed_for(self, used: set[Symbol]) -> list[nodes.Step]:
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

    def evidence(self) -> Evidence:
        """Return the statements of `evidence`: a loop that notes for each aggregate the rows that it counts."""
        starts = []
        items = []
        for step in self.steps:
            if step.aggregate is not None and not self.hoisted.is_part(step):
                counts_all = step.aggregate.where is None and not step.aggregate.needs_pass
                starts.append(Code(f"{literal(step.name)}: {'list(range(len(rows)))' if counts_all else '[]'}"))
                if not counts_all:
                    body = (Statement(Code(f"positions[{literal(step.name)}].append(position)")),)
                    items.append(Guarded(self._tests(step), body))
        used = {symbol for item in items for test in item.tests for symbol in typed.symbols_in(test.expression)}
        if not items:
            return Evidence(tuple(starts))
        before = self._compute(self._needed_for(used))  # a condition of a seed v1 may ask for the value of a step
        loop = Loop(self._target(used, parenthesized=True), tuple(self._body(items, used)))
        return Evidence(tuple(starts), tuple(before), loop)

    # --- filters

    def _inline_filters(self) -> None:
        """Some filters are printed where they are used instead of into a local.

        One that may raise, so that it is asked only when it matters; one that tests what may be null, so that
        a type checker sees the test.
        """
        for name, step in self.filters.items():
            condition = _condition(step)
            printed = self._printer(name).finished(condition)
            if printed.raises or any(node.info.ty.nullable for node in typed.walk(condition)):
                self.inlined[name] = None
                self.symbols[Symbol(SymbolKind.FILTER, name)] = printed

    def _printer(self, step: str) -> ExpressionPrinter:
        vocabulary = self.vocabulary
        symbols = dict(self.symbols)
        # The errors of filters that are inlined name this step.
        for name in self.inlined:
            printer = ExpressionPrinter(symbols, step, vocabulary.parts, vocabulary.constants)
            symbols[Symbol(SymbolKind.FILTER, name)] = printer.finished(_condition(self.filters[name]))
        return ExpressionPrinter(symbols, step, vocabulary.parts, vocabulary.constants)

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

    # --- loops

    def _tests(self, step: nodes.Step) -> tuple[Test, ...]:
        """Return the conditions for a row to count; equal conditions are one object."""
        printer = self._printer(self.hoisted.author(step))
        where = step.aggregate.where if step.aggregate is not None else None
        return tuple(self._test(condition, printer) for condition in typed.conjuncts(where))

    def _test(self, condition: Expr, printer: ExpressionPrinter) -> Test:
        printed = printer.finished(condition)
        if printed.code not in self.tests:
            filter_ = label = ""
            if isinstance(condition, typed.Ref) and condition.symbol.kind is SymbolKind.FILTER:
                if condition.symbol.name in self.inlined:
                    label = condition.text
                else:
                    filter_ = condition.symbol.name
            safe = not printed.raises and self._is_independent(condition)
            self.tests[printed.code] = Test(condition, printed, safe, filter_, label)
        return self.tests[printed.code]

    def _is_independent(self, condition: Expr) -> bool:
        """Whether Python computes it whatever the inputs are: no condition before it keeps it from a fault.

        Where another decides that a row does not count, a sum that is infinite then does no harm.
        """
        match condition:
            case typed.Ref(Symbol(SymbolKind.FILTER, name)):
                return name not in self.inlined or self._is_independent(_condition(self.filters[name]))
            case typed.Ref(symbol):
                return symbol not in self.nullable
            case typed.Comparison(first, operators, rest) if all(
                operator in ("==", "!=") or isinstance(right, typed.List)
                for operator, right in zip(operators, rest, strict=True)
            ):  # which null takes part in
                return all(
                    self._is_independent(operand)
                    for operand in (first, *rest)
                    if not (isinstance(operand, typed.Ref) and operand.symbol in self.nullable)
                )
            case typed.Binary(operator) if operator not in ("+", "-", "*"):
                return False
            case typed.Call() | typed.Present():
                return False
            case _:
                return all(map(self._is_independent, typed.children(condition)))

    def _pass(self, item: Pass) -> list[Block]:
        starts = print_starts([self._aggregate(step) for step in item.aggregates])
        guarded = [self._guarded(step) for step in item.aggregates]
        used = {symbol for step in item.aggregates for symbol in step.symbols()}
        return [*starts, Loop(self._target(used), tuple(self._body(guarded, used)))]

    def _body(self, items: Sequence[Guarded], used: set[Symbol]) -> list[Block]:
        """Return the statements of a loop: the filters in use, then what is counted under conditions."""
        filters = {s.name: s for s in self._filters_among(used) if s.name not in self.inlined}
        contents = {
            name: tuple(self._test(part, self._printer(name)) for part in typed.conjuncts(_condition(step)))
            for name, step in filters.items()
        }
        private = self._used_as_conditions_only(items, filters)
        blocks, opened = nest(items, {name: contents[name] for name in private})
        for name in opened:
            del filters[name]
        before: list[Block] = []
        for name, step in filters.items():
            local = self.symbols[Symbol(SymbolKind.FILTER, name)].code
            condition = self._printer(name).finished(_condition(step))
            before.append(Statement(Code(f"{local} = {condition.code}")))
        return [*before, *blocks]

    def _used_as_conditions_only(self, items: Sequence[Guarded], filters: Mapping[str, nodes.Step]) -> list[str]:
        """The filters that no formula, and no part of a condition, uses."""
        elsewhere: set[Symbol] = set()
        for item in items:
            for test in item.tests:
                if not test.filter:
                    elsewhere.update(typed.symbols_in(test.expression))
            elsewhere.update(item.symbols)
        for step in filters.values():
            elsewhere.update(step.symbols())
        return [name for name in filters if Symbol(SymbolKind.FILTER, name) not in elsewhere]

    def _target(self, used: set[Symbol], parenthesized: bool = False) -> Code:
        """Return what a loop unpacks a row into; a field that the loop does not use goes into `_`."""
        used = used | {symbol for step in self._filters_among(used) for symbol in step.symbols()}
        names = [local if symbol in used else "_" for symbol, local in self.vocabulary.row]
        if all(name == "_" for name in names):
            return Code("_")
        target = ", ".join(names) + ("," if len(names) == 1 else "")
        return Code(f"({target})" if parenthesized or len(names) == 1 else target)

    def _aggregate(self, step: nodes.Step) -> AggregatePrinter:
        return AggregatePrinter(step, self.vocabulary.locals, self.vocabulary.types, self.hoisted.author(step))

    def _guarded(self, step: nodes.Step) -> Guarded:
        """Return the statements of an aggregate for a row, with their conditions."""
        aggregate = self._aggregate(step)
        printer = self._printer(self.hoisted.author(step))
        tests = self._tests(step)
        condition = aggregate.condition()
        operand = aggregate.aggregate.operand
        if condition is not None:
            tests += tuple(self._test(part, printer) for part in typed.conjuncts(condition))
        body, raises = aggregate.row(printer, tests_raise=any(test.printed.raises for test in tests))
        comment = self._comment(step)
        in_body = operand is not None and condition is None
        symbols = frozenset(typed.symbols_in(operand)) if in_body and operand is not None else frozenset()
        return Guarded(tests, (*comment, *body), raises, symbols)

    # --- steps

    def _step(self, step: nodes.Step) -> list[Block]:
        printer = self._printer(self.hoisted.author(step))
        match step.operation:
            case nodes.Formula(typed.Aggregate()):
                return self._aggregate(step).result()
            case nodes.Lookup():
                value = self._lookup(step, step.operation, printer)
            case nodes.Formula(expression):
                return self._formula(step, expression, printer)
            case nodes.Const(constant):
                value = literal(exact(constant, step.ty))
            case nodes.Case():
                return self._case(step, step.operation, printer)
            case nodes.Filter():
                raise AssertionError("filters are no values")
        return [Statement(Code(f"{self._declared(step)} = {value}"))]

    def _formula(self, step: nodes.Step, expression: Expr, printer: ExpressionPrinter) -> list[Block]:
        """Return the assignment of a formula's value, or a choice if it is a chain of conditional expressions."""
        as_float = step.ty.base is Base.NUMBER
        if not _is_chain(expression):
            return [Statement(Code(f"{self._declared(step)} = {printer.finished(expression, as_float=as_float).code}"))]
        local = self.vocabulary.locals[step.name]

        def assign(value: Expr) -> tuple[Block, ...]:
            if isinstance(value, typed.Conditional):
                return (choose(value),)
            return (Statement(Code(f"{local} = {printer.finished(value, as_float=as_float).code}")),)

        def choose(chain: Expr) -> Choice:
            branches: list[Branch] = []
            while isinstance(chain, typed.Conditional):
                branches.append(Branch(printer.finished(chain.condition).code, assign(chain.then)))
                chain = chain.otherwise
            return Choice(tuple(branches), assign(chain))

        return [*self._declaration(step), choose(expression)]

    def _declaration(self, step: nodes.Step) -> list[Block]:
        """Return the declaration of the step's local before a choice, if a type checker would infer another type."""
        if step.ty.values is None and not step.ty.nullable:
            return []
        return [Statement(Code(f"{self.vocabulary.locals[step.name]}: {self.vocabulary.types[step.name]}"))]

    def _declared(self, step: nodes.Step) -> str:
        """Return the step's local, with its type if a type checker would infer another."""
        local = self.vocabulary.locals[step.name]
        operation = step.operation
        constant = isinstance(operation, nodes.Const) or (
            isinstance(operation, nodes.Formula) and operation.expression.info.is_constant
        )
        if step.ty.values is None and not step.ty.nullable and not constant:
            return local
        return f"{local}: {self.vocabulary.types[step.name]}"

    def _lookup(self, step: nodes.Step, operation: nodes.Lookup, printer: ExpressionPrinter) -> Code:
        table = self.vocabulary.tables[step.name]
        name = literal(step.name)
        source = printer.finished(operation.source).code
        default = literal(exact(operation.default, step.ty)) if operation.has_default else Code("None")
        if operation.match == "exact":
            value = f"{table}.get({source})" if operation.default is None else f"{table}.get({source}, {default})"
        else:  # the values of the other are in order, so that the first matching key has the highest
            value = f"_substring_first({table}, {source}, {default})"
        return Code(value if operation.has_default else f"_require_match({value}, {source}, {name})")

    def _case(self, step: nodes.Step, operation: nodes.Case, printer: ExpressionPrinter) -> list[Block]:
        local = self.vocabulary.locals[step.name]

        def assign(value: Value) -> Statement:
            return Statement(Code(f"{local} = {literal(exact(value, step.ty))}"))

        if not operation.rules:
            otherwise = literal(exact(operation.otherwise, step.ty))
            return [Statement(Code(f"{local}: {self.vocabulary.types[step.name]} = {otherwise}"))]
        branches = tuple(
            Branch(printer.finished(condition).code, (assign(then),)) for condition, then in operation.rules
        )
        return [*self._declaration(step), Choice(branches, (assign(operation.otherwise),))]

    def _raises(self, step: nodes.Step) -> bool:
        """Return True if the computation of a step may raise; for an aggregate, that inside its loop."""
        printer = self._printer(self.hoisted.author(step))
        if step.aggregate is not None:
            operand = step.aggregate.operand
            where = step.aggregate.where
            # Infinity may reach a total, which is checked after the loop.
            print_operand = printer.finished if step.aggregate.entry.intermediate is None else printer.print
            operand_raises = operand is not None and print_operand(operand).raises
            return operand_raises or (where is not None and printer.finished(where).raises)
        if isinstance(step.operation, nodes.Lookup) and not step.operation.has_default:
            return True
        return any(printer.finished(expression).raises for expression in step.expressions())

    def _comment(self, step: nodes.Step) -> list[Block]:
        """Return the comment before a step that is a part of a formula; nothing before any other step."""
        if not self.hoisted.is_part(step):
            return []
        text = f"{step.name}, part of {self.hoisted.author(step)}: {comment_text(step_text(step))}"
        return [Comment(Code(f"step {text}" if addresses_a_tool(text) else text))]


def _is_chain(expression: Expr) -> bool:
    """Return whether the expression is a conditional one that chooses among further conditional ones."""
    return isinstance(expression, typed.Conditional) and (
        isinstance(expression.then, typed.Conditional) or isinstance(expression.otherwise, typed.Conditional)
    )


def _condition(step: nodes.Step) -> Expr:
    assert isinstance(step.operation, nodes.Filter)
    return step.operation.condition
