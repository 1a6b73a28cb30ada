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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, get_args

from formulaseed import limits
from formulaseed.backends.base import TARGETS, Unit, load_backend
from formulaseed.backends.refusals import find_refusals
from formulaseed.data.documents import module_error, portable_path, read_text, report_internal_error
from formulaseed.data.file_kinds import list_kinds
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems, promote_warnings
from formulaseed.diagnostics.suggestions import COMPARED_LETTERS, did_you_mean
from formulaseed.errors import FormulaSeedError, SeedError, UnreadableError
from formulaseed.ir import nodes
from formulaseed.ir.kind import Checked, Document, Kind, KindName, Parsed
from formulaseed.seed import surface
from formulaseed.seed.write.autofix import apply_fixes, choose_fixes, is_fixed
from formulaseed.seed.write.canonical import hash_seed
from formulaseed.source.json_reader import Plain
from formulaseed.source.text import Source

_MAX_SINGLE_FIXES = 20  # fixes that are also tried one by one, when all of them together do not help
_MAX_FIX_ROUNDS = 4  # a fixed typo may reveal another typo, which is fixed in the next round


@dataclass(frozen=True)
class Analysis(Generic[Parsed, Checked]):
    """The result of each phase for a document: `parsed` and `program` are None if their phase failed or was not reached.

    `program` is also None if a later phase reports an error.
    """

    kind: Kind[Parsed, Checked]
    document: Document
    parsed: Parsed | None
    program: Checked | None
    diagnostics: tuple[Diagnostic, ...]
    fixed_count: int = 0
    """The number of errors that `fixed` has fixed in the document."""

    @property
    def errors(self) -> int:
        """The number of errors among the diagnostics; warnings and notes do not count."""
        return sum(d.severity == "error" for d in self.diagnostics)

    @property
    def has_errors(self) -> bool:
        """True if the diagnostics contain at least one error."""
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
        """The name of the seed's task, or for another kind the file name without its ending."""
        return self.program.task_name if isinstance(self.program, nodes.Program) else self.document.name

    @property
    def data(self) -> Plain:
        """The document as plain JSON values."""
        return self.kind.data(self.document)

    @property
    def sha256(self) -> str:
        """The SHA-256, in hexadecimal, of the document's canonical form."""
        return hash_seed(self.data)


def run(kind: Kind[Parsed, Checked], document: Document, problems: Problems) -> Analysis[Parsed, Checked]:
    """Run the phases parse, check and lint on a document that has been read, and return their results.

    Every problem is added to `problems` and is in the result's diagnostics; so is a bug of ours. Raises `UnreadableError` if
    a file that the document needs, such as a reference, cannot be opened.
    """
    parsed = program = None
    try:
        with COMPARED_LETTERS.allow(limits.SUGGESTION_LETTERS):
            parsed = kind.parse(document, problems)
            if parsed is not None:
                program = kind.check(document, parsed, problems)
        kind.lint(parsed, program, problems)
    except UnreadableError:  # a file that the document needs: not a bug of ours
        raise
    except Exception as error:
        report_internal_error(error, document, problems)
    return Analysis(kind, document, parsed, None if problems.has_errors else program, problems.sorted())


def require_valid(analysis: Analysis[Parsed, Checked], *, strict: bool = False) -> Compilable[Checked]:
    """Return the checked document of an analysis.

    Raises `SeedError`, with all diagnostics, if the analysis has errors; with `strict` also if it has warnings.
    """
    diagnostics = promote_warnings(analysis.diagnostics) if strict else analysis.diagnostics
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
    options: Mapping[str, Any] | None = None,
) -> str:
    """Compile a checked document to source text of the target.

    A Python module is laid out in `style`, by default the newest, and formatted if `formatted`. Its header names the document's
    path relative to the project, or outside of a project to `folder`, the folder of the module. `options` are other options of
    the target. Raises `FormulaSeedError` if
    there is no such target, and `SeedError` if the target does not support the document or no valid module can be emitted.
    """
    source = loaded.document.source
    kind = loaded.kind.name
    if target not in TARGETS:
        raise FormulaSeedError(f"there is no target `{target}`; {did_you_mean(target, TARGETS, noun='targets')}")
    backend = load_backend(target)
    if options and not options.keys() <= backend.options:
        raise FormulaSeedError(
            f"the target `{target}` has no option {', '.join(sorted(options.keys() - backend.options))}"
        )
    backend = backend.configure(options or {})
    if kind not in backend.kinds:
        supported = list_kinds(name for name in get_args(KindName) if name in backend.kinds)
        raise SeedError([catalogue.kind_not_supported(source, target, list_kinds([kind]), supported)])
    if isinstance(loaded.program, nodes.Program):
        unsupported = find_refusals(loaded.program, target) or backend.find_problems(loaded.program)
        if unsupported:
            raise SeedError(unsupported)
    unit = _build_unit(loaded, style, folder)
    try:
        output, fault = backend.emit(unit, formatted=formatted)
    except Exception as error:
        raise module_error(source, f"the {kind}", error) from None
    if fault is not None:
        raise module_error(source, f"the {kind}", fault)
    return output


def compile_companion(
    loaded: Compilable[Any], target: str, folder: Path | None, options: Mapping[str, Any]
) -> tuple[str, str] | None:
    """Return the end of the name, and the text, of a file that belongs to what `compile` returns; None if there is none."""
    return load_backend(target).configure(options).emit_companion(_build_unit(loaded, None, folder))


def _build_unit(loaded: Compilable[Any], style: str | None, folder: Path | None) -> Unit:
    """Return the document for a backend, with its path from the project, or else from `folder`."""
    path = portable_path(loaded.document.path, folder)
    return Unit(loaded.kind.name, loaded.program, path, loaded.sha256, style)


def fixed(analysis: Analysis[Parsed, Checked]) -> Analysis[Parsed, Checked]:
    """Return a new analysis of the document with every safe fix applied, or `analysis` itself if there is no safe fix.

    Fixes are tried all together, then one by one, and then again on the fixed document. Without fixes, the parts are put in
    dependency order. A change is accepted only if it leaves fewer errors, brings no new error, and makes no result constant.
    No file is written.
    """
    fixes = _safe_fixes(analysis)
    single_fixes = [[fix] for fix in fixes[:_MAX_SINGLE_FIXES]] if len(fixes) > 1 else []
    for attempt in (fixes, *single_fixes):
        candidate = _apply_fixes(analysis, attempt)
        for _ in range(_MAX_FIX_ROUNDS):
            if candidate is None:
                break
            if is_fixed(analysis.diagnostics, candidate.diagnostics):
                return fixed(candidate)
            candidate = _apply_fixes(candidate, _safe_fixes(candidate))
    return analysis


def _safe_fixes(analysis: Analysis[Parsed, Checked]) -> list[Diagnostic]:
    """Return the diagnostics with a safe fix, for a seed without those that would contradict a definition of the seed."""
    if analysis.kind.name == "seed" and isinstance(analysis.parsed, surface.Program):
        return choose_fixes(analysis.diagnostics, analysis.parsed)
    return choose_fixes(analysis.diagnostics, None)


def _apply_fixes(analysis: Analysis[Parsed, Checked], fixes: list[Diagnostic]) -> Analysis[Parsed, Checked] | None:
    """Return the analysis of the document with `fixes` applied, or None if its text stays the same.

    If `fixes` is empty, the parts of the document are put in dependency order. The new document has no path; its
    `fixed_count` adds the errors fixed now to those of `analysis`.
    """
    kind = analysis.kind
    source = analysis.document.source
    text = kind.in_order(analysis.document, analysis.parsed, analysis.diagnostics)
    if fixes:
        text = apply_fixes(source.text, fixes)
    if text == source.text:
        return None
    problems = Problems()
    document = Document(Source(source.name, text), None, None)
    if kind.is_json:
        document = read_text(document.source, None, problems)
    result = run(kind, document, problems)
    return replace(result, fixed_count=analysis.fixed_count + (len(fixes) or analysis.errors - result.errors))
