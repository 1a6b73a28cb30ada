"""What requests are held against: restaurants with their reviews, judgements, and who is friends with whom.

In: files, or the JSON values themselves. Out: a `World`. What cannot be used goes to `Failures` with its place, and a
restaurant with an unusable line is left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from formulaseed.errors import DataError
from formulaseed.ir.three_valued import Background, Candidate, friends_of
from formulaseed.limits import FILE_BYTES
from formulaseed.runtime.contexts import join_files, read_contexts
from formulaseed.runtime.jsonl import BadLine, Line, read_lines
from formulaseed.runtime.records import JudgementLine, RatedRestaurant, RatedReviewLine, SocialGraph
from formulaseed.runtime.results import Failures
from formulaseed.source.files import read_whole

Lines = str | os.PathLike[str] | Iterable[Mapping[str, Any]]
"""A file of JSON Lines, or the objects that it would hold."""


@dataclass(frozen=True, slots=True)
class World:
    """The restaurants in the order of their file, by id, and what is known beside them.

    `unusable` says of restaurants that were left out why. `has_graph` tells whether a social graph is given.
    """

    candidates: Mapping[str, Candidate]
    unusable: Mapping[str, str]
    background: Background
    has_graph: bool

    def name(self, business_id: str) -> str:
        """A restaurant's name, its id where it has none."""
        found = self.candidates.get(business_id)
        name = found.business.get("name") if found is not None else None
        return name if isinstance(name, str) and name else business_id

    def label(self, business_id: str) -> str:
        """A restaurant's name with its id: names are not unique."""
        name = self.name(business_id)
        return name if name == business_id else f"{name} ({business_id})"

    @property
    def review_count(self) -> int:
        return sum(len(candidate.reviews) for candidate in self.candidates.values())


def read_world(
    restaurants: Lines,
    reviews: Lines | None,
    judgements: Lines | None,
    social: str | os.PathLike[str] | Mapping[str, Any] | None,
    failures: Failures,
) -> World:
    """Read everything. Without `reviews` the restaurants' lines hold their reviews, as contexts do.

    Raises `UnreadableError` for a file that cannot be opened and `DataError` for a social graph that is none.
    """
    friends = friends_of(_graph(social)) if social is not None else {}
    judged = _judgements(_lines(judgements, "judgements"), failures) if judgements is not None else None
    listed = _lines(restaurants, "restaurants")
    if reviews is None:
        placed = read_contexts(listed, RatedRestaurant)
    else:
        placed = join_files(listed, _lines(reviews, "reviews"), failures, (RatedRestaurant, RatedReviewLine))
    candidates: dict[str, Candidate] = {}
    unusable: dict[str, str] = {}
    for place, found, business_id in placed:
        if business_id in candidates or business_id in unusable:
            failures.add(place, f"the restaurant {business_id} stands in an earlier line already")
        elif isinstance(found, RatedRestaurant):
            business = {"business_id": business_id, **found.context()}
            candidates[business_id] = Candidate(business, tuple(review.fields() for review in found.reviews))
        else:
            failures.add(place, str(found))
            if business_id:
                unusable[business_id] = f"{place}: {found}"
    return World(candidates, unusable, Background(judged, friends), social is not None)


def _lines(given: Lines, what: str) -> Iterator[Line | BadLine]:
    if isinstance(given, str | os.PathLike):
        return read_lines(os.fspath(given))
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise DataError(f"{what} must be a path or a list of objects, not {type(given).__name__}")
    return _objects(given, f"<{what}>")


def _objects(given: Iterable[object], name: str) -> Iterator[Line | BadLine]:
    for number, value in enumerate(given, 1):
        if isinstance(value, Mapping):
            yield Line(name, number, dict(value))
        else:
            yield BadLine(name, number, f"it must be an object, not {type(value).__name__}")


def _judgements(lines: Iterable[Line | BadLine], failures: Failures) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for line in lines:
        if isinstance(line, BadLine):
            failures.add(f"{line.file}:{line.number}", line.reason)
            continue
        try:
            record: JudgementLine = JudgementLine.read(line.value)
        except DataError as error:
            failures.add(line.place, str(error))
            continue
        key = (record.review_id, record.aspect)
        if found.setdefault(key, record.judgement) != record.judgement:
            reason = f"the review {record.review_id} was judged {found[key]} on `{record.aspect}` already"
            failures.add(line.place, reason)
    return found


def _graph(given: str | os.PathLike[str] | Mapping[str, Any]) -> Mapping[str, list[str]]:
    if isinstance(given, Mapping):
        value: object = dict(given)
        name = "the social graph"
    elif not isinstance(given, str | os.PathLike):
        raise DataError(f"a social graph is a path or an object, not {type(given).__name__}")
    else:
        name = os.fspath(given)
        try:
            value = json.loads(read_whole(given, FILE_BYTES).decode("utf-8-sig"))
        except json.JSONDecodeError as error:
            raise DataError(f"no JSON: {error.msg}", f"{name}:{error.lineno}:{error.colno}") from None
        except UnicodeDecodeError as error:
            raise DataError(f"byte {error.start} of the file is not UTF-8", name) from None
        except (ValueError, RecursionError):
            raise DataError("no JSON that can be read", name) from None
    if not isinstance(value, dict):
        raise DataError('a social graph is an object, {"friend_graph": {…}}', name)
    try:
        graph: SocialGraph = SocialGraph.read(value)
    except DataError as error:
        raise error.at(name) from None
    return graph.friend_graph
