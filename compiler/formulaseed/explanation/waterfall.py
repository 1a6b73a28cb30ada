"""Lay out the number that a verdict compares as a waterfall: bars on an axis with the thresholds of the rules.

In: an explanation with an attribution. Out: a `Waterfall`, which a template draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from formulaseed.explanation.evidence_text import MAX_LISTED_REVIEWS, build_card
from formulaseed.explanation.model import Attribution, AttributionPart, ExplanationData, Rule
from formulaseed.explanation.summary import build_parts_table, describe_part, format_number
from formulaseed.explanation.verdict import Shades
from formulaseed.language.operators import COMPARE
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Bar, Card, ListItem, Waterfall
from formulaseed.pages.values import format_plain, is_number
from formulaseed.source.printing import number_of

_TONES = {None: ("part", "part"), "higher": ("worse", "better"), "lower": ("better", "worse")}
"""The CSS classes of bars that raise the number, and of those that lower it, by the direction that is adverse."""


def build_waterfall(explanation: ExplanationData, attribution: Attribution, shades: Shades) -> Waterfall:
    """Return the base, the parts and the number as bars, each part with the reviews behind it."""
    table = build_parts_table(explanation, attribution, limit=len(attribution.parts))
    labels = [table.rows[0][1], *(describe_part(part, len(part.label)) for part in attribution.parts)]
    rows = [(row[0], label, *row[2:]) for label, row in zip(labels, table.rows, strict=True)]
    sums = [float(row[3]) for row in rows]
    limits = list_limits(explanation.rules, attribution.step)
    low, high = _choose_axis(sums, [0.0, attribution.base, attribution.value], limits)

    def place(value: float) -> float:
        """Return the position of a value in percent of the axis."""
        return round((value - low) / (high - low) * 100, 2)

    tones = _TONES[attribution.adverse]
    steps = [Bar(place(before), place(after), tones[after < before]) for before, after in pairwise(sums)]
    total = Bar(place(0), place(attribution.value), shades.get(explanation.verdict, "other"))
    zones: list[Bar] = []
    for start, end in pairwise([low, *limits, high]):
        verdict = _find_verdict(explanation.rules, attribution.step, (start + end) / 2)
        if verdict is not None:
            zones.append(Bar(place(start), place(end), shades.get(verdict, "other"), format_plain(verdict)))
    return Waterfall(
        table.columns,
        [*rows, ("", attribution.label, "", rows[-1][3], "", "")],
        bars=[Bar(place(0), place(sums[0]), "base"), *steps, total],
        reviews=[(), *([*_build_cards(explanation, part)] for part in attribution.parts), ()],
        zones=zones,
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
        side = rule.comparisons[0] if rule.comparisons else None
        if side is not None and rule.condition == f"{step} {side.operator} {side.right}":
            if COMPARE[side.operator](value, side.right_value):
                return rule.result
        elif rule.state != "false" or step in rule.condition:
            return None
    return None


def _build_cards(explanation: ExplanationData, part: AttributionPart) -> Iterator[Card | ListItem]:
    """Yield a card for each review of a part, the main one first, and a line that counts the reviews without a card."""
    counting = [evidence for evidence in explanation.evidence if evidence.step in part.steps or not part.steps]
    # of a review that several steps count, the quote for the first of them is the last one set
    reviews = {review.review_id: review for evidence in reversed(counting) for review in evidence.reviews}
    names = sorted(filter(reviews.get, part.reviews), key=lambda name: name != part.main_review)
    yield from (build_card(reviews[name], 0) for name in names[:MAX_LISTED_REVIEWS])
    if len(names) > MAX_LISTED_REVIEWS:
        yield ListItem(f"and {number_of(len(names) - MAX_LISTED_REVIEWS, 'other review')}")
