"""Checked requests to what the template needs: names, and code for every piece of evidence and request.

In: `model.Requests`. Out: `RequestsView`. Equal evidence is one property, whatever the requests call it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formulaseed.backends.python.code import Code, comment_text, docstring_text, literal
from formulaseed.backends.python.names import FRAME_NAMES, Names
from formulaseed.backends.python.plan import STYLE
from formulaseed.diagnostics.model import number_of
from formulaseed.requests.model import (
    Condition,
    Evidence,
    GroupRating,
    ItemHours,
    ItemMeta,
    Node,
    NotOnlyEasyRaters,
    Requests,
    ReviewMeta,
    ReviewText,
    Sentiment,
    SocialFilter,
    SocialRating,
    conditions,
)
from formulaseed.requests.text import evidence_text

_TAKEN = ("place", "known", "self", "evidence")
_MODULE = (
    "NAME", "REQUESTS_SHA256", "BODY_SHA256", "REQUESTS", "GOLD", "Evidence", "evaluate", "Restaurant", "Background",
    "parse_restaurant", "parse_background",
    "Truth", "Scalar", "Path", "SocialFilter", "Weight", "Program", "DataError", "JsonObject", "JsonValue",
    "ast", "re", "warnings", "cached_property", "Callable", "Mapping", "Sequence", "Final", "Literal", "NamedTuple", "TypeAlias",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class EvidenceView:
    name: Code
    comment: Code
    code: Code


@dataclass(frozen=True, slots=True)
class RequestView:
    id: Code
    name: Code
    about: Code
    gold: Code
    code: Code


@dataclass(frozen=True, slots=True)
class RequestsView:
    title: Code
    header: tuple[Code, ...]
    name: Code
    sha256: Code
    evidence: tuple[EvidenceView, ...]
    requests: tuple[RequestView, ...]


def plan_requests(program: Requests, *, path: str, sha256: str, bare: bool = False) -> RequestsView:
    """The view of a module; a `bare` one leaves out every text that only describes."""
    names = Names((*_TAKEN, *FRAME_NAMES))
    called: dict[Evidence, Code] = {}
    views = []
    for request in program.requests:
        for condition in conditions(request.structure):
            if condition.evidence not in called:
                name = names.local(_plain(condition.aspect))
                called[condition.evidence] = name
                comment = Code("") if bare else comment_text(evidence_text(condition.evidence))
                views.append(EvidenceView(name, comment, _evidence(condition.evidence)))
    functions = Names(_MODULE)
    return RequestsView(
        title=Code("requests")
        if bare
        else docstring_text(f"{program.name}: {number_of(len(program.requests), 'request')}"),
        header=() if bare else _header(path),
        name=literal(program.name),
        sha256=literal(sha256),
        evidence=tuple(views),
        requests=tuple(
            RequestView(
                literal(request.id),
                functions.local(_plain(request.id)),
                Code("request") if bare else _sentence(docstring_text(f"{request.scenario}: {request.text}")),
                literal(request.gold_restaurant),
                _node(request.structure, called),
            )
            for request in program.requests
        ),
    )


def _sentence(text: Code) -> Code:
    return text if text.endswith((".", "!", "?", "…")) else Code(f"{text}.")


def _header(path: str) -> tuple[Code, ...]:
    source = f", from {path}" if path else ""
    return (Code(f"Compiled by formulaseed, emission style {STYLE}{docstring_text(source)}."),)


def _plain(text: str) -> str:
    """A text as a name: letters, digits and single underscores."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "condition"


def _node(node: Node, called: Mapping[Evidence, Code]) -> Code:
    """`AND` is the least of its values, `OR` the greatest."""
    if isinstance(node, Condition):
        return Code(f"evidence.{called[node.evidence]}")
    parts = [_node(arg, called) for arg in node.args]
    if len(parts) == 1:
        return parts[0]
    return Code(f"{'min' if node.op == 'AND' else 'max'}({', '.join(parts)})")


def _evidence(evidence: Evidence) -> Code:
    match evidence:
        case ItemMeta(path, rules):
            given = "".join(f", {rule.name}={literal(rule.value)}" for rule in rules)
            return Code(f"_attribute(self.place, {_strings(path)}{given})")
        case ItemHours(path, start, end):
            return Code(f"_open_during(self.place, {_strings(path)}, {start}, {end})")
        case ReviewText(pattern, weight, social_filter, least):
            more = _options(least, social_filter)
            if weight is not None:
                bound = literal(weight.percentile)
                more += f", weight=({_strings(weight.field)}, {bound}, {weight.min_credible_matches})"
            if evidence.source != pattern:
                more += f", pattern={literal(evidence.source)}"
            return Code(f"_review_text(self.place, self.known, {literal(pattern)}{more})")
        case ReviewMeta(path, op, value, agg, count, min_stars):
            more = f", count={count}" if agg == "count" else ""
            more += f", min_stars={literal(min_stars)}" if min_stars is not None else ""
            test = f"{literal(op)}, {literal(value)}, {literal(agg)}"
            return Code(f"_review_meta(self.place, {_strings(path)}, {test}{more})")
        case GroupRating(path, operator, value, metric, comparison, threshold):
            group = f"{_strings(path)}, {literal(operator)}, {literal(value)}"
            return Code(
                f"_group_rating(self.place, {group}, {literal(metric)}, {literal(comparison)}, {literal(threshold)})"
            )
        case NotOnlyEasyRaters(generous, harsh):
            return Code(f"_not_only_easy_raters(self.place, {literal(generous)}, {literal(harsh)})")
        case Sentiment(topic, sentiment, least, social_filter):
            asked = f"{literal(topic)}, {literal(sentiment)}"
            return Code(f"_sentiment(self.place, self.known, {asked}{_options(least, social_filter)})")
        case SocialRating(min_stars, least, social_filter):
            return Code(
                f"_social_rating(self.place, self.known, {literal(min_stars)}, {least}, {_friends(social_filter)})"
            )


def _options(least: int, social_filter: SocialFilter | None) -> str:
    more = f", least={least}" if least != 1 else ""
    return f"{more}, social_filter={_friends(social_filter)}" if social_filter is not None else more


def _friends(social_filter: SocialFilter) -> Code:
    return Code(f"({_strings(social_filter.friends)}, {social_filter.hops})")


def _strings(strings: tuple[str, ...]) -> Code:
    return _tuple([literal(text) for text in strings])


def _tuple(items: Sequence[Code]) -> Code:
    return Code(f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})")
