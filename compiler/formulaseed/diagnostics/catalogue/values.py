"""Define the diagnostics of values that change silently: null as false, 0 that `or` replaces, rounded numbers."""

from __future__ import annotations

import json
from typing import Literal

from formulaseed.diagnostics.model import Diagnostic, Help, Suggestion, diagnostic
from formulaseed.source.text import Span

NullEffect = Literal["value", "truth", "difference"]
"""The effect of null: an error where a value is needed; false as a condition (truth); true beside `!=` or `not in`."""
_EFFECTS = {"value": "", "truth": ", and null counts as false", "difference": ", and null differs from every value"}
_ZEROS = {"0": "0", "''": "an empty string", "False": "false"}
"""The names in messages of the values besides null that count as false, by their literals."""


def may_be_null(
    span: Span, called: str, coalesced: str, guarded: str, effect: NullEffect, condition: str = "", negated: str = ""
) -> Diagnostic:
    """Return FS305: a value may be null where null has the given effect.

    `called` names the value in the message. `coalesced` and `guarded` are two ways to write the value, and `condition`
    is the whole comparison; each is empty if it is too long. `negated` is the text that `guarded` replaces, if that is
    more than the value.
    """
    guard = f"`{guarded}` in place of `{negated}`" if negated else f"`{guarded}`"
    help = _help_for_null(span, coalesced, guard, condition)
    return diagnostic("FS305", span, f"{called} may be null here{_EFFECTS[effect]}", help)


def _help_for_null(span: Span, coalesced: str, guard: str, condition: str) -> Help:
    """Return the help for a value that may be null: in a key of a condition, in `source`, in `field`, or in a formula.

    `guard` is the formula that tests for null, already in backquotes.
    """
    if span.source.text.startswith('"', span.start):  # the key of a condition object
        if not condition:
            return 'test for null first: {"!=": null, …}'
        return f"define a filter: {_print_step('define_filter', condition)}"
    key = span.pointer.rpartition("/")[2] if _is_whole_string(span) else ""
    if key == "source":  # takes a name only, as `field` does
        if not coalesced:
            return "name a step that replaces null"
        return f"name a step of its own: {_print_step('expr', coalesced)}"
    if key == "field":
        return f'write "expr": {json.dumps(coalesced, ensure_ascii=False)} in place of "field"'
    if not coalesced:
        return f"test for null: {guard}"
    return Suggestion(f"write `{coalesced}`, or {guard}", coalesced, "unsafe")


def _is_whole_string(span: Span) -> bool:
    """Return True if the span is the whole of a JSON string."""
    return span.source.text[span.start - 1 : span.start] == span.source.text[span.end : span.end + 1] == '"'


def _print_step(operation: str, formula: str) -> str:
    """Return the JSON of a step with this operation and formula, whose name is left open."""
    return json.dumps({"name": "…", "op": operation, "expr": formula}, ensure_ascii=False)


def or_replaces_value(span: Span, called: str, falsy: str, nullable: bool, instead: str) -> Diagnostic:
    """Return FS624: `or` replaces a value that counts as false, and not only null.

    `falsy` is the literal of that value, one of `0`, `''` and `False`; `nullable` says that `or` replaces null, too.
    `instead` is the expression to write; empty if it is too long.
    """
    zero = _ZEROS[falsy]
    replaced = f"{zero} as well as null" if nullable else zero
    message = f"`or` replaces {replaced}: {called} may be {zero}"
    help: Help = "write `coalesce(value, default)`, which replaces null only"
    if instead:
        help = Suggestion(f"write `{instead}`", instead, "unsafe")
    return diagnostic("FS624", span, message, help)


def default_type_differs(span: Span, value: str, default: str) -> Diagnostic:
    """Return FS301: the value and the default of a `coalesce` are of different types."""
    message = f"`coalesce` takes a value and a default of one type, and these are {value} and {default}"
    return diagnostic("FS301", span, message, "give both the same type")


def inexact_comparison(span: Span, operator: str, called: str, instead: str, is_whole: bool) -> Diagnostic:
    """Return FS625: `==` or `!=` compares numbers that are rounded.

    `instead` is the comparison to write; empty if it is too long. `is_whole` says that it replaces the text of the
    span; otherwise a part of the comparison is in the key `source`.
    """
    message = f"`{operator}` compares rounded numbers: {called} is computed, and its last digits may differ"
    help: Help = "compare within a tolerance: `abs(a - b) < 1e-9`"
    if instead and is_whole:
        help = Suggestion(f"write `{instead}`", instead, "unsafe")
    elif instead:
        help = f"write the whole condition without `source`: `{instead}`"
    return diagnostic("FS625", span, message, help)
