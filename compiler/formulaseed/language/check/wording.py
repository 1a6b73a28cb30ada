"""How the checker names expressions and what it tells to write instead of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from formulaseed.diagnostics.model import Help, Suggestion, number_of
from formulaseed.language import ast, typed
from formulaseed.language.foreign_functions import CLOCK, FOREIGN_FUNCTIONS
from formulaseed.language.functions import Function
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.typed_text import operand_text, text_within, value_text
from formulaseed.language.types import Base
from formulaseed.source.text import Span


@dataclass(frozen=True, slots=True)
class Words:
    """What differs between messages about seeds and about formulas that stand alone."""

    unknown: str
    """How a message begins that tells of an unknown bare name."""
    number_for_text: str
    """Help for a text where a number is needed."""
    call: str
    """A call of a function with a text."""
    functions: Mapping[str, str]
    """What to write in place of functions from elsewhere; empty where there is nothing like them."""


OF_SEEDS = Words(
    "no step is called",
    "a text is no number; a `lookup` gives numbers for texts",
    "len(context.name)",
    FOREIGN_FUNCTIONS,
)
OF_DOMAINS = Words(
    "no field is called",
    "a text is no number; compare it: `10 if x == 'a' else 0`",
    "len(name)",
    {
        **{name: "" if " step" in help or "operation" in help else help for name, help in FOREIGN_FUNCTIONS.items()},
        **dict.fromkeys(("average", "mean", "avg"), "write `(a + b) / 2`"),
        **dict.fromkeys(("any", "exists", "some"), "write `a or b`"),
        **dict.fromkeys(("all", "every"), "write `a and b`"),
        **dict.fromkeys(CLOCK, "write the year as a number"),
    },
)


_SHOWN = 80
"""A longer call is not repeated."""
_NOTHING = ("none", "no", "nothing", "absent", "unknown", "n/a", "na")
"""Values of enums that say that there is nothing."""


def called(found: Expr) -> str:
    """The expression, as a message names it."""
    text = text_within(found, 40, "")
    return f"`{text}`" if text else "this value"


def unquoted_number(found: Expr) -> str | None:
    """Help for a number that stands in quotes, here or in the step that is named here."""
    values = found.info.ty.values or ()
    text = values[0].strip() if len(values) == 1 else ""
    if re.fullmatch(r"-?[0-9]+,([0-9]{1,2}|[0-9]{4,})", text):  # a decimal comma
        text = text.replace(",", ".")
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        return None
    where = f" in {called(found)}" if isinstance(found, typed.Ref) else ""
    return f"write {text} without quotes{where}"


def tested(found: Expr) -> str:
    """How a value that is neither true nor false is tested: for one that it can have, or for anything but nothing."""
    ty, text = found.info.ty, operand_text(found)
    if ty.values and isinstance(found, typed.Literal):
        return f"x == {text}"
    if ty.values:
        nothing = next((value for value in ty.values if value.lower() in _NOTHING), None)
        return f"{text} == {value_text(ty.values[-1])}" if nothing is None else f"{text} != {value_text(nothing)}"
    return f"{text} != ''" if ty.base is Base.STRING else f"{text} != 0"


def in_quotes(help: Help) -> Help:
    """A help that names texts, for a place in a formula: with the quotes that they need there."""
    if isinstance(help, Suggestion):
        return replace(help, text=_quoted(help.text))
    return _quoted(help)


def _quoted(text: str) -> str:
    return re.sub("`([^`]*)`", lambda match: f"`{value_text(match[1])}`", text)


def help_for_order(operand: Expr, other: Expr) -> str:
    """What to write instead of ordering a value that is no number."""
    ty = operand.info.ty
    if other.info.ty.is_numeric and unquoted_number(operand):
        return unquoted_number(operand) or ""
    if isinstance(operand, typed.Ref) and operand.symbol == Symbol(SymbolKind.META, "date"):
        year, month = (re.sub(r"date(?=\W*$)", part, operand.text) for part in ("year", "month"))
        return f"use `{year}` and `{month}`"
    if ty.values is not None and not isinstance(operand, typed.Literal):
        return f"list the values that match: `in [{', '.join(repr(value) for value in ty.values[-2:])}]`"
    return "texts know `==`, `!=` and `in`" if ty.base is Base.STRING else "true and false know `==` and `!=`"


def help_for_pair(left: Expr, right: Expr) -> str:
    """What to write where two values of different types are compared: the type of what is no literal decides."""
    value, field = (left, right) if isinstance(left, typed.Literal) else (right, left)
    ty = field.info.ty
    given = value.value if isinstance(value, typed.Literal) else None
    if ty.base is Base.BOOLEAN:
        if isinstance(given, str) and given.lower() in ("true", "false"):
            return f"write {given.lower()} without quotes"
        return "write true or false"
    if ty.is_numeric:
        if isinstance(field, typed.Ref) and field.symbol == Symbol(SymbolKind.CONTEXT, "is_open"):
            return "`context.is_open` is 1 or 0: compare it with 1"
        return unquoted_number(value) or "write a number"
    if ty.values is not None:
        values = ", ".join(f"'{value}'" for value in ty.values[:6])
        return f"write one of {values}{', …' if len(ty.values) > 6 else ''}"
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return f"write '{given}' in quotes" if is_number else "compare values of one type"


def with_default(call: Span) -> str:
    """The call of `max` or `min` over a loop, as it is with a default."""
    name, _, rest = call.source.text[call.start : call.end].partition("(")
    loop = rest.strip().removesuffix(")").strip()
    if "\\" in loop or len(loop) > _SHOWN or not loop.isprintable():
        loop = "…"
    return f"{name.strip()}({loop if loop.startswith('[') and loop.endswith(']') else f'({loop})'}, default=0)"


def with_list(call: ast.Call, function: Function) -> str:
    """What to write instead of a call without the list that the function takes."""
    written = [argument.span.source.text[argument.span.start : argument.span.end] for argument in call.arguments]
    listed = f"{function.name}([{', '.join(written)}])"
    is_listed = any(isinstance(argument, ast.List) for argument in call.arguments)
    if not written or is_listed or "\\" in listed or len(listed) > _SHOWN or not listed.isprintable():
        return f"write it like `{function.example}`"
    atoms = (ast.Name, ast.Literal, ast.Call)
    is_plain = len(written) > 1 and all(isinstance(argument, atoms) for argument in call.arguments)
    return f"write `{listed}`, or `{' + '.join(written)}`" if is_plain else f"write `{listed}`"


def arity(function: Function) -> str:
    least, most = function.least, function.most
    if most is None:
        return f"{least} or more arguments"
    if least == most:
        return number_of(least, "argument")
    return f"{least} or {most} arguments"
