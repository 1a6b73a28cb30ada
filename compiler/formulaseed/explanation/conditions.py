"""Write conditions as phrases: fields, steps and filters by their labels, comparisons in words.

In: typed conditions. Out: phrases such as `“allergic reaction” is mild and year is 2023 or later`. Formulas that are no
comparison stay formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formulaseed.ir import nodes
from formulaseed.ir.labels import label_of
from formulaseed.language import typed
from formulaseed.language.operators import MIRRORED, NEGATED
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.pages.values import format_plain

_PHRASES = {
    "==": "{}", "!=": "not {}", "in": "in {}", "not in": "not in {}",
    "<": "under {}", "<=": "at most {}", ">": "over {}", ">=": "at least {}",
}  # fmt: skip
_TIME_PHRASES = {"<": "before {}", "<=": "{} or earlier", ">": "after {}", ">=": "{} or later"}
_TIME_FIELDS = ("date", "year")
_METADATA = {"stars": "star rating", **{name: f"number of {name} votes" for name in ("useful", "funny", "cool")}}


class ComparisonWords(NamedTuple):
    """The left side of a comparison, and in words how it compares: `under 4`, and the opposite: `at least 4`."""

    subject: str
    holding: str
    failing: str


@dataclass(frozen=True, slots=True)
class ConditionWriter:
    """A writer of conditions. `names` has the words for symbols, and `evaluate` returns the value of a shared expression."""

    names: Mapping[Symbol, str]
    evaluate: Callable[[Expr], Value]

    def describe(self, condition: Expr, *, holds: bool = True) -> str:
        """Return a phrase that says that a condition holds, or that it does not."""
        match condition:
            case typed.Present(operand):
                return self.describe(operand, holds=holds)
            case typed.Not(operand):
                return self.describe(operand, holds=not holds)
            case typed.Logical(word, operands):
                phrases = [self.describe(operand, holds=holds) for operand in operands]
                phrases = [
                    f"({phrase})" if isinstance(operand, typed.Logical) else phrase
                    for phrase, operand in zip(phrases, operands, strict=True)
                ]
                joiner = word if holds else {"and": "or", "or": "and"}[word]
                return f" {joiner} ".join(phrases)
            case typed.Ref(symbol) if symbol.kind is SymbolKind.FILTER:
                return f"it counts as {self.names[symbol]}" if holds else f"it does not count as {self.names[symbol]}"
            case typed.Comparison(operators=(_,)):
                words = self.split(condition)
                return f"{words.subject} is {words.holding if holds else words.failing}"
        return f"{self.name(condition)} is {'true' if holds else 'false'}"

    def describe_failure(self, condition: Expr, read: Callable[[Symbol], Value]) -> str:
        """Return how a review fails a condition: `its year, 2018, is before 2020`. `read` returns the review's fields."""
        if not isinstance(condition, typed.Comparison) or len(condition.operators) > 1:
            return self.describe(condition, holds=False)
        field = condition.first.operand if isinstance(condition.first, typed.Present) else condition.first
        if not isinstance(field, typed.Ref) or field.symbol.kind not in (SymbolKind.EXTRACTION, SymbolKind.META):
            return self.describe(condition, holds=False)
        value = read(field.symbol)
        subject = f"its {self.name(field)}"
        if value is None:
            return f"{subject} is missing"
        if condition.operators[0] in ("!=", "not in"):
            return f"{subject} is {format_plain(value)}"
        return f"{subject}, {format_plain(value)}, is {self.split(condition).failing}"

    def split(self, comparison: typed.Comparison) -> ComparisonWords:
        """Return the left side of a comparison that is not chained, and its right side, in words.

        A literal on the left changes places with what it is compared with.
        """
        left, operator, right = comparison.first, comparison.operators[0], comparison.rest[0]
        if left.info.is_constant and operator in MIRRORED:
            left, operator, right = right, MIRRORED[operator], left
        if isinstance(left, typed.Present):
            left = left.operand
        if isinstance(right, typed.Literal) and right.value is None:
            words = ("missing", "known") if operator == "==" else ("known", "missing")
            return ComparisonWords(self.name(left), *words)
        phrases = dict(_PHRASES)
        if isinstance(left, typed.Ref) and left.symbol.name in _TIME_FIELDS:
            phrases |= _TIME_PHRASES
        if isinstance(right, typed.List):
            phrases |= {"in": phrases["=="], "not in": phrases["!="]}
        limit = self._describe_limit(right)
        failing = phrases[NEGATED[operator]].format(limit)
        if left.info.ty.nullable and operator in _TIME_PHRASES:  # null has no order, so the opposite need not hold
            failing = f"not {phrases[operator].format(limit)}"
        return ComparisonWords(self.name(left), phrases[operator].format(limit), failing)

    def _describe_limit(self, node: Expr) -> str:
        """Return the right side of a comparison: its value, with the name of a parameter or a step in parentheses."""
        if isinstance(node, typed.List):
            return join_words([self._describe_limit(item) for item in node.items], "or")
        value = self.evaluate(node)
        if node.info.is_constant or value is None:
            return format_plain(node.info.constant) if node.info.is_constant else self.name(node)
        return f"{format_plain(value)} ({self.name(node)})"

    def name(self, node: Expr) -> str:
        """Return the words for a field, a step or a parameter; any other formula as it is written."""
        if isinstance(node, typed.Ref):
            return self.names.get(node.symbol, node.text)
        return expression_text(node)


def name_symbols(program: nodes.Program, steps: Sequence[nodes.Step]) -> dict[Symbol, str]:
    """Return the words for everything that conditions name: labels in quotes, metadata and parameters by their names."""
    kinds = ((SymbolKind.EXTRACTION, program.fields), (SymbolKind.CONTEXT, program.context))
    names = {Symbol(kind, item.name): f"“{label_of(item)}”" for kind, items in kinds for item in items}
    for item in program.meta:
        names[Symbol(SymbolKind.META, item.name)] = item.label or _METADATA.get(item.name, label_of(item))
    for parameter in program.parameters:
        words = f"{parameter.label}, {parameter.name}" if parameter.label else parameter.name
        names[Symbol(SymbolKind.PARAMETER, parameter.name)] = words
    for step in steps:
        kind = SymbolKind.FILTER if isinstance(step.operation, nodes.Filter) else SymbolKind.STEP
        is_count = step.aggregate is not None and step.aggregate.entry.counts
        names[Symbol(kind, step.name)] = f"{'the number of ' if is_count else ''}“{label_of(step)}”"
    return names


def join_words(words: Sequence[str], conjunction: str) -> str:
    """Return words in a list with a conjunction, such as `or`, before the last one."""
    return f" {conjunction} ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
