"""Define the mistakes in expressions: types, null, calls, comparisons, and operations without a value.

Callers pass expressions as strings, and types as nouns ("an integer", "a string or null"). A function called `help_for_…` returns
a help for another mistake.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from formulaseed.diagnostics.catalogue import define, define_1, define_2, define_3, define_with_help
from formulaseed.diagnostics.model import Diagnostic, Help, Suggestion, diagnostic
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.source.printing import number_of
from formulaseed.source.text import Span

MAX_REWRITING = 80
"""The characters of the longest rewritten call that a help shows."""


@dataclass(frozen=True, slots=True)
class DocumentWording:
    """The words that differ between messages about seeds and about formulas outside of seeds."""

    in_seed: bool
    unknown: str
    """The beginning of a message about an unknown bare name."""
    number_for_string: str
    """The help for a string where a number is needed."""
    call: str
    """A call of a function with a string."""

    @property
    def string_in_arithmetic(self) -> str:
        """The help for a string that is an operand of an arithmetic operator."""
        return f"strings cannot be joined, and {self.number_for_string}"


_LOOK_UP = "a string is no number; a `lookup` gives numbers for strings"
SEED_WORDING = DocumentWording(True, "no step is called", _LOOK_UP, "len(context.name)")
DOMAIN_WORDING = DocumentWording(
    False, "no field is called", "a string is no number; compare it: `10 if x == 'a' else 0`", "len(name)"
)


# --- types

AS_INTEGER = "write `int({})` for 1 or 0"
"""Help for a boolean where a number is needed."""
WITHOUT_QUOTES = "write {} without quotes"
misplaced_list = define(
    "FS301", "a list can only be used after `in`, or inside `max`, `min` and `sum`", "write a single value"
)
not_a_condition = define_3("FS304", "a condition must be true or false, and {0} is {1}", "write `{2}`")
mixed_branches = define_2("FS301", "one branch is {0}, the other {1}", "give both branches the same type")
review_value = define_1(
    "FS401",
    "`{0}` has a value for every review, and one for the restaurant is needed",
    "count or sum it over the reviews in a step of its own, and use that",
)


def needs_numbers(span: Span, operator: str, called: str, noun: str, help: Help) -> Diagnostic:
    """Return FS301: an operand of an arithmetic operator, `called` in the message, is `noun`, which is no number."""
    message = f"`{operator}` needs numbers, and {called} is {noun}"
    return diagnostic("FS301", span, message, help)


def operand_types_differ(span: Span, operator: str, nouns: Sequence[str]) -> Diagnostic:
    """Return FS301: the operands of `and` or `or` are of different types."""
    message = f"`{operator}` joins values of different types: {' and '.join(dict.fromkeys(nouns))}"
    return diagnostic("FS301", span, message, "compare each of them with something")


# --- names

unquoted_null = define_1("FS302", "`{0}` is null here, not the value of this name", "write `'{0}'`")


def string_without_quotes(span: Span, words: DocumentWording, name: str, help: Help) -> Diagnostic:
    """Return FS201: a bare name is unknown, and reads like a string without quotes, or like another name.

    `words` begins the message as suits the kind of document.
    """
    return diagnostic("FS201", span, f"{words.unknown} `{name}`", help)


# --- calls

STEP_CALLED = "`{0}` is a step; write `{0} * (…)` to multiply"
TEST_OF_PRESENT = "{} is never null here: remove the test"
LIKE = "write it like `{}`"
unknown_function = define_with_help("FS207", "there is no function `{0}`")
empty_arguments = define_1("FS303", "the list is empty", "write it like `{0}`")


def method_call(span: Span, name: str, words: DocumentWording, help: str) -> Diagnostic:
    """Return FS103: a method of a value is called. `help` may be empty."""
    help = help or f"functions are called by name, such as `{words.call}`; strings are compared case included"
    return diagnostic("FS103", span, f"values have no methods such as `{name}`", help, is_security=True)


def help_for_string_method(text: str, *, is_number: bool) -> str:
    """Return the help for a method of a string, which `text` replaces; `is_number` if its result was a number.

    If `text` has no bracket, the help adds that case matters.
    """
    help = f"write `{text}`"
    if is_number:
        help += f", or `int({text})` for 1 or 0"
    if "(" not in text:
        help += "; case matters"
    return help


def wrong_count(span: Span, function: str, least: int, most: int | None, number: int, help: str) -> Diagnostic:
    """Return FS303: a function has too few or too many arguments; `most` is None if any number is allowed."""
    expected = number_of(least, "argument") if least == most else f"{least} or {most or 'more'} arguments"
    return diagnostic("FS303", span, f"`{function}` takes {expected}, not {number}", help)


def needs_list(span: Span, function: str, arguments: Sequence[str], *, are_plain: bool, example: str) -> Diagnostic:
    """Return FS303: a function takes one list, and has single arguments.

    `arguments` are empty if they cannot be shown; `are_plain` says that they can be added up. The help shows `example`
    if they cannot be shown, or if the call is longer than `MAX_REWRITING`.
    """
    listed = f"{function}([{', '.join(arguments)}])"
    help = LIKE.format(example)
    if arguments and "\\" not in listed and len(listed) <= MAX_REWRITING and listed.isprintable():
        help = f"write `{listed}`"
        if are_plain and len(arguments) > 1:
            help += f", or `{' + '.join(arguments)}`"
    return diagnostic("FS303", span, f"`{function}` takes one list", help)


def wrong_argument(span: Span, function: str, wanted: str, called: str, noun: str, help: Help) -> Diagnostic:
    """Return FS301: an argument, `called` in the message, is `noun`, and the function takes `wanted`."""
    return diagnostic("FS301", span, f"`{function}` takes {wanted}, and {called} is {noun}", help)


def not_literal(span: Span, function: str, parameter: str, bounds: tuple[int, int], example: str) -> Diagnostic:
    """Return FS303: a parameter takes a literal integer within the inclusive `bounds` only."""
    message = f"the {parameter} of `{function}` must be a literal integer from {bounds[0]} to {bounds[1]}"
    return diagnostic("FS303", span, message, LIKE.format(example))


# --- comparisons

IN_A_CHAIN = "in a chain `a > b == c` the middle is compared with both; join two comparisons with `and`"
COMPARE_ALIKE = "compare values of one type"
IN_QUOTES = "write '{}' in quotes"
WRITE_A_NUMBER = "write a number"
OPEN_IS_A_NUMBER = "`context.is_open` is 1 or 0: compare it with 1"
empty_list = define_1("FS509", "`{0}` has an empty list", "list the values")
not_searchable = define_3(
    "FS301", "`{0}` looks in a string or in a list, and {1} is {2}", "write a list: `x in [1, 2]`"
)


def wrong_order(span: Span, operator: str, called: str, noun: str, help: Help) -> Diagnostic:
    """Return FS301: an operand of `<` or the like, `called` in the message, is `noun`, which is no number."""
    return diagnostic("FS301", span, f"`{operator}` orders numbers, and {called} is {noun}", help)


def help_for_date_order(date: str) -> str:
    """Return the help for ordering dates: compare their years and months."""
    year, month = (re.sub(r"date(?=\W*$)", part, date) for part in ("year", "month"))
    return f"use `{year}` and `{month}`"


def help_for_order(values: Sequence[str] | None, noun: str) -> str:
    """Return the help for ordering strings, or booleans, as `noun` says; `values` are those of an enum, else None."""
    if values is not None:
        return f"list the values that match: `in [{', '.join(repr(value) for value in values[-2:])}]`"
    return "strings know `==`, `!=` and `in`" if noun == "strings" else f"{noun} know `==` and `!=`"


def incomparable(span: Span, left: tuple[str, str], right: tuple[str, str], help: Help) -> Diagnostic:
    """Return FS301: the sides of a comparison, each a name and the noun of its type, are of types that never equal."""
    return diagnostic("FS301", span, f"{left[0]} is {left[1]}, and {right[0]} is {right[1]}", help)


def help_for_boolean(written: object) -> str:
    """Return the help for a literal that is compared with a boolean: the string "true" or "false" loses its quotes."""
    if isinstance(written, str) and written.lower() in ("true", "false"):
        return f"write {written.lower()} without quotes"
    return "write true or false"


def help_for_choice(values: Sequence[str]) -> str:
    """Return the help for a value that is none of the allowed ones: the first six of these, and `…` for more."""
    listed = ", ".join(f"'{value}'" for value in values[:6])
    more = ", …" if len(values) > 6 else ""
    return f"write one of {listed}{more}"


def no_common_value(span: Span, left: tuple[str, str], right: tuple[str, str]) -> Diagnostic:
    """Return FS302: two enums, each a name and its listed values, have no value in common."""
    help = f"{left[0]} can be {left[1]}, {right[0]} {right[1]}"
    return diagnostic("FS302", span, f"{left[0]} and {right[0]} have no value in common", help)


def unknown_value(span: Span, called: str, value: str, known: Sequence[str], elsewhere: set[str]) -> Diagnostic:
    """Return FS302: a value is never the one that it is compared with.

    The help suggests one of `known`, in quotes inside a formula. `elsewhere` has this value if it belongs to another
    field: then no suggestion is certain.
    """
    help = did_you_mean(value, known, noun="values", rivals=elsewhere)
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
"""Reasons for a constant condition; the placeholder is for an expression."""


def identical_operands(span: Span, operator: str, text: str, result: int) -> Diagnostic:
    """Return FS622: both operands of an operator are the same, so that the result is constant."""
    message = f"both sides of `{operator}` are `{text}`: the result is {result}, whatever they are"
    return diagnostic("FS622", span, message, "name on one side what is different, or remove the operation")


def constant_comparison(span: Span, result: bool, reason: str, help: str) -> Diagnostic:
    """Return FS603: a condition is always true or always false. `help` may be empty."""
    help = help or "remove the comparison, or compare with a value that can make a difference"
    return diagnostic("FS603", span, f"this is always {str(result).lower()}: {reason}", help)


def declare_nullable(name: str, type_: str) -> str:
    """Return the help for a test for null of a standard field: remove it, or declare the field nullable."""
    return f'{REMOVE_THE_TEST}, or declare the field: {{"name": "{name}", "type": "{type_}", "nullable": true}}'


def describe_truth_where(condition: str, truth: bool, reasons: Sequence[str]) -> str:
    """Return the reason that a condition always, or never, holds for the values that `reasons` describe."""
    effect = "always holds" if truth else "cannot hold"
    return f"`{condition}` {effect} where {' and '.join(reasons)}"


def join_values(values: Sequence[str]) -> str:
    """Return a list of values, which are literals of the language, joined by `or`; the first four if there are over five."""
    if len(values) > 5:
        values = [*values[:4], f"{len(values) - 4} others"]
    return " or ".join(values)


# --- operations without a value

PARTIAL_CODES = {"division_by_zero": "FS604", "domain": "FS605", "overflow": "FS606", "null": "FS305"}
"""The codes of the warnings for operations that may fail, by the kinds of failures."""
ALWAYS_NULL = "this is always null{where}, and a value is needed"
WRITE_A_VALUE = "write a value"
ALWAYS_FAILS = "this always fails{where}: "
CHANGE_THE_VALUES = "change the values, or leave the operation out"
large_sum = define_2(
    "FS606", "the sum may be too large for a number: each term is {0}", "bound the terms: `min({1}, 1000)`"
)


def always_fails(span: Span, text: str, help: str) -> Diagnostic:
    """Return FS306: an operation has no value, whatever the data. The place `{where}` in `text` is left empty."""
    return diagnostic("FS306", span, text.replace("{where}", ""), help)


def fails_if_reached(kind: str, span: Span, text: str, help: str) -> Diagnostic:
    """Return the warning for an operation in a branch that has no value there, with the code for the `kind` of failure."""
    return diagnostic(PARTIAL_CODES[kind], span, text.replace("{where}", " where it is reached"), help)


def may_fail(kind: str, span: Span, message: str, guarded: str, bounded: str) -> Diagnostic:
    """Return the warning for an operation that has no value for some data, with the code for the `kind` of failure.

    `guarded` is the operation behind a test, `bounded` the operation with an operand within bounds; one of them may be
    empty. Raises `KeyError` for a `kind` that is not in `PARTIAL_CODES`.
    """
    help = f"bound it first: `{bounded}`"
    if guarded:
        help = f"guard it: `{guarded}`"
        if bounded:
            help += f", or bound it: `{bounded}`"
    return diagnostic(PARTIAL_CODES[kind], span, message, help)
