"""Why a text is no shorthand, told in the user's terms.

In: a text, its tokens up to the one that cannot stand where it stands, and Lark's exception. Out: code, place, message,
help. What has been read so far is sound, so the last token and the innermost bracket say what could stand next.
"""

from __future__ import annotations

import re

from lark import Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from formulaseed.diagnostics.suggestions import close_matches
from formulaseed.language.syntax_errors import SyntaxFault

WORDS = ("AND", "OR", "1HOP", "2HOP", "1HOP_STARS", "2HOP_STARS")
_EXAMPLES = {"OPERATOR": "{0}(a, b)", "HOP": "{0}(['Alice'], 'cozy')", "STARS": "{0}(['Alice'])"}
_VALUES = ("NAME", "TEXT", "OPERATOR", "HOP", "STARS", "LSQB")
_INFIX = {"and": "AND", "or": "OR", "&": "AND", "&&": "AND", "+": "AND", "|": "OR", "||": "OR", "/": "OR"}
_LINE = 200
"""So many characters a message or a help line has at most, whatever it quotes."""
_NEGATIONS = ("not", "!", "-", "~", "¬")
_NEGATION = "name a condition whose evidence is the negation, such as `no_tv`"


def hidden_character(text: str) -> SyntaxFault | None:
    """The first character that cannot be seen, other than white space between words."""
    at = next((at for at, c in enumerate(text) if not c.isprintable() and c not in " \t\r\n"), None)
    if at is None:
        return None
    help = "write a plain space" if text[at].isspace() else "remove it, or write it as an escape inside quotes"
    return _fault(at, at + 1, f"the character U+{ord(text[at]):04X} cannot stand here", help)


def explain(text: str, tokens: list[Token], error: UnexpectedInput) -> SyntaxFault:
    """The fault at the place where reading stopped; the last of the tokens is the one that cannot stand there."""
    if isinstance(error, UnexpectedCharacters):
        return _at_character(text, tokens, error.pos_in_stream or 0)
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return _Reading(text, tokens).fault(None)
    return _Reading(text, tokens[:-1]).fault(tokens[-1])


def _fault(start: int, end: int, message: str, help: str, code: str = "FS821") -> SyntaxFault:
    return SyntaxFault(code, start, end, _short(message, _LINE), _short(help, _LINE))


def _at_character(text: str, tokens: list[Token], at: int) -> SyntaxFault:
    """A character that begins nothing."""
    sign = re.compile(r"&&|\|\||.", re.DOTALL).match(text, at)
    found = sign.group() if sign else text[at]
    if found in "'\"":
        if not text[at : text.find(found, at + 1) + 1].isprintable():
            return _fault(at, at + 1, "a line break or a tab stands inside this text", "write `\\n` or `\\t`")
        return _fault(at, len(text), "the text that begins here is not closed", f"close it with `{found}`")
    if found in "‘’“”«»`´":
        return _fault(at, at + 1, f"`{found}` is no quote here", "write `'`")
    if found in _INFIX and tokens:
        return _infix(text, at, found, tokens[-1])
    if found in _NEGATIONS:
        return _fault(at, at + 1, f"there is no `{found}`: a shorthand negates nothing", _NEGATION, "FS822")
    help = "a name begins with a letter, a digit or `_`"
    return _fault(at, at + len(found), f"`{found}` begins no condition", help)


def _infix(text: str, at: int, word: str, before: Token) -> SyntaxFault:
    """`a and b`, `a & b`."""
    after = re.compile(r"\s*(\w[^\s,()\[\]]*+)(?!\()").match(text, at + len(word))
    operator = _INFIX[word.lower()]
    known = before.type == "NAME" and after
    example = f"{operator}({before}, {after[1]})" if known and after else f"{operator}(a, b)"
    message = f"`{word}` stands between its arguments" if word == operator else f"`{word}` is no operator here"
    return _fault(at, at + len(word), message, f"write `{example}`")


class _Reading:
    """What has been read: the last token, and the brackets that are open, each with the word before it."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.last = tokens[-1] if tokens else None
        self.open: list[tuple[Token, Token]] = []
        for before, token in zip([None, *tokens], tokens, strict=False):
            if token.type in ("LPAR", "LSQB"):
                self.open.append((before or token, token))
            elif token.type in ("RPAR", "RSQB"):
                self.open.pop()

    @property
    def word(self) -> Token | None:
        """The operator whose arguments are being read."""
        return next((word for word, bracket in reversed(self.open) if bracket.type == "LPAR"), None)

    def fault(self, found: Token | None) -> SyntaxFault:
        last, word = self.last, self.word
        kind = last.type if last is not None else ""
        in_list = bool(self.open) and self.open[-1][1].type == "LSQB"
        if last is not None and kind in _EXAMPLES:
            if found is not None and found.type == "LSQB":
                return _fault(*_ends(found), f"the arguments of `{last}` stand in round brackets", f"write `{last}(`")
            return _fault(*_ends(last), f"`{last}` has no arguments", f"write `{_EXAMPLES[kind].format(last)}`")
        if found is None and self.open and kind not in ("LPAR", "COMMA", "LSQB"):
            return self.not_closed()
        if word is None or word.type == "OPERATOR":
            return self.in_junction(found) if kind in ("", "LPAR", "COMMA") else self.behind_condition(found)
        return self.in_friends(found, word) if in_list else self.in_hop(found, word)

    def not_closed(self) -> SyntaxFault:
        word, bracket = self.open[-1]
        start, end = (word.start_pos or 0), _ends(bracket)[1]
        if bracket.type == "LSQB":
            return _fault(*_ends(bracket), "the friends are not closed", "close them with `]`")
        return _fault(start, end, f"`{word}(` is not closed", "close it with `)`")

    def in_junction(self, found: Token | None) -> SyntaxFault:
        """Where a condition should begin."""
        if found is None and self.last is None:
            help = "write a condition, or conditions joined like `AND(a, b)`"
            return _fault(0, len(self.text), "the shorthand is empty", help)
        if found is None:
            return _fault(*self.end(), "the shorthand ends where a condition should stand", "write one, then `)`")
        if found.type == "RPAR" and self.last is not None and self.last.type == "LPAR":
            return _fault(*_ends(found), f"`{self.word}` has no arguments", f"write `{self.word}(a, b)`")
        if found.type == "RPAR" and self.last is None:
            return _fault(*_ends(found), "this `)` closes nothing", "remove it")
        if found.type in ("COMMA", "RPAR"):
            help = "write one, or remove the comma"
            return _fault(*_ends(found), f"a condition is missing before `{found}`", help)
        if found.type == "LPAR":
            return _fault(*_ends(found), "no operator stands before this bracket", "write `AND(` or `OR(`")
        if found.type == "TEXT":
            return _fault(*_ends(found), "a condition stands without quotes", f"write `{found[1:-1]}`")
        return self.square(found)

    def behind_condition(self, found: Token | None) -> SyntaxFault:
        """Where a comma, a bracket or the end should stand."""
        assert found is not None, "what ends behind a condition is whole, or is not closed"
        last = self.last
        assert last is not None
        infix = found.type in ("OPERATOR", "NAME") and found.lower() in _INFIX
        if found.type == "LPAR" and last.type == "NAME":
            return _no_operator(last)
        if infix and self.text[_ends(found)[1] : _ends(found)[1] + 1] != "(":
            return _infix(self.text, found.start_pos or 0, str(found), last)
        if found.type == "RPAR":
            return _fault(*_ends(found), "this `)` closes nothing", "remove it")
        if last.lower() in _NEGATIONS:
            return _fault(*_ends(last), f"there is no `{last}`: a shorthand negates nothing", _NEGATION, "FS822")
        if found.type in ("LSQB", "RSQB"):
            return self.square(found)
        if not self.open:
            message = f"`{found}` stands outside of any operator"
            return _fault(*_ends(found), message, "join conditions like `AND(a, b)`")
        if found.type == "LPAR":
            return _fault(*_ends(found), "no operator stands before this bracket", "write `, AND(` or `, OR(`")
        one_name = "; or `_` in place of the space, if this is one name"
        help = f"write `, `{one_name if last.type == found.type == 'NAME' else ''}"
        return _fault(*_ends(found), f"a comma is missing before `{_short(found)}`", help)

    def square(self, found: Token) -> SyntaxFault:
        if found.type == "RSQB":
            return _fault(*_ends(found), "this `]` closes nothing", "remove it")
        help = "write round ones; friends are written like `1HOP(['Alice'], 'cozy')`"
        return _fault(*_ends(found), "square brackets hold friends alone", help)

    def in_friends(self, found: Token | None, word: Token) -> SyntaxFault:
        """Inside `[` and `]`."""
        example = f"write `{_EXAMPLES[word.type].format(word)}`"
        last = self.last
        if found is None:
            return _fault(*self.end(), "the shorthand ends where a friend should stand", "write one, then `]`")
        if found.type == "NAME" and last is not None and last.type != "TEXT":
            return _fault(*_ends(found), "the names of friends stand in quotes", f"write `{str(found)!r}`")
        if last is not None and last.type == "LSQB" and found.type == "RSQB":
            return _fault(*_ends(found), "a circle has one friend at least", example)
        if last is not None and last.type == "COMMA" and found.type in ("COMMA", "RSQB"):
            help = "write one, or remove the comma"
            return _fault(*_ends(found), f"a friend is missing before `{found}`", help)
        if last is not None and last.type == "TEXT" and found.type in _VALUES:
            return _fault(*_ends(found), f"a comma is missing before `{_short(found)}`", "write `, `")
        if last is not None and last.type == "TEXT":
            return _fault(*_ends(found), f"the friends are not closed before `{found}`", "close them with `]`")
        return _fault(*_ends(found), f"a friend is expected here, not `{_short(found)}`", example)

    def in_hop(self, found: Token | None, word: Token) -> SyntaxFault:
        """Inside the brackets of a circle, outside the friends."""
        example = f"write `{_EXAMPLES[word.type].format(word)}`"
        last = self.last
        kind = last.type if last is not None else ""
        if found is None:
            what = "the friends" if kind == "LPAR" else "the pattern"
            return _fault(*self.end(), f"the shorthand ends where {what} should stand", example)
        if kind == "LPAR":
            if found.type in ("NAME", "TEXT"):
                friend = str(found) if found.type == "TEXT" else repr(str(found))
                return _fault(*_ends(found), "the friends stand in square brackets", f"write `[{friend}]`")
            return _fault(*_ends(found), f"the friends are expected here, not `{_short(found)}`", example)
        if kind == "COMMA":
            if found.type == "NAME":
                return _fault(*_ends(found), "the pattern stands in quotes", f"write `{str(found)!r}`")
            return _fault(*_ends(found), f"the pattern is expected here, not `{_short(found)}`", example)
        if kind == "RSQB" and word.type == "STARS":
            help = f"close it with `)`; a pattern needs `{word.removesuffix('_STARS')}`"
            return _fault(*_ends(found), f"`{word}` takes friends alone", help)
        if kind == "RSQB" and found.type == "RPAR":
            help = f"{example}, or `{word}_STARS(['Alice'])` for ratings"
            return _fault(*_ends(found), f"`{word}` takes a pattern behind the friends", help)
        if kind == "RSQB":
            return _fault(*_ends(found), f"a comma is missing before `{_short(found)}`", example)
        return _fault(*_ends(found), f"`{word}` takes friends and one pattern", "close it with `)`")

    def end(self) -> tuple[int, int]:
        last = len(self.text.rstrip()) - 1
        return max(last, 0), len(self.text)


def _no_operator(word: Token) -> SyntaxFault:
    """`XOR(a, b)`, `and(a, b)`."""
    start, end = _ends(word)
    if word.upper() in WORDS:
        return _fault(start, end, f"`{word}` is written in capital letters", f"write `{word.upper()}`", "FS822")
    message = f"there is no operator `{_short(word)}`"
    if word.lower() in _NEGATIONS:
        return _fault(start, end, message, _NEGATION, "FS822")
    close = close_matches(word, WORDS)
    known = f"operators: {', '.join(f'`{name}`' for name in WORDS)}; in a name a bracket stands behind `_`"
    return _fault(start, end, message, f"did you mean `{'` or `'.join(close)}`?" if close else known, "FS822")


def _ends(token: Token) -> tuple[int, int]:
    start = token.start_pos or 0
    return start, start + len(token)


def _short(text: str, most: int = 40) -> str:
    return str(text) if len(text) <= most else f"{text[: most - 1]}…"
