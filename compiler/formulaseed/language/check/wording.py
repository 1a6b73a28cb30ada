"""Words the reasons why conditions are constant, and the help for values of the wrong type.

In: a condition that is constant where it is evaluated, the facts that hold there, and what was noted when it was checked; or
a value. Out: the end of a message, such as "`N` is 0 or more"; a help.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.model import Help, Suggestion
from formulaseed.language import typed
from formulaseed.language.check.facts import Facts
from formulaseed.language.check.narrowing import Narrowing, is_null, is_whole_and_fraction, list_items, split_chain
from formulaseed.language.intervals import describe, is_any
from formulaseed.language.printer import expression_text, literal_text, operand_text, quote_expression, value_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import NUMBER, Base, Type, Value
from formulaseed.source.text import Span, value_node

_MAX_REASONS = 3
_MAX_QUOTED = 60
"""A longer condition is not repeated in the message."""
_MAX_CALL = 80
"""A longer call is not repeated."""
_WORDS_FOR_NOTHING = ("none", "no", "nothing", "absent", "unknown", "n/a", "na")
"""Values of enums that say that there is nothing."""


@value_node
class ConstantComparison:
    """A condition that is always true or always false, and why."""

    span: Span
    result: bool
    reason: str
    help: str = ""
    """What to do about this one in particular."""


def explain_constant(condition: Expr, noted: Sequence[ConstantComparison], facts: Facts, narrowing: Narrowing) -> str:
    """Return why a condition is always true, or never. `noted` are the constant comparisons found when it was checked."""
    reasons = dict.fromkeys(_Reasons(noted, narrowing).explain_parts(condition, facts))
    return " and ".join(list(reasons)[:_MAX_REASONS]) or catalogue.CONTRADICTORY


@value_node
class _Reasons:
    """Follows a condition down to the parts that make it constant."""

    noted: Sequence[ConstantComparison]
    narrowing: Narrowing

    def explain_parts(self, condition: Expr, facts: Facts) -> Iterator[str]:
        """Yield the reasons why a condition is constant where `facts` hold."""
        truth = facts.get(condition).truth
        if truth is not None:
            yield (catalogue.KNOWN_TRUE if truth else catalogue.KNOWN_FALSE).format(expression_text(condition))
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
                yield from _describe_all_known([condition], facts)

    def _filter_reasons(self, name: str, facts: Facts) -> Iterator[str]:
        condition = self.narrowing.filter_condition(name)
        if condition is None:
            return
        truth = self.narrowing.constant_truth(condition, Facts())
        if truth is not None:
            yield (catalogue.EVERY_REVIEW if truth else catalogue.NO_REVIEW).format(name)
        else:
            yield from _Reasons((), self.narrowing).explain_parts(condition, facts)

    def _operand_reasons(self, is_and: bool, operands: Sequence[Expr], facts: Facts) -> Iterator[str]:
        """Yield the reason of the operand that makes the whole constant; those of all operands if none does so alone."""
        together: list[str] = []
        for operand in operands:
            when_true, when_false = self.narrowing.split(operand, facts)
            passed, stopped = (when_true, when_false) if is_and else (when_false, when_true)
            is_constant = passed.impossible is not stopped.impossible
            reasons = list(self.explain_parts(operand, facts)) if is_constant else []
            if is_constant and passed.impossible:
                text = expression_text(operand)
                if isinstance(operand, typed.Comparison) and len(text) <= _MAX_QUOTED and reasons:
                    yield catalogue.holds_where(text, not is_and, reasons[:_MAX_REASONS])
                else:
                    yield from reasons
                return
            together += reasons
            facts = passed
        yield from together


def _comparison_reasons(left: Expr, operator: str, right: Expr, facts: Facts) -> Iterator[str]:
    if operator in ("==", "!=") and (is_null(left) or is_null(right)):
        yield catalogue.NEVER_NULL.format(quote_expression(right if is_null(left) else left))
    elif reason := explain_integer(left, right):
        yield reason
    else:
        yield from _describe_all_known(
            [side for side in (left, *list_items(right)) if not side.info.is_constant], facts
        )


def _describe_all_known(expressions: Sequence[Expr], facts: Facts) -> Iterator[str]:
    """Yield what is known of each expression, if anything is."""
    for expression in expressions:
        known = facts.range_of(expression)
        if facts.values_of(expression) is not None or (known is not None and not is_any(known)):
            yield describe_known(expression, facts)


def describe_known(expression: Expr, facts: Facts) -> str:
    """Return what is known of an expression, in words."""
    values: Sequence[Value] | None = facts.values_of(expression)
    if values is not None:
        may_be_null = facts.may_be_null(expression) and not facts.get(expression).is_implied
        return describe_values(expression, [*values, None] if may_be_null else values)
    known = facts.range_of(expression)
    if known is None:
        return catalogue.TESTED_BEFORE.format(quote_expression(expression))
    if expression.info.ty.base is Base.BOOLEAN:
        return (catalogue.ALWAYS_TRUE if known.low else catalogue.ALWAYS_FALSE).format(quote_expression(expression))
    return catalogue.HAS_RANGE.format(quote_expression(expression), describe(known))


def describe_values(expression: Expr, values: Sequence[Value]) -> str:
    """Return that an expression can only be one of `values`, in words."""
    return catalogue.ONLY_VALUES.format(quote_expression(expression), list_values(values))


def list_values(values: Sequence[Value]) -> str:
    """Return the first of the values as messages list them."""
    return catalogue.join_values([value_text(value) for value in values])


def explain_integer(left: Expr, right: Expr) -> str:
    """Return why an integer equals none of the numbers that it is compared with; empty if it may equal one."""
    for whole, numbers in ((left, list_items(right)), (right, (left,))):
        if all(is_whole_and_fraction(whole, other) for other in numbers):
            return catalogue.IS_INTEGER.format(quote_expression(whole))
    return ""


# --- values of the wrong type


def help_for_quoted_number(expression: Expr) -> Help:
    """Return the help for a number in quotes, here or in the step that is named here; empty for any other value."""
    values = expression.info.ty.values or ()
    text = values[0].strip() if len(values) == 1 else ""
    if re.fullmatch(r"-?[0-9]+,([0-9]{1,2}|[0-9]{4,})", text):  # a decimal comma
        text = text.replace(",", ".")
    help = help_for_quotes(text, NUMBER)
    if not help:
        return ""
    if isinstance(expression, typed.Ref):
        return f"{help} in {quote_expression(expression)}"
    is_certain = isinstance(expression, typed.Literal) and text == values[0]
    return help if is_certain else str(help)


_UNQUOTED = {
    Base.INTEGER: re.compile(r"-?(0|[1-9][0-9]*)"),
    Base.NUMBER: re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"),
    Base.BOOLEAN: re.compile("true|false"),
}


def help_for_quotes(value: object, wanted: Type) -> Help:
    """Return the help for a string that is a literal of the type `wanted` in quotes; empty for any other value."""
    pattern = _UNQUOTED.get(wanted.base)
    if not isinstance(value, str) or pattern is None or not pattern.fullmatch(value):
        return ""
    return Suggestion(catalogue.WITHOUT_QUOTES.format(value), value, is_verbatim=True)


def propose_test(expression: Expr) -> str:
    """Return a test to write for a value that is neither true nor false: for one that it can have, or for its presence."""
    ty = expression.info.ty
    text = operand_text(expression)
    if ty.values and isinstance(expression, typed.Literal):
        return f"x == {text}"
    if ty.values:
        nothing = next((value for value in ty.values if value.lower() in _WORDS_FOR_NOTHING), None)
        return f"{text} == {literal_text(ty.values[-1])}" if nothing is None else f"{text} != {literal_text(nothing)}"
    return f"{text} != ''" if ty.base is Base.STRING else f"{text} != 0"


def help_for_order(operand: Expr, other: Expr) -> Help:
    """Return the help for ordering a value that is no number."""
    ty = operand.info.ty
    if other.info.ty.is_numeric and (number := help_for_quoted_number(operand)):
        return number
    if isinstance(operand, typed.Ref) and operand.symbol == Symbol(SymbolKind.META, "date"):
        return catalogue.parts_of_date(operand.text)
    values = None if isinstance(operand, typed.Literal) else ty.values
    return catalogue.order_of_values(values, "strings" if ty.base is Base.STRING else "true and false")


def help_for_pair(left: Expr, right: Expr) -> Help:
    """Return the help for comparing two values of different types. The type of the one that is no literal decides."""
    value, field = (left, right) if isinstance(left, typed.Literal) else (right, left)
    ty = field.info.ty
    written = value.value if isinstance(value, typed.Literal) else None
    if ty.base is Base.BOOLEAN:
        return catalogue.a_boolean(written)
    if ty.is_numeric and isinstance(field, typed.Ref) and field.symbol == Symbol(SymbolKind.CONTEXT, "is_open"):
        return catalogue.OPEN_IS_A_NUMBER
    if ty.is_numeric:
        help = help_for_quoted_number(value) or catalogue.WRITE_A_NUMBER
        return help if value is right else str(help)
    if ty.values is not None:
        return catalogue.one_of_values(ty.values)
    is_number = isinstance(written, int | float) and not isinstance(written, bool)
    return catalogue.IN_QUOTES.format(written) if is_number else catalogue.COMPARE_ALIKE


def add_default(call: Span) -> str:
    """Return the call of `max` or `min` over a loop with a default added."""
    name, _, rest = call.source.text[call.start : call.end].partition("(")
    loop = rest.strip().removesuffix(")").strip()
    if "\\" in loop or len(loop) > _MAX_CALL or not loop.isprintable():
        loop = "…"
    return f"{name.strip()}({loop if loop.startswith('[') and loop.endswith(']') else f'({loop})'}, default=0)"
