"""Defines the facts that the checker knows about expressions at one place of a formula.

In the first branch of `x / n if n > 0 else 0`, `n` is known to be at least 1. `narrowing` derives such facts from conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from formulaseed.language import intervals, typed
from formulaseed.language.info import Info
from formulaseed.language.intervals import Range
from formulaseed.language.typed import Expr
from formulaseed.source.text import tree_node, value_node

OVERLAY_SIZE = 10
"""New facts stay in a small overlay; merging each one would copy the whole map."""


class Known(NamedTuple):
    """The facts about one expression."""

    range: Range | None = None
    values: tuple[str, ...] | None = None
    """The values that a string of an enum can still have; None if no condition has narrowed them."""
    truth: bool | None = None
    """The result of an earlier test of a flag or filter; None if there was none."""
    is_present: bool = False
    """Whether a test of the expression itself has excluded null."""
    is_implied: bool = False
    """Whether null is excluded in another way, which a type checker of Python does not follow."""

    def merge(self, other: Known, info: Info) -> Known:
        """Return the facts that hold if either of the two holds, without a range that `info` states anyway.

        Only what both know is kept: values are joined, and a range covers both ranges.
        """
        known = intervals.union(self.range, other.range) if self.range and other.range else None
        if known == info.range:
            known = None
        values = None
        if self.values is not None and other.values is not None:
            values = tuple(dict.fromkeys((*self.values, *other.values)))
        truth = self.truth if self.truth is other.truth else None
        is_present = self.is_present and other.is_present
        return Known(known, values, truth, is_present, self.is_implied and other.is_implied)


_NO_FACTS = Known()


@tree_node
class Path:
    """The conditions on the way to a place of a formula: the last one, with its result there, and the path before it."""

    before: Path | None
    condition: Expr
    truth: bool


@value_node
class Facts:
    """The facts at one place of a formula: what the conditions on the way there say about expressions. Not changed once made."""

    recent: Mapping[Expr, Known] = field(default_factory=dict)
    """The facts learnt last; those about an expression include the ones in `older`."""
    older: Mapping[Expr, Known] = field(default_factory=dict)
    impossible: bool = False
    """Whether the conditions contradict one another, so that this place is never reached."""
    is_certain: bool = True
    """Whether this place is reached whenever the formula is evaluated; otherwise that depends on the data, or is unknown."""
    is_unknown: bool = False
    """Whether a condition on the way has an error, so that there are no warnings: it is not known what it excludes."""
    closed_by: tuple[Expr, bool, Facts] | None = None
    """The condition that made this place impossible, its constant result, and the facts at the condition."""
    path: Path | None = None
    """The conditions on the way, noted only if formulas can hold aggregates."""

    @property
    def is_silent(self) -> bool:
        """True if there are no warnings about this place."""
        return self.impossible or self.is_unknown

    def with_changes(self, **changes: object) -> Facts:
        """Return a copy with other values of the fields `changes`, much faster than `replace` does."""
        copy = Facts(
            self.recent, self.older, self.impossible, self.is_certain, self.is_unknown, self.closed_by, self.path
        )
        for name, value in changes.items():
            setattr(copy, name, value)
        return copy

    def get(self, expression: Expr) -> Known:
        """Return the facts about an expression, newer ones first; empty ones if there are none or it is constant."""
        # hashing a long expression takes long, so that it is only looked up if it can be there
        if not expression.info.is_constant:
            for known in (self.recent, self.older):
                if known and expression in known:
                    return known[expression]
        return _NO_FACTS

    def items(self) -> Iterable[tuple[Expr, Known]]:
        """Return all expressions with the facts about them."""
        return {**self.older, **self.recent}.items()

    def range_of(self, expression: Expr) -> Range | None:
        """Return the tightest known range of a number; None if the expression is no number."""
        if isinstance(expression, typed.Present):
            expression = expression.operand
        return self.get(expression).range or expression.info.range

    def operand_range(self, operand: Expr) -> Range:
        """Return the range of an operand of an operation: of a number, or of a boolean, from 0 to 1.

        A string has the range of a boolean, which is not used.
        """
        known = self.range_of(operand)
        if known is None:
            known = intervals.ANY_NUMBER if operand.info.ty.is_numeric else Range(0.0, 1.0)
        return known

    def values_of(self, expression: Expr) -> tuple[str, ...] | None:
        """Return the values that a string can have here, by the facts or by its type; None if not known."""
        if isinstance(expression, typed.Present):
            expression = expression.operand
        values = self.get(expression).values
        if values is None:
            values = expression.info.ty.values
        return values

    def is_present(self, expression: Expr) -> bool:
        """Return True if a test of the expression itself has excluded null."""
        return self.get(expression).is_present

    def may_be_null(self, expression: Expr) -> bool:
        """Return True if the type of an expression is nullable and no test excludes null."""
        return expression.info.ty.nullable and not self.is_present(expression)

    def learn(self, expression: Expr, **changes: Any) -> Facts:
        """Return the facts with more about an expression: `changes` are fields of `Known`, which replace old ones.

        Returns the same object if nothing changes.
        """
        before = self.get(expression)
        known = before._replace(**changes)
        if known == before:
            return self
        return self.with_changes(recent={**self.recent, expression: known})

    def learn_truth(self, expression: Expr, truth: bool) -> Facts:
        """Return the facts with the result of a test of an expression; impossible ones if an earlier result differs."""
        if self.get(expression).truth is (not truth):
            return self.as_impossible()
        return self.learn(expression, truth=truth)

    def as_impossible(self) -> Facts:
        """Return the facts, marked as impossible."""
        return self if self.impossible else self.with_changes(impossible=True)

    def as_unknown(self) -> Facts:
        """Return the facts, marked as those after a condition with an error."""
        return self.with_changes(is_unknown=True)

    def as_uncertain(self) -> Facts:
        """Return the facts, marked as those of a place that is not reached for all data."""
        return self.with_changes(is_certain=False) if self.is_certain else self

    def merge(self, other: Facts) -> Facts:
        """Return the facts that hold if either of the two holds; the others if one of the two is impossible.

        Both must have the same older facts.
        """
        if self.impossible:
            return other
        if other.impossible:
            return self
        both = {e: known.merge(other.get(e), e.info) for e, known in self.recent.items()}
        return self.with_changes(recent={e: known for e, known in both.items() if known != _NO_FACTS})

    def compact(self) -> Facts:
        """Return the same facts, with the recent ones merged into the older ones if there are more than `OVERLAY_SIZE`."""
        if len(self.recent) <= OVERLAY_SIZE:
            return self
        return self.with_changes(older={**self.older, **self.recent}, recent={})
