"""Results that are constant, scores that are bounded on one side only, and years that are the present when a seed is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formulaseed.diagnostics.catalogue import lint as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.intervals import described, is_open
from formulaseed.language.operators import MIRRORED
from formulaseed.language.printer import expression_text, value_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.source.text import Span

_INPUTS = (SymbolKind.EXTRACTION, SymbolKind.META, SymbolKind.CONTEXT, SymbolKind.PARAMETER)
_FIRST, _LAST = 1990, 2100
_PRESENT = 2020
"""An earlier year that is subtracted from one of the data is where a count of years begins, not the present."""


def lint_outcomes(program: nodes.Program, problems: Problems) -> None:
    varying: set[str] = set()
    judged = _judged(program)
    for step in program.steps:
        if isinstance(step.operation, nodes.Filter):
            continue
        depends = step.is_aggregate or any(s.kind in _INPUTS or s.name in varying for s in step.symbols())
        only = _only_value(step)
        if depends and only is None:
            varying.add(step.name)
        elif (depends or step.name in program.output) and not step.part_of:
            value = value_text(only) if only is not None else ""
            problems.report(catalogue.constant_result(step.span, step.name, value, depends))
        if step.name in judged:
            _missing_bound(step, problems)


def _judged(program: nodes.Program) -> set[str]:
    """Return the steps that are returned, and those that a case tests."""
    judged = set(program.output)
    for step in program.steps:
        if isinstance(step.operation, nodes.Case):
            judged.update(symbol.name for symbol in step.symbols() if symbol.kind is SymbolKind.STEP)
    return judged


def _only_value(step: nodes.Step) -> Value:
    """Return the one value that the step can have; None if there may be more."""
    match step.operation:
        case nodes.Const(value):
            return value
        case nodes.Case(rules, otherwise):
            return _common([*(then for _, then in rules), otherwise])
        case nodes.Lookup(_, table, _, has_default, default):
            return _common([*(value for _, value in table), *([default] if has_default else [])])
        case nodes.Formula(expression) if expression.info.is_constant:
            return expression.info.constant
    known = step.range
    if step.ty.nullable or known is None or known.low != known.high or not known.is_bounded:
        return None  # a range that ends at the largest number was cut off there
    if step.ty.base is Base.BOOLEAN:
        return bool(known.low)
    return int(known.low) if known.low.is_integer() else known.low


def _common(values: list[Value]) -> Value:
    return values[0] if len({(type(value), value) for value in values}) == 1 else None


def _missing_bound(step: nodes.Step, problems: Problems) -> None:
    """Warn of a score that `max` or `min` bounds on one side while the other is open."""
    if not isinstance(step.operation, nodes.Formula) or step.range is None:
        return
    call = _unrounded(step.operation.expression)
    if not isinstance(call, typed.Call) or not FUNCTIONS[call.function].bounds:
        return
    bounds = [argument for argument in call.arguments if argument.info.is_constant]
    known, below = step.range, FUNCTIONS[call.function].bounds == "below"
    if not bounds or is_open(known.low) == is_open(known.high):
        return
    bound = expression_text(bounds[0])
    problems.report(catalogue.missing_bound(step.span, step.name, described(known), bound, is_above=below))


def _unrounded(expression: Expr) -> Expr:
    while isinstance(expression, typed.Call) and FUNCTIONS[expression.function].is_rounding:
        expression = expression.arguments[0]
    return expression


# --- hard-coded years that are the present: the results mean something else every year


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
    pairs = [pair for node in everything if isinstance(node, typed.Comparison) for pair in _pairs(node)]
    closed = {one for one, sign, _ in pairs if sign in ("<", "<=")}  # the period does not move
    for one, sign, other in pairs:
        is_year = isinstance(one, typed.Ref) and one.symbol in years
        if is_year and sign in (">", ">=") and one not in closed:
            use = f"{expression_text(one)} {sign} {expression_text(other)}"
            yield from ((year, span, use) for year, span in _year(other, constants))
    for node in everything:
        if isinstance(node, typed.Binary) and node.operator == "-":
            found = _year(node.left, constants) if id(node.right) in mentioning else []
            if id(node.left) in mentioning and id(node.right) not in mentioning:
                found = [each for each in _year(node.right, constants) if each[0] >= _PRESENT]
            yield from ((year, span, expression_text(node)) for year, span in found)


def _pairs(node: typed.Comparison) -> Iterator[tuple[Expr, str, Expr]]:
    """What is compared with what, from either side."""
    for left, operator, right in zip((node.first, *node.rest), node.operators, node.rest, strict=False):
        yield left, operator, right
        yield right, MIRRORED.get(operator, ""), left


def _mentioning(everything: Sequence[Expr], years: set[Symbol]) -> set[int]:
    """The ids of the nodes in which a year occurs; of `everything` each comes before its parts."""
    found: set[int] = set()
    for node in reversed(everything):
        if (isinstance(node, typed.Ref) and node.symbol in years) or any(
            id(part) in found for part in typed.children(node)
        ):
            found.add(id(node))
    return found


def _year(found: Expr, constants: dict[Symbol, tuple[int, Span]]) -> list[tuple[int, Span]]:
    """The year that is written here, or in the constant that is named here."""
    if isinstance(found, typed.Literal) and isinstance(found.value, int) and _FIRST <= found.value <= _LAST:
        return [(found.value, found.info.span)]
    if isinstance(found, typed.Ref) and found.symbol in constants:
        return [constants[found.symbol]]
    return []
