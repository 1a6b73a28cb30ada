"""Condition objects, such as `{"extraction.severity": {"in": ["mild"]}, "$IS_RECENT": true}`, as expressions.

Source: the specification's sections on filters and filter operators.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from formulaseed import limits
from formulaseed.diagnostics.model import Help, Problems
from formulaseed.diagnostics.suggest import did_you_mean, is_slip, meant, nearest
from formulaseed.frontends.entries import entries_of
from formulaseed.frontends.shape import Shape
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonNumber, JsonObject, JsonString, JsonValue, Member
from formulaseed.source.text import Span
from formulaseed.syntax import ast
from formulaseed.syntax.parser import parse_formula

OPERATOR_IN_TEXT = re.compile(r"\s*(>=|<=|!=|>|<|==)\s*(\S.*)")
_IN_KEY = re.compile(r"([$\w.]+)\s*(>=|<=|!=|>|<|==)")
OPERATORS = ("in", ">=", ">", "<=", "<", "!=")
_LISTED = ("in", "not in")
_PARAMETER = re.compile(r"param\.[A-Za-z_][A-Za-z0-9_]*")
_NOT_IN = ("not in", "not_in", "notin", "nin", "$nin", "!in")
_INSTEAD: dict[str, str] = {
    "==": "write the value alone, without an operator",
    "=": "write the value alone, without an operator",
    "eq": "write the value alone, without an operator",
    **dict.fromkeys(_NOT_IN, 'define a filter with `in` and use it as `"$NAME": false`'),
    **dict.fromkeys(("gte", "ge", "$gte", "≥", "=>", "min"), Help("write `>=`", ">=")),
    **dict.fromkeys(("lte", "le", "$lte", "≤", "=<", "max"), Help("write `<=`", "<=")),
    **dict.fromkeys(("ne", "neq", "$ne", "<>", "≠", "not"), Help("write `!=`", "!=")),
    **dict.fromkeys(("gt", "$gt"), Help("write `>`", ">")),
    **dict.fromkeys(("lt", "$lt"), Help("write `<`", "<")),
    "$in": Help("write `in`", "in"),
    "between": 'write {">=": 2020, "<=": 2023}',
    "contains": "texts are tested with `in` in a formula: `'Thai' in context.categories`",
}

_MEANT = {"==": "==", "=": "==", "eq": "==", **dict.fromkeys(_NOT_IN, "not in")}
"""Operators that conditions do not have, with those of formulas that they are read as."""
_ORDER = (">=", ">", "<=", "<")
_TWO_SPACES = re.compile(r"(?:extraction|meta|context)\.((?:extraction|meta|context)\.\w+)")
_SHOWN = 200
"""Help that would show more characters than this gives an example."""
_JUNCTIONS = ("and", "or", "not", "all", "any", "$and", "$or", "$not")


def lower_conditions(value: JsonValue, what: str, shape: Shape, namespace: str | None = None) -> list[ast.Expr]:
    """The conditions of one object, all of which must hold; in place of what is wrong, and was told, something invalid.

    With a `namespace` the keys are bare field names of it, else they carry their prefix.
    """
    if not isinstance(value, JsonObject):
        return _no_object(value, what, shape, namespace)
    members = value
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


def _no_object(value: JsonValue, what: str, shape: Shape, namespace: str | None) -> list[ast.Expr]:
    """Tell of conditions that are no object; what they say is read all the same: objects in a list, filters, formulas."""
    items = value.items[: limits.CONDITIONS] if isinstance(value, JsonArray) else (value,)
    objects = [item for item in items if isinstance(item, JsonObject)]
    texts = [item for item in items if isinstance(item, JsonString)]
    said: list[ast.Expr] = []
    if sum(len(text.value) for text in texts) <= limits.WORDED_CONDITIONS:
        said = [condition for text in texts if (condition := _in_words(text, namespace, shape)) is not None]
    example = 'an object such as {"meta.year": {">=": 2020}}'
    if said and len(said) == len(items):
        example = _as_object(said, namespace, shape) or example
    elif len(objects) > 1:
        example = "one object with all the conditions"
    shape.wrong_type(value, what, "an object", example)
    found = [condition for item in objects for condition in lower_conditions(item, what, shape, namespace)]
    return [*found, *said, ast.Invalid(value.span)]


def _in_words(text: JsonString, namespace: str | None, shape: Shape) -> ast.Expr | None:
    """The condition that a text says: a filter's name, or a formula. None where it says something else, or nothing."""
    bare = text.value.lstrip("$")
    if shape.spelled.get(bare) == f"${bare}":
        return ast.FilterName(text.span, bare)
    formula = parse_formula(text, Problems())
    found = _with_namespaces(formula, namespace, shape) if formula is not None else None
    return found if isinstance(found, ast.Comparison | ast.Logical | ast.Not | ast.FilterName) else None


def _with_namespaces(node: ast.Expr, namespace: str | None, shape: Shape) -> ast.Expr:
    """The condition with the namespaces that it leaves out: told with the whole, so not told as well.

    Only known names get one: another may be a text without quotes.
    """
    match node:
        case ast.Logical(_, _, operands):
            return replace(node, operands=tuple([_with_namespaces(part, namespace, shape) for part in operands]))
        case ast.Not(_, operand):
            return replace(node, operand=_with_namespaces(operand, namespace, shape))
        case ast.Comparison(_, first, _, rest):
            others = tuple([_with_namespaces(part, namespace, shape) for part in rest])
            first = _with_namespaces(first, namespace, shape)
            if namespace is not None and isinstance(first, ast.Name) and "." not in first.text:
                first = ast.Name(first.span, f"{namespace}.{first.text}", implied=True)
            return replace(node, first=first, rest=others)
        case ast.Unary(_, _, operand):
            return replace(node, operand=_with_namespaces(operand, namespace, shape))
        case ast.Binary(_, _, left, right):
            left = _with_namespaces(left, namespace, shape)
            return replace(node, left=left, right=_with_namespaces(right, namespace, shape))
        case ast.Call(_, _, arguments):
            return replace(node, arguments=tuple([_with_namespaces(part, namespace, shape) for part in arguments]))
        case ast.Name(span, text) if text in shape.spelled:
            spelled = shape.spelled[text]
            if namespace is not None and not spelled.startswith("$"):
                return ast.Name(span, f"{namespace}.{text}", implied=True)
            return _spelled(spelled, span)
    return node


def _as_object(conditions: list[ast.Expr], namespace: str | None, shape: Shape) -> str | None:
    """What to write for conditions that stand in texts; None where an example says more."""
    whole = all_of(conditions)
    entries = entries_of(whole, shape.flags) if whole is not None else None
    if entries is None:
        has_or = any(isinstance(part, ast.Logical) for part in ast.conjuncts(whole))
        instead = 'an object, all of whose conditions must hold; `or` goes into a `sum`, as "expr": "int(… or …)"'
        return instead if has_or else None
    prefix = f"{namespace}." if namespace is not None else ""
    if not all(key.startswith(prefix) for key in entries):
        return None
    written = json.dumps({key.removeprefix(prefix): asked for key, asked in entries.items()}, ensure_ascii=False)
    return written if len(written) <= _SHOWN else None


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
    items = member.value.items[: limits.CONDITIONS] if isinstance(member.value, JsonArray) else (member.value,)
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
    twice = _TWO_SPACES.fullmatch(text)
    if twice:
        shape.problems.add("FS204", key.span, f"`{text}` has two namespaces", Help(f"write `{twice[1]}`", twice[1]))
        return ast.Name(key.inside(*twice.span(1)), twice[1])
    if "." in text:
        return ast.Name(key.span, text)
    if text in shape.steps:
        message = f"`{text}` is a step, with one value for all reviews: no review can be tested by it"
        shape.problems.add(
            "FS205", key.span, message, "test it in the rules of a `case`, or in the formula of an `expr`"
        )
        return ast.Invalid(key.span)
    close = nearest(text, shape.spelled)
    help = f"write `extraction.{text}`, `meta.{text}`, `context.{text}` or `${text}`"
    if close is not None:
        help = meant(shape.spelled[close], certain=is_slip(text, close, shape.spelled))
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
        operator = member.key.value
        order = operator in _ORDER
        if operator in OPERATORS:
            operand = _listed(member.value, shape) if operator == "in" else _operand(member.value, shape, order=order)
            tests.append(ast.Comparison(subject.span, subject, (operator,), (operand,)))
        else:
            tests += _other_test(subject, member, shape)
    return tests


def _other_test(subject: ast.Name | ast.Invalid, member: Member, shape: Shape) -> list[ast.Expr]:
    """Tell of an operator that conditions do not have, and read what it surely means."""
    operator, value = member.key.value.strip().lower(), member.value
    ends = _ends(value) if operator == "between" else None
    help = _INSTEAD.get(operator) or did_you_mean(member.key.value, OPERATORS, what="operators")
    if ends is not None:
        help = f'write {{">=": {ends[0].value}, "<=": {ends[1].value}}}'
    shape.problems.add("FS505", member.key.span, f"`{member.key.value}` is no operator of conditions", help)
    if ends is not None:
        low, high = (_operand(end, shape) for end in ends)
        return [ast.Comparison(subject.span, subject, (sign,), (end,)) for sign, end in ((">=", low), ("<=", high))]
    meant_operator = _MEANT.get(operator) or (help.replacement if isinstance(help, Help) else None)
    if meant_operator is None:
        return [_unsaid(subject, value.span)]
    operand = _listed(value, shape) if meant_operator in _LISTED else _operand(value, shape)
    return [ast.Comparison(subject.span, subject, (meant_operator,), (operand,))]


def _ends(value: JsonValue) -> tuple[JsonNumber, JsonNumber] | None:
    """The two numbers of a list of two."""
    numbers = [item for item in value.items if isinstance(item, JsonNumber)] if isinstance(value, JsonArray) else []
    return (numbers[0], numbers[1]) if isinstance(value, JsonArray) and len(value.items) == len(numbers) == 2 else None


def _unsaid(subject: ast.Name | ast.Invalid, span: Span) -> ast.Expr:
    """The test of a field of which it is not known what is asked."""
    return ast.Comparison(subject.span, subject, ("==",), (ast.Invalid(span),))


def _misplaced_text(subject: str, value: JsonString, shape: Shape) -> tuple[str, str] | None:
    """What is wrong with a text that says more than a value, and what to write; None for a plain value."""
    operator = OPERATOR_IN_TEXT.fullmatch(value.value)
    if operator:
        operand = _plain_value(operator[2])
        help = f"write {operand}" if operator[1] == "==" else f'write {{"{operator[1]}": {operand}}}'
        return f"the operator `{operator[1]}` stands in a text", help
    if value.value in shape.spelled.values() and "." in value.value:
        help = f'compare them in a formula: "expr": "int({subject} == {value.value})"'
        return "a condition compares with a value, not with another field", help
    return None


def _plain_value(text: str) -> str:
    """What a formula's text says as one value, in JSON."""
    text = text.strip()
    if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?|true|false|null", text):
        return text
    return json.dumps(text.strip("'\""), ensure_ascii=False)


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


def _operand(value: JsonValue, shape: Shape, *, order: bool = False) -> ast.Expr:
    """A literal, or `param.NAME` for the value of a parameter; `order` where only a number has a meaning."""
    if order and isinstance(value, JsonString) and value.value in shape.parameters:
        named = f"param.{value.value}"
        shape.problems.add("FS301", value.span, f"`{value.value}` is a text here", Help(f"write `{named}`", named))
        return ast.Name(value.span, named)
    if order and isinstance(value, JsonString) and value.value in shape.steps:
        help = f"compare them in a formula, such as the `expr` of a `sum`: `int(meta.stars > {value.value})`"
        shape.problems.add("FS301", value.span, "a condition compares with a value, not with a step", help)
        return ast.Invalid(value.span)
    if isinstance(value, JsonString) and _PARAMETER.fullmatch(value.value):
        return ast.Name(value.span, value.value)
    if isinstance(value, JsonString) and "." in value.value and value.value in shape.spelled.values():
        help = "compare them in a formula, or make the value a parameter: `param.NAME`"
        shape.problems.add("FS505", value.span, "a condition compares with a value, not with another field", help)
        return ast.Invalid(value.span)
    return shape.literal(value, "the value of a condition") or ast.Invalid(value.span)
