"""Which names a surface step mentions, before anything is looked up."""

from __future__ import annotations

from collections.abc import Iterator

from formulaseed.language import ast
from formulaseed.seed import surface


def mentioned_names(step: surface.Step) -> Iterator[str]:
    """Every bare or dotted name, and every filter's without its sign, in no particular order; repeats included."""
    for node in ast.walk(*_expressions(step.operation)):
        if isinstance(node, ast.Name | ast.FilterName):
            yield node.text


def _expressions(operation: surface.Operation) -> tuple[object, ...]:
    match operation:
        case surface.Filter(condition):
            return (condition,)
        case surface.Aggregate(_, expression, where):
            return (expression, where)
        case surface.Lookup(source):
            return (source,)
        case surface.Formula(expression):
            return (expression,)
        case surface.Case(rules):
            return tuple(rule.condition for rule in rules)
        case surface.Broken(parts):
            return tuple(found for part in parts for found in _expressions(part))
        case surface.Const():
            return ()
