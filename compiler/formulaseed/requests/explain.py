"""Why a request has its status: the conditions that decide, the rivals, the data that is missing, and what may help.

In: a request with its result, and the `EvidenceCache` of its file. Out: lines for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

from formulaseed.requests import model as ir
from formulaseed.requests.text import finding
from formulaseed.requests.validate import EvidenceCache, RequestResult, Traced, matches_of

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
    shown = [request.gold_restaurant] if request.gold_restaurant in cache.dataset.candidates else []
    for business_id in [*shown, *rivals[:2]]:
        traced = cache.trace(request.structure, business_id)
        role = "gold" if business_id == request.gold_restaurant else "rival"
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
    if result.status == "ok" or gold not in cache.dataset.candidates:
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
