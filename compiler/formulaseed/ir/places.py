"""Where in a seed an evaluation failed.

In: a checked program, the step and the kind of an `EvaluationError`. Out: the span of the operation at fault, or
of the step where several could be.
"""

from __future__ import annotations

from collections.abc import Iterator

from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import OPERATORS, Operation
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.source.text import Span


def place_of(program: nodes.Program, name: str, kind: str) -> Span | None:
    """The span of what failed; None for a step that the program does not have."""
    step = next((step for step in program.steps if step.name == name), None)
    if step is None:
        return None
    whole = [step, *(part for part in program.steps if part.part_of == name)]
    found = [node for part in whole for node in _reached(program, part) if _may_raise(node, kind)]
    sums = any(isinstance(part.operation, nodes.Aggregate) and part.operation.may_overflow for part in whole)
    return found[0].info.span if len(found) == 1 and not (kind == "overflow" and sums) else step.span


def _reached(program: nodes.Program, step: nodes.Step) -> Iterator[Expr]:
    """Every expression that is evaluated for the step, those of its filters too."""
    filters = {s.name: s.operation.condition for s in program.steps if isinstance(s.operation, nodes.Filter)}
    stack, seen = list(step.expressions()), set[str]()
    while stack:
        for node in typed.walk(stack.pop()):
            yield node
            if isinstance(node, typed.Ref) and node.symbol.kind is SymbolKind.FILTER and node.symbol.name not in seen:
                seen.add(node.symbol.name)
                stack.append(filters[node.symbol.name])


def _may_raise(node: Expr, kind: str) -> bool:
    match node:
        case typed.Present():
            return kind == "null"
        case typed.Binary(symbol, is_safe=is_safe, may_overflow=may_overflow):
            return _fails(OPERATORS[symbol], kind, is_safe) or (kind == "overflow" and may_overflow)
        case typed.Call(function, is_safe=is_safe):
            return _fails(FUNCTIONS[function], kind, is_safe)
        case _:
            return False


def _fails(operation: Operation, kind: str, is_safe: bool) -> bool:
    return not is_safe and any(failure.kind == kind for failure in operation.failures)
