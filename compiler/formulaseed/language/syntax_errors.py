"""Explains why a formula cannot be parsed.

In: a formula, the position at which the parser stopped, and the terminals that it expected. Out: code, place, message, help.
Syntax of other languages and typing errors are recognised by the table of hints; any other error by the expected terminals.
"""

from __future__ import annotations

import re

from formulaseed.diagnostics.catalogue import syntax as catalogue
from formulaseed.language.hints import FORMS_OF_WORDS, HINTS, FormulaKind, Hint
from formulaseed.language.sizes import blank_comments
from formulaseed.source.text import value_node

_WORDS = ("and", "or", "in", "if", "else")
_STRING = re.compile(r"""'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+\"""")
_ESCAPE = re.compile(r"""(['"])(?:(?!\1)[^\\]|\\['"\\nt])*+(\\.)""")
_TOKEN = re.compile(r"[\w.]+|'[^']*'|\"[^\"]*\"|<=|>=|==|!=|\*\*|//|\S")
_FUNCTION_LIKE = re.compile(r"(if|and|or)(?=\s*\(.*,)", re.DOTALL)
_WORDS_AS_STRING = re.compile(r"(?:[=!]=|\bin\s*\[(?:[^\]]*,)?)\s*([A-Za-z][\w-]*(?:[ ]+[A-Za-z][\w-]*)*)$")
"""Words after a comparison operator, or in a list, which may be a string without its quotes."""
_MORE_WORDS = re.compile(r"[A-Za-z][\w-]*(?:[ ]+(?!(?:and|or|not|in|if|else)\b)[A-Za-z][\w-]*)*")
_MEMBER = re.compile(r"\.\s*([A-Za-z_]\w*)\s*(\(?)")


@value_node
class SyntaxMistake:
    """A syntax error at the characters `start` to `end`. `fix` is the only text that they can mean; None if that is unknown."""

    code: str
    start: int
    end: int
    message: str
    help: str
    fix: str | None = None
    is_security: bool = False


def explain_syntax_fault(
    text: str, position: int, expected: set[str], kind: FormulaKind, subject: str
) -> SyntaxMistake:
    """Return the mistake in a text that is not a formula, by the first hint that matches, or else by the token there.

    The parser stopped at `position`, where it expected one of the terminals `expected`. `subject` is the name before a
    continuation, or empty. An empty text, and a continuation without an operator, come before all hints.
    """
    text = blank_comments(text)
    if not text.strip():
        return _build_mistake(0, len(text), catalogue.EMPTY_FORMULA)
    if kind == "continuation" and not _COMPARES.match(text.lstrip()):
        return _missing_comparison(text, subject)
    if "NAME" in expected and (match := _FUNCTION_LIKE.match(text, position)):
        return _build_mistake(position, match.end(1), catalogue.word_as_function(match[1], FORMS_OF_WORDS[match[1]]))
    masked = _STRING.sub(lambda match: match[0][0] + "_" * (len(match[0]) - 2) + match[0][0], text)
    for hint in HINTS:
        if hint.used_in in (None, kind) and (match := _find_hint(hint, masked, position)):
            return _apply_hint(hint, match, text)
    return _explain_token(text, position, expected, subject or "x")


def _find_hint(hint: Hint, text: str, position: int) -> re.Match[str] | None:
    """Return the first match of a hint around `position`, at which the parser stopped; None if there is none.

    The word before that position also counts: the parser may have read it as a name.
    """
    for match in re.finditer(hint.pattern, text):
        if match.start() > position:
            break
        last = match.group().rstrip()[-1:]
        is_behind = (last.isalpha() or last == "%") and not text[match.end() : position].strip()
        if position < match.end() or is_behind:
            return match
    return None


def _apply_hint(hint: Hint, match: re.Match[str], text: str) -> SyntaxMistake:
    """Return the mistake that the hint describes, with a fix only if the hint is safe.

    `match` is in the text with masked strings; `text` has their contents.
    """
    at: str | int = 0
    if match.groupdict().get("at"):
        at = "at"
    groups = [text[slice(*match.span(number))] for number in range(1, len(match.groups()) + 1)]
    whole = text[slice(*match.span(at))].strip(" ")
    instead = None
    if callable(hint.instead):
        instead = hint.instead(match)
    elif hint.instead is not None:
        instead = hint.instead.format(whole, *groups)
    message = hint.message.format(whole, *groups)
    help = hint.help.format(whole, *groups, instead=(instead or "").strip())
    start, end = match.span(at)
    start += len(match.group(at)) - len(match.group(at).lstrip(" "))
    if whole:
        end = start + len(whole)
    fix = instead if hint.is_safe else None
    return _build_mistake(start, end, (hint.code, message, help), fix, hint.is_security)


def _build_mistake(
    start: int, end: int, mistake: catalogue.Mistake, fix: str | None = None, is_security: bool = False
) -> SyntaxMistake:
    """Return the mistake from `start` to `end`, out of its code, message and help.

    `fix` is the only text that the characters can mean; None if there is none. `is_security` marks syntax for things
    that formulas must not do.
    """
    code, message, help = mistake
    return SyntaxMistake(code, start, end, message, help, fix, is_security)


_COMPARES = re.compile(r"==|!=|<=|>=|<(?!>)|>|in\b|not\s+in\b")


def _missing_comparison(text: str, subject: str) -> SyntaxMistake:
    """Return the mistake of a continuation that does not begin with a comparison operator.

    If it repeats `subject`, the left side, the mistake is the repetition. The help proposes a comparison if one is
    clear.
    """
    named = re.match(rf"\s*{re.escape(subject)}(?!\w)\s*", text)
    end = named.end() if named else 0
    bare = text[end:].strip()
    repeated = subject if named else ""
    if named and _COMPARES.match(bare):
        return _build_mistake(0, end, catalogue.not_a_comparison(repeated, bare, ""))
    compared = f"== {bare}" if re.fullmatch(r"'[^']*'", bare) else ""
    if assigned := re.match(r"=+([<>]?)", bare):
        compared = f"{assigned[1] or '='}={bare[assigned.end() :]}"
    return _build_mistake(0, len(text), catalogue.not_a_comparison(repeated, compared, bare))


def _explain_token(text: str, position: int, expected: set[str], subject: str) -> SyntaxMistake:
    """Return the mistake at a position that no hint matches, by the character or token there.

    At the end of the text the formula is incomplete. An access to a member is marked as a matter of security.
    """
    if position >= len(text):
        end = len(text.rstrip())
        return _build_mistake(end - 1, end, catalogue.incomplete_formula(expected))
    character = text[position]
    if character == "." and (member := _MEMBER.match(text, position)):
        mistake = catalogue.member_access(member[1], is_call=bool(member[2]))
        return _build_mistake(position, member.end(1), mistake, is_security=True)
    if escape := _ESCAPE.match(text, position):
        return _build_mistake(escape.start(2), escape.end(2), catalogue.unknown_escape(escape[2]))
    if character in "'\"" and not _STRING.match(text, position):
        return _build_mistake(position, len(text), catalogue.string_without_end(character))
    if ord(character) > 126 or not character.isprintable():
        return _build_mistake(position, position + 1, catalogue.unknown_character(character))
    match = _TOKEN.match(text, position)
    token = match.group() if match else character
    return _build_mistake(
        position, position + len(token), _explain_misplacement(token, text, position, expected, subject)
    )


def _explain_misplacement(token: str, text: str, position: int, expected: set[str], subject: str) -> catalogue.Mistake:
    """Return code, message and help for a `token` that is wrong, or before which an operator or a value is missing.

    The terminals `expected` decide which. `subject` is the name to repeat in the help.
    """
    if "PLUS" in expected and token not in _WORDS and (token[0].isalnum() or token[0] in "_('\"$"):
        words = _WORDS_AS_STRING.search(text[:position].rstrip())
        more = _MORE_WORDS.match(text, position)
        unquoted = f"{words[1]} {more.group()}" if words and more else ""
        return catalogue.missing_operator(token, unquoted)
    if "NAME" in expected and (token in _WORDS or not re.match(r"[\w('\"$\[]", token)):
        return catalogue.missing_value(token, subject)
    return catalogue.wrong_token(token, expected)
