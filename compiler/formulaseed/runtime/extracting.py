"""The first half of phase 2: filter and extract. Restaurants with their reviews come in, restaurants with rows go out.

Restaurants keep their order. A review that could not be extracted fails its restaurant, or is left out and counted, as
`on_error` says. A restaurant with rows can be written as a line that `evaluate` reads, so that reviews are extracted once
and formulas are changed as often as need be. Source: the two-phase design's section on phase 2 execution.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, NamedTuple

from formulaseed.data.decoding import decode_object
from formulaseed.data.files import shown_bytes
from formulaseed.data.jsonl import LocatedRestaurant
from formulaseed.data.records import RestaurantRecord, RestaurantRows, ReviewRecord
from formulaseed.data.results import (
    CUT_OFF,
    IN_BATCH,
    NOT_ASKED,
    Extraction,
    Extractor,
    Failures,
    Provenance,
    ReviewCounts,
    ReviewInput,
    error_of,
    handled,
)
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.ir.nodes import ReviewHandling
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.limits import LINE_BYTES
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.sampling import Sample
from formulaseed.source.printing import number_of


@dataclass(frozen=True, slots=True)
class RunOptions:
    on_error: Literal["fail", "skip"] = "fail"
    trace: bool = False
    limit: int | None = None
    parameters: Mapping[str, Any] | None = None
    review_handling: ReviewHandling | None = None
    sample: Sample | None = None
    """Which of the relevant reviews are extracted; None for all of them."""


class ExtractedRestaurant(NamedTuple):
    """A restaurant with a row for each review that was extracted; `error` is why it has none, as results have it.

    `reviews` is None where the restaurant's data cannot be used. `run` is what the result is made with.
    """

    place: str
    business_id: str
    context: Mapping[str, Any]
    rows: list[dict[str, Any]]
    reviews: ReviewCounts | None
    run: Provenance
    error: dict[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A restaurant with its relevant reviews, and the text of each to extract, None where the seed rejects it."""

    place: str
    restaurant: RestaurantRecord | DataError
    business_id: str
    relevant: Sequence[ReviewRecord]
    texts: Sequence[str | None]
    unsampled: int | None = None
    """How many relevant reviews are not in the sample; None where there is none."""

    def asked(self) -> list[ReviewInput]:
        """Return what the extractor gets."""
        texts = [(review, text) for review, text in zip(self.relevant, self.texts, strict=True) if text is not None]
        return [ReviewInput(self.business_id, review.review_id, text, review.facts()) for review, text in texts]


def extract(
    evaluator: Evaluator,
    extractor: Extractor,
    restaurants: Iterable[LocatedRestaurant],
    options: RunOptions,
    failures: Failures,
) -> Iterator[ExtractedRestaurant]:
    """Yield the rows of every restaurant with a known id, up to `limit`; everything that failed is in `failures`.

    With a sample, a restaurant of which no review is in it is left out.
    """
    made_with = evaluator.provenance(options.parameters, extractor.name, extractor.prompt_sha256)
    if options.sample is not None:
        made_with = replace(made_with, sample=options.sample.to_json())
    pending: deque[_Prepared] = deque()

    def ahead() -> Iterator[list[ReviewInput]]:
        for prepared in _prepared(evaluator, restaurants, options):
            pending.append(prepared)
            yield prepared.asked()

    answers = extractor.extract_all(ahead())
    try:
        for extractions in answers:
            prepared = pending.popleft()
            restaurant, is_unsampled = prepared.restaurant, prepared.unsampled is not None and not prepared.relevant
            if not isinstance(restaurant, RestaurantRecord):
                found = unusable(prepared.place, prepared.business_id, restaurant, made_with, failures)
            else:
                found = None if is_unsampled else _rows(prepared, restaurant, extractions, options, made_with, failures)
            if found is not None:
                yield found
    finally:
        if isinstance(answers, Generator):  # its tasks end here, not when it is collected
            answers.close()


def asked_reviews(
    evaluator: Evaluator, restaurants: Iterable[LocatedRestaurant], options: RunOptions
) -> Iterator[list[ReviewInput]]:
    """Yield the reviews that `extract` would have extracted, a list for each restaurant."""
    return (prepared.asked() for prepared in _prepared(evaluator, restaurants, options))


def unusable(
    place: str, business_id: str, error: DataError, made_with: Provenance, failures: Failures
) -> ExtractedRestaurant | None:
    """Return a restaurant whose line cannot be used; None where its id is unknown."""
    if not business_id:
        failures.add_unreadable(place, str(error))
        return None
    failures.add(f"{place}: {business_id}", str(error))
    return ExtractedRestaurant(place, business_id, {}, [], None, made_with, error_of(error))


def with_line(
    evaluator: Evaluator,
    found: ExtractedRestaurant,
    failures: Failures,
    *,
    with_text: bool = False,
    write: Callable[[dict[str, Any]], None] | None = None,
) -> tuple[ExtractedRestaurant, dict[str, Any] | None]:
    """Return a restaurant, and its line of rows, which has the texts of reviews, quotes and reasons only if asked for.

    A restaurant that failed has no line. One that `evaluate` could not read, or `write` refuses with `DataError`, has an
    error in place of a line.
    """
    if found.error is not None or found.reviews is None:
        return found, None
    kept = ("review_id", "extraction", "meta", *(("text", "quotes", "reasons") if with_text else ()))
    line = {
        "business_id": found.business_id,
        "context": found.context,
        "rows": [{name: row[name] for name in kept if name in row} for row in found.rows],
        "reviews": found.reviews.to_json(),
        "run": {name: value for name, value in found.run.to_json().items() if name != "parameters"},
    }
    try:
        line = _as_read(evaluator, line)
        if write is not None:
            write(line)
        return found, line
    except DataError as error:
        failures.add(f"{found.place}: {found.business_id}", str(error))
        return found._replace(error=error_of(error)), None


def flat_line(evaluator: Evaluator, program: nodes.Program, line: dict[str, Any]) -> dict[str, Any]:
    """Return a line of rows with the context's values at paths under their own names, where `evaluate` finds them, too."""
    used = program.used()
    fields = [each for each in program.context if Symbol(SymbolKind.CONTEXT, each.name) in used]
    known = zip(fields, evaluator.module.parse_context(line["context"]), strict=True)
    return {**line, "context": {**line["context"], **{each.name: value for each, value in known if each.path}}}


def _as_read(evaluator: Evaluator, line: dict[str, Any]) -> dict[str, Any]:
    """Return a line of rows as `evaluate` will read it. Raises `DataError` where it will not."""
    try:
        written = json.dumps(line, ensure_ascii=False).encode()
    except RecursionError:
        raise DataError("objects and lists are nested too deep") from None
    if len(written) >= LINE_BYTES:
        raise DataError(f"its rows are longer than {shown_bytes(LINE_BYTES)}, the most that a line may have")
    read = decode_object(written)
    found = RestaurantRows.read(read)
    evaluator.check(found.rows, found.context)
    return read


def _prepared(
    evaluator: Evaluator, restaurants: Iterable[LocatedRestaurant], options: RunOptions
) -> Iterator[_Prepared]:
    for number, (place, restaurant, business_id) in enumerate(islice(restaurants, options.limit)):
        reviews = restaurant.reviews if isinstance(restaurant, RestaurantRecord) else ()
        relevant = [review for review in reviews if evaluator.is_relevant(review.text)]
        texts = [handled(review.text, options.review_handling) for review in relevant]
        if options.sample is None:
            yield _Prepared(place, restaurant, business_id, relevant, texts)
            continue
        chosen = options.sample.chosen.get(number, ())
        pairs = [(review, text) for review, text in zip(relevant, texts, strict=True) if text is not None]
        pairs = [pair for at, pair in enumerate(pairs) if at in chosen]
        sampled = [review for review, _ in pairs]
        texts = [text for _, text in pairs]
        yield _Prepared(place, restaurant, business_id, sampled, texts, len(relevant) - len(sampled))


def _rows(
    prepared: _Prepared,
    restaurant: RestaurantRecord,
    extracted: list[Extraction],
    options: RunOptions,
    made_with: Provenance,
    failures: Failures,
) -> ExtractedRestaurant:
    place, business_id, relevant = prepared.place, restaurant.business_id, prepared.relevant
    answers, handling = iter(extracted), options.review_handling
    most = f"the seed rejects reviews over {handling.max_length if handling is not None else 0}"
    rows: list[dict[str, Any]] = []
    failed: list[Extraction] = []
    for review, text in zip(relevant, prepared.texts, strict=True):
        if text is None:
            length = len(review.text)
            failed.append(Extraction(review.review_id, None, f"it has {length} characters, and {most}"))
        elif (extraction := next(answers)).fields is None:
            failed.append(extraction)
        else:
            rows.append(_row(review, text, extraction))
    for what, reason in _reported(failed):
        failures.add(f"{place}: {business_id}: {what}", reason)
    total, all_relevant = len(restaurant.reviews), len(relevant) + (prepared.unsampled or 0)
    sources: dict[str, int] = dict(sorted(Counter(each.source for each in extracted if each.source).items()))
    sampled = len(relevant) if prepared.unsampled is not None else None
    duplicates = restaurant.duplicates
    failures.duplicates += duplicates
    counts = ReviewCounts(total, all_relevant, len(rows), len(failed), sampled, sources or None, duplicates)
    error: dict[str, str | None] | None = None
    if failed and options.on_error == "fail":
        ids = [extraction.review_id for extraction in failed]
        asked = "relevant review" if sampled is None else "sampled review"
        what = f"{len(failed)} of {number_of(len(relevant), asked)} could not be extracted ({_some(ids)})"
        error = {"step": None, "kind": "extraction", "message": what}
    return ExtractedRestaurant(place, business_id, restaurant.context(), rows, counts, made_with, error)


def _row(review: ReviewRecord, text: str, extraction: Extraction) -> dict[str, Any]:
    """The row of a review with the text that it was extracted from."""
    row = {"review_id": review.review_id, "extraction": extraction.fields, "meta": review.meta(), "text": text}
    if extraction.quotes:
        row["quotes"] = {name: quote.to_json() for name, quote in extraction.quotes.items()}
    if extraction.reasons:
        row["reasons"] = dict(extraction.reasons)
    return row


def _reported(failed: Sequence[Extraction]) -> Iterator[tuple[str, str]]:
    """Each review that failed, and why; those that nobody was asked about are one entry for each reason."""
    unasked = (NOT_ASKED, IN_BATCH, CUT_OFF)
    yield from ((f"review {each.review_id}", each.failure) for each in failed if each.failure not in unasked)
    for reason in unasked:
        left = [each.review_id for each in failed if each.failure == reason]
        if left:
            yield f"review {left[0]}" if len(left) == 1 else f"{len(left)} reviews ({_some(left)})", reason


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
