"""Find the parts of a checked program that a target refuses, so that no target has to look for them.

In: a program, and a target with its `unsupported` rows of the language's tables. Out: a diagnostic for each place with one.
"""

from __future__ import annotations

from collections.abc import Iterator

from formulaseed.backends.base import Construct, load_backend
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.source.text import Span

OPERATIONS = {nodes.Filter: "define_filter", nodes.Lookup: "lookup", nodes.Const: "const", nodes.Case: "case"}
"""The operations that a target compiles, by their nodes; every other operation has become an expression."""


def find_refusals(program: nodes.Program, target: str) -> list[Diagnostic]:
    """Return a diagnostic for each place with a construct that the target does not support, step by step.

    Returns an empty list if the target supports the whole program. Raises `KeyError` for an unknown target.
    """
    unsupported = load_backend(target).unsupported
    return [
        catalogue.construct_not_supported(span, target, *construct)
        for construct, span in list_uses(program)
        if construct in unsupported
    ]


def list_uses(program: nodes.Program) -> list[tuple[Construct, Span]]:
    """Return each construct that a program uses, with its place, step by step."""
    return [use for step in program.steps for use in _list_constructs(step)]


def _list_constructs(step: nodes.Step) -> Iterator[tuple[Construct, Span]]:
    """Yield each construct that a step uses, with its place: the step's operation, then those of its expressions.

    Constructs are functions, aggregates, operators, and the operations in `OPERATIONS`; other operations are not
    yielded.
    """
    operation = OPERATIONS.get(type(step.operation))
    if operation is not None:
        yield ("operation", operation), step.span
    for expression in step.expressions():
        for node in typed.walk(expression):
            for construct in _list_node_constructs(node):
                yield construct, node.info.span


def _list_node_constructs(node: typed.Expr) -> list[Construct]:
    """Return the function, aggregate or operators that a node uses itself, with repetitions.

    Its operands are not searched. A chained comparison uses several operators; literals, names, conditional expressions
    and lists use nothing.
    """
    match node:
        case typed.Call(name):
            return [("function", name)]
        case typed.Aggregate(name):
            return [("aggregate", name)]
        case typed.Unary(operator) | typed.Binary(operator) | typed.Logical(operator):
            return [("operator", operator)]
        case typed.Not():
            return [("operator", "not")]
        case typed.Comparison(_, operators):
            return [("operator", operator) for operator in operators]
        case typed.Literal() | typed.Ref() | typed.Present() | typed.Conditional() | typed.List():
            return []
