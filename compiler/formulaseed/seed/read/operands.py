"""The values that conditions compare with.

In: a JSON value and the test that it is for. Out: a literal, a list of literals or a parameter; a string that says more
than a value, such as an operator, another field or a formula, is reported with what to write instead.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from formulaseed import limits
from formulaseed.diagnostics.model import Suggestion
from formulaseed.language import ast
from formulaseed.language.types import Type
from formulaseed.seed.read.shape import Shape
from formulaseed.seed.read.worded import as_filter, formula_in, shown
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue

_PARAMETER = re.compile(r"param\.[A-Za-z_][A-Za-z0-9_]*")
_IN_TEXT = re.compile(r"\s*(>=|=>|≥|<=|=<|≤|!=|<>|≠|==|=|>|<)\s*(\S.*)")
_SIGNS = {"=>": ">=", "≥": ">=", "=<": "<=", "≤": "<=", "<>": "!=", "≠": "!=", "=": "=="}
"""How operators are written elsewhere, and how here."""
_ORDER = (">=", ">", "<=", "<")
_NO_TEXT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?|true|false|null")
_PLAIN = re.compile(rf"{_NO_TEXT.pattern}|{_PARAMETER.pattern}|'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class Test:
    """What a value is compared with: a field, of a type if that is known, by an operator."""

    subject: ast.Name | ast.Invalid
    operator: str
    ty: Type | None

    @property
    def takes_numbers(self) -> bool:
        """Whether only a number has a meaning here."""
        return self.ty.is_numeric if self.ty is not None else self.operator in _ORDER

    def has_value(self, text: str) -> bool:
        """Whether the seed declares the string as a value of the field: then it is one, whatever it looks like."""
        return self.ty is not None and text in (self.ty.values or ())

    def against(self, other: ast.Expr) -> ast.Expr:
        """The comparison as formulas write it."""
        operator = "==" if self.operator == "in" else "!=" if self.operator == "not in" else self.operator
        return ast.Comparison(other.span, self.subject, (operator,), (other,))


def operator_in_text(value: JsonString, test: Test, shape: Shape) -> tuple[str, str] | None:
    """Return what is wrong with a string that begins with an operator, and what to write; None for a plain value.

    Plain are the values that the field declares, and what would order a string, as nothing can.
    """
    found = None if test.has_value(value.value) else _IN_TEXT.fullmatch(value.value)
    if found is None:
        return None
    sign, operand = _SIGNS.get(found[1], found[1]), found[2].strip()
    if sign in _ORDER and test.ty is not None and not test.ty.is_numeric:
        return None
    formula = formula_in(f"{shown(test.subject)} {sign} {operand}", value.span, shape)
    if _PLAIN.fullmatch(operand) or (formula is None and sign not in _ORDER):
        plain = operand if _NO_TEXT.fullmatch(operand) else json.dumps(operand.strip("'\""), ensure_ascii=False)
        help = f"write {plain}" if sign == "==" else f'write {{"{sign}": {plain}}}'
    else:
        help = as_filter(formula, shape) if formula is not None else f'write {{"{sign}": …}} with a number'
    return f"the operator `{found[1]}` stands in a text", help


def operand_of(value: JsonValue, test: Test, shape: Shape) -> ast.Expr:
    """A literal, or `param.NAME` for the value of a parameter."""
    if not isinstance(value, JsonString) or test.has_value(value.value):
        return shape.literal(value, "the value of a condition") or ast.Invalid(value.span)
    text = value.value
    if _PARAMETER.fullmatch(text):
        return ast.Name(value.span, text)
    if test.takes_numbers and text in shape.parameters:
        named = f"param.{text}"
        is_safe = text not in shape.steps and text not in shape.spelled
        help = Suggestion(f"write `{named}`", named, "safe" if is_safe else "unsafe")
        shape.problems.add("FS301", value.span, f"`{text}` is a text here", help)
        return ast.Name(value.span, named)
    found: ast.Expr | None = ast.Name(value.span, text) if text in shape.types else None
    if found is None and test.takes_numbers:
        found = formula_in(text, value.span, shape)
    if found is None:
        return ast.Literal(value.span, text)
    is_step = isinstance(found, ast.Name) and found.text in shape.steps
    what = "a step" if is_step else "another field" if isinstance(found, ast.Name) else "a formula"
    message = f"a condition compares with a value, not with {what}"
    shape.problems.add("FS301" if is_step else "FS505", value.span, message, as_filter(test.against(found), shape))
    return ast.Invalid(value.span)


def listed_of(value: JsonValue, test: Test, shape: Shape) -> ast.Expr:
    """A list of such values."""
    if not isinstance(value, JsonArray):
        example = f'["{value.value}"]' if isinstance(value, JsonString) else ""
        shape.wrong_type(value, "`in`", "a list", example)
        is_object = isinstance(value, JsonObject)
        return ast.Invalid(value.span) if is_object else ast.List(value.span, (operand_of(value, test, shape),))
    if not value.items:
        help = "list the values that match"
        shape.problems.add("FS509", value.span, "`in` has an empty list, so it never holds", help)
    items = shape.list(value, "`in`", limits.LIST_ITEMS)
    return (
        ast.List(value.span, tuple(operand_of(item, test, shape) for item in items))
        if items
        else ast.Invalid(value.span)
    )
