"""An independent evaluator of requests, slow and plain: what generated modules are compared with.

In: evidence, a restaurant with its reviews, and what is known besides: judgements and who is friends with whom. Out: 1
(satisfied), 0 (unknown) or -1 (not satisfied). Source: the references of request structures and evidence types, and
docs/requests.md.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from formulaseed.requests.evaluation import Path, Scalar, Truth
from formulaseed.requests.model import (
    NOT_SATISFIED,
    SATISFIED,
    UNKNOWN,
    Condition,
    Evidence,
    GroupRating,
    ItemHours,
    ItemMeta,
    Node,
    NotOnlyEasyRaters,
    Ordering,
    ReviewMeta,
    ReviewText,
    Sentiment,
    SocialFilter,
    SocialRating,
    Weight,
)

_WORDS = {"True": True, "False": False, "None": None}
_LITERAL = ("{", "'", '"', "u'", 'u"')


def value_at(business: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """The value at a path, a text parsed once as Yelp writes attributes; None where there is none."""
    found: Any = business
    parsed = False
    for key in path:
        if isinstance(found, str) and not parsed:
            found, parsed = parse_attribute(found), True
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if parsed or not isinstance(found, str) else parse_attribute(found)


def parse_attribute(text: str) -> Any:
    """What a text of Yelp's attributes says: `True`, `u'free'`, `{'casual': True}`; other texts are themselves."""
    if text in _WORDS:
        return _WORDS[text]
    if not text.startswith(_LITERAL) or len(text) > 2_000:
        return text
    try:
        with warnings.catch_warnings():  # the parser warns of odd escapes
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, str | dict) else text


Record = Mapping[str, Any]
"""A review as its JSON has it: `{"review_id", "stars", "text", "user": {…}, …}`."""

GENEROUS, HARSH = 4.0, 3.5
"""The averages from which on a user is an easy rater, and under which a harsh one."""

_DAY = 24 * 60
_HOURS = re.compile(r"\s*([0-9]{1,2}):([0-9]{1,2})\s*-\s*([0-9]{1,2}):([0-9]{1,2})\s*")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A restaurant: the fields of its business object, and its reviews."""

    business: Record
    reviews: Sequence[Record]


@dataclass(frozen=True, slots=True)
class Background:
    """What is known beside the restaurants.

    `judgements` is keyed by review and aspect; without any (None) `review_text` reads the texts, and
    `review_sentiment` is unknown. `friends` holds for every name those that it shares an edge with.
    """

    judgements: Mapping[tuple[str, str], str] | None = None
    friends: Mapping[str, frozenset[str]] = field(default_factory=dict)


def and_(values: Iterable[Truth]) -> Truth:
    """Not satisfied dominates, then unknown, then satisfied."""
    return min(values, default=SATISFIED)


def or_(values: Iterable[Truth]) -> Truth:
    """Satisfied dominates, then unknown, then not satisfied."""
    return max(values, default=NOT_SATISFIED)


def evaluate(node: Node, candidate: Candidate, background: Background) -> Truth:
    """The value of a whole tree for one restaurant."""
    if isinstance(node, Condition):
        return evaluate_condition(node.evidence, candidate, background)
    values = [evaluate(arg, candidate, background) for arg in node.args]
    return and_(values) if node.op == "AND" else or_(values)


def evaluate_condition(evidence: Evidence, candidate: Candidate, background: Background) -> Truth:
    """The value of one condition for one restaurant."""
    match evidence:
        case ItemMeta():
            return _item_meta(evidence, candidate.business)
        case ItemHours():
            return _item_hours(evidence, candidate.business)
        case ReviewText():
            return _review_text(evidence, candidate.reviews, background)
        case ReviewMeta():
            return _review_meta(evidence, candidate.reviews)
        case GroupRating():
            return _group_rating(evidence, candidate.reviews)
        case NotOnlyEasyRaters():
            return _not_only_easy_raters(evidence, candidate.reviews)
        case Sentiment():
            return _sentiment(evidence, candidate.reviews, background)
        case SocialRating():
            return _social_rating(evidence, candidate.reviews, background)


def _truth(holds: bool) -> Truth:
    return SATISFIED if holds else NOT_SATISFIED


# Attributes of the restaurant


def _item_meta(evidence: ItemMeta, business: Record) -> Truth:
    """The rules in their order; the first that applies decides."""
    value = value_at(business, evidence.path)
    rules: dict[str, Scalar] = {rule.name: rule.value for rule in evidence.rules}
    if "not_contains" in rules:
        return _truth(value is None or not _contains(value, rules["not_contains"]))
    if "contains" in rules:  # a missing value reads `None`, so that `contains: "none"` finds it
        return _truth(_contains(value, rules["contains"]))
    if "not_true" in rules:
        return _truth(value is None or not _matches(value, rules["not_true"]))
    if value is None:
        return cast(Truth, rules.get("missing", UNKNOWN))
    if _is_flags(value):
        return _truth(any(value.values()))
    compared = rules.keys() & {"true", "false", "neutral"}
    if not compared:
        return _truth(value) if isinstance(value, bool) else UNKNOWN
    if compared == {"false"}:
        return _truth(not _matches(value, rules["false"]))
    if compared == {"true"}:
        return _truth(_matches(value, rules["true"]))
    outcomes: tuple[tuple[str, Truth], ...] = (("true", SATISFIED), ("false", NOT_SATISFIED), ("neutral", UNKNOWN))
    return next((truth for name, truth in outcomes if name in compared and _matches(value, rules[name])), UNKNOWN)


def _is_flags(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(isinstance(flag, bool) for flag in value.values())


def _contains(value: Any, expected: Scalar) -> bool:
    return str(expected).casefold() in str(value).casefold()


def _matches(value: Any, expected: Scalar) -> bool:
    """Equal, or the expected text occurs in the value's; the expected one may be written as Yelp writes it."""
    meant = parse_attribute(expected) if isinstance(expected, str) else expected
    return _contains(value, str(meant))


def _item_hours(evidence: ItemHours, business: Record) -> Truth:
    hours = _HOURS.fullmatch(str(value_at(business, evidence.path)))
    if hours is None:
        return UNKNOWN
    opens, closes = (int(hours[i]) * 60 + int(hours[i + 1]) for i in (1, 3))
    return _truth(opens <= evidence.start and _end(evidence.start, evidence.end) <= _end(opens, closes))


def _end(start: int, end: int) -> int:
    """An end before its start is on the next day."""
    return end + _DAY if end < start else end


# Reviews


def _review_text(evidence: ReviewText, reviews: Sequence[Record], background: Background) -> Truth:
    if not reviews and evidence.social_filter is None:
        return UNKNOWN
    reviews = within(evidence.social_filter, reviews, background)
    matching = [review for review in reviews if matches_pattern(review, evidence, background)]
    if evidence.weight is not None:
        least = credible_from(evidence.weight, reviews)
        if len(credible(evidence.weight, least, matching)) < evidence.weight.min_credible_matches:
            return NOT_SATISFIED
    return _truth(len(matching) >= evidence.min_matches)


def matches_pattern(review: Record, evidence: ReviewText, background: Background) -> bool:
    """Whether a review says it: as it was judged, where judgements are given, else by its text."""
    if background.judgements is not None:
        return judgement(review, evidence.pattern, background) == "positive"
    return re.search(evidence.source, review["text"], re.IGNORECASE) is not None


def judgement(review: Record, aspect: str, background: Background) -> str:
    """How a review was judged on an aspect; one that was not recorded does not mention it."""
    return (background.judgements or {}).get((review["review_id"], aspect), "not_mentioned")


def credible_from(weight: Weight, reviews: Sequence[Record]) -> float | None:
    """From what value on a user is credible: the one at the percentile's rank among those that are not 0."""
    values = sorted(value for review in reviews if (value := _weight(weight, review)) != 0)
    rank = int(len(values) * weight.percentile / 100)
    return values[min(rank, len(values) - 1)] if values else None


def credible(weight: Weight, least: float | None, reviews: Sequence[Record]) -> list[Record]:
    """The reviews by users of that weight or more; none where no user has any weight."""
    return [review for review in reviews if least is not None and _weight(weight, review) >= least]


def _weight(weight: Weight, review: Record) -> float:
    """A number is itself; a list, or a text with commas such as Yelp's elite years, counts its entries."""
    value = field_at(review, weight.field)
    if isinstance(value, int | float):
        return float(value)
    entries = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return float(sum(is_filled(entry) for entry in entries))


def field_at(review: Record, path: Path) -> Any:
    """The value at a path of a review, as it stands there; None where there is none."""
    found: Any = review
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def is_filled(value: Any) -> bool:
    """Whether there is something: neither nothing, 0, False, an empty text, `None` as a text, nor a list of these."""
    if isinstance(value, list):
        return any(is_filled(entry) for entry in value)
    return bool(value) and value != "None"


def _review_meta(evidence: ReviewMeta, reviews: Sequence[Record]) -> Truth:
    if not reviews:
        return UNKNOWN
    met, counted = meeting(evidence, reviews)
    if evidence.agg == "all":
        return _truth(0 < met == counted)
    return _truth(met >= (evidence.count if evidence.agg == "count" else 1))


def meeting(evidence: ReviewMeta, reviews: Sequence[Record]) -> tuple[int, int]:
    """How many reviews meet the test, and how many have the stars to be counted at all."""
    counted = [r for r in reviews if evidence.min_stars is None or _stars(r) >= evidence.min_stars]
    return sum(_meets(evidence, field_at(review, evidence.path)) for review in counted), len(counted)


def _meets(evidence: ReviewMeta, value: Any) -> bool:
    return is_filled(value) if evidence.op == "not_empty" else compares(value, evidence.op, evidence.value)


def compares(value: Any, operator: Ordering, other: Any) -> bool:
    """Numbers with numbers, texts with texts (dates too); anything else compares with nothing."""
    if not (_is_number(value) and _is_number(other)) and not (isinstance(value, str) and isinstance(other, str)):
        return False
    outcomes: dict[Ordering, bool] = {
        "gte": value >= other,
        "gt": value > other,
        "lte": value <= other,
        "lt": value < other,
        "eq": value == other,
        "ne": value != other,
    }
    return outcomes[operator]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _stars(review: Record) -> float:
    """A review without stars gives none."""
    return review.get("stars") or 0.0


def average_stars(reviews: Sequence[Record]) -> float | None:
    """Of those reviews that have stars; None where there are none."""
    stars = [review["stars"] for review in reviews if review.get("stars") is not None]
    return sum(stars) / len(stars) if stars else None


def _group_rating(evidence: GroupRating, reviews: Sequence[Record]) -> Truth:
    group = [r for r in reviews if compares(field_at(r, evidence.field), evidence.operator, evidence.value)]
    metric = float(len(group)) if evidence.metric == "count" else average_stars(group)
    return _truth(bool(group) and compares(metric, evidence.comparison, evidence.threshold))


def _not_only_easy_raters(evidence: NotOnlyEasyRaters, reviews: Sequence[Record]) -> Truth:
    generous, harsh = raters(reviews)
    high = generous is not None and generous >= evidence.generous_avg_gte
    low = harsh is not None and harsh < evidence.harsh_avg_lt
    return _truth(not (high and low))


def raters(reviews: Sequence[Record]) -> tuple[float | None, float | None]:
    """The average stars that easy raters give, and those that harsh ones give."""
    usual = ("user", "average_stars")
    generous = [review for review in reviews if compares(field_at(review, usual), "gte", GENEROUS)]
    harsh = [review for review in reviews if compares(field_at(review, usual), "lt", HARSH)]
    return average_stars(generous), average_stars(harsh)


def _sentiment(evidence: Sentiment, reviews: Sequence[Record], background: Background) -> Truth:
    if background.judgements is None:
        return UNKNOWN
    judged = [judgement(r, evidence.topic, background) for r in within(evidence.social_filter, reviews, background)]
    positive, negative = judged.count("positive"), judged.count("negative")
    if evidence.sentiment == "negative":
        return _truth(negative >= evidence.min_matches)
    return _truth(positive >= evidence.min_matches and positive > negative)


def _social_rating(evidence: SocialRating, reviews: Sequence[Record], background: Background) -> Truth:
    liked = [r for r in within(evidence.social_filter, reviews, background) if _stars(r) >= evidence.min_stars]
    return _truth(len(liked) >= evidence.min_matches)


# Circles of friends


def within(social_filter: SocialFilter | None, reviews: Sequence[Record], background: Background) -> Sequence[Record]:
    """The reviews by people of a circle; all of them where there is none."""
    if social_filter is None:
        return reviews
    people = circle_of(social_filter, background.friends)
    return [review for review in reviews if field_at(review, ("user", "name")) in people]


def circle_of(social_filter: SocialFilter, friends: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The friends themselves and everybody that is so many edges from one of them, or fewer."""
    people = frozenset(social_filter.friends)
    for _ in range(social_filter.hops):
        people = people.union(*(friends.get(person, frozenset()) for person in people))
    return people


def friends_of(graph: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    """A graph with its edges read from either end."""
    found: dict[str, set[str]] = {}
    for person, others in graph.items():
        for other in others:
            found.setdefault(person, set()).add(other)
            found.setdefault(other, set()).add(person)
    return {person: frozenset(others) for person, others in found.items()}
