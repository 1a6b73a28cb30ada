"""Defines the interface by which the expression checker resolves the names in a formula.

A kind of document implements `Scope`: steps and namespaces in a seed, fields of entities in formulas over a domain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from formulaseed import limits
from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.catalogue.expressions import SEED_WORDING, DocumentWording
from formulaseed.diagnostics.model import Diagnostic, Help, Problems
from formulaseed.diagnostics.suggestions import find_closest, is_typo, suggest
from formulaseed.language import ast, typed
from formulaseed.language.exactness import Exactness
from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.info import Info
from formulaseed.language.printer import value_text
from formulaseed.language.types import ERROR, Base, Type, Value
from formulaseed.source.text import Span

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
