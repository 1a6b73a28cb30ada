"""Print the statements of a generated module's computation.

In: a checked program and the names that its symbols have. Out: blocks. Used by `plan` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formulaseed.backends.python.accumulators import AggregatePrinter, convert_number, print_starts
from formulaseed.backends.python.blocks import Block, Branch, IfStatement, Loop, Statement, print_comments
from formulaseed.backends.python.code import Code, addresses_a_tool, comment_text, literal
from formulaseed.backends.python.expressions import ExpressionPrinter
from formulaseed.backends.python.nesting import Guarded, Test, nest
from formulaseed.backends.python.printed import PartLocals, Printed
from formulaseed.backends.python.schedule import Pass, schedule
from formulaseed.ir import nodes
from formulaseed.ir.hoisting import HoistedProgram
from formulaseed.ir.text import step_text
from formulaseed.language import typed
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base, Value


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The Python names of a program's symbols, steps, types, tables and lists."""

    symbols: Mapping[Symbol, Printed]
    locals: Mapping[str, Code]
    """The locals of steps by name, and the other locals of an aggregate by suffix and name (`total MEAN`)."""
    types: Mapping[str, Code]
    """The types of steps by name, and those of the operands of aggregates as `operand MEAN`."""
    tables: Mapping[str, Code]
    """The constants that hold the tables of lookups, by step."""
    row: tuple[tuple[Symbol, Code], ...]
    """The fields of a row, in their order, each with the local that a loop unpacks it into."""
    parts: PartLocals
    constants: Mapping[Code, Code]
    """The names of lists, each by the list as it is printed."""


@dataclass(frozen=True, slots=True)
class EvidenceBody:
    """The statements of `evidence`: the first positions of each aggregate, the steps that conditions need, and the loop.

    `loop` is None if every aggregate counts all rows.
    """

    starts: tuple[Code, ...]
    before: tuple[Block, ...] = ()
    loop: Loop | None = None


class StatementPrinter:
    """A printer of the bodies of `_compute` and `evidence` in the module of a seed."""

    def __init__(self, program: nodes.Program, hoisted: HoistedProgram, vocabulary: Vocabulary) -> None:
        """Note the steps, and choose the filters to inline. Nothing is printed yet."""
        self.vocabulary = vocabulary
        self.hoisted = hoisted
        self.filters = {s.name: s for s in hoisted.steps if isinstance(s.operation, nodes.Filter)}
        self.steps = [s for s in hoisted.steps if not isinstance(s.operation, nodes.Filter)]
        self.symbols = dict(vocabulary.symbols)
        self.inlined: dict[str, None] = {}
        """The filters that are printed at each use, in the seed's order."""
        self.tests: dict[Code, Test] = {}
        """The conditions of rows by their code: one expression may be safe behind one guard, and not behind another."""
        inputs = (
            (SymbolKind.EXTRACTION, program.fields),
            (SymbolKind.META, program.meta),
            (SymbolKind.CONTEXT, program.context),
        )
        self.nullable = {Symbol(kind, field.name) for kind, fields in inputs for field in fields if field.ty.nullable}
        self.nullable |= {Symbol(SymbolKind.STEP, step.name) for step in self.steps if step.ty.nullable}
        self._inline_filters()

    def print_computation(self) -> list[Block]:
        """Return the statements that compute every step's value into its local."""
        return self._print_steps(self.steps)

    def _print_steps(self, steps: Sequence[nodes.Step]) -> list[Block]:
        """Print the statements that compute `steps` into their locals, in the order of `schedule`."""
        blocks: list[Block] = []
        for item in schedule(steps, self._may_raise):
            blocks += self._print_pass(item) if isinstance(item, Pass) else self._print_step(item)
        return blocks

    def print_evidence(self) -> EvidenceBody:
        """Return the statements of `evidence`: a loop that collects, for each aggregate, the positions of its rows.

        Parts of formulas are left out. An aggregate that counts all rows has all positions from the start, without a
        loop.
        """
        starts = []
        items = []
        for step in self.steps:
            if step.aggregate is not None and not self.hoisted.is_part(step):
                if step.aggregate.where is None and not step.aggregate.needs_pass:
                    starts.append(Code(f"{literal(step.name)}: list(range(len(rows)))"))
                    continue
                starts.append(Code(f"{literal(step.name)}: []"))
                body = (Statement(Code(f"positions[{literal(step.name)}].append(position)")),)
                items.append(Guarded(self._plan_tests(step), body))
        if not items:
            return EvidenceBody(tuple(starts))
        used = {symbol for item in items for test in item.tests for symbol in typed.symbols_in(test.expression)}
        # A condition of a seed v1 may use the value of a step.
        before = self._print_steps(_find_dependencies(used, SymbolKind.STEP, self.steps))
        loop = Loop(self._print_target(used, parenthesized=True), tuple(self._print_body(items, used)))
        return EvidenceBody(tuple(starts), tuple(before), loop)

    # --- filters

    def _inline_filters(self) -> None:
        """Choose the filters that are printed at each use instead of into a local: set their code in `self.symbols`.

        One that may raise is evaluated only when it matters. One that tests a value that may be null is inlined so that a
        type checker sees the test.
        """
        for name, step in self.filters.items():
            condition = _filter_condition(step)
            printed = self._make_printer(name).print_finite(condition)
            if printed.raises or any(node.info.ty.nullable for node in typed.walk(condition)):
                self.inlined[name] = None
                self.symbols[Symbol(SymbolKind.FILTER, name)] = printed

    def _make_printer(self, step: str) -> ExpressionPrinter:
        """Return a printer of expressions whose errors, also those of inlined filters, name `step`."""
        vocabulary = self.vocabulary
        symbols = dict(self.symbols)
        for name in self.inlined:
            printer = ExpressionPrinter(symbols, step, vocabulary.parts, vocabulary.constants)
            symbols[Symbol(SymbolKind.FILTER, name)] = printer.print_finite(_filter_condition(self.filters[name]))
        return ExpressionPrinter(symbols, step, vocabulary.parts, vocabulary.constants)

    def _find_used_filters(self, used: set[Symbol]) -> list[nodes.Step]:
        """Return the filters among the symbols, and the filters that they use, in the seed's order."""
        return _find_dependencies(used, SymbolKind.FILTER, [*self.filters.values()])

    # --- loops

    def _plan_tests(self, step: nodes.Step) -> tuple[Test, ...]:
        """Return the conditions under which an aggregate counts a row, maybe none; equal ones are one object."""
        printer = self._make_printer(self.hoisted.author(step))
        where = step.aggregate.where if step.aggregate is not None else None
        return tuple(self._plan_test(condition, printer) for condition in typed.conjuncts(where))

    def _plan_test(self, condition: Expr, printer: ExpressionPrinter) -> Test:
        """Return the test for a condition, and remember it: a condition with the same code gets the same object."""
        printed = printer.print_finite(condition)
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
        """Return True if Python computes the condition for all inputs, so that no condition must be tested before it.

        A sum may be infinite: if another condition decides that a row does not count, that does no harm.
        """
        match condition:
            case typed.Ref(Symbol(SymbolKind.FILTER, name)):
                return name not in self.inlined or self._is_independent(_filter_condition(self.filters[name]))
            case typed.Ref(symbol):
                return symbol not in self.nullable
            case typed.Comparison(first, operators, rest) if all(
                operator in ("==", "!=") or isinstance(right, typed.List)
                for operator, right in zip(operators, rest, strict=True)
            ):  # null is an operand like any other of these operators
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

    def _print_pass(self, item: Pass) -> list[Block]:
        """Print a loop over the rows, after the first values of its accumulators."""
        starts = print_starts([self._make_aggregate_printer(step) for step in item.aggregates])
        guarded = [self._guard_aggregate(step) for step in item.aggregates]
        used = {symbol for step in item.aggregates for symbol in step.symbols()}
        return [*starts, Loop(self._print_target(used), tuple(self._print_body(guarded, used)))]

    def _print_body(self, items: Sequence[Guarded], used: set[Symbol]) -> list[Block]:
        """Print the body of a loop: locals of the filters in use, then the items under their conditions.

        A filter that is tested in one place only gets no local, nor does an inlined one.
        """
        filters = {s.name: s for s in self._find_used_filters(used) if s.name not in self.inlined}
        contents = {
            name: tuple(
                self._plan_test(part, self._make_printer(name)) for part in typed.conjuncts(_filter_condition(step))
            )
            for name, step in filters.items()
        }
        private = self._find_condition_filters(items, filters)
        blocks, opened = nest(items, {name: contents[name] for name in private})
        for name in opened:
            del filters[name]
        before: list[Block] = []
        for name, step in filters.items():
            local = self.symbols[Symbol(SymbolKind.FILTER, name)].code
            condition = self._make_printer(name).print_finite(_filter_condition(step))
            before.append(Statement(Code(f"{local} = {condition.code}")))
        return [*before, *blocks]

    def _find_condition_filters(self, items: Sequence[Guarded], filters: Mapping[str, nodes.Step]) -> list[str]:
        """Return the names of those filters that are used as whole conditions only: not in formulas or conditions."""
        elsewhere: set[Symbol] = set()
        for item in items:
            for test in item.tests:
                if not test.filter:
                    elsewhere.update(typed.symbols_in(test.expression))
            elsewhere.update(item.symbols)
        for step in filters.values():
            elsewhere.update(step.symbols())
        return [name for name in filters if Symbol(SymbolKind.FILTER, name) not in elsewhere]

    def _print_target(self, used: set[Symbol], parenthesized: bool = False) -> Code:
        """Print the target that a loop unpacks a row into, in brackets if `parenthesized`; unused fields are `_`."""
        used = used | {symbol for step in self._find_used_filters(used) for symbol in step.symbols()}
        names = [local if symbol in used else "_" for symbol, local in self.vocabulary.row]
        if all(name == "_" for name in names):
            return Code("_")
        target = ", ".join(names) + ("," if len(names) == 1 else "")
        return Code(f"({target})" if parenthesized or len(names) == 1 else target)

    def _make_aggregate_printer(self, step: nodes.Step) -> AggregatePrinter:
        return AggregatePrinter(step, self.vocabulary.locals, self.vocabulary.types, self.hoisted.author(step))

    def _guard_aggregate(self, step: nodes.Step) -> Guarded:
        """Return the statements that add a row to an aggregate, with their conditions, and those of its operand."""
        aggregate = self._make_aggregate_printer(step)
        printer = self._make_printer(self.hoisted.author(step))
        tests = self._plan_tests(step)
        condition = aggregate.condition()
        operand = aggregate.aggregate.operand
        if condition is not None:
            tests += tuple(self._plan_test(part, printer) for part in typed.conjuncts(condition))
        body, raises = aggregate.print_row(printer, tests_raise=any(test.printed.raises for test in tests))
        comment = self._print_comment(step)
        symbols: frozenset[Symbol] = frozenset()
        if operand is not None and condition is None:
            symbols = frozenset(typed.symbols_in(operand))
        return Guarded(tests, (*comment, *body), raises, symbols)

    # --- steps

    def _print_step(self, step: nodes.Step) -> list[Block]:
        """Print the statements that set a step's local, for an aggregate after its loop. A filter raises an error."""
        printer = self._make_printer(self.hoisted.author(step))
        match step.operation:
            case nodes.Formula(typed.Aggregate()):
                return self._make_aggregate_printer(step).print_result()
            case nodes.Lookup():
                value = self._print_lookup(step, step.operation, printer)
            case nodes.Formula(expression):
                return self._print_formula(step, expression, printer)
            case nodes.Const(constant):
                value = literal(convert_number(constant, step.ty))
            case nodes.Case():
                return self._print_case(step, step.operation, printer)
            case nodes.Filter():
                raise AssertionError("filters are no values")
        return [Statement(Code(f"{self._print_assignee(step)} = {value}"))]

    def _print_formula(self, step: nodes.Step, expression: Expr, printer: ExpressionPrinter) -> list[Block]:
        """Print the assignment of a formula's value; an `if` statement for a chain of conditional expressions."""
        as_float = step.ty.base is Base.NUMBER
        if not _is_chain(expression):
            code = printer.print_finite(expression, as_float=as_float).code
            return [Statement(Code(f"{self._print_assignee(step)} = {code}"))]
        local = self.vocabulary.locals[step.name]

        def assign(value: Expr) -> tuple[Block, ...]:
            if isinstance(value, typed.Conditional):
                return (choose(value),)
            return (Statement(Code(f"{local} = {printer.print_finite(value, as_float=as_float).code}")),)

        def choose(chain: Expr) -> IfStatement:
            branches: list[Branch] = []
            while isinstance(chain, typed.Conditional):
                branches.append(Branch(printer.print_finite(chain.condition).code, assign(chain.then)))
                chain = chain.otherwise
            return IfStatement(tuple(branches), assign(chain))

        return [*self._print_declaration(step), choose(expression)]

    def _print_declaration(self, step: nodes.Step) -> list[Block]:
        """Print the declaration of the step's local before an `if` statement; nothing if a type checker infers the type."""
        if step.ty.values is None and not step.ty.nullable:
            return []
        return [Statement(Code(f"{self.vocabulary.locals[step.name]}: {self.vocabulary.types[step.name]}"))]

    def _print_assignee(self, step: nodes.Step) -> str:
        """Print the step's local as the target of an assignment, with its type if a type checker would infer another."""
        local = self.vocabulary.locals[step.name]
        operation = step.operation
        is_constant = isinstance(operation, nodes.Const) or (
            isinstance(operation, nodes.Formula) and operation.expression.info.is_constant
        )
        if step.ty.values is None and not step.ty.nullable and not is_constant:
            return local
        return f"{local}: {self.vocabulary.types[step.name]}"

    def _print_lookup(self, step: nodes.Step, operation: nodes.Lookup, printer: ExpressionPrinter) -> Code:
        """Print the expression that looks a value up in the step's table; without a default, it raises on a miss."""
        table = self.vocabulary.tables[step.name]
        name = literal(step.name)
        source = printer.print_finite(operation.source).code
        default = literal(convert_number(operation.default, step.ty)) if operation.has_default else Code("None")
        if operation.match != "exact":
            # The table of `substring_max` is sorted, so that the first matching key has the highest value.
            value = f"_substring_first({table}, {source}, {default})"
        elif operation.default is None:
            value = f"{table}.get({source})"
        else:
            value = f"{table}.get({source}, {default})"
        return Code(value if operation.has_default else f"_require_match({value}, {source}, {name})")

    def _print_case(self, step: nodes.Step, operation: nodes.Case, printer: ExpressionPrinter) -> list[Block]:
        """Print the assignment of a case: an `if` statement with the rules' reasons, or `otherwise` alone without rules."""
        local = self.vocabulary.locals[step.name]

        def assign(value: Value, because: str | None) -> tuple[Block, ...]:
            comment = print_comments(f"because {comment_text(because)}") if because else ()
            return (*comment, Statement(Code(f"{local} = {literal(convert_number(value, step.ty))}")))

        if not operation.rules:
            otherwise = literal(convert_number(operation.otherwise, step.ty))
            return [Statement(Code(f"{local}: {self.vocabulary.types[step.name]} = {otherwise}"))]
        *reasons, last = operation.because
        branches = tuple(
            Branch(printer.print_finite(condition).code, assign(then, because))
            for (condition, then), because in zip(operation.rules, reasons, strict=True)
        )
        return [*self._print_declaration(step), IfStatement(branches, assign(operation.otherwise, last))]

    def _may_raise(self, step: nodes.Step) -> bool:
        """Return True if the computation of a step may raise; for an aggregate, the statements inside its loop."""
        printer = self._make_printer(self.hoisted.author(step))
        if step.aggregate is not None:
            operand = step.aggregate.operand
            where = step.aggregate.where
            # Infinity may reach a total, which is checked after the loop.
            print_operand = printer.print_finite if step.aggregate.entry.intermediate is None else printer.print
            operand_raises = operand is not None and print_operand(operand).raises
            return operand_raises or (where is not None and printer.print_finite(where).raises)
        if isinstance(step.operation, nodes.Lookup) and not step.operation.has_default:
            return True
        return any(printer.print_finite(expression).raises for expression in step.expressions())

    def _print_comment(self, step: nodes.Step) -> list[Block]:
        """Print a comment for a step that is a part of a formula; nothing for a step of the seed."""
        if not self.hoisted.is_part(step):
            return []
        text = f"{step.name}, part of {self.hoisted.author(step)}: {comment_text(step_text(step))}"
        return print_comments(f"step {text}" if addresses_a_tool(text) else text)


def _find_dependencies(used: set[Symbol], kind: SymbolKind, steps: Sequence[nodes.Step]) -> list[nodes.Step]:
    """Return the steps that the symbols of `kind` in `used` name, and those that they use in turn, as in `steps`.

    Raises `KeyError` if such a symbol names none of `steps`.
    """
    by_name = {step.name: step for step in steps}
    needed: set[str] = set()
    stack = [symbol.name for symbol in used if symbol.kind is kind]
    while stack:
        name = stack.pop()
        if name not in needed:
            needed.add(name)
            stack += [symbol.name for symbol in by_name[name].symbols() if symbol.kind is kind]
    return [step for step in steps if step.name in needed]


def _is_chain(expression: Expr) -> bool:
    """Return True for a conditional expression with another one as a branch."""
    return isinstance(expression, typed.Conditional) and (
        isinstance(expression.then, typed.Conditional) or isinstance(expression.otherwise, typed.Conditional)
    )


def _filter_condition(step: nodes.Step) -> Expr:
    """Return the condition of a step, which must be a filter."""
    assert isinstance(step.operation, nodes.Filter)
    return step.operation.condition
