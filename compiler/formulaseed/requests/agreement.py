"""Compare the shorthand of a request with its structure, and the names of conditions with their evidence.

In: both. Out: a diagnostic for each part that differs. They agree if they have the same operators, nesting, numbers of
arguments, and friends and patterns of `HOP`. Arguments may be in any order, and conditions may have other names. A junction
of one argument is that argument.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from formulaseed.diagnostics.catalogue import requests as catalogue
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.requests import model
from formulaseed.requests.shorthand import AspectName, Hop, JoinedNames, Shorthand, build_shorthand, print_shorthand
from formulaseed.source.text import Span


def find_disagreements(structure: model.Node, shorthand: Shorthand) -> list[Diagnostic]:
    """Return a warning for each part of a shorthand that differs from its structure; empty if they agree."""
    return _ShorthandComparison().find_differences(build_shorthand(structure), _unwrap_single_arguments(shorthand), "")


def _unwrap_single_arguments(tree: Shorthand) -> Shorthand:
    """Return a copy of the tree in which each junction of one argument is replaced by that argument."""
    if not isinstance(tree, JoinedNames):
        return tree
    args = tuple(map(_unwrap_single_arguments, tree.args))
    if len(args) == 1:
        return args[0]
    return JoinedNames(tree.span, tree.op, args)


class _ShorthandComparison:
    """The comparison of a structure's tree with a shorthand's. It caches which parts agree, as any order is tried."""

    def __init__(self) -> None:
        self.results: dict[tuple[int, int], bool] = {}
        """Maps the `id()` of an expected part and of an actual one to whether they are equivalent."""

    def are_equivalent(self, expected: Shorthand, actual: Shorthand) -> bool:
        """Return True if both parts have the same meaning. Caches the result."""
        key = id(expected), id(actual)
        if key not in self.results:
            self.results[key] = self._compare(expected, actual)
        return self.results[key]

    def _compare(self, expected: Shorthand, actual: Shorthand) -> bool:
        """Return True if both parts have the same meaning.

        A name in `actual` is equivalent to any condition, even one with a social filter; a `HOP` is only to an equal
        one.
        """
        if isinstance(expected, JoinedNames) and isinstance(actual, JoinedNames):
            if expected.op != actual.op or len(expected.args) != len(actual.args):
                return False
            return len(self.pair_arguments(expected.args, actual.args)) == len(actual.args)
        if isinstance(actual, Hop):
            return _meaning_key(expected) == _meaning_key(actual)
        return isinstance(actual, AspectName) and not isinstance(expected, JoinedNames)

    def pair_arguments(self, expected: Sequence[Shorthand], actual: Sequence[Shorthand]) -> dict[int, int]:
        """Map the index of each actual argument to that of an expected one that agrees, for as many as possible.

        Equal arguments are paired first, then names with any conditions, and then junctions. Unpaired arguments are
        left out.
        """
        taken = _pair_equal(expected, actual)
        _pair_names(expected, actual, taken)
        paired = set(taken.values())
        junctions = [j for j, tree in enumerate(actual) if isinstance(tree, JoinedNames) and j not in paired]
        candidates: dict[int, list[int]] = {}

        def assign(j: int, tried: set[int]) -> bool:
            """Add a pair of junction `j` to `taken`, if necessary by changing earlier pairs. Returns False if that is impossible.

            `tried` has the expected arguments that were tried for this pair; it is changed.
            """
            if j not in candidates:
                candidates[j] = [i for i, tree in enumerate(expected) if self.are_equivalent(tree, actual[j])]
            for i in sorted(candidates[j], key=lambda i: i in taken):
                if i not in tried:
                    tried.add(i)
                    if i not in taken or assign(taken[i], tried):
                        taken[i] = j
                        return True
            return False

        for j in junctions:
            assign(j, set())
        return {j: i for i, j in taken.items()}

    def find_differences(self, expected: Shorthand, actual: Shorthand, place: str) -> list[Diagnostic]:
        """Return the differences of a part from the structure; empty if they agree.

        A part with another operator or number of arguments is one difference. Otherwise each unpaired argument is
        compared with the most similar unpaired one of the structure. `place` describes the position of the part, for
        the messages.
        """
        if self.are_equivalent(expected, actual):
            return []
        if not (isinstance(expected, JoinedNames) and isinstance(actual, JoinedNames) and expected.op == actual.op):
            return [catalogue.disagreement(actual.span, place, _describe_part(actual), _describe_part(expected))]
        if len(expected.args) != len(actual.args):
            counts = len(actual.args), len(expected.args)
            return [catalogue.arguments_disagree(actual.span, place, actual.op, *counts, print_shorthand(expected))]
        pairs = self.pair_arguments(expected.args, actual.args)
        unpaired = [tree for i, tree in enumerate(expected.args) if i not in pairs.values()]
        differences: list[Diagnostic] = []
        for j, argument in enumerate(actual.args):
            if j not in pairs:
                nearest = min(unpaired, key=lambda tree: _dissimilarity(tree, argument))
                unpaired = [tree for tree in unpaired if tree is not nearest]
                differences += self.find_differences(
                    nearest, argument, catalogue.describe_argument(j, actual.op, place)
                )
        return differences


def _pair_equal(expected: Sequence[Shorthand], actual: Sequence[Shorthand]) -> dict[int, int]:
    """Map the indices of expected arguments to those of equal actual ones. Each is paired once, in order."""
    indices: dict[object, list[int]] = {}
    for i in reversed(range(len(expected))):
        indices.setdefault(_meaning_key(expected[i]), []).append(i)
    return {indices[_meaning_key(tree)].pop(): j for j, tree in enumerate(actual) if indices.get(_meaning_key(tree))}


def _pair_names(expected: Sequence[Shorthand], actual: Sequence[Shorthand], taken: dict[int, int]) -> None:
    """Pair the remaining names with any remaining conditions, and add these pairs to `taken`.

    Conditions with a social filter come last, so that a wrong `HOP` is compared with one of them.
    """
    paired = set(taken.values())
    names = [j for j, tree in enumerate(actual) if isinstance(tree, AspectName) and j not in paired]
    leaves = [i for i, tree in enumerate(expected) if not isinstance(tree, JoinedNames) and i not in taken]
    leaves.sort(key=lambda i: isinstance(expected[i], Hop))
    taken.update(zip(leaves, names, strict=False))


def _meaning_key(tree: Shorthand) -> object:
    """Return a value that is equal for parts with the same meaning: friends may be in any order."""
    if isinstance(tree, Hop):
        return tree.hops, frozenset(tree.friends), tree.pattern
    return tree


def _dissimilarity(expected: Shorthand, actual: Shorthand) -> tuple[bool, bool]:
    """Return a sort key that is lower for more similar parts: both junctions or neither, then the same kind.

    Of two junctions those with the same operator are more similar, of two conditions those that are both `HOP`s or
    both not.
    """
    if isinstance(expected, JoinedNames) and isinstance(actual, JoinedNames):
        return False, expected.op != actual.op
    has_junction = isinstance(expected, JoinedNames) or isinstance(actual, JoinedNames)
    return has_junction, isinstance(expected, Hop) != isinstance(actual, Hop)


def _describe_part(tree: Shorthand) -> tuple[str, bool]:
    """Return the text of a part, and True if it is a name."""
    return print_shorthand(tree), isinstance(tree, AspectName)


# --- names


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
