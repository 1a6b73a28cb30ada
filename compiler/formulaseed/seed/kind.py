"""Define what each phase of the compiler does with a seed."""

from __future__ import annotations

from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.ir import nodes
from formulaseed.ir.kind import Document, Kind
from formulaseed.seed import surface
from formulaseed.seed.write.autofix import with_steps_sorted


def _parse(document: Document, problems: Problems) -> surface.Program | None:
    from formulaseed.seed.read.seed import lower_document

    return lower_document(document.tree, problems) if document.tree is not None else None


def check(document: Document, program: surface.Program, problems: Problems) -> nodes.Program:
    """Return the typed program. Formulas and rules are checked as seeds are."""
    from formulaseed.seed.check.program import check_program

    return check_program(program, problems)


def _lint(written: surface.Program | None, checked: nodes.Program | None, problems: Problems) -> None:
    from formulaseed.seed.lint import lint, suppress

    if written is not None and checked is not None:
        lint(written, checked, problems)
    suppress(written.suppressions if written is not None else (), problems)


def _in_order(document: Document, program: surface.Program | None, diagnostics: tuple[Diagnostic, ...]) -> str:
    text = document.source.text
    if document.tree is None or program is None or all(d.code != "FS202" for d in diagnostics):
        return text
    return with_steps_sorted(text, document.tree, program)


KIND = Kind("seed", _parse, check, _lint, in_order=_in_order)
