"""Which rules of a case can fire, and which verdicts can be given.

In: the rules in order, each with the facts that hold where it is asked. Out: a warning for every rule that
never fires, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from formulaseed.diagnostics.model import Problems
from formulaseed.language import ast
from formulaseed.language.check.comparisons import ComparisonChecker
from formulaseed.language.check.constants import constant_truth
from formulaseed.language.check.facts import Facts, Narrowing
from formulaseed.language.check.reasons import reason_of
from formulaseed.language.printer import value_text
from formulaseed.language.typed import Expr
from formulaseed.language.types import Value
from formulaseed.seed import surface
from formulaseed.source.text import Span

_COMPARED_RULES = 40
"""In a longer case a rule is not held against each one before it: it takes time that grows with their square."""


@dataclass(frozen=True, slots=True)
class _Rule:
    span: Span
    value: Value
    never: str
    """Why it never fires; empty where it may."""
    what: str


class Reach:
    """Follows the rules of one case."""

    def __init__(self, narrowing: Narrowing, problems: Problems) -> None:
        self.narrowing = narrowing
        self.problems = problems
        self.rules: list[_Rule] = []
        self.before: list[Expr] = []
        self.closed = ""
        """Why nothing gets past the rules so far; empty where something may."""

    def rule(self, condition: Expr, rule: surface.Rule, facts: Facts, checker: ComparisonChecker) -> None:
        """The next rule, whose condition has just been checked under the facts."""
        never = self.closed
        truth = None if facts.impossible else constant_truth(condition, facts, self.narrowing)
        if facts.impossible and not never:
            never = "the rules before it take every restaurant"
        elif not never and truth is False:
            never = reason_of(condition, checker.constants, facts, self.narrowing)
        elif not never:
            never = self._taken(condition, facts)
        if truth and not self.closed:
            reason = reason_of(condition, checker.constants, facts, self.narrowing)
            self.closed = f"the rule before it always holds, as {reason}"
        if never or truth:
            checker.forget_constants()
        checker.report_constants()
        self.rules.append(_Rule(rule.condition.span, rule.then.value, never, "this rule"))
        self.before.append(condition)

    def otherwise(self, value: ast.Literal, facts: Facts) -> None:
        """The `else`, under the facts that no rule holds."""
        never = self.closed or ("the rules before it take every restaurant" if facts.impossible else "")
        self.rules.append(_Rule(value.span, value.value, never, "this `else`"))

    def report(self) -> None:
        given = [rule.value for rule in self.rules if not rule.never]
        for rule in self.rules:
            if rule.never:
                lost = "" if rule.value in given else f", so that {value_text(rule.value)} is never given"
                help = "change the condition, or remove the rule"
                if rule.what != "this rule":
                    help = "check the conditions before it; where they are right, let `else` stand for the last of them"
                message = f"{rule.what} never fires{lost}: {rule.never}"
                self.problems.add("FS607", rule.span, message, help)

    def _taken(self, condition: Expr, facts: Facts) -> str:
        """Which earlier rule takes all that this one would; empty where none does."""
        if len(self.before) > _COMPARED_RULES:
            return ""
        inside = self.narrowing.assume(condition, True, facts)
        if inside.impossible:
            return "its conditions contradict what the rules before it leave"
        for number, earlier in enumerate(self.before):
            if constant_truth(earlier, inside, self.narrowing):
                return f"rule {number + 1} takes every restaurant that it would"
        return ""
