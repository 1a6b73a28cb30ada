"""Evidence in words, for comments in generated modules and for reports."""

from __future__ import annotations

from formulaseed.diagnostics.model import number_of
from formulaseed.requests.model import (
    Circle,
    Evidence,
    GroupRating,
    ItemHours,
    ItemMeta,
    NotOnlyEasyRaters,
    Path,
    ReviewMeta,
    ReviewText,
    Sentiment,
    SocialRating,
)

_SIGNS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<", "eq": "==", "ne": "!="}


def evidence_text(evidence: Evidence) -> str:
    """What must hold, such as `attributes.DriveThru: true 'True'`."""
    match evidence:
        case ItemMeta(path, rules):
            said = ", ".join(f"{rule.name.replace('_', ' ')} {rule.value!r}" for rule in rules) or "true"
            return f"{_path(path)}: {said}"
        case ItemHours(path, start, end):
            return f"{_path(path)} contains {_clock(start)} to {_clock(end)}"
        case ReviewText(pattern, weight, circle, least):
            text = f"{_reviews(least, circle)} match{'es' if least == 1 else ''} {pattern}"
            if weight is None:
                return text
            return f"{text}, {weight.min_credible_matches} at or over percentile {weight.percentile:g} of {_path(weight.field)}"
        case ReviewMeta(path, op, value, agg, count, min_stars):
            test = "is filled" if op == "not_empty" else f"{_SIGNS[op]} {value!r}"
            stars = f" of {stars_text(min_stars)}" if min_stars is not None else ""
            who = {"any": "a review", "all": "every review", "count": _reviews(count, None)}[agg]
            return f"{who}{stars}: {_path(path)} {test}"
        case GroupRating(path, operator, value, metric, comparison, threshold):
            metric_text = "the average stars" if metric == "avg_stars" else "the number"
            group = f"{_path(path)} {_SIGNS[operator]} {value!r}"
            return f"{metric_text} of reviews with {group} {_SIGNS[comparison]} {threshold:g}"
        case NotOnlyEasyRaters(generous, harsh):
            return f"not rated {generous:g} or more by easy raters and under {harsh:g} by harsh ones"
        case Sentiment(topic, sentiment, least, circle):
            return f"{_reviews(least, circle)} judged {sentiment} on {topic}"
        case SocialRating(min_stars, least, circle):
            return f"{_reviews(least, circle)} give{'s' if least == 1 else ''} {stars_text(min_stars)}"


def stars_text(least: float) -> str:
    """So many stars, or more."""
    return f"{least:g} star{'' if least == 1 else 's'} or more"


def _path(path: Path) -> str:
    return ".".join(path)


def _clock(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02}"


def _reviews(least: int, circle: Circle | None) -> str:
    number = "a review" if least == 1 else f"{least} reviews"
    if circle is None:
        return number
    hops = f" and those {number_of(circle.hops, 'hop')} away" if circle.hops else ""
    return f"{number} by {', '.join(circle.friends)}{hops}"
