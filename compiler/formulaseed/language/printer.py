"""Expressions as written, as text of the formula language.

In: an expression without what only the older shape of seeds has. Out: a formula with as few parentheses as its
meaning allows; parsing it gives the same expression again.
"""

from __future__ import annotations

from formulaseed.language import ast
from formulaseed.language.operators import ADDITIVE, AND, ATOM, COMPARISON, CONDITIONAL, NOT, OPERATORS, OR, UNARY
from formulaseed.language.types import Value


def formula_text(expression: ast.Expr) -> str:
    return _text(expression)[0]


def value_text(value: Value) -> str:
    """A literal of the language."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
        return f"'{escaped}'"
    return repr(value)


def _at(expression: ast.Expr, least: int) -> str:
    text, precedence = _text(expression)
    return text if precedence >= least else f"({text})"


def _text(expression: ast.Expr) -> tuple[str, int]:
    match expression:
        case ast.Literal(_, value):
            text = value_text(value)
            return text, UNARY if text.startswith("-") else ATOM
        case ast.Name(_, text):
            return text, ATOM
        case ast.FilterName(_, text):
            return f"${text}", ATOM
        case ast.Unary(_, sign, operand):
            return f"{sign}{_at(operand, UNARY)}", UNARY
        case ast.Binary(_, "**", left, right):
            return f"{_at(left, ATOM)} ** {_at(right, UNARY)}", OPERATORS["**"].precedence
        case ast.Binary(_, symbol, left, right):
            precedence = OPERATORS[symbol].precedence
            return f"{_at(left, precedence)} {symbol} {_at(right, precedence + 1)}", precedence
        case ast.Comparison(_, first, operators, rest):
            pairs = [f" {operator} {_at(other, ADDITIVE)}" for operator, other in zip(operators, rest, strict=True)]
            return f"{_at(first, ADDITIVE)}{''.join(pairs)}", COMPARISON
        case ast.Logical(_, word, operands):
            precedence = AND if word == "and" else OR
            return f" {word} ".join([_at(operand, precedence + 1) for operand in operands]), precedence
        case ast.Not(_, operand):
            return f"not {_at(operand, NOT)}", NOT
        case ast.Conditional(_, condition, then, otherwise):
            return f"{_at(then, OR)} if {_at(condition, OR)} else {_at(otherwise, CONDITIONAL)}", CONDITIONAL
        case ast.Call(_, name, arguments):
            return f"{name.text}({_listed(arguments)})", ATOM
        case ast.List(_, items):
            return f"[{_listed(items)}]", ATOM
        case ast.Comprehension() | ast.Subscript() | ast.Keyword() | ast.Invalid():
            raise AssertionError("front ends leave none of these")


def _listed(items: tuple[ast.Expr, ...]) -> str:
    return ", ".join([_at(item, CONDITIONAL) for item in items])
