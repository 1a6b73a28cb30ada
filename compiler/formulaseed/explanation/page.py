"""Build the blocks of an explanation for a page: the score as a chart with its reviews, and everything else folded below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from formulaseed.explanation.evidence_text import EvidenceWriter
from formulaseed.explanation.model import ExplanationData, Fact
from formulaseed.explanation.summary import build_notes, build_rule_blocks, describe_changes, describe_score
from formulaseed.explanation.text import build_error_blocks, build_sections, build_title, describe_run
from formulaseed.explanation.verdict import Shades, assign_shades, build_badge
from formulaseed.explanation.waterfall import build_waterfall
from formulaseed.pages.blocks import Block, Details, Heading, InlineCode, Items, Line, ListItem, Paragraph, Table
from formulaseed.pages.values import format_plain, format_value

_MAX_LISTED_CHANGES = 5


def build_page_blocks(
    explanation: ExplanationData, shades: Shades | None = None, max_reviews: int | None = None
) -> Iterator[Block]:
    """Yield the whole explanation for a page, with the outputs and the versions that produced them.

    `shades` has the colours of verdicts; if it is None, the results of the rules get colours. At most `max_reviews`
    reviews have cards; None is no maximum.
    """
    if shades is None:
        shades = assign_shades([rule.result for rule in explanation.rules])
    writer = EvidenceWriter(None, max_reviews)
    attribution = explanation.attribution
    yield build_title(explanation, shades)
    yield from build_error_blocks(explanation)
    if attribution is None:
        yield from build_rule_blocks(explanation)
    else:
        yield Paragraph(describe_score(attribution, explanation.rules, shades))
        yield build_waterfall(explanation, attribution, shades, writer)
    yield from build_notes(explanation)
    changes = [*describe_changes(explanation)][:_MAX_LISTED_CHANGES]
    if changes:
        yield Heading("Nearest changes")
        yield Items([ListItem(_mark_verdict(text, shades)) for text in changes])
    if explanation.facts:
        yield Heading("Facts and parameters")
        yield Table(("", "name", "value"), [*map(_build_fact_row, explanation.facts)])
    sections = build_sections(explanation, writer, shades, groups_zeros=False)
    # without a chart the sections have all there is to see
    yield from sections if attribution is None else _fold(sections)
    yield from _fold(_build_outputs(explanation))


def _build_fact_row(fact: Fact) -> tuple[str, ...]:
    """Return the cells of a fact: its words, its name and its value."""
    value = "missing" if fact.value is None else format_plain(fact.value)
    return fact.label, InlineCode(fact.name), value


def _mark_verdict(text: str, shades: Shades) -> Line:
    """Return a sentence about a change with the verdict at its beginning as a badge, if it begins with one."""
    names = {format_plain(verdict): verdict for verdict in shades if text.startswith(f"{format_plain(verdict)} ")}
    if not names:
        return text
    name = max(names, key=len)
    return build_badge(names[name], shades), text.removeprefix(name)


def _build_outputs(explanation: ExplanationData) -> Iterator[Block]:
    """Yield the section of the outputs and the versions that produced them."""
    yield Heading("All outputs, and what made them")
    outputs = [(InlineCode(name), format_value(value)) for name, value in explanation.outputs.items()]
    yield Table(("name", "value"), [*outputs, *describe_run(explanation.run)])


def _fold(sections: Iterable[Block]) -> Iterator[Details]:
    """Yield each section, which begins with a heading, as details with that heading as their summary."""
    summary = ""
    blocks: list[Block] = []
    for block in sections:
        if isinstance(block, Heading):
            if blocks:
                yield Details(summary, tuple(blocks))
            summary = block.text
            blocks = []
        else:
            blocks.append(block)
    if blocks:
        yield Details(summary, tuple(blocks))
