"""The one table of operators and functions.

The checker reads types and ranges here, the interpreter `apply`, the emitter `helper`, and the documentation
the rest. Adding a function is one entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from formulaseed.language import intervals
from formulaseed.language.intervals import Range
from formulaseed.language.operators import Fault, Number, _power, _power_is_safe, _widest, always, finite
from formulaseed.language.types import INTEGER, NUMBER, Base, Type, Value


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the language. `parameters` names them; a last name of `...` takes any number more.

    `takes_list`: the arguments may be given as one list, or with `only_list` must be, and then there may be none.
    `helper` and `is_safe` as for operators.
    """

    name: str
    parameters: tuple[str, ...]
    description: str
    example: str
    example_value: Value
    returns: str
    result: Callable[[Sequence[Type]], Type]
    range: Callable[[Sequence[Range]], Range]
    apply: Callable[..., Number]
    optional: int = 0
    takes: frozenset[Base] = frozenset({Base.INTEGER, Base.NUMBER})
    takes_list: bool = False
    only_list: bool = False
    helper: str | None = None
    is_safe: Callable[[Sequence[Range]], bool] = always

    @property
    def signature(self) -> str:
        parameters = ", ".join(self.parameters)
        return f"{self.name}([{parameters}])" if self.only_list else f"{self.name}({parameters})"

    @property
    def least(self) -> int:
        return len(self.parameters) - self.optional - self.is_variadic

    @property
    def most(self) -> int | None:
        return None if self.is_variadic else len(self.parameters)

    @property
    def is_variadic(self) -> bool:
        return self.parameters[-1] == "..."


def _log(value: Number) -> float:
    if value <= 0:
        raise Fault("domain", f"log({value!r}): the logarithm needs a number above 0", (value,))
    return math.log(value)


def _sqrt(value: Number) -> float:
    if value < 0:
        raise Fault("domain", f"sqrt({value!r}): the square root needs a number of 0 or more", (value,))
    return math.sqrt(value)


def _round(value: Number, digits: int | None = None) -> Number:
    try:
        return finite(round(value) if digits is None else round(value, digits))
    except OverflowError:
        raise Fault("overflow", f"round({value!r}, {digits!r}) is too large for a number", (value, digits)) from None


def _clamp(value: Number, low: Number, high: Number) -> Number:
    return max(low, min(high, value))


def _largest(*values: Number) -> Number:
    return max(values)


def _smallest(*values: Number) -> Number:
    return min(values)


def _sum(*values: Number) -> Number:
    total: Number = 0
    for value in values:
        total += value
    return finite(total)


def _to_number(_: Sequence[Type]) -> Type:
    return NUMBER


def _to_integer(_: Sequence[Type]) -> Type:
    return INTEGER


def _rounded(types: Sequence[Type]) -> Type:
    return INTEGER if len(types) == 1 else types[0].present()


# --- ranges of results


def _max_range(args: Sequence[Range]) -> Range:
    return Range(max(a.low for a in args), max(a.high for a in args))


def _min_range(args: Sequence[Range]) -> Range:
    return Range(min(a.low for a in args), min(a.high for a in args))


def _abs_range(args: Sequence[Range]) -> Range:
    (a,) = args
    low = 0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return Range(low, max(abs(a.low), abs(a.high)), a.nonzero)


def _log_range(args: Sequence[Range]) -> Range:
    (a,) = args
    return Range(
        _widen(math.log(a.low), -1) if a.low > 0 else -746.0, _widen(math.log(a.high), 1) if a.high > 0 else 710.0
    )


def _sqrt_range(args: Sequence[Range]) -> Range:
    (a,) = args
    return Range(math.sqrt(max(a.low, 0.0)), math.sqrt(max(a.high, 0.0)))


def _whole_range(args: Sequence[Range]) -> Range:
    """Between the next integers outside."""
    return Range(float(math.floor(args[0].low)), float(math.ceil(args[0].high)))


def _truncated_range(args: Sequence[Range]) -> Range:
    return Range(float(math.trunc(args[0].low)), float(math.trunc(args[0].high)))


def _decimals_range(args: Sequence[Range]) -> Range:
    if len(args) == 1:
        return _whole_range(args)
    step = 10.0 ** max(0.0, -args[1].low)
    return intervals.add(args[0], Range(-step, step))


def _clamp_range(args: Sequence[Range]) -> Range:
    return _max_range([args[1], _min_range([args[2], args[0]])])


def _sum_range(args: Sequence[Range]) -> Range:
    total = intervals.exactly(0)
    for a in args:
        total = intervals.add(total, a)
    return total


def _widen(value: float, direction: int) -> float:
    return value + direction * 1e-9 * max(1.0, abs(value))


_NUMBER_OR_BOOLEAN = frozenset({Base.INTEGER, Base.NUMBER, Base.BOOLEAN})

FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (
        Function(
            "max", ("a", "b", "..."), "The largest of the values", "max(0.1, 0.05)", 0.1, "number",
            _widest, _max_range, _largest, takes_list=True,
        ),
        Function(
            "min", ("a", "b", "..."), "The smallest of the values", "min(20.0, 35.5)", 20.0, "number",
            _widest, _min_range, _smallest, takes_list=True,
        ),
        Function(
            "abs", ("value",), "The value without its sign", "abs(3 - 5)", 2, "number", _widest, _abs_range, abs,
        ),
        Function(
            "log", ("value",), "The natural logarithm of a number above 0", "log(1)", 0.0, "number",
            _to_number, _log_range, _log, helper="log", is_safe=lambda a: a[0].low > 0,
        ),
        Function(
            "sqrt", ("value",), "The square root of a number of 0 or more", "sqrt(16)", 4.0, "number",
            _to_number, _sqrt_range, _sqrt, helper="sqrt", is_safe=lambda a: a[0].low >= 0,
        ),
        Function(
            "round", ("value", "digits"), "The value rounded to a number of decimal places, halves to even",
            "round(2.675, 1)", 2.7, "number", _rounded, _decimals_range, _round, optional=1,
        ),
        Function(
            "int", ("value",), "The value as an integer, decimals cut off; true is 1, false is 0",
            "int(7.9)", 7, "integer", _to_integer, _truncated_range, int, takes=_NUMBER_OR_BOOLEAN,
        ),
        Function(
            "float", ("value",), "The value as a number; true is 1.0, false is 0.0",
            "float(3)", 3.0, "number", _to_number, lambda a: a[0], float, takes=_NUMBER_OR_BOOLEAN,
        ),
        Function(
            "sum", ("a", "b", "..."), "The sum of the values of a list; of an empty one 0", "sum([1, 2, 3.5])", 6.5, "number",
            _widest, _sum_range, _sum, takes_list=True, only_list=True,
        ),
        Function(
            "pow", ("base", "exponent"), "The base raised to the exponent", "pow(2, 10)", 1024, "number",
            _widest, lambda a: intervals.power(a[0], a[1]), _power, helper="power", is_safe=_power_is_safe,
        ),
        Function(
            "floor", ("value",), "The next integer below", "floor(2.9)", 2, "integer", _to_integer, _whole_range, math.floor,
        ),
        Function(
            "ceil", ("value",), "The next integer above", "ceil(2.1)", 3, "integer", _to_integer, _whole_range, math.ceil,
        ),
        Function(
            "clamp", ("value", "low", "high"), "The value, kept between low and high", "clamp(7.5, 0, 5)", 5, "number",
            _widest, _clamp_range, _clamp,
        ),
        Function(
            "len", ("text",), "The number of characters of a text", "len('Thai')", 4, "integer",
            _to_integer, lambda a: intervals.COUNT, len, takes=frozenset({Base.STRING}),
        ),
    )
}  # fmt: skip
