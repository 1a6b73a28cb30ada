"""Define the mistakes in the syntax and the size of formulas.

A function that returns a `Mistake` (code, message and help) leaves the span to the caller.
"""

from __future__ import annotations

from formulaseed.diagnostics.model import Diagnostic, diagnostic
from formulaseed.source.printing import number_of
from formulaseed.source.text import Span

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


def _describe_expected(expected: set[str]) -> str:
    """Return the first kind of tokens, in words, of which all are expected; the end of the formula if there is none."""
    return next((words for tokens, words in _EXPECTED if tokens <= expected), "the end of the formula")


EMPTY_FORMULA: Mistake = ("FS102", "the formula is empty", "write an expression such as `a * 2 + 1`")


def incomplete_formula(expected: set[str]) -> Mistake:
    """Return FS102, the message and the help for a formula that ends too early.

    `expected` are the kinds of tokens that could follow. If `ELSE` is among them, the help is to add an `else`.
    """
    help = f"complete it with {_describe_expected(expected)}"
    if "ELSE" in expected:
        help = "add `else` and the other value: `a if condition else b`"
    return "FS102", "the formula ends too early", help


def not_a_comparison(repeated: str, compared: str, value: str) -> Mistake:
    """Return FS101, the message and the help for a `when` without an operator at its start in a case with a `source`.

    `repeated` is the source if the `when` repeats it; `compared` is the comparison to write. Either may be empty.
    Without `compared`, the help depends on `value`, the text of the `when`.
    """
    help = "write it like `< 4.0`, or drop `source` and write the whole condition"
    if compared:
        help = f"leave `{repeated}` out: write `{compared}`" if repeated else f"write `{compared}`"
    elif value.lower() in ("else", "default", "otherwise", "_", "*"):
        help = 'write {"else": …} as the last rule'
    elif value.removeprefix("-")[:1].isdigit():
        help = f"write a comparison: `== {value}`, or `< {value}`"
    elif value.replace("_", "").isalnum():
        help = f"write `== '{value}'` if it is a string"
    return "FS101", "with `source`, `when` starts with a comparison operator", help


def member_access(name: str, *, is_call: bool) -> Mistake:
    """Return FS103, the message and the help for a dot behind a value: a method if `is_call`, else a part."""
    if is_call:
        help = "functions are called by name, such as `max(a, b)`"
        return "FS103", f"values have no methods such as `{name}`", help
    return "FS103", f"values have no parts such as `{name}`", "use the value itself"


def word_as_function(word: str, form: str) -> Mistake:
    """Return FS207, the message and the help for a word that is called like a function; `form` is the form to write."""
    return "FS207", f"there is no function `{word}`", f"write `{form}`"


def unknown_escape(escape: str) -> Mistake:
    """Return FS101, the message and the help for a backslash and a character that are no escape sequence."""
    return "FS101", f"`{escape}` is no escape here", "write `\\\\` for a backslash"


def string_without_end(quote: str) -> Mistake:
    """Return FS102, the message and the help for a string whose closing `quote` is missing."""
    return "FS102", "the string that begins here is not closed", f"close it with `{quote}`"


def unknown_character(character: str) -> Mistake:
    """Return FS103, the message and the help for a character that the language does not have.

    The message shows the character, escaped if it cannot be seen, with its number in Unicode.
    """
    visible = character if character.isprintable() else ascii(character)[1:-1]
    return "FS103", f"`{visible}` (U+{ord(character):04X}) is not in the language", "remove it"


def missing_operator(token: str, words: str) -> Mistake:
    """Return FS101, the message and the help for two values in a row, the second of which is `token`.

    `words` are several names that may be one string without its quotes, which the help then shows; may be empty.
    """
    help = "write an operator, such as `*` to multiply"
    if words:
        help = f"write `'{words}'` if it is a string"
    elif token[0] in "'\"":
        help = "write an operator, such as `==`"
    return "FS101", f"an operator is missing before `{token}`", help


def missing_value(token: str, subject: str) -> Mistake:
    """Return FS101, the message and the help for an operator, `token`, without a left operand.

    `subject` is the name that was compared before, which the help repeats if `token` is a comparison.
    """
    is_comparison = token in ("<", "<=", ">", ">=", "==", "!=")
    help = f"repeat the name: `… and {subject} {token} 9`" if is_comparison else "write a name, a number or a string"
    return "FS101", f"a value is missing before `{token}`", help


def wrong_token(token: str, expected: set[str]) -> Mistake:
    """Return the code, message and help for a token that cannot appear here: FS103 for a bracket that closes nothing.

    Any other token is FS101; its help names the first kind of the tokens in `expected`, which could appear.
    """
    if token in ")]":
        return "FS103", f"this `{token}` closes nothing", "remove it"
    return "FS101", f"`{token}` cannot appear here", f"expected: {_describe_expected(expected)}"


# --- limits, and numbers


TOO_DEEP = "{} are nested {} deep, more than {}"


def too_large(span: Span, message: str) -> Diagnostic:
    """Return FS104: a formula is over a limit, as `message` says."""
    return diagnostic("FS104", span, message, "split the formula into several")


def too_many(number: int, noun: str, most: int) -> str:
    """Return the message that a formula has more of a noun than the limit."""
    return f"the formula has {number_of(number, noun)}, more than {most:,}"


def number_out_of_range(span: Span, text: str) -> Diagnostic:
    """Return FS006: a number in a formula is too large."""
    help = "integers reach to 9223372036854775807, numbers to 1.797e308"
    return diagnostic("FS006", span, f"the number {text[:50]} is out of range", help)


def file_too_large(span: Span, noun: str, total: int, most: int, name: str, largest: int) -> Diagnostic:
    """Return FS510: the formulas of a file have too many of a noun in all; `name` has `largest` of them, the most."""
    message = f"the file has {total:,} {noun}s in all, more than {most:,}; most of them, {largest:,}, in `{name}`"
    return diagnostic("FS510", span, message, "split the file, or compute in fewer steps")
