"""Conditions as the entries of a JSON object: the way back from what `conditions` reads.

In: a condition. Out: the object that means the same, as far as objects can: all of their entries must hold.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from formulaseed.language import ast
from formulaseed.language.operators import MIRRORED, NEGATED
from formulaseed.source.json_reader import Plain

Object = dict[str, Plain]
Test = tuple[str, Plain]
"""One entry of a condition object: a field or filter, and its value or operators."""
_SPACES = ("extraction.", "meta.", "context.")


def entries_of(condition: ast.Expr, flags: Collection[str]) -> Object | None:
    """Return the object that means the condition; None if it takes several objects, or a formula.

    `flags` are the boolean fields.
    """
    tests = as_tests(condition, flags)
    merged: Object = {}
    return merged if tests is not None and all(merge(merged, test) for test in tests) else None


def merge(entries: Object, test: Test) -> bool:
    """Add an entry; return False, with nothing added, if one entry cannot say both what its key has and this."""
    key, asked = test
    known = entries.get(key)
    if key not in entries or known == asked:
        entries[key] = asked
    elif isinstance(known, dict) and isinstance(asked, dict) and not known.keys() & asked.keys():
        entries[key] = {**known, **asked}
    else:
        return False
    return True


def as_tests(condition: ast.Expr, flags: Collection[str] | None = None, truth: bool = True) -> list[Test] | None:
    """Return entries that all hold exactly if the condition is true, or false; None if only a formula can say it.

    `flags` are the boolean fields; None if every name in place of a condition is one.
    """
    match condition:
        case ast.Not(_, operand):
            return as_tests(operand, flags, not truth)
        case ast.FilterName(_, text):
            return [(f"${text}", truth)]
        case ast.Name(_, text) if flags is None or text in flags:
            return [(text, truth)]
        case ast.Logical(_, operator, operands) if (operator == "and") is truth:
            found = [as_tests(operand, flags, truth) for operand in operands]
            return [test for tests in found for test in tests or ()] if None not in found else None
        case ast.Logical(_, "or", operands):
            return _one_of([as_tests(operand, ()) for operand in operands])
        case ast.Comparison(span, first, operators, rest) if truth and len(operators) > 1:
            triples = zip((first, *rest), operators, rest, strict=False)
            pairs = tuple([ast.Comparison(span, left, (sign,), (right,)) for left, sign, right in triples])
            return as_tests(ast.Logical(span, "and", pairs), flags)
        case ast.Comparison(_, first, (operator,), (second,)):
            return _comparison(first, operator, second, truth) or (
                _comparison(second, MIRRORED[operator], first, truth) if operator in MIRRORED else None
            )
    return None


def _comparison(subject: ast.Expr, operator: str, value: ast.Expr, truth: bool) -> list[Test] | None:
    if not (isinstance(subject, ast.Name) and subject.text.startswith(_SPACES)):
        return None
    operator = operator if truth else NEGATED[operator]
    items = value.items if isinstance(value, ast.List) else (value,)
    if operator == "not in" or isinstance(value, ast.List) is not (operator == "in") or not all(map(_is_value, items)):
        return None
    values = [_value(item) for item in items]
    return [(subject.text, values[0] if operator == "==" else {operator: values if operator == "in" else values[0]})]


def _one_of(found: list[list[Test] | None]) -> list[Test] | None:
    """Return the one entry that lists values of one field, any of which may match."""
    values: list[Plain] = []
    subjects: set[str] = set()
    for tests in found:
        if tests is None or len(tests) != 1:
            return None
        ((subject, asked),) = tests
        listed = asked.get("in") if isinstance(asked, dict) else [asked]
        if not isinstance(listed, list) or subject.startswith("$"):
            return None
        subjects.add(subject)
        values += listed
    return [(subjects.pop(), {"in": values})] if len(subjects) == 1 else None


def _is_value(node: ast.Expr) -> bool:
    """Return whether an object can hold it: a literal or parameter; no string that would be read as something else."""
    if isinstance(node, ast.Name):
        return node.text.startswith("param.")
    if not isinstance(node, ast.Literal):
        return False
    return not isinstance(node.value, str) or ("." not in node.value and not re.match(r"\s*[<>=!]", node.value))


def _value(node: ast.Expr) -> Plain:
    assert isinstance(node, ast.Name | ast.Literal)
    return node.text if isinstance(node, ast.Name) else node.value
