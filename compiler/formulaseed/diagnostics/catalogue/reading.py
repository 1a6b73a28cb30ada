"""Define the mistakes in files (encoding, size, JSON, kind of document), references and rules, and our own bugs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from formulaseed import limits
from formulaseed.diagnostics.catalogue import define, define_1, define_2
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
"""The code, the message and the help for each kind of fault of `source.json_reader`; placeholders take the fault's details."""
_FAULTS_WITH_REPLACEMENT = ("python", "typographic", "trailing-comma")
"""The kinds of faults that have one meaning; their second detail is the text to write instead."""
half_a_character = define("FS007", "the formula contains half of a character (an unpaired surrogate)", _WHOLE)
unreadable_reference = define_1("FS509", "the reference cannot be read: {0}", "name a file beside this")


def invalid_json(fault: JsonFault) -> Diagnostic:
    """Return the diagnostic for a fault in JSON, with the code, message and help of its kind.

    For the kinds in `_FAULTS_WITH_REPLACEMENT`, the help is a suggestion that is safe to apply.
    """
    code, message, help = _JSON[fault.kind]
    advice: Help = help.format(*fault.details)
    if fault.kind in _FAULTS_WITH_REPLACEMENT:
        advice = Suggestion(str(advice), str(fault.details[1]), is_verbatim=True)
    return diagnostic(code, fault.span, message.format(*fault.details), advice)


def invalid_utf8(source: Source, at: int, byte: int) -> Diagnostic:
    """Return FS002: a byte of the file, `at` a character of its text, is not UTF-8."""
    span = Span(source, at, at + 1)
    return diagnostic("FS002", span, f"byte {byte} of the file is not UTF-8", "save the file as UTF-8")


def _define_for_file(code: str, message: str, help: str) -> Callable[[Source, str], Diagnostic]:
    """Return the constructor of a mistake of a whole file, whose message has one name."""
    return lambda source, name: diagnostic(code, Span(source, 0, 0), message.format(name), help)


def wrong_kind(source: Source, noun: str, wanted: str, help: str) -> Diagnostic:
    """Return FS008: the file is a document of another kind, `noun`, than is `wanted`."""
    return diagnostic("FS008", Span(source, 0, 0), f"this is {noun}, not {wanted}", help)


def not_json(source: Source, noun: str, help: str) -> Diagnostic:
    """Return FS001: the file is of another format, `noun`."""
    return diagnostic("FS001", Span(source, 0, 0), f"this is {noun}, not JSON", help)


file_too_large = _define_for_file("FS003", f"{{0}} is larger than {limits.SEED_BYTES} bytes", "shorten it")
nothing_to_compile = _define_for_file(
    "FS008", "this is a {0}, which contains no rules to compile", "compile a file of rules over it"
)


def earlier_style(source: Source, style: str, command: str) -> Diagnostic:
    """Return FS701: this release cannot run the module, which is in the style of an earlier one.

    `command` is the one that compiles its seed again. The place is the beginning of the file.
    """
    message = f"the module has the emission style {style}, an earlier one"
    return diagnostic("FS701", Span(source, 0, 0), message, f"compile its seed again: `{command}`")


foreign_module = _define_for_file(
    "FS701",
    "this is not a module as formulaseed generates them: {0}",
    "compile the seed again, and pass the module it gives",
)
edited_module = _define_for_file("FS701", "the module {0}", "compile the seed again, or allow it to be edited")
module_too_deep = _define_for_file(
    "FS104",
    "the module generated from {0} nests deeper than Python can read",
    "split the longest formulas into several",
)


def kind_not_supported(source: Source, target: str, kind: str, supported: str) -> Diagnostic:
    """Return FS702: the target does not compile documents of this kind. `supported` are the kinds that it does, in words."""
    message = f"the target `{target}` does not compile {kind}"
    return diagnostic("FS702", Span(source, 0, 0), message, f"it compiles {supported}; pass another target")


def construct_not_supported(span: Span, target: str, noun: str, name: str) -> Diagnostic:
    """Return FS702: the target does not support a function, an operator, an aggregate or an operation, as `noun` says."""
    message = f"the target `{target}` does not support the {noun} `{name}`"
    return diagnostic("FS702", span, message, "write it in another way, or pass another target")


def inexact_in_dialect(span: Span, engine: str, noun: str, name: str) -> Diagnostic:
    """Return FS703: the engine computes a function or an operator with other bits than Python."""
    message = f"{engine} does not compute the {noun} `{name}` exactly as Python does"
    return diagnostic(
        "FS703", span, message, "write it in another way, or score with the module: `score --engine spark`"
    )


def column_clash(span: Span, name: str) -> Diagnostic:
    """Return FS704: a step in the result of a query has the name of another column, except perhaps for its case."""
    message = f"`{name}` has the name of another column of the query; SQL ignores case"
    return diagnostic("FS704", span, message, "rename the step")


def query_too_large(span: Span, layers: int) -> Diagnostic:
    """Return FS705: a query would have too many layers, or characters. The place is the last step."""
    message = (
        f"the query would be too large for engines: {layers} steps that use one another, or over a million characters"
    )
    return diagnostic("FS705", span, message, "split the seed, or score with its module")


def often_handed_back(source: Source, restaurants: str, share: float) -> Diagnostic:
    """Return FS706: a query handed more than 1 % of the restaurants back to the module; `share` is the part of all."""
    message = f"the query handed {restaurants} back to the module, {share:.1%} of all"
    help = "dates that are not YYYY-MM-DD are the usual cause: cast the column to DATE, or pass `--backend module`"
    return diagnostic("FS706", Span(source, 0, 0), message, help)


WAS_REFUSED = "the module generated from {} was refused: {}"
internal_error = _define_for_file("FS901", "{0}", "this is a bug of formulaseed: please report it")


def describe_failure(error: Exception) -> str:
    """Return the message for an exception of ours that nothing else caught."""
    return f"the compiler failed with {type(error).__name__}: {error}"


# --- references

invalid_version = define_1("FS509", "`version` is three numbers", 'write it like "{0}"')
reserved_entity = define_1("FS206", "`{0}` is a word of the formula language", "use another name for the entity")
duplicate_custom_field = define_2("FS203", "duplicate custom field `{1}` of `{0}`", "rename one of them")


def unknown_entity(span: Span, name: str, known: Iterable[str]) -> Diagnostic:
    """Return FS201: an entity is not in the reference."""
    return diagnostic("FS201", span, f"no entity is called `{name}`", did_you_mean(name, known, noun="entities"))


def unknown_listed_function(span: Span, name: str, known: Iterable[str]) -> Diagnostic:
    """Return FS207: the reference lists a function that the language does not have."""
    help = did_you_mean(name, known, noun="functions", limit=20)
    return diagnostic("FS207", span, f"the language has no function `{name}` to list", help)


def unknown_listed_operator(span: Span, operator: str, known: Iterable[str]) -> Diagnostic:
    """Return FS103: the reference lists an operator that the language does not have."""
    help = f"remove it; operators: {_quote_names(known)}"
    return diagnostic("FS103", span, f"the language has no operator `{operator}` to list", help)


def function_not_listed(span: Span, name: str, listed: Iterable[str]) -> Diagnostic:
    """Return FS207: a formula uses a function that the reference does not allow."""
    help = f"list it in `functions`, or use what is listed: {_quote_names(listed)}"
    return diagnostic("FS207", span, f"the reference does not list the function `{name}`", help, is_security=True)


def operator_not_listed(span: Span, operator: str, listed: Iterable[str]) -> Diagnostic:
    """Return FS103: a formula uses an operator that the reference does not allow."""
    help = f"list it in `operators`, or use what is listed: {_quote_names(listed)}"
    return diagnostic("FS103", span, f"the reference does not list the operator `{operator}`", help, is_security=True)


def _quote_names(names: Iterable[str]) -> str:
    """Return the names in backticks, with commas; `nothing` if there are none."""
    return ", ".join(f"`{name}`" for name in names) or "nothing"


# --- rules

no_rules = define("FS509", "the file holds no rule", 'write {"name": …, "formula": …}')
invalid_rule_name = define_1(
    "FS206",
    "this cannot be the name of a rule",
    "use up to {0} letters, digits, spaces and `_`, such as `basic_ram_valuation`",
)
duplicate_rule = define_2("FS203", "duplicate rule `{0}`, first at rules[{1}]", "rename one of them")


# --- names in formulas

rule_uses_itself = define_1("FS202", "the rule `{0}` uses itself", "use a field or an earlier rule")
rule_used_too_early = define_2("FS202", "`{0}` is used before its rule", "move the rule `{0}` ({1}) before this one")
unreadable_field = define_1(
    "FS301", "`{0}` is of a type that formulas do not read", "use a field of numbers, strings or true and false"
)


def unknown_name(span: Span, beginning: str, name: str, help: Help) -> Diagnostic:
    """Return FS204: a name in a formula is unknown. `beginning` is the message before it, such as `no field is called`."""
    return diagnostic("FS204", span, f"{beginning} `{name}`", help)


def entity_without_value(span: Span, entity: str, example: str, hidden: str) -> Diagnostic:
    """Return FS204: an entity, which is always there, is used as a value.

    `example` is one of its fields; empty if it has none. `hidden` is the full name of the root's field with the same name;
    empty if the root has none.
    """
    help = f"name one of its fields, such as `{example}`" if example else "it has no fields"
    if hidden:
        help += f"; the field of `{hidden.partition('.')[0]}` is `{hidden}`"
    return diagnostic("FS204", span, f"`{entity}` is an entity that is always there, and has no value", help)
