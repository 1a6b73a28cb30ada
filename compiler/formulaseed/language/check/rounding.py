"""Reports comparisons for equality of numbers that were computed from rounded ones, so that rounding decides the result.

A quotient of integers compared with a literal is not reported: each of the two is the float nearest to the true number.
Comparisons with 0 are not reported either: they are guards of divisions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from formulaseed.diagnostics.catalogue import values as catalogue
from formulaseed.language import typed
from formulaseed.language.check.narrowing import list_items
from formulaseed.language.check.partial_operations import MAX_QUOTED, add_parentheses, is_unproven
from formulaseed.language.check.scope import Facts, Scope
from formulaseed.language.exactness import Exactness, literal_exactness
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import ADDITIVE, MULTIPLICATIVE, OPERATORS
from formulaseed.language.printer import expression_text, operand_text, quote, short_text, text_beside
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import Base
from formulaseed.source.text import Span

_EQUALITIES = {"==": "<", "!=": ">=", "in": "in", "not in": "not in"}
"""The operators whose result rounding may decide, with those that compare the difference of the sides with a tolerance."""


def find_exactness(number: Expr, of_step: Callable[[str], Exactness]) -> Exactness:
    """Return the exactness of a number; `of_step` returns that of a step. Raises `AssertionError` for a list.

    A value of any type but number is exact; an input is rounded; a choice is as exact as its least exact branch.
    """
    if number.info.ty.base is not Base.NUMBER:
        return Exactness.EXACT
    find = partial(find_exactness, of_step=of_step)
    match number:
        case typed.Literal(value):
            return literal_exactness(value)
        case typed.Ref(symbol) if symbol.kind is SymbolKind.STEP:
            return of_step(symbol.name)
        case typed.Ref():
            return Exactness.ROUNDED
        case typed.Logical(_, operands):
            return max(map(find, operands))
        case typed.Conditional(_, then, otherwise):
            return max(find(then), find(otherwise))
        case typed.Present(operand) | typed.Unary(_, operand):
            return find(operand)
        case typed.Binary(operator, left, right):
            return OPERATORS[operator].exactness([find(left), find(right)])
        case typed.Call(function, arguments):
            return FUNCTIONS[function].exactness([*map(find, arguments)])
        case typed.Aggregate(operand=operand, default=default):
            values = literal_exactness(default.value if default is not None else None)
            if operand is None:
                return values
            return max(values, number.entry.exactness([find(operand)]))
        case _:
            raise AssertionError(f"{type(number).__name__} is no number")


def report_inexact(
    left: Expr, sign: str, right: Expr, span: Span, scope: Scope, facts: Facts, *, is_link: bool
) -> None:
    """Report a comparison at `span` whose result rounding may decide, with a form to write.

    The form is left out if the comparison `is_link` of a chain. Does nothing for an order comparison, for a comparison
    with 0, and if the facts are silent.
    """
    sides = (left, *list_items(right))
    if sign not in _EQUALITIES or facts.is_silent or _is_zero(left) or all(map(_is_zero, sides[1:])):
        return
    is_inexact = [find_exactness(side, scope.exactness_of_step) is Exactness.INEXACT for side in sides]
    if True not in is_inexact:
        return
    instead = "" if is_link else _tolerant_comparison(left, sign, right, is_inexact)
    unproven = [side for side in dict.fromkeys(sides) if is_unproven(side, scope, facts)]
    is_whole = span.start <= left.info.span.start < span.end  # the source of a case is written elsewhere
    if instead and unproven:
        instead = "".join([*(f"{operand_text(side)} != None and " for side in unproven), instead])
        instead = add_parentheses(instead, span) if is_whole else instead
    computed = quote(sides[is_inexact.index(True)])
    scope.report_once(catalogue.inexact_comparison(span, sign, computed, instead, is_whole), f"{span.start} {span.end}")


def _is_zero(side: Expr) -> bool:
    """Return True if a side is the constant 0."""
    return side.info.is_constant and side.info.ty.is_numeric and side.info.constant == 0


def _tolerant_comparison(left: Expr, sign: str, right: Expr, is_inexact: Sequence[bool]) -> str:
    """Return a comparison to propose, with a tolerance; empty if it is too long.

    For a list, the sides that are `is_inexact` are rounded instead.
    """
    sides = (left, *list_items(right))
    if not all(short_text(side, MAX_QUOTED, "") for side in sides):
        return ""
    if not isinstance(right, typed.List):
        return f"abs({text_beside(left, ADDITIVE)} - {text_beside(right, MULTIPLICATIVE)}) {_EQUALITIES[sign]} 1e-9"
    texts = [
        f"round({expression_text(side)}, 6)" if rounds else operand_text(side)
        for side, rounds in zip(sides, is_inexact, strict=True)
    ]
    return f"{texts[0]} {sign} [{', '.join(texts[1:])}]"
