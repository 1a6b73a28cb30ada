"""The reviews behind a step in words: how many count, what they say, and why the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from formulaseed.diagnostics.model import number_of
from formulaseed.report.explanation import Evidence, Review
from formulaseed.report.values import plain, shown

MOST_LISTED = 5
"""So many reviews of a step are shown in words, and so many reasons why others do not count; the JSON has them all."""
_REASONS = 6
QUOTED: dict[str, str] = {
    "extractor": "",
    "words": "in words that speak for it: ",
    "beginning": "begins: ",
    "whole": "says: ",
}
"""How a quote is introduced, by who chose it."""
NO_QUOTES = (
    "Where the extractor gave no quote, the sentence is shown whose words speak for the values; where none does, how the review "
    "begins, which is not why it counts."
)


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
    of_what = f"the sum of {found.of} over" if found.function == "sum" else f"the {_extreme(found)} {found.of} of"
    if found.condition is None:
        return f"{lead}{of_what} {counted}"
    if number == found.total:
        return f"{lead}{of_what} {counted}, which {'meets' if number == 1 else 'meet'}"
    return f"{lead}{of_what} the {counted} that {'meets' if number == 1 else 'meet'}"


def _extreme(found: Evidence) -> str:
    return "highest" if found.function == "max" else "lowest"


def filter_texts(found: Evidence) -> Iterator[str]:
    """Yield what the filters mean that a step names."""
    for name, condition in found.filters.items():
        yield f"${name}: {condition}"


def others_text(found: Evidence) -> str | None:
    """Return how many more reviews count for a maximum or minimum, which do not reach it; None where there are none."""
    others = found.number - len(found.reviews)
    if found.function not in ("max", "min") or others <= 0:
        return None
    return f"{number_of(others, 'other')} {'has' if others == 1 else 'have'} {'less' if found.function == 'max' else 'more'}"


def exclusion_text(found: Evidence) -> str | None:
    """Return why the others do not count; None where there are none, or where they do not meet the one condition there is."""
    number = sum(each.number for each in found.excluded)
    if not number or (len(found.excluded) == 1 and found.excluded[0].conditions == [found.condition]):
        return None
    unmet: Counter[str] = Counter()
    for each in found.excluded:
        unmet.update(dict.fromkeys(each.conditions, each.number))
    common = unmet.most_common(_REASONS)
    reasons = [
        f"{condition}{'' if place else ' does not hold'} for {n:,}" for place, (condition, n) in enumerate(common)
    ]
    rest = f" and {number_of(len(unmet) - _REASONS, 'other condition')}" if len(unmet) > _REASONS else ""
    return f"{number_of(number, 'review')} {'does' if number == 1 else 'do'} not count: {', '.join(reasons)}{rest}"


def review_text(review: Review) -> str:
    """Return a review with its date, stars, what was extracted, and what of its text there is to show."""
    stars = f"{shown(review.stars)} {'star' if review.stars == 1 else 'stars'}" if review.stars is not None else ""
    about = ", ".join(part for part in (review.date or "", stars) if part)
    values = ", ".join(f"{name} {plain(value)}" for name, value in review.fields.items())
    said = f"{review.review_id}" + (f" ({about})" if about else "") + (f": {values}" if values else "")
    return f"{said}; {quote_text(review)}" if review.quote is not None else said


def quote_text(review: Review) -> str:
    """Return what of a review's text there is to show, and how it was chosen; nothing without a text."""
    return f"{QUOTED[review.quoted_by]}“{review.quote}”" if review.quoted_by is not None else ""


def amount_text(found: Evidence, review: Review) -> str:
    """Return what a review adds to a sum, as the end of a phrase; nothing where the step is no sum."""
    return f", adds {shown(review.amount)}" if found.function == "sum" and review.amount is not None else ""
