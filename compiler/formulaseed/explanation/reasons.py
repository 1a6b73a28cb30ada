"""The reasons of a verdict in sentences: the rule that was taken, what its score is made of, the largest part of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formulaseed.explanation import model as data
from formulaseed.explanation.contributions import Counts
from formulaseed.explanation.evidence_text import describe_count, filter_texts
from formulaseed.explanation.record import Evaluated
from formulaseed.explanation.verdict_dependencies import behind_limits, choices, is_limit, limits_of
from formulaseed.ir import nodes
from formulaseed.ir.text import step_text
from formulaseed.language import typed
from formulaseed.language.operators import NEGATED
from formulaseed.language.printer import expression_text, value_text
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.pages.values import format_value, is_number

_SENTENCES, _REASONS = 6, 3
_WORDS = {
    "<": "under", "<=": "at most", ">": "over", ">=": "at least", "==": "equal to", "!=": "other than", "in": "one of",
    "not in": "none of",
}  # fmt: skip


class _Term(NamedTuple):
    """A term of a sum, with what it adds and the sign that it has in the formula."""

    value: float
    sign: int
    node: Expr


@dataclass(frozen=True, slots=True)
class Reasons:
    """Says why a step of a restaurant has its value. `evidence` has the reviews behind the steps over reviews."""

    found: Evaluated
    evidence: Mapping[str, data.Evidence]
    counts: Counts

    def because(self, target: nodes.Step) -> list[str]:
        """Return the sentences, the most important first."""
        sentences: list[str] = []
        following: nodes.Step | None = target
        while following is not None and choices(following) and len(sentences) < _SENTENCES:
            target = following
            sentences.append(self._rule_sentence(target))
            following = self._passed_on_to(target)
        name = self._deciding(target)
        moving = behind_limits(self.found.steps[name], self.found.steps).name if name is not None else None
        counts = self.counts.sentence(moving)
        while name is not None and len(sentences) < _SENTENCES:
            if name == moving and counts is not None:  # the score and its limits are said
                sentences.append(counts)
                counts = None
            sentence, name = self._made_of(self.found.steps[name])
            sentences.append(sentence)
        return [*sentences, counts] if counts is not None else sentences

    def _rule_sentence(self, target: nodes.Step) -> str:
        said = f"{target.name} is {format_value(self.found.value_of(target.name))}"
        rules = self.found.rules(target)
        taken = next(rule for rule in rules if rule.state == "taken")
        decided = [c for c in taken.comparisons if c.holds] if taken.condition is not None else []
        if taken.condition is not None:
            earlier = [c for rule in rules[: rules.index(taken)] for c in rule.comparisons if not c.holds]
            same = [c for c in earlier if c.left in {each.left for each in decided}]
            reasons = _compared([*same, *decided]) or [f"`{taken.condition}` holds"]
            return f"{said} because {' and '.join(reasons)}."
        reasons = _compared([c for rule in rules for c in rule.comparisons if not c.holds])
        more = [f"and {len(reasons) - _REASONS} more below"] if len(reasons) > _REASONS else []
        return f"{said} because no other rule holds" + (
            f": {'; '.join([*reasons[:_REASONS], *more])}." if reasons else "."
        )

    def _passed_on_to(self, target: nodes.Step) -> nodes.Step | None:
        """The step whose value the rule that was taken gives; None where it gives another one."""
        branch = next(c.value for c in choices(target) if c.condition is None or self.found.value(c.condition))
        if not isinstance(branch, typed.Ref) or branch.symbol.kind is not SymbolKind.STEP:
            return None
        return self.found.steps[branch.symbol.name]

    def _deciding(self, target: nodes.Step) -> str | None:
        """The number that the rule compares which was taken, else the one that most rules do; a number decides itself."""
        if target.ty.is_numeric and not target.rules():
            return target.name
        states = zip(choices(target), self.found.rules(target), strict=True)
        conditions = [(condition, rule.state == "taken") for (condition, _), rule in states if condition is not None]
        named = [
            (is_taken, symbol.name)
            for condition, is_taken in conditions
            for symbol in typed.symbols_in(condition)
            if symbol.kind is SymbolKind.STEP and self.found.steps[symbol.name].ty.is_numeric
        ]
        taken = [name for is_taken, name in named if is_taken]
        counted = Counter(taken or [name for _, name in named])
        return counted.most_common(1)[0][0] if counted else None

    def _made_of(self, step: nodes.Step) -> tuple[str, str | None]:
        """What a step is made of, in a sentence, and the step to go on with, which is the largest part."""
        operation, said = step.operation, f"{step.name} is {format_value(self.found.value_of(step.name))}"
        if step.aggregate is not None:
            found = self.evidence[step.name]
            where = f" {found.condition}" if found.condition is not None else ""
            meaning = f" ({'; '.join(filter_texts(found))})" if found.filters else ""
            return f"{said}{describe_count(found)}{where}{meaning}.", None
        if not isinstance(operation, nodes.Formula):
            return f"{said}: {step_text(step)}.", None
        inner = self._moving(operation.expression)
        single = inner.symbol.name if isinstance(inner, typed.Ref) and inner.symbol.kind is SymbolKind.STEP else None
        if single is not None:
            return f"{said}, {self._limit_text(step.name, operation.expression, single)}.", single
        terms = [
            _Term(sign * float(value), sign, node)
            for sign, node in _terms(inner)
            if is_number(value := self.found.value(node))
        ]
        terms = sorted((each for each in terms if each.value), key=lambda each: (each.value < 0, -abs(each.value)))
        if len(terms) > 1:
            is_negative = sum(each.value for each in terms) < 0
            largest = max(terms, key=lambda each: -each.value if is_negative else each.value)
            return f"{said}: {self._sum_text(terms)}.", self._step_in(largest.node)
        product = [*_factors(terms[0].node if terms else inner)]
        if len(product) > 1 and all(is_number(self.found.value(node)) for node in product):
            return f"{said}: {' times '.join(self._named(node) for node in product)}.", self._step_in(*product)
        values = self.found.with_values(inner)
        formula = expression_text(inner) + (f" = {values}" if values is not None else "")
        return f"{said}: {formula}{self._branch_text(operation.expression)}.", self._step_in(inner)

    def _sum_text(self, terms: Sequence[_Term]) -> str:
        """A sum, its terms by their size: names with their values, or what else it adds up with values in place of names."""
        if all(isinstance(each.node, typed.Ref) or each.node.info.is_constant for each in terms):
            return "".join(_named_term(each, is_first=each is terms[0]) for each in terms)
        first, *rest = terms
        whole = first.node if first.sign > 0 else typed.Unary("-", first.node, first.node.info)
        for each in rest:
            whole = typed.Binary("+" if each.sign > 0 else "-", whole, each.node, whole.info)
        whole = self.found.taken(whole)
        return f"{expression_text(whole)} = {self.found.with_values(whole)}"

    def _limit_text(self, name: str, whole: Expr, inner: str) -> str:
        """What the limits of a formula make of the one step that it limits."""
        low, high = limits_of(self.found.taken(whole))
        value, given = self.found.value_of(name), self.found.value_of(inner)
        if value == given:
            least, most = (" and ".join(map(format_value, each)) for each in (low, high))
            within = f", {least} to {most}" if low and high else f", at least {least}" if low else f", at most {most}"
            return f"which is {inner}" + (f" within its limits{within}" if low or high else "")
        what = "its maximum" if value in high else "its minimum" if value in low else "rounded"
        return f"{what}; {inner} is {format_value(given)}"

    def _branch_text(self, whole: Expr) -> str:
        """Why a formula comes down to one of its two branches; nothing where it has no branches."""
        if not isinstance(whole, typed.Conditional):
            return ""
        return f", as {expression_text(whole.condition)} is {format_value(bool(self.found.value(whole.condition)))}"

    def _moving(self, node: Expr) -> Expr:
        """What a formula comes down to: the branch that was taken, the one argument of limits and rounding that varies."""
        while True:
            if isinstance(node, typed.Present):
                node = node.operand
            elif isinstance(node, typed.Conditional):
                node = node.then if self.found.value(node.condition) else node.otherwise
            elif isinstance(node, typed.Call) and is_limit(node):
                node = next(each for each in node.arguments if not each.info.is_constant)
            else:
                return node

    def _named(self, node: Expr) -> str:
        text, value = expression_text(node), format_value(self.found.value(node))
        return text if node.info.is_constant else f"{text} {value}"

    def _step_in(self, *parts: Expr) -> str | None:
        """The first step in these that is no constant."""
        named = [s.name for part in parts for s in typed.symbols_in(part) if s.kind is SymbolKind.STEP]
        return next((name for name in named if not isinstance(self.found.steps[name].operation, nodes.Const)), None)


def _compared(comparisons: Sequence[data.Comparison]) -> list[str]:
    """Comparisons in words, those of one value together, such as `SCORE is 9.2, at least 4 and at least 8`."""
    found: dict[str, dict[str, None]] = {}
    for each in comparisons:
        value, limit = each.right_value, each.right
        if value is None and limit == "None":
            text = "null"
        elif isinstance(value, list) or limit in (value_text(value), repr(value)):
            text = limit
        else:
            text = f"{limit}, which is {format_value(value)}"
        subject = f"{each.left} is {format_value(each.left_value)}"
        if each.holds or (each.left_value is None and each.operator in ("<", "<=", ">", ">=")):  # null has no order
            said = f"{'' if each.holds else 'not '}{_WORDS[each.operator]}"
        else:
            said = _WORDS[NEGATED[each.operator]]
        found.setdefault(subject, {})[f"{said} {text}"] = None
    return [f"{subject}, {' and '.join(limits)}" for subject, limits in found.items()]


def _named_term(term: _Term, *, is_first: bool) -> str:
    text = expression_text(term.node)
    sign = ("- " if is_first else " - ") if term.value < 0 else "" if is_first else " + "
    return sign + (text if term.node.info.is_constant else f"{text} {format_value(abs(term.value))}")


def _terms(node: Expr, sign: int = 1) -> Iterator[tuple[int, Expr]]:
    """The terms of a sum, each with its sign."""
    match node:
        case typed.Present(operand):
            yield from _terms(operand, sign)
        case typed.Binary("+" | "-" as operator, left, right):
            yield from _terms(left, sign)
            yield from _terms(right, -sign if operator == "-" else sign)
        case typed.Unary("-", operand):
            yield from _terms(operand, -sign)
        case _:
            yield sign, node


def _factors(node: Expr) -> Iterator[Expr]:
    if isinstance(node, typed.Binary) and node.operator == "*":
        yield from _factors(node.left)
        yield from _factors(node.right)
    else:
        yield node
