"""Build the first screen of an explanation: the verdict, the score as a sum of parts, what would change it, what was read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from formulaseed.explanation.model import (
    Attribution,
    AttributionPart,
    Change,
    Comparison,
    ExplanationData,
    Review,
    Rule,
)
from formulaseed.explanation.verdict import Shades, build_badge
from formulaseed.language.aggregates import AGGREGATES
from formulaseed.pages.blocks import Block, Items, Line, ListItem, Paragraph, Table, join_names
from formulaseed.pages.values import format_plain, format_value
from formulaseed.source.printing import number_of
from formulaseed.source.text import one_line

MAX_LISTED_PARTS = 3
MAX_LISTED_CHANGES = 3
_MAX_ADVISED_REVIEWS = 12  # advice that takes more new reviews is none
_MAX_LEFT_OUT_REVIEWS = 5
_MAX_SENTENCES = 3
_MAX_LABEL_CHARACTERS = 44
_MIN_QUOTE_CHARACTERS = 24
_ROW_CHARACTERS = 72  # for the label and the quote of a part, so that the table fits into 100 columns
_DECIMALS = 2
_LIMIT_WORDS = {"<": "under", "<=": "up to", ">": "over", ">=": "from", "==": "at", "!=": "other than"}


def build_summary_blocks(
    explanation: ExplanationData, hint: str = "", shades: Shades | None = None, chart: Block | None = None
) -> Iterator[Block]:
    """Yield the first screen: the score and its parts, or else the rule that holds, then what would change the verdict.

    The last line ends with `hint`. In a page `shades` are the colours of verdicts, and `chart` takes the place of the parts.
    """
    attribution = explanation.attribution
    if attribution is None:
        sentences = [rule.because for rule in explanation.rules if rule.state == "taken" and rule.because]
        yield from (Paragraph(f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}.") for sentence in sentences)
        yield from map(Paragraph, explanation.because[:_MAX_SENTENCES])
    else:
        yield Paragraph(_describe_score(attribution, explanation.rules, shades or {}))
        yield chart or build_parts_table(explanation, attribution)
    changes = [*describe_changes(explanation)]
    if changes:
        yield Items([ListItem(text) for text in changes[:MAX_LISTED_CHANGES]])
    if explanation.error is None:
        yield Paragraph(" ".join(_describe_rest(explanation)), "note")
        yield Paragraph(f"{_describe_policy(explanation)}{hint}", "note")


def _describe_score(attribution: Attribution, rules: Sequence[Rule], shades: Shades) -> Line:
    """Return the score and the rules as a scale: `risk score 4.89 points (Low Risk under 4, otherwise High Risk)`.

    Rules that compare something else are not part of the scale.
    """
    unit = f" {attribution.unit}" if attribution.unit else ""
    line: list[str] = [f"{attribution.label} {format_number(attribution.value)}{unit} "]
    for rule in rules:
        badge = build_badge(rule.result, shades)
        separator = ", " if len(line) > 1 else "("
        if rule.condition is None:
            line += [f"{separator}otherwise ", badge]
        elif len(rule.comparisons) == 1 and rule.comparisons[0].left == attribution.step:
            line += [separator, badge, f" {_describe_limit(rule.comparisons[0])}"]
    return *line, ")"


def _describe_limit(comparison: Comparison) -> str:
    """Return the limit of a rule in words: `under 4`."""
    return f"{_LIMIT_WORDS.get(comparison.operator, comparison.operator)} {_format_limit(comparison)}"


def _format_limit(comparison: Comparison) -> str:
    """Return the right side of a comparison as a value."""
    value = comparison.right_value
    if isinstance(value, list):
        return ", ".join(map(format_plain, value))
    return format_plain(value)


def format_number(value: float) -> str:
    """Return a number with two decimals, an integer without decimals, and a very small or large one with an exponent."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if abs(value) < 10**-_DECIMALS or abs(value) >= 1e15:
        return format_value(value)
    return f"{value:.{_DECIMALS}f}"


def build_parts_table(explanation: ExplanationData, attribution: Attribution, limit: int = MAX_LISTED_PARTS) -> Table:
    """Return the table of the base and the parts, each with its change and the score so far, and its main review.

    Parts after the first `limit` share one row. Each change is the difference of the scores as they are written,
    so that the columns add up.
    """
    score = attribution.base
    rows: list[tuple[str, ...]] = [("", "without the parts below", "", _fix(score), "")]
    parts = [part for part in attribution.parts if part.source != "limit"]
    listed = parts if len(parts) <= limit + 1 else parts[:limit]
    width = max((len(describe_part(part)) for part in listed), default=0)
    quotes = _find_quotes(explanation, _ROW_CHARACTERS - width)
    lines = [(part.code, describe_part(part), part.change, quotes.get(part.code, "")) for part in listed]
    if len(listed) < len(parts):
        rest = parts[len(listed) :]
        lines.append(("", number_of(len(rest), "smaller part"), math.fsum(part.change for part in rest), ""))
    lines += [("", part.label, part.change, "") for part in attribution.parts if part.source == "limit"]
    for code, label, change, quote in lines:
        rows.append((code, label, _format_step(score, score + change), _fix(score + change), quote))
        score += change
    return Table(("", "", "change", "score", ""), rows)


def build_part_items(attribution: Attribution) -> Iterator[ListItem]:
    """Yield an item for each part that consists of reviews, with its whole label and the ids of all reviews."""
    for part in attribution.parts:
        if part.reviews:
            yield ListItem((f"{part.code}, {part.label}: ", *join_names(part.reviews)))


def _fix(value: float) -> str:
    """Return a score with its fixed number of decimals."""
    return f"{value:.{_DECIMALS}f}"


def _format_step(before: float, after: float) -> str:
    """Return the change between two scores as they are written, with its sign."""
    return f"{float(_fix(after)) - float(_fix(before)):+.{_DECIMALS}f}"


def describe_part(part: AttributionPart, max_characters: int = _MAX_LABEL_CHARACTERS) -> str:
    """Return a part in words, with the number of its reviews if there are several; a long label is cut between two labels."""
    label = one_line(part.label)
    if len(label) > max_characters:
        start, comma, _ = label[:max_characters].rpartition(", ")
        label = f"{start if comma else label[:max_characters]}, …"
    if len(part.reviews) > 1:
        return f"{label} ({number_of(len(part.reviews), 'review')})"
    return label


def _find_quotes(explanation: ExplanationData, width: int) -> dict[str, str]:
    """Return by code the quote of each part's main review with its stars, cut to `width`, or its id; of facts their source."""
    reviews: dict[tuple[str, str], Review] = {}
    for evidence in explanation.evidence:
        reviews.update({(evidence.step, review.review_id): review for review in evidence.reviews})
    quotes = {}
    for part in explanation.attribution.parts if explanation.attribution else ():
        if part.source == "facts":
            quotes[part.code] = "from the listing"
        if part.main_review is None:
            continue
        review = next((reviews[key] for step in part.steps if (key := (step, part.main_review)) in reviews), None)
        quotes[part.code] = part.main_review if review is None else _describe_review(review, width)
    return quotes


def _describe_review(review: Review, width: int) -> str:
    """Return the quote of a review, cut to `width` characters with its year and stars; its id without a quote."""
    details = [review.date[:4]] if review.date else []
    if review.stars is not None:
        details.append(f"{format_value(review.stars)} {'star' if review.stars == 1 else 'stars'}")
    about = f"  {', '.join(details)}" if details else ""
    if not review.quote:
        return f"{review.review_id}{about}"
    quote = one_line(review.quote)
    limit = max(_MIN_QUOTE_CHARACTERS, width - len(about))
    if len(quote) > limit:
        quote = f"{quote[: limit - 2].rsplit(' ', 1)[0]} …"
    return f"“{quote}”{about}"


# --- what would change it


def describe_changes(explanation: ExplanationData) -> Iterator[str]:
    """Yield a sentence for each way to another verdict, the smallest first; single reviews to leave out share one sentence.

    A change that is no advice is left out: many new reviews, or many reviews fewer.
    """
    counts = {
        step.name: step.label for step in explanation.steps if step.kind in AGGREGATES and AGGREGATES[step.kind].counts
    }
    codes = _find_codes(explanation.attribution)
    single: dict[object, list[str]] = {}
    for change in explanation.changes:
        if change.kind == "fewer reviews" and change.number == 1:
            name = codes.get(change.review_ids[0], change.review_ids[0])
            single.setdefault(change.verdict, []).append(f"{name}{_describe_score_after(change, explanation)}")
    written: set[object] = set()
    for change in explanation.changes:
        verdict = format_plain(change.verdict)
        after = _describe_score_after(change, explanation)
        if change.kind == "parameter":
            yield f"{verdict} {change.text}{after}"
        elif change.kind == "more reviews" and change.number <= _MAX_ADVISED_REVIEWS:
            yield f"{verdict} with {_describe_added(change, counts)}{after}"
        elif change.kind == "fewer reviews" and change.number == 1 and change.verdict not in written:
            written.add(change.verdict)
            names = single[change.verdict]
            either = f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]
            yield f"{verdict} if {either} did not count"
        elif change.kind == "fewer reviews" and 1 < change.number <= _MAX_LEFT_OUT_REVIEWS:
            names = [codes.get(review_id, review_id) for review_id in change.review_ids]
            yield f"{verdict} if {', '.join(names[:-1])} and {names[-1]} did not count{after}"


def _find_codes(attribution: Attribution | None) -> dict[str, str]:
    """Return the codes of reviews that are the only one of their part, by review id."""
    parts = attribution.parts if attribution is not None else []
    return {part.reviews[0]: part.code for part in parts if len(part.reviews) == 1}


def _describe_score_after(change: Change, explanation: ExplanationData) -> str:
    """Return the score after a change in parentheses, with a space before them; empty if it is the same or not known."""
    attribution = explanation.attribution
    effect = change.effects.get(attribution.step) if attribution is not None else None
    if effect is None or isinstance(effect.after, str | None):
        return ""
    return f" ({format_number(float(effect.after))})"


def _describe_added(change: Change, counts: Mapping[str, str]) -> str:
    """Return the reviews to add in words: by the labels of the `counts` that they raise, or else as the search described them."""
    raised = [name for name, effect in change.effects.items() if name in counts and effect.after != effect.before]
    number = int(change.number)
    if not raised:
        return change.text.removeprefix("with ")
    words = ", ".join(counts[name] for name in raised)
    source = (change.row or {}).get("review_id")
    like = f", such as {source}" if isinstance(source, str) and source != "(one more)" else ""
    return f"{number_of(number, 'more review')}: {words}{like}"


# --- what was read


def _describe_rest(explanation: ExplanationData) -> Iterator[str]:
    """Yield sentences about the reviews that no condition counts, and about missing facts."""
    attribution = explanation.attribution
    if attribution is not None and attribution.uncounted:
        reviews = f"{attribution.uncounted} of {number_of(explanation.reviews, 'review')}"
        yield f"Did not count: {reviews}, which meet none of the policy's conditions."
    names = [missing.name for missing in explanation.missing]
    yield f"Missing facts: {', '.join(names) if names else 'none'}."


def _describe_policy(explanation: ExplanationData) -> str:
    """Return who read how many reviews, and by which version of the policy they were scored."""
    run = explanation.run
    extractor = run.get("extractor")
    reader = f"extracted by {extractor}" if extractor else "extractor not named"
    policy = explanation.task
    if run.get("seed_version"):
        policy += f" {run['seed_version']}"
    if run.get("seed_sha256"):
        policy += f" ({str(run['seed_sha256'])[:7]})"
    return f"{number_of(explanation.reviews, 'review')}, {reader}. Policy {policy}."
