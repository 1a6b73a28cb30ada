"""Reviewed answers of a file, as examples for a model.

In: recorded extractions, each with the review's text or the ids to find it by. Out: the first of them as examples. A line
that the seed's fields do not allow is refused by its place: a model must not be shown a wrong answer, nor fewer than were given.
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
from formulaseed.extractors.recorded import recorded_value
from formulaseed.ir.nodes import ReviewedAnswer, ReviewHandling

ReviewKey = tuple[str, str]
"""The ids of a restaurant and of its review."""
Texts = Callable[[Collection[ReviewKey]], Mapping[ReviewKey, str]]


def reviewed_answers(
    lines: Iterable[InputLine], fields: Sequence[AskedField], handling: ReviewHandling | None, texts: Texts
) -> tuple[ReviewedAnswer, ...]:
    """Return the first `limits.REVIEW_EXAMPLES` lines as examples; `texts` finds the reviews of those without a text.

    Raises `DataError` with the place of a line that cannot be used.
    """
    first = [*islice(lines, limits.REVIEW_EXAMPLES)]
    if isinstance(lines, Generator):  # the rest of the file is not read
        lines.close()
    read = [(line.place, _record(line)) for line in first]
    wanted = {(record.business_id, record.review_id) for _, record in read if record.text is None}
    found = texts(wanted) if wanted else {}
    examples = []
    for place, record in read:
        text = found.get((record.business_id, record.review_id)) if record.text is None else record.text
        try:
            examples.append(_example(record, text, fields, handling))
        except DataError as error:
            raise error.at(place) from None
    return tuple(examples)


def texts_of(restaurants: Iterable[LocatedRestaurant], wanted: Collection[ReviewKey]) -> dict[ReviewKey, str]:
    """Return the texts of these reviews, as far as the restaurants have them."""
    found: dict[ReviewKey, str] = {}
    for _, restaurant, business_id in restaurants:
        for review in restaurant.reviews if isinstance(restaurant, RestaurantRecord) else ():
            if (key := (business_id, review.review_id)) in wanted:
                found.setdefault(key, review.text)
        if len(found) == len(wanted):
            break
    return found


def _record(line: InputLine) -> ReviewedLine:
    if isinstance(line.content, DataError):
        raise DataError(str(line.content), line.place)
    return ReviewedLine.read(line.content, line.place)


def _example(
    record: ReviewedLine, whole: str | None, fields: Sequence[AskedField], handling: ReviewHandling | None
) -> ReviewedAnswer:
    if whole is None:
        raise DataError("it has no `text`, and the contexts do not have its review")
    text = truncate_review(whole, handling)
    if text is None or len(text) > limits.REVIEW_EXAMPLE_CHARACTERS:
        raise DataError(f"its review has {len(whole):,} characters, which are too many: leave the line out")
    if not text.strip():
        raise DataError("its review has no words")
    names = [field.name for field in fields]
    for key in [*record.fields, *record.quotes, *record.reasons]:
        if key not in names:
            raise DataError(f"the seed has no field `{key[:80]}`; there are: {', '.join(names) or 'none'}")
    values: dict[str, FieldValue] = {}
    for field in fields:
        value = recorded_value(field, record.fields, names)
        quote = record.quotes.get(field.name, "")
        if value is None:
            raise DataError(f"`{field.name}` has no value, and no default")
        if quote.strip() and not find_quote(quote, text).is_verified:
            raise DataError(f"the review does not contain the quote for `{field.name}`")
        if not quote.strip() and field.needs_quote(value):
            raise DataError(f"there is no quote for `{field.name}`, whose evidence is required: add it to `quotes`")
        values[field.name] = value
    return ReviewedAnswer(text, values, record.quotes, record.reasons)
