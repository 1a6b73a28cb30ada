"""Reads the restaurants of a run with their reviews, from the start as often as an extractor needs them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from formulaseed.data.duplicates import Duplicates
from formulaseed.data.joining import join_files
from formulaseed.data.jsonl import Lines, LocatedRestaurant, keep_lines, open_lines, read_contexts
from formulaseed.data.results import Failures, ReviewInput
from formulaseed.errors import ArgumentError
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import RunOptions, Sample, draw, reviews_to_extract


@dataclass(slots=True)
class ReviewSource:
    """The restaurants of a run with their reviews, and the options that say which reviews are extracted.

    `contexts` are restaurants with their reviews. If `reviews` is not None, `contexts` are restaurants only, and the
    reviews are joined to them by `business_id`.
    """

    evaluator: Evaluator
    contexts: Lines
    reviews: Lines | None
    options: RunOptions
    duplicates: Duplicates = "fail"

    def read_restaurants(self, failures: Failures | None = None) -> Iterator[LocatedRestaurant]:
        """Open the input from the start and return an iterator over restaurants, each with its place or an error.

        If reviews are a separate input, those of unknown restaurants are added to `failures`; with None they are
        ignored. Raises `UnreadableError` if an input cannot be opened.
        """
        if self.reviews is None:
            return read_contexts(open_lines(self.contexts, "contexts"), duplicates=self.duplicates)
        if failures is None:
            failures = Failures()
        restaurants = open_lines(self.contexts, "restaurants")
        return join_files(restaurants, open_lines(self.reviews, "reviews"), failures, duplicates=self.duplicates)

    def read_reviews(self, sample: Sample | None = None) -> Iterator[list[ReviewInput]]:
        """Read the reviews to extract from the start, a list for each restaurant.

        With `sample`, only its reviews are read; with None the sample of the options applies, if there is one.
        """
        options = self.options if sample is None else replace(self.options, sample=sample)
        return reviews_to_extract(self.evaluator, self.read_restaurants(), options)

    def draw(self, size: int, seed: int) -> Sample:
        """Read all reviews to extract, and draw a sample of `size` of them with a random `seed`."""
        return draw(self.read_reviews(), size, seed)

    @property
    def can_reread(self) -> bool:
        """Whether no input comes through a pipe or standard input, which can be read only once."""
        return not (_is_piped(self.contexts) or _is_piped(self.reviews))

    def keep(self) -> None:
        """Replace iterators and readers in `contexts` and `reviews` by lists and tables, which can be read again."""
        self.contexts = keep_lines(self.contexts, "contexts")
        if self.reviews is not None:
            self.reviews = keep_lines(self.reviews, "reviews")

    def require_rereading(self, argument: str, value: str = "") -> None:
        """Make the input readable several times: replace iterators by lists. Raises `ArgumentError` for a pipe.

        The error names the `argument` that needs several passes, and its `value`.
        """
        if not self.can_reread:
            reason = f"{value} reads its input several times: pass files, not - or a pipe"
            raise ArgumentError(argument, reason.lstrip())
        self.keep()


def _is_piped(lines: Lines | None) -> bool:
    """Return whether `lines` is a path that can be read only once: `-` or an existing path that is no regular file."""
    if not isinstance(lines, str | os.PathLike):
        return False
    path = Path(os.fsdecode(lines))
    return str(path) == "-" or (path.exists() and not path.is_file())
