"""Build the first screen of an explanation: the verdict, the score as a sum of parts, what would change it, what was read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from formulaseed.explanation.conditions import join_words
from formulaseed.explanation.evidence_text import describe_stars
from formulaseed.explanation.model import (
    MAX_ADDED_REVIEWS,
    MAX_LEFT_OUT_REVIEWS,
    Attribution,
    AttributionPart,
    Change,
    Comparison,
    ExplanationData,
    Review,
    Rule,
    Value,
)
from formulaseed.explanation.verdict import Shades, build_badge
from formulaseed.pages.blocks import Block, Items, Line, ListItem, Paragraph, Table, join_names
from formulaseed.pages.text import as_text
from formulaseed.pages.values import format_plain, format_value
from formulaseed.source.printing import number_of
from formulaseed.source.text import one_line

MAX_LISTED_PARTS = 4
_MAX_LINES = 13  # of the first screen, without its title; changes that do not fit are among the steps
_MAX_SENTENCES = 3
_NO_CHANGE = (
    f"No other verdict was found for {MAX_LEFT_OUT_REVIEWS} reviews fewer, or {MAX_ADDED_REVIEWS} of one kind more."
)
_MAX_LABEL_CHARACTERS = 52
_MIN_QUOTE_CHARACTERS = 16
_ROW_CHARACTERS = 88  # for the label of a part, the score without it and the quote, so that a row has 120 columns
_DECIMALS = 2
_LIMIT_WORDS = {"<": "under", "<=": "up to", ">": "over", ">=": "from", "==": "at", "!=": "other than"}


def build_summary_blocks(
    explanation: ExplanationData, hint: str = "", shades: Shades | None = None, chart: Block | None = None
) -> Iterator[Block]:
    """Yield the first screen: the score and its parts, or else the rule that holds, then what would change the verdict.

    The last line ends with `hint`. In a page `shades` are the colours of verdicts, and `chart` takes the place of the parts.
    """
    attribution = explanation.attribution
    blocks: list[Block] = []
    if attribution is None:
        sentences = [rule.because for rule in explanation.rules if rule.state == "taken" and rule.because]
        blocks += (Paragraph(f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}.") for sentence in sentences)
        blocks += map(Paragraph, explanation.because[: 1 if sentences else _MAX_SENTENCES])
    else:
        blocks.append(Paragraph(_describe_score(attribution, explanation.rules, shades or {})))
        if attribution.parts:
            blocks.append(chart or build_parts_table(explanation, attribution))
    texts = [" ".join(_describe_rest(explanation)), f"{_describe_policy(explanation)}{hint}"]
    notes = [Paragraph(text, "note") for text in texts if explanation.error is None]
    yield from blocks
    room = _MAX_LINES - sum(map(_count_lines, (*blocks, *notes))) if chart is None else _MAX_LINES
    items = _list_changes(explanation, room, shades or {})
    if items:
        yield Items(items)
    yield from notes


def _list_changes(explanation: ExplanationData, room: int, shades: Shades) -> list[ListItem]:
    """Return an item for each sentence about changes that fits into `room` lines, at least the first; or that there is none."""
    items: list[ListItem] = []
    for sentence in describe_changes(explanation):
        item = ListItem((build_badge(sentence.verdict, shades), f" {sentence.ways}."))
        room -= _count_lines(Items([item]))
        if items and room < 0:
            items[-1] = ListItem((*items[-1].line, " Other verdicts: --steps."))
            break
        items.append(item)
    if not items and explanation.rules and explanation.error is None:
        items.append(ListItem(_NO_CHANGE))
    return items


def _count_lines(block: Block) -> int:
    """Return how many lines a block takes in a terminal, without blank ones."""
    return sum(1 for line in as_text([block]).splitlines() if line)


def _describe_score(attribution: Attribution, rules: Sequence[Rule], shades: Shades) -> Line:
    """Return the score and the rules as a scale: `risk score 4.89 of 20 points (Low Risk under 4, else High Risk)`.

    Rules that compare something else are not part of the scale.
    """
    unit = f" {attribution.unit}" if attribution.unit else ""
    highest = f" of {format_number(attribution.highest)}" if attribution.highest is not None else ""
    line: list[str] = [f"{attribution.label} {format_number(attribution.value)}{highest}{unit} "]
    for rule in rules:
        badge = build_badge(rule.result, shades)
        separator = ", " if len(line) > 1 else "("
        if rule.condition is None:
            line += [f"{separator}else ", badge]
        elif len(rule.comparisons) == 1 and rule.comparisons[0].left == attribution.step:
            line += [separator, badge, f" {_describe_limit(rule.comparisons[0])}"]
    return *line, ")"


def _describe_limit(comparison: Comparison) -> str:
    """Return the limit of a rule in words: `under 4`."""
    right = comparison.right_value
    values = right if isinstance(right, list) else [right]
    return f"{_LIMIT_WORDS.get(comparison.operator, comparison.operator)} {', '.join(map(format_plain, values))}"


def format_number(value: float) -> str:
    """Return a number with two decimals, an integer without decimals, and a very small or large one with an exponent."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if abs(value) < 10**-_DECIMALS or abs(value) >= 1e15:
        return format_value(value)
    return f"{value:.{_DECIMALS}f}"


def build_parts_table(explanation: ExplanationData, attribution: Attribution, limit: int = MAX_LISTED_PARTS) -> Table:
    """Return the table of the base and the parts: the share of each, the score so far and without it, and its main review.

    Parts after the first `limit` share one row. Each change is the difference of the scores as they are written,
    so that they add up.
    """
    score = attribution.base
    rows: list[tuple[str, ...]] = [("", "starting score", "", _fix(score), "", "")]
    parts = [part for part in attribution.parts if part.source != "limit"]
    listed = _list_parts(attribution, limit)
    width = max((len(describe_part(part)) for part in listed), default=0)
    width += max((len(_describe_without(part)) for part in listed), default=0)
    quotes = _find_quotes(explanation, _ROW_CHARACTERS - width)
    lines = [
        (part.code, describe_part(part), part.change, _describe_without(part), quotes.get(part.code, ""))
        for part in listed
    ]
    if len(listed) < len(parts):
        rest = parts[len(listed) :]
        codes = f"{rest[0].code}–{rest[-1].code}"
        label = f"{number_of(len(rest), 'smaller part')} together"
        lines.append((codes, label, math.fsum(part.change for part in rest), "", ""))
    lines += [("", part.label, part.change, "", "") for part in attribution.parts if part.source == "limit"]
    for code, label, change, without, quote in lines:
        rows.append((code, label, _format_step(score, score + change), _fix(score + change), without, quote))
        score += change
    return Table(("", "", "share", "score", "without", ""), rows)


def _list_parts(attribution: Attribution, limit: int = MAX_LISTED_PARTS) -> Sequence[AttributionPart]:
    """Return the parts that have a row of their own in the table."""
    parts = [part for part in attribution.parts if part.source != "limit"]
    return parts if len(parts) <= limit + 1 else parts[:limit]


def build_part_items(attribution: Attribution) -> Iterator[ListItem]:
    """Yield an item for each part that consists of reviews, with its whole label and the ids of all reviews."""
    for part in attribution.parts:
        if part.reviews:
            yield ListItem((f"{part.code}, {part.label}: ", *join_names(part.reviews)))


def _describe_without(part: AttributionPart) -> str:
    """Return the score without a part, with the verdict if that is another one; empty for a limit."""
    verdict = [] if part.verdict_without is None else [format_plain(part.verdict_without)]
    return "" if part.without is None else " ".join([*verdict, _fix(part.without)])


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
        label = f"{start}, etc." if comma else f"{label[:max_characters]} …"
    if len(part.reviews) > 1:
        return f"{label} ({number_of(len(part.reviews), 'review')})"
    return label


def _find_quotes(explanation: ExplanationData, width: int) -> dict[str, str]:
    """Return by code the quote of each part's main review with its stars, cut to `width`, or its id; of facts their source."""
    reviews = {(part.step, review.review_id): review for part in explanation.evidence for review in part.reviews}
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
    """Return the quote of a review, cut to `width` characters, with its year and stars if there is room; or else its id."""
    details = [*filter(None, ((review.date or "")[:4], describe_stars(review)))]
    about = f"  {', '.join(details)}" if details else ""
    if width - len(about) < _MIN_QUOTE_CHARACTERS:
        about = ""
    if not review.quote:
        return f"{review.review_id}{about}"
    quote = one_line(review.quote)
    limit = max(_MIN_QUOTE_CHARACTERS, width - len(about))
    if len(quote) > limit:
        quote = f"{quote[: limit - 2].rsplit(' ', 1)[0]} …"
    return f"“{quote}”{about}"


# --- what would change it


class ChangeSentence(NamedTuple):
    """A sentence about ways to another verdict: each of the `changes` leads there, to the number of the same place in `scores`.

    A score is empty if the rules do not compare it there, or the change does not move it.
    """

    verdict: Value
    changes: Sequence[Change]
    scores: Sequence[str]
    ways: str

    @property
    def text(self) -> str:
        """The whole sentence."""
        return f"{one_line(format_plain(self.verdict))} {self.ways}."


def describe_changes(explanation: ExplanationData) -> Iterator[ChangeSentence]:
    """Yield a sentence for each other verdict with all changes that lead to it, those of the fewest reviews first."""
    names = _name_parts(explanation.attribution)
    for verdict in dict.fromkeys(change.verdict for change in explanation.changes):
        changes = [change for change in explanation.changes if change.verdict == verdict]
        step = _find_compared_number(explanation, verdict)
        scores = [_format_score(change, step) for change in changes]
        ways: list[str] = []
        single: list[tuple[str, str]] = []
        for change, score in zip(changes, scores, strict=True):
            if change.kind == "fewer reviews" and change.number == 1:
                single.append((_name_reviews(change.review_ids, names)[0], score))
            else:
                sample = f"if like {change.like}" if change.counts and change.is_observed else ""
                details = ", ".join(filter(None, (score, sample)))
                ways.append(f"{_describe_way(change, names)}{f' ({details})' if details else ''}")
        if single:
            ways.insert(0, _describe_single(single))
        yield ChangeSentence(verdict, changes, scores, ", or ".join(ways))


def _name_parts(attribution: Attribution | None) -> dict[frozenset[str], str]:
    """Return the codes of the parts by the ids of their reviews."""
    parts = attribution.parts if attribution is not None else []
    return {frozenset(part.reviews): part.code for part in parts if part.reviews}


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


def _format_score(change: Change, step: str | None) -> str:
    """Return the score after a change; empty if the change does not move it, or `step` is None."""
    effect = change.effects.get(step) if step is not None else None
    if effect is None or isinstance(effect.after, str | None):
        return ""
    return format_number(float(effect.after))


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


# --- what was read


def _describe_rest(explanation: ExplanationData) -> Iterator[str]:
    """Yield sentences about shares, about reviews that no condition counts, and about missing facts."""
    attribution = explanation.attribution
    if attribution is not None and attribution.parts:
        yield from _describe_shares(attribution)
    if attribution is not None and attribution.uncounted:
        reviews = f"{attribution.uncounted} of {number_of(explanation.reviews, 'review')}"
        yield f"No condition counts {reviews}."
    names = [missing.name for missing in explanation.missing]
    yield f"Missing facts: {', '.join(names) if names else 'none'}."


def _describe_shares(attribution: Attribution) -> Iterator[str]:
    """Yield how to read the shares: that they differ from absences, and which parts have the other sign when alone."""
    listed = [part for part in _list_parts(attribution) if part.without is not None]
    if any(_fix(attribution.value - part.change) != _fix(part.without or 0.0) for part in listed):
        yield "Shares add up to the score; without a part it can change by more, less or the opposite."
    turned = [
        part.code for part in listed if part.alone is not None and (part.alone - attribution.base) * part.change < 0
    ]
    if turned:
        yield f"Other parts turn the {'sign' if len(turned) == 1 else 'signs'} of {join_words(turned, 'and')}."


def _describe_policy(explanation: ExplanationData) -> str:
    """Return who read how many reviews, and by which version of the policy they were scored."""
    run = explanation.run
    reader = run.get("extractor") or "extractor not named"
    policy = explanation.task
    if run.get("seed_version"):
        policy += f" {run['seed_version']}"
    if run.get("seed_sha256"):
        policy += f" ({str(run['seed_sha256'])[:7]})"
    return f"{number_of(explanation.reviews, 'review')} read ({reader}). Policy {policy}."
