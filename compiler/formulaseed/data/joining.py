"""Joins restaurants and reviews in two files by `business_id`; lines that do not fit into memory are stored on the disk.

In: lines of both. Out: restaurants in the order of their file, each with its reviews in the order of theirs.
"""

from __future__ import annotations

import re
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from contextlib import closing

from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine, LocatedRestaurant, read_contexts
from formulaseed.data.records import RestaurantRecord, ReviewLine, ReviewRecord
from formulaseed.data.results import Failures
from formulaseed.errors import DataError

IN_MEMORY = 64 * 2**20
"""The maximum of bytes of lines in memory; if there are more, all are on the disk."""
_ID = re.compile(rb'"business_id"\s*:\s*"([^"\\]+)"')
_ESCAPED_ASCII = re.compile(rb"\\u00[2-7]")
"""Escapes with which the name of a key may be written in another way."""


class StoredLines:
    """The lines of reviews by restaurant, in memory or a temporary file."""

    def __init__(self) -> None:
        self._name = ""
        self._places: dict[str, array[int]] = {}
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY, prefix="formulaseed-")

    def add(self, business_id: str, line: InputLine) -> None:
        """Store a line of a restaurant, on the disk if all lines exceed `IN_MEMORY` bytes.

        Call only before the first `pop`.
        """
        self._name = line.file
        self._places.setdefault(business_id, array("Q")).extend((self._file.tell(), len(line.raw), line.number))
        self._file.write(line.raw)

    def pop(self, business_id: str) -> Iterator[InputLine]:
        """Yield a restaurant's lines in the order in which they were added, and forget them; none for an unknown id."""
        places = self._places.pop(business_id, array("Q"))
        for i in range(0, len(places), 3):
            offset, length, number = places[i : i + 3]
            self._file.seek(offset)
            yield InputLine(self._name, number, self._file.read(length))

    def remaining_ids(self) -> list[str]:
        """Return the ids of the restaurants whose lines have not been popped."""
        return list(self._places)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def _read_business_id(line: InputLine, model: type[ReviewLine]) -> str | DataError:
    """Return the restaurant's id on a review's line, or the error if the line is invalid.

    A line with an obvious id is not parsed, and so not checked.
    """
    ids = _ID.findall(line.raw)
    if len(ids) == 1 and not _ESCAPED_ASCII.search(line.raw):
        try:
            return str(ids[0], "utf-8")
        except UnicodeDecodeError:
            pass
    review = line.parse(model.read)
    return review if isinstance(review, DataError) else review.business_id


def join_files(
    restaurants: Iterable[InputLine],
    reviews: Iterable[InputLine],
    failures: Failures,
    models: tuple[type[RestaurantRecord], type[ReviewLine]] = (RestaurantRecord, ReviewLine),
    duplicates: Duplicates = "fail",
) -> Iterator[LocatedRestaurant]:
    """Yield restaurants in the order of their file, each with its reviews in the order of theirs, or with an error.

    The lines of reviews are stored first, if necessary on the disk, and parsed when their restaurant is read. An
    invalid review is added to `failures`, and its restaurant fails, too. Reviews of an unknown restaurant, and later
    lines of a restaurant, which are left out, are added to `failures`. With the `duplicates` `fail`, a restaurant that
    has a review twice fails; with `first` the first review counts. `models` read a restaurant and a review.
    """
    with closing(StoredLines()) as review_lines:
        yield from _Join(models, failures, review_lines, duplicates).run(restaurants, reviews)


class _Join:
    """The state of a join of two files; `_invalid` has the place of an invalid review by restaurant."""

    def __init__(
        self,
        models: tuple[type[RestaurantRecord], type[ReviewLine]],
        failures: Failures,
        review_lines: StoredLines,
        duplicates: Duplicates,
    ) -> None:
        self._restaurant, self._review = models
        self._failures = failures
        self._review_lines = review_lines
        self._duplicates = duplicates
        self._invalid: dict[str, str] = {}

    def run(self, restaurants: Iterable[InputLine], reviews: Iterable[InputLine]) -> Iterator[LocatedRestaurant]:
        """Store the lines of reviews, then yield the restaurants as `join_files` does; call only once."""
        for line in reviews:
            business_id = _read_business_id(line, self._review)
            if isinstance(business_id, DataError):
                self._reject(line, business_id)
            else:
                self._review_lines.add(business_id, line)
        seen: dict[str, str] = {}
        for place, restaurant, business_id in read_contexts(map(_drop_reviews, restaurants), self._restaurant):
            if business_id in seen:
                self._failures.add_unused(place, f"duplicate restaurant {business_id}, first in {seen[business_id]}")
                continue
            seen[business_id] = place
            if isinstance(restaurant, RestaurantRecord):
                restaurant = self._add_reviews(restaurant)
            yield place, restaurant, business_id
        for business_id in self._review_lines.remaining_ids():
            places = [place for place, _ in self._read_reviews(business_id)]
            if places:
                subject = "1 review names" if len(places) == 1 else f"{len(places)} reviews name"
                reason = f"{subject} {business_id}, which no restaurant line holds"
                self._failures.add_unused(places[0], reason, len(places))

    def _add_reviews(self, restaurant: RestaurantRecord) -> RestaurantRecord | DataError:
        """Return the restaurant with its reviews, or an error.

        There is an error if a review is invalid, or if two have the same id and duplicates must fail.
        """
        reviews = list(self._read_reviews(restaurant.business_id))
        invalid_place = self._invalid.get(restaurant.business_id)
        if invalid_place is not None:
            return DataError(f"a review of it cannot be used ({invalid_place})")
        joined = restaurant.model_copy(update={"reviews": [review for _, review in reviews]})
        try:
            return joined.deduplicate(self._duplicates, lambda position: reviews[position][0])
        except DataError as error:
            return error

    def _read_reviews(self, business_id: str) -> Iterator[tuple[str, ReviewRecord]]:
        """Yield the reviews of a restaurant with their places; add invalid ones to the failures."""
        for line in self._review_lines.pop(business_id):
            review = line.parse(self._review.read)
            if isinstance(review, DataError):
                self._reject(line, review)
            else:
                yield line.place, review

    def _reject(self, line: InputLine, error: DataError) -> None:
        """Add an invalid line of a review to the failures, and note that its restaurant has one."""
        self._failures.add_unreadable(line.place, str(error))
        self._invalid.setdefault(line.business_id, line.place)


def _drop_reviews(line: InputLine) -> InputLine:
    """Return a copy of a restaurant's line with an empty list of reviews; an invalid line keeps its error."""
    content = line.content
    if not isinstance(content, DataError):
        content = {**content, "reviews": []}
    return InputLine(line.file, line.number, b"", content)
