"""Build the first screen of an explanation: the verdict, the score as a sum of parts, what would change it, what was read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from formulaseed.explanation.change_sentences import DECIMALS, describe_changes, format_score, join_ways
from formulaseed.explanation.conditions import join_words
from formulaseed.explanation.evidence_text import describe_stars
from formulaseed.explanation.model import (
    MAX_ADDED_REVIEWS,
    MAX_LEFT_OUT_REVIEWS,
    Attribution,
    AttributionPart,
    Comparison,
    ExplanationData,
    Review,
    Rule,
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
_ROW_CHARACTERS = 84  # for the label of a part, the score without it and the quote, so that a row has 120 columns
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
    text = " ".join((*_describe_rest(explanation, parts), _describe_policy(explanation)))
    notes = [Paragraph(f"{text}{hint}", "note")] if explanation.error is None else []
    room = _MAX_LINES - sum(map(_count_lines, (*blocks, *notes))) if chart is None else _MAX_LINES
    items = _list_changes(explanation, parts, room, shades)
    return [*blocks, *([Items(items)] if items else []), *notes]


def _list_changes(
    explanation: ExplanationData, parts: Sequence[AttributionPart], room: int, shades: Shades
) -> list[ListItem]:
    """Return an item for each other verdict, with as many ways as fit into `room` lines, at least one; or that none was found."""
    sentences = [*describe_changes(explanation, parts)]
    total = sum(len(sentence.ways) for sentence in sentences)
    for count in range(total, 0, -1):
        lines: list[Line] = []
        left = count
        for sentence in sentences:
            ways = sentence.ways[:left]
            left -= len(ways)
            if ways:
                lines.append((build_badge(sentence.verdict, shades), f" {join_ways(ways)}."))
        if count < total:
            lines[-1] = (*lines[-1], " More ways: --steps.")
        items = [*map(ListItem, lines)]
        if count == 1 or _count_lines(Items(items)) <= room:
            return items
    return [ListItem(_NO_CHANGE)] if explanation.rules and explanation.error is None else []


def _count_lines(block: Block) -> int:
    """Return how many lines a block takes in a terminal, without blank ones."""
    return sum(1 for line in as_text([block]).splitlines() if line)


def _describe_score(attribution: Attribution, rules: Sequence[Rule], shades: Shades) -> Line:
    """Return the score and the rules as a scale: `risk score 4.89 of 20 points (Low Risk under 4, else High Risk)`."""
    unit = f" {attribution.unit}" if attribution.unit else ""
    highest = f" of {format_number(attribution.highest)}" if attribution.highest is not None else ""
    line: list[str] = [f"{attribution.label} {format_number(attribution.value)}{highest}{unit} "]
    for rule in rules:
        badge = build_badge(rule.result, shades)
        separator = ", " if len(line) > 1 else "("
        if rule.condition is None:
            line += [f"{separator}else ", badge]
        else:
            line += [separator, badge, _describe_rule(rule, attribution.step)]
    return *line, ")"


def _describe_rule(rule: Rule, step: str) -> str:
    """Return when a rule holds: of the number `step` only the limit, of others also what is compared, if that is short."""
    if len(rule.comparisons) != 1:
        return " by another rule"
    [comparison] = rule.comparisons
    limit = _describe_limit(comparison)
    return f" {limit}" if comparison.left == step else f" if {comparison.subject} is {limit}"


def _describe_limit(comparison: Comparison) -> str:
    """Return the limit of a rule in words: `under 4`."""
    right = comparison.right_value
    values = right if isinstance(right, list) else [right]
    return f"{_LIMIT_WORDS.get(comparison.operator, comparison.operator)} {', '.join(map(format_plain, values))}"


def format_number(value: float) -> str:
    """Return a number with two decimals, an integer without decimals, and a very small or large one with an exponent."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if abs(value) < 10**-DECIMALS or abs(value) >= 1e15:
        return format_value(value)
    return f"{value:.{DECIMALS}f}"


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
        label = f"{number_of(len(rest), 'smaller part')} together"
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
    return f"{float(format_score(after)) - float(format_score(before)):+.{DECIMALS}f}"


def describe_part(part: AttributionPart, max_characters: int = _MAX_LABEL_CHARACTERS) -> str:
    """Return a part in words, with the number of its reviews if there are several; a long label is cut between two labels."""
    label = one_line(part.label)
    if len(label) > max_characters:
        start, comma, _ = label[:max_characters].rpartition(", ")
        rest = label.removeprefix(start).count(", ")
        label = f"{start} + {number_of(rest, 'condition')}" if comma else f"{label[:max_characters]} …"
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


# --- what was read


def _describe_rest(explanation: ExplanationData, parts: Sequence[AttributionPart]) -> Iterator[str]:
    """Yield sentences about the parts in the table, and about missing facts."""
    attribution = explanation.attribution
    if attribution is not None and parts:
        yield "“On average” is over all orders of counting parts; “if left out” is the score without a part."
        yield from _describe_signs(attribution, [part for part in parts if part.source != "limit"])
    names = [missing.name for missing in explanation.missing]
    yield f"Missing facts: {', '.join(names) if names else 'none'}."


def _describe_signs(attribution: Attribution, parts: Sequence[AttributionPart]) -> Iterator[str]:
    """Yield which parts raise or lower the score on average, but not alone, or not beside all other parts."""
    is_limited = any(part.source == "limit" for part in attribution.parts)
    for sign, effect, opposite, other in ((1, "raise", "lower", "higher"), (-1, "lower", "raise", "lower")):
        own = [part for part in parts if sign * part.change > 0]
        alone = [part for part in own if sign * _subtract(part.alone, attribution.base) < 0]
        beside = [part for part in own if sign * _subtract(attribution.value, part.without) < 0]
        idle = [part for part in own if not is_limited and _subtract(attribution.value, part.without) == 0]
        cases = (
            (alone, f"alone {{}} would {opposite} it"),
            (beside, f"without {{}} it would be {other}"),
            (idle, "leaving out just {} changes nothing"),
        )
        for turned, ending in cases:
            if turned:
                names = join_words([part.code for part in turned], "and")
                verb, subject = (f"{effect}s", names) if len(turned) == 1 else (effect, "one of them")
                yield f"{names} {verb} the score on average, but {ending.format(subject)}."


def _subtract(score: float | None, other: float | None) -> float:
    """Return the difference of two scores as they are written; not a number if one is not known."""
    return math.nan if score is None or other is None else float(format_score(score)) - float(format_score(other))


def _describe_policy(explanation: ExplanationData) -> str:
    """Return who read how many reviews, and by which version of the policy they were scored."""
    run = explanation.run
    reader = run.get("extractor") or "extractor not named"
    policy = explanation.task
    if run.get("seed_version"):
        policy += f" {run['seed_version']}"
    if run.get("seed_sha256"):
        policy += f" ({str(run['seed_sha256'])[:7]})"
    attribution = explanation.attribution
    uncounted = ""
    if attribution is not None and attribution.uncounted:
        uncounted = f", {attribution.uncounted} counted by no condition"
    return f"{number_of(explanation.reviews, 'relevant review')} read ({reader}){uncounted}. Policy {policy}."
