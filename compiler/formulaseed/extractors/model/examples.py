"""Reads reviewed answers from a file, as examples for a model.

In: recorded extractions, each with the review's text or with the ids to find the review. Out: the first lines as examples. A line
that the seed's fields do not allow is an error: a model must be shown no wrong answer, and no fewer answers than the file has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from itertools import islice

from formulaseed import limits
from formulaseed.data.jsonl import InputLine, LocatedRestaurant
from formulaseed.data.records import RestaurantRecord, ReviewedLine
from formulaseed.data.results import FieldValue, find_quote, truncate_review
from formulaseed.errors import DataError
from formulaseed.extractors.base import AskedField
from formulaseed.extractors.recorded import check_field_names, read_recorded_value
from formulaseed.ir.nodes import ReviewedAnswer, ReviewHandling

ReviewKey = tuple[str, str]
"""The ids of a restaurant and of one of its reviews."""
FindTexts = Callable[[Collection[ReviewKey]], Mapping[ReviewKey, str]]
"""Finds the texts of reviews by their keys; leaves out reviews that it does not find."""


def read_reviewed_examples(
    lines: Iterable[InputLine], fields: Sequence[AskedField], handling: ReviewHandling | None, find_texts: FindTexts
) -> tuple[ReviewedAnswer, ...]:
    """Return the first `limits.REVIEW_EXAMPLES` lines as examples, and close `lines` if it is a generator.

    The texts of lines without one come from `find_texts`; `handling` is the seed's rule for long reviews, if it has
    one. Raises `DataError` with the place of the first line that cannot be used.
    """
    first_lines = [*islice(lines, limits.REVIEW_EXAMPLES)]
    if isinstance(lines, Generator):  # the rest of the file is not read
        lines.close()
    records = [(line.place, _read_record(line)) for line in first_lines]
    missing = {(record.business_id, record.review_id) for _, record in records if record.text is None}
    texts = find_texts(missing) if missing else {}
    examples = []
    for place, record in records:
        text = record.text
        if text is None:
            text = texts.get((record.business_id, record.review_id))
        try:
            examples.append(_make_example(record, text, fields, handling))
        except DataError as error:
            raise error.at(place) from None
    return tuple(examples)


def find_review_texts(restaurants: Iterable[LocatedRestaurant], keys: Collection[ReviewKey]) -> dict[ReviewKey, str]:
    """Return the texts of the reviews `keys` that the restaurants have, of duplicates the first. Stops when it has all."""
    texts: dict[ReviewKey, str] = {}
    for _, restaurant, business_id in restaurants:
        reviews = restaurant.reviews if isinstance(restaurant, RestaurantRecord) else ()
        for review in reviews:
            key = (business_id, review.review_id)
            if key in keys:
                texts.setdefault(key, review.text)
        if len(texts) == len(keys):
            break
    return texts


def _read_record(line: InputLine) -> ReviewedLine:
    """Return the record of a line. Raises `DataError` with the line's place if it is none."""
    if isinstance(line.content, DataError):
        raise DataError(str(line.content), line.place)
    return ReviewedLine.read(line.content, line.place)


def _make_example(
    record: ReviewedLine, full_text: str | None, fields: Sequence[AskedField], handling: ReviewHandling | None
) -> ReviewedAnswer:
    """Return a record as an example about `full_text`, which `handling` may shorten.

    Raises `DataError` for a text that is missing, too long or empty, for an unknown field, for a missing or illegal value, and
    for a quote that is required but missing, or that the text does not contain.
    """
    if full_text is None:
        raise DataError("it has no `text`, and the contexts do not have its review")
    text = truncate_review(full_text, handling)
    if text is None or len(text) > limits.REVIEW_EXAMPLE_CHARACTERS:
        raise DataError(f"its review has {len(full_text):,} characters, which are too many: leave the line out")
    if not text.strip():
        raise DataError("its review has no words")
    names = [field.name for field in fields]
    check_field_names([*record.fields, *record.quotes, *record.reasons], names)
    values: dict[str, FieldValue] = {}
    for field in fields:
        value = read_recorded_value(field, record.fields, names)
        quote = record.quotes.get(field.name, "")
        if value is None:
            raise DataError(f"`{field.name}` has no value, and no default")
        if quote.strip() and not find_quote(quote, text).is_verified:
            raise DataError(f"the review does not contain the quote for `{field.name}`")
        if not quote.strip() and field.needs_quote(value):
            raise DataError(f"there is no quote for `{field.name}`, whose evidence is required: add it to `quotes`")
        values[field.name] = value
    return ReviewedAnswer(text, values, record.quotes, record.reasons)
