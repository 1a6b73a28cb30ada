"""States what entries of the tables mean in exact arithmetic, for proofs: by simpler operations, or by facts about a curve.

An entry without a definition is an operation of proofs itself, or one of which proofs know nothing but its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, Protocol

from formulaseed.language.types import Base
from formulaseed.source.text import value_node

Term = Any
"""A value of a `Terms`."""
Definition = Callable[..., Term]
"""Return the value of an operation from a `Terms` and the operands; of an aggregate, from its condition and its operand."""
Rounding = Literal["", "down", "nearest"]

_ERROR = Fraction(1, 10**9)
_LARGEST = Fraction(10) ** 300
_SMALLEST = 1 / _LARGEST


class Terms(Protocol):
    """A builder of terms over exact numbers, strings and conditions. Operands are terms."""

    def number(self, value: int) -> Term:
        """Return a constant."""

    def is_null(self, operand: Term) -> Term:
        """Return the condition that a value is null."""

    def compute(self, operator: str, left: Term, right: Term) -> Term:
        """Return an operation of the table of operators."""

    def call(self, function: str, *operands: Term) -> Term:
        """Return a call of the table of functions."""

    def compare(self, sign: str, left: Term, right: Term) -> Term:
        """Return a comparison by `==`, `<` or another sign."""

    def conjoin(self, *conditions: Term) -> Term:
        """Return the condition that all conditions hold."""

    def negate(self, condition: Term) -> Term:
        """Return the opposite of a condition."""

    def switch(self, condition: Term, then: Term, otherwise: Term) -> Term:
        """Return `then` if a condition holds, else `otherwise`."""

    def total(self, where: Term, operand: Term) -> Term:
        """Return the sum of an operand over the reviews for which `where` is true."""

    def highest(self, where: Term, operand: Term) -> Term:
        """Return the largest value of an operand over the reviews for which `where` is true; over none, any number."""

    def unknown_aggregate(self, name: str, where: Term, operand: Term, base: Base = Base.NUMBER) -> Term:
        """Return the value of an aggregate, of the type `base`, of which nothing is known but its name and its operands."""


def count_rows(terms: Terms, where: Term) -> Term:
    """Return the number of reviews for which a condition holds."""
    return terms.total(where, terms.number(1))


def negative(terms: Terms, operand: Term) -> Term:
    """Return a number with the opposite sign."""
    return terms.compute("-", terms.number(0), operand)


def limit(terms: Terms, value: Term, low: Term, high: Term) -> Term:
    """Return a number, kept between two others."""
    return terms.call("max", low, terms.call("min", high, value))


def define_distinct(terms: Terms, where: Term, operand: Term) -> Term:
    """Return a number of different values, of which it is only known that it is not above the number of reviews."""
    unknown = terms.unknown_aggregate("count_distinct", where, operand)
    return limit(terms, unknown, terms.number(0), count_rows(terms, where))


def define_floor_division(terms: Terms, left: Term, right: Term) -> Term:
    """Return a quotient rounded down."""
    return terms.call("floor", terms.compute("/", left, right))


def define_remainder(terms: Terms, left: Term, right: Term) -> Term:
    """Return a remainder: as in Python it has the sign of the divisor, and is smaller."""
    multiple = terms.compute("*", right, define_floor_division(terms, left, right))
    zero = terms.number(0)
    low, high = (terms.call(name, right, zero) for name in ("min", "max"))
    return limit(terms, terms.compute("-", left, multiple), low, high)


def define_ceiling(terms: Terms, operand: Term) -> Term:
    """Return the next whole number above a number."""
    return negative(terms, terms.call("floor", negative(terms, operand)))


def define_truncation(terms: Terms, operand: Term) -> Term:
    """Return a number without its decimals."""
    is_positive = terms.compare(">=", operand, terms.number(0))
    return terms.switch(is_positive, terms.call("floor", operand), define_ceiling(terms, operand))


@value_node
class Curve:
    """A function of the numbers above 0 that rises ever more slowly, such as a logarithm.

    `slope` must be exact for the `points`. `root` is the operand for which the value is 0.
    """

    apply: Callable[[float], float]
    slope: Callable[[Fraction], Fraction]
    points: tuple[Fraction, ...]
    root: int
    at_zero: Fraction | float
    """The limit of the value for operands near 0."""

    def bound(self, operand: Fraction | float, direction: int) -> Fraction | float:
        """Return a number below the value for the `direction` -1, above it for 1, by more than its rounding error."""
        if operand <= 0:
            return self.at_zero
        if operand == self.root:
            return Fraction(0)
        if operand > _LARGEST:
            return math.inf if direction > 0 else self.bound(_LARGEST, direction)
        if operand < _SMALLEST:
            return self.at_zero if direction < 0 else self.bound(_SMALLEST, direction)
        rounded = Fraction(self.apply(float(operand)))
        return max(self.at_zero, rounded + direction * _ERROR * max(Fraction(1), abs(rounded)))


_POWERS = tuple(Fraction(2) ** power for power in range(-4, 13))
LOGARITHM = Curve(math.log, lambda operand: 1 / operand, _POWERS, root=1, at_zero=-math.inf)
ROOT = Curve(
    math.sqrt, lambda operand: 1 / (2 * Fraction(math.sqrt(operand))), _POWERS[::2], root=0, at_zero=Fraction(0)
)
