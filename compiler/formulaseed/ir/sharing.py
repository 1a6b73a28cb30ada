"""Replaces conditions in operands of aggregates by filters with the same condition, so that each row is tested once."""

from __future__ import annotations

from dataclasses import replace

from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.typed import Expr, Symbol, SymbolKind


def share_filters(program: nodes.Program) -> nodes.Program:
    """Return the program with names of filters in place of equal conditions in operands of aggregates.

    These must be steps. Only filters before the aggregate that some step uses are named, so that no filter is computed
    for an operand alone.
    """
    if not any(step.aggregate is not None and _has_condition(step.aggregate.operand) for step in program.steps):
        return program
    in_use = _filters_in_use(program)
    names: dict[Expr, str] = {}
    steps: list[nodes.Step] = []

    def name_filters(expression: Expr) -> Expr:
        """Return the expression with names of the filters so far in place of their conditions."""
        if isinstance(expression, typed.Comparison | typed.Logical | typed.Not) and expression in names:
            return typed.Ref(Symbol(SymbolKind.FILTER, names[expression]), expression.info)
        return typed.map_operands(expression, name_filters)

    for step in program.steps:
        aggregate = step.aggregate
        if isinstance(step.operation, nodes.Filter):
            if step.name in in_use:
                names.setdefault(step.operation.condition, step.name)
        elif aggregate is not None and aggregate.operand is not None:
            step = replace(step, operation=nodes.Formula(replace(aggregate, operand=name_filters(aggregate.operand))))
        steps.append(step)
    return replace(program, steps=tuple(steps))


def _has_condition(operand: Expr | None) -> bool:
    """Return whether the operand contains a comparison or `not`; False if it is None.

    An `and` or `or` of flags alone is not worth a name.
    """
    return operand is not None and any(isinstance(node, typed.Comparison | typed.Not) for node in typed.walk(operand))


def _filters_in_use(program: nodes.Program) -> set[str]:
    """Return the names of the filters and steps that some step uses, directly or through filters."""
    uses = program.uses()
    in_use: set[str] = set()
    for step in reversed(program.steps):
        if step.name in in_use or not isinstance(step.operation, nodes.Filter):
            in_use |= uses[step.name]
    return in_use
