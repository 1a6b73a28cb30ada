"""Finds the numeric constants of a seed's formulas, conditions, rules and tables, as they are written in its file.

In: a checked seed. Out: `Constant`s; each can be replaced by another number in the text of the seed, which is then a seed
like any other. The bounds of fields are no constants: they are no part of the computation.
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
from formulaseed.seed.lint.program import find_year_symbols, is_year
from formulaseed.source.json_reader import JsonNumber, find_value
from formulaseed.source.text import Source, Span

_MAX_ENCLOSING_LENGTH = 100
_SIGNIFICANT_DIGITS = 12  # a moved number is rounded, so that 0.15 * 1.1 is 0.165 and not 0.16500000000000004


@dataclass(frozen=True, slots=True)
class Constant:
    """A number as it is written in a step.

    `enclosing_text` is the formula, condition, rule or key that the number is a part of. `is_year` is True for a year that is
    compared with years of the data. `is_json` is True for a JSON number, False for a number inside a formula's string.
    """

    step: str
    value: int | float
    enclosing_text: str
    span: Span
    is_year: bool
    is_json: bool

    def replace_with(self, value: int | float) -> Source:
        """Return a copy of the seed's text with `value` in place of this constant; a negative one in a formula in parentheses."""
        source = self.span.source
        number = repr(value)
        if value < 0 and not self.is_json:  # -1 ** 2 would be -(1 ** 2)
            number = f"({number})"
        return Source(source.name, source.text[: self.span.start] + number + source.text[self.span.end :])


def move_number(value: int | float, share: float, *, is_year: bool) -> int | float:
    """Return `value` moved up, or down if `share` is negative, by that share of its size: 0.1 is ten percent.

    An integer stays an integer and moves by at least 1, a year by exactly 1. The float 0.0 does not move.
    """
    if isinstance(value, float):
        return float(f"{value + abs(value) * share:.{_SIGNIFICANT_DIGITS}g}")
    distance = 1 if is_year else max(1, round(abs(value * share)))
    return value + distance if share > 0 else value - distance


def find_constants(seed: FormulaSeed) -> list[Constant]:
    """Return every numeric constant of the steps, in the order of the file, each one once.

    Leaves out numbers that are not written in the file, such as those that the compiler computed from several
    constants.
    """
    program = seed.program
    surface_program = SEED.parse(seed.document, Problems())
    assert surface_program is not None  # the seed was checked, so its file can be parsed
    year_names = _find_year_names(program)
    constants: dict[int, Constant] = {}
    literals = (*_find_expression_literals(program), *_find_declared_literals(surface_program))
    for step, value, enclosing_text, span in literals:
        if not is_number(value) or _parse_number(span) != value:
            continue  # a string or a boolean, or a number that the compiler computed from several constants
        is_json = isinstance(find_value(seed.document.tree, span.pointer), JsonNumber)
        in_years = step in year_names and is_year(value)
        constants.setdefault(span.start, Constant(step, value, enclosing_text, span, in_years, is_json))
    return sorted(constants.values(), key=lambda constant: constant.span.start)


def is_year_parameter(program: nodes.Program, parameter: nodes.Parameter) -> bool:
    """Return whether the default of `parameter` looks like a year, and a step that reads years of the data also reads it."""
    return is_year(parameter.default) and str(Symbol(SymbolKind.PARAMETER, parameter.name)) in _find_year_names(program)


_WrittenLiteral = tuple[str, object, str, Span]
"""A literal in a step: the step's name, the literal's value, the enclosing text, and the literal's span."""


def _find_expression_literals(program: nodes.Program) -> Iterator[_WrittenLiteral]:
    """Yield the literals in the formulas and conditions of all steps, each with the expression directly around it as text."""
    for step in program.steps:
        for whole in step.expressions():
            stack: list[tuple[Expr, Expr]] = [(whole, whole)]
            while stack:
                node, parent = stack.pop()
                if isinstance(node, typed.Literal):
                    yield step.name, node.value, cut_expression(parent, _MAX_ENCLOSING_LENGTH), node.info.span
                stack += ((child, node) for child in typed.children(node))


def _find_declared_literals(program: surface.Program) -> Iterator[_WrittenLiteral]:
    """Yield the literals outside expressions: the values of `const`, `case` rules and `lookup` tables, and defaults."""
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
            case surface.Formula(whole) | (ast.Aggregate() as whole):
                for node in ast.walk(whole):
                    if isinstance(node, ast.Aggregate) and node.default is not None:
                        yield name, node.default.value, "default", node.default.span


def _find_year_names(program: nodes.Program) -> set[str]:
    """Return the names of the steps that read a year of the data, and of the steps, parameters and fields that they read."""
    years = find_year_symbols(program)
    readers = [step for step in program.steps if not years.isdisjoint(step.symbols())]
    names_read = {str(symbol) for step in readers for symbol in step.symbols() if symbol.kind is not SymbolKind.FILTER}
    return {step.name for step in readers} | names_read


def _parse_number(span: Span) -> float | None:
    """Return the number that the source has at `span`, or None if the text there is not exactly a number."""
    try:
        return float(span.source.text[span.start : span.end])
    except ValueError:
        return None
