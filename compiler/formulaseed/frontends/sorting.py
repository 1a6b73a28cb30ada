"""The steps of a seed in dependency order, each behind those that it uses; otherwise the author's order."""

from __future__ import annotations

from collections.abc import Iterator

from formulaseed.diagnostics.model import Problems
from formulaseed.source.json_reader import Plain
from formulaseed.syntax import ast, surface


def sorted_steps(seed: Plain, program: surface.Program, problems: Problems) -> Plain:
    """The seed with its `compute` sorted; unchanged where steps use one another in a circle, which is told."""
    assert isinstance(seed, dict)
    compute = seed["compute"]
    assert isinstance(compute, list)
    places = {step.name.text: index for index, step in enumerate(program.steps)}
    uses = [sorted({places[name] for name in _names(step) if name in places}) for step in program.steps]
    order: list[int] = []
    done: set[int] = set()
    while len(order) < len(uses):
        ready = next((i for i in range(len(uses)) if i not in done and all(u in done for u in uses[i])), None)
        if ready is None:
            first = next(i for i in range(len(uses)) if i not in done)
            step = program.steps[first]
            message = f"`{step.name.text}` and the steps that it uses depend on one another"
            problems.add("FS202", step.name.span, message, "break the circle: compute one of them without the others")
            return seed
        order.append(ready)
        done.add(ready)
    return {**seed, "compute": [compute[index] for index in order]}


def _names(step: surface.Step) -> Iterator[str]:
    for expression in _expressions(step.operation):
        stack: list[object] = [expression]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Name | ast.FilterName):
                yield node.text
            elif isinstance(node, tuple):
                stack.extend(node)
            elif isinstance(node, ast.Expr):
                stack.extend(getattr(node, name) for name in node.__dataclass_fields__ if name != "span")


def _expressions(operation: surface.Operation) -> list[object]:
    match operation:
        case surface.Filter(condition):
            return [condition]
        case surface.Count(where):
            return [where]
        case surface.Sum(expression, where) | surface.Extreme(_, expression, where, _):
            return [expression, where]
        case surface.Lookup(source):
            return [source]
        case surface.Formula(expression):
            return [expression]
        case surface.Case(rules):
            return [rule.condition for rule in rules]
        case surface.Const() | surface.Broken():
            return []
