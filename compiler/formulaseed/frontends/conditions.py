"""Condition objects, such as `{"extraction.severity": {"in": ["mild"]}, "$IS_RECENT": true}`, as expressions.

Source: the specification's sections on filters and filter operators.
"""

from __future__ import annotations

import re

from formulaseed import limits
from formulaseed.diagnostics.model import Help
from formulaseed.diagnostics.suggest import did_you_mean, meant, nearest
from formulaseed.frontends.shape import Shape
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonObject, JsonString, JsonValue, Member
from formulaseed.syntax import ast

OPERATOR_IN_TEXT = re.compile(r"\s*(>=|<=|!=|>|<|==)\s*(\S.*)")
_IN_KEY = re.compile(r"([$\w.]+)\s*(>=|<=|!=|>|<|==)")
OPERATORS = ("in", ">=", ">", "<=", "<", "!=")
_PARAMETER = re.compile(r"param\.[A-Za-z_][A-Za-z0-9_]*")
_INSTEAD: dict[str, str] = {
    "==": "write the value alone, without an operator",
    "=": "write the value alone, without an operator",
    "eq": "write the value alone, without an operator",
    "not in": 'define a filter with `in` and use it as `"$NAME": false`',
    **dict.fromkeys(("gte", "ge", "$gte", "min"), Help("write `>=`", ">=")),
    **dict.fromkeys(("lte", "le", "$lte", "max"), Help("write `<=`", "<=")),
    **dict.fromkeys(("ne", "neq", "$ne", "<>", "not"), Help("write `!=`", "!=")),
    **dict.fromkeys(("gt", "$gt"), Help("write `>`", ">")),
    **dict.fromkeys(("lt", "$lt"), Help("write `<`", "<")),
    "$in": Help("write `in`", "in"),
    "between": 'write {">=": 2020, "<=": 2023}',
    "contains": "texts are tested with `in` in a formula: `'Thai' in context.categories`",
}


def lower_conditions(value: JsonValue, what: str, shape: Shape, namespace: str | None = None) -> list[ast.Expr]:
    """The conditions of one object, all of which must hold.

    With a `namespace` the keys are bare field names of it, else they carry their prefix.
    """
    members = shape.object(value, what, 'an object such as {"meta.year": {">=": 2020}}')
    if members is None:
        return []
    if len(members.members) > limits.CONDITIONS:
        shape.too_many(value.span, what, len(members.members), limits.CONDITIONS)
        return []
    conditions: list[ast.Expr] = []
    for member in members.members:
        subject = _subject(member.key, namespace, shape)
        if isinstance(subject, ast.FilterName):
            conditions += _filter_use(subject, member, shape)
        elif subject is not None:
            conditions += _field_test(subject, member.value, shape)
    return conditions


def all_of(conditions: list[ast.Expr]) -> ast.Expr | None:
    """The conjunction, or None where there is nothing to test."""
    if len(conditions) <= 1:
        return conditions[0] if conditions else None
    return ast.Logical(conditions[0].span, "and", tuple(conditions))


def _subject(key: JsonString, namespace: str | None, shape: Shape) -> ast.Name | ast.FilterName | None:
    text = key.value
    if namespace is not None:
        if text.startswith(f"{namespace}."):
            help = f"write `{text[len(namespace) + 1 :]}`"
            shape.problems.add("FS204", key.span, f"inside `{namespace}` the field names are bare", help)
            return None
        return ast.Name(key.span, f"{namespace}.{text}", implied=True)
    joined = _IN_KEY.fullmatch(text)
    if joined:
        help = f'write "{joined[1]}": {{"{joined[2]}": …}}'
        shape.problems.add("FS505", key.span, f"the operator `{joined[2]}` stands in the key", help)
        return None
    if text.lower() in ("and", "or", "not", "all", "any", "$and", "$or", "$not"):
        help = 'all conditions of an object must hold; a filter is negated by "$NAME": false'
        shape.problems.add("FS505", key.span, f"conditions know no `{text}`", help)
        return None
    if text.startswith("$"):
        return ast.FilterName(key.span, text[1:])
    if "." not in text:
        close = nearest(text, shape.spelled)
        help = f"write `extraction.{text}`, `meta.{text}`, `context.{text}` or `${text}`"
        if close is not None:
            help = meant(shape.spelled[close])
        shape.problems.add("FS204", key.span, f"`{text}` has no namespace", help)
        return None
    return ast.Name(key.span, text)


def _filter_use(subject: ast.FilterName, member: Member, shape: Shape) -> list[ast.Expr]:
    if isinstance(member.value, JsonLiteral) and member.value.value is not None:
        return [subject if member.value.value else ast.Not(subject.span, subject)]
    spelled = shape.spelled.get(subject.text)
    if spelled is not None and spelled != f"${subject.text}":
        message = f"no filter is called `${subject.text}`"
        shape.problems.add("FS201", subject.span, message, meant(spelled))
        return []
    message = f"the filter `${subject.text}` is tested with true or false"
    shape.problems.add("FS503", member.value.span, message, "write true, or false for its opposite")
    return []


def _field_test(subject: ast.Name, value: JsonValue, shape: Shape) -> list[ast.Expr]:
    if isinstance(value, JsonArray):
        help = 'write {"in": […]} for one of several values'
        shape.problems.add("FS503", value.span, f"`{subject.text}` is tested against a list", help)
        return []
    if isinstance(value, JsonString):
        misplaced = _misplaced_text(subject, value, shape)
        if misplaced is not None:
            message, help = misplaced
            shape.problems.add("FS505", value.span, message, help)
            return []
    if not isinstance(value, JsonObject):
        operand = _operand(value, shape)
        return [ast.Comparison(subject.span, subject, ("==",), (operand,))] if operand else []
    if not value.members:
        help = 'write a value, or an operator such as {">=": 2023}'
        shape.problems.add("FS505", value.span, f"nothing is said of `{subject.text}`", help)
    tests: list[ast.Expr] = []
    for member in value.members:
        operator = member.key.value
        if operator not in OPERATORS:
            help = _INSTEAD.get(operator.strip().lower()) or did_you_mean(operator, OPERATORS, what="operators")
            shape.problems.add("FS505", member.key.span, f"`{operator}` is no operator of conditions", help)
            continue
        operand = _listed(member.value, shape) if operator == "in" else _operand(member.value, shape)
        if operand is not None:
            tests.append(ast.Comparison(subject.span, subject, (operator,), (operand,)))
    return tests


def _misplaced_text(subject: ast.Name, value: JsonString, shape: Shape) -> tuple[str, str] | None:
    """What is wrong with a text that says more than a value, and what to write; None for a plain value."""
    operator = OPERATOR_IN_TEXT.fullmatch(value.value)
    if operator:
        return f"the operator `{operator[1]}` stands in a text", f'write {{"{operator[1]}": {operator[2]}}}'
    if value.value in shape.spelled.values() and "." in value.value:
        help = f'compare them in a formula: "expr": "int({subject.text} == {value.value})"'
        return "a condition compares with a value, not with another field", help
    return None


def _listed(value: JsonValue, shape: Shape) -> ast.Expr | None:
    if not isinstance(value, JsonArray):
        example = f'["{value.value}"]' if isinstance(value, JsonString) else ""
        shape.wrong_type(value, "`in`", "a list", example)
        return None
    if not value.items:
        shape.problems.add(
            "FS509", value.span, "`in` has an empty list, so it never holds", "list the values that match"
        )
        return None
    operands = [_operand(item, shape) for item in shape.list(value, "`in`", limits.LIST_ITEMS)]
    items = tuple(operand for operand in operands if operand is not None)
    return ast.List(value.span, items) if items and len(items) == len(operands) else None


def _operand(value: JsonValue, shape: Shape) -> ast.Expr | None:
    """A literal, or `param.NAME` for the value of a parameter."""
    if isinstance(value, JsonString) and _PARAMETER.fullmatch(value.value):
        return ast.Name(value.span, value.value)
    if isinstance(value, JsonString) and "." in value.value and value.value in shape.spelled.values():
        help = "compare them in a formula, or make the value a parameter: `param.NAME`"
        shape.problems.add("FS505", value.span, "a condition compares with a value, not with another field", help)
        return None
    return shape.literal(value, "the value of a condition")
