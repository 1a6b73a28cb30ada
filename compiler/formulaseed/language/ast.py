"""Defines expressions as written. Every node has the span it was read from; names are strings, nothing is resolved."""

from __future__ import annotations

import re
from collections.abc import Iterator

from formulaseed.language.types import Value
from formulaseed.source.text import Span, tree_node

RESERVED_WORDS = frozenset(
    {"and", "or", "not", "in", "if", "else", "True", "False", "None", "true", "false", "none", "null"}
)
"""The words of the formula language, which cannot be names of steps."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_name(text: str) -> bool:
    """Return True if `text` can be a name in formulas: ASCII letters, digits and `_`, not beginning with a digit."""
    return _NAME.fullmatch(text) is not None


def has_inner_name(text: str) -> bool:
    """Return True if a part of the dotted name `text` is internal to Python's objects, such as `__class__`."""
    return any(part.startswith("__") and part.endswith("__") for part in text.split("."))


@tree_node
class Literal:
    """A number, string, boolean or null."""

    span: Span
    value: Value


@tree_node
class Name:
    """A bare name such as `N_MILD` or a dotted one such as `meta.stars`.

    If `implied`, the namespace in `text` comes from the surrounding syntax. `written` is the author's own text if that
    differs, such as `e['stars']`.
    """

    span: Span
    text: str
    implied: bool = False
    written: str = ""


@tree_node
class FilterName:
    """The name of a filter, such as `$IS_INCIDENT`; `text` is without the dollar sign."""

    span: Span
    text: str


@tree_node
class Unary:
    """A sign, `+` or `-`, before an operand."""

    span: Span
    operator: str
    operand: Expr


@tree_node
class Binary:
    """An arithmetic operator between two operands."""

    span: Span
    operator: str
    left: Expr
    right: Expr


@tree_node
class Comparison:
    """A comparison, or a chain of them: `first operators[0] rest[0] operators[1] rest[1] …`."""

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
    """The negation of a condition."""

    span: Span
    operand: Expr


@tree_node
class Conditional:
    """A conditional expression: `then if condition else otherwise`."""

    span: Span
    condition: Expr
    then: Expr
    otherwise: Expr


@tree_node
class Call:
    """A call of a function by its name."""

    span: Span
    name: Name
    arguments: tuple[Expr, ...]


@tree_node
class List:
    """A list of expressions in square brackets."""

    span: Span
    items: tuple[Expr, ...]


@tree_node
class Comprehension:
    """A loop: `element for variable in source if condition …`; in square brackets if `is_list`.

    Loops, subscripts and keyword arguments are only in formulas of seeds v1, whose front end replaces them before checking.
    """

    span: Span
    element: Expr
    variable: Name
    source: Expr
    conditions: tuple[Expr, ...]
    is_list: bool = False


@tree_node
class Subscript:
    """An item of a value: `value[index]`."""

    span: Span
    value: Expr
    index: Expr


@tree_node
class Keyword:
    """An argument by keyword: `default=0`."""

    span: Span
    name: Name
    value: Expr


@tree_node
class Aggregate:
    """An aggregate, such as `count` or `sum`, over the reviews that match `where`, or over all if it is None.

    `expression`, the operand, is None for a count. `default`, the value over no reviews, is None if the author states none.
    `written` is the text of the loop in a seed v1; empty for an operation of a step.
    """

    span: Span
    function: str
    expression: Expr | None
    where: Expr | None
    default: Literal | None = None
    written: str = ""


@tree_node
class Invalid:
    """A part of a formula that has no meaning. The front end has reported it; the checker reports nothing more about it."""

    span: Span


_Operation = Unary | Binary | Comparison | Logical | Not | Conditional | Call
_LoopSyntax = Comprehension | Subscript | Keyword
Expr = Literal | Name | FilterName | List | _Operation | _LoopSyntax | Aggregate | Invalid


def walk(*nodes: object) -> Iterator[Expr]:
    """Yield the expressions and all expressions in them, in no fixed order, except the names of called functions.

    `nodes` may include tuples of expressions, and values that are not expressions, which are skipped.
    """
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
    """Return the operands of `and` in a condition, also of nested ones.

    Returns the condition alone if it is no `and`, and an empty list for None.
    """
    if condition is None:
        return []
    if isinstance(condition, Logical) and condition.operator == "and":
        return [part for operand in condition.operands for part in conjuncts(operand)]
    return [condition]
