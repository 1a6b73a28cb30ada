"""Find the dependencies of a verdict in a program, for any restaurant: steps, fields of reviews, requirements of conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from formulaseed.ir import nodes
from formulaseed.ir.dependencies import find_dependencies, list_symbols, used_step_names
from formulaseed.ir.labels import label_of
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import COMPARE, MIRRORED, NEGATED
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.pages.values import is_number

_REVIEW_FIELDS = (SymbolKind.EXTRACTION, SymbolKind.META)
_MAX_DRIVERS = 3
Field = tuple[str, str]
"""A field of reviews: its section of a row, and its name."""


class FieldRequirement(NamedTuple):
    """A comparison that a condition requires of a field, with a `value` for which it holds."""

    field: Field
    value: Value
    operator: str
    limit: Any

    @property
    def is_exact(self) -> bool:
        """True if the condition names the values that the field must have."""
        return self.operator in ("==", "in")

    def is_met_by(self, value: Value) -> bool:
        """Return True if the comparison holds for a value."""
        try:
            return COMPARE[self.operator](value, self.limit)
        except TypeError:  # null has no order
            return False


class VerdictDependencies:
    """The steps, fields and conditions that one step of a program, its verdict, depends on."""

    def __init__(self, program: nodes.Program, verdict: nodes.Step) -> None:
        self.program = program
        self.verdict = verdict

    @cached_property
    def steps(self) -> list[nodes.Step]:
        """The verdict and the steps that it depends on, each before those that it uses."""
        return find_dependencies(self.program, self.verdict)

    @cached_property
    def aggregates(self) -> dict[str, typed.Aggregate]:
        """The aggregates that need a pass over the reviews, by step, in the seed's order."""
        names = {step.name for step in self.steps}
        return {
            step.name: step.aggregate
            for step in self.program.steps
            if step.name in names and step.aggregate is not None and step.aggregate.needs_pass
        }

    @cached_property
    def decisive_steps(self) -> list[str]:
        """The names of the steps that show the effect of a change.

        First those that the verdict's rules compare, then those that the formulas behind their limits use, those that
        rules choose, and those over reviews.
        """
        compared = used_step_names(self.verdict)
        unlimited = [find_limited_step(self.steps_by_name[name], self.steps_by_name) for name in compared]
        used = [name for step in unlimited for name in used_step_names(step)]
        chosen = [step.name for step in self.steps[1:] if step.rules()]
        return list(dict.fromkeys([*compared, *used, *chosen, *self.aggregates]))

    @cached_property
    def drivers(self) -> list[str]:
        """The names of the numbers that the rules of the verdict, and of string steps behind it, compare most often.

        There are at most `_MAX_DRIVERS`. A number that only limits another one is replaced by that one, as a change
        beyond the limits would not move it.
        """
        strings = [step for step in self.steps[1:] if list_branches(step) and step.ty.base is Base.STRING]
        compared = [name for step in (self.verdict, *strings) for name in used_step_names(step)]
        times_compared = Counter(name for name in compared if self.steps_by_name[name].ty.is_numeric)
        unlimited = (
            find_limited_step(self.steps_by_name[name], self.steps_by_name) for name, _ in times_compared.most_common()
        )
        return list(dict.fromkeys(step.name for step in unlimited))[:_MAX_DRIVERS]

    @cached_property
    def fields(self) -> list[Field]:
        """The fields of reviews that the verdict depends on."""
        used = {*list_symbols(self.steps, self.program.filters())}
        fields = self.program.row_fields()
        return [(kind.value, declared.name) for kind, declared in fields if Symbol(kind, declared.name) in used]

    @cached_property
    def requirements(self) -> dict[str, list[FieldRequirement]]:
        """The requirements of each step over reviews, from the single comparisons of its conditions; exact ones first.

        A step without requirements is left out.
        """
        required = {
            name: sorted(self._find_requirements(_list_conditions(aggregate)), key=lambda one: not one.is_exact)
            for name, aggregate in self.aggregates.items()
        }
        return {name: requirements for name, requirements in required.items() if requirements}

    def list_labels(self, names: Sequence[str]) -> list[str]:
        """Return the labels of the counts among the aggregates `names`, or of all if none counts.

        A count is left out if another one requires the same and more: of waits and long waits, only long waits are named.
        """
        named = [name for name in names if self.aggregates[name].entry.counts] or names
        fields = {
            name: {(*one.field, one.operator, str(one.limit)) for one in self.requirements.get(name, ())}
            for name in named
        }
        conditions = {name: {*typed.conjuncts(self.aggregates[name].where)} for name in named}
        return [
            label_of(self.steps_by_name[name])
            for name in named
            if not any(fields[name] < fields[other] or conditions[name] < conditions[other] for other in named)
        ]

    def _find_requirements(self, conditions: Sequence[Expr]) -> Iterator[FieldRequirement]:
        """Yield requirements under which all conditions hold; of alternatives, only those of the first one.

        Filters are followed. Parts that are not a boolean field, or a comparison of one field with literals, yield
        nothing.
        """
        stack = [(condition, True) for condition in reversed(conditions)]
        while stack:
            part, truth = stack.pop()
            match part:
                case typed.Not(operand):
                    stack.append((operand, not truth))
                case typed.Logical(word, operands):
                    if (word == "and") is not truth:  # one operand is enough
                        operands = operands[:1]
                    stack += ((operand, truth) for operand in reversed(operands))
                case typed.Ref(symbol) if symbol.kind is SymbolKind.FILTER:
                    stack.append((self.program.filters()[symbol.name], truth))
                case typed.Ref(symbol) if symbol.kind in _REVIEW_FIELDS:
                    yield FieldRequirement((symbol.kind.value, symbol.name), truth, "==", truth)
                case typed.Comparison(operators=(_,)):
                    yield from _find_compared_value(part, truth)

    @cached_property
    def steps_by_name(self) -> dict[str, nodes.Step]:
        """The steps of the program by name."""
        return {step.name: step for step in self.program.steps}


def _list_conditions(aggregate: typed.Aggregate) -> list[Expr]:
    """Return the conditions of a review that counts: the filter of the aggregate, and the condition that it tests."""
    tested = aggregate.operand if aggregate.entry.takes == "condition" else None
    return [condition for condition in (aggregate.where, tested) if condition is not None]


def _find_compared_value(comparison: typed.Comparison, truth: bool) -> Iterator[FieldRequirement]:
    """Yield the requirement under which a comparison of one field with literals is `truth`, if there is one.

    The comparison must not be chained. Yields nothing for others, and if no value of the field is known to satisfy it.
    """
    field, operator, other = comparison.first, comparison.operators[0], comparison.rest[0]
    if not isinstance(field, typed.Ref) and operator in MIRRORED:
        field, operator, other = other, MIRRORED[operator], field
    if not isinstance(field, typed.Ref) or field.symbol.kind not in _REVIEW_FIELDS:
        return
    items = other.items if isinstance(other, typed.List) else (other,)
    if not items or not all(item.info.is_constant for item in items):
        return
    values = [item.info.constant for item in items]
    if not truth:
        operator = NEGATED[operator]
    candidates = _find_satisfying_values(operator, values, field)
    if candidates:
        limit = values if isinstance(other, typed.List) else values[0]
        yield FieldRequirement((field.symbol.kind.value, field.symbol.name), candidates[0], operator, limit)


def _find_satisfying_values(operator: str, values: Sequence[Value], field: typed.Ref) -> Sequence[Value]:
    """Return values for which `field operator values` holds, the first of `values` if possible.

    Empty if the operator excludes values and the field's type does not list others. `values` must not be empty.
    """
    first = values[0]
    if operator == ">" and is_number(first):
        return [first + 1]
    if operator == "<" and is_number(first):
        return [first - 1]
    if operator not in ("!=", "not in"):
        return [first]
    possible: Sequence[Value] = field.info.ty.values or ()
    if field.info.ty.base is Base.BOOLEAN:
        possible = (False, True)
    return [value for value in possible if value not in values]


# --- limits


def find_limited_step(step: nodes.Step, steps: Mapping[str, nodes.Step]) -> nodes.Step:
    """Return the step that a step limits or rounds: `RAW` for `max(0, min(20, RAW))`; the step itself if it does neither.

    `steps` has all steps by name.
    """
    while isinstance(step.operation, nodes.Formula):
        *_, inner = unwrap_limits(step.operation.expression)
        if not isinstance(inner, typed.Ref) or inner.symbol.kind is not SymbolKind.STEP:
            break
        step = steps[inner.symbol.name]
    return step


def _is_limit(call: typed.Call) -> bool:
    """Return True if a call limits or rounds its only argument that is not constant."""
    function = FUNCTIONS[call.function]
    varying = [argument for argument in call.arguments if not argument.info.is_constant]
    return (function.selects or function.is_rounding) and len(varying) == 1


def find_limits(*expressions: Expr) -> tuple[list[Value], list[Value]]:
    """Return the lower and the upper limits of formulas with one varying argument; empty lists if they have none.

    Those of nested calls come after those of the outer one. Rounding is skipped.
    """
    low: list[Value] = []
    high: list[Value] = []
    for part in chain.from_iterable(map(unwrap_limits, expressions)):
        if not isinstance(part, typed.Call) or not _is_limit(part) or not FUNCTIONS[part.function].selects:
            continue
        # without `bounds` it is clamp, whose bounds are its second and third argument
        clamped = (part.arguments[1:2], part.arguments[2:3])
        sides = {"below": (part.arguments, ()), "above": ((), part.arguments)}
        lower, upper = sides.get(FUNCTIONS[part.function].bounds, clamped)
        low += _list_constants(lower)
        high += _list_constants(upper)
    return low, high


def unwrap_limits(expression: Expr) -> Iterator[Expr]:
    """Yield an expression, then the expression that it only limits or rounds, and so on; the last one does neither."""
    yield expression
    while isinstance(expression, typed.Present) or (isinstance(expression, typed.Call) and _is_limit(expression)):
        if isinstance(expression, typed.Present):
            expression = expression.operand
        else:
            expression = next(argument for argument in expression.arguments if not argument.info.is_constant)
        yield expression


def _list_constants(arguments: Sequence[Expr]) -> list[Value]:
    """Return the values of the constant expressions among `arguments`, in their order."""
    return [argument.info.constant for argument in arguments if argument.info.is_constant]


# --- choices


class RuleBranch(NamedTuple):
    """One branch of a step that chooses by rules. `condition` is None for the last; `value` is a literal or a formula."""

    condition: Expr | None
    value: Value | Expr


def list_branches(step: nodes.Step) -> list[RuleBranch]:
    """Return the branches that a step chooses from by rules, in their order; empty if it does not choose by rules.

    The conditions of a conditional formula with strings or booleans are rules, too.
    """
    if step.rules():
        return [RuleBranch(*rule) for rule in step.rules()]
    branches: list[RuleBranch] = []
    rest = step.operation.expression if isinstance(step.operation, nodes.Formula) else None
    while isinstance(rest, typed.Conditional) and step.ty.base in (Base.STRING, Base.BOOLEAN):
        branches.append(RuleBranch(rest.condition, rest.then))
        rest = rest.otherwise
    if branches:
        branches.append(RuleBranch(None, rest))
    return branches
