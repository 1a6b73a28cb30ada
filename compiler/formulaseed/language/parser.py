"""Text to expression: builds the tree of what the grammar reads.

In: the text of a formula, inside a JSON string. Out: an `ast.Expr`, or a diagnostic and None.
Limits are checked before the text is read. Shorthands have a parser of their own in `shorthand`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from formulaseed import limits
from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.model import Diagnostic, Help, Problems, Suggestion, diagnostic
from formulaseed.language import ast
from formulaseed.language.sizes import measure
from formulaseed.language.tables import SyntaxFault, load_parser
from formulaseed.source.json_reader import JsonString, PlainText
from formulaseed.source.text import Span, tree_node

if TYPE_CHECKING:
    from formulaseed.language.hints import FormulaKind

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
    """A formula in which safe fixes are applied; every place is still that of the `written` text.

    `origins` gives for every character of `value`, and for its end, its place in `written`.
    """

    written: JsonString
    origins: Sequence[int]

    def subspan(self, start: int, end: int) -> Span:
        return self.written.subspan(self.origins[start], self.origins[end])

    def apply_fix(self, start: int, end: int, fix: str) -> _RewrittenText:
        """Return a copy with a fix in place of some characters."""
        origins = self.origins
        places = (*origins[:start], *(origins[start],) * len(fix), *origins[end:])
        return _RewrittenText(self.span, self.value[:start] + fix + self.value[end:], self.written, places)

    def is_replaced(self, start: int, end: int) -> bool:
        """Return True if any of these characters was written by a fix."""
        return self.value[start:end] != self.written.value[self.origins[start] : self.origins[end]]


def _parse(text: JsonString, kind: FormulaKind, subject: ast.Expr | None, problems: Problems) -> ast.Expr | None:
    if too_large := _find_excess(text.value):
        problems.report(catalogue.too_large(text.span, too_large))
        return None
    start = "formula" if kind == "condition" else kind
    name = subject.text if isinstance(subject, ast.Name) else ""
    reading = _RewrittenText(text.span, text.value, text, range(len(text.value) + 1))
    for _ in range(limits.SYNTAX_FAULTS):
        builder = _TreeBuilder(reading, subject)
        try:
            expression, depth = load_parser("v1" if kind == "v1" else "formula").read(
                reading.value, start, builder.build
            )
            break
        except SyntaxFault as error:
            from formulaseed.language.syntax_errors import explain_syntax_fault  # most formulas have no such faults

            fault = explain_syntax_fault(reading.value, error.position, error.expected, kind, name)
            if reading.is_replaced(fault.start, fault.end):
                return None  # a consequence of what is reported already
            help: Help = fault.help
            if fault.fix is not None:
                replacement = _add_spaces(reading.value, fault.start, fault.end, fault.fix)
                help = Suggestion(fault.help, _escape_for_json(replacement, text), is_verbatim=True)
            span = reading.subspan(fault.start, fault.end)
            problems.report(diagnostic(fault.code, span, fault.message, help, fault.is_security))
            if fault.fix is None:
                return None
            reading = reading.apply_fix(fault.start, fault.end, fault.fix)  # the rest is checked as if it was fixed
    else:
        return None
    if depth > limits.TREE_DEPTH:
        too_deep = catalogue.TOO_DEEP.format("operations", depth, limits.TREE_DEPTH)
        problems.report(catalogue.too_large(text.span, too_deep))
        return None
    for found in builder.faults:
        problems.report(found)
    return None if builder.faults else expression


def _add_spaces(text: str, start: int, end: int, fix: str) -> str:
    """Return the fix as a file shows it: an operator such as ` and ` has a space on each side, but no second one."""
    if fix.isspace():
        return fix
    before, behind = text[:start][-1:], text[end : end + 1]
    needs_space = fix.startswith(" ")
    head = " " if needs_space and before and not before.isspace() else ""
    tail = " " if needs_space and behind and not behind.isspace() else ""
    return f"{head}{fix.strip()}{tail}"


def _escape_for_json(formula: str, text: JsonString) -> str:
    """Return a part of a formula as the file writes it inside of `text`."""
    return formula if isinstance(text, PlainText) else json.dumps(formula, ensure_ascii=False)[1:-1]


def _find_excess(text: str) -> str | None:
    """Why the text is over a limit, or None; without recursion."""
    if len(text) > limits.FORMULA_CHARACTERS:
        return catalogue.too_many(len(text), "character", limits.FORMULA_CHARACTERS)
    listed = limits.LIST_ITEMS * (" in " in text)
    size = measure([text])
    if size.terms > limits.FORMULA_TERMS + listed:
        return catalogue.too_many(size.terms, "term", limits.FORMULA_TERMS)
    if size.symbols > limits.FORMULA_TOKENS + 2 * listed:
        return catalogue.too_many(size.symbols, "symbol", limits.FORMULA_TOKENS)
    deepest = max(accumulate(_BRACKETS.get(character, 0) for character in _STRING.sub("", text)), default=0)
    most = limits.FORMULA_NESTING
    return catalogue.TOO_DEEP.format("brackets", deepest, most) if deepest > most else None


_CONSTANTS = {"true": True, "false": False}
_STRING_ESCAPE = re.compile(r"\\(.)")
_STRING_ESCAPES = {"n": "\n", "t": "\t"}


def _string(span: Span, parts: list[str]) -> ast.Expr:
    return ast.Literal(span, _STRING_ESCAPE.sub(lambda match: _STRING_ESCAPES.get(match[1], match[1]), parts[0][1:-1]))


_NODES: dict[str, Callable[[Span, list[Any]], Any]] = {
    **dict.fromkeys(("formula", "continuation", "v1", "group"), lambda span, parts: parts[0]),
    "conditional": lambda span, parts: ast.Conditional(span, parts[1], parts[0], parts[2]),
    "or_test": lambda span, parts: parts[0] if len(parts) == 1 else ast.Logical(span, "or", tuple(parts)),
    "and_test": lambda span, parts: parts[0] if len(parts) == 1 else ast.Logical(span, "and", tuple(parts)),
    "negation": lambda span, parts: ast.Not(span, parts[0]),
    "comparison_operator": lambda span, parts: " ".join(parts),
    "comparison": lambda span, parts: ast.Comparison(span, parts[0], tuple(parts[1::2]), tuple(parts[2::2])),
    "binary": lambda span, parts: ast.Binary(span, parts[1], parts[0], parts[2]),
    "unary": lambda span, parts: ast.Unary(span, parts[0], parts[1]),
    "string": _string,
    "constant": lambda span, parts: ast.Literal(span, _CONSTANTS.get(parts[0].lower())),
    "name": lambda span, parts: ast.Name(span, parts[0]),
    "filter": lambda span, parts: ast.FilterName(span, parts[0][1:]),
    "arguments": lambda span, parts: [part for part in parts if part is not None],
    "list_literal": lambda span, parts: ast.List(span, tuple(parts[0] or ())),
    "list_comprehension": lambda span, parts: replace(parts[0], span=span, is_list=True),
    "comprehension": lambda span, parts: ast.Comprehension(span, parts[0], parts[1], parts[2], tuple(parts[3:])),
    "subscript": lambda span, parts: ast.Subscript(span, parts[0], parts[1]),
}
"""What the rules of the grammar make of their parts; the others are methods of the builder."""


class _TreeBuilder:
    """What the rules of the grammar make of one text. Every method but `build` is named for a rule."""

    def __init__(self, text: _RewrittenText, subject: ast.Expr | None) -> None:
        self.text = text
        self.written = text.written if text.value == text.written.value else text
        self.subject = subject
        self.faults: list[Diagnostic] = []

    def build(self, rule: str, start: int, end: int, parts: list[Any]) -> Any:
        span, node = self.written.subspan(start, end), _NODES.get(rule)
        return node(span, parts) if node else getattr(self, rule)(span, start, parts)

    def continued_comparison(self, span: Span, start: int, parts: list[Any]) -> ast.Expr:
        assert self.subject is not None
        return ast.Comparison(span, self.subject, tuple(parts[0::2]), tuple(parts[1::2]))

    def number(self, span: Span, start: int, parts: list[str]) -> ast.Expr:
        text = parts[0].replace("_", "")
        is_long = len(text) > limits.NUMBER_CHARACTERS
        value = int(text) if text.isdigit() and not is_long else float(text)
        if value > (limits.INTEGER_MAX if text.isdigit() else limits.NUMBER_MAX):
            self.faults.append(catalogue.number_out_of_range(span, text))
        return ast.Literal(span, value)

    def keyword(self, span: Span, start: int, parts: list[Any]) -> ast.Expr:
        word, value = parts
        return ast.Keyword(span, ast.Name(self.written.subspan(start, start + len(word)), word), value)

    def call(self, span: Span, start: int, parts: list[Any]) -> ast.Expr:
        word, arguments = parts
        name = ast.Name(self.written.subspan(start, start + len(word)), word)
        return ast.Call(span, name, tuple(arguments or ()))
