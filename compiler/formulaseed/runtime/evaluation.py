"""Evaluates restaurants whose reviews have been extracted.

In: an evaluator and lines of rows. Out: results; a line that cannot be used, or a step without a value, fails its
own restaurant only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from formulaseed.data.jsonl import BadLine, Line, parsed
from formulaseed.data.records import RestaurantRecord, RowsLine
from formulaseed.data.results import Failures, Result, ReviewCounts, error_of
from formulaseed.errors import DataError, EvaluationError
from formulaseed.runtime.evaluator import Evaluator


def evaluate_lines(
    evaluator: Evaluator,
    lines: Iterable[Line | BadLine],
    failures: Failures,
    *,
    trace: bool = False,
    parameters: Mapping[str, Any] | None = None,
) -> Iterator[Result]:
    """Yield a result for every line that names its restaurant; everything that failed is in `failures`."""
    run = evaluator.provenance(parameters)
    for line, record in parsed(lines, RowsLine.read):
        if isinstance(record, DataError):
            business_id = line.value.get("business_id") if isinstance(line, Line) else None
            if isinstance(business_id, str) and business_id:
                failures.add(line.place, str(record))
                yield Result(business_id, None, evaluator.task_name, None, error=error_of(record), run=run)
            else:
                failures.add_unreadable(line.place, str(record))
            continue
        count = len(record.rows)
        counts = ReviewCounts(count, count, count, 0)
        result = evaluate_one(evaluator, record, record.rows, record.context, counts, trace, parameters)
        if result.error is not None:
            failures.add(f"{line.place}: {record.business_id}", describe(result))
        yield replace(result, run=run)


def evaluate_one(
    evaluator: Evaluator,
    record: RestaurantRecord | RowsLine,
    rows: list[dict[str, Any]],
    context: Mapping[str, Any],
    counts: ReviewCounts,
    trace: bool,
    parameters: Mapping[str, Any] | None,
) -> Result:
    """Return one restaurant's result, with its error where it failed."""
    empty = Result(record.business_id, record.name, evaluator.task_name, counts)
    try:
        if not trace:
            return replace(empty, output=evaluator.evaluate(rows, context, parameters))
        steps = evaluator.trace(rows, context, parameters)
        evidence = evaluator.evidence(rows, context, parameters)
    except (EvaluationError, DataError) as error:
        return replace(empty, error=error_of(error), place=getattr(error, "place", ""))
    output = {name: steps[name] for name in evaluator.output}
    return replace(empty, output=output, steps=steps, evidence=evidence)


def describe(result: Result) -> str:
    """Return a failed result's error in one line, with its place in the seed where that is known."""
    error = result.error or {}
    if not error.get("step"):
        return str(error.get("message"))
    place = f" ({result.place})" if result.place else ""
    return f"{error['step']}: {error['kind']}: {error['message']}{place}"
