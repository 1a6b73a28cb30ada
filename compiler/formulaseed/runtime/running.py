"""Evaluates restaurants, the second half of phase 2; results keep the order of the restaurants.

In: an evaluator, and restaurants with an extractor or with rows that were extracted before. Out: results, one after the
other. An unusable line, or a step without a value, fails only its own restaurant. Source: the two-phase design's section
on phase 2 execution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine, LocatedRestaurant
from formulaseed.data.records import RestaurantRows, RowsRun
from formulaseed.data.results import Extractor, Failures, Provenance, Result, error_record
from formulaseed.errors import DataError, EvaluationError
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import ExtractedRestaurant, RunOptions, extract, fail_restaurant
from formulaseed.runtime.typed_rows import ParsedRows, RowDecoder

_DEFAULTS = RunOptions()


def evaluate_lines(
    evaluator: Evaluator,
    lines: Iterable[InputLine],
    failures: Failures,
    options: RunOptions = _DEFAULTS,
    duplicates: Duplicates = "fail",
) -> Iterator[Result]:
    """Yield a result for every line of rows that names its restaurant; every failure is added to `failures`.

    A restaurant that fails has a result with its error. With a trace, results also have steps, evidence, quotes and a
    model's reasons; with `find_reasons`, the reasons of their verdicts. Other options but the parameters do not matter.
    `duplicates` is as for `read_rows`. Raises `DataError` for invalid parameters.
    """
    decoder = evaluator.row_decoder() if not options.trace and options.find_reasons is None else None
    for restaurant in read_rows(evaluator, lines, failures, options.parameters, duplicates, decoder):
        yield _evaluate(evaluator, restaurant, options, failures)


def read_rows(
    evaluator: Evaluator,
    lines: Iterable[InputLine],
    failures: Failures,
    parameters: Mapping[str, Any] | None = None,
    duplicates: Duplicates = "fail",
    decoder: RowDecoder | None = None,
) -> Iterator[ExtractedRestaurant]:
    """Yield the restaurant of every line of rows that names one, with its error if the line is unusable.

    Unusable lines are added to `failures`. If `duplicates` is `first`, rows whose id an earlier row has are dropped and
    counted in `failures`; otherwise the evaluator rejects them. Rows are JSON objects; with `decoder` they are
    `ParsedRows` if it can decode the line. Raises `DataError` for invalid `parameters`.
    """
    run = evaluator.provenance(parameters)
    provenance = run
    last_origin: RowsRun | None = None
    for line in lines:
        record = _read_restaurant(line, decoder)
        if isinstance(record, DataError):
            failed = fail_restaurant(line.place, line.business_id, record, run, failures)
            if failed is not None:
                yield failed
            continue
        if duplicates == "first" and type(record.rows) is not ParsedRows:
            record = record.deduplicate()
        business_id, context, rows, reviews, origin = record
        failures.duplicates += reviews.duplicates
        # most lines have the same origin, so that its provenance is encoded once
        if origin is not last_origin and origin != last_origin:
            provenance = run if origin is None else _carry_over(run, origin)
            last_origin = origin
        yield ExtractedRestaurant(line.place, business_id, context, rows, reviews, provenance)


def usable_rows(
    evaluator: Evaluator,
    lines: Iterable[InputLine],
    failures: Failures,
    parameters: Mapping[str, Any] | None = None,
    duplicates: Duplicates = "fail",
) -> Iterator[ExtractedRestaurant]:
    """Yield the restaurants whose rows the evaluator accepts; all others are added to `failures`.

    Messages are those of `evaluate`. `parameters` go into the provenance of each; `duplicates` is as for `read_rows`.
    """
    for restaurant in read_rows(evaluator, lines, failures, parameters, duplicates):
        if restaurant.error is not None:
            continue
        try:
            evaluator.check(restaurant.rows, restaurant.context)
        except DataError as fault:
            add_failure(failures, restaurant, fault)
        else:
            yield restaurant


def add_failure(
    failures: Failures, restaurant: ExtractedRestaurant, fault: EvaluationError | DataError, note: str = ""
) -> None:
    """Add to `failures` why a restaurant failed: its place and id, the row or step, the reason, and `note`.

    An evaluation error also has its place in the seed, if known.
    """
    in_seed = f" ({fault.place})" if isinstance(fault, EvaluationError) and fault.place else ""
    failures.add(f"{restaurant.place}: {restaurant.business_id}", f"{fault}{in_seed}{note}")


def _read_restaurant(line: InputLine, decoder: RowDecoder | None) -> RestaurantRows | DataError:
    """Return a line's restaurant, or the error that makes it unusable.

    A line that `decoder` cannot decode is read as objects, and the decoder learns its keys.
    """
    restaurant = decoder.read(line.raw) if decoder is not None else None
    if restaurant is not None:
        return restaurant
    record = line.parse(RestaurantRows.read)
    if decoder is not None and not isinstance(record, DataError):
        decoder.learn(line)
    return record


def run(
    evaluator: Evaluator,
    extractor: Extractor,
    restaurants: Iterable[LocatedRestaurant],
    options: RunOptions,
    failures: Failures,
    keep: Callable[[ExtractedRestaurant], object] = lambda _: None,
) -> Iterator[Result]:
    """Extract and evaluate; yield a result for every restaurant with a known id, up to `options.limit`.

    Every failure is added to `failures`; a restaurant that fails has a result with its error. With a sample, a
    restaurant without a sampled review has no result. `keep` is called with each restaurant unless its data or
    extraction failed, before its result is yielded.
    """
    for restaurant in extract(evaluator, extractor, restaurants, options, failures):
        result = _evaluate(evaluator, restaurant, options, failures)
        if result.error is None or result.error["step"] is not None:
            keep(restaurant)
        yield result


def _carry_over(run: Provenance, origin: RowsRun) -> Provenance:
    """Return a copy of `run` with what `origin` says of the run that extracted the rows: extractor, prompt, sample, words.

    The copy is marked as edited if either of the two is.
    """
    said = {name: getattr(origin, name) for name in type(origin).model_fields}
    return replace(run, **{**said, "edited": run.edited or origin.edited})


def _evaluate(evaluator: Evaluator, restaurant: ExtractedRestaurant, options: RunOptions, failures: Failures) -> Result:
    """Return a restaurant's result, with the error if it failed; an error of the evaluation is added to `failures`.

    The restaurant is also noted in `failures`, which reports a second line of the same restaurant.
    """
    place, business_id, context, rows, reviews, run, error = restaurant
    failures.note_restaurant(place, business_id)
    name = context.get("name")
    output = steps = evidence = quotes = None
    reasons: Any = None
    if error is None:
        arguments = (rows, context, options.parameters)
        try:
            if options.trace:
                steps = evaluator.trace(*arguments)
                evidence = evaluator.evidence(*arguments)
                output = {name: steps[name] for name in evaluator.output}
                quotes = _collect_answers(rows, "quotes")
                reasons = _collect_answers(rows, "reasons")
            else:
                output = evaluator.evaluate(*arguments)
            if options.find_reasons is not None:
                reasons = options.find_reasons(rows, context)
        except (EvaluationError, DataError) as fault:
            steps = None
            error = error_record(fault)
            add_failure(failures, restaurant, fault)
    return Result(
        business_id,
        name if isinstance(name, str) else None,
        evaluator.task_name,
        reviews,
        output,
        steps,
        evidence,
        error,
        quotes,
        reasons,
        run,
    )


def _collect_answers(rows: Iterable[Mapping[str, Any]], key: str) -> dict[str, Mapping[str, Any]] | None:
    """Return a model's `quotes` or `reasons`, as `key` says, by review id; None if no row has any."""
    return {row["review_id"]: row[key] for row in rows if isinstance(row.get(key), Mapping)} or None
