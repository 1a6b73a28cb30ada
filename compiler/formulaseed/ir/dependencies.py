"""Finds the dependencies of the steps of a program: the symbols that they use, and the steps that use them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.typed import Expr, Symbol, SymbolKind


def find_dependents(program: nodes.Program, changed: Iterable[Symbol]) -> Iterator[nodes.Step]:
    """Yield the steps that use one of the symbols `changed`, directly or through others, in the order of the seed."""
    reached = set(changed)
    for step in program.steps:
        if not reached.isdisjoint(step.symbols()):
            reached.add(step_symbol(step))
            yield step


def find_dependencies(program: nodes.Program, target: nodes.Step) -> list[nodes.Step]:
    """Return a step and all steps that it uses, directly or not, each before the ones that it uses.

    Filters are left out.
    """
    steps = {step.name: step for step in program.steps}
    done: dict[str, None] = {}
    stack = [(target.name, False)]
    while stack:
        name, is_followed = stack.pop()
        if is_followed:
            done[name] = None
        elif name not in done:
            stack.append((name, True))
            stack += ((used, False) for used in used_step_names(steps[name]) if used not in done)
    return [steps[name] for name in reversed(done)]


def used_step_names(step: nodes.Step) -> list[str]:
    """Return the names of the steps that a step mentions, each once, in the order in which it mentions them."""
    return list(dict.fromkeys(symbol.name for symbol in step.symbols() if symbol.kind is SymbolKind.STEP))


def find_filters(step: nodes.Step, filters: Mapping[str, Expr]) -> dict[str, Expr]:
    """Return the filters that a step uses, directly or through other filters, with their conditions from `filters`.

    Raises `KeyError` if one of them is not in `filters`.
    """
    used: dict[str, Expr] = {}
    stack = list(step.expressions())
    while stack:
        for symbol in typed.symbols_in(stack.pop()):
            if symbol.kind is SymbolKind.FILTER and symbol.name not in used:
                used[symbol.name] = filters[symbol.name]
                stack.append(filters[symbol.name])
    return used


def list_symbols(steps: Sequence[nodes.Step], filters: Mapping[str, Expr]) -> list[Symbol]:
    """Return the symbols that steps mention, then those that their filters mention, each once.

    `filters` has the conditions of filters by name.
    """
    conditions = [condition for step in steps for condition in find_filters(step, filters).values()]
    expressions = [*(expression for step in steps for expression in step.expressions()), *conditions]
    return [*dict.fromkeys(symbol for expression in expressions for symbol in typed.symbols_in(expression))]


def find_symbols(program: nodes.Program) -> dict[str, tuple[Symbol, ...]]:
    """Return for each step, by its name, the symbols that it mentions, each once."""
    return {step.name: tuple(dict.fromkeys(step.symbols())) for step in program.steps}


def step_symbol(step: nodes.Step) -> Symbol:
    """Return the symbol of a step in expressions."""
    is_filter = isinstance(step.operation, nodes.Filter)
    return Symbol(SymbolKind.FILTER if is_filter else SymbolKind.STEP, step.name)


def unique_names(steps: Iterable[nodes.Step]) -> tuple[str, ...]:
    """Return the names of steps, each once."""
    return tuple(dict.fromkeys(step.name for step in steps))
