"""Reads recorded extractions from lines, and records the extractions of another extractor.

In: lines of recorded extractions and the seed's fields. A line with a value that the seed does not allow is reported and
unusable; a review without a usable line fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from pydantic import Field

from formulaseed.data.jsonl import InputLine, Lines, open_lines, parse_lines
from formulaseed.data.records import ExtractionLine
from formulaseed.data.results import Extraction, Extractor, Failures, FieldValue, ReviewInput, find_quote, write_line
from formulaseed.errors import DataError
from formulaseed.extractors import base
from formulaseed.ir import nodes
from formulaseed.language.inputs import _find_typo
from formulaseed.runtime.reviews import ReviewSource


class RecordedOptions(base.ExtractorOptions):
    """The options that all extractors share that read recorded extractions."""

    positional: ClassVar[str] = "extractions"

    extractions: base.LinesOption = Field(description="Recorded extractions, JSON Lines.")
    strict: bool = Field(False, description="Refuse recorded extractions with fields that the seed does not have.")

    def read(self, program: nodes.Program, failures: Failures, *, keeps_texts: bool = False) -> RecordedExtractor:
        """Read the recorded extractions into an extractor, and add lines that cannot be used to `failures`.

        With `keeps_texts` the extractor keeps the texts of lines that have one. Raises `UnreadableError` for a file
        that cannot be opened.
        """
        lines = open_lines(self.extractions, "extractions")
        recorded = RecordedExtractor(base.fields_of(program), lines, strict=self.strict, keeps_texts=keeps_texts)
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
        self, program: nodes.Program, source: ReviewSource, failures: Failures, callbacks: base.Callbacks
    ) -> Iterator[RecordedExtractor]:
        """Open the extractor: read all lines, and add those that cannot be used to `failures`."""
        yield self.read(program, failures)


class RecordedExtractor(base.SyncExtractor):
    """Extracts a review by looking up its recorded extraction, by the ids of its restaurant and of the review.

    `faults` are the place and the reason of each line that cannot be used. With `strict` these include lines with a field that
    the seed does not have. With `keeps_texts`, `texts` has the texts of lines that have one.
    """

    name = "recorded"

    def __init__(
        self,
        fields: Sequence[base.AskedField],
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
            if isinstance(record, DataError):
                reason = str(record)
            else:
                reason = self._add(record)
            if reason:
                self.faults.append((line.place, reason))

    def extract(self, review: ReviewInput) -> Extraction:
        """Return the recorded extraction of a review; one that fails if the review has none."""
        return self.find(review) or Extraction(review.review_id, None, "no extraction is recorded for it")

    def find(self, review: ReviewInput) -> Extraction | None:
        """Return the recorded extraction of a review, with its quotes looked up in the text; None if none is recorded.

        For a recorded line that cannot be used, the extraction has a failure.
        """
        extraction = self._known.get((review.business_id, review.review_id))
        quotes = self._quotes.get((review.business_id, review.review_id))
        if extraction is None or quotes is None:
            return extraction
        return replace(extraction, quotes={name: find_quote(quote, review.text) for name, quote in quotes.items()})

    def _select_fields(self, strings: Mapping[str, str]) -> dict[str, str]:
        """Return the strings of fields that the seed has, in the seed's order."""
        return {name: strings[name] for name in self._names if name in strings}

    def _add(self, record: ExtractionLine) -> str:
        """Add a recorded extraction. Returns the reason why it cannot be used; empty if it can.

        A second line for the same review is not used. A line with a wrong value is stored as an extraction that fails.
        """
        key = (record.business_id, record.review_id)
        if key in self._known:
            return f"duplicate extraction of the review {record.review_id}"
        try:
            if self._strict:
                check_field_names(record.fields, self._names)
            values = {field.name: read_recorded_value(field, record.fields, self._names) for field in self.fields}
            self._known[key] = Extraction(
                record.review_id,
                {name: value for name, value in values.items() if value is not None},
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


def check_field_names(keys: Iterable[str], names: Collection[str]) -> None:
    """Raise `DataError` for the first of `keys` that is none of the seed's field `names`."""
    for key in keys:
        if key not in names:
            raise DataError(f"the seed has no field `{key[:80]}`; there are: {', '.join(names) or 'none'}")


def read_recorded_value(field: base.AskedField, values: Mapping[str, Any], names: Sequence[str]) -> FieldValue | None:
    """Return the value of `field` among recorded `values`; the field's default if it is missing or null.

    Returns None if the field has no default either: the evaluation reports a missing value that it needs. Raises `DataError` for
    a value that the field does not allow, and for a missing one if `values` has a key that is a typo of the field's name. `names`
    are the fields of the seed, which are no typos.
    """
    if field.name not in values:
        typo = _find_typo(field.name, values, names)
        if typo is not None:
            fix = f"rename it, or give `{field.name}` as null"
            raise DataError(f"`{field.name}` is missing, but there is `{typo[:80]}`: {fix}")
    value = values.get(field.name)
    if value is None:
        return field.default
    return base.check_value(field, value)


class ExtractionRecorder:
    """An extractor that passes reviews on to another one, and writes the extractions with values as recorded extractions."""

    def __init__(self, extractor: Extractor, file: TextIO, *, with_text: bool = False) -> None:
        self.name = extractor.name
        self.prompt_sha256 = extractor.prompt_sha256
        self._extractor = extractor
        self._file = file
        self._with_text = with_text

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        """Yield the other extractor's extractions, each restaurant's after they are written to the file.

        Extractions without fields, which failed, are yielded and not written.
        """
        pending: deque[Sequence[ReviewInput]] = deque()

        def remember_reviews() -> Iterator[Sequence[ReviewInput]]:
            """Yield the reviews of each restaurant, and append them to `pending`."""
            for reviews in restaurants:
                pending.append(reviews)
                yield reviews

        answers = self._extractor.extract_all(remember_reviews())
        try:
            for extractions in answers:
                for review, extraction in zip(pending.popleft(), extractions, strict=True):
                    if extraction.fields is not None:
                        write_line(self._file, self._build_line(review, extraction))
                yield extractions
        finally:
            if isinstance(answers, Generator):  # end its tasks now, not when it is garbage-collected
                answers.close()

    def _build_line(self, review: ReviewInput, extraction: Extraction) -> dict[str, Any]:
        """Return the line of an extraction, without empty quotes and reasons; its text only with `with_text`."""
        optional = {
            "text": review.text if self._with_text else "",
            "fields": extraction.fields,
            "quotes": {name: quote.text for name, quote in extraction.quotes.items()},
            "reasons": dict(extraction.reasons),
        }
        present = {name: value for name, value in optional.items() if value or name == "fields"}
        return {"business_id": review.business_id, "review_id": review.review_id, **present}
