"""The shorthand of requests, such as `AND(quiet, OR(wifi_free, 1HOP(['Alice'], 'cozy')))`: text to tree and back.

In: a text, alone or in a JSON string. Out: a tree, or a diagnostic and None. `print_shorthand` is the inverse. A name
begins with a letter, a digit or `_` and holds no white space, comma or bracket, but for pairs of round brackets that do
not follow a letter or a digit: `cat_american_(traditional)`. A shorthand is compared with a structure: arguments may be
in any order, and a condition may have another name; operators, nesting, the number of arguments, and what `HOP` says of
friends and patterns must agree. A junction of one argument is that argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, Literal

from lark import Lark, Token, Transformer_NonRecursive, UnexpectedInput, UnexpectedToken, v_args
from lark.tree import Meta

from formulaseed import limits
from formulaseed.diagnostics.catalogue import requests as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.language.sizes import extent
from formulaseed.requests import model
from formulaseed.resources import read_resource
from formulaseed.source.json_reader import JsonString, PlainText
from formulaseed.source.text import Source, Span

Place = Callable[[int, int], Span]
"""The span of the characters from one offset of the text to another."""


@dataclass(frozen=True, slots=True)
class AspectName:
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
class JoinedNames:
    """`AND` or `OR` over one or more arguments."""

    span: Span = field(compare=False)
    op: Literal["AND", "OR"]
    args: tuple[Shorthand, ...]


Shorthand = AspectName | Hop | JoinedNames

OF_FILE = limits.Budget("shorthand terms")
"""The names and strings of all shorthands of a file."""

HOPS = ("0", "1", "2")
"""How many hops from the friends count, as it is written before `HOP`: 0 is the friends themselves."""


def parse_shorthand(text: JsonString | Source, problems: Problems) -> Shorthand | None:
    """Parse a whole shorthand: a JSON string's, or a source of its own."""
    found = _parse(PlainText(Span(text, 0, len(text.text)), text.text) if isinstance(text, Source) else text)
    if not isinstance(found, Diagnostic):
        return found
    problems.report(found)
    return None


def print_shorthand(tree: Shorthand) -> str:
    """The canonical text of a tree: one space after each comma, strings quoted as Python quotes them."""
    if isinstance(tree, AspectName):
        return tree.text
    if isinstance(tree, JoinedNames):
        return f"{tree.op}({', '.join(map(print_shorthand, tree.args))})"
    friends = f"[{', '.join(map(repr, tree.friends))}]"
    if tree.pattern is None:
        return f"{tree.hops}HOP_STARS({friends})"
    return f"{tree.hops}HOP({friends}, {tree.pattern!r})"


def as_name(text: str) -> str:
    """The text as a name: itself if it is one, else with `_` for each character that no name holds, and `_` before it
    where it begins like none, is empty, or is a word of the notation."""
    text = "".join(c if c.isprintable() and c not in " ,[]" else "_" for c in text)
    if not _name().fullmatch(text):
        text = text.replace("(", "_").replace(")", "_")
    return text if _name().fullmatch(text) else f"_{text}"


@cache
def _name() -> re.Pattern[str]:
    """The grammar's `NAME`, where it is no word of the notation."""
    name, *words = (_lark().get_terminal(word).pattern.to_regexp() for word in ("NAME", "OPERATOR", "HOP", "STARS"))
    return re.compile(rf"(?!(?:{'|'.join(words)})\Z){name}")


def _parse(string: JsonString) -> Shorthand | Diagnostic:
    text, place = string.value, string.inside
    if len(text) > limits.SHORTHAND_CHARACTERS:
        return catalogue.shorthand_over_limit(place(0, 0), len(text), "characters", limits.SHORTHAND_CHARACTERS)
    if not OF_FILE.take(extent((text,)).terms):
        return catalogue.shorthands_over_limit(place(0, len(text)), limits.FILE_SHORTHAND_TERMS)
    for at, character in enumerate(text):
        if not character.isprintable() and character not in " \t\r\n":
            return catalogue.hidden_character(place(at, at + 1), character)
    tokens: list[Token] = []
    parser = _lark().parse_interactive()
    depth = terms = 0
    try:
        for token in _lark().lex(text):
            depth += (token.type == "LPAR") - (token.type == "RPAR")
            terms += token.type in ("NAME", "TEXT")
            if depth > limits.SHORTHAND_NESTING:
                most = limits.SHORTHAND_NESTING
                return catalogue.shorthand_over_limit(place(*_ends(token)), depth, "levels of brackets", most)
            if terms > limits.SHORTHAND_TERMS:
                most = limits.SHORTHAND_TERMS
                return catalogue.shorthand_over_limit(place(*_ends(token)), terms, "names and strings", most)
            parser.feed_token(token)
            tokens.append(token)
        tree = parser.feed_token(Token("$END", "", len(text)))
    except UnexpectedInput as error:
        accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
        return _unexpected(text, tokens, error, accepted, place)
    for token in tokens:
        if token.type in ("HOP", "STARS") and token[: token.index("H")] not in HOPS:
            return catalogue.hops_too_far(place(*_ends(token)), token[:20], token.lstrip("0123456789"))
    shorthand: Shorthand = _Builder(place).transform(tree)
    return shorthand


_SIGN = re.compile(r"&&|\|\||[A-Za-z]+(?![^\s,()\[\]])|.", re.DOTALL)


def _unexpected(text: str, tokens: list[Token], error: UnexpectedInput, accepted: set[str], place: Place) -> Diagnostic:
    """The diagnostic for what cannot follow the tokens; `accepted` are the kinds of tokens that can."""
    found = error.token if isinstance(error, UnexpectedToken) and error.token.type != "$END" else None
    start = len(text.rstrip()) if isinstance(error, UnexpectedToken) else error.pos_in_stream or 0
    sign = _SIGN.match(text, start) if not isinstance(error, UnexpectedToken) else None
    written, last = str(found) if found else sign.group() if sign else "", tokens[-1] if tokens else None
    start, end = _ends(found) if found else (start, start + len(written))
    opened = _open(tokens)
    word = next((before for before, bracket in reversed(opened) if bracket.type == "LPAR"), None)
    word = last if "LPAR" in accepted else word
    if last is not None and last.type == "NAME" and found is not None and found.type == "LPAR":
        return catalogue.unknown_shorthand_operator(place(*_ends(last)), last)
    if last is not None and last.lower() in catalogue.NEGATIONS:
        return catalogue.negated_shorthand(place(*_ends(last)), last)
    if written in catalogue.NEGATIONS:
        return catalogue.negated_shorthand(place(start, end), written)
    if written.lower() in catalogue.INFIX and last is not None and text[end : end + 1] != "(":
        after = re.compile(r"\s*(\w[^\s,()\[\]]*+)(?!\()").match(text, end)
        operands = (str(last), after[1]) if last.type == "NAME" and after else ("a", "b")
        return catalogue.infix_in_shorthand(place(start, end), written, *operands)
    if found is None and written[:1] in ("'", '"'):
        return catalogue.unclosed_string(place(start, len(text)), written)
    if found is None and written[:1] in tuple("‘’“”«»`´"):
        return catalogue.wrong_quote(place(start, start + 1), written)
    if not written and opened and {"RPAR", "RSQB"} & accepted:
        before, bracket = opened[-1]
        span = place(before.start_pos or 0, _ends(bracket)[1])
        return catalogue.unclosed_bracket(span, f"{before}(" if bracket == "(" else "[", ")" if bracket == "(" else "]")
    kind, name = (word.type, str(word)) if word else ("OPERATOR", "AND")
    return catalogue.unexpected_in_shorthand(place(start, end), written, accepted, kind, name)


def _open(tokens: list[Token]) -> list[tuple[Token, Token]]:
    """The brackets that are open, each with the token before it."""
    opened: list[tuple[Token, Token]] = []
    for before, token in pairwise([*tokens[:1], *tokens]):
        if token.type in ("LPAR", "LSQB"):
            opened.append((before, token))
        elif token.type in ("RPAR", "RSQB"):
            opened.pop()
    return opened


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
    """Lark's tree to ours. Every method is named for a rule of the grammar."""

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
    """A string without its quotes. A backslash that begins no escape is itself, as patterns need it: `'\\bcozy'`."""
    return _ESCAPE.sub(_unescape, token[1:-1])


# --- a structure and its shorthand


def shorthand_of(node: model.Node) -> str:
    """The shorthand of a structure, in its canonical text."""
    return print_shorthand(shorthand_tree(node))


def shorthand_tree(node: model.Node) -> Shorthand:
    """The shorthand of a structure, as a tree: conditions by aspect, or by social filter if the evidence has one."""
    if isinstance(node, model.Condition):
        return _hop(node) or AspectName(node.span, as_name(node.aspect))
    if len(node.args) == 1:
        return shorthand_tree(node.args[0])
    return JoinedNames(node.span, node.op, tuple(map(shorthand_tree, node.args)))


def disagreements(structure: model.Node, shorthand: Shorthand) -> list[Diagnostic]:
    """Where the two differ; nothing where the shorthand says what the structure says."""
    return _Comparison().differences(shorthand_tree(structure), _without_single(shorthand), "")


def _hop(condition: model.Condition) -> Hop | None:
    evidence = condition.evidence
    if not isinstance(evidence, model.ReviewText | model.Sentiment | model.SocialRating) or not evidence.social_filter:
        return None
    said = getattr(evidence, "pattern" if isinstance(evidence, model.ReviewText) else "topic", None)
    return Hop(condition.span, evidence.social_filter.hops, evidence.social_filter.friends, said)


def _without_single(tree: Shorthand) -> Shorthand:
    if not isinstance(tree, JoinedNames):
        return tree
    args = tuple(map(_without_single, tree.args))
    return args[0] if len(args) == 1 else JoinedNames(tree.span, tree.op, args)


class _Comparison:
    """Compares a structure's tree with a shorthand's. Remembers which parts agree: arguments are tried in any order."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], bool] = {}

    def agree(self, wanted: Shorthand, said: Shorthand) -> bool:
        key = id(wanted), id(said)
        if key not in self.known:
            self.known[key] = self._agree(wanted, said)
        return self.known[key]

    def _agree(self, wanted: Shorthand, said: Shorthand) -> bool:
        if isinstance(wanted, JoinedNames) and isinstance(said, JoinedNames):
            same = wanted.op == said.op and len(wanted.args) == len(said.args)
            return same and len(self.pairs(wanted.args, said.args)) == len(said.args)
        if isinstance(said, Hop):
            return _key(wanted) == _key(said)
        return isinstance(said, AspectName) and not isinstance(wanted, JoinedNames)

    def pairs(self, wanted: Sequence[Shorthand], said: Sequence[Shorthand]) -> dict[int, int]:
        """Which of `wanted` each of `said` is, by index, for as many as can be."""
        places: dict[object, list[int]] = {}
        for i in reversed(range(len(wanted))):
            places.setdefault(_key(wanted[i]), []).append(i)
        taken = {places[_key(tree)].pop(): j for j, tree in enumerate(said) if places.get(_key(tree))}
        # A name may be that of any condition; those with a social filter come last, so that a wrong `HOP` finds its own.
        names = [j for j, tree in enumerate(said) if isinstance(tree, AspectName) and j not in taken.values()]
        leaves = [i for i, tree in enumerate(wanted) if not isinstance(tree, JoinedNames) and i not in taken]
        taken.update(zip(sorted(leaves, key=lambda i: isinstance(wanted[i], Hop)), names, strict=False))
        left = [j for j, tree in enumerate(said) if isinstance(tree, JoinedNames) and j not in taken.values()]
        fitting: dict[int, list[int]] = {}

        def place(j: int, tried: set[int]) -> bool:
            """Find one of `wanted` for a junction too, if others can make way for it."""
            if j not in fitting:
                fitting[j] = [i for i, tree in enumerate(wanted) if self.agree(tree, said[j])]
            for i in sorted(fitting[j], key=lambda i: i in taken):
                if i not in tried:
                    tried.add(i)
                    if i not in taken or place(taken[i], tried):
                        taken[i] = j
                        return True
            return False

        for j in left:
            place(j, set())
        return {j: i for i, j in taken.items()}

    def differences(self, wanted: Shorthand, said: Shorthand, where: str) -> list[Diagnostic]:
        if self.agree(wanted, said):
            return []
        if not (isinstance(wanted, JoinedNames) and isinstance(said, JoinedNames) and wanted.op == said.op):
            return [catalogue.disagreement(said.span, where, _part(said), _part(wanted))]
        if len(wanted.args) != len(said.args):
            counts = len(said.args), len(wanted.args)
            return [catalogue.arguments_disagree(said.span, where, said.op, *counts, print_shorthand(wanted))]
        pairs = self.pairs(wanted.args, said.args)
        left = [tree for i, tree in enumerate(wanted.args) if i not in pairs.values()]
        found: list[Diagnostic] = []
        for j, argument in enumerate(said.args):
            if j not in pairs:
                other = min(left, key=lambda tree: _unlike(tree, argument))
                left = [tree for tree in left if tree is not other]
                found += self.differences(other, argument, catalogue.argument_of(j, said.op, where))
        return found


def _key(tree: Shorthand) -> object:
    """Equal for parts that say the same: friends may be in any order."""
    return (tree.hops, frozenset(tree.friends), tree.pattern) if isinstance(tree, Hop) else tree


def _unlike(wanted: Shorthand, said: Shorthand) -> tuple[bool, bool]:
    """How little two parts that differ look like one another, so that those which do are reported together."""
    if isinstance(wanted, JoinedNames) and isinstance(said, JoinedNames):
        return False, wanted.op != said.op
    return isinstance(wanted, JoinedNames) or isinstance(said, JoinedNames), isinstance(wanted, Hop) != isinstance(
        said, Hop
    )


def _part(tree: Shorthand) -> tuple[str, bool]:
    return print_shorthand(tree), isinstance(tree, AspectName)
