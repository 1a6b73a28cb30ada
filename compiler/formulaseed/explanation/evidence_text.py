"""Describe the reviews behind a step in words: how many count, with quotes, and why the others do not count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from formulaseed.explanation.model import Evidence, Missing, Review, Value
from formulaseed.language.aggregates import AGGREGATES
from formulaseed.pages.blocks import Card, InlineCode, ListItem
from formulaseed.pages.values import format_plain, format_value
from formulaseed.source.printing import number_of

MAX_LISTED_REVIEWS = 5  # of a step in a text; also the maximum of named reviews that do not count
_MAX_GROUPS = 3
_QUOTE_SOURCES = {"extractor": "quote: ", "words": "sentence: ", "beginning": "opening: ", "whole": "full text: "}
"""The text before a quote, by who chose it."""
QUOTES_NOTE = (
    "Where the extractor gave no quote, a sentence is shown that was chosen by its words; where none speaks for the values, "
    "the full text of the review, or its opening."
)


class EvidenceWriter:
    """A writer of the evidence of one restaurant's steps, one step after the other, which remembers what it wrote.

    For a review that it wrote before with the same quote it writes only the id and new fields, and it defines a filter once.
    At most `max_per_step` reviews of a step become cards, and `max_cards` of all steps; None is no maximum.
    """

    def __init__(self, max_per_step: int | None, max_cards: int | None = None) -> None:
        self._max_per_step = max_per_step
        self._max_cards = max_cards
        self._card_count = 0
        self._seen_fields: dict[str, set[str]] = {}
        self._defined: set[str] = set()

    def write(self, evidence: Evidence) -> Iterator[ListItem | Card]:
        """Yield a step over reviews: its value, filters not yet defined, the reviews that count, and why others do not.

        What was written is remembered in `self`, only as far as the result is iterated over.
        """
        yield ListItem((InlineCode(evidence.step), f" = {format_value(evidence.value)}{describe_count(evidence)}"))
        for text in describe_filters(evidence):
            if text not in self._defined:
                self._defined.add(text)
                yield ListItem(text, 1)
        yield from self._write_reviews(evidence)
        yield from (ListItem(text, 1) for text in (*_describe_others(evidence), *describe_exclusions(evidence)))

    def _write_reviews(self, evidence: Evidence) -> Iterator[ListItem | Card]:
        """Yield a card for each review that is not yet written, then the others, grouped by their new values.

        Marks all reviews as written, including those that the maximums cut off, which become `and 3 more`.
        """
        new: list[Review] = []
        repeated: dict[str, list[Review]] = {}
        for review in evidence.reviews:
            seen = self._seen_fields.get(_review_key(review))
            if seen is None:
                new.append(review)
            else:
                added = {name: value for name, value in review.fields.items() if name not in seen}
                repeated.setdefault(_format_fields(added), []).append(review)
        for review in evidence.reviews:
            self._seen_fields.setdefault(_review_key(review), set()).update(review.fields)
        cards = new[: self._max_per_step]
        if self._max_cards is not None:
            cards = cards[: self._max_cards - self._card_count]
        self._card_count += len(cards)
        yield from (build_card(review, 1, _format_amount(evidence, review)) for review in cards)
        more = len(new) - len(cards) + evidence.unlisted
        if more:
            yield ListItem(f"and {more:,} more", 1)
        yield from self._write_repeated(evidence, [*repeated.items()])

    def _write_repeated(self, evidence: Evidence, groups: Sequence[tuple[str, list[Review]]]) -> Iterator[ListItem]:
        """Yield an item for each group of reviews written before, up to `max_per_step`, and one for the rest.

        `groups` has the new values of each group in words, empty if there are none.
        """
        for values, reviews in groups[: self._max_per_step]:
            text = f"{self._format_ids(evidence, reviews)} (see above)"
            yield ListItem(f"{text}: {values}" if values else text, 1)
        if self._max_per_step is not None and len(groups) > self._max_per_step:
            rest = sum(len(reviews) for _, reviews in groups[self._max_per_step :])
            yield ListItem(f"and {rest} more (see above)", 1)

    def _format_ids(self, evidence: Evidence, reviews: Sequence[Review]) -> str:
        """Return the ids of reviews, for a total with their amounts, in a list that is cut after `max_per_step`."""
        amounts = [(review.review_id, _format_amount(evidence, review)) for review in reviews[: self._max_per_step]]
        ids = ", ".join(f"{name}, {amount}" if amount else name for name, amount in amounts)
        return f"{ids} and more" if len(reviews) > len(amounts) else ids


def _review_key(review: Review) -> str:
    """Return a key that is equal for a review with the same quote."""
    return f"{review.review_id} {review.quote}"


def describe_missing(missing: Missing, reviews: int) -> str:
    """Return a sentence about a missing field; for a field of reviews it has how many of all `reviews` lack it."""
    if missing.reviews is None:
        return f"{missing.name} is missing."
    return f"{missing.name} is missing in {missing.reviews:,} of {number_of(reviews, 'review')}."


def describe_count(evidence: Evidence) -> str:
    """Return how many reviews count, for which aggregate and by which condition: `: 2 of 9 reviews, where stars is 1`."""
    number = evidence.number
    total = number_of(evidence.total, "review")
    if evidence.condition is None:
        counted = total if number else "there are no reviews"
    elif number == evidence.total > 1:
        counted = f"all {total}"
    elif number:
        counted = f"{number:,} of {total}"
    else:
        counted = f"none of {total}"
    if evidence.of is not None and number:
        entry = AGGREGATES[evidence.function]
        counted = f"{entry.phrase.format(evidence.of)} {entry.preposition} {counted}"
    if evidence.condition is not None:
        counted += f", where {evidence.condition}"
    return f", the default: {counted}" if evidence.is_default else f": {counted}"


def describe_filters(evidence: Evidence) -> Iterator[str]:
    """Yield the definition of each filter that a step names, such as `“incident” means: severity is not none`."""
    for name, condition in evidence.filters.items():
        yield f"{name} means: {condition}"


def _describe_others(evidence: Evidence) -> Iterator[str]:
    """Yield how many further reviews count for a maximum or minimum without having it; nothing for other aggregates."""
    number = evidence.number - len(evidence.reviews) - evidence.unlisted
    entry = AGGREGATES[evidence.function]
    if entry.selects and number > 0:
        yield f"{number_of(number, 'other')} {'has' if number == 1 else 'have'} {entry.others_have}"


def describe_exclusions(evidence: Evidence) -> Iterator[str]:
    """Yield why reviews do not count: some by name, the rest in groups by all conditions that they do not meet.

    The numbers add up to those of all excluded reviews. At most `_MAX_GROUPS` groups have their conditions. Yields
    nothing if all reviews count, or if the step has only one condition.
    """
    named = list_near_reviews(evidence)
    if named:
        yield f"not counted: {'; '.join(named)}"
    groups: list[tuple[int, str]] = []
    for exclusion in evidence.excluded:
        number = exclusion.number - len({*exclusion.near} & {*named})
        if number and exclusion.conditions:
            groups.append((number, " and ".join(exclusion.conditions)))
    if not groups:
        return
    groups.sort(key=lambda group: -group[0])
    reasons = [f"{reason} ({number:,})" if len(groups) > 1 else reason for number, reason in groups[:_MAX_GROUPS]]
    if len(groups) > _MAX_GROUPS:
        reasons.append(f"other conditions ({sum(number for number, _ in groups[_MAX_GROUPS:]):,})")
    total = sum(number for number, _ in groups)
    reviews = number_of(total, "other review" if named else "review")
    yield f"{reviews} {'does' if total == 1 else 'do'} not count: {'; '.join(reasons)}"


def list_near_reviews(evidence: Evidence) -> list[str]:
    """Return at most `MAX_LISTED_REVIEWS` reviews that one condition alone leaves out, with their actual values."""
    return [text for exclusion in evidence.excluded for text in exclusion.near][:MAX_LISTED_REVIEWS]


def is_zero(evidence: Evidence) -> bool:
    """Return True if the value is 0 because no review meets the condition."""
    return not evidence.number and evidence.condition is not None and AGGREGATES[evidence.function].empty_value == 0


def describe_zeros(evidence: Sequence[Evidence]) -> str:
    """Return a text that lists counts and sums that are 0 because no review counts. There must be at least one."""
    *names, last = [part.step for part in evidence]
    listed = f"{', '.join(names)} and {last} are" if names else f"{last} is"
    return f"{listed} 0: none of {number_of(evidence[0].total, 'review')} counts"


def build_card(review: Review, depth: int, amount: str = "") -> Card:
    """Return a card for a review, with its date, stars, useful votes, fields and quote; missing ones are left out.

    `depth` is the nesting level, from 0. `amount` is the card's note, such as `adds 3`; empty for none.
    """
    votes = number_of(int(review.useful), "useful vote") if review.useful else ""
    return Card(
        name=review.review_id,
        about=", ".join(filter(None, (review.date, describe_stars(review), votes))),
        fields=_format_fields(review.fields),
        source=_QUOTE_SOURCES.get(review.quoted_by or "", ""),
        quote=review.quote or "",
        note=amount,
        depth=depth,
    )


def describe_stars(review: Review) -> str:
    """Return the stars of a review, such as `1 star`; empty if they are not known."""
    if review.stars is None:
        return ""
    return f"{format_value(review.stars)} {'star' if review.stars == 1 else 'stars'}"


def _format_fields(fields: Mapping[str, Value]) -> str:
    """Return the names and values of fields in a list; empty if there are none."""
    return ", ".join(f"{name}: {format_plain(value)}" for name, value in fields.items())


def _format_amount(evidence: Evidence, review: Review) -> str:
    """Return what a review adds to a total, such as `adds 3`; empty for any other aggregate."""
    if AGGREGATES[evidence.function].purpose != "total" or review.amount is None:
        return ""
    return f"adds {format_value(review.amount)}"
