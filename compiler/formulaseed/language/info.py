"""Defines the facts that the checker notes about every expression."""

from __future__ import annotations

from formulaseed.language.intervals import Range
from formulaseed.language.types import Type, Value
from formulaseed.source.text import Span, tree_node


@tree_node
class Info:
    """The type of an expression, the range of its value if that is a number, and its place in the source.

    If `is_constant`, the expression is made of literals alone, and `constant` is its value.
    """

    ty: Type
    span: Span
    range: Range | None = None
    is_constant: bool = False
    constant: Value = None
