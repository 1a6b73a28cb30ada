"""Phase 2: filter, extract, evaluate; results come in the order of the restaurants.

In: an evaluator, and restaurants with an extractor or with the rows that were extracted already. Out: results, as they
are ready. A review that could not be extracted fails its restaurant, or is left out and counted, as `on_error` says; a
line that cannot be used, or a step without a value, fails its own restaurant only. Source: the two-phase design's section
on phase 2 execution.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from formulaseed.data.jsonl import Line, LocatedRestaurant, parsed
from formulaseed.data.records import RestaurantRecord, RestaurantRows, ReviewRecord
from formulaseed.data.results import (
    NOT_ASKED,
    Extraction,
    Extractor,
    Failures,
    Provenance,
    Result,
    ReviewCounts,
    ReviewInput,
    error_of,
    handled,
)
from formulaseed.diagnostics.model import number_of
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir.nodes import ReviewHandling
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.sampling import Sample

_Given = tuple[list[dict[str, Any]], Mapping[str, Any], Mapping[str, Any] | None]
"""Rows, context and parameters."""

_Values = tuple[dict[str, Any] | None, dict[str, Any] | None, dict[str, list[str]] | None, dict[str, str | None] | None]
"""The output, steps, evidence and error of a result."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    on_error: Literal["fail", "skip"] = "fail"
    trace: bool = False
    limit: int | None = None
    parameters: Mapping[str, Any] | None = None
    review_handling: ReviewHandling | None = None
    sample: Sample | None = None
    """Which of the relevant reviews are extracted; None for all of them."""


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


def evaluate_lines(
    evaluator: Evaluator,
    lines: Iterable[Line],
    failures: Failures,
    *,
    trace: bool = False,
    parameters: Mapping[str, Any] | None = None,
) -> Iterator[Result]:
    """Yield a result for every line of rows that names its restaurant; everything that failed is in `failures`."""
    made_with = evaluator.provenance(parameters)
    for line, record in parsed(lines, RestaurantRows.read):
        if isinstance(record, DataError):
            result = _unusable(evaluator, line.place, line.business_id, record, made_with, failures)
            if result is not None:
                yield result
            continue
        business_id, context, rows = record
        count = len(rows)
        counts = ReviewCounts(count, count, count, 0)
        values = _values(evaluator, (rows, context, parameters), trace, failures, line.place, business_id)
        yield Result(business_id, _name(context), evaluator.task_name, counts, *values, run=made_with)


def run(
    evaluator: Evaluator,
    extractor: Extractor,
    restaurants: Iterable[LocatedRestaurant],
    options: RunOptions,
    failures: Failures,
) -> Iterator[Result]:
    """Yield a result for every restaurant with a known id, up to `limit`; everything that failed is in `failures`."""
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
            result = _result(evaluator, pending.popleft(), extractions, options, made_with, failures)
            if result is not None:
                yield result
    finally:
        if isinstance(answers, Generator):  # its tasks end here, not when it is collected
            answers.close()


def asked_reviews(
    evaluator: Evaluator, restaurants: Iterable[LocatedRestaurant], options: RunOptions
) -> Iterator[list[ReviewInput]]:
    """Yield the reviews that `run` would have extracted, a list for each restaurant."""
    return (prepared.asked() for prepared in _prepared(evaluator, restaurants, options))


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


def _result(
    evaluator: Evaluator,
    prepared: _Prepared,
    extracted: list[Extraction],
    options: RunOptions,
    made_with: Provenance,
    failures: Failures,
) -> Result | None:
    """The restaurant's line; None where its id is unknown, or no review of it is in the sample."""
    place, restaurant, relevant = prepared.place, prepared.restaurant, prepared.relevant
    if not isinstance(restaurant, RestaurantRecord):
        return _unusable(evaluator, place, prepared.business_id, restaurant, made_with, failures)
    if prepared.unsampled is not None and not relevant:
        return None
    answers, handling = iter(extracted), options.review_handling
    most = f"the seed rejects reviews over {handling.max_length if handling is not None else 0}"
    extractions = [
        Extraction(review.review_id, None, f"it has {len(review.text)} characters, and {most}")
        if text is None
        else next(answers)
        for review, text in zip(relevant, prepared.texts, strict=True)
    ]
    failed = [extraction for extraction in extractions if extraction.fields is None]
    business_id, context = restaurant.business_id, restaurant.context()
    for review, reason in _reported(failed):
        failures.add(f"{place}: {business_id}: {review}", reason)
    total, all_relevant = len(restaurant.reviews), len(relevant) + (prepared.unsampled or 0)
    sampled = len(relevant) if prepared.unsampled is not None else None
    counts = ReviewCounts(total, all_relevant, len(extractions) - len(failed), len(failed), sampled)
    values: _Values
    quotes, reasons = None, None
    if failed and options.on_error == "fail":
        ids = [extraction.review_id for extraction in failed]
        asked = "relevant review" if prepared.unsampled is None else "sampled review"
        what = f"{len(failed)} of {number_of(len(relevant), asked)} could not be extracted ({_some(ids)})"
        values = (None, None, None, {"step": None, "kind": "extraction", "message": what})
    else:
        rows = [
            {"review_id": review.review_id, "extraction": extraction.fields, "meta": review.meta()}
            for review, extraction in zip(relevant, extractions, strict=True)
            if extraction.fields is not None
        ]
        given = (rows, context, options.parameters)
        values = output, *_ = _values(evaluator, given, options.trace, failures, place, business_id)
        if options.trace and output is not None:
            quotes = {each.review_id: each.quotes for each in extractions if each.quotes}
            reasons = {each.review_id: each.reasons for each in extractions if each.reasons}
    name = _name(context)
    return Result(business_id, name, evaluator.task_name, counts, *values, quotes or None, reasons or None, made_with)


def _unusable(
    evaluator: Evaluator, place: str, business_id: str, error: DataError, made_with: Provenance, failures: Failures
) -> Result | None:
    """The line of a restaurant whose data cannot be used; None where its id is unknown."""
    if not business_id:
        failures.add_unreadable(place, str(error))
        return None
    failures.add(place, str(error))
    return Result(business_id, None, evaluator.task_name, None, error=error_of(error), run=made_with)


def _name(context: Mapping[str, Any]) -> str | None:
    name = context.get("name")
    return name if isinstance(name, str) else None


def _values(
    evaluator: Evaluator, given: _Given, trace: bool, failures: Failures, place: str, business_id: str
) -> _Values:
    try:
        if not trace:
            return evaluator.evaluate(*given), None, None, None
        steps, evidence = evaluator.trace(*given), evaluator.evidence(*given)
    except (EvaluationError, DataError) as error:
        in_seed = f" ({error.place})" if isinstance(error, EvaluationError) and error.place else ""
        failures.add(f"{place}: {business_id}", f"{error}{in_seed}")
        return None, None, None, error_of(error)
    return {name: steps[name] for name in evaluator.output}, steps, evidence, None


def _reported(failed: Sequence[Extraction]) -> Iterator[tuple[str, str]]:
    """Each review that failed, and why; the remaining ones of a run that stopped are one entry."""
    yield from ((f"review {each.review_id}", each.failure) for each in failed if each.failure != NOT_ASKED)
    left = [each.review_id for each in failed if each.failure == NOT_ASKED]
    if left:
        yield f"review {left[0]}" if len(left) == 1 else f"{len(left)} reviews ({_some(left)})", NOT_ASKED


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
