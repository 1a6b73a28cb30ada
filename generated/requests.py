"""requests: 24 requests


Compiled by formulaseed, emission style 2026-11, from examples/requests.jsonl.
Change the requests and compile them again: what is edited here is lost.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias

NAME: Final = "requests"
REQUESTS_SHA256: Final = "b16c5933660463d12cd7320794e302a92c4d2ec3a24c6605fedef442f9087eb4"
BODY_SHA256: Final = "ebe8a5e5a01bf69d1a12944dcb30da06f081ddf4ecaa9f3eadae7f0e39f0020b"


class Evidence:
    """What the requests ask of one restaurant: each piece is computed when it is first asked for, and once."""

    place: Restaurant
    known: Background

    def __init__(self, place: Restaurant, known: Background) -> None:
        self.place = place
        self.known = known

    @cached_property
    def drive_thru(self) -> Truth:
        # evidence: attributes.DriveThru: true 'True'
        return _attribute(self.place, ("attributes", "DriveThru"), true="True")

    @cached_property
    def good_for_kids(self) -> Truth:
        # evidence: attributes.GoodForKids: true 'True'
        return _attribute(self.place, ("attributes", "GoodForKids"), true="True")

    @cached_property
    def no_tv(self) -> Truth:
        # evidence: attributes.HasTV: true 'False'
        return _attribute(self.place, ("attributes", "HasTV"), true="False")

    @cached_property
    def quiet(self) -> Truth:
        # evidence: attributes.NoiseLevel: true "u'quiet'"
        return _attribute(self.place, ("attributes", "NoiseLevel"), true="u'quiet'")

    @cached_property
    def reservations(self) -> Truth:
        # evidence: attributes.RestaurantsReservations: true 'True'
        return _attribute(self.place, ("attributes", "RestaurantsReservations"), true="True")

    @cached_property
    def price_4(self) -> Truth:
        # evidence: attributes.RestaurantsPriceRange2: true '4'
        return _attribute(self.place, ("attributes", "RestaurantsPriceRange2"), true="4")

    @cached_property
    def full_bar(self) -> Truth:
        # evidence: attributes.Alcohol: true "u'full_bar'"
        return _attribute(self.place, ("attributes", "Alcohol"), true="u'full_bar'")

    @cached_property
    def happy_hour(self) -> Truth:
        # evidence: attributes.HappyHour: true 'True'
        return _attribute(self.place, ("attributes", "HappyHour"), true="True")

    @cached_property
    def divey(self) -> Truth:
        # evidence: attributes.Ambience: contains "'divey': True"
        return _attribute(self.place, ("attributes", "Ambience"), contains="'divey': True")

    @cached_property
    def delivery(self) -> Truth:
        # evidence: attributes.RestaurantsDelivery: true 'True'
        return _attribute(self.place, ("attributes", "RestaurantsDelivery"), true="True")

    @cached_property
    def duck_reviews(self) -> Truth:
        # evidence: a review matches roast duck
        return _review_text(self.place, self.known, "roast duck")

    @cached_property
    def cat_dim_sum(self) -> Truth:
        # evidence: categories: contains 'Dim Sum'
        return _attribute(self.place, ("categories",), contains="Dim Sum")

    @cached_property
    def wifi_free(self) -> Truth:
        # evidence: attributes.WiFi: true "u'free'"
        return _attribute(self.place, ("attributes", "WiFi"), true="u'free'")

    @cached_property
    def dogs_allowed(self) -> Truth:
        # evidence: attributes.DogsAllowed: true 'True'
        return _attribute(self.place, ("attributes", "DogsAllowed"), true="True")

    @cached_property
    def chai_reviews(self) -> Truth:
        # evidence: a review matches \bchai\b
        return _review_text(self.place, self.known, "\\bchai\\b")

    @cached_property
    def hours_friday_late(self) -> Truth:
        # evidence: hours.Friday contains 23:00 to 1:00
        return _open_during(self.place, ("hours", "Friday"), 1380, 60)

    @cached_property
    def hours_tuesday_early(self) -> Truth:
        # evidence: hours.Tuesday contains 6:30 to 7:30
        return _open_during(self.place, ("hours", "Tuesday"), 390, 450)

    @cached_property
    def outdoor_seating(self) -> Truth:
        # evidence: attributes.OutdoorSeating: true 'True'
        return _attribute(self.place, ("attributes", "OutdoorSeating"), true="True")

    @cached_property
    def no_reservations(self) -> Truth:
        # evidence: attributes.RestaurantsReservations: true 'False'
        return _attribute(self.place, ("attributes", "RestaurantsReservations"), true="False")

    @cached_property
    def no_alcohol(self) -> Truth:
        # evidence: attributes.Alcohol: contains 'none'
        return _attribute(self.place, ("attributes", "Alcohol"), contains="none")

    @cached_property
    def coffee_by_experts(self) -> Truth:
        # evidence: a review matches coffee|latte|\bchai\b, 2 at or over percentile 50 of user.review_count
        return _review_text(
            self.place, self.known, "coffee|latte|\\bchai\\b", weight=(("user", "review_count"), 50.0, 2)
        )

    @cached_property
    def harsh_avg_gte_4_5(self) -> Truth:
        # evidence: the average stars of reviews with user.average_stars < 3.5 >= 4.5
        return _group_rating(self.place, ("user", "average_stars"), "lt", 3.5, "avg_stars", "gte", 4.5)

    @cached_property
    def beer_and_wine(self) -> Truth:
        # evidence: attributes.Alcohol: contains 'beer_and_wine'
        return _attribute(self.place, ("attributes", "Alcohol"), contains="beer_and_wine")

    @cached_property
    def review_meta_elite(self) -> Truth:
        # evidence: 2 reviews of 4 stars or more: user.elite is filled
        return _review_meta(self.place, ("user", "elite"), "not_empty", None, "count", count=2, min_stars=4.0)

    @cached_property
    def has_tv(self) -> Truth:
        # evidence: attributes.HasTV: true 'True'
        return _attribute(self.place, ("attributes", "HasTV"), true="True")

    @cached_property
    def not_only_easy_raters(self) -> Truth:
        # evidence: not rated 4 or more by easy raters and under 3 by harsh ones
        return _not_only_easy_raters(self.place, 4.0, 3.0)

    @cached_property
    def romantic(self) -> Truth:
        # evidence: attributes.Ambience: contains "'romantic': True"
        return _attribute(self.place, ("attributes", "Ambience"), contains="'romantic': True")

    @cached_property
    def wait_complaints(self) -> Truth:
        # evidence: 3 reviews judged negative on wait
        return _sentiment(self.place, self.known, "wait", "negative", least=3)

    @cached_property
    def valet_parking(self) -> Truth:
        # evidence: attributes.BusinessParking: contains "'valet': True"
        return _attribute(self.place, ("attributes", "BusinessParking"), contains="'valet': True")

    @cached_property
    def cat_southern(self) -> Truth:
        # evidence: categories: contains 'Southern'
        return _attribute(self.place, ("categories",), contains="Southern")

    @cached_property
    def cat_buffets(self) -> Truth:
        # evidence: categories: contains 'Buffets'
        return _attribute(self.place, ("categories",), contains="Buffets")

    @cached_property
    def karaoke_reviews(self) -> Truth:
        # evidence: a review matches karaoke
        return _review_text(self.place, self.known, "karaoke")

    @cached_property
    def cat_food_trucks(self) -> Truth:
        # evidence: categories: contains 'Food Trucks'
        return _attribute(self.place, ("categories",), contains="Food Trucks")

    @cached_property
    def cat_mexican(self) -> Truth:
        # evidence: categories: contains 'Mexican'
        return _attribute(self.place, ("categories",), contains="Mexican")

    @cached_property
    def patio_reviews(self) -> Truth:
        # evidence: a review matches patio
        return _review_text(self.place, self.known, "patio")

    @cached_property
    def cat_pizza(self) -> Truth:
        # evidence: categories: contains 'Pizza'
        return _attribute(self.place, ("categories",), contains="Pizza")

    @cached_property
    def cat_vegan(self) -> Truth:
        # evidence: categories: contains 'Vegan'
        return _attribute(self.place, ("categories",), contains="Vegan")

    @cached_property
    def very_loud(self) -> Truth:
        # evidence: attributes.NoiseLevel: true 'very_loud'
        return _attribute(self.place, ("attributes", "NoiseLevel"), true="very_loud")

    @cached_property
    def cat_thai(self) -> Truth:
        # evidence: categories: contains 'Thai'
        return _attribute(self.place, ("categories",), contains="Thai")

    @cached_property
    def cat_vietnamese(self) -> Truth:
        # evidence: categories: contains 'Vietnamese'
        return _attribute(self.place, ("categories",), contains="Vietnamese")

    @cached_property
    def hipster(self) -> Truth:
        # evidence: attributes.Ambience: contains "'hipster': True"
        return _attribute(self.place, ("attributes", "Ambience"), contains="'hipster': True")

    @cached_property
    def cat_diners(self) -> Truth:
        # evidence: categories: contains 'Diners'
        return _attribute(self.place, ("categories",), contains="Diners")

    @cached_property
    def cat_pubs(self) -> Truth:
        # evidence: categories: contains 'Pubs'
        return _attribute(self.place, ("categories",), contains="Pubs")

    @cached_property
    def price_1(self) -> Truth:
        # evidence: attributes.RestaurantsPriceRange2: true '1'
        return _attribute(self.place, ("attributes", "RestaurantsPriceRange2"), true="1")

    @cached_property
    def cat_barbeque(self) -> Truth:
        # evidence: categories: contains 'Barbeque'
        return _attribute(self.place, ("categories",), contains="Barbeque")

    @cached_property
    def no_wifi(self) -> Truth:
        # evidence: attributes.WiFi: true "u'no'"
        return _attribute(self.place, ("attributes", "WiFi"), true="u'no'")

    @cached_property
    def social_jackfruit(self) -> Truth:
        # evidence: a review by Juno and those 1 hop away judged positive on jackfruit
        return _sentiment(self.place, self.known, "jackfruit", "positive", social_filter=(("Juno",), 1))

    @cached_property
    def price_2(self) -> Truth:
        # evidence: attributes.RestaurantsPriceRange2: true '2'
        return _attribute(self.place, ("attributes", "RestaurantsPriceRange2"), true="2")

    @cached_property
    def social_rating(self) -> Truth:
        # evidence: a review by Vaughn and those 1 hop away gives 4 stars or more
        return _social_rating(self.place, self.known, 4.0, 1, (("Vaughn",), 1))

    @cached_property
    def social_pho(self) -> Truth:
        # evidence: a review by Teo and those 2 hops away matches \bpho\b
        return _review_text(self.place, self.known, "\\bpho\\b", social_filter=(("Teo",), 2))

    @cached_property
    def no_kids(self) -> Truth:
        # evidence: attributes.GoodForKids: true 'False'
        return _attribute(self.place, ("attributes", "GoodForKids"), true="False")

    @cached_property
    def takeout(self) -> Truth:
        # evidence: attributes.RestaurantsTakeOut: true 'True'
        return _attribute(self.place, ("attributes", "RestaurantsTakeOut"), true="True")

    @cached_property
    def social_rating_2(self) -> Truth:
        # evidence: 2 reviews by Skip and those 2 hops away give 4 stars or more
        return _social_rating(self.place, self.known, 4.0, 2, (("Skip",), 2))


def r01(evidence: Evidence) -> Truth:
    """Busy Parent: Both kids are in the back and neither has shoes on, so I would rather order from the car. If we do end up going in, it has to be fine with childre…"""
    return min(evidence.drive_thru, evidence.good_for_kids, evidence.no_tv)


def r02(evidence: Evidence) -> Truth:
    """Anniversary Planner: Ten years this May. Somewhere hushed where I can book a table, and for once I do not care what it costs."""
    return min(evidence.quiet, evidence.reservations, evidence.price_4)


def r03(evidence: Evidence) -> Truth:
    """Off-Duty Line Cook: I get out at four, I want a real drink, and I want it to be happy hour. A dive is a compliment."""
    return min(evidence.full_bar, evidence.happy_hour, evidence.divey)


def r11(evidence: Evidence) -> Truth:
    """Homesick Cousin: Something delivered that tastes like Sunday at my aunt's: carts of dim sum, or at least a place where people rave about the roast duck."""
    return min(evidence.delivery, max(evidence.duck_reviews, evidence.cat_dim_sum))


def r12(evidence: Evidence) -> Truth:
    """Thesis Writer: Nine hours, one laptop, my dog under the table. Free WiFi, and reviews that mention the chai."""
    return min(evidence.wifi_free, evidence.dogs_allowed, evidence.chai_reviews)


def r21(evidence: Evidence) -> Truth:
    """Night Shift Nurse: My shift ends at eleven on Friday and my sister is bringing her two along. A full bar for me, fine with children, and open till one."""
    return min(evidence.hours_friday_late, evidence.full_bar, evidence.good_for_kids)


def r22(evidence: Evidence) -> Truth:
    """Early Commuter: I catch the seven forty on Tuesdays. Open from half past six, somewhere to sit outside, and no reservation for a bun."""
    return min(evidence.hours_tuesday_early, evidence.outdoor_seating, evidence.no_reservations)


def r31(evidence: Evidence) -> Truth:
    """Coffee Purist: Quiet, and no alcohol on the menu. I trust people who have written a lot of reviews, and at least two of them should be talking about the coffee…"""
    return min(evidence.quiet, evidence.no_alcohol, evidence.coffee_by_experts)


def r32(evidence: Evidence) -> Truth:
    """Hard to Please: Quiet, outdoor tables, and even people who rarely give more than three stars should have liked it."""
    return min(evidence.quiet, evidence.outdoor_seating, evidence.harsh_avg_gte_4_5)


def r33(evidence: Evidence) -> Truth:
    """Status Watcher: A table I can reserve, wine or beer only, and a few elite reviewers who gave it four stars or more."""
    return min(evidence.reservations, evidence.beer_and_wine, evidence.review_meta_elite)


def r34(evidence: Evidence) -> Truth:
    """Crowd Reader: Full bar with a TV, and not one of those places that only easy raters love."""
    return min(
        evidence.full_bar,
        evidence.has_tv,
        evidence.outdoor_seating,
        evidence.good_for_kids,
        evidence.not_only_easy_raters,
    )


def r35(evidence: Evidence) -> Truth:
    """Patience Tester: I am writing about waiting. Takes reservations, romantic, and at least three people were angry about the wait."""
    return min(evidence.reservations, evidence.romantic, evidence.wait_complaints)


def r41(evidence: Evidence) -> Truth:
    """Grand Entrance: We booked ahead and we want to arrive in style, or else be surprised: valet parking, a drive-thru or Southern cooking."""
    return min(evidence.reservations, max(evidence.valet_parking, evidence.drive_thru, evidence.cat_southern))


def r42(evidence: Evidence) -> Truth:
    """All You Can Eat: A buffet, a place with karaoke, or a food truck, whatever you find."""
    return max(evidence.cat_buffets, evidence.karaoke_reviews, evidence.cat_food_trucks)


def r51(evidence: Evidence) -> Truth:
    """Rooftop or Bust: Free WiFi in any case. Then either a Mexican place with a patio that people write about, or a pizzeria where one can hear oneself think."""
    return min(
        evidence.wifi_free,
        max(min(evidence.cat_mexican, evidence.patio_reviews), min(evidence.cat_pizza, evidence.quiet)),
    )


def r52(evidence: Evidence) -> Truth:
    """Two Moods: Either romantic and a buffet, or vegan and very loud. There is no in-between today."""
    return max(min(evidence.romantic, evidence.cat_buffets), min(evidence.cat_vegan, evidence.very_loud))


def r61(evidence: Evidence) -> Truth:
    """Soup Person: Thai or Vietnamese, and either quiet or with a hipster touch."""
    return min(max(evidence.cat_thai, evidence.cat_vietnamese), max(evidence.quiet, evidence.hipster))


def r62(evidence: Evidence) -> Truth:
    """Pie at Midnight: A diner or a pub, and either no alcohol at all or truly quiet."""
    return min(max(evidence.cat_diners, evidence.cat_pubs), max(evidence.no_alcohol, evidence.quiet))


def r71(evidence: Evidence) -> Truth:
    """Broke Student: As cheap as it gets. Pizza, or a Thai place that is quiet enough to read."""
    return min(evidence.price_1, max(evidence.cat_pizza, min(evidence.cat_thai, evidence.quiet)))


def r72(evidence: Evidence) -> Truth:
    """Road Tripper: The dog comes along. Barbeque, or a place that is very loud and has no WiFi."""
    return min(evidence.dogs_allowed, max(evidence.cat_barbeque, min(evidence.very_loud, evidence.no_wifi)))


def r81(evidence: Evidence) -> Truth:
    """Juno's Friend: (User: Mo; friends: [Juno]) Juno and her friends know vegan food. Where did one of them like the jackfruit?"""
    return evidence.social_jackfruit


def r82(evidence: Evidence) -> Truth:
    """Nephew of Vaughn: (User: Kit; friends: [Vaughn]) A mid-priced place with outdoor seating that Vaughn or a friend of his gave four stars or more."""
    return min(evidence.price_2, evidence.outdoor_seating, evidence.social_rating)


def r91(evidence: Evidence) -> Truth:
    """New in Town: (User: Lee; friends: [Teo]) Word of mouth: no alcohol, and somebody in my circle writes about the pho."""
    return min(evidence.no_alcohol, evidence.social_pho)


def r92(evidence: Evidence) -> Truth:
    """Friend of a Friend: (User: Ray; friends: [Skip]) I only trust people I could phone. No children, takeout, and two of them rated it well."""
    return min(evidence.no_kids, evidence.takeout, evidence.social_rating_2)


REQUESTS: Final[dict[str, Callable[[Evidence], Truth]]] = {
    "R01": r01,
    "R02": r02,
    "R03": r03,
    "R11": r11,
    "R12": r12,
    "R21": r21,
    "R22": r22,
    "R31": r31,
    "R32": r32,
    "R33": r33,
    "R34": r34,
    "R35": r35,
    "R41": r41,
    "R42": r42,
    "R51": r51,
    "R52": r52,
    "R61": r61,
    "R62": r62,
    "R71": r71,
    "R72": r72,
    "R81": r81,
    "R82": r82,
    "R91": r91,
    "R92": r92,
}

GOLD: Final[dict[str, str]] = {
    "R01": "marigold-bakehouse",
    "R02": "kitsune-counter",
    "R03": "rusty-anchor",
    "R11": "golden-carp",
    "R12": "desert-bloom",
    "R21": "golden-carp",
    "R22": "marigold-bakehouse",
    "R31": "desert-bloom",
    "R32": "saigon-lantern",
    "R33": "saffron-junction",
    "R34": "farol-azul",
    "R35": "nonna-pia",
    "R41": "nonna-pia",
    "R42": "saffron-junction",
    "R51": "farol-azul",
    "R52": "saffron-junction",
    "R61": "saigon-lantern",
    "R62": "hanks-blue-plate",
    "R71": "slice-parade",
    "R72": "boulevard-smoke",
    "R81": "desert-bloom",
    "R82": "boulevard-smoke",
    "R91": "saigon-lantern",
    "R92": "rusty-anchor",
}


def evaluate(place: Restaurant, known: Background) -> dict[str, Truth]:
    """Every request's value for one restaurant, by its id: 1 satisfied, 0 unknown, -1 not satisfied."""
    evidence = Evidence(place, known)
    return {name: request(evidence) for name, request in REQUESTS.items()}


JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]


def _shown(value: JsonValue) -> str:
    """Quote the beginning of a value; Python prints neither integers of 5,000 digits nor lists 1,000 deep."""
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):
        return "an integer of thousands of digits" if isinstance(value, int) else "a value too large to print"


def _unreadable(value: JsonValue, depth: int = 1) -> str:
    """Return why a value cannot be compared with anything, or an empty string where it can."""
    if isinstance(value, int):
        return "" if -1e100 <= value <= 1e100 else "holds a number beyond 1e100"
    if not isinstance(value, list | dict):
        return ""
    if depth > 64:
        return "nests more than 64 levels deep"
    for inner in value.values() if isinstance(value, dict) else value:
        reason = _unreadable(inner, depth + 1)
        if reason:
            return reason
    return ""


class DataError(ValueError):
    """A row, context or parameter that is not what the seed declares; the message names the field."""


_ATTRIBUTE_CHARACTERS = 2_000


def _attribute_at(record: JsonObject, path: tuple[str, ...]) -> JsonValue:
    """The value at a path, the first string on the way read as Yelp writes attributes; None where there is none."""
    found: JsonValue = record
    was_read = False
    for key in path:
        if isinstance(found, str) and not was_read:
            found, was_read = _read_attribute(found), True
        found = found.get(key) if isinstance(found, dict) else None
    return _read_attribute(found) if isinstance(found, str) and not was_read else found


def _read_attribute(text: str) -> JsonValue:
    """What a string of Yelp's attributes says: `True`, `u'free'`, `{'casual': True}`; any other is itself."""
    if text in ("True", "False", "None"):
        return text == "True" if text != "None" else None
    if not text.startswith(("{", "'", '"', "u'", 'u"')) or len(text) > _ATTRIBUTE_CHARACTERS:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value: JsonValue = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, str | dict) else text


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
        if value is not fields and value is not listed and _unreadable(value):
            raise DataError(f"`{name}` {_unreadable(value)}")
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
        raise DataError(f"`reviews[{place}]` must be an object, not {_shown(review)}")
    if not isinstance(review.get("review_id"), str):
        raise DataError(f"`reviews[{place}].review_id` must be a string, not {_shown(review.get('review_id'))}")
    if not isinstance(review.get("text"), str):
        raise DataError(f"`reviews[{place}].text` must be a string, not {_shown(review.get('text'))}")
    if len(_text_of(review)) > _REVIEW_TEXT_CHARACTERS:
        raise DataError(f"`reviews[{place}].text` has more than {_REVIEW_TEXT_CHARACTERS} characters")
    stars = review.get("stars")
    if stars is not None and (isinstance(stars, bool) or not isinstance(stars, int | float)):
        raise DataError(f"`reviews[{place}].stars` must be a number, not {_shown(stars)}")
    person = _at(review, ("user", "name"))
    if person is not None and not isinstance(person, str):
        raise DataError(f"`reviews[{place}].user.name` must be a string, not {_shown(person)}")
    for name, value in review.items():
        if _unreadable(value):
            raise DataError(f"`reviews[{place}].{name}` {_unreadable(value)}")
    return review


def _truth(holds: bool) -> Truth:
    return 1 if holds else -1


def _attribute(place: Restaurant, path: Path, **rules: Scalar) -> Truth:
    """Whether the value at a path meets the rules, which are tried in their order."""
    value = _attribute_at(place.business, path)
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
    found = re.fullmatch(_HOURS, str(_attribute_at(place.business, path)))
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
