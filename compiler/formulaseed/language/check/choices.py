"""Results that are one of several operands: the ranges of `and` and `or`, and the call of `coalesce`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from formulaseed.diagnostics.catalogue import values as catalogue
from formulaseed.language import intervals, typed
from formulaseed.language.check.comparisons import literal
from formulaseed.language.check.facts import Facts
from formulaseed.language.check.scope import Scope, error_at
from formulaseed.language.info import Info
from formulaseed.language.intervals import Range
from formulaseed.language.typed import Expr
from formulaseed.language.types import BOOLEAN, Base, join
from formulaseed.source.text import Span


def is_missing(value: Expr) -> Expr:
    """Return the condition that a value is null."""
    span = value.info.span
    return typed.Comparison(value, ("==",), (literal(None, span),), Info(BOOLEAN, span))


def coalesced(value: Expr, default: Expr, span: Span, scope: Scope, known: tuple[Facts, Facts]) -> Expr:
    """Return `coalesce(value, default)`: one of the two, if it is known which. `known` are the facts where each is evaluated."""
    here, behind = known
    if value.info.ty.is_error or default.info.ty.is_error:
        return error_at(span)
    ty = join(value.info.ty.present(), default.info.ty)
    if value.info.ty.base is Base.NULL or (value.info.is_constant and value.info.constant is None):
        return default
    if ty is None:
        scope.problems.report(catalogue.mixed_default(span, value.info.ty.present().noun, default.info.ty.noun))
        return error_at(span)
    if not here.may_be_null(value):
        return replace(value, info=replace(value.info, ty=ty.present()))
    range, other = here.range_of(value), behind.range_of(default)
    if range is not None and default.info.ty.base is not Base.NULL:
        range = intervals.union(range, other or intervals.ANY_NUMBER)
    ty = value.info.ty if default.info.ty.base is Base.NULL else ty
    return typed.Call("coalesce", (value, default), Info(ty, span, range))


def range_of_first(operands: Sequence[tuple[Expr, Range | None, bool]], truth: bool) -> Range | None:
    """Return the range of what `and` (where `truth`) or `or` gives: of an operand that is not the last only what decides."""
    found: Range | None = None
    for operand, known, is_last in operands:
        if known is not None and not is_last:
            is_whole = operand.info.ty.base is not Base.NUMBER
            known = intervals.where_false(known) if truth else intervals.where_true(known, is_whole=is_whole)
            if known is None:
                continue
        if known is None:
            return None
        found = known if found is None else intervals.union(found, known)
    return found
