"""Parse failures told in the user's terms.

In: a formula and Lark's exception. Out: code, place, message, help. What people and models type from other
languages is recognised by what stands at the place; the rest is told by what could stand there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    code: str
    start: int
    end: int
    message: str
    help: str


_FOREIGN: tuple[tuple[str, str, str], ...] = (
    (r"===?", "`{0}` is not an operator here", "write `==` to compare"),
    (r"=>|=<", "`{0}` is not an operator", "write `>=` or `<=`"),
    (r"[-+*/]=|:=", "`{0}` assigns; a formula is one expression", "give the value a step of its own"),
    (r"=", "`=` assigns; a formula is one expression", "write `==` to compare, or give the value a step of its own"),
    (r"&&?", "`{0}` is not an operator here", "write `and`"),
    (r"\|\|?", "`{0}` is not an operator here", "write `or`"),
    (r"!(?!=)", "`!` is not an operator here", "write `not`"),
    (r"<>", "`<>` is not an operator", "write `!=`"),
    (r"\^", "`^` is not an operator here", "write `**` for a power"),
    (r"\?", "`?` is not an operator here", "write `a if condition else b`"),
    (r"is\b(\s+not\b)?", "there is no `is`", "write `== None` or `!= None`"),
    (r"lambda\b|for\b|while\b|def\b|import\b|return\b|class\b|yield\b|await\b|async\b|with\b|del\b|exec\b|try\b",
     "`{0}` is not in the language: a formula is one expression", "use the operations and functions of the seed"),
    (r"then\b", "`then` is not in the language", "write `a if condition else b`"),
    (r"elif\b", "`elif` is not in the language", "write `a if c1 else b if c2 else d`"),
    (r"AND\b|And\b", "`{0}` is written in small letters", "write `and`"),
    (r"OR\b|Or\b", "`{0}` is written in small letters", "write `or`"),
    (r"NOT\b|Not\b", "`{0}` is written in small letters", "write `not`"),
    (r"IN\b|In\b", "`{0}` is written in small letters", "write `in`"),
    (r"\[", "values cannot be indexed", "name the field with a dot, such as `extraction.severity`"),
    (r"\{|\}", "`{0}` is not in the language", "a list is written ['a', 'b']"),
    (r"\.", "a dot may only join a namespace and a field", "write `meta.stars`"),
    (r":", "`:` is not in the language", "write `a if condition else b`"),
    (r";", "a formula is one expression", "give every value a step of its own"),
    (r"\$", "`$` stands before the name of a filter", "write `$NAME`"),
    (r"%%", "`%%` is not an operator", "write `%`"),
    (r"[@#~`\\]", "`{0}` is not in the language", "remove it"),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern), message, help) for pattern, message, help in _FOREIGN)

_WHAT = (
    ({"NAME", "NUMBER"}, "a value (a name, a number, a text, `(`)"),
    ({"ELSE"}, "`else`"),
    ({"RPAR"}, "`)`"),
    ({"RSQB"}, "`]`"),
    ({"PLUS", "LESSTHAN"}, "an operator or the end"),
    ({"LESSTHAN"}, "a comparison such as `< 4.0`"),
)


def explain(text: str, error: UnexpectedInput, start: str) -> SyntaxFault:
    """Why a text is no formula, at which characters, and what to write instead."""
    expected: set[str] = set()
    position = len(text)
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected or ())
        if error.token.type != "$END":
            position = error.token.start_pos if error.token.start_pos is not None else len(text)
    elif isinstance(error, UnexpectedCharacters):
        expected = set(error.allowed or ())
        position = error.pos_in_stream or 0
    if not text.strip():
        return SyntaxFault("FS102", 0, len(text), "the formula is empty", "write an expression such as `N_MILD + 1`")
    if start == "continuation" and not re.match(r"\s*(==|!=|<|>|in\b|not\s+in\b)", text):
        help = "write it like `< 4.0`, or drop `source` and write the whole condition"
        return SyntaxFault("FS101", 0, len(text), "with `source`, `when` starts with a comparison operator", help)
    if position >= len(text):
        help = _after_end(expected)
        return SyntaxFault("FS102", max(len(text.rstrip()) - 1, 0), len(text), "the formula ends too early", help)
    return _at(text, position, expected)


def _after_end(expected: set[str]) -> str:
    if "ELSE" in expected:
        return "add `else` and the other value: `a if condition else b`"
    return f"complete it with {_expectation(expected)}"


def _at(text: str, position: int, expected: set[str]) -> SyntaxFault:
    previous = _word_before(text, position)
    for pattern, message, help in _COMPILED:
        match = pattern.match(text, position)
        if match:
            return SyntaxFault("FS103", position, match.end(), message.format(match.group().strip()), help)
        if previous and pattern.fullmatch(previous[1]):  # `lambda x`: the name before is the culprit
            start, word = previous
            return SyntaxFault("FS103", start, start + len(word), message.format(word), help)
    character = text[position]
    if character in "'\"":
        if text.count(character, position) < 2:
            return SyntaxFault(
                "FS102", position, len(text), "the text that begins here is not closed", f"add {character}"
            )
        if "PLUS" in expected:
            return SyntaxFault("FS101", position, position + 1, "an operator is missing before this text", "add one")
    if ord(character) > 126 or not character.isprintable():
        message = f"the character `{character}` (U+{ord(character):04X}) is not in the language"
        return SyntaxFault("FS103", position, position + 1, message, "write it with the keyboard's plain characters")
    word_match = re.compile(r"\w+|\S").match(text, position)
    found = word_match.group() if word_match else character
    message = f"`{found}` cannot stand here"
    return SyntaxFault("FS101", position, position + len(found), message, f"expected: {_expectation(expected)}")


def _word_before(text: str, position: int) -> tuple[int, str] | None:
    match = re.search(r"([A-Za-z_]\w*)\s+$", text[:position])
    return (match.start(1), match.group(1)) if match else None


def _expectation(expected: set[str]) -> str:
    for tokens, words in _WHAT:
        if tokens <= expected:
            return words
    return "more of the formula"
