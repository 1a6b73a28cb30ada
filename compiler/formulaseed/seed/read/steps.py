"""The values of a step's keys, read by what the table of operations says that they are.

In: a step's JSON object and its entry of the table. Out: `Arguments`; what is malformed is reported, and then there are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.language import ast
from formulaseed.language.parser import parse_continuation, parse_formula
from formulaseed.seed import surface
from formulaseed.seed.read.conditions import Names, lower_conditions
from formulaseed.seed.read.shape import Shape, first_character
from formulaseed.seed.surface import NoLiteral
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue
from formulaseed.source.text import Span

MATCH_MODES = {
    "exact": "The key that equals the source.",
    "substring_first": "The first key, in table order, that the source contains.",
    "substring_max": "The highest value among the keys that the source contains.",
}
RULE_KEYS = ("when", "then", "else")
_OPERATOR = re.compile(r"\s*(?:[<>]|==|!=|in\b|not\s+in\b)")


@dataclass(slots=True)
class Arguments:
    """What a step gives for the keys of its operation. `span` is the step's."""

    span: Span
    problems: Problems
    expressions: dict[str, ast.Expr] = field(default_factory=dict)
    """Formulas, names and conditions; none for a condition object without entries."""
    literals: dict[str, ast.Literal] = field(default_factory=dict)
    match: str = "exact"
    table: tuple[surface.Entry, ...] = ()
    rules: tuple[surface.Rule, ...] = ()
    otherwise: ast.Literal | None = None

    def expression(self, key: str) -> ast.Expr:
        """Return the value of a key that the step must have."""
        return self.expressions.get(key) or ast.Invalid(self.span)

    @property
    def where(self) -> ast.Expr | None:
        return self.expressions.get("where")


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the values of one step. Each method returns whether the value is well-formed."""

    step: Arguments
    names: Names
    shape: Shape

    def formula(self, key: str, value: JsonValue) -> bool:
        return self._parsed(key, value, is_condition=False)

    def condition_formula(self, key: str, value: JsonValue) -> bool:
        return self._parsed(key, value, is_condition=True)

    def _parsed(self, key: str, value: JsonValue, *, is_condition: bool) -> bool:
        text = self.shape.text(value, f"`{key}`")
        if text is None:
            return False
        found = parse_formula(text, self.shape.problems, is_condition=is_condition)
        self.step.expressions[key] = found or ast.Invalid(text.span)
        return True

    def name(self, key: str, value: JsonValue) -> bool:
        """Read one name, of a field or a step."""
        self.step.expressions[key] = ast.Invalid(value.span)
        text = self.shape.text(value, f"`{key}`")
        if text is None:
            return False
        bare = text.value.removeprefix("$")
        if bare != text.value and bare not in self.names.filters and re.fullmatch(r"[A-Za-z_][\w.]*", bare):
            is_safe = bare in self.names.steps or bare in self.names.types
            self.shape.problems.report(catalogue.sign_before_value(text.span, bare, key, is_safe))
            self.step.expressions[key] = ast.Name(text.span, bare)
            return True
        found = parse_formula(text, self.shape.problems)
        if found is not None and not isinstance(found, ast.Name):
            self.shape.problems.report(catalogue.no_single_name(text.span, key))
        elif found is not None:
            self.step.expressions[key] = found
        return True

    def conditions(self, key: str, value: JsonValue) -> bool:
        return self._conditions(key, value, None)

    def bare_conditions(self, key: str, value: JsonValue) -> bool:
        return self._conditions(key, value, key)

    def _conditions(self, key: str, value: JsonValue, namespace: str | None) -> bool:
        found = lower_conditions(value, f"`{key}`", self.names, self.shape, namespace)
        whole = surface.all_of(found or ())
        if whole is not None:
            self.step.expressions[key] = whole
        return found is not None

    def literal(self, key: str, value: JsonValue) -> bool:
        found = self.shape.literal(value, f"`{key}`")
        self.step.literals[key] = found or NoLiteral(value.span, None)
        return found is not None

    def match(self, key: str, value: JsonValue) -> bool:
        text = self.shape.text(value, f"`{key}`")
        chosen = self.shape.choice(text, "match mode", MATCH_MODES) if text else None
        self.step.match = chosen or self.step.match
        return chosen is not None

    def table(self, key: str, value: JsonValue) -> bool:
        table = self.shape.object(value, f"`{key}`", '{"Thai": 2.0, …}')
        if table is not None and len(table.members) > limits.TABLE_ENTRIES:
            self.shape.too_many(table.span, f"`{key}`", len(table.members), limits.TABLE_ENTRIES)
        elif table is not None and not table.members:
            self.shape.problems.report(catalogue.invalid_table(table.span, "empty"))
        elif table is not None:
            entries: dict[str, surface.Entry] = {}
            for member in table.members:
                entry = surface.Entry(surface.Named(member.key.span, member.key.value), self._table_value(member.value))
                if not member.key.value:
                    self.shape.problems.report(catalogue.invalid_table(member.key.span, "empty key"))
                    entry = surface.Entry(entry.key, NoLiteral(member.value.span, None))
                entries.setdefault(member.key.value, entry)  # duplicate keys have been reported
            self.step.table = tuple(entries.values())
            return True
        return False

    def _table_value(self, value: JsonValue) -> ast.Literal:
        found = self.shape.literal(value, "a table's value")
        if found is not None and found.value is None:
            self.shape.problems.report(catalogue.invalid_table(value.span, "null"))
            found = None
        return found or NoLiteral(value.span, None)

    # --- the rules of a case

    def rules(self, key: str, value: JsonValue) -> bool:
        """Read the rules of a case in order, the last of which is `else`."""
        items = self.shape.list(value, f"`{key}`", limits.CASE_RULES, catalogue.RULES)
        is_sound = isinstance(value, JsonArray) and bool(items or not value.items)
        rules: list[surface.Rule] = []
        is_late = False
        for item in items:
            rule = self.shape.object(item, "a rule", catalogue.RULE)
            if rule is None:
                is_sound = False
                continue
            if rule.get("when") is None and self._is_else(rule):
                if self.step.otherwise is not None:
                    self.shape.problems.report(catalogue.second_else(rule.span))
                self.step.otherwise = self._then(rule, "else")
                continue
            if self.step.otherwise is not None and not is_late:
                self.shape.problems.report(catalogue.rule_after_else(rule.span))
                is_late = True
            found = self._rule(rule)
            is_sound = is_sound and found is not None
            rules += [found] if found is not None else []
        if is_sound and self.step.otherwise is None:
            self.shape.problems.report(catalogue.no_else(value.span))
        self.step.rules = tuple(rules)
        return is_sound

    def _is_else(self, rule: JsonObject) -> bool:
        if rule.get("else") is None and rule.get("otherwise") is None and rule.get("default") is None:
            return False
        self.shape.keys(rule, ("else",), "the `else` rule")
        return True

    def _rule(self, rule: JsonObject) -> surface.Rule | None:
        shape = self.shape
        otherwise = rule.get("else")
        shape.keys(rule, RULE_KEYS, "a rule")
        when = shape.need(rule, "when", "the rule", '"when": a condition')
        then = self._then(rule, "then")
        if otherwise is not None:
            shape.problems.report(catalogue.else_in_rule(otherwise.span))
            self.step.otherwise = NoLiteral(otherwise.span, None)
        source = self.step.expressions.get("source")
        example = catalogue.WHEN if source is None else catalogue.WHEN_OF_SOURCE
        if when is not None and not isinstance(when, JsonString):
            shape.wrong_type(when, "`when`", "a string", example)
        if not isinstance(when, JsonString):
            return None
        return surface.Rule(self._when(when, source) or ast.Invalid(when.span), then)

    def _when(self, when: JsonString, source: ast.Expr | None) -> ast.Expr | None:
        name = source.text if isinstance(source, ast.Name) else ""
        ty = self.names.types.get(name)
        values = self.names.strings.get(name, ()) if ty is None else ty.values or ()
        for value in (when.value.strip(), when.value.strip().removeprefix("==").strip()):
            if value in values:
                self.shape.problems.report(catalogue.unquoted_value(when.span, value))
                return None
        if source is not None:
            return parse_continuation(when, source, self.shape.problems)
        if _OPERATOR.match(when.value):
            self.shape.problems.report(catalogue.when_without_source(when.span, when.value.strip()))
            return None
        return parse_formula(when, self.shape.problems, is_condition=True)

    def _then(self, rule: JsonObject, key: str) -> ast.Literal:
        value = self.shape.need(rule, key, "the rule", f'"{key}": a number, a string, true or false')
        found = self.shape.literal(value, f"`{key}`") if value is not None else None
        return found or NoLiteral(rule.span, None)


KeyReader = Callable[[_Reader, str, JsonValue], bool]
READERS: dict[str, KeyReader] = {
    "formula": _Reader.formula,
    "review formula": _Reader.formula,
    "condition formula": _Reader.condition_formula,
    "name": _Reader.name,
    "conditions": _Reader.conditions,
    "bare conditions": _Reader.bare_conditions,
    "literal": _Reader.literal,
    "number": _Reader.literal,
    "match": _Reader.match,
    "table": _Reader.table,
    "rules": _Reader.rules,
}
"""What the value of a key can be, with how it is read."""


def read_arguments(
    step: JsonObject, keys: list[tuple[str, str, str]], what: str, names: Names, shape: Shape
) -> Arguments | None:
    """Read what a step gives for these keys: name, kind, and an example if it is required. None if anything is malformed."""
    arguments = Arguments(first_character(step.span), shape.problems)
    reader = _Reader(arguments, names, shape)
    is_sound = True
    for key, kind, example in keys:
        value = shape.need(step, key, what, example) if example else shape.get(step, key)
        if value is not None:
            is_sound = READERS[kind](reader, key, value) and is_sound
        elif example:
            is_sound = False
    return arguments if is_sound else None
