"""Defines the types of values.

A type says whether a value is a number, a string or a boolean, and whether it may be missing. An enum is a string with a closed
list of values. Pure data; knows no expressions.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from formulaseed.source.text import value_node

Value = str | int | float | bool | None
"""A value at run time: what JSON can say, lists and objects left out."""

ENUM_LIMIT = 100
"""A joined enum of more values than this is a plain string: a longer `Literal` is unreadable."""


class Base(Enum):
    """The kind of a value; the member's value is its name in messages."""

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    STRING = "string"
    NULL = "null"
    ERROR = "error"


_NOUNS = {Base.INTEGER: "an integer", Base.NUMBER: "a number", Base.BOOLEAN: "true or false", Base.STRING: "a string"}


@value_node
class Type:
    """A type. `values` closes a string to an enum; `nullable` lets the value be missing."""

    base: Base
    values: tuple[str, ...] | None = None
    nullable: bool = False

    @property
    def is_numeric(self) -> bool:
        return self.base in (Base.INTEGER, Base.NUMBER)

    @property
    def is_error(self) -> bool:
        return self.base is Base.ERROR

    def __str__(self) -> str:
        name = self.base.value
        if self.values is not None:
            first = ", ".join(f"'{v}'" for v in self.values[:6])
            name = f"enum ({first}{', …' if len(self.values) > 6 else ''})"
        return f"{name} or null" if self.nullable and self.base is not Base.NULL else name

    @property
    def noun(self) -> str:
        """The type in plain words, as messages use it: `a number`, `a string or null`."""
        noun = _NOUNS.get(self.base, self.base.value)
        return f"{noun} or null" if self.nullable and self.base is not Base.NULL else noun

    def non_null(self) -> Type:
        """Return the same type, not nullable."""
        return replace(self, nullable=False) if self.nullable else self

    def or_null(self) -> Type:
        """Return the same type, nullable."""
        return self if self.nullable else replace(self, nullable=True)


INTEGER = Type(Base.INTEGER)
NUMBER = Type(Base.NUMBER)
BOOLEAN = Type(Base.BOOLEAN)
STRING = Type(Base.STRING)
NULL = Type(Base.NULL, nullable=True)
ERROR = Type(Base.ERROR)
"""The type of an expression with an error: it fits everywhere, so that each mistake is reported once."""
_LITERAL_TYPES = {type(None): NULL, bool: BOOLEAN, int: INTEGER, float: NUMBER}


def enum_type(values: tuple[str, ...]) -> Type:
    """Return the type of a string with these values only."""
    return Type(Base.STRING, values)


def literal_type(value: Value) -> Type:
    """Return the type of a literal. A string is an enum of itself."""
    return enum_type((value,)) if isinstance(value, str) else _LITERAL_TYPES[type(value)]


def join(left: Type, right: Type) -> Type | None:
    """Return the smallest type that holds the values of both; None if there is none. Integers widen to number."""
    if left.is_error or right.is_error:
        return ERROR
    nullable = left.nullable or right.nullable
    if Base.NULL in (left.base, right.base):
        return (right if left.base is Base.NULL else left).or_null()
    if left.is_numeric and right.is_numeric:
        base = Base.INTEGER if left.base is right.base is Base.INTEGER else Base.NUMBER
        return Type(base, nullable=nullable)
    if left.base is not right.base:
        return None
    if left.values is None or right.values is None:
        return Type(left.base, nullable=nullable)
    values = tuple(dict.fromkeys(left.values + right.values))
    return Type(left.base, values if len(values) <= ENUM_LIMIT else None, nullable)


def is_within(number: float, minimum: float | None, maximum: float | None) -> bool:
    """Return True if a number is between two bounds, both inclusive, of which each may be absent."""
    return (minimum is None or number >= minimum) and (maximum is None or number <= maximum)


def fits(value: Type, target: Type) -> bool:
    """Return True if a value of the type `value` can be used where the type `target` is expected."""
    joined = join(value, target)
    if joined is None or joined.is_error:
        return joined is not None
    return joined.base is target.base and joined.nullable == target.nullable
