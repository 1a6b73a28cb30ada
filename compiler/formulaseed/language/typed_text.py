"""Typed expressions as text of the formula language; parsing the text gives the same expression again."""

from __future__ import annotations

from itertools import islice

from formulaseed.language import typed
from formulaseed.language.operators import ADDITIVE, AND, ATOM, COMPARISON, CONDITIONAL, NOT, OPERATORS, OR, UNARY
from formulaseed.language.typed import Expr
from formulaseed.language.types import Value


def expression_text(expression: Expr) -> str:
    """The expression with as few parentheses as its meaning allows."""
    return _text(expression)[0]


def operand_text(expression: Expr) -> str:
    """The expression as a side of a comparison: `a or b` in parentheses."""
    return _at(expression, ADDITIVE)


def text_within(expression: Expr, most: int, otherwise: str = "…") -> str:
    """The expression, or something else where its text is longer or has as many nodes: a long one is not written out."""
    if next(islice(typed.walk(expression), most, None), None) is not None:
        return otherwise
    text = expression_text(expression)
    return text if len(text) <= most else otherwise


def text_at(expression: Expr, least: int) -> str:
    """The expression where what stands beside it has the precedence `least`."""
    return _at(expression, least)


def literal_text(value: Value) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
        return f"'{escaped}'"
    return repr(value)


def value_text(value: Value) -> str:
    """A value as a seed's JSON writes it, texts in single quotes."""
    return str(value).lower() if isinstance(value, bool) else "null" if value is None else literal_text(value)


def parenthesized(text: str, precedence: int, least: int) -> str:
    return text if precedence >= least else f"({text})"


def _at(expression: Expr, least: int) -> str:
    text, precedence = _text(expression)
    return parenthesized(text, precedence, least)


def _text(expression: Expr) -> tuple[str, int]:
    match expression:
        case typed.Literal(value):
            negative = isinstance(value, int | float) and not isinstance(value, bool) and repr(value).startswith("-")
            return literal_text(value), UNARY if negative else ATOM
        case typed.Ref():
            return expression.text, ATOM
        case typed.Present(operand):
            return _text(operand)
        case typed.Unary(sign, operand):
            return f"{sign}{_at(operand, UNARY)}", UNARY
        case typed.Binary(symbol_, left, right):
            precedence = OPERATORS[symbol_].precedence
            if symbol_ == "**":
                return f"{_at(left, ATOM)} ** {_at(right, UNARY)}", precedence
            return f"{_at(left, precedence)} {symbol_} {_at(right, precedence + 1)}", precedence
        case typed.Call(name, arguments):
            inner = ", ".join(_at(argument, CONDITIONAL) for argument in arguments)
            return f"{name}({inner})", ATOM
        case typed.Comparison(first, operators, rest):
            parts = [_at(first, ADDITIVE)]
            for operator, operand in zip(operators, rest, strict=True):
                parts += [operator, _at(operand, ADDITIVE)]
            return " ".join(parts), COMPARISON
        case typed.Logical(word, operands):
            precedence = AND if word == "and" else OR
            return f" {word} ".join(_at(operand, precedence + 1) for operand in operands), precedence
        case typed.Not(operand):
            return f"not {_at(operand, NOT)}", NOT
        case typed.Conditional(condition, then, otherwise):
            text = f"{_at(then, OR)} if {_at(condition, OR)} else {_at(otherwise, CONDITIONAL)}"
            return text, CONDITIONAL
        case typed.List(items):
            return f"[{', '.join(_at(item, CONDITIONAL) for item in items)}]", ATOM
