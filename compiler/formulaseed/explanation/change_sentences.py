"""Say in sentences what would lead to another verdict: reviews that do not count, reviews that are added, other parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from formulaseed.explanation.conditions import join_words
from formulaseed.explanation.model import AttributionPart, Change, ExplanationData
from formulaseed.language.types import Value
from formulaseed.pages.values import format_plain
from formulaseed.source.printing import number_of
from formulaseed.source.text import one_line

DECIMALS = 2
"""The decimals of a score in sentences and tables."""


def format_score(value: float) -> str:
    """Return a score with its fixed number of decimals."""
    return f"{value:.{DECIMALS}f}"


class ChangeSentence(NamedTuple):
    """A sentence about ways to another verdict: each of the `changes` leads there, to the number of the same place in `scores`.

    A score is empty if the rules do not compare it there, or the change does not move it.
    """

    verdict: Value
    changes: Sequence[Change]
    scores: Sequence[str]
    ways: Sequence[str]

    @property
    def text(self) -> str:
        """The whole sentence."""
        return f"{one_line(format_plain(self.verdict))} {join_ways(self.ways)}."


def join_ways(ways: Sequence[str]) -> str:
    """Return ways to a verdict as one phrase."""
    return ", or ".join(ways)


def describe_changes(
    explanation: ExplanationData, parts: Sequence[AttributionPart] | None = None
) -> Iterator[ChangeSentence]:
    """Yield a sentence for each other verdict with all changes that lead to it, those of the fewest reviews first.

    Reviews that are one of the `parts`, by default of all parts of the attribution, have the code of the part as their name.
    """
    if parts is None:
        parts = explanation.attribution.parts if explanation.attribution is not None else ()
    names = {frozenset(part.reviews): part.code for part in parts if part.reviews}
    for verdict in dict.fromkeys(change.verdict for change in explanation.changes):
        changes = [change for change in explanation.changes if change.verdict == verdict]
        step = _find_compared_number(explanation, verdict)
        scores = [_read_score(change, step) for change in changes]
        ways: list[str] = []
        single: list[tuple[str, str]] = []
        for change, score in zip(changes, scores, strict=True):
            if change.kind == "fewer reviews" and change.number == 1:
                single.append((_name_review(change.review_ids[0], names), score))
            else:
                is_like = change.counts and change.is_observed and change.like is not None
                sample = f"if like {_name_review(change.like or '', names)}" if is_like else ""
                details = ", ".join(filter(None, (score, sample)))
                ways.append(f"{_describe_way(change, names)}{f' ({details})' if details else ''}")
        if single:
            ways.insert(0, _describe_single(single))
        yield ChangeSentence(verdict, changes, scores, ways)


def _name_review(review_id: str, names: Mapping[frozenset[str], str]) -> str:
    """Return a review by the code of its part, or by its id, with the code of a part that has other reviews, too."""
    for ids, code in names.items():
        if review_id in ids:
            return code if len(ids) == 1 else f"{review_id} of {code}"
    return review_id


def _name_reviews(review_ids: Sequence[str], names: Mapping[frozenset[str], str]) -> list[str]:
    """Return reviews by name: the codes of parts that consist of some of them, and the ids of the others."""
    codes = {ids: code for ids, code in names.items() if ids <= {*review_ids}}
    rest = {*review_ids}.difference(*codes)
    return [*codes.values(), *(review_id for review_id in review_ids if review_id in rest)]


def _find_compared_number(explanation: ExplanationData, verdict: Value) -> str | None:
    """Return the step of the score if a rule for `verdict` compares it, or holds otherwise; None if none does."""
    if explanation.attribution is None:
        return None
    step = explanation.attribution.step
    rules = [rule for rule in explanation.rules if rule.result == verdict]
    is_compared = any(rule.condition is None or step in [side.left for side in rule.comparisons] for rule in rules)
    return step if is_compared else None


def _read_score(change: Change, step: str | None) -> str:
    """Return the score after a change; empty if the change does not move it, or `step` is None."""
    effect = change.effects.get(step) if step is not None else None
    return "" if effect is None or isinstance(effect.after, str | None) else format_score(float(effect.after))


def _describe_single(reviews: Sequence[tuple[str, str]]) -> str:
    """Return in words that one of some reviews did not count, with the score without each; `reviews` are names and scores."""
    if len(reviews) == 1:
        name, score = reviews[0]
        return f"if {name} did not count{f' ({score})' if score else ''}"
    listed = "; ".join(" ".join(filter(None, review)) for review in reviews)
    either = "either of two reviews" if len(reviews) == 2 else f"any one of {len(reviews)} reviews"
    return f"if {either} did not count ({listed})"


def _describe_way(change: Change, names: Mapping[frozenset[str], str]) -> str:
    """Return a change in words: several reviews to leave out, reviews to add, or the value of a parameter."""
    if change.kind == "parameter":
        return change.text
    if change.kind == "fewer reviews":
        return f"if {join_words(_name_reviews(change.review_ids, names), 'and')} did not count"
    if not change.counts:
        return change.text
    counts = join_words([f"“{one_line(label)}”" for label in change.counts], "and")
    rest = "" if change.is_observed else ", which no review of this run is"
    return f"with {number_of(int(change.number), 'new review')} counted as {counts}{rest}"
