"""Mends in a seed's text what is certain: a name that is meant, and the order of the steps.

In: the text with its diagnostics. Out: the text with the changes, everything else as the author laid it out.
"""

from __future__ import annotations

from collections.abc import Iterable

from formulaseed.diagnostics.model import Diagnostic
from formulaseed.frontends.sorting import dependency_order
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonValue
from formulaseed.syntax import surface


def with_names_fixed(text: str, diagnostics: Iterable[Diagnostic]) -> str:
    """The text with every certain change made; of two that overlap the first."""
    fixes = {(d.fix.span.start, d.fix.span.end): d.fix.text for d in diagnostics if d.fix is not None}
    parts: list[str] = []
    last = 0
    for (start, end), new in sorted(fixes.items()):
        if start >= last:
            parts += [text[last:start], new]
            last = end
    return "".join([*parts, text[last:]])


def with_steps_sorted(text: str, tree: JsonValue, program: surface.Program) -> str:
    """The text with the steps in dependency order; unchanged where there is none, or a step could not be read."""
    compute = tree.get(program.steps_key) if isinstance(tree, JsonObject) else None
    if not isinstance(compute, JsonArray) or len(compute.items) != len(program.written_steps()):
        return text
    order, stuck = dependency_order(program)
    if stuck is not None:
        return text
    spans = [item.span for item in compute.items]
    parts: list[str] = []
    last = 0
    for slot, index in zip(spans, order, strict=True):
        parts += [text[last : slot.start], text[spans[index].start : spans[index].end]]
        last = slot.end
    return "".join([*parts, text[last:]])
