"""Condition objects, such as `{"extraction.severity": {"in": ["mild"]}, "$IS_RECENT": true}`, as expressions.

Source: the specification's sections on filters and filter operators.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Diagnostic, Help, Problems, Suggestion
from formulaseed.diagnostics.suggestions import closest, did_you_mean, suggest_any
from formulaseed.language import ast
from formulaseed.language.operators import MIRRORED, NEGATED
from formulaseed.language.parser import parse_continuation, parse_formula
from formulaseed.language.printer import expression_text, value_text
from formulaseed.language.types import BOOLEAN, Type
from formulaseed.seed.read.shape import Shape, short_text
from formulaseed.seed.surface import mapped
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonObject, JsonString, JsonValue, Member, Plain
from formulaseed.source.text import Span, value_node

OPERATORS = {
    "in": "The value is one of these.",
    ">=": "The value is at least this.",
    ">": "The value is above this.",
    "<=": "The value is at most this.",
    "<": "The value is below this.",
    "!=": "The value is another one.",
}
"""The operators of conditions, with what they mean."""
_NOT_IN = ("not in", "not_in", "notin", "nin", "$nin", "!in")
_CONTAINS = ("contains", "includes", "like", "$regex")
_FOREIGN_OPERATORS: dict[str, Help] = {
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
"""Operators of other formats, in small letters, with what to write instead."""
_JUNCTIONS = ("and", "all", "all_of", "allof", "or", "any", "any_of", "anyof", "not", "nor")
"""The keys, also with `$`, by which other formats join conditions."""
_SIGNS = {"=>": ">=", "≥": ">=", "=<": "<=", "≤": "<=", "<>": "!=", "≠": "!=", "=": "=="}
_ORDER = (">=", ">", "<=", "<")
_IN_KEY = re.compile(r"([$\w.]+)\s*(>=|<=|!=|>|<|==)")
_IN_STRING = re.compile(r"\s*(>=|=>|≥|<=|=<|≤|!=|<>|≠|==|=|>|<)\s*(\S.*)")
_NO_STRING = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?|true|false|null")
_PARAMETER = re.compile(r"param\.[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = re.compile(rf"{_NO_STRING.pattern}|{_PARAMETER.pattern}|'[^']*'|\"[^\"]*\"")
Object = dict[str, Plain]
Test = tuple[str, Plain]
"""One entry of a condition object: a field or filter, and its value or operators."""
_SPACES = ("extraction.", "meta.", "context.")
_SHOWN = 200
"""Help that would show more characters than this gives an example."""


@dataclass(frozen=True)
class DeclaredNames:
    """What the names of a seed's conditions may be. `types` are those of fields and parameters, with their namespaces."""

    types: Mapping[str, Type] = field(default_factory=dict)
    filters: Collection[str] = ()
    steps: Collection[str] = ()
    strings: Mapping[str, Collection[str]] = field(default_factory=dict)
    """For each step the strings that it may choose among."""

    @cached_property
    def spelled(self) -> dict[str, tuple[str, ...]]:
        """For each bare name all that it may be: fields and parameters with their namespaces, a filter with its sign."""
        spelled: dict[str, tuple[str, ...]] = {}
        for full in (*self.types, *(f"${name}" for name in self.filters)):
            bare = full.rpartition(".")[2].removeprefix("$")
            spelled[bare] = (*spelled.get(bare, ()), full)
        return spelled

    def testable(self, bare: str) -> list[str]:
        """Return what a bare name may be that conditions test: a field or a filter."""
        return [full for full in self.spelled.get(bare, ()) if not full.startswith("param.")]

    def formula(self, node: ast.Expr | None) -> str:
        """Return an expression as a formula with full names; empty if it has a name that is not known."""
        whole = _with_full_names(node, self, None) if node is not None else None
        names = [each.text for each in ast.walk(whole) if isinstance(each, ast.Name)]
        is_known = all(name in self.types or name in self.steps for name in names)
        return expression_text(whole) if whole is not None and is_known else ""


def lower_conditions(
    value: JsonValue, what: str, names: DeclaredNames, shape: Shape, namespace: str | None = None
) -> list[ast.Expr] | None:
    """Return the conditions of an object, all of which must hold; None for any other value, which is reported.

    With a `namespace` the keys are bare field names of it, else they carry their prefix.
    """
    if not isinstance(value, JsonObject):
        shape.wrong_type(value, what, "an object", _as_object(value, names, namespace) or catalogue.CONDITION_OBJECT)
        return None
    if len(value.members) > limits.CONDITIONS:
        shape.too_many(value.span, what, len(value.members), limits.CONDITIONS)
        return None
    reader = _Reader(names, shape, namespace)
    return [condition for member in value.members for condition in reader.entry(member)]


@value_node
class _Reader:
    """Reads the entries of one condition object. What is malformed is reported, and its condition is invalid."""

    names: DeclaredNames
    shape: Shape
    namespace: str | None

    def entry(self, member: Member) -> list[ast.Expr]:
        key, value = member.key, member.value
        joined = _IN_KEY.fullmatch(key.value) if self.namespace is None else None
        if joined:
            return [self._report(catalogue.operator_in_key(key.span, joined[1], joined[2]))]
        if self._is_junction(key.value):
            return [self._report(catalogue.junction(key.span, key.value))]
        subject = self._subject(key)
        if isinstance(subject, ast.FilterName):
            return [self._filter_use(subject, value)]
        return self._field_tests(subject, value) if isinstance(subject, ast.Name) else [subject]

    def _report(self, found: Diagnostic) -> ast.Invalid:
        self.shape.problems.report(found)
        return ast.Invalid(found.span)

    def _is_junction(self, key: str) -> bool:
        """Return whether a key joins conditions: no field or filter of that name is declared."""
        full = key if self.namespace is None else f"{self.namespace}.{key}"
        is_declared = full in self.names.types or key in self.names.spelled.get(key.removeprefix("$"), ())
        return key.lower().removeprefix("$") in _JUNCTIONS and not is_declared

    def _subject(self, key: JsonString) -> ast.Name | ast.FilterName | ast.Invalid:
        text, names = key.value, self.names
        if self.namespace is not None:
            bare = text.removeprefix(f"{self.namespace}.")
            if bare != text:
                self._report(catalogue.needless_prefix(key.span, self.namespace, bare))
            return ast.Name(key.span, f"{self.namespace}.{bare}", implied=True)
        if text.startswith("$"):
            return ast.FilterName(key.span, text[1:])
        if "." in text:
            return ast.Name(key.span, text)
        found = names.testable(text)
        if text in names.steps and not found:
            return self._report(catalogue.step_in_condition(key.span, text))
        is_certain = bool(found) and text not in names.steps and f"param.{text}" not in names.types
        if not found:
            close = closest(text, [name for name in names.spelled if names.testable(name)])
            found = names.testable(close) if close is not None else []
        self._report(catalogue.no_namespace(key.span, text, suggest_any(found, certain=is_certain) if found else None))
        return _full_name(found[0], key.span) if len(found) == 1 else ast.Invalid(key.span)

    def _filter_use(self, subject: ast.FilterName, value: JsonValue) -> ast.Expr:
        if isinstance(value, JsonLiteral) and value.value is not None:
            return subject if value.value else ast.Not(subject.span, subject)
        if subject.text not in self.names.filters:
            return subject  # reported where names are looked up: it is no filter
        return self._report(catalogue.filter_not_tested(value.span, subject.text))

    def _field_tests(self, subject: ast.Name, value: JsonValue) -> list[ast.Expr]:
        if isinstance(value, JsonArray):
            return [self._report(catalogue.tested_with_list(value.span, subject.text))]
        if not isinstance(value, JsonObject):
            return [self._compared(subject, "==", value)]
        if not value.members:
            return [self._report(catalogue.empty_test(value.span, subject.text))]
        return [self._operator(subject, member) for member in value.members]

    def _operator(self, subject: ast.Name, member: Member) -> ast.Expr:
        operator = member.key.value
        if operator in OPERATORS:
            return self._compared(subject, operator, member.value)
        help = _foreign_operator_help(subject.text, operator, member.value)
        return self._report(catalogue.unknown_operator(member.key.span, operator, help))

    def _compared(self, subject: ast.Name, operator: str, value: JsonValue) -> ast.Expr:
        right = self._list(subject, value) if operator == "in" else self._operand(subject, operator, value)
        return ast.Comparison(subject.span, subject, (operator,), (right,))

    def _list(self, subject: ast.Name, value: JsonValue) -> ast.Expr:
        if not isinstance(value, JsonArray):
            example = f'["{value.value}"]' if isinstance(value, JsonString) else ""
            self.shape.wrong_type(value, "`in`", "a list", example)
            return ast.Invalid(value.span)
        if not value.items:
            return self._report(catalogue.empty_list(value.span))
        items = self.shape.list(value, "`in`", limits.LIST_ITEMS)
        found = tuple([self._operand(subject, "in", item) for item in items])
        return ast.List(value.span, found) if found else ast.Invalid(value.span)

    def _operand(self, subject: ast.Name, operator: str, value: JsonValue) -> ast.Expr:
        """Return a literal, or `param.NAME`; report a string that is an operator, another name or a formula."""
        ty = self.names.types.get(subject.text)
        takes_numbers = ty.is_numeric if ty is not None else operator in _ORDER
        if not isinstance(value, JsonString) or (ty is not None and value.value in (ty.values or ())):
            return self.shape.literal(value, "the value of a condition") or ast.Invalid(value.span)
        text = value.value
        if _PARAMETER.fullmatch(text):
            return ast.Name(value.span, text)
        if takes_numbers and f"param.{text}" in self.names.types:
            is_safe = text not in self.names.steps and self.names.spelled[text] == (f"param.{text}",)
            self._report(catalogue.bare_parameter(value.span, text, is_safe))
            return ast.Name(value.span, f"param.{text}")
        inside = _IN_STRING.fullmatch(text) if operator == "==" else None
        if inside:
            sign, operand = _SIGNS.get(inside[1], inside[1]), inside[2].strip()
            if sign not in _ORDER or ty is None or ty.is_numeric:
                formula = self.names.formula(parse_continuation(value, subject, Problems()))
                plain = ""
                if _PLAIN.fullmatch(operand) or (not formula and sign not in _ORDER):
                    is_literal = _NO_STRING.fullmatch(operand)
                    plain = operand if is_literal else json.dumps(operand.strip("'\""), ensure_ascii=False)
                return self._report(catalogue.operator_in_string(value.span, sign, plain, formula))
            if subject.text == "meta.date":
                return self._report(catalogue.ordered_date(value.span))
        node = parse_formula(value, Problems()) if takes_numbers or text in self.names.types else None
        if node is None or isinstance(node, ast.Literal):
            return ast.Literal(value.span, text)
        sign = "==" if operator == "in" else operator
        formula = self.names.formula(ast.Comparison(value.span, subject, (sign,), (node,)))
        if not formula:
            return ast.Literal(value.span, text)
        return self._report(catalogue.no_value(value.span, formula, text in self.names.steps))


def _foreign_operator_help(subject: str, operator: str, value: JsonValue) -> Help:
    word = operator.strip().lower()
    items = value.items if isinstance(value, JsonArray) else (value,)
    literals = [value_text(item.value) for item in items if not isinstance(item, JsonObject | JsonArray)]
    if word in _NOT_IN and len(items) == 1:
        return f'write {{"!=": {short_text(items[0]) or "…"}}}'
    if word in _NOT_IN:
        return catalogue.as_filter(f"{subject} not in [{', '.join(literals)}]")
    if word in _CONTAINS:
        return catalogue.as_filter(" or ".join(f"{literal} in {subject}" for literal in literals))
    if word == "between" and len(literals) == 2:
        return f'write {{">=": {short_text(items[0])}, "<=": {short_text(items[1])}}}'
    return _FOREIGN_OPERATORS.get(word) or did_you_mean(operator, OPERATORS, what="operators")


def _as_object(value: JsonValue, names: DeclaredNames, namespace: str | None) -> str:
    """Return the object to write for the condition in a string; empty if an example says more."""
    if not isinstance(value, JsonString) or len(value.value) > limits.WORDED_CONDITIONS:
        return ""
    bare = value.value.lstrip("$")
    formula = ast.FilterName(value.span, bare) if bare in names.filters else parse_formula(value, Problems())
    condition = _with_full_names(formula, names, namespace) if formula is not None else None
    if not isinstance(condition, ast.Comparison | ast.Logical | ast.Not | ast.FilterName):
        return ""
    tests = as_tests(condition, {name for name, ty in names.types.items() if ty.base is BOOLEAN.base})
    entries: Object = {}
    prefix = f"{namespace}." if namespace is not None else ""
    if tests is not None and all(key.startswith(prefix) and merge(entries, (key, test)) for key, test in tests):
        written = json.dumps({key.removeprefix(prefix): asked for key, asked in entries.items()}, ensure_ascii=False)
        return written if len(written) <= _SHOWN else ""
    is_alternative = any(isinstance(part, ast.Logical) for part in ast.conjuncts(condition))
    return catalogue.object_or_filter(value.value) if is_alternative else ""


def _with_full_names(node: ast.Expr, names: DeclaredNames, namespace: str | None) -> ast.Expr:
    """Return an expression with the namespaces and signs that its names leave out, if there is only one reading."""
    if isinstance(node, ast.Name):
        spelled = names.spelled.get(node.text, ())
        own = [full for full in spelled if full == f"{namespace}.{node.text}"] or spelled
        return _full_name(own[0], node.span) if len(own) == 1 else node
    return mapped(node, _with_full_names, names, namespace)


def _full_name(text: str, span: Span) -> ast.Name | ast.FilterName:
    return ast.FilterName(span, text[1:]) if text.startswith("$") else ast.Name(span, text)


# --- the way back: what an object can say, as its entries


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
