"""Pairs the steps and outputs of two programs, and compares their values.

`diff`, `sensitivity` and `expect` share the comparison of values, the order of numeric outputs, and the text of verdicts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from formulaseed.errors import DataError
from formulaseed.explanation.verdict import choose_verdict
from formulaseed.ir import nodes
from formulaseed.ir.dependencies import find_symbols
from formulaseed.ir.labels import map_labels
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.pages.blocks import InlineCode, Table
from formulaseed.pages.values import format_plain, is_number

_RELATIVE_TOLERANCE = 1e-12  # adding the same numbers in another order changes a sum by about as much
_NO_VERDICT = "evaluated"
Verdicts = tuple[str | None, str | None]
"""The verdicts of a restaurant before and after, or expected and actual; None if it fails."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """The steps and outputs that an old and a new program have in common.

    `old_names` maps the new name of each common step, filters excepted, to its old name. `outputs` are the common outputs.
    `verdict` is the output whose values are counted, or None; `possible_verdicts` are the values that it can have in either
    program. `numeric_outputs` are ordered by `rank_numeric_outputs`. `uses` maps each step of the new program to the symbols
    that it reads. All names except the values of `old_names` are those of the new program.
    """

    old_names: Mapping[str, str]
    outputs: tuple[str, ...]
    verdict: str | None
    possible_verdicts: tuple[str, ...]
    numeric_outputs: tuple[str, ...]
    uses: Mapping[str, tuple[Symbol, ...]]
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels of the new program's steps."""

    @property
    def old_verdict(self) -> str | None:
        """The name of the verdict in the old program; None without a verdict."""
        return self.old_names.get(self.verdict) if self.verdict is not None else None


def pair_programs(
    old: nodes.Program, new: nodes.Program, new_names: Mapping[str, str], output: str | None = None
) -> Pairing:
    """Pair the steps and outputs of two programs, and choose the verdict to count.

    `new_names` maps each old step to its name in the new program. `output`, by its old or new name, is the output to look at;
    by default `choose_verdict` chooses one of the new program. Raises `DataError` if `output` is not an output of both programs.
    """
    all_old_names = {new_name: old_name for old_name, new_name in new_names.items()}
    filters = {step.name for step in new.steps if isinstance(step.operation, nodes.Filter)}
    common = all_old_names.keys() - filters
    old_names = {step.name: all_old_names[step.name] for step in new.steps if step.name in common}
    outputs = tuple(name for name in new.output if old_names.get(name) in old.output)
    if output is not None and output not in new.output and new_names.get(output) in outputs:
        output = new_names[output]
    verdict = _choose_verdict(new, outputs, output)
    numeric_outputs = rank_numeric_outputs(new, outputs, verdict, output)
    labels = map_labels(new)
    if verdict is None:
        return Pairing(old_names, outputs, None, (), numeric_outputs, find_symbols(new), labels)
    old_verdict = {step.name: step for step in old.steps}[old_names[verdict.name]]
    possible_verdicts = tuple(dict.fromkeys((*(old_verdict.ty.values or ()), *(verdict.ty.values or ()))))
    return Pairing(old_names, outputs, verdict.name, possible_verdicts, numeric_outputs, find_symbols(new), labels)


def _choose_verdict(new: nodes.Program, outputs: Collection[str], output: str | None) -> nodes.Step | None:
    """Return the verdict of the new program, or None if it has none or the verdict is not one of the common `outputs`.

    Raises `DataError` if `output` is not one of them.
    """
    verdict = choose_verdict(new, output)
    if output is not None and output not in outputs:
        raise DataError(f"the old seed has no output `{output}`")
    return verdict if verdict is not None and verdict.name in outputs else None


def rank_numeric_outputs(
    program: nodes.Program, outputs: Sequence[str], verdict: nodes.Step | None, output: str | None
) -> tuple[str, ...]:
    """Return the numeric ones of `outputs`: first those that the verdict tests, then the others, the last output first.

    If `verdict` is None, they are not ranked but reversed; if `output` is set, only that one is returned.
    """
    steps = {step.name: step for step in program.steps}
    numeric = [name for name in outputs if steps[name].ty.is_numeric]
    if verdict is None:
        return tuple(name for name in reversed(numeric) if output in (None, name))
    tested = {symbol.name for symbol in verdict.symbols() if symbol.kind is SymbolKind.STEP}
    return tuple(sorted(numeric, key=lambda name: (name not in tested, -numeric.index(name))))


def format_verdict(values: Mapping[str, Value] | None, verdict: str | None) -> str | None:
    """Return the value of the output `verdict` as a string: "evaluated" if `verdict` is None, None if `values` is None.

    `values` maps outputs to values; it is None for a restaurant that fails.
    """
    if values is None:
        return None
    return format_plain(values[verdict]) if verdict is not None else _NO_VERDICT


def format_verdict_cell(verdict: str | None) -> str:
    """Return the cell of a verdict; None is that of a restaurant that failed."""
    return "(failed)" if verdict is None else InlineCode(verdict)


def build_matrix_table(corner: str, matrix: Mapping[Verdicts, int], possible_verdicts: Sequence[str]) -> Table:
    """Return counts by two verdicts as a table: a row for each first verdict, a column for each second one, failures last.

    The verdicts that occur are in the order of `possible_verdicts`; `corner` is the name of the first column.
    """
    occurring = {verdict for verdicts in matrix for verdict in verdicts}
    known = sorted(verdict for verdict in occurring if verdict is not None)
    order = [verdict for verdict in dict.fromkeys((*possible_verdicts, *known, None)) if verdict in occurring]
    # nobody expects a failure
    first_verdicts = order if any(verdict is None for verdict, _ in matrix) else [v for v in order if v is not None]
    rows = [[format_verdict_cell(old), *(str(matrix.get((old, new), 0)) for new in order)] for old in first_verdicts]
    return Table((corner, *map(format_verdict_cell, order)), rows)


def is_same(old: Value, new: Value) -> bool:
    """Return whether two values are equal: numbers within rounding noise, other values only if their types are equal, too."""
    change = compute_change(old, new)
    if change is None:
        return type(old) is type(new) and old == new
    return abs(change) <= _RELATIVE_TOLERANCE * max(1.0, abs(float(old or 0)))


def compute_change(old: Value, new: Value) -> float | None:
    """Return `new - old`, or None if either value is not a number (booleans are not numbers)."""
    return float(new - old) if is_number(old) and is_number(new) else None
