"""Expressions as written. Every node has the span it was read from; names are text, nothing is resolved."""

from __future__ import annotations

from dataclasses import dataclass

from formulaseed.domain.types import Value
from formulaseed.source.text import Span


@dataclass(frozen=True, slots=True)
class Literal:
    span: Span
    value: Value


@dataclass(frozen=True, slots=True)
class Name:
    """A bare name such as `N_MILD` or a dotted one such as `meta.stars`.

    `implied` says that the namespace was not written there, but stands around it.
    """

    span: Span
    text: str
    implied: bool = False


@dataclass(frozen=True, slots=True)
class FilterName:
    """`$IS_INCIDENT`; `text` is without the dollar sign."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Unary:
    span: Span
    operator: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    span: Span
    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain: `first op[0] rest[0] op[1] rest[1] …`."""

    span: Span
    first: Expr
    operators: tuple[str, ...]
    rest: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Logical:
    """`and` or `or` over two or more operands."""

    span: Span
    operator: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not:
    span: Span
    operand: Expr


@dataclass(frozen=True, slots=True)
class Conditional:
    span: Span
    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Call:
    span: Span
    name: Name
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class List:
    span: Span
    items: tuple[Expr, ...]


Expr = Literal | Name | FilterName | Unary | Binary | Comparison | Logical | Not | Conditional | Call | List
