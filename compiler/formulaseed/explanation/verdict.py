"""Chooses the output of a program that is its verdict."""

from __future__ import annotations

from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.language.types import Base, Value


def verdict_of(program: nodes.Program, output: str | None = None) -> nodes.Step | None:
    """Return the step of the verdict: `output`, else the last output that rules choose from strings or booleans.

    If rules choose none, it is the last string or boolean; None if the outputs, or `output`, are numbers. Raises `DataError`
    for a name that is no output.
    """
    candidates = [step for step in _outputs(program, output) if step.ty.base in (Base.STRING, Base.BOOLEAN)]
    chosen_by_rules = [step for step in candidates if step.rules()]
    return next(reversed(chosen_by_rules or candidates), None)


def explained_step(program: nodes.Program, output: str | None = None) -> nodes.Step:
    """Return the output to explain: the verdict, else the last number that rules choose, else the last output.

    Raises `DataError` for a name that is no output.
    """
    outputs = _outputs(program, output)
    chosen_by_rules = [step for step in outputs if step.rules()]
    return verdict_of(program, output) or (chosen_by_rules or outputs)[-1]


def _outputs(program: nodes.Program, output: str | None) -> list[nodes.Step]:
    """Return the steps of all outputs, or of the one that is named. Raises `DataError` for a name that is no output."""
    if output is not None and output not in program.output:
        raise DataError(f"there is no output `{output}`; {did_you_mean(output, program.output, noun='outputs')}")
    steps = {step.name: step for step in program.steps}
    return [steps[name] for name in (program.output if output is None else (output,))]


def verdicts_of(verdict: nodes.Step) -> tuple[Value, ...]:
    """Return the possible verdicts in the policy's order; none if it is a number that is computed, or any string."""
    if verdict.ty.base is Base.BOOLEAN:
        return (False, True)
    results = [result for _, result in verdict.rules()] or [*(verdict.ty.values or ())]
    return tuple(dict.fromkeys(results))
