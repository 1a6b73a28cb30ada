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


def expression_text(expression: ast.Expr | Expr) -> str:
    """Return an expression as a formula."""
    return _text(expression)[0]


def operand_text(expression: ast.Expr | Expr) -> str:
    """Return an expression as a side of a comparison: `a or b` in parentheses."""
    return text_beside(expression, ADDITIVE)


def text_beside(expression: ast.Expr | Expr, least: int) -> str:
    """Return an expression beside an operator of the precedence `least`, in parentheses if its own is lower."""
    text, precedence = _text(expression)
    return parenthesize(text, precedence, least)


def parenthesize(text: str, precedence: int, least: int) -> str:
    """Return a text of some precedence, in parentheses if that is below `least`."""
    return text if precedence >= least else f"({text})"


def operand_precedences(symbol: str) -> tuple[int, int]:
    """Return the least precedences that the two operands of an arithmetic operator have without parentheses."""
    precedence = OPERATORS[symbol].precedence
    return (ATOM, UNARY) if symbol == "**" else (precedence, precedence + 1)


def short_text(expression: Expr, most: int, otherwise: str = "…") -> str:
    """Return an expression, or `otherwise` if it has more than `most` characters, or more nodes."""
    if next(islice(typed.walk(expression), most, None), None) is not None:
        return otherwise
    text = expression_text(expression)
    return text if len(text) <= most else otherwise


def quote_expression(expression: Expr) -> str:
    """Return an expression in backticks, as messages name it; `this value` for a long one."""
    text = short_text(expression, 40, "")
    return f"`{text}`" if text else "this value"


def literal_text(value: Value) -> str:
    """Return a value as a literal of the language."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
        return f"'{escaped}'"
    return repr(value)


def value_text(value: Value) -> str:
    """Return a value as JSON writes it, strings in single quotes."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else literal_text(value)


def _text(expression: ast.Expr | Expr) -> tuple[str, int]:
    """Return the text of an expression, and the precedence of its outermost operator."""
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
        case ast.Call(_, ast.Name(_, name), arguments) | typed.Call(name, arguments):
            return f"{name}({_join_items(arguments)})", ATOM
        case ast.List(_, items) | typed.List(items):
            return f"[{_join_items(items)}]", ATOM
        case ast.Subscript(_, value, index):
            return f"{text_beside(value, ATOM)}[{text_beside(index, CONDITIONAL)}]", ATOM
        case ast.Comprehension() | ast.Keyword() | ast.Aggregate() | ast.Invalid():
            raise AssertionError("formulas to be printed have none of these")


def _aggregate_text(aggregate: typed.Aggregate) -> str:
    """Return an aggregate that is a step of its own as a call, such as `count($IS_RECENT)`, for messages only."""
    return f"{aggregate.function}({_join_items(typed.children(aggregate))})"


def _join_items(items: tuple[ast.Expr, ...] | tuple[Expr, ...]) -> str:
    return ", ".join([text_beside(item, CONDITIONAL) for item in items])
