"""Defines the kind "seed": the functions by which the compiler parses, checks, lints and sorts a seed."""

from __future__ import annotations

from formulaseed.diagnostics.codes import POLICY_CODES
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.ir import nodes
from formulaseed.ir.kind import Document, Kind
from formulaseed.seed import surface
from formulaseed.seed.write.autofix import sort_steps


def _parse(document: Document, problems: Problems) -> surface.Program | None:
    """Lower a document to a program. Returns None, with the problem reported, if it cannot be read as a seed.

    Also returns None, with nothing reported, if the document has no JSON tree.
    """
    from formulaseed.seed.read.seed import lower_document

    return lower_document(document.tree, problems) if document.tree is not None else None


def check(document: Document, program: surface.Program, problems: Problems) -> nodes.Program:
    """Return the typed program with the steps that have no error. Adds every problem to `problems`.

    Formulas and rule files are checked by this function, too. `document` is not used.
    """
    from formulaseed.seed.check.program import check_program

    return check_program(program, problems)


def _lint(written: surface.Program | None, checked: nodes.Program | None, problems: Problems) -> None:
    """Report likely mistakes if the program could be read and checked; then apply the seed's suppressions.

    Suppressions remove warnings from all of `problems`, not only new ones. The remaining warnings are merged by code.
    """
    from formulaseed.seed.lint import lint, suppress

    if written is not None and checked is not None:
        lint(written, checked, problems)
    suppressions = written.suppressions if written is not None else ()
    # `seed.citations` applies the other suppressions, and only if there is a policy to compare the seed with
    suppress(tuple(one for one in suppressions if one.code.text not in POLICY_CODES), problems)


def _sort_steps(document: Document, program: surface.Program | None, diagnostics: tuple[Diagnostic, ...]) -> str:
    """Return the document's text; with the steps sorted by dependency if one is used before it is defined (FS202).

    Unchanged if the document or the program could not be read.
    """
    text = document.source.text
    if document.tree is None or program is None or all(d.code != "FS202" for d in diagnostics):
        return text
    return sort_steps(text, document.tree, program)


KIND = Kind("seed", _parse, check, _lint, in_order=_sort_steps)
