"""Print the bounds of numbers as comments of a module: those of parameters, and those that hold for outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from formulaseed.backends.python.code import Code, docstring_text
from formulaseed.ir import nodes
from formulaseed.language.intervals import ANY_NUMBER, Range, bounds_text, is_any


class ProvedBounds(NamedTuple):
    """The ranges of outputs that are proved for all restaurants, by name, and the values of fields that the proofs assume."""

    ranges: Mapping[str, Range]
    assumptions: tuple[str, ...]


def print_bounds(step: nodes.Step, proved: ProvedBounds | None) -> Code:
    """Print the bounds of an output, such as `0 to 20, proved`; empty if it has none.

    The checker's bounds, which hold for all values that the module accepts, take the place of those that are not proved.
    """
    if not step.ty.is_numeric:
        return Code("")
    derived = step.range or ANY_NUMBER
    if proved is not None and step.name in proved.ranges:
        bounds = proved.ranges[step.name]
        if not is_any(bounds):
            bounds = Range(max(derived.low, bounds.low), min(derived.high, bounds.high))
            return Code(f"{bounds_text(bounds)}, proved")
    return Code("") if is_any(derived) else Code(bounds_text(derived))


def print_assumptions(proved: ProvedBounds) -> list[Code]:
    """Print the values of fields for which the proved bounds hold, for a list in the module's docstring."""
    return [docstring_text(text) for text in proved.assumptions]


def describe_bounds(parameter: nodes.Parameter) -> str:
    """Return the bounds of a parameter as a sentence without a full stop; empty if it has none."""
    low = parameter.minimum
    high = parameter.maximum
    if low is not None and high is not None:
        return f"From {low} to {high}"
    if low is not None:
        return f"At least {low}"
    if high is not None:
        return f"At most {high}"
    return ""
