"""The second half of phase 2: evaluate; results come in the order of the restaurants.

In: an evaluator, and restaurants with an extractor or with the rows that were extracted already. Out: results, as they
are ready. A line that cannot be used, or a step without a value, fails its own restaurant only. Source: the two-phase
design's section on phase 2 execution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import Line, LocatedRestaurant
from formulaseed.data.records import RestaurantRows, RowsRun
from formulaseed.data.results import Extractor, Failures, Provenance, Result, error_of
from formulaseed.errors import DataError, EvaluationError
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import ExtractedRestaurant, RunOptions, extract, unusable
from formulaseed.runtime.typed_rows import ParsedRows, TypedRows


def evaluate_lines(
    evaluator: Evaluator,
    lines: Iterable[Line],
    failures: Failures,
    *,
    trace: bool = False,
    parameters: Mapping[str, Any] | None = None,
    duplicates: Duplicates = "fail",
) -> Iterator[Result]:
    """Yield a result for every line of rows that names its restaurant; everything that failed is in `failures`."""
    options = RunOptions(trace=trace, parameters=parameters)
    typed = evaluator.typed_rows() if not trace else None
    for found in read_rows(evaluator, lines, failures, parameters, duplicates, typed):
        yield _result(evaluator, found, options, failures)


def read_rows(
    evaluator: Evaluator,
    lines: Iterable[Line],
    failures: Failures,
    parameters: Mapping[str, Any] | None = None,
    duplicates: Duplicates = "fail",
    typed: TypedRows | None = None,
) -> Iterator[ExtractedRestaurant]:
    """Yield the restaurant of every line of rows that names one; lines that cannot be used are in `failures`.

    With the `duplicates` `first`, rows whose id an earlier row has are left out and counted in `failures`; otherwise the
    evaluator refuses them. Rows are objects, but with `typed` they are `ParsedRows` where they can be.
    """
    made_with = evaluator.provenance(parameters)
    provenance, last = made_with, None
    for line in lines:
        record = _restaurant(line, typed)
        if isinstance(record, DataError):
            found = unusable(line.place, line.business_id, record, made_with, failures)
            if found is not None:
                yield found
            continue
        if duplicates == "first" and type(record.rows) is not ParsedRows:
            record = record.without_duplicates()
        business_id, context, rows, reviews, origin = record
        failures.duplicates += reviews.duplicates
        made = None if origin is None else (origin.extractor, origin.prompt_sha256, origin.edited, origin.sample)
        if made != last:  # as most lines say the same, it is encoded once
            provenance, last = made_with if origin is None else _carried_over(made_with, origin), made
        yield ExtractedRestaurant(line.place, business_id, context, rows, reviews, provenance)


def usable_rows(
    evaluator: Evaluator,
    lines: Iterable[Line],
    failures: Failures,
    parameters: Mapping[str, Any] | None = None,
    duplicates: Duplicates = "fail",
) -> Iterator[ExtractedRestaurant]:
    """Yield the restaurants that the evaluator can read; `failures` has the others, in the words of `evaluate`."""
    for found in read_rows(evaluator, lines, failures, parameters, duplicates):
        if found.error is not None:
            continue
        try:
            evaluator.check(found.rows, found.context)
        except DataError as fault:
            add_failure(failures, found, fault)
        else:
            yield found


def add_failure(
    failures: Failures, found: ExtractedRestaurant, fault: EvaluationError | DataError, note: str = ""
) -> None:
    """Report why a restaurant failed: its place and id, the row or step, the reason, the place in the seed, and a note."""
    in_seed = f" ({fault.place})" if isinstance(fault, EvaluationError) and fault.place else ""
    failures.add(f"{found.place}: {found.business_id}", f"{fault}{in_seed}{note}")


def _restaurant(line: Line, typed: TypedRows | None) -> RestaurantRows | DataError:
    found = typed.read(line.raw) if typed is not None else None
    if found is not None:
        return found
    record = line.parsed(RestaurantRows.read)
    if typed is not None and not isinstance(record, DataError):
        typed.learn(line)
    return record


def run(
    evaluator: Evaluator,
    extractor: Extractor,
    restaurants: Iterable[LocatedRestaurant],
    options: RunOptions,
    failures: Failures,
    keep: Callable[[ExtractedRestaurant], object] = lambda _: None,
) -> Iterator[Result]:
    """Yield a result for every restaurant with a known id, up to `limit`; everything that failed is in `failures`.

    With a sample, a restaurant of which no review is in it has no result. `keep` is called with the rows of each
    restaurant whose data can be used, before its result is yielded.
    """
    for found in extract(evaluator, extractor, restaurants, options, failures):
        result = _result(evaluator, found, options, failures)
        if result.error is None or result.error["step"] is not None:
            keep(found)
        yield result


def _carried_over(made_with: Provenance, origin: RowsRun) -> Provenance:
    """The provenance of results of rows that were extracted before."""
    edited = made_with.edited or origin.edited
    return replace(
        made_with, extractor=origin.extractor, prompt_sha256=origin.prompt_sha256, edited=edited, sample=origin.sample
    )


def _result(evaluator: Evaluator, found: ExtractedRestaurant, options: RunOptions, failures: Failures) -> Result:
    place, business_id, context, rows, reviews, made_with, error = found
    failures.note_restaurant(place, business_id)
    name = context.get("name")
    output = steps = evidence = quotes = reasons = None
    if error is None:
        given = (rows, context, options.parameters)
        try:
            if options.trace:
                steps, evidence = evaluator.trace(*given), evaluator.evidence(*given)
                output = {name: steps[name] for name in evaluator.output}
                quotes, reasons = _said(rows, "quotes"), _said(rows, "reasons")
            else:
                output = evaluator.evaluate(*given)
        except (EvaluationError, DataError) as fault:
            steps, error = None, error_of(fault)
            add_failure(failures, found, fault)
    return Result(
        business_id, name if isinstance(name, str) else None, evaluator.task_name, reviews,
        output, steps, evidence, error, quotes, reasons, made_with,
    )  # fmt: skip


def _said(rows: Iterable[Mapping[str, Any]], key: str) -> dict[str, Mapping[str, Any]] | None:
    """What a model gave with its values, by review; None where there is nothing."""
    return {row["review_id"]: row[key] for row in rows if isinstance(row.get(key), Mapping)} or None
