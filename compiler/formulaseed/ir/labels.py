"""Names steps, fields and parameters for people: by their labels or, without one, by words from their names."""

from __future__ import annotations

import re

from formulaseed.ir import nodes
from formulaseed.ir.text import step_text

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[A-Z]+|[^A-Za-z0-9_]+")
_COUNT_WORDS = ("n", "num", "count")

Labelled = nodes.Step | nodes.ExtractionField | nodes.InputField | nodes.Parameter


def label_of(item: Labelled) -> str:
    """Return the label of a step, field or parameter; without one the words of its name, such as "final risk score".

    The name of a count loses a word in front that says only that it counts: `N_SEVERE` is "severe".
    """
    if item.label is not None:
        return item.label
    words = [word.lower() for word in _WORD.findall(item.name)]
    is_count = isinstance(item, nodes.Step) and item.aggregate is not None and item.aggregate.entry.counts
    if is_count and len(words) > 1 and words[0] in _COUNT_WORDS:
        del words[0]
    return " ".join(words) or item.name


def map_labels(program: nodes.Program) -> dict[str, str]:
    """Map the name of each step that has a label to the label."""
    return {step.name: step.label for step in program.steps if step.label is not None}


def describe_words(item: Labelled) -> str:
    """Return the label and the unit that a seed gives, such as "longest wait, in minutes"; empty if it gives neither."""
    unit = f"in {item.unit}" if item.unit else ""
    return ", ".join(part for part in (item.label, unit) if part)


def describe_step(step: nodes.Step) -> str:
    """Return the operation of a step in words, after its label and unit, if the seed gives them."""
    return ": ".join(part for part in (describe_words(step), step_text(step)) if part)
