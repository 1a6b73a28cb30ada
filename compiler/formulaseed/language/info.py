"""Defines the facts that the checker states of every expression."""

from __future__ import annotations

from formulaseed.language.intervals import Range
from formulaseed.language.types import Type, Value
from formulaseed.source.text import Span, tree_node


@tree_node
class Info:
    """The type of an expression, the range of its numbers, and its place.

    `is_constant` says that it is made of literals alone; then `constant` is its value.
    """

    ty: Type
    span: Span
    range: Range | None = None
    is_constant: bool = False
    constant: Value = None
