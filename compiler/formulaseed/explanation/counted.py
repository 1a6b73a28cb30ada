"""The reviews behind a step in words: how many count, what they say, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from formulaseed.diagnostics.model import number_of
from formulaseed.explanation.model import Evidence, Missing, Review, Value
from formulaseed.language.aggregates import AGGREGATES
from formulaseed.pages.values import format_plain, format_value

MOST_LISTED = 5
"""So many reviews of a step are shown in words, and so many reasons why others do not count; the JSON has them all."""
_GROUPS = 3
QUOTED: dict[str, str] = {
    "extractor": "quote: ",
    "words": "sentence: ",
    "beginning": "opening: ",
    "whole": "full text: ",
}
"""How a quote is introduced, by who chose it."""
NO_QUOTES = (
    "Where the extractor gave no quote, a sentence is shown that was chosen by its words; where none speaks for the values, "
    "the full text of the review, or its opening."
)


def missing_text(missing: Missing, reviews: int) -> str:
    """Return which field is missing, and for how many of the reviews."""
    where = "" if missing.reviews is None else f" in {missing.reviews:,} of {number_of(reviews, 'review')}"
    return f"{missing.name} is missing{where}."


def counted_text(found: Evidence) -> str:
    """Return how many reviews count, and for what: `, the default: none of 9 reviews meets`, up to the condition."""
    number, total = found.number, number_of(found.total, "review")
    lead = ", the default: " if found.is_default else ": "
    if found.condition is None:
        counted = total if number else "there are no reviews"
    elif number == found.total > 1:
        counted = f"all {total}"
    else:
        counted = f"{f'{number:,}' if number else 'none'} of {total}"
    if found.of is None or not number:
        meeting = "meets" if number <= 1 else "meet"
        return lead + (f"{counted} {meeting}" if found.condition is not None else counted)
    entry = AGGREGATES[found.function]
    of_what = f"{entry.phrase.format(found.of)} {entry.preposition}"
    if found.condition is None:
        return f"{lead}{of_what} {counted}"
    if number == found.total:
        return f"{lead}{of_what} {counted}, which {'meets' if number == 1 else 'meet'}"
    return f"{lead}{of_what} the {counted} that {'meets' if number == 1 else 'meet'}"


def filter_texts(found: Evidence) -> Iterator[str]:
    """Yield what the filters mean that a step names."""
    for name, condition in found.filters.items():
        yield f"${name}: {condition}"


def others_text(found: Evidence) -> str | None:
    """Return how many more reviews match that do not have the value selected from them; None if there are none."""
    others = found.number - len(found.reviews)
    entry = AGGREGATES[found.function]
    if not entry.selects or others <= 0:
        return None
    return f"{number_of(others, 'other')} {'has' if others == 1 else 'have'} {entry.others_have}"


def exclusion_texts(found: Evidence) -> Iterator[str]:
    """Yield why the others do not count, in numbers that add up: some by name, the rest by all conditions that they do not
    meet. Nothing where there is but one condition."""
    if all(each.conditions == [found.condition] for each in found.excluded):
        return
    named = near_texts(found)
    if named:
        yield f"not counted: {'; '.join(named)}"
    rest = [(each.number - len({*each.near} & {*named}), each.conditions) for each in found.excluded]
    groups = sorted((group for group in rest if group[0]), key=lambda group: -group[0])
    if not groups:
        return
    number = sum(n for n, _ in groups)
    parts = [(_unmet(conditions), n) for n, conditions in groups[:_GROUPS]]
    reasons = [f"{text} for {n:,}" if groups[1:] else text for text, n in parts]
    reasons += [f"other conditions for {sum(n for n, _ in groups[_GROUPS:]):,}"] if len(groups) > _GROUPS else []
    yield (
        f"{number_of(number, 'other review' if named else 'review')} {'does' if number == 1 else 'do'} not count: "
        f"{'; '.join(reasons)}"
    )


def near_texts(found: Evidence) -> list[str]:
    """Return the reviews that one condition alone leaves out, some of them, with what they have instead."""
    return [text for each in found.excluded for text in each.near][:MOST_LISTED]


def is_zero(found: Evidence) -> bool:
    """Return whether the value is 0 because no review meets the condition."""
    return not found.number and found.condition is not None and AGGREGATES[found.function].over_none == 0


def zero_text(found: Sequence[Evidence]) -> str:
    """Return which counts and sums are 0 as no review counts."""
    names = [each.step for each in found]
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else names[0]
    return f"{listed} {'are' if names[1:] else 'is'} 0: none of {number_of(found[0].total, 'review')} counts"


def _unmet(conditions: Sequence[str]) -> str:
    match conditions:
        case [single]:
            return f"{single} does not hold"
        case [first, second]:
            return f"neither {first} nor {second} holds"
        case _:
            return f"none of {', '.join(conditions)} holds"


def review_text(review: Review) -> str:
    """Return a review with its date, stars, what was extracted, and what of its text there is to show."""
    stars = (
        f"{format_value(review.stars)} {'star' if review.stars == 1 else 'stars'}" if review.stars is not None else ""
    )
    about = ", ".join(part for part in (review.date or "", stars) if part)
    values = fields_text(review.fields)
    said = f"{review.review_id}" + (f" ({about})" if about else "") + (f": {values}" if values else "")
    return f"{said}; {quote_text(review)}" if review.quote is not None else said


def fields_text(fields: Mapping[str, Value]) -> str:
    """Return fields with their values."""
    return ", ".join(f"{name} {format_plain(value)}" for name, value in fields.items())


def quote_text(review: Review) -> str:
    """Return what of a review's text there is to show, and how it was chosen; nothing without a text."""
    return f"{QUOTED[review.quoted_by]}“{review.quote}”" if review.quoted_by is not None else ""


def amount_text(found: Evidence, review: Review) -> str:
    """Return what a review adds to a total, as the end of a phrase; empty for any other aggregate."""
    return (
        f", adds {format_value(review.amount)}"
        if AGGREGATES[found.function].purpose == "total" and review.amount is not None
        else ""
    )
