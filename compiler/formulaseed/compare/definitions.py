"""Makes the definitions of steps comparable between two programs: without places, and whatever their names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from formulaseed.ir import nodes
from formulaseed.ir.text import step_text
from formulaseed.language import typed
from formulaseed.language.printer import expression_text, literal_text, short_text
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import Value

_MAX_PRINTED = 2_000
"""Of a longer expression only the beginning is printed."""
_STEP_KINDS = (SymbolKind.STEP, SymbolKind.FILTER)


class Definitions:
    """The definitions of a program's steps: two are equal if they give the same result for the same inputs.

    `names` gives each step's name in the program that this one is compared with.
    """

    def __init__(self, program: nodes.Program, names: Mapping[str, str]) -> None:
        self.program = program
        self.names = names
        self.steps = {step.name: step for step in program.steps}

    def of(self, step: nodes.Step) -> Hashable:
        """Return the definition of a step, as a key."""
        match step.operation:
            case nodes.Filter(condition):
                return "filter", self._key(condition)
            case nodes.Lookup(source, table, match, has_default, default):
                entries = tuple((key, _literal(value)) for key, value in table)
                is_ordered = match == "substring_first"
                table_key = entries if is_ordered else frozenset(entries)
                return match, self._key(source), table_key, has_default, _literal(default)
            case nodes.Formula(expression):
                return "formula", self._key(expression)
            case nodes.Const(value):
                return "formula", _literal(value)
            case nodes.Case(rules, otherwise):
                rule_keys = tuple((self._key(condition), _literal(then)) for condition, then in rules)
                return "case", rule_keys, _literal(otherwise)

    def _key(self, expression: Expr) -> Hashable:
        match expression:
            case typed.Literal(value):
                return _literal(value)
            case typed.Ref(symbol) if symbol.kind in _STEP_KINDS:
                return symbol.kind, self.names.get(symbol.name, ("?", symbol.name))
            case typed.Ref(symbol):
                return symbol
            case typed.Present(operand):  # the checker adds it if the value may be null
                return self._key(operand)
            case typed.Unary(operator) | typed.Binary(operator) | typed.Logical(operator) | typed.Call(operator):
                sign: Hashable = operator
            case typed.Comparison(_, operators):
                sign = operators
            case typed.Not() | typed.Conditional() | typed.List():
                sign = None
            case typed.Aggregate(function, operand, where, default):
                sign = function, operand is None, where is None, default and _literal(default.value)
        return type(expression), sign, tuple(map(self._key, typed.children(expression)))


def _literal(value: Value) -> Hashable:
    return type(value), repr(value)


def definition_lines(step: nodes.Step) -> tuple[str, ...]:
    """Return the definition of a step in lines that are compared one by one: a rule or a key on each."""
    match step.operation:
        case nodes.Lookup(source, table, match, has_default, default):
            entries = [f"{literal_text(key)}: {literal_text(value)}" for key, value in table]
            last = [f"default {literal_text(default)}"] if has_default else ["no default"]
            return f"lookup of {expression_text(source)}, {match}", *entries, *last
        case nodes.Case(rules, otherwise):
            lines = [f"{literal_text(then)} if {expression_text(condition)}" for condition, then in rules]
            return *lines, f"else {literal_text(otherwise)}"
        case _:
            return (step_text(step),)


def cut_expression(expression: Expr, max_length: int) -> str:
    """Return an expression as text, cut after `max_length` characters."""
    text = short_text(expression, _MAX_PRINTED)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"
