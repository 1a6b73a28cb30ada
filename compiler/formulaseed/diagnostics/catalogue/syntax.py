"""Mistakes in the syntax of formulas that no hint is about: each is code, message and help."""

from __future__ import annotations

from formulaseed.diagnostics.model import Diagnostic, diagnostic, number_of
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
"""What the parser's expected tokens are called."""


def _expectation(expected: set[str]) -> str:
    return next((words for tokens, words in _EXPECTED if tokens <= expected), "the end of the formula")


EMPTY_FORMULA: Mistake = ("FS102", "the formula is empty", "write an expression such as `a * 2 + 1`")


def unfinished(expected: set[str]) -> Mistake:
    help = "add `else` and the other value: `a if condition else b`" if "ELSE" in expected else ""
    return "FS102", "the formula ends too early", help or f"complete it with {_expectation(expected)}"


def not_a_comparison(repeated: str, compared: str, value: str) -> Mistake:
    """A `when` without an operator, or that repeats the source. `compared` is the comparison to write, where it is known."""
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


def unknown_escape(escape: str) -> Mistake:
    return "FS101", f"`{escape}` is no escape here", "write `\\\\` for a backslash"


def unclosed_string(quote: str) -> Mistake:
    return "FS102", "the string that begins here is not closed", f"close it with `{quote}`"


def unknown_character(character: str) -> Mistake:
    shown = character if character.isprintable() else ascii(character)[1:-1]
    return "FS103", f"`{shown}` (U+{ord(character):04X}) is not in the language", "remove it"


def missing_operator(found: str, words: str) -> Mistake:
    """`words` are several that may be one string without its quotes."""
    help = "write an operator, such as `==`" if found[0] in "'\"" else "write an operator, such as `*` to multiply"
    return (
        "FS101",
        f"an operator is missing before `{found}`",
        f"write `'{words}'` if it is a string" if words else help,
    )


def missing_value(found: str, subject: str) -> Mistake:
    is_comparison = found in ("<", "<=", ">", ">=", "==", "!=")
    help = f"repeat the name: `… and {subject} {found} 9`" if is_comparison else "write a name, a number or a string"
    return "FS101", f"a value is missing before `{found}`", help


def misplaced(found: str, expected: set[str]) -> Mistake:
    if found in ")]":
        return "FS103", f"this `{found}` closes nothing", "remove it"
    return "FS101", f"`{found}` cannot appear here", f"expected: {_expectation(expected)}"


# --- limits, and numbers


def too_large(span: Span, what: str) -> Diagnostic:
    return diagnostic("FS104", span, what, "split the formula into several")


def too_many(number: int, what: str, most: int) -> str:
    return f"the formula has {number_of(number, what)}, more than {most:,}"


def too_deep(what: str, depth: int, most: int) -> str:
    return f"{what} are nested {depth} deep, more than {most}"


def number_out_of_range(span: Span, text: str) -> Diagnostic:
    help = "integers reach to 9223372036854775807, numbers to 1.797e308"
    return diagnostic("FS006", span, f"the number {text[:50]} is out of range", help)


def too_many_entries(span: Span, key: str, number: int, most: int) -> Diagnostic:
    return diagnostic("FS510", span, f"`{key}` has {number} entries, more than {most}", "split it, or leave some out")


def file_too_large(span: Span, what: str, total: int, most: int, name: str, largest: int) -> Diagnostic:
    message = f"the file has {total:,} {what}s in all, more than {most:,}; most of them, {largest:,}, in `{name}`"
    return diagnostic("FS510", span, message, "split the file, or compute in fewer steps")
