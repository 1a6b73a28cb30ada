"""Build the blocks of an explanation: the verdict, its reasons, its counterfactuals, its computation, down to the reviews."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from formulaseed.explanation.evidence_text import (
    MAX_LISTED_REVIEWS,
    QUOTES_NOTE,
    EvidenceWriter,
    describe_filters,
    describe_missing,
    describe_zeros,
    is_zero,
    list_near_reviews,
)
from formulaseed.explanation.model import (
    MAX_ADDED_REVIEWS,
    MAX_LEFT_OUT_REVIEWS,
    Change,
    Comparison,
    Effect,
    ExplanationData,
    Fact,
    Match,
    Rule,
    Step,
)
from formulaseed.explanation.summary import build_part_items, build_summary_blocks, describe_changes, join_ways
from formulaseed.explanation.verdict import Shades, assign_shades, build_badge
from formulaseed.explanation.waterfall import build_waterfall
from formulaseed.pages.blocks import (
    Badge,
    Block,
    Details,
    Heading,
    InlineCode,
    Items,
    Line,
    ListItem,
    Mark,
    Paragraph,
    Table,
    Title,
)
from formulaseed.pages.values import format_plain, format_value
from formulaseed.source.printing import number_of, printable

_MAX_DEPTH = 16
"""Deeper steps are at this level, as lines have a limited width, and browsers nest no more than a few hundred elements."""
_MAX_LISTED_EFFECTS = 12
_MAX_LISTED_VERDICTS = 8
_SEARCH_NOTE = (
    f"Tried: each review left out, some combinations of up to {MAX_LEFT_OUT_REVIEWS}, "
    f"up to {MAX_ADDED_REVIEWS} reviews of one kind added, each parameter."
)


def build_title(explanation: ExplanationData, shades: Shades | None = None) -> Title:
    """Return the title: the restaurant with its verdict, or with the step that failed.

    `shades` has the CSS classes of verdicts; a verdict that it lacks has the class `other`, as all have if it is
    None.
    """
    error = explanation.error
    if error is not None:
        result = Badge(f"no result, because {error.step or 'its data'} failed", "failed")
    else:
        result = build_badge(explanation.verdict, shades or {})
    return Title(
        name=explanation.name or explanation.business_id,
        identifier=explanation.business_id,
        about=f"{explanation.task} · {explanation.business_id}",
        label=explanation.step,
        result=result,
    )


def build_text_blocks(explanation: ExplanationData) -> Iterator[Block]:
    """Yield the explanation for a terminal or a comment: with some reviews of each step, and counts of no reviews in one line."""
    yield build_title(explanation)
    yield from _build_error_blocks(explanation)
    yield from build_summary_blocks(explanation)
    if explanation.attribution is not None:
        yield Heading(f"The reviews of each part of {explanation.attribution.label}")
        yield Items([*build_part_items(explanation.attribution)])
    yield from _build_sections(explanation, {})
    yield from _build_evidence_blocks(explanation, EvidenceWriter(MAX_LISTED_REVIEWS), groups_zeros=True)


def build_summary_text_blocks(explanation: ExplanationData) -> Iterator[Block]:
    """Yield the first screen for a terminal, which says how to see the rest."""
    yield Paragraph(build_title(explanation).text)
    yield from _build_error_blocks(explanation)
    yield from build_summary_blocks(explanation, hint=" More: --steps, --format json.")


def build_page_blocks(
    explanation: ExplanationData, shades: Shades | None = None, max_reviews: int | None = None
) -> Iterator[Block]:
    """Yield the whole explanation for a page: the score as a chart, the facts, and all other sections as details.

    `shades` has the colours of verdicts; if it is None, the results of the rules get colours. At most `max_reviews`
    reviews have cards below the chart; None is no maximum.
    """
    if shades is None:
        shades = assign_shades([rule.result for rule in explanation.rules])
    attribution = explanation.attribution
    chart = build_waterfall(explanation, attribution, shades) if attribution is not None else None
    yield build_title(explanation, shades)
    yield from _build_error_blocks(explanation)
    yield from build_summary_blocks(explanation, shades=shades, chart=chart)
    if explanation.facts:
        yield Heading("Facts and parameters")
        yield Table(("", "name", "value"), [*map(_build_fact_row, explanation.facts)])
    evidence = _build_evidence_blocks(explanation, EvidenceWriter(None, max_reviews), groups_zeros=False)
    # without a chart the reviews are in sight
    if chart is None:
        yield from evidence
    outputs = [(InlineCode(name), format_value(value)) for name, value in explanation.outputs.items()]
    blocks = [*_build_sections(explanation, shades), *evidence, Heading("All outputs, and what made them")]
    blocks.append(Table(("name", "value"), [*outputs, *describe_run(explanation.run)]))
    headings = {position: block.text for position, block in enumerate(blocks) if isinstance(block, Heading)}
    for start, end in pairwise([*headings, len(blocks)]):
        yield Details(headings[start], tuple(blocks[start + 1 : end]))


def _build_fact_row(fact: Fact) -> tuple[str, ...]:
    """Return the cells of a fact: its words, its name and its value."""
    value = "missing" if fact.value is None else format_plain(fact.value)
    return fact.label, InlineCode(fact.name), value


def _build_sections(explanation: ExplanationData, shades: Shades) -> Iterator[Block]:
    """Yield the sections between the first screen and the reviews, each with its heading first."""
    yield Heading("The formulas")
    yield from map(Paragraph, explanation.because)
    yield from (Paragraph(describe_missing(missing, explanation.reviews)) for missing in explanation.missing)
    if explanation.rules:
        yield Heading(f"The rules of {explanation.step}")
        yield _build_rules_table(explanation.rules, shades)
    if explanation.rules and explanation.error is None:
        yield Heading("What would change it")
        yield Paragraph(_SEARCH_NOTE, "note")
        yield Items([*_build_change_items(explanation, shades), *map(ListItem, _describe_not_found(explanation))])
    if explanation.steps:
        yield Heading("How it was computed")
        yield Items([*_build_step_items(explanation)])
    yield from (Paragraph(_describe_match(match)) for match in explanation.lookups)


def _build_error_blocks(explanation: ExplanationData) -> Iterator[Block]:
    """Yield the failure with its step and its place in the seed; nothing if there is a verdict."""
    error = explanation.error
    if error is not None:
        step = f"{error.step}: " if error.step else ""
        place = f" ({error.place})" if error.place else ""
        yield Paragraph(f"{step}{error.kind}: {error.message}{place}", "failure")


# --- rules and changes


def _build_rules_table(rules: Sequence[Rule], shades: Shades) -> Table:
    """Return the table of rules with results and distances, the taken rule marked. One must be `taken`."""
    taken = next(number for number, rule in enumerate(rules) if rule.state == "taken")
    rows = [(rule.words or "otherwise", build_badge(rule.result, shades), describe_nearness(rule)) for rule in rules]
    return Table(("if", "then", "here"), rows, taken)


def describe_nearness(rule: Rule) -> str:
    """Return in words how far a rule is from holding: the left side of each comparison with its distance.

    Without comparisons, returns whether the rule holds; for one that was not reached, that. Empty for the last rule,
    which has no condition.
    """
    if rule.state == "not reached":
        return rule.state
    if rule.condition is None:
        return ""
    applies = "it applies" if rule.state == "taken" else "it does not apply"
    return "; ".join(map(_describe_distance, rule.comparisons)) or applies


def _describe_distance(comparison: Comparison) -> str:
    """Return the left side of a comparison with its distance from a number: `SCORE is 9.2, 1.2 above 8.0`.

    Without a distance, returns only the left side and its value.
    """
    value = f"{comparison.subject} is {format_plain(comparison.left_value)}"
    if comparison.distance is None or isinstance(comparison.right_value, list):
        return value
    if not comparison.distance:
        return f"{value}, exactly that"
    side = "above" if comparison.left_value > comparison.right_value else "below"  # type: ignore[operator]
    return f"{value}, {format_value(comparison.distance)} {side} {format_plain(comparison.right_value)}"


def _build_change_items(explanation: ExplanationData, shades: Shades) -> Iterator[ListItem]:
    """Yield an item for each other verdict, with all ways to it, and below each of them with the steps that it moves."""
    for sentence in describe_changes(explanation):
        yield ListItem((build_badge(sentence.verdict, shades), f" {join_ways(sentence.ways)}"))
        yield from (ListItem(_describe_change(change), 1) for change in sentence.changes)


def _describe_change(change: Change) -> str:
    """Return a change in words, with the steps whose values it changes, at most `_MAX_LISTED_EFFECTS`."""
    effects = [f"{name} {_describe_effect(effect)}" for name, effect in change.effects.items()]
    more = len(effects) - _MAX_LISTED_EFFECTS
    if more > 0:
        effects = [*effects[: _MAX_LISTED_EFFECTS - 1], f"and {more + 1} other steps"]
    return f"{change.text}: {', '.join(effects)}" if effects else change.text


def _describe_effect(effect: Effect) -> str:
    """Return a step's value before and after a change, with `(the default)` after the seed's default."""
    notes = {effect.default: " (the default)"}
    before = f"{format_value(effect.before)}{notes.get('before', '')}"
    return f"{before} to {format_value(effect.after)}{notes.get('after', '')}"


def _describe_not_found(explanation: ExplanationData) -> Iterator[str]:
    """Yield a text about each verdict to which no change was found; the list is cut after `_MAX_LISTED_VERDICTS`."""
    verdicts = explanation.not_found
    for verdict in verdicts[:_MAX_LISTED_VERDICTS]:
        yield f"{format_plain(verdict)}: none of these leads there"
    if len(verdicts) > _MAX_LISTED_VERDICTS:
        more = number_of(len(verdicts) - _MAX_LISTED_VERDICTS, "other verdict")
        yield f"and {more}: none of these leads there"


# --- the computation


def _build_step_items(explanation: ExplanationData) -> Iterator[ListItem]:
    """Yield the steps from the verdict down, each followed by the steps that it uses, at the next level.

    A step that occurs again is not expanded again. A filter is defined after the first step that names it.
    """
    steps = {step.name: step for step in explanation.steps}
    evidence = {part.step: part for part in explanation.evidence}
    defined: set[str] = set()
    seen: set[str] = set()
    stack = [(explanation.step, 0)]
    while stack:
        name, depth = stack.pop()
        step = steps[name]
        item_depth = min(depth, _MAX_DEPTH)
        value = (InlineCode(name), " = ", format_value(step.value))
        if name in seen:
            yield ListItem((*value, " (see above)"), item_depth)
            continue
        seen.add(name)
        stack += [(used, depth + 1) for used in reversed(step.uses)]
        yield ListItem((*value, _describe_default(step, steps)), item_depth, _describe_definition(step))
        for text in describe_filters(evidence[name]) if name in evidence else ():
            if text not in defined:
                defined.add(text)
                yield ListItem(text, item_depth + 1)


def _describe_definition(step: Step) -> Line:
    """Return the formula of a step and that with values; for a case the condition that holds and the definition.

    A constant has no formula, so its line is empty.
    """
    if step.kind == "case":
        taken = step.with_values or "no other rule applies"
        return ", as ", taken, ": ", InlineCode(step.definition)
    line = [] if step.kind == "constant" else [": ", InlineCode(step.definition)]
    if step.with_values:
        line += [" = ", InlineCode(step.with_values)]
    return tuple(line)


def _describe_default(step: Step, steps: Mapping[str, Step]) -> str:
    """Return why a value is the seed's default, or computed from one, as text to append; empty if it is neither."""
    if step.is_default:
        return f", the default, as {_describe_no_match(step)}"
    if not step.from_defaults:
        return ""
    reasons = dict.fromkeys(_describe_no_match(steps[name]) for name in step.from_defaults)
    return f" (from a default: {', '.join(reasons)})"


def _describe_no_match(step: Step) -> str:
    """Return why a lookup or an aggregate has its default."""
    return "no key matches" if step.kind == "lookup" else "no review counts"


def _describe_match(match: Match) -> Line:
    """Return the result of a lookup, with the key marked where it first occurs in the string that was searched.

    Without a key, says that the value is the default.
    """
    value = f"{match.step} is {format_value(match.value)}"
    if match.key is None:
        return f"{value}, the default: {match.source} is {match.text!r}, which has none of the keys."
    before, key, after = printable(match.text).partition(printable(match.key))
    ending = f"; it also has {', '.join(match.other_keys)}" if match.other_keys else ""
    # the quotes of a literal, without its escapes, in which the key would not be found
    return f"{value}: {match.source} is '{before}", Mark(key), f"{after}', which has {match.key}{ending}."


# --- the reviews


def _build_evidence_blocks(
    explanation: ExplanationData, writer: EvidenceWriter, *, groups_zeros: bool
) -> Iterator[Block]:
    """Yield the reviews behind each step; with `groups_zeros` a single last item has all counts and sums of no reviews.

    Steps without a condition and without reviews are left out; yields nothing if no step remains.
    """
    evidence = [part for part in explanation.evidence if part.condition is not None or part.reviews]
    if not evidence:
        return
    yield Heading(f"The reviews behind it, of {number_of(explanation.reviews, 'review')} extracted")
    quoters = {review.quoted_by for part in evidence for review in part.reviews}
    if quoters - {None, "extractor"}:
        yield Paragraph(QUOTES_NOTE, "note")
    zeros = [*filter(is_zero, evidence)] if groups_zeros else []
    items = [item for part in evidence if part not in zeros for item in writer.write(part)]
    if zeros:
        items.append(ListItem(describe_zeros(zeros)))
        items += [
            ListItem(f"{part.step}: not counted: {text}", 1) for part in zeros for text in list_near_reviews(part)
        ]
    yield Items(items)


def describe_run(run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield pairs of a name and a value from a `run`: seed, module if edited, parameters, extractor, sample.

    Entries that are missing or empty are left out.
    """
    if run.get("seed_sha256"):
        version = f", version {run['seed_version']}" if run.get("seed_version") else ""
        yield "seed", f"sha256 {run['seed_sha256'][:12]}…{version}"
    if run.get("edited"):
        yield "module", "edited by hand"
    yield from ((f"param.{name}", format_value(value)) for name, value in (run.get("parameters") or {}).items())
    if run.get("extractor"):
        yield "extractor", str(run["extractor"])
    if run.get("sample"):
        yield "sample", f"{run['sample']['reviews']:,} of {number_of(run['sample']['of'], 'relevant review')}"
