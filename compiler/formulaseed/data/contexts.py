"""Restaurants with their reviews, from a file of contexts or from two files joined by `business_id`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from formulaseed.data.jsonl import Line, parsed
from formulaseed.data.records import RestaurantRecord, ReviewLine, ReviewRecord
from formulaseed.data.results import Failures
from formulaseed.errors import DataError

LocatedRestaurant = tuple[str, RestaurantRecord | DataError, str]
"""The place of a restaurant's line, the restaurant or why there is none, and its id as far as it is known."""


def read_contexts(
    lines: Iterable[Line], model: type[RestaurantRecord] = RestaurantRecord
) -> Iterator[LocatedRestaurant]:
    """Yield one restaurant a line, read as the given model."""
    for line, restaurant in parsed(lines, model.read):
        yield line.place, restaurant, line.business_id


def join_files(
    restaurants: Iterable[Line],
    reviews: Iterable[Line],
    failures: Failures,
    models: tuple[type[RestaurantRecord], type[ReviewLine]] = (RestaurantRecord, ReviewLine),
) -> Iterator[LocatedRestaurant]:
    """Yield restaurants in the order of their file, each with its reviews in the order of theirs.

    The reviews are read first and kept in memory. A bad review line is a failure, and where it names its restaurant
    fails that too; so is a review whose restaurant is in no line.
    """
    by_restaurant: dict[str, list[ReviewRecord]] = {}
    places: dict[str, str] = {}
    spoiled: dict[str, str] = {}
    for line, review in parsed(reviews, models[1].read):
        if isinstance(review, DataError):
            failures.add_unreadable(line.place, str(review))
            spoiled.setdefault(line.business_id, line.place)
            continue
        by_restaurant.setdefault(review.business_id, []).append(review)
        places.setdefault(review.business_id, line.place)
    seen: dict[str, str] = {}
    alone = (replace(line, value={**line.value, "reviews": []}) for line in restaurants)
    for place, restaurant, business_id in read_contexts(alone, models[0]):
        if business_id in seen:
            failures.add_unused(place, f"duplicate restaurant {business_id}, first in {seen[business_id]}")
            continue
        seen[business_id] = place
        if isinstance(restaurant, RestaurantRecord) and business_id in spoiled:
            by_restaurant.pop(business_id, None)
            restaurant = DataError(f"a review of it cannot be used ({spoiled[business_id]})")
        elif isinstance(restaurant, RestaurantRecord):
            restaurant = restaurant.model_copy(update={"reviews": by_restaurant.pop(business_id, [])})
        yield place, restaurant, business_id
    for business_id, orphans in by_restaurant.items():
        what = "1 review names" if len(orphans) == 1 else f"{len(orphans)} reviews name"
        reason = f"{what} {business_id}, which no restaurant line holds"
        failures.add_unused(places[business_id], reason, len(orphans))
