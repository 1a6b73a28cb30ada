"""Takes recorded extractions from a file, and records those of another extractor.

In: lines of recorded extractions and the seed's fields. A value that the seed does not allow is refused with its
line; a review without a line fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from pydantic import Field

from formulaseed.data.jsonl import InputLine, Lines, open_lines, parse_lines
from formulaseed.data.records import ExtractionLine
from formulaseed.data.results import Extraction, Extractor, Failures, FieldValue, ReviewInput, find_quote, write_line
from formulaseed.errors import DataError
from formulaseed.extractors.base import AskedField, SyncExtractor, fields_of, legal
from formulaseed.extractors.options import Callbacks, ExtractorOptions, LinesOption
from formulaseed.ir import nodes
from formulaseed.language.inputs import _find_typo
from formulaseed.runtime.reviews import ReviewSource


class RecordedOptions(ExtractorOptions):
    """The options of the extractors that take recorded extractions."""

    positional: ClassVar[str] = "extractions"

    extractions: LinesOption = Field(description="Recorded extractions, JSON Lines.")
    strict: bool = Field(False, description="Refuse recorded extractions with fields that the seed does not have.")

    def read(self, program: nodes.Program, failures: Failures, *, keeps_texts: bool = False) -> RecordedExtractor:
        """Read the recorded extractions; lines that cannot be used are added to `failures`."""
        lines = open_lines(self.extractions, "extractions")
        recorded = RecordedExtractor(fields_of(program), lines, strict=self.strict, keeps_texts=keeps_texts)
        for place, reason in recorded.faults:
            failures.add_unreadable(place, reason)
        return recorded


class Recorded(RecordedOptions):
    """Takes the values of reviews from recorded extractions: a path, a list of objects or a data frame."""

    name: ClassVar[str] = "recorded"

    if TYPE_CHECKING:

        def __init__(self, extractions: Lines, *, strict: bool = False) -> None: ...

    @contextmanager
    def open(
        self, program: nodes.Program, source: ReviewSource, failures: Failures, callbacks: Callbacks
    ) -> Iterator[RecordedExtractor]:
        yield self.read(program, failures)


class RecordedExtractor(SyncExtractor):
    """Looks reviews up by restaurant and review id. `faults` lists the lines that could not be used.

    With `strict` a field that the seed does not have makes a line unusable. With `keeps_texts`, `texts` are those of lines that
    have one.
    """

    name = "recorded"

    def __init__(
        self,
        fields: Sequence[AskedField],
        lines: Iterable[InputLine],
        *,
        strict: bool = False,
        keeps_texts: bool = False,
    ) -> None:
        self.fields = tuple(fields)
        self._names = tuple(field.name for field in self.fields)
        self._strict = strict
        self._keeps_texts = keeps_texts
        self.texts: dict[tuple[str, str], str] = {}
        self.faults: list[tuple[str, str]] = []
        self._known: dict[tuple[str, str], Extraction] = {}
        self._quotes: dict[tuple[str, str], dict[str, str]] = {}
        for line, record in parse_lines(lines, ExtractionLine.read):
            reason = str(record) if isinstance(record, DataError) else self._add(record)
            if reason:
                self.faults.append((line.place, reason))

    def extract(self, review: ReviewInput) -> Extraction:
        return self.find(review) or Extraction(review.review_id, None, "no extraction is recorded for it")

    def find(self, review: ReviewInput) -> Extraction | None:
        """Return what is recorded for a review; None if nothing is."""
        extraction = self._known.get((review.business_id, review.review_id))
        quotes = self._quotes.get((review.business_id, review.review_id))
        if extraction is None or quotes is None:
            return extraction
        return replace(extraction, quotes={name: find_quote(quote, review.text) for name, quote in quotes.items()})

    def _select_fields(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the texts of fields that the seed has, in its order."""
        return {name: texts[name] for name in self._names if name in texts}

    def _add(self, record: ExtractionLine) -> str:
        """Add a recorded extraction; return why it cannot be used, if so."""
        key = (record.business_id, record.review_id)
        if key in self._known:
            return f"duplicate extraction of the review {record.review_id}"
        try:
            unknown = next((key for key in record.fields if self._strict and key not in self._names), None)
            if unknown is not None:
                known = ", ".join(self._names) or "none"
                raise DataError(f"the seed has no field `{unknown[:80]}`; there are: {known}")
            values = {field.name: recorded_value(field, record.fields, self._names) for field in self.fields}
            self._known[key] = Extraction(
                record.review_id,
                {k: v for k, v in values.items() if v is not None},
                reasons=self._select_fields(record.reasons),
            )
            if record.quotes:
                self._quotes[key] = self._select_fields(record.quotes)
            if self._keeps_texts and record.text is not None:
                self.texts[key] = record.text
            return ""
        except DataError as error:
            self._known[key] = Extraction(record.review_id, None, f"its recorded extraction is unusable: {error}")
            return str(error)


def recorded_value(field: AskedField, given: Mapping[str, Any], names: Sequence[str]) -> FieldValue | None:
    """Return a field's recorded value; None where it is absent: the evaluation reports a value that it needs.

    Raises `DataError` for an illegal one, and for a key that is a typo of the field and none of `names`.
    """
    typo = _find_typo(field.name, given, names) if field.name not in given else None
    if typo is not None:
        fix = f"rename it, or give `{field.name}` as null"
        raise DataError(f"`{field.name}` is missing, but there is `{typo[:80]}`: {fix}")
    value = given.get(field.name)
    return field.default if value is None else legal(field, value)


class ExtractionRecorder:
    """Passes reviews on to an extractor, and writes what it extracts as recorded extractions."""

    def __init__(self, extractor: Extractor, file: TextIO, *, with_text: bool = False) -> None:
        self.name = extractor.name
        self.prompt_sha256 = extractor.prompt_sha256
        self._extractor = extractor
        self._file = file
        self._with_text = with_text

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        pending: deque[Sequence[ReviewInput]] = deque()

        def ahead() -> Iterator[Sequence[ReviewInput]]:
            for reviews in restaurants:
                pending.append(reviews)
                yield reviews

        answers = self._extractor.extract_all(ahead())
        try:
            for extractions in answers:
                for review, extraction in zip(pending.popleft(), extractions, strict=True):
                    if extraction.fields is not None:
                        write_line(self._file, self._line(review, extraction))
                yield extractions
        finally:
            if isinstance(answers, Generator):  # its tasks end here, not when it is collected
                answers.close()

    def _line(self, review: ReviewInput, extraction: Extraction) -> dict[str, Any]:
        optional = {
            "text": review.text if self._with_text else "",
            "fields": extraction.fields,
            "quotes": {name: quote.text for name, quote in extraction.quotes.items()},
            "reasons": dict(extraction.reasons),
        }
        present = {name: value for name, value in optional.items() if value or name == "fields"}
        return {"business_id": review.business_id, "review_id": review.review_id, **present}
