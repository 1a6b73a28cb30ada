"""Text to expression: drives Lark and builds the tree.

In: the text of a formula, inside a JSON string. Out: an `ast.Expr`, or a diagnostic and None.
Limits are checked before Lark sees the text. Shorthands have a parser of their own in `shorthand`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import Any

from lark import Lark, Token, Transformer_NonRecursive, Tree, UnexpectedInput, v_args
from lark.tree import Meta

from formulaseed import limits
from formulaseed.diagnostics.catalogue import syntax as catalogue
from formulaseed.diagnostics.model import Problems, diagnostic
from formulaseed.language import ast
from formulaseed.language.hints import Kind
from formulaseed.language.sizes import extent
from formulaseed.language.syntax_errors import explain
from formulaseed.resources import read_resource
from formulaseed.source.json_reader import JsonString
from formulaseed.source.text import Span, tree_node

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
    reading, tree = _RewrittenText(text.span, text.value, text, range(len(text.value) + 1)), None
    for _ in range(limits.SYNTAX_FAULTS):
        try:
            tree = _lark(start).parse(reading.value, start=start)
            break
        except UnexpectedInput as error:
            fault = explain(reading.value, error, kind, name)
            if reading.is_replaced(fault.start, fault.end):
                return None  # a consequence of what is reported already
            if fault.message:
                span = reading.inside(fault.start, fault.end)
                problems.report(diagnostic(fault.code, span, fault.message, fault.help, fault.is_security))
            if fault.instead is None:
                return None
            reading = reading.replaced(fault.start, fault.end, fault.instead)
    if tree is None:
        return None
    if (depth := _depth(tree)) > limits.TREE_DEPTH:
        too_deep = catalogue.too_deep("operations", depth, limits.TREE_DEPTH)
        problems.report(catalogue.too_large(text.span, too_deep))
        return None
    builder = _Builder(reading, subject, problems)
    expression: ast.Expr = builder.transform(tree)
    return None if builder.has_errors else expression


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
    return catalogue.too_deep("brackets", deepest, limits.FORMULA_NESTING) if deepest > limits.FORMULA_NESTING else None


def _depth(tree: Tree[Token]) -> int:
    """How deep the operations are nested."""
    deepest = 0
    stack = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        stack += [(child, depth + 1) for child in node.children if isinstance(child, Tree)]
    return deepest


def _lark(start: str) -> Lark:
    """The parser for a start rule: one for seeds v2, one for seeds v1, made when it is first needed."""
    return _parser(("v1",) if start == "v1" else ("formula", "continuation"))


@cache
def _parser(starts: tuple[str, ...]) -> Lark:
    grammar = read_resource("grammar", "formula.lark")
    return Lark(
        grammar if "v1" in starts else grammar.partition("// --- loops")[0],
        parser="lalr",
        start=list(starts),
        propagate_positions=True,
        maybe_placeholders=True,
    )


_CONSTANTS = {"true": True, "false": False}
_STRING_ESCAPE = re.compile(r"\\(.)")
_STRING_ESCAPES = {"n": "\n", "t": "\t"}


@v_args(meta=True)
class _Builder(Transformer_NonRecursive[Token, ast.Expr]):
    """Lark's tree to ours. Every method is named for a rule of the grammar."""

    def __init__(self, text: _RewrittenText, subject: ast.Expr | None, problems: Problems) -> None:
        super().__init__()
        self.text = text
        self.subject = subject
        self.problems = problems
        self.has_errors = False

    def span(self, meta: Meta) -> Span:
        return self.text.inside(meta.start_pos, meta.end_pos)

    def formula(self, meta: Meta, children: list[ast.Expr]) -> ast.Expr:
        return children[0]

    continuation = v1 = group = formula

    def conditional(self, meta: Meta, children: list[ast.Expr]) -> ast.Expr:
        then, condition, otherwise = children
        return ast.Conditional(self.span(meta), condition, then, otherwise)

    def or_test(self, meta: Meta, children: list[ast.Expr]) -> ast.Expr:
        return children[0] if len(children) == 1 else ast.Logical(self.span(meta), "or", tuple(children))

    def and_test(self, meta: Meta, children: list[ast.Expr]) -> ast.Expr:
        return children[0] if len(children) == 1 else ast.Logical(self.span(meta), "and", tuple(children))

    def negation(self, meta: Meta, children: list[ast.Expr]) -> ast.Expr:
        return ast.Not(self.span(meta), children[0])

    def comparison_operator(self, meta: Meta, children: list[Token]) -> str:
        return " ".join(children)

    def comparison(self, meta: Meta, children: list[Any]) -> ast.Expr:
        return ast.Comparison(self.span(meta), children[0], tuple(children[1::2]), tuple(children[2::2]))

    def continued_comparison(self, meta: Meta, children: list[Any]) -> ast.Expr:
        assert self.subject is not None
        return ast.Comparison(self.span(meta), self.subject, tuple(children[0::2]), tuple(children[1::2]))

    def binary(self, meta: Meta, children: list[Any]) -> ast.Expr:
        left, operator, right = children
        return ast.Binary(self.span(meta), str(operator), left, right)

    def unary(self, meta: Meta, children: list[Any]) -> ast.Expr:
        operator, operand = children
        return ast.Unary(self.span(meta), str(operator), operand)

    def number(self, meta: Meta, children: list[Token]) -> ast.Expr:
        text = str(children[0])
        is_long = len(text) > limits.NUMBER_CHARACTERS
        value = int(text) if text.isdigit() and not is_long else float(text)
        if value > (limits.INTEGER_MAX if text.isdigit() else limits.NUMBER_MAX):
            self.has_errors = True
            self.problems.report(catalogue.number_out_of_range(self.span(meta), text))
        return ast.Literal(self.span(meta), value)

    def string(self, meta: Meta, children: list[Token]) -> ast.Expr:
        value = _STRING_ESCAPE.sub(lambda m: _STRING_ESCAPES.get(m[1], m[1]), children[0][1:-1])
        return ast.Literal(self.span(meta), value)

    def constant(self, meta: Meta, children: list[Token]) -> ast.Expr:
        return ast.Literal(self.span(meta), _CONSTANTS.get(children[0].lower()))

    def name(self, meta: Meta, children: list[Token]) -> ast.Expr:
        return ast.Name(self.span(meta), str(children[0]))

    def filter(self, meta: Meta, children: list[Token]) -> ast.Expr:
        return ast.FilterName(self.span(meta), children[0][1:])

    def arguments(self, meta: Meta, children: list[ast.Expr]) -> list[ast.Expr]:
        return [child for child in children if child is not None]

    def list_literal(self, meta: Meta, children: list[Any]) -> ast.Expr:
        return ast.List(self.span(meta), tuple(children[0] or ()))

    def list_comprehension(self, meta: Meta, children: list[ast.Comprehension]) -> ast.Expr:
        return replace(children[0], span=self.span(meta), is_list=True)

    def comprehension(self, meta: Meta, children: list[Any]) -> ast.Expr:
        element, variable, source, *conditions = children
        name = ast.Name(self.text.inside(variable.start_pos, variable.end_pos), str(variable))
        return ast.Comprehension(self.span(meta), element, name, source, tuple(conditions))

    def subscript(self, meta: Meta, children: list[ast.Expr]) -> ast.Expr:
        value, index = children
        return ast.Subscript(self.span(meta), value, index)

    def keyword(self, meta: Meta, children: list[Any]) -> ast.Expr:
        token, value = children
        name = ast.Name(self.text.inside(token.start_pos, token.end_pos), str(token))
        return ast.Keyword(self.span(meta), name, value)

    def call(self, meta: Meta, children: list[Any]) -> ast.Expr:
        token, arguments = children
        written = self.text.original(token.start_pos, token.end_pos)
        name = ast.Name(self.text.inside(token.start_pos, token.end_pos), str(token), written=written)
        return ast.Call(self.span(meta), name, tuple(arguments or ()))
