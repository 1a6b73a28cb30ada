"""One restaurant's evaluation, to look into: values of steps and formulas, rules with how near they are, lookups.

In: an evaluation of the interpreter, as far as it came. Out: parts of an explanation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from formulaseed.explanation import model as data
from formulaseed.explanation.verdict_dependencies import choices
from formulaseed.ir import nodes
from formulaseed.ir.interpret import Evaluation
from formulaseed.language import typed
from formulaseed.language.operators import Fault
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.pages.values import format_value, is_number

_NO_VALUE = (Fault, KeyError, TypeError)
"""What a part raises that was never reached: of a step that failed, or behind a guard against null."""


@dataclass
class Evaluated:
    """The values of one restaurant's steps, and what its formulas, rules and lookups come to."""

    steps: Mapping[str, nodes.Step]
    evaluation: Evaluation

    def value_of(self, name: str) -> Value:
        """Return a step's value; None where it has none."""
        found: Value = self.evaluation.shared.get(Symbol(SymbolKind.STEP, name))
        return found

    def value(self, node: Expr) -> Value:
        """Return the value of an expression; None where it has none."""
        try:
            found: Value = self.evaluation.value(node, {})
        except _NO_VALUE:
            return None
        return found

    def value_in(self, expression: Expr, row: Mapping[Symbol, Any]) -> Any:
        """Return the value of an expression for a review; None where it has none."""
        try:
            return self.evaluation.value(expression, dict(row))
        except _NO_VALUE:
            return None

    def with_values(self, expression: Expr) -> str | None:
        """Return the formula with values in place of names; None if it has no name, or is one.

        Of a conditional one it is the branch that was taken, and why.
        """
        if isinstance(expression, typed.Ref | typed.Literal) or not any(typed.symbols_in(expression)):
            return None
        taken: Expr = expression
        reasons: list[str] = []
        while isinstance(taken, typed.Conditional) and (holds := self.value(taken.condition)) is not None:
            reasons.append(f"{expression_text(taken.condition)} {'holds' if holds else 'does not hold'}")
            taken = taken.then if holds else taken.otherwise
        text = expression_text(self._substituted(self.taken(taken)))
        return f"{text}, as {' and '.join(reasons)}" if reasons else text

    def _substituted(self, node: Expr) -> Expr:
        if isinstance(node, typed.Ref):
            value = self.value(node)
            text = f"({format_value(value)})" if isinstance(value, int | float) and value < 0 else format_value(value)
            return replace(node, written=text)
        return typed.mapped(node, self._substituted)

    def taken(self, node: Expr) -> Expr:
        """Return the formula with the branches that were taken in place of conditionals."""
        if isinstance(node, typed.Conditional) and (holds := self.value(node.condition)) is not None:
            return self.taken(node.then if holds else node.otherwise)
        return typed.mapped(node, self.taken)

    # --- rules

    def rules(self, step: nodes.Step) -> list[data.Rule]:
        """Return the rules of a step that chooses by rules, each with what its comparisons come to."""
        found: list[data.Rule] = []
        is_taken = False
        for condition, branch in choices(step):
            holds = condition is None or bool(self.value(condition))
            state: data.State = "not reached" if is_taken else "taken" if holds else "false"
            is_taken = is_taken or holds
            text = expression_text(condition) if condition is not None else None
            comparisons = [*self.comparisons(condition)] if condition is not None else []
            found.append(data.Rule(condition=text, result=self.chosen(branch), state=state, comparisons=comparisons))
        return found

    def chosen(self, branch: Value | Expr) -> Value:
        """Return what a branch of a step that chooses comes to."""
        return branch if isinstance(branch, str | int | float | None) else self.value(branch)

    def comparisons(self, condition: Expr) -> Iterator[data.Comparison]:
        """Yield the comparisons of a condition with the values of their sides, in its order."""
        for node in typed.walk(condition):
            if not isinstance(node, typed.Comparison) or len(node.operators) != 1:
                continue
            left, right = self.value(node.first), self._listed(node.rest[0])
            yield data.Comparison(
                left=expression_text(node.first),
                operator=node.operators[0],
                right=expression_text(node.rest[0]),
                left_value=left,
                right_value=right,
                holds=bool(self.value(node)),
                distance=abs(left - right) if is_number(left) and is_number(right) else None,
            )

    def _listed(self, node: Expr) -> Any:
        return [self.value(item) for item in node.items] if isinstance(node, typed.List) else self.value(node)

    # --- lookups

    def match(self, step: nodes.Step) -> data.Match | None:
        """Return what a lookup found; None for any other step."""
        operation = step.operation
        if not isinstance(operation, nodes.Lookup):
            return None
        text = str(self.value(operation.source) or "")
        keys = [key for key, _ in operation.table if (key == text if operation.match == "exact" else key in text)]
        values, value = dict(operation.table), self.value_of(step.name)
        key = next((key for key in keys if values[key] == value), None)
        return data.Match(
            step=step.name,
            source=expression_text(operation.source),
            text=text,
            key=key,
            start=text.find(key) if key is not None else None,
            value=value,
            other_keys=[other for other in keys if other != key],
        )
