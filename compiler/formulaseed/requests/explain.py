"""Evidence in words, and why a request has its status: the conditions that decide, the rivals, and what may help.

In: evidence, for comments in generated modules; or a request with its result and the `EvidenceCache` of its file. Out:
text for people. Decides nothing: what is found comes from `evaluation`, as the value does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import Any

from formulaseed.diagnostics.model import number_of
from formulaseed.ir.attributes import _attribute_at_path, _read_attribute
from formulaseed.requests import evaluation
from formulaseed.requests import model as ir
from formulaseed.requests.evaluation import Background, Path, Restaurant
from formulaseed.requests.validate import EvidenceCache, RequestResult, Traced, matches_of

_WIDTH = 60
_ASKED = {
    "not_contains": "asked not to contain {}",
    "contains": "asked to contain {}",
    "not_true": "asked not to be {}",
    "true": "asked to be {}",
    "false": "asked not to be {}",
    "neutral": "left open for {}",
}
_SIGNS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<", "eq": "==", "ne": "!="}


def evidence_text(evidence: ir.Evidence) -> str:
    """What must hold, such as `attributes.DriveThru: true 'True'`."""
    match evidence:
        case ir.ItemMeta(path, rules):
            said = ", ".join(f"{rule.name.replace('_', ' ')} {rule.value!r}" for rule in rules) or "true"
            return f"{_path(path)}: {said}"
        case ir.ItemHours(path, start, end):
            return f"{_path(path)} contains {_clock(start)} to {_clock(end)}"
        case ir.ReviewText(pattern, weight, social_filter, least):
            text = f"{_reviews(least, social_filter)} match{'es' if least == 1 else ''} {pattern}"
            if weight is None:
                return text
            return f"{text}, {weight.min_credible_matches} at or over percentile {weight.percentile:g} of {_path(weight.field)}"
        case ir.ReviewMeta(path, op, value, agg, count, min_stars):
            test = "is filled" if op == "not_empty" else f"{_SIGNS[op]} {value!r}"
            stars = f" of {stars_text(min_stars)}" if min_stars is not None else ""
            who = {"any": "a review", "all": "every review", "count": _reviews(count, None)}[agg]
            return f"{who}{stars}: {_path(path)} {test}"
        case ir.GroupRating(path, operator, value, metric, comparison, threshold):
            metric_text = "the average stars" if metric == "avg_stars" else "the number"
            group = f"{_path(path)} {_SIGNS[operator]} {value!r}"
            return f"{metric_text} of reviews with {group} {_SIGNS[comparison]} {threshold:g}"
        case ir.NotOnlyEasyRaters(generous, harsh):
            return f"not rated {generous:g} or more by easy raters and under {harsh:g} by harsh ones"
        case ir.Sentiment(topic, sentiment, least, social_filter):
            return f"{_reviews(least, social_filter)} judged {sentiment} on {topic}"
        case ir.SocialRating(min_stars, least, social_filter):
            return f"{_reviews(least, social_filter)} give{'s' if least == 1 else ''} {stars_text(min_stars)}"


def stars_text(least: float) -> str:
    """So many stars, or more."""
    return f"{least:g} star{'' if least == 1 else 's'} or more"


def _path(path: Path) -> str:
    return ".".join(path)


def _clock(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02}"


def _reviews(least: int, social_filter: ir.SocialFilter | None) -> str:
    return ("a review" if least == 1 else f"{least} reviews") + _by(social_filter)


def _by(social_filter: ir.SocialFilter | None) -> str:
    if social_filter is None:
        return ""
    hops = f" and those {number_of(social_filter.hops, 'hop')} away" if social_filter.hops else ""
    return f" by {', '.join(social_filter.friends)}{hops}"


def finding(evidence: ir.Evidence, place: Restaurant, known: Background) -> str:
    """What a restaurant's data says, and what is asked, such as `attributes.HasTV is True, asked to be False`."""
    match evidence:
        case ir.ItemMeta(path, rules):
            asked = [_ASKED[rule.name].format(_expected(rule)) for rule in rules if rule.name in _ASKED]
            return ", ".join([_value(path, place), *asked[:1]])
        case ir.ItemHours(path, start, end):
            return f"{_value(path, place)}, asked for {_clock(start)}-{_clock(end)}"
        case ir.ReviewText():
            return _mentions(evidence, place, known)
        case ir.ReviewMeta(path, op, value, agg, count, min_stars):
            met, counted = evaluation._meeting(place, path, op, value, min_stars)
            return f"{_count(counted)}, {met} meeting it, asked for {count if agg == 'count' else agg}"
        case ir.GroupRating(path, operator, value, metric, comparison, threshold):
            group = evaluation._group(place, path, operator, value)
            mean = evaluation._average_stars(group) if metric == "avg_stars" else None
            average = f", {mean:.2f} stars on average" if mean is not None else ""
            return f"{_count(len(group))} in the group{average}, asked for {metric} {comparison} {threshold:g}"
        case ir.NotOnlyEasyRaters():
            generous, harsh = (f"{mean:.2f}" if mean is not None else "nothing" for mean in evaluation._raters(place))
            return f"easy raters give {generous}, harsh ones {harsh}"
        case ir.Sentiment(topic, _, _, social_filter):
            if known.judgements is None:
                return "no judgements are given"
            counted_reviews = evaluation._by(place.reviews, social_filter, known)
            positive, negative = evaluation._judgements(counted_reviews, known, topic)
            return f"{_count(len(counted_reviews), social_filter)}, {positive} positive and {negative} negative on `{topic}`"
        case ir.SocialRating(min_stars, _, social_filter):
            counted_reviews = evaluation._by(place.reviews, social_filter, known)
            liked = len(evaluation._liked(counted_reviews, min_stars))
            return f"{_count(len(counted_reviews), social_filter)}, {liked} with {stars_text(min_stars)}"


def _expected(rule: ir.Expectation) -> Any:
    """What a rule names, without the quotes that Yelp puts around it."""
    compared = rule.name in ("true", "false", "not_true") and isinstance(rule.value, str)
    return _read_attribute(str(rule.value)) if compared else rule.value


def _value(path: Path, place: Restaurant) -> str:
    name, value = ".".join(path), _attribute_at_path(place.business, path)
    if value is None:
        return f"{name} is missing"
    if isinstance(value, dict):
        true = [str(key) for key, flag in value.items() if flag is True]
        return f"{name} has {', '.join(true) if true else 'nothing that is true'}"
    text = str(value)
    return f"{name} is {text if len(text) <= _WIDTH else text[:_WIDTH] + '…'}"


def _count(reviews: int, social_filter: ir.SocialFilter | None = None) -> str:
    return (number_of(reviews, "review") if reviews else "no reviews") + _by(social_filter)


def _mentions(evidence: ir.ReviewText, place: Restaurant, known: Background) -> str:
    counted = evaluation._by(place.reviews, evidence.social_filter, known)
    matching = evaluation._matching(counted, known, evidence.pattern, evidence.source)
    how = "match" if known.judgements is None else "judged positive on"
    line = f"{_count(len(counted), evidence.social_filter)}, {len(matching)} {how} `{evidence.pattern}`"
    if evidence.weight is not None:
        field, _, least = evidence.weight
        bound = evaluation._credible_from(counted, evidence.weight)
        found = len(evaluation._credible(matching, evidence.weight, bound))
        line += f", {found} of them credible ({field[-1]} of {bound or 0:g} or more), asked for {least}"
    return line


# --- requests

MARKS = {ir.SATISFIED: "✓", ir.UNKNOWN: "?", ir.NOT_SATISFIED: "✗"}
WORDS = {ir.SATISFIED: "satisfied", ir.UNKNOWN: "unknown", ir.NOT_SATISFIED: "not satisfied"}
_SHOWN = 3
"""How many rivals, conditions and proposals are shown."""

_TRIED = 100
"""How many conditions, the most selective ones, are tried in pairs."""


def reasons(request: ir.Request, result: RequestResult, cache: EvidenceCache) -> list[str]:
    """Why a request is not `ok`; nothing where it is."""
    if result.status == "ok":
        return []
    others = [business_id for business_id in result.matches if business_id != request.gold_restaurant]
    also = [f"matches too: {_listed(others, cache)}"] if others else []
    return [*_gold_reasons(request, cache), *also, *_open_rivals(request, cache)]


def _gold_reasons(request: ir.Request, cache: EvidenceCache) -> Iterator[str]:
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
            yield from (f"  {_line(part, gold, cache)}" for part in deciding(traced))


def _open_rivals(request: ir.Request, cache: EvidenceCache) -> Iterator[str]:
    """Restaurants that might match if more were known of them."""
    values = cache.row(request.structure).items()
    unknown = [id for id, truth in values if truth == ir.UNKNOWN and id != request.gold_restaurant]
    if unknown:
        yield f"unknown: {_listed(unknown, cache)}"
    for business_id in unknown[:_SHOWN]:
        part = deciding(cache.trace(request.structure, business_id))[0]
        yield f"  {cache.dataset.label(business_id)}: {_line(part, business_id, cache)}"


def deciding(traced: Traced) -> list[Traced]:
    """The leaves that give a tree its value: changing one or several of them would change it."""
    if not traced.parts:
        return [traced]
    return [leaf for part in traced.parts if part.truth == traced.truth for leaf in deciding(part)]


def _line(leaf: Traced, business_id: str, cache: EvidenceCache) -> str:
    assert isinstance(leaf.node, ir.Condition)
    found = finding(leaf.node.evidence, cache.dataset.candidates[business_id], cache.dataset.background)
    return f"{MARKS[leaf.truth]} {leaf.node.aspect}: {found}"


def _listed(ids: Sequence[str], cache: EvidenceCache) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(map(cache.dataset.label, ids[:_SHOWN])) + more


def explanation(request: ir.Request, cache: EvidenceCache) -> Iterator[str]:
    """The tree with the value at every node, for the gold restaurant and its nearest rivals."""

    def nearness(business_id: str) -> tuple[int, int]:
        satisfied = sum(cache.of(c.evidence, business_id) == ir.SATISFIED for c in ir.conditions(request.structure))
        return cache.trace(request.structure, business_id).truth, satisfied

    rivals = [business_id for business_id in cache.dataset.candidates if business_id != request.gold_restaurant]
    rivals.sort(key=nearness, reverse=True)
    gold = request.gold_restaurant
    shown = [gold] if gold is not None and gold in cache.dataset.candidates else []
    for business_id in [*shown, *rivals[:2]]:
        traced = cache.trace(request.structure, business_id)
        role = "gold" if business_id == gold else "rival"
        yield f"{role}: {cache.dataset.label(business_id)}: {WORDS[traced.truth]}"
        yield from _tree(traced, business_id, cache, "  ")


def _tree(traced: Traced, business_id: str, cache: EvidenceCache, indent: str) -> Iterator[str]:
    if isinstance(traced.node, ir.Condition):
        yield indent + _line(traced, business_id, cache)
        return
    yield f"{indent}{MARKS[traced.truth]} {traced.node.op}: {WORDS[traced.truth]}"
    for part in traced.parts:
        yield from _tree(part, business_id, cache, indent + "  ")


def suggestions(request: ir.Request, result: RequestResult, cache: EvidenceCache) -> list[str]:
    """Changes with conditions of the file that would make the request `ok`; the smallest first, nothing where it is."""
    gold = request.gold_restaurant
    if result.status == "ok" or gold is None or gold not in cache.dataset.candidates:
        return []
    if result.status == "multi_match":
        return [f"add {_named(added)}" for added in _that_exclude(result.matches, gold, cache)]
    found = []
    judged = cache.dataset.background.judgements is not None
    for leaf in deciding(cache.trace(request.structure, gold)):
        condition = leaf.node
        assert isinstance(condition, ir.Condition)
        if not judged and isinstance(condition.evidence, ir.Sentiment):  # it is not the condition that is at fault
            continue
        rest = _without(request.structure, condition)
        matches = matches_of(cache.row(rest)) if rest is not None else tuple(cache.dataset.candidates)
        if matches == (gold,):
            found.append(f"leave out `{condition.aspect}`")
        elif gold in matches:
            added = next(iter(_that_exclude(matches, gold, cache)), None)
            if added is not None:
                found.append(f"replace `{condition.aspect}` by {_named(added)}")
    return sorted(found, key=lambda change: change.startswith("replace"))[:_SHOWN]


def _that_exclude(matches: Sequence[str], gold: str, cache: EvidenceCache) -> list[tuple[ir.Condition, ...]]:
    """Conditions of the file, one or else two, that hold for the gold restaurant and together for no other match.

    Those come first whose rivals are not satisfied rather than unknown, then those that few restaurants satisfy.
    """
    rivals = [business_id for business_id in matches if business_id != gold]
    held = [c for c in cache.conditions.values() if cache.of(c.evidence, gold) == ir.SATISFIED]
    spared = {c: {r for r in rivals if cache.of(c.evidence, r) == ir.SATISFIED} for c in held}
    useful = sorted((c for c in held if len(spared[c]) < len(rivals)), key=lambda c: _commonness(c, rivals, cache))
    for size, tried in ((1, useful), (2, useful[:_TRIED])):
        fitting = (group for group in combinations(tried, size) if not set.intersection(*(spared[c] for c in group)))
        found = list(islice(fitting, _SHOWN))
        if found:
            return found
    return []


def _commonness(condition: ir.Condition, rivals: Sequence[str], cache: EvidenceCache) -> tuple[int, int]:
    values = [cache.of(condition.evidence, business_id) for business_id in cache.dataset.candidates]
    unsure = sum(cache.of(condition.evidence, rival) == ir.UNKNOWN for rival in rivals)
    return unsure, values.count(ir.SATISFIED)


def _without(node: ir.Node, gone: ir.Condition) -> ir.Node | None:
    if isinstance(node, ir.Condition):
        return None if node is gone else node
    args = tuple(rest for arg in node.args if (rest := _without(arg, gone)) is not None)
    return ir.Junction(node.op, args, node.span) if args else None


def _named(added: Sequence[ir.Condition]) -> str:
    return " and ".join(f"`{condition.aspect}`" for condition in added)
