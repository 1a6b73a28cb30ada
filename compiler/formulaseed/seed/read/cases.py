"""A case step: its rules, in order, and its `else`.

In: the step's JSON object. Out: a `surface.Case`, whole or as a part of what is broken; every rule is read, whatever
is wrong with another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from formulaseed import limits
from formulaseed.language import ast
from formulaseed.language.parser import parse_continuation, parse_formula
from formulaseed.language.printer import expression_text
from formulaseed.seed import surface
from formulaseed.seed.read.shape import NAME, Shape, short_text
from formulaseed.seed.surface import Broken, NoLiteral, Operation
from formulaseed.source.json_reader import JsonArray, JsonLiteral, JsonNumber, JsonObject, JsonString, JsonValue

ELSE_WORDS = ("else", "otherwise", "default")
ORDERS = (">=", ">", "<=", "<", "!=", "==")
RULE_KEYS = ("when", "then", "else")


def lower_case(step: JsonObject, source: ast.Expr | None, shape: Shape) -> Operation:
    """The case. `source` is what its rules compare, None where it has none."""
    if (default := shape.get(step, "default")) is not None:
        help = 'write {"else": …} as the last rule'
        shape.problems.add("FS511", default.span, "a case has no `default`", help)
    rules = shape.need(step, "rules", "the operation `case`", '"rules": [{"when": …, "then": …}, {"else": …}]')
    items: Sequence[JsonValue]
    if isinstance(rules, JsonObject):
        shape.wrong_type(rules, "`rules`", "a list", _as_rules(rules))
        items = (rules,) if rules.get("when") is not None else ()
    else:
        items = shape.list(rules, "`rules`", limits.CASE_RULES)
    reader = _Rules(shape, source, is_sound=isinstance(rules, JsonArray) and len(items) > 0)
    for index, item in enumerate(items):
        reader.read(item, is_last=index == len(items) - 1)
    if reader.otherwise is None:
        is_whole = isinstance(rules, JsonArray) and len(items) == len(rules.items)
        if rules is not None and is_whole and default is None and all(isinstance(item, JsonObject) for item in items):
            help = 'add {"else": …} as the last rule, so that every restaurant gets a value'
            shape.problems.add("FS506", rules.span, "the case has no `else`", help)
        reader.is_sound = False
    made = surface.Case(tuple(reader.rules), reader.otherwise or NoLiteral(step.span, None))
    if reader.is_sound:
        return made
    return Broken((made, *([surface.Formula(source)] if source is not None else [])))


@dataclass(slots=True)
class _Rules:
    """The rules read so far."""

    shape: Shape
    source: ast.Expr | None
    is_sound: bool
    rules: list[surface.Rule] = field(default_factory=list)
    otherwise: ast.Literal | None = None
    _told_order: bool = False

    def read(self, item: JsonValue, *, is_last: bool) -> None:
        """The next of the rules."""
        rule = self.shape.object(item, "a rule", _as_rule(item) or 'a rule such as {"when": "N > 2", "then": 1}')
        if rule is None:
            self.is_sound = False
            return
        when, is_else = rule.get("when"), False
        if when is None and any(rule.get(key) is not None for key in ELSE_WORDS):
            self.shape.keys(rule, ("else",), "the `else` rule")
            value, is_else = self.shape.get(rule, "else"), True
        elif _is_else_word(when, is_last=is_last and self.otherwise is None):
            assert when is not None
            self.shape.keys(rule, RULE_KEYS, "a rule")
            value, is_else = self.shape.get(rule, "then"), True
            written = short_text(value) or "…"
            word = when.value if isinstance(when, JsonString) else "true"
            self.shape.problems.add("FS506", when.span, f"`{word}` is no condition", f'write {{"else": {written}}}')
            self.is_sound = False
        if is_else:
            self._follows_else(item, "the case has two `else`", "remove one of them", always=True)
            self.otherwise = self._literal(value, "`else`", rule)
            return
        self._follows_else(item, "rules after `else` are never reached", "move `else` to the end")
        self.rules.append(self._rule(rule))
        if (otherwise := rule.get("else")) is not None:
            help = 'write {"else": …} as a rule of its own'
            self.shape.problems.add("FS511", otherwise.span, "a rule has `when` or `else`, not both", help)
            self.otherwise, self.is_sound = self._literal(otherwise, "`else`", rule), False

    def _follows_else(self, item: JsonValue, message: str, help: str, *, always: bool = False) -> None:
        """Tell that the item stands behind an `else`: of rules once."""
        if self.otherwise is not None:
            if always or not self._told_order:
                self.shape.problems.add("FS506", item.span, message, help)
            self._told_order, self.is_sound = self._told_order or not always, False

    def _literal(self, value: JsonValue | None, what: str, rule: JsonObject) -> ast.Literal:
        found = self.shape.literal(value, what) if value is not None else None
        self.is_sound = self.is_sound and found is not None
        return found or NoLiteral(rule.span, None)

    def _rule(self, rule: JsonObject) -> surface.Rule:
        shape = self.shape
        shape.keys(rule, RULE_KEYS, "a rule")
        when = shape.need(rule, "when", "the rule", '"when": a condition')
        then = shape.need(rule, "then", "the rule", '"then": a number, a text, true or false')
        condition = self._condition(when) if when is not None else None
        self.is_sound = self.is_sound and condition is not None
        return surface.Rule(condition or ast.Invalid(rule.span), self._literal(then, "`then`", rule))

    def _condition(self, when: JsonValue) -> ast.Expr | None:
        shape, source = self.shape, self.source
        if source is not None and isinstance(when, JsonNumber | JsonLiteral):
            written = when.value if isinstance(when, JsonNumber) else str(when.value)
            shape.wrong_type(when, "`when`", "a comparison", f'"== {written}"')
            return None
        if isinstance(when, JsonObject):
            shape.wrong_type(when, "`when`", "a text", _as_formula(when, source))
            return None
        text = shape.text(when, "`when`")
        if text is None:
            return None
        value = self._value_alone(text.value)
        if value is not None:
            help = f"write `== {expression_text(ast.Literal(text.span, value))}`"
            shape.problems.add("FS101", text.span, f"`{value}` is a string without quotes", help)
            return None
        if source is not None:
            return parse_continuation(text, source, shape.problems)
        if not re.match(r"\s*(?:[<>]|==|!=|in\b|not\s+in\b)", text.value):
            return parse_formula(text, shape.problems, is_condition=True)
        help = f'add "source": the value to compare, or name it: `N {text.value.strip()}`'
        shape.problems.add("FS101", text.span, "`when` begins with an operator, and the case has no `source`", help)
        self.is_sound = False
        return parse_continuation(text, ast.Invalid(text.span), shape.problems)

    def _value_alone(self, when: str) -> str | None:
        """The value of the `source` that stands in a condition without its quotes, whatever it looks like."""
        name = self.source.text if isinstance(self.source, ast.Name) else ""
        ty = self.shape.types.get(name)
        values = self.shape.strings.get(name, ()) if ty is None else ty.values or ()
        text = when.strip()
        return next((each for each in (text, text.removeprefix("==").strip()) if each in values), None)


def _is_else_word(when: JsonValue | None, *, is_last: bool) -> bool:
    """Whether a condition stands for `else`; `true` does as the last of the rules."""
    if isinstance(when, JsonLiteral):
        return when.value is True and is_last
    word = when.value.strip().lower() if isinstance(when, JsonString) else ""
    return word in ELSE_WORDS or (word == "true" and is_last)


def _as_rules(rules: JsonObject) -> str:
    """What to write for rules in an object: the first of them, where it stands under its condition."""
    first = rules.members[0] if rules.members else None
    then = short_text(first.value) if first is not None and first.key.value not in RULE_KEYS else ""
    when = short_text(first.key) if first is not None and then else "…"
    return f'[{{"when": {when}, "then": {then or "…"}}}, {{"else": …}}]'


def _as_rule(item: JsonValue) -> str:
    """What to write for a condition and its result in a list."""
    parts = [short_text(part) for part in item.items] if isinstance(item, JsonArray) else []
    if len(parts) == 2 and parts[0].strip('"').lower() in ELSE_WORDS:
        return f'{{"else": {parts[1]}}}' if parts[1] else ""
    return f'{{"when": {parts[0]}, "then": {parts[1]}}}' if len(parts) == 2 and all(parts) else ""


def _as_formula(when: JsonObject, source: ast.Expr | None) -> str:
    """What to write for a condition in an object, as in `where`: with a source the comparison alone."""
    member = when.members[0] if len(when.members) == 1 else None
    subject, asked = (member.key.value, member.value) if member is not None else ("", when)
    if source is not None and subject in ORDERS:
        subject, asked = "", when
    inner = asked.members[0] if isinstance(asked, JsonObject) and len(asked.members) == 1 else None
    sign, value = (inner.key.value, inner.value) if inner is not None else ("==", asked)
    if source is not None:
        subject = "" if isinstance(source, ast.Name) and source.text == subject else subject
        is_clear = not subject
    else:
        is_clear = NAME.fullmatch(subject) is not None and subject not in ELSE_WORDS
    if not (is_clear and sign in ORDERS and short_text(value)):
        return 'a comparison such as "> 3"' if source is not None else 'a formula such as "N > 3 and M < 2"'
    assert isinstance(value, JsonString | JsonNumber | JsonLiteral)
    return json.dumps(
        f"{subject} {sign} {expression_text(ast.Literal(value.span, value.value))}".strip(), ensure_ascii=False
    )
