"""Find where the names of a seed are defined and used.

In: a surface program, whose seed may have errors. Out: occurrences with their exact places in the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from formulaseed.language import ast
from formulaseed.language.typed import INPUT_KINDS
from formulaseed.seed import surface
from formulaseed.source.text import Span

_SPACES = tuple(kind.value for kind in INPUT_KINDS)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name in the text, from `start` to `end` in characters, without quotes, namespace and sign.

    `space` is `step` for a step or filter, else the namespace of a field or parameter.
    """

    start: int
    end: int
    space: str
    name: str
    is_definition: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """The same for all occurrences of a name."""
        return self.space, self.name


def occurrences(program: surface.Program) -> tuple[Occurrence, ...]:
    """Return every occurrence of a name in a seed, in the order of the text."""
    by_start = {occurrence.start: occurrence for occurrence in _find_all(program) if occurrence is not None}
    return tuple(by_start[start] for start in sorted(by_start))


def occurrence_at(occurrences: tuple[Occurrence, ...], offset: int) -> Occurrence | None:
    """Return the occurrence at an offset of the text; None if there is none."""
    return next((occurrence for occurrence in occurrences if occurrence.start <= offset <= occurrence.end), None)


def _find_all(program: surface.Program) -> Iterator[Occurrence | None]:
    """Yield the occurrences in the order of the sections; None for one that has another form in the text."""
    for space, fields in (("extraction", program.fields), ("meta", program.meta), ("context", program.context)):
        for field in fields:
            span = program.declared_at.get(f"{space}.{field.name}")
            yield _exact(span, field.name, space, is_definition=True) if span is not None else None
    for parameter in program.parameters:
        span = program.declared_at.get(f"param.{parameter.name}")
        yield _exact(span, parameter.name, "param", is_definition=True) if span is not None else None
    for step in program.steps:
        yield _exact(step.name.span, step.name.text, "step", is_definition=True)
        parts = step.operation.rules if isinstance(step.operation, surface.Case) else (step.operation,)
        for node in ast.walk(*(getattr(part, name) for part in parts for name in part.__dataclass_fields__)):
            if isinstance(node, ast.Name | ast.FilterName):
                yield _use(node)
    for name in program.output:
        yield _exact(name.span, name.text, "step")


def _use(node: ast.Name | ast.FilterName) -> Occurrence | None:
    """Return the occurrence of a name in a formula; None if its namespace is unknown."""
    space, _, rest = node.text.partition(".")
    if isinstance(node, ast.FilterName) or not rest:
        return _exact(node.span, node.text, "step")
    return _exact(node.span, rest, space) if space in _SPACES else None


def _exact(span: Span, name: str, space: str, *, is_definition: bool = False) -> Occurrence | None:
    """Return the occurrence of a name inside a span; None if the text has it in another form, such as with escapes."""
    place = span.source.text.rfind(name, span.start, span.end)
    return Occurrence(place, place + len(name), space, name, is_definition) if place >= 0 else None
