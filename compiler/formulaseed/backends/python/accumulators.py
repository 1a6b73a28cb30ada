"""Print the statements of aggregates: before a loop over the rows, for a row, and after the loop.

In: a step that is an aggregate, and the names of its accumulators. Out: blocks, made of the spelling in the aggregate's entry
of the table. Used by `statements` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formulaseed.backends.python.blocks import Attempt, Block, Branch, Choice, Statement
from formulaseed.backends.python.code import LINE_LENGTH, Code, literal
from formulaseed.backends.python.expressions import ExpressionPrinter, native_call
from formulaseed.backends.python.functions import BACKEND
from formulaseed.backends.python.printed import Printed
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.aggregates import LoopSpelling
from formulaseed.language.info import Info
from formulaseed.language.typed import Expr
from formulaseed.language.types import BOOLEAN, Base, Type, Value

STATE = "state"
"""The suffix of the accumulator that has the name of its step."""
_CANDIDATE = "candidate"
"""The suffix of the local for an operand that needs a name."""


def suffixes(aggregate: typed.Aggregate) -> list[str]:
    """Return the suffixes of the locals that an aggregate needs beside the one with the name of its step."""
    spelling = aggregate.entry.spellings[BACKEND]
    needs_name = spelling.names_value or aggregate.entry.ignores_null
    return [
        *(entry.suffix for entry in spelling.accumulators if entry.suffix != STATE),
        *([_CANDIDATE] if needs_name else []),
    ]


class AggregatePrinter:
    """Prints the statements of one aggregate.

    `locals` has the local of the step by its name, its other accumulators by suffix and name (`total MEAN`). `types` has the
    types of steps by name, and those of operands as `operand MEAN`. `author` is the step that errors name.
    """

    def __init__(self, step: nodes.Step, locals: Mapping[str, Code], types: Mapping[str, Code], author: str) -> None:
        assert step.aggregate is not None
        self.step = step
        self.aggregate = step.aggregate
        self.entry = step.aggregate.entry
        self.spelling: LoopSpelling = self.entry.spellings[BACKEND]
        self.types = types
        self.author = author
        self.locals = {
            suffix: locals[step.name if suffix == STATE else f"{suffix} {step.name}"]
            for suffix in (STATE, *suffixes(step.aggregate))
        }

    def starts(self) -> list[tuple[Code, str]]:
        """Return each accumulator, with its type if that must be declared, and its first value."""
        operand = self.aggregate.operand
        name = self.step.name
        zero = "0" if operand is None or operand.info.ty.base is Base.INTEGER else "0.0"
        ty = self.types[name if self.entry.selects or operand is None else f"operand {name}"].removesuffix(" | None")
        starts = []
        for entry in self.spelling.accumulators:
            annotation = f": {entry.type.format(type=ty)}" if entry.type else ""
            starts.append((Code(f"{self.locals[entry.suffix]}{annotation}"), entry.start.format(zero=zero)))
        return starts

    def condition(self) -> Expr | None:
        """Return the operand as one more condition of a row, if the aggregate only asks whether it holds; else None."""
        operand, truth = self.aggregate.operand, self.spelling.updates_if
        if operand is None or truth is None:
            return None
        return operand if truth else typed.Not(operand, Info(BOOLEAN, operand.info.span))

    def row(self, printer: ExpressionPrinter, *, tests_raise: bool) -> tuple[tuple[Block, ...], bool]:
        """Return the statements for a matching row, and True if they may raise; `tests_raise` if the conditions before may."""
        operand = self.aggregate.operand
        if operand is None or self.spelling.updates_if is not None:
            return self._update({}), False
        test = self.spelling.test
        if self.entry.ignores_null and operand.info.ty.nullable:
            test = "{value} is not None"
        value = _Operand(self, operand, printer, tests_raise)
        if not test and not self.spelling.names_value:
            updates = _fill(self.spelling.update, self.locals | {"value": Code("{value}")})
            return tuple(value.statement(update) for update in updates), value.raises
        blocks: list[Block] = []
        name = value.code
        if not value.is_name:
            name = self.locals[_CANDIDATE]
            blocks.append(value.statement(f"{name} = {{value}}"))
        update = self._update({"value": name})
        if test:
            update = (Choice((Branch(Code(test.format(**self.locals, value=name)), update),)),)
        return (*blocks, *update), value.raises

    def _update(self, names: Mapping[str, Code]) -> tuple[Block, ...]:
        return tuple(Statement(line) for line in _fill(self.spelling.update, {**self.locals, **names}))

    def result(self) -> list[Block]:
        """Return the statements after the loop, which make the value of the accumulators."""
        local = self.locals[STATE]
        default = self.aggregate.default
        if not self.aggregate.needs_pass:
            return [Statement(Code(f"{local} = {self.spelling.shortcut}"))]
        blocks: list[Block] = []
        if self.aggregate.may_overflow:
            total = self.locals[self.spelling.accumulators[0].suffix]
            blocks.append(Statement(Code(f"{total} = _finite({total}, {literal(self.author)})")))
        is_empty = Code(self.spelling.is_empty.format(**self.locals))
        over_none = literal(exact(default.value, self.step.ty)) if default is not None else Code("None")
        if self.spelling.result:
            result = self.spelling.result.format(**self.locals)
            if is_empty:
                result = f"{over_none} if {is_empty} else {result}"
            target = f"{local}: {self.types[self.step.name]}" if self.step.ty.nullable else local
            blocks.append(Statement(Code(f"{target} = {result}")))
        elif over_none != "None":
            default_value = Statement(Code(f"{local} = {over_none}"))
            blocks.append(Choice((Branch(is_empty, (default_value,), Code("over no review")),)))
        return blocks


class _Operand:
    """The operand of an aggregate as code. Infinity may reach a total: it is found after the loop."""

    def __init__(
        self, aggregate: AggregatePrinter, operand: Expr, printer: ExpressionPrinter, tests_raise: bool
    ) -> None:
        self.operand = operand
        self.printer = printer
        self.is_float = aggregate.entry.selects and aggregate.step.ty.base is Base.NUMBER
        is_settled = operand.info.ty.base is Base.INTEGER or tests_raise or printer.print(operand).raises
        self.may_be_infinite = aggregate.entry.intermediate is not None and not is_settled
        printed = self._print(printer)
        self.code = printed.code
        self.raises = printed.raises
        self.is_name = isinstance(operand, typed.Ref) and not printed.raises and printed.code.isidentifier()

    def _print(self, printer: ExpressionPrinter) -> Printed:
        if self.may_be_infinite:
            return printer.print(self.operand)
        return printer.finished(self.operand, as_float=self.is_float)

    def statement(self, template: str) -> Block:
        """Return a statement with the operand as its `{value}`.

        If the operand has a single call that Python itself refuses, that is caught, and its error becomes the step's.
        """
        call = native_call(self.operand)
        if call is None or "{value}" not in template:
            return Statement(Code(template.format(value=self.code)))
        native = self._print(self.printer.with_native(call)).code
        return Attempt(Code(template.format(value=native)), self.printer.fault(call))


def print_starts(printers: Sequence[AggregatePrinter]) -> list[Block]:
    """Return the statements before a loop: accumulators that begin with 0 together, as many as fit on a line."""
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


def exact(value: Value, ty: Type) -> Value:
    """Return the value as its step's type has it: a number is a float."""
    return float(value) if ty.base is Base.NUMBER and isinstance(value, int) else value


def _fill(template: str, names: Mapping[str, Code]) -> list[Code]:
    return [Code(line) for line in template.format(**names).splitlines()]
