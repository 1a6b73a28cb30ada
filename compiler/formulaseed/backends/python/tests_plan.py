"""A checked seed as the Hypothesis tests of its generated module.

In: a program, where its seed and its module are, seen from the file of the tests. Out: the text of that file, and what its
verification finds wrong. What is asserted is what the checker knows: bounds, values, claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from formulaseed.backends.base import Unit
from formulaseed.backends.python.code import Code, docstring_text, literal, tuple_text
from formulaseed.backends.python.identity import STYLES
from formulaseed.backends.python.names import Names
from formulaseed.backends.python.plan import Variables, header
from formulaseed.backends.python.render import render_whole
from formulaseed.backends.python.verify_tests import verify_tests
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.intervals import is_open
from formulaseed.language.types import Base

_HELPERS = ("Restaurant", "load_module", "note_steps", "outcome", "reference_evaluate", "restaurants")
"""What every file of tests imports from `formulaseed.testing`."""
_TESTS = ("test_agrees_with_the_reference", "test_outputs_are_within_bounds", "test_order_of_rows_has_no_effect")
_MOVES = {"increasing": ("falls", "does not fall"), "decreasing": ("rises", "does not rise")}


@dataclass(frozen=True, slots=True)
class Claim:
    """The test of one property."""

    function: Code
    doc: Code
    step: Code
    variable: Code
    moves: Code


def emit_tests(unit: Unit, seed: str, module: str) -> tuple[str, str | None]:
    """Return the tests of a seed's module, and what is wrong with them or None; the paths are relative to the tests' folder."""
    assert isinstance(unit.program, nodes.Program)
    source = render_whole("tests", _variables(unit.program, unit, seed, module))
    return source, verify_tests(source)


def _variables(program: nodes.Program, unit: Unit, seed: str, module: str) -> Variables:
    bounds = [*_bounds(program)]
    claims = [*_claims(program)]
    sums, exact = _sums(program)
    helpers = [*_HELPERS, *(["growth", "raised"] if claims else []), *(["rounding"] if sums else [])]
    return {
        "header": header(unit.path, unit.style or STYLES[-1]),
        "task_name": literal(program.task_name),
        "sha256": literal(unit.sha256),
        "seed_path": literal(seed),
        "module_path": literal(module),
        "helpers": Code(", ".join(sorted(helpers))),
        "needs_math": bool(sums) or any("math." in bound for bound in bounds),
        "bounds": bounds,
        "sums": _listed(sums) if sums else None,
        "exact": _listed(exact) if exact else None,
        "is_exact": exact is None,
        "claims": claims,
    }


def _listed(values: Sequence[str]) -> Code:
    return Code(tuple_text([literal(value) for value in values]))


# --- bounds


def _bounds(program: nodes.Program) -> Iterator[Code]:
    """What holds of each output, as a condition on `result`."""
    steps = {step.name: step for step in program.steps}
    for name in program.output:
        value = f"result[{literal(name)}]"
        condition = _bound(steps[name], value)
        yield Code(f"{value} is None or {condition}" if steps[name].ty.nullable else condition)


def _bound(step: nodes.Step, value: str) -> str:
    ty, known = step.ty, step.range
    if ty.values is not None:
        return f"{value} in {_listed(ty.values)}"
    if not ty.is_numeric or known is None:
        return f"isinstance({value}, {'bool' if ty.base is Base.BOOLEAN else 'str'})"
    is_whole = ty.base is Base.INTEGER
    low = None if is_open(known.low) else literal(int(known.low) if is_whole else known.low)
    high = None if is_open(known.high) else literal(int(known.high) if is_whole else known.high)
    if not is_whole:  # neither infinity nor NaN
        lower, upper = f"{low} <= " if low else "-math.inf < ", f" <= {high}" if high else " < math.inf"
    elif low or high:
        lower, upper = f"{low} <= " if low else "", f" <= {high}" if high else ""
    else:
        return f"isinstance({value}, int)"
    return f"{lower}{value}{upper}"


# --- the order of the rows


def _sums(program: nodes.Program) -> tuple[list[str], list[str] | None]:
    """Return the sums of floats that depend on no formula that contains one, and the steps that depend on no such sum.

    None in place of the latter where the former are all sums of floats: if they are the same, all steps are.
    """
    values = [step for step in program.steps if not isinstance(step.operation, nodes.Filter)]
    rounded = {step.name for step in values if any(map(_is_rounded, step.aggregates()))}
    inside = {step.name for step in values if step.aggregate is None and step.name in rounded}
    all_rounded, moved_by_formulas = _with_dependents(program, rounded), _with_dependents(program, inside)
    exact = [step.name for step in values if step.name not in all_rounded] if inside else None
    return [step.name for step in values if step.name in rounded - moved_by_formulas], exact


def _with_dependents(program: nodes.Program, names: set[str]) -> set[str]:
    """Return the steps, and all that use one of them, directly or through others."""
    uses, found = program.uses(), set(names)
    for step in program.steps:
        if uses[step.name] & found:
            found.add(step.name)
    return found


def _is_rounded(aggregate: typed.Aggregate) -> bool:
    """Return whether the value may depend on the order of the rows."""
    operand = aggregate.operand
    return aggregate.entry.depends_on_order and operand is not None and operand.info.ty.base is Base.NUMBER


# --- claims


def _claims(program: nodes.Program) -> Iterator[Claim]:
    names = Names(_TESTS)
    for claim in program.properties:
        moves, does_not = _MOVES[claim.direction]
        yield Claim(
            names.local(f"test_{claim.step}_is_{claim.direction}_in_{claim.variable}"),
            docstring_text(f"{claim.step} {does_not} when {claim.variable} grows and only what uses it changes."),
            literal(claim.step),
            literal(claim.variable),
            Code(moves),
        )
