"""Mistakes in expressions: types, null, calls, comparisons, operations without a value; syntax and size.

Expressions are passed as texts, types as nouns ("an integer", "a string or null").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from formulaseed.diagnostics.catalogue import plain, with_1, with_2, with_3, with_help
from formulaseed.diagnostics.model import Diagnostic, Help, Suggestion, diagnostic
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.source.printing import number_of
from formulaseed.source.text import Span

MAX_SHOWN = 80
"""A longer rewriting is not shown."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words that differ between messages about seeds and about formulas outside of seeds."""

    in_seed: bool
    unknown: str
    """The beginning of a message about an unknown bare name."""
    number_for_string: str
    """Return the help for a string where a number is needed."""
    call: str
    """A call of a function with a string."""


_LOOK_UP = "a string is no number; a `lookup` gives numbers for strings"
OF_SEEDS = Words(True, "no step is called", _LOOK_UP, "len(context.name)")
OF_DOMAINS = Words(
    False, "no field is called", "a string is no number; compare it: `10 if x == 'a' else 0`", "len(name)"
)


# --- types

AS_INTEGER = "write `int({})` for 1 or 0"
"""Help for a boolean where a number is needed."""
WITHOUT_QUOTES = "write {} without quotes"
misplaced_list = plain(
    "FS301", "a list can only be used after `in`, or inside `max`, `min` and `sum`", "write a single value"
)
not_a_condition = with_3("FS304", "a condition must be true or false, and {0} is {1}", "write `{2}`")
mixed_branches = with_2("FS301", "one branch is {0}, the other {1}", "give both branches the same type")
review_value = with_1(
    "FS401",
    "`{0}` has a value for every review, and one for the restaurant is needed",
    "count or sum it over the reviews in a step of its own, and use that",
)


def needs_numbers(span: Span, operator: str, called: str, noun: str, help: Help) -> Diagnostic:
    message = f"`{operator}` needs numbers, and {called} is {noun}"
    return diagnostic("FS301", span, message, help or "strings cannot be joined or counted; return them as they are")


def mixed_operands(span: Span, operator: str, nouns: Sequence[str]) -> Diagnostic:
    message = f"`{operator}` joins values of different types: {' and '.join(dict.fromkeys(nouns))}"
    return diagnostic("FS301", span, message, "compare each of them with something")


# --- names

unquoted_null = with_1("FS302", "`{0}` is null here, not the value of this name", "write `'{0}'`")


def unquoted_string(span: Span, words: Words, name: str, help: Help) -> Diagnostic:
    return diagnostic("FS201", span, f"{words.unknown} `{name}`", help)


# --- calls

STEP_CALLED = "`{0}` is a step; write `{0} * (…)` to multiply"
TEST_OF_PRESENT = "{} is never null here: remove the test"
LIKE = "write it like `{}`"
unknown_function = with_help("FS207", "there is no function `{0}`")
empty_arguments = with_1("FS303", "the list is empty", "write it like `{0}`")


def method(span: Span, name: str, words: Words, help: str) -> Diagnostic:
    help = help or f"functions are called by name, such as `{words.call}`; strings are compared case included"
    return diagnostic("FS103", span, f"values have no methods such as `{name}`", help, is_security=True)


def rewritten_method(text: str, *, is_number: bool) -> str:
    """Return the help for a method of a string."""
    number = f", or `int({text})` for 1 or 0" if is_number else ""
    return f"write `{text}`{number}{'; case matters' if '(' not in text else ''}"


def wrong_count(span: Span, function: str, least: int, most: int | None, number: int, help: str) -> Diagnostic:
    expected = number_of(least, "argument") if least == most else f"{least} or {most or 'more'} arguments"
    return diagnostic("FS303", span, f"`{function}` takes {expected}, not {number}", help)


def needs_list(span: Span, function: str, arguments: Sequence[str], *, are_plain: bool, example: str) -> Diagnostic:
    """Return FS303. `arguments` are empty where they cannot be shown; plain ones can be added up."""
    listed = f"{function}([{', '.join(arguments)}])"
    help = LIKE.format(example)
    if arguments and "\\" not in listed and len(listed) <= MAX_SHOWN and listed.isprintable():
        help = f"write `{listed}`"
        help += f", or `{' + '.join(arguments)}`" if are_plain and len(arguments) > 1 else ""
    return diagnostic("FS303", span, f"`{function}` takes one list", help)


def wrong_argument(span: Span, function: str, wanted: str, called: str, noun: str, help: Help) -> Diagnostic:
    return diagnostic("FS301", span, f"`{function}` takes {wanted}, and {called} is {noun}", help)


def not_literal(span: Span, function: str, parameter: str, bounds: tuple[int, int], example: str) -> Diagnostic:
    message = f"the {parameter} of `{function}` must be a literal integer from {bounds[0]} to {bounds[1]}"
    return diagnostic("FS303", span, message, LIKE.format(example))


# --- comparisons

IN_A_CHAIN = "in a chain `a > b == c` the middle is compared with both; join two comparisons with `and`"
COMPARE_ALIKE = "compare values of one type"
IN_QUOTES = "write '{}' in quotes"
WRITE_A_NUMBER = "write a number"
OPEN_IS_A_NUMBER = "`context.is_open` is 1 or 0: compare it with 1"
empty_list = with_1("FS509", "`{0}` has an empty list", "list the values")
not_searchable = with_3("FS301", "`{0}` looks in a string or in a list, and {1} is {2}", "write a list: `x in [1, 2]`")


def wrong_order(span: Span, operator: str, called: str, noun: str, help: Help) -> Diagnostic:
    return diagnostic("FS301", span, f"`{operator}` orders numbers, and {called} is {noun}", help)


def parts_of_date(date: str) -> str:
    """Return the help for ordering dates."""
    year, month = (re.sub(r"date(?=\W*$)", part, date) for part in ("year", "month"))
    return f"use `{year}` and `{month}`"


def order_of_values(values: Sequence[str] | None, noun: str) -> str:
    """Return the help for ordering strings with known values, other strings, or booleans."""
    if values is not None:
        return f"list the values that match: `in [{', '.join(repr(value) for value in values[-2:])}]`"
    return f"{noun} know `==`{', `!=` and `in`' if noun == 'strings' else ' and `!=`'}"


def incomparable(span: Span, left: tuple[str, str], right: tuple[str, str], help: Help) -> Diagnostic:
    """Return FS301. The sides are given as name and noun."""
    return diagnostic("FS301", span, f"{left[0]} is {left[1]}, and {right[0]} is {right[1]}", help)


def a_boolean(written: object) -> str:
    """Return the help for a literal that is compared with a boolean."""
    is_quoted = isinstance(written, str) and written.lower() in ("true", "false")
    return f"write {str(written).lower()} without quotes" if is_quoted else "write true or false"


def one_of_values(values: Sequence[str]) -> str:
    listed = ", ".join(f"'{value}'" for value in values[:6])
    return f"write one of {listed}{', …' if len(values) > 6 else ''}"


def no_common_value(span: Span, left: tuple[str, str], right: tuple[str, str]) -> Diagnostic:
    """Return FS302. The sides are given as name and listed values."""
    help = f"{left[0]} can be {left[1]}, {right[0]} {right[1]}"
    return diagnostic("FS302", span, f"{left[0]} and {right[0]} have no value in common", help)


def unknown_value(span: Span, called: str, value: str, known: Sequence[str], elsewhere: set[str]) -> Diagnostic:
    """Return FS302. `elsewhere` has the value if another field has it: then no suggestion is certain."""
    help = did_you_mean(value, known, noun="values", other_names=elsewhere)
    if not (span.pointer and span.source.text.startswith('"', span.start)):  # in a formula strings are in quotes
        text = re.sub("`([^`]*)`", r"`'\1'`", str(help))
        help = Suggestion(text, help.replacement, help.applicability) if isinstance(help, Suggestion) else text
    return diagnostic("FS302", span, f"{called} is never `{value}`", help)


# --- constant comparisons

REMOVE_THE_TEST = "remove the test"
REMOVE_THE_BRANCH = "remove the branch that never runs, or change the condition"
BOTH_ARE_CONSTANTS = "both sides are constants"
BOTH_ARE_SAME = "both sides are the same"
CONTRADICTORY = "its conditions exclude or imply one another"
KNOWN_PRESENT = "here {} is known to be present"
NEVER_NULL = "{} is never null"
ONLY_VALUES = "{} can only be {}"
HAS_RANGE = "{} is {}"
ALWAYS_TRUE = "{} is always true"
ALWAYS_FALSE = "{} is always false"
TESTED_BEFORE = "{} was tested before"
IS_INTEGER = "{} is an integer"
KNOWN_TRUE = "`{}` is known to be true here"
KNOWN_FALSE = "`{}` is known to be false here"
IS_CONSTANT = "`{}` is a constant"
EVERY_REVIEW = "`${}` holds for every review"
NO_REVIEW = "`${}` holds for no review"
"""Reasons; the place is for an expression."""


def identical_operands(span: Span, operator: str, text: str, result: int) -> Diagnostic:
    message = f"both sides of `{operator}` are `{text}`: the result is {result}, whatever they are"
    return diagnostic("FS622", span, message, "name on one side what is different, or remove the operation")


def constant_comparison(span: Span, result: bool, reason: str, help: str) -> Diagnostic:
    help = help or "remove the comparison, or compare with a value that can make a difference"
    return diagnostic("FS603", span, f"this is always {str(result).lower()}: {reason}", help)


def declare_nullable(name: str, type_: str) -> str:
    """Return the help for a test for null of a standard field."""
    return f'{REMOVE_THE_TEST}, or declare the field: {{"name": "{name}", "type": "{type_}", "nullable": true}}'


def holds_where(condition: str, truth: bool, reasons: Sequence[str]) -> str:
    return f"`{condition}` {'always holds' if truth else 'cannot hold'} where {' and '.join(reasons)}"


def join_values(values: Sequence[str]) -> str:
    """Return the first values of a list, which are literals of the language, joined by `or`."""
    return " or ".join(values if len(values) <= 5 else [*values[:4], f"{len(values) - 4} others"])


# --- operations without a value

PARTIAL_CODES = {"division_by_zero": "FS604", "domain": "FS605", "overflow": "FS606", "null": "FS305"}
"""The codes of the warnings for operations that may fail, by the kinds of failures."""
ALWAYS_NULL = "this is always null{where}, and a value is needed"
WRITE_A_VALUE = "write a value"
ALWAYS_FAILS = "this always fails{where}: "
CHANGE_THE_VALUES = "change the values, or leave the operation out"
large_sum = with_2(
    "FS606", "the sum may be too large for a number: each term is {0}", "bound the terms: `min({1}, 1000)`"
)


def always_fails(span: Span, text: str, help: str) -> Diagnostic:
    """Return FS306. `text` has a place `{where}`."""
    return diagnostic("FS306", span, text.replace("{where}", ""), help)


def fails_if_reached(kind: str, span: Span, text: str, help: str) -> Diagnostic:
    return diagnostic(PARTIAL_CODES[kind], span, text.replace("{where}", " where it is reached"), help)


def may_fail(kind: str, span: Span, message: str, guarded: str, bounded: str) -> Diagnostic:
    """Return the diagnostic.

    `guarded` is the operation behind a test, `bounded` with an operand that is kept in bounds; either may be empty.
    """
    help = f"guard it: `{guarded}`" if guarded else f"bound it first: `{bounded}`"
    help += f", or bound it: `{bounded}`" if guarded and bounded else ""
    return diagnostic(PARTIAL_CODES[kind], span, message, help)


# --- syntax, where no hint is about a mistake: code, message and help

Mistake = tuple[str, str, str]

_EXPECTED = (
    ({"NAME", "NUMBER"}, "a value (a name, a number, a string, `(`)"),
    ({"ELSE"}, "`else`"),
    ({"RPAR"}, "`)`"),
    ({"RSQB"}, "`]`"),
    ({"PLUS"}, "an operator or the end"),
    ({"LESSTHAN"}, "a comparison such as `< 4.0`"),
    ({"IN"}, "`in`"),
)
"""The names of the parser's expected tokens in messages."""


def _expectation(expected: set[str]) -> str:
    return next((words for tokens, words in _EXPECTED if tokens <= expected), "the end of the formula")


EMPTY_FORMULA: Mistake = ("FS102", "the formula is empty", "write an expression such as `a * 2 + 1`")


def unfinished(expected: set[str]) -> Mistake:
    help = "add `else` and the other value: `a if condition else b`" if "ELSE" in expected else ""
    return "FS102", "the formula ends too early", help or f"complete it with {_expectation(expected)}"


def not_a_comparison(repeated: str, compared: str, value: str) -> Mistake:
    """Return the mistake of a `when` without an operator, or that repeats the source. `compared` is what to write, if known."""
    help = "write it like `< 4.0`, or drop `source` and write the whole condition"
    if compared:
        help = f"{f'leave `{repeated}` out: ' if repeated else ''}write `{compared}`"
    elif value.lower() in ("else", "default", "otherwise", "_", "*"):
        help = 'write {"else": …} as the last rule'
    elif value.removeprefix("-")[:1].isdigit():
        help = f"write a comparison: `== {value}`, or `< {value}`"
    elif value.replace("_", "").isalnum():
        help = f"write `== '{value}'` if it is a string"
    return "FS101", "with `source`, `when` starts with a comparison operator", help


def member(name: str, *, is_call: bool) -> Mistake:
    help = "functions are called by name, such as `len(context.name)`" if is_call else "use the value itself"
    return "FS103", f"values have no {'methods' if is_call else 'parts'} such as `{name}`", help


def word_called(word: str, form: str) -> Mistake:
    return "FS207", f"there is no function `{word}`", f"write `{form}`"


def unknown_escape(escape: str) -> Mistake:
    return "FS101", f"`{escape}` is no escape here", "write `\\\\` for a backslash"


def unclosed_string(quote: str) -> Mistake:
    return "FS102", "the string that begins here is not closed", f"close it with `{quote}`"


def unknown_character(character: str) -> Mistake:
    visible = character if character.isprintable() else ascii(character)[1:-1]
    return "FS103", f"`{visible}` (U+{ord(character):04X}) is not in the language", "remove it"


def missing_operator(token: str, words: str) -> Mistake:
    """Return the mistake of two values in a row. `words` are several that may be one string without its quotes."""
    help = "write an operator, such as `==`" if token[0] in "'\"" else "write an operator, such as `*` to multiply"
    help = f"write `'{words}'` if it is a string" if words else help
    return "FS101", f"an operator is missing before `{token}`", help


def missing_value(token: str, subject: str) -> Mistake:
    is_comparison = token in ("<", "<=", ">", ">=", "==", "!=")
    help = f"repeat the name: `… and {subject} {token} 9`" if is_comparison else "write a name, a number or a string"
    return "FS101", f"a value is missing before `{token}`", help


def misplaced(token: str, expected: set[str]) -> Mistake:
    if token in ")]":
        return "FS103", f"this `{token}` closes nothing", "remove it"
    return "FS101", f"`{token}` cannot appear here", f"expected: {_expectation(expected)}"


# --- limits, and numbers


TOO_DEEP = "{} are nested {} deep, more than {}"


def too_large(span: Span, message: str) -> Diagnostic:
    return diagnostic("FS104", span, message, "split the formula into several")


def too_many(number: int, noun: str, most: int) -> str:
    return f"the formula has {number_of(number, noun)}, more than {most:,}"


def number_out_of_range(span: Span, text: str) -> Diagnostic:
    help = "integers reach to 9223372036854775807, numbers to 1.797e308"
    return diagnostic("FS006", span, f"the number {text[:50]} is out of range", help)


def file_too_large(span: Span, noun: str, total: int, most: int, name: str, largest: int) -> Diagnostic:
    message = f"the file has {total:,} {noun}s in all, more than {most:,}; most of them, {largest:,}, in `{name}`"
    return diagnostic("FS510", span, message, "split the file, or compute in fewer steps")
