"""An explanation in words: the verdict, why, what would change it, and how it was computed, down to the reviews."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from formulaseed.diagnostics.model import number_of
from formulaseed.explanation.counted import (
    MOST_LISTED,
    NO_QUOTES,
    amount_text,
    counted_text,
    exclusion_texts,
    fields_text,
    filter_texts,
    is_zero,
    missing_text,
    near_texts,
    others_text,
    review_text,
    zero_text,
)
from formulaseed.explanation.model import (
    MOST_FEWER,
    MOST_MORE,
    Change,
    Comparison,
    Effect,
    Evidence,
    Explanation,
    Match,
    Review,
    Rule,
    Step,
)
from formulaseed.language.aggregates import AGGREGATES
from formulaseed.pages.blocks import Block, Heading, Items, Paragraph, Table, as_markdown, as_text
from formulaseed.pages.values import format_plain, format_value

_DEEPEST = 16
"""Steps that are deeper are shown at this level: lines have an end, and browsers nest no more than some hundred elements."""
_EFFECTS = 12
"""So many steps that a change moves are shown in words; the JSON has them all."""

_VERDICTS = 8
SEARCHED = (
    f"Tried: each review left out, some combinations of up to {MOST_FEWER}, "
    f"up to {MOST_MORE} reviews of one kind added, each parameter."
)


def text(found: Explanation) -> str:
    """Return the explanation for a terminal."""
    return as_text([*blocks(found)])


def markdown(found: Explanation) -> str:
    """Return the explanation as Markdown."""
    return as_markdown([*blocks(found)])


def headline(found: Explanation) -> str:
    """Return the restaurant and its verdict."""
    name = f"{found.name} ({found.business_id})" if found.name else found.business_id
    if found.error is not None:
        return f"{name}: no result, because {found.error.step or 'its data'} failed"
    return f"{name}: {format_plain(found.verdict)}"


def brief(found: Explanation) -> Iterator[Block]:
    """Yield the reasons, what would change the verdict, and some of the reviews behind it."""
    for sentence in found.because:
        yield Paragraph(sentence)
    if found.changes:
        yield Items([*_change_items(found)])
    seen: set[str] = set()
    for evidence in sorted(found.evidence, key=lambda each: not AGGREGATES[each.function].counts):
        new = [review for review in evidence.reviews if review.quote is not None and review.review_id not in seen]
        seen.update(review.review_id for review in new)
        if new and len(new) < found.reviews and len(seen) <= MOST_LISTED:
            yield Items([(0, f"{evidence.step}: {review_text(review)}") for review in new])


def blocks(found: Explanation) -> Iterator[Block]:
    """Yield the explanation's parts, the verdict first."""
    yield Heading(headline(found), 1)
    if found.error is not None:
        where = f" ({found.error.place})" if found.error.place else ""
        step = f"{found.error.step}: " if found.error.step else ""
        yield Paragraph(f"{step}{found.error.kind}: {found.error.message}{where}")
    for sentence in (*found.because, *(missing_text(each, found.reviews) for each in found.missing)):
        yield Paragraph(sentence)
    if found.rules:
        yield Heading(f"The rules of {found.step}")
        rows = []
        for rule in found.rules:
            near = nearness(rule)
            rows.append([rule.condition or "otherwise", format_plain(rule.result), near])
        taken = next(number for number, rule in enumerate(found.rules) if rule.state == "taken")
        yield Table(["if", "then", "here"], rows, taken)
    if found.rules and found.error is None:
        yield Heading("What would change it")
        yield Paragraph(SEARCHED)
        yield Items([*_change_items(found), *((0, text) for text in not_found_texts(found))])
    yield Heading("How it was computed")
    yield Items([*_tree_items(found)])
    for match in found.lookups:
        yield Paragraph(match_text(match))
    behind = [each for each in found.evidence if each.condition is not None or each.reviews]
    if behind:
        yield Heading(f"The reviews behind it, of {number_of(found.reviews, 'review')} extracted")
    if has_no_quotes(found):
        yield Paragraph(NO_QUOTES)
    seen: dict[str, set[str]] = {}
    defined: set[str] = set()
    none = [each for each in behind if is_zero(each)]
    for evidence in behind:
        if not is_zero(evidence):
            yield Items([*evidence_items(evidence, seen, defined)])
    if none:
        missed = ((1, f"{each.step}: not counted: {text}") for each in none for text in near_texts(each))
        yield Items([(0, zero_text(none)), *missed])


def has_no_quotes(found: Explanation) -> bool:
    """Return whether something of a text is shown that the extractor did not quote."""
    return any(review.quoted_by not in (None, "extractor") for each in found.evidence for review in each.reviews)


def nearness(rule: Rule) -> str:
    """Return how near a rule is to holding, or that it was not reached."""
    if rule.state == "not reached":
        return rule.state
    if rule.condition is None:
        return ""
    return "; ".join(map(distance, rule.comparisons)) or ("it holds" if rule.state == "taken" else "it does not hold")


def distance(comparison: Comparison) -> str:
    """Return how near a comparison is: `9.2 is 1.2 above 8.0`."""
    value = f"{comparison.left} is {format_value(comparison.left_value)}"
    if comparison.distance is None or isinstance(comparison.right_value, list):
        return value
    side = "above" if comparison.left_value > comparison.right_value else "below"  # type: ignore[operator]
    how = (
        f"{format_value(comparison.distance)} {side} {comparison.right}"
        if comparison.distance
        else f"exactly {comparison.right}"
    )
    return f"{value}, {how}"


def _change_items(found: Explanation) -> Iterator[tuple[int, str]]:
    yield from ((0, f"{format_plain(change.verdict)} {change_text(change)}") for change in found.changes)


def change_text(change: Change) -> str:
    """Return a change in words, with the steps that it moves."""
    moved = [f"{name} {_effect_text(effect)}" for name, effect in change.effects.items()]
    if len(moved) > _EFFECTS:
        moved = [*moved[: _EFFECTS - 1], f"and {len(moved) - _EFFECTS + 1} other steps"]
    return change.text + (f": {', '.join(moved)}" if moved else "")


def not_found_texts(found: Explanation) -> Iterator[str]:
    """Yield to which verdicts no change was found."""
    yield from (f"{format_plain(verdict)}: none of these leads there" for verdict in found.not_found[:_VERDICTS])
    if len(found.not_found) > _VERDICTS:
        yield f"and {number_of(len(found.not_found) - _VERDICTS, 'other verdict')}: none of these leads there"


def _effect_text(effect: Effect) -> str:
    before, after = (
        f"{format_value(value)} (the default)" if effect.default == when else format_value(value)
        for value, when in ((effect.before, "before"), (effect.after, "after"))
    )
    return f"{before} to {after}"


def tree(found: Explanation) -> Iterator[tuple[int, Step, bool]]:
    """Yield the steps from the verdict down, each with its depth, and whether it came before; then what it uses is left out."""
    steps = {step.name: step for step in found.steps}
    seen: set[str] = set()
    stack = [(found.step, 0)] if steps else []
    while stack:
        name, depth = stack.pop()
        yield min(depth, _DEEPEST), steps[name], name in seen
        if name not in seen:
            seen.add(name)
            stack += [(used, depth + 1) for used in reversed(steps[name].uses)]


def _tree_items(found: Explanation) -> Iterator[tuple[int, str]]:
    """The steps of the tree as lines, each filter explained below the first step that names it."""
    evidence = {each.step: each for each in found.evidence}
    defined: set[str] = set()
    steps = {step.name: step for step in found.steps}
    for depth, step, is_repeated in tree(found):
        yield depth, f"{step.name} = {format_value(step.value)} (see above)" if is_repeated else step_line(step, steps)
        for text in filter_texts(evidence[step.name]) if step.name in evidence else ():
            if text not in defined:
                defined.add(text)
                yield depth + 1, text


def step_line(step: Step, steps: Mapping[str, Step]) -> str:
    """Return a step with its value, its formula, and the formula with values; `steps` are all of them."""
    line = f"{step.name} = {format_value(step.value)}{default_note(step, steps)}"
    if step.kind == "case":
        return f"{line}, as {step.with_values or 'no rule holds'}: {step.definition}"
    line += f": {step.definition}" if step.kind != "constant" else ""
    return f"{line} = {step.with_values}" if step.with_values else line


def default_note(step: Step, steps: Mapping[str, Step]) -> str:
    """Return why a value is the seed's default, or made from one; nothing where it is not."""
    if step.is_default:
        return f", the default, as {_no_match(step)}"
    reasons = dict.fromkeys(_no_match(steps[name]) for name in step.from_defaults)
    return f" (from a default: {', '.join(reasons)})" if reasons else ""


def _no_match(step: Step) -> str:
    return "no key matches" if step.kind == "lookup" else "no review counts"


def match_text(match: Match) -> str:
    """Return what a lookup found, and where."""
    if match.key is None:
        lead = f"{match.step} is {format_value(match.value)}, the default"
        return f"{lead}: {match.source} is {match.text!r}, which has none of the keys."
    others = f"; it also has {', '.join(match.other_keys)}" if match.other_keys else ""
    return (
        f"{match.step} is {format_value(match.value)}: {match.source} is {match.text!r}, which has {match.key}{others}."
    )


def evidence_items(evidence: Evidence, seen: dict[str, set[str]], defined: set[str]) -> Iterator[tuple[int, str]]:
    """Yield a step over reviews with the reviews that count, and why others do not.

    Of a review that was `seen` with the same words only the id and other fields than those seen with it are repeated; filters
    that were `defined` are not again.
    """
    condition = f" {evidence.condition}" if evidence.condition is not None else ""
    yield 0, f"{evidence.step} = {format_value(evidence.value)}{counted_text(evidence)}{condition}"
    for text in filter_texts(evidence):
        if text not in defined:
            defined.add(text)
            yield 1, text
    known = [review for review in evidence.reviews if _key(review) in seen]
    new = [review for review in evidence.reviews if _key(review) not in seen]
    again: dict[str, list[Review]] = {}
    for review in known:
        added = {name: value for name, value in review.fields.items() if name not in seen[_key(review)]}
        again.setdefault(fields_text(added), []).append(review)
    for review in evidence.reviews:
        seen.setdefault(_key(review), set()).update(review.fields)
    for review in new[:MOST_LISTED]:
        yield 1, review_text(review) + amount_text(evidence, review)
    if len(new) > MOST_LISTED:
        yield 1, f"and {len(new) - MOST_LISTED} more"
    for values, reviews in [*again.items()][:MOST_LISTED]:
        ids = ", ".join(review.review_id + amount_text(evidence, review) for review in reviews[:MOST_LISTED])
        more = " and more" if len(reviews) > MOST_LISTED else ""
        yield 1, f"{ids}{more} (see above){f': {values}' if values else ''}"
    if len(again) > MOST_LISTED:
        yield 1, f"and {sum(len(each) for each in [*again.values()][MOST_LISTED:])} more (see above)"
    if (others := others_text(evidence)) is not None:
        yield 1, others
    yield from ((1, text) for text in exclusion_texts(evidence))


def _key(review: Review) -> str:
    return f"{review.review_id} {review.quote}"
