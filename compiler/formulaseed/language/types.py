"""Defines the types of values: a kind of value, for an enum its closed list of strings, and whether the value may be null."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from formulaseed.language.intervals import Range
from formulaseed.source.text import Span, tree_node, value_node

Value = str | int | float | bool | None
"""A value at run time: any JSON value but a list or an object."""

MAX_ENUM_VALUES = 100
"""A joined enum of more values is a plain string: a longer `Literal` is unreadable."""


class Base(Enum):
    """The kind of a value; the member's value is its name in messages."""

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    STRING = "string"
    NULL = "null"
    ERROR = "error"

    @property
    def is_numeric(self) -> bool:
        """True for whole and other numbers."""
        return self in (Base.INTEGER, Base.NUMBER)


_NOUNS = {Base.INTEGER: "an integer", Base.NUMBER: "a number", Base.BOOLEAN: "true or false", Base.STRING: "a string"}


@value_node
class Type:
    """A type. `values` closes a string to an enum; `nullable` lets the value be missing."""

    base: Base
    values: tuple[str, ...] | None = None
    nullable: bool = False

    @property
    def is_numeric(self) -> bool:
        """True for integers and numbers."""
        return self.base.is_numeric

    @property
    def is_error(self) -> bool:
        """True for the type of an expression whose error was reported."""
        return self.base is Base.ERROR

    def __str__(self) -> str:
        """Return the type as messages show it, such as `integer or null`; of an enum, with its first six values."""
        name = self.base.value
        if self.values is not None:
            values = [f"'{value}'" for value in self.values[:6]]
            if len(self.values) > 6:
                values.append("…")
            name = f"enum ({', '.join(values)})"
        return self._add_null(name)

    @property
    def noun(self) -> str:
        """The type in plain words, as messages use it: `a number`, `a string or null`."""
        return self._add_null(_NOUNS.get(self.base, self.base.value))

    def _add_null(self, name: str) -> str:
        return f"{name} or null" if self.nullable and self.base is not Base.NULL else name

    def non_null(self) -> Type:
        """Return the same type, not nullable."""
        return self if not self.nullable else replace(self, nullable=False)

    def or_null(self) -> Type:
        """Return the same type, nullable."""
        return self if self.nullable else replace(self, nullable=True)


INTEGER = Type(Base.INTEGER)
NUMBER = Type(Base.NUMBER)
BOOLEAN = Type(Base.BOOLEAN)
STRING = Type(Base.STRING)
NULL = Type(Base.NULL, nullable=True)
ERROR = Type(Base.ERROR)
"""The type of an expression whose error was reported. It fits everywhere, so that nothing else is reported about it."""
_LITERAL_TYPES = {type(None): NULL, bool: BOOLEAN, int: INTEGER, float: NUMBER}


def enum_type(values: tuple[str, ...]) -> Type:
    """Return the type of a string that is one of `values`."""
    return Type(Base.STRING, values)


def literal_type(value: Value) -> Type:
    """Return the type of a literal. A string is an enum of itself."""
    return enum_type((value,)) if isinstance(value, str) else _LITERAL_TYPES[type(value)]


def join(left: Type, right: Type) -> Type | None:
    """Return the smallest type that includes the values of both; None if there is none. Integers widen to number.

    Returns an error if either is one. Enums with too many values together become any string.
    """
    if left.is_error or right.is_error:
        return ERROR
    nullable = left.nullable or right.nullable
    if left.base is Base.NULL:
        return right.or_null()
    if right.base is Base.NULL:
        return left.or_null()
    if left.is_numeric and right.is_numeric:
        base = Base.INTEGER if left.base is right.base is Base.INTEGER else Base.NUMBER
        return Type(base, nullable=nullable)
    if left.base is not right.base:
        return None
    if left.values is None or right.values is None:
        return Type(left.base, nullable=nullable)
    values = tuple(dict.fromkeys(left.values + right.values))
    if len(values) > MAX_ENUM_VALUES:
        return Type(left.base, nullable=nullable)
    return Type(left.base, values, nullable)


def is_within(number: float, minimum: float | None, maximum: float | None) -> bool:
    """Return True if `number` is between `minimum` and `maximum`, both inclusive; a bound that is None does not apply."""
    return (minimum is None or number >= minimum) and (maximum is None or number <= maximum)


def fits(value: Type, target: Type) -> bool:
    """Return True if a value of the type `value` can be used as one of the type `target`; an error always can."""
    joined = join(value, target)
    if joined is None or joined.is_error:
        return joined is not None
    return joined.base is target.base and joined.nullable == target.nullable


@tree_node
class Info:
    """The type of an expression, the range of its value if that is a number, and its place in the source.

    If `is_constant`, the expression is made of literals alone, and `constant` is its value.
    """

    ty: Type
    span: Span
    range: Range | None = None
    is_constant: bool = False
    constant: Value = None
