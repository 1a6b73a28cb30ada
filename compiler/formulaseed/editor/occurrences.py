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
        """The namespace and the name: equal for all occurrences of one name."""
        return self.space, self.name


def find_occurrences(program: surface.Program | None) -> tuple[Occurrence, ...]:
    """Return every occurrence of a name in a seed, in the order of the text; empty if `program` is None.

    Names that the text spells with escapes are left out. Of occurrences at the same start, the last one found is kept.
    """
    if program is None:
        return ()
    by_start = {occurrence.start: occurrence for occurrence in _find_all(program) if occurrence is not None}
    return tuple(by_start[start] for start in sorted(by_start))


def occurrence_at(occurrences: tuple[Occurrence, ...], offset: int) -> Occurrence | None:
    """Return the occurrence at an offset of the text; None if there is none."""
    return next((occurrence for occurrence in occurrences if occurrence.start <= offset <= occurrence.end), None)


def _find_all(program: surface.Program) -> Iterator[Occurrence | None]:
    """Yield the occurrences in the order of the sections; None for a name that is spelled with escapes or unknown.

    Standard fields that the text does not declare are left out. Definitions of fields, parameters and steps are marked.
    """
    for space, declarations in (
        ("extraction", program.fields),
        ("meta", program.meta),
        ("context", program.context),
        ("param", program.parameters),
    ):
        for declaration in declarations:
            span = program.declared_at.get(f"{space}.{declaration.name}")
            # a standard field is not declared in the text
            if span is not None:
                yield _find_in(span, declaration.name, space, is_definition=True)
    for step in program.steps:
        yield _find_in(step.name.span, step.name.text, "step", is_definition=True)
        parts = step.operation.rules if isinstance(step.operation, surface.Case) else (step.operation,)
        for node in ast.walk(*(getattr(part, name) for part in parts for name in part.__dataclass_fields__)):
            if isinstance(node, ast.Name | ast.FilterName):
                yield _use(node)
    for name in program.output:
        yield _find_in(name.span, name.text, "step")


def _use(node: ast.Name | ast.FilterName) -> Occurrence | None:
    """Return the occurrence of a name in a formula; None if its namespace is unknown, or it is spelled with escapes.

    A name without a dot, and that of a filter, is a step's.
    """
    space, _, rest = node.text.partition(".")
    if isinstance(node, ast.FilterName) or not rest:
        return _find_in(node.span, node.text, "step")
    if space in _SPACES:
        return _find_in(node.span, rest, space)
    return None


def _find_in(span: Span, name: str, space: str, *, is_definition: bool = False) -> Occurrence | None:
    """Return the last occurrence of a name inside a span; None if the text spells the name with escapes.

    The result is marked as a definition if `is_definition`.
    """
    start = span.source.text.rfind(name, span.start, span.end)
    if start < 0:
        return None
    return Occurrence(start, start + len(name), space, name, is_definition)
