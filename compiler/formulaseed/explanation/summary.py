"""Build the first screen of an explanation: the verdict, the score as a sum of parts, what would change it, what was read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from formulaseed.explanation.conditions import join_words
from formulaseed.explanation.evidence_text import describe_stars
from formulaseed.explanation.model import (
    MAX_ADDED_REVIEWS,
    MAX_LEFT_OUT_REVIEWS,
    Attribution,
    AttributionPart,
    Change,
    ExplanationData,
    Review,
    Rule,
    Value,
)
from formulaseed.explanation.quotes import cut_around
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
_MAX_LABEL_CHARACTERS = 56
_MIN_QUOTE_CHARACTERS = 20
_ROW_CHARACTERS = 82  # for the label of a part, the score without it and the quote, so that a row has about 120 columns
_DECIMALS = 2
_LIMIT_WORDS = {"<": "under", "<=": "up to", ">": "over", ">=": "from", "==": "at", "!=": "other than"}


def build_summary_blocks(
    explanation: ExplanationData, hint: str = "", shades: Shades | None = None, chart: Block | None = None
) -> Sequence[Block]:
    """Return the first screen: the score and its parts, or else the rule that holds, then what would change the verdict.

    The last line ends with `hint`. In a page `shades` are the colours of verdicts, and `chart` takes the place of the parts.
    """
    for limit in range(MAX_LISTED_PARTS, 0, -1):
        blocks = _build_blocks(explanation, limit, hint, shades or {}, chart)
        if chart is not None or sum(map(_count_lines, blocks)) <= _MAX_LINES:
            break
    return blocks


def _build_blocks(
    explanation: ExplanationData, limit: int, hint: str, shades: Shades, chart: Block | None
) -> list[Block]:
    """Return the first screen with at most `limit` parts that have a row of their own; it may be too long."""
    attribution = explanation.attribution
    blocks: list[Block] = []
    parts: Sequence[AttributionPart] = ()
    if attribution is None:
        sentences = [rule.because for rule in explanation.rules if rule.state == "taken" and rule.because]
        blocks += (Paragraph(f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}.") for sentence in sentences)
        blocks += map(Paragraph, explanation.because[: 1 if sentences else _MAX_SENTENCES])
    else:
        blocks.append(Paragraph(_describe_score(attribution, explanation.rules, shades)))
        parts = attribution.parts if chart is not None else _list_parts(attribution, limit)
        if attribution.parts:
            blocks.append(chart or build_parts_table(explanation, attribution, limit))
        if parts:
            blocks.append(Paragraph(" ".join(_describe_columns(attribution, parts)), "note"))
    notes = [Paragraph(f"{_describe_reading(explanation)}{hint}", "note")] if explanation.error is None else []
    room = _MAX_LINES - sum(map(_count_lines, (*blocks, *notes))) if chart is None else _MAX_LINES
    items = _list_changes(explanation, parts, room, shades)
    return [*blocks, *([Items(items)] if items else []), *notes]


def _list_changes(
    explanation: ExplanationData, parts: Sequence[AttributionPart], room: int, shades: Shades
) -> list[ListItem]:
    """Return an item for each other verdict, with as many ways as fit into `room` lines, at least one; or that none was found."""
    ways = [(sentence.verdict, way) for sentence in describe_changes(explanation, parts) for way in sentence.ways]
    for count in range(len(ways), 0, -1):
        lines: list[Line] = []
        for verdict, group in groupby(ways[:count], key=itemgetter(0)):
            lines.append((build_badge(verdict, shades), f" {join_ways([way for _, way in group])}."))
        if count < len(ways):
            lines[-1] = (*lines[-1], " More ways: --steps.")
        items = [*map(ListItem, lines)]
        if count == 1 or _count_lines(Items(items)) <= room:
            return items
    return [ListItem(_NO_CHANGE)] if explanation.rules and explanation.error is None else []


def _count_lines(block: Block) -> int:
    """Return how many lines a block takes on the first screen, which has no blank ones."""
    return sum(1 for line in as_text([block]).splitlines() if line)


def _describe_score(attribution: Attribution, rules: Sequence[Rule], shades: Shades) -> Line:
    """Return the score and the rules as a scale: `risk score 4.89 of 20 points (Low Risk under 4, else High Risk)`."""
    unit = f" {attribution.unit}" if attribution.unit else ""
    highest = f" of {format_number(attribution.highest)}" if attribution.highest is not None else ""
    line: list[str] = [f"{attribution.label} {format_number(attribution.value)}{highest}{unit} "]
    for rule in rules:
        start = f"{', ' if len(line) > 1 else '('}{'else ' if rule.condition is None else ''}"
        line += [start, build_badge(rule.result, shades), _describe_rule(rule, attribution.step)]
    return *line, ")"


def _describe_rule(rule: Rule, step: str) -> str:
    """Return when a rule holds: of the number `step` only the limit, of others also what is compared; empty for `else`."""
    if len(rule.comparisons) != 1:
        return "" if rule.condition is None else " by another rule"
    [side] = rule.comparisons
    values = side.right_value if isinstance(side.right_value, list) else [side.right_value]
    limit = f"{_LIMIT_WORDS.get(side.operator, side.operator)} {', '.join(map(format_plain, values))}"
    return f" {limit}" if side.left == step else f" if {side.subject} is {limit}"


def format_number(value: float) -> str:
    """Return a number with two decimals, an integer without decimals, and a very small or large one with an exponent."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if abs(value) < 10**-_DECIMALS or abs(value) >= 1e15:
        return format_value(value)
    return f"{value:.{_DECIMALS}f}"


def format_score(value: float) -> str:
    """Return a score with its fixed number of decimals."""
    return f"{value:.{_DECIMALS}f}"


def build_parts_table(explanation: ExplanationData, attribution: Attribution, limit: int = MAX_LISTED_PARTS) -> Table:
    """Return the table of the base and the parts: the change by each, the score so far and without it, and its main review.

    Parts after the first `limit` share one row. Each change is the difference of the scores as they are written,
    so that they add up.
    """
    score = attribution.base
    rows: list[tuple[str, ...]] = [("", "starting score", "", format_score(score), "", "")]
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
        count = sum(len(part.reviews) for part in rest)
        reviews = f" ({number_of(count, 'review')})" if count else ""
        label = f"{len(rest)} more parts{reviews}"
        lines.append((codes, label, math.fsum(part.change for part in rest), "", ""))
    lines += [("", part.label, part.change, "", "") for part in attribution.parts if part.source == "limit"]
    for code, label, change, without, quote in lines:
        rows.append((code, label, _format_step(score, score + change), format_score(score + change), without, quote))
        score += change
    return Table(("", "", "on average", "sum", "if left out", "main review"), rows)


def _list_parts(attribution: Attribution, limit: int) -> Sequence[AttributionPart]:
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
    return "" if part.without is None else " ".join([format_score(part.without), *verdict])


def _format_step(before: float, after: float) -> str:
    """Return the change between two scores as they are written, with its sign."""
    return f"{float(format_score(after)) - float(format_score(before)):+.{_DECIMALS}f}"


def describe_part(part: AttributionPart, max_characters: int = _MAX_LABEL_CHARACTERS) -> str:
    """Return a part in words, with the number of its reviews if there are several; a long label is cut between two labels."""
    label = one_line(part.label)
    if len(label) > max_characters:
        start, comma, _ = label[:max_characters].rpartition(", ")
        rest = label.removeprefix(start).count(", ")
        label = f"{start} + {number_of(rest, 'condition')}" if comma else f"{label[:max_characters]} …"
    return f"{label} ({number_of(len(part.reviews), 'review')})" if len(part.reviews) > 1 else label


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
    """Return the quote of a review in at most `width` characters, or 20 if that is more; with its year and stars if they fit.

    A longer quote is cut around the words that prove a value. If none of its words do, the review's id stands in its
    place, since the beginning could say the opposite.
    """
    limit = max(_MIN_QUOTE_CHARACTERS, width) - 2
    quote = one_line(review.quote or "")
    if len(quote) > limit:
        quote = cut_around(quote, one_line(review.core), limit) if review.core else ""
    text = f"“{quote}”" if quote else review.review_id
    details = [*filter(None, ((review.date or "")[:4], describe_stars(review)))]
    about = f"  {', '.join(details)}" if details else ""
    return f"{text}{about}" if len(text) + len(about) <= width else text


# --- what was read


def _describe_columns(attribution: Attribution, parts: Sequence[AttributionPart]) -> Iterator[str]:
    """Yield sentences about the columns of the table, and about the parts in it whose sign could mislead."""
    yield "“On average” is over all orders of counting parts; “if left out” is the score without a part."
    yield from _describe_signs(attribution, [part for part in parts if part.source != "limit"])


def _describe_signs(attribution: Attribution, parts: Sequence[AttributionPart]) -> Iterator[str]:
    """Yield sentences that name the parts whose effect depends on the others.

    These have another sign alone or beside all other parts, or no effect beside all of them, unless a limit may hide it.
    """
    is_limited = any(part.source == "limit" for part in attribution.parts)
    turning: list[str] = []
    idle: list[str] = []
    for part in parts:
        alone, beside = _subtract(part.alone, attribution.base), _subtract(attribution.value, part.without)
        if part.change * alone < 0 or part.change * beside < 0:
            turning.append(part.code)
        elif beside == 0 != _subtract(part.change, 0) and not is_limited:
            idle.append(part.code)
    for codes, effects in ((turning, "raise or lower the score"), (idle, "change the score or leave it as it is")):
        if codes:
            yield f"{join_words(codes, 'and')} can {effects}, depending on which other parts count."


def _subtract(score: float | None, other: float | None) -> float:
    """Return the difference of two scores as they are written; not a number if one is not known."""
    return math.nan if score is None or other is None else float(format_score(score)) - float(format_score(other))


def _describe_reading(explanation: ExplanationData) -> str:
    """Return which facts are missing, who read how many reviews, and by which version of the policy they were scored."""
    names = ", ".join(missing.name for missing in explanation.missing) or "none"
    run = explanation.run
    reader = run.get("extractor") or "extractor not named"
    version = f" {run['seed_version']}" if run.get("seed_version") else ""
    version += f" ({str(run['seed_sha256'])[:7]})" if run.get("seed_sha256") else ""
    uncounted = explanation.attribution.uncounted if explanation.attribution is not None else 0
    rest = f", {uncounted} counted by no condition" if uncounted else ""
    reading = f"{number_of(explanation.reviews, 'relevant review')} read ({reader}){rest}"
    return f"Missing facts: {names}. {reading}. Policy {explanation.task}{version}."


# --- what would change it


class ChangeSentence(NamedTuple):
    """A sentence about ways to another verdict: each of the `changes` leads there, to the number of the same place in `scores`.

    A score is empty if the rules do not compare it there, or the change does not move it.
    """

    verdict: Value
    changes: Sequence[Change]
    scores: Sequence[str]
    ways: Sequence[str]


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
                details = " for ".join(filter(None, (score, _describe_sample(change, names))))
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


def _describe_sample(change: Change, names: Mapping[frozenset[str], str]) -> str:
    """Return the added reviews as copies of one, in words; empty unless they are copies, and count."""
    if not change.counts or not change.is_copy or change.like is None:
        return ""
    name = _name_review(change.like, names)
    name = f"the review of {name}" if name in names.values() else name
    return f"{'a copy' if change.number == 1 else 'copies'} of {name}"


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
    if change.kind == "fewer reviews":
        return f"if {join_words(_name_reviews(change.review_ids, names), 'and')} did not count"
    if change.kind == "parameter" or not change.counts:
        return change.text
    counts = join_words([f"“{one_line(label)}”" for label in change.counts], "and")
    rest = "" if change.is_observed else ", which no review of this run is"
    return f"with {number_of(int(change.number), 'new review')} counted as {counts}{rest}"
