"""Defines the table of operators, and the classes of the entries of this table and of the table of functions.

An entry states each fact once: types, ranges, when the operation has no value, the code in each backend, examples. The checker,
the interpreter, the backends, the documents, the schemas and the prompts read the entry.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from formulaseed import limits
from formulaseed.language import intervals
from formulaseed.language.definitions import Definition, define_floor_division, define_remainder
from formulaseed.language.exactness import Exactness, always_inexact, exact_if_exact, rounded_if_exact
from formulaseed.language.intervals import Range
from formulaseed.language.types import NUMBER, Base, Info, Type, Value, join
from formulaseed.source.text import value_node

Number = int | float
FaultKind = Literal["division_by_zero", "domain", "overflow", "null", "lookup", "type"]

# --- precedence, weakest first; the same as Python's

CONDITIONAL, OR, AND, NOT, COMPARISON, ADDITIVE, MULTIPLICATIVE, UNARY, POWER, ATOM = range(10)

# --- operators that also take values other than numbers, each with its description

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
"""The comparisons as functions of two values; the right one of `in` is a list or a string."""


class Fault(Exception):
    """Raised when an operation has no value for its operands. The interpreter raises an `EvaluationError` with the step."""

    def __init__(self, kind: FaultKind, message: str, operands: tuple[Value, ...] = ()) -> None:
        self.kind: FaultKind = kind
        self.message = message
        self.operands = operands
        super().__init__(message)


@value_node
class OperandFacts:
    """The operands of an operation at its place in a formula, with their ranges there and the range of the result."""

    infos: Sequence[Info]
    ranges: Sequence[Range]
    result: Range

    def is_whole(self, index: int) -> bool:
        """Return True if the operand at `index` is always an integer."""
        known = self.ranges[index]
        return self.infos[index].ty.base is Base.INTEGER or (known.low == known.high and known.low.is_integer())


OperandTest = Callable[[OperandFacts], bool]


@value_node
class FailureMode:
    """A reason for which an operation has no value for some operands, with the texts of its messages.

    The texts are templates: `message` for a warning, `certain` for an operation that always fails, and `help` for the latter.
    `{0}` names an operand, `{0.range}` describes its range, `{0.low}` and `{0.high}` are the ends, `{all}` describes all operands
    that vary, `{name}` is the operation, and `{where}` the place at which it fails.
    """

    kind: FaultKind
    is_possible: OperandTest
    """Return True if the operation may fail for operands in these ranges."""
    is_certain: OperandTest
    """Return True if the operation fails for all operands in these ranges."""
    message: str = ""
    certain: str = "this always fails{where}"
    help: str = "change the values, or leave the operation out"
    guard: Callable[[OperandFacts], tuple[int, str]] | None = None
    """Return the operand to test before the operation, and the test, such as `> 0`, to propose in a help."""
    instead: str = ""
    """A formula to propose that bounds the operand `{}` so that the operation does not fail."""
    effect: Literal["raises", "infinite", "useless"] = "raises"
    """The effect of the operation without a check: it raises, or its result is infinite or never wanted."""
    is_warned: OperandTest | None = None
    """Return True if a warning is due; None if one is due whenever the failure `is_possible`."""
    fails: Callable[..., bool] | None = None
    """Return True if the operation fails for these values; None if only the result shows it."""
    fault: str = "{shown}"
    """The message at run time: `{shown}` is the operation with its values, `{0}` one of them."""
    test: tuple[int, str, int] | None = None
    """`fails` as data, for backends that write it out: an operand, a comparison, a number."""
    only_if: tuple[int, str, int] | None = None
    """A comparison that holds whenever the operation fails, for proofs, if `test` is None."""


def comparison_failure(index: int, sign: str, bound: int, kind: FaultKind, message: str, **more: Any) -> FailureMode:
    """Return the failure of an operation that has no value if its operand at `index` compares with `bound` by `sign`.

    `more` are further fields of the failure.
    """
    limit = intervals.point(bound)

    def guard(operands: OperandFacts) -> tuple[int, str]:
        """Return the test to propose: the opposite of the failure, or `>` if the operand is never below the bound."""
        if sign == "==" and operands.ranges[index].low >= bound:
            return index, f"> {bound}"
        return index, f"{NEGATED[sign]} {bound}"

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
    """Return the failure of a function of one number if that compares with `bound` by `sign`.

    `needs` says in words which numbers the function takes; `more` are further fields of the failure.
    """
    if sign in ("<", "<="):
        end, side, wanted = "high", "most", "a larger"
    else:
        end, side, wanted = "low", "least", "a smaller"
    return comparison_failure(
        0,
        sign,
        bound,
        "domain",
        f"{needs}, and {{0}} is {{0.range}}",
        certain=f"this always fails{{where}}: `{{name}}` of a number that is {{0.{end}}} at {side}",
        help=f"`{{name}}` needs {wanted} number",
        fault=f"{{shown}}: {needs}",
        **more,
    )


def overflow_failure(*, is_warned: OperandTest | None = None, **more: Any) -> FailureMode:
    """Return the failure of a result that is too large for a number; `more` are further fields of it.

    A warning is due only if the operands are bounded, and `is_warned`, if given, agrees.
    """

    def is_due(operands: OperandFacts) -> bool:
        """Return True if all operands are bounded, and `is_warned` does not object."""
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

    `text` is a template for operands for which the operation cannot fail: `{0}` is the first operand, `{}` all of them. If
    several operands may raise and `text` changes their order, `in_order` is used instead. `helper` is the function to call if the
    operation may fail, and `whole_helper` that function if the result is also an integer.
    """

    text: str = ""
    in_order: str = ""
    helper: str = ""
    whole_helper: str = ""
    doc: str = ""
    """The docstring of the helper of a function; empty if that is the function's description."""
    is_refused: bool = False
    """Whether `text` itself raises `ValueError` for operands without a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operator or a function. `examples` are formulas with their values, which run as tests; documents contain the first."""

    name: str
    description: str
    examples: tuple[tuple[str, Value], ...]
    result: Callable[[Sequence[Info]], Type]
    """Return the type of the result."""
    range: Callable[..., Range]
    """Return the range of the result from the ranges of the operands."""
    apply: Callable[..., Any]
    """Return the result for operands for which the operation does not fail."""
    failures: tuple[FailureMode, ...] = ()
    is_float: bool = False
    """Whether the result is a float also if the operands are integers."""
    exactness: Callable[[Sequence[Exactness]], Exactness] = always_inexact
    """Return the exactness of a result that is not an integer from the exactness of the operands."""
    spellings: Mapping[str, Spelling] = field(default_factory=dict)
    """The code by backend; a backend that is not a key writes the operation as formulas do."""
    definition: Definition | None = None
    """Return the result in exact arithmetic by simpler operations, for proofs; None if proofs know the operation, or nothing."""

    @property
    def example(self) -> str:
        """The formula of the first example."""
        return self.examples[0][0]

    @property
    def is_partial(self) -> bool:
        """True if the operation has no value for some operands, apart from those whose result is too large."""
        return any(failure.effect == "raises" and failure.kind != "overflow" for failure in self.failures)

    def refuses_zero(self, place: int) -> bool:
        """Return True if the operation has no value when the operand at `place` is 0."""
        tests = (failure.test for failure in self.failures if failure.test is not None)
        return any(index == place and COMPARE[sign](0, bound) for index, sign, bound in tests)

    def is_safe(self, operands: OperandFacts) -> bool:
        """Return True if computing the operation without a check cannot raise."""
        return not any(failure.effect == "raises" and failure.is_possible(operands) for failure in self.failures)

    def compute(self, *values: Any) -> Any:
        """Return the result for the operands `values`. Raises `Fault` if there is none, or if it is too large."""
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
        """Return the operation with the values of its operands, such as `log(0)`, as messages quote it."""
        return f"{self.name}({', '.join(map(repr, values))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(Operation):
    """An operator between two numbers."""

    precedence: int

    def call_text(self, *values: Value) -> str:
        """Return the operator between the values of its operands, such as `1 / 0`."""
        return f"{values[0]!r} {self.name} {values[1]!r}"


def check_finite(value: Number) -> Number:
    """Return `value`. Raises `Fault` if it is infinite, NaN, or an integer beyond the largest number."""
    if not -limits.NUMBER_MAX <= value <= limits.NUMBER_MAX:
        raise Fault("overflow", "the result is too large for a number")
    return value


def widest_type(operands: Sequence[Info]) -> Type:
    """Return the type of a result that is an integer if all operands are, and else a number; null is ignored."""
    joined = operands[0].ty.non_null()
    for other in operands[1:]:
        joined = join(joined, other.ty.non_null()) or NUMBER
    return joined


def number_type(_: Sequence[Info]) -> Type:
    """Return the type number, for operations whose result is always a float."""
    return NUMBER


def _power_type(operands: Sequence[Info]) -> Type:
    """Return integer if both operands are integers and the exponent is never negative, else number."""
    exponent = operands[1].range
    return widest_type(operands) if exponent is not None and exponent.low >= 0 else NUMBER


def _power_guard(operands: OperandFacts) -> tuple[int, str]:
    """Return the index of the operand to test, and the test, such as `> 0`, so that a power does not divide by zero."""
    if operands.infos[0].is_constant:
        return 1, ">= 0"
    if operands.ranges[0].low >= 0 or not operands.is_whole(1):
        return 0, "> 0"
    return 0, "!= 0"


def _may_grow(operands: OperandFacts) -> bool:
    """Return whether a power may be too large, and cannot fail otherwise. An integer needs an exponent above 0 for that."""
    if any(failure.is_possible(operands) for failure in _POWER_DOMAIN):
        return False
    return operands.infos[0].ty.base is not Base.INTEGER or operands.ranges[1].high > 0


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
        only_if=(0, "==", 0),
    ),
    FailureMode(
        "domain",
        lambda o: o.ranges[0].low < 0 and not o.is_whole(1),
        lambda o: o.ranges[0].high < 0 and o.ranges[1].is_fractional,
        "a negative number has no power that is no integer: {all}",
        "this always fails{where}: a negative number has no power that is no integer",
        guard=lambda o: (0, ">= 0"),
        fails=lambda a, b: a < 0 and b != int(b),
        only_if=(0, "<", 0),
        fault="({0}) ** {1} is no real number",
    ),
)


def _is_huge(base: Number, exponent: Number) -> bool:
    """Return True if a power of integers is certain to be too large for a number: computing it could take very long."""
    is_whole = isinstance(base, int) and isinstance(exponent, int)
    return is_whole and exponent > 0 and (abs(int(base)).bit_length() - 1) * exponent > 1024


_INFINITE_RESULT = (overflow_failure(effect="infinite"),)
_QUOTIENT_FAILURES = (_ZERO_DIVISOR, overflow_failure(effect="infinite", is_warned=lambda operands: False))

OPERATORS: dict[str, Operator] = {
    entry.name: entry
    for entry in (
        Operator(
            name="+", precedence=ADDITIVE, description="Addition", examples=(("2 + 3", 5),),
            result=widest_type, range=intervals.add, apply=operator.add, failures=_INFINITE_RESULT, exactness=exact_if_exact,
        ),
        Operator(
            name="-", precedence=ADDITIVE, description="Subtraction", examples=(("5 - 1.5", 3.5),),
            result=widest_type, range=intervals.subtract, apply=operator.sub, failures=_INFINITE_RESULT, exactness=exact_if_exact,
        ),
        Operator(
            name="*", precedence=MULTIPLICATIVE, description="Multiplication", examples=(("4 * 2", 8),),
            result=widest_type, range=intervals.multiply, apply=operator.mul, failures=_INFINITE_RESULT, exactness=exact_if_exact,
        ),
        Operator(
            name="/", precedence=MULTIPLICATIVE, description="Division; the result is a number", examples=(("6 / 4", 1.5),),
            result=number_type, is_float=True, range=intervals.divide, apply=operator.truediv, failures=_QUOTIENT_FAILURES,
            exactness=rounded_if_exact, spellings={"python": Spelling(helper="_divide")},
        ),
        Operator(
            name="//", precedence=MULTIPLICATIVE, description="Division rounded down", examples=(("7 // 2", 3), ("-7 // 2", -4)),
            result=widest_type, range=intervals.floor_divide, apply=operator.floordiv, failures=_QUOTIENT_FAILURES,
            exactness=exact_if_exact, definition=define_floor_division, spellings={"python": Spelling(helper="_floor_divide")},
        ),
        Operator(
            name="%", precedence=MULTIPLICATIVE, description="Remainder, with the sign of the divisor",
            examples=(("7 % 4", 3), ("-7 % 4", 1)),
            result=widest_type, range=intervals.modulo, apply=operator.mod, failures=(_ZERO_DIVISOR,),
            exactness=exact_if_exact, definition=define_remainder, spellings={"python": Spelling(helper="_modulo")},
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
"""Every operator with its description, by the groups of a formula reference."""
