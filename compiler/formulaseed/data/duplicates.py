"""Rejects a review that a restaurant has twice, or keeps the first: for rows, contexts, joined files and tables alike.

In: the ids of a restaurant's reviews, in their order. Reviews without an id are no duplicates of one another. It imports the
standard library and `errors` only, since it is sent to the executors of a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args

from formulaseed.errors import DataError

Duplicates = Literal["fail", "first"]
"""`fail` rejects a restaurant that has a review twice; `first` keeps the first review of each id and counts the others."""
DUPLICATES = get_args(Duplicates)
ID = "review_id"
_ID_TYPES = (str, int)
_Review = TypeVar("_Review")


def review_ids(rows: Iterable[Any]) -> list[Any]:
    """Return the `review_id` of each row; None for a row without one, and for anything that is not an object."""
    return [row.get(ID) if type(row) is dict or isinstance(row, Mapping) else None for row in rows]


def are_unique(ids: Sequence[Any]) -> bool:
    """Return whether no id occurs twice. Only strings and integers are ids; other values, such as None, may repeat."""
    try:
        if len(set(ids)) == len(ids):  # nearly always true, and fast
            return True
    except TypeError:  # a list or an object, which is no id
        pass
    usable = [id for id in ids if type(id) in _ID_TYPES]
    return len(set(usable)) == len(usable)


def find_duplicates(ids: Sequence[Any]) -> dict[int, int]:
    """Map each position whose id occurred before to the position of the first review with this id.

    Only strings and integers are ids; other values, such as None, are never duplicates.
    """
    if are_unique(ids):
        return {}
    first: dict[Any, int] = {}
    duplicates: dict[int, int] = {}
    for position, id in enumerate(ids):
        if type(id) in _ID_TYPES and first.setdefault(id, position) != position:
            duplicates[position] = first[id]
    return duplicates


def describe_duplicate(first: str, second: str, review_id: Any) -> str:
    """Return the message for two reviews, named by their places, that have the same id."""
    same = f"{first} and {second} have the same `{ID}`, {review_id!r:.80}"
    return f"{same}; `--duplicates first`, in Python `duplicates='first'`, keeps the first"


def drop_duplicates(
    reviews: list[_Review], ids: Sequence[Any], policy: Duplicates, place_of: Callable[[int], str]
) -> list[_Review]:
    """Return the first review of each id; the list itself if there are no duplicates. `ids` are those of `reviews`.

    If `policy` is `fail`, duplicates raise `DataError`, which names two of them by `place_of`, a function of their
    positions.
    """
    duplicates = find_duplicates(ids)
    if not duplicates:
        return reviews
    if policy == "fail":
        second, first = next(iter(duplicates.items()))
        raise DataError(describe_duplicate(place_of(first), place_of(second), ids[second]))
    return [review for position, review in enumerate(reviews) if position not in duplicates]


def refuse_duplicates(rows: list[Any]) -> None:
    """Raise `DataError`, which names both, if two rows have the same `review_id`.

    Rows without an id are no duplicates.
    """
    drop_duplicates(rows, review_ids(rows), "fail", "rows[{}]".format)
