"""Checked requests to what the template needs: names, and code for every piece of evidence and request.

In: `model.Requests`. Out: the template's variables. Equal evidence is one property, whatever the requests call it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from formulaseed.backends.python.code import (
    Code,
    Line,
    addresses_a_tool,
    annotate,
    comment_text,
    docstring_text,
    literal,
    tuple_text,
)
from formulaseed.backends.python.names import FRAME_NAMES, Names
from formulaseed.backends.python.plan import Variables, header
from formulaseed.diagnostics.model import number_of
from formulaseed.requests.explain import evidence_text
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


def plan_requests(program: Requests, *, path: str, sha256: str, style: str) -> tuple[Variables, Variables]:
    """Return the variables of a module, and those of its comment-free build."""
    return (
        _variables(program, header(path, style), sha256, bare=False),
        _variables(program, header("", style), sha256, bare=True),
    )


def _variables(program: Requests, header: Code, sha256: str, *, bare: bool) -> Variables:
    names = Names(FRAME_NAMES)
    called: dict[Evidence, Code] = {}
    lines: list[Line] = []
    for request in program.requests:
        for condition in conditions(request.structure):
            evidence = condition.evidence
            if evidence not in called:
                called[evidence] = literal(names.local(_plain(condition.aspect)))
                comment = "" if bare or isinstance(evidence, ItemMeta) else evidence_text(evidence)
                comment = f"evidence: {comment}" if addresses_a_tool(comment) else comment
                lines.append(annotate(f"{called[evidence]}: {_evidence(evidence)},", comment_text(comment), 8))
    requests: list[Line] = []
    for request in program.requests:
        said = f"{request.scenario}: {request.text}" if request.text else request.shorthand
        about = comment_text(said)
        line = f"{comment_text(request.id)}: {about}" if addresses_a_tool(about) else about
        line = f"request {line}" if addresses_a_tool(line) else line
        above = () if bare else (Code(line),)
        requests.append(Line(Code(f"{literal(request.id)}: {_node(request.structure, called)},"), above=above))
    title = f"{program.name}: {number_of(len(program.requests), 'request')}"
    gold = [
        Code(f"{literal(request.id)}: {literal(request.gold_restaurant)}")
        for request in program.requests
        if request.gold_restaurant is not None
    ]
    return {
        "about": Code("") if bare else docstring_text(title),
        "header": header,
        "name": literal(program.name),
        "sha256": literal(sha256),
        "gold": gold,
        "conditions": lines,
        "requests": requests,
    }


def _plain(text: str) -> str:
    """A text as a name: letters, digits and single underscores."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "condition"


def _node(node: Node, called: Mapping[Evidence, Code]) -> Code:
    """A structure over the values of its conditions."""
    if isinstance(node, Condition):
        return Code(f"has[{called[node.evidence]}]")
    parts = [_node(arg, called) for arg in node.args]
    if len(parts) == 1:
        return parts[0]
    return Code(f"{'and_' if node.op == 'AND' else 'or_'}({', '.join(parts)})")


def _evidence(evidence: Evidence) -> Code:
    match evidence:
        case ItemMeta(path, rules):
            given = "".join(f", {rule.name}={literal(rule.value)}" for rule in rules)
            return Code(f"_attribute(place, {_strings(path)}{given})")
        case ItemHours(path, start, end):
            return Code(f"_open_during(place, {_strings(path)}, {start}, {end})")
        case ReviewText(pattern, weight, social_filter, least):
            more = _options(least, social_filter)
            if weight is not None:
                bound = literal(weight.percentile)
                more += f", weight=({_strings(weight.field)}, {bound}, {weight.min_credible_matches})"
            if evidence.source != pattern:
                more += f", pattern={literal(evidence.source)}"
            return Code(f"_review_text(place, known, {literal(pattern)}{more})")
        case ReviewMeta(path, op, value, agg, count, min_stars):
            more = f", count={count}" if agg == "count" else ""
            more += f", min_stars={literal(min_stars)}" if min_stars is not None else ""
            test = f"{literal(op)}, {literal(value)}, {literal(agg)}"
            return Code(f"_review_meta(place, {_strings(path)}, {test}{more})")
        case GroupRating(path, operator, value, metric, comparison, threshold):
            group = f"{_strings(path)}, {literal(operator)}, {literal(value)}"
            return Code(
                f"_group_rating(place, {group}, {literal(metric)}, {literal(comparison)}, {literal(threshold)})"
            )
        case NotOnlyEasyRaters(generous, harsh):
            return Code(f"_not_only_easy_raters(place, {literal(generous)}, {literal(harsh)})")
        case Sentiment(topic, sentiment, least, social_filter):
            asked = f"{literal(topic)}, {literal(sentiment)}"
            return Code(f"_sentiment(place, known, {asked}{_options(least, social_filter)})")
        case SocialRating(min_stars, least, social_filter):
            return Code(f"_social_rating(place, known, {literal(min_stars)}, {least}, {_friends(social_filter)})")


def _options(least: int, social_filter: SocialFilter | None) -> str:
    more = f", least={least}" if least != 1 else ""
    return f"{more}, social_filter={_friends(social_filter)}" if social_filter is not None else more


def _friends(social_filter: SocialFilter) -> Code:
    return Code(f"({_strings(social_filter.friends)}, {social_filter.hops})")


def _strings(strings: tuple[str, ...]) -> Code:
    return Code(tuple_text([literal(text) for text in strings]))
