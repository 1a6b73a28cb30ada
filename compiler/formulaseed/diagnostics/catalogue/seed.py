"""Define the mistakes in seeds: in keys, values and operations (FS5), and in names of steps, filters and fields (FS2)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from formulaseed import limits
from formulaseed.diagnostics.catalogue import define, define_1, define_2, define_3, define_with_help
from formulaseed.diagnostics.model import Diagnostic, Help, Suggestion, diagnostic
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.source.text import Span

_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
CONDITION_OBJECT = 'an object such as {"meta.year": {">=": 2020}}'
PATH = '["attributes", "NoiseLevel"]'
RULES = '[{"when": "N > 2", "then": "many"}, {"else": "few"}]'
RULE = '{"when": "N > 2", "then": "many"}'
WHEN = 'a formula such as "N > 3 and M < 2"'
WHEN_OF_SOURCE = 'a comparison such as "> 3"'
FIX_OTHERS_FIRST = "fix the unknown names above first"

invalid_task_name = define(
    "FS206",
    "no module can be named after this task name",
    "use letters or digits of any language, and spaces, `-`, `_` and `.` between them, up to "
    f"{limits.TASK_NAME_CHARACTERS} characters, such as `G1a-v2`",
)
suppression_without_reason = define("FS512", "a suppression needs a reason", "say why it is right here")
empty_keyword = define(
    "FS509", "an empty keyword would make every review relevant", "remove it; without keywords every review is relevant"
)
bounds_exchanged = define("FS509", "`minimum` is above `maximum`", "exchange them")
empty_enum = define("FS509", "the enum has no values", "list at least one")
empty_enum_value = define("FS509", "an enum's value cannot be empty", "name it, such as `none`")
invalid_path = define(
    "FS509", f"`path` must have 1 to {limits.PATH_KEYS} keys, none empty", f"write them from the outside in: {PATH}"
)
empty_filter = define(
    "FS502", "the filter has no conditions", 'add "extraction", "meta", "context" or "where": {…}, or "expr": a formula'
)
empty_example = define("FS509", "the example has no text", "show the review that was judged, or remove the example")
no_else = define("FS506", "the case has no `else`", 'add {"else": …} as the last rule, for all other restaurants')
second_else = define("FS506", "duplicate `else` in the case", "remove one of them")
rule_after_else = define("FS506", "rules after `else` are unreachable", "move `else` to the end")
else_in_rule = define("FS511", "a rule has `when` or `else`, not both", 'write {"else": …} as a rule of its own')
empty_list = define("FS509", "`in` has an empty list, so it never holds", "list the values that match")
ordered_date = define("FS505", "`meta.date` is a string, and strings have no order", "use `meta.year` and `meta.month`")
lookup_always_fails = define("FS306", "this always fails: no key of the table is ever found", 'give it a "default"')
rule_not_numeric = define("FS301", "a rule gives a number, and this is a string", "compare it: `10 if x == 'a' else 0`")
empty_table = define("FS508", "the table is empty", 'write entries such as "Thai": 2.0')
empty_table_key = define(
    "FS508", "the table has an empty key", "every string contains it; remove the entry, or use `default`"
)
null_in_table = define("FS508", "a table's value cannot be null", "write a number or a string")
too_many_loops = define("FS510", f"the formulas hold more than {limits.STEPS} different loops", "leave some out")
long_guards = define("FS104", "too many loops depend on long conditions", "split the formula")
prompt_without_review = define(
    "FS509", "the prompt does not show the review", "write `{review_text}`, in single braces, where the review goes"
)
wrapped_seed = define_1("FS501", "the seed is inside `{0}`", 'write {{"task_name": …}} itself, without `{0}` around it')
error_suppressed = define_1("FS512", "`{0}` is an error, and cannot be suppressed", "fix what it reports")
values_of_no_enum = define_1(
    "FS511", "`values` belong to an enum, and this field is of type `{0}`", 'write "type": "enum", or remove `values`'
)
bound_of_no_number = define_1("FS511", "`{0}` belongs to a number", "remove `{0}`")
input_out_of_range = define_1("FS509", "{0} is out of range", "inputs reach from -1e100 to 1e100")
empty_output = define_1("FS502", "`{0}` names no step", "name the steps to return")
unquoted_value = define_1("FS101", "`{0}` is a string without quotes", "write `== '{0}'`")
when_without_source = define_1(
    "FS101",
    "`when` begins with an operator, and the case has no `source`",
    'add "source": the value to compare, or name it: `N {0}`',
)
empty_test = define_1(
    "FS505", "`{0}` is not compared with anything", 'write a value, or an operator such as {{">=": 2023}}'
)
tested_with_list = define_1("FS503", "`{0}` is compared with a list", 'write {{"in": […]}} for one of several values')
filter_not_tested = define_1(
    "FS503", "the filter `${0}` must be true or false", "write true, or false for its opposite"
)
value_as_filter = define_1("FS205", "`{0}` is a value, not a filter", "use `$` for a `define_filter` step only")
field_as_step = define_1("FS401", "`{0}` is a field of each review", "name a step that counts or sums it")
several_directions = define(
    "FS511",
    "a property has one of the keys `increasing`, `decreasing`, `never_lowers` and `never_raises`",
    "write a property for each",
)
without_order = define_2("FS301", "`{0}` is {1}, which neither rises nor falls", "name a step that is a number")
independent = define_2(
    "FS509",
    "the property always holds: `{0}` does not depend on `{1}`",
    "name a step that it uses, or remove the property",
)
uses_itself = define_1("FS202", "the step `{0}` uses itself", "use another step's value")
lookup_without_default = define_1("FS601", "`{0}` has no `default`: it fails if no key is found", 'give it a "default"')
always_null = define_1("FS301", "{0} is always null", "write a value")
unknown_warning = define_with_help("FS512", "there is no warning `{0}`")
unknown_value = define_with_help("FS302", "`{0}` is not among the values")
unknown_operator = define_with_help("FS505", "unknown operator `{0}` in a condition")
unknown_step = define_with_help("FS201", "no step is called `{0}`")
unknown_filter = define_with_help("FS201", "no filter is called `${0}`")
NAMESPACES = " `meta.*` is the review, `context.*` the restaurant"
"""The help for a field that is in both."""
unknown_namespace = define_with_help("FS204", "unknown namespace `{0}`")
key_of_other_version = define_3(
    "FS511", "`{0}` belongs to the other version of seeds, and this one has `{1}`", "write {2}"
)
missing_key = define_3("FS502", "{1} has no `{0}`", "add {2}")
duplicate_step = define_2("FS203", "duplicate step `{0}`: the first is {1}", "rename one of them")
default_outside = define_1("FS509", "the default {0} is outside the bounds", "widen the bounds, or change the default")
example_outside = define_1(
    "FS509", "the example's `{0}` is outside the bounds of its field", "widen the bounds, or change the example"
)
long_example = define_1(
    "FS510",
    f"the example's text has {{0}} characters, more than {limits.REVIEW_EXAMPLE_CHARACTERS:,}",
    "choose a shorter review: a model reads the examples with every call",
)
quote_not_in_text = define_1(
    "FS509", "the quote for `{0}` is not in the example's text", "copy it from the text, letter by letter"
)
quote_missing = define_1(
    "FS509", "the example has no quote for `{0}`, whose evidence is required", 'add "quotes": {{"{0}": "…"}}'
)
value_missing = define_1("FS509", "the example has no value for `{0}`, which has no default", 'add "{0}": …')
formula_as_literal = define_2(
    "FS509",
    "`{0}` is a formula, and {1} are literals",
    "compute it in an `expr` step, with `a if condition else b` if it depends on something",
)
operator_in_key = define_2("FS505", "the operator `{1}` is in the key", 'write "{0}": {{"{1}": …}}')
needless_prefix = define_2("FS204", "inside `{0}` the field names are bare", "write `{1}`")
step_in_condition = define_1(
    "FS205",
    "`{0}` is a step, with one value for all reviews: no review can be tested by it",
    "test it in a `case` or an `expr`, or compare with it in the formula of a `sum`, such as `int(meta.stars > {0})`",
)
used_too_early = define_2("FS202", "`{0}` is used before its step", "move the step `{0}` ({1}) before this one")
filter_too_large = define_2(
    "FS510",
    f"with the filters that it uses, `{{0}}` has {{1}} terms, more than {limits.FILTER_SIZE}",
    "use fewer filters inside one another",
)
filters_nested_too_deeply = define_1(
    "FS510", f"{{0}} filters use one another, more than {limits.FILTER_NESTING}", "name the conditions themselves"
)
source_not_string = define_2(
    "FS301", "a lookup's `source` must be a string, and `{0}` is {1}", "name a string such as `context.categories`"
)
unknown_placeholder = define_with_help("FS201", "there is no placeholder `{{{0}}}`")
duplicate = define_2("FS203", "duplicate {0} `{1}`", "rename or remove one of them")
too_many = define_3("FS510", "{0} has {1} entries, more than {2}", "split it, or leave some out")


# --- JSON of the wrong shape


def no_seed(span: Span, brackets: str) -> Diagnostic:
    """Return FS008: the document is no object. `brackets` are those around the seed; empty if it holds none."""
    help = f'write {{"task_name": …}} itself, without {brackets}' if brackets else 'begin with {"task_name": …}'
    return diagnostic("FS008", span, "a seed is a JSON object", help)


KEY_IS_GIVEN = "remove it: `{}` is given already"
OF_REVIEWS = "count or sum `{}` over the reviews in a step of its own, and use that"
"""The help for the field of a review in a formula over the restaurant."""


def unknown_key(span: Span, key: str, owner: str, known: Sequence[str], help: Help | None) -> Diagnostic:
    """Return FS501: an object has a key that does not exist. `help` suggests a key; None if none resembles it."""
    listed = f"known keys: {', '.join(f'`{known_key}`' for known_key in known)}"
    return diagnostic("FS501", span, f"{owner} has no key `{key}`", help or listed)


def wrong_type(span: Span, noun: str, expected: str, actual: str, example: str) -> Diagnostic:
    """Return FS503: a JSON value is of another type than `expected`. `example` is the value to write; may be empty."""
    return diagnostic("FS503", span, f"{noun} must be {expected}, not {actual}", f"write {example or expected}")


def unknown_word(code: str, span: Span, word: str, noun: str, help: Help) -> Diagnostic:
    """Return the diagnostic, with `code`, for a word that its key does not take; `noun` says what it should name."""
    return diagnostic(code, span, f"unknown {noun} `{word}`", help)


def help_for_operation(examples: Sequence[str]) -> str:
    """Return the help that shows operations to write."""
    return f"write {' or '.join(examples)}"


def outside_bounds(span: Span, noun: str, kind: str, least: float, most: float, help: Help = "") -> Diagnostic:
    """Return FS509: a number, of the given `kind`, is outside of its inclusive bounds. An empty `help` states them."""
    bounds = f"{kind} from {least:.17g} to {most:.17g}"
    return diagnostic("FS509", span, f"{noun} must be {bounds}", help or f"write {bounds}")


def exclusive_keys(span: Span, operation: str, keys: Sequence[str]) -> Diagnostic:
    """Return FS511: an object has two keys of which it takes one."""
    named = " or ".join(f"`{key}`" for key in keys)
    return diagnostic("FS511", span, f"`{operation}` takes {named}, not both", "keep one of the two")


# --- names


def invalid_name(span: Span, name: str, noun: str, plain: str) -> Diagnostic:
    """Return FS206: a name is not an identifier. `plain` is the usable name that resembles it; empty if none does."""
    most = limits.NAME_CHARACTERS
    help = f"use the letters A to Z and a to z, digits and `_`, at most {most}, and begin with no digit"
    if plain:
        help += f": `{plain}`"
    return diagnostic("FS206", span, f"`{name}` cannot be the name of {noun}", help)


def keyword_as_name(span: Span, name: str) -> Diagnostic:
    """Return FS206: a name is a keyword of the formula language."""
    help = f"use another name, such as `{name.upper()}_VALUE`"
    return diagnostic("FS206", span, f"`{name}` is a keyword of the formula language", help)


def standard_field(span: Span, name: str, noun: str) -> Diagnostic:
    """Return FS203: a standard field is declared again with another type, as `noun` says, or if empty, at a path."""
    if noun:
        help = "remove the declaration, or choose another name"
        return diagnostic("FS203", span, f"`{name}` is a standard field, and {noun}", help)
    help = "choose another name for the value at the path"
    return diagnostic("FS203", span, f"`{name}` is a standard field, and not at a path", help)


# --- steps and their values


def sign_before_value(span: Span, bare: str, key: str, is_safe: bool) -> Diagnostic:
    """Return FS509: `$` is before the name of a value; `is_safe` says that `bare`, without it, is certainly meant."""
    help = Suggestion(f"write `{bare}`", bare, "safe" if is_safe else "unsafe")
    return diagnostic("FS509", span, f"`$` is for filters, and `{key}` takes a value", help)


def wrong_literal(span: Span, noun: str, type_noun: str, help: Help) -> Diagnostic:
    """Return FS301: a literal is of the wrong type. `help` is the value to write, or empty."""
    return diagnostic("FS301", span, f"{noun} must be {type_noun}", help or f"write {type_noun}")


def default_not_numeric(span: Span, function: str, help: Help) -> Diagnostic:
    """Return FS301: the default of an aggregate is no number. `help` is the value to write, or empty."""
    message = f"`default` of `{function}` must be a number"
    return diagnostic("FS301", span, message, help or "write the number for no reviews")


def table_not_numeric(span: Span, help: Help) -> Diagnostic:
    """Return FS508: a lookup with `substring_max` has a value that is no number. `help` is the value to write, or empty."""
    message = "`substring_max` takes the highest value, so every value must be a number"
    return diagnostic("FS508", span, message, help or "use `substring_first`, or numbers")


def no_single_name(span: Span, key: str) -> Diagnostic:
    """Return FS509: a key takes one name, and has a formula."""
    help = "compute the value in a step of its own and name that"
    if key == "field":
        help = "write a field such as `meta.year`; a formula goes into `expr`"
    return diagnostic("FS509", span, f"`{key}` must be one name", help)


def literal_types_differ(span: Span, noun: str, expected: str, actual: str, help: Help) -> Diagnostic:
    """Return FS301: values are of several types, and one is not as `expected`, such as `mostly strings`; `help` may be empty."""
    message = f"{noun} are of different types: {expected}, and this is {actual}"
    help = help or f"write {expected.partition(' ')[2]} here, or change the others"
    return diagnostic("FS301", span, message, help)


# --- conditions


def help_with_filter(formula: str) -> str:
    """Return the help for a condition that must be a formula, and so a filter."""
    return f"define a filter: {json.dumps({'name': '…', 'op': 'define_filter', 'expr': formula}, ensure_ascii=False)}"


def junction(span: Span, key: str) -> Diagnostic:
    """Return FS505: a condition has a key such as `and`, `or` or `not`. The help is a filter, except for `and`."""
    help = "write all conditions in one object, without it"
    if key.lower().removeprefix("$") not in ("and", "all", "all_of", "allof"):
        help = help_with_filter("extraction.severity == 'mild' or meta.stars < 3")
    return diagnostic("FS505", span, f"conditions have no `{key}`: all entries of an object must hold", help)


def operator_in_string(span: Span, sign: str, operand: str) -> Diagnostic:
    """Return FS505: a condition's value is a string with an operator. The help repeats `operand` only if it is a number."""
    number = operand if _JSON_NUMBER.fullmatch(operand) else ""
    help = f'write {{"{sign}": {number or "…"}}}'
    if sign == "==":
        help = f"write {number or 'the value'} without an operator"
    return diagnostic("FS505", span, f"the operator `{sign}` is inside the string", help)


def no_value(span: Span, is_step: bool) -> Diagnostic:
    """Return FS301 if `is_step`: a condition compares with a step; else FS505: with a field or formula."""
    if is_step:
        help = "compare them in a formula, such as the `expr` of a `sum`: `int(meta.stars > LIMIT)`"
        return diagnostic("FS301", span, "a condition compares with a value, not with a step", help)
    help = f"write a literal or `param.NAME`, or {help_with_filter('meta.stars < context.stars')}"
    return diagnostic("FS505", span, "a condition compares with a value, not with a field or formula", help)


def bare_parameter(span: Span, name: str, is_safe: bool) -> Diagnostic:
    """Return FS301: a string is the name of a parameter; `is_safe` says that the parameter is certainly meant."""
    help = Suggestion(f"write `param.{name}`", f"param.{name}", "safe" if is_safe else "unsafe")
    return diagnostic("FS301", span, f"`{name}` is a string here", help)


def no_namespace(span: Span, name: str, help: Help | None) -> Diagnostic:
    """Return FS204: a field in a condition has no namespace. `help` suggests names; None if none resembles it."""
    form = f"write `extraction.{name}`, `meta.{name}`, `context.{name}` or `${name}`"
    return diagnostic("FS204", span, f"`{name}` has no namespace", help or form)


def unknown_field(span: Span, owner: str, field: str, help: Help) -> Diagnostic:
    """Return FS204: a namespace, `owner`, has no such field."""
    return diagnostic("FS204", span, f"{owner} has no field `{field}`", help)


def help_for_parts(part: str, section: str, is_named: bool) -> str:
    """Return the help for a dot behind a field. `is_named` says that `section` holds its entries under their names."""
    declared = f'{{"{part}": {{"type": "string"}}}}' if is_named else f'{{"name": "{part}", "type": "string"}}'
    return f"a field has no parts: declare one in `{section}`, such as {declared}"


def filter_as_value(span: Span, name: str, per_review: bool) -> Diagnostic:
    """Return FS205: a filter is used as a value; `per_review` says that it is used in a condition of reviews."""
    help = f"write `${name}`" if per_review else "count the reviews that match it in a step of its own, and use that"
    return diagnostic("FS205", span, f"`{name}` is a filter, not a value", help)


def cycle(span: Span, names: Sequence[str]) -> Diagnostic:
    """Return FS202: each of `names` uses the next, the last the first. Of over six uses, the middle is left out."""
    if len(names) == 1:
        return uses_itself(span, names[0])
    uses = [f"`{a}` uses `{b}`" for a, b in zip(names, [*names[1:], names[0]], strict=True)]
    if len(uses) > 6:
        uses[5:-1] = ["…"]
    return diagnostic("FS202", span, ", ".join(uses), "break the cycle: compute one of them without the next")


def default_needed(span: Span, name: str, user: str, rewritten: str) -> Diagnostic:
    """Return FS507: a value may be missing, and something needs it.

    `name` and `user` are steps: no name for a part of a formula, no user for an output. `rewritten` has a default, or is empty.
    """
    subject = f"`{name}`" if name else "this"
    use = f"`{user}` uses it" if user else "is returned"
    help = f"write `{rewritten}`" if rewritten else "give it a `default`"
    if user:
        help += ", or guard its use with a count of the same reviews"
    return diagnostic("FS507", span, f"{subject} has no value if no review matches, and {use}", help)


# --- checked operations


def constant_condition(span: Span, condition: str, truth: bool, reason: str, help: str) -> Diagnostic:
    """Return FS610: all reviews (`truth`) or none pass a filter. `help` is about a constant comparison, or empty."""
    subject = "every" if truth else "no"
    default_help = "change the conditions so that a review can meet them all"
    if truth:
        default_help = "remove the filter, or test for what distinguishes reviews"
    return diagnostic("FS610", span, f"{subject} review passes {condition}: {reason}", help or default_help)


def aggregate_of_constant(span: Span, function: str, text: str, is_total: bool) -> Diagnostic:
    """Return FS621: an aggregate's operand is the same for every review; `is_total` if it adds up its operands."""
    help = f"name a field of the review, or use `{text}` itself in an `expr` step"
    if is_total:
        help = 'count the reviews: "op": "count"'
        if text != "1":
            help += f", and multiply by `{text}` in an `expr` step"
    return diagnostic("FS621", span, f"`{function}` of `{text}`, which is the same for every review", help)


def not_numeric(span: Span, function: str, text: str, noun: str, is_boolean: bool) -> Diagnostic:
    """Return FS301: an aggregate takes numbers, and its operand is of another type; `is_boolean` if it is true or false."""
    help = "name a numeric field"
    if is_boolean:
        help = f'write "expr": "int({text})", or count the reviews for which it is true'
    return diagnostic("FS301", span, f"`{function}` takes numbers, and `{text}` is {noun}", help)


def key_never_found(span: Span, source: str, key: str, values: Sequence[str], is_constant: bool) -> Diagnostic:
    """Return FS302 or, if the source is constant (`is_constant`), FS603: a lookup's source never is this key."""
    message = f"`{source}` never is `{key}`"
    if is_constant:
        return diagnostic("FS603", span, f"this is never found: {message}", "remove the key, or look up what varies")
    return diagnostic("FS302", span, message, did_you_mean(key, values, noun="values"))
