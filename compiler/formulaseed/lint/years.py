"""Years written into a seed that stand for the present: they mean something else every year."""

from __future__ import annotations

from collections.abc import Iterator

from formulaseed.diagnostics.model import Problems
from formulaseed.domain.builtins import MIRRORED
from formulaseed.ir import nodes
from formulaseed.ir.nodes import Expr, Symbol, SymbolKind
from formulaseed.ir.text import expression_text
from formulaseed.source.text import Span

_FIRST, _LAST = 1990, 2100
_PRESENT = 2020
"""An earlier year that is subtracted from one of the data is where a count of years begins, not the present."""


def lint_years(program: nodes.Program, problems: Problems) -> None:
    """Warn of a year that a year of the data is subtracted from or must reach.

    A year that closes a period, as in `meta.year < 2023`, stays what it is.
    """
    years = {Symbol(SymbolKind.META, "year")}
    constants: dict[Symbol, tuple[int, Span]] = {}
    for step in program.steps:
        symbol = Symbol(SymbolKind.STEP, step.name)
        match step.operation:
            case nodes.Const(int(value)) if _FIRST <= value <= _LAST:
                constants[symbol] = value, step.span
            case nodes.Extreme(_, nodes.Ref(source)) | nodes.Formula(nodes.Ref(source)) if source in years:
                years.add(symbol)
        for expression in step.expressions():
            for year, span, use in _ageing(expression, years, constants):
                message = f"the year {year} is written into the seed, and `{use}` means something else every year"
                help = f'make it a parameter, "parameters": {{"AS_OF_YEAR": {{"type": "integer", "default": {year}}}}}'
                problems.add("FS613", span, message, f"{help}, and write `param.AS_OF_YEAR`")


def _ageing(
    expression: Expr, years: set[Symbol], constants: dict[Symbol, tuple[int, Span]]
) -> Iterator[tuple[int, Span, str]]:
    closed = set(_closed(expression))
    for node in nodes.walk(expression):
        match node:
            case nodes.Binary("-", left, right):
                if _mentions(right, years):
                    yield from _year(left, constants, expression_text(node))
                elif _mentions(left, years):
                    found = _year(right, constants, expression_text(node))
                    yield from (each for each in found if each[0] >= _PRESENT)
            case nodes.Comparison(first, operators, rest):
                operands = (first, *rest)
                for left, operator, right in zip(operands, operators, rest, strict=False):
                    for one, sign, other in ((left, operator, right), (right, MIRRORED.get(operator, ""), left)):
                        is_year = isinstance(one, nodes.Ref) and one.symbol in years
                        if is_year and sign in (">", ">=") and one not in closed:
                            yield from _year(
                                other, constants, f"{expression_text(one)} {sign} {expression_text(other)}"
                            )


def _mentions(expression: Expr, years: set[Symbol]) -> bool:
    return any(isinstance(part, nodes.Ref) and part.symbol in years for part in nodes.walk(expression))


def _closed(expression: Expr) -> Iterator[Expr]:
    """What has an upper bound as well: the period does not move."""
    for node in nodes.walk(expression):
        if isinstance(node, nodes.Comparison):
            operands = (node.first, *node.rest)
            for left, operator, right in zip(operands, node.operators, node.rest, strict=False):
                if operator in ("<", "<="):
                    yield left
                elif operator in (">", ">="):
                    yield right


def _year(found: Expr, constants: dict[Symbol, tuple[int, Span]], use: str) -> Iterator[tuple[int, Span, str]]:
    if isinstance(found, nodes.Literal) and isinstance(found.value, int) and _FIRST <= found.value <= _LAST:
        yield found.value, found.info.span, use
    elif isinstance(found, nodes.Ref) and found.symbol in constants:
        value, span = constants[found.symbol]
        yield value, span, use
