"""Builds literals and expressions whose value is known, and simplifies conditions that contain them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from formulaseed.language import intervals, typed
from formulaseed.language.intervals import Range
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import BOOLEAN, Info, Value, literal_type
from formulaseed.source.text import Span


def build_literal(value: Value, span: Span) -> typed.Literal:
    """Return a typed literal of a value, with its type and range, marked as constant."""
    return typed.Literal(value, Info(literal_type(value), span, _value_range(value), True, value))


def note_value(expression: Expr, value: Value) -> Expr:
    """Return an expression that is made of literals alone, marked as constant with this value."""
    info = replace(expression.info, range=_value_range(value), is_constant=True, constant=value)
    return replace(expression, info=info)


def _value_range(value: Value) -> Range | None:
    """Return the range of one value; None for a string or null."""
    return intervals.point(value) if isinstance(value, int | float) else None


def join_conditions(word: str, parts: Sequence[Expr], info: Info) -> Expr:
    """Return conditions joined by `word`, `and` or `or`, without literals that change nothing: `x and True` is `x`.

    A literal that decides makes the conditions after it needless, and also those before it if they cannot fail. A
    single condition that is left is returned itself.
    """
    decisive = word == "or"
    last = next((place for place, part in enumerate(parts) if _is_truth(part, decisive)), len(parts) - 1)
    if _is_truth(parts[last], decisive) and not any(map(typed.may_raise, parts[:last])):
        return parts[last]
    left = parts[: last + 1]
    if all(part.info.ty == BOOLEAN for part in left):  # `flag or False` is false where the flag is null
        left = [part for part in left if not _is_truth(part, not decisive)] or parts[:1]
    if len(left) == 1:
        return left[0]
    return typed.Logical(word, tuple(left), info)


def _is_truth(expression: Expr, truth: bool) -> bool:
    """Return True if an expression is the literal `truth`."""
    return isinstance(expression, typed.Literal) and expression.value is truth


def is_constant_string(expression: Expr) -> bool:
    """Return whether a string is the same for all data: it has one known value, is never null, and uses only steps."""
    ty = expression.info.ty
    if ty.values is None or len(ty.values) != 1 or ty.nullable:
        return False
    return all(node.symbol.kind is SymbolKind.STEP for node in typed.walk(expression) if isinstance(node, typed.Ref))
