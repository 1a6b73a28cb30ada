"""Evaluates seeds in exact fractions, as proofs do: 0.1 is one tenth, and no sum is rounded. Logarithms and roots are rounded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from formulaseed.errors import EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import Evaluation, prepare_evaluation
from formulaseed.language import typed
from formulaseed.language.operators import Fault
from formulaseed.language.typed import Expr
from formulaseed.language.types import INTEGER
from formulaseed.proofs.nodes import is_short

MAX_EXPONENT = 2_000


def exact(value: Any) -> Any:
    """A number as a fraction; any other value itself."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


class ExactEvaluation(Evaluation):
    """An evaluation whose numbers are fractions."""

    def evaluate(self, expression: Expr, row: Any) -> Any:
        """The value of an expression, exact."""
        if isinstance(expression, typed.Call) and expression.function == "float":
            value = self.evaluate(expression.arguments[0], row)
            return exact(int(value)) if isinstance(value, bool) else value
        exponent: typed.Expr | None = None
        match expression:
            case typed.Binary("**", _, right) | typed.Call("pow", (_, right)):
                exponent = right
        if exponent is not None:
            value = self.evaluate(exponent, row)
            if isinstance(value, Fraction) and abs(value) > MAX_EXPONENT:  # exact powers would take hours
                raise Fault("overflow", "the exponent is too large")
        result = exact(super().evaluate(expression, row))
        if isinstance(result, Fraction) and not is_short(result):  # Python refuses to print it, in a fault for example
            raise Fault("overflow", "the number has too many digits")
        return result

    def evaluate_aggregate(self, aggregate: typed.Aggregate) -> Any:
        """The value of an aggregate, exact: sums begin with a whole 0, and a mean is a quotient of fractions."""
        if aggregate not in self.aggregates:
            terms = [term for _, term in self.iter_terms(aggregate)]
            if aggregate.function == "mean":
                value = sum(terms, Fraction(0)) / len(terms) if terms else None
            else:
                value = exact(aggregate.entry.compute(terms, INTEGER))
            if value is None and aggregate.default is not None:
                value = exact(aggregate.default.value)
            self.aggregates[aggregate] = value
        return self.aggregates[aggregate]

    def evaluate_step(self, step: nodes.Step) -> None:
        """Evaluate a step. Raises `EvaluationError`."""
        if isinstance(step.operation, nodes.Filter):
            super().evaluate_step(step)
            return
        try:
            for aggregate in step.aggregates():
                self.evaluate_aggregate(aggregate)
            value = exact(self.evaluate_operation(step.operation))
        except Fault as fault:
            raise EvaluationError(step.name, fault.kind, fault.message, fault.operands) from None
        self.set_value(step, value)


def exact_values(
    program: nodes.Program,
    rows: Iterable[Mapping[str, Any]],
    context: Mapping[str, Any],
    parameters: Mapping[str, Any],
    fixed: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """The exact values of the steps, and the step and kind of the failure that ended the evaluation, or None.

    A value too large for a float, which only fractions hold, counts as an overflow. `fixed` has values of steps.
    """
    prepared = prepare_evaluation(program, rows, context, parameters)
    shared = {symbol: exact(value) for symbol, value in prepared.shared.items()}
    evaluation = ExactEvaluation(shared, [{s: exact(v) for s, v in row.items()} for row in prepared.rows])
    for step in program.steps:
        try:
            if fixed is not None and step.name in fixed:
                evaluation.set_value(step, exact(fixed[step.name]))
            else:
                evaluation.evaluate_step(step)
            for value in evaluation.results.values():
                if isinstance(value, Fraction):
                    float(value)
        except EvaluationError as error:
            return dict(evaluation.results), (error.step, error.kind)
        except OverflowError:
            evaluation.results.pop(step.name, None)
            return dict(evaluation.results), (step.name, "overflow")
    return dict(evaluation.results), None
