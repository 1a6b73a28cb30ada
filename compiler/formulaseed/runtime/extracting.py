"""Filters and extracts reviews, the first half of phase 2: restaurants with reviews come in, restaurants with rows go out.

Restaurants keep their order. A review that could not be extracted fails its restaurant, or is dropped and counted, as
`on_error` says. A restaurant with rows can be written as a line that `evaluate` reads, so that reviews are extracted once
and formulas can change afterwards. A random sample of the reviews is spread over the restaurants; it depends only on the seed
of the draw and the ids, so that the order of the reviews in a file does not matter. Source: the two-phase
design's section on phase 2 execution.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from heapq import nsmallest
from itertools import islice
from typing import Any, Literal, NamedTuple

from formulaseed.data import results
from formulaseed.data.decoding import decode_object
from formulaseed.data.files import format_size
from formulaseed.data.jsonl import LocatedRestaurant
from formulaseed.data.records import RestaurantRecord, RestaurantRows, ReviewRecord
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.ir.nodes import ReviewHandling
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.limits import LINE_BYTES
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.table_names import FindReasons
from formulaseed.source.printing import number_of

_Candidate = tuple[int, bytes, int, int]
"""A review's rank in its restaurant, its random number, and the positions of the restaurant and of the review in it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A random sample of the reviews to extract."""

    seed: int
    chosen: Mapping[int, frozenset[int]]
    """The positions of the sampled reviews among those to extract, by the position of their restaurant."""
    size: int
    """The number of reviews in the sample."""
    population: int
    """The number of reviews that the sample was drawn from."""

    def to_json(self) -> dict[str, int]:
        """Return the sample's sizes and its random seed, as the provenance of results has them."""
        return {"reviews": self.size, "of": self.population, "seed": self.seed}

    def describe(self) -> str:
        """Return a line about the sample's size, restaurants and random seed, for the output of a run."""
        restaurants = number_of(len(self.chosen), "restaurant")
        reviews = number_of(self.population, "relevant review")
        sizes = f"sample: {self.size:,} of {reviews}, of {restaurants} (seed {self.seed})"
        return f"{sizes}; each result rests on its sampled reviews alone"


def draw(restaurants: Iterable[Sequence[results.ReviewInput]], size: int, seed: int) -> Sample:
    """Draw `size` reviews, or all if there are fewer: one of each restaurant, then a second of each, and so on.

    Reads all of `restaurants`. The sample depends only on `seed`, a random seed, and the reviews' ids.
    """
    population = 0

    def candidates() -> Iterator[_Candidate]:
        """Yield every review with its rank in its restaurant, and count it in `population`."""
        nonlocal population
        for restaurant, reviews in enumerate(restaurants):
            population += len(reviews)
            ranking = sorted((_random_number(review, seed), position) for position, review in enumerate(reviews))
            yield from ((rank, number, restaurant, position) for rank, (number, position) in enumerate(ranking))

    chosen: dict[int, set[int]] = {}
    sampled = nsmallest(size, candidates())
    for _, _, restaurant, position in sampled:
        chosen.setdefault(restaurant, set()).add(position)
    positions = {restaurant: frozenset(reviews) for restaurant, reviews in chosen.items()}
    return Sample(seed, positions, len(sampled), population)


def _random_number(review: results.ReviewInput, seed: int) -> bytes:
    """Return 16 bytes that depend only on the random seed and the review's ids."""
    text = f"{seed}\0{review.business_id}\0{review.review_id}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run."""

    on_error: Literal["fail", "skip"] = "fail"
    trace: bool = False
    limit: int | None = None
    """The maximum number of restaurants; None for all of them."""
    parameters: Mapping[str, Any] | None = None
    review_handling: ReviewHandling | None = None
    """The maximum length of a review, and what happens to a longer one; None for no maximum."""
    sample: Sample | None = None
    """The relevant reviews to extract; None for all of them."""
    find_reasons: FindReasons | None = None
    """Finds the reasons of a verdict; None for results without reasons."""


class ExtractedRestaurant(NamedTuple):
    """A restaurant with a row for each extracted review, or with the `error` of its result.

    `reviews` is None if the restaurant's data cannot be used. `run` is the provenance of its result.
    """

    place: str
    business_id: str
    context: Mapping[str, Any]
    rows: list[dict[str, Any]]
    reviews: results.ReviewCounts | None
    run: results.Provenance
    error: dict[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class _PreparedRestaurant:
    """A restaurant with its relevant reviews in the sample, and the text of each to extract; None if the seed rejects it."""

    place: str
    restaurant: RestaurantRecord | DataError
    business_id: str
    relevant: Sequence[ReviewRecord]
    texts: Sequence[str | None]
    unsampled: int | None = None
    """The number of relevant reviews that are not in the sample; None without a sample."""

    def inputs(self) -> list[results.ReviewInput]:
        """Return the extractor's input: the relevant reviews that the seed does not reject for their length."""
        texts = [(review, text) for review, text in zip(self.relevant, self.texts, strict=True) if text is not None]
        return [results.ReviewInput(self.business_id, review.review_id, text, review.facts()) for review, text in texts]


def extract(
    evaluator: Evaluator,
    extractor: results.Extractor,
    restaurants: Iterable[LocatedRestaurant],
    options: RunOptions,
    failures: results.Failures,
) -> Iterator[ExtractedRestaurant]:
    """Extract reviews, and yield the rows of every restaurant with a known id, in order, up to `options.limit`.

    Every failure is added to `failures`. A restaurant that fails is yielded with its `error`; with a sample, one
    without a sampled review is dropped. The extractor may read many restaurants ahead. Raises `DataError` for invalid
    `options.parameters`.
    """
    run = evaluator.provenance(options.parameters, extractor.name, extractor.prompt_sha256)
    if options.sample is not None:
        run = replace(run, sample=options.sample.to_json())
    pending: deque[_PreparedRestaurant] = deque()

    def read_ahead() -> Iterator[list[results.ReviewInput]]:
        """Yield each restaurant's input for the extractor, and append the restaurant to `pending`."""
        for prepared in _prepare_restaurants(evaluator, restaurants, options):
            pending.append(prepared)
            yield prepared.inputs()

    answers = extractor.extract_all(read_ahead())
    try:
        for extractions in answers:
            prepared = pending.popleft()
            record = prepared.restaurant
            extracted: ExtractedRestaurant | None = None
            if not isinstance(record, RestaurantRecord):
                extracted = fail_restaurant(prepared.place, prepared.business_id, record, run, failures)
            elif prepared.relevant or prepared.unsampled is None:
                extracted = _build_rows(prepared, record, extractions, options, run, failures)
            if extracted is not None:
                yield extracted
    finally:
        if isinstance(answers, Generator):  # its tasks end here, not when it is collected
            answers.close()


def reviews_to_extract(
    evaluator: Evaluator, restaurants: Iterable[LocatedRestaurant], options: RunOptions
) -> Iterator[list[results.ReviewInput]]:
    """Yield the reviews that `extract` would pass to an extractor, a list for each restaurant."""
    return (prepared.inputs() for prepared in _prepare_restaurants(evaluator, restaurants, options))


def fail_restaurant(
    place: str, business_id: str, error: DataError, run: results.Provenance, failures: results.Failures
) -> ExtractedRestaurant | None:
    """Add an unusable line to `failures`, and return its restaurant with the error; None if `business_id` is empty."""
    if not business_id:
        failures.add_unreadable(place, str(error))
        return None
    failures.add(f"{place}: {business_id}", str(error))
    return ExtractedRestaurant(place, business_id, {}, [], None, run, results.error_record(error))


def build_line(
    evaluator: Evaluator,
    restaurant: ExtractedRestaurant,
    failures: results.Failures,
    *,
    with_text: bool = False,
    write: Callable[[dict[str, Any]], None] | None = None,
) -> tuple[ExtractedRestaurant, dict[str, Any] | None]:
    """Return a restaurant and its line of rows, after calling `write`, unless it is None, with the line.

    The line has texts, quotes and reasons only `with_text`. It is None for a restaurant that failed. If `evaluate`
    could not read the line, or `write` raises `DataError`, the error is added to `failures` and to the copy of the
    restaurant that is returned, and the line is None.
    """
    if restaurant.error is not None or restaurant.reviews is None:
        return restaurant, None
    keys = ["review_id", "extraction", "meta"]
    if with_text:
        keys += ["text", "quotes", "reasons"]
    line = {
        "business_id": restaurant.business_id,
        "context": restaurant.context,
        "rows": [{key: row[key] for key in keys if key in row} for row in restaurant.rows],
        "reviews": restaurant.reviews.to_json(),
        "run": {name: value for name, value in restaurant.run.to_json().items() if name != "parameters"},
    }
    try:
        line = _read_back(evaluator, line)
        if write is not None:
            write(line)
        return restaurant, line
    except DataError as error:
        failures.add(f"{restaurant.place}: {restaurant.business_id}", str(error))
        return restaurant._replace(error=results.error_record(error)), None


def flatten_context(evaluator: Evaluator, program: nodes.Program, line: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a line of rows whose context also has nested values under the names of their fields.

    Only fields that a step uses are added. Raises the module's `DataError` for an invalid context.
    """
    nested = {field.name for field in program.context if field.path}
    values = read_used_context(evaluator, program, line["context"])
    return {**line, "context": {**line["context"], **{name: values[name] for name in values if name in nested}}}


def read_used_context(evaluator: Evaluator, program: nodes.Program, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context fields that a step uses by their names, nested ones as well.

    Raises the module's `DataError` for an invalid context.
    """
    used = program.used()
    names = [field.name for field in program.context if Symbol(SymbolKind.CONTEXT, field.name) in used]
    return dict(zip(names, evaluator.module.parse_context(context), strict=True))


def _read_back(evaluator: Evaluator, line: dict[str, Any]) -> dict[str, Any]:
    """Return a line of rows encoded to JSON and decoded again.

    Raises `DataError` if the line is too long, nested too deep, or has rows or a context that `evaluate` would reject.
    """
    try:
        encoded = json.dumps(line, ensure_ascii=False).encode()
    except RecursionError:
        raise DataError("objects and lists are nested too deep") from None
    if len(encoded) >= LINE_BYTES:
        raise DataError(f"its rows are longer than {format_size(LINE_BYTES)}, the most that a line may have")
    decoded = decode_object(encoded)
    restaurant = RestaurantRows.read(decoded)
    evaluator.check(restaurant.rows, restaurant.context)
    return decoded


def _prepare_restaurants(
    evaluator: Evaluator, restaurants: Iterable[LocatedRestaurant], options: RunOptions
) -> Iterator[_PreparedRestaurant]:
    """Yield each restaurant, up to `options.limit`, with its relevant reviews, or those of them that are in the sample.

    Texts are cut, or None, as `options.review_handling` says. Unusable restaurants are yielded too, without reviews.
    """
    for number, (place, record, business_id) in enumerate(islice(restaurants, options.limit)):
        reviews = record.reviews if isinstance(record, RestaurantRecord) else ()
        relevant = [review for review in reviews if evaluator.is_relevant(review.text)]
        texts = [results.truncate_review(review.text, options.review_handling) for review in relevant]
        if options.sample is None:
            yield _PreparedRestaurant(place, record, business_id, relevant, texts)
            continue
        chosen = options.sample.chosen.get(number, ())
        # reviews that the seed rejects for their length are never in a sample
        usable = [(review, text) for review, text in zip(relevant, texts, strict=True) if text is not None]
        pairs = [pair for position, pair in enumerate(usable) if position in chosen]
        sampled = [review for review, _ in pairs]
        sampled_texts = [text for _, text in pairs]
        unsampled = len(relevant) - len(sampled)
        yield _PreparedRestaurant(place, record, business_id, sampled, sampled_texts, unsampled)


def _build_rows(
    prepared: _PreparedRestaurant,
    record: RestaurantRecord,
    extractions: list[results.Extraction],
    options: RunOptions,
    run: results.Provenance,
    failures: results.Failures,
) -> ExtractedRestaurant:
    """Return a restaurant with the rows of its extractions and its counts of reviews.

    `extractions` are those of `prepared.inputs()`, in their order. Reviews without one, or too long, are added to
    `failures`, and fail the restaurant if `options.on_error` is `fail`. Adds dropped duplicates to
    `failures.duplicates`.
    """
    relevant = prepared.relevant
    remaining = iter(extractions)
    rows: list[dict[str, Any]] = []
    failed: list[results.Extraction] = []
    for review, text in zip(relevant, prepared.texts, strict=True):
        if text is None:
            failed.append(_reject_length(review, options.review_handling))
            continue
        extraction = next(remaining)
        if extraction.fields is None:
            failed.append(extraction)
        else:
            rows.append(_build_row(review, text, extraction))
    for subject, reason in _describe_failures(failed):
        failures.add(f"{prepared.place}: {record.business_id}: {subject}", reason)
    failures.duplicates += record.duplicates
    sources = dict(sorted(Counter[str](extraction.source for extraction in extractions if extraction.source).items()))
    all_relevant = len(relevant) + (prepared.unsampled or 0)
    is_spoken_for = [extraction.is_spoken_for for extraction in extractions if extraction.is_spoken_for is not None]
    if is_spoken_for:
        run = replace(run, spoke_for=(sum(is_spoken_for), len(is_spoken_for)))
    sampled = None if prepared.unsampled is None else len(relevant)
    counts = results.ReviewCounts(
        len(record.reviews), all_relevant, len(rows), len(failed), sampled, sources or None, record.duplicates
    )
    error: dict[str, str | None] | None = None
    if failed and options.on_error == "fail":
        ids = [extraction.review_id for extraction in failed]
        reviews = number_of(len(relevant), "relevant review" if sampled is None else "sampled review")
        message = f"{len(failed)} of {reviews} could not be extracted ({_list_ids(ids)})"
        error = {"step": None, "kind": "extraction", "message": message}
    return ExtractedRestaurant(prepared.place, record.business_id, record.context(), rows, counts, run, error)


def _reject_length(review: ReviewRecord, handling: ReviewHandling | None) -> results.Extraction:
    """Return a failed extraction whose reason is that the review is longer than the seed allows."""
    assert handling is not None  # otherwise no review is too long
    reason = f"it has {len(review.text)} characters, and the seed rejects reviews over {handling.max_length}"
    return results.Extraction(review.review_id, None, reason)


def _build_row(review: ReviewRecord, text: str, extraction: results.Extraction) -> dict[str, Any]:
    """Return the row of a review, with the text that it was extracted from, and with quotes and reasons if there are any."""
    row = {"review_id": review.review_id, "extraction": extraction.fields, "meta": review.meta(), "text": text}
    if extraction.quotes:
        row["quotes"] = {name: quote.to_json() for name, quote in extraction.quotes.items()}
    if extraction.reasons:
        row["reasons"] = dict(extraction.reasons)
    return row


def _describe_failures(failed: Sequence[results.Extraction]) -> Iterator[tuple[str, str]]:
    """Yield the subject and the reason of each failed review, to be listed.

    Reviews that the model was not asked about share one entry for each reason, after the others.
    """
    shared_reasons = (results.NOT_ASKED, results.IN_BATCH, results.CUT_OFF)
    own_failures = (extraction for extraction in failed if extraction.failure not in shared_reasons)
    yield from ((f"review {extraction.review_id}", extraction.failure) for extraction in own_failures)
    for reason in shared_reasons:
        ids = [extraction.review_id for extraction in failed if extraction.failure == reason]
        if ids:
            yield f"review {ids[0]}" if len(ids) == 1 else f"{len(ids)} reviews ({_list_ids(ids)})", reason


def _list_ids(ids: Sequence[str]) -> str:
    """Return up to three ids, separated by commas, with an ellipsis if there are more."""
    listed = ", ".join(ids[:3])
    return f"{listed}, …" if len(ids) > 3 else listed
