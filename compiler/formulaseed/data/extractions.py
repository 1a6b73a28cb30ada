"""The input and output of an extractor: a review's text, its field values, the quotes that support them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from formulaseed.ir import nodes

FieldValue = str | int | float | bool


@dataclass(frozen=True, slots=True)
class ReviewInput:
    """A relevant review, as an extractor gets it. `facts` are its date, stars and useful votes, as its line has them."""

    business_id: str
    review_id: str
    text: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quote:
    """The words of a review that support a field's value. `start` and `end` are their place in the extracted text, in
    characters; None where they do not occur there."""

    text: str
    start: int | None
    end: int | None

    @property
    def is_verified(self) -> bool:
        return self.start is not None

    def to_json(self) -> dict[str, object]:
        """Return it as results have it."""
        return {"text": self.text, "verified": self.is_verified, "start": self.start, "end": self.end}


NOT_ASKED = "it has not been asked about"
"""The failure of each remaining review where a run stops."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """One review's field values; where there are none, `failure` says why."""

    review_id: str
    fields: dict[str, FieldValue] | None
    failure: str = ""
    quotes: Mapping[str, Quote] = field(default_factory=dict)


class Extractor(Protocol):
    """Extracts the reviews of one restaurant after the other, in their order.

    It may read ahead, since some extractors wait for many answers at a time. `name` and `prompt_sha256`, the hash of
    what a model is asked, are part of the results' provenance.
    """

    name: str
    prompt_sha256: str | None

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]: ...


def handled(text: str, handling: nodes.ReviewHandling | None) -> str | None:
    """Return the part of a review that is extracted; None where the seed rejects so long a review.

    `truncate_head` keeps the head, `truncate_tail` the tail, `truncate_middle` both ends. Lengths are characters.
    """
    if handling is None or len(text) <= handling.max_length:
        return text
    most = handling.max_length
    head = {"truncate_head": most, "truncate_tail": 0, "truncate_middle": (most + 1) // 2}.get(handling.strategy)
    return None if head is None else text[:head] + text[len(text) - (most - head) :]
