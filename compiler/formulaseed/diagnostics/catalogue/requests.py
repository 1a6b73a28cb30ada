"""Mistakes in requests: ids and groups, evidence, patterns, shorthands."""

from __future__ import annotations

import re
from collections.abc import Collection

from formulaseed.diagnostics.model import Diagnostic, Help, Suggestion, diagnostic
from formulaseed.diagnostics.suggestions import close_matches, did_you_mean, suggest
from formulaseed.source.text import Span

# --- lines


def no_requests(span: Span) -> Diagnostic:
    return diagnostic("FS509", span, "the file holds no request", "write one JSON object a line")


def request_over_lines(span: Span) -> Diagnostic:
    message = "a request is laid out over several lines"
    return diagnostic("FS001", span, message, "write each request on a line of its own")


def empty_string(span: Span, key: str, example: str) -> Diagnostic:
    return diagnostic("FS815", span, f"`{key}` is empty", f"write {example}")


def invalid_id(span: Span, id: str, suggested: str) -> Diagnostic:
    """`suggested` is the id that was probably intended, or empty."""
    help = suggest(suggested) if suggested else "write R01 to R99, or R100"
    return diagnostic("FS811", span, f"`{id}` is not the id of a request", help)


def duplicate_id(span: Span, id: str, line: int) -> Diagnostic:
    message = f"duplicate id `{id}`, first on line {line}"
    return diagnostic("FS203", span, message, "give one of the two another id")


def id_and_group_disagree(span: Span, id: str, expected: str, group: str) -> Diagnostic:
    message = f"`{id}` belongs to {expected}, and the request says {group}"
    return diagnostic("FS812", span, message, "R01 to R10 are G01, R11 to R20 are G02, and so on")


def group_pattern(span: Span, group: str, name: str, pattern: str, meaning: str) -> Diagnostic:
    message = f"the structure does not fit {group}, which is {meaning}"
    return diagnostic("FS813", span, message, f"{group} is {name}: `{pattern}`")


def neither_condition_nor_junction(span: Span, what: str, example: str) -> Diagnostic:
    return diagnostic("FS502", span, f"{what} is neither a condition nor an `AND` or `OR`", f"write {example}")


def too_many_conditions(span: Span, most: int) -> Diagnostic:
    return diagnostic("FS510", span, f"a request has more than {most} conditions", "leave some out")


def unknown_junction(span: Span, op: str) -> Diagnostic:
    upper = op.strip().upper()
    help: Help = suggest(upper) if upper in ("AND", "OR") else "write `AND` or `OR`"
    if upper == "NOT":
        help = 'evidence negates: "true": "False", "not_true" or "not_contains"'
    return diagnostic("FS505", span, f"`{op}` joins no conditions", help)


def no_arguments(span: Span) -> Diagnostic:
    return diagnostic("FS509", span, "`args` is empty", "list the conditions that it joins")


# --- evidence

_SYMBOLS = {">=": "gte", ">": "gt", "<=": "lte", "<": "lt", "==": "eq", "=": "eq", "!=": "ne"}


def empty_value(span: Span, what: str, example: str) -> Diagnostic:
    return diagnostic("FS509", span, f"{what} is empty", f"write a value, such as {example}")


def invalid_choice(span: Span, key: str, word: str, allowed: Collection[str], operators: Collection[str]) -> Diagnostic:
    symbol = _SYMBOLS.get(word, "")
    help = did_you_mean(word, allowed, what="it is one of")
    if symbol in allowed:
        help = Suggestion(f"write `{symbol}`", symbol)
    code = "FS505" if set(allowed) & set(operators) else "FS509"
    return diagnostic(code, span, f"`{key}` cannot be `{word}`", help)


def path_length(span: Span, key: str, number: int, most: int, example: str) -> Diagnostic:
    return diagnostic("FS509", span, f"`{key}` has {number} keys", f"write 1 to {most} keys, such as {example}")


def conflicting_min_matches(span: Span) -> Diagnostic:
    return diagnostic("FS511", span, "`min_matches` has two different values", "keep one of them")


def key_without_effect(span: Span, key: str, why: str) -> Diagnostic:
    return diagnostic("FS817", span, f"`{key}` has no effect: {why}", "remove it, or what rules it out")


def nothing_to_restate(span: Span, what: str, rule: str) -> Diagnostic:
    message = f"`op` and `value` restate a rule, and {what} has none"
    return diagnostic("FS502", span, message, f'write "{rule}": … in place of both')


def restated_otherwise(span: Span, key: str, said: str | None, rule: str) -> Diagnostic:
    """`op` or `value` disagrees with a rule."""
    message = f"`{key}` says `{said}`, and the rule {rule}"
    return diagnostic("FS816", span, message, f"the rule holds; remove `{key}`, or correct one of the two")


def unknown_day(span: Span, day: str, days: Collection[str]) -> Diagnostic:
    return diagnostic("FS509", span, f"`{day}` is not a day", did_you_mean(day, days, what="days"))


def invalid_hours(span: Span, text: str) -> Diagnostic:
    help = 'write two different times from 0:0 to 24:0, such as "18:0-21:30"'
    return diagnostic("FS509", span, f"`{text}` is not a range of hours", help)


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
    help = "let alternatives begin with different characters: `(a|b)*` for `(a|a)*`, `(ab?){0,100}` for `(ab|a)*`"
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
    close = close_matches(word, WORDS)
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


# --- shorthand and structure

_SHOWN, _HELPFUL = 60, 200
"""So many characters of a shorthand are shown in a message, and in a help line."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def argument_of(index: int, op: str, where: str) -> str:
    """The place of an argument, in words."""
    which = f"the {_ORDINALS[index]} argument" if index < len(_ORDINALS) else f"argument {index + 1}"
    return f"{which} of `{op}`{f' in {where}' if where else ''}"


def disagreement(span: Span, where: str, said: tuple[str, bool], expected: tuple[str, bool]) -> Diagnostic:
    """A part of a shorthand disagrees with the structure: both as text, and whether it is the name of a condition."""
    message = f"{where or 'the request'} is {_part(*said)} in the shorthand and {_part(*expected)} in the structure"
    return diagnostic("FS814", span, message, _disagreement_help(expected[0]))


def arguments_disagree(span: Span, where: str, op: str, said: int, structure: int, expected: str) -> Diagnostic:
    inside = f"in {where}, " if where else ""
    message = f"{inside}`{op}` has {said} arguments in the shorthand and {structure} in the structure"
    return diagnostic("FS814", span, message, _disagreement_help(expected))


def _part(text: str, is_name: bool) -> str:
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return f"the condition `{shown}`" if is_name else f"`{shown}`"


def _disagreement_help(expected: str) -> str:
    if len(expected) > _HELPFUL:
        return "write what `formulaseed shorthand --print` shows of the structure, or change the structure"
    return f"write `{expected}` here, or change the structure"
