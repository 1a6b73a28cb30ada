"""Makes the definitions of steps comparable between two programs: without source positions, and whatever the steps' names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from formulaseed.ir import nodes
from formulaseed.ir.text import step_text
from formulaseed.language import typed
from formulaseed.language.printer import expression_text, literal_text, short_text
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import Value
from formulaseed.pages.blocks import InlineCode

_MAX_PRINTED_LENGTH = 2_000  # printing a longer expression to the end would take long, and its text is cut anyway
_STEP_KINDS = (SymbolKind.STEP, SymbolKind.FILTER)


class DefinitionKeys:
    """The definitions of a program's steps as keys: equal keys give equal results for equal inputs.

    `new_names` maps each step to its name in the program that this one is compared with.
    """

    def __init__(self, program: nodes.Program, new_names: Mapping[str, str]) -> None:
        self.program = program
        self.new_names = new_names
        self.steps = {step.name: step for step in program.steps}

    def build_key(self, step: nodes.Step) -> Hashable:
        """Return the definition of `step` as a key, which does not contain the step's own name.

        A constant has the key of a formula that is only that literal. The order of a table counts only if its first
        match wins.
        """
        match step.operation:
            case nodes.Filter(condition):
                return "filter", self._build_expression_key(condition)
            case nodes.Lookup(source, table, match, has_default, default):
                entries = tuple((key, _build_literal_key(value)) for key, value in table)
                is_ordered = match == "substring_first"
                table_key = entries if is_ordered else frozenset(entries)
                return match, self._build_expression_key(source), table_key, has_default, _build_literal_key(default)
            case nodes.Formula(expression):
                return "formula", self._build_expression_key(expression)
            case nodes.Const(value):
                return "formula", _build_literal_key(value)
            case nodes.Case(rules, otherwise):
                rule_keys = tuple(
                    (self._build_expression_key(condition), _build_literal_key(then)) for condition, then in rules
                )
                return "case", rule_keys, _build_literal_key(otherwise)

    def _build_expression_key(self, expression: Expr) -> Hashable:
        """Return an expression as nested tuples, with the new names of the steps and filters that it reads.

        Source positions and the null checks that the checker added make no difference. A step without a new name
        keeps its own, marked with `?`.
        """
        match expression:
            case typed.Literal(value):
                return _build_literal_key(value)
            case typed.Ref(symbol) if symbol.kind in _STEP_KINDS:
                return symbol.kind, self.new_names.get(symbol.name, ("?", symbol.name))
            case typed.Ref(symbol):
                return symbol
            # the checker adds this node where a value may be null; the file does not contain it
            case typed.Present(operand):
                return self._build_expression_key(operand)
            case typed.Unary(operator) | typed.Binary(operator) | typed.Logical(operator) | typed.Call(operator):
                operator_key: Hashable = operator
            case typed.Comparison(_, operators):
                operator_key = operators
            case typed.Not() | typed.Conditional() | typed.List():
                operator_key = None
            case typed.Aggregate(function, operand, where, default):
                operator_key = function, operand is None, where is None, default and _build_literal_key(default.value)
        return type(expression), operator_key, tuple(map(self._build_expression_key, typed.children(expression)))


def _build_literal_key(value: Value) -> Hashable:
    """Return a key that tells 1 from 1.0 and from True, which Python compares as equal."""
    return type(value), repr(value)


def format_definition(step: nodes.Step) -> tuple[str, ...]:
    """Return the definition of a step as lines to compare one by one: of a `case` and a `lookup` several.

    A `case` has a line for each rule, a `lookup` for its source, each key and its default. Other steps have one line.
    """
    match step.operation:
        case nodes.Lookup(source, table, match, has_default, default):
            entries = [f"{literal_text(key)}: {literal_text(value)}" for key, value in table]
            last_line = f"default {literal_text(default)}" if has_default else "no default"
            return f"lookup of {expression_text(source)}, {match}", *entries, last_line
        case nodes.Case(rules, otherwise):
            lines = [f"{literal_text(then)} if {expression_text(condition)}" for condition, then in rules]
            return *lines, f"else {literal_text(otherwise)}"
        case _:
            return (step_text(step),)


def cut_expression(expression: Expr, max_length: int) -> str:
    """Return an expression as text of at most `max_length` characters; a cut text ends with `…`."""
    text = short_text(expression, _MAX_PRINTED_LENGTH)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def format_name(name: str, labels: Mapping[str, str], suffix: str = "") -> str:
    """Return the label of a step, followed by `suffix`; in place of a label that is not in `labels` the name, as code."""
    return f"{labels[name]}{suffix}" if name in labels else InlineCode(f"{name}{suffix}")
