"""Parse and print the shorthand of requests, such as `AND(quiet, OR(wifi_free, 1HOP(['Alice'], 'cozy')))`.

In: a text, alone or in a JSON string, or a structure. Out: a tree, or None and a diagnostic. A name begins with a letter,
a digit or `_` and holds no white space, comma or bracket, but for pairs of round brackets that do not follow a letter or a
digit: `cat_american_(traditional)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, Literal

from lark import Lark, Token, Transformer_NonRecursive, UnexpectedInput, UnexpectedToken, v_args
from lark.tree import Meta

from formulaseed import limits
from formulaseed.diagnostics.catalogue import requests as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.language.sizes import measure
from formulaseed.requests import model
from formulaseed.resources import read_resource
from formulaseed.source.json_reader import JsonString, PlainText
from formulaseed.source.text import Source, Span

SpanFactory = Callable[[int, int], Span]
"""A function that returns the span between two offsets of a text."""


@dataclass(frozen=True, slots=True)
class AspectName:
    """A condition, under a name that may differ from its aspect in the structure."""

    span: Span = field(compare=False)
    text: str


@dataclass(frozen=True, slots=True)
class Hop:
    """A condition on reviews by people up to `hops` edges from the friends: their texts, or their stars if `pattern` is None."""

    span: Span = field(compare=False)
    hops: int
    friends: tuple[str, ...]
    pattern: str | None


@dataclass(frozen=True, slots=True)
class JoinedNames:
    """`AND` or `OR` over one or more arguments."""

    span: Span = field(compare=False)
    op: Literal["AND", "OR"]
    args: tuple[Shorthand, ...]


Shorthand = AspectName | Hop | JoinedNames

FILE_BUDGET = limits.Budget("shorthand terms")
"""The budget for the names and strings of all shorthands of a file."""

HOPS = ("0", "1", "2")
"""The numbers of hops from the friends that may be written before `HOP`; 0 is the friends themselves."""


def parse_shorthand(text: JsonString | Source, problems: Problems) -> Shorthand | None:
    """Parse a JSON string, or a whole source, as a shorthand; return None, with its first error reported, if it is invalid."""
    if isinstance(text, Source):
        text = PlainText(Span(text, 0, len(text.text)), text.text)
    parsed = _parse(text)
    if isinstance(parsed, Diagnostic):
        problems.report(parsed)
        return None
    return parsed


def print_shorthand(tree: Shorthand) -> str:
    """Return the canonical text of a tree: one space after each comma, strings quoted as Python quotes them."""
    if isinstance(tree, AspectName):
        return tree.text
    if isinstance(tree, JoinedNames):
        return f"{tree.op}({', '.join(map(print_shorthand, tree.args))})"
    friends = f"[{', '.join(map(repr, tree.friends))}]"
    if tree.pattern is None:
        return f"{tree.hops}HOP_STARS({friends})"
    return f"{tree.hops}HOP({friends}, {tree.pattern!r})"


def convert_to_name(text: str) -> str:
    """Return the text as a name of a shorthand, with `_` in place of each character that names cannot have.

    An additional `_` comes first if the text is still no name: if it is empty, a word of the notation such as `AND`, or
    begins with a character that names cannot begin with.
    """
    text = "".join(c if c.isprintable() and c not in " ,[]" else "_" for c in text)
    if not _name_pattern().fullmatch(text):
        text = text.replace("(", "_").replace(")", "_")
    if not _name_pattern().fullmatch(text):
        text = f"_{text}"
    return text


@cache
def _name_pattern() -> re.Pattern[str]:
    """Return the grammar's `NAME` as a regular expression that refuses the words of the notation."""
    name, *words = (_lark().get_terminal(word).pattern.to_regexp() for word in ("NAME", "OPERATOR", "HOP", "STARS"))
    return re.compile(rf"(?!(?:{'|'.join(words)})\Z){name}")


def _parse(string: JsonString) -> Shorthand | Diagnostic:
    """Return the tree of a shorthand, or the diagnostic of its first error, which it does not report.

    An error is a limit, a hidden character, invalid syntax or too many hops. Charges `FILE_BUDGET`.
    """
    text = string.value
    make_span = string.subspan
    if len(text) > limits.SHORTHAND_CHARACTERS:
        return catalogue.shorthand_over_limit(make_span(0, 0), len(text), "characters", limits.SHORTHAND_CHARACTERS)
    if not FILE_BUDGET.take(measure((text,)).terms):
        return catalogue.shorthands_over_limit(make_span(0, len(text)), limits.FILE_SHORTHAND_TERMS)
    for offset, character in enumerate(text):
        if not character.isprintable() and character not in " \t\r\n":
            return catalogue.hidden_character(make_span(offset, offset + 1), character)
    tokens: list[Token] = []
    parser = _lark().parse_interactive()
    depth = terms = 0
    try:
        for token in _lark().lex(text):
            depth += (token.type == "LPAR") - (token.type == "RPAR")
            terms += token.type in ("NAME", "TEXT")
            for count, unit, maximum in (
                (depth, "levels of brackets", limits.SHORTHAND_NESTING),
                (terms, "names and strings", limits.SHORTHAND_TERMS),
            ):
                if count > maximum:
                    return catalogue.shorthand_over_limit(make_span(*_token_ends(token)), count, unit, maximum)
            parser.feed_token(token)
            tokens.append(token)
        tree = parser.feed_token(Token("$END", "", len(text)))
    except UnexpectedInput as error:
        accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
        return _diagnose(_ParseStop(text, make_span, tokens, accepted, *_locate_error(text, error)))
    for token in tokens:
        if token.type in ("HOP", "STARS") and token[: token.index("H")] not in HOPS:
            return catalogue.hops_too_far(make_span(*_token_ends(token)), token[:20], token.lstrip("0123456789"))
    shorthand: Shorthand = _ShorthandBuilder(make_span).transform(tree)
    return shorthand


@dataclass(frozen=True, slots=True)
class _ParseStop:
    """The point of a shorthand's first syntax error: after `tokens`, where a token of a type in `accepted` could follow.

    The unexpected text, from `start` to `end`, is `token`, or characters that begin no token; it is empty at the end of the
    shorthand.
    """

    text: str
    make_span: SpanFactory
    tokens: list[Token]
    accepted: set[str]
    token: Token | None
    start: int
    end: int

    @property
    def unexpected_text(self) -> str:
        """The text that is no part of a shorthand; empty at its end."""
        return self.text[self.start : self.end]

    @property
    def last_token(self) -> Token | None:
        """The token before the error; None if the error is at the start."""
        return self.tokens[-1] if self.tokens else None

    @property
    def span(self) -> Span:
        return self.make_span(self.start, self.end)


_SIGN = re.compile(r"&&|\|\||[A-Za-z]+(?![^\s,()\[\]])|.", re.DOTALL)


def _locate_error(text: str, error: UnexpectedInput) -> tuple[Token | None, int, int]:
    """Return the unexpected token, and the start and end of the unexpected text; the token is None if there is none."""
    if isinstance(error, UnexpectedToken):
        if error.token.type == "$END":
            end = len(text.rstrip())
            return None, end, end
        return error.token, *_token_ends(error.token)
    start = error.pos_in_stream or 0
    sign = _SIGN.match(text, start)
    end = sign.end() if sign else start
    return None, start, end


def _diagnose(stop: _ParseStop) -> Diagnostic:
    """Return the diagnostic of the first known mistake that matches, or else one that lists the accepted tokens."""
    return (
        _diagnose_operator(stop)
        or _diagnose_infix(stop)
        or _diagnose_quote(stop)
        or _diagnose_bracket(stop)
        or _diagnose_unexpected(stop)
    )


def _diagnose_operator(stop: _ParseStop) -> Diagnostic | None:
    """Return the diagnostic of an unknown operator or a negation; None if the error is no such mistake."""
    last = stop.last_token
    if last is not None and last.type == "NAME" and stop.token is not None and stop.token.type == "LPAR":
        return catalogue.unknown_shorthand_operator(stop.make_span(*_token_ends(last)), last)
    if last is not None and last.lower() in catalogue.NEGATIONS:
        return catalogue.negated_shorthand(stop.make_span(*_token_ends(last)), last)
    if stop.unexpected_text in catalogue.NEGATIONS:
        return catalogue.negated_shorthand(stop.span, stop.unexpected_text)
    return None


def _diagnose_infix(stop: _ParseStop) -> Diagnostic | None:
    """Return the diagnostic of an operator such as `&&` between two conditions; None if the error is no such mistake."""
    last = stop.last_token
    if last is None or stop.unexpected_text.lower() not in catalogue.INFIX or stop.text[stop.end : stop.end + 1] == "(":
        return None
    right = re.compile(r"\s*(\w[^\s,()\[\]]*+)(?!\()").match(stop.text, stop.end)
    operands = ("a", "b")
    if last.type == "NAME" and right:
        operands = (str(last), right[1])
    return catalogue.infix_in_shorthand(stop.span, stop.unexpected_text, *operands)


def _diagnose_quote(stop: _ParseStop) -> Diagnostic | None:
    """Return the diagnostic of an unclosed string or a typographic quote; None if the error is no such mistake."""
    if stop.token is None and stop.unexpected_text[:1] in ("'", '"'):
        return catalogue.string_without_end(stop.make_span(stop.start, len(stop.text)), stop.unexpected_text)
    if stop.token is None and stop.unexpected_text[:1] in tuple("‘’“”«»`´"):
        return catalogue.wrong_quote(stop.make_span(stop.start, stop.start + 1), stop.unexpected_text)
    return None


def _diagnose_bracket(stop: _ParseStop) -> Diagnostic | None:
    """Return the diagnostic of a bracket that is still open at the end of the shorthand; None if the error is no such mistake."""
    brackets = _open_brackets(stop.tokens)
    if stop.unexpected_text or not brackets or not {"RPAR", "RSQB"} & stop.accepted:
        return None
    before, bracket = brackets[-1]
    span = stop.make_span(before.start_pos or 0, _token_ends(bracket)[1])
    if bracket == "(":
        return catalogue.unclosed_bracket(span, f"{before}(", ")")
    return catalogue.unclosed_bracket(span, "[", "]")


def _diagnose_unexpected(stop: _ParseStop) -> Diagnostic:
    """Return the diagnostic of any other unexpected text, with the tokens that could follow."""
    brackets = _open_brackets(stop.tokens)
    word = next((before for before, bracket in reversed(brackets) if bracket.type == "LPAR"), None)
    if "LPAR" in stop.accepted:
        word = stop.last_token
    kind, name = (word.type, str(word)) if word else ("OPERATOR", "AND")
    return catalogue.invalid_shorthand_token(stop.span, stop.unexpected_text, stop.accepted, kind, name)


def _open_brackets(tokens: list[Token]) -> list[tuple[Token, Token]]:
    """Return the brackets that are still open after these tokens, outermost first, each after the token before it."""
    brackets: list[tuple[Token, Token]] = []
    for before, token in pairwise([*tokens[:1], *tokens]):
        if token.type in ("LPAR", "LSQB"):
            brackets.append((before, token))
        elif token.type in ("RPAR", "RSQB"):
            brackets.pop()
    return brackets


def _token_ends(token: Token) -> tuple[int, int]:
    """Return the start and the end of a token in the shorthand."""
    start = token.start_pos or 0
    return start, start + len(token)


@cache
def _lark() -> Lark:
    # With the basic lexer a token is the same wherever it appears, so that messages can name one that is not allowed there.
    grammar = read_resource("grammar", "shorthand.lark")
    return Lark(grammar, parser="lalr", lexer="basic", start="shorthand", propagate_positions=True)


_ESCAPE = re.compile(
    r"""\\(?:(?P<plain>['"\\nrt])|x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}))"""
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def _unescape(match: re.Match[str]) -> str:
    """Return the character that an escape stands for, such as a tab, or the one with a given code."""
    plain = match["plain"]
    if plain is not None:
        return _ESCAPES.get(plain, plain)
    return chr(int(match["x"] or match["u"] or match["U"], 16))


@v_args(meta=True)
class _ShorthandBuilder(Transformer_NonRecursive[Token, Shorthand]):
    """A converter of Lark's tree to a `Shorthand`. Every method is named for a rule of `shorthand.lark`."""

    def __init__(self, make_span: SpanFactory) -> None:
        super().__init__()
        self.make_span = make_span

    def span(self, meta: Meta) -> Span:
        """Return the span of a part of the shorthand in its file."""
        return self.make_span(meta.start_pos, meta.end_pos)

    def name(self, meta: Meta, children: list[Token]) -> Shorthand:
        """Return a name."""
        return AspectName(self.span(meta), str(children[0]))

    def junction(self, meta: Meta, children: list[Any]) -> Shorthand:
        """Return a junction, from its operator and arguments."""
        operator, *args = children
        return JoinedNames(self.span(meta), "AND" if operator == "AND" else "OR", tuple(args))

    def friends(self, meta: Meta, children: list[Token]) -> tuple[str, ...]:
        """Return the names in the list of friends."""
        return tuple(map(_unquote, children))

    def hop(self, meta: Meta, children: list[Any]) -> Shorthand:
        """Return a condition on people, from a word such as `1HOP`, the friends and, for texts of reviews, a pattern."""
        word, friends, *pattern = children
        return Hop(self.span(meta), int(word[0]), friends, _unquote(pattern[0]) if pattern else None)

    stars = hop


def _unquote(token: Token) -> str:
    r"""Return a string without its quotes. A backslash that begins no escape stays, as patterns need it: `'\bcozy'`."""
    return _ESCAPE.sub(_unescape, token[1:-1])


# --- a structure and its shorthand


def format_as_shorthand(node: model.Node) -> str:
    """Return the canonical text of the shorthand of a structure."""
    return print_shorthand(build_shorthand(node))


def build_shorthand(node: model.Node) -> Shorthand:
    """Return the tree of a structure's shorthand: a condition is its aspect, or a `HOP` if its evidence has a social filter.

    A junction of one argument is that argument.
    """
    if isinstance(node, model.Condition):
        return _build_hop(node) or AspectName(node.span, convert_to_name(node.aspect))
    if len(node.args) == 1:
        return build_shorthand(node.args[0])
    return JoinedNames(node.span, node.op, tuple(map(build_shorthand, node.args)))


def _build_hop(condition: model.Condition) -> Hop | None:
    """Return a condition as `HOP`; None if its evidence has no social filter."""
    evidence = condition.evidence
    if not isinstance(evidence, model.ReviewText | model.Sentiment | model.SocialRating) or not evidence.social_filter:
        return None
    pattern = None
    if isinstance(evidence, model.ReviewText):
        pattern = evidence.pattern
    elif isinstance(evidence, model.Sentiment):
        pattern = evidence.topic
    return Hop(condition.span, evidence.social_filter.hops, evidence.social_filter.friends, pattern)
