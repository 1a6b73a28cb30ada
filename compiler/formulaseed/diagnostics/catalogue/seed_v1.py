"""Mistakes in the formulas of seeds v1: loops, lists and reviews."""

from __future__ import annotations

from formulaseed.diagnostics.catalogue import plain, with_1, with_2, with_help
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
"""The functions of seed v1 that take a loop, with how they are written."""
LOOP_HELP = "count or sum it in a loop, such as `sum(… for {} in extractions)`"
FIELD_HELP = "write `e['{}']` inside a loop, such as `sum(… for e in extractions)`"
list_as_value = plain(
    "FS103", "`extractions` is a list, and a value is needed", "write `len(extractions)`, or loop over it"
)
filter_in_v1 = plain("FS103", "seed v1 has no filters", "write the condition behind `if` in each loop")
bare_loop = plain("FS103", "a loop has no value of its own", "put it into `sum`, `min`, `max`, `any`, `all` or `len`")
named_argument = plain("FS103", "arguments have no names here", "give them by position, such as `round(x, 2)`")
nested_loop = plain(
    "FS103", "a loop cannot be inside another", "give the inner loop a step of its own before this one, and use that"
)
not_indexable = with_1("FS103", "only a review in a loop can be indexed, by a string", "write `{0}`")
no_loop_variable = with_help("FS201", "no loop has the variable `{0}` here")
review_as_value = with_2("FS103", "`{0}` is not a value: name a field of the review", "write `{1}`")
method_of_review = with_2(
    "FS103", "values have no methods such as `{0}`", "write `{1}`; a field may have a `default` in `extraction_fields`"
)


def get_of_review(span: Span, indexed: str, *, is_same: bool) -> Diagnostic:
    """Return FS103. `indexed` is the field as it is to be written; `is_same` says whether that cannot change the value."""
    help = f"write `{indexed}`; a field may have a `default` in `extraction_fields`"
    suggestion = Suggestion(help, indexed, is_verbatim=True) if is_same else help
    return diagnostic("FS103", span, "values have no methods such as `get`", suggestion)


def loop_arguments(span: Span, function: str) -> Diagnostic:
    help = "add it outside: `10 + sum(…)`" if function == "sum" else f"write `{LOOPS[function]}`"
    return diagnostic("FS103", span, f"`{function}` of a loop does not take this", help)


def takes_loop(span: Span, function: str) -> Diagnostic:
    code, noun = ("FS103", "a list of reviews") if function == "len" else ("FS303", "a loop")
    return diagnostic(code, span, f"`{function}` takes {noun}", f"write `{LOOPS[function]}`")


def boolean_extreme(span: Span, function: str) -> Diagnostic:
    help = f"write `{LOOPS['any' if function == 'max' else 'all']}`"
    return diagnostic("FS301", span, f"`{function}` takes numbers, and this is true or false", help)


def loop_over_other(span: Span, name: str) -> Diagnostic:
    """Return FS103 or FS201. `name` is the list that it loops over; empty if it is no name."""
    message = f"there is no list `{name}`" if name else "a loop runs over `extractions` alone"
    help = "write `for e in extractions`, with conditions behind `if`"
    return diagnostic("FS201" if name else "FS103", span, message, help)
