"""Define what each phase of the compiler does with a formula reference, a file of rules, and one formula."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from formulaseed import limits
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.errors import SeedError
from formulaseed.ir import nodes
from formulaseed.ir.kind import Document, Kind
from formulaseed.reference.model import Reference
from formulaseed.reference.read import lower_layout, lower_reference
from formulaseed.reference.rules import find_formulas, lower_formula, lower_rules
from formulaseed.seed import kind as seeds
from formulaseed.seed import surface
from formulaseed.seed.check.program import check_program
from formulaseed.source.json_reader import PlainText
from formulaseed.source.text import Span

FindReference = Callable[[Document, Problems], Reference]
"""Return the reference whose fields a file of rules uses. It may raise `SeedError`, or report problems."""


def formula_kind(reference: Reference) -> Kind[surface.Program, nodes.Program]:
    """Return how one formula is parsed and checked that uses the fields of this reference."""
    return Kind("formula", partial(_parse_formula, reference), seeds.check, is_json=False)


def _parse_formula(reference: Reference, document: Document, problems: Problems) -> surface.Program | None:
    """Lower a document that is one formula; None, with an error reported, if it has half of a surrogate pair."""
    source = document.source
    # Only the start is searched, as a formula may have no more characters.
    if any("\ud800" <= c <= "\udfff" for c in source.text[: limits.FORMULA_CHARACTERS]):
        problems.report(catalogue.half_a_character(Span(source, 0, 0)))
        return None
    return lower_formula(PlainText(Span(source, 0, len(source.text)), source.text), reference, problems)


def rules_kind(find_reference: FindReference) -> Kind[surface.Program, nodes.Program]:
    """Return how a file of rules is parsed and checked, with the reference that `find_reference` returns for it."""
    return Kind("rules", partial(_parse_rules, find_reference), seeds.check)


def _parse_rules(find_reference: FindReference, document: Document, problems: Problems) -> surface.Program | None:
    """Lower a file of rules; None, with the errors reported, if it is not JSON or its reference cannot be read."""
    if document.tree is None:
        return None
    try:
        reference = find_reference(document, problems)
    except SeedError as error:
        for diagnostic in error.diagnostics:
            problems.report(diagnostic)
        return None
    return lower_rules(document.tree, document.name, reference, problems)


def _parse_reference(document: Document, problems: Problems) -> Reference | None:
    """Lower a reference; None, with errors reported, if it cannot be read."""
    return lower_reference(document.tree, problems)


def _check_reference(document: Document, reference: Reference, problems: Problems) -> None:
    """Check the example formulas in a reference, and its database section; a reference gives no checked program."""
    assert document.tree is not None
    lower_layout(document.tree, problems)
    for text in find_formulas(document.tree):
        check_program(lower_formula(text, reference, problems), problems)


KIND: Kind[Reference, None] = Kind("reference", _parse_reference, _check_reference)
