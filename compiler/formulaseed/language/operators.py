"""Defines the table of operators, and the entries of this table and of the table of functions.

An entry states each fact once: types, intervals, where the operation has no value, how backends write it, examples. The
checker, the interpreter, the backends, the documents, the schemas and the prompts read it there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from formulaseed import limits
from formulaseed.language import intervals
from formulaseed.language.exactness import Exactness, always_inexact, exact_if_exact, rounded_if_exact
from formulaseed.language.info import Info
from formulaseed.language.intervals import Range
from formulaseed.language.types import INTEGER, NUMBER, Base, Type, Value, join
from formulaseed.source.text import value_node

Number = int | float
FaultKind = Literal["division_by_zero", "domain", "overflow", "null", "lookup", "type"]

# --- precedence, weakest first; the same as Python's

CONDITIONAL, OR, AND, NOT, COMPARISON, ADDITIVE, MULTIPLICATIVE, UNARY, POWER, ATOM = range(10)

# --- operators on values that are no numbers, each with its description

ORDERING = {
    "==": "Equal to", "!=": "Not equal to", "<": "Less than", "<=": "Less than or equal to",
    ">": "Greater than", ">=": "Greater than or equal to",
}  # fmt: skip
COMPARISONS = tuple(ORDERING)
MEMBERSHIP = {"in": "One of a list, or part of a string", "not in": "None of a list, or no part of a string"}
LOGICAL = {
    "and": "Logical AND: the first operand that is not true, else the last",
    "or": "Logical OR: the first operand that is true, else the last",
    "not": "Logical NOT",
}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in", "not in": "in"}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip
"""The comparisons on values; a list is a list of values."""


class Fault(Exception):
    """Raised when an operation has no value for its operands; the interpreter adds the step."""

    def __init__(self, kind: FaultKind, message: str, operands: tuple[Value, ...] = ()) -> None:
        self.kind: FaultKind = kind
        self.message = message
        self.operands = operands
        super().__init__(message)


@value_node
class OperandFacts:
    """The operands of an operation, with their ranges and that of the result, where the operation is evaluated."""

    infos: Sequence[Info]
    ranges: Sequence[Range]
    result: Range

    def is_whole(self, index: int) -> bool:
        """Return True if an operand never has a fraction."""
        known = self.ranges[index]
        return self.infos[index].ty.base is Base.INTEGER or (known.low == known.high and known.low.is_integer())


OperandTest = Callable[[OperandFacts], bool]


@value_node
class FailureMode:
    """A way in which an operation has no value for some operands, with what is said of it.

    `message` (the warning), `certain` (where it always fails) and `help` (what to do then) are templates: `{0}` names an operand,
    `{0.range}` describes its range, `{0.low}` and `{0.high}` are the ends, `{all}` describes all operands that vary, `{name}`
    is the operation, `{where}` where it fails.
    """

    kind: FaultKind
    is_possible: OperandTest
    """Whether it fails for some of the operands."""
    is_certain: OperandTest
    """Whether it fails for all of them."""
    message: str = ""
    certain: str = "this always fails{where}"
    help: str = "change the values, or leave the operation out"
    guard: Callable[[OperandFacts], tuple[int, str]] | None = None
    """The operand to test before, and the test, such as `> 0`."""
    instead: str = ""
    """How an operand is bounded so that it does not fail; `{}` is the operand."""
    effect: Literal["raises", "infinite", "useless"] = "raises"
    """What the bare operation does: it may also give an infinite result, or one that cannot be wanted."""
    is_warned: OperandTest | None = None
    """Whether a warning is due, if not whenever it may fail."""
    fails: Callable[..., bool] | None = None
    """Whether it fails for these values."""
    fault: str = "{shown}"
    """The message at run time: `{shown}` is the operation with its values, `{0}` one of them."""
    test: tuple[int, str, int] | None = None
    """`fails` as data, for backends that write it out: an operand, a comparison, a number."""


def comparison_failure(index: int, sign: str, bound: int, kind: FaultKind, message: str, **more: Any) -> FailureMode:
    """Return the failure of an operation that has no value where an operand compares so with a number."""
    limit = intervals.point(bound)

    def guard(operands: OperandFacts) -> tuple[int, str]:
        is_above = sign == "==" and operands.ranges[index].low >= bound
        return index, f"{'>' if is_above else NEGATED[sign]} {bound}"

    return FailureMode(
        kind,
        lambda operands: intervals.compare(sign, operands.ranges[index], limit) is not False,
        lambda operands: intervals.compare(sign, operands.ranges[index], limit) is True,
        message,
        guard=guard,
        fails=lambda *values: COMPARE[sign](values[index], bound),
        test=(index, sign, bound),
        **more,
    )


def domain_failure(sign: str, bound: int, needs: str, **more: Any) -> FailureMode:
    """Return the failure of a function of one number that must not compare so with the bound; `needs` says it in words."""
    end, side, wanted = ("high", "most", "a larger") if sign in ("<", "<=") else ("low", "least", "a smaller")
    return comparison_failure(
        0, sign, bound, "domain", f"{needs}, and {{0}} is {{0.range}}",
        certain=f"this always fails{{where}}: `{{name}}` of a number that is {{0.{end}}} at {side}",
        help=f"`{{name}}` needs {wanted} number", fault=f"{{shown}}: {needs}", **more,
    )  # fmt: skip


def overflow_failure(*, is_warned: OperandTest | None = None, **more: Any) -> FailureMode:
    """Return the failure of a result beyond the largest number. It is warned of where the operands are bounded."""

    def is_due(operands: OperandFacts) -> bool:
        return all(known.is_bounded for known in operands.ranges) and (is_warned is None or is_warned(operands))

    return FailureMode(
        "overflow",
        lambda operands: not operands.result.is_bounded,
        lambda operands: operands.result.is_beyond,
        "this may be too large for a number: {all}",
        "this always fails{where}: the result is too large for a number",
        "use smaller numbers",
        instead="min({}, 100)",
        is_warned=is_due,
        fault="{shown} is too large for a number",
        **more,
    )


@value_node
class Spelling:
    """The code of an operation in a backend.

    `text` is for operands that it cannot fail for: a template in which `{0}` is the first and `{}` all of them. `in_order`
    is used instead where several operands may raise, and `text` has them in another order. `helper` is called where the
    operation may fail, `whole_helper` where its result is an integer, besides.
    """

    text: str = ""
    in_order: str = ""
    helper: str = ""
    whole_helper: str = ""
    doc: str = ""
    """The docstring of the helper of a function, if not its description."""
    is_refused: bool = False
    """Whether `text` raises `ValueError` for what the operation has no value for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operator or a function. `examples` are formulas with their values; documents show the first."""

    name: str
    description: str
    examples: tuple[tuple[str, Value], ...]
    result: Callable[[Sequence[Info]], Type]
    """The type of the result."""
    range: Callable[..., Range]
    """The range of the result, from those of the operands."""
    apply: Callable[..., Any]
    """The result, for operands that it does not fail for."""
    failures: tuple[FailureMode, ...] = ()
    is_float: bool = False
    """Whether the result is a float for integers, too."""
    exactness: Callable[[Sequence[Exactness]], Exactness] = always_inexact
    """How exact a result is that is no integer, from the exactness of the operands."""
    spellings: Mapping[str, Spelling] = field(default_factory=dict)
    """By backend; a backend that is left out writes it as formulas do."""

    @property
    def example(self) -> str:
        return self.examples[0][0]

    @property
    def is_partial(self) -> bool:
        """True if the operation has no value for some operands, however small the result."""
        return any(failure.effect == "raises" and failure.kind != "overflow" for failure in self.failures)

    def refuses_zero(self, place: int) -> bool:
        """Return True if the operation has no value if the operand at a place is 0."""
        tests = (failure.test for failure in self.failures if failure.test is not None)
        return any(index == place and COMPARE[sign](0, bound) for index, sign, bound in tests)

    def is_safe(self, operands: OperandFacts) -> bool:
        """Return True if computing the operation cannot raise."""
        return not any(failure.effect == "raises" and failure.is_possible(operands) for failure in self.failures)

    def compute(self, *values: Any) -> Any:
        """Compute the result. Raises `Fault` if there is none."""
        for failure in self.failures:
            if failure.fails is not None and failure.fails(*values):
                raise Fault(
                    failure.kind, failure.fault.format(*map(repr, values), shown=self.call_text(*values)), values
                )
        try:
            return check_finite(self.apply(*values))
        except OverflowError:
            raise Fault("overflow", f"{self.call_text(*values)} is too large for a number", values) from None

    def call_text(self, *values: Value) -> str:
        """Return the operation with its operands' values, as messages quote it."""
        return f"{self.name}({', '.join(map(repr, values))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(Operation):
    """An operator between two numbers."""

    precedence: int

    def call_text(self, *values: Value) -> str:
        return f"{values[0]!r} {self.name} {values[1]!r}"


def check_finite(value: Number) -> Number:
    """Return the value. Raises `Fault` if it is not finite or, for an integer, beyond the largest number."""
    if not -limits.NUMBER_MAX <= value <= limits.NUMBER_MAX:
        raise Fault("overflow", "the result is too large for a number")
    return value


def widest_type(operands: Sequence[Info]) -> Type:
    """Return integer if all operands are integers, else number."""
    joined = operands[0].ty.non_null()
    for other in operands[1:]:
        joined = join(joined, other.ty.non_null()) or NUMBER
    return joined


def number_type(_: Sequence[Info]) -> Type:
    """Return the type number, for operations whose result always is a float."""
    return NUMBER


def _power_type(operands: Sequence[Info]) -> Type:
    """Return integer if both operands are integers and the exponent is never negative, else number."""
    exponent = operands[1].range
    is_whole = widest_type(operands) == INTEGER and exponent is not None and exponent.low >= 0
    return INTEGER if is_whole else NUMBER


def _power_guard(operands: OperandFacts) -> tuple[int, str]:
    """Return the operand to test, and the test, that keep a power from dividing by zero."""
    if operands.infos[0].is_constant:
        return 1, ">= 0"
    return 0, "> 0" if operands.ranges[0].low >= 0 or not operands.is_whole(1) else "!= 0"


def _may_grow(operands: OperandFacts) -> bool:
    """Return True if a power may be too large and has no other failure: its exponent may be above 0."""
    is_sound = not any(failure.is_possible(operands) for failure in _POWER_DOMAIN)
    return is_sound and not (operands.infos[0].ty.base is Base.INTEGER and operands.ranges[1].high <= 0)


_ALWAYS_ZERO = "this always divides by zero{where}"
_ZERO_DIVISOR = comparison_failure(
    1, "==", 0, "division_by_zero", "this divides by zero where {1} is 0: it is {1.range}",
    certain=_ALWAYS_ZERO, help="divide by something else",
)  # fmt: skip
_POWER_DOMAIN = (
    FailureMode(
        "division_by_zero",
        lambda o: o.ranges[0].may_be_zero and o.ranges[1].low < 0,
        lambda o: o.ranges[0].is_zero and o.ranges[1].high < 0,
        "this divides by zero where the base is 0 and the exponent is negative: {all}",
        _ALWAYS_ZERO,
        guard=_power_guard,
        fails=lambda a, b: a == 0 and b < 0,
    ),
    FailureMode(
        "domain",
        lambda o: o.ranges[0].low < 0 and not o.is_whole(1),
        lambda o: o.ranges[0].high < 0 and o.ranges[1].is_fractional,
        "a negative number has no power that is no integer: {all}",
        "this always fails{where}: a negative number has no power that is no integer",
        guard=lambda o: (0, ">= 0"),
        fails=lambda a, b: a < 0 and b != int(b),
        fault="({0}) ** {1} is no real number",
    ),
)


def _is_huge(base: Number, exponent: Number) -> bool:
    """Return True if a power of integers is so large that it need not be computed."""
    is_whole = isinstance(base, int) and isinstance(exponent, int)
    return is_whole and exponent > 0 and (abs(int(base)).bit_length() - 1) * exponent > 1024


_INFINITE_RESULT = (overflow_failure(effect="infinite"),)
_QUOTIENT_FAILURES = (_ZERO_DIVISOR, overflow_failure(effect="infinite", is_warned=lambda operands: False))

OPERATORS: dict[str, Operator] = {
    entry.name: entry
    for entry in (
        Operator(
            name="+", precedence=ADDITIVE, description="Addition", examples=(("2 + 3", 5),),
            result=widest_type, range=intervals.add, apply=operator.add, failures=_INFINITE_RESULT,
            exactness=exact_if_exact,
        ),
        Operator(
            name="-", precedence=ADDITIVE, description="Subtraction", examples=(("5 - 1.5", 3.5),),
            result=widest_type, range=intervals.subtract, apply=operator.sub, failures=_INFINITE_RESULT,
            exactness=exact_if_exact,
        ),
        Operator(
            name="*", precedence=MULTIPLICATIVE, description="Multiplication", examples=(("4 * 2", 8),),
            result=widest_type, range=intervals.multiply, apply=operator.mul, failures=_INFINITE_RESULT,
            exactness=exact_if_exact,
        ),
        Operator(
            name="/", precedence=MULTIPLICATIVE, description="Division; the result is a number", examples=(("6 / 4", 1.5),),
            result=number_type, is_float=True, range=intervals.divide, apply=operator.truediv, failures=_QUOTIENT_FAILURES,
            exactness=rounded_if_exact, spellings={"python": Spelling(helper="_divide")},
        ),
        Operator(
            name="//", precedence=MULTIPLICATIVE, description="Division rounded down", examples=(("7 // 2", 3), ("-7 // 2", -4)),
            result=widest_type, range=intervals.floor_divide, apply=operator.floordiv, failures=_QUOTIENT_FAILURES,
            exactness=exact_if_exact, spellings={"python": Spelling(helper="_floor_divide")},
        ),
        Operator(
            name="%", precedence=MULTIPLICATIVE, description="Remainder, with the sign of the divisor",
            examples=(("7 % 4", 3), ("-7 % 4", 1)),
            result=widest_type, range=intervals.modulo, apply=operator.mod, failures=(_ZERO_DIVISOR,),
            exactness=exact_if_exact, spellings={"python": Spelling(helper="_modulo")},
        ),
        Operator(
            name="**", precedence=POWER, description="Exponentiation", examples=(("2 ** 10", 1024), ("2 ** -1", 0.5)),
            result=_power_type, range=intervals.power, apply=operator.pow,
            failures=(*_POWER_DOMAIN, overflow_failure(is_warned=_may_grow, fails=_is_huge)),
            spellings={"python": Spelling(helper="_power", whole_helper="_whole_power")},
        ),
    )
}  # fmt: skip

OPERATORS_BY_KIND: dict[str, dict[str, str]] = {
    "arithmetic": {entry.name: entry.description for entry in OPERATORS.values()},
    "comparison": {**ORDERING, **MEMBERSHIP},
    "logical": LOGICAL,
}
"""Every operator with its description, in the groups of a formula reference."""
