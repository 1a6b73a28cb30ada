"""The record of one restaurant's evaluation: values of steps and formulas, rules with how near they are, lookups.

In: an evaluation of the interpreter, as far as it came. Out: parts of an explanation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from formulaseed.explanation.model import Comparison, Match, Rule, State
from formulaseed.explanation.verdict_dependencies import list_branches
from formulaseed.ir import nodes
from formulaseed.ir.interpret import Evaluation
from formulaseed.language import typed
from formulaseed.language.operators import Fault
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.pages.values import format_value, is_number

_NO_VALUE = (Fault, KeyError, TypeError)
"""Raised by a part that was never reached: of a step that failed, or behind a guard against null."""


@dataclass
class EvaluationRecord:
    """The values of one restaurant's steps, and the results of its formulas, rules and lookups."""

    steps: Mapping[str, nodes.Step]
    evaluation: Evaluation

    def value_of(self, name: str) -> Value:
        """Return a step's value; None if it has none."""
        value: Value = self.evaluation.shared.get(Symbol(SymbolKind.STEP, name))
        return value

    def value(self, node: Expr) -> Value:
        """Return the value of an expression; None if it has none."""
        try:
            value: Value = self.evaluation.value(node, {})
        except _NO_VALUE:
            return None
        return value

    def with_values(self, expression: Expr) -> str | None:
        """Return the formula with values in place of names; None if it has no name, or is one.

        Of a conditional formula it is the branch that was taken, and why.
        """
        if isinstance(expression, typed.Ref | typed.Literal) or not any(typed.symbols_in(expression)):
            return None
        taken: Expr = expression
        reasons: list[str] = []
        while isinstance(taken, typed.Conditional) and (holds := self.value(taken.condition)) is not None:
            reasons.append(f"{expression_text(taken.condition)} {'holds' if holds else 'does not hold'}")
            taken = taken.then if holds else taken.otherwise
        text = expression_text(self._substitute(self.resolve_conditionals(taken)))
        return f"{text}, as {' and '.join(reasons)}" if reasons else text

    def _substitute(self, node: Expr) -> Expr:
        """Return the formula with each name written as its value."""
        if not isinstance(node, typed.Ref):
            return typed.mapped(node, self._substitute)
        value = self.value(node)
        text = format_value(value)
        return replace(node, written=f"({text})" if isinstance(value, int | float) and value < 0 else text)

    def resolve_conditionals(self, node: Expr) -> Expr:
        """Return the formula with the branches that were taken in place of conditionals."""
        if isinstance(node, typed.Conditional) and (holds := self.value(node.condition)) is not None:
            return self.resolve_conditionals(node.then if holds else node.otherwise)
        return typed.mapped(node, self.resolve_conditionals)

    # --- rules

    def rules(self, step: nodes.Step) -> list[Rule]:
        """Return the rules of a step that chooses by rules, each with the values of its comparisons."""
        rules: list[Rule] = []
        is_taken = False
        for condition, branch in list_branches(step):
            holds = condition is None or bool(self.value(condition))
            state: State = "taken" if holds else "false"
            if is_taken:
                state = "not reached"
            is_taken = is_taken or holds
            text = expression_text(condition) if condition is not None else None
            comparisons = [*self._comparisons(condition)] if condition is not None else []
            rules.append(Rule(condition=text, result=self._branch_value(branch), state=state, comparisons=comparisons))
        return rules

    def _branch_value(self, branch: Value | Expr) -> Value:
        """Return the value of a branch, which is a literal or a formula."""
        return branch if isinstance(branch, str | int | float | None) else self.value(branch)

    def _comparisons(self, condition: Expr) -> Iterator[Comparison]:
        """Yield the comparisons of a condition with the values of their sides, in its order."""
        for node in typed.walk(condition):
            if not isinstance(node, typed.Comparison) or len(node.operators) != 1:
                continue
            right_node = node.rest[0]
            left = self.value(node.first)
            right: Any = self.value(right_node)
            if isinstance(right_node, typed.List):
                right = [self.value(item) for item in right_node.items]
            yield Comparison(
                left=expression_text(node.first),
                operator=node.operators[0],
                right=expression_text(right_node),
                left_value=left,
                right_value=right,
                holds=bool(self.value(node)),
                distance=abs(left - right) if is_number(left) and is_number(right) else None,
            )

    # --- lookups

    def match(self, step: nodes.Step) -> Match | None:
        """Return what a lookup found; None for any other step."""
        operation = step.operation
        if not isinstance(operation, nodes.Lookup):
            return None
        text = str(self.value(operation.source) or "")
        keys = [key for key, _ in operation.table if (key == text if operation.match == "exact" else key in text)]
        values, value = dict(operation.table), self.value_of(step.name)
        key = next((key for key in keys if values[key] == value), None)
        return Match(
            step=step.name,
            source=expression_text(operation.source),
            text=text,
            key=key,
            start=text.find(key) if key is not None else None,
            value=value,
            other_keys=[other for other in keys if other != key],
        )
