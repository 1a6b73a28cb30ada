"""Formulas over the entities of a domain: the phases of the pipeline for one formula, and for a file of rules.

    read    path, text or values  →  Document
    parse   Document, reference   →  surface.Program  a step for each formula
    check   surface.Program       →  nodes.Program    by the checker of seeds

What is wrong is gathered in `Problems`, so that everything is told in one go.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formulaseed import limits
from formulaseed.data.documents import (
    Document,
    HasDiagnostics,
    dumped,
    not_compiled,
    read_text,
    refused_module,
    report_internal_error,
    shown_path,
    source_of,
)
from formulaseed.diagnostics.model import Diagnostic, Problems, strictly
from formulaseed.diagnostics.suggestions import comparison_budget
from formulaseed.errors import FormulaSeedError, SeedError, UnreadableError
from formulaseed.ir import nodes
from formulaseed.reference.evaluation import Formula
from formulaseed.reference.model import Reference
from formulaseed.reference.read import lower_layout, lower_reference
from formulaseed.reference.restaurant import restaurant_reference
from formulaseed.reference.rules import formulas_shown, lower_formula, lower_rules, reference_named
from formulaseed.reference.variables import with_variables
from formulaseed.seed import surface
from formulaseed.seed.check.program import check_program
from formulaseed.seed.write.canonical import sha256
from formulaseed.source.json_reader import JsonValue, Plain, PlainText, plain
from formulaseed.source.text import Source, Span

ReferenceLike = str | os.PathLike[str] | Mapping[str, Any] | Reference
Variables = Mapping[str, Any] | Collection[str]
REFERENCE_FILE = "formula_reference.json"
"""What a reference is called that lies beside a file of rules."""


@dataclass(frozen=True)
class ProgramAnalysis(HasDiagnostics):
    """How far one or more formulas came: the checked program is None where there are errors."""

    document: Document
    reference: Reference
    surface: surface.Program | None
    program: nodes.Program | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class RulesFile:
    """A file of rules that has been checked and has no errors; `diagnostics` are its warnings."""

    document: Document
    program: nodes.Program
    diagnostics: tuple[Diagnostic, ...]

    @property
    def name(self) -> str:
        """What the file is called, without its ending."""
        return self.program.task_name

    @property
    def data(self) -> Plain:
        assert self.document.tree is not None
        return plain(self.document.tree)

    @property
    def sha256(self) -> str:
        """The hash, in hex, of the rules' JSON without white space."""
        return sha256(self.data)


def load_reference(given: ReferenceLike) -> Reference:
    """Read a formula reference or a schema file. Raises `SeedError` where it has errors, `UnreadableError` without one."""
    if isinstance(given, Reference):
        return given
    problems = Problems()
    document = read_reference(given, problems)
    reference = lower_reference(document.tree, problems) if document.tree is not None else None
    if reference is None or problems.has_errors:
        raise SeedError(problems.sorted())
    return reference


def read_reference(given: str | os.PathLike[str] | Mapping[str, Any], problems: Problems) -> Document:
    """The JSON of a reference or a schema file."""
    if isinstance(given, Mapping):
        return read_text(Source("<reference>", dumped(given, "reference")), None, problems)
    if not isinstance(given, str | os.PathLike):
        raise FormulaSeedError(f"a reference is a path or a dictionary, not {type(given).__name__}")
    source, path = source_of(given, problems)
    return Document(source, None, path) if problems.has_errors else read_text(source, path, problems)


def domain_of(reference: ReferenceLike | None, variables: Variables | None) -> Reference:
    """What a formula's names mean: a reference and variables besides, variables alone, or else the restaurant's fields."""
    if variables is not None:
        return with_variables(load_reference(reference) if reference is not None else None, variables)
    return load_reference(reference) if reference is not None else restaurant_reference()


def analyse_formula(text: str, reference: Reference) -> ProgramAnalysis:
    """Check one formula."""
    if not isinstance(text, str):
        raise FormulaSeedError(f"a formula is a text, not {type(text).__name__}")
    source, problems = Source("<formula>", text), Problems()
    document = Document(source, None, None)
    return _analysed(document, reference, problems, lambda: _lowered_formula(source, reference, problems))


def _lowered_formula(source: Source, reference: Reference, problems: Problems) -> surface.Program | None:
    if any("\ud800" <= c <= "\udfff" for c in source.text[: limits.FORMULA_CHARACTERS]):
        problems.add("FS007", Span(source, 0, 0), "the formula holds half of a character", "write it anew")
        return None
    return lower_formula(PlainText(Span(source, 0, len(source.text)), source.text), reference, problems)


def analyse_reference(document: Document, problems: Problems) -> ProgramAnalysis:
    """Check a formula reference, and the formulas that it shows; there is no program in it."""
    assert document.tree is not None
    tree, reference = document.tree, Reference((), is_complete=False)
    try:
        with comparison_budget(limits.SUGGESTION_LETTERS):
            reference = lower_reference(tree, problems) or reference
            lower_layout(tree, problems)
            for text in formulas_shown(tree):
                check_program(lower_formula(text, reference, problems), problems)
    except Exception as error:
        report_internal_error(error, document, problems)
    return ProgramAnalysis(document, reference, None, None, problems.sorted())


def analyse_rules(document: Document, problems: Problems, reference: ReferenceLike | None = None) -> ProgramAnalysis:
    """Check a file of rules that was read already; their reference is given, or named by the file, or lies beside it."""
    assert document.tree is not None
    tree, known = document.tree, Reference((), is_complete=False)
    try:
        known = _reference_of(document, tree, reference, problems)
    except SeedError as error:
        return ProgramAnalysis(document, known, None, None, (*problems.sorted(), *error.diagnostics))
    name = Path(document.source.name.strip("<>")).name.split(".")[0]
    return _analysed(document, known, problems, lambda: lower_rules(tree, name, known, problems))


def _reference_of(document: Document, tree: JsonValue, given: ReferenceLike | None, problems: Problems) -> Reference:
    if given is not None:
        return load_reference(given)
    folder = document.path.parent if document.path is not None else Path()
    named = reference_named(tree)
    if named is not None:
        try:
            return load_reference(folder / named.value)
        except UnreadableError as error:
            problems.add(
                "FS509", named.span, f"the reference cannot be read: {error.message}", "name a file beside this"
            )
            return Reference((), is_complete=False)
    beside = folder / REFERENCE_FILE
    if document.path is not None and beside.is_file():
        return load_reference(beside)
    return restaurant_reference()


def _analysed(
    document: Document, reference: Reference, problems: Problems, lower: Callable[[], surface.Program | None]
) -> ProgramAnalysis:
    lowered = checked = None
    try:
        with comparison_budget(limits.SUGGESTION_LETTERS):
            lowered = lower()
            checked = check_program(lowered, problems) if lowered is not None else None
    except Exception as error:
        report_internal_error(error, document, problems)
    if problems.has_errors:
        checked = None
    return ProgramAnalysis(document, reference, lowered, checked, problems.sorted())


def load_rules(analysis: ProgramAnalysis, *, strict: bool = False) -> RulesFile:
    """The rules of an analysis. Raises `SeedError` with every diagnostic where it has errors."""
    diagnostics = strictly(analysis.diagnostics) if strict else analysis.diagnostics
    if analysis.program is None and not analysis.has_errors:
        help = "compile a file of rules over it"
        raise not_compiled(analysis.document.source, "FS008", "this is a formula reference, and holds no rules", help)
    if analysis.program is None or any(d.severity == "error" for d in diagnostics):
        raise SeedError(diagnostics)
    return RulesFile(analysis.document, analysis.program, diagnostics)


def compile_rules(rules: RulesFile, *, formatted: bool = True) -> str:
    """The source of the module of a file of rules. Raises `SeedError` where it cannot be made."""
    from formulaseed.backends.python.render import render_rules
    from formulaseed.backends.python.rules_plan import plan_rules
    from formulaseed.backends.python.verify import verify

    document, path, digest = rules.document, shown_path(rules.document.path), rules.sha256
    try:
        views = [plan_rules(rules.program, path=path, sha256=digest, bare=bare) for bare in (False, True)]
        rendered, bare_twin = render_rules(*views)
        source = rendered.source(formatted=formatted)
        fault = verify(source, bare_twin.source(formatted=False))
    except Exception as error:
        raise refused_module(document.source, "these rules", error) from None
    if fault is not None:
        raise refused_module(document.source, "these rules", fault)
    return source


def load_formula(text: str, reference: Reference, *, strict: bool = False) -> Formula:
    """Check a formula. Raises `SeedError` with every diagnostic where it has errors; with `strict` warnings are errors."""
    analysis = analyse_formula(text, reference)
    diagnostics = strictly(analysis.diagnostics) if strict else analysis.diagnostics
    if analysis.program is None or any(d.severity == "error" for d in diagnostics):
        raise SeedError(diagnostics)
    return Formula(text, analysis.program, diagnostics)


def analyse_rules_file(given: str | os.PathLike[str], reference: ReferenceLike | None = None) -> ProgramAnalysis:
    """Read and check a file of rules. Raises `UnreadableError` without one."""
    problems = Problems()
    source, path = source_of(given, problems)
    document = Document(source, None, path) if problems.has_errors else read_text(source, path, problems)
    if document.tree is None:
        return ProgramAnalysis(document, Reference((), is_complete=False), None, None, problems.sorted())
    return analyse_rules(document, problems, reference)
