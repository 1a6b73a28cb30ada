"""Draws a random sample of the relevant reviews, spread over the restaurants.

In: the reviews to extract, restaurant by restaurant. Out: the positions of the sampled ones. The sample depends only on the
random seed and the ids, so that the order of the reviews in a file does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest

from formulaseed.data.results import ReviewInput
from formulaseed.source.printing import number_of

_Candidate = tuple[int, bytes, int, int]
"""A review's rank in its restaurant, its random number, and the positions of the restaurant and of the review in it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A random sample of the reviews to extract."""

    seed: int
    chosen: Mapping[int, frozenset[int]]
    """The positions of the sampled reviews among those to extract, by the position of their restaurant."""
    size: int
    """The number of reviews in the sample."""
    population: int
    """The number of reviews that the sample was drawn from."""

    def to_json(self) -> dict[str, int]:
        """Return the sample's sizes and its random seed, as the provenance of results has them."""
        return {"reviews": self.size, "of": self.population, "seed": self.seed}

    def describe(self) -> str:
        """Return a line about the sample's size, restaurants and random seed, for the output of a run."""
        restaurants = number_of(len(self.chosen), "restaurant")
        reviews = number_of(self.population, "relevant review")
        sizes = f"sample: {self.size:,} of {reviews}, of {restaurants} (seed {self.seed})"
        return f"{sizes}; each result rests on its sampled reviews alone"


def draw(restaurants: Iterable[Sequence[ReviewInput]], size: int, seed: int) -> Sample:
    """Draw `size` reviews, or all if there are fewer: one of each restaurant, then a second of each, and so on.

    Reads all of `restaurants`. The sample depends only on `seed`, a random seed, and the reviews' ids.
    """
    population = 0

    def candidates() -> Iterator[_Candidate]:
        """Yield every review with its rank in its restaurant, and count it in `population`."""
        nonlocal population
        for restaurant, reviews in enumerate(restaurants):
            population += len(reviews)
            ranking = sorted((_random_number(review, seed), position) for position, review in enumerate(reviews))
            yield from ((rank, number, restaurant, position) for rank, (number, position) in enumerate(ranking))

    chosen: dict[int, set[int]] = {}
    sampled = nsmallest(size, candidates())
    for _, _, restaurant, position in sampled:
        chosen.setdefault(restaurant, set()).add(position)
    positions = {restaurant: frozenset(reviews) for restaurant, reviews in chosen.items()}
    return Sample(seed, positions, len(sampled), population)


def _random_number(review: ReviewInput, seed: int) -> bytes:
    """Return 16 bytes that depend only on the random seed and the review's ids."""
    text = f"{seed}\0{review.business_id}\0{review.review_id}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
