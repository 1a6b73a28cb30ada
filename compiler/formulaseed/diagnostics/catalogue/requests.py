"""Define the mistakes in requests: ids and groups, evidence, patterns, shorthands."""

from __future__ import annotations

import re
from collections.abc import Collection

from formulaseed import limits
from formulaseed.diagnostics.catalogue import define, define_1, define_2, define_3
from formulaseed.diagnostics.model import Diagnostic, Help, Suggestion, diagnostic
from formulaseed.diagnostics.suggestions import did_you_mean, find_close_matches, suggest
from formulaseed.source.text import Span

# --- lines

no_requests = define("FS509", "the file holds no request", "write one JSON object a line")
too_many_requests = define(
    "FS510", f"the file holds more than {limits.REQUESTS} requests", "split it into several files"
)
bare_structure = define(
    "FS818",
    "the structure is in no request, so nothing says which restaurant is the answer",
    'write {"id": …, "structure": …, "gold_restaurant": …} with the other keys of a request',
)
misleading_name = define_3(
    "FS819", "the name `{0}` announces {1}, and its evidence is {2}", "rename the condition, or correct its evidence"
)
empty_string = define_2("FS815", "`{0}` is empty", "write {1}")
duplicate_id = define_2("FS203", "duplicate id `{0}`, first on line {1}", "give one of the two another id")
id_and_group_disagree = define_3(
    "FS812", "`{0}` belongs to {1}, and the request says {2}", "R01 to R10 are G01, R11 to R20 are G02, and so on"
)
neither_condition_nor_junction = define_2("FS502", "{0} is neither a condition nor an `AND` or `OR`", "write {1}")
too_many_conditions = define_1("FS510", "a request has more than {0} conditions", "leave some out")
no_arguments = define("FS509", "`args` is empty", "list the conditions that it joins")


invalid_id = define_1(
    "FS811",
    "`{0}` cannot be the id of a request",
    f"write at most {limits.REQUEST_ID_CHARACTERS} visible characters but `<` and `>`, without spaces around them",
)


def foreign_name(span: Span, name: str, aspects: Collection[str]) -> Diagnostic:
    """Return FS819: a name in a shorthand resembles the name of none of the conditions, `aspects`."""
    help = did_you_mean(name, aspects, noun="conditions")
    return diagnostic("FS819", span, f"no condition of the structure is called anything like `{name}`", help)


def foreign_id(span: Span, id: str, suggested: str) -> Diagnostic:
    """Return FS811: an id is not one of the benchmark's. `suggested` is the id that was probably intended, or empty."""
    help = suggest(suggested) if suggested else "write R01 to R99, or R100"
    return diagnostic("FS811", span, f"`{id}` is not the id of a request of the benchmark", help)


def group_pattern(span: Span, group: str, name: str, pattern: str, meaning: str) -> Diagnostic:
    """Return FS813: a request's structure does not match its group, whose `meaning` and `pattern` are shown."""
    message = f"the structure does not fit {group}, which is {meaning}"
    return diagnostic("FS813", span, message, f"{group} is {name}: `{pattern}`")


def unknown_junction(span: Span, op: str) -> Diagnostic:
    """Return FS505: `op` is neither `AND` nor `OR`. One in other case or with spaces is suggested."""
    upper = op.strip().upper()
    help: Help = "write `AND` or `OR`"
    if upper in ("AND", "OR"):
        help = suggest(upper)
    elif upper == "NOT":
        help = 'evidence negates: "true": "False", "not_true" or "not_contains"'
    return diagnostic("FS505", span, f"`{op}` joins no conditions", help)


# --- evidence

_SYMBOLS = {">=": "gte", ">": "gt", "<=": "lte", "<": "lt", "==": "eq", "=": "eq", "!=": "ne"}
empty_value = define_2("FS509", "{0} is empty", "write a value, such as {1}")
conflicting_min_matches = define("FS511", "`min_matches` has two different values", "keep one of them")
key_without_effect = define_2("FS817", "`{0}` has no effect: {1}", "remove it, or what rules it out")
nothing_to_restate = define_2(
    "FS502", "`op` and `value` restate a rule, and {0} has none", 'write "{1}": … in place of both'
)
restated_otherwise = define_3(
    "FS816", "`{0}` says `{1}`, and the rule {2}", "the rule holds; remove `{0}`, or correct one of the two"
)
"""`op` or `value` disagrees with a rule."""
invalid_hours = define_1(
    "FS509", "`{0}` is not a range of hours", 'write two different times from 0:0 to 24:0, such as "18:0-21:30"'
)


def invalid_choice(span: Span, key: str, word: str, allowed: Collection[str], operators: Collection[str]) -> Diagnostic:
    """Return FS505 or FS509: the value of a key, `word`, is none of the `allowed` words.

    The code is FS505 if one of these is in `operators`. The help suggests the word for a sign such as `>=`, or a
    similar word.
    """
    symbol = _SYMBOLS.get(word, "")
    help = did_you_mean(word, allowed, noun="it is one of")
    if symbol in allowed:
        help = Suggestion(f"write `{symbol}`", symbol)
    code = "FS505" if set(allowed) & set(operators) else "FS509"
    return diagnostic(code, span, f"`{key}` cannot be `{word}`", help)


def path_length(span: Span, key: str, number: int, most: int, example: str) -> Diagnostic:
    """Return FS509: a path has no keys, or more than `most`."""
    return diagnostic("FS509", span, f"`{key}` has {number} keys", f"write 1 to {most} keys, such as {example}")


def unknown_day(span: Span, day: str, days: Collection[str]) -> Diagnostic:
    """Return FS509: a key of opening hours is not a day of the week."""
    return diagnostic("FS509", span, f"`{day}` is not a day", did_you_mean(day, days, noun="days"))


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
"""Patterns for the beginning of the text at fault, each with the help. The first one that matches is used."""
_AMBIGUOUS = "this repeat can match one text in many ways: "
nested_repeat = define_1("FS803", _AMBIGUOUS + "`{0}` is repeated inside it", "repeat once, such as `{0}` for `({0})+`")
empty_repeat = define_1("FS803", _AMBIGUOUS + "`{0}` can be empty", "let what is repeated match at least one character")
ambiguous_repeat = define_2(
    "FS803",
    _AMBIGUOUS + "`{0}` can go on with `{1}` in two ways",
    "let alternatives begin with different characters: `(a|b)*` for `(a|a)*`, `(ab?){{0,100}}` for `(ab|a)*`",
)
slow_pattern = define(
    "FS803",
    "this pattern can match in too many ways: a long review could make it take very long",
    "bound a repeat, such as `.{0,100}` for `.*`, or use several conditions",
)
pattern_over_limit = define_3(
    "FS804",
    "the pattern has {0:,} {1}, more than {2:,}",
    "shorten it, or split it into several conditions joined with OR",
)
patterns_over_limit = define_1(
    "FS804", "up to here the patterns of the file have more than {0:,} parts", "split the file"
)


def _find_pattern_help(written: str) -> str:
    """Return the help for the part of a pattern that is at fault; the first entry that matches its beginning wins."""
    help = next(help for looks, help in _PATTERN_HELP if re.match(looks, written))
    return help.replace("{0}", written[:1])


def invalid_pattern(span: Span, reason: str, written: str) -> Diagnostic:
    """Return FS801: a pattern is not valid. `reason` is the message of `re`, `written` the text at fault."""
    return diagnostic("FS801", span, f"invalid pattern: {reason}", _find_pattern_help(written))


def pattern_not_supported(span: Span, written: str) -> Diagnostic:
    """Return FS802: a pattern uses valid syntax that requests do not have. `written` is that syntax."""
    return diagnostic("FS802", span, f"`{written[:40]}` is not supported in patterns", _find_pattern_help(written))


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
MAX_QUOTED = 60
"""The longest part of a shorthand that a message quotes, in characters."""
MAX_HELP = 200
"""The longest shorthand that a help line shows."""
unclosed_bracket = define_2("FS821", "`{0}` is not closed", "close it with `{1}`")
string_without_end = define_1(
    "FS821",
    "the string that begins here is not closed",
    "close it with `{0}`; a line break or a tab in it is written `\\n` or `\\t`",
)
wrong_quote = define_1("FS821", "`{0}` does not quote a string", "write `'`")
negated_shorthand = define_1(
    "FS822",
    "there is no `{0}`: a shorthand has no negation",
    "name a condition whose evidence is the negation, such as `no_tv`",
)
hops_too_far = define_2(
    "FS822", "there is no `{0}`: a social filter reaches two hops at most", "write `1{1}` or `2{1}`"
)
shorthand_over_limit = define_3(
    "FS823", "the shorthand has {0:,} {1}, more than {2:,}", "shorten the names, or split the request"
)
shorthands_over_limit = define_1(
    "FS823", "up to here the shorthands of the file have more than {0:,} names and strings", "split the file"
)


def _quote(text: str) -> str:
    """Return the text in backticks; one longer than `MAX_QUOTED` is cut off, and ends with `…`."""
    if len(text) > MAX_QUOTED:
        text = f"{text[: MAX_QUOTED - 1]}…"
    return f"`{text}`"


def hidden_character(span: Span, character: str) -> Diagnostic:
    """Return FS821: a shorthand has a character that cannot be seen, or looks like a space."""
    help = "write a plain space" if character.isspace() else "remove it, or write it as an escape inside quotes"
    return diagnostic("FS821", span, f"the character U+{ord(character):04X} is not allowed here", help)


def invalid_shorthand_token(span: Span, token_text: str, accepted: set[str], kind: str, word: str) -> Diagnostic:
    """Return FS821: a shorthand has a token that cannot follow. An empty `token_text` is the end.

    `accepted` are the kinds of tokens that may follow, which must not be empty; `kind` and `word` are those of the
    operator around it.
    """
    *names, last = dict.fromkeys(name for token, name in _TOKENS.items() if token in accepted)
    expected = f"{', '.join(names)} or {last}" if names else last
    help = f"write it like `{_EXAMPLES[kind].format(word)}`"
    if "COMMA" in accepted and kind == "OPERATOR":
        help += "; a name has `_` in place of spaces"
    actual = _quote(token_text) if token_text else "the end"
    return diagnostic("FS821", span, f"expected {expected}, found {actual}", help)


def infix_in_shorthand(span: Span, word: str, left: str, right: str) -> Diagnostic:
    """Return FS821: an operator of a shorthand is between its arguments, `left` and `right`."""
    example = f"{INFIX[word.lower()]}({left}, {right})"
    return diagnostic("FS821", span, f"`{word}` cannot be between its arguments", f"write {_quote(example)}")


def unknown_shorthand_operator(span: Span, word: str) -> Diagnostic:
    """Return FS822: a shorthand has an operator that does not exist, or a negation.

    The help suggests the similar operators, or else lists all of them.
    """
    if word.lower() in NEGATIONS:
        return negated_shorthand(span, word)
    close = find_close_matches(word, WORDS)
    help = f"operators: {', '.join(f'`{name}`' for name in WORDS)}; in a name a bracket follows `_`"
    if close:
        help = f"did you mean `{'` or `'.join(close)}`?"
    return diagnostic("FS822", span, f"there is no operator {_quote(word)}", help)


# --- shorthand and structure

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def describe_argument(index: int, op: str, where: str) -> str:
    """Return the words for an argument's place. `index` counts from 0; `where` is the place of the operator, or empty."""
    argument = f"the {_ORDINALS[index]} argument" if index < len(_ORDINALS) else f"argument {index + 1}"
    place = f"{argument} of `{op}`"
    return f"{place} in {where}" if where else place


def disagreement(span: Span, where: str, shorthand_part: tuple[str, bool], expected: tuple[str, bool]) -> Diagnostic:
    """Return FS814: a part of a shorthand differs from the structure.

    `shorthand_part` and `expected` are the texts in the shorthand and in the structure, each with True for a condition's name.
    """
    actual = _describe_part(*shorthand_part)
    message = f"{where or 'the request'} is {actual} in the shorthand and {_describe_part(*expected)} in the structure"
    return diagnostic("FS814", span, message, _help_for_disagreement(expected[0]))


def arguments_disagree(
    span: Span, where: str, op: str, shorthand_count: int, structure_count: int, expected: str
) -> Diagnostic:
    """Return FS814: an operator has more or fewer arguments in the shorthand than in the structure.

    `where` is the place of the operator, or empty; `expected` is the shorthand of the structure.
    """
    inside = f"in {where}, " if where else ""
    message = f"{inside}`{op}` has {shorthand_count} arguments in the shorthand and {structure_count} in the structure"
    return diagnostic("FS814", span, message, _help_for_disagreement(expected))


def _describe_part(text: str, is_name: bool) -> str:
    """Return a part of a shorthand in backticks, after `the condition` if it is the name of one."""
    return f"the condition {_quote(text)}" if is_name else _quote(text)


def _help_for_disagreement(expected: str) -> str:
    """Return the help that shows the shorthand of the structure, or the command that prints it if it is too long."""
    if len(expected) > MAX_HELP:
        return "write what `formulaseed shorthand --print` shows of the structure, or change the structure"
    return f"write `{expected}` here, or change the structure"
