"""How each kind of evidence is evaluated for one restaurant: the one implementation.

In: a restaurant and what is known besides, as `parse_restaurant` and `parse_background` give them, and the parts of a
piece of evidence. Out: 1 (satisfied), 0 (unknown) or -1 (not satisfied). Standard library only: the functions are copied
as they are into generated modules, and `explain` calls them for what they look at. Nothing of the data is executed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from formulaseed.errors import DataError
from formulaseed.ir.attributes import _attribute_at_path, _read_attribute
from formulaseed.language.json_values import JsonObject, JsonValue, _quote, _why_incomparable

Truth: TypeAlias = Literal[-1, 0, 1]
Scalar: TypeAlias = "str | int | float | bool | None"
Path: TypeAlias = tuple[str, ...]
SocialFilter: TypeAlias = tuple[tuple[str, ...], int]
Weight: TypeAlias = tuple[Path, float, int]

_REVIEW_TEXT_CHARACTERS = 100_000
_HOURS = r"\s*([0-9]{1,2}):([0-9]{1,2})\s*-\s*([0-9]{1,2}):([0-9]{1,2})\s*"


class Restaurant(NamedTuple):
    """A restaurant: the fields of its business object, and its reviews."""

    business: JsonObject
    reviews: tuple[JsonObject, ...]


class Background(NamedTuple):
    """What is known beside the restaurants.

    `judgements` is keyed by review and aspect; without any, review texts are read. `friends` holds for every name
    those that it shares an edge with.
    """

    judgements: Mapping[tuple[str, str], str] | None = None
    friends: Mapping[str, frozenset[str]] | None = None


def parse_restaurant(record: JsonObject, reviews: Sequence[JsonObject] = ()) -> Restaurant:
    """A restaurant from its JSON: business fields under `business` or on the top level, reviews inside or beside."""
    inner, own = record.get("business"), record.get("reviews")
    fields, listed = inner if isinstance(inner, dict) else {}, own if isinstance(own, list) else []
    business = {**record, **fields}
    for name, value in business.items():
        if value is not fields and value is not listed and _why_incomparable(value):
            raise DataError(f"`{name}` {_why_incomparable(value)}")
    found: list[JsonValue] = list(listed)
    found += reviews
    return Restaurant(business, tuple(_review(review, place) for place, review in enumerate(found)))


def parse_background(judgements: Sequence[JsonObject] | None = None, social: JsonObject | None = None) -> Background:
    """Recorded judgements, and a social graph whose edges are read from either end."""
    judged: dict[tuple[str, str], str] | None = None
    if judgements is not None:
        judged = {}
        for place, line in enumerate(judgements):
            review_id, aspect, judgement = line.get("review_id"), line.get("aspect"), line.get("judgement")
            if not (isinstance(review_id, str) and isinstance(aspect, str) and isinstance(judgement, str)):
                raise DataError(f"`judgements[{place}]` must have the strings `review_id`, `aspect` and `judgement`")
            judged[review_id, aspect] = judgement
    friends: dict[str, frozenset[str]] = {}
    graph = social.get("friend_graph") if social is not None else None
    for person, others in graph.items() if isinstance(graph, dict) else ():
        for other in others if isinstance(others, list) else ():
            if isinstance(other, str):
                friends[person] = friends.get(person, frozenset()) | {other}
                friends[other] = friends.get(other, frozenset()) | {person}
    return Background(judged, friends)


def _review(review: JsonValue, place: int) -> JsonObject:
    if not isinstance(review, dict):
        raise DataError(f"`reviews[{place}]` must be an object, not {_quote(review)}")
    if not isinstance(review.get("review_id"), str):
        raise DataError(f"`reviews[{place}].review_id` must be a string, not {_quote(review.get('review_id'))}")
    if not isinstance(review.get("text"), str):
        raise DataError(f"`reviews[{place}].text` must be a string, not {_quote(review.get('text'))}")
    if len(_text_of(review)) > _REVIEW_TEXT_CHARACTERS:
        raise DataError(f"`reviews[{place}].text` has more than {_REVIEW_TEXT_CHARACTERS} characters")
    stars = review.get("stars")
    if stars is not None and (isinstance(stars, bool) or not isinstance(stars, int | float)):
        raise DataError(f"`reviews[{place}].stars` must be a number, not {_quote(stars)}")
    person = _at(review, ("user", "name"))
    if person is not None and not isinstance(person, str):
        raise DataError(f"`reviews[{place}].user.name` must be a string, not {_quote(person)}")
    for name, value in review.items():
        if _why_incomparable(value):
            raise DataError(f"`reviews[{place}].{name}` {_why_incomparable(value)}")
    return review


def _truth(holds: bool) -> Truth:
    return 1 if holds else -1


def _attribute(place: Restaurant, path: Path, **rules: Scalar) -> Truth:
    """Whether the value at a path meets the rules, which are tried in their order."""
    value = _attribute_at_path(place.business, path)
    if "not_contains" in rules:
        return _truth(value is None or not _contains(value, rules["not_contains"]))
    if "contains" in rules:
        return _truth(_contains(value, rules["contains"]))
    if "not_true" in rules:
        return _truth(value is None or not _matches(value, rules["not_true"]))
    if value is None:
        missing = rules.get("missing", 0)
        return 1 if missing == 1 else -1 if missing == -1 else 0
    if isinstance(value, dict) and value and all(isinstance(flag, bool) for flag in value.values()):
        return _truth(any(value.values()))
    compared = [name for name in ("true", "false", "neutral") if name in rules]
    if not compared:
        return _truth(value) if isinstance(value, bool) else 0
    if compared == ["false"]:
        return _truth(not _matches(value, rules["false"]))
    for name in compared:
        if _matches(value, rules[name]):
            return 1 if name == "true" else -1 if name == "false" else 0
    return -1 if compared == ["true"] else 0


def _contains(value: JsonValue, expected: Scalar) -> bool:
    return str(expected).casefold() in str(value).casefold()


def _matches(value: JsonValue, expected: Scalar) -> bool:
    """Equal, or the expected string occurs in the value's; it may be written as Yelp writes it."""
    wanted = _read_attribute(expected) if isinstance(expected, str) else expected
    return str(wanted).casefold() in str(value).casefold()


def _open_during(place: Restaurant, path: Path, start: int, end: int) -> Truth:
    """Whether the opening hours at a path contain a range, in minutes after midnight; ends may be the next day's."""
    found = re.fullmatch(_HOURS, str(_attribute_at_path(place.business, path)))
    if found is None:
        return 0
    opens = int(found[1]) * 60 + int(found[2])
    closes = int(found[3]) * 60 + int(found[4])
    closes += 1440 if closes < opens else 0
    ends = end + 1440 if end < start else end
    return _truth(opens <= start and ends <= closes)


def _review_text(
    place: Restaurant,
    known: Background,
    aspect: str,
    least: int = 1,
    social_filter: SocialFilter | None = None,
    weight: Weight | None = None,
    pattern: str | None = None,
) -> Truth:
    """Whether enough reviews match a pattern, or were judged positive on it as an aspect.

    The pattern is the aspect, unless it is given in a form that runs faster.
    """
    if not place.reviews and social_filter is None:
        return 0
    reviews = _by(place.reviews, social_filter, known)
    matching = _matching(reviews, known, aspect, aspect if pattern is None else pattern)
    if weight is not None and len(_credible(matching, weight, _credible_from(reviews, weight))) < weight[2]:
        return -1
    return _truth(len(matching) >= least)


def _matching(reviews: Sequence[JsonObject], known: Background, aspect: str, pattern: str) -> list[JsonObject]:
    """The reviews that were judged positive on an aspect or, without judgements, match a pattern, case ignored."""
    if known.judgements is not None:
        return [review for review in reviews if _judged(review, aspect, known) == "positive"]
    search = re.compile(pattern, re.IGNORECASE).search
    return [review for review in reviews if search(_text_of(review)) is not None]


def _credible_from(reviews: Sequence[JsonObject], weight: Weight) -> float | None:
    """The value from which a user is credible: at the percentile of those that are not 0; None without any."""
    path, percentile, _ = weight
    values = sorted(value for value in (_weight(_at(review, path)) for review in reviews) if value != 0)
    return values[min(int(len(values) * percentile / 100), len(values) - 1)] if values else None


def _credible(reviews: Sequence[JsonObject], weight: Weight, bound: float | None) -> list[JsonObject]:
    """The reviews by users of at least this weight; none if no user has any."""
    return [review for review in reviews if bound is not None and _weight(_at(review, weight[0])) >= bound]


def _weight(value: JsonValue) -> float:
    """A number is itself; a list, or a string with commas such as Yelp's elite years, counts its entries."""
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        return float(sum(1 for entry in value.split(",") if _is_filled(entry)))
    return float(sum(1 for entry in value if _is_filled(entry))) if isinstance(value, list) else 0.0


def _is_filled(value: JsonValue) -> bool:
    """Whether there is something: neither nothing, 0, False, an empty string, the string `None`, nor a list of these."""
    if isinstance(value, list):
        return any(_is_filled(entry) for entry in value)
    return bool(value) and value != "None"


def _review_meta(
    place: Restaurant, path: Path, op: str, value: Scalar, agg: str, count: int = 1, min_stars: float | None = None
) -> Truth:
    """Whether reviews of enough stars meet a test at a path: any, all, or so many of them."""
    if not place.reviews:
        return 0
    meeting, counted = _meeting(place, path, op, value, min_stars)
    if agg == "all":
        return _truth(0 < meeting == counted)
    return _truth(meeting >= (count if agg == "count" else 1))


def _meeting(place: Restaurant, path: Path, op: str, value: Scalar, min_stars: float | None) -> tuple[int, int]:
    """How many reviews meet a test, and how many have the stars to be counted."""
    counted = [review for review in place.reviews if min_stars is None or _stars(review) >= min_stars]
    found = [_at(review, path) for review in counted]
    meeting = sum(1 for each in found if (_is_filled(each) if op == "not_empty" else _compares(each, op, value)))
    return meeting, len(counted)


def _group_rating(
    place: Restaurant, path: Path, operator: str, value: Scalar, metric: str, comparison: str, threshold: float
) -> Truth:
    """Whether, of the reviews that pass a filter, the average stars or the number compares with a threshold."""
    group = _group(place, path, operator, value)
    found = float(len(group)) if metric == "count" else _average_stars(group)
    return _truth(bool(group) and _compares(found, comparison, threshold))


def _group(place: Restaurant, path: Path, operator: str, value: Scalar) -> list[JsonObject]:
    """The reviews that pass a filter."""
    return [review for review in place.reviews if _compares(_at(review, path), operator, value)]


def _not_only_easy_raters(place: Restaurant, generous_from: float, harsh_below: float) -> Truth:
    """False if easy raters rate it high while harsh ones rate it low."""
    generous, harsh = _raters(place)
    is_easy = generous is not None and generous >= generous_from and harsh is not None and harsh < harsh_below
    return _truth(not is_easy)


def _raters(place: Restaurant) -> tuple[float | None, float | None]:
    """The average stars by users who average 4.0 or more, and by those who average under 3.5."""
    usual = ("user", "average_stars")
    return _average_stars(_group(place, usual, "gte", 4.0)), _average_stars(_group(place, usual, "lt", 3.5))


def _sentiment(
    place: Restaurant,
    known: Background,
    topic: str,
    sentiment: str,
    least: int = 1,
    social_filter: SocialFilter | None = None,
) -> Truth:
    """Whether enough reviews were judged so on a topic; positive ones must outnumber negative ones too."""
    if known.judgements is None:
        return 0
    positive, negative = _judgements(_by(place.reviews, social_filter, known), known, topic)
    if sentiment == "negative":
        return _truth(negative >= least)
    return _truth(positive >= least and positive > negative)


def _judgements(reviews: Sequence[JsonObject], known: Background, topic: str) -> tuple[int, int]:
    """How many reviews were judged positive, and how many negative."""
    judged = [_judged(review, topic, known) for review in reviews]
    return sum(1 for each in judged if each == "positive"), sum(1 for each in judged if each == "negative")


def _social_rating(
    place: Restaurant, known: Background, min_stars: float, least: int, social_filter: SocialFilter
) -> Truth:
    """Whether enough reviews by these people gave so many stars."""
    return _truth(len(_liked(_by(place.reviews, social_filter, known), min_stars)) >= least)


def _liked(reviews: Sequence[JsonObject], min_stars: float) -> list[JsonObject]:
    return [review for review in reviews if _stars(review) >= min_stars]


def _by(reviews: Sequence[JsonObject], social_filter: SocialFilter | None, known: Background) -> Sequence[JsonObject]:
    """The reviews by the friends and those up to so many hops from them; all without a social filter."""
    if social_filter is None:
        return reviews
    people = set(social_filter[0])
    for _ in range(social_filter[1]):
        people |= {other for person in people for other in (known.friends or {}).get(person, ())}
    return [review for review in reviews if _at(review, ("user", "name")) in people]


def _at(review: JsonObject, path: Path) -> JsonValue:
    """The value at a path of a review; None where there is none."""
    found: JsonValue = review
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _text_of(review: JsonObject) -> str:
    text = review.get("text")
    return text if isinstance(text, str) else ""


def _stars(review: JsonObject) -> float:
    stars = review.get("stars")
    return float(stars) if isinstance(stars, int | float) else 0.0


def _average_stars(reviews: Sequence[JsonObject]) -> float | None:
    """Of those reviews that have stars; None where there are none."""
    stars = [_stars(review) for review in reviews if review.get("stars") is not None]
    return sum(stars) / len(stars) if stars else None


def _judged(review: JsonObject, aspect: str, known: Background) -> str:
    return (known.judgements or {}).get((str(review.get("review_id")), aspect), "not_mentioned")


def _compares(value: JsonValue, operator: str, other: Scalar) -> bool:
    """Numbers with numbers, strings with strings, dates too; anything else compares with nothing."""
    if isinstance(value, bool) or isinstance(other, bool):
        return False
    if isinstance(value, int | float) and isinstance(other, int | float):
        return _ordered(operator, value < other, value == other)
    if isinstance(value, str) and isinstance(other, str):
        return _ordered(operator, value < other, value == other)
    return False


def _ordered(operator: str, is_less: bool, is_equal: bool) -> bool:
    if operator in ("eq", "ne"):
        return is_equal is (operator == "eq")
    if is_equal:
        return operator in ("gte", "lte")
    return is_less is (operator in ("lt", "lte"))


def and_(*values: Truth) -> Truth:
    """All hold: the least of the values."""
    return min(values)


def or_(*values: Truth) -> Truth:
    """One holds: the greatest of the values."""
    return max(values)
