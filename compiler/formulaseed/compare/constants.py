"""Finds the numeric constants of a seed's formulas, conditions, rules and tables, as they are written in its file.

In: a checked seed. Out: `Constant`s; each can be written as another number in the text of the seed, which is then a seed
like any other. Fields and their bounds have none: they are no part of the computation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from formulaseed.compare.definitions import cut_expression
from formulaseed.diagnostics.model import Problems
from formulaseed.documents import FormulaSeed
from formulaseed.ir import nodes
from formulaseed.language import ast, typed
from formulaseed.language.printer import literal_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.pages.values import is_number
from formulaseed.seed import surface
from formulaseed.seed.kind import KIND as SEED
from formulaseed.seed.lint.program import is_year, years_of
from formulaseed.source.json_reader import JsonNumber, find_value
from formulaseed.source.text import Source, Span

_MAX_LENGTH = 100
_DIGITS = 12
"""A product of floats is rounded to so many digits: 0.15 * 1.1 is 0.165."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A number as it is written in a step. `inside` is the formula, condition, rule or key that it is a part of."""

    step: str
    value: int | float
    inside: str
    span: Span
    is_year: bool
    is_json: bool
    """Whether it is a JSON number, not one in a formula."""

    @property
    def place(self) -> str:
        """The place of the constant, as `file:line:column`."""
        line, column = self.span.source.position(self.span.start)
        return f"{self.span.source.name}:{line}:{column}"

    def write(self, value: int | float) -> Source:
        """Return the seed's text with another number in place of the constant."""
        source, number = self.span.source, repr(value)
        if value < 0 and not self.is_json:  # -1 ** 2 is -1
            number = f"({number})"
        return Source(source.name, source.text[: self.span.start] + number + source.text[self.span.end :])


def move_number(value: int | float, share: float, *, is_year: bool) -> int | float:
    """Return a number that is moved by a share of it: an integer by 1 at least, a year by 1. 0.0 stays the same."""
    if isinstance(value, float):
        return float(f"{value + abs(value) * share:.{_DIGITS}g}")
    distance = 1 if is_year else max(1, round(abs(value * share)))
    return value + distance if share > 0 else value - distance


def constants_of(seed: FormulaSeed) -> list[Constant]:
    """Return every numeric constant of the steps, in the order of the file."""
    program, surface_program = seed.program, SEED.parse(seed.document, Problems())
    assert surface_program is not None  # it was checked
    years = _steps_of_years(program)
    constants: dict[int, Constant] = {}
    for name, value, inside, span in (*_in_expressions(program), *_beside_expressions(surface_program)):
        is_json = seed.document.tree is not None and isinstance(
            find_value(seed.document.tree, span.pointer), JsonNumber
        )
        if not is_number(value) or _number_at(span) != value:
            continue  # a string or a boolean, or a number that the compiler made of several constants
        constants.setdefault(span.start, Constant(name, value, inside, span, name in years and is_year(value), is_json))
    return sorted(constants.values(), key=lambda constant: constant.span.start)


def reads_year(program: nodes.Program, parameter: nodes.Parameter) -> bool:
    """Return whether a parameter is a year that the years of the data are compared with."""
    return is_year(parameter.default) and str(Symbol(SymbolKind.PARAMETER, parameter.name)) in _steps_of_years(program)


_Literal = tuple[str, object, str, Span]
"""The step of a literal, its value, what it is a part of, and its span."""


def _in_expressions(program: nodes.Program) -> Iterator[_Literal]:
    for step in program.steps:
        for whole in step.expressions():
            stack: list[tuple[Expr, Expr]] = [(whole, whole)]
            while stack:
                node, parent = stack.pop()
                if isinstance(node, typed.Literal):
                    yield step.name, node.value, cut_expression(parent, _MAX_LENGTH), node.info.span
                stack += ((child, node) for child in typed.children(node))


def _beside_expressions(program: surface.Program) -> Iterator[_Literal]:
    """Yield the values of constants, rules and tables, and defaults."""
    for step in program.steps:
        name = step.name.text
        match step.operation:
            case surface.Const(literal):
                yield name, literal.value, "value", literal.span
            case surface.Lookup(_, table, _, default):
                for entry in table:
                    yield name, entry.value.value, literal_text(entry.key.text), entry.value.span
                if default is not None:
                    yield name, default.value, "default", default.span
            case surface.Case(rules, otherwise):
                for number, rule in enumerate(rules, 1):
                    yield name, rule.then.value, f"result of rule {number}", rule.then.span
                yield name, otherwise.value, "else", otherwise.span
            case surface.Formula() | ast.Aggregate():
                whole = step.operation if isinstance(step.operation, ast.Aggregate) else step.operation.expression
                for node in ast.walk(whole):
                    if isinstance(node, ast.Aggregate) and node.default is not None:
                        yield name, node.default.value, "default", node.default.span


def _steps_of_years(program: nodes.Program) -> set[str]:
    """Return the names of the steps that read a year of the data, and of the steps and parameters that such steps read."""
    years = years_of(program)
    reading = [step for step in program.steps if not years.isdisjoint(step.symbols())]
    read = {str(symbol) for step in reading for symbol in step.symbols() if symbol.kind is not SymbolKind.FILTER}
    return {step.name for step in reading} | read


def _number_at(span: Span) -> float | None:
    """Return the number that is written at a span; None if it is no number."""
    try:
        return float(span.source.text[span.start : span.end])
    except ValueError:
        return None
