"""What an extractor is, and the seed's say in what it sees.

An extractor turns relevant reviews into field values. It never sees more of a review than `review_handling` lets
through, and what it cannot extract it says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from formulaseed.extract.fields import Field, FieldType, FieldValue
from formulaseed.ir import nodes


@dataclass(frozen=True, slots=True)
class ReviewText:
    """A relevant review, as an extractor gets it. `facts` are its date, stars and useful votes, as its line has them."""

    business_id: str
    review_id: str
    text: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quote:
    """What a review is said to say for a field's value. `start` and `end` are where it stands in the text that was
    extracted, in characters; None where it does not stand there, so that it is worth nothing."""

    text: str
    start: int | None
    end: int | None

    @property
    def is_verified(self) -> bool:
        return self.start is not None

    def to_json(self) -> dict[str, object]:
        """As results have it."""
        return {"text": self.text, "verified": self.is_verified, "start": self.start, "end": self.end}


NOT_ASKED = "it has not been asked about"
"""The failure of each review that is left where a run stops."""


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
    what a model is asked, are what results say of where their values come from.
    """

    name: str
    prompt_sha256: str | None

    def extract_all(self, restaurants: Iterable[Sequence[ReviewText]]) -> Iterator[list[Extraction]]: ...


class OneByOne(ABC):
    """An extractor that has an answer at once."""

    prompt_sha256: str | None = None

    @abstractmethod
    def extract(self, reviews: Sequence[ReviewText]) -> list[Extraction]:
        """The reviews of one restaurant, in their order."""

    def extract_all(self, restaurants: Iterable[Sequence[ReviewText]]) -> Iterator[list[Extraction]]:
        return map(self.extract, restaurants)


def fields_of(program: nodes.Program) -> tuple[Field, ...]:
    """The seed's fields, as an extractor knows them."""
    return tuple(
        Field(
            name=each.name,
            type="enum" if each.ty.values is not None else _TYPES[each.ty.base.value],
            description=each.description,
            values=tuple((value.name, value.description) for value in each.values),
            default=each.default,
            evidence=each.evidence,
            minimum=each.minimum,
            maximum=each.maximum,
        )
        for each in program.fields
    )


def handled(text: str, handling: nodes.ReviewHandling | None) -> str | None:
    """The part of a review that is extracted; None where the seed rejects so long a review.

    `truncate_head` keeps the head, `truncate_tail` the tail, `truncate_middle` both ends. Lengths are characters.
    """
    if handling is None or len(text) <= handling.max_length:
        return text
    most = handling.max_length
    if handling.strategy == "truncate_head":
        return text[:most]
    if handling.strategy == "truncate_tail":
        return text[-most:]
    if handling.strategy == "truncate_middle":
        head = (most + 1) // 2
        return text[:head] + (text[-(most - head) :] if most > head else "")
    return None


_TYPES: dict[str, FieldType] = {"boolean": "boolean", "integer": "integer", "number": "number", "string": "string"}


class TextExtractor(OneByOne):
    """An extractor made of a function from a text to field values, which always has an answer."""

    def __init__(self, name: str, function: Callable[[str], dict[str, FieldValue]]) -> None:
        self.name = name
        self._function = function

    def extract(self, reviews: Sequence[ReviewText]) -> list[Extraction]:
        return [Extraction(review.review_id, self._function(review.text)) for review in reviews]
