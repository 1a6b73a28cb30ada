"""Defines the table of functions. Adding a function is one entry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Literal

from formulaseed.language import intervals
from formulaseed.language.definitions import (
    LOGARITHM,
    ROOT,
    Curve,
    Rounding,
    define_ceiling,
    define_truncation,
    limit,
    negative,
)
from formulaseed.language.exactness import always_rounded, exact_if_exact, least_exact, rounded_if_exact
from formulaseed.language.intervals import Range
from formulaseed.language.operators import (
    OPERATORS,
    FailureMode,
    Operation,
    Spelling,
    domain_failure,
    number_type,
    widest_type,
)
from formulaseed.language.types import ERROR, INTEGER, Base, Value, join


@dataclass(frozen=True, slots=True, kw_only=True)
class Function(Operation):
    """An entry of the table: a function of the language. If the last name in `parameters` is `...`, any number may follow."""

    parameters: tuple[str, ...]
    returns: str = "number"
    """The name of the result's type in documents."""
    optional: int = 0
    """The number of parameters, from the last one on, that may be left out."""
    takes: frozenset[Base] = frozenset({Base.INTEGER, Base.NUMBER})
    """The types of arguments that the function accepts."""
    list_argument: Literal["no", "may", "must"] = "no"
    """Whether the arguments may or must be written as one list."""
    literal: tuple[int, int] | None = None
    """The bounds of the last parameter if that must be a literal integer."""
    operator: str = ""
    """The operator that the function is another name for."""
    folds: str = ""
    """The operator that a call is replaced by, between the items of its list."""
    empty_value: Value = None
    """The value for an empty list; None if the list must have an item."""
    is_rounding: bool = False
    """Whether the result is the argument, or a number next to it."""
    is_conversion: bool = False
    """Whether the result is the argument if that already has the type of the result."""
    selects: bool = False
    """Whether the result is one of the arguments."""
    replaces_null: bool = False
    """Whether the first argument may be null; then, and only then, the second one is evaluated and is the result."""
    bounds: Literal["", "below", "above"] = ""
    """The side on which a constant argument bounds the result."""
    curve: Curve | None = None
    """Facts about the function, for proofs, if it is a curve."""
    rounds: Rounding = ""
    """The direction in which proofs round the operand, to the decimal places of a second one; empty if the result is another."""
    hints: Mapping[int, str] = field(default_factory=dict)
    """The help for a call with a wrong number of arguments, by that number."""

    @property
    def chooses(self) -> bool:
        """True if the result is one of the arguments, also in place of null: it is a float if they are floats."""
        return self.selects or self.replaces_null

    @property
    def is_extreme(self) -> bool:
        """True if the result is the largest or the smallest of the arguments."""
        return self.selects and self.bounds != ""

    @property
    def signature(self) -> str:
        """The call with the names of its parameters, such as `max(a, b, ...)`, or with brackets for a list."""
        parameters = ", ".join(self.parameters)
        if self.list_argument == "must":
            parameters = f"[{parameters}]"
        return f"{self.name}({parameters})"

    def call_text(self, *values: Value) -> str:
        """Return the call with the values of its arguments, written with the `operator` if the function is a name for one."""
        if self.operator:
            return f"{values[0]!r} {self.operator} {values[1]!r}"
        return super(Function, self).call_text(*values)

    @property
    def min_arguments(self) -> int:
        """The smallest number of arguments of a call."""
        return len(self.parameters) - self.optional - self.is_variadic

    @property
    def max_arguments(self) -> int | None:
        """The largest number of arguments of a call; None if any number is allowed."""
        return None if self.is_variadic else len(self.parameters)

    @property
    def is_variadic(self) -> bool:
        """True if the function takes any number of arguments."""
        return self.parameters[-1] == "..."

    def spelling(self, backend: str) -> Spelling:
        """Return the code of the function in `backend`; a call by the function's own name if the entry has none."""
        return self.spellings.get(backend) or Spelling(f"{self.name}({{}})")


def is_partial(name: str) -> bool:
    """Return True if the operator or function `name` has no value for some numbers of ordinary size; False for any other name."""
    entry = OPERATORS.get(name) or FUNCTIONS.get(name)
    return entry is not None and entry.is_partial


def function_table() -> str:
    """Return the functions as the Markdown table of docs/language.md."""
    rows = [f"| `{entry.signature}` | {entry.description} | `{entry.example}` |" for entry in FUNCTIONS.values()]
    return "\n".join(["| function | | example |", "|---|---|---|", *rows]) + "\n"


# --- ranges of results


def _max_range(*args: Range) -> Range:
    return Range(max(a.low for a in args), max(a.high for a in args))


def _min_range(*args: Range) -> Range:
    return Range(min(a.low for a in args), min(a.high for a in args))


def _abs_range(a: Range) -> Range:
    ends = (abs(a.low), abs(a.high))
    low = 0.0 if a.low <= 0 <= a.high else min(ends)
    return Range(low, max(ends), a.nonzero)


def _log_range(a: Range) -> Range:
    """Return the range of the logarithm of the positive numbers in the range, from that of the smallest float, -746, to 710."""
    low = _move(math.log(a.low), -1) if a.low > 0 else -746.0
    high = _move(math.log(a.high), 1) if a.high > 0 else 710.0
    return Range(low, high)


def _whole_range(a: Range) -> Range:
    """Return the range with its bounds moved outward to the next integers."""
    return Range(float(math.floor(a.low)), float(math.ceil(a.high)))


def _decimals_range(a: Range, digits: Range | None = None) -> Range:
    """Return the range of values rounded to the literal number `digits` of decimal places; without one, to integers.

    Rounding keeps the order of two values, so the rounded bounds are bounds. Bounds that a float does not hold exactly
    are moved outward by one unit of the last digit instead.
    """
    if digits is None:
        return _whole_range(a)
    places = int(digits.low)
    unit = 10.0 ** max(0, -places)
    wider = intervals.add(a, Range(-unit, unit))
    low = round(a.low, places) if abs(a.low) < intervals.MAX_EXACT else wider.low
    high = round(a.high, places) if abs(a.high) < intervals.MAX_EXACT else wider.high
    return Range(low, high)


def _move(value: float, direction: int) -> float:
    """Return the value moved up, for the `direction` 1, or down, for -1, by more than the error of a logarithm."""
    return value + direction * 1e-9 * max(1.0, abs(value))


_REVERSED_BOUNDS = FailureMode(
    "domain",
    lambda o: False,
    lambda o: o.ranges[1].low > o.ranges[2].high,
    certain="the lower bound is above the upper one: {1.low} and {2.high}",
    help="exchange the bounds: clamp(value, low, high)",
    effect="useless",
)
_POWER = OPERATORS["**"]
_NUMBER_OR_BOOLEAN = frozenset({Base.INTEGER, Base.NUMBER, Base.BOOLEAN})

TO_FLOAT = Function(
    name="float", parameters=("value",), description="The value as a number; true is 1.0, false is 0.0",
    examples=(("float(3)", 3.0), ("float(true)", 1.0)), takes=_NUMBER_OR_BOOLEAN,
    result=number_type, is_float=True, range=lambda a: a, apply=float, is_rounding=True, is_conversion=True,
    exactness=least_exact, definition=lambda terms, value: value,
)  # fmt: skip
"""The conversion that is applied to the result of a formula over a domain."""

FUNCTIONS: dict[str, Function] = {
    entry.name: entry
    for entry in (
        Function(
            name="max", parameters=("a", "b", "..."), description="The largest of the values",
            examples=(("max(0.1, 0.05)", 0.1), ("max([1, 3, 2])", 3)), list_argument="may",
            result=widest_type, range=_max_range, apply=lambda *values: max(values), selects=True, bounds="below",
            exactness=least_exact, spellings={"sql": Spelling("GREATEST({})")},
        ),
        Function(
            name="min", parameters=("a", "b", "..."), description="The smallest of the values",
            examples=(("min(20.0, 35.5)", 20.0), ("min([2, 1])", 1)), list_argument="may",
            result=widest_type, range=_min_range, apply=lambda *values: min(values), selects=True, bounds="above",
            exactness=least_exact, spellings={"sql": Spelling("LEAST({})")},
        ),
        Function(
            name="abs", parameters=("value",), description="The value without its sign", examples=(("abs(3 - 5)", 2),),
            result=widest_type, range=_abs_range, apply=abs, exactness=least_exact,
            definition=lambda terms, value: terms.call("max", value, negative(terms, value)),
            spellings={"sql": Spelling("ABS({0})")},
        ),
        Function(
            name="log", parameters=("value",), description="The natural logarithm of a number above 0",
            examples=(("log(1)", 0.0),), result=number_type, is_float=True, range=_log_range, apply=math.log, curve=LOGARITHM,
            failures=(domain_failure("<=", 0, "the logarithm needs a number above 0", instead="log(max({}, 1))"),),
            hints={2: "`log` is the natural logarithm: for another base divide by it, `log(x) / log(10)`"},
            spellings={
                "python": Spelling("math.log({0})", doc="The natural logarithm; of 0 or less it is an error", is_refused=True),
                "sql": Spelling("LN({0})"),
            },
        ),
        Function(
            name="sqrt", parameters=("value",), description="The square root of a number of 0 or more",
            examples=(("sqrt(16)", 4.0),), result=number_type, is_float=True,
            range=lambda a: Range(math.sqrt(max(a.low, 0.0)), math.sqrt(max(a.high, 0.0))), apply=math.sqrt,
            exactness=rounded_if_exact, curve=ROOT,
            failures=(domain_failure("<", 0, "the square root needs a number of 0 or more", instead="sqrt(max({}, 0))"),),
            spellings={
                "python": Spelling("math.sqrt({0})", doc="The square root; of a negative number it is an error", is_refused=True),
                "sql": Spelling("SQRT({0})"),
            },
        ),
        Function(
            name="round", parameters=("value", "digits"), optional=1, literal=(-15, 15),
            description="The value rounded to a number of decimal places, halves to even",
            examples=(("round(2.675, 1)", 2.7), ("round(2.5)", 2)),
            result=lambda operands: INTEGER if len(operands) == 1 else operands[0].ty.non_null(),
            range=_decimals_range, apply=round, is_rounding=True, exactness=always_rounded, rounds="nearest",
            spellings={"duckdb": Spelling("ROUND_EVEN({0}, 0)"), "spark": Spelling("RINT({0})")},
        ),
        Function(
            name="int", parameters=("value",), description="The value as an integer, decimals cut off; true is 1, false is 0",
            examples=(("int(7.9)", 7), ("int(true)", 1)), returns="integer", takes=_NUMBER_OR_BOOLEAN,
            result=lambda _: INTEGER, apply=int, is_rounding=True, is_conversion=True, definition=define_truncation,
            range=lambda a: Range(float(math.trunc(a.low)), float(math.trunc(a.high))),
            spellings={"duckdb": Spelling("TRUNC({0})"), "spark": Spelling("{0}")},
        ),
        TO_FLOAT,
        Function(
            name="sum", parameters=("a", "b", "..."), description="The sum of the values of a list; of an empty one 0",
            examples=(("sum([1, 2, 3.5])", 6.5), ("sum([])", 0)), list_argument="must", folds="+", empty_value=0,
            result=widest_type, apply=lambda *values: reduce(add, values, 0), exactness=exact_if_exact,
            range=lambda *args: reduce(intervals.add, args, intervals.point(0)),
            definition=lambda terms, *args: reduce(lambda a, b: terms.compute("+", a, b), args, terms.number(0)),
        ),
        Function(
            name="pow", parameters=("base", "exponent"), description="The base raised to the exponent",
            examples=(("pow(2, 10)", 1024),), operator=_POWER.name,
            result=_POWER.result, range=_POWER.range, apply=_POWER.apply, failures=_POWER.failures,
            definition=lambda terms, base, exponent: terms.compute("**", base, exponent),
        ),
        Function(
            name="floor", parameters=("value",), description="The next integer below", examples=(("floor(2.9)", 2),),
            returns="integer", result=lambda _: INTEGER, range=_whole_range, apply=math.floor, is_rounding=True, rounds="down",
            spellings={"python": Spelling("math.floor({0})"), "sql": Spelling("FLOOR({0})")},
        ),
        Function(
            name="ceil", parameters=("value",), description="The next integer above", examples=(("ceil(2.1)", 3),),
            returns="integer", result=lambda _: INTEGER, range=_whole_range, apply=math.ceil, is_rounding=True,
            definition=define_ceiling,
            spellings={"python": Spelling("math.ceil({0})"), "sql": Spelling("CEIL({0})")},
        ),
        Function(
            name="clamp", parameters=("value", "low", "high"), description="The value, kept between low and high",
            examples=(("clamp(7.5, 0, 5)", 5),), result=widest_type, selects=True, failures=(_REVERSED_BOUNDS,),
            exactness=least_exact, range=lambda value, low, high: _max_range(low, _min_range(high, value)),
            apply=lambda value, low, high: max(low, min(high, value)), definition=limit,
            spellings={
                "python": Spelling("max({1}, min({2}, {0}))", in_order="_clamp({0}, {1}, {2})"),
                "sql": Spelling("GREATEST({1}, LEAST({2}, {0}))"),
            },
        ),
        Function(
            name="len", parameters=("text",), description="The number of characters of a text",
            examples=(("len('Thai')", 4),), returns="integer", takes=frozenset({Base.STRING}),
            result=lambda _: INTEGER, range=lambda a: intervals.COUNT, apply=len,
            spellings={"sql": Spelling("LENGTH({0})")},
        ),
        Function(
            name="coalesce", parameters=("value", "default"),
            description="The value, or the default if the value is null; unlike `or` it keeps 0, '' and false",
            examples=(("coalesce(None, 5)", 5), ("coalesce(0, 5)", 0), ("coalesce('', 'none')", "")), returns="any",
            takes=frozenset({Base.INTEGER, Base.NUMBER, Base.BOOLEAN, Base.STRING}), replaces_null=True,
            result=lambda operands: join(operands[0].ty.non_null(), operands[1].ty) or ERROR,
            range=intervals.union, apply=lambda value, default: default if value is None else value,
            definition=lambda terms, value, default: terms.switch(terms.is_null(value), default, value),
            exactness=least_exact, hints={3: "nest it: `coalesce(a, coalesce(b, c))`"},
            spellings={"sql": Spelling("COALESCE({0}, {1})")},
        ),
    )
}  # fmt: skip
