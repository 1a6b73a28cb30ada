"""Joins restaurants and reviews in two files by `business_id`; reviews that do not fit into memory are kept on the disk.

In: lines of both. Out: restaurants in the order of their file, each with its reviews in the order of theirs.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator
from contextlib import closing

from formulaseed.data.jsonl import Line, LocatedRestaurant, parsed, read_contexts
from formulaseed.data.records import RestaurantRecord, ReviewLine, ReviewRecord
from formulaseed.data.results import Failures
from formulaseed.errors import DataError

IN_MEMORY = 64 * 2**20
"""Bytes of lines whose reviews are kept in memory; a review takes several times as many bytes as its line."""


class KeptReviews:
    """The reviews of restaurants: those that come first are in memory, the lines of the others in a temporary file."""

    def __init__(self, model: type[ReviewLine]) -> None:
        self._model = model
        self._records: dict[str, list[ReviewRecord]] = {}
        self._places: dict[str, array[int]] = {}
        self._bytes = 0
        self._file = tempfile.TemporaryFile(prefix="formulaseed-")

    def add(self, line: Line, review: ReviewLine) -> None:
        """Keep the review of a line."""
        self._bytes += len(line.raw)
        if self._bytes <= IN_MEMORY or not line.raw:
            self._records.setdefault(review.business_id, []).append(review)
            return
        place = (self._file.tell(), len(line.raw), line.number)
        self._file.write(line.raw)
        self._places.setdefault(review.business_id, array("Q")).extend(place)

    def pop(self, business_id: str) -> list[ReviewRecord]:
        """Return a restaurant's reviews in the order of their lines, and forget them."""
        found, places = self._records.pop(business_id, []), self._places.pop(business_id, array("Q"))
        for at in range(0, len(places), 3):
            self._file.seek(places[at])
            review = Line("", places[at + 2], self._file.read(places[at + 1])).parsed(self._model.read)
            assert not isinstance(review, DataError), review  # it was read before
            found.append(review)
        return found

    def left(self) -> Iterator[tuple[str, int]]:
        """Yield each restaurant whose reviews are still here, with how many they are."""
        for business_id in {**self._records, **self._places}:
            yield business_id, len(self._records.get(business_id, ())) + len(self._places.get(business_id, ())) // 3

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def join_files(
    restaurants: Iterable[Line],
    reviews: Iterable[Line],
    failures: Failures,
    models: tuple[type[RestaurantRecord], type[ReviewLine]] = (RestaurantRecord, ReviewLine),
) -> Iterator[LocatedRestaurant]:
    """Yield restaurants in the order of their file, each with its reviews in the order of theirs.

    The reviews are read first and kept, the most of many on the disk. A bad review line is a failure, and where it names
    its restaurant fails that too; so is a review whose restaurant is in no line.
    """
    with closing(KeptReviews(models[1])) as kept:
        yield from _joined(restaurants, reviews, failures, models, kept)


def _joined(
    restaurants: Iterable[Line],
    reviews: Iterable[Line],
    failures: Failures,
    models: tuple[type[RestaurantRecord], type[ReviewLine]],
    kept: KeptReviews,
) -> Iterator[LocatedRestaurant]:
    places: dict[str, str] = {}
    spoiled: dict[str, str] = {}
    for line, review in parsed(reviews, models[1].read):
        if isinstance(review, DataError):
            failures.add_unreadable(line.place, str(review))
            spoiled.setdefault(line.business_id, line.place)
            continue
        kept.add(line, review)
        places.setdefault(review.business_id, line.place)
    seen: dict[str, str] = {}
    for place, restaurant, business_id in read_contexts(map(_without_reviews, restaurants), models[0]):
        if business_id in seen:
            failures.add_unused(place, f"duplicate restaurant {business_id}, first in {seen[business_id]}")
            continue
        seen[business_id] = place
        if isinstance(restaurant, RestaurantRecord) and business_id in spoiled:
            kept.pop(business_id)
            restaurant = DataError(f"a review of it cannot be used ({spoiled[business_id]})")
        elif isinstance(restaurant, RestaurantRecord):
            restaurant = restaurant.model_copy(update={"reviews": kept.pop(business_id)})
        yield place, restaurant, business_id
    for business_id, orphans in kept.left():
        what = "1 review names" if orphans == 1 else f"{orphans} reviews name"
        reason = f"{what} {business_id}, which no restaurant line holds"
        failures.add_unused(places[business_id], reason, orphans)


def _without_reviews(line: Line) -> Line:
    found = line.found
    return Line(line.file, line.number, b"", found if isinstance(found, DataError) else {**found, "reviews": []})
