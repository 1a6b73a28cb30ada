"""The recorded extractor: values from a file, no more and no less.

In: lines of recorded extractions and the seed's fields. A value that the seed does not allow is refused with its
line; a review without a line is a failure of that review.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from formulaseed.errors import DataError
from formulaseed.extract.base import Extraction, OneByOne, ReviewText
from formulaseed.extract.fields import Field, FieldValue, legal
from formulaseed.runtime.jsonl import BadLine, Line
from formulaseed.runtime.records import ExtractionLine


class RecordedExtractor(OneByOne):
    """Looks reviews up by restaurant and review id. `faults` lists the lines that could not be used."""

    name = "recorded"

    def __init__(self, fields: Sequence[Field], lines: Iterable[Line | BadLine]) -> None:
        self.fields = tuple(fields)
        self.faults: list[tuple[str, str]] = []
        self._known: dict[tuple[str, str], Extraction] = {}
        for line in lines:
            self._add(line)

    def _add(self, line: Line | BadLine) -> None:
        if isinstance(line, BadLine):
            self.faults.append((f"{line.file}:{line.number}", line.reason))
            return
        try:
            record: ExtractionLine = ExtractionLine.read(line.value)
        except DataError as error:
            self.faults.append((line.place, str(error)))
            return
        key = (record.business_id, record.review_id)
        if key in self._known:
            self.faults.append((line.place, f"the review {record.review_id} was recorded already"))
            return
        try:
            values = {field.name: _value(field, record.fields) for field in self.fields}
            self._known[key] = Extraction(record.review_id, {k: v for k, v in values.items() if v is not None})
        except DataError as error:
            self.faults.append((line.place, str(error)))
            self._known[key] = Extraction(record.review_id, None, f"its recorded extraction is unusable: {error}")

    def extract(self, reviews: Sequence[ReviewText]) -> list[Extraction]:
        missing = "no extraction is recorded for it"
        return [self._known.get((r.business_id, r.review_id), Extraction(r.review_id, None, missing)) for r in reviews]


def _value(field: Field, given: dict[str, Any]) -> FieldValue | None:
    """The field's value, None where it is absent: whether it is needed is for the evaluation to say."""
    value = given.get(field.name)
    if value is None:
        return field.default
    return legal(field, value)
