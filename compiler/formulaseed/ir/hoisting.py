"""Makes every aggregate a step of its own, since targets compute aggregates before the formulas that use their values.

In: a checked program. Out: the program with a new step for each aggregate that is a part of a formula. Equal aggregates become
one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.source.text import claim_name

_MAX_NAME_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class HoistedProgram:
    """A program whose aggregates are all steps. `authors` maps each new step to the step whose formula contained it."""

    program: nodes.Program
    authors: Mapping[str, str]

    @property
    def steps(self) -> tuple[nodes.Step, ...]:
        """The steps of the program, with the new ones."""
        return self.program.steps

    def author(self, step: nodes.Step) -> str:
        """Return the name of the step whose formula contained `step`; its own name if it was a step before."""
        return self.authors.get(step.name, step.name)

    def is_part(self, step: nodes.Step) -> bool:
        """Return whether the step is new, made of an aggregate that was a part of a formula."""
        return step.name in self.authors


def hoist_aggregates(program: nodes.Program) -> HoistedProgram:
    """Return a program with every aggregate as a step of its own, placed before the step that uses it first.

    Equal aggregates become one step. A formula that is one aggregate stays a step.
    """
    taken = {symbol.name for symbol in program.used()} | {step.name for step in program.steps}
    names: dict[typed.Aggregate, str] = {}
    steps: list[nodes.Step] = []
    authors: dict[str, str] = {}

    def name_aggregates(expression: Expr) -> Expr:
        """Return the expression with names of steps in place of aggregates, each of which must have one."""
        if isinstance(expression, typed.Aggregate):
            symbol = Symbol(SymbolKind.STEP, names[expression])
            return typed.Ref(symbol, expression.info, expression_text(expression))
        return typed.map_operands(expression, name_aggregates)

    for step in program.steps:
        whole = step.aggregate
        for aggregate in step.aggregates():
            if aggregate is not whole and aggregate not in names:
                name = claim_name(_propose_name(aggregate, step.name), taken)
                operation = nodes.Formula(typed.map_operands(aggregate, name_aggregates))
                info = aggregate.info
                steps.append(nodes.Step(name, operation, info.ty, info.range, info.span))
                names[aggregate] = name
                authors[name] = step.name
        if isinstance(step.operation, nodes.Formula) and step.aggregates():
            expression = step.operation.expression
            expression = (
                typed.map_operands(expression, name_aggregates) if expression is whole else name_aggregates(expression)
            )
            steps.append(replace(step, operation=nodes.Formula(expression)))
        else:
            steps.append(step)
        if whole is not None:
            names.setdefault(whole, step.name)
    return HoistedProgram(replace(program, steps=tuple(steps)), authors)


def _propose_name(aggregate: typed.Aggregate, author: str) -> str:
    """Return a name for the step of an aggregate in the step `author`, such as `RATE_count`; it may be taken."""
    name = f"{author[:_MAX_NAME_CHARACTERS]}_{aggregate.function}" if aggregate.needs_pass else "n_extractions"
    return name.upper() if author.isupper() else name
