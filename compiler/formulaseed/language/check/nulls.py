"""Reports null, and what `or` takes for it, where a formula silently goes on with another value.

In: a checked expression, the facts that hold there, what null counts as. A guard that proves a value present silences the report.
"""

from __future__ import annotations

from collections.abc import Sequence

from formulaseed.diagnostics.catalogue import values as catalogue
from formulaseed.diagnostics.catalogue.values import NullEffect
from formulaseed.language import intervals, typed
from formulaseed.language.check.facts import Facts, items
from formulaseed.language.check.scope import Scope
from formulaseed.language.operators import AND, NEGATED, OR
from formulaseed.language.printer import called, expression_text, literal_text, operand_text, text_at, text_within
from formulaseed.language.typed import Expr
from formulaseed.language.types import Base
from formulaseed.source.text import Span

MAX_QUOTED = 60
"""A longer operand is not repeated in a help."""


def is_unproven(found: Expr, scope: Scope, facts: Facts) -> bool:
    """Whether the value may be null here, as far as the conditions on the way show."""
    if facts.is_silent or not facts.may_be_null(found):
        return False
    return not (facts.of(found).is_implied or scope.is_implied(found, facts.is_present))


def report_null(
    found: Expr, scope: Scope, facts: Facts, effect: NullEffect = "value", other: Expr | None = None, sign: str = ""
) -> None:
    """Report a value that may be null. `other` is what `sign`, `!=` or `not in`, compares it with; or `sign` is `not`."""
    if not is_unproven(found, scope, facts):
        return
    text = expression_text(found)
    if scope.is_reported("FS305", text):
        return  # the help takes time to write
    coalesced = condition = ""
    if len(text) <= MAX_QUOTED:
        default = _default(found, other, facts)
        coalesced = f"coalesce({text}, {default})"
        condition = _condition(text, coalesced, sign, other) if other is not None else ""
        if effect == "truth" and found.info.ty.base is Base.STRING:
            coalesced = f"{coalesced} != ''"
    name = text if isinstance(found, typed.Ref) else f"({text})"
    guarded = f"… if {name} != None else …" if effect == "value" else f"{name} != None and …"
    if effect == "truth":
        equal, different = ("== True", "== False") if found.info.ty.base is Base.BOOLEAN else ("!= None", "== None")
        guarded = f"{name} {different if sign else equal}"
    negated = f"not {name}" if effect == "truth" and sign else ""
    diagnostic = catalogue.may_be_null(found.info.span, called(found), coalesced, guarded, effect, condition, negated)
    scope.report_once(diagnostic, text)


def _condition(text: str, coalesced: str, sign: str, other: Expr) -> str:
    """Return the condition that says without null what `sign` says with it."""
    value = other.info.constant if other.info.is_constant else None
    if isinstance(value, bool):
        return f"{text} == {not value}"
    return f"{coalesced} {sign} {operand_text(other)}"


def _default(found: Expr, other: Expr | None, facts: Facts) -> str:
    """Return a default to propose: one that is equal to what the value is compared with, or one with which nothing fails."""
    first = next(iter(items(other)), None) if other is not None else None
    known, values = facts.range_of(found) or intervals.ANY_NUMBER, facts.values_of(found)
    is_only = known.low == known.high or (values is not None and len(values) <= 1)
    if first is not None and first.info.is_constant and not is_only:
        return literal_text(first.info.constant)
    if found.info.ty.base is Base.STRING:
        return "''"
    if found.info.ty.base is Base.BOOLEAN:
        return "False"
    known = known if other is None else intervals.ANY_NUMBER
    candidates = (0, 1, known.low, known.high)
    usual = (each for each in candidates if known.low <= each <= known.high and not (known.nonzero and each == 0))
    default = next(usual, 0)
    return repr(int(default) if float(default).is_integer() else default)


def report_truth(found: Expr, scope: Scope, facts: Facts, *, is_negated: bool = False) -> None:
    """Report a boolean or string that decides as a condition and may be null. A number in its place is taken as a guard."""
    is_guard = found.info.ty.base not in (Base.BOOLEAN, Base.STRING) or scope.is_entity(found)
    if not is_guard and not isinstance(found, typed.Logical):  # the operands of one were reported
        report_null(found, scope, facts, "truth", sign="not" if is_negated else "")


def report_difference(left: Expr, sign: str, right: Expr, scope: Scope, facts: Facts) -> None:
    """Report what may be null where it is compared by `!=` or `not in` with anything but null."""
    if sign not in ("!=", "not in") or (sign == "not in" and not isinstance(right, typed.List)):
        return
    others = items(right)
    if left.info.ty.base is Base.NULL or any(other.info.ty.base is Base.NULL for other in others):
        return
    report_null(left, scope, facts, "difference", right, sign)
    for other in others:
        report_null(other, scope, facts, "difference", left, sign)


def report_negated_difference(condition: Expr, scope: Scope, facts: Facts) -> None:
    """Report what may be null in the comparison under a `not`, which then is `!=` or `not in`."""
    if isinstance(condition, typed.Comparison) and len(condition.operators) == 1:
        sign = NEGATED[condition.operators[0]]
        report_difference(condition.first, sign, condition.rest[0], scope, facts)


# --- `or`, which replaces more than null


def is_replaced(operand: Expr, rest: Sequence[Expr]) -> bool:
    """Whether a boolean that may be null has the value that `or` gives in its place stated: `flag or false`."""
    return operand.info.ty.nullable and all(
        each.info.is_constant and isinstance(each.info.constant, bool) for each in rest
    )


def report_replaced(operands: Sequence[Expr], known: Sequence[Facts], span: Span, scope: Scope) -> None:
    """Report each operand of `or` that may be 0, an empty string or false, if what replaces it is another value.

    `known` are the facts where each operand is evaluated. Two booleans joined by `or` are no value and its replacement.
    """
    for place, (operand, facts) in enumerate(zip(operands[:-1], known, strict=False)):
        rest = operands[place + 1 :]
        falsy = _falsy_value(operand, rest, facts)
        if facts.is_silent or not falsy or all(_is_falsy(each, facts) for each in rest):
            continue
        here = span if place == 0 else _opened(operand.info.span.to(span))
        nullable = facts.may_be_null(operand)
        instead = _instead(operand, rest, falsy, nullable)
        instead = instead if instead.startswith("coalesce(") else instead and enclosed(instead, here)
        found = catalogue.or_replaces_value(here, called(operand), falsy, nullable, instead)
        scope.report_once(found, f"{here.start} {here.end}")


def _opened(span: Span) -> Span:
    """Return the span with the parentheses before it that are closed inside."""
    text, start = span.source.text, span.start
    unopened = text.count(")", start, span.end) - text.count("(", start, span.end)
    while unopened > 0 and text[start - 1] in "( ":
        start -= 1
        unopened -= text[start] == "("
    return Span(span.source, start, span.end, span.pointer)


def _falsy_value(operand: Expr, rest: Sequence[Expr], facts: Facts) -> str:
    """Return the literal that an operand may be and that `or` takes for null; empty if there is none."""
    ty = operand.info.ty
    if ty.is_numeric:
        known = facts.range_of(operand)
        return "0" if known is None or known.may_be_zero else ""
    if ty.base is Base.STRING:
        values = facts.values_of(operand)
        return "''" if values is None or "" in values else ""
    return "False" if ty.base is Base.BOOLEAN and is_replaced(operand, rest) else ""


def _is_falsy(found: Expr, facts: Facts) -> bool:
    """Whether a value is 0, an empty string or false for all data."""
    if found.info.is_constant:
        return found.info.constant is not None and not found.info.constant
    known = facts.range_of(found)
    return known is not None and known.is_zero and not found.info.ty.nullable and found.info.ty.is_numeric


def _instead(operand: Expr, rest: Sequence[Expr], falsy: str, nullable: bool) -> str:
    """Return what to write for `operand or rest`; empty if it is too long."""
    if not all(text_within(each, MAX_QUOTED, "") for each in (operand, *rest)):
        return ""
    text = expression_text(operand)
    if nullable and rest[-1].info.ty.base is not Base.NULL:
        return f"coalesce({text}, {' or '.join(text_at(each, AND) for each in rest)})"
    default = " or ".join(text_at(each, AND if len(rest) > 1 else OR) for each in rest)
    return f"{default} if {operand_text(operand)} == {falsy} else {text}"


def enclosed(text: str, span: Span) -> str:
    """Return a formula in parentheses, unless what it replaces is a whole string of JSON, or in parentheses already."""
    before, behind = span.source.text[: span.start].rstrip()[-1:], span.source.text[span.end :].lstrip()[:1]
    return text if (before, behind) in (('"', '"'), ("(", ")")) else f"({text})"


# --- `and` and `or`


def report_joined(
    operator: str,
    operands: Sequence[Expr],
    known: Sequence[Facts],
    span: Span,
    scope: Scope,
    *,
    is_condition: bool,
    refuses_zero: bool,
) -> None:
    """Report what null and 0 silently count as in `and` and `or`. `known` are the facts where each operand is evaluated.

    `is_condition` says that only the truth of the result counts, `refuses_zero` that the result must not be 0.
    """
    for place, (operand, facts) in enumerate(zip(operands, known, strict=True)):
        rest = operands[place + 1 :]
        is_or = operator == "or" and len(rest) > 0
        joins_booleans = is_or and operand.info.ty.base is Base.BOOLEAN
        if (is_condition or joins_booleans) and not (is_or and is_replaced(operand, rest)):
            report_truth(operand, scope, facts)
    if operator == "or" and not is_condition and not refuses_zero:
        report_replaced(operands, known, span, scope)
