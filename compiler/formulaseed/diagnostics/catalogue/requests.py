"""Mistakes in requests: ids and groups, evidence, patterns, shorthands."""

from __future__ import annotations

import re

from formulaseed.diagnostics.model import Diagnostic, diagnostic
from formulaseed.diagnostics.suggestions import near
from formulaseed.source.text import Span

# --- patterns

_PATTERN_HELP = (
    (r"\(\?<?[=!]", "write what comes before it and behind it"),
    (r"\(\?[a-zA-Z-]+[:)]", "remove the flag: case is ignored, and there are no others"),
    (r"\(\?", r"write a plain group `(?:…)`, or `\(` for the character itself"),
    (r"\\[1-9]|\\[kg]<", "write the text out again"),
    (r"\\[pPN]", r"write `[^\W\d_]` for any letter"),
    (r"\\x|\\u|\\U|\\0", r"write it like `\xe9` or `\u00e9`"),
    (r"\\[a-zA-Z]?", r"write `\\` for a backslash, or the character itself"),
    (r"\[:", r"write `a-z`, `\d`, `\s` or `\w`"),
    (r"&&|~~|\|\||-", "list the characters of the set, a hyphen first or last"),
    (r"[*+?]|\{[0-9,]+\}", "repeat one thing once, such as `a*`, `(?:ab)+` or `a{0,5}`"),
    (r"\[|\(", r"close it, or write `\{0}` for the character itself"),
    (r"\W", r"write `\{0}` for the character itself"),
    (r"", r"write `\` before a character that stands for itself, and ranges like `a-z`"),
)  # fmt: skip
"""What the text at fault looks like, and what to write instead. The first row that matches is used."""


def _pattern_help(written: str) -> str:
    help = next(help for looks, help in _PATTERN_HELP if re.match(looks, written))
    return help.replace("{0}", written[:1])


def malformed_pattern(span: Span, said: str, written: str) -> Diagnostic:
    """`said` is what `re` says of it, `written` what is underlined."""
    return diagnostic("FS801", span, f"invalid pattern: {said}", _pattern_help(written))


def unsupported_pattern(span: Span, written: str) -> Diagnostic:
    return diagnostic("FS802", span, f"`{written[:40]}` is not supported in patterns", _pattern_help(written))


def nested_repeat(span: Span, inner: str) -> Diagnostic:
    return _ambiguous(span, f"`{inner}` is repeated inside it", f"repeat once, such as `{inner}` for `({inner})+`")


def empty_repeat(span: Span, item: str) -> Diagnostic:
    return _ambiguous(span, f"`{item}` can be empty", "let what is repeated match at least one character")


def ambiguous_repeat(span: Span, item: str, character: str) -> Diagnostic:
    help = "let alternatives begin with different characters: `(a|b)*` for `(a|a)*`, `(ab?)*` for `(ab|a)*`"
    return _ambiguous(span, f"`{item}` can go on with `{character}` in two ways", help)


def _ambiguous(span: Span, reason: str, help: str) -> Diagnostic:
    return diagnostic("FS803", span, f"this repeat can match one text in many ways: {reason}", help)


def slow_pattern(span: Span) -> Diagnostic:
    message = "this pattern can match in too many ways: a long review could make it take very long"
    return diagnostic("FS803", span, message, "bound a repeat, such as `.{0,100}` for `.*`, or use several conditions")


def pattern_over_limit(span: Span, number: int, what: str, most: int) -> Diagnostic:
    message = f"the pattern has {number:,} {what}, more than {most:,}"
    return diagnostic("FS804", span, message, "shorten it, or split it into several conditions joined with OR")


def patterns_over_limit(span: Span, most: int) -> Diagnostic:
    message = f"up to here the patterns of the file have more than {most:,} parts"
    return diagnostic("FS804", span, message, "split the file")


# --- shorthand

WORDS = ("AND", "OR", "1HOP", "2HOP", "1HOP_STARS", "2HOP_STARS")
INFIX = {"and": "AND", "or": "OR", "&": "AND", "&&": "AND", "+": "AND", "|": "OR", "||": "OR", "/": "OR"}
"""Operators that other notations write between their arguments."""
NEGATIONS = ("not", "!", "-", "~", "¬")
_EXAMPLES = {"OPERATOR": "{0}(a, b)", "HOP": "{0}(['Alice'], 'cozy')", "STARS": "{0}(['Alice'])"}
_TOKENS = {
    "NAME": "a condition", "OPERATOR": "a condition", "HOP": "a condition", "STARS": "a condition", "TEXT": "a quoted string",
    "COMMA": "`,`", "LPAR": "`(`", "RPAR": "`)`", "LSQB": "`[`", "RSQB": "`]`", "$END": "the end",
}  # fmt: skip
_QUOTED = 40


def _shorthand(span: Span, message: str, help: str, code: str = "FS821") -> Diagnostic:
    return diagnostic(code, span, message, help)


def _quoted(text: str) -> str:
    return f"`{text if len(text) <= _QUOTED else f'{text[: _QUOTED - 1]}…'}`"


def hidden_character(span: Span, character: str) -> Diagnostic:
    help = "write a plain space" if character.isspace() else "remove it, or write it as an escape inside quotes"
    return _shorthand(span, f"the character U+{ord(character):04X} is not allowed here", help)


def unexpected_in_shorthand(span: Span, found: str, accepted: set[str], kind: str, word: str) -> Diagnostic:
    """`accepted` are the kinds of tokens that may follow, `kind` and `word` those of the operator around it."""
    names = list(dict.fromkeys(name for token, name in _TOKENS.items() if token in accepted))
    expected = " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    help = f"write it like `{_EXAMPLES[kind].format(word)}`"
    if "COMMA" in accepted and kind == "OPERATOR":
        help += "; a name has `_` in place of spaces"
    return _shorthand(span, f"expected {expected}, found {_quoted(found) if found else 'the end'}", help)


def unclosed_bracket(span: Span, opened: str, close: str) -> Diagnostic:
    return _shorthand(span, f"`{opened}` is not closed", f"close it with `{close}`")


def unclosed_string(span: Span, quote: str) -> Diagnostic:
    help = f"close it with `{quote}`; a line break or a tab in it is written `\\n` or `\\t`"
    return _shorthand(span, "the string that begins here is not closed", help)


def wrong_quote(span: Span, quote: str) -> Diagnostic:
    return _shorthand(span, f"`{quote}` does not quote a string", "write `'`")


def infix_in_shorthand(span: Span, word: str, left: str, right: str) -> Diagnostic:
    example = f"{INFIX[word.lower()]}({left}, {right})"
    return _shorthand(span, f"`{word}` cannot be between its arguments", f"write {_quoted(example)}")


def negated_shorthand(span: Span, word: str) -> Diagnostic:
    help = "name a condition whose evidence is the negation, such as `no_tv`"
    return _shorthand(span, f"there is no `{word}`: a shorthand has no negation", help, "FS822")


def unknown_shorthand_operator(span: Span, word: str) -> Diagnostic:
    if word.lower() in NEGATIONS:
        return negated_shorthand(span, word)
    close = near(word, WORDS)
    known = f"operators: {', '.join(f'`{name}`' for name in WORDS)}; in a name a bracket follows `_`"
    help = f"did you mean `{'` or `'.join(close)}`?" if close else known
    return _shorthand(span, f"there is no operator {_quoted(word)}", help, "FS822")


def hops_too_far(span: Span, written: str, word: str) -> Diagnostic:
    message = f"there is no `{written}`: a social filter reaches two hops at most"
    return _shorthand(span, message, f"write `1{word}` or `2{word}`", "FS822")


def shorthand_over_limit(span: Span, number: int, what: str, most: int) -> Diagnostic:
    message = f"the shorthand has {number:,} {what}, more than {most:,}"
    return _shorthand(span, message, "shorten the names, or split the request", "FS823")


def shorthands_over_limit(span: Span, most: int) -> Diagnostic:
    message = f"up to here the shorthands of the file have more than {most:,} names and strings"
    return _shorthand(span, message, "split the file", "FS823")
