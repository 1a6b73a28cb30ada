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

Place = Callable[[int, int], Span]
"""Returns the span between two offsets of the text."""


@dataclass(frozen=True, slots=True)
class AspectName:
    """A condition, by a name that need not be that of the structure."""

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
"""Limits the names and strings of all shorthands of a file."""

HOPS = ("0", "1", "2")
"""The numbers of hops from the friends that may be written before `HOP`; 0 is the friends themselves."""


def parse_shorthand(text: JsonString | Source, problems: Problems) -> Shorthand | None:
    """Parse a JSON string, or a source that is a shorthand; return None, with its error reported, if it is invalid."""
    parsed = _parse(PlainText(Span(text, 0, len(text.text)), text.text) if isinstance(text, Source) else text)
    if not isinstance(parsed, Diagnostic):
        return parsed
    problems.report(parsed)
    return None


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


def as_name(text: str) -> str:
    """Return the text as a name, with `_` for each character that names cannot have.

    A `_` comes before a text that is empty, a word of the notation, or begins with another character than names do.
    """
    text = "".join(c if c.isprintable() and c not in " ,[]" else "_" for c in text)
    if not _name().fullmatch(text):
        text = text.replace("(", "_").replace(")", "_")
    return text if _name().fullmatch(text) else f"_{text}"


@cache
def _name() -> re.Pattern[str]:
    """Return the grammar's `NAME` as a regular expression that refuses the words of the notation."""
    name, *words = (_lark().get_terminal(word).pattern.to_regexp() for word in ("NAME", "OPERATOR", "HOP", "STARS"))
    return re.compile(rf"(?!(?:{'|'.join(words)})\Z){name}")


def _parse(string: JsonString) -> Shorthand | Diagnostic:
    """Return the tree of a shorthand, or the diagnostic of its first error."""
    text = string.value
    place = string.subspan
    if len(text) > limits.SHORTHAND_CHARACTERS:
        return catalogue.shorthand_over_limit(place(0, 0), len(text), "characters", limits.SHORTHAND_CHARACTERS)
    if not FILE_BUDGET.take(measure((text,)).terms):
        return catalogue.shorthands_over_limit(place(0, len(text)), limits.FILE_SHORTHAND_TERMS)
    for offset, character in enumerate(text):
        if not character.isprintable() and character not in " \t\r\n":
            return catalogue.hidden_character(place(offset, offset + 1), character)
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
                    return catalogue.shorthand_over_limit(place(*_ends(token)), count, unit, maximum)
            parser.feed_token(token)
            tokens.append(token)
        tree = parser.feed_token(Token("$END", "", len(text)))
    except UnexpectedInput as error:
        accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
        return _diagnose(_Stop(text, place, tokens, accepted, *_locate(text, error)))
    for token in tokens:
        if token.type in ("HOP", "STARS") and token[: token.index("H")] not in HOPS:
            return catalogue.hops_too_far(place(*_ends(token)), token[:20], token.lstrip("0123456789"))
    shorthand: Shorthand = _Builder(place).transform(tree)
    return shorthand


@dataclass(frozen=True, slots=True)
class _Stop:
    """The point where a shorthand cannot be parsed any further: after `tokens`, before a token of a type in `accepted`.

    The unexpected text is from `start` to `end`, a `token` or characters that begin none; it is empty at the end.
    """

    text: str
    place: Place
    tokens: list[Token]
    accepted: set[str]
    token: Token | None
    start: int
    end: int

    @property
    def written(self) -> str:
        return self.text[self.start : self.end]

    @property
    def last(self) -> Token | None:
        return self.tokens[-1] if self.tokens else None

    @property
    def span(self) -> Span:
        return self.place(self.start, self.end)


_SIGN = re.compile(r"&&|\|\||[A-Za-z]+(?![^\s,()\[\]])|.", re.DOTALL)


def _locate(text: str, error: UnexpectedInput) -> tuple[Token | None, int, int]:
    """Return the unexpected token, or None, and both ends of the unexpected text."""
    if isinstance(error, UnexpectedToken):
        if error.token.type == "$END":
            end = len(text.rstrip())
            return None, end, end
        return error.token, *_ends(error.token)
    start = error.pos_in_stream or 0
    sign = _SIGN.match(text, start)
    return None, start, sign.end() if sign else start


def _diagnose(stop: _Stop) -> Diagnostic:
    """Return the diagnostic of the typo that is recognized, or one that lists the accepted tokens."""
    return (
        _diagnose_operator(stop)
        or _diagnose_infix(stop)
        or _diagnose_quote(stop)
        or _diagnose_bracket(stop)
        or _diagnose_unexpected(stop)
    )


def _diagnose_operator(stop: _Stop) -> Diagnostic | None:
    """Return the diagnostic of an unknown operator or a negation; None if there is none."""
    last = stop.last
    if last is not None and last.type == "NAME" and stop.token is not None and stop.token.type == "LPAR":
        return catalogue.unknown_shorthand_operator(stop.place(*_ends(last)), last)
    if last is not None and last.lower() in catalogue.NEGATIONS:
        return catalogue.negated_shorthand(stop.place(*_ends(last)), last)
    return catalogue.negated_shorthand(stop.span, stop.written) if stop.written in catalogue.NEGATIONS else None


def _diagnose_infix(stop: _Stop) -> Diagnostic | None:
    """Return the diagnostic of an operator such as `&&` between two conditions; None if there is none."""
    last = stop.last
    if last is None or stop.written.lower() not in catalogue.INFIX or stop.text[stop.end : stop.end + 1] == "(":
        return None
    right = re.compile(r"\s*(\w[^\s,()\[\]]*+)(?!\()").match(stop.text, stop.end)
    operands = (str(last), right[1]) if last.type == "NAME" and right else ("a", "b")
    return catalogue.infix_in_shorthand(stop.span, stop.written, *operands)


def _diagnose_quote(stop: _Stop) -> Diagnostic | None:
    """Return the diagnostic of an unclosed string or a typographic quote; None if there is none."""
    if stop.token is None and stop.written[:1] in ("'", '"'):
        return catalogue.string_without_end(stop.place(stop.start, len(stop.text)), stop.written)
    if stop.token is None and stop.written[:1] in tuple("‘’“”«»`´"):
        return catalogue.wrong_quote(stop.place(stop.start, stop.start + 1), stop.written)
    return None


def _diagnose_bracket(stop: _Stop) -> Diagnostic | None:
    """Return the diagnostic of a bracket that is still open at the end; None if there is none."""
    brackets = _open_brackets(stop.tokens)
    if stop.written or not brackets or not {"RPAR", "RSQB"} & stop.accepted:
        return None
    before, bracket = brackets[-1]
    opening, closing = (f"{before}(", ")") if bracket == "(" else ("[", "]")
    return catalogue.unclosed_bracket(stop.place(before.start_pos or 0, _ends(bracket)[1]), opening, closing)


def _diagnose_unexpected(stop: _Stop) -> Diagnostic:
    brackets = _open_brackets(stop.tokens)
    word = next((before for before, bracket in reversed(brackets) if bracket.type == "LPAR"), None)
    if "LPAR" in stop.accepted:
        word = stop.last
    kind, name = (word.type, str(word)) if word else ("OPERATOR", "AND")
    return catalogue.invalid_shorthand_token(stop.span, stop.written, stop.accepted, kind, name)


def _open_brackets(tokens: list[Token]) -> list[tuple[Token, Token]]:
    """Return the brackets that are open, each after the token before it."""
    brackets: list[tuple[Token, Token]] = []
    for before, token in pairwise([*tokens[:1], *tokens]):
        if token.type in ("LPAR", "LSQB"):
            brackets.append((before, token))
        elif token.type in ("RPAR", "RSQB"):
            brackets.pop()
    return brackets


def _ends(token: Token) -> tuple[int, int]:
    start = token.start_pos or 0
    return start, start + len(token)


@cache
def _lark() -> Lark:
    # The basic lexer: a token is the same wherever it appears, so that what is not allowed there can be named.
    grammar = read_resource("grammar", "shorthand.lark")
    return Lark(grammar, parser="lalr", lexer="basic", start="shorthand", propagate_positions=True)


_ESCAPE = re.compile(
    r"""\\(?:(?P<plain>['"\\nrt])|x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}))"""
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def _unescape(match: re.Match[str]) -> str:
    plain = match["plain"]
    if plain is not None:
        return _ESCAPES.get(plain, plain)
    return chr(int(match["x"] or match["u"] or match["U"], 16))


@v_args(meta=True)
class _Builder(Transformer_NonRecursive[Token, Shorthand]):
    """Converts Lark's tree to ours. Every method is named for a rule of the grammar."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place

    def span(self, meta: Meta) -> Span:
        return self.place(meta.start_pos, meta.end_pos)

    def name(self, meta: Meta, children: list[Token]) -> Shorthand:
        return AspectName(self.span(meta), str(children[0]))

    def junction(self, meta: Meta, children: list[Any]) -> Shorthand:
        operator, *args = children
        return JoinedNames(self.span(meta), "AND" if operator == "AND" else "OR", tuple(args))

    def friends(self, meta: Meta, children: list[Token]) -> tuple[str, ...]:
        return tuple(map(_text, children))

    def hop(self, meta: Meta, children: list[Any]) -> Shorthand:
        word, friends, *pattern = children
        return Hop(self.span(meta), int(word[0]), friends, _text(pattern[0]) if pattern else None)

    stars = hop


def _text(token: Token) -> str:
    """Return a string without its quotes. A backslash that begins no escape is itself, as patterns need it: `'\\bcozy'`."""
    return _ESCAPE.sub(_unescape, token[1:-1])


# --- a structure and its shorthand


def shorthand_of(node: model.Node) -> str:
    """Return the shorthand of a structure, as its canonical text."""
    return print_shorthand(shorthand_tree(node))


def shorthand_tree(node: model.Node) -> Shorthand:
    """Return the shorthand of a structure as a tree: conditions by aspect, or by social filter if the evidence has one."""
    if isinstance(node, model.Condition):
        return _hop(node) or AspectName(node.span, as_name(node.aspect))
    if len(node.args) == 1:
        return shorthand_tree(node.args[0])
    return JoinedNames(node.span, node.op, tuple(map(shorthand_tree, node.args)))


def _hop(condition: model.Condition) -> Hop | None:
    """Return a condition as `HOP`; None if its evidence has no social filter."""
    evidence = condition.evidence
    if not isinstance(evidence, model.ReviewText | model.Sentiment | model.SocialRating) or not evidence.social_filter:
        return None
    pattern = getattr(evidence, "pattern" if isinstance(evidence, model.ReviewText) else "topic", None)
    return Hop(condition.span, evidence.social_filter.hops, evidence.social_filter.friends, pattern)
