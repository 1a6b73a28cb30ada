"""Mistakes in requests: ids and groups, evidence, patterns, shorthands."""

from __future__ import annotations

import re

from formulaseed.diagnostics.model import Diagnostic, diagnostic
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
