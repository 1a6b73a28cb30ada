"""Maps each kind of evidence to its call of `evaluation`, which the Python target prints and `functions` makes directly."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from formulaseed.requests import evaluation
from formulaseed.requests.evaluation import Truth
from formulaseed.requests.model import (
    Evidence,
    GroupRating,
    ItemHours,
    ItemMeta,
    NotOnlyEasyRaters,
    ReviewMeta,
    ReviewText,
    Sentiment,
    SocialFilter,
    SocialRating,
)
from formulaseed.requests.records import Background, Restaurant


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
