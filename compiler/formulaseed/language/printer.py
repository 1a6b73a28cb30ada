"""Expressions, as written or typed, as text of the formula language.

In: an expression without the loops of seeds v1. Out: a formula with as few parentheses as its meaning allows; parsing it gives
the same expression again.
"""

from __future__ import annotations

from itertools import islice

from formulaseed.language import ast, typed
from formulaseed.language.operators import ADDITIVE, AND, ATOM, COMPARISON, CONDITIONAL, NOT, OPERATORS, OR, UNARY
from formulaseed.language.typed import Expr
from formulaseed.language.types import Value


def expression_text(expression: ast.Expr | Expr) -> str:
    return _text(expression)[0]


def operand_text(expression: ast.Expr | Expr) -> str:
    """The expression as a side of a comparison: `a or b` in parentheses."""
    return text_at(expression, ADDITIVE)


def text_at(expression: ast.Expr | Expr, least: int) -> str:
    """The expression beside an operator of the precedence `least`."""
    text, precedence = _text(expression)
    return parenthesized(text, precedence, least)


def parenthesized(text: str, precedence: int, least: int) -> str:
    return text if precedence >= least else f"({text})"


def operand_precedences(symbol: str) -> tuple[int, int]:
    """Return the least precedences that the two operands of an arithmetic operator have without parentheses."""
    precedence = OPERATORS[symbol].precedence
    return (ATOM, UNARY) if symbol == "**" else (precedence, precedence + 1)


def text_within(expression: Expr, most: int, otherwise: str = "…") -> str:
    """The expression, or `otherwise` where its text is longer or has as many nodes."""
    if next(islice(typed.walk(expression), most, None), None) is not None:
        return otherwise
    text = expression_text(expression)
    return text if len(text) <= most else otherwise


def called(expression: Expr) -> str:
    """The expression in backticks, as messages name it."""
    text = text_within(expression, 40, "")
    return f"`{text}`" if text else "this value"


def literal_text(value: Value) -> str:
    """A literal of the language."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
        return f"'{escaped}'"
    return repr(value)


def value_text(value: Value) -> str:
    """A value as JSON writes it, strings in single quotes."""
    return str(value).lower() if isinstance(value, bool) else "null" if value is None else literal_text(value)


def _text(expression: ast.Expr | Expr) -> tuple[str, int]:
    match expression:
        case ast.Literal(_, value) | typed.Literal(value):
            text = literal_text(value)
            return text, UNARY if text.startswith("-") else ATOM
        case ast.Name(_, text):
            return text, ATOM
        case ast.FilterName(_, text):
            return f"${text}", ATOM
        case typed.Ref():
            return expression.text, ATOM
        case typed.Aggregate():
            return expression.written or _aggregate_text(expression), ATOM
        case typed.Present(operand):
            return _text(operand)
        case ast.Unary(_, sign, operand) | typed.Unary(sign, operand):
            return f"{sign}{text_at(operand, UNARY)}", UNARY
        case ast.Binary(_, symbol, left, right) | typed.Binary(symbol, left, right):
            before, behind = operand_precedences(symbol)
            return f"{text_at(left, before)} {symbol} {text_at(right, behind)}", OPERATORS[symbol].precedence
        case ast.Comparison(_, first, operators, rest) | typed.Comparison(first, operators, rest):
            pairs = [f" {operator} {operand_text(other)}" for operator, other in zip(operators, rest, strict=True)]
            return f"{operand_text(first)}{''.join(pairs)}", COMPARISON
        case ast.Logical(_, word, operands) | typed.Logical(word, operands):
            precedence = AND if word == "and" else OR
            return f" {word} ".join([text_at(operand, precedence + 1) for operand in operands]), precedence
        case ast.Not(_, operand) | typed.Not(operand):
            return f"not {text_at(operand, NOT)}", NOT
        case ast.Conditional(_, condition, then, otherwise) | typed.Conditional(condition, then, otherwise):
            text = f"{text_at(then, OR)} if {text_at(condition, OR)} else {text_at(otherwise, CONDITIONAL)}"
            return text, CONDITIONAL
        case ast.Call(_, ast.Name(_, name), arguments) | typed.Call(name, arguments):
            return f"{name}({_listed(arguments)})", ATOM
        case ast.List(_, items) | typed.List(items):
            return f"[{_listed(items)}]", ATOM
        case ast.Subscript(_, value, index):
            return f"{text_at(value, ATOM)}[{text_at(index, CONDITIONAL)}]", ATOM
        case ast.Comprehension() | ast.Keyword() | ast.Aggregate() | ast.Invalid():
            raise AssertionError("formulas to be printed have none of these")


def _aggregate_text(aggregate: typed.Aggregate) -> str:
    """Return an aggregate that its author wrote as a step, such as `count($IS_RECENT)`: documents name no such formula."""
    return f"{aggregate.function}({_listed(typed.children(aggregate))})"


def _listed(items: tuple[ast.Expr, ...] | tuple[Expr, ...]) -> str:
    return ", ".join([text_at(item, CONDITIONAL) for item in items])
