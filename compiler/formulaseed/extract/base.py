"""What extractors share: the seed's fields, and extractors that answer at once.

An extractor turns relevant reviews into field values, or fails a review by name. It never sees more of a review than
`review_handling` lets through.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence

from formulaseed.data.extractions import Extraction, FieldValue, ReviewInput
from formulaseed.extract.fields import Field, FieldType
from formulaseed.ir import nodes


class SyncExtractor(ABC):
    """Base of the extractors that answer at once."""

    prompt_sha256: str | None = None

    @abstractmethod
    def extract(self, reviews: Sequence[ReviewInput]) -> list[Extraction]:
        """Extract the reviews of one restaurant, in their order."""

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        return map(self.extract, restaurants)


def fields_of(program: nodes.Program) -> tuple[Field, ...]:
    """Return the seed's fields as extractors use them."""
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


_TYPES: dict[str, FieldType] = {"boolean": "boolean", "integer": "integer", "number": "number", "string": "string"}


class TextExtractor(SyncExtractor):
    """An extractor made of a total function from a text to field values."""

    def __init__(self, name: str, function: Callable[[str], dict[str, FieldValue]]) -> None:
        self.name = name
        self._function = function

    def extract(self, reviews: Sequence[ReviewInput]) -> list[Extraction]:
        return [Extraction(review.review_id, self._function(review.text)) for review in reviews]
