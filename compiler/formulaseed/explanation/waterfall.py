"""Lay out the number that a verdict compares as a waterfall: bars on an axis with the thresholds of the rules.

In: an explanation with an attribution. Out: a `Waterfall`, which a template draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from formulaseed.explanation.evidence_text import EvidenceWriter
from formulaseed.explanation.model import Attribution, AttributionPart, Comparison, ExplanationData, Review, Rule
from formulaseed.explanation.summary import build_parts_table, describe_part, format_number
from formulaseed.explanation.verdict import Shades
from formulaseed.language.operators import COMPARE
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Bar, Card, ListItem, Waterfall
from formulaseed.pages.values import format_plain, is_number
from formulaseed.source.printing import number_of

_TONES = {None: ("part", "part"), "higher": ("worse", "better"), "lower": ("better", "worse")}
"""The CSS classes of bars that raise the number, and of those that lower it, by the direction that is adverse."""


def build_waterfall(
    explanation: ExplanationData, attribution: Attribution, shades: Shades, writer: EvidenceWriter
) -> Waterfall:
    """Return the base, the parts and the number as bars, each part with the reviews behind it, which `writer` remembers."""
    table = build_parts_table(explanation, attribution, max_parts=len(attribution.parts))
    labels = ["without the parts below", *(describe_part(part, len(part.label)) for part in attribution.parts)]
    rows = [(row[0], label, *row[2:4]) for label, row in zip(labels, table.rows, strict=True)]
    rows.append(("", attribution.label, "", table.rows[-1][3]))
    sums = [0.0, *(float(row[3]) for row in table.rows)]
    limits = list_limits(explanation.rules, attribution.step)
    low, high = _choose_axis(sums, [0.0, attribution.base, attribution.value], limits)

    def place(value: float) -> float:
        """Return the position of a value on the axis, in percent; that of an end for a value beyond it."""
        return round(min(max((value - low) / (high - low), 0), 1) * 100, 2)

    raises, lowers = _TONES[attribution.adverse]
    bars = [Bar(place(0), place(sums[1]), "base")]
    for before, after in pairwise(sums[1:]):
        tone = raises if after > before else lowers
        if max(before, after) > high:
            tone += " cut"
        elif min(before, after) < low:
            tone += " cut-low"
        bars.append(Bar(place(before), place(after), tone))
    bars.append(Bar(place(0), place(attribution.value), shades.get(explanation.verdict, "other")))
    edges = [low, *(limit for limit in limits if low < limit < high), high]
    verdicts = [_find_verdict(explanation.rules, attribution.step, sum(edge) / 2) for edge in pairwise(edges)]
    return Waterfall(
        ("", "", "change", "score"),
        rows,
        bars=bars,
        reviews=[(), *_write_reviews(explanation, attribution.parts, writer), ()],
        zones=[
            Bar(place(start), place(end), shades.get(verdict, "other"), format_plain(verdict))
            for (start, end), verdict in zip(pairwise(edges), verdicts, strict=True)
            if None not in verdicts
        ],
        limits=[(place(limit), format_number(limit)) for limit in limits],
    )


def list_limits(rules: Sequence[Rule], step: str) -> list[float]:
    """Return the numbers that the rules compare with a step, in ascending order."""
    sides = (comparison for rule in rules for comparison in rule.comparisons if comparison.left == step)
    return sorted({float(side.right_value) for side in sides if is_number(side.right_value)})


def _choose_axis(sums: Sequence[float], points: Sequence[float], limits: Sequence[float]) -> tuple[float, float]:
    """Return both ends of an axis for the `points`, the `limits` with some space beyond them, and the `sums`.

    Sums far beyond the others are cut off: a limit of the number takes them back, and the thresholds would be unreadable.
    """
    space = (max(*points, *limits) - min(*points, *limits)) / 6 or 1.0
    low = min(*points, *(limit - space for limit in limits))
    high = max(*points, *(limit + space for limit in limits))
    margin = (high - low) / 2 or 1.0
    return max(min(low, *sums), low - margin), min(max(high, low + margin, *sums), high + margin)


def _find_verdict(rules: Sequence[Rule], step: str, value: float) -> Value:
    """Return the verdict if only the number `step` were another `value`; None if the rules do not say so by that number alone.

    A rule that compares other things is left out if it does not hold.
    """
    for rule in rules:
        if rule.condition is None:
            return rule.result
        compared = _find_only_comparison(rule, step)
        if compared is not None:
            if COMPARE[compared.operator](value, compared.right_value):
                return rule.result
        elif rule.state != "false" or step in str(rule.condition):
            return None
    return None


def _find_only_comparison(rule: Rule, step: str) -> Comparison | None:
    """Return the comparison of the number `step` that is the whole condition of a rule; None if the rule has another one."""
    for side in rule.comparisons:
        if (
            side.left == step
            and rule.condition == f"{step} {side.operator} {side.right}"
            and is_number(side.right_value)
        ):
            return side
    return None


def _write_reviews(
    explanation: ExplanationData, parts: Sequence[AttributionPart], writer: EvidenceWriter
) -> Iterator[list[Card | ListItem]]:
    """Yield for each part a card for each review, the main one first, and a line that counts those without a card."""
    reviews = [_find_reviews(explanation, part) for part in parts]
    # each part has its main review, even if the reviews of the first parts take all other cards
    cards = [writer.write_cards(of_part[:1]) for of_part in reviews]
    for part, of_part, of_main in zip(parts, reviews, cards, strict=True):
        items: list[Card | ListItem] = [*of_main, *writer.write_cards(of_part[1:])]
        if len(part.reviews) > len(items):
            items.append(ListItem(f"and {number_of(len(part.reviews) - len(items), 'other review')}"))
        elif part.source == "facts":
            items.append(ListItem("from the listing"))
        yield items


def _find_reviews(explanation: ExplanationData, part: AttributionPart) -> list[Review]:
    """Return the reviews of a part as the steps that count them have them, the main one first."""
    reviews: dict[str, Review] = {}
    for evidence in explanation.evidence:
        if evidence.step in part.steps or not part.steps:
            for review in evidence.reviews:
                reviews.setdefault(review.review_id, review)
    names = sorted(part.reviews, key=lambda name: name != part.main_review)
    return [reviews[name] for name in names if name in reviews]
