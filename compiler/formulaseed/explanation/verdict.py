"""Chooses the output of a program that is its verdict, and the colours of verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.language.types import Base, Value
from formulaseed.pages.blocks import Badge
from formulaseed.pages.values import format_plain

_SHADE_COUNT = 5
Shades = Mapping[Value, str]
"""The CSS class of each verdict's colour."""


def choose_verdict(program: nodes.Program, output: str | None = None) -> nodes.Step | None:
    """Return the step of the verdict: `output`, or else the last output with a string or boolean chosen by rules.

    If no rules choose an output, it is the last string or boolean. Returns None if the outputs, or `output`, are numbers.
    Raises `DataError` if `output` is no output.
    """
    candidates = [step for step in _find_outputs(program, output) if step.ty.base in (Base.STRING, Base.BOOLEAN)]
    chosen_by_rules = [step for step in candidates if step.rules()]
    return next(reversed(chosen_by_rules or candidates), None)


def choose_explained_step(program: nodes.Program, output: str | None = None) -> nodes.Step:
    """Return the output to explain: the verdict, or else the last number that rules choose, or else the last output.

    Raises `DataError` if `output` is no output.
    """
    outputs = _find_outputs(program, output)
    chosen_by_rules = [step for step in outputs if step.rules()]
    return choose_verdict(program, output) or (chosen_by_rules or outputs)[-1]


def _find_outputs(program: nodes.Program, output: str | None) -> list[nodes.Step]:
    """Return the steps of all outputs, or of `output` alone. Raises `DataError` if it is no output."""
    if output is not None and output not in program.output:
        raise DataError(f"there is no output `{output}`; {did_you_mean(output, program.output, noun='outputs')}")
    steps = {step.name: step for step in program.steps}
    return [steps[name] for name in (program.output if output is None else (output,))]


def list_verdicts(verdict: nodes.Step) -> tuple[Value, ...]:
    """Return the possible verdicts in the policy's order; empty for a number that is computed, or an arbitrary string."""
    if verdict.ty.base is Base.BOOLEAN:
        return (False, True)
    results = [result for _, result in verdict.rules()] or [*(verdict.ty.values or ())]
    return tuple(dict.fromkeys(results))


def assign_shades(verdicts: Sequence[Value]) -> dict[Value, str]:
    """Return the CSS classes of verdicts, from `v0` for the first to `v4` for the last; duplicates are ignored."""
    distinct = list(dict.fromkeys(verdicts))
    last = max(len(distinct) - 1, 1)
    return {verdict: f"v{round(place / last * (_SHADE_COUNT - 1))}" for place, verdict in enumerate(distinct)}


def build_badge(verdict: Value, shades: Shades) -> Badge:
    """Return a verdict with its CSS class, `other` if it has none in `shades`."""
    return Badge(format_plain(verdict), shades.get(verdict, "other"))
