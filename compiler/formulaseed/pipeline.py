"""The whole compiler on one page: each phase takes one type and gives the next.

    read    path or values      →  Document        the text, as JSON with places (`documents`)
    parse   Document            →  surface.Program the common program, names still text
    check   surface.Program     →  nodes.Program   typed and resolved
    lint    both                →  warnings        what is valid and probably not intended
    emit    nodes.Program       →  str             plan, render and verify, by a backend

`Kind` says what the phases do with a seed, requests, rules, a reference or a formula; requests have types of their own.
The first four phases run as far as they can, so that all problems are reported at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, get_args

from formulaseed import limits
from formulaseed.backends.base import TARGETS, Unit, load_backend
from formulaseed.backends.refusals import refusals
from formulaseed.data.documents import read_text, refused_module, report_internal_error, shown_path
from formulaseed.data.file_kinds import wanted_text
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems, strictly
from formulaseed.diagnostics.suggestions import COMPARED_LETTERS, did_you_mean
from formulaseed.errors import FormulaSeedError, SeedError, UnreadableError
from formulaseed.ir import nodes
from formulaseed.ir.kind import Checked, Document, Kind, KindName, Parsed
from formulaseed.seed import surface
from formulaseed.seed.write.autofix import apply_fixes, choose_fixes, is_fixed
from formulaseed.seed.write.canonical import sha256
from formulaseed.source.json_reader import Plain
from formulaseed.source.text import Source

_TRIED_ALONE = 20
_ROUNDS = 4
"""So many typos that hide one another are fixed together."""


@dataclass(frozen=True)
class Analysis(Generic[Parsed, Checked]):
    """How far a document came: each phase's result, None from the phase on that it did not pass."""

    kind: Kind[Parsed, Checked]
    document: Document
    parsed: Parsed | None
    program: Checked | None
    diagnostics: tuple[Diagnostic, ...]
    fixed: int = 0
    """How many errors `fixed` has fixed in the document."""

    @property
    def errors(self) -> int:
        """How many errors there are."""
        return sum(d.severity == "error" for d in self.diagnostics)

    @property
    def has_errors(self) -> bool:
        return self.errors > 0


@dataclass(frozen=True)
class Compilable(Generic[Checked]):
    """A document that has been checked and has no errors; `diagnostics` are its warnings."""

    kind: Kind[Any, Checked] = field(repr=False)
    document: Document
    program: Checked
    diagnostics: tuple[Diagnostic, ...]

    @property
    def name(self) -> str:
        """The name of the task, or of the file without its ending."""
        return self.program.task_name if isinstance(self.program, nodes.Program) else self.document.name

    @property
    def data(self) -> Plain:
        """The document as plain JSON values."""
        return self.kind.data(self.document)

    @property
    def sha256(self) -> str:
        """The hash, in hex, of the document's canonical form."""
        return sha256(self.data)


def run(kind: Kind[Parsed, Checked], document: Document, problems: Problems) -> Analysis[Parsed, Checked]:
    """Run the phases of a document that has been read; every problem is in the result's diagnostics."""
    parsed = checked = None
    try:
        with COMPARED_LETTERS.of(limits.SUGGESTION_LETTERS):
            parsed = kind.parse(document, problems)
            checked = kind.check(document, parsed, problems) if parsed is not None else None
        kind.lint(parsed, checked, problems)
    except UnreadableError:  # of a file that the document needs
        raise
    except Exception as error:
        report_internal_error(error, document, problems)
    return Analysis(kind, document, parsed, None if problems.has_errors else checked, problems.sorted())


def checked(analysis: Analysis[Parsed, Checked], *, strict: bool = False) -> Compilable[Checked]:
    """Return what an analysis has checked. Raises `SeedError` if it has errors; with `strict` warnings are errors."""
    diagnostics = strictly(analysis.diagnostics) if strict else analysis.diagnostics
    if analysis.program is None or any(d.severity == "error" for d in diagnostics):
        raise SeedError(diagnostics)
    return Compilable(analysis.kind, analysis.document, analysis.program, diagnostics)


def compile(
    loaded: Compilable[Any],
    target: str = "python",
    *,
    formatted: bool = True,
    style: str | None = None,
    folder: Path | None = None,
) -> str:
    """Return a checked document as source of the target, for a file in `folder`.

    Raises `SeedError` if that fails and for what the target does not support, `FormulaSeedError` if there is no such target.
    """
    source, kind = loaded.document.source, loaded.kind.name
    if target not in TARGETS:
        raise FormulaSeedError(f"there is no target `{target}`; {did_you_mean(target, TARGETS, what='targets')}")
    backend = load_backend(target)
    if kind not in backend.kinds:
        supported = wanted_text(name for name in get_args(KindName) if name in backend.kinds)
        raise SeedError([catalogue.unsupported_kind(source, target, wanted_text([kind]), supported)])
    refused = refusals(loaded.program, target) if isinstance(loaded.program, nodes.Program) else []
    if refused:
        raise SeedError(refused)
    unit = Unit(kind, loaded.program, shown_path(loaded.document.path, folder), loaded.sha256, style)
    try:
        output, fault = backend.emit(unit, formatted=formatted)
    except Exception as error:
        raise refused_module(source, f"the {kind}", error) from None
    if fault is not None:
        raise refused_module(source, f"the {kind}", fault)
    return output


def fixed(analysis: Analysis[Parsed, Checked]) -> Analysis[Parsed, Checked]:
    """Return the analysis of the document with every safe fix applied, the parts in dependency order if that is a fix.

    A fix stays only if it leaves fewer errors, and brings neither a new one nor a result that is always the same. All are
    tried together, then one by one; the analysis itself is returned if nothing can be fixed safely.
    """
    fixes = _safe_fixes(analysis)
    for first in [fixes, *([fix] for fix in fixes[:_TRIED_ALONE] if len(fixes) > 1)]:
        found = _with(analysis, first)
        for _ in range(_ROUNDS):  # what hid behind one typo may be another
            if found is None:
                break
            if is_fixed(analysis.diagnostics, found.diagnostics):
                return fixed(found)
            found = _with(found, _safe_fixes(found))
    return analysis


def _safe_fixes(analysis: Analysis[Parsed, Checked]) -> list[Diagnostic]:
    """Return the diagnostics with a safe fix. In a seed a fix must not contradict a definition."""
    parsed = analysis.parsed if analysis.kind.name == "seed" else None
    return choose_fixes(analysis.diagnostics, parsed if isinstance(parsed, surface.Program) else None)


def _with(analysis: Analysis[Parsed, Checked], fixes: list[Diagnostic]) -> Analysis[Parsed, Checked] | None:
    """Return the analysis with these fixes, or without any in dependency order; None where that changes nothing."""
    kind, source, problems = analysis.kind, analysis.document.source, Problems()
    ordered = kind.in_order(analysis.document, analysis.parsed, analysis.diagnostics)
    text = apply_fixes(source.text, fixes) if fixes else ordered
    if text == source.text:
        return None
    fixed_source = Source(source.name, text)
    document = read_text(fixed_source, None, problems) if kind.is_json else Document(fixed_source, None, None)
    found = run(kind, document, problems)
    return replace(found, fixed=analysis.fixed + (len(fixes) or analysis.errors - found.errors))
