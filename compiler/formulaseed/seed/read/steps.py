"""Reads the values of a step's keys, each by its kind in the table of operations.

In: a step's JSON object and its entry of the table. Out: `Arguments`; what is malformed is reported, and then there are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.catalogue import words as words_catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.language import ast
from formulaseed.language.parser import parse_continuation, parse_formula
from formulaseed.seed import surface
from formulaseed.seed.read.conditions import DeclaredNames, lower_conditions
from formulaseed.seed.read.shape import Shape
from formulaseed.seed.surface import NoLiteral
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue
from formulaseed.source.text import Span, value_node


@value_node
class WordKey:
    """A key whose value is a string for people, of at most `most` characters."""

    doc: str
    most: int
    examples: tuple[str, ...]


WORD_KEYS = {
    "label": WordKey(
        "A short name for people, in place of the name.", limits.LABEL_CHARACTERS, ("firsthand moderate reactions",)
    ),
    "unit": WordKey("The unit of the value, as people write it after a number.", limits.UNIT_CHARACTERS, ("points",)),
    "because": WordKey(
        "Why the rule gives this value, for people.", limits.BECAUSE_CHARACTERS, ("three or more severe reactions",)
    ),
}
ADVERSE = {
    "higher": "The higher the number, the worse for the restaurant.",
    "lower": "The lower the number, the worse for the restaurant.",
}
"""The values of the key `adverse` of a step, with what they mean."""


def read_words(section: JsonObject, key: str, shape: Shape) -> str | None:
    """Return the string of one of the `WORD_KEYS`; None if it is absent or, with the problem reported, unusable."""
    text = shape.read_text(shape.get(section, key), f"`{key}`")
    if text is None:
        return None
    most = WORD_KEYS[key].most
    if len(text.value) > most:
        shape.problems.report(words_catalogue.long_words(text.span, key, len(text.value), most))
        return None
    if not text.value or not text.value.isprintable() or text.value != text.value.strip():
        shape.problems.report(words_catalogue.unprintable_words(text.span, key))
        return None
    return text.value


def read_adverse(section: JsonObject, shape: Shape) -> surface.Adverse | None:
    """Return the key `adverse` of a step; None if it is absent or, with the problem reported, another word."""
    text = shape.read_text(shape.get(section, "adverse"), "`adverse`")
    direction = shape.read_choice(text, "adverse direction", ADVERSE)
    if text is None or direction is None:
        return None
    return surface.Adverse(text.span, "higher" if direction == "higher" else "lower")


class LabelReader:
    """A reader of labels and units, which reports a label that two things of one kind have."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._taken: set[tuple[str, str]] = set()

    def read(self, section: JsonObject, kind: str) -> tuple[str | None, str | None]:
        """Return the label and the unit of a step, field or parameter, the `kind`; None for each that it lacks.

        Reports a label that another of the kind has, whatever the case of its letters.
        """
        label = read_words(section, "label", self.shape)
        if label is not None:
            key = (kind, label.casefold())
            if key in self._taken:
                written = self.shape.get(section, "label")
                assert written is not None  # it has just been read
                self.shape.problems.report(catalogue.duplicate(written.span, "label", label))
            self._taken.add(key)
        return label, read_words(section, "unit", self.shape)


MATCH_MODES = {
    "exact": "The key that equals the source.",
    "substring_first": "The first key, in table order, that the source contains.",
    "substring_max": "The highest value among the keys that the source contains.",
}
RULE_KEYS = ("when", "then", "else", "because")
ELSE_KEYS = ("else", "because")
_OPERATOR = re.compile(r"\s*(?:[<>]|==|!=|in\b|not\s+in\b)")


@dataclass(slots=True)
class Arguments:
    """The values of the keys of a step's operation. `span` is the step's.

    Each method that reads a value adds it here, and returns False, with the problem reported, if the value is malformed.
    """

    span: Span
    names: DeclaredNames
    shape: Shape
    expressions: dict[str, ast.Expr] = field(default_factory=dict)
    """Formulas, names and conditions; none for a condition object without entries."""
    literals: dict[str, ast.Literal] = field(default_factory=dict)
    match: str = "exact"
    table: tuple[surface.Entry, ...] = ()
    rules: tuple[surface.Rule, ...] = ()
    otherwise: ast.Literal | None = None
    else_because: str | None = None

    @property
    def problems(self) -> Problems:
        """The problems of the document, to which every method adds."""
        return self.shape.problems

    @property
    def where(self) -> ast.Expr | None:
        """The condition on the reviews; None if the step has none."""
        return self.expressions.get("where")

    def get_expression(self, key: str) -> ast.Expr:
        """Return the value of a key that the step must have; `ast.Invalid` if it has none."""
        return self.expressions.get(key) or ast.Invalid(self.span)

    def read_formula(self, key: str, value: JsonValue, *, is_condition: bool = False) -> bool:
        """Read a formula, or with `is_condition` a condition, into `expressions`. Returns False if it is no string.

        A formula with an error is `ast.Invalid` there, and the result is True. Reports every problem.
        """
        text = self.shape.read_text(value, f"`{key}`")
        if text is not None:
            formula = parse_formula(text, self.problems, is_condition=is_condition)
            self.expressions[key] = formula or ast.Invalid(text.span)
        return text is not None

    def read_name(self, key: str, value: JsonValue) -> bool:
        """Read the name of a field or step into `expressions`. Returns False, with a report, if it is no string.

        A string that is no single name is reported, and is `ast.Invalid` there. A needless `$` is reported and dropped.
        """
        text = self.shape.read_text(value, f"`{key}`")
        if text is None:
            return False
        bare = text.value.removeprefix("$")
        if bare != text.value and bare not in self.names.filters and re.fullmatch(r"[A-Za-z_][\w.]*", bare):
            is_safe = bare in self.names.steps or bare in self.names.types
            self.problems.report(catalogue.sign_before_value(text.span, bare, key, is_safe))
            name: ast.Expr | None = ast.Name(text.span, bare)
        else:
            name = parse_formula(text, self.problems)
            if name is not None and not isinstance(name, ast.Name):
                self.problems.report(catalogue.no_single_name(text.span, key))
        self.expressions[key] = name if isinstance(name, ast.Name) else ast.Invalid(value.span)
        return True

    def read_conditions(self, key: str, value: JsonValue, namespace: str | None = None) -> bool:
        """Read a condition object into `expressions`; no entry is added for an empty one. Reports every problem.

        Returns False if it is no object or has too many entries. With a `namespace` its keys are bare names.
        """
        conditions = lower_conditions(value, f"`{key}`", self.names, self.shape, namespace)
        whole = surface.join_conjuncts(conditions or ())
        if whole is not None:
            self.expressions[key] = whole
        return conditions is not None

    def read_literal(self, key: str, value: JsonValue) -> bool:
        """Read a literal into `literals`. Returns False, with the problem reported, if it is a list or an object.

        Also warns of a string with white space around it.
        """
        literal = self.shape.read_literal(value, f"`{key}`")
        self.shape.report_spaces(value, f"`{key}`")
        self.literals[key] = literal or NoLiteral(value.span, None)
        return literal is not None

    def read_match(self, key: str, value: JsonValue) -> bool:
        """Read the match mode of a lookup into `match`. Returns False, with a report, if it is unknown."""
        chosen = self.shape.read_choice(self.shape.read_text(value, f"`{key}`"), "match mode", MATCH_MODES)
        self.match = chosen or self.match
        return chosen is not None

    def read_table(self, key: str, value: JsonValue) -> bool:
        """Read a lookup's keys and values into `table`. Returns False, with a report, without a usable table.

        That is so if `value` is no object, is empty or has too many entries. A single wrong value is reported, and its
        key kept without a literal.
        """
        table = self.shape.read_object(value, f"`{key}`", '{"Thai": 2.0, …}')
        if table is None:
            return False
        if len(table.members) > limits.TABLE_ENTRIES:
            self.shape.report_too_many(table.span, f"`{key}`", len(table.members), limits.TABLE_ENTRIES)
            return False
        if not table.members:
            self.problems.report(catalogue.empty_table(table.span))
            return False
        entries: dict[str, surface.Entry] = {}
        for member in table.members:
            word = member.key
            span = member.value.span
            self.shape.report_spaces(word, "the key")
            self.shape.report_spaces(member.value, "the value")
            literal = self.shape.read_literal(member.value, "a table's value")
            if literal is not None and literal.value is None:
                self.problems.report(catalogue.null_in_table(span))
                literal = None
            if not word.value:
                self.problems.report(catalogue.empty_table_key(word.span))
                literal = None
            entry = surface.Entry(surface.Named(word.span, word.value), literal or NoLiteral(span, None))
            entries.setdefault(word.value, entry)  # duplicate keys have been reported
        self.table = tuple(entries.values())
        return True

    # --- the rules of a case

    def read_rules(self, key: str, value: JsonValue) -> bool:
        """Read the rules of a case into `rules`, and the `else` of the last one into `otherwise`. Reports problems.

        Returns False if it is no list or too long, or if a rule is no object or has no usable `when`. A missing,
        repeated or early `else` is reported, and the result may be True.
        """
        items = self.shape.read_list(value, f"`{key}`", limits.CASE_RULES, catalogue.RULES)
        is_sound = isinstance(value, JsonArray) and bool(items or not value.items)
        rules: list[surface.Rule] = []
        is_late = False
        for item in items:
            rule = self.shape.read_object(item, "a rule", catalogue.RULE)
            if rule is None:
                is_sound = False
            elif rule.get("when") is None and any(rule.get(key) for key in ("else", "otherwise", "default")):
                self.shape.report_unknown_keys(rule, ELSE_KEYS, "the `else` rule")
                if self.otherwise is not None:
                    self.problems.report(catalogue.second_else(rule.span))
                self.otherwise = self._read_result(rule, "else")
                self.else_because = read_words(rule, "because", self.shape)
            else:
                if self.otherwise is not None and not is_late:
                    self.problems.report(catalogue.rule_after_else(rule.span))
                    is_late = True
                checked = self._read_rule(rule)
                is_sound = is_sound and checked is not None
                rules += [checked] if checked is not None else []
        if is_sound and self.otherwise is None:
            self.problems.report(catalogue.no_else(value.span))
        self.rules = tuple(rules)
        return is_sound

    def _read_rule(self, rule: JsonObject) -> surface.Rule | None:
        """Read a rule with `when` and `then`; None, with the problem reported, if `when` is missing or no string.

        An `else` in it is reported, and counts as the one of the case.
        """
        shape = self.shape
        otherwise = rule.get("else")
        source = self.expressions.get("source")
        shape.report_unknown_keys(rule, RULE_KEYS, "a rule")
        when = shape.require(rule, "when", "the rule", '"when": a condition')
        then = self._read_result(rule, "then")
        if otherwise is not None:
            self.problems.report(catalogue.else_in_rule(otherwise.span))
            self.otherwise = NoLiteral(otherwise.span, None)
        text = shape.read_text(when, "`when`", catalogue.WHEN if source is None else catalogue.WHEN_OF_SOURCE)
        because = read_words(rule, "because", shape)
        if text is None:
            return None
        return surface.Rule(self._parse_when(text, source) or ast.Invalid(text.span), then, because)

    def _parse_when(self, when: JsonString, source: ast.Expr | None) -> ast.Expr | None:
        """Parse the condition of a rule; None, with the problem reported, if it is malformed.

        With a `source` it begins with a comparison, whose left side is `source`. A bare value of the source is
        reported.
        """
        name = source.text if isinstance(source, ast.Name) else ""
        ty = self.names.types.get(name)
        values = self.names.strings.get(name, ()) if ty is None else ty.values or ()
        for value in (when.value.strip(), when.value.strip().removeprefix("==").strip()):
            if value in values:
                self.problems.report(catalogue.unquoted_value(when.span, value))
                return None
        if source is not None:
            return parse_continuation(when, source, self.problems)
        if _OPERATOR.match(when.value):
            self.problems.report(catalogue.when_without_source(when.span, when.value.strip()))
            return None
        return parse_formula(when, self.problems, is_condition=True)

    def _read_result(self, rule: JsonObject, key: str) -> ast.Literal:
        """Read the value of `then` or `else`; `NoLiteral`, with a report, if it is missing or no literal."""
        value = self.shape.require(rule, key, "the rule", f'"{key}": a number, a string, true or false')
        literal = self.shape.read_literal(value, f"`{key}`")
        self.shape.report_spaces(value, f"`{key}`")
        return literal or NoLiteral(rule.span, None)


READERS: dict[str, Callable[[Arguments, str, JsonValue], bool]] = {
    "formula": Arguments.read_formula,
    "review formula": Arguments.read_formula,
    "condition formula": partial(Arguments.read_formula, is_condition=True),
    "review condition": partial(Arguments.read_formula, is_condition=True),
    "name": Arguments.read_name,
    "conditions": Arguments.read_conditions,
    "bare conditions": lambda step, key, value: step.read_conditions(key, value, namespace=key),
    "literal": Arguments.read_literal,
    "number": Arguments.read_literal,
    "match": Arguments.read_match,
    "table": Arguments.read_table,
    "rules": Arguments.read_rules,
}
"""The kinds of values of keys, with the methods that read them."""
