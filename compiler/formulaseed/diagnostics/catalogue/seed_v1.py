"""Define the mistakes in the formulas of seeds v1: loops, lists and reviews."""

from __future__ import annotations

from formulaseed.diagnostics.catalogue import define, define_1, define_2, define_with_help
from formulaseed.diagnostics.model import Diagnostic, Suggestion, diagnostic
from formulaseed.source.text import Span

LOOPS = {
    "sum": "sum(1 for e in extractions if …)",
    "len": "len([e for e in extractions if …])",
    "any": "any(e['field'] == 'value' for e in extractions)",
    "all": "all(e['field'] == 'value' for e in extractions)",
    "max": "max((e['field'] for e in extractions), default=0)",
    "min": "min((e['field'] for e in extractions), default=0)",
}
"""The functions of seed v1 that take a loop, each with an example."""
LOOP_HELP = "count or sum it in a loop, such as `sum(… for {} in extractions)`"
FIELD_HELP = "write `e['{}']` inside a loop, such as `sum(… for e in extractions)`"
list_as_value = define(
    "FS103", "`extractions` is a list, and a value is needed", "write `len(extractions)`, or loop over it"
)
filter_in_v1 = define("FS103", "seed v1 has no filters", "write the condition behind `if` in each loop")
bare_loop = define("FS103", "a loop has no value of its own", "put it into `sum`, `min`, `max`, `any`, `all` or `len`")
named_argument = define("FS103", "arguments have no names here", "give them by position, such as `round(x, 2)`")
nested_loop = define(
    "FS103", "a loop cannot be inside another", "give the inner loop a step of its own before this one, and use that"
)
not_indexable = define_1("FS103", "only a review in a loop can be indexed, by a string", "write `{0}`")
no_loop_variable = define_with_help("FS201", "no loop has the variable `{0}` here")
review_as_value = define_2("FS103", "`{0}` is not a value: name a field of the review", "write `{1}`")
method_of_review = define_2(
    "FS103", "values have no methods such as `{0}`", "write `{1}`; a field may have a `default` in `extraction_fields`"
)


def get_of_review(span: Span, indexed: str, *, is_same: bool) -> Diagnostic:
    """Return FS103: a review's field is read by `get`. `indexed` is the field as it is to be written.

    If `is_same`, that cannot change the value, and is a change that is safe to apply.
    """
    help = f"write `{indexed}`; a field may have a `default` in `extraction_fields`"
    suggestion = Suggestion(help, indexed, is_verbatim=True) if is_same else help
    return diagnostic("FS103", span, "values have no methods such as `get`", suggestion)


def loop_arguments(span: Span, function: str) -> Diagnostic:
    """Return FS103: a function of a loop has further arguments."""
    help = "add it outside: `10 + sum(…)`" if function == "sum" else f"write `{LOOPS[function]}`"
    return diagnostic("FS103", span, f"`{function}` of a loop does not take this", help)


def takes_loop(span: Span, function: str) -> Diagnostic:
    """Return FS103 or FS303: the argument of `len` is no list of reviews, or that of another function no loop."""
    help = f"write `{LOOPS[function]}`"
    if function == "len":
        return diagnostic("FS103", span, "`len` takes a list of reviews", help)
    return diagnostic("FS303", span, f"`{function}` takes a loop", help)


def boolean_extreme(span: Span, function: str) -> Diagnostic:
    """Return FS301: `max` or `min` is called with a loop over booleans."""
    help = f"write `{LOOPS['any']}`" if function == "max" else f"write `{LOOPS['all']}`"
    return diagnostic("FS301", span, f"`{function}` takes numbers, and this is true or false", help)


def loop_over_other(span: Span, name: str) -> Diagnostic:
    """Return FS103 or FS201: a loop runs over something else than `extractions`.

    `name` is the list that it runs over, which makes it FS201; empty if that is no name.
    """
    help = "write `for e in extractions`, with conditions behind `if`"
    if name:
        return diagnostic("FS201", span, f"there is no list `{name}`", help)
    return diagnostic("FS103", span, "a loop runs over `extractions` alone", help)
