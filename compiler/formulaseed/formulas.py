"""Documents over a formula reference: references, files of rules, formulas; how each is read, parsed and checked."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from formulaseed import limits
from formulaseed.data.documents import Document
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.errors import SeedError, UnreadableError
from formulaseed.ir import nodes
from formulaseed.kinds import SEED, Kind, document_name, read_given, unread
from formulaseed.reference.model import Reference
from formulaseed.reference.read import lower_layout, lower_reference
from formulaseed.reference.restaurant import restaurant_reference
from formulaseed.reference.rules import formulas_shown, lower_formula, lower_rules, reference_named
from formulaseed.reference.variables import with_variables
from formulaseed.seed import surface
from formulaseed.seed.check.program import check_program
from formulaseed.source.json_reader import PlainText
from formulaseed.source.text import Span

ReferenceLike = str | os.PathLike[str] | Mapping[str, Any] | Reference
Variables = Mapping[str, Any] | Collection[str]
REFERENCE_FILE = "formula_reference.json"
"""The name of a reference that is beside a file of rules."""


def load_reference(given: ReferenceLike) -> Reference:
    """Read a formula reference or a schema file. Raises `SeedError` if it has errors, `UnreadableError` without one."""
    if isinstance(given, Reference):
        return given
    problems = Problems()
    document = read_given(given, "reference", problems)
    reference = lower_reference(document.tree, problems)
    if reference is None or problems.has_errors:
        raise SeedError(problems.sorted())
    return reference


def domain_of(reference: ReferenceLike | None, variables: Variables | None) -> Reference:
    """Return what a formula's names mean: a reference, variables or both; with neither the restaurant's fields."""
    loaded = load_reference(reference) if reference is not None else None
    return with_variables(loaded, variables) if variables is not None else loaded or restaurant_reference()


def formula_kind(reference: Reference) -> Kind[surface.Program, nodes.Program]:
    """Return how one formula over this reference is parsed and checked."""
    return Kind("formula", partial(_parse_formula, reference), SEED.check, read=unread)


def _parse_formula(reference: Reference, document: Document, problems: Problems) -> surface.Program | None:
    source = document.source
    if any("\ud800" <= c <= "\udfff" for c in source.text[: limits.FORMULA_CHARACTERS]):
        problems.report(catalogue.half_a_character(Span(source, 0, 0)))
        return None
    return lower_formula(PlainText(Span(source, 0, len(source.text)), source.text), reference, problems)


def rules_kind(reference: ReferenceLike | None = None) -> Kind[surface.Program, nodes.Program]:
    """Return how a file of rules is parsed and checked; without a reference over the one that it names or lies beside."""
    return Kind("rules", partial(_parse_rules, reference), SEED.check)


def _parse_rules(given: ReferenceLike | None, document: Document, problems: Problems) -> surface.Program | None:
    if document.tree is None:
        return None
    try:
        reference = _reference_of(document, given, problems)
    except SeedError as error:
        for found in error.diagnostics:
            problems.report(found)
        return None
    return lower_rules(document.tree, document_name(document), reference, problems)


def _reference_of(document: Document, given: ReferenceLike | None, problems: Problems) -> Reference:
    if given is not None:
        return load_reference(given)
    folder = document.path.parent if document.path is not None else Path()
    named = reference_named(document.tree) if document.tree is not None else None
    if named is not None:
        try:
            return load_reference(folder / named.value)
        except UnreadableError as error:
            problems.report(catalogue.unreadable_reference(named.span, error.message))
            return Reference((), is_complete=False)
    beside = folder / REFERENCE_FILE
    return load_reference(beside) if document.path is not None and beside.is_file() else restaurant_reference()


def _check_reference(document: Document, reference: Reference, problems: Problems) -> None:
    """Check the formulas that a reference shows; there is no program in it."""
    assert document.tree is not None
    lower_layout(document.tree, problems)
    for text in formulas_shown(document.tree):
        check_program(lower_formula(text, reference, problems), problems)


REFERENCE: Kind[Reference, None] = Kind(
    "reference", lambda document, problems: lower_reference(document.tree, problems), _check_reference
)
