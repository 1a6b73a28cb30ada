"""Condition objects, such as `{"extraction.severity": {"in": ["mild"]}, "$IS_RECENT": true}`, as expressions.

Source: the specification's sections on filters and filter operators.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Diagnostic, Help, Suggestion
from formulaseed.diagnostics.suggestions import closest, did_you_mean, suggest_any
from formulaseed.language import ast
from formulaseed.language.types import Type
from formulaseed.seed.read.shape import Shape
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonObject, JsonString, JsonValue, Member
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
    **dict.fromkeys(
        ("not in", "not_in", "notin", "nin", "$nin", "!in"), catalogue.as_filter("meta.year not in [2020, 2021]")
    ),
    **dict.fromkeys(("contains", "includes", "like", "$regex"), catalogue.as_filter("'Thai' in context.categories")),
}
"""Operators of other formats, in small letters, with what to write instead."""
_JUNCTIONS = ("and", "all", "all_of", "allof", "or", "any", "any_of", "anyof", "not", "nor")
"""The keys, also with `$`, by which other formats join conditions."""
_SIGNS = {"=>": ">=", "≥": ">=", "=<": "<=", "≤": "<=", "<>": "!=", "≠": "!=", "=": "=="}
_ORDER = (">=", ">", "<=", "<")
_IN_KEY = re.compile(r"([$\w.]+)\s*(>=|<=|!=|>|<|==)")
_IN_STRING = re.compile(r"\s*(>=|=>|≥|<=|=<|≤|!=|<>|≠|==|=|>|<)\s*(\S.*)")
_NAMESPACED = re.compile(r"\b(?:extraction|meta|context|param)\.[A-Za-z_]")
_PARAMETER = re.compile(r"param\.[A-Za-z_][A-Za-z0-9_]*")


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


def lower_conditions(
    value: JsonValue, what: str, names: DeclaredNames, shape: Shape, namespace: str | None = None
) -> list[ast.Expr] | None:
    """Return the conditions of an object, all of which must hold; None for any other value, which is reported.

    With a `namespace` the keys are bare field names of it, else they carry their prefix.
    """
    if not isinstance(value, JsonObject):
        shape.wrong_type(value, what, "an object", catalogue.CONDITION_OBJECT)
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
        full_names = names.testable(text)
        if text in names.steps and not full_names:
            return self._report(catalogue.step_in_condition(key.span, text))
        is_certain = bool(full_names) and text not in names.steps and f"param.{text}" not in names.types
        if not full_names:
            close = closest(text, [name for name in names.spelled if names.testable(name)])
            full_names = names.testable(close) if close is not None else []
        help = suggest_any(full_names, certain=is_certain) if full_names else None
        invalid = self._report(catalogue.no_namespace(key.span, text, help))
        return _full_name(full_names[0], key.span) if is_certain and len(full_names) == 1 else invalid

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
        known = _FOREIGN_OPERATORS.get(operator.strip().lower())
        help = known or did_you_mean(operator, OPERATORS, what="operators")
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
            sign = _SIGNS.get(inside[1], inside[1])
            if sign not in _ORDER or ty is None or ty.is_numeric:
                return self._report(catalogue.operator_in_string(value.span, sign, inside[2].strip()))
            if subject.text == "meta.date":
                return self._report(catalogue.ordered_date(value.span))
        is_step = takes_numbers and text in self.names.steps
        if is_step or text in self.names.types or (takes_numbers and _NAMESPACED.search(text)):
            return self._report(catalogue.no_value(value.span, is_step))
        return ast.Literal(value.span, text)


def _full_name(text: str, span: Span) -> ast.Name | ast.FilterName:
    return ast.FilterName(span, text[1:]) if text.startswith("$") else ast.Name(span, text)
