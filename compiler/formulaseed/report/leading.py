"""What leads to a verdict in a program, whatever the restaurant: steps, what they read of reviews, and what they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import MIRRORED, NEGATED
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.report.definitions import filters_of, steps_used, upstream

Field = tuple[str, str]
"""A field of reviews: its section of a row, and its name."""


class Leading:
    """What leads to one step of a program, its verdict."""

    def __init__(self, program: nodes.Program, verdict: nodes.Step) -> None:
        self.program = program
        self.verdict = verdict

    @cached_property
    def steps(self) -> list[nodes.Step]:
        """The verdict and the steps that lead to it, each before those that it uses."""
        return upstream(self.program, self.verdict)

    @cached_property
    def aggregates(self) -> dict[str, nodes.Aggregate]:
        """The steps that look at the reviews one by one, by name, in the seed's order; no parts of other steps."""
        behind = {step.name for step in self.steps if step.needs_pass and not step.part_of}
        named = ((step.name, step.operation) for step in self.program.steps if step.name in behind)
        return {name: operation for name, operation in named if isinstance(operation, nodes.Aggregate)}

    @cached_property
    def compared(self) -> list[str]:
        """The steps that the verdict's rules compare; no parts of other steps."""
        parts = {step.name for step in self.program.steps if step.part_of}
        return [name for name in steps_used(self.verdict) if name not in parts]

    @cached_property
    def driver(self) -> str | None:
        """The number that the verdict's rules compare, without its limits, within which nothing would move it."""
        steps = {step.name: step for step in self.program.steps}
        for name in steps_used(self.verdict):
            if steps[name].ty.is_numeric:
                found = behind_limits(steps[name], steps)
                return None if found.part_of else found.name
        return None

    @cached_property
    def fields(self) -> list[Field]:
        """The fields of reviews that lead to the verdict, each with its section of a row."""
        conditions = (each for step in self.steps for each in filters_of(step, self._filters).values())
        named = [*conditions, *(each for step in self.steps for each in step.expressions())]
        used = {symbol for each in named for symbol in typed.symbols_in(each)}
        return [(kind.value, each.name) for kind, each in self.program.row_fields() if Symbol(kind, each.name) in used]

    @cached_property
    def wanted(self) -> list[dict[Field, Value]]:
        """What reviews have that count for a step: for each of the conditions of which that is plain to see."""
        conditions = (operation.where for operation in self.aggregates.values() if operation.where is not None)
        return [wanted for where in conditions if (wanted := self._wanted(where)) is not None]

    def _wanted(self, where: Expr) -> dict[Field, Value] | None:
        """The values of fields with which a review meets a condition; None if that is not plain to see."""
        wanted: dict[Field, Value] = {}
        stack = list(typed.conjuncts(where))
        while stack:
            part, truth = stack.pop(0), True
            while isinstance(part, typed.Not):
                part, truth = part.operand, not truth
            if isinstance(part, typed.Ref) and part.symbol.kind is SymbolKind.FILTER:
                if not truth:
                    return None
                stack += typed.conjuncts(self._filters[part.symbol.name])
                continue
            if isinstance(part, typed.Ref) and part.symbol.is_per_review:
                wanted[part.symbol.kind.value, part.symbol.name] = truth
                continue
            found = _solved(part, truth)
            if found is None:
                return None
            wanted.update(found)
        return wanted

    @cached_property
    def _filters(self) -> dict[str, Expr]:
        steps = self.program.steps
        return {step.name: step.operation.condition for step in steps if isinstance(step.operation, nodes.Filter)}


def behind_limits(step: nodes.Step, steps: Mapping[str, nodes.Step]) -> nodes.Step:
    """Return the step whose value a step has but for limits and rounding: `RAW` for `max(0, min(20, RAW))`."""
    while isinstance(step.operation, nodes.Formula):
        found = step.operation.expression
        while isinstance(found, typed.Present) or (isinstance(found, typed.Call) and is_limit(found)):
            inside = (found.operand,) if isinstance(found, typed.Present) else found.arguments
            found = next(each for each in inside if not each.info.is_constant)
        if not isinstance(found, typed.Ref) or found.symbol.kind is not SymbolKind.STEP:
            break
        step = steps[found.symbol.name]
    return step


def is_limit(call: typed.Call) -> bool:
    """Return whether a call limits or rounds its one argument that varies."""
    function = FUNCTIONS[call.function]
    moving = [each for each in call.arguments if not each.info.is_constant]
    return (function.selects or function.is_rounding) and len(moving) == 1


def _solved(part: Expr, truth: bool) -> dict[Field, Value] | None:
    """Values with which a comparison of a field with literals is true, or false; None for any other condition."""
    if not isinstance(part, typed.Comparison) or len(part.operators) != 1:
        return None
    field_, operator, other = part.first, part.operators[0], part.rest[0]
    if not isinstance(field_, typed.Ref):
        if operator not in MIRRORED or not isinstance(other, typed.Ref):
            return None
        field_, operator, other = other, MIRRORED[operator], field_
    if not field_.symbol.is_per_review:
        return None
    operator = operator if truth else NEGATED[operator]
    items = other.items if isinstance(other, typed.List) else (other,)
    values = [item.info.constant for item in items if item.info.is_constant]
    if len(values) < len(items):
        return None
    name = field_.symbol.kind.value, field_.symbol.name
    first = values[0]
    if operator in ("==", "in", ">=", "<="):
        return {name: first}
    if operator in (">", "<") and isinstance(first, int | float):
        return {name: first + (1 if operator == ">" else -1)}
    known = [value for value in field_.info.ty.values or () if value not in values]
    return {name: known[0]} if known else None
