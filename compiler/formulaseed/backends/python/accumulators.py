"""Print the statements of aggregates: before a loop over the rows, for a row, and after the loop.

In: a step that is an aggregate, and the names of its accumulators. Out: blocks, made of the spelling in the aggregate's entry
of the table. Used by `statements` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formulaseed.backends.python.blocks import Block, Branch, IfStatement, Statement, TryStatement
from formulaseed.backends.python.code import LINE_LENGTH, Code, literal
from formulaseed.backends.python.expressions import ExpressionPrinter
from formulaseed.backends.python.functions import SPELLING_KEY, find_native_call
from formulaseed.backends.python.printed import Printed
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.aggregates import LoopSpelling
from formulaseed.language.typed import Expr
from formulaseed.language.types import BOOLEAN, Base, Info, Type, Value

STATE = "state"
"""The suffix of the accumulator that has the name of its step."""
_CANDIDATE = "candidate"
"""The suffix of the local for an operand that is used twice, and is no name itself."""


def local_suffixes(aggregate: typed.Aggregate) -> list[str]:
    """Return the suffixes of the locals that an aggregate needs beside the one with the name of its step.

    The last one is `candidate` if the operand must have a name, or if null operands are ignored.
    """
    spelling = aggregate.entry.spellings[SPELLING_KEY]
    suffixes = [entry.suffix for entry in spelling.accumulators if entry.suffix != STATE]
    if spelling.names_value or aggregate.entry.ignores_null:
        suffixes.append(_CANDIDATE)
    return suffixes


class AggregatePrinter:
    """A printer of the statements of one aggregate.

    `locals` has the local of the step by its name, its other accumulators by suffix and name (`total MEAN`). `types` has the
    types of steps by name, and those of operands as `operand MEAN`. `author` is the step that errors name.
    """

    def __init__(self, step: nodes.Step, locals: Mapping[str, Code], types: Mapping[str, Code], author: str) -> None:
        """Look up the spelling of the aggregate and its locals. `step` must be an aggregate."""
        assert step.aggregate is not None
        self.step = step
        self.aggregate = step.aggregate
        self.entry = step.aggregate.entry
        self.spelling: LoopSpelling = self.entry.spellings[SPELLING_KEY]
        self.types = types
        self.author = author
        self.locals = {
            suffix: locals[step.name if suffix == STATE else f"{suffix} {step.name}"]
            for suffix in (STATE, *local_suffixes(step.aggregate))
        }

    def starts(self) -> list[tuple[Code, str]]:
        """Return a pair for each accumulator: its local, with an annotation if it needs one, and its first value.

        Zero is `0` without an operand or with an integer, else `0.0`.
        """
        operand = self.aggregate.operand
        name = self.step.name
        zero = "0" if operand is None or operand.info.ty.base is Base.INTEGER else "0.0"
        is_result_type = self.entry.selects or operand is None
        ty = self.types[name if is_result_type else f"operand {name}"].removesuffix(" | None")
        starts = []
        for entry in self.spelling.accumulators:
            annotation = f": {entry.type.format(type=ty)}" if entry.type else ""
            starts.append((Code(f"{self.locals[entry.suffix]}{annotation}"), entry.start.format(zero=zero)))
        return starts

    def condition(self) -> Expr | None:
        """Return the operand as one more condition of a row, negated if the aggregate looks for false ones.

        Returns None if there is no operand, or if the aggregate uses the operand's value.
        """
        operand = self.aggregate.operand
        if operand is None or self.spelling.updates_if is None:
            return None
        return operand if self.spelling.updates_if else typed.Not(operand, Info(BOOLEAN, operand.info.span))

    def print_row(self, printer: ExpressionPrinter, *, tests_raise: bool) -> tuple[tuple[Block, ...], bool]:
        """Print the statements for a matching row, and return them with True if they may raise.

        A null operand is skipped if the aggregate ignores null. `tests_raise` says that a condition before them may
        raise: an infinite operand is then an error here, not in the total.
        """
        operand = self.aggregate.operand
        if operand is None or self.spelling.updates_if is not None:
            return self._print_update({}), False
        test = self.spelling.test
        if self.entry.ignores_null and operand.info.ty.nullable:
            test = "{value} is not None"
        value = _Operand(self, operand, printer, tests_raise)
        if not test and not self.spelling.names_value:
            updates = _fill_lines(self.spelling.update, self.locals | {"value": Code("{value}")})
            return tuple(value.print_statement(update) for update in updates), value.raises
        blocks: list[Block] = []
        name = value.code
        if not value.is_name:
            name = self.locals[_CANDIDATE]
            blocks.append(value.print_statement(f"{name} = {{value}}"))
        update = self._print_update({"value": name})
        if test:
            update = (IfStatement((Branch(Code(test.format(**self.locals, value=name)), update),)),)
        return (*blocks, *update), value.raises

    def _print_update(self, names: Mapping[str, Code]) -> tuple[Block, ...]:
        """Print the statements that update the accumulators, with `names` beside the aggregate's locals."""
        return tuple(Statement(line) for line in _fill_lines(self.spelling.update, {**self.locals, **names}))

    def print_result(self) -> list[Block]:
        """Print the statements after the loop, which compute the step's value from the accumulators.

        They check a total that may be infinite, and give the default, else None, if no row matched. An aggregate
        without a pass is assigned its shortcut; the result may be no statement at all.
        """
        local = self.locals[STATE]
        default = self.aggregate.default
        if not self.aggregate.needs_pass:
            return [Statement(Code(f"{local} = {self.spelling.shortcut}"))]
        blocks: list[Block] = []
        if self.aggregate.may_overflow:
            total = self.locals[self.spelling.accumulators[0].suffix]
            blocks.append(Statement(Code(f"{total} = _finite({total}, {literal(self.author)})")))
        is_empty = Code(self.spelling.is_empty.format(**self.locals))
        empty_value = Code("None")
        if default is not None:
            empty_value = literal(convert_number(default.value, self.step.ty))
        if self.spelling.result:
            result = self.spelling.result.format(**self.locals)
            if is_empty:
                result = f"{empty_value} if {is_empty} else {result}"
            target = f"{local}: {self.types[self.step.name]}" if self.step.ty.nullable else local
            blocks.append(Statement(Code(f"{target} = {result}")))
        elif empty_value != "None":
            default_value = Statement(Code(f"{local} = {empty_value}"))
            blocks.append(IfStatement((Branch(is_empty, (default_value,), Code("over no review")),)))
        return blocks


class _Operand:
    """The operand of an aggregate as code. Infinity may reach a total, which is checked after the loop."""

    def __init__(
        self, aggregate: AggregatePrinter, operand: Expr, printer: ExpressionPrinter, tests_raise: bool
    ) -> None:
        """Print the operand, with a check for infinity unless the total after the loop is checked.

        The check is made here if `tests_raise`, if the operand may raise anyway, or if it is an integer.
        """
        self.operand = operand
        self.printer = printer
        self.is_float = aggregate.entry.selects and aggregate.step.ty.base is Base.NUMBER
        is_checked = operand.info.ty.base is Base.INTEGER or tests_raise or printer.print(operand).raises
        self.may_be_infinite = aggregate.entry.intermediate is not None and not is_checked
        printed = self._print(printer)
        self.code = printed.code
        self.raises = printed.raises
        self.is_name = isinstance(operand, typed.Ref) and not printed.raises and printed.code.isidentifier()

    def _print(self, printer: ExpressionPrinter) -> Printed:
        """Print the operand with `printer`, with a check that raises for infinity unless it may be infinite here."""
        if self.may_be_infinite:
            return printer.print(self.operand)
        return printer.print_finite(self.operand, as_float=self.is_float)

    def print_statement(self, template: str) -> Block:
        """Print a statement with the operand in place of `{value}`.

        If the only call of the operand that may fail is one that Python itself refuses, the statement catches the
        `ValueError`, and raises the error of the step.
        """
        call = find_native_call(self.operand)
        if call is None or "{value}" not in template:
            return Statement(Code(template.format(value=self.code)))
        native = self._print(self.printer.replace_native(call)).code
        return TryStatement(Code(template.format(value=native)), self.printer.print_fault(call))


def print_starts(printers: Sequence[AggregatePrinter]) -> list[Block]:
    """Print the statements before a loop, which set the accumulators to their first values.

    Neighbours that begin with `0` and need no annotation share a statement, as many as fit on a line.
    """
    lines: list[str] = []
    zeros = ""
    for target, start in (pair for printer in printers for pair in printer.starts()):
        if start != "0" or ":" in target:
            lines.append(f"{target} = {start}")
            zeros = ""
        elif zeros and len(zeros) + len(target) + 10 <= LINE_LENGTH:
            zeros += f"{target} = "
            lines[-1] = f"{zeros}0"
        else:
            zeros = f"{target} = "
            lines.append(f"{zeros}0")
    return [Statement(Code(line)) for line in lines]


def convert_number(value: Value, ty: Type) -> Value:
    """Return an integer as a float if `ty` is the type number; any other value as it is."""
    if ty.base is Base.NUMBER and isinstance(value, int):
        return float(value)
    return value


def _fill_lines(template: str, names: Mapping[str, Code]) -> list[Code]:
    """Return the lines of a template with `names` in the places of their keys, each as code."""
    return [Code(line) for line in template.format(**names).splitlines()]
