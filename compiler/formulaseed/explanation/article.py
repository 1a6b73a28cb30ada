"""An explanation laid out for a browser: the verdict and the reasons first, then rules, changes, computation, reviews.

In: an explanation. Out: elements, which `report.pages` makes a page of, or data of a page of many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from formulaseed.diagnostics.model import number_of
from formulaseed.explanation.counted import (
    NO_QUOTES,
    QUOTED,
    counted_text,
    exclusion_texts,
    filter_texts,
    missing_text,
    others_text,
)
from formulaseed.explanation.elements import Element, element
from formulaseed.explanation.model import Evidence, Explanation, Match, Review, Rule, Step
from formulaseed.explanation.story import (
    SEARCHED,
    change_text,
    default_note,
    has_no_quotes,
    nearness,
    not_found_texts,
    tree,
)
from formulaseed.language.types import Value
from formulaseed.pages.values import format_plain, format_value

_SHADES = 5
"""Verdicts have so many colours at most, in the order of the policy; their names tell them apart."""
_OPEN = 3
"""So many levels of the computation are open at first."""


def shades(verdicts: Sequence[Value]) -> dict[Value, str]:
    """Return the class of each verdict: `v0` for the first of them in the policy's order, `v4` for the last."""
    listed = list(dict.fromkeys(verdicts))
    last = max(len(listed) - 1, 1)
    return {verdict: f"v{round(place / last * (_SHADES - 1))}" for place, verdict in enumerate(listed)}


def badge(verdict: Value, classes: dict[Value, str]) -> Element:
    """Return a verdict with its colour."""
    return element(f"span.badge.{classes.get(verdict, 'other')}", format_plain(verdict))


def article(found: Explanation, classes: dict[Value, str] | None = None, most_reviews: int | None = None) -> Element:
    """Lay out an explanation. `classes` are the colours of verdicts, by default those of its rules; of more than
    `most_reviews` the others are counted."""
    classes = shades([rule.result for rule in found.rules]) if classes is None else classes
    parts = [_header(found, classes)]
    if found.error is not None:
        parts.append(_failure(found))
    sentences = [*found.because, *(missing_text(each, found.reviews) for each in found.missing)]
    if sentences:
        reasons = [element("li", sentence) for sentence in sentences]
        parts.append(element("section.why", element("h2", "Why"), element("ol", *reasons)))
    if found.rules:
        rules = [_rule(rule, classes) for rule in found.rules]
        parts.append(
            element("section.rules", element("h2", f"The rules of {found.step}, in order"), element("ol", *rules))
        )
    if found.rules and found.error is None:
        parts.append(_changes(found, classes))
    if found.steps:
        parts.append(_computation(found))
    if any(each.condition is not None or each.reviews for each in found.evidence):
        parts.append(_reviews(found, most_reviews))
    parts.append(_details(found))
    return element("article.explanation", *parts)


def _header(found: Explanation, classes: dict[Value, str]) -> Element:
    result = element("span.badge.failed", "failed") if found.error is not None else badge(found.verdict, classes)
    return element(
        "header",
        element("p.over", f"{found.task} · {found.business_id}"),
        element("h1", found.name or found.business_id, tabindex="-1"),
        element("p.result", element("span", f"{found.step} "), result),
    )


def _failure(found: Explanation) -> Element:
    error = found.error
    assert error is not None
    place = element("p", element("code", error.place)) if error.place else None
    said = f"{error.step} failed: {error.kind.replace('_', ' ')}: {error.message}" if error.step else error.message
    return element("section.failure", element("h2", "Why there is no result"), element("p", said), place)


def _rule(rule: Rule, classes: dict[Value, str]) -> Element:
    """A rule with its verdict, and how near it is."""
    condition = element("code", rule.condition) if rule.condition is not None else element("span", "otherwise")
    what = element("p.rule", element("span.when", "if " if rule.condition is not None else "", condition),
                   badge(rule.result, classes))  # fmt: skip
    near = nearness(rule)
    if rule.state == "not reached":
        return element("li.unreached", what, element("p.near", near))
    if rule.state == "taken":
        return element("li.taken", what, element("p.near", element("strong", "This one applies"), f" {near}".rstrip()))
    return element("li", what, element("p.near", near))


def _changes(found: Explanation, classes: dict[Value, str]) -> Element:
    items = [element("li", badge(change.verdict, classes), f" {change_text(change)}") for change in found.changes]
    items += [element("li", text) for text in not_found_texts(found)]
    heading = element("h2", "What would change it")
    return element("section.changes", heading, element("p.note", SEARCHED), element("ul", *items))


# --- the computation


@dataclass(slots=True)
class _Branch:
    """A step of the tree with those below it."""

    depth: int
    step: Step
    is_repeated: bool
    note: str
    below: list[_Branch] = field(default_factory=list)


def _computation(found: Explanation) -> Element:
    matches = {match.step: match for match in found.lookups}
    steps = {step.name: step for step in found.steps}
    top: list[_Branch] = []
    levels = [top]
    for depth, step, is_repeated in tree(found):
        branch = _Branch(depth, step, is_repeated, default_note(step, steps))
        del levels[branch.depth + 1 :]
        levels[-1].append(branch)
        levels.append(branch.below)
    rest = element("ul.steps", *(_step(branch, matches) for branch in top))
    return element("section.computation", element("h2", "How it was computed"), rest)


def _step(branch: _Branch, matches: dict[str, Match]) -> Element:
    step = branch.step
    if branch.is_repeated:
        return element("li.repeated", *_equation(step.name, step.value), element("span.note", "see above"))
    said = [element("code", step.definition)] if step.kind != "constant" else []
    if branch.note:
        said.insert(0, element("span.note", branch.note.strip(", ()")))
    if step.with_values is not None:
        said.append(element("code.values", f"{'taken: ' if step.kind == 'case' else '= '}{step.with_values}"))
    elif step.kind == "case":
        said.append(element("span.note", "no rule holds"))
    if step.name in matches:
        said.append(_match(matches[step.name]))
    if not branch.below:
        return element("li", element("div.leaf", *_equation(step.name, step.value)), *_formulas(said))
    below = element("ul.steps", *(_step(each, matches) for each in branch.below))
    is_open = {"open": ""} if branch.depth < _OPEN else {}
    inside = element(
        "details", element("summary", *_equation(step.name, step.value)), *_formulas(said), below, **is_open
    )
    return element("li", inside)


def _equation(name: str, value: Value) -> tuple[Element, ...]:
    return element("span.name", name), element("span", " = "), element("span.value", format_value(value))


def _formulas(said: Sequence[Element]) -> Iterator[Element]:
    if said:
        yield element("div.formulas", *said)


def _match(match: Match) -> Element:
    """What a lookup found, marked where it is."""
    if match.key is None or match.start is None:
        return element("span.match", f"{match.source} is “{match.text}”, which has none of the keys: the default")
    before, after = match.text[: match.start], match.text[match.start + len(match.key) :]
    others = f"; it also has {', '.join(match.other_keys)}" if match.other_keys else ""
    return element("span.match", f"{match.source} is “{before}", element("mark", match.key), f"{after}”{others}")


# --- the reviews


@dataclass(slots=True)
class _Card:
    """A review with all that counts it."""

    review: Review
    fields: dict[str, Value] = field(default_factory=dict)
    quotes: dict[tuple[str, str], None] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)


def _reviews(found: Explanation, most: int | None) -> Element:
    """Which reviews count, by step; then each of them once, with what it says."""
    behind = [each for each in found.evidence if each.condition is not None or each.reviews]
    cards: dict[str, _Card] = {}
    for evidence in behind:
        for review in evidence.reviews:
            card = cards.setdefault(review.review_id, _Card(review))
            card.fields |= review.fields
            card.quotes |= (
                {(QUOTED[review.quoted_by], review.quote or ""): None} if review.quoted_by is not None else {}
            )
            card.steps.append(evidence.step)
    listed = [*cards.values()][:most]
    parts = [
        element("h2", "The reviews behind it"),
        element("p", f"{number_of(found.reviews, 'review')} extracted; {len(cards)} of them count in a step below."),
        element("ul.counts", *map(_evidence, behind)),
    ]
    if has_no_quotes(found):
        parts.append(element("p.note", NO_QUOTES))
    if listed:
        parts.append(element("ul.cards", *map(_card, listed)))
    if len(listed) < len(cards):
        parts.append(element("p.note", f"and {len(cards) - len(listed)} more; formulaseed explain shows all of them."))
    return element("section.reviews", *parts)


def _evidence(evidence: Evidence) -> Element:
    """A step over reviews: how many count, what its filters mean, and why the others do not count."""
    condition = [element("code", evidence.condition)] if evidence.condition is not None else []
    line = (*_equation(evidence.step, evidence.value), element("span.note", counted_text(evidence)), *condition)
    more = [*filter_texts(evidence), *filter(None, [others_text(evidence)]), *exclusion_texts(evidence)]
    if not more:
        return element("li", element("div.leaf", *line))
    return element(
        "li", element("details", element("summary", *line), element("ul", *(element("li", t) for t in more)))
    )


def _card(card: _Card) -> Element:
    review = card.review
    stars = (
        f"{format_value(review.stars)} {'star' if review.stars == 1 else 'stars'}" if review.stars is not None else None
    )
    about = " · ".join(part for part in (review.date, stars, review.review_id) if part)
    fields = [
        element("span.field", f"{name} ", element("b", format_plain(value))) for name, value in card.fields.items()
    ]
    return element(
        "li.card",
        element("p.about", about),
        *(element("blockquote", *([element("span.note", how)] if how else []), quote) for how, quote in card.quotes),
        *([element("p.fields", *fields)] if fields else []),
        element("p.note", f"counts in {', '.join(card.steps)}"),
    )


def _details(found: Explanation) -> Element:
    """All outputs, and what they were made with."""
    lines = [*((name, format_value(value)) for name, value in found.outputs.items()), *made_with(found.run)]
    pairs = [element("div", element("dt", name), element("dd", value)) for name, value in lines]
    return element("section.outputs", element("h2", "All outputs, and what made them"), element("dl", *pairs))


def made_with(run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what results were made with, by name, as their `run` has it."""
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
