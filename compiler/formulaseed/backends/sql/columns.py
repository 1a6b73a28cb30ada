"""The columns of a query, each at the place where everything that it reads is known.

A query alternates between two levels: columns of reviews, and columns of restaurants. A stage is a pass over the reviews, and the
totals after it. Inside a stage, columns are in layers: a column is one layer above the columns that it reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from formulaseed.backends.sql.dialects import Dialect, Sql
from formulaseed.language.intervals import Range
from formulaseed.language.operators import ATOM
from formulaseed.language.typed import Expr

Kind = Literal["integer", "mixed", "float", "other"]
"""The kind of a value: a BIGINT, a DOUBLE that may be an integer in Python, a DOUBLE that is a float, or no number."""


class Place(NamedTuple):
    """The stage, the level (0 for reviews, 1 for restaurants), and the layer of a column."""

    stage: int
    level: int
    layer: int


INPUTS = Place(-1, 1, 0)
"""The place of the inputs of restaurants, and of everything that reads no column."""


@dataclass(frozen=True, slots=True)
class Printed:
    """An expression as SQL. `fault` is the kind of its fault, NULL if it has a value; None if it always has one.

    `place` is that of the last column that the expression reads. `is_wide` says that an integer is a BIGINT, not an INTEGER,
    and `is_enum` that a string may be of a type ENUM. `range` bounds a number, whatever guards say. `kinds` are those that a
    fault may have.
    """

    sql: Sql
    precedence: int = ATOM
    kind: Kind = "other"
    range: Range | None = None
    place: Place = INPUTS
    fault: Printed | None = None
    is_name: bool = False
    is_wide: bool = False
    is_enum: bool = False
    kinds: frozenset[str] = frozenset()

    def at(self, precedence: int) -> str:
        """Return the SQL as an operand: in parentheses if its own precedence is lower."""
        return self.sql if self.precedence >= precedence else f"({self.sql})"

    @property
    def bounds(self) -> Range:
        """The range of a number. Raises `AssertionError` for any other value."""
        assert self.range is not None
        return self.range

    def without_fault(self) -> Printed:
        """Return the same value, whose fault is taken care of elsewhere."""
        return replace(self, fault=None)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, the SQL that computes it, and lines of comment above it.

    A total of reviews has a `default`, its value for a restaurant without any; it is empty if that is NULL.
    """

    name: Sql
    sql: Sql
    place: Place
    comments: tuple[Sql, ...] = ()
    default: str = ""
    is_total: bool = False


@dataclass
class Columns:
    """The columns of a query, in the order in which they were added. Equal columns of a level are added once."""

    dialect: Dialect
    taken: set[str] = field(default_factory=set)
    """The names in use, case-folded, since engines ignore the case of names."""
    columns: list[Column] = field(default_factory=list)
    powers: list[Expr] = field(default_factory=list)
    """The powers that the engine itself computes."""
    known: dict[tuple[int, str], Column] = field(default_factory=dict)
    """The columns by their levels and their SQL."""

    def claim(self, name: str) -> str:
        """Return a free name, the given one if it is free, and take it."""
        free = name
        number = 1
        while free.casefold() in self.taken:
            number += 1
            free = f"{name}_{number}"
        self.taken.add(free.casefold())
        return free

    def add(self, name: str, value: Printed, level: int, comments: tuple[Sql, ...] = ()) -> Printed:
        """Add a column of reviews (0) or of restaurants (1), and return a reference to it, with the fault of the value.

        A column that exists under another name is referred to, unless there are comments.
        """
        key = level, value.sql
        if key not in self.known or comments:
            place = max(self.reach(value.place, level), Place(0, level, 0))
            place = place._replace(layer=place.layer + 1)
            column = Column(self.dialect.quote_name(self.claim(name)), value.sql, place, comments)
            self.columns.append(column)
            self.known[key] = column
        return _refer(self.known[key], value)

    def add_total(self, name: str, value: Printed, default: str, comments: tuple[Sql, ...] = ()) -> Printed:
        """Add an aggregate of reviews, as a column of restaurants, and return a reference to it."""
        key = 1, f"{value.sql} {default}"
        if key not in self.known or comments:
            place = Place(max(self.reach(value.place, 0).stage, 0), 1, 0)
            quoted_name = self.dialect.quote_name(self.claim(name))
            column = Column(quoted_name, value.sql, place, comments, default, is_total=True)
            self.columns.append(column)
            self.known[key] = column
        return _refer(self.known[key], value)

    def reach(self, place: Place, level: int) -> Place:
        """Return the place from which a column at `place` can be read on the given level."""
        if level == 0 and place.level == 1:
            return Place(place.stage + 1, 0, 0)
        return place


def _refer(column: Column, value: Printed) -> Printed:
    """Return a reference to the column of a value, with its fault."""
    return replace(value, sql=column.name, precedence=ATOM, place=column.place, is_name=True)
