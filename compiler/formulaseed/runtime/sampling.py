"""A sample of the relevant reviews, spread over the restaurants.

In: the reviews to extract, restaurant by restaurant. Out: which of them are drawn. The draw depends on the seed and the ids
alone, so that the same reviews are drawn in whatever order the file has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest

from formulaseed.data.results import ReviewInput
from formulaseed.source.printing import number_of

_Drawn = tuple[int, bytes, int, int]
"""A review's turn in its restaurant, its number in the draw, and the places of the restaurant and of the review."""


@dataclass(frozen=True, slots=True)
class Sample:
    """`chosen` holds, by the place of a restaurant, the places of its sampled reviews among those to extract."""

    seed: int
    chosen: Mapping[int, frozenset[int]]
    size: int
    """How many reviews were drawn."""
    of: int
    """From how many."""

    def to_json(self) -> dict[str, int]:
        return {"reviews": self.size, "of": self.of, "seed": self.seed}

    def line(self) -> str:
        """Return what a run says of its sample."""
        places = number_of(len(self.chosen), "restaurant")
        drawn = f"sample: {self.size:,} of {number_of(self.of, 'relevant review')}, of {places} (seed {self.seed})"
        return f"{drawn}; each result rests on its sampled reviews alone"


def draw(restaurants: Iterable[Sequence[ReviewInput]], size: int, seed: int) -> Sample:
    """Draw so many reviews, or all if there are fewer: one of each restaurant, then a second of each, and so on."""
    total = 0

    def numbered() -> Iterator[_Drawn]:
        nonlocal total
        for place, reviews in enumerate(restaurants):
            total += len(reviews)
            turns = sorted((_number(review, seed), at) for at, review in enumerate(reviews))
            yield from ((turn, number, place, at) for turn, (number, at) in enumerate(turns))

    chosen: dict[int, set[int]] = {}
    drawn = nsmallest(size, numbered())
    for _, _, place, at in drawn:
        chosen.setdefault(place, set()).add(at)
    return Sample(seed, {place: frozenset(reviews) for place, reviews in chosen.items()}, len(drawn), total)


def _number(review: ReviewInput, seed: int) -> bytes:
    text = f"{seed}\0{review.business_id}\0{review.review_id}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
