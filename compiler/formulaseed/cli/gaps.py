"""List what the conditions of requests need and the input of `validate` lacks, as notes for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.ir.attributes import _attribute_at_path
from formulaseed.requests.model import ItemMeta, Sentiment
from formulaseed.requests.records import _value_at
from formulaseed.requests.validate import EvidenceCache
from formulaseed.source.printing import number_of


def list_gaps(cache: EvidenceCache) -> Iterator[str]:
    """Yield notes about input that conditions need and that is missing, and about structures without a gold restaurant."""
    social = [c for c in cache.conditions.values() if getattr(c.evidence, "social_filter", None) is not None]
    if social and not cache.dataset.has_graph:
        yield f"{number_of(len(social), 'condition')} with a social filter and no --social: only those named count"
    bare = [request for request in cache.requests if request.gold_restaurant is None]
    if bare:
        yield f"{number_of(len(bare), 'structure')} without a gold restaurant: `ok` says that exactly one restaurant matches"
    judged = [c for c in cache.conditions.values() if isinstance(c.evidence, Sentiment)]
    if judged and cache.dataset.background.judgements is None:
        yield f"{number_of(len(judged), 'condition')} on judgements and no --judgements: they are unknown"
    yield from _note_missing_attributes(cache)
    yield from _note_unknown_people(cache)


def _note_unknown_people(cache: EvidenceCache) -> Iterator[str]:
    """Yield a note for each name in a social filter that is neither in the social graph nor that of a review's user."""
    filters = [circle for e in cache.conditions if (circle := getattr(e, "social_filter", None)) is not None]
    place = "the social graph or the reviews" if cache.dataset.has_graph else "the reviews"
    reviews = [review for candidate in cache.dataset.candidates.values() for review in candidate.reviews]
    users = (_value_at(review, ("user", "name")) for review in reviews)
    known = {name: None for name in chain(cache.dataset.background.friends or (), users) if isinstance(name, str)}
    for name in dict.fromkeys(name for circle in filters for name in circle.friends):
        if known and name not in known:
            help = did_you_mean(name, known, noun="there are", limit=3)
            yield f"nobody is called `{name}` in {place}; {help}"


def _note_missing_attributes(cache: EvidenceCache) -> Iterator[str]:
    """Yield a note for each attribute that conditions test and no restaurant has, with similar attributes."""
    businesses = [candidate.business for candidate in cache.dataset.candidates.values()]
    for path in dict.fromkeys(e.path for e in cache.conditions if isinstance(e, ItemMeta)):
        if businesses and all(_attribute_at_path(business, path) is None for business in businesses):
            siblings = _find_sibling_keys(path, businesses)
            yield f"no restaurant has `{'.'.join(path)}`; {did_you_mean(path[-1], siblings, noun='there are')}"


def _find_sibling_keys(path: Sequence[str], businesses: Iterable[Any]) -> list[str]:
    """Return the keys that restaurants have in the object that would contain the attribute at `path`."""
    parents = businesses
    if len(path) > 1:
        parents = (_attribute_at_path(business, tuple(path[:-1])) for business in businesses)
    return list({key: None for parent in parents if isinstance(parent, dict) for key in parent})
