"""Rows to results: restaurants whose reviews have been extracted already.

In: an evaluator and lines of rows. Out: results; a line that cannot be used, or a step without a value, fails its
own restaurant and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from formulaseed.data.jsonl import BadLine, Line
from formulaseed.data.records import RowsLine
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
    """A result for every line that names its restaurant; everything that failed is in `failures`."""
    run = evaluator.provenance(parameters)
    for line in lines:
        if isinstance(line, BadLine):
            failures.add_unreadable(f"{line.file}:{line.number}", line.reason)
            continue
        try:
            record: RowsLine = RowsLine.read(line.value)
        except DataError as error:
            business_id = line.value.get("business_id")
            if isinstance(business_id, str) and business_id:
                failures.add(line.place, str(error))
                yield Result(business_id, None, evaluator.task_name, None, error=error_of(error), run=run)
            else:
                failures.add_unreadable(line.place, str(error))
            continue
        count = len(record.rows)
        result = evaluate_one(
            evaluator,
            record.business_id,
            record.name,
            record.rows,
            record.context,
            ReviewCounts(count, count, count, 0),
            trace=trace,
            parameters=parameters,
        )
        if result.error is not None:
            failures.add(f"{line.place}: {record.business_id}", describe(result))
        yield replace(result, run=run)


def evaluate_one(
    evaluator: Evaluator,
    business_id: str,
    name: str | None,
    rows: list[dict[str, Any]],
    context: Mapping[str, Any],
    counts: ReviewCounts,
    *,
    trace: bool = False,
    parameters: Mapping[str, Any] | None = None,
) -> Result:
    """One restaurant's result, with its error where it failed."""
    task = evaluator.task_name
    try:
        if not trace:
            output = evaluator.evaluate(rows, context, parameters)
            return Result(business_id, name, task, counts, output)
        steps = evaluator.trace(rows, context, parameters)
        evidence = evaluator.evidence(rows, context, parameters)
    except (EvaluationError, DataError) as error:
        place = error.place if isinstance(error, EvaluationError) else ""
        return Result(business_id, name, task, counts, error=error_of(error), place=place)
    output = {name: steps[name] for name in evaluator.output}
    return Result(business_id, name, task, counts, output, steps, evidence)


def describe(result: Result) -> str:
    """A failed result's error in one line, with its place in the seed where that is known."""
    error = result.error or {}
    if not error.get("step"):
        return str(error.get("message"))
    place = f" ({result.place})" if result.place else ""
    return f"{error['step']}: {error['kind']}: {error['message']}{place}"
