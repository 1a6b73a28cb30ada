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
from formulaseed.source.text import Span
from formulaseed.syntax import ast

OPERATOR_IN_TEXT = re.compile(r"\s*(>=|<=|!=|>|<|==)\s*(\S.*)")
_IN_KEY = re.compile(r"([$\w.]+)\s*(>=|<=|!=|>|<|==)")
OPERATORS = ("in", ">=", ">", "<=", "<", "!=")
_LISTED = ("in", "not in")
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

_MEANT = {"==": "==", "=": "==", "eq": "==", "not in": "not in"}
"""Operators that conditions do not have, with those of formulas that they are read as."""
_JUNCTIONS = ("and", "or", "not", "all", "any", "$and", "$or", "$not")


def lower_conditions(value: JsonValue, what: str, shape: Shape, namespace: str | None = None) -> list[ast.Expr]:
    """The conditions of one object, all of which must hold; in place of what is wrong, and was told, something invalid.

    With a `namespace` the keys are bare field names of it, else they carry their prefix.
    """
    members = shape.object(value, what, 'an object such as {"meta.year": {">=": 2020}}')
    if members is None:
        return [ast.Invalid(value.span)]
    if len(members.members) > limits.CONDITIONS:
        shape.too_many(value.span, what, len(members.members), limits.CONDITIONS)
        return [ast.Invalid(value.span)]
    conditions: list[ast.Expr] = []
    for member in members.members:
        joined = _IN_KEY.fullmatch(member.key.value) if namespace is None else None
        if joined:
            conditions += _operator_in_key(joined, member, shape)
        elif namespace is None and member.key.value.lower() in _JUNCTIONS:
            conditions += _junction(member, shape)
        else:
            subject = _subject(member.key, namespace, shape)
            if isinstance(subject, ast.FilterName):
                conditions += _filter_use(subject, member.value, shape)
            else:
                conditions += _field_test(subject, member.value, shape)
    return conditions


def all_of(conditions: list[ast.Expr]) -> ast.Expr | None:
    """The conjunction, or None where there is nothing to test."""
    if len(conditions) <= 1:
        return conditions[0] if conditions else None
    return ast.Logical(conditions[0].span, "and", tuple(conditions))


def _operator_in_key(joined: re.Match[str], member: Member, shape: Shape) -> list[ast.Expr]:
    help = f'write "{joined[1]}": {{"{joined[2]}": …}}'
    shape.problems.add("FS505", member.key.span, f"the operator `{joined[2]}` stands in the key", help)
    subject = ast.Name(member.key.inside(*joined.span(1)), joined[1])
    operand = _operand(member.value, shape)
    return [ast.Comparison(subject.span, subject, (joined[2],), (operand,))]


def _junction(member: Member, shape: Shape) -> list[ast.Expr]:
    """Tell of `and`, `or` and the like; what they join is read all the same."""
    help = 'all conditions of an object must hold; a filter is negated by "$NAME": false'
    shape.problems.add("FS505", member.key.span, f"conditions know no `{member.key.value}`", help)
    items = member.value.items if isinstance(member.value, JsonArray) else (member.value,)
    each = [all_of(lower_conditions(item, "a condition", shape)) for item in items if isinstance(item, JsonObject)]
    found = [condition for condition in each if condition is not None]
    return [ast.Logical(member.key.span, "or", (*found, ast.Invalid(member.key.span)))]


def _subject(key: JsonString, namespace: str | None, shape: Shape) -> ast.Name | ast.FilterName | ast.Invalid:
    text = key.value
    if namespace is not None:
        if text.startswith(f"{namespace}."):
            bare = text[len(namespace) + 1 :]
            shape.problems.add("FS204", key.span, f"inside `{namespace}` the field names are bare", f"write `{bare}`")
            return ast.Name(key.inside(len(text) - len(bare), len(text)), text, implied=True)
        return ast.Name(key.span, f"{namespace}.{text}", implied=True)
    if text.startswith("$"):
        return ast.FilterName(key.span, text[1:])
    if "." in text:
        return ast.Name(key.span, text)
    close = nearest(text, shape.spelled)
    help = f"write `extraction.{text}`, `meta.{text}`, `context.{text}` or `${text}`"
    if close is not None:
        help = meant(shape.spelled[close])
    shape.problems.add("FS204", key.span, f"`{text}` has no namespace", help)
    return _spelled(shape.spelled[close], key.span) if close is not None else ast.Invalid(key.span)


def _spelled(text: str, span: Span) -> ast.Name | ast.FilterName:
    return ast.FilterName(span, text[1:]) if text.startswith("$") else ast.Name(span, text)


def _filter_use(subject: ast.FilterName, value: JsonValue, shape: Shape) -> list[ast.Expr]:
    if isinstance(value, JsonLiteral) and value.value is not None:
        return [subject if value.value else ast.Not(subject.span, subject)]
    spelled = shape.spelled.get(subject.text)
    if spelled is not None and spelled != f"${subject.text}":
        message = f"no filter is called `${subject.text}`"
        shape.problems.add("FS201", subject.span, message, meant(spelled))
        return _field_test(ast.Name(subject.span, spelled), value, shape)
    if nearest(subject.text, [bare for bare, text in shape.spelled.items() if text.startswith("$")]) is None:
        return [subject, ast.Invalid(value.span)]  # told where names are looked up: it is no filter
    message = f"the filter `${subject.text}` is tested with true or false"
    shape.problems.add("FS503", value.span, message, "write true, or false for its opposite")
    return [subject, ast.Invalid(value.span)]


def _field_test(subject: ast.Name | ast.Invalid, value: JsonValue, shape: Shape) -> list[ast.Expr]:
    name = subject.text if isinstance(subject, ast.Name) else "this"
    operand: ast.Expr
    if isinstance(value, JsonArray):
        help = 'write {"in": […]} for one of several values'
        shape.problems.add("FS503", value.span, f"`{name}` is tested against a list", help)
        return [ast.Comparison(subject.span, subject, ("in",), (_listed(value, shape),))]
    misplaced = _misplaced_text(name, value, shape) if isinstance(value, JsonString) else None
    if misplaced is not None:
        shape.problems.add("FS505", value.span, *misplaced)
        return [_unsaid(subject, value.span)]
    if not isinstance(value, JsonObject):
        return [ast.Comparison(subject.span, subject, ("==",), (_operand(value, shape),))]
    if not value.members:
        help = 'write a value, or an operator such as {">=": 2023}'
        shape.problems.add("FS505", value.span, f"nothing is said of `{name}`", help)
        return [_unsaid(subject, value.span)]
    tests: list[ast.Expr] = []
    for member in value.members:
        operator: str | None = member.key.value
        if operator not in OPERATORS:
            help = _INSTEAD.get(member.key.value.strip().lower()) or did_you_mean(
                member.key.value, OPERATORS, what="operators"
            )
            shape.problems.add("FS505", member.key.span, f"`{operator}` is no operator of conditions", help)
            operator = _MEANT.get(member.key.value.strip().lower()) or getattr(help, "replacement", None)
        if operator is None:
            tests.append(_unsaid(subject, member.value.span))
        else:
            operand = _listed(member.value, shape) if operator in _LISTED else _operand(member.value, shape)
            tests.append(ast.Comparison(subject.span, subject, (operator,), (operand,)))
    return tests


def _unsaid(subject: ast.Name | ast.Invalid, span: Span) -> ast.Expr:
    """The test of a field of which it is not known what is asked."""
    return ast.Comparison(subject.span, subject, ("==",), (ast.Invalid(span),))


def _misplaced_text(subject: str, value: JsonString, shape: Shape) -> tuple[str, str] | None:
    """What is wrong with a text that says more than a value, and what to write; None for a plain value."""
    operator = OPERATOR_IN_TEXT.fullmatch(value.value)
    if operator:
        return f"the operator `{operator[1]}` stands in a text", f'write {{"{operator[1]}": {operator[2]}}}'
    if value.value in shape.spelled.values() and "." in value.value:
        help = f'compare them in a formula: "expr": "int({subject} == {value.value})"'
        return "a condition compares with a value, not with another field", help
    return None


def _listed(value: JsonValue, shape: Shape) -> ast.Expr:
    if not isinstance(value, JsonArray):
        example = f'["{value.value}"]' if isinstance(value, JsonString) else ""
        shape.wrong_type(value, "`in`", "a list", example)
        return (
            ast.Invalid(value.span)
            if isinstance(value, JsonObject)
            else ast.List(value.span, (_operand(value, shape),))
        )
    if not value.items:
        shape.problems.add(
            "FS509", value.span, "`in` has an empty list, so it never holds", "list the values that match"
        )
    items = shape.list(value, "`in`", limits.LIST_ITEMS)
    return ast.List(value.span, tuple(_operand(item, shape) for item in items)) if items else ast.Invalid(value.span)


def _operand(value: JsonValue, shape: Shape) -> ast.Expr:
    """A literal, or `param.NAME` for the value of a parameter."""
    if isinstance(value, JsonString) and _PARAMETER.fullmatch(value.value):
        return ast.Name(value.span, value.value)
    if isinstance(value, JsonString) and "." in value.value and value.value in shape.spelled.values():
        help = "compare them in a formula, or make the value a parameter: `param.NAME`"
        shape.problems.add("FS505", value.span, "a condition compares with a value, not with another field", help)
        return ast.Invalid(value.span)
    return shape.literal(value, "the value of a condition") or ast.Invalid(value.span)
