"""Join restaurants and reviews in two files by `business_id`; lines that do not fit into memory are stored on the disk.

In: lines of both. Out: restaurants in the order of their file, each with its reviews in the order of theirs.
"""

from __future__ import annotations

import re
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from contextlib import closing

from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import Line, LocatedRestaurant, read_contexts
from formulaseed.data.records import RestaurantRecord, ReviewLine, ReviewRecord
from formulaseed.data.results import Failures
from formulaseed.errors import DataError

IN_MEMORY = 64 * 2**20
"""The maximum of bytes of lines in memory; if there are more, all are on the disk."""
_ID = re.compile(rb'"business_id"\s*:\s*"([^"\\]+)"')
_ESCAPED_ASCII = re.compile(rb"\\u00[2-7]")
"""Escapes with which the name of a key may be written in another way."""


class KeptLines:
    """The lines of reviews by restaurant, in a temporary file."""

    def __init__(self) -> None:
        self._name = ""
        self._places: dict[str, array[int]] = {}
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY, prefix="formulaseed-")

    def add(self, business_id: str, line: Line) -> None:
        """Keep a line of a restaurant."""
        self._name = line.file
        self._places.setdefault(business_id, array("Q")).extend((self._file.tell(), len(line.raw), line.number))
        self._file.write(line.raw)

    def pop(self, business_id: str) -> Iterator[Line]:
        """Yield a restaurant's lines in their order, and forget them."""
        places = self._places.pop(business_id, array("Q"))
        for i in range(0, len(places), 3):
            offset, length, number = places[i : i + 3]
            self._file.seek(offset)
            yield Line(self._name, number, self._file.read(length))

    def left(self) -> list[str]:
        """Return the restaurants whose lines are still here."""
        return list(self._places)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def _business_id(line: Line, model: type[ReviewLine]) -> str | DataError:
    """Return the restaurant of a review's line, if possible without parsing the line; an error if it is invalid."""
    ids = _ID.findall(line.raw)
    if len(ids) == 1 and not _ESCAPED_ASCII.search(line.raw):
        try:
            return str(ids[0], "utf-8")
        except UnicodeDecodeError:
            pass
    review = line.parsed(model.read)
    return review if isinstance(review, DataError) else review.business_id


def join_files(
    restaurants: Iterable[Line],
    reviews: Iterable[Line],
    failures: Failures,
    models: tuple[type[RestaurantRecord], type[ReviewLine]] = (RestaurantRecord, ReviewLine),
    duplicates: Duplicates = "fail",
) -> Iterator[LocatedRestaurant]:
    """Yield restaurants in the order of their file, each with its reviews in the order of theirs.

    The lines of reviews are stored first, if necessary on the disk, and parsed when their restaurant is read. An invalid
    review is added to `failures`, and its restaurant fails, too; a review of an unknown restaurant is also a failure. A
    restaurant that has a review twice fails with `fail`, and has the first with `first`.
    """
    with closing(KeptLines()) as review_lines:
        yield from _Join(models, failures, review_lines, duplicates).run(restaurants, reviews)


class _Join:
    """The state of a join of two files; `_invalid` has the place of an invalid review by restaurant."""

    def __init__(
        self,
        models: tuple[type[RestaurantRecord], type[ReviewLine]],
        failures: Failures,
        review_lines: KeptLines,
        duplicates: Duplicates,
    ) -> None:
        self._restaurant, self._review = models
        self._failures = failures
        self._review_lines = review_lines
        self._duplicates = duplicates
        self._invalid: dict[str, str] = {}

    def run(self, restaurants: Iterable[Line], reviews: Iterable[Line]) -> Iterator[LocatedRestaurant]:
        for line in reviews:
            business_id = _business_id(line, self._review)
            if isinstance(business_id, DataError):
                self._refuse(line, business_id)
            else:
                self._review_lines.add(business_id, line)
        seen: dict[str, str] = {}
        for place, restaurant, business_id in read_contexts(map(_without_reviews, restaurants), self._restaurant):
            if business_id in seen:
                self._failures.add_unused(place, f"duplicate restaurant {business_id}, first in {seen[business_id]}")
                continue
            seen[business_id] = place
            if isinstance(restaurant, RestaurantRecord):
                restaurant = self._with_reviews(restaurant)
            yield place, restaurant, business_id
        for business_id in self._review_lines.left():
            places = [place for place, _ in self._reviews(business_id)]
            if places:
                subject = "1 review names" if len(places) == 1 else f"{len(places)} reviews name"
                reason = f"{subject} {business_id}, which no restaurant line holds"
                self._failures.add_unused(places[0], reason, len(places))

    def _with_reviews(self, restaurant: RestaurantRecord) -> RestaurantRecord | DataError:
        """Return the restaurant with its reviews, or an error if they cannot be used."""
        reviews = list(self._reviews(restaurant.business_id))
        invalid_place = self._invalid.get(restaurant.business_id)
        if invalid_place is not None:
            return DataError(f"a review of it cannot be used ({invalid_place})")
        joined = restaurant.model_copy(update={"reviews": [review for _, review in reviews]})
        try:
            return joined.without_duplicates(self._duplicates, lambda position: reviews[position][0])
        except DataError as error:
            return error

    def _reviews(self, business_id: str) -> Iterator[tuple[str, ReviewRecord]]:
        """Yield the reviews of a restaurant with their places; add invalid ones to the failures."""
        for line in self._review_lines.pop(business_id):
            review = line.parsed(self._review.read)
            if isinstance(review, DataError):
                self._refuse(line, review)
            else:
                yield line.place, review

    def _refuse(self, line: Line, error: DataError) -> None:
        self._failures.add_unreadable(line.place, str(error))
        self._invalid.setdefault(line.business_id, line.place)


def _without_reviews(line: Line) -> Line:
    value = line.found
    return Line(line.file, line.number, b"", value if isinstance(value, DataError) else {**value, "reviews": []})
