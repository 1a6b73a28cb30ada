"""The operations of compute steps, one function each, and the table of them.

Source: the specification's section 3, Compute.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from formulaseed import limits
from formulaseed.frontends.conditions import all_of, lower_conditions
from formulaseed.frontends.shape import Shape
from formulaseed.source.json_reader import JsonObject, JsonString, JsonValue
from formulaseed.source.text import Source, Span
from formulaseed.syntax import ast, surface
from formulaseed.syntax.parser import parse_continuation, parse_formula
from formulaseed.syntax.surface import Broken, Operation

_ANY = ast.Literal(Span(Source("", ""), 0, 0), 0)
"""Stands for an `else` that is there, though not as it should be."""

ELSE_WORDS = ("else", "otherwise", "default")

MATCH_MODES = ("exact", "substring_first", "substring_max")
RULE_KEYS = ("when", "then", "else")


@dataclass(frozen=True, slots=True)
class Lowering:
    """How an operation is read: its keys beside `name` and `op`, and the function that reads them."""

    keys: tuple[str, ...]
    lower: Callable[[JsonObject, Shape], Operation]


def step_keys(name: str) -> tuple[str, ...]:
    """The keys of a step with this operation."""
    return ("name", "op", *OPERATIONS[name].keys, "sources", "allow")


def lower_operation(name: str, step: JsonObject, shape: Shape) -> Operation:
    lowering = OPERATIONS[name]
    shape.keys(step, step_keys(name), f"the operation `{name}`")
    shape.sources(step)
    return lowering.lower(step, shape)


def _formula(value: JsonValue | None, what: str, shape: Shape) -> ast.Expr | None:
    text = shape.text(value, what)
    return parse_formula(text, shape.problems) if text else None


def _where(step: JsonObject, shape: Shape) -> ast.Expr | None:
    where = step.get("where")
    return all_of(lower_conditions(where, "`where`", shape)) if where is not None else None


def _define_filter(step: JsonObject, shape: Shape) -> Operation:
    conditions: list[ast.Expr] = []
    for key in ("extraction", "meta", "context", "where"):
        value = step.get(key)
        if value is not None:
            conditions += lower_conditions(value, f"`{key}`", shape, None if key == "where" else key)
    if not any(step.get(key) is not None for key in ("extraction", "meta", "context", "where")):
        place = Span(step.span.source, step.span.start, step.span.start + 1, step.span.pointer)
        help = 'add "extraction": {…}, "meta", "context" or "where"'
        shape.problems.add("FS502", place, "the filter has no conditions", help)
    condition = all_of(conditions)
    if condition is None and not shape.problems.has_errors:
        shape.problems.add("FS502", step.span, "the filter tests nothing", "name a field and its value")
    return surface.Filter(condition) if condition else Broken()


def _count(step: JsonObject, shape: Shape) -> Operation:
    return surface.Count(_where(step, shape))


def _sum(step: JsonObject, shape: Shape) -> Operation:
    where = _where(step, shape)
    value = shape.need(step, "expr", "the operation `sum`", '"expr": a formula such as "5 - meta.stars"')
    expression = _formula(value, "`expr`", shape)
    return surface.Sum(expression, where) if expression else Broken()


def _extreme(largest: bool) -> Callable[[JsonObject, Shape], Operation]:
    name = "max" if largest else "min"

    def lower(step: JsonObject, shape: Shape) -> Operation:
        where = _where(step, shape)
        field, formula = step.get("field"), step.get("expr")
        if field is not None and formula is not None:
            message = f"`{name}` takes `field` or `expr`, not both"
            shape.problems.add("FS511", formula.span, message, "keep one of the two")
        if field is None and formula is None:
            shape.need(step, "field", f"the operation `{name}`", '"field": "meta.year", or "expr": a formula')
        default = step.get("default")
        literal = shape.literal(default, "`default`") if default is not None else None
        expression = _formula(formula, "`expr`", shape) if formula is not None else _field(field, shape)
        sound = expression is not None and (default is None or literal is not None)
        return surface.Extreme(largest, expression, where, literal) if sound and expression else Broken()

    return lower


def _field(value: JsonValue | None, shape: Shape) -> ast.Expr | None:
    text = shape.text(value, "`field`")
    if text is None:
        return None
    return _single_name(text, "`field`", "write a field such as `meta.year`; a formula goes into `expr`", shape)


def _single_name(text: JsonString, what: str, help: str, shape: Shape) -> ast.Expr | None:
    expression = parse_formula(text, shape.problems)
    if expression is None or isinstance(expression, ast.Name):
        return expression
    shape.problems.add("FS509", text.span, f"{what} must be one name", help)
    return None


def _source(step: JsonObject, shape: Shape) -> ast.Expr | None:
    text = shape.text(step.get("source"), "`source`")
    return (
        _single_name(text, "`source`", "compute the value in a step of its own and name that", shape) if text else None
    )


def _lookup(step: JsonObject, shape: Shape) -> Operation:
    shape.need(step, "source", "the operation `lookup`", '"source": such as "context.categories"')
    source = _source(step, shape)
    default = step.get("default")
    literal = shape.literal(default, "`default`") if default is not None else None
    match = shape.text(shape.need(step, "match", "the operation `lookup`", '"match": "exact"'), "`match`")
    mode = shape.choice(match, "match mode", MATCH_MODES) if match else None
    value = shape.need(step, "table", "the operation `lookup`", '"table": {"Thai": 2.0, …}')
    table = shape.object(value, "`table`") if value is not None else None
    entries = _table(table, shape) if table else None
    if source is None or mode is None or entries is None:
        return Broken()
    return surface.Lookup(source, entries, mode, literal)


def _table(table: JsonObject, shape: Shape) -> tuple[surface.Entry, ...] | None:
    if len(table.members) > limits.TABLE_ENTRIES:
        shape.too_many(table.span, "`table`", len(table.members), limits.TABLE_ENTRIES)
        return None
    if not table.members:
        shape.problems.add("FS508", table.span, "the table is empty", 'write entries such as "Thai": 2.0')
        return None
    entries = []
    for member in table.members:
        value = shape.literal(member.value, "a table's value")
        if member.key.value == "":
            help = "every text contains the empty one; remove the entry, or use `default`"
            shape.problems.add("FS508", member.key.span, "the table has an empty key", help)
        elif value is not None and value.value is None:
            shape.problems.add("FS508", value.span, "a table's value cannot be null", "write a number or a text")
        elif value is not None:
            entries.append(surface.Entry(surface.Named(member.key.span, member.key.value), value))
    return tuple(entries) if len(entries) == len(table.members) else None


def _expr(step: JsonObject, shape: Shape) -> Operation:
    value = shape.need(step, "expr", "the operation `expr`", '"expr": a formula such as "N_MILD * 2"')
    expression = _formula(value, "`expr`", shape)
    return surface.Formula(expression) if expression else Broken()


def _const(step: JsonObject, shape: Shape) -> Operation:
    value = shape.need(step, "value", "the operation `const`", '"value": a number, a text, true or false')
    literal = shape.literal(value, "`value`") if value is not None else None
    return surface.Const(literal) if literal else Broken()


def _case(step: JsonObject, shape: Shape) -> Operation:
    has_source = step.get("source") is not None
    source = _source(step, shape)
    if step.get("default") is not None:
        help = 'write {"else": …} as the last rule'
        shape.problems.add("FS511", _value(step, "default").span, "a case has no `default`", help)
    rules_value = shape.need(step, "rules", "the operation `case`", '"rules": [{"when": …, "then": …}, {"else": …}]')
    items = shape.list(rules_value, "`rules`", limits.CASE_RULES)
    if rules_value is None or not items:
        if rules_value is not None and not shape.problems.has_errors:
            _no_else(rules_value, shape)
        return Broken()
    rules: list[surface.Rule] = []
    otherwise: ast.Literal | None = None
    sound = not has_source or source is not None
    for index, item in enumerate(items):
        rule = shape.object(item, "a rule", 'a rule such as {"when": "N > 2", "then": 1}')
        if rule is None:
            sound = False
        elif rule.get("else") is not None and rule.get("when") is not None:
            help = 'write {"else": …} as a rule of its own'
            shape.problems.add("FS511", _value(rule, "else").span, "a rule has `when` or `else`, not both", help)
            sound, otherwise = False, _ANY
        elif rule.get("when") is None and any(rule.get(key) is not None for key in ("otherwise", "default")):
            shape.keys(rule, ("else",), "the `else` rule")
            sound, otherwise = False, _ANY
        elif rule.get("else") is not None:
            shape.keys(rule, ("else",), "the `else` rule")
            otherwise = shape.literal(_value(rule, "else"), "`else`")
            if index < len(items) - 1:
                following = items[index + 1]
                again = isinstance(following, JsonObject) and following.get("else") is not None
                message = "the case has two `else`" if again else "rules after `else` are never reached"
                help = "remove one of them" if again else "move `else` to the end"
                shape.problems.add("FS506", following.span, message, help)
                sound = False
                break
        elif isinstance(when := rule.get("when"), JsonString) and when.value.strip().lower() in ELSE_WORDS:
            shape.problems.add("FS506", when.span, "`else` is no condition", 'write {"else": …}')
            sound, otherwise = False, _ANY
        else:
            lowered = _rule(rule, source if has_source else None, has_source, shape)
            sound = sound and lowered is not None
            rules += [lowered] if lowered else []
    if otherwise is None:
        told = step.get("default") is not None or not all(isinstance(item, JsonObject) for item in items)
        if not told and not any(isinstance(item, JsonObject) and item.get("else") is not None for item in items):
            _no_else(rules_value, shape)
        return Broken()
    return surface.Case(tuple(rules), otherwise) if sound else Broken()


def _no_else(rules: JsonValue, shape: Shape) -> None:
    help = 'add {"else": …} as the last rule, so that every restaurant gets a value'
    shape.problems.add("FS506", rules.span, "the case has no `else`", help)


def _rule(rule: JsonObject, source: ast.Expr | None, has_source: bool, shape: Shape) -> surface.Rule | None:
    shape.keys(rule, RULE_KEYS, "a rule")
    when = shape.text(shape.need(rule, "when", "the rule", '"when": a condition'), "`when`")
    then = shape.need(rule, "then", "the rule", '"then": a number, a text, true or false')
    literal = shape.literal(then, "`then`") if then is not None else None
    if when is None or literal is None or (has_source and source is None):
        return None
    if has_source and source is not None:
        condition = parse_continuation(when, source, shape.problems)
    elif re.match(r"\s*(?:[<>]|==|!=|in\b|not\s+in\b)", when.value):
        help = f'add "source": the value to compare, or name it: `N {when.value.strip()}`'
        shape.problems.add("FS101", when.span, "`when` begins with an operator, and the case has no `source`", help)
        return None
    else:
        condition = parse_formula(when, shape.problems)
    return surface.Rule(condition, literal) if condition else None


def _value(rule: JsonObject, key: str) -> JsonValue:
    value = rule.get(key)
    assert value is not None
    return value


OPERATIONS: dict[str, Lowering] = {
    "define_filter": Lowering(("extraction", "meta", "context", "where"), _define_filter),
    "count": Lowering(("where",), _count),
    "sum": Lowering(("expr", "where"), _sum),
    "max": Lowering(("field", "expr", "where", "default"), _extreme(largest=True)),
    "min": Lowering(("field", "expr", "where", "default"), _extreme(largest=False)),
    "lookup": Lowering(("source", "table", "match", "default"), _lookup),
    "expr": Lowering(("expr",), _expr),
    "const": Lowering(("value",), _const),
    "case": Lowering(("source", "rules", "default"), _case),
}
