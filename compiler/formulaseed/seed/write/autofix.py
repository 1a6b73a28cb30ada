"""Fixes mistakes in a seed's text that can only mean one thing: misspelt names, and the order of the steps.

In: the text with its diagnostics. Out: the text with the changes; the rest keeps the author's layout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from formulaseed.diagnostics.model import Diagnostic
from formulaseed.seed import surface
from formulaseed.seed.write.canonical import find_dependency_order
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonValue
from formulaseed.source.text import Span

_DUPLICATE_CODES = ("FS005", "FS203")
_UNKNOWN_NAME_CODES = ("FS201", "FS204")
_CONSTANT_CODES = ("FS603", "FS607", "FS608", "FS610")
"""Warnings of constant results: after a fix they suggest that a name was replaced by the wrong one."""


def choose_fixes(diagnostics: Collection[Diagnostic], program: surface.Program | None) -> list[Diagnostic]:
    """Return the diagnostics whose suggestions are safe to apply, in file order; the first of any that overlap.

    There are none if a name is defined twice. With a `program`, uses of a definition that may itself be misspelt are
    left out.
    """
    if any(d.code in _DUPLICATE_CODES for d in diagnostics):
        return []
    fixable = {(d.span, d.suggestion): d for d in diagnostics if d.is_fixable}.values()
    doubtful = _find_doubtful_uses(fixable, program) if program is not None else []
    chosen: list[Diagnostic] = []
    for d in sorted(fixable, key=lambda d: (d.span.start, d.span.end)):
        if (not chosen or d.span.start >= chosen[-1].span.end) and d not in doubtful:
            chosen.append(d)
    return chosen


def _find_doubtful_uses(fixable: Collection[Diagnostic], program: surface.Program) -> list[Diagnostic]:
    """Return the diagnostics of names that may be right, because the definition that they suggest is never used.

    Such a name is used several times or is an output, so that the definition may be the misspelt one.
    """
    unused = _find_unused_names(program)
    returned = {name.text for name in program.output}
    uses = Counter(_read_name(d.span) for d in fixable if d.code in _UNKNOWN_NAME_CODES)
    frequent = returned.union(name for name, count in uses.items() if count > 1)
    return [d for d in fixable if _strip_name(_get_replacement(d)) in unused and _read_name(d.span) in frequent]


def _read_name(span: Span) -> str:
    """Return the name written at `span`, without quotes, `$` and namespace."""
    return _strip_name(span.source.text[span.start : span.end])


def _get_replacement(problem: Diagnostic) -> str:
    """Return the replacement that a diagnostic suggests. Raises `AssertionError` if it suggests none."""
    assert problem.suggestion is not None
    return problem.suggestion.replacement


def _find_unused_names(program: surface.Program) -> set[str]:
    """Return the names, without their namespaces, that the program defines but never uses."""
    names = {*(_strip_name(name) for name in program.declared_at), *(step.name.text for step in program.steps)}
    mentioned = {
        _strip_name(name) for step in (*program.steps, *program.nameless) for name in step.find_mentioned_names()
    }
    return names - mentioned - {name.text for name in program.output}


def _strip_name(name: str) -> str:
    """Return a name as it is written in a file without quotes, `$` and namespace."""
    return name.strip("\"'$").rpartition(".")[2].removeprefix("$")


def apply_fixes(text: str, diagnostics: Iterable[Diagnostic]) -> str:
    """Return the text with the suggestion of each diagnostic applied; they must be in order and not overlap.

    Raises `AssertionError` for a diagnostic without a suggestion.
    """
    return _replace(text, [(d.span, _get_replacement(d)) for d in diagnostics])


def _replace(text: str, changes: Iterable[tuple[Span, str]]) -> str:
    """Return the text with each span replaced by its string; the spans must be in order and not overlap."""
    parts: list[str] = []
    last = 0
    for span, replacement in changes:
        parts += [text[last : span.start], replacement]
        last = span.end
    return "".join([*parts, text[last:]])


def is_fixed(before: Iterable[Diagnostic], after: Iterable[Diagnostic]) -> bool:
    """Return True if a change removed errors, added no error, and added no warnings of constant results.

    Diagnostics are compared by code and message, without their places.
    """
    old, new = [
        Counter((d.code, d.message, d.severity == "error") for d in diagnostics) for diagnostics in (before, after)
    ]
    errors = [Counter({key: n for key, n in counts.items() if key[2]}) for counts in (old, new)]
    constants = [Counter({key: n for key, n in counts.items() if key[0] in _CONSTANT_CODES}) for counts in (old, new)]
    return errors[1] < errors[0] and constants[1] <= constants[0]


def sort_steps(text: str, tree: JsonValue, program: surface.Program) -> str:
    """Return the text with the steps in dependency order; unchanged if they form a cycle or one could not be read.

    `tree` is the JSON of `text`. Only the steps are exchanged; what is between them stays in its place.
    """
    compute = tree.get(program.steps_key) if isinstance(tree, JsonObject) else None
    if not isinstance(compute, JsonArray) or len(compute.items) != len(program.steps):
        return text
    order, cycle = find_dependency_order(program)
    if cycle:
        return text
    written = [text[item.span.start : item.span.end] for item in compute.items]
    return _replace(text, [(item.span, written[index]) for item, index in zip(compute.items, order, strict=True)])
