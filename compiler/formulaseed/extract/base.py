"""What extractors share: the seed's fields, and extractors that answer at once.

An extractor turns relevant reviews into field values, or fails a review by name. It never sees more of a review than
`review_handling` lets through.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from formulaseed.data.results import Extraction, FieldValue, ReviewInput
from formulaseed.errors import DataError
from formulaseed.extract.fields import Field, FieldType
from formulaseed.ir import nodes


class SyncExtractor(ABC):
    """Base of the extractors that answer at once."""

    name: str
    prompt_sha256: str | None = None

    @abstractmethod
    def extract(self, reviews: Sequence[ReviewInput]) -> list[Extraction]:
        """Extract the reviews of one restaurant, in their order."""

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        return map(self.extract, restaurants)

    def summary(self) -> list[str]:
        """What a run prints before its closing line."""
        return []


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
            hint=each.hint,
        )
        for each in program.fields
    )


_TYPES: dict[str, FieldType] = {"boolean": "boolean", "integer": "integer", "number": "number", "string": "string"}


class TextExtractor(SyncExtractor):
    """An extractor made of a function from a review's text and facts to field values.

    The function raises `DataError` for a review that it cannot extract.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[str, Mapping[str, object]], dict[str, FieldValue]],
        summary: Callable[[], list[str]] = list,
    ) -> None:
        self.name = name
        self._function = function
        self._summary = summary

    def summary(self) -> list[str]:
        return self._summary()

    def extract(self, reviews: Sequence[ReviewInput]) -> list[Extraction]:
        return [self._extraction(review) for review in reviews]

    def _extraction(self, review: ReviewInput) -> Extraction:
        try:
            return Extraction(review.review_id, self._function(review.text, review.facts))
        except DataError as error:
            return Extraction(review.review_id, None, str(error))
