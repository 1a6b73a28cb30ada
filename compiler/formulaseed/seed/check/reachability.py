"""Which rules of a case are reachable, and which verdicts can be given.

In: the rules in order, each with the facts that hold before it. Out: a warning for every unreachable rule, with the reason.
"""

from __future__ import annotations

from formulaseed.diagnostics.catalogue import seed as catalogue
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
"""In a longer case a rule is not compared with each one before it: the time grows with their square."""


class RuleReachability:
    """Follows the rules of one case."""

    def __init__(self, narrowing: Narrowing, problems: Problems) -> None:
        self.narrowing = narrowing
        self.problems = problems
        self.rules: list[tuple[Span, Value, str]] = []
        """For each rule its place, its value, and why it never fires; that is empty if it may."""
        self.before: list[Expr] = []
        self.closed = ""
        """Why the rules so far let nothing through; empty if they may."""

    def rule(self, condition: Expr, rule: surface.Rule, facts: Facts, checker: ComparisonChecker) -> None:
        """Add the next rule, whose condition has just been checked under the facts."""
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
        self.rules.append((rule.condition.span, rule.then.value, never))
        self.before.append(condition)

    def report(self, otherwise: ast.Literal, facts: Facts) -> None:
        """Report what is unreachable; the `else` is under the facts that no rule holds."""
        never = self.closed or ("the rules before it take every restaurant" if facts.impossible else "")
        rules = [*self.rules, (otherwise.span, otherwise.value, never)]
        given = [value for _, value, never in rules if not never]
        for number, (span, value, never) in enumerate(rules):
            if never:
                lost = "" if value in given else value_text(value)
                self.problems.report(catalogue.unreachable_rule(span, number == len(self.rules), lost, never))

    def _taken(self, condition: Expr, facts: Facts) -> str:
        """Return why an earlier rule takes all that this one would; empty if none does."""
        if len(self.before) > _COMPARED_RULES:
            return ""
        inside = self.narrowing.assume(condition, True, facts)
        if inside.impossible:
            return "its conditions contradict what the rules before it leave"
        for number, earlier in enumerate(self.before):
            if constant_truth(earlier, inside, self.narrowing):
                return f"rule {number + 1} takes every restaurant that it would"
        return ""
