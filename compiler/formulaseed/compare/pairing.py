"""Pairs the steps and outputs of two programs, and compares their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formulaseed.errors import DataError
from formulaseed.explanation.verdict import choose_verdict
from formulaseed.ir import nodes
from formulaseed.ir.dependencies import uses_of
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.pages.values import is_number

_NOISE = 1e-12
"""Numbers that are closer, relative to their size, are equal: sums in another order differ by as much."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """The steps of a new program with their names in an old one, and the outputs that both have.

    `verdict` is the output whose values are counted, None if there is none, and `verdicts` are its possible values. `numbers`
    are the numeric outputs, the one that the verdict depends on first. `uses` has the symbols of the new program's steps.
    """

    steps: Mapping[str, str]
    outputs: tuple[str, ...]
    verdict: str | None
    verdicts: tuple[str, ...]
    numbers: tuple[str, ...]
    uses: Mapping[str, tuple[Symbol, ...]]


def pair_programs(
    old: nodes.Program, new: nodes.Program, names: Mapping[str, str], output: str | None = None
) -> Pairing:
    """Return what to compare. `names` gives each old step's name in the new program; `output` is one of either.

    Raises `DataError` for an output that only one of them has, or none.
    """
    old_names = {new_name: old_name for old_name, new_name in names.items()}
    outputs = tuple(name for name in new.output if old_names.get(name) in old.output)
    if output is not None and output not in new.output and names.get(output) in outputs:
        output = names[output]
    verdict = choose_verdict(new, output)
    if output is not None and output not in outputs:
        raise DataError(f"the old seed has no output `{output}`")
    if verdict is not None and verdict.name not in outputs:  # there is nothing to compare it with
        verdict = None
    with_values = [step.name for step in new.steps if not isinstance(step.operation, nodes.Filter)]
    return Pairing(
        steps={name: old_names[name] for name in with_values if name in old_names},
        outputs=outputs,
        verdict=verdict.name if verdict is not None else None,
        verdicts=_possible_verdicts(old, verdict, old_names) if verdict is not None else (),
        numbers=numbers_of(new, outputs, verdict, output),
        uses=uses_of(new),
    )


def _possible_verdicts(old: nodes.Program, verdict: nodes.Step, old_names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that a verdict can have in the old program, then those that it can have in the new one only."""
    old_verdict = next(step for step in old.steps if step.name == old_names[verdict.name])
    return tuple(dict.fromkeys((*(old_verdict.ty.values or ()), *(verdict.ty.values or ()))))


def numbers_of(
    program: nodes.Program, outputs: Sequence[str], verdict: nodes.Step | None, output: str | None
) -> tuple[str, ...]:
    """Return the numeric outputs, those that the verdict tests first, else the last ones; or only `output`."""
    steps = {step.name: step for step in program.steps}
    numeric = [name for name in outputs if steps[name].ty.is_numeric]
    if verdict is None:
        return tuple(name for name in reversed(numeric) if output in (None, name))
    tested = {symbol.name for symbol in verdict.symbols() if symbol.kind is SymbolKind.STEP}
    return tuple(sorted(numeric, key=lambda name: (name not in tested, -numeric.index(name))))


def is_same(old: Value, new: Value) -> bool:
    """Return whether two values are equal, numbers except for noise."""
    change = difference_of(old, new)
    if change is None:
        return type(old) is type(new) and old == new
    return abs(change) <= _NOISE * max(1.0, abs(float(old or 0)))


def difference_of(old: Value, new: Value) -> float | None:
    """Return the difference of two numbers; None for other values."""
    return float(new - old) if is_number(old) and is_number(new) else None
