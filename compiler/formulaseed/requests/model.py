"""Checked requests: trees of conditions over one restaurant, each with the evidence that decides it.

Built by the requests' checker, read by the reference evaluator and the backends. A tree and every condition is
1 (satisfied), 0 (unknown) or -1 (not satisfied). Equal evidence is equal wherever it appears, so that it can be
computed once a restaurant. Each kind of evidence has its call of `evaluation`. Source: the request structure reference, and
the section on requests in docs/requests.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Literal, NamedTuple

from formulaseed.requests import evaluation
from formulaseed.requests.evaluation import Path, Scalar, Truth
from formulaseed.requests.records import Background, Restaurant
from formulaseed.source.text import Span, tree_node, value_node

SATISFIED: Truth = 1
UNKNOWN: Truth = 0
NOT_SATISFIED: Truth = -1

Ordering = Literal["gte", "gt", "lte", "lt", "eq", "ne"]


class SocialFilter(NamedTuple):
    """The people whose reviews count: the friends, and everybody up to `hops` edges from them in the social graph."""

    friends: tuple[str, ...]
    hops: int


class Weight(NamedTuple):
    """A restriction to matching reviews by credible users: those at or over a percentile of the field's non-zero values."""

    field: Path
    percentile: float
    min_credible_matches: int


@value_node
class Expectation:
    """One rule of `item_meta`, such as `true: "u'free'"`: its key, and the value that the attribute is compared with."""

    name: Literal["true", "false", "neutral", "not_true", "contains", "not_contains", "missing"]
    value: Scalar


@value_node
class ItemMeta:
    """The evidence that the value at a path of the restaurant meets the rules, which are in the order of evaluation."""

    path: Path
    rules: tuple[Expectation, ...]


@value_node
class ItemHours:
    """The evidence that the opening hours at a path contain a range in minutes after midnight.

    An end before its start is on the next day.
    """

    path: Path
    start: int
    end: int


@value_node
class ReviewText:
    """The evidence that at least `min_matches` reviews match a pattern, case ignored.

    If there are judgements, the reviews judged positive on the aspect `pattern` match. `source` is the pattern as `re` runs it.
    """

    pattern: str
    weight: Weight | None
    social_filter: SocialFilter | None
    min_matches: int
    source: str = field(compare=False)


@value_node
class ReviewMeta:
    """The evidence that reviews of `min_stars` or more meet a test at a path: `any`, `all`, or at least `count` of them."""

    path: Path
    op: Literal["not_empty", "gte", "lte"]
    value: Scalar
    agg: Literal["any", "all", "count"]
    count: int
    min_stars: float | None


@value_node
class GroupRating:
    """The evidence that `metric` of the reviews that pass a filter compares with a threshold.

    `field`, `operator` and `value` are the filter; `comparison` compares the metric with the threshold.
    """

    field: Path
    operator: Ordering
    value: Scalar
    metric: Literal["avg_stars", "count"]
    comparison: Ordering
    threshold: float


@value_node
class NotOnlyEasyRaters:
    """The evidence that the restaurant is not rated high by easy raters only.

    It fails if users who average 4.0 or more rate it `generous_avg_gte` or more, and users who average under 3.5 under
    `harsh_avg_lt`.
    """

    generous_avg_gte: float
    harsh_avg_lt: float


@value_node
class Sentiment:
    """The evidence that enough judgements on a topic are positive, and more than are negative; or that enough are negative."""

    topic: str
    sentiment: Literal["positive", "negative"]
    min_matches: int
    social_filter: SocialFilter | None


@value_node
class SocialRating:
    """The evidence that at least `min_matches` reviews by people of the social filter have `min_stars` or more."""

    min_stars: float
    min_matches: int
    social_filter: SocialFilter


Evidence = ItemMeta | ItemHours | ReviewText | ReviewMeta | GroupRating | NotOnlyEasyRaters | Sentiment | SocialRating


@value_node
class Condition:
    """A leaf of a structure. Conditions with equal evidence are equal, even if their aspects (names) differ."""

    aspect: str = field(compare=False)
    evidence: Evidence
    span: Span = field(compare=False)


@value_node
class Junction:
    """`AND` or `OR` over one or more nodes."""

    op: Literal["AND", "OR"]
    args: tuple[Node, ...]
    span: Span = field(compare=False)


Node = Condition | Junction


@tree_node
class Request:
    """One request of a file. `span` is its place, `line` the number of the line that it begins on.

    A structure without a request around it has no group, no gold restaurant, and empty texts.
    """

    id: str
    group: str | None
    scenario: str
    text: str
    shorthand: str
    structure: Node
    gold_restaurant: str | None
    line: int
    span: Span


@tree_node
class InvalidRequest:
    """A request of a file that has errors; `errors` are their places and messages.

    The other attributes are the strings of the request; None if it has no such string, or is not JSON.
    """

    id: str | None
    group: str | None
    scenario: str | None
    gold_restaurant: str | None
    errors: tuple[str, ...]
    line: int
    span: Span


Line = Request | InvalidRequest


@tree_node
class Requests:
    """A checked file of requests, in the file's order. `name` is the file's name without its extension."""

    name: str
    requests: tuple[Request, ...]

    def evidence(self) -> tuple[Evidence, ...]:
        """Return every distinct piece of evidence, in the order of first use."""
        leaves = (condition for request in self.requests for condition in conditions(request.structure))
        return tuple(dict.fromkeys(condition.evidence for condition in leaves))


def conditions(node: Node) -> Iterator[Condition]:
    """Yield the leaves of a tree, from left to right."""
    if isinstance(node, Condition):
        yield node
    else:
        for arg in node.args:
            yield from conditions(arg)


# --- calls of the evaluation


class EvidenceCall(NamedTuple):
    """A call of `function` with the restaurant, the background if it `needs_background`, `arguments`, and `options` by name."""

    function: Callable[..., Truth]
    needs_background: bool
    arguments: tuple[object, ...]
    options: dict[str, object]

    def evaluate(self, restaurant: Restaurant, background: Background) -> Truth:
        """Return 1 (satisfied), 0 (unknown) or -1 (not satisfied) for a restaurant."""
        data = (restaurant, background) if self.needs_background else (restaurant,)
        return self.function(*data, *self.arguments, **self.options)


def plan_call(evidence: Evidence) -> EvidenceCall:
    """Return the call that evaluates a piece of evidence; options that have their defaults are left out."""
    match evidence:
        case ItemMeta(path, rules):
            values: dict[str, object] = {rule.name: rule.value for rule in rules}
            return EvidenceCall(evaluation._check_attribute, False, (path,), values)
        case ItemHours(path, start, end):
            return EvidenceCall(evaluation._check_hours, False, (path, start, end), {})
        case ReviewText(pattern, weight, social_filter, min_matches):
            options = _plan_options(min_matches, social_filter)
            if weight is not None:
                options["weight"] = tuple(weight)
            if evidence.source != pattern:
                options["pattern"] = evidence.source
            return EvidenceCall(evaluation._check_review_text, True, (pattern,), options)
        case ReviewMeta(path, op, value, agg, count, min_stars):
            options = {"count": count} if agg == "count" else {}
            if min_stars is not None:
                options["min_stars"] = min_stars
            return EvidenceCall(evaluation._check_review_meta, False, (path, op, value, agg), options)
        case GroupRating(path, operator, value, metric, comparison, threshold):
            group = (path, operator, value)
            return EvidenceCall(evaluation._check_group_rating, False, (*group, metric, comparison, threshold), {})
        case NotOnlyEasyRaters(generous, harsh):
            return EvidenceCall(evaluation._check_raters, False, (generous, harsh), {})
        case Sentiment(topic, sentiment, min_matches, social_filter):
            options = _plan_options(min_matches, social_filter)
            return EvidenceCall(evaluation._check_sentiment, True, (topic, sentiment), options)
        case SocialRating(min_stars, min_matches, social_filter):
            people = tuple(social_filter)
            return EvidenceCall(evaluation._check_social_rating, True, (min_stars, min_matches, people), {})


def _plan_options(min_matches: int, social_filter: SocialFilter | None) -> dict[str, object]:
    """Return the keyword arguments that differ from the defaults."""
    options: dict[str, object] = {}
    if min_matches != 1:
        options["min_matches"] = min_matches
    if social_filter is not None:
        options["social_filter"] = tuple(social_filter)
    return options
