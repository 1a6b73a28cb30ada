"""Results that are constant, and scores that are bounded on one side only."""

from __future__ import annotations

from formulaseed.diagnostics.catalogue import lint as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.intervals import described, is_open
from formulaseed.language.printer import expression_text, value_text
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import Base, Value

_INPUTS = (SymbolKind.EXTRACTION, SymbolKind.META, SymbolKind.CONTEXT, SymbolKind.PARAMETER)


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
