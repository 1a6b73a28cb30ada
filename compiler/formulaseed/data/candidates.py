"""Read the dataset that requests are validated against: restaurants with reviews, judgements, and a social graph.

In: files, or the JSON values themselves. Out: a `Dataset`. Unusable lines are added to `Failures` with their places, and a
restaurant with such a line is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from formulaseed.data.duplicates import Duplicates
from formulaseed.data.file_kinds import describe_mismatch, kind_of_text
from formulaseed.data.files import parse_json, read_whole
from formulaseed.data.joining import join_files
from formulaseed.data.jsonl import InputLine, Lines, open_lines, parse_lines, read_contexts
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
    """Read a dataset. If `reviews` is None, the restaurants' lines hold their reviews, as contexts do.

    `judgements` and `social` may be None. With the `duplicates` `fail`, a restaurant that has a review twice is
    unusable; with `first` the first review counts. Unusable lines, and later lines of a restaurant, are added to
    `failures`. Raises `UnreadableError` for a file that cannot be read and `DataError` for an invalid social graph.
    """
    graph = {"friend_graph": _read_graph(social)} if social is not None else {}
    values = _read_judgements(open_lines(judgements, "judgements"), failures) if judgements is not None else None
    restaurant_lines = open_lines(restaurants, "restaurants")
    if reviews is None:
        located = read_contexts(restaurant_lines, RatedRestaurant, duplicates)
    else:
        models = RatedRestaurant, RatedReviewLine
        located = join_files(restaurant_lines, open_lines(reviews, "reviews"), failures, models, duplicates)
    candidates: dict[str, Restaurant] = {}
    unusable: dict[str, str] = {}
    for place, restaurant, business_id in located:
        if business_id in candidates or business_id in unusable:
            failures.add(place, f"the restaurant {business_id} appears on an earlier line already")
        elif isinstance(restaurant, RatedRestaurant):
            failures.duplicates += restaurant.duplicates
            business = {"business_id": business_id, **restaurant.context()}
            candidates[business_id] = Restaurant(business, tuple(review.model_dump() for review in restaurant.reviews))
        else:
            failures.add(place, str(restaurant))
            if business_id:
                unusable[business_id] = f"{place}: {restaurant}"
    # people without friends are in the graph, too
    friends = {person: frozenset[str]() for person in graph.get("friend_graph", ())}
    friends |= parse_background(None, graph).friends or {}
    background = Background(values, friends)
    return Dataset(candidates, unusable, background, social is not None)


def _read_judgements(lines: Iterable[InputLine], failures: Failures) -> dict[tuple[str, str], str]:
    """Return the judgements by review id and aspect; of several lines for a pair, the first counts.

    Invalid lines, and lines that contradict an earlier one, are added to `failures`.
    """
    judgements: dict[tuple[str, str], str] = {}
    for line, record in parse_lines(lines, JudgementLine.read):
        if isinstance(record, DataError):
            failures.add(line.place, str(record))
            continue
        key = (record.review_id, record.aspect)
        if judgements.setdefault(key, record.judgement) != record.judgement:
            reason = f"the review {record.review_id} was judged {judgements[key]} on `{record.aspect}` already"
            failures.add(line.place, reason)
    return judgements


def _read_graph(source: str | os.PathLike[str] | Mapping[str, Any]) -> Mapping[str, list[str]]:
    """Return the friends of each person, from an object or a JSON file.

    Raises `DataError` for an invalid graph, `UnreadableError` for a file that cannot be read or is of another kind.
    """
    if isinstance(source, Mapping):
        return SocialGraph.read(dict(source), "the social graph").friend_graph
    if not isinstance(source, str | os.PathLike):
        raise DataError(f"a social graph is a path or an object, not {type(source).__name__}")
    name = os.fspath(source)
    value = _read_social_json(source, name)
    if not isinstance(value, dict):
        raise DataError('a social graph is an object, {"friend_graph": {…}}', name)
    return SocialGraph.read(value, name).friend_graph


def _read_social_json(file: str | os.PathLike[str], name: str) -> Any:
    """Return the JSON value of a social graph's file; `name` is the file in messages.

    Raises `UnreadableError` for a file that cannot be read or is of another kind, `DataError` if it is not JSON.
    """
    data = read_whole(file, FILE_BYTES)
    kind = kind_of_text(data.decode("utf-8-sig", "replace"), name)
    if kind is not None and kind.name != "social":
        raise UnreadableError(f"cannot read {name}: {describe_mismatch(kind, 'social', name)}")
    return parse_json(data, name)
