"""Test whether a review meets a condition, also on fields that no step uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.ir.inputs import read_row
from formulaseed.ir.interpret import prepare_evaluation
from formulaseed.language.operators import Fault
from formulaseed.language.typed import Expr, symbols_in
from formulaseed.language.types import Value


def meets_condition(
    program: nodes.Program,
    row: Mapping[str, Any],
    context: Mapping[str, Any],
    parameters: Mapping[str, Value] | None,
    condition: Expr,
) -> bool:
    """Return True if a review meets a condition; False also if the condition has no value for it, or the review lacks a field.

    Raises `DataError` for a wrong context or parameter.
    """
    evaluation = prepare_evaluation(program, [], context, parameters)
    for step in program.steps:
        if isinstance(step.operation, nodes.Filter):
            evaluation.filters[step.name] = step.operation.condition
    try:
        return bool(evaluation.evaluate(condition, read_row(program, row, program.used().union(symbols_in(condition)))))
    except (DataError, Fault, KeyError, TypeError):  # `KeyError` for a step, or a field of `context` that no step uses
        return False
