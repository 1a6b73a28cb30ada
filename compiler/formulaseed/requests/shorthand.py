"""The shorthand of requests, such as `AND(quiet, OR(wifi_free, 1HOP(['Alice'], 'cozy')))`: text to tree and back.

In: a text, alone or in a JSON string. Out: a tree, or a diagnostic and None. `print_shorthand` is the inverse. What
names mean is decided elsewhere. A name begins with a letter, a digit or `_` and holds no white space, comma or bracket,
but for pairs of round brackets that do not stand behind a letter or a digit: `cat_american_(traditional)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from lark import Lark, Token, Transformer_NonRecursive, UnexpectedInput, v_args
from lark.tree import Meta

from formulaseed import limits
from formulaseed.diagnostics.model import Problems
from formulaseed.language.extent import extent
from formulaseed.requests.shorthand_errors import explain, hidden_character
from formulaseed.resources import read_resource
from formulaseed.source.json_reader import JsonString
from formulaseed.source.text import Source, Span

Place = Callable[[int, int], Span]
"""The span of the characters from one offset of the text to another."""


@dataclass(frozen=True, slots=True)
class Name:
    """A condition, by a name that need not be that of the structure."""

    span: Span = field(compare=False)
    text: str


@dataclass(frozen=True, slots=True)
class Hop:
    """What people up to `hops` edges from the friends say of a pattern; `pattern` is None for `STARS`: how they rate."""

    span: Span = field(compare=False)
    hops: int
    friends: tuple[str, ...]
    pattern: str | None


@dataclass(frozen=True, slots=True)
class Junction:
    """`AND` or `OR` over one or more arguments."""

    span: Span = field(compare=False)
    op: Literal["AND", "OR"]
    args: tuple[Shorthand, ...]


Shorthand = Name | Hop | Junction

OF_FILE = limits.Budget("shorthand terms")
"""The names and texts of all shorthands of a file."""

HOPS = ("0", "1", "2")
"""How far a circle may reach, as it is written before `HOP`: 0 is the friends themselves."""


def parse_shorthand(text: JsonString | Source, problems: Problems) -> Shorthand | None:
    """Parse a whole shorthand: a JSON string's, or a source of its own."""
    if isinstance(text, JsonString):
        return _parse(text.value, text.inside, problems)
    return _parse(text.text, lambda start, end: Span(text, start, end), problems)


def print_shorthand(tree: Shorthand) -> str:
    """The canonical text of a tree: one space behind each comma, texts in quotes as Python chooses them."""
    if isinstance(tree, Name):
        return tree.text
    if isinstance(tree, Junction):
        return f"{tree.op}({', '.join(map(print_shorthand, tree.args))})"
    friends = f"[{', '.join(map(repr, tree.friends))}]"
    if tree.pattern is None:
        return f"{tree.hops}HOP_STARS({friends})"
    return f"{tree.hops}HOP({friends}, {tree.pattern!r})"


def as_name(text: str) -> str:
    """The text as a name: itself if it is one, else with `_` for each character that no name holds, and `_` before it
    where it begins like none, is empty, or is a word of the notation."""
    text = "".join(c if c.isprintable() and c not in " ,[]" else "_" for c in text)
    if not _is_name(text):
        text = text.replace("(", "_").replace(")", "_")
    return text if _is_name(text) else f"_{text}"


def _is_name(text: str) -> bool:
    return _name().fullmatch(text) is not None


@cache
def _name() -> re.Pattern[str]:
    """The grammar's `NAME`, where it is no word of the notation."""
    name, *words = (_lark().get_terminal(word).pattern.to_regexp() for word in ("NAME", "OPERATOR", "HOP", "STARS"))
    return re.compile(rf"(?!(?:{'|'.join(words)})\Z){name}")


def _parse(text: str, place: Place, problems: Problems) -> Shorthand | None:
    if len(text) > limits.SHORTHAND_CHARACTERS:
        message = f"the shorthand has {len(text)} characters, more than {limits.SHORTHAND_CHARACTERS}"
        problems.add("FS823", place(0, 0), message, "shorten the names")
        return None
    if not OF_FILE.take(extent((text,)).terms):
        message = (
            f"up to here the shorthands of the file have more than {limits.FILE_SHORTHAND_TERMS:,} names and texts"
        )
        problems.add("FS823", place(0, len(text)), message, "split the file")
        return None
    hidden = hidden_character(text)
    if hidden is not None:
        problems.add(hidden.code, place(hidden.start, hidden.end), hidden.message, hidden.help)
        return None
    tokens: list[Token] = []
    try:
        parser = _lark().parse_interactive()
        for token in _within_limits(_lark().lex(text)):
            tokens.append(token)
            parser.feed_token(token)
        tree = parser.feed_token(Token("$END", "", len(text)))
    except UnexpectedInput as error:
        fault = explain(text, tokens, error)
        problems.add(fault.code, place(fault.start, fault.end), fault.message, fault.help)
        return None
    except _TooLarge as error:
        problems.add("FS823", place(error.start, error.end), error.message, "split the request, or name a part of it")
        return None
    builder = _Builder(place)
    shorthand: Shorthand = builder.transform(tree)
    for token in builder.too_far:
        word = token.lstrip("0123456789")
        help = f"write `1{word}` or `2{word}`"
        message = f"there is no `{token[:20]}`: a circle reaches two hops at most"
        problems.add("FS822", place(*_ends(token)), message, help)
    return None if builder.too_far else shorthand


class _TooLarge(Exception):
    def __init__(self, token: Token, message: str) -> None:
        self.start, self.end = _ends(token)
        self.message = message


def _within_limits(tokens: Iterator[Token]) -> Iterator[Token]:
    """The same tokens; raises `_TooLarge` at the first one that is over a limit."""
    depth = terms = 0
    for token in tokens:
        depth += (token.type == "LPAR") - (token.type == "RPAR")
        terms += token.type in ("NAME", "TEXT")
        if depth > limits.SHORTHAND_NESTING:
            raise _TooLarge(token, f"brackets stand more than {limits.SHORTHAND_NESTING} deep")
        if terms > limits.SHORTHAND_TERMS:
            raise _TooLarge(token, f"the shorthand has more than {limits.SHORTHAND_TERMS} names and texts")
        yield token


def _ends(token: Token) -> tuple[int, int]:
    start = token.start_pos or 0
    return start, start + len(token)


@cache
def _lark() -> Lark:
    # The basic lexer: a token is the same wherever it stands, so that what cannot stand there can be told by name.
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
    """Lark's tree to ours. Every method is named for a rule of the grammar."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.too_far: list[Token] = []

    def span(self, meta: Meta) -> Span:
        return self.place(meta.start_pos, meta.end_pos)

    def shorthand(self, meta: Meta, children: list[Shorthand]) -> Shorthand:
        return children[0]

    def name(self, meta: Meta, children: list[Token]) -> Shorthand:
        return Name(self.span(meta), str(children[0]))

    def junction(self, meta: Meta, children: list[Any]) -> Shorthand:
        operator, *args = children
        return Junction(self.span(meta), "AND" if operator == "AND" else "OR", tuple(args))

    def friends(self, meta: Meta, children: list[Token]) -> tuple[str, ...]:
        return tuple(map(_text, children))

    def hop(self, meta: Meta, children: tuple[Token, tuple[str, ...], Token]) -> Shorthand:
        word, friends, pattern = children
        return Hop(self.span(meta), self.hops(word), friends, _text(pattern))

    def stars(self, meta: Meta, children: tuple[Token, tuple[str, ...]]) -> Shorthand:
        word, friends = children
        return Hop(self.span(meta), self.hops(word), friends, None)

    def hops(self, word: Token) -> int:
        digits = word[: word.index("H")]
        if digits not in HOPS:
            self.too_far.append(word)
            return 0
        return int(digits)


def _text(token: Token) -> str:
    """A text without its quotes. A backslash that begins no escape stands for itself, as patterns need it: `'\\bcozy'`."""
    return _ESCAPE.sub(_unescape, token[1:-1])
