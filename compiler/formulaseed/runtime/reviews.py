"""Reads the restaurants of a run with their reviews, from the start as often as an extractor needs them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from formulaseed.data.duplicates import Duplicates
from formulaseed.data.joining import join_files
from formulaseed.data.jsonl import Lines, LocatedRestaurant, keep_lines, lines_of, read_contexts
from formulaseed.data.results import Failures, ReviewInput
from formulaseed.errors import ArgumentError
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import RunOptions, asked_reviews
from formulaseed.runtime.sampling import Sample, draw


@dataclass(slots=True)
class ReviewSource:
    """The restaurants of a run with their reviews, and the options that say which of them are extracted.

    `contexts` are restaurants with their reviews or, if there are `reviews`, restaurants to which these belong.
    """

    evaluator: Evaluator
    contexts: Lines
    reviews: Lines | None
    options: RunOptions
    duplicates: Duplicates = "fail"

    def read_restaurants(self, failures: Failures | None = None) -> Iterator[LocatedRestaurant]:
        """Read the restaurants from the start. What belongs to none of them is added to `failures`."""
        if self.reviews is None:
            return read_contexts(lines_of(self.contexts, "contexts"), duplicates=self.duplicates)
        files = lines_of(self.contexts, "restaurants"), lines_of(self.reviews, "reviews")
        return join_files(*files, Failures() if failures is None else failures, duplicates=self.duplicates)

    def read_reviews(self, sample: Sample | None = None) -> Iterator[list[ReviewInput]]:
        """Read the reviews to extract from the start, a list for each restaurant; of a `sample`, only these."""
        options = self.options if sample is None else replace(self.options, sample=sample)
        return asked_reviews(self.evaluator, self.read_restaurants(), options)

    def draw(self, size: int, seed: int) -> Sample:
        """Draw a sample of the reviews to extract."""
        return draw(self.read_reviews(), size, seed)

    @property
    def can_reread(self) -> bool:
        """Whether nothing comes through a pipe or standard input."""
        return not (_is_piped(self.contexts) or _is_piped(self.reviews))

    def keep(self) -> None:
        """Keep iterators as lists, so that they can be read again."""
        self.contexts = keep_lines(self.contexts, "contexts")
        if self.reviews is not None:
            self.reviews = keep_lines(self.reviews, "reviews")

    def require_rereading(self, argument: str, value: str = "") -> None:
        """Keep iterators as lists. Raises `ArgumentError` for a pipe; the `argument`, with its `value`, reads several times."""
        if not self.can_reread:
            reason = f"{value} reads its input several times: pass files, not - or a pipe"
            raise ArgumentError(argument, reason.lstrip())
        self.keep()


def _is_piped(lines: Lines | None) -> bool:
    if not isinstance(lines, str | os.PathLike):
        return False
    path = Path(os.fsdecode(lines))
    return str(path) == "-" or (path.exists() and not path.is_file())
