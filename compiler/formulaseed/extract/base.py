"""What an extractor is, and the seed's say in what it sees.

An extractor turns relevant reviews into field values. It never sees more of a review than `review_handling` lets
through, and what it cannot extract it says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from formulaseed.extract.fields import Field, FieldType, FieldValue
from formulaseed.ir import nodes


@dataclass(frozen=True, slots=True)
class ReviewText:
    """A relevant review, as an extractor gets it."""

    business_id: str
    review_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """One review's field values; where there are none, `failure` says why."""

    review_id: str
    fields: dict[str, FieldValue] | None
    failure: str = ""


class Extractor(Protocol):
    """Extracts reviews, in their order."""

    name: str

    def extract(self, reviews: Sequence[ReviewText]) -> list[Extraction]: ...


def fields_of(program: nodes.Program) -> tuple[Field, ...]:
    """The seed's fields, as an extractor knows them."""
    return tuple(
        Field(
            name=field.name,
            type="enum" if field.ty.values is not None else _TYPES[field.ty.base.value],
            description=field.description,
            values=tuple((value.name, value.description) for value in field.values),
            default=field.default,
        )
        for field in program.fields
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


class TextExtractor:
    """An extractor made of a function from a text to field values, which always has an answer."""

    def __init__(self, name: str, function: Callable[[str], dict[str, FieldValue]]) -> None:
        self.name = name
        self._function = function

    def extract(self, reviews: Sequence[ReviewText]) -> list[Extraction]:
        return [Extraction(review.review_id, self._function(review.text)) for review in reviews]
