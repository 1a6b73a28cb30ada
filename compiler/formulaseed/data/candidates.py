"""What requests are validated against: restaurants with their reviews, judgements, and who is friends with whom.

In: files, or the JSON values themselves. Out: a `Dataset`. What cannot be used goes to `Failures` with its place, and a
restaurant with an unusable line is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from formulaseed.data.duplicates import Duplicates
from formulaseed.data.file_kinds import kind_of_text, unfit
from formulaseed.data.files import json_value, read_whole
from formulaseed.data.joining import join_files
from formulaseed.data.jsonl import Line, Lines, lines_of, parsed, read_contexts
from formulaseed.data.records import JudgementLine, RatedRestaurant, RatedReviewLine, SocialGraph
from formulaseed.data.results import Failures
from formulaseed.errors import DataError, UnreadableError
from formulaseed.limits import FILE_BYTES
from formulaseed.requests.records import Background, Restaurant, parse_background
from formulaseed.requests.validate import Dataset


def read_dataset(
    restaurants: Lines,
    reviews: Lines | None,
    judgements: Lines | None,
    social: str | os.PathLike[str] | Mapping[str, Any] | None,
    failures: Failures,
    duplicates: Duplicates = "fail",
) -> Dataset:
    """Read everything. Without `reviews` the restaurants' lines hold their reviews, as contexts do.

    A restaurant that has a review twice is unusable, or has the first, as `duplicates` says.

    Raises `UnreadableError` for a file that cannot be opened and `DataError` for a social graph that is none.
    """
    friends = parse_background(None, {"friend_graph": _graph(social)}).friends if social is not None else {}
    judged = _judgements(lines_of(judgements, "judgements"), failures) if judgements is not None else None
    listed = lines_of(restaurants, "restaurants")
    if reviews is None:
        placed = read_contexts(listed, RatedRestaurant, duplicates)
    else:
        models = RatedRestaurant, RatedReviewLine
        placed = join_files(listed, lines_of(reviews, "reviews"), failures, models, duplicates)
    candidates: dict[str, Restaurant] = {}
    unusable: dict[str, str] = {}
    for place, found, business_id in placed:
        if business_id in candidates or business_id in unusable:
            failures.add(place, f"the restaurant {business_id} appears on an earlier line already")
        elif isinstance(found, RatedRestaurant):
            failures.duplicates += found.duplicates
            business = {"business_id": business_id, **found.context()}
            candidates[business_id] = Restaurant(business, tuple(review.model_dump() for review in found.reviews))
        else:
            failures.add(place, str(found))
            if business_id:
                unusable[business_id] = f"{place}: {found}"
    return Dataset(candidates, unusable, Background(judged, friends), social is not None)


def _judgements(lines: Iterable[Line], failures: Failures) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for line, record in parsed(lines, JudgementLine.read):
        if isinstance(record, DataError):
            failures.add(line.place, str(record))
            continue
        key = (record.review_id, record.aspect)
        if found.setdefault(key, record.judgement) != record.judgement:
            reason = f"the review {record.review_id} was judged {found[key]} on `{record.aspect}` already"
            failures.add(line.place, reason)
    return found


def _graph(given: str | os.PathLike[str] | Mapping[str, Any]) -> Mapping[str, list[str]]:
    if not isinstance(given, Mapping | str | os.PathLike):
        raise DataError(f"a social graph is a path or an object, not {type(given).__name__}")
    name = "the social graph" if isinstance(given, Mapping) else os.fspath(given)
    value = dict(given) if isinstance(given, Mapping) else _social_json(given, name)
    if not isinstance(value, dict):
        raise DataError('a social graph is an object, {"friend_graph": {…}}', name)
    return SocialGraph.read(value, name).friend_graph


def _social_json(file: str | os.PathLike[str], name: str) -> Any:
    """Return the JSON value of a social graph's file. Raises `UnreadableError` for a file of another kind."""
    data = read_whole(file, FILE_BYTES)
    kind = kind_of_text(data.decode("utf-8-sig", "replace"), name)
    if kind is not None and kind.name != "social":
        raise UnreadableError(f"cannot read {name}: {unfit(kind, 'social', name)}")
    return json_value(data, name)
