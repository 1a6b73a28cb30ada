"""Convert restaurants with their reviews, recorded judgements and social graphs from JSON for the evaluation of requests.

Standard library only: the functions are copied unchanged into generated modules.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from formulaseed.errors import DataError
from formulaseed.language.json_values import JsonObject, JsonValue, _quote, _why_incomparable

_REVIEW_TEXT_CHARACTERS = 100_000


class Restaurant(NamedTuple):
    """A restaurant: the fields of its business object, and its reviews."""

    business: JsonObject
    reviews: tuple[JsonObject, ...]


class Background(NamedTuple):
    """The data that is shared by all restaurants.

    `judgements` is keyed by review and aspect; if it is None, patterns are matched with the texts of reviews. `friends`
    maps each name to the names that it shares an edge with.
    """

    judgements: Mapping[tuple[str, str], str] | None = None
    friends: Mapping[str, frozenset[str]] | None = None


def parse_restaurant(record: JsonObject, reviews: Sequence[JsonObject] = ()) -> Restaurant:
    """Convert a restaurant from JSON, with the reviews in `record` followed by `reviews`.

    The fields of the business are under `business` or on the top level. Raises `DataError` for a value or a review that
    cannot be used.
    """
    nested_fields = record.get("business")
    fields = nested_fields if isinstance(nested_fields, dict) else {}
    nested_reviews = record.get("reviews")
    own_reviews = nested_reviews if isinstance(nested_reviews, list) else []
    business = {**record, **fields}
    for name, value in business.items():
        if value is not fields and value is not own_reviews and _why_incomparable(value):
            raise DataError(f"`{name}` {_why_incomparable(value)}")
    all_reviews: list[JsonValue] = list(own_reviews)
    all_reviews += reviews
    return Restaurant(business, tuple(_check_review(review, index) for index, review in enumerate(all_reviews)))


def parse_background(judgements: Sequence[JsonObject] | None = None, social: JsonObject | None = None) -> Background:
    """Convert recorded judgements and a social graph, whose edges count in both directions.

    Raises `DataError` for a judgement without a review, an aspect or a value.
    """
    if judgements is None:
        return Background(None, _parse_friends(social))
    values: dict[tuple[str, str], str] = {}
    for index, record in enumerate(judgements):
        review_id = record.get("review_id")
        aspect = record.get("aspect")
        judgement = record.get("judgement")
        if not (isinstance(review_id, str) and isinstance(aspect, str) and isinstance(judgement, str)):
            raise DataError(f"`judgements[{index}]` must have the strings `review_id`, `aspect` and `judgement`")
        values[review_id, aspect] = judgement
    return Background(values, _parse_friends(social))


def _parse_friends(social: JsonObject | None) -> dict[str, frozenset[str]]:
    """Return the neighbours of each name in `friend_graph`; empty without a graph."""
    friends: dict[str, frozenset[str]] = {}
    graph = social.get("friend_graph") if social is not None else None
    for person, neighbours in graph.items() if isinstance(graph, dict) else ():
        for neighbour in neighbours if isinstance(neighbours, list) else ():
            if isinstance(neighbour, str):
                friends[person] = friends.get(person, frozenset()) | {neighbour}
                friends[neighbour] = friends.get(neighbour, frozenset()) | {person}
    return friends


def _check_review(review: JsonValue, index: int) -> JsonObject:
    """Return the review. Raises `DataError` if it is not an object, or a field that is read has the wrong type."""
    if not isinstance(review, dict):
        raise DataError(f"`reviews[{index}]` must be an object, not {_quote(review)}")
    if not isinstance(review.get("review_id"), str):
        raise DataError(f"`reviews[{index}].review_id` must be a string, not {_quote(review.get('review_id'))}")
    if not isinstance(review.get("text"), str):
        raise DataError(f"`reviews[{index}].text` must be a string, not {_quote(review.get('text'))}")
    if len(_review_text(review)) > _REVIEW_TEXT_CHARACTERS:
        raise DataError(f"`reviews[{index}].text` has more than {_REVIEW_TEXT_CHARACTERS} characters")
    stars = review.get("stars")
    if stars is not None and (isinstance(stars, bool) or not isinstance(stars, int | float)):
        raise DataError(f"`reviews[{index}].stars` must be a number, not {_quote(stars)}")
    person = _value_at(review, ("user", "name"))
    if person is not None and not isinstance(person, str):
        raise DataError(f"`reviews[{index}].user.name` must be a string, not {_quote(person)}")
    for name, value in review.items():
        if _why_incomparable(value):
            raise DataError(f"`reviews[{index}].{name}` {_why_incomparable(value)}")
    return review


def _value_at(review: JsonObject, path: tuple[str, ...]) -> JsonValue:
    """Return the value at `path` of a review; None if there is none."""
    value: JsonValue = review
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _review_text(review: JsonObject) -> str:
    text = review.get("text")
    return text if isinstance(text, str) else ""
