"""Defines what the expression checker knows at a place of a formula: the names that can be used, and facts about expressions.

A kind of document implements `Scope`: steps and namespaces in a seed, fields of entities in formulas over a domain. In the first
branch of `x / n if n > 0 else 0`, `n` is known to be at least 1. `narrowing` derives such facts from conditions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from formulaseed import limits
from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.catalogue.expressions import SEED_WORDING, DocumentWording
from formulaseed.diagnostics.model import Diagnostic, Help, Problems
from formulaseed.diagnostics.suggestions import find_closest, is_typo, suggest
from formulaseed.language import ast, intervals, typed
from formulaseed.language.exactness import Exactness
from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.intervals import Range
from formulaseed.language.printer import value_text
from formulaseed.language.typed import Expr
from formulaseed.language.types import ERROR, Base, Info, Type, Value
from formulaseed.source.text import Span, tree_node, value_node

QUOTED = " a string is in quotes"


@dataclass
class Scope(ABC):
    """The names that can be used in the step `current`. A problem with a name is reported once for each step."""

    problems: Problems
    current: str = field(default="", kw_only=True)
    words: DocumentWording = field(default=SEED_WORDING, kw_only=True)
    _suggestions: int = field(default=limits.SUGGESTIONS, kw_only=True)
    _reported: set[tuple[str, str, str]] = field(default_factory=set, kw_only=True)

    def report_once(self, problem: Diagnostic, name: str) -> None:
        """Report a problem with a name, unless one with the same code and name was already reported in this step."""
        key = (self.current, problem.code, name)
        if key not in self._reported:
            self._reported.add(key)
            self.problems.report(problem)

    def is_reported(self, code: str, name: str) -> bool:
        """Return True if the problem `code` with the name was already reported in this step."""
        return (self.current, code, name) in self._reported

    @abstractmethod
    def resolve(self, name: ast.Name, per_review: bool) -> typed.Expr:
        """Return the typed expression of a name. Reports an unknown name, and then returns an error.

        `per_review`: the name is in a formula over single reviews, where fields of reviews are allowed.
        """

    @abstractmethod
    def resolve_filter(self, name: ast.FilterName) -> typed.Expr:
        """Return the typed expression of the name of a filter. Reports an unknown name, and then returns an error."""

    @abstractmethod
    def is_known(self, text: str) -> bool:
        """Return True if the name is that of a step, even one with errors, or begins with a namespace."""

    @abstractmethod
    def is_step(self, text: str) -> bool:
        """Return True if a step has this name."""

    @abstractmethod
    def type_of(self, node: ast.Expr) -> Type | None:
        """Return the type of a name; None if it is unknown, or not a name. Reports nothing."""

    @abstractmethod
    def results_of(self, step: str) -> Sequence[Value] | None:
        """Return the values that a step chooses from; None if they are not all literals."""

    @abstractmethod
    def exactness_of_step(self, step: str) -> Exactness:
        """Return the exactness of the value of a step, which is a number."""

    @abstractmethod
    def report_missing_default(self, expression: typed.Expr) -> bool:
        """Report an aggregate, or a step that is one, that has no value over no reviews. Returns False for any other value."""

    @abstractmethod
    def names(self) -> Iterator[str]:
        """Yield all names that a bare name may be a typo of, also without their namespace."""

    @property
    def functions(self) -> Mapping[str, Function]:
        """The functions that formulas may call here."""
        return FUNCTIONS

    def is_entity(self, expression: typed.Expr) -> bool:
        """Return True if this is a whole entity, or several joined: it is present or null, and has no other value."""
        return False

    def is_implied(self, expression: typed.Expr, is_present: Callable[[typed.Expr], bool]) -> bool:
        """Return True if a value is not null because others are not; `is_present` says which were tested."""
        return False

    def is_part(self, part: typed.Expr, whole: typed.Expr) -> bool:
        """Return True if it is known that neither value is negative, and that `part` is at most `whole`."""
        return False

    @cached_property
    def field_values(self) -> frozenset[str]:
        """The values of all enums, to recognise a value that belongs to another field."""
        return frozenset()

    def report_unquoted(self, node: ast.Expr, beside: Type | None) -> typed.Expr | None:
        """Report a string without its quotes, such as `severity == severe`, and return an error.

        Returns None for any other expression. `beside` is the type of the other side of the comparison; nothing is
        reported if it is not a string.
        """
        if beside is None or beside.base is not Base.STRING:
            return None
        text = node.span.source.text[node.span.start : node.span.end]
        if isinstance(node, ast.Literal) and node.value is None and text != "None" and text in (beside.values or ()):
            self.problems.report(catalogue.unquoted_null(node.span, text))  # `None` is how null is written
            return build_error(node.span)
        if not isinstance(node, ast.Name) or self.is_known(node.text):
            return None
        help = self._help_for_string(node.text, beside.values)
        if help is None:
            return None
        self.report_once(catalogue.string_without_quotes(node.span, self.words, node.text, help), node.text)
        return build_error(node.span)

    def _help_for_string(self, name: str, values: tuple[str, ...] | None) -> Help | None:
        """Return the help that suggests quotes for a name; None if it is not similar to one of the `values`.

        Without `values`, None if the name is a word of the language or similar to a known name.
        """
        if values is not None:
            value = find_closest(name, values)
            if value is None:
                return None
            is_certain = is_typo(name, value, [*values, *self.names()])
            return suggest(value_text(value), certain=is_certain, more=QUOTED)
        # it may be a misspelt name, a word of the language, or lack its namespace
        names = (known for known in self.names() if known not in FUNCTIONS)
        is_word = name in FUNCTIONS or name.lower() in ("true", "false", "null", "none")
        if is_word or find_closest(name, names) is not None:
            return None
        return suggest(value_text(name), certain=False, more=QUOTED)


def build_error(span: Span) -> typed.Expr:
    """Return an expression of the type error, in place of one whose problem was reported."""
    return typed.Literal(None, Info(ERROR, span))


# --- facts


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
