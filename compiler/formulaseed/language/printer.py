"""Prints expressions, as written or typed, in the formula language.

In: an expression without the loops of seeds v1. Out: a formula with as few parentheses as its meaning allows; parsing it gives
the same expression again.
"""

from __future__ import annotations

from itertools import chain, islice

from formulaseed.language import ast, typed
from formulaseed.language.operators import ADDITIVE, AND, ATOM, COMPARISON, CONDITIONAL, NOT, OPERATORS, OR, UNARY
from formulaseed.language.typed import Expr
from formulaseed.language.types import Value

_MAX_INLINE = 40
"""A longer expression is not quoted inside a sentence."""


def expression_text(expression: ast.Expr | Expr) -> str:
    """Return an expression as a formula."""
    return _print(expression)[0]


def operand_text(expression: ast.Expr | Expr) -> str:
    """Return an expression as a formula that can be a side of a comparison: `a or b` is in parentheses."""
    return text_beside(expression, ADDITIVE)


def text_beside(expression: ast.Expr | Expr, precedence: int) -> str:
    """Return an expression as an operand of an operator of this precedence, in parentheses if its own is lower."""
    text, own_precedence = _print(expression)
    return parenthesize(text, own_precedence, precedence)


def parenthesize(text: str, precedence: int, least: int) -> str:
    """Return a formula, in parentheses if its precedence is below `least`."""
    return text if precedence >= least else f"({text})"


def operand_precedences(symbol: str) -> tuple[int, int]:
    """Return the lowest precedences that need no parentheses left and right of the arithmetic operator `symbol`.

    An operand of a lower precedence needs parentheses.
    """
    if symbol == "**":
        return ATOM, UNARY
    precedence = OPERATORS[symbol].precedence
    return precedence, precedence + 1


def short_text(expression: Expr, max_length: int, otherwise: str = "…") -> str:
    """Return an expression as a formula, or `otherwise` if it has more than `max_length` characters."""
    # each node takes a character or more: a large expression need not be printed
    if next(islice(typed.walk(expression), max_length, None), None) is not None:
        return otherwise
    text = expression_text(expression)
    return text if len(text) <= max_length else otherwise


def quote(expression: Expr) -> str:
    """Return an expression in backticks, as messages name it; `this value` for a long one."""
    text = short_text(expression, _MAX_INLINE, "")
    return f"`{text}`" if text else "this value"


def literal_text(value: Value) -> str:
    """Return a value as a literal of the language: `None`, `True`, a number, or a string in single quotes."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
        return f"'{escaped}'"
    return repr(value)


def value_text(value: Value) -> str:
    """Return a value as messages show it: `null`, `true` and `false` as in JSON, a string in single quotes."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return literal_text(value)


def _print(expression: ast.Expr | Expr) -> tuple[str, int]:
    """Return the text of an expression, and the precedence of its outermost operator.

    A check for null is not printed. Raises `AssertionError` for a loop or an invalid part.
    """
    match expression:
        case ast.Unary(_, sign, operand) | typed.Unary(sign, operand):
            return f"{sign}{text_beside(operand, UNARY)}", UNARY
        case ast.Binary(_, symbol, left, right) | typed.Binary(symbol, left, right):
            before, behind = operand_precedences(symbol)
            return f"{text_beside(left, before)} {symbol} {text_beside(right, behind)}", OPERATORS[symbol].precedence
        case ast.Comparison(_, first, operators, rest) | typed.Comparison(first, operators, rest):
            pairs = zip(operators, map(operand_text, rest), strict=True)
            return " ".join([operand_text(first), *chain.from_iterable(pairs)]), COMPARISON
        case ast.Logical(_, word, operands) | typed.Logical(word, operands):
            precedence = AND if word == "and" else OR
            return f" {word} ".join([text_beside(operand, precedence + 1) for operand in operands]), precedence
        case ast.Not(_, operand) | typed.Not(operand):
            return f"not {text_beside(operand, NOT)}", NOT
        case ast.Conditional(_, condition, then, otherwise) | typed.Conditional(condition, then, otherwise):
            text = f"{text_beside(then, OR)} if {text_beside(condition, OR)} else {text_beside(otherwise, CONDITIONAL)}"
            return text, CONDITIONAL
        case typed.Present(operand):
            return _print(operand)
        case _:
            text = _atom_text(expression)
            return text, UNARY if text.startswith("-") else ATOM


def _atom_text(expression: ast.Expr | Expr) -> str:
    """Return the text of an expression without an operator outside of brackets, or of a negative literal.

    Raises `AssertionError` for a loop or an invalid part.
    """
    match expression:
        case ast.Literal(_, value) | typed.Literal(value):
            return literal_text(value)
        case ast.Name(_, text):
            return text
        case ast.FilterName(_, text):
            return f"${text}"
        case typed.Ref():
            return expression.text
        case typed.Aggregate():
            return expression.written or _aggregate_text(expression)
        case ast.Call(_, ast.Name(_, name), arguments) | typed.Call(name, arguments):
            return f"{name}({_join_items(arguments)})"
        case ast.List(_, items) | typed.List(items):
            return f"[{_join_items(items)}]"
        case ast.Subscript(_, value, index):
            return f"{text_beside(value, ATOM)}[{text_beside(index, CONDITIONAL)}]"
    raise AssertionError("formulas to be printed have no loops and no invalid parts")


def _aggregate_text(aggregate: typed.Aggregate) -> str:
    """Return an aggregate that is a step of its own as a call, such as `count($IS_RECENT)`, for messages only."""
    return f"{aggregate.function}({_join_items(typed.children(aggregate))})"


def _join_items(items: tuple[ast.Expr, ...] | tuple[Expr, ...]) -> str:
    return ", ".join([text_beside(item, CONDITIONAL) for item in items])
