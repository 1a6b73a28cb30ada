"""Validate requests against restaurants: does each match its gold restaurant, and no other?

In: the lines of a requests file, a `Dataset`, and a function that evaluates a restaurant, such as that of a generated module.
Out: a status for every line, and the matrix of those that are valid.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from formulaseed.requests import model as ir
from formulaseed.requests.evaluation import Truth
from formulaseed.requests.records import Background, Restaurant
from formulaseed.source.text import shorten

Status = Literal["ok", "no_match", "multi_match", "gold_not_match", "invalid"]
Matrix = Mapping[str, Mapping[str, Truth]]
"""Values by the id of a request, then by the id of a restaurant."""


@dataclass(frozen=True, slots=True)
class RequestValues:
    """The values for one restaurant: of each request, by its id, and of each piece of evidence."""

    requests: Mapping[str, Truth]
    evidence: Mapping[ir.Evidence, Truth]


Evaluate = Callable[[Restaurant, Background], RequestValues]


@dataclass(frozen=True, slots=True)
class Dataset:
    """The restaurants by id, in the order of their file, and their shared background.

    `unusable` maps the ids of the restaurants that were left out to the reason. `has_graph` is True if a social graph was read.
    """

    candidates: Mapping[str, Restaurant]
    unusable: Mapping[str, str]
    background: Background
    has_graph: bool

    def name(self, business_id: str) -> str:
        """Return a restaurant's name, or its id if it has none."""
        name = self.candidates[business_id].business.get("name") if business_id in self.candidates else None
        return name if isinstance(name, str) and name else business_id

    def label(self, business_id: str) -> str:
        """Return a restaurant's name with its id, as names are not unique."""
        name = self.name(business_id)
        return name if name == business_id else f"{name} ({business_id})"

    @property
    def review_count(self) -> int:
        """The number of reviews of all restaurants."""
        return sum(len(candidate.reviews) for candidate in self.candidates.values())


@dataclass(frozen=True, slots=True)
class TracedNode:
    """A node of a structure with its value; `parts` are its arguments with theirs."""

    node: ir.Node
    truth: Truth
    parts: tuple[TracedNode, ...] = ()


def trace(node: ir.Node, truth_of: Callable[[ir.Evidence], Truth]) -> TracedNode:
    """Return a tree with the value of every node: the minimum of the parts for `AND`, the maximum for `OR`.

    `truth_of` returns the value of a condition's evidence.
    """
    if isinstance(node, ir.Condition):
        return TracedNode(node, truth_of(node.evidence))
    parts = tuple(trace(arg, truth_of) for arg in node.args)
    values = [part.truth for part in parts]
    return TracedNode(node, min(values) if node.op == "AND" else max(values), parts)


@dataclass(frozen=True, slots=True)
class RequestResult:
    """The restaurants that a request matches, and its status.

    The status is `ok` if it matches the gold restaurant alone, and `multi_match` if also others. An `invalid` request has
    `errors`, each with its place, and was not validated; its id, group and gold restaurant are None if the file has none.
    A structure without the request around it has no group and no gold restaurant.
    """

    request_id: str | None
    group: str | None
    gold_restaurant: str | None
    matches: tuple[str, ...]
    status: Status
    errors: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return shorten(f"RequestResult({self.request_id!r}, {self.status}, matches {', '.join(self.matches)})")

    def to_json(self) -> dict[str, Any]:
        """Return the object of a line of `--out`, without the group, and with `errors` only if it is `invalid`."""
        line: dict[str, Any] = {"request_id": self.request_id, "gold_restaurant": self.gold_restaurant}
        line |= {"matches": list(self.matches), "status": self.status}
        if self.status == "invalid":
            line["errors"] = list(self.errors)
        return line


@dataclass(frozen=True, slots=True)
class Validation:
    """The results in the order of the requests, the matrix, and the reports of unusable input."""

    results: tuple[RequestResult, ...]
    matrix: Matrix
    failures: tuple[str, ...]

    def __repr__(self) -> str:
        return shorten(f"Validation({sum(r.status == 'ok' for r in self.results)} of {len(self.results)} ok)")

    @property
    def ok(self) -> bool:
        """True if every request is `ok`, and no input was unusable."""
        return not self.failures and all(result.status == "ok" for result in self.results)


class EvidenceCache:
    """A cache of the values of requests and their evidence. It evaluates each restaurant of the dataset at most once."""

    def __init__(self, requests: Sequence[ir.Request], dataset: Dataset, evaluate: Evaluate) -> None:
        self.requests = tuple(requests)
        self.dataset = dataset
        self.conditions: dict[ir.Evidence, ir.Condition] = {}
        """The first condition that uses each distinct piece of evidence."""
        for request in requests:
            for condition in ir.conditions(request.structure):
                self.conditions.setdefault(condition.evidence, condition)
        self._evaluate = evaluate
        self._values: dict[str, RequestValues] = {}

    def fill(self) -> Iterator[str]:
        """Evaluate all restaurants, and yield the id of each when it is done, to show progress."""
        for business_id in self.dataset.candidates:
            self._values_for(business_id)
            yield business_id

    def truth(self, evidence: ir.Evidence, business_id: str) -> Truth:
        """Return the value of a piece of evidence, which a request must contain, for a restaurant of the dataset."""
        return self._values_for(business_id).evidence[evidence]

    def compute_matrix(self) -> Matrix:
        """Return every request's value for every restaurant; evaluates the restaurants that are not in the cache."""
        ids = self.dataset.candidates
        return {request.id: {id: self._values_for(id).requests[request.id] for id in ids} for request in self.requests}

    def trace(self, node: ir.Node, business_id: str) -> TracedNode:
        """Return a tree with the value of every node for a restaurant."""
        return trace(node, self._values_for(business_id).evidence.__getitem__)

    def compute_row(self, node: ir.Node) -> dict[str, Truth]:
        """Return a tree's value for every restaurant, by its id."""
        return {business_id: self.trace(node, business_id).truth for business_id in self.dataset.candidates}

    def _values_for(self, business_id: str) -> RequestValues:
        """Return the values for a restaurant, evaluated now if they are not in the cache."""
        if business_id not in self._values:
            self._values[business_id] = self._evaluate(self.dataset.candidates[business_id], self.dataset.background)
        return self._values[business_id]


def validate(lines: Sequence[ir.Line], dataset: Dataset, failures: Sequence[str], evaluate: Evaluate) -> Validation:
    """Validate all lines: evaluate each restaurant once, and give every line a status, `invalid` if it has errors.

    `failures`, which the result repeats, are the reports of unusable input from reading the dataset.
    """
    matrix = EvidenceCache(valid_requests(lines), dataset, evaluate).compute_matrix()
    return Validation(build_results(lines, matrix), matrix, tuple(failures))


def valid_requests(lines: Sequence[ir.Line]) -> tuple[ir.Request, ...]:
    """Return the requests without errors, which can be evaluated."""
    return tuple(line for line in lines if isinstance(line, ir.Request))


def build_results(lines: Sequence[ir.Line], matrix: Matrix) -> tuple[RequestResult, ...]:
    """Return a result for each line, in the same order."""
    return tuple(_build_result(line, matrix) for line in lines)


def _build_result(line: ir.Line, matrix: Matrix) -> RequestResult:
    """Return the result of a line: `invalid` with its errors, or its status by the row of its id in `matrix`."""
    if isinstance(line, ir.InvalidRequest):
        return RequestResult(line.id, line.group, line.gold_restaurant, (), "invalid", line.errors)
    matches = find_matches(matrix[line.id])
    status = determine_status(line.gold_restaurant, matches)
    return RequestResult(line.id, line.group, line.gold_restaurant, matches, status)


def find_matches(row: Mapping[str, Truth]) -> tuple[str, ...]:
    """Return the ids of the restaurants whose value is `SATISFIED`."""
    return tuple(business_id for business_id, truth in row.items() if truth == ir.SATISFIED)


def determine_status(gold: str | None, matches: Sequence[str]) -> Status:
    """Return the status of a valid request that matches these restaurants.

    It is `no_match` without any, `gold_not_match` if only other restaurants match, and `multi_match` if others match,
    too. If `gold` is None, a single match is `ok`.
    """
    if not matches:
        return "no_match"
    if gold is not None and gold not in matches:
        return "gold_not_match"
    return "ok" if len(matches) == 1 else "multi_match"


def select_groups(lines: Sequence[ir.Line], groups: Sequence[str] | None) -> tuple[ir.Line, ...]:
    """Return the requests of `groups`, and those without a known group; all of them if `groups` is None."""
    if groups is None:
        return tuple(lines)
    return tuple(line for line in lines if line.group is None or line.group in groups)


def build_condition_matrix(cache: EvidenceCache) -> list[dict[str, Any]]:
    """Return an object for each distinct piece of evidence, as `--conditions` writes them, the rarest first.

    It has the aspects and requests that use the evidence, and the restaurants that satisfy it or for which it is
    unknown. The evidence itself is the JSON of the first condition that uses it.
    """
    uses: dict[ir.Evidence, list[tuple[str, str]]] = {}
    for request in cache.requests:
        for condition in ir.conditions(request.structure):
            uses.setdefault(condition.evidence, []).append((condition.aspect, request.id))
    entries: list[dict[str, Any]] = []
    for evidence, condition in cache.conditions.items():
        row = {business_id: cache.truth(evidence, business_id) for business_id in cache.dataset.candidates}
        satisfied = find_matches(row)
        span = condition.span
        entry = {
            "aspects": list(dict.fromkeys(aspect for aspect, _ in uses[evidence])),
            "evidence": json.loads(span.source.text[span.start : span.end])["evidence"],
            "count": len(satisfied),
            "restaurants": list(satisfied),
            "unknown": [business_id for business_id, truth in row.items() if truth == ir.UNKNOWN],
            "requests": list(dict.fromkeys(id for _, id in uses[evidence])),
        }
        entries.append(entry)
    return sorted(entries, key=lambda entry: entry["count"])
