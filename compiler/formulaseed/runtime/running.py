"""Phase 2: filter, extract, evaluate, one restaurant after the other.

In: an evaluator, an extractor, restaurants. Out: results, as they are ready. A review that could not be extracted
fails its restaurant, or is left out and counted, as `on_error` says. Source: the two-phase design's section on
phase 2 execution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from formulaseed.errors import DataError
from formulaseed.extract.base import Extraction, Extractor, ReviewText, handled
from formulaseed.ir.nodes import ReviewHandling
from formulaseed.runtime.contexts import Placed
from formulaseed.runtime.evaluation import describe, evaluate_one
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.records import Restaurant, Review
from formulaseed.runtime.results import Failures, Result, ReviewCounts, error_of

OnError = Literal["fail", "skip"]


@dataclass(frozen=True, slots=True)
class RunOptions:
    on_error: OnError = "fail"
    trace: bool = False
    limit: int | None = None
    parameters: Mapping[str, Any] | None = None
    review_handling: ReviewHandling | None = None


def run(
    evaluator: Evaluator, extractor: Extractor, restaurants: Iterable[Placed], options: RunOptions, failures: Failures
) -> Iterator[Result]:
    """A result for every restaurant that is known by name, up to `limit`; everything that failed is in `failures`."""
    for number, (place, restaurant, business_id) in enumerate(restaurants):
        if options.limit is not None and number >= options.limit:
            return
        if isinstance(restaurant, Restaurant):
            yield _restaurant(evaluator, extractor, place, restaurant, options, failures)
            continue
        failures.add(place, str(restaurant))
        if business_id:
            yield Result(business_id, None, evaluator.task_name, None, error=error_of(restaurant))


def _restaurant(
    evaluator: Evaluator,
    extractor: Extractor,
    place: str,
    restaurant: Restaurant,
    options: RunOptions,
    failures: Failures,
) -> Result:
    relevant = [review for review in restaurant.reviews if evaluator.is_relevant(review.text)]
    extractions = _extract(extractor, restaurant.business_id, relevant, options.review_handling)
    failed = [extraction for extraction in extractions if extraction.fields is None]
    for extraction in failed:
        failures.add(f"{place}: {restaurant.business_id}: review {extraction.review_id}", extraction.failure)
    extracted = len(extractions) - len(failed)
    counts = ReviewCounts(len(restaurant.reviews), len(relevant), extracted, len(failed))
    name = restaurant.name
    if failed and options.on_error == "fail":
        some = ", ".join(extraction.review_id for extraction in failed[:3]) + (", …" if len(failed) > 3 else "")
        message = f"{len(failed)} of {len(relevant)} relevant reviews could not be extracted ({some})"
        error = {"step": None, "kind": "extraction", "message": message}
        return Result(restaurant.business_id, name, evaluator.task_name, counts, error=error)
    try:
        rows = [
            {"review_id": review.review_id, "extraction": extraction.fields, "meta": review.meta()}
            for review, extraction in zip(relevant, extractions, strict=True)
            if extraction.fields is not None
        ]
    except DataError as error_found:
        failures.add(f"{place}: {restaurant.business_id}", str(error_found))
        return Result(restaurant.business_id, name, evaluator.task_name, counts, error=error_of(error_found))
    result = evaluate_one(
        evaluator,
        restaurant.business_id,
        name,
        rows,
        restaurant.context(),
        counts,
        trace=options.trace,
        parameters=options.parameters,
    )
    if result.error is not None:
        failures.add(f"{place}: {restaurant.business_id}", describe(result))
    return result


def _extract(
    extractor: Extractor, business_id: str, reviews: list[Review], handling: ReviewHandling | None
) -> list[Extraction]:
    """One extraction for each review, in order; those that the seed rejects for their length are failures."""
    texts = [handled(review.text, handling) for review in reviews]
    asked = [
        ReviewText(business_id, review.review_id, text)
        for review, text in zip(reviews, texts, strict=True)
        if text is not None
    ]
    answers = iter(extractor.extract(asked))
    return [
        next(answers) if text is not None else Extraction(review.review_id, None, _too_long(review, handling))
        for review, text in zip(reviews, texts, strict=True)
    ]


def _too_long(review: Review, handling: ReviewHandling | None) -> str:
    most = handling.max_length if handling else 0
    return f"it has {len(review.text)} characters, and the seed rejects reviews over {most}"
