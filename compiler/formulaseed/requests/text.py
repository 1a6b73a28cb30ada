"""Evidence in words, for comments in generated modules and for reports: what it asks, and what a restaurant's data says.

Decides nothing: what is found comes from `evaluation`, as the value does.
"""

from __future__ import annotations

from typing import Any

from formulaseed.diagnostics.model import number_of
from formulaseed.ir.attributes import _attribute_at, _read_attribute
from formulaseed.requests import evaluation
from formulaseed.requests import model as ir
from formulaseed.requests.evaluation import Background, Path, Restaurant

_WIDTH = 60
_ASKED = {
    "not_contains": "asked not to contain {}",
    "contains": "asked to contain {}",
    "not_true": "asked not to be {}",
    "true": "asked to be {}",
    "false": "asked not to be {}",
    "neutral": "left open for {}",
}
_SIGNS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<", "eq": "==", "ne": "!="}


def evidence_text(evidence: ir.Evidence) -> str:
    """What must hold, such as `attributes.DriveThru: true 'True'`."""
    match evidence:
        case ir.ItemMeta(path, rules):
            said = ", ".join(f"{rule.name.replace('_', ' ')} {rule.value!r}" for rule in rules) or "true"
            return f"{_path(path)}: {said}"
        case ir.ItemHours(path, start, end):
            return f"{_path(path)} contains {_clock(start)} to {_clock(end)}"
        case ir.ReviewText(pattern, weight, social_filter, least):
            text = f"{_reviews(least, social_filter)} match{'es' if least == 1 else ''} {pattern}"
            if weight is None:
                return text
            return f"{text}, {weight.min_credible_matches} at or over percentile {weight.percentile:g} of {_path(weight.field)}"
        case ir.ReviewMeta(path, op, value, agg, count, min_stars):
            test = "is filled" if op == "not_empty" else f"{_SIGNS[op]} {value!r}"
            stars = f" of {stars_text(min_stars)}" if min_stars is not None else ""
            who = {"any": "a review", "all": "every review", "count": _reviews(count, None)}[agg]
            return f"{who}{stars}: {_path(path)} {test}"
        case ir.GroupRating(path, operator, value, metric, comparison, threshold):
            metric_text = "the average stars" if metric == "avg_stars" else "the number"
            group = f"{_path(path)} {_SIGNS[operator]} {value!r}"
            return f"{metric_text} of reviews with {group} {_SIGNS[comparison]} {threshold:g}"
        case ir.NotOnlyEasyRaters(generous, harsh):
            return f"not rated {generous:g} or more by easy raters and under {harsh:g} by harsh ones"
        case ir.Sentiment(topic, sentiment, least, social_filter):
            return f"{_reviews(least, social_filter)} judged {sentiment} on {topic}"
        case ir.SocialRating(min_stars, least, social_filter):
            return f"{_reviews(least, social_filter)} give{'s' if least == 1 else ''} {stars_text(min_stars)}"


def stars_text(least: float) -> str:
    """So many stars, or more."""
    return f"{least:g} star{'' if least == 1 else 's'} or more"


def _path(path: Path) -> str:
    return ".".join(path)


def _clock(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02}"


def _reviews(least: int, social_filter: ir.SocialFilter | None) -> str:
    return ("a review" if least == 1 else f"{least} reviews") + _by(social_filter)


def _by(social_filter: ir.SocialFilter | None) -> str:
    if social_filter is None:
        return ""
    hops = f" and those {number_of(social_filter.hops, 'hop')} away" if social_filter.hops else ""
    return f" by {', '.join(social_filter.friends)}{hops}"


def finding(evidence: ir.Evidence, place: Restaurant, known: Background) -> str:
    """What a restaurant's data says, and what is asked, such as `attributes.HasTV is True, asked to be False`."""
    match evidence:
        case ir.ItemMeta(path, rules):
            asked = [_ASKED[rule.name].format(_expected(rule)) for rule in rules if rule.name in _ASKED]
            return ", ".join([_value(path, place), *asked[:1]])
        case ir.ItemHours(path, start, end):
            return f"{_value(path, place)}, asked for {_clock(start)}-{_clock(end)}"
        case ir.ReviewText():
            return _mentions(evidence, place, known)
        case ir.ReviewMeta(path, op, value, agg, count, min_stars):
            met, counted = evaluation._meeting(place, path, op, value, min_stars)
            return f"{_count(counted)}, {met} meeting it, asked for {count if agg == 'count' else agg}"
        case ir.GroupRating(path, operator, value, metric, comparison, threshold):
            group = evaluation._group(place, path, operator, value)
            mean = evaluation._average_stars(group) if metric == "avg_stars" else None
            average = f", {mean:.2f} stars on average" if mean is not None else ""
            return f"{_count(len(group))} in the group{average}, asked for {metric} {comparison} {threshold:g}"
        case ir.NotOnlyEasyRaters():
            generous, harsh = (f"{mean:.2f}" if mean is not None else "nothing" for mean in evaluation._raters(place))
            return f"easy raters give {generous}, harsh ones {harsh}"
        case ir.Sentiment(topic, _, _, social_filter):
            if known.judgements is None:
                return "no judgements are given"
            counted_reviews = evaluation._by(place.reviews, social_filter, known)
            positive, negative = evaluation._judgements(counted_reviews, known, topic)
            return f"{_count(len(counted_reviews), social_filter)}, {positive} positive and {negative} negative on `{topic}`"
        case ir.SocialRating(min_stars, _, social_filter):
            counted_reviews = evaluation._by(place.reviews, social_filter, known)
            liked = len(evaluation._liked(counted_reviews, min_stars))
            return f"{_count(len(counted_reviews), social_filter)}, {liked} with {stars_text(min_stars)}"


def _expected(rule: ir.Expectation) -> Any:
    """What a rule names, without the quotes that Yelp puts around it."""
    compared = rule.name in ("true", "false", "not_true") and isinstance(rule.value, str)
    return _read_attribute(str(rule.value)) if compared else rule.value


def _value(path: Path, place: Restaurant) -> str:
    name, value = ".".join(path), _attribute_at(place.business, path)
    if value is None:
        return f"{name} is missing"
    if isinstance(value, dict):
        true = [str(key) for key, flag in value.items() if flag is True]
        return f"{name} has {', '.join(true) if true else 'nothing that is true'}"
    text = str(value)
    return f"{name} is {text if len(text) <= _WIDTH else text[:_WIDTH] + '…'}"


def _count(reviews: int, social_filter: ir.SocialFilter | None = None) -> str:
    return (number_of(reviews, "review") if reviews else "no reviews") + _by(social_filter)


def _mentions(evidence: ir.ReviewText, place: Restaurant, known: Background) -> str:
    counted = evaluation._by(place.reviews, evidence.social_filter, known)
    matching = evaluation._matching(counted, known, evidence.pattern, evidence.source)
    how = "match" if known.judgements is None else "judged positive on"
    line = f"{_count(len(counted), evidence.social_filter)}, {len(matching)} {how} `{evidence.pattern}`"
    if evidence.weight is not None:
        field, _, least = evidence.weight
        bound = evaluation._credible_from(counted, evidence.weight)
        found = len(evaluation._credible(matching, evidence.weight, bound))
        line += f", {found} of them credible ({field[-1]} of {bound or 0:g} or more), asked for {least}"
    return line
