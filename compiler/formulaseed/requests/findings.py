"""What a restaurant's data says to a piece of evidence, in words.

In: evidence, a restaurant, what is known besides. Out: one line, such as `attributes.HasTV is True, asked to be False`.
Decides nothing: the value comes from `ir.three_valued`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from formulaseed.diagnostics.model import number_of
from formulaseed.ir import attributes
from formulaseed.requests import logic as tv
from formulaseed.requests.model import (
    Circle,
    Evidence,
    Expectation,
    GroupRating,
    ItemHours,
    ItemMeta,
    NotOnlyEasyRaters,
    ReviewMeta,
    ReviewText,
    Sentiment,
    SocialRating,
)
from formulaseed.requests.text import stars_text

_WIDTH = 60
_ASKED = {
    "not_contains": "asked not to contain {}",
    "contains": "asked to contain {}",
    "not_true": "asked not to be {}",
    "true": "asked to be {}",
    "false": "asked not to be {}",
    "neutral": "left open for {}",
}


def finding(evidence: Evidence, candidate: tv.Candidate, background: tv.Background) -> str:
    """What was found, and what was asked for."""
    reviews = candidate.reviews
    match evidence:
        case ItemMeta():
            asked = [_ASKED[rule.name].format(_meant(rule)) for rule in evidence.rules if rule.name in _ASKED]
            return ", ".join(
                [_value(evidence.path, attributes.value_at(candidate.business, evidence.path)), *asked[:1]]
            )
        case ItemHours():
            hours = _value(evidence.path, attributes.value_at(candidate.business, evidence.path))
            return f"{hours}, asked for {_time(evidence.start)}-{_time(evidence.end)}"
        case ReviewText():
            return _mentions(evidence, reviews, background)
        case ReviewMeta():
            met, counted = tv.meeting(evidence, reviews)
            needed = str(evidence.count) if evidence.agg == "count" else evidence.agg
            return f"{_count(counted)}, {met} meeting it, asked for {needed}"
        case GroupRating():
            return _group(evidence, reviews)
        case NotOnlyEasyRaters():
            generous, harsh = (f"{mean:.2f}" if mean is not None else "nothing" for mean in tv.raters(reviews))
            return f"easy raters give {generous}, harsh ones {harsh}"
        case Sentiment():
            if background.judgements is None:
                return "no judgements are given"
            inside = tv.within(evidence.circle, reviews, background)
            judged = [tv.judgement(review, evidence.topic, background) for review in inside]
            counts = f"{judged.count('positive')} positive and {judged.count('negative')} negative"
            return f"{_where(evidence.circle, inside)}, {counts} on `{evidence.topic}`"
        case SocialRating():
            inside = tv.within(evidence.circle, reviews, background)
            liked = sum((review.get("stars") or 0) >= evidence.min_stars for review in inside)
            return f"{_where(evidence.circle, inside)}, {liked} with {stars_text(evidence.min_stars)}"


def _meant(rule: Expectation) -> Any:
    """What a rule names, without the quotes that Yelp puts around it."""
    compared = rule.name in ("true", "false", "not_true") and isinstance(rule.value, str)
    return attributes.parse_attribute(str(rule.value)) if compared else rule.value


def _value(path: tuple[str, ...], value: Any) -> str:
    name = ".".join(path)
    if value is None:
        return f"{name} is missing"
    if isinstance(value, dict):
        true = [str(key) for key, flag in value.items() if flag is True]
        return f"{name} has {', '.join(true) if true else 'nothing that is true'}"
    text = str(value)
    return f"{name} is {text if len(text) <= _WIDTH else text[:_WIDTH] + '…'}"


def _time(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02d}"


def _count(reviews: int) -> str:
    return number_of(reviews, "review") if reviews else "no reviews"


def _where(circle: Circle | None, reviews: Sequence[tv.Record]) -> str:
    return _count(len(reviews)) + (f" by the circle of {', '.join(circle.friends)}" if circle is not None else "")


def _mentions(evidence: ReviewText, reviews: Sequence[tv.Record], background: tv.Background) -> str:
    counted = tv.within(evidence.circle, reviews, background)
    matching = [review for review in counted if tv.matches_pattern(review, evidence, background)]
    how = "match" if background.judgements is None else "judged positive on"
    line = f"{_where(evidence.circle, counted)}, {len(matching)} {how} `{evidence.pattern}`"
    if evidence.weight is not None:
        least = tv.credible_from(evidence.weight, counted)
        found = len(tv.credible(evidence.weight, least, matching))
        name = evidence.weight.field[-1]
        line += f", {found} of them credible ({name} of {least or 0:g} or more)"
        line += f", asked for {evidence.weight.min_credible_matches}"
    return line


def _group(evidence: GroupRating, reviews: Sequence[tv.Record]) -> str:
    group = [r for r in reviews if tv.compares(tv.field_at(r, evidence.field), evidence.operator, evidence.value)]
    mean = tv.average_stars(group)
    found = f"{_count(len(group))} in the group"
    if evidence.metric == "avg_stars" and mean is not None:
        found += f", {mean:.2f} stars on average"
    return f"{found}, asked for {evidence.metric} {evidence.comparison} {evidence.threshold:g}"
