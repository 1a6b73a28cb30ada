"""Conditions that stand in strings, and conditions that no object can say: read, and shown as they are written here.

In: a string, or a condition. Out: the condition that the string says; the object or `define_filter` step that says one.
"""

from __future__ import annotations

import json
from dataclasses import replace

from formulaseed.diagnostics.model import Problems
from formulaseed.language import ast
from formulaseed.language.parser import parse_formula
from formulaseed.language.printer import expression_text
from formulaseed.language.types import BOOLEAN
from formulaseed.seed.read.entries import entries_of
from formulaseed.seed.read.shape import Shape
from formulaseed.source.json_reader import JsonString, PlainText
from formulaseed.source.text import Span

_SHOWN = 200
"""Help that would show more characters than this gives an example."""
_AN_ALTERNATIVE = "extraction.severity == 'mild' or meta.stars < 3"


def condition_of(text: JsonString, namespace: str | None, shape: Shape) -> ast.Expr | None:
    """The condition that a text says: a filter's name, or a formula. None where it says something else, or nothing."""
    bare = text.value.lstrip("$")
    if f"${bare}" in shape.spelled.get(bare, ()):
        return ast.FilterName(text.span, bare)
    formula = parse_formula(text, Problems())
    found = with_namespaces(formula, namespace, shape) if formula is not None else None
    return found if isinstance(found, ast.Comparison | ast.Logical | ast.Not | ast.FilterName) else None


def with_namespaces(node: ast.Expr, namespace: str | None, shape: Shape) -> ast.Expr:
    """The condition with the namespaces that it leaves out: told with the whole, so not told as well.

    Only known names get one: another may be a text without quotes.
    """
    match node:
        case ast.Logical(_, _, operands):
            return replace(node, operands=tuple([with_namespaces(part, namespace, shape) for part in operands]))
        case ast.Not(_, operand):
            return replace(node, operand=with_namespaces(operand, namespace, shape))
        case ast.Comparison(_, first, _, rest):
            others = tuple([with_namespaces(part, namespace, shape) for part in rest])
            first = with_namespaces(first, namespace, shape)
            if namespace is not None and isinstance(first, ast.Name) and "." not in first.text:
                first = ast.Name(first.span, f"{namespace}.{first.text}", implied=True)
            return replace(node, first=first, rest=others)
        case ast.Unary(_, _, operand):
            return replace(node, operand=with_namespaces(operand, namespace, shape))
        case ast.Binary(_, _, left, right):
            left = with_namespaces(left, namespace, shape)
            return replace(node, left=left, right=with_namespaces(right, namespace, shape))
        case ast.Call(_, _, arguments):
            return replace(node, arguments=tuple([with_namespaces(part, namespace, shape) for part in arguments]))
        case ast.Name(span, text) if text in shape.spelled:
            spelled, *more = shape.spelled[text]
            if namespace is not None and not spelled.startswith("$"):
                return ast.Name(span, f"{namespace}.{text}", implied=True)
            return node if more else spelled_name(spelled, span)
        case ast.Name(span, text) if text in shape.parameters and text not in shape.steps:
            return ast.Name(span, f"param.{text}")
    return node


def as_object(conditions: list[ast.Expr], namespace: str | None, shape: Shape) -> str | None:
    """What to write for conditions that stand in texts; None where an example says more."""
    whole = all_of(conditions)
    flags = {name for name, ty in shape.types.items() if ty.base is BOOLEAN.base}
    entries = entries_of(whole, flags) if whole is not None else None
    if entries is None:
        has_or = any(isinstance(part, ast.Logical) for part in ast.conjuncts(whole))
        return f"an object, all of whose conditions must hold; for `or` {as_filter(whole, shape)}" if has_or else None
    prefix = f"{namespace}." if namespace is not None else ""
    if not all(key.startswith(prefix) for key in entries):
        return None
    written = json.dumps({key.removeprefix(prefix): asked for key, asked in entries.items()}, ensure_ascii=False)
    return written if len(written) <= _SHOWN else None


def formula_in(text: str, span: Span, shape: Shape) -> ast.Expr | None:
    """The formula over known names that a string holds; None for a plain value, and where too many were read already."""
    if len(text) > _SHOWN or not shape.may_read(text):
        return None
    formula = parse_formula(PlainText(span, text), Problems())
    if formula is None:
        return None
    found = with_namespaces(formula, None, shape)
    names = [part.text for part in ast.walk(found) if isinstance(part, ast.Name)]
    return found if names and all(_is_known(name, shape) for name in names) else None


def _is_known(name: str, shape: Shape) -> bool:
    space, _, rest = name.partition(".")
    return name in shape.types or name in shape.steps or (space == "param" and rest in shape.parameters)


def shown(subject: ast.Name | ast.Invalid) -> str:
    return subject.text if isinstance(subject, ast.Name) else "this"


def as_filter(condition: ast.Expr | None, shape: Shape) -> str:
    """What to write for a condition that no object can say: a filter with a formula; of a step's value a `sum`."""
    parts = tuple(ast.walk(condition))
    if any(isinstance(part, ast.Name) and part.text in shape.steps for part in parts):
        return f"compare them in a formula, such as the `expr` of a `sum`: `int({_formula_of(condition)})`"
    step = {"name": "…", "op": "define_filter", "expr": _formula_of(condition)}
    return f"define a filter: {json.dumps(step, ensure_ascii=False)}"


def _formula_of(condition: ast.Expr | None) -> str:
    """The condition as a formula; an example where it is not known whole, or too long to be shown."""
    if condition is None or any(isinstance(part, ast.Invalid) for part in ast.walk(condition)):
        return _AN_ALTERNATIVE
    text = expression_text(condition)
    return text if len(text) <= _SHOWN else _AN_ALTERNATIVE


def all_of(conditions: list[ast.Expr]) -> ast.Expr | None:
    """The conjunction, or None where there is nothing to test."""
    if len(conditions) <= 1:
        return conditions[0] if conditions else None
    return ast.Logical(conditions[0].span, "and", tuple(conditions))


def negated(condition: ast.Expr) -> ast.Expr:
    """The opposite of a condition, as people write it."""
    opposites = {"==": "!=", "!=": "==", "in": "not in", "not in": "in"}
    if isinstance(condition, ast.Comparison) and len(condition.operators) == 1 and condition.operators[0] in opposites:
        return replace(condition, operators=(opposites[condition.operators[0]],))
    return ast.Not(condition.span, condition)


def spelled_name(text: str, span: Span) -> ast.Name | ast.FilterName:
    return ast.FilterName(span, text[1:]) if text.startswith("$") else ast.Name(span, text)
