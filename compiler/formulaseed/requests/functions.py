"""Defines the functions of the requests document: they validate one request and evaluate structures, without a module.

In: requests, restaurants with their reviews, judgements and a social graph, as JSON values. Out: a result, or 1, 0 or -1. Source:
REQUESTS, sections Three-Value Logic and Implementation Reference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from formulaseed.diagnostics.model import Problems
from formulaseed.errors import DataError, SeedError
from formulaseed.requests import model as ir
from formulaseed.requests.evaluation import Truth, and_, or_
from formulaseed.requests.model import plan_call
from formulaseed.requests.read import lower_requests
from formulaseed.requests.records import Background, Restaurant, parse_background, parse_restaurant
from formulaseed.requests.validate import RequestResult, build_results, trace
from formulaseed.source.text import Source

Json = Mapping[str, Any]


def reduce_tv(op: str, values: Iterable[Truth]) -> Truth:
    """Return the value of `AND` or `OR` over values: for `AND` -1 dominates, then 0; for `OR` 1 dominates, then 0.

    Raises `DataError` for another operator, for no values or no list, and for a value that is not 1, 0 or -1.
    """
    truths = list(values) if isinstance(values, Iterable) else []
    if op not in ("AND", "OR") or not truths or any(value not in (1, 0, -1) for value in truths):
        named = f"{op!r:.40} and {truths or values!r:.80}"
        raise DataError(f"reduce_tv takes AND or OR, and a list of one or more of 1, 0 and -1; not {named}")
    return and_(*truths) if op == "AND" else or_(*truths)


def evaluate_condition(
    condition: Json, restaurant: Json, *, judgements: Sequence[Json] | None = None, social: Json | None = None
) -> Truth:
    """Return 1 (satisfied), 0 (unknown) or -1 (not satisfied) for a condition, `{"aspect": …, "evidence": …}`.

    The arguments are those of `evaluate_structure`, which this calls. Raises `DataError` for `AND` and `OR` also.
    """
    if "aspect" not in condition:
        raise DataError('a condition is {"aspect": …, "evidence": …}; evaluate_structure takes AND and OR')
    return evaluate_structure(condition, restaurant, judgements=judgements, social=social)


def evaluate_structure(
    structure: Json, restaurant: Json, *, judgements: Sequence[Json] | None = None, social: Json | None = None
) -> Truth:
    """Return 1 (satisfied), 0 (unknown) or -1 (not satisfied) for a structure and a restaurant with its `reviews`.

    `judgements` are lines of judgements, and `social` is an object with `friend_graph`. Raises `SeedError`, whose
    `.diagnostics` say what is wrong, for an invalid structure, and `DataError` for data that cannot be used.
    """
    line, problems = _read_line(structure)
    if isinstance(line, ir.InvalidRequest):
        raise SeedError(problems.sorted())
    return _evaluate(line.structure, parse_restaurant(dict(restaurant)), _read_background(judgements, social))


def validate_request(
    request: Json,
    restaurants: Iterable[Json],
    *,
    judgements: Sequence[Json] | None = None,
    social: Json | None = None,
) -> RequestResult:
    """Check one request against all restaurants, which have their `reviews`: which match, and is it the gold one alone?

    `judgements` are lines of judgements, and `social` is an object with `friend_graph`. A request with errors has the status
    `invalid`, with its `errors`. Raises `DataError` for data that cannot be used.
    """
    line, _ = _read_line(request)
    background = _read_background(judgements, social)
    row: dict[str, Truth] = {}
    for record in restaurants:
        restaurant = parse_restaurant(dict(record))
        business_id = restaurant.business.get("business_id")
        if not isinstance(business_id, str) or business_id in row:
            raise DataError(f"each restaurant has a `business_id` of its own, a string; not {business_id!r:.80}")
        row[business_id] = _evaluate(line.structure, restaurant, background) if isinstance(line, ir.Request) else 0
    [result] = build_results([line], {line.id: row} if line.id is not None else {})
    return result


def _read_line(value: Json) -> tuple[ir.Line, Problems]:
    """Read a request, or a structure alone, with its problems. Raises `DataError` for an object that is not JSON."""
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"a request is an object of JSON: {error}") from None
    problems = Problems()
    [line] = lower_requests(Source("<request>", text), problems)
    return line, problems


def _read_background(judgements: Sequence[Json] | None, social: Json | None) -> Background:
    """Return the data that all restaurants share. Raises `DataError` for a malformed judgement."""
    records = None if judgements is None else [dict(record) for record in judgements]
    return parse_background(records, None if social is None else dict(social))


def _evaluate(structure: ir.Node, restaurant: Restaurant, background: Background) -> Truth:
    """Return the value of a structure for a restaurant."""
    return trace(structure, lambda evidence: plan_call(evidence).evaluate(restaurant, background)).truth
