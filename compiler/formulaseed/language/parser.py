"""Parses formulas into syntax trees.

In: the text of a formula, inside a JSON string. Out: an `ast.Expr`, or None with the errors reported. Limits are checked before
the text is parsed. Shorthands of requests have their own parser in `requests.shorthand`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from formulaseed import limits
from formulaseed.diagnostics.catalogue import syntax as catalogue
from formulaseed.diagnostics.model import Diagnostic, Help, Problems, Suggestion, diagnostic
from formulaseed.language import ast
from formulaseed.language.sizes import blank_comments, measure
from formulaseed.language.tables import SyntaxFault, load_parser
from formulaseed.source.json_reader import JsonString, PlainText
from formulaseed.source.text import Span, tree_node

if TYPE_CHECKING:
    from formulaseed.language.hints import FormulaKind

_STRING = re.compile(r"""'(?:[^'\\]|\\.)*+'?|"(?:[^"\\]|\\.)*+"?""")
_BRACKETS = {"(": 1, "[": 1, ")": -1, "]": -1}


def parse_formula(text: JsonString, problems: Problems, *, is_condition: bool = False) -> ast.Expr | None:
    """Parse a whole formula, such as `N_MILD * 2`, or a condition. Reports errors, and then returns None."""
    return _parse(text, "condition" if is_condition else "formula", None, problems)


def parse_v1_formula(text: JsonString, problems: Problems) -> ast.Expr | None:
    """Parse a formula of a seed v1, which may have loops over reviews. Reports errors, and then returns None."""
    return _parse(text, "v1", None, problems)


def parse_continuation(text: JsonString, subject: ast.Expr, problems: Problems) -> ast.Expr | None:
    """Parse a comparison without its left side, such as `< 4.0` in the `when` of a case; `subject` is the left side.

    Reports errors, and returns None if one has no safe fix; otherwise the text counts as fixed.
    """
    return _parse(text, "continuation", subject, problems)


@tree_node
class _RewrittenText(JsonString):
    """A formula with safe fixes applied, whose spans are still those of the `written` text.

    `origins` holds for every character of `value`, and for its end, its place in `written`.
    """

    written: JsonString
    origins: Sequence[int]

    def subspan(self, start: int, end: int) -> Span:
        """Return the span in the file of the characters `start` to `end` of the rewritten formula."""
        return self.written.subspan(self.origins[start], self.origins[end])

    def apply_fix(self, start: int, end: int, fix: str) -> _RewrittenText:
        """Return a copy with `fix` in place of the characters `start` to `end`."""
        origins = self.origins
        places = (*origins[:start], *(origins[start],) * len(fix), *origins[end:])
        return _RewrittenText(self.span, self.value[:start] + fix + self.value[end:], self.written, places)

    def is_replaced(self, start: int, end: int) -> bool:
        """Return whether any of the characters `start` to `end` was written by a fix, not by the author."""
        return self.value[start:end] != self.written.value[self.origins[start] : self.origins[end]]


def _parse(text: JsonString, kind: FormulaKind, subject: ast.Expr | None, problems: Problems) -> ast.Expr | None:
    """Parse a formula of any kind. Returns None if an error without a safe fix was reported.

    Syntax errors with a safe fix are reported, and parsing goes on as if they were fixed, up to a limit. A text that is
    too long or too deeply nested, and a number out of range, have no fix. `subject` is the left side of a continuation.
    """
    if too_large := _find_excess(text.value):
        problems.report(catalogue.too_large(text.span, too_large))
        return None
    start = "formula" if kind == "condition" else kind
    name = subject.text if isinstance(subject, ast.Name) else ""
    reading = _RewrittenText(text.span, text.value, text, range(len(text.value) + 1))
    parser = load_parser("v1" if kind == "v1" else "formula")
    for _ in range(limits.SYNTAX_FAULTS):
        builder = _TreeBuilder(reading, subject)
        try:
            expression, depth = parser.read(reading.value, start, builder.build)
        except SyntaxFault as fault:
            rewritten = _report_fault(fault, reading, kind, name, problems)
            if rewritten is None:
                return None
            reading = rewritten
            continue
        if depth > limits.TREE_DEPTH:
            too_deep = catalogue.TOO_DEEP.format("operations", depth, limits.TREE_DEPTH)
            problems.report(catalogue.too_large(text.span, too_deep))
            return None
        for problem in builder.problems:
            problems.report(problem)
        return None if builder.problems else expression
    return None


def _report_fault(
    fault: SyntaxFault, reading: _RewrittenText, kind: FormulaKind, subject: str, problems: Problems
) -> _RewrittenText | None:
    """Report a syntax error. Returns the text with a safe fix applied, or None if the error has none.

    Nothing is reported, and None returned, for an error in the text that an earlier fix wrote: it is a consequence of that.
    """
    from formulaseed.language.syntax_errors import explain_syntax_fault  # most formulas have no such errors

    mistake = explain_syntax_fault(reading.value, fault.position, fault.expected, kind, subject)
    if reading.is_replaced(mistake.start, mistake.end):
        return None
    help: Help = mistake.help
    if mistake.fix is not None:
        replacement = _add_spaces(reading.value, mistake.start, mistake.end, mistake.fix)
        help = Suggestion(mistake.help, _escape_for_json(replacement, reading.written), is_verbatim=True)
    span = reading.subspan(mistake.start, mistake.end)
    problems.report(diagnostic(mistake.code, span, mistake.message, help, mistake.is_security))
    if mistake.fix is None:
        return None
    return reading.apply_fix(mistake.start, mistake.end, mistake.fix)


def _add_spaces(text: str, start: int, end: int, fix: str) -> str:
    """Return the fix to write at `start` to `end`, without its spaces beside other spaces and at the ends of `text`.

    A fix of spaces alone is returned as it is.
    """
    if fix.isspace():
        return fix
    replacement = fix.strip()
    if fix.startswith(" ") and text[:start] and not text[start - 1].isspace():
        replacement = f" {replacement}"
    if fix.startswith(" ") and text[end:] and not text[end].isspace():
        replacement = f"{replacement} "
    return replacement


def _escape_for_json(formula: str, text: JsonString) -> str:
    """Return a part of a formula with the escapes that it needs inside `text`, a JSON string; unchanged for plain text."""
    if isinstance(text, PlainText):
        return formula
    return json.dumps(formula, ensure_ascii=False)[1:-1]


def _find_excess(text: str) -> str | None:
    """Return a message about the first limit that the text exceeds; None if it exceeds none.

    Does not recurse, however deep the nesting.
    """
    if len(text) > limits.FORMULA_CHARACTERS:
        return catalogue.too_many(len(text), "character", limits.FORMULA_CHARACTERS)
    listed = limits.LIST_ITEMS * (" in " in text)
    size = measure([text])
    if size.terms > limits.FORMULA_TERMS + listed:
        return catalogue.too_many(size.terms, "term", limits.FORMULA_TERMS)
    if size.symbols > limits.FORMULA_TOKENS + 2 * listed:
        return catalogue.too_many(size.symbols, "symbol", limits.FORMULA_TOKENS)
    symbols = _STRING.sub("", blank_comments(text))
    depth = max(accumulate(_BRACKETS.get(symbol, 0) for symbol in symbols), default=0)
    if depth > limits.FORMULA_NESTING:
        return catalogue.TOO_DEEP.format("brackets", depth, limits.FORMULA_NESTING)
    return None


_CONSTANTS = {"true": True, "false": False}
_STRING_ESCAPE = re.compile(r"\\(.)")
_STRING_ESCAPES = {"n": "\n", "t": "\t"}


def _build_string(span: Span, parts: list[str]) -> ast.Expr:
    return ast.Literal(span, _STRING_ESCAPE.sub(lambda match: _STRING_ESCAPES.get(match[1], match[1]), parts[0][1:-1]))


def _build_logical(span: Span, operator: str, parts: list[ast.Expr]) -> ast.Expr:
    """Return `and` or `or` of the operands. A single one, as in some rules of a continuation, is returned itself."""
    return parts[0] if len(parts) == 1 else ast.Logical(span, operator, tuple(parts))


_NODES: dict[str, Callable[[Span, list[Any]], Any]] = {
    **dict.fromkeys(("formula", "continuation", "v1", "group"), lambda span, parts: parts[0]),
    "conditional": lambda span, parts: ast.Conditional(span, parts[1], parts[0], parts[2]),
    "or_test": lambda span, parts: _build_logical(span, "or", parts),
    "and_test": lambda span, parts: _build_logical(span, "and", parts),
    "negation": lambda span, parts: ast.Not(span, parts[0]),
    "comparison_operator": lambda span, parts: " ".join(parts),
    "comparison": lambda span, parts: ast.Comparison(span, parts[0], tuple(parts[1::2]), tuple(parts[2::2])),
    "binary": lambda span, parts: ast.Binary(span, parts[1], parts[0], parts[2]),
    "unary": lambda span, parts: ast.Unary(span, parts[0], parts[1]),
    "string": _build_string,
    "constant": lambda span, parts: ast.Literal(span, _CONSTANTS.get(parts[0].lower())),
    "name": lambda span, parts: ast.Name(span, parts[0]),
    "filter": lambda span, parts: ast.FilterName(span, parts[0][1:]),
    "arguments": lambda span, parts: [part for part in parts if part is not None],
    "list_literal": lambda span, parts: ast.List(span, tuple(parts[0] or ())),
    "list_comprehension": lambda span, parts: replace(parts[0], span=span, is_list=True),
    "comprehension": lambda span, parts: ast.Comprehension(span, parts[0], parts[1], parts[2], tuple(parts[3:])),
    "subscript": lambda span, parts: ast.Subscript(span, parts[0], parts[1]),
}
"""The functions that build the nodes of the grammar's rules; the other rules are methods of the builder."""


class _TreeBuilder:
    """Builds the syntax tree of one text.

    `build` is called for each rule that the parser has read, the inner ones first. `subject` is the left side of a continuation,
    else None. `problems` are the errors in the values of literals.
    """

    def __init__(self, text: _RewrittenText, subject: ast.Expr | None) -> None:
        """Build nodes from `text`, with no problems found so far. `subject` is the left side of a continuation."""
        self.text: JsonString = text
        if text.value == text.written.value:
            self.text = text.written  # finds spans faster
        self.subject = subject
        self.problems: list[Diagnostic] = []

    def build(self, rule: str, start: int, end: int, parts: list[Any]) -> Any:
        """Return the value of a grammar rule, read at `start` to `end`, out of its `parts`: texts and values."""
        span = self.text.subspan(start, end)
        build_node = _NODES.get(rule)
        if build_node is not None:
            return build_node(span, parts)
        return getattr(self, f"_build_{rule}")(span, start, parts)

    def _build_continued_comparison(self, span: Span, start: int, parts: list[Any]) -> ast.Expr:
        """Return the comparison of `self.subject` with `parts`, operators and operands in turn."""
        assert self.subject is not None
        return ast.Comparison(span, self.subject, tuple(parts[0::2]), tuple(parts[1::2]))

    def _build_number(self, span: Span, start: int, parts: list[str]) -> ast.Expr:
        """Return the literal of a number. Adds a problem to `problems` if the number is out of range."""
        text = parts[0].replace("_", "")
        value = float(text)
        largest: float = limits.NUMBER_MAX
        if text.isdigit():
            largest = limits.INTEGER_MAX
            if len(text) <= limits.NUMBER_CHARACTERS:
                value = int(text)
        if value > largest:
            self.problems.append(catalogue.number_out_of_range(span, text))
        return ast.Literal(span, value)

    def _build_keyword(self, span: Span, start: int, parts: list[Any]) -> ast.Expr:
        word, value = parts
        return ast.Keyword(span, ast.Name(self.text.subspan(start, start + len(word)), word), value)

    def _build_call(self, span: Span, start: int, parts: list[Any]) -> ast.Expr:
        word, arguments = parts
        name = ast.Name(self.text.subspan(start, start + len(word)), word)
        return ast.Call(span, name, tuple(arguments or ()))
