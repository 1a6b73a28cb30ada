"""Hard-coded years that are the present: the results mean something else every year."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formulaseed.diagnostics.catalogue import lint as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.operators import MIRRORED
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
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
            case nodes.Aggregate("max" | "min", typed.Ref(source)) | nodes.Formula(typed.Ref(source)) if (
                source in years
            ):
                years.add(symbol)
        for expression in step.expressions():
            for year, span, use in _ageing(expression, years, constants):
                problems.report(catalogue.hard_coded_year(span, year, use))


def _ageing(
    expression: Expr, years: set[Symbol], constants: dict[Symbol, tuple[int, Span]]
) -> Iterator[tuple[int, Span, str]]:
    everything = list(typed.walk(expression))
    mentioning = _mentioning(everything, years)
    if not mentioning:
        return
    closed = set(_closed(everything))
    for node in everything:
        match node:
            case typed.Binary("-", left, right):
                if id(right) in mentioning:
                    found = _year(left, constants)
                elif id(left) in mentioning:
                    found = [each for each in _year(right, constants) if each[0] >= _PRESENT]
                else:
                    found = []
                yield from ((year, span, expression_text(node)) for year, span in found)
            case typed.Comparison(first, operators, rest):
                operands = (first, *rest)
                for left, operator, right in zip(operands, operators, rest, strict=False):
                    for one, sign, other in ((left, operator, right), (right, MIRRORED.get(operator, ""), left)):
                        is_year = isinstance(one, typed.Ref) and one.symbol in years
                        if is_year and sign in (">", ">=") and one not in closed:
                            use = f"{expression_text(one)} {sign} {expression_text(other)}"
                            yield from ((year, span, use) for year, span in _year(other, constants))


def _mentioning(everything: Sequence[Expr], years: set[Symbol]) -> set[int]:
    """The ids of the nodes in which a year occurs; of `everything` each comes before its parts."""
    found: set[int] = set()
    for node in reversed(everything):
        if (isinstance(node, typed.Ref) and node.symbol in years) or any(
            id(part) in found for part in typed.children(node)
        ):
            found.add(id(node))
    return found


def _closed(everything: Sequence[Expr]) -> Iterator[Expr]:
    """What has an upper bound as well: the period does not move."""
    for node in everything:
        if isinstance(node, typed.Comparison):
            operands = (node.first, *node.rest)
            for left, operator, right in zip(operands, node.operators, node.rest, strict=False):
                if operator in ("<", "<="):
                    yield left
                elif operator in (">", ">="):
                    yield right


def _year(found: Expr, constants: dict[Symbol, tuple[int, Span]]) -> list[tuple[int, Span]]:
    """The year that is written here, or in the constant that is named here."""
    if isinstance(found, typed.Literal) and isinstance(found.value, int) and _FIRST <= found.value <= _LAST:
        return [(found.value, found.info.span)]
    if isinstance(found, typed.Ref) and found.symbol in constants:
        return [constants[found.symbol]]
    return []
