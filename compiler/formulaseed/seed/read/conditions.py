"""Reads condition objects, such as `{"extraction.severity": {"in": ["mild"]}, "$IS_RECENT": true}`, as expressions.

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
from formulaseed.diagnostics.suggestions import did_you_mean, find_closest, suggest_any
from formulaseed.language import ast
from formulaseed.language.types import Type
from formulaseed.seed.read.shape import Shape
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonObject, JsonString, JsonValue, Member
from formulaseed.source.text import value_node

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
        ("not in", "not_in", "notin", "nin", "$nin", "!in"), catalogue.help_with_filter("meta.year not in [2020, 2021]")
    ),
    **dict.fromkeys(
        ("contains", "includes", "like", "$regex"), catalogue.help_with_filter("'Thai' in context.categories")
    ),
}
"""Operators of other formats, in lower case, with the help of each."""
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
    """The names that conditions of a seed may use. `types` has fields and parameters by their full names."""

    types: Mapping[str, Type] = field(default_factory=dict)
    filters: Collection[str] = ()
    steps: Collection[str] = ()
    strings: Mapping[str, Collection[str]] = field(default_factory=dict)
    """For each step the strings that it may choose among."""

    @cached_property
    def full_names(self) -> dict[str, tuple[str, ...]]:
        """For each bare name all full names that end with it: a field or parameter has a namespace, a filter its sign."""
        full_names: dict[str, tuple[str, ...]] = {}
        for full_name in (*self.types, *(f"${name}" for name in self.filters)):
            bare = full_name.rpartition(".")[2].removeprefix("$")
            full_names[bare] = (*full_names.get(bare, ()), full_name)
        return full_names

    def find_testable(self, bare: str) -> list[str]:
        """Return the full names of the fields and filters with this bare name; parameters are left out."""
        return [name for name in self.full_names.get(bare, ()) if not name.startswith("param.")]


def lower_conditions(
    value: JsonValue, title: str, names: DeclaredNames, shape: Shape, namespace: str | None = None
) -> list[ast.Expr] | None:
    """Return the conditions of an object, all of which must hold; None, with the problem reported, for a wrong value.

    That is anything but an object, or an object with too many entries. A wrong entry is reported, and becomes
    `ast.Invalid` in the list. With a `namespace`, keys are bare names of its fields; else they are full names.
    """
    if not isinstance(value, JsonObject):
        shape.report_wrong_type(value, title, "an object", catalogue.CONDITION_OBJECT)
        return None
    if len(value.members) > limits.CONDITIONS:
        shape.report_too_many(value.span, title, len(value.members), limits.CONDITIONS)
        return None
    reader = _ConditionReader(names, shape, namespace)
    return [condition for member in value.members for condition in reader.read_entry(member)]


@value_node
class _ConditionReader:
    """Reads the entries of one condition object. A malformed entry is reported once, as an invalid condition."""

    names: DeclaredNames
    shape: Shape
    namespace: str | None

    def read_entry(self, member: Member) -> list[ast.Expr]:
        """Return the conditions of an entry, one for each operator; one `ast.Invalid`, reported, if it is wrong."""
        key = member.key
        value = member.value
        match = _IN_KEY.fullmatch(key.value) if self.namespace is None else None
        if match:
            return [self._report(catalogue.operator_in_key(key.span, match[1], match[2]))]
        if self._is_junction(key.value):
            return [self._report(catalogue.junction(key.span, key.value))]
        subject = self._read_subject(key)
        if isinstance(subject, ast.FilterName):
            return [self._read_filter_use(subject, value)]
        if isinstance(subject, ast.Name):
            return self._read_tests(subject, value)
        return [subject]

    def _report(self, diagnostic: Diagnostic) -> ast.Invalid:
        """Report a problem, and return an invalid expression at its place."""
        self.shape.problems.report(diagnostic)
        return ast.Invalid(diagnostic.span)

    def _is_junction(self, key: str) -> bool:
        """Return True if a key such as `or` or `$and` joins conditions, and is no declared field or filter."""
        full_name = key if self.namespace is None else f"{self.namespace}.{key}"
        is_declared = full_name in self.names.types or key in self.names.full_names.get(key.removeprefix("$"), ())
        return key.lower().removeprefix("$") in _JUNCTIONS and not is_declared

    def _read_subject(self, key: JsonString) -> ast.Name | ast.FilterName | ast.Invalid:
        """Return the field or filter that a key names; `ast.Invalid`, with the problem reported, if neither is clear.

        In a `namespace` the key is a bare name, and a needless prefix is reported and dropped. Otherwise `$` begins a
        filter, and a bare name is reported. Whether a full name exists is not checked.
        """
        text = key.value
        if self.namespace is not None:
            bare = text.removeprefix(f"{self.namespace}.")
            if bare != text:
                self._report(catalogue.needless_prefix(key.span, self.namespace, bare))
            return ast.Name(key.span, f"{self.namespace}.{bare}", implied=True)
        if text.startswith("$"):
            return ast.FilterName(key.span, text[1:])
        if "." in text:
            return ast.Name(key.span, text)
        return self._read_bare_subject(key)

    def _read_bare_subject(self, key: JsonString) -> ast.Name | ast.FilterName | ast.Invalid:
        """Report a bare name; return the one field or filter that it can only mean, else an invalid expression.

        A name that only resembles a known one is reported with a suggestion, and is invalid.
        """
        text = key.value
        names = self.names
        candidates = names.find_testable(text)
        if text in names.steps and not candidates:
            return self._report(catalogue.step_in_condition(key.span, text))
        is_certain = bool(candidates) and text not in names.steps and f"param.{text}" not in names.types
        if not candidates:
            close = find_closest(text, [name for name in names.full_names if names.find_testable(name)])
            candidates = names.find_testable(close) if close is not None else []
        help = suggest_any(candidates, certain=is_certain) if candidates else None
        invalid = self._report(catalogue.no_namespace(key.span, text, help))
        if not is_certain or len(candidates) > 1:
            return invalid
        name = candidates[0]
        return ast.FilterName(key.span, name[1:]) if name.startswith("$") else ast.Name(key.span, name)

    def _read_filter_use(self, subject: ast.FilterName, value: JsonValue) -> ast.Expr:
        """Return the filter for true, and its negation for false. Reports any other value, and returns `ast.Invalid`.

        If no such filter is declared, the filter is returned with any other value, and nothing is reported.
        """
        if isinstance(value, JsonLiteral) and value.value is not None:
            return subject if value.value else ast.Not(subject.span, subject)
        if subject.text not in self.names.filters:
            return subject  # that it is no filter is reported when names are looked up
        return self._report(catalogue.filter_not_tested(value.span, subject.text))

    def _read_tests(self, subject: ast.Name, value: JsonValue) -> list[ast.Expr]:
        """Return the comparisons of a field: equality with a value, or one for each operator of an object.

        Reports a list and an empty object, and returns one `ast.Invalid` for it.
        """
        if isinstance(value, JsonArray):
            return [self._report(catalogue.tested_with_list(value.span, subject.text))]
        if not isinstance(value, JsonObject):
            return [self._read_comparison(subject, "==", value)]
        if not value.members:
            return [self._report(catalogue.empty_test(value.span, subject.text))]
        return [self._read_operator(subject, member) for member in value.members]

    def _read_operator(self, subject: ast.Name, member: Member) -> ast.Expr:
        """Return the comparison of one operator with its value; `ast.Invalid`, reported, if it is unknown."""
        operator = member.key.value
        if operator in OPERATORS:
            return self._read_comparison(subject, operator, member.value)
        help = _FOREIGN_OPERATORS.get(operator.strip().lower()) or did_you_mean(operator, OPERATORS, noun="operators")
        return self._report(catalogue.unknown_operator(member.key.span, operator, help))

    def _read_comparison(self, subject: ast.Name, operator: str, value: JsonValue) -> ast.Expr:
        """Return the comparison of a field with a value. A wrong value is reported, and is `ast.Invalid` in it."""
        operand = self._read_list(subject, value) if operator == "in" else self._read_operand(subject, operator, value)
        return ast.Comparison(subject.span, subject, (operator,), (operand,))

    def _read_list(self, subject: ast.Name, value: JsonValue) -> ast.Expr:
        """Return the list of an `in`; `ast.Invalid`, reported, if it is no list, empty or too long."""
        if not isinstance(value, JsonArray):
            example = f'["{value.value}"]' if isinstance(value, JsonString) else ""
            self.shape.report_wrong_type(value, "`in`", "a list", example)
            return ast.Invalid(value.span)
        if not value.items:
            return self._report(catalogue.empty_list(value.span))
        items = self.shape.read_list(value, "`in`", limits.LIST_ITEMS)
        operands = tuple([self._read_operand(subject, "in", item) for item in items])
        return ast.List(value.span, operands) if operands else ast.Invalid(value.span)

    def _read_operand(self, subject: ast.Name, operator: str, value: JsonValue) -> ast.Expr:
        """Return a literal, or `param.NAME` as a name; `ast.Invalid`, with the problem reported, for any other value.

        A declared value of an enum is a literal, even if it looks like a parameter or a formula.
        """
        ty = self.names.types.get(subject.text)
        is_declared = ty is not None and isinstance(value, JsonString) and value.value in (ty.values or ())
        if not isinstance(value, JsonString) or is_declared:
            return self.shape.read_literal(value, "the value of a condition") or ast.Invalid(value.span)
        if _PARAMETER.fullmatch(value.value):
            return ast.Name(value.span, value.value)
        return self._read_string(subject, operator, value, ty)

    def _read_string(self, subject: ast.Name, operator: str, value: JsonString, ty: Type | None) -> ast.Expr:
        """Return a string as a literal; `ast.Invalid`, with a report, for an operator, another name or a formula.

        Where numbers are compared, the name of a parameter without its namespace is reported, and read as the
        parameter. `ty` is the field's type, None if it is unknown.
        """
        text = value.value
        names = self.names
        takes_numbers = ty.is_numeric if ty is not None else operator in _ORDER
        if takes_numbers and f"param.{text}" in names.types:
            is_safe = text not in names.steps and names.full_names[text] == (f"param.{text}",)
            self._report(catalogue.bare_parameter(value.span, text, is_safe))
            return ast.Name(value.span, f"param.{text}")
        joined = _IN_STRING.fullmatch(text) if operator == "==" else None
        diagnostic = _diagnose_operator_in_string(subject, value, joined, ty) if joined else None
        if diagnostic is not None:
            return self._report(diagnostic)
        is_step = takes_numbers and text in names.steps
        if is_step or text in names.types or (takes_numbers and _NAMESPACED.search(text)):
            return self._report(catalogue.no_value(value.span, is_step))
        return ast.Literal(value.span, text)


def _diagnose_operator_in_string(
    subject: ast.Name, value: JsonString, match: re.Match[str], ty: Type | None
) -> Diagnostic | None:
    """Return the problem of a string such as `>= 3`; None if it may be a value of a string field, as `<15 min`.

    `match` has the operator and the rest of the string; `ty` is the field's type, None if it is unknown. Order of
    `meta.date` is a problem of its own.
    """
    sign = _SIGNS.get(match[1], match[1])
    if sign not in _ORDER or ty is None or ty.is_numeric:
        return catalogue.operator_in_string(value.span, sign, match[2].strip())
    if subject.text == "meta.date":
        return catalogue.ordered_date(value.span)
    return None
