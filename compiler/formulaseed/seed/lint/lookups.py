"""Tables of lookups: entries that others hide, and entries that say what the default says."""

from __future__ import annotations

from formulaseed.diagnostics.model import Problems
from formulaseed.language.printer import value_text
from formulaseed.seed import surface

_COMPARED_KEYS = 1_000
"""In a larger table keys are not held against one another: it takes time that grows with their square."""


def lint_lookups(written: surface.Program, problems: Problems) -> None:
    for step in written.steps:
        if isinstance(step.operation, surface.Lookup):
            _overlaps(step.operation, problems)
            _defaults(step.operation, problems)


def _overlaps(lookup: surface.Lookup, problems: Problems) -> None:
    if lookup.match == "exact" or len(lookup.table) > _COMPARED_KEYS:
        return
    for index, entry in enumerate(lookup.table):
        key = entry.key.text
        others = lookup.table[:index] if lookup.match == "substring_first" else lookup.table
        for other in others:
            shorter = other.key.text
            if other is entry or shorter not in key or not _hides(other, entry, lookup.match):
                continue
            message = f"`{key}` decides nothing: wherever it is found, `{shorter}` is found too"
            if lookup.match == "substring_first":
                message += ", and stands before it"
                help = f"put `{key}` before `{shorter}`, or remove it"
            else:
                message += f", and gives {value_text(other.value.value)}"
                help = f"give `{key}` a higher value, or remove it"
            problems.add("FS618", entry.key.span, message, help)
            break


def _hides(shorter: surface.Entry, entry: surface.Entry, match: str) -> bool:
    if match == "substring_first":
        return True
    high, low = shorter.value.value, entry.value.value
    return isinstance(high, int | float) and isinstance(low, int | float) and high >= low


def _defaults(lookup: surface.Lookup, problems: Problems) -> None:
    default = lookup.default.value if lookup.default is not None else None
    if default is None:
        return
    for entry in lookup.table:
        value = entry.value.value
        if value != default or isinstance(value, bool) is not isinstance(default, bool):
            continue
        message = f"`{entry.key.text}` gives {value_text(value)}, which is the default"
        if lookup.match == "exact":
            message, help = f"{message}: the entry changes nothing", "remove the entry, or change its value"
        else:
            message = f"{message}: it matters only where another key is found too"
            help = "remove the entry, change its value, or allow this where several keys are found"
        problems.add("FS619", entry.key.span, message, help)
