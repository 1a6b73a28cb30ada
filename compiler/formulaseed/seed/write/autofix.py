"""Fixes in a seed's text what has one reading only: a misspelt name, and the order of the steps.

In: the text with its diagnostics. Out: the text with the changes, everything else as the author laid it out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from formulaseed.diagnostics.model import Diagnostic
from formulaseed.seed import surface
from formulaseed.seed.write.canonical import dependency_order
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonValue
from formulaseed.source.text import Span

_DUPLICATE = ("FS005", "FS203")
_UNKNOWN = ("FS201", "FS204")
_CONSTANT = ("FS603", "FS607", "FS608", "FS610")
"""Warnings of constants: a sign that a name was replaced by the wrong one."""


def applicable(diagnostics: Collection[Diagnostic], program: surface.Program | None) -> list[Diagnostic]:
    """Return the diagnostics whose suggestions are safe to apply, in the order of the file; of two that overlap the first.

    Where a definition may be what is misspelt, its uses are left: where something is defined twice, and where a name is
    never used as it is defined, but several times, or as an output, as it is not.
    """
    if any(d.code in _DUPLICATE for d in diagnostics):
        return []
    fixable = {(d.span, d.suggestion): d for d in diagnostics if d.is_fixable}.values()
    unused = _unused(program) if program is not None else set()
    returned = {name.text for name in program.output} if program is not None else set()
    uses = Counter(_written(d.span) for d in fixable if d.code in _UNKNOWN)
    chosen: list[Diagnostic] = []
    for d in sorted(fixable, key=lambda d: (d.span.start, d.span.end)):
        written = _written(d.span)
        is_definition = _bare(_replacement(d)) in unused and (uses[written] > 1 or written in returned)
        if (not chosen or d.span.start >= chosen[-1].span.end) and not is_definition:
            chosen.append(d)
    return chosen


def _written(span: Span) -> str:
    return _bare(span.source.text[span.start : span.end])


def _replacement(problem: Diagnostic) -> str:
    assert problem.suggestion is not None
    return problem.suggestion.replacement


def _unused(program: surface.Program) -> set[str]:
    """The names, without their namespaces, of what the program defines and does not mention."""
    names = {*(_bare(name) for name in program.declared_at), *(step.name.text for step in program.steps)}
    mentioned = {_bare(name) for step in (*program.steps, *program.nameless) for name in step.mentioned_names()}
    return names - mentioned - {name.text for name in program.output}


def _bare(name: str) -> str:
    """A name as it is written in a file, without quotes, sign and namespace."""
    return name.strip("\"'$").rpartition(".")[2].removeprefix("$")


def with_fixes(text: str, diagnostics: Iterable[Diagnostic]) -> str:
    """Return the text with every suggestion applied; none overlaps another, and they are in the order of the file."""
    return _replaced(text, [(d.span, _replacement(d)) for d in diagnostics])


def _replaced(text: str, changes: Iterable[tuple[Span, str]]) -> str:
    parts: list[str] = []
    last = 0
    for span, replacement in changes:
        parts += [text[last : span.start], replacement]
        last = span.end
    return "".join([*parts, text[last:]])


def is_fixed(before: Iterable[Diagnostic], after: Iterable[Diagnostic]) -> bool:
    """Return whether there are fewer errors after a change, none of them new, and nothing has become constant by it."""
    old, new = [Counter((d.code, d.message, d.severity == "error") for d in each) for each in (before, after)]
    errors = [Counter({key: n for key, n in each.items() if key[2]}) for each in (old, new)]
    constants = [Counter({key: n for key, n in each.items() if key[0] in _CONSTANT}) for each in (old, new)]
    return errors[1] < errors[0] and constants[1] <= constants[0]


def with_steps_sorted(text: str, tree: JsonValue, program: surface.Program) -> str:
    """Return the text with the steps in dependency order; unchanged if there is none, or a step could not be read."""
    compute = tree.get(program.steps_key) if isinstance(tree, JsonObject) else None
    if not isinstance(compute, JsonArray) or len(compute.items) != len(program.steps):
        return text
    order, cycle = dependency_order(program)
    if cycle:
        return text
    written = [text[item.span.start : item.span.end] for item in compute.items]
    return _replaced(text, [(item.span, written[index]) for item, index in zip(compute.items, order, strict=True)])
