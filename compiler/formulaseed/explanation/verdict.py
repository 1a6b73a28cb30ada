"""Which output of a program is its verdict."""

from __future__ import annotations

from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.language.types import Base, Value


def verdict_of(program: nodes.Program, named: str | None = None) -> nodes.Step | None:
    """Return the step of the verdict: the output that is named, else the last one that rules choose from words or booleans.

    Where rules choose none, it is the last string or boolean; None where the outputs, or the named one, are numbers. Raises
    `DataError` for a name that is no output.
    """
    outputs = _outputs(program, named)
    found = [step for step in outputs if step.ty.base in (Base.STRING, Base.BOOLEAN)]
    ruled = [step for step in found if step.rules()]
    chosen = ruled or found
    return chosen[-1] if chosen else None


def explained_step(program: nodes.Program, named: str | None = None) -> nodes.Step:
    """Return the output to explain: the verdict, else the last number that rules choose, else the last output.

    Raises `DataError` for a name that is no output.
    """
    outputs = _outputs(program, named)
    ruled = [step for step in outputs if step.rules()]
    return verdict_of(program, named) or (ruled or outputs)[-1]


def _outputs(program: nodes.Program, named: str | None) -> list[nodes.Step]:
    if named is not None and named not in program.output:
        raise DataError(f"there is no output `{named}`; {did_you_mean(named, program.output, what='outputs')}")
    steps = {step.name: step for step in program.steps}
    return [steps[name] for name in (program.output if named is None else (named,))]


def verdicts_of(verdict: nodes.Step) -> tuple[Value, ...]:
    """Return what a verdict may be, in the policy's order; nothing where it is a number that is computed, or any string."""
    listed = [result for _, result in verdict.rules()] or [*(verdict.ty.values or ())]
    return (False, True) if verdict.ty.base is Base.BOOLEAN else tuple(dict.fromkeys(listed))
