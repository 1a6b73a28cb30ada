"""Compares the names of conditions with their evidence, and those of a shorthand with the conditions.

In: a condition, or a structure and its shorthand. Out: a note where a name says something else. Source: REQUESTS, section on
naming conventions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from formulaseed.diagnostics.catalogue import requests as catalogue
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.requests import model
from formulaseed.requests.shorthand import AspectName, JoinedNames, Shorthand
from formulaseed.source.text import Span

_KINDS = {
    "review_meta": (re.compile("review_meta_"), (model.ReviewMeta,)),
    "item_meta_hours": (re.compile("hours_"), (model.ItemHours,)),
    "review_text": (re.compile(".*_reviews$"), (model.ReviewText, model.Sentiment)),
}
"""The kinds of evidence that names announce, each with its form of names, and with the evidence that they may have."""
_ABSENT = ("false", "no", "none")
_FILLERS = {"no", "not", "has", "reviews", "review", "meta", "hours", "social"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def check_aspect(span: Span, condition: model.Condition) -> Diagnostic | None:
    """Return a note if the name of a condition contradicts its evidence by the naming conventions; None otherwise."""
    evidence = condition.evidence
    for kind, (form, classes) in _KINDS.items():
        if form.match(condition.aspect) and not isinstance(evidence, classes):
            return catalogue.misleading_name(
                span, condition.aspect, f"evidence of the kind `{kind}`", "of another kind"
            )
    if condition.aspect.startswith("social_") and getattr(evidence, "social_filter", None) is None:
        return catalogue.misleading_name(span, condition.aspect, "a social circle", "without `social_filter`")
    if isinstance(evidence, model.ItemMeta):
        announces_absence = condition.aspect.startswith("no_")
        for rule in evidence.rules:
            asks_for_absence = _asks_for_absence(rule)
            if asks_for_absence is None or (not announces_absence and not condition.aspect.startswith("has_")):
                continue
            if asks_for_absence != announces_absence:
                promise = "that something is absent" if announces_absence else "that something is there"
                written = f"`{json.dumps(rule.name)}: {json.dumps(rule.value, ensure_ascii=False)}`"
                return catalogue.misleading_name(span, condition.aspect, promise, written)
    return None


def _asks_for_absence(rule: model.Expectation) -> bool | None:
    """Return True if a rule is met by a value that says no, False if by any other; None for rules that say neither."""
    says_no = str(rule.value).strip("u'\" ").casefold() in _ABSENT
    if rule.name in ("true", "contains"):
        return says_no
    if rule.name in ("false", "not_true", "not_contains"):
        return not says_no
    return None


def find_foreign_names(structure: model.Node, shorthand: Shorthand) -> Iterator[Diagnostic]:
    """Yield a note for each name of a shorthand that shares no word with the name of any condition."""
    aspects = [condition.aspect for condition in model.conditions(structure)]
    words = [word for aspect in aspects for word in _split_words(aspect)]
    for name in _list_names(shorthand):
        own_words = _split_words(name.text)
        if own_words and not any(_are_alike(own, other) for own in own_words for other in words):
            yield catalogue.foreign_name(name.span, name.text, aspects)


def _list_names(tree: Shorthand) -> Iterator[AspectName]:
    """Yield the names of conditions in a shorthand, in its order."""
    if isinstance(tree, AspectName):
        yield tree
    elif isinstance(tree, JoinedNames):
        for part in tree.args:
            yield from _list_names(part)


def _split_words(name: str) -> list[str]:
    """Return the words of a name such as `no_tv` or `HasTV` in lower case, without those that many names have."""
    return [word.casefold() for word in _WORD.findall(name) if word.casefold() not in _FILLERS]


def _are_alike(word: str, other: str) -> bool:
    """Return True for equal words, and if a word of three letters or more begins the other."""
    shorter, longer = sorted((word, other), key=len)
    return word == other or (len(shorter) >= 3 and longer.startswith(shorter))
