"""Expressions as the entries of a condition object: the way back from what `conditions` reads.

In: a condition. Out: the object that says it, as far as objects can: all of their entries must hold.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from formulaseed.language import ast
from formulaseed.language.operators import MIRRORED
from formulaseed.source.json_reader import Plain

Object = dict[str, Plain]
Test = tuple[str, Plain]
"""One entry of a condition object: a field or filter, and what is asked of it."""
_SPACES = ("extraction.", "meta.", "context.")


def entries_of(condition: ast.Expr, flags: Collection[str]) -> Object | None:
    """The object that says the condition; None where it takes more than one object, or none can.

    `flags` are the fields that are true or false.
    """
    merged: Object = {}
    for part in ast.conjuncts(condition):
        for single in ast.conjuncts(pairs(part) if isinstance(part, ast.Comparison) else part):
            test = _entry(single, flags)
            if test is None or not merge(merged, test):
                return None
    return merged


def merge(entries: Object, test: Test) -> bool:
    """Add an entry; False, with nothing done, where its key is asked already in a way that one entry cannot say."""
    key, asked = test
    known = entries.get(key)
    if key not in entries or known == asked:
        entries[key] = asked
    elif isinstance(known, dict) and isinstance(asked, dict) and not known.keys() & asked.keys():
        entries[key] = {**known, **asked}
    else:
        return False
    return True


def _entry(condition: ast.Expr, flags: Collection[str]) -> Test | None:
    """The one entry that says a condition."""
    truth = not isinstance(condition, ast.Not)
    match condition.operand if isinstance(condition, ast.Not) else condition:
        case ast.FilterName(_, text):
            return f"${text}", truth
        case ast.Name(_, text) if text in flags:
            return text, truth
        case ast.Comparison() as single if truth and is_simple(single):
            subject, operator, value = comparison(single)
            if operator == "not in":
                return None
            return subject, value if operator == "==" else {operator: value}
        case ast.Logical(_, "or", operands) if truth:
            return _one_of(operands)
    return None


def _one_of(operands: tuple[ast.Expr, ...]) -> Test | None:
    """Values of one field, any of which will do."""
    found: list[Plain] = []
    subjects: set[str] = set()
    for operand in operands:
        entry = _entry(operand, ()) if isinstance(operand, ast.Comparison) else None
        subject, asked = entry or ("", None)
        values = asked.get("in") if isinstance(asked, dict) else [asked]
        if entry is None or not isinstance(values, list):
            return None
        subjects.add(subject)
        found += values
    return (subjects.pop(), {"in": found}) if len(subjects) == 1 else None


def is_simple(condition: ast.Expr) -> bool:
    """Whether condition objects and filters can say it."""
    stack = [condition]
    while stack:
        part = stack.pop()
        match part:
            case ast.Not(_, operand):
                stack.append(operand)
            case ast.Logical(_, _, operands):
                stack.extend(operands)
            case ast.Name(_, text):
                if not text.startswith(_SPACES):
                    return False
            case ast.Comparison(_, _, operators, _) if len(operators) > 1:
                stack.append(pairs(part))
            case ast.Comparison(_, first, operators, rest):
                if not (_is_test(first, operators[0], rest[0]) or _is_mirrored(part)):
                    return False
            case _:
                return False
    return True


def pairs(chain: ast.Comparison) -> ast.Expr:
    """`a < b < c` as `a < b and b < c`."""
    operands = (chain.first, *chain.rest)
    triples = zip(operands, chain.operators, chain.rest, strict=False)
    each = [ast.Comparison(chain.span, left, (sign,), (right,)) for left, sign, right in triples]
    return ast.Logical(chain.span, "and", tuple(each))


def _is_test(subject: ast.Expr, operator: str, value: ast.Expr) -> bool:
    items = value.items if isinstance(value, ast.List) else (value,)
    is_list = operator in ("in", "not in")
    return (
        isinstance(subject, ast.Name)
        and subject.text.startswith(_SPACES)
        and isinstance(value, ast.List) is is_list
        and all(_is_value(item) for item in items)
    )


def _is_mirrored(comparison: ast.Comparison) -> bool:
    operator = MIRRORED.get(comparison.operators[0])
    return operator is not None and _is_test(comparison.rest[0], operator, comparison.first)


def _is_value(node: ast.Expr) -> bool:
    """A literal or parameter; no text that a condition would take for something else."""
    if isinstance(node, ast.Name):
        return node.text.startswith("param.")
    value = node.value if isinstance(node, ast.Literal) else ...
    if isinstance(value, str):
        return "." not in value and not re.match(r"\s*[<>=!]", value)
    return value is not ...


def comparison(node: ast.Comparison) -> tuple[str, str, Plain]:
    """Subject, operator and value of a simple comparison."""
    subject, operator, value = node.first, node.operators[0], node.rest[0]
    if not _is_test(subject, operator, value):
        subject, operator, value = value, MIRRORED[operator], subject
    assert isinstance(subject, ast.Name)
    if isinstance(value, ast.List):
        return subject.text, operator, [_value(item) for item in value.items]
    return subject.text, operator, _value(value)


def _value(node: ast.Expr) -> Plain:
    assert isinstance(node, ast.Name | ast.Literal)
    return node.text if isinstance(node, ast.Name) else node.value
