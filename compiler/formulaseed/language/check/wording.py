"""Words the reasons why conditions are constant, and the help for values of the wrong type.

In: a condition that is constant, the facts at its place, and the constant comparisons noted in it; or a value of the wrong type.
Out: the end of a message, such as "`N` is 0 or more", or a help.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.model import Help, Suggestion
from formulaseed.language import typed
from formulaseed.language.check.narrowing import Narrowing, is_null, is_whole_and_fraction, list_items, split_chain
from formulaseed.language.check.scope import Facts
from formulaseed.language.intervals import describe, is_any
from formulaseed.language.printer import expression_text, literal_text, operand_text, quote, value_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import NUMBER, Base, Type, Value
from formulaseed.source.text import Span, value_node

_MAX_REASONS = 3
_MAX_QUOTED_CONDITION = 60
"""A longer condition is not quoted in the message."""
_MAX_QUOTED_CALL = 80
"""A longer call is not quoted in the help."""
_WORDS_FOR_NOTHING = ("none", "no", "nothing", "absent", "unknown", "n/a", "na")
"""Values of enums that stand for a missing value."""


@value_node
class ConstantComparison:
    """A condition that is always true or always false, its result, and the reason."""

    span: Span
    result: bool
    reason: str
    help: str = ""
    """A help for this condition in particular; empty for the usual help."""


def explain_constant(condition: Expr, noted: Sequence[ConstantComparison], facts: Facts, narrowing: Narrowing) -> str:
    """Return up to three reasons why a condition is constant, in words; a contradiction if none is known.

    `noted` are the constant comparisons in it, from when it was checked.
    """
    reasons = dict.fromkeys(_Reasons(noted, narrowing).explain_parts(condition, facts))
    return " and ".join(list(reasons)[:_MAX_REASONS]) or catalogue.CONTRADICTORY


@value_node
class _Reasons:
    """The search for the parts that make a condition constant."""

    noted: Sequence[ConstantComparison]
    narrowing: Narrowing

    def explain_parts(self, condition: Expr, facts: Facts) -> Iterator[str]:
        """Yield the reasons why a condition is constant at a place with these facts.

        A condition that was tested before has that as its only reason. A literal has those of the noted comparisons at
        its place.
        """
        truth = facts.get(condition).truth
        if truth is not None:
            template = catalogue.KNOWN_TRUE if truth else catalogue.KNOWN_FALSE
            yield template.format(expression_text(condition))
            return
        match condition:
            case typed.Literal():
                span = condition.info.span
                reasons = [d.reason for d in self.noted if span.covers(d.span) or d.span.covers(span)]
                yield from reasons or [catalogue.IS_CONSTANT.format(expression_text(condition))]
            case typed.Not(operand):
                yield from self.explain_parts(operand, facts)
            case typed.Logical(operator, operands):
                yield from self._operand_reasons(operator == "and", operands, facts)
            case typed.Comparison(first, _, (right,)):
                yield from _comparison_reasons(first, condition.operators[0], right, facts)
            case typed.Comparison():
                yield from self._operand_reasons(True, split_chain(condition), facts)
            case typed.Ref(Symbol(SymbolKind.FILTER, name)):
                yield from self._filter_reasons(name, facts)
            case typed.Conditional(test, then, otherwise):
                taken = self.narrowing.constant_truth(test, facts)
                for branch, is_then in ((then, True), (otherwise, False)):
                    if taken is None or taken is is_then:
                        yield from self.explain_parts(branch, facts)
            case _:
                yield from _describe_all([condition], facts)

    def _filter_reasons(self, name: str, facts: Facts) -> Iterator[str]:
        """Yield the reason why a filter is constant: for all reviews, or because of these facts.

        Yields nothing if the condition of the filter is not known.
        """
        condition = self.narrowing.filter_condition(name)
        if condition is None:
            return
        truth = self.narrowing.constant_truth(condition, Facts())
        if truth is None:
            yield from _Reasons((), self.narrowing).explain_parts(condition, facts)
        else:
            template = catalogue.EVERY_REVIEW if truth else catalogue.NO_REVIEW
            yield template.format(name)

    def _operand_reasons(self, is_and: bool, operands: Sequence[Expr], facts: Facts) -> Iterator[str]:
        """Yield the reasons of the operand that makes the whole constant, or else of all constant operands.

        The whole is an `and` if `is_and` is true, otherwise an `or`. A short comparison that decides is quoted, with at
        most `_MAX_REASONS` of its reasons.
        """
        together: list[str] = []
        for operand in operands:
            passed, stopped = self.narrowing.split(operand, facts)
            if not is_and:
                passed, stopped = stopped, passed
            is_constant = passed.impossible is not stopped.impossible
            reasons: list[str] = []
            if is_constant:
                reasons += self.explain_parts(operand, facts)
            if is_constant and passed.impossible:
                text = expression_text(operand)
                if isinstance(operand, typed.Comparison) and len(text) <= _MAX_QUOTED_CONDITION and reasons:
                    yield catalogue.describe_truth_where(text, not is_and, reasons[:_MAX_REASONS])
                else:
                    yield from reasons
                return
            together += reasons
            facts = passed
        yield from together


def _comparison_reasons(left: Expr, operator: str, right: Expr, facts: Facts) -> Iterator[str]:
    """Yield the reasons why one comparison is constant.

    They are that a value is never null, or that an integer never equals a fraction; otherwise, the ranges or values of
    the sides that are not constant.
    """
    if operator in ("==", "!=") and is_null(left):
        yield catalogue.NEVER_NULL.format(quote(right))
    elif operator in ("==", "!=") and is_null(right):
        yield catalogue.NEVER_NULL.format(quote(left))
    elif reason := explain_integer(left, right):
        yield reason
    else:
        yield from _describe_all([side for side in (left, *list_items(right)) if not side.info.is_constant], facts)


def _describe_all(expressions: Sequence[Expr], facts: Facts) -> Iterator[str]:
    """Yield the range or values of each expression for which these are known and tell a reader something."""
    for expression in expressions:
        known = facts.range_of(expression)
        if facts.values_of(expression) is not None or (known is not None and not is_any(known)):
            yield describe_known(expression, facts)


def describe_known(expression: Expr, facts: Facts) -> str:
    """Return the values of an expression, or else its range, in words; that it was tested before if neither is known.

    Null counts as a value if it is not excluded.
    """
    values: Sequence[Value] | None = facts.values_of(expression)
    if values is not None:
        if facts.may_be_null(expression) and not facts.get(expression).is_implied:
            values = [*values, None]
        return describe_values(expression, values)
    known = facts.range_of(expression)
    if known is None:
        return catalogue.TESTED_BEFORE.format(quote(expression))
    if expression.info.ty.base is Base.BOOLEAN:
        template = catalogue.ALWAYS_TRUE if known.low else catalogue.ALWAYS_FALSE
        return template.format(quote(expression))
    return catalogue.HAS_RANGE.format(quote(expression), describe(known))


def describe_values(expression: Expr, values: Sequence[Value]) -> str:
    """Return the sentence that an expression can only be one of `values`."""
    return catalogue.ONLY_VALUES.format(quote(expression), list_values(values))


def list_values(values: Sequence[Value]) -> str:
    """Return the values as messages list them, which cut off a long list."""
    return catalogue.join_values([value_text(value) for value in values])


def explain_integer(left: Expr, right: Expr) -> str:
    """Return the reason why an integer equals none of the numbers on the other side; empty if there is none."""
    for whole, numbers in ((left, list_items(right)), (right, (left,))):
        if all(is_whole_and_fraction(whole, other) for other in numbers):
            return catalogue.IS_INTEGER.format(quote(whole))
    return ""


# --- values of the wrong type


def help_for_quoted_number(expression: Expr) -> Help:
    """Return the help for a number in quotes, in this expression or in the step that it names.

    Returns an empty string for any other value. The help is only a text, without a replacement, unless it applies to
    this very literal. A decimal comma is read as a point.
    """
    values = expression.info.ty.values or ()
    text = values[0].strip() if len(values) == 1 else ""
    if re.fullmatch(r"-?[0-9]+,([0-9]{1,2}|[0-9]{4,})", text):  # a decimal comma
        text = text.replace(",", ".")
    help = help_for_quotes(text, NUMBER)
    if not help:
        return ""
    if isinstance(expression, typed.Ref):
        return f"{help} in {quote(expression)}"
    if isinstance(expression, typed.Literal) and text == values[0]:
        return help
    return str(help)


_UNQUOTED = {
    Base.INTEGER: re.compile(r"-?(0|[1-9][0-9]*)"),
    Base.NUMBER: re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"),
    Base.BOOLEAN: re.compile("true|false"),
}


def help_for_quotes(value: object, wanted: Type) -> Help:
    """Return the help, with the fix, for a string that is a literal of the type `wanted` in quotes.

    Returns an empty string for any other value.
    """
    pattern = _UNQUOTED.get(wanted.base)
    if not isinstance(value, str) or pattern is None or not pattern.fullmatch(value):
        return ""
    return Suggestion(catalogue.WITHOUT_QUOTES.format(value), value, is_verbatim=True)


def propose_test(expression: Expr) -> str:
    """Return a condition to propose in place of a string or number, which compares it with another value.

    A literal string is compared with `x` by `==`. Another string with known values is compared by `!=` with the first
    one that stands for nothing, or else by `==` with the last one; anything else by `!=` with an empty string or 0.
    """
    ty = expression.info.ty
    text = operand_text(expression)
    if ty.values and isinstance(expression, typed.Literal):
        return f"x == {text}"
    if ty.values:
        nothing = next((value for value in ty.values if value.lower() in _WORDS_FOR_NOTHING), None)
        if nothing is not None:
            return f"{text} != {literal_text(nothing)}"
        return f"{text} == {literal_text(ty.values[-1])}"
    if ty.base is Base.STRING:
        return f"{text} != ''"
    return f"{text} != 0"


def help_for_order(operand: Expr, other: Expr) -> Help:
    """Return the help for an order comparison, such as `<`, of a value that is not a number with `other`.

    A number in quotes beside a number, and then a date, have a help of their own.
    """
    ty = operand.info.ty
    if other.info.ty.is_numeric and (number := help_for_quoted_number(operand)):
        return number
    if isinstance(operand, typed.Ref) and operand.symbol == Symbol(SymbolKind.META, "date"):
        return catalogue.help_for_date_order(operand.text)
    values = None if isinstance(operand, typed.Literal) else ty.values
    noun = "strings" if ty.base is Base.STRING else "true and false"
    return catalogue.help_for_order(values, noun)


def help_for_pair(left: Expr, right: Expr) -> Help:
    """Return the help for comparing two values of different types, by the type of the one that is not a literal.

    Only help for a number in quotes on the right side has a fix.
    """
    value = right
    field = left
    if isinstance(left, typed.Literal):
        value = left
        field = right
    ty = field.info.ty
    written = value.value if isinstance(value, typed.Literal) else None
    if ty.base is Base.BOOLEAN:
        return catalogue.help_for_boolean(written)
    if ty.is_numeric and isinstance(field, typed.Ref) and field.symbol == Symbol(SymbolKind.CONTEXT, "is_open"):
        return catalogue.OPEN_IS_A_NUMBER
    if ty.is_numeric:
        help = help_for_quoted_number(value) or catalogue.WRITE_A_NUMBER
        return help if value is right else str(help)  # a fix replaces the right side
    if ty.values is not None:
        return catalogue.help_for_choice(ty.values)
    if isinstance(written, int | float) and not isinstance(written, bool):
        return catalogue.IN_QUOTES.format(written)
    return catalogue.COMPARE_ALIKE


def add_default(call: Span) -> str:
    """Return the text of a call of `max` or `min` over a loop with `default=0` added.

    A loop that is too long or cannot be printed is written as `…`.
    """
    name, _, rest = call.source.text[call.start : call.end].partition("(")
    loop = rest.strip().removesuffix(")").strip()
    if "\\" in loop or len(loop) > _MAX_QUOTED_CALL or not loop.isprintable():
        loop = "…"
    if not (loop.startswith("[") and loop.endswith("]")):
        loop = f"({loop})"
    return f"{name.strip()}({loop}, default=0)"
