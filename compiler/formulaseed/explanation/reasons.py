"""Write the reasons of a verdict as sentences: the rule that was taken, the terms of its score, and then of the largest term."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formulaseed.explanation.evidence_text import describe_count, describe_filters
from formulaseed.explanation.model import Comparison, Evidence, Rule
from formulaseed.explanation.record import EvaluationRecord
from formulaseed.explanation.verdict_dependencies import find_limits, list_branches, unwrap_limits
from formulaseed.ir import nodes
from formulaseed.ir.text import step_text
from formulaseed.language import typed
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.pages.values import format_plain, format_value, is_number

_MAX_SENTENCES = 6
_MAX_COMPARISONS = 3


class _Term(NamedTuple):
    """A term of a sum: `value` is what it adds, and `sign` its sign in the formula."""

    value: float
    sign: int
    node: Expr


@dataclass(frozen=True, slots=True)
class Reasons:
    """The reasons for the values of one restaurant's steps. `evidence` has the reviews behind the steps over reviews."""

    record: EvaluationRecord
    evidence: Mapping[str, Evidence]

    def explain(self, target: nodes.Step) -> list[str]:
        """Return sentences that say why the step `target` has its value, the most important first.

        They follow the rules that were taken to the number that decides, and this number to its largest parts. There
        are at most `_MAX_SENTENCES`.
        """
        sentences: list[str] = []
        lead = format_plain(self.record.value_of(target.name))
        following: nodes.Step | None = target
        while following is not None and list_branches(following) and len(sentences) < _MAX_SENTENCES:
            target = following
            sentences.append(f"{lead} {self._explain_rule(target)}")
            following = self._find_next_step(target)
            lead = self._format_value(following) if following is not None else ""
        name = self._find_deciding_number(target)
        while name is not None and len(sentences) < _MAX_SENTENCES:
            sentence, name = self._explain_value(self.record.steps[name])
            sentences.append(sentence)
        return [*sentences[:1], *(sentence[:1].upper() + sentence[1:] for sentence in sentences[1:])]

    def _name(self, step: str) -> str:
        """Return a step in words."""
        return self.record.names[Symbol(SymbolKind.STEP, step)]

    def _format_value(self, step: nodes.Step) -> str:
        """Return a step in words with its value."""
        return f"{self._name(step.name)} is {format_plain(self.record.value_of(step.name))}"

    # --- rules

    def _explain_rule(self, target: nodes.Step) -> str:
        """Return the end of a sentence: the comparisons that made a step's rule hold, or all other rules fail.

        At most `_MAX_COMPARISONS` failed ones are listed. Raises `StopIteration` if no rule was taken.
        """
        rules = self.record.rules(target)
        taken = next(rule for rule in rules if rule.state == "taken")
        if taken.condition is not None:
            reasons = _describe_comparisons(_find_decisive_comparisons(rules, taken)) or [str(taken.words)]
            return f"because {' and '.join(reasons)}."
        reasons = _describe_comparisons(_list_last_failed(rules))
        if not reasons:
            return "because no other rule applies."
        more = len(reasons) - _MAX_COMPARISONS
        if more > 0:
            reasons = [*reasons[:_MAX_COMPARISONS], f"and {more} more below"]
        return f"because no other rule applies: {'; '.join(reasons)}."

    def _find_next_step(self, target: nodes.Step) -> nodes.Step | None:
        """Return the step that the taken rule of `target` passes on or, if it compares a step that rules choose, that one.

        Returns None if it gives a literal or a formula, and compares numbers or fields only.
        """
        branches = list_branches(target)
        branch = next(choice for choice in branches if choice.condition is None or self.record.value(choice.condition))
        if isinstance(branch.value, typed.Ref) and branch.value.symbol.kind is SymbolKind.STEP:
            return self.record.steps[branch.value.symbol.name]
        names = [] if branch.condition is None else typed.symbols_in(branch.condition)
        compared = [self.record.steps[symbol.name] for symbol in names if symbol.kind is SymbolKind.STEP]
        return next((step for step in compared if list_branches(step) and not step.ty.is_numeric), None)

    def _find_deciding_number(self, target: nodes.Step) -> str | None:
        """Return the name of the number that the taken rule compares most; for the last rule, that all rules compare most.

        If `target` itself is a number that no rules choose, returns its name. Returns None if the rule compares no
        number.
        """
        if target.ty.is_numeric and not target.rules():
            return target.name
        conditions = [choice.condition for choice in list_branches(target) if choice.condition is not None]
        taken = [condition for condition in conditions if self.record.value(condition)][:1]
        symbols = (symbol for condition in taken or conditions for symbol in typed.symbols_in(condition))
        names = (symbol.name for symbol in symbols if symbol.kind is SymbolKind.STEP)
        counts = Counter(name for name in names if self.record.steps[name].ty.is_numeric)
        return max(counts, key=lambda name: counts[name], default=None)

    # --- the parts of a number

    def _explain_value(self, step: nodes.Step) -> tuple[str, str | None]:
        """Return a sentence with the parts of a step's value, and the name of the step in its largest part.

        If the formula only limits or rounds another step, it is that step's name. The name is None for aggregates,
        steps that are not formulas, and formulas that name no step but constants.
        """
        operation = step.operation
        lead = self._format_value(step)
        if step.aggregate is not None:
            evidence = self.evidence[step.name]
            definition = next((f" ({text})" for text in describe_filters(evidence)), "")
            return f"{lead}{describe_count(evidence)}{definition}.", None
        if not isinstance(operation, nodes.Formula):
            return f"{lead}: {step_text(step)}.", None
        inner = self._strip_limits(operation.expression)
        if isinstance(inner, typed.Ref) and inner.symbol.kind is SymbolKind.STEP:
            name = inner.symbol.name
            return f"{lead}, {self._describe_limits(step.name, operation.expression, name)}.", name
        terms = self._sort_terms(inner)
        if len(terms) > 1:
            is_negative = sum(term.value for term in terms) < 0
            largest = max(terms, key=lambda term: -term.value if is_negative else term.value)
            return f"{lead}: {self._describe_sum(terms)}.", self._find_first_step(largest.node)
        factors = [*_split_factors(terms[0].node if terms else inner)]
        if len(factors) > 1 and all(is_number(self.record.value(factor)) for factor in factors):
            return f"{lead}: {' times '.join(map(self._format_with_value, factors))}.", self._find_first_step(*factors)
        return f"{lead}: {self._describe_formula(operation.expression, inner)}.", self._find_first_step(inner)

    def _sort_terms(self, expression: Expr) -> list[_Term]:
        """Return the terms of a sum that are not 0: first the positive ones, then the negative ones, the largest first.

        Terms without a numeric value are left out, too.
        """
        terms: list[_Term] = []
        for sign, node in _split_terms(expression):
            value = self.record.value(node)
            if is_number(value) and value:
                terms.append(_Term(sign * float(value), sign, node))
        return sorted(terms, key=lambda term: (term.value < 0, -abs(term.value)))

    def _describe_sum(self, terms: Sequence[_Term]) -> str:
        """Return a sum in words: the name and the value of each term, with their signs.

        If a term is a formula, returns the formula of the sum, `=`, and the same with values in place of names.
        """
        if all(isinstance(term.node, typed.Ref) or term.node.info.is_constant for term in terms):
            return " ".join(map(self._format_term, terms)).removeprefix("+ ")
        first, *rest = terms
        total: Expr = first.node if first.sign > 0 else typed.Unary("-", first.node, first.node.info)
        for term in rest:
            total = typed.Binary("+" if term.sign > 0 else "-", total, term.node, total.info)
        total = self.record.resolve_conditionals(total)
        return f"{expression_text(total)} = {self.record.with_values(total)}"

    def _describe_limits(self, name: str, expression: Expr, inner: str) -> str:
        """Return how the limits and rounding of a formula, the step `name`, change the value of the step `inner`.

        That is its maximum, its minimum or rounding, with the value of `inner`; if they do not change it, that it is
        within its limits.
        """
        low, high = find_limits(self.record.resolve_conditionals(expression))
        value = self.record.value_of(name)
        inner_value = self.record.value_of(inner)
        if value != inner_value:
            change = "rounded"
            if value in high or value in low:
                change = "its maximum" if value in high else "its minimum"
            return f"{change}; {self._name(inner)} is {format_value(inner_value)}"
        minimum, maximum = (" and ".join(map(format_value, side)) for side in (low, high))
        limits = f"at least {minimum}" if low else f"at most {maximum}"
        if low and high:
            limits = f"{minimum} to {maximum}"
        return f"which is {self._name(inner)}{f' within its limits, {limits}' if low or high else ''}"

    def _describe_formula(self, expression: Expr, inner: Expr) -> str:
        """Return the part `inner` of a formula with its values and, for a conditional, why its branch was taken."""
        text = " = ".join(filter(None, (expression_text(inner), self.record.with_values(inner))))
        if isinstance(expression, typed.Conditional):
            holds = bool(self.record.value(expression.condition))
            text += f", as {self.record.words.describe(expression.condition, holds=holds)}"
        return text

    def _strip_limits(self, node: Expr) -> Expr:
        """Return the part of a formula that varies: the taken branch, without limits, rounding and null checks."""
        *_, inner = unwrap_limits(node)
        if isinstance(inner, typed.Conditional):
            return self._strip_limits(inner.then if self.record.value(inner.condition) else inner.otherwise)
        return inner

    def _format_with_value(self, node: Expr) -> str:
        """Return a formula followed by its value; a constant alone."""
        text = self.record.words.name(node)
        return text if node.info.is_constant else f"{text} {format_value(self.record.value(node))}"

    def _format_term(self, term: _Term) -> str:
        """Return a term with the sign of its value, and its absolute value unless it is a constant."""
        text = self.record.words.name(term.node)
        if not term.node.info.is_constant:
            text += f" {format_value(abs(term.value))}"
        return f"{'-' if term.value < 0 else '+'} {text}"

    def _find_first_step(self, *parts: Expr) -> str | None:
        """Return the name of the first step in these formulas that is no constant; None if there is none."""
        symbols = (symbol for part in parts for symbol in typed.symbols_in(part))
        names = (symbol.name for symbol in symbols if symbol.kind is SymbolKind.STEP)
        return next((name for name in names if not isinstance(self.record.steps[name].operation, nodes.Const)), None)


def _find_decisive_comparisons(rules: Sequence[Rule], taken: Rule) -> list[Comparison]:
    """Return the comparisons of `taken` that hold, after failed ones of earlier rules that have the same left side.

    Of failed ones with the same operator, only the last is returned.
    """
    holding = [comparison for comparison in taken.comparisons if comparison.holds]
    compared = {comparison.left for comparison in holding}
    earlier = _list_last_failed(rules[: rules.index(taken)])
    return [*(comparison for comparison in earlier if comparison.left in compared), *holding]


def _list_last_failed(rules: Sequence[Rule]) -> list[Comparison]:
    """Return the comparisons of rules that fail, of each value with each operator the last one."""
    failed = [comparison for rule in rules for comparison in rule.comparisons if not comparison.holds]
    return [*{(comparison.left, comparison.operator): comparison for comparison in failed}.values()]


def _describe_comparisons(comparisons: Sequence[Comparison]) -> list[str]:
    """Return comparisons in words, those of one value together: `“score” is 9.2, at least 4 and at least 8`.

    A limit that is the value itself is left out.
    """
    limits: dict[str, dict[str, None]] = {}
    for comparison in comparisons:
        value = format_plain(comparison.left_value)
        words = limits.setdefault(f"{comparison.subject} is {value}", {})
        if comparison.limit not in (value, "missing"):
            words[comparison.limit] = None
    return [f"{subject}, {' and '.join(words)}" if words else subject for subject, words in limits.items()]


def _split_terms(node: Expr, sign: int = 1) -> Iterator[tuple[int, Expr]]:
    """Yield the terms of nested sums and differences, each with its sign, 1 or -1; `sign` is that of `node` as a whole.

    An expression that is neither is its own only term.
    """
    match node:
        case typed.Present(operand):
            yield from _split_terms(operand, sign)
        case typed.Binary("+" | "-" as operator, left, right):
            yield from _split_terms(left, sign)
            yield from _split_terms(right, -sign if operator == "-" else sign)
        case typed.Unary("-", operand):
            yield from _split_terms(operand, -sign)
        case _:
            yield sign, node


def _split_factors(node: Expr) -> Iterator[Expr]:
    """Yield the factors of nested products from left to right; `node` itself if it is no product."""
    if isinstance(node, typed.Binary) and node.operator == "*":
        yield from _split_factors(node.left)
        yield from _split_factors(node.right)
    else:
        yield node
