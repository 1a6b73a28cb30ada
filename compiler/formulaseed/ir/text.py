"""Checked programs as short readable text: expressions in the formula language, steps as one-line declarations.

Used for comments in generated modules, for messages and for dumps. Parsing an expression's text gives the
same expression again.
"""

from __future__ import annotations

from itertools import islice

from formulaseed.domain import builtins
from formulaseed.domain.builtins import OPERATORS
from formulaseed.domain.types import Value
from formulaseed.ir import nodes
from formulaseed.ir.nodes import Expr
from formulaseed.wording import number_of


def expression_text(expression: Expr) -> str:
    """The expression with as few parentheses as its meaning allows."""
    return _text(expression)[0]


def operand_text(expression: Expr) -> str:
    """The expression as a side of a comparison: `a or b` in parentheses."""
    return _at(expression, builtins.ADDITIVE)


def text_within(expression: Expr, most: int, otherwise: str = "…") -> str:
    """The expression, or something else where its text is longer or has as many nodes: a long one is not written out."""
    if next(islice(nodes.walk(expression), most, None), None) is not None:
        return otherwise
    text = expression_text(expression)
    return text if len(text) <= most else otherwise


def text_at(expression: Expr, least: int) -> str:
    """The expression where what stands beside it has the precedence `least`."""
    return _at(expression, least)


def step_text(step: nodes.Step) -> str:
    """What the step does, such as `count where $IS_INCIDENT and meta.year >= 2023`."""
    match step.operation:
        case nodes.Filter(condition):
            return expression_text(condition)
        case nodes.Count(where):
            return f"count{_where(where)}"
        case nodes.Sum(expression, where):
            return f"sum of {expression_text(expression)}{_where(where)}"
        case nodes.Extreme(largest, expression, where, default):
            tail = f", default {literal_text(default)}" if default is not None else ""
            return f"{'max' if largest else 'min'} of {expression_text(expression)}{_where(where)}{tail}"
        case nodes.Lookup(source, table, match, has_default, default):
            tail = f", default {literal_text(default)}" if has_default else ""
            return f"lookup of {expression_text(source)} in {number_of(len(table), 'key')}, {match}{tail}"
        case nodes.Formula(expression):
            return expression_text(expression)
        case nodes.Const(value):
            return f"constant {literal_text(value)}"
        case nodes.Case(rules, otherwise):
            parts = [f"{literal_text(then)} if {expression_text(condition)}" for condition, then in rules]
            return "; ".join([*parts, f"else {literal_text(otherwise)}"])


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


def _where(where: Expr | None) -> str:
    return f" where {expression_text(where)}" if where is not None else ""


def _at(expression: Expr, least: int) -> str:
    text, precedence = _text(expression)
    return parenthesized(text, precedence, least)


def _text(expression: Expr) -> tuple[str, int]:
    match expression:
        case nodes.Literal(value):
            negative = isinstance(value, int | float) and not isinstance(value, bool) and repr(value).startswith("-")
            return literal_text(value), builtins.UNARY if negative else builtins.ATOM
        case nodes.Ref():
            return expression.text, builtins.ATOM
        case nodes.Present(operand):
            return _text(operand)
        case nodes.Unary(sign, operand):
            return f"{sign}{_at(operand, builtins.UNARY)}", builtins.UNARY
        case nodes.Binary(symbol_, left, right):
            precedence = OPERATORS[symbol_].precedence
            if symbol_ == "**":
                return f"{_at(left, builtins.ATOM)} ** {_at(right, builtins.UNARY)}", precedence
            return f"{_at(left, precedence)} {symbol_} {_at(right, precedence + 1)}", precedence
        case nodes.Call(name, arguments):
            inner = ", ".join(_at(argument, builtins.CONDITIONAL) for argument in arguments)
            return f"{name}({inner})", builtins.ATOM
        case nodes.Comparison(first, operators, rest):
            parts = [_at(first, builtins.ADDITIVE)]
            for operator, operand in zip(operators, rest, strict=True):
                parts += [operator, _at(operand, builtins.ADDITIVE)]
            return " ".join(parts), builtins.COMPARISON
        case nodes.Logical(word, operands):
            precedence = builtins.AND if word == "and" else builtins.OR
            return f" {word} ".join(_at(operand, precedence + 1) for operand in operands), precedence
        case nodes.Not(operand):
            return f"not {_at(operand, builtins.NOT)}", builtins.NOT
        case nodes.Conditional(condition, then, otherwise):
            text = (
                f"{_at(then, builtins.OR)} if {_at(condition, builtins.OR)} else {_at(otherwise, builtins.CONDITIONAL)}"
            )
            return text, builtins.CONDITIONAL
        case nodes.List(items):
            return f"[{', '.join(_at(item, builtins.CONDITIONAL) for item in items)}]", builtins.ATOM
