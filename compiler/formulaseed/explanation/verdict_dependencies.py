"""What leads to a verdict in a program, whatever the restaurant: steps, what they read of reviews, and what they ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from formulaseed.ir import nodes
from formulaseed.ir.dependencies import filters_of, steps_used, upstream
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import COMPARE, MIRRORED, NEGATED
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.pages.values import is_number

_OF_REVIEWS = (SymbolKind.EXTRACTION, SymbolKind.META)
_DRIVERS = 3
Field = tuple[str, str]
"""A field of reviews: its section of a row, and its name."""


class Wish(NamedTuple):
    """What a condition asks of a field: a value with which it holds, and the comparison that tells such values."""

    field: Field
    value: Value
    operator: str
    limit: Any

    @property
    def is_exact(self) -> bool:
        """Whether it names the values that the field must have."""
        return self.operator in ("==", "in")

    def is_met(self, value: Value) -> bool:
        """Return whether the field may as well have this value."""
        try:
            return COMPARE[self.operator](value, self.limit)
        except TypeError:  # null has no order
            return False


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
    def aggregates(self) -> dict[str, typed.Aggregate]:
        """The aggregates that look at the reviews one by one, by the steps that they are, in the seed's order."""
        behind = {step.name for step in self.steps}
        named = ((step.name, step.aggregate) for step in self.program.steps if step.name in behind)
        return {name: each for name, each in named if each is not None and each.needs_pass}

    @cached_property
    def compared(self) -> list[str]:
        """The steps that the verdict's rules compare."""
        return steps_used(self.verdict)

    @cached_property
    def telling(self) -> list[str]:
        """The steps that tell what a change does: those compared, those that the formulas behind their limits use, those
        that rules choose, and those over reviews."""
        steps = {step.name: step for step in self.steps}
        direct = (name for driver in self.compared for name in steps_used(behind_limits(steps[driver], steps)))
        chosen = (step.name for step in self.steps[1:] if step.rules())
        return list(dict.fromkeys([*self.compared, *direct, *chosen, *self.aggregates]))

    @cached_property
    def drivers(self) -> list[str]:
        """The numbers that the verdict's rules compare, and those of the rules that it passes on to, the most compared first.

        They are without their limits, within which nothing would move them.
        """
        steps = {step.name: step for step in self.program.steps}
        named: Counter[str] = Counter()
        for step in self.steps:
            if step is self.verdict or (choices(step) and step.ty.base is Base.STRING):
                named.update(name for name in steps_used(step) if steps[name].ty.is_numeric)
        found = (behind_limits(steps[name], steps) for name, _ in named.most_common())
        return list(dict.fromkeys(step.name for step in found))[:_DRIVERS]

    @cached_property
    def fields(self) -> list[Field]:
        """The fields of reviews that lead to the verdict, each with its section of a row."""
        conditions = (each for step in self.steps for each in filters_of(step, self._filters).values())
        named = [*conditions, *(each for step in self.steps for each in step.expressions())]
        used = {symbol for each in named for symbol in typed.symbols_in(each)}
        return [(kind.value, each.name) for kind, each in self.program.row_fields() if Symbol(kind, each.name) in used]

    @cached_property
    def wishes(self) -> dict[str, list[Wish]]:
        """What each step over reviews asks of a review, as far as that is plain to see; the exact wishes first."""
        found = ((name, [*self._asked(*_conditions(each))]) for name, each in self.aggregates.items())
        return {name: sorted(wishes, key=lambda wish: not wish.is_exact) for name, wishes in found if wishes}

    def _asked(self, *conditions: Expr) -> Iterator[Wish]:
        stack = [(condition, True) for condition in reversed(conditions)]
        while stack:
            part, truth = stack.pop()
            match part:
                case typed.Not(operand):
                    stack.append((operand, not truth))
                case typed.Logical(word, operands):
                    needed = operands if (word == "and") is truth else operands[:1]
                    stack += ((each, truth) for each in reversed(needed))
                case typed.Ref(symbol) if symbol.kind is SymbolKind.FILTER:
                    stack.append((self._filters[symbol.name], truth))
                case typed.Ref(symbol) if symbol.kind in _OF_REVIEWS:
                    yield Wish((symbol.kind.value, symbol.name), truth, "==", truth)
                case typed.Comparison():
                    yield from _solved(part, truth)
                case _:
                    pass

    @cached_property
    def _filters(self) -> dict[str, Expr]:
        steps = self.program.steps
        return {step.name: step.operation.condition for step in steps if isinstance(step.operation, nodes.Filter)}


def _conditions(aggregate: typed.Aggregate) -> Iterator[Expr]:
    """Yield what a review must meet to count, and to matter: also the condition that an aggregate tests."""
    if aggregate.where is not None:
        yield aggregate.where
    if aggregate.operand is not None and aggregate.entry.takes == "condition":
        yield aggregate.operand


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


def limits_of(found: Expr) -> tuple[list[Value], list[Value]]:
    """Return the constants below which and above which a formula limits its one argument that varies."""
    low: list[Value] = []
    high: list[Value] = []
    while isinstance(found, typed.Present) or (isinstance(found, typed.Call) and is_limit(found)):
        inside = (found.operand,) if isinstance(found, typed.Present) else found.arguments
        if isinstance(found, typed.Call) and (function := FUNCTIONS[found.function]).selects:
            below = inside if function.bounds == "below" else inside[1:2] if not function.bounds else ()
            above = inside if function.bounds == "above" else inside[2:3] if not function.bounds else ()
            low += (each.info.constant for each in below if each.info.is_constant)
            high += (each.info.constant for each in above if each.info.is_constant)
        found = next(each for each in inside if not each.info.is_constant)
    return low, high


def _solved(part: typed.Comparison, truth: bool) -> Iterator[Wish]:
    """Yield what makes a comparison of a field with literals true, or false."""
    field, operator, other = part.first, part.operators[0], part.rest[0]
    if not isinstance(field, typed.Ref) and operator in MIRRORED:
        field, operator, other = other, MIRRORED[operator], field
    if len(part.operators) != 1 or not isinstance(field, typed.Ref) or field.symbol.kind not in _OF_REVIEWS:
        return
    operator = operator if truth else NEGATED[operator]
    items = other.items if isinstance(other, typed.List) else (other,)
    values = [item.info.constant for item in items if item.info.is_constant]
    if len(values) < len(items) or not values:
        return
    first, found = values[0], list[Value]()
    if operator in (">", "<") and is_number(first):
        found = [first + (1 if operator == ">" else -1)]
    elif operator not in ("!=", "not in"):
        found = [first]
    elif field.info.ty.values or field.info.ty.base is Base.BOOLEAN:
        found = [value for value in field.info.ty.values or (False, True) if value not in values]
    if found:
        limit = values if isinstance(other, typed.List) else first
        yield Wish((field.symbol.kind.value, field.symbol.name), found[0], operator, limit)


class Choice(NamedTuple):
    """One of the branches of a step that chooses. `condition` is None for the last; `value` is a literal or a formula."""

    condition: Expr | None
    value: Value | Expr


def choices(step: nodes.Step) -> list[Choice]:
    """Return what a step chooses by rules from, in their order; a formula of words or booleans may choose from steps, too."""
    if step.rules():
        return [Choice(*rule) for rule in step.rules()]
    found: list[Choice] = []
    rest = step.operation.expression if isinstance(step.operation, nodes.Formula) else None
    while isinstance(rest, typed.Conditional) and step.ty.base in (Base.STRING, Base.BOOLEAN):
        found.append(Choice(rest.condition, rest.then))
        rest = rest.otherwise
    return [*found, Choice(None, rest)] if found else []
