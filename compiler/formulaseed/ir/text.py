"""Checked programs as short readable text: expressions in the formula language, steps as one-line declarations.

Used for comments in generated modules, for messages and for dumps. Parsing an expression's text gives the
same expression again.
"""

from __future__ import annotations

from formulaseed.ir import nodes
from formulaseed.language.typed_text import expression_text, literal_text
from formulaseed.wording import number_of


def step_text(step: nodes.Step) -> str:
    """What the step does, such as `count where $IS_INCIDENT and meta.year >= 2023`."""
    match step.operation:
        case nodes.Filter(condition):
            return expression_text(condition)
        case nodes.Aggregate(function, expression, where, default):
            of = f" of {expression_text(expression)}" if expression is not None else ""
            matching = f" where {expression_text(where)}" if where is not None else ""
            tail = f", default {literal_text(default)}" if default is not None else ""
            return f"{function}{of}{matching}{tail}"
        case nodes.Lookup(source, table, match, has_default, default):
            tail = f", default {literal_text(default)}" if has_default else ""
            return f"lookup of {expression_text(source)} in {number_of(len(table), 'key')}, {match}{tail}"
        case nodes.Formula(expression):
            return expression_text(expression)
        case nodes.Const(value):
            return f"constant {literal_text(value)}"
        case nodes.Case(rules, otherwise):
            parts = [f"{literal_text(then)} if {expression_text(condition)}" for condition, then in rules]
            return "; ".join([*parts, f"else {literal_text(otherwise)}"])
