"""Read values from the record of one restaurant's evaluation: of steps and formulas, rules and their comparisons, lookups.

In: an evaluation of the interpreter, up to the step that failed if one did. Out: parts of an explanation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from formulaseed.explanation.conditions import ConditionWriter
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
"""The exceptions of a part that was never evaluated: of a failed step, or after a guard against null."""


@dataclass
class EvaluationRecord:
    """The values of one restaurant's steps, and the results of its formulas, rules and lookups.

    `names` has the words for the names in conditions.
    """

    steps: Mapping[str, nodes.Step]
    evaluation: Evaluation
    names: Mapping[Symbol, str]

    @property
    def words(self) -> ConditionWriter:
        """The writer of conditions, which knows the values of steps, parameters and the context."""
        return ConditionWriter(self.names, self.value)

    def value_of(self, name: str) -> Value:
        """Return a step's value; None if the step is null, failed or was not evaluated."""
        value: Value = self.evaluation.shared.get(Symbol(SymbolKind.STEP, name))
        return value

    def value(self, node: Expr) -> Value:
        """Return the value of an expression over the recorded steps; None if it is null or cannot be evaluated."""
        try:
            value: Value = self.evaluation.evaluate(node, {})
        except _NO_VALUE:
            return None
        return value

    def with_values(self, expression: Expr) -> str | None:
        """Return the formula with values in place of names; None if it has no names, or consists of one name.

        For a conditional formula, returns the branch that was taken, and the conditions that decided it.
        """
        if isinstance(expression, typed.Ref | typed.Literal) or not any(typed.symbols_in(expression)):
            return None
        taken: Expr = expression
        reasons: list[str] = []
        while isinstance(taken, typed.Conditional) and (holds := self.value(taken.condition)) is not None:
            reasons.append(self.words.describe(taken.condition, holds=bool(holds)))
            taken = taken.then if holds else taken.otherwise
        text = expression_text(self._substitute(self.resolve_conditionals(taken)))
        return f"{text}, as {' and '.join(reasons)}" if reasons else text

    def _substitute(self, node: Expr) -> Expr:
        """Return a copy of the formula in which each name is printed as its value; a negative one is in parentheses."""
        if not isinstance(node, typed.Ref):
            return typed.map_operands(node, self._substitute)
        value = self.value(node)
        text = format_value(value)
        if isinstance(value, int | float) and value < 0:
            text = f"({text})"
        return replace(node, written=text)

    def resolve_conditionals(self, node: Expr) -> Expr:
        """Return a copy of the formula with the taken branch in place of each conditional that was evaluated."""
        if isinstance(node, typed.Conditional) and (holds := self.value(node.condition)) is not None:
            return self.resolve_conditionals(node.then if holds else node.otherwise)
        return typed.map_operands(node, self.resolve_conditionals)

    # --- rules

    def rules(self, step: nodes.Step) -> list[Rule]:
        """Return the rules of a step with their states and compared values; empty if it does not choose by rules.

        The first rule that holds is `taken`, and those after it are `not reached`. A condition without a value is
        false.
        """
        rules: list[Rule] = []
        is_taken = False
        branches = list_branches(step)
        sentences = step.reasons() if step.rules() else (None,) * len(branches)
        for (condition, branch), because in zip(branches, sentences, strict=True):
            holds = condition is None or bool(self.value(condition))
            state: State = "taken" if holds else "false"
            if is_taken:
                state = "not reached"
            is_taken = is_taken or holds
            text = words = None
            comparisons: list[Comparison] = []
            if condition is not None:
                text = expression_text(condition)
                words = self.words.describe(condition)
                comparisons = [*self._build_comparisons(condition)]
            result = branch if isinstance(branch, str | int | float | None) else self.value(branch)
            rules.append(
                Rule(condition=text, words=words, result=result, because=because, state=state, comparisons=comparisons)
            )
        return rules

    def follow_rules(self, step: nodes.Step) -> tuple[str, list[Rule]]:
        """Return the step whose rules decide, and all rules up to it.

        That is `step` itself unless its last rule was taken and passes on a step that rules choose, whose rules then take
        the place of that rule.
        """
        rules = self.rules(step)
        value = list_branches(step)[-1].value if rules else None
        if isinstance(value, typed.Ref) and value.symbol.kind is SymbolKind.STEP and rules[-1].state == "taken":
            decider, passed_on = self.follow_rules(self.steps[value.symbol.name])
            if passed_on:
                return decider, [*rules[:-1], *passed_on]
        return step.name, rules

    def _build_comparisons(self, condition: Expr) -> Iterator[Comparison]:
        """Yield the comparisons of a condition, except chained ones, in its order, with the values of their sides."""
        for node in typed.walk(condition):
            if not isinstance(node, typed.Comparison) or len(node.operators) != 1:
                continue
            right_node = node.rest[0]
            left = self.value(node.first)
            right: Any = self.value(right_node)
            if isinstance(right_node, typed.List):
                right = [self.value(item) for item in right_node.items]
            holds = bool(self.value(node))
            words = self.words.split(node)
            yield Comparison(
                subject=words.subject,
                limit=words.holding if holds else words.failing,
                left=expression_text(node.first),
                operator=node.operators[0],
                right=expression_text(right_node),
                left_value=left,
                right_value=right,
                holds=holds,
                distance=abs(left - right) if is_number(left) and is_number(right) else None,
            )

    # --- lookups

    def match(self, step: nodes.Step) -> Match | None:
        """Return the result of a lookup, with the first key that matched and has the value; None for any other step.

        Without such a key the match has the key None: the value is the default. A null string is searched as an empty
        one.
        """
        operation = step.operation
        if not isinstance(operation, nodes.Lookup):
            return None
        text = str(self.value(operation.source) or "")
        keys = [key for key, _ in operation.table if key == text or (operation.match != "exact" and key in text)]
        values = dict(operation.table)
        value = self.value_of(step.name)
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
