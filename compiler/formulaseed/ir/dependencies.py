"""What the steps of a program use, and what uses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.typed import Expr, Symbol, SymbolKind


def find_dependents(program: nodes.Program, changed: Iterable[Symbol]) -> Iterator[nodes.Step]:
    """Yield the steps that use one of these symbols, themselves or by other steps, in the seed's order."""
    reached = set(changed)
    for step in program.steps:
        if not reached.isdisjoint(step.symbols()):
            reached.add(step_symbol(step))
            yield step


def find_dependencies(program: nodes.Program, target: nodes.Step) -> list[nodes.Step]:
    """Return the step and those that it uses, directly or not: each before those that it uses. Filters are left out."""
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
    """Return the steps that a step names, each once, in its order."""
    return list(dict.fromkeys(symbol.name for symbol in step.symbols() if symbol.kind is SymbolKind.STEP))


def find_filters(step: nodes.Step, filters: Mapping[str, Expr]) -> dict[str, Expr]:
    """Return the filters that a step names, and those that these name, with their conditions."""
    found: dict[str, Expr] = {}
    stack = list(step.expressions())
    while stack:
        for symbol in typed.symbols_in(stack.pop()):
            if symbol.kind is SymbolKind.FILTER and symbol.name not in found:
                found[symbol.name] = filters[symbol.name]
                stack.append(filters[symbol.name])
    return found


def find_symbols(program: nodes.Program) -> dict[str, tuple[Symbol, ...]]:
    """Return for each step what it mentions, each symbol once."""
    return {step.name: tuple(dict.fromkeys(step.symbols())) for step in program.steps}


def step_symbol(step: nodes.Step) -> Symbol:
    """Return how the program's expressions name the step."""
    is_filter = isinstance(step.operation, nodes.Filter)
    return Symbol(SymbolKind.FILTER if is_filter else SymbolKind.STEP, step.name)


def unique_names(steps: Iterable[nodes.Step]) -> tuple[str, ...]:
    """Return the names of steps, each once."""
    return tuple(dict.fromkeys(step.name for step in steps))
