"""Finds types and ranges of results that are one of several operands, as those of `and`, `or` and `coalesce`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from formulaseed.diagnostics.catalogue import values as catalogue
from formulaseed.language import intervals, typed
from formulaseed.language.check.narrowing import is_null
from formulaseed.language.check.scope import Facts, Scope, build_error
from formulaseed.language.intervals import Range
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import BOOLEAN, NULL, Base, Info, Type, Value, join, literal_type
from formulaseed.source.text import Span


def build_literal(value: Value, span: Span) -> typed.Literal:
    """Return a typed literal of a value, with its type and range, marked as constant."""
    return typed.Literal(value, Info(literal_type(value), span, _value_range(value), True, value))


def note_value(expression: Expr, value: Value) -> Expr:
    """Return an expression that is made of literals alone, marked as constant with this value."""
    info = replace(expression.info, range=_value_range(value), is_constant=True, constant=value)
    return replace(expression, info=info)


def _value_range(value: Value) -> Range | None:
    """Return the range of one value; None for a string or null."""
    return intervals.point(value) if isinstance(value, int | float) else None


def join_conditions(word: str, parts: Sequence[Expr], info: Info) -> Expr:
    """Return conditions joined by `word`, `and` or `or`, without literals that change nothing: `x and True` is `x`.

    A literal that decides makes the conditions after it needless, and also those before it if they cannot fail. A
    single condition that is left is returned itself.
    """
    decisive = word == "or"
    last = next((place for place, part in enumerate(parts) if _is_truth(part, decisive)), len(parts) - 1)
    if _is_truth(parts[last], decisive) and not any(map(typed.may_raise, parts[:last])):
        return parts[last]
    left = parts[: last + 1]
    if all(part.info.ty == BOOLEAN for part in left):  # `flag or False` is false where the flag is null
        left = [part for part in left if not _is_truth(part, not decisive)] or parts[:1]
    if len(left) == 1:
        return left[0]
    return typed.Logical(word, tuple(left), info)


def _is_truth(expression: Expr, truth: bool) -> bool:
    """Return True if an expression is the literal `truth`."""
    return isinstance(expression, typed.Literal) and expression.value is truth


def is_constant_string(expression: Expr) -> bool:
    """Return whether a string is the same for all data: it has one known value, is never null, and uses only steps."""
    ty = expression.info.ty
    if ty.values is None or len(ty.values) != 1 or ty.nullable:
        return False
    return all(node.symbol.kind is SymbolKind.STEP for node in typed.walk(expression) if isinstance(node, typed.Ref))


def build_null_test(value: Expr) -> Expr:
    """Return the condition `value == None`, typed, at the place of `value`."""
    span = value.info.span
    return typed.Comparison(value, ("==",), (build_literal(None, span),), Info(BOOLEAN, span))


def build_coalesce(value: Expr, default: Expr, span: Span, scope: Scope, known: tuple[Facts, Facts]) -> Expr:
    """Return `coalesce(value, default)`, or the one of the two that is known to be the result.

    Returns an error expression if an operand is one, or if the two have no common type, which is reported. `known`
    holds the facts at `value`, and those at `default`.
    """
    here, if_null = known
    if value.info.ty.is_error or default.info.ty.is_error:
        return build_error(span)
    ty = join(value.info.ty.non_null(), default.info.ty)
    if value.info.ty.base is Base.NULL or (value.info.is_constant and value.info.constant is None):
        return default
    if ty is None:
        scope.problems.report(catalogue.default_type_differs(span, value.info.ty.non_null().noun, default.info.ty.noun))
        return build_error(span)
    if not here.may_be_null(value):
        return replace(value, info=replace(value.info, ty=ty.non_null()))
    range = here.range_of(value)
    if default.info.ty.base is Base.NULL:
        ty = value.info.ty
    elif range is not None:
        range = intervals.union(range, if_null.range_of(default) or intervals.ANY_NUMBER)
    return typed.Call("coalesce", (value, default), Info(ty, span, range))


def find_choice_type(operands: Sequence[Expr], scope: Scope, *, is_and: bool) -> Type | None:
    """Return the type of `and` if `is_and` is true, otherwise of `or`; None if the operands have no common type.

    In `or`, only the last operand contributes null. In `and`, an entity before the last operand contributes only null,
    unless the type of what follows is boolean.
    """
    joined: Type | None = operands[-1].info.ty
    for operand in reversed(operands[:-1]):
        if joined is None:
            return None
        ty = operand.info.ty
        if is_and and scope.is_entity(operand) and joined.base is not Base.BOOLEAN:
            ty = NULL  # an entity that is there is true, and so never is the result
        if not is_and:
            ty = ty.non_null()
        if is_and or ty.base is not Base.NULL:
            joined = join(ty, joined)
    return joined


def find_constant_choice(operands: Sequence[Expr], *, is_and: bool) -> Expr | None:
    """Return the operand that is the value of `and`, or of `or`, as `is_and` says: the first that decides, or the last.

    Returns None if an operand that is not constant comes before that.
    """
    for operand in operands:
        if not operand.info.is_constant:
            return None
        if bool(operand.info.constant) is not is_and:
            return operand
    return operands[-1]


def find_choice_range(checked: Sequence[tuple[Expr, Facts]], before: Facts, *, is_and: bool) -> Range | None:
    """Return the range of the value of `and`, if `is_and` is true, or of `or`.

    Returns None if an operand that counts has no known range, or none counts. `checked` holds each operand with the
    facts at its place; `before` are the facts before the first operand. An operand that is not the last one contributes
    only the values with which it decides. Operands that are null or never reached are skipped.
    """
    joined: Range | None = None
    for place, (operand, facts) in enumerate(checked):
        if operand.info.ty.base is Base.NULL or (facts.impossible and not before.impossible):
            continue
        known = facts.range_of(operand)
        if known is None:
            return None
        if place < len(checked) - 1:
            if is_and:
                known = intervals.false_part(known)
            else:
                known = intervals.true_part(known, is_whole=operand.info.ty.base is not Base.NUMBER)
            if known is None:
                continue
        if joined is not None:
            known = intervals.union(joined, known)
        joined = known
    return joined


def find_branch_range(branches: tuple[tuple[Expr, Facts], tuple[Expr, Facts]], ty: Type) -> Range | None:
    """Return the range of a conditional expression of the type `ty`; None if it is not a number.

    `branches` holds each branch with the facts at its place. A branch that is null or never reached is skipped. A
    number of which nothing is known has the range of any number.
    """
    (then, when_true), (otherwise, when_false) = branches
    a = when_true.range_of(then)
    b = when_false.range_of(otherwise)
    joined = None
    if when_true.impossible is not when_false.impossible:  # the result is always that of the other branch
        joined = b if when_true.impossible else a
    elif a and b:
        joined = intervals.union(a, b)
    if joined is None and ty.is_numeric:
        if is_null(otherwise):
            joined = a
        elif is_null(then):
            joined = b
        return joined or intervals.ANY_NUMBER
    return joined
