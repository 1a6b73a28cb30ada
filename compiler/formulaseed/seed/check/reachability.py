"""Which rules of a case are reachable, and which verdicts can be given.

In: the rules in order, each with the facts that hold before it. Out: a warning for every unreachable rule, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.language import ast, typed
from formulaseed.language.check.comparisons import ComparisonChecker
from formulaseed.language.check.facts import Facts, Narrowing
from formulaseed.language.check.reasons import reason_of
from formulaseed.language.printer import value_text
from formulaseed.language.typed import Expr
from formulaseed.language.types import Value
from formulaseed.seed import surface
from formulaseed.source.text import Span

_COMPARED_RULES = 40
"""In a longer case a rule is not compared with each one before it: the time grows with their square."""


@dataclass(frozen=True, slots=True)
class _Rule:
    span: Span
    value: Value
    never: str
    """Why it never fires; empty if it may."""
    is_else: bool = False


class RuleReachability:
    """Follows the rules of one case."""

    def __init__(self, narrowing: Narrowing, problems: Problems) -> None:
        self.narrowing = narrowing
        self.problems = problems
        self.rules: list[_Rule] = []
        self.before: list[Expr] = []
        self.closed = ""
        """Why the rules so far let nothing through; empty if they may."""

    def rule(self, condition: Expr, rule: surface.Rule, facts: Facts, checker: ComparisonChecker) -> Facts:
        """Add the next rule, whose condition has just been checked under the facts; returns those where it does not hold."""
        never = self.closed
        inside, outside = checker.behind(condition, facts)
        truth = None if inside.impossible is outside.impossible else outside.impossible
        if facts.impossible and not never:
            never = "the rules before it take every restaurant"
        elif not never and truth is False:
            never = reason_of(condition, checker.constants, facts, self.narrowing)
        elif not never:
            never = self._taken(inside)
        if truth and not self.closed:
            reason = reason_of(condition, checker.constants, facts, self.narrowing)
            self.closed = f"the rule before it always holds, as {reason}"
        if never or truth:
            checker.forget_constants()
        checker.report_constants()
        self.rules.append(_Rule(rule.condition.span, rule.then.value, never))
        self.before.append(condition)
        return outside

    def otherwise(self, value: ast.Literal, facts: Facts) -> None:
        """Add the `else`, under the facts that no rule holds."""
        never = self.closed or ("the rules before it take every restaurant" if facts.impossible else "")
        self.rules.append(_Rule(value.span, value.value, never, is_else=True))

    def report(self) -> None:
        given = [rule.value for rule in self.rules if not rule.never]
        for rule in self.rules:
            if rule.never:
                lost = "" if rule.value in given else value_text(rule.value)
                self.problems.report(catalogue.unreachable_rule(rule.span, rule.is_else, lost, rule.never))

    def _taken(self, inside: Facts) -> str:
        """Return why an earlier rule takes all that this one would; empty if none does."""
        if len(self.before) > _COMPARED_RULES:
            return ""
        for number, earlier in enumerate(self.before):
            if all(self.narrowing.truth(part, inside) for part in typed.conjuncts(earlier)):
                return f"rule {number + 1} takes every restaurant that it would"
        return ""
