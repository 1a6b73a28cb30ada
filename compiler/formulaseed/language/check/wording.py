"""How the checker chooses the help for a value of the wrong type."""

from __future__ import annotations

import re

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.language import typed
from formulaseed.language.printer import called, literal_text, operand_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base
from formulaseed.source.text import Span

_SHOWN = 80
"""A longer call is not repeated."""
_NOTHING = ("none", "no", "nothing", "absent", "unknown", "n/a", "na")
"""Values of enums that say that there is nothing."""


def number_in_quotes(found: Expr) -> str:
    """Help for a number that is in quotes, here or in the step that is named here; empty for any other value."""
    values = found.info.ty.values or ()
    text = values[0].strip() if len(values) == 1 else ""
    if re.fullmatch(r"-?[0-9]+,([0-9]{1,2}|[0-9]{4,})", text):  # a decimal comma
        text = text.replace(",", ".")
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        return ""
    where = f" in {called(found)}" if isinstance(found, typed.Ref) else ""
    return catalogue.WITHOUT_QUOTES.format(text) + where


def tested(found: Expr) -> str:
    """How a value that is neither true nor false is tested: for one that it can have, or for anything but nothing."""
    ty, text = found.info.ty, operand_text(found)
    if ty.values and isinstance(found, typed.Literal):
        return f"x == {text}"
    if ty.values:
        nothing = next((value for value in ty.values if value.lower() in _NOTHING), None)
        return f"{text} == {literal_text(ty.values[-1])}" if nothing is None else f"{text} != {literal_text(nothing)}"
    return f"{text} != ''" if ty.base is Base.STRING else f"{text} != 0"


def help_for_order(operand: Expr, other: Expr) -> str:
    """What to write instead of ordering a value that is no number."""
    ty = operand.info.ty
    if other.info.ty.is_numeric and (number := number_in_quotes(operand)):
        return number
    if isinstance(operand, typed.Ref) and operand.symbol == Symbol(SymbolKind.META, "date"):
        return catalogue.parts_of_date(operand.text)
    values = None if isinstance(operand, typed.Literal) else ty.values
    return catalogue.order_of_values(values, "strings" if ty.base is Base.STRING else "true and false")


def help_for_pair(left: Expr, right: Expr) -> str:
    """What to write where two values of different types are compared: the type of what is no literal decides."""
    value, field = (left, right) if isinstance(left, typed.Literal) else (right, left)
    ty = field.info.ty
    given = value.value if isinstance(value, typed.Literal) else None
    if ty.base is Base.BOOLEAN:
        return catalogue.a_boolean(given)
    if ty.is_numeric and isinstance(field, typed.Ref) and field.symbol == Symbol(SymbolKind.CONTEXT, "is_open"):
        return catalogue.OPEN_IS_A_NUMBER
    if ty.is_numeric:
        return number_in_quotes(value) or catalogue.WRITE_A_NUMBER
    if ty.values is not None:
        return catalogue.one_of_values(ty.values)
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return catalogue.IN_QUOTES.format(given) if is_number else catalogue.COMPARE_ALIKE


def with_default(call: Span) -> str:
    """The call of `max` or `min` over a loop, as it is with a default."""
    name, _, rest = call.source.text[call.start : call.end].partition("(")
    loop = rest.strip().removesuffix(")").strip()
    if "\\" in loop or len(loop) > _SHOWN or not loop.isprintable():
        loop = "…"
    return f"{name.strip()}({loop if loop.startswith('[') and loop.endswith(']') else f'({loop})'}, default=0)"
