"""Defines expressions as written. Every node has the span it was read from; names are strings, nothing is resolved."""

from __future__ import annotations

import re
from collections.abc import Iterator

from formulaseed.language.types import Value
from formulaseed.source.text import Span, tree_node

RESERVED_WORDS = frozenset(
    {"and", "or", "not", "in", "if", "else", "True", "False", "None", "true", "false", "none", "null"}
)
"""Words of the formula language; no step can be called so."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_name(text: str) -> bool:
    """Return True if formulas can use a name: ASCII letters, digits and `_`, not beginning with a digit."""
    return _NAME.fullmatch(text) is not None


def has_inner_name(text: str) -> bool:
    """Return True if a part of a dotted name is one that Python uses inside objects, such as `__class__`."""
    return any(part.startswith("__") and part.endswith("__") for part in text.split("."))


@tree_node
class Literal:
    span: Span
    value: Value


@tree_node
class Name:
    """A bare name such as `N_MILD` or a dotted one such as `meta.stars`.

    `implied` says that the namespace was not written there, but around it. `written` is how the author wrote
    it where that is something else, such as `e['stars']`.
    """

    span: Span
    text: str
    implied: bool = False
    written: str = ""


@tree_node
class FilterName:
    """`$IS_INCIDENT`; `text` is without the dollar sign."""

    span: Span
    text: str


@tree_node
class Unary:
    span: Span
    operator: str
    operand: Expr


@tree_node
class Binary:
    span: Span
    operator: str
    left: Expr
    right: Expr


@tree_node
class Comparison:
    """A chain: `first op[0] rest[0] op[1] rest[1] …`."""

    span: Span
    first: Expr
    operators: tuple[str, ...]
    rest: tuple[Expr, ...]


@tree_node
class Logical:
    """`and` or `or` over two or more operands."""

    span: Span
    operator: str
    operands: tuple[Expr, ...]


@tree_node
class Not:
    span: Span
    operand: Expr


@tree_node
class Conditional:
    span: Span
    condition: Expr
    then: Expr
    otherwise: Expr


@tree_node
class Call:
    span: Span
    name: Name
    arguments: tuple[Expr, ...]


@tree_node
class List:
    span: Span
    items: tuple[Expr, ...]


@tree_node
class Comprehension:
    """`element for variable in source if condition …`, with `is_list` in square brackets.

    Only formulas of seeds v1 have this and the next two, and their front end leaves none of them.
    """

    span: Span
    element: Expr
    variable: Name
    source: Expr
    conditions: tuple[Expr, ...]
    is_list: bool = False


@tree_node
class Subscript:
    """`value[index]`."""

    span: Span
    value: Expr
    index: Expr


@tree_node
class Keyword:
    """An argument that is given by name: `default=0`."""

    span: Span
    name: Name
    value: Expr


@tree_node
class Aggregate:
    """`count`, `sum`, `max` or `min` over the reviews that match; `expression` is None for a count.

    `default` is None where none is given. `written` is how a formula of a seed v1 says it; empty for an operation of its own.
    """

    span: Span
    function: str
    expression: Expr | None
    where: Expr | None
    default: Literal | None = None
    written: str = ""


@tree_node
class Invalid:
    """A part of a formula without a meaning, which a front end has reported."""

    span: Span


_Operation = Unary | Binary | Comparison | Logical | Not | Conditional | Call
_LoopSyntax = Comprehension | Subscript | Keyword
Expr = Literal | Name | FilterName | List | _Operation | _LoopSyntax | Aggregate | Invalid


def walk(*nodes: object) -> Iterator[Expr]:
    """Yield the expressions and everything in them, but for the names of the functions that they call."""
    stack = list(nodes)
    while stack:
        part = stack.pop()
        if isinstance(part, tuple):
            stack.extend(part)
        elif isinstance(part, Call):
            yield part
            stack.extend(part.arguments)
        elif isinstance(part, Expr):
            yield part
            stack.extend(getattr(part, name) for name in part.__dataclass_fields__ if name != "span")


def conjuncts(condition: Expr | None) -> list[Expr]:
    """Return the conditions that `and` joins in a condition, also nested ones; none for None."""
    if isinstance(condition, Logical) and condition.operator == "and":
        return [part for operand in condition.operands for part in conjuncts(operand)]
    return [] if condition is None else [condition]
