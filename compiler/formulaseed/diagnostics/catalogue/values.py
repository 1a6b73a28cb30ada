"""Values that change silently: null where it counts as something, 0 that `or` replaces, numbers that rounding makes unequal."""

from __future__ import annotations

import json
from typing import Literal

from formulaseed.diagnostics.model import Diagnostic, Help, Suggestion, diagnostic
from formulaseed.source.text import Span

NullEffect = Literal["value", "truth", "difference"]
"""Where null is: in place of a value that is needed, as a condition, or beside `!=` or `not in`."""
_EFFECTS = {"value": "", "truth": ", and null counts as false", "difference": ", and null differs from every value"}
_ZEROS = {"0": "0", "''": "an empty string", "False": "false"}


def may_be_null(
    span: Span, called: str, coalesced: str, guarded: str, effect: NullEffect, condition: str = "", negated: str = ""
) -> Diagnostic:
    """Return FS305.

    `coalesced` and `guarded` are two ways to write it, `condition` is the whole comparison; empty if they are too long.

    `negated` is what `guarded` replaces, if that is more than the value.
    """
    help = _help_for_null(span, coalesced, f"`{guarded}`" + (f" in place of `{negated}`" if negated else ""), condition)
    return diagnostic("FS305", span, f"{called} may be null here{_EFFECTS[effect]}", help)


def _help_for_null(span: Span, coalesced: str, guarded: str, condition: str) -> Help:
    if span.source.text.startswith('"', span.start):  # the key of a condition object
        test_first = 'test for null first: {"!=": null, …}'
        return f"define a filter: {_step('define_filter', condition)}" if condition else test_first
    key = span.pointer.rpartition("/")[2] if _is_whole_string(span) else ""
    if key == "source":  # takes a name only, as `field` does
        return f"name a step of its own: {_step('expr', coalesced)}" if coalesced else "name a step that replaces null"
    if key == "field":
        return f'write "expr": {json.dumps(coalesced, ensure_ascii=False)} in place of "field"'
    if not coalesced:
        return f"test for null: {guarded}"
    return Suggestion(f"write `{coalesced}`, or {guarded}", coalesced, "unsafe")


def _is_whole_string(span: Span) -> bool:
    return span.source.text[span.start - 1 : span.start] == span.source.text[span.end : span.end + 1] == '"'


def _step(operation: str, formula: str) -> str:
    return json.dumps({"name": "…", "op": operation, "expr": formula}, ensure_ascii=False)


def or_replaces_value(span: Span, called: str, falsy: str, nullable: bool, instead: str) -> Diagnostic:
    """Return FS624. `falsy` is the literal that `or` replaces, `instead` what to write; empty if it is too long."""
    message = f"`or` replaces {_ZEROS[falsy]}{' as well as null' if nullable else ''}: {called} may be {_ZEROS[falsy]}"
    help: Help = "write `coalesce(value, default)`, which replaces null only"
    if instead:
        help = Suggestion(f"write `{instead}`", instead, "unsafe")
    return diagnostic("FS624", span, message, help)


def mixed_default(span: Span, value: str, default: str) -> Diagnostic:
    message = f"`coalesce` takes a value and a default of one type, and these are {value} and {default}"
    return diagnostic("FS301", span, message, "give both the same type")


def inexact_comparison(span: Span, operator: str, called: str, instead: str, is_whole: bool) -> Diagnostic:
    """Return FS625.

    `instead` is the comparison to write, empty if it is too long; `is_whole` says that it replaces what is underlined.
    """
    message = f"`{operator}` compares rounded numbers: {called} is computed, and its last digits may differ"
    help: Help = "compare within a tolerance: `abs(a - b) < 1e-9`"
    if instead and is_whole:
        help = Suggestion(f"write `{instead}`", instead, "unsafe")
    elif instead:
        help = f"write the whole condition without `source`: `{instead}`"
    return diagnostic("FS625", span, message, help)
