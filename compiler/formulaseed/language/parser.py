"""Text to expression: builds the tree of what the grammar reads.

In: the text of a formula, inside a JSON string. Out: an `ast.Expr`, or a diagnostic and None.
Limits are checked before the text is read. Shorthands have a parser of their own in `shorthand`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from formulaseed import limits
from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems, diagnostic
from formulaseed.language import ast
from formulaseed.language.sizes import extent
from formulaseed.language.tables import SyntaxFault, parser
from formulaseed.source.json_reader import JsonString
from formulaseed.source.text import Span, tree_node

if TYPE_CHECKING:
    from formulaseed.language.hints import Kind

_STRING = re.compile(r"""'(?:[^'\\]|\\.)*+'?|"(?:[^"\\]|\\.)*+"?""")
_BRACKETS = {"(": 1, "[": 1, ")": -1, "]": -1}


def parse_formula(text: JsonString, problems: Problems, *, is_condition: bool = False) -> ast.Expr | None:
    """Parse a whole formula, such as `N_MILD * 2`; a condition is one that is true or false."""
    return _parse(text, "condition" if is_condition else "formula", None, problems)


def parse_v1_formula(text: JsonString, problems: Problems) -> ast.Expr | None:
    """Parse a formula of a seed v1, such as `sum(1 for e in extractions if e['kind'] == 'a') / 2`."""
    return _parse(text, "v1", None, problems)


def parse_continuation(text: JsonString, subject: ast.Expr, problems: Problems) -> ast.Expr | None:
    """Parse what a case's `when` says of its `source`, such as `< 4.0`: a comparison that `subject` begins."""
    return _parse(text, "continuation", subject, problems)


@tree_node
class _RewrittenText(JsonString):
    """A formula in which syntax of other languages is replaced by ours; every place is still that of the `written` text.

    `origins` gives for every character of `value`, and for its end, its place in `written`.
    """

    written: JsonString
    origins: Sequence[int]

    def inside(self, start: int, end: int) -> Span:
        return self.written.inside(self.origins[start], self.origins[end])

    def original(self, start: int, end: int) -> str:
        """What the author wrote there."""
        return self.written.value[self.origins[start] : self.origins[end]]

    def replaced(self, start: int, end: int, instead: str) -> _RewrittenText:
        origins = self.origins
        places = (*origins[:start], *(origins[start],) * len(instead), *origins[end:])
        return _RewrittenText(self.span, self.value[:start] + instead + self.value[end:], self.written, places)

    def is_replaced(self, start: int, end: int) -> bool:
        """Whether any of these characters is not the author's, or none is left of a text that had some."""
        is_empty = start == end and self.value != self.written.value
        return is_empty or self.value[start:end] != self.original(start, end)


def _parse(text: JsonString, kind: Kind, subject: ast.Expr | None, problems: Problems) -> ast.Expr | None:
    if too_large := _over_limit(text.value):
        problems.report(catalogue.too_large(text.span, too_large))
        return None
    start = "formula" if kind == "condition" else kind
    name = subject.text if isinstance(subject, ast.Name) else ""
    reading = _RewrittenText(text.span, text.value, text, range(len(text.value) + 1))
    for _ in range(limits.SYNTAX_FAULTS):
        builder = _Builder(reading, subject)
        try:
            expression, depth = _read(reading.value, start, builder)
            break
        except SyntaxFault as error:
            from formulaseed.language.syntax_errors import explain  # most formulas have no such faults

            fault = explain(reading.value, error.position, error.expected, kind, name)
            if reading.is_replaced(fault.start, fault.end):
                return None  # a consequence of what is reported already
            if fault.message:
                span = reading.inside(fault.start, fault.end)
                problems.report(diagnostic(fault.code, span, fault.message, fault.help, fault.is_security))
            if fault.instead is None:
                return None
            reading = reading.replaced(fault.start, fault.end, fault.instead)
    else:
        return None
    if depth > limits.TREE_DEPTH:
        too_deep = catalogue.TOO_DEEP.format("operations", depth, limits.TREE_DEPTH)
        problems.report(catalogue.too_large(text.span, too_deep))
        return None
    for found in builder.faults:
        problems.report(found)
    return None if builder.faults else expression


def _read(text: str, start: str, builder: _Builder) -> tuple[ast.Expr, int]:
    return parser("v1" if start == "v1" else "formula").read(text, start, builder.build)


def _over_limit(text: str) -> str | None:
    """Why the text is over a limit, or None; without recursion."""
    if len(text) > limits.FORMULA_CHARACTERS:
        return catalogue.too_many(len(text), "character", limits.FORMULA_CHARACTERS)
    listed = limits.LIST_ITEMS * (" in " in text)
    size = extent([text])
    if size.terms > limits.FORMULA_TERMS + listed:
        return catalogue.too_many(size.terms, "term", limits.FORMULA_TERMS)
    if size.symbols > limits.FORMULA_TOKENS + 2 * listed:
        return catalogue.too_many(size.symbols, "symbol", limits.FORMULA_TOKENS)
    deepest = max(accumulate(_BRACKETS.get(character, 0) for character in _STRING.sub("", text)), default=0)
    most = limits.FORMULA_NESTING
    return catalogue.TOO_DEEP.format("brackets", deepest, most) if deepest > most else None


_PLAIN = frozenset(("formula", "continuation", "v1", "group"))
"""The rules that are what their only part is."""
_CONSTANTS = {"true": True, "false": False}
_STRING_ESCAPE = re.compile(r"\\(.)")
_STRING_ESCAPES = {"n": "\n", "t": "\t"}


class _Builder:
    """What the rules of the grammar make. Every method but `build` is named for one, and takes its place and its parts."""

    def __init__(self, text: _RewrittenText, subject: ast.Expr | None) -> None:
        self.text = text
        self.written = text.written if text.value == text.written.value else text
        self.subject = subject
        self.faults: list[Diagnostic] = []

    def build(self, rule: str, start: int, end: int, parts: list[Any]) -> Any:
        if rule in _PLAIN:
            return parts[0]
        return getattr(self, rule)(start, end, parts)

    def span(self, start: int, end: int) -> Span:
        return self.written.inside(start, end)

    def conditional(self, start: int, end: int, parts: list[ast.Expr]) -> ast.Expr:
        then, condition, otherwise = parts
        return ast.Conditional(self.span(start, end), condition, then, otherwise)

    def or_test(self, start: int, end: int, parts: list[ast.Expr]) -> ast.Expr:
        return parts[0] if len(parts) == 1 else ast.Logical(self.span(start, end), "or", tuple(parts))

    def and_test(self, start: int, end: int, parts: list[ast.Expr]) -> ast.Expr:
        return parts[0] if len(parts) == 1 else ast.Logical(self.span(start, end), "and", tuple(parts))

    def negation(self, start: int, end: int, parts: list[ast.Expr]) -> ast.Expr:
        return ast.Not(self.span(start, end), parts[0])

    def comparison_operator(self, start: int, end: int, parts: list[str]) -> str:
        return " ".join(parts)

    def comparison(self, start: int, end: int, parts: list[Any]) -> ast.Expr:
        return ast.Comparison(self.span(start, end), parts[0], tuple(parts[1::2]), tuple(parts[2::2]))

    def continued_comparison(self, start: int, end: int, parts: list[Any]) -> ast.Expr:
        assert self.subject is not None
        return ast.Comparison(self.span(start, end), self.subject, tuple(parts[0::2]), tuple(parts[1::2]))

    def binary(self, start: int, end: int, parts: list[Any]) -> ast.Expr:
        left, operator, right = parts
        return ast.Binary(self.span(start, end), operator, left, right)

    def unary(self, start: int, end: int, parts: list[Any]) -> ast.Expr:
        operator, operand = parts
        return ast.Unary(self.span(start, end), operator, operand)

    def number(self, start: int, end: int, parts: list[str]) -> ast.Expr:
        text = parts[0]
        is_long = len(text) > limits.NUMBER_CHARACTERS
        value = int(text) if text.isdigit() and not is_long else float(text)
        if value > (limits.INTEGER_MAX if text.isdigit() else limits.NUMBER_MAX):
            self.faults.append(catalogue.number_out_of_range(self.span(start, end), text))
        return ast.Literal(self.span(start, end), value)

    def string(self, start: int, end: int, parts: list[str]) -> ast.Expr:
        value = _STRING_ESCAPE.sub(lambda m: _STRING_ESCAPES.get(m[1], m[1]), parts[0][1:-1])
        return ast.Literal(self.span(start, end), value)

    def constant(self, start: int, end: int, parts: list[str]) -> ast.Expr:
        return ast.Literal(self.span(start, end), _CONSTANTS.get(parts[0].lower()))

    def name(self, start: int, end: int, parts: list[str]) -> ast.Expr:
        return ast.Name(self.span(start, end), parts[0])

    def filter(self, start: int, end: int, parts: list[str]) -> ast.Expr:
        return ast.FilterName(self.span(start, end), parts[0][1:])

    def arguments(self, start: int, end: int, parts: list[ast.Expr]) -> list[ast.Expr]:
        return [child for child in parts if child is not None]

    def list_literal(self, start: int, end: int, parts: list[Any]) -> ast.Expr:
        return ast.List(self.span(start, end), tuple(parts[0] or ()))

    def list_comprehension(self, start: int, end: int, parts: list[ast.Comprehension]) -> ast.Expr:
        return replace(parts[0], span=self.span(start, end), is_list=True)

    def comprehension(self, start: int, end: int, parts: list[Any]) -> ast.Expr:
        element, variable, source, *conditions = parts
        return ast.Comprehension(self.span(start, end), element, variable, source, tuple(conditions))

    def subscript(self, start: int, end: int, parts: list[ast.Expr]) -> ast.Expr:
        value, index = parts
        return ast.Subscript(self.span(start, end), value, index)

    def keyword(self, start: int, end: int, parts: list[Any]) -> ast.Expr:
        word, value = parts
        name = ast.Name(self.span(start, start + len(word)), word)
        return ast.Keyword(self.span(start, end), name, value)

    def call(self, start: int, end: int, parts: list[Any]) -> ast.Expr:
        word, arguments = parts
        behind = start + len(word)
        name = ast.Name(self.span(start, behind), word, written=self.text.original(start, behind))
        return ast.Call(self.span(start, end), name, tuple(arguments or ()))
