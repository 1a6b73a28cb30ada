"""Plan the module of checked requests: names, and code for every piece of evidence and request.

In: `model.Requests`. Out: the template's variables. Equal evidence is one entry, whatever the requests call it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from formulaseed.backends.python.code import (
    Code,
    CodeLine,
    addresses_a_tool,
    annotate,
    comment_text,
    docstring_text,
    literal,
    tuple_text,
)
from formulaseed.backends.python.names import FRAME_NAMES, Names
from formulaseed.backends.python.plan import Variables, print_header
from formulaseed.requests.explain import describe_evidence
from formulaseed.requests.model import (
    Condition,
    Evidence,
    GroupRating,
    ItemHours,
    ItemMeta,
    Node,
    NotOnlyEasyRaters,
    Request,
    Requests,
    ReviewMeta,
    ReviewText,
    Sentiment,
    SocialFilter,
    SocialRating,
    conditions,
)
from formulaseed.source.printing import number_of


def plan_requests(program: Requests, *, path: str, sha256: str, style: str) -> tuple[Variables, Variables]:
    """Return the variables of a module, and those of its comment-free build."""
    return (
        _variables(program, print_header(path, style), sha256, bare=False),
        _variables(program, print_header("", style), sha256, bare=True),
    )


def _variables(program: Requests, header: Code, sha256: str, *, bare: bool) -> Variables:
    keys: dict[Evidence, Code] = {}
    condition_lines = _condition_lines(program, keys, bare=bare)
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
        "conditions": condition_lines,
        "requests": [_request_line(request, keys, bare=bare) for request in program.requests],
    }


def _condition_lines(program: Requests, keys: dict[Evidence, Code], *, bare: bool) -> list[CodeLine]:
    """Return an entry for each distinct piece of evidence, and add its key, a literal, to `keys`."""
    names = Names(FRAME_NAMES)
    lines: list[CodeLine] = []
    for condition in (leaf for request in program.requests for leaf in conditions(request.structure)):
        evidence = condition.evidence
        if evidence in keys:
            continue
        keys[evidence] = literal(names.add_local(_plain(condition.aspect)))
        # The call for an attribute says as much as a comment would.
        comment = "" if bare or isinstance(evidence, ItemMeta) else describe_evidence(evidence)
        if addresses_a_tool(comment):
            comment = f"evidence: {comment}"
        lines.append(annotate(f"{keys[evidence]}: {_print_evidence(evidence)},", comment_text(comment), 8))
    return lines


def _request_line(request: Request, keys: Mapping[Evidence, Code], *, bare: bool) -> CodeLine:
    """Return the entry of a request, below a comment with its words unless `bare`."""
    entry = Code(f"{literal(request.id)}: {_print_node(request.structure, keys)},")
    if bare:
        return CodeLine(entry)
    comment: str = comment_text(f"{request.scenario}: {request.text}" if request.text else request.shorthand)
    for prefix in (f"{comment_text(request.id)}:", "request"):
        if addresses_a_tool(comment):
            comment = f"{prefix} {comment}"
    return CodeLine(entry, above=(Code(comment),))


def _plain(text: str) -> str:
    """Return a text as a name: letters, digits and single underscores."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "condition"


def _print_node(node: Node, keys: Mapping[Evidence, Code]) -> Code:
    """Print a structure over the values of its conditions."""
    if isinstance(node, Condition):
        return Code(f"has[{keys[node.evidence]}]")
    parts = [_print_node(arg, keys) for arg in node.args]
    if len(parts) == 1:
        return parts[0]
    return Code(f"{'and_' if node.op == 'AND' else 'or_'}({', '.join(parts)})")


def _print_evidence(evidence: Evidence) -> Code:
    """Print the call that evaluates a piece of evidence."""
    match evidence:
        case ItemMeta(path, rules):
            arguments = "".join(f", {rule.name}={literal(rule.value)}" for rule in rules)
            return Code(f"_check_attribute(restaurant, {_strings(path)}{arguments})")
        case ItemHours(path, start, end):
            return Code(f"_check_hours(restaurant, {_strings(path)}, {start}, {end})")
        case ReviewText(pattern, weight, social_filter, min_matches):
            options = _options(min_matches, social_filter)
            if weight is not None:
                percentile = literal(weight.percentile)
                options += f", weight=({_strings(weight.field)}, {percentile}, {weight.min_credible_matches})"
            if evidence.source != pattern:
                options += f", pattern={literal(evidence.source)}"
            return Code(f"_check_review_text(restaurant, background, {literal(pattern)}{options})")
        case ReviewMeta(path, op, value, agg, count, min_stars):
            options = f", count={count}" if agg == "count" else ""
            if min_stars is not None:
                options += f", min_stars={literal(min_stars)}"
            test = f"{literal(op)}, {literal(value)}, {literal(agg)}"
            return Code(f"_check_review_meta(restaurant, {_strings(path)}, {test}{options})")
        case GroupRating(path, operator, value, metric, comparison, threshold):
            group = f"{_strings(path)}, {literal(operator)}, {literal(value)}"
            test = f"{literal(metric)}, {literal(comparison)}, {literal(threshold)}"
            return Code(f"_check_group_rating(restaurant, {group}, {test})")
        case NotOnlyEasyRaters(generous, harsh):
            return Code(f"_check_raters(restaurant, {literal(generous)}, {literal(harsh)})")
        case Sentiment(topic, sentiment, min_matches, social_filter):
            options = _options(min_matches, social_filter)
            return Code(f"_check_sentiment(restaurant, background, {literal(topic)}, {literal(sentiment)}{options})")
        case SocialRating(min_stars, min_matches, social_filter):
            arguments = f"{literal(min_stars)}, {min_matches}, {_people(social_filter)}"
            return Code(f"_check_social_rating(restaurant, background, {arguments})")


def _options(min_matches: int, social_filter: SocialFilter | None) -> str:
    """Return the keyword arguments that differ from the defaults."""
    options = f", min_matches={min_matches}" if min_matches != 1 else ""
    return f"{options}, social_filter={_people(social_filter)}" if social_filter is not None else options


def _people(social_filter: SocialFilter) -> Code:
    return Code(f"({_strings(social_filter.friends)}, {social_filter.hops})")


def _strings(strings: tuple[str, ...]) -> Code:
    return Code(tuple_text([literal(text) for text in strings]))
