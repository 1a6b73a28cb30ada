"""Replace what the operand of an aggregate repeats of a filter by the filter's name, so that a target tests it once for a row."""

from __future__ import annotations

from dataclasses import replace

from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.typed import Expr, Symbol, SymbolKind


def share_filters(program: nodes.Program) -> nodes.Program:
    """Return the program with the names of filters in operands that repeat their conditions.

    Only filters that come before the aggregate and that some aggregate uses count, so that no filter is computed for an operand
    alone.
    """
    names: dict[Expr, str] = {}
    steps: list[nodes.Step] = []
    in_use = _filters_in_use(program)

    def name_filters(expression: Expr) -> Expr:
        if isinstance(expression, typed.Comparison | typed.Logical | typed.Not) and expression in names:
            return typed.Ref(Symbol(SymbolKind.FILTER, names[expression]), expression.info)
        return typed.mapped(expression, name_filters)

    def name_in_operands(expression: Expr) -> Expr:
        if isinstance(expression, typed.Aggregate) and expression.operand is not None:
            return replace(expression, operand=name_filters(expression.operand))
        return typed.mapped(expression, name_in_operands)

    for step in program.steps:
        if isinstance(step.operation, nodes.Filter):
            if step.name in in_use:
                names.setdefault(step.operation.condition, step.name)
        elif names and isinstance(step.operation, nodes.Formula) and step.aggregates():
            step = replace(step, operation=nodes.Formula(name_in_operands(step.operation.expression)))
        steps.append(step)
    return replace(program, steps=tuple(steps))


def _filters_in_use(program: nodes.Program) -> set[str]:
    """Return the names of the filters that aggregates use, directly or through other filters."""
    uses = program.uses()
    in_use: set[str] = set()
    for step in reversed(program.steps):
        if step.name in in_use or not isinstance(step.operation, nodes.Filter):
            in_use |= uses[step.name]
    return in_use
