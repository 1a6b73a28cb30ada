"""Condition objects, such as `{"extraction.severity": {"in": ["mild"]}, "$IS_RECENT": true}`, as expressions.

Source: the specification's sections on filters and filter operators.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Diagnostic, Help, Problems, Suggestion
from formulaseed.diagnostics.suggestions import closest, did_you_mean, suggest_any
from formulaseed.language import ast
from formulaseed.language.parser import parse_formula
from formulaseed.language.printer import value_text
from formulaseed.language.types import BOOLEAN, Type
from formulaseed.seed.read.condition_objects import entries_of
from formulaseed.seed.read.shape import Shape, short_text
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonNumber, JsonObject, JsonString, JsonValue, Member
from formulaseed.source.text import Span

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
_TWO_SPACES = re.compile(r"(?:extraction|meta|context)\.((?:extraction|meta|context)\.\w+)")
_NO_STRING = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?|true|false|null")
_PARAMETER = re.compile(r"param\.[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = re.compile(rf"{_NO_STRING.pattern}|{_PARAMETER.pattern}|'[^']*'|\"[^\"]*\"")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_ARITHMETIC = re.compile(r"[\w.\s()+*/%-]+")
_SHOWN = 200
"""Help that would show more characters than this gives an example."""


@dataclass(frozen=True)
class Names:
    """What the names of a seed's conditions may be. `types` are those of the fields, with their namespaces."""

    types: Mapping[str, Type] = field(default_factory=dict)
    filters: Collection[str] = ()
    steps: Collection[str] = ()
    parameters: Collection[str] = ()
    strings: Mapping[str, Collection[str]] = field(default_factory=dict)
    """For each step the strings that it may choose among."""

    @cached_property
    def spelled(self) -> dict[str, tuple[str, ...]]:
        """For each bare name all that it may be: fields with their namespaces, a filter with its sign."""
        spelled: dict[str, tuple[str, ...]] = {}
        for full in (*self.types, *(f"${name}" for name in self.filters)):
            bare = full.rpartition(".")[2].removeprefix("$")
            spelled[bare] = (*spelled.get(bare, ()), full)
        return spelled

    def formula(self, text: str) -> str:
        """Return the formula over known names that a string holds, with the namespaces that it leaves out; else empty."""
        words = set(_WORD.findall(text)) if _ARITHMETIC.fullmatch(text) else set[str]()
        full = {word: self._full_name(word) for word in words}
        return _WORD.sub(lambda word: full[word[0]], text) if full and all(full.values()) else ""

    def _full_name(self, name: str) -> str:
        space, _, rest = name.partition(".")
        if name in self.types or name in self.steps or (space == "param" and rest in self.parameters):
            return name
        if name in self.parameters:
            return f"param.{name}"
        fields = [full for full in self.spelled.get(name, ()) if not full.startswith("$")]
        return fields[0] if len(fields) == 1 else ""


def all_of(conditions: Sequence[ast.Expr]) -> ast.Expr | None:
    """Return the conjunction; None if there is nothing to test."""
    if len(conditions) <= 1:
        return conditions[0] if conditions else None
    return ast.Logical(conditions[0].span, "and", tuple(conditions))


def lower_conditions(
    value: JsonValue, what: str, names: Names, shape: Shape, namespace: str | None = None
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


@dataclass(frozen=True, slots=True)
class _Test:
    """What a value is compared with: a field, of a type if that is known, by an operator."""

    subject: ast.Name
    operator: str
    ty: Type | None

    @property
    def takes_numbers(self) -> bool:
        return self.ty.is_numeric if self.ty is not None else self.operator in _ORDER

    def has_value(self, text: str) -> bool:
        """Return whether the seed declares the string as a value of the field: then it is one, whatever it looks like."""
        return self.ty is not None and text in (self.ty.values or ())


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the entries of one condition object. What is malformed is reported, and its condition is invalid."""

    names: Names
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
        twice = _TWO_SPACES.fullmatch(text)
        if twice:
            self._report(catalogue.two_namespaces(key.span, text, twice[1]))
            return ast.Name(key.inside(*twice.span(1)), twice[1])
        if "." in text:
            return ast.Name(key.span, text)
        spelled = names.spelled.get(text, ())
        if text in names.steps and not spelled:
            return self._report(catalogue.step_in_condition(key.span, text))
        close = text if spelled else closest(text, names.spelled)
        found = names.spelled[close] if close is not None else ()
        is_certain = bool(spelled) and text not in {*names.steps, *names.parameters}
        self._report(catalogue.no_namespace(key.span, text, suggest_any(found, certain=is_certain) if found else None))
        return _full_name(found[0], key.span) if len(found) == 1 else ast.Invalid(key.span)

    def _filter_use(self, subject: ast.FilterName, value: JsonValue) -> ast.Expr:
        if isinstance(value, JsonLiteral) and value.value is not None:
            return subject if value.value else ast.Not(subject.span, subject)
        if subject.text not in self.names.filters:
            return subject  # reported where names are looked up: it is no filter
        return self._report(catalogue.filter_not_tested(value.span, subject.text))

    def _field_tests(self, subject: ast.Name, value: JsonValue) -> list[ast.Expr]:
        test = _Test(subject, "==", self.names.types.get(subject.text))
        if isinstance(value, JsonArray):
            return [self._report(catalogue.tested_with_list(value.span, subject.text))]
        if not isinstance(value, JsonObject):
            return [self._compared(test, value)]
        if not value.members:
            return [self._report(catalogue.empty_test(value.span, subject.text))]
        return [self._operator(test, member) for member in value.members]

    def _operator(self, test: _Test, member: Member) -> ast.Expr:
        operator = member.key.value
        if operator in OPERATORS:
            return self._compared(replace(test, operator=operator), member.value)
        help = _foreign_operator_help(test.subject.text, operator, member.value)
        return self._report(catalogue.unknown_operator(member.key.span, operator, help))

    def _compared(self, test: _Test, value: JsonValue) -> ast.Expr:
        right = self._list(test, value) if test.operator == "in" else self._operand(test, value)
        return ast.Comparison(test.subject.span, test.subject, (test.operator,), (right,))

    def _list(self, test: _Test, value: JsonValue) -> ast.Expr:
        if not isinstance(value, JsonArray):
            example = f'["{value.value}"]' if isinstance(value, JsonString) else ""
            self.shape.wrong_type(value, "`in`", "a list", example)
            return ast.Invalid(value.span)
        if not value.items:
            return self._report(catalogue.empty_list(value.span))
        items = self.shape.list(value, "`in`", limits.LIST_ITEMS)
        found = tuple([self._operand(test, item) for item in items])
        return ast.List(value.span, found) if found else ast.Invalid(value.span)

    def _operand(self, test: _Test, value: JsonValue) -> ast.Expr:
        """Return a literal, or `param.NAME`; report a string that is an operator, another name or a formula."""
        if not isinstance(value, JsonString) or test.has_value(value.value):
            return self.shape.literal(value, "the value of a condition") or ast.Invalid(value.span)
        text, subject = value.value, test.subject.text
        if _PARAMETER.fullmatch(text):
            return ast.Name(value.span, text)
        if test.takes_numbers and text in self.names.parameters:
            is_safe = text not in self.names.steps and text not in self.names.spelled
            self._report(catalogue.bare_parameter(value.span, text, is_safe))
            return ast.Name(value.span, f"param.{text}")
        sign, operand = _operator_in(text)
        is_ordered_string = sign in _ORDER and test.ty is not None and not test.ty.is_numeric
        if sign and test.operator == "==" and not is_ordered_string:
            formula = self.names.formula(operand)
            plain = ""
            if _PLAIN.fullmatch(operand) or (not formula and sign not in _ORDER):
                plain = (
                    operand if _NO_STRING.fullmatch(operand) else json.dumps(operand.strip("'\""), ensure_ascii=False)
                )
            formula = f"{subject} {sign} {formula}" if formula else ""
            return self._report(catalogue.operator_in_string(value.span, sign, plain, formula))
        formula = self.names.formula(text) if test.takes_numbers or text in self.names.types else ""
        if not formula:
            return ast.Literal(value.span, text)
        operator = "==" if test.operator == "in" else test.operator
        return self._report(catalogue.no_value(value.span, f"{subject} {operator} {formula}", text in self.names.steps))


def _operator_in(text: str) -> tuple[str, str]:
    """Return the operator that a string begins with, as conditions write it, and what follows; both empty if none."""
    found = _IN_STRING.fullmatch(text)
    return (_SIGNS.get(found[1], found[1]), found[2].strip()) if found else ("", "")


def _foreign_operator_help(subject: str, operator: str, value: JsonValue) -> Help:
    word = operator.strip().lower()
    items = value.items if isinstance(value, JsonArray) else (value,)
    literals = [value_text(item.value) for item in items if isinstance(item, JsonString | JsonNumber | JsonLiteral)]
    if word in _NOT_IN and len(items) == 1:
        return f'write {{"!=": {short_text(items[0]) or "…"}}}'
    if word in _NOT_IN:
        return catalogue.as_filter(f"{subject} not in [{', '.join(literals)}]")
    if word in _CONTAINS:
        return catalogue.as_filter(" or ".join(f"{literal} in {subject}" for literal in literals))
    if word == "between" and len(literals) == 2:
        return f'write {{">=": {short_text(items[0])}, "<=": {short_text(items[1])}}}'
    return _FOREIGN_OPERATORS.get(word) or did_you_mean(operator, OPERATORS, what="operators")


def _as_object(value: JsonValue, names: Names, namespace: str | None) -> str:
    """Return the object to write for conditions in a string, or in a list of strings; empty if an example says more."""
    texts = [
        item for item in (value.items if isinstance(value, JsonArray) else (value,)) if isinstance(item, JsonString)
    ]
    if sum(len(text.value) for text in texts) > limits.WORDED_CONDITIONS:
        return ""
    parsed = [_condition_in(text, names, namespace) for text in texts]
    found = [condition for condition in parsed if condition is not None]
    whole = all_of(found)
    if whole is None or len(found) < (len(value.items) if isinstance(value, JsonArray) else 1):
        return ""
    entries = entries_of(whole, {name for name, ty in names.types.items() if ty.base is BOOLEAN.base})
    prefix = f"{namespace}." if namespace is not None else ""
    if entries is not None and all(key.startswith(prefix) for key in entries):
        written = json.dumps({key.removeprefix(prefix): asked for key, asked in entries.items()}, ensure_ascii=False)
        return written if len(written) <= _SHOWN else ""
    is_alternative = any(isinstance(part, ast.Logical) for part in ast.conjuncts(whole))
    return catalogue.object_or_filter(texts[0].value) if is_alternative and len(texts) == 1 else ""


def _condition_in(text: JsonString, names: Names, namespace: str | None) -> ast.Expr | None:
    """Return the condition that a string holds: a filter's name, or a formula; None if it holds neither."""
    bare = text.value.lstrip("$")
    if bare in names.filters:
        return ast.FilterName(text.span, bare)
    formula = _with_full_names(parse_formula(text, Problems()), names, namespace)
    return formula if isinstance(formula, ast.Comparison | ast.Logical | ast.Not | ast.FilterName) else None


def _with_full_names(node: Any, names: Names, namespace: str | None) -> Any:
    """Return an expression with the namespaces and signs that its names leave out, if there is only one reading."""
    if isinstance(node, tuple):
        return tuple(_with_full_names(part, names, namespace) for part in node)
    if isinstance(node, ast.Name):
        spelled = names.spelled.get(node.text, ())
        own = [full for full in spelled if full == f"{namespace}.{node.text}"] or spelled
        return _full_name(own[0], node.span) if len(own) == 1 else node
    if not isinstance(node, ast.Expr) or isinstance(node, ast.Call):
        return node
    parts = {name: _with_full_names(getattr(node, name), names, namespace) for name in node.__dataclass_fields__}
    return replace(node, **parts)


def _full_name(text: str, span: Span) -> ast.Name | ast.FilterName:
    return ast.FilterName(span, text[1:]) if text.startswith("$") else ast.Name(span, text)
