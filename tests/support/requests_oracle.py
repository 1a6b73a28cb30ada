"""Evaluate requests slowly and plainly, independently of the package: generated modules are compared with this.

In: evidence, a restaurant with its reviews, judgements and a social graph. Out: 1 (satisfied), 0 (unknown) or -1 (not
satisfied). Source: the references of request structures and evidence types, and docs/requests.md.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from formulaseed.requests import model as ir
from formulaseed.requests.evaluation import Path, Truth

Record = Mapping[str, Any]
"""A review or a business object as its JSON has it."""
GENEROUS, HARSH = 4.0, 3.5
"""The averages from which on a user is an easy rater, and under which a harsh one."""
_HOURS = re.compile(r"\s*([0-9]{1,2}):([0-9]{1,2})\s*-\s*([0-9]{1,2}):([0-9]{1,2})\s*")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A restaurant: the fields of its business object, and its reviews."""

    business: Record
    reviews: Sequence[Record]


@dataclass(frozen=True, slots=True)
class Background:
    """The data shared by all restaurants: judgements by review and aspect, None without any; friends by name."""

    judgements: Mapping[tuple[str, str], str] | None = None
    friends: Mapping[str, frozenset[str]] = field(default_factory=dict)


def evaluate(node: ir.Node, candidate: Candidate, background: Background) -> Truth:
    """Return the value of a tree for one restaurant."""
    if isinstance(node, ir.Condition):
        return evaluate_condition(node.evidence, candidate, background)
    values = [evaluate(arg, candidate, background) for arg in node.args]
    return min(values) if node.op == "AND" else max(values)


def evaluate_condition(evidence: ir.Evidence, candidate: Candidate, background: Background) -> Truth:
    """Return the value of one condition for one restaurant."""
    reviews = candidate.reviews
    match evidence:
        case ir.ItemMeta():
            return _evaluate_item_meta(evidence, candidate.business)
        case ir.ItemHours():
            return _evaluate_item_hours(evidence, candidate.business)
        case ir.ReviewText():
            return _evaluate_review_text(evidence, reviews, background)
        case ir.ReviewMeta():
            return _evaluate_review_meta(evidence, reviews)
        case ir.GroupRating(path, comparison, value, metric, _, threshold):
            group = [review for review in reviews if compare(field_at(review, path), comparison, value)]
            result = float(len(group)) if metric == "count" else average_stars(group)
            return _truth(bool(group) and compare(result, evidence.comparison, threshold))
        case ir.NotOnlyEasyRaters(generous_from, harsh_below):
            generous, harsh = (
                average_stars([r for r in reviews if compare(field_at(r, ("user", "average_stars")), *bound)])
                for bound in (("gte", GENEROUS), ("lt", HARSH))
            )
            return _truth(not (compare(generous, "gte", generous_from) and compare(harsh, "lt", harsh_below)))
        case ir.Sentiment():
            return _evaluate_sentiment(evidence, reviews, background)
        case ir.SocialRating(min_stars, min_matches, social_filter):
            liked = [r for r in filter_by_people(social_filter, reviews, background) if _stars(r) >= min_stars]
            return _truth(len(liked) >= min_matches)


def _truth(holds: bool) -> Truth:
    return 1 if holds else -1


# --- attributes of the restaurant


def value_at(business: Record, path: Path) -> Any:
    """Return the value at a path, a string parsed once as Yelp writes attributes; None if there is none."""
    value: Any = business
    is_parsed = False
    for key in path:
        if isinstance(value, str) and not is_parsed:
            value = parse_attribute(value)
            is_parsed = True
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if is_parsed or not isinstance(value, str) else parse_attribute(value)


def parse_attribute(text: str) -> Any:
    """Return the value of an attribute: `True`, `u'free'`, `{'casual': True}`; any other string as it is."""
    if text in ("True", "False", "None"):
        return {"True": True, "False": False}.get(text)
    if not text.startswith(("{", "'", '"', "u'", 'u"')) or len(text) > 2_000:
        return text
    try:
        with warnings.catch_warnings():  # the parser warns of odd escapes
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, str | dict) else text


def _evaluate_item_meta(evidence: ir.ItemMeta, business: Record) -> Truth:
    """Apply the rules in their order; the first that applies decides."""
    value = value_at(business, evidence.path)
    rules = {rule.name: rule.value for rule in evidence.rules}
    if "not_contains" in rules:
        return _truth(value is None or not _contains(value, rules["not_contains"]))
    if "contains" in rules:  # a missing value reads `None`, so that `contains: "none"` finds it
        return _truth(_contains(value, rules["contains"]))
    if "not_true" in rules:
        return _truth(value is None or not _matches(value, rules["not_true"]))
    if value is None:
        return cast(Truth, rules.get("missing", 0))
    if isinstance(value, Mapping) and value and all(isinstance(flag, bool) for flag in value.values()):
        return _truth(any(value.values()))
    compared = rules.keys() & {"true", "false", "neutral"}
    if not compared:
        return _truth(value) if isinstance(value, bool) else 0
    if compared == {"false"}:
        return _truth(not _matches(value, rules["false"]))
    if compared == {"true"}:
        return _truth(_matches(value, rules["true"]))
    outcomes: dict[Any, Truth] = {"true": 1, "false": -1, "neutral": 0}
    return next((truth for name, truth in outcomes.items() if name in compared and _matches(value, rules[name])), 0)


def _contains(value: Any, expected: Any) -> bool:
    return str(expected).casefold() in str(value).casefold()


def _matches(value: Any, expected: Any) -> bool:
    """Return True if the expected value, which may be written as Yelp writes it, occurs in the value."""
    return _contains(value, parse_attribute(expected) if isinstance(expected, str) else expected)


def _evaluate_item_hours(evidence: ir.ItemHours, business: Record) -> Truth:
    hours = _HOURS.fullmatch(str(value_at(business, evidence.path)))
    if hours is None:
        return 0
    opens, closes = (int(hours[i]) * 60 + int(hours[i + 1]) for i in (1, 3))

    def end_after(start: int, end: int) -> int:
        return end + 24 * 60 if end < start else end

    return _truth(opens <= evidence.start and end_after(evidence.start, evidence.end) <= end_after(opens, closes))


# --- reviews


def _evaluate_review_text(evidence: ir.ReviewText, reviews: Sequence[Record], background: Background) -> Truth:
    if not reviews and evidence.social_filter is None:
        return 0
    reviews = filter_by_people(evidence.social_filter, reviews, background)
    if background.judgements is not None:
        matches = [r for r in reviews if judgement(r, evidence.pattern, background) == "positive"]
    else:
        matches = [r for r in reviews if re.search(evidence.source, r["text"], re.IGNORECASE)]
    if evidence.weight is not None:
        path, percentile, min_credible = evidence.weight
        weights = sorted(weight for review in reviews if (weight := weigh(field_at(review, path))) != 0)
        if not weights:
            return -1
        bound = weights[min(int(len(weights) * percentile / 100), len(weights) - 1)]
        if sum(weigh(field_at(review, path)) >= bound for review in matches) < min_credible:
            return -1
    return _truth(len(matches) >= evidence.min_matches)


def judgement(review: Record, aspect: str, background: Background) -> str:
    """Return the recorded judgement of a review on an aspect; `not_mentioned` if there is none."""
    return (background.judgements or {}).get((review["review_id"], aspect), "not_mentioned")


def weigh(value: Any) -> float:
    """Return a number as it is, and the count of entries of a list, or of a string with commas such as elite years."""
    if isinstance(value, int | float):
        return float(value)
    entries = value.split(",") if isinstance(value, str) else value
    return float(sum(map(is_filled, entries))) if isinstance(entries, list) else 0.0


def field_at(review: Record, path: Path) -> Any:
    """Return the value at a path of a review; None if there is none."""
    value: Any = review
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def is_filled(value: Any) -> bool:
    """Return False for nothing, 0, False, an empty string, the string `None`, and lists of these."""
    return any(map(is_filled, value)) if isinstance(value, list) else bool(value) and value != "None"


def _evaluate_review_meta(evidence: ir.ReviewMeta, reviews: Sequence[Record]) -> Truth:
    if not reviews:
        return 0
    values = [
        field_at(r, evidence.path) for r in reviews if evidence.min_stars is None or _stars(r) >= evidence.min_stars
    ]
    if evidence.op == "not_empty":
        met = sum(map(is_filled, values))
    else:
        met = sum(compare(value, evidence.op, evidence.value) for value in values)
    if evidence.agg == "all":
        return _truth(0 < met == len(values))
    return _truth(met >= (evidence.count if evidence.agg == "count" else 1))


def compare(value: Any, comparison: str, other: Any) -> bool:
    """Compare numbers with numbers, and strings (dates, too) with strings; anything else is False."""
    for kinds in (int | float, str):
        if isinstance(value, kinds) and isinstance(other, kinds) and not {bool} & {type(value), type(other)}:
            function = getattr(operator, {"gte": "ge", "lte": "le"}.get(comparison, comparison))
            return bool(function(value, other))
    return False


def _stars(review: Record) -> float:
    return review.get("stars") or 0.0


def average_stars(reviews: Sequence[Record]) -> float | None:
    """Return the average of the reviews that have stars; None if none has."""
    stars = [review["stars"] for review in reviews if review.get("stars") is not None]
    return sum(stars) / len(stars) if stars else None


def _evaluate_sentiment(evidence: ir.Sentiment, reviews: Sequence[Record], background: Background) -> Truth:
    if background.judgements is None:
        return 0
    people = filter_by_people(evidence.social_filter, reviews, background)
    judgements = [judgement(review, evidence.topic, background) for review in people]
    positive, negative = judgements.count("positive"), judgements.count("negative")
    if evidence.sentiment == "negative":
        return _truth(negative >= evidence.min_matches)
    return _truth(positive >= evidence.min_matches and positive > negative)


# --- social circles


def filter_by_people(
    social_filter: ir.SocialFilter | None, reviews: Sequence[Record], background: Background
) -> Sequence[Record]:
    """Return the reviews by people of a circle; all of them without a filter."""
    if social_filter is None:
        return reviews
    people = find_circle(social_filter, background.friends)
    return [review for review in reviews if field_at(review, ("user", "name")) in people]


def find_circle(social_filter: ir.SocialFilter, friends: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the friends, and everybody that is at most `hops` edges from one of them."""
    people = frozenset(social_filter.friends)
    for _ in range(social_filter.hops):
        people = people.union(*(friends.get(person, frozenset()) for person in people))
    return people


def connect_friends(graph: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    """Return a graph with its edges read from either end."""
    friends: dict[str, set[str]] = {}
    for person, neighbours in graph.items():
        for neighbour in neighbours:
            friends.setdefault(person, set()).add(neighbour)
            friends.setdefault(neighbour, set()).add(person)
    return {person: frozenset(neighbours) for person, neighbours in friends.items()}
