"""Plan the module of checked requests: names, and code for every piece of evidence and request.

In: `model.Requests`. Out: the template's variables. Equal evidence is one entry, whatever names the requests give it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

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
from formulaseed.backends.python.names import FRAME_NAMES, Names, make_word
from formulaseed.backends.python.plan import Variables, plan_both_builds
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
    """Return the variables of a module of requests, and those of its comment-free build."""
    return plan_both_builds(partial(_plan_variables, program), path, sha256, style)


def _plan_variables(program: Requests, header: Code, sha256: str, *, bare: bool) -> Variables:
    """Return the variables of the template; without descriptions and comments if `bare`.

    Equal evidence is planned once. Requests without a gold restaurant are left out of `gold`.
    """
    keys: dict[Evidence, Code] = {}
    condition_lines = _print_conditions(program, keys, bare=bare)
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
        "requests": [_print_request(request, keys, bare=bare) for request in program.requests],
    }


def _print_conditions(program: Requests, keys: dict[Evidence, Code], *, bare: bool) -> list[CodeLine]:
    """Return the entry of each distinct piece of evidence, and add the evidence with its key, a literal, to `keys`.

    The first request that uses the evidence decides its key and place. Each has a comment, except evidence of
    attributes; none has one if `bare`.
    """
    names = Names(FRAME_NAMES)
    lines: list[CodeLine] = []
    for condition in (leaf for request in program.requests for leaf in conditions(request.structure)):
        evidence = condition.evidence
        if evidence in keys:
            continue
        keys[evidence] = literal(names.add_local(make_word(condition.aspect, "condition")))
        comment = ""
        # The call for an attribute says as much as a comment would.
        if not bare and not isinstance(evidence, ItemMeta):
            comment = describe_evidence(evidence)
        if addresses_a_tool(comment):
            comment = f"evidence: {comment}"
        lines.append(annotate(f"{keys[evidence]}: {_print_evidence(evidence)},", comment_text(comment), 8))
    return lines


def _print_request(request: Request, keys: Mapping[Evidence, Code], *, bare: bool) -> CodeLine:
    """Return the entry of a request, below a comment with its text, or else its shorthand, unless `bare`."""
    entry = Code(f"{literal(request.id)}: {_print_node(request.structure, keys)},")
    if bare:
        return CodeLine(entry)
    text = f"{request.scenario}: {request.text}" if request.text else request.shorthand
    comment: str = comment_text(text)
    for prefix in (f"{comment_text(request.id)}:", "request"):
        if addresses_a_tool(comment):
            comment = f"{prefix} {comment}"
    return CodeLine(entry, above=(Code(comment),))


def _print_node(node: Node, keys: Mapping[Evidence, Code]) -> Code:
    """Print the expression of a structure: `and_` and `or_` over `has[key]`; a single argument stands alone.

    `keys` has the key of each condition's evidence.
    """
    if isinstance(node, Condition):
        return Code(f"has[{keys[node.evidence]}]")
    parts = [_print_node(arg, keys) for arg in node.args]
    if len(parts) == 1:
        return parts[0]
    function = "and_" if node.op == "AND" else "or_"
    return Code(f"{function}({', '.join(parts)})")


def _print_evidence(evidence: Evidence) -> Code:
    """Print the call that evaluates a piece of evidence; options that have their defaults are left out."""
    match evidence:
        case ItemMeta(path, rules):
            arguments = "".join(f", {rule.name}={literal(rule.value)}" for rule in rules)
            return Code(f"_check_attribute(restaurant, {_print_strings(path)}{arguments})")
        case ItemHours(path, start, end):
            return Code(f"_check_hours(restaurant, {_print_strings(path)}, {start}, {end})")
        case ReviewText(pattern, weight, social_filter, min_matches):
            options = _print_options(min_matches, social_filter)
            if weight is not None:
                percentile = literal(weight.percentile)
                options += f", weight=({_print_strings(weight.field)}, {percentile}, {weight.min_credible_matches})"
            if evidence.source != pattern:
                options += f", pattern={literal(evidence.source)}"
            return Code(f"_check_review_text(restaurant, background, {literal(pattern)}{options})")
        case ReviewMeta(path, op, value, agg, count, min_stars):
            options = f", count={count}" if agg == "count" else ""
            if min_stars is not None:
                options += f", min_stars={literal(min_stars)}"
            test = f"{literal(op)}, {literal(value)}, {literal(agg)}"
            return Code(f"_check_review_meta(restaurant, {_print_strings(path)}, {test}{options})")
        case GroupRating(path, operator, value, metric, comparison, threshold):
            group = f"{_print_strings(path)}, {literal(operator)}, {literal(value)}"
            test = f"{literal(metric)}, {literal(comparison)}, {literal(threshold)}"
            return Code(f"_check_group_rating(restaurant, {group}, {test})")
        case NotOnlyEasyRaters(generous, harsh):
            return Code(f"_check_raters(restaurant, {literal(generous)}, {literal(harsh)})")
        case Sentiment(topic, sentiment, min_matches, social_filter):
            options = _print_options(min_matches, social_filter)
            return Code(f"_check_sentiment(restaurant, background, {literal(topic)}, {literal(sentiment)}{options})")
        case SocialRating(min_stars, min_matches, social_filter):
            arguments = f"{literal(min_stars)}, {min_matches}, {_print_people(social_filter)}"
            return Code(f"_check_social_rating(restaurant, background, {arguments})")


def _print_options(min_matches: int, social_filter: SocialFilter | None) -> str:
    """Print the keyword arguments that differ from the defaults, each after a comma; empty if none does.

    A `social_filter` of None is the default: all reviewers count.
    """
    options = ""
    if min_matches != 1:
        options += f", min_matches={min_matches}"
    if social_filter is not None:
        options += f", social_filter={_print_people(social_filter)}"
    return options


def _print_people(social_filter: SocialFilter) -> Code:
    """Print the pair of a social filter: the names of the friends, and the number of hops from them."""
    return Code(f"({_print_strings(social_filter.friends)}, {social_filter.hops})")


def _print_strings(strings: tuple[str, ...]) -> Code:
    """Print strings as a tuple of literals."""
    return Code(tuple_text([literal(text) for text in strings]))
