"""Condition objects, such as `{"extraction.severity": {"in": ["mild"]}, "$IS_RECENT": true}`, as expressions.

Source: the specification's sections on filters and filter operators.
"""

from __future__ import annotations

import re
from dataclasses import replace

from formulaseed import limits
from formulaseed.diagnostics.model import Help, Suggestion
from formulaseed.diagnostics.suggestions import closest, did_you_mean, suggest_any
from formulaseed.language import ast
from formulaseed.seed.read.operands import Test, listed_of, operand_of, operator_in_text
from formulaseed.seed.read.shape import Shape, short_text
from formulaseed.seed.read.worded import all_of, as_filter, as_object, condition_of, negated, shown, spelled_name
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonNumber, JsonObject, JsonString, JsonValue, Member
from formulaseed.source.text import Span

_IN_KEY = re.compile(r"([$\w.]+)\s*(>=|<=|!=|>|<|==)")
OPERATORS = ("in", ">=", ">", "<=", "<", "!=")
_LISTED = ("in", "not in")
_NOT_IN = ("not in", "not_in", "notin", "nin", "$nin", "!in")
_INSTEAD: dict[str, Help] = {
    **dict.fromkeys(("==", "=", "eq", "equals", "is"), "write the value alone, without an operator"),
    **dict.fromkeys(("gte", "ge", "$gte", "≥", "=>"), Suggestion("write `>=`", ">=")),
    **dict.fromkeys(("lte", "le", "$lte", "≤", "=<"), Suggestion("write `<=`", "<=")),
    **dict.fromkeys(("ne", "neq", "$ne", "<>", "≠"), Suggestion("write `!=`", "!=")),
    **dict.fromkeys(("gt", "$gt"), Suggestion("write `>`", ">")),
    **dict.fromkeys(("lt", "$lt"), Suggestion("write `<`", "<")),
    "$in": Suggestion("write `in`", "in"),
    "min": Suggestion("write `>=`", ">=", "unsafe"),
    "max": Suggestion("write `<=`", "<=", "unsafe"),
    "not": Suggestion("write `!=`", "!=", "unsafe"),
    "between": 'write {">=": 2020, "<=": 2023}',
}

_MEANT = {"==": "==", "=": "==", "eq": "==", "equals": "==", "is": "==", **dict.fromkeys(_NOT_IN, "not in")}
"""Operators that conditions do not have, with those of formulas that they are read as."""
_FORMULA_ONLY = {**dict.fromkeys(_NOT_IN, "not in"), **dict.fromkeys(("contains", "includes", "like", "$regex"), "in")}
"""Operators that only formulas have."""
_TWO_SPACES = re.compile(r"(?:extraction|meta|context)\.((?:extraction|meta|context)\.\w+)")
_JUNCTIONS = {
    **dict.fromkeys(("and", "all", "all_of", "allof", "$and"), "and"),
    **dict.fromkeys(("or", "any", "any_of", "anyof", "$or"), "or"),
    **dict.fromkeys(("not", "$not", "nor", "$nor"), "not"),
}
"""What other formats join conditions with, and how formulas do."""


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
        elif _is_junction(member.key.value, namespace, shape):
            conditions += _junction(member, namespace, shape)
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
        said = [condition for text in texts if (condition := condition_of(text, namespace, shape)) is not None]
    example = 'an object such as {"meta.year": {">=": 2020}}'
    if said and len(said) == len(items):
        example = as_object(said, namespace, shape) or example
    elif len(objects) > 1:
        example = "one object with all the conditions"
    shape.wrong_type(value, what, "an object", example)
    found = [condition for item in objects for condition in lower_conditions(item, what, shape, namespace)]
    return [*found, *said, ast.Invalid(value.span)]


def _operator_in_key(joined: re.Match[str], member: Member, shape: Shape) -> list[ast.Expr]:
    help = f'write "{joined[1]}": {{"{joined[2]}": …}}'
    shape.problems.add("FS505", member.key.span, f"the operator `{joined[2]}` stands in the key", help)
    subject = ast.Name(member.key.inside(*joined.span(1)), joined[1])
    operand = operand_of(member.value, Test(subject, joined[2], shape.types.get(joined[1])), shape)
    return [ast.Comparison(subject.span, subject, (joined[2],), (operand,))]


def _is_junction(key: str, namespace: str | None, shape: Shape) -> bool:
    """Whether a key joins conditions: no field or filter of that name is declared."""
    full = key if namespace is None else f"{namespace}.{key}"
    is_declared = full in shape.types or key in shape.spelled.get(key.removeprefix("$"), ())
    return key.lower() in _JUNCTIONS and not is_declared


def _junction(member: Member, namespace: str | None, shape: Shape) -> list[ast.Expr]:
    """Report `and`, `or` and the like; what they join is read all the same."""
    span, word = member.key.span, _JUNCTIONS[member.key.value.lower()]
    parts = _joined(member.value, word, namespace, shape)
    found = tuple(part for part in parts if part is not None)
    whole = all_of(list(found)) if word == "and" or len(found) < 2 else ast.Logical(span, "or", found)
    if len(found) < len(parts) or whole is None:
        whole = ast.Invalid(span)
    if word == "not":
        whole = negated(whole)
    entries = as_object([whole], namespace, shape) if word == "and" else None
    help = f"all conditions of an object must hold: write {entries or 'them in one object'}"
    if word != "and":
        help = f"{as_filter(whole, shape)}, and use it here"
    shape.problems.add("FS505", span, f"conditions know no `{member.key.value}`", help)
    return [ast.Logical(span, "or", (*found, ast.Invalid(span)))]


def _joined(value: JsonValue, word: str, namespace: str | None, shape: Shape) -> list[ast.Expr | None]:
    """What `and`, `or` or `not` joins: the objects and formulas of a list, or an object's entries; None for anything else."""
    if isinstance(value, JsonObject) and word == "or":
        return [*lower_conditions(value, "a condition", shape, namespace)]
    parts: list[ast.Expr | None] = []
    for item in value.items[: limits.CONDITIONS] if isinstance(value, JsonArray) else (value,):
        if isinstance(item, JsonObject):
            parts.append(all_of(lower_conditions(item, "a condition", shape, namespace)))
        else:
            is_short = isinstance(item, JsonString) and len(item.value) <= limits.WORDED_CONDITIONS
            parts.append(condition_of(item, namespace, shape) if isinstance(item, JsonString) and is_short else None)
    return parts


def _subject(key: JsonString, namespace: str | None, shape: Shape) -> ast.Name | ast.FilterName | ast.Invalid:
    help: Help
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
        shape.problems.add("FS204", key.span, f"`{text}` has two namespaces", f"write `{twice[1]}`")
        return ast.Name(key.inside(*twice.span(1)), twice[1])
    if "." in text:
        return ast.Name(key.span, text)
    names = shape.spelled.get(text, ())
    if text in shape.steps and not names:
        message = f"`{text}` is a step, with one value for all reviews: no review can be tested by it"
        shape.problems.add(
            "FS205", key.span, message, "test it in the rules of a `case`, or in the formula of an `expr`"
        )
        return ast.Invalid(key.span)
    close = text if names else closest(text, shape.spelled)
    help = f"write `extraction.{text}`, `meta.{text}`, `context.{text}` or `${text}`"
    if close is not None:
        help = suggest_any(shape.spelled[close], certain=bool(names) and text not in {*shape.steps, *shape.parameters})
    shape.problems.add("FS204", key.span, f"`{text}` has no namespace", help)
    is_clear = close is not None and len(shape.spelled[close]) == 1
    return spelled_name(shape.spelled[close][0], key.span) if close is not None and is_clear else ast.Invalid(key.span)


def _filter_use(subject: ast.FilterName, value: JsonValue, shape: Shape) -> list[ast.Expr]:
    if isinstance(value, JsonLiteral) and value.value is not None:
        return [subject if value.value else ast.Not(subject.span, subject)]
    spelled = shape.spelled.get(subject.text, ())
    if spelled and f"${subject.text}" not in spelled:
        message = f"no filter is called `${subject.text}`"
        shape.problems.add("FS201", subject.span, message, suggest_any(spelled))
        return _field_test(ast.Name(subject.span, spelled[0]), value, shape) if len(spelled) == 1 else []
    if closest(subject.text, [bare for bare, texts in shape.spelled.items() if f"${bare}" in texts]) is None:
        return [subject, ast.Invalid(value.span)]  # told where names are looked up: it is no filter
    message = f"the filter `${subject.text}` is tested with true or false"
    shape.problems.add("FS503", value.span, message, "write true, or false for its opposite")
    return [subject, ast.Invalid(value.span)]


def _field_test(subject: ast.Name | ast.Invalid, value: JsonValue, shape: Shape) -> list[ast.Expr]:
    name = shown(subject)
    test = Test(subject, "==", shape.types.get(name))
    if isinstance(value, JsonArray):
        help = 'write {"in": […]} for one of several values'
        shape.problems.add("FS503", value.span, f"`{name}` is tested against a list", help)
        return [ast.Comparison(subject.span, subject, ("in",), (listed_of(value, test, shape),))]
    misplaced = operator_in_text(value, test, shape) if isinstance(value, JsonString) else None
    if misplaced is not None:
        shape.problems.add("FS505", value.span, *misplaced)
        return [_unsaid(subject, value.span)]
    if not isinstance(value, JsonObject):
        return [ast.Comparison(subject.span, subject, ("==",), (operand_of(value, test, shape),))]
    if not value.members:
        help = 'write a value, or an operator such as {">=": 2023}'
        shape.problems.add("FS505", value.span, f"nothing is said of `{name}`", help)
        return [_unsaid(subject, value.span)]
    tests: list[ast.Expr] = []
    for member in value.members:
        operator = member.key.value
        if operator in OPERATORS:
            operand = _right_side(member.value, replace(test, operator=operator), shape)
            tests.append(ast.Comparison(subject.span, subject, (operator,), (operand,)))
        else:
            tests += _other_test(subject, test, member, shape)
    return tests


def _right_side(value: JsonValue, test: Test, shape: Shape) -> ast.Expr:
    return listed_of(value, test, shape) if test.operator in _LISTED else operand_of(value, test, shape)


def _other_test(subject: ast.Name | ast.Invalid, test: Test, member: Member, shape: Shape) -> list[ast.Expr]:
    """Tell of an operator that conditions do not have, and read what it surely means."""
    operator, value = member.key.value.strip().lower(), member.value
    ends = _ends(value) if operator == "between" else None
    help = _INSTEAD.get(operator) or did_you_mean(member.key.value, OPERATORS, what="operators")
    if ends is not None:
        help = f'write {{">=": {ends[0].value}, "<=": {ends[1].value}}}'
    if operator in _FORMULA_ONLY:
        help = _in_a_formula(subject, _FORMULA_ONLY[operator], value, shape)
    shape.problems.add("FS505", member.key.span, f"`{member.key.value}` is no operator of conditions", help)
    if ends is not None:
        low, high = (operand_of(end, test, shape) for end in ends)
        return [ast.Comparison(subject.span, subject, (sign,), (end,)) for sign, end in ((">=", low), ("<=", high))]
    meant_operator = _MEANT.get(operator) or (help.replacement if isinstance(help, Suggestion) else None)
    if meant_operator is None:
        return [_unsaid(subject, value.span)]
    operand = _right_side(value, replace(test, operator=meant_operator), shape)
    return [ast.Comparison(subject.span, subject, (meant_operator,), (operand,))]


def _in_a_formula(subject: ast.Name | ast.Invalid, operator: str, value: JsonValue, shape: Shape) -> str:
    """What to write for an operator that only formulas have."""
    single = value.items[0] if isinstance(value, JsonArray) and len(value.items) == 1 else value
    if operator == "not in" and not isinstance(single, JsonArray | JsonObject):
        return f'write {{"!=": {short_text(single) or "…"}}}'
    items = tuple(
        ast.Literal(item.span, item.value)
        for item in (value.items if isinstance(value, JsonArray) else (value,))
        if isinstance(item, JsonString | JsonNumber | JsonLiteral)
    )
    if not items or (isinstance(value, JsonArray) and len(items) < len(value.items)):
        return as_filter(ast.Invalid(value.span), shape)
    if operator == "not in":
        return as_filter(ast.Comparison(value.span, subject, (operator,), (ast.List(value.span, items),)), shape)
    found = tuple([ast.Comparison(value.span, item, ("in",), (subject,)) for item in items])
    return as_filter(found[0] if len(found) == 1 else ast.Logical(value.span, "or", found), shape)


def _ends(value: JsonValue) -> tuple[JsonNumber, JsonNumber] | None:
    """The two numbers of a list of two."""
    numbers = [item for item in value.items if isinstance(item, JsonNumber)] if isinstance(value, JsonArray) else []
    return (numbers[0], numbers[1]) if isinstance(value, JsonArray) and len(value.items) == len(numbers) == 2 else None


def _unsaid(subject: ast.Name | ast.Invalid, span: Span) -> ast.Expr:
    """The test of a field of which it is not known what is asked."""
    return ast.Comparison(subject.span, subject, ("==",), (ast.Invalid(span),))
