"""Why a text is no pattern, told by what stands at the place where the parser stopped.

In: a pattern and Lark's exception. Out: code, place, message, help. What `re` has and the language has not is
recognised by its first characters; the rest is told by what could stand there.
"""

from __future__ import annotations

import re

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from formulaseed.syntax.syntax_errors import SyntaxFault

_AROUND = "write what comes before and behind into the pattern, such as `great.*service`"
_GROUPS = (
    (r"\(\?P?<\w[^>]*>", "FS802", "groups have no names here", "write `(`"),
    (r"\(\?P=\w+\)?", "FS802", "there are no references back to a group", "write the text out again"),
    (r"\(\?<?[=!]", "FS802", "a pattern does not look ahead or behind", _AROUND),
    (r"\(\?>", "FS802", "there are no atomic groups", "write `(?:`"),
    (r"\(\?\(", "FS802", "there are no conditions in patterns", "write the cases as `(?:…|…)`"),
    (r"\(\?#[^)]*\)?", "FS802", "patterns have no comments", "remove it"),
    (r"\(\?i[:)]", "FS802", "case is ignored anyway; there are no flags here", "remove the flag"),
    (r"\(\?[a-zA-Z]*s[a-zA-Z]*[:)]", "FS802", "there are no flags", r"write `[\s\S]` for any character at all"),
    (r"\(\?[a-zA-Z-]+[:)]", "FS802", "there are no flags", "remove it"),
    (r"\(\?", "FS801", "`(?` begins no group", r"write `(?:`, or `\(\?` for the characters themselves"),
)
_ESCAPES = (
    (r"\\\Z", "FS801", "a backslash stands at the end", r"write `\\` for the character itself"),
    (r"\\[1-9][0-9]*|\\[kg]<\w*>?", "FS802", "there are no references back to a group", "write the text out again"),
    (r"\\0[0-7]*", "FS802", "`{0}` is not in the language", r"write the character, or `\x` and two digits"),
    (r"\\[pP](?:\{[^}]*\}?|.)?", "FS802", "`{0}` is not in the language", r"write `[^\W\d_]` for any letter"),
    (r"\\b", "FS802", r"`\b` is no word boundary in a set", "write it outside of the set"),
    (r"\\[ABZ]", "FS801", "`{0}` is no character", "write it outside of the set"),
    (r"\\z", "FS802", "`{0}` is not in the language", r"write `\Z`"),
    (r"\\[hH]", "FS802", "`{0}` is not in the language", r"write `[ \t]`"),
    (r"\\R", "FS802", "`{0}` is not in the language", r"write `\r?\n`"),
    (r"\\x", "FS801", "`{0}` needs two digits behind it", r"write it like `\xe9`"),
    (r"\\u", "FS801", "`{0}` needs four digits behind it", r"write it like `\u00e9`"),
    (r"\\[NU]", "FS802", "`{0}` is not in the language", r"write the character, or `\u` and four digits"),
    (r"\\[a-zA-Z]", "FS801", "`{0}` is no escape", r"write `\\` for a backslash"),
)
_IN_SET = (
    (r"\[:\^?\w*:\]", "FS802", "`{0}` is not in the language", r"write `a-z`, `\d`, `\s` or `\w`"),
    (r"\[", "FS801", "a bracket inside a set needs a backslash", r"write `\[`"),
    (r"&&|~~|\|\|", "FS802", "sets cannot be combined", "name each character once"),
    (r"-", "FS801", "this hyphen makes no range", r"write it first or last, or `\-`"),
    (r"\\[dwsDWS]|\]", "FS801", "a range ends with a character", r"write it like `a-z`, or `\-` for the hyphen"),
)
_OUTSIDE = (
    (r"\{,[0-9]+\}", "FS801", "a repeat begins with its least number", "write it like `{0,5}`"),
    (
        r"\{(?![0-9]+(?:,[0-9]*)?\})",
        "FS801",
        "`{0}` begins no repeat such as `{2,5}`",
        r"write `\{` for the character itself",
    ),
    (r"[\]})]", "FS801", "`{0}` closes nothing", r"write `\{0}` for the character itself"),
)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??")
_TOKEN = re.compile(rf"\\.|\[\^?(?:\\.|[^\]\\])*\]|{_QUANTIFIER.pattern}|.", re.DOTALL)


def explain_pattern(text: str, error: UnexpectedInput) -> SyntaxFault:
    """Why a text is no pattern, at which characters, and what to write instead."""
    position = len(text)
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        position = error.token.start_pos or 0
    elif isinstance(error, UnexpectedCharacters):
        position = error.pos_in_stream or 0
    if any(token.group() == "[" for token in _TOKEN.finditer(text, 0, position)):
        return _inside_set(text, position)
    if position >= len(text):
        return _unclosed(text, "(", "group")
    return _outside(text, position)


def _inside_set(text: str, position: int) -> SyntaxFault:
    if position >= len(text):
        return _unclosed(text, "[", "set")
    fault = _told(_IN_SET, text, position) or _told(_ESCAPES, text, position)
    assert fault is not None, "every other character may stand in a set"
    return fault


def _outside(text: str, position: int) -> SyntaxFault:
    if position > 0 and text.startswith("(?", position - 1):
        position -= 1
    return _told(_GROUPS + _ESCAPES + _OUTSIDE, text, position) or _quantifier(text, position)


def _told(table: tuple[tuple[str, str, str, str], ...], text: str, position: int) -> SyntaxFault | None:
    for pattern, code, message, help in table:
        found = re.compile(pattern).match(text, position)
        if found:
            named = found.group()[:40]
            return SyntaxFault(code, position, found.end(), message.replace("{0}", named), help.replace("{0}", named))
    return None


def _quantifier(text: str, position: int) -> SyntaxFault:
    """A quantifier that has nothing to repeat."""
    found = _QUANTIFIER.match(text, position)
    assert found is not None, "every other character may stand outside of sets"
    end, before = found.end(), _token_before(text, position)
    if before and _QUANTIFIER.fullmatch(before):
        if text[position] == "+":
            return SyntaxFault("FS802", position, position + 1, "there are no possessive repeats", "remove this `+`")
        message = f"`{found.group()[:40]}` repeats what is repeated already"
        return SyntaxFault("FS801", position, end, message, "keep one of the two")
    if before in ("^", "$", r"\A", r"\Z", r"\b", r"\B"):
        return SyntaxFault("FS801", position, end, f"`{before}` has no characters to repeat", "remove the repeat")
    help = f"write what is repeated, or `\\{text[position]}` for the character itself"
    return SyntaxFault("FS801", position, end, f"before `{found.group()[:40]}` stands nothing to repeat", help)


def _token_before(text: str, position: int) -> str:
    last = ""
    for token in _TOKEN.finditer(text, 0, position):
        last = token.group()
    return last


def _unclosed(text: str, bracket: str, what: str) -> SyntaxFault:
    """The last bracket that is open at the end of the text."""
    opened = []
    for token in _TOKEN.finditer(text):
        if token.group() in ("(", "["):
            opened.append(token.start())
            if token.group() == "[":
                break  # the rest stands in the set
        elif token.group() == ")" and opened:
            opened.pop()
    start = next(place for place in reversed(opened) if text[place] == bracket)
    close = {"(": ")", "[": "]"}[bracket]
    help = f"close it with `{close}`, or write `\\{bracket}` for the character itself"
    return SyntaxFault("FS801", start, len(text), f"the {what} that begins here is not closed", help)
