"""Describe evidence in words, and explain the status of a request: decisive conditions, rivals, possible changes.

In: evidence, for comments in generated modules; or a request with its result and the `EvidenceCache` of its file. Out:
text for people. The functions of `evaluation` count and select reviews here, too, so that texts agree with values. A rival is
a restaurant that is not the gold restaurant. A structure alone has no gold restaurant, so texts about it name no rivals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import Any

from formulaseed.ir.attributes import _attribute_at_path, _read_attribute
from formulaseed.requests import evaluation
from formulaseed.requests import model as ir
from formulaseed.requests.evaluation import Path
from formulaseed.requests.records import Background, Restaurant
from formulaseed.requests.validate import EvidenceCache, RequestResult, TracedNode, find_matches
from formulaseed.source.printing import number_of

MAX_VALUE_CHARACTERS = 60
_EXPECTATIONS = {
    "not_contains": "asked not to contain {}",
    "contains": "asked to contain {}",
    "not_true": "asked not to be {}",
    "true": "asked to be {}",
    "false": "asked not to be {}",
    "neutral": "left open for {}",
}
_SIGNS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<", "eq": "==", "ne": "!="}


def describe_evidence(evidence: ir.Evidence) -> str:
    """Return in words what evidence requires of a restaurant, such as `attributes.DriveThru: true 'True'`."""
    match evidence:
        case ir.ItemMeta(path, rules):
            expected = ", ".join(f"{rule.name.replace('_', ' ')} {rule.value!r}" for rule in rules) or "true"
            return f"{_format_path(path)}: {expected}"
        case ir.ItemHours(path, start, end):
            return f"{_format_path(path)} contains {_format_time(start)} to {_format_time(end)}"
        case ir.ReviewText():
            return _describe_review_text(evidence)
        case ir.ReviewMeta():
            return _describe_review_meta(evidence)
        case ir.GroupRating(path, operator, value, metric, comparison, threshold):
            metric_text = "the average stars" if metric == "avg_stars" else "the number"
            group = f"{_format_path(path)} {_SIGNS[operator]} {value!r}"
            return f"{metric_text} of reviews with {group} {_SIGNS[comparison]} {threshold:g}"
        case ir.NotOnlyEasyRaters(generous, harsh):
            return f"not rated {generous:g} or more by easy raters and under {harsh:g} by harsh ones"
        case ir.Sentiment(topic, sentiment, min_matches, social_filter):
            return f"{_format_reviews(min_matches, social_filter)} judged {sentiment} on {topic}"
        case ir.SocialRating(min_stars, min_matches, social_filter):
            verb = "gives" if min_matches == 1 else "give"
            return f"{_format_reviews(min_matches, social_filter)} {verb} {_format_stars(min_stars)}"


def _describe_review_text(evidence: ir.ReviewText) -> str:
    """Return how many reviews by whom must match a pattern and, with a weight, how many of them must be credible."""
    verb = "matches" if evidence.min_matches == 1 else "match"
    text = f"{_format_reviews(evidence.min_matches, evidence.social_filter)} {verb} {evidence.pattern}"
    if evidence.weight is None:
        return text
    path, percentile, min_credible = evidence.weight
    return f"{text}, {min_credible} at or over percentile {percentile:g} of {_format_path(path)}"


def _describe_review_meta(evidence: ir.ReviewMeta) -> str:
    """Return which reviews must pass a test of a field, such as `every review of 4 stars or more: date >= '2020'`."""
    test = "is filled"
    if evidence.op != "not_empty":
        test = f"{_SIGNS[evidence.op]} {evidence.value!r}"
    stars = ""
    if evidence.min_stars is not None:
        stars = f" of {_format_stars(evidence.min_stars)}"
    reviews = {"any": "a review", "all": "every review", "count": _format_reviews(evidence.count, None)}[evidence.agg]
    return f"{reviews}{stars}: {_format_path(evidence.path)} {test}"


def _format_stars(min_stars: float) -> str:
    return f"{min_stars:g} star{'' if min_stars == 1 else 's'} or more"


def _format_path(path: Path) -> str:
    return ".".join(path)


def _format_time(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02}"


def _format_reviews(min_matches: int, social_filter: ir.SocialFilter | None) -> str:
    """Return a number of reviews, with the people of the filter; None is no filter."""
    return ("a review" if min_matches == 1 else f"{min_matches} reviews") + _format_people(social_filter)


def _format_people(social_filter: ir.SocialFilter | None) -> str:
    """Return ` by ` with the people of the filter; an empty string if it is None."""
    if social_filter is None:
        return ""
    text = f" by {', '.join(social_filter.friends)}"
    if social_filter.hops:
        text += f" and those {number_of(social_filter.hops, 'hop')} away"
    return text


def describe_data(evidence: ir.Evidence, restaurant: Restaurant, background: Background) -> str:
    """Return what a restaurant has and what is expected, such as `attributes.HasTV is True, asked to be False`.

    Of several rules for an attribute only the first is named that expects a value. A sentiment without judgements says
    so.
    """
    match evidence:
        case ir.ItemMeta(path, rules):
            expectations = (_describe_expectation(rule) for rule in rules if rule.name in _EXPECTATIONS)
            return f"{_describe_value(path, restaurant)}{next(expectations, '')}"
        case ir.ItemHours(path, start, end):
            return f"{_describe_value(path, restaurant)}, asked for {_format_time(start)}-{_format_time(end)}"
        case ir.ReviewText():
            return _describe_matches(evidence, restaurant, background)
        case ir.ReviewMeta(path, op, value, agg, count, min_stars):
            meeting, counted = evaluation._count_meeting(restaurant, path, op, value, min_stars)
            return f"{_format_count(counted)}, {meeting} meeting it, asked for {count if agg == 'count' else agg}"
        case ir.GroupRating():
            return _describe_group(evidence, restaurant)
        case ir.NotOnlyEasyRaters():
            generous, harsh = map(_format_average, evaluation._average_by_raters(restaurant))
            return f"easy raters give {generous}, harsh ones {harsh}"
        case ir.Sentiment(topic, _, _, social_filter):
            if background.judgements is None:
                return "no judgements are given"
            reviews = evaluation._filter_by_people(restaurant.reviews, social_filter, background)
            positive, negative = evaluation._count_judgements(reviews, background, topic)
            return f"{_format_count(len(reviews), social_filter)}, {positive} positive and {negative} negative on `{topic}`"
        case ir.SocialRating(min_stars, _, social_filter):
            reviews = evaluation._filter_by_people(restaurant.reviews, social_filter, background)
            liked = evaluation._filter_by_stars(reviews, min_stars)
            return f"{_format_count(len(reviews), social_filter)}, {len(liked)} with {_format_stars(min_stars)}"


def _describe_expectation(rule: ir.Expectation) -> str:
    """Return a rule such as `, asked to be free`, its value without the quotes that Yelp puts around it.

    Raises `KeyError` for `missing`, which expects no value.
    """
    value: Any = rule.value
    if isinstance(value, str) and rule.name in ("true", "false", "not_true"):
        value = _read_attribute(value)
    return f", {_EXPECTATIONS[rule.name].format(value)}"


def _describe_value(path: Path, restaurant: Restaurant) -> str:
    """Return an attribute with its value, which is cut after `MAX_VALUE_CHARACTERS`, or that it is missing.

    Of an object, only the keys that are true are named.
    """
    name = _format_path(path)
    value = _attribute_at_path(restaurant.business, path)
    if value is None:
        return f"{name} is missing"
    if isinstance(value, dict):
        true = [str(key) for key, flag in value.items() if flag is True]
        return f"{name} has {', '.join(true) or 'nothing that is true'}"
    text = str(value)
    if len(text) > MAX_VALUE_CHARACTERS:
        text = f"{text[:MAX_VALUE_CHARACTERS]}…"
    return f"{name} is {text}"


def _format_average(stars: float | None) -> str:
    """Return an average with two decimals; `nothing` if it is None."""
    return "nothing" if stars is None else f"{stars:.2f}"


def _format_count(reviews: int, social_filter: ir.SocialFilter | None = None) -> str:
    return (number_of(reviews, "review") if reviews else "no reviews") + _format_people(social_filter)


def _describe_matches(evidence: ir.ReviewText, restaurant: Restaurant, background: Background) -> str:
    """Return how many reviews there are, how many match and, if weighted, how many of these are credible."""
    reviews = evaluation._filter_by_people(restaurant.reviews, evidence.social_filter, background)
    matches = evaluation._find_matches(reviews, background, evidence.pattern, evidence.source)
    verb = "match" if background.judgements is None else "judged positive on"
    text = f"{_format_count(len(reviews), evidence.social_filter)}, {len(matches)} {verb} `{evidence.pattern}`"
    if evidence.weight is None:
        return text
    path, _, min_credible = evidence.weight
    bound = evaluation._credibility_bound(reviews, evidence.weight)
    credible = evaluation._find_credible(matches, evidence.weight, bound)
    return f"{text}, {len(credible)} of them credible ({path[-1]} of {bound or 0:g} or more), asked for {min_credible}"


def _describe_group(evidence: ir.GroupRating, restaurant: Restaurant) -> str:
    """Return the number of reviews in a group, their average stars if that is the metric, and what is asked for."""
    group = evaluation._find_group(restaurant, evidence.field, evidence.operator, evidence.value)
    average = ""
    if evidence.metric == "avg_stars" and (stars := evaluation._average_stars(group)) is not None:
        average = f", {stars:.2f} stars on average"
    asked_for = f"{evidence.metric} {evidence.comparison} {evidence.threshold:g}"
    return f"{_format_count(len(group))} in the group{average}, asked for {asked_for}"


# --- requests

MARKS = {ir.SATISFIED: "✓", ir.UNKNOWN: "?", ir.NOT_SATISFIED: "✗"}
WORDS = {ir.SATISFIED: "satisfied", ir.UNKNOWN: "unknown", ir.NOT_SATISFIED: "not satisfied"}
MAX_LISTED = 3
"""The maximum of rivals and suggestions in a list; longer lists are cut."""
MAX_PAIRED = 100
"""The maximum of conditions, the most selective ones, that are tried in pairs."""


def explain_status(request: ir.Request, result: RequestResult, cache: EvidenceCache) -> list[str]:
    """Return lines that say why a request is not `ok`; empty if it is.

    They have the gold restaurant's decisive conditions, the rivals that match, and the restaurants that may match.
    Lists of restaurants are cut after `MAX_LISTED`.
    """
    if result.status == "ok":
        return []
    lines = [*_explain_gold(request, cache)]
    rivals = [business_id for business_id in result.matches if business_id != request.gold_restaurant]
    if rivals:
        lines.append(f"matches too: {_format_labels(rivals, cache)}")
    return [*lines, *_describe_unknown(request, cache)]


def _explain_gold(request: ir.Request, cache: EvidenceCache) -> Iterator[str]:
    """Yield the reasons why the gold restaurant does not match; nothing if it matches, or the request has none."""
    gold = request.gold_restaurant
    if gold is None:
        return
    if gold in cache.dataset.unusable:
        yield f"the gold restaurant cannot be used: {cache.dataset.unusable[gold]}"
    elif gold not in cache.dataset.candidates:
        yield f"no restaurant has the id {gold}"
    else:
        traced = cache.trace(request.structure, gold)
        if traced.truth != ir.SATISFIED:
            yield f"the gold restaurant, {cache.dataset.label(gold)}, is {WORDS[traced.truth]}"
            yield from (f"  {_describe_leaf(leaf, gold, cache)}" for leaf in _find_decisive_leaves(traced))


def _describe_unknown(request: ir.Request, cache: EvidenceCache) -> Iterator[str]:
    """Yield a line with the rivals whose value is unknown; nothing if there are none.

    They may match once more of their data is known. The first `MAX_LISTED` of them follow, each with a decisive
    condition.
    """
    values = cache.compute_row(request.structure).items()
    unknown = [id for id, truth in values if truth == ir.UNKNOWN and id != request.gold_restaurant]
    if unknown:
        yield f"unknown: {_format_labels(unknown, cache)}"
    for business_id in unknown[:MAX_LISTED]:
        leaf = _find_decisive_leaves(cache.trace(request.structure, business_id))[0]
        yield f"  {cache.dataset.label(business_id)}: {_describe_leaf(leaf, business_id, cache)}"


def _find_decisive_leaves(traced: TracedNode) -> list[TracedNode]:
    """Return the leaves that decide the value of a tree: those that have its value, in parts that have its value.

    There is at least one; they are in the order of the tree.
    """
    if not traced.parts:
        return [traced]
    return [leaf for part in traced.parts if part.truth == traced.truth for leaf in _find_decisive_leaves(part)]


def _describe_leaf(leaf: TracedNode, business_id: str, cache: EvidenceCache) -> str:
    """Return a condition with its value as a mark, and the data that decides it.

    `leaf` must not be a junction, and `business_id` must be a candidate of the dataset.
    """
    assert isinstance(leaf.node, ir.Condition)
    data = describe_data(leaf.node.evidence, cache.dataset.candidates[business_id], cache.dataset.background)
    return f"{MARKS[leaf.truth]} {leaf.node.aspect}: {data}"


def _format_labels(ids: Sequence[str], cache: EvidenceCache) -> str:
    """Return the names and ids of restaurants in a list, which is cut after `MAX_LISTED`."""
    labels = ", ".join(map(cache.dataset.label, ids[:MAX_LISTED]))
    return f"{labels} and {len(ids) - MAX_LISTED} more" if len(ids) > MAX_LISTED else labels


def describe_values(request: ir.Request, cache: EvidenceCache) -> Iterator[str]:
    """Yield the tree with the value of every node, for the gold restaurant and its two nearest rivals.

    The nearest rivals have the highest value, then the most satisfied conditions. A gold restaurant that is not among
    the candidates is skipped. Without a gold restaurant, no restaurant is called a rival.
    """

    def nearness(business_id: str) -> tuple[int, int]:
        leaves = ir.conditions(request.structure)
        satisfied = sum(cache.truth(leaf.evidence, business_id) == ir.SATISFIED for leaf in leaves)
        return cache.trace(request.structure, business_id).truth, satisfied

    gold = request.gold_restaurant
    other_role = "rival" if gold is not None else "restaurant"
    rivals = [business_id for business_id in cache.dataset.candidates if business_id != gold]
    rivals.sort(key=nearness, reverse=True)
    usable_gold = [gold] if gold is not None and gold in cache.dataset.candidates else []
    for business_id in [*usable_gold, *rivals[:2]]:
        traced = cache.trace(request.structure, business_id)
        role = "gold" if business_id == gold else other_role
        yield f"{role}: {cache.dataset.label(business_id)}: {WORDS[traced.truth]}"
        yield from _format_tree(traced, business_id, cache, "  ")


def _format_tree(traced: TracedNode, business_id: str, cache: EvidenceCache, indent: str) -> Iterator[str]:
    """Yield a line for each node with its value and, for a condition, its data; arguments are indented more."""
    if isinstance(traced.node, ir.Condition):
        yield indent + _describe_leaf(traced, business_id, cache)
        return
    yield f"{indent}{MARKS[traced.truth]} {traced.node.op}: {WORDS[traced.truth]}"
    for part in traced.parts:
        yield from _format_tree(part, business_id, cache, indent + "  ")


def suggest_changes(request: ir.Request, result: RequestResult, cache: EvidenceCache) -> list[str]:
    """Return at most `MAX_LISTED` changes, each of which would make the request `ok`, the smallest first.

    If others match, too, a change adds conditions of the file; otherwise it leaves out a condition or, listed last,
    replaces one. Returns an empty list if the request is `ok`, or its gold restaurant is not among the candidates.
    """
    gold = request.gold_restaurant
    if result.status == "ok" or gold is None or gold not in cache.dataset.candidates:
        return []
    if result.status == "multi_match":
        return [f"add {_format_aspects(added)}" for added in _find_excluding(result.matches, gold, cache)]
    omissions: list[str] = []
    replacements: list[str] = []
    for leaf in _find_decisive_leaves(cache.trace(request.structure, gold)):
        condition = leaf.node
        assert isinstance(condition, ir.Condition)
        # Without judgements every sentiment is unknown, so that the condition is not at fault.
        if cache.dataset.background.judgements is None and isinstance(condition.evidence, ir.Sentiment):
            continue
        rest = _remove_leaf(request.structure, condition)
        matches = tuple(cache.dataset.candidates) if rest is None else find_matches(cache.compute_row(rest))
        if matches == (gold,):
            omissions.append(f"leave out `{condition.aspect}`")
        elif gold in matches:
            for added in _find_excluding(matches, gold, cache)[:1]:
                replacements.append(f"replace `{condition.aspect}` by {_format_aspects(added)}")
    return [*omissions, *replacements][:MAX_LISTED]


def _find_excluding(matches: Sequence[str], gold: str, cache: EvidenceCache) -> list[tuple[ir.Condition, ...]]:
    """Return conditions of the file that the gold restaurant satisfies, and no other restaurant of `matches` does.

    Each is a single condition or, if no single one suffices, a pair. At most `MAX_LISTED`, those first for which few rivals
    are unknown, then those that few restaurants satisfy.
    """
    rivals = [business_id for business_id in matches if business_id != gold]
    satisfied = [c for c in cache.conditions.values() if cache.truth(c.evidence, gold) == ir.SATISFIED]
    remaining = {c: {r for r in rivals if cache.truth(c.evidence, r) == ir.SATISFIED} for c in satisfied}
    useful = [c for c in satisfied if len(remaining[c]) < len(rivals)]
    useful.sort(key=lambda c: _rarity_key(c, rivals, cache))
    for size, candidates in ((1, useful), (2, useful[:MAX_PAIRED])):
        groups = combinations(candidates, size)
        excluding = list(islice((g for g in groups if not set.intersection(*(remaining[c] for c in g))), MAX_LISTED))
        if excluding:
            return excluding
    return []


def _rarity_key(condition: ir.Condition, rivals: Sequence[str], cache: EvidenceCache) -> tuple[int, int]:
    """Return a sort key: how many rivals have an unknown value, then how many restaurants satisfy the condition."""
    values = [cache.truth(condition.evidence, business_id) for business_id in cache.dataset.candidates]
    unknown = sum(cache.truth(condition.evidence, rival) == ir.UNKNOWN for rival in rivals)
    return unknown, values.count(ir.SATISFIED)


def _remove_leaf(node: ir.Node, removed: ir.Condition) -> ir.Node | None:
    """Return a copy of the tree without the leaf `removed` itself, not equal ones; None if nothing is left.

    Junctions that lose all arguments are removed, too.
    """
    if isinstance(node, ir.Condition):
        return None if node is removed else node
    args = tuple(rest for arg in node.args if (rest := _remove_leaf(arg, removed)) is not None)
    if not args:
        return None
    return ir.Junction(node.op, args, node.span)


def _format_aspects(conditions: Sequence[ir.Condition]) -> str:
    return " and ".join(f"`{condition.aspect}`" for condition in conditions)
