"""Derives facts from the steps that a formula uses: their aggregates, sums, literals and exactness.

In: the checked steps before the current one. Out: answers for the expression checker, and reports of missing defaults.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.check.rounding import find_exactness
from formulaseed.language.check.scope import Scope
from formulaseed.language.check.wording import add_default
from formulaseed.language.exactness import Exactness, literal_exactness
from formulaseed.language.typed import SymbolKind
from formulaseed.language.types import Base, Value


@dataclass
class StepScope(Scope, ABC):
    """A scope that knows the steps checked so far, `steps` by their names."""

    steps: dict[str, nodes.Step] = field(default_factory=dict, kw_only=True)
    _exactness: dict[str, Exactness] = field(default_factory=dict, kw_only=True)
    _default_needed: set[typed.Aggregate] = field(default_factory=set, kw_only=True)

    def report_default_needed(self, aggregate: typed.Aggregate, step: nodes.Step | None, user: str = "") -> None:
        """Report that an aggregate may have no value over no reviews but is used without a default; once for each.

        `step` is the step that consists of it, or None. `user` is the step that uses it; empty if it is an output.
        """
        if aggregate not in self._default_needed:
            self._default_needed.add(aggregate)
            is_call = bool(aggregate.written)
            span = aggregate.info.span if is_call or step is None else step.span
            rewritten = add_default(aggregate.info.span) if is_call else ""
            self.problems.report(catalogue.default_needed(span, step.name if step is not None else "", user, rewritten))

    def find_aggregate(self, value: typed.Expr) -> typed.Aggregate | None:
        """Return the aggregate that a value is, itself or as a step; None for any other value."""
        step = self._find_step(value)
        if step is not None:
            return step.aggregate
        value = value.operand if isinstance(value, typed.Present) else value
        return value if isinstance(value, typed.Aggregate) else None

    def results_of(self, step: str) -> Sequence[Value] | None:
        """Return the literals that a `const` or `case` step can have as its value, each once; None for other steps.

        Raises `KeyError` if no step checked so far has this name.
        """
        match self.steps[step].operation:
            case nodes.Const(value):
                return [value]
            case nodes.Case(rules, otherwise):
                return list(dict.fromkeys([*(then for _, then in rules), otherwise]))
            case _:
                return None

    def is_part(self, part: typed.Expr, whole: typed.Expr) -> bool:
        """Return True if `part` cannot be more than `whole`, a sum of terms that are not negative.

        It is then one of the terms, or it counts only reviews that a count among them counts. If a term may be
        negative, or the range of `part` or a term is unknown, returns False.
        """
        step = self._find_step(part)
        aggregate = self.find_aggregate(part)
        known = part.info.range if step is None else step.range
        if (step is None and aggregate is None) or known is None or known.low < 0:
            return False
        is_part = False
        for term in self._find_terms(whole):
            if term.info.range is None or term.info.range.low < 0:
                return False
            is_step = step is not None and self._find_step(term) is step
            is_part = is_part or is_step or _counts_subset(aggregate, self.find_aggregate(term))
        return is_part

    def _find_terms(self, whole: typed.Expr) -> Iterator[typed.Expr]:
        """Yield the terms of a sum, each once. A term that is a step is followed by the terms of its formula."""
        terms = [whole]
        seen: set[typed.Expr] = set()
        while terms:
            term = terms.pop()
            if isinstance(term, typed.Present):
                terms.append(term.operand)
            elif isinstance(term, typed.Binary) and term.operator == "+":
                terms += (term.left, term.right)
            elif term not in seen:
                yield term
                seen.add(term)
                step = self._find_step(term)
                if step is not None and step.aggregate is None and isinstance(step.operation, nodes.Formula):
                    terms.append(step.operation.expression)

    def _find_step(self, expression: typed.Expr) -> nodes.Step | None:
        """Return the checked step that a value refers to; None for an unknown step and for any other value."""
        expression = expression.operand if isinstance(expression, typed.Present) else expression
        if not isinstance(expression, typed.Ref) or expression.symbol.kind is not SymbolKind.STEP:
            return None
        return self.steps.get(expression.symbol.name)

    def report_missing_default(self, expression: typed.Expr) -> bool:
        """Report that an aggregate without a default is used, once for each aggregate. Returns True if that is so.

        Returns False, with nothing reported, if `expression` is no aggregate or needs no default.
        """
        aggregate = self.find_aggregate(expression)
        if aggregate is None or not aggregate.needs_default:
            return False
        self.report_default_needed(aggregate, self._find_step(expression), self.current)
        return True

    def exactness_of_step(self, step: str) -> Exactness:
        """Return how exactly the value of a step can be computed. Raises `KeyError` for an unknown step.

        Results are cached, also those of the steps that it depends on.
        """
        stack = [step]
        while stack:  # not recursive: a long chain of steps may use one another
            name = stack[-1]
            numbers = [s.name for s in self.steps[name].symbols() if s.kind is SymbolKind.STEP]
            missing = [used for used in numbers if used not in self._exactness]
            if missing:
                stack += missing
            else:
                self._exactness[stack.pop()] = self._find_step_exactness(self.steps[name])
        return self._exactness[step]

    def _find_step_exactness(self, step: nodes.Step) -> Exactness:
        """Return how exact the value of a step is. The exactness of the steps that it uses must be cached.

        Any type but a float is exact. Tables and cases are as inexact as the worst of their values. Raises
        `AssertionError` for an operation that gives no number.
        """
        match step.operation:
            case _ if step.ty.base is not Base.NUMBER:
                return Exactness.EXACT
            case nodes.Formula(expression):
                return find_exactness(expression, self._exactness.__getitem__)
            case nodes.Const(value):
                return literal_exactness(value)
            case nodes.Lookup(table=table, default=default):
                return max(literal_exactness(value) for value in (*(value for _, value in table), default))
            case nodes.Case(rules, otherwise):
                return max(literal_exactness(value) for value in (*(then for _, then in rules), otherwise))
            case _:
                raise AssertionError(f"{type(step.operation).__name__} gives no number")


def _counts_subset(part: typed.Aggregate | None, whole: typed.Aggregate | None) -> bool:
    """Return True if `part` counts only reviews that `whole` counts, too: it has the same conditions, or more.

    Returns False if either is None or no count.
    """
    if part is None or whole is None or not (part.entry.counts and whole.entry.counts):
        return False
    return set(typed.conjuncts(whole.where)) <= set(typed.conjuncts(part.where))
