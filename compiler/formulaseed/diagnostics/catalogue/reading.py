"""Mistakes in files: their encoding and size, JSON, the kind of document; in formula references and rules; our own bugs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from formulaseed import limits
from formulaseed.diagnostics.catalogue import plain, with_1, with_2
from formulaseed.diagnostics.model import Diagnostic, Help, Suggestion, diagnostic
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.source.json_reader import JsonFault
from formulaseed.source.text import Source, Span

_WHOLE = "write the whole character"
_JSON: dict[str, tuple[str, str, str]] = {
    "trailing-content": ("FS001", "unexpected content after the end of the document", "remove it"),
    "empty": ("FS001", "the file is empty", "write a seed or requests; `formulaseed init` writes examples of both"),
    "missing-value": ("FS001", "the document ends where a value is expected", "complete it"),
    "not-json": ("FS001", "the document does not begin with JSON", "remove everything before the first `{{`"),
    "no-value": ("FS001", "expected a JSON value, found `{}`", "write a JSON value here"),
    "bare-word": ("FS001", "expected a JSON value, found `{0}`", 'a string is written "{0}"'),
    "python": ("FS001", "`{}` is Python, not JSON", "write `{1}`"),
    "typographic": ("FS001", "`{}` is in typographic quotes", "write `{1}`"),
    "quotes": ("FS001", "strings are written in double quotes in JSON", 'write it in double quotes, such as "none"'),
    "comment": ("FS001", "comments are not allowed in JSON", "remove it; a `description` can say the same"),
    "ellipsis": ("FS001", "`{}` is a placeholder, not JSON", "write what was left out, or remove it with its comma"),
    "bare-key": ("FS001", "keys are written in double quotes in JSON", 'write "{}"'),
    "no-key": ("FS001", "expected a key in double quotes", 'write "key": value'),
    "no-colon": ("FS001", "expected a colon after the key", 'write "key": value'),
    "no-comma": ("FS001", "expected a comma or `{}`", "write `,` or `{}`"),
    "missing-comma": ("FS001", "missing comma before this", "write `,` between the two"),
    "trailing-comma": ("FS001", "trailing comma at the end of the {0}", "remove the comma"),
    "unclosed": ("FS001", "the {} that opens on line {} is not closed", "close it with `{2}`"),
    "unclosed-string": ("FS001", "the string that begins here is not closed", 'close it with `"`'),
    "control": ("FS001", "{} must be escaped in a string", "write it as an escape sequence, such as \\n"),
    "escape": ("FS001", "`{}` is not an escape sequence in JSON", "write `\\\\` for a backslash"),
    "percent": ("FS001", "`{}%` is not a number in JSON", "write {1}"),
    "number": ("FS001", "`{}` is not a number in JSON", "write it like 12 or 0.5"),
    "depth": ("FS004", "objects and lists are nested more than {} levels deep", "look for where it begins to repeat"),
    "duplicate": ("FS005", "duplicate key `{}` in this object, first used on line {}", "keep one of the two"),
    "not-finite": ("FS006", "`{}` is not a number in JSON", "write a finite number"),
    "range": (
        "FS006",
        "{} is out of range",
        "use an integer up to 9223372036854775807 or a number up to 1.797e308, written with at most 40 characters",
    ),
    "surrogate": ("FS007", "this string contains half of a character (an unpaired surrogate)", _WHOLE),
}
"""The faults of `source.json_reader`: code, message, help; the placeholders take what the fault found."""
_REPLACED = ("python", "typographic", "trailing-comma")
"""Those that have one reading, and are found with what to write instead."""
half_a_character = plain("FS007", "the formula contains half of a character (an unpaired surrogate)", _WHOLE)
unreadable_reference = with_1("FS509", "the reference cannot be read: {0}", "name a file beside this")


def invalid_json(fault: JsonFault) -> Diagnostic:
    code, message, help = _JSON[fault.kind]
    text = help.format(*fault.details)
    instead = Suggestion(text, str(fault.details[1]), is_verbatim=True) if fault.kind in _REPLACED else text
    return diagnostic(code, fault.span, message.format(*fault.details), instead)


def invalid_utf8(source: Source, at: int, byte: int) -> Diagnostic:
    span = Span(source, at, at + 1)
    return diagnostic("FS002", span, f"byte {byte} of the file is not UTF-8", "save the file as UTF-8")


def _of_file(code: str, message: str, help: str) -> Callable[[Source, str], Diagnostic]:
    """Return the constructor of a mistake of a whole file."""
    return lambda source, name: diagnostic(code, Span(source, 0, 0), message.format(name), help)


def wrong_kind(source: Source, noun: str, wanted: str, help: str) -> Diagnostic:
    """Return FS008. `noun` is what the file is, `wanted` what it should be."""
    return diagnostic("FS008", Span(source, 0, 0), f"this is {noun}, not {wanted}", help)


def not_json(source: Source, noun: str, help: str) -> Diagnostic:
    return diagnostic("FS001", Span(source, 0, 0), f"this is {noun}, not JSON", help)


file_too_large = _of_file("FS003", f"{{0}} is larger than {limits.SEED_BYTES} bytes", "shorten it")
nothing_to_compile = _of_file(
    "FS008", "this is a {0}, which contains no rules to compile", "compile a file of rules over it"
)


def earlier_style(source: Source, style: str, command: str) -> Diagnostic:
    """Report a module that this release cannot run; `command` compiles its seed again."""
    message = f"the module has the emission style {style}, an earlier one"
    return diagnostic("FS701", Span(source, 0, 0), message, f"compile its seed again: `{command}`")


foreign_module = _of_file(
    "FS701",
    "this is not a module as formulaseed generates them: {0}",
    "compile the seed again, and pass the module it gives",
)
edited_module = _of_file("FS701", "the module {0}", "compile the seed again, or allow it to be edited")
module_too_deep = _of_file(
    "FS104",
    "the module generated from {0} nests deeper than Python can read",
    "split the longest formulas into several",
)


def unsupported_kind(source: Source, target: str, kind: str, supported: str) -> Diagnostic:
    """Return FS702. `kind` is what the file is, `supported` what the target compiles, both in words."""
    message = f"the target `{target}` does not compile {kind}"
    return diagnostic("FS702", Span(source, 0, 0), message, f"it compiles {supported}; pass another target")


def unsupported_construct(span: Span, target: str, noun: str, name: str) -> Diagnostic:
    """Return FS702. `noun` is a function, an operator, an aggregate or an operation."""
    message = f"the target `{target}` does not support the {noun} `{name}`"
    return diagnostic("FS702", span, message, "write it in another way, or pass another target")


WAS_REFUSED = "the module generated from {} was refused: {}"
internal_error = _of_file("FS901", "{0}", "this is a bug of formulaseed: please report it")


def failure_of(error: Exception) -> str:
    return f"the compiler failed with {type(error).__name__}: {error}"


# --- references

invalid_version = with_1("FS509", "`version` is three numbers", 'write it like "{0}"')
reserved_entity = with_1("FS206", "`{0}` is a word of the formula language", "use another name for the entity")
duplicate_custom_field = with_2("FS203", "duplicate custom field `{1}` of `{0}`", "rename one of them")


def unknown_entity(span: Span, name: str, known: Iterable[str]) -> Diagnostic:
    return diagnostic("FS201", span, f"no entity is called `{name}`", did_you_mean(name, known, noun="entities"))


def unknown_listed_function(span: Span, name: str, known: Iterable[str]) -> Diagnostic:
    help = did_you_mean(name, known, noun="functions", limit=20)
    return diagnostic("FS207", span, f"the language has no function `{name}` to list", help)


def unknown_listed_operator(span: Span, operator: str, known: Iterable[str]) -> Diagnostic:
    help = f"remove it; operators: {_quoted(known)}"
    return diagnostic("FS103", span, f"the language has no operator `{operator}` to list", help)


def unlisted_function(span: Span, name: str, listed: Iterable[str]) -> Diagnostic:
    help = f"list it in `functions`, or use what is listed: {_quoted(listed)}"
    return diagnostic("FS207", span, f"the reference does not list the function `{name}`", help, is_security=True)


def unlisted_operator(span: Span, operator: str, listed: Iterable[str]) -> Diagnostic:
    help = f"list it in `operators`, or use what is listed: {_quoted(listed)}"
    return diagnostic("FS103", span, f"the reference does not list the operator `{operator}`", help, is_security=True)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


# --- rules

no_rules = plain("FS509", "the file holds no rule", 'write {"name": …, "formula": …}')
invalid_rule_name = with_1(
    "FS206",
    "this cannot be the name of a rule",
    "use up to {0} letters, digits, spaces and `_`, such as `basic_ram_valuation`",
)
duplicate_rule = with_2("FS203", "duplicate rule `{0}`, first at rules[{1}]", "rename one of them")


# --- names in formulas

unreadable_field = with_1(
    "FS301", "`{0}` is of a type that formulas do not read", "use a field of numbers, strings or true and false"
)


def unknown_name(span: Span, beginning: str, name: str, help: Help) -> Diagnostic:
    """Return FS204. `beginning` says what is unknown, such as `no field is called`."""
    return diagnostic("FS204", span, f"{beginning} `{name}`", help)


def entity_without_value(span: Span, entity: str, example: str, hidden: str) -> Diagnostic:
    """Return FS204. `hidden` is the full name of the root's field that is called like the entity, or empty."""
    help = f"name one of its fields, such as `{example}`" if example else "it has no fields"
    if hidden:
        help += f"; the field of `{hidden.partition('.')[0]}` is `{hidden}`"
    return diagnostic("FS204", span, f"`{entity}` is an entity that is always there, and has no value", help)
