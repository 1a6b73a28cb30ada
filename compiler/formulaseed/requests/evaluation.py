"""Evaluate each kind of evidence for one restaurant.

In: a restaurant and the background, as `records` converts them, and the parts of a piece of evidence.
Out: 1 (satisfied), 0 (unknown) or -1 (not satisfied). Standard library only: the functions are copied unchanged into
generated modules, and `explain` calls those that select and count reviews. No data is executed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from formulaseed.ir.attributes import _attribute_at_path, _read_attribute
from formulaseed.language.json_values import JsonObject, JsonValue
from formulaseed.requests.records import Background, Restaurant, _review_text, _value_at

Truth: TypeAlias = Literal[-1, 0, 1]
Scalar: TypeAlias = "str | int | float | bool | None"
Path: TypeAlias = tuple[str, ...]
SocialFilter: TypeAlias = tuple[tuple[str, ...], int]
Weight: TypeAlias = tuple[Path, float, int]

_HOURS_PATTERN = r"\s*([0-9]{1,2}):([0-9]{1,2})\s*-\s*([0-9]{1,2}):([0-9]{1,2})\s*"
_OUTCOMES: Mapping[str, Truth] = {"true": 1, "false": -1, "neutral": 0}


def _truth(holds: bool) -> Truth:
    """Return 1 (satisfied) for True, -1 (not satisfied) for False."""
    return 1 if holds else -1


def _check_attribute(restaurant: Restaurant, path: Path, **rules: Scalar) -> Truth:
    """Check the value at `path` against the first of `rules` that applies, in the order of this function.

    A missing value is unknown, unless the rule `missing` is 1 or -1. An object of flags is satisfied by one that is true.
    """
    value = _attribute_at_path(restaurant.business, path)
    if "not_contains" in rules:
        return _truth(value is None or not _contains(value, rules["not_contains"]))
    if "contains" in rules:
        return _truth(_contains(value, rules["contains"]))
    if "not_true" in rules:
        return _truth(value is None or not _matches(value, rules["not_true"]))
    if value is None:
        missing = rules.get("missing", 0)
        return _truth(missing == 1) if missing in (1, -1) else 0
    if isinstance(value, dict) and value and all(isinstance(flag, bool) for flag in value.values()):
        return _truth(any(value.values()))
    return _check_expected(value, rules)


def _check_expected(value: JsonValue, rules: Mapping[str, Scalar]) -> Truth:
    """Return the outcome of the first of the rules `true`, `false` and `neutral` that `value` matches.

    A value that matches none is the opposite of a rule `true` or `false` that is alone, otherwise unknown.
    """
    names = [name for name in _OUTCOMES if name in rules]
    if not names:
        return _truth(value) if isinstance(value, bool) else 0
    for name in names:
        if _matches(value, rules[name]):
            return _OUTCOMES[name]
    if names == ["false"]:
        return 1
    return -1 if names == ["true"] else 0


def _contains(value: JsonValue, expected: JsonValue) -> bool:
    """Return True if the text of `expected` is part of that of `value`, case ignored."""
    return str(expected).casefold() in str(value).casefold()


def _matches(value: JsonValue, expected: Scalar) -> bool:
    """Return True if `value` contains `expected`, which may be written as Yelp writes attributes."""
    return _contains(value, _read_attribute(expected) if isinstance(expected, str) else expected)


def _check_hours(restaurant: Restaurant, path: Path, start: int, end: int) -> Truth:
    """Check that the opening hours at `path` contain a range; unknown if there are none.

    `start` and `end` are minutes after midnight. An end before its start is on the next day.
    """
    hours = re.fullmatch(_HOURS_PATTERN, str(_attribute_at_path(restaurant.business, path)))
    if hours is None:
        return 0
    opens = int(hours[1]) * 60 + int(hours[2])
    closes = int(hours[3]) * 60 + int(hours[4])
    closes += 1440 if closes < opens else 0
    range_end = end + 1440 if end < start else end
    return _truth(opens <= start and range_end <= closes)


def _check_review_text(
    restaurant: Restaurant,
    background: Background,
    aspect: str,
    min_matches: int = 1,
    social_filter: SocialFilter | None = None,
    weight: Weight | None = None,
    pattern: str | None = None,
) -> Truth:
    """Check that enough reviews match a pattern, or were judged positive on it as an aspect.

    `pattern` is an equivalent of `aspect` that runs faster, or None. Unknown without any reviews, if `social_filter` is
    None. `weight` requires that enough of the matches are by credible users.
    """
    if not restaurant.reviews and social_filter is None:
        return 0
    reviews = _filter_by_people(restaurant.reviews, social_filter, background)
    matches = _find_matches(reviews, background, aspect, aspect if pattern is None else pattern)
    if weight is not None:
        credible = _find_credible(matches, weight, _credibility_bound(reviews, weight))
        if len(credible) < weight[2]:
            return -1
    return _truth(len(matches) >= min_matches)


def _find_matches(reviews: Sequence[JsonObject], background: Background, aspect: str, pattern: str) -> list[JsonObject]:
    """Return the reviews judged positive on `aspect` or, without judgements, those that match `pattern`, case ignored."""
    if background.judgements is not None:
        return [review for review in reviews if _judgement(review, aspect, background) == "positive"]
    search = re.compile(pattern, re.IGNORECASE).search
    return [review for review in reviews if search(_review_text(review)) is not None]


def _credibility_bound(reviews: Sequence[JsonObject], weight: Weight) -> float | None:
    """Return the weight from which a user is credible: the percentile of the weights other than 0; None without any."""
    path, percentile, _ = weight
    all_weights = sorted(_weigh(_value_at(review, path)) for review in reviews)
    weights = [value for value in all_weights if value != 0]
    return weights[min(int(len(weights) * percentile / 100), len(weights) - 1)] if weights else None


def _find_credible(reviews: Sequence[JsonObject], weight: Weight, bound: float | None) -> list[JsonObject]:
    """Return the reviews by users whose weight is at least `bound`; none if it is None."""
    return [review for review in reviews if bound is not None and _weigh(_value_at(review, weight[0])) >= bound]


def _weigh(value: JsonValue) -> float:
    """Return a number as it is, and the number of entries of a list or of a string with commas; otherwise 0."""
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        return float(sum(1 for entry in value.split(",") if _is_filled(entry)))
    return float(sum(1 for entry in value if _is_filled(entry))) if isinstance(value, list) else 0.0


def _is_filled(value: JsonValue) -> bool:
    """Return False for null, 0, False, an empty string or object, the string `None`, and lists of nothing else."""
    if isinstance(value, list):
        return any(_is_filled(entry) for entry in value)
    return bool(value) and value != "None"


def _check_review_meta(
    restaurant: Restaurant,
    path: Path,
    operator: str,
    value: Scalar,
    quantifier: str,
    count: int = 1,
    min_stars: float | None = None,
) -> Truth:
    """Check that reviews with enough stars meet a test at `path`; unknown without reviews.

    `quantifier` is `any`, `all` or `count`, for at least `count` of them.
    """
    if not restaurant.reviews:
        return 0
    meeting, counted = _count_meeting(restaurant, path, operator, value, min_stars)
    if quantifier == "all":
        return _truth(0 < meeting == counted)
    return _truth(meeting >= (count if quantifier == "count" else 1))


def _count_meeting(
    restaurant: Restaurant, path: Path, operator: str, value: Scalar, min_stars: float | None
) -> tuple[int, int]:
    """Return how many of the reviews with at least `min_stars` meet the test, and how many there are."""
    counted = [review for review in restaurant.reviews if min_stars is None or _stars(review) >= min_stars]
    entries = [_value_at(review, path) for review in counted]
    if operator == "not_empty":
        return sum(1 for entry in entries if _is_filled(entry)), len(counted)
    return sum(1 for entry in entries if _compare(entry, operator, value)), len(counted)


def _check_group_rating(
    restaurant: Restaurant, path: Path, operator: str, value: Scalar, metric: str, comparison: str, threshold: float
) -> Truth:
    """Compare the number or the average stars of the reviews that pass a filter with `threshold`.

    Not satisfied if no review passes the filter.
    """
    group = _find_group(restaurant, path, operator, value)
    measure = float(len(group)) if metric == "count" else _average_stars(group)
    return _truth(bool(group) and _compare(measure, comparison, threshold))


def _find_group(restaurant: Restaurant, path: Path, operator: str, value: Scalar) -> list[JsonObject]:
    """Return the reviews whose value at `path` compares with `value`."""
    return [review for review in restaurant.reviews if _compare(_value_at(review, path), operator, value)]


def _check_raters(restaurant: Restaurant, generous_from: float, harsh_below: float) -> Truth:
    """Return -1 if easy raters rate the restaurant high while harsh ones rate it low, otherwise 1."""
    generous, harsh = _average_by_raters(restaurant)
    is_easy = generous is not None and generous >= generous_from and harsh is not None and harsh < harsh_below
    return _truth(not is_easy)


def _average_by_raters(restaurant: Restaurant) -> tuple[float | None, float | None]:
    """Return the average stars by users who average 4.0 or more, and by users who average under 3.5."""
    path = ("user", "average_stars")
    generous = _average_stars(_find_group(restaurant, path, "gte", 4.0))
    return generous, _average_stars(_find_group(restaurant, path, "lt", 3.5))


def _check_sentiment(
    restaurant: Restaurant,
    background: Background,
    topic: str,
    sentiment: str,
    min_matches: int = 1,
    social_filter: SocialFilter | None = None,
) -> Truth:
    """Check that enough reviews were judged so on `topic`; unknown without judgements.

    Positive judgements must also outnumber negative ones.
    """
    if background.judgements is None:
        return 0
    reviews = _filter_by_people(restaurant.reviews, social_filter, background)
    positive, negative = _count_judgements(reviews, background, topic)
    if sentiment == "negative":
        return _truth(negative >= min_matches)
    return _truth(positive >= min_matches and positive > negative)


def _count_judgements(reviews: Sequence[JsonObject], background: Background, topic: str) -> tuple[int, int]:
    """Return how many reviews were judged positive on `topic`, and how many negative."""
    judgements = [_judgement(review, topic, background) for review in reviews]
    positive = sum(1 for judgement in judgements if judgement == "positive")
    return positive, sum(1 for judgement in judgements if judgement == "negative")


def _check_social_rating(
    restaurant: Restaurant, background: Background, min_stars: float, min_matches: int, social_filter: SocialFilter
) -> Truth:
    """Check that enough reviews by the people of `social_filter` have at least `min_stars`."""
    reviews = _filter_by_people(restaurant.reviews, social_filter, background)
    return _truth(len(_filter_by_stars(reviews, min_stars)) >= min_matches)


def _filter_by_stars(reviews: Sequence[JsonObject], min_stars: float) -> list[JsonObject]:
    """Return the reviews with at least `min_stars`."""
    return [review for review in reviews if _stars(review) >= min_stars]


def _filter_by_people(
    reviews: Sequence[JsonObject], social_filter: SocialFilter | None, background: Background
) -> Sequence[JsonObject]:
    """Return the reviews by the friends of `social_filter` and those up to its hops from them; all if it is None."""
    if social_filter is None:
        return reviews
    people = set(social_filter[0])
    for _ in range(social_filter[1]):
        people |= {friend for person in people for friend in (background.friends or {}).get(person, ())}
    return [review for review in reviews if _value_at(review, ("user", "name")) in people]


def _stars(review: JsonObject) -> float:
    """Return the stars of a review; 0 if it has none."""
    stars = review.get("stars")
    return float(stars) if isinstance(stars, int | float) else 0.0


def _average_stars(reviews: Sequence[JsonObject]) -> float | None:
    """Return the average of the reviews that have stars; None if none has."""
    stars = [_stars(review) for review in reviews if review.get("stars") is not None]
    return sum(stars) / len(stars) if stars else None


def _judgement(review: JsonObject, aspect: str, background: Background) -> str:
    """Return the recorded judgement on `aspect`; `not_mentioned` if there is none."""
    return (background.judgements or {}).get((str(review.get("review_id")), aspect), "not_mentioned")


def _compare(value: JsonValue, operator: str, other: Scalar) -> bool:
    """Return True if `value operator other` holds; False unless both are numbers, or both are strings such as dates."""
    if isinstance(value, bool) or isinstance(other, bool):
        return False
    if isinstance(value, int | float) and isinstance(other, int | float):
        return _apply_operator(operator, value < other, value == other)
    if isinstance(value, str) and isinstance(other, str):
        return _apply_operator(operator, value < other, value == other)
    return False


def _apply_operator(operator: str, is_less: bool, is_equal: bool) -> bool:
    """Return True if `operator` holds for a value that is less than, equal to or greater than another."""
    if operator in ("eq", "ne"):
        return is_equal is (operator == "eq")
    if is_equal:
        return operator in ("gte", "lte")
    return is_less is (operator in ("lt", "lte"))


def and_(*values: Truth) -> Truth:
    """Return the minimum: 1 if all values are 1, -1 if one is -1."""
    return min(values)


def or_(*values: Truth) -> Truth:
    """Return the maximum: 1 if one value is 1, -1 if all are -1."""
    return max(values)
