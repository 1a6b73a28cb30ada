"""Tables of lookups: entries that others hide, and entries whose value is the default."""

from __future__ import annotations

from formulaseed.diagnostics.catalogue import lint as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.language.printer import value_text
from formulaseed.seed import surface

_COMPARED_KEYS = 1_000
"""In a larger table keys are not compared with one another: the time grows with their square."""


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
            if other is entry or not shorter or shorter not in key or not _hides(other, entry, lookup.match):
                continue
            value = value_text(other.value.value) if lookup.match == "substring_max" else ""
            problems.report(catalogue.hidden_key(entry.key.span, key, shorter, value))
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
        is_exact = lookup.match == "exact"
        problems.report(catalogue.entry_is_default(entry.key.span, entry.key.text, value_text(value), is_exact))
