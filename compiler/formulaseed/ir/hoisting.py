"""Programs in which every aggregate is a step of its own, as targets compute them: before the formulas that use their values.

In: a checked program. Out: the program with a new step for each aggregate that is only a part of a formula. Two equal
aggregates become one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.source.text import free_name

_NAME_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Hoisted:
    """A program with aggregates as steps of their own. `authors` has for each new step the one that it is a part of."""

    program: nodes.Program
    authors: Mapping[str, str]

    @property
    def steps(self) -> tuple[nodes.Step, ...]:
        return self.program.steps

    def author(self, step: nodes.Step) -> str:
        """Return the name of the step in whose formula this one was written, its own for a step of the program."""
        return self.authors.get(step.name, step.name)

    def is_part(self, step: nodes.Step) -> bool:
        """Return whether the step is new."""
        return step.name in self.authors


def hoist(program: nodes.Program) -> Hoisted:
    """Return a program with every aggregate as a step of its own."""
    taken = {symbol.name for symbol in program.used()} | {step.name for step in program.steps}
    names: dict[typed.Aggregate, str] = {}
    steps: list[nodes.Step] = []
    authors: dict[str, str] = {}

    def named(expression: Expr) -> Expr:
        """Return the expression with names in place of aggregates."""
        if isinstance(expression, typed.Aggregate):
            symbol = Symbol(SymbolKind.STEP, names[expression])
            return typed.Ref(symbol, expression.info, expression_text(expression))
        return typed.mapped(expression, named)

    for step in program.steps:
        whole = step.aggregate
        for aggregate in step.aggregates():
            if aggregate is not whole and aggregate not in names:
                name = free_name(_name(aggregate, step.name), taken)
                operation, info = nodes.Formula(typed.mapped(aggregate, named)), aggregate.info
                steps.append(nodes.Step(name, operation, info.ty, info.range, info.span))
                names[aggregate], authors[name] = name, step.name
        if isinstance(step.operation, nodes.Formula) and step.aggregates():
            expression = step.operation.expression
            changed = typed.mapped(expression, named) if expression is whole else named(expression)
            steps.append(replace(step, operation=nodes.Formula(changed)))
        else:
            steps.append(step)
        if whole is not None:
            names.setdefault(whole, step.name)
    return Hoisted(replace(program, steps=tuple(steps)), authors)


def _name(aggregate: typed.Aggregate, author: str) -> str:
    name = f"{author[:_NAME_CHARACTERS]}_{aggregate.function}" if aggregate.needs_pass else "n_extractions"
    return name.upper() if author.isupper() else name
