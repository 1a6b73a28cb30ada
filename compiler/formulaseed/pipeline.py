"""The whole compiler on one page: each phase takes one type and gives the next.

    read    path or dictionary  →  Document        the text, as JSON with places
    parse   Document            →  surface.Program the common program, names still text
    check   surface.Program     →  nodes.Program   typed and resolved
    lint    both                →  warnings        what is likely not meant
    plan    nodes.Program       →  ModuleView      names, passes, helpers
    render  ModuleView          →  str             the template, then the formatter
    verify  str                 →  str             the same text, or a refusal

A file of requests is read and lowered at once, to `model.Requests`; files of rules are for `formulas`. What is wrong
is gathered in `Problems`; the first four phases run as far as they can, so that everything is told in one go.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from formulaseed import limits
from formulaseed.data.documents import (
    Document,
    HasDiagnostics,
    dumped,
    is_too_long,
    read_text,
    refused_module,
    report_internal_error,
    shown_path,
    source_of,
)
from formulaseed.diagnostics.model import Diagnostic, Problems, strictly
from formulaseed.diagnostics.suggestions import at_most, did_you_mean
from formulaseed.errors import FormulaSeedError, SeedError
from formulaseed.ir import nodes
from formulaseed.ir.places import place_of
from formulaseed.reference.rules import holds_reference, holds_rules
from formulaseed.seed import surface
from formulaseed.seed.check.program import check_program
from formulaseed.seed.lint import lint, suppress
from formulaseed.seed.read.detect import holds_requests, lower_document
from formulaseed.seed.write.autofix import applicable, is_fixed, with_fixes, with_steps_sorted
from formulaseed.seed.write.canonical import sha256
from formulaseed.source.json_reader import Plain, json_lines, plain
from formulaseed.source.text import Source

if TYPE_CHECKING:  # a command that reads seeds alone does without
    from formulaseed.formulas import ProgramAnalysis, ReferenceLike, RulesFile
    from formulaseed.requests import model

SeedLike = str | os.PathLike[str] | Mapping[str, Any]
RequestsLike = str | os.PathLike[str] | Iterable[Mapping[str, Any]]
TARGETS = ("python",)
_TRIED_ALONE = 20
_ROUNDS = 4
"""So many typos that hide one another are fixed together."""


@dataclass(frozen=True)
class FormulaSeed:
    """A seed that has been checked and has no errors; `diagnostics` are its warnings."""

    document: Document
    program: nodes.Program
    diagnostics: tuple[Diagnostic, ...]

    @property
    def task_name(self) -> str:
        return self.program.task_name

    @property
    def data(self) -> Plain:
        """The seed as plain JSON values."""
        assert self.document.tree is not None
        return plain(self.document.tree)

    @property
    def sha256(self) -> str:
        """The hash, in hex, of the seed's canonical form."""
        return sha256(self.data)


@dataclass(frozen=True)
class RequestsFile:
    """A file of requests that has been checked and has no errors; `diagnostics` are its warnings."""

    document: Document
    program: model.Requests
    diagnostics: tuple[Diagnostic, ...]

    @property
    def name(self) -> str:
        """What the file is called, without its ending."""
        return self.program.name

    @property
    def sha256(self) -> str:
        """The hash, in hex, of the requests' JSON without white space, their keys in order."""
        text = self.document.source.text
        return sha256([json.loads(text[line.start : line.end]) for line in json_lines(self.document.source)])


@dataclass(frozen=True)
class Analysis(HasDiagnostics):
    """How far a seed came: each phase's result, None from the phase on that it did not pass."""

    document: Document
    surface: surface.Program | None
    program: nodes.Program | None
    diagnostics: tuple[Diagnostic, ...]
    fixed: int = 0
    """How many errors `fixed` has fixed in the document."""


@dataclass(frozen=True)
class RequestsAnalysis(HasDiagnostics):
    """A file of requests: its lines, none where it cannot be read as lines, and all of them where none has errors.

    `fixed` as in `Analysis`.
    """

    document: Document
    lines: tuple[model.Line, ...]
    program: model.Requests | None
    diagnostics: tuple[Diagnostic, ...]
    fixed: int = 0


def read(seed: SeedLike, problems: Problems) -> Document:
    """Read a file or a dictionary. Raises `UnreadableError` for a file that cannot be opened."""
    if isinstance(seed, Mapping):
        return read_text(Source("<seed>", dumped(seed)), None, problems)
    if not isinstance(seed, str | os.PathLike):
        raise FormulaSeedError(f"a seed is a path or a dictionary, not {type(seed).__name__}")
    source, path = source_of(seed, problems)
    return Document(source, None, path) if problems.has_errors else read_text(source, path, problems)


def parse(document: Document, problems: Problems) -> surface.Program | None:
    return lower_document(document.tree, problems) if document.tree is not None else None


def check(program: surface.Program, problems: Problems) -> nodes.Program:
    return check_program(program, problems)


def analyse(seed: SeedLike) -> Analysis:
    """Run the phases up to `check`; every problem is in the result's diagnostics."""
    problems = Problems()
    return _analysed(read(seed, problems), problems)


def analyse_file(
    given: str | os.PathLike[str], reference: ReferenceLike | None = None
) -> Analysis | RequestsAnalysis | ProgramAnalysis:
    """Run the phases of whatever the file holds: a seed, requests, rules, a reference. Raises `UnreadableError`."""
    problems = Problems()
    source, path = source_of(given, problems)
    if problems.has_errors:
        return Analysis(Document(source, None, path), None, None, problems.sorted())
    if holds_requests(source):
        return _analysed_requests(Document(source, None, path), problems)
    document = read_text(source, path, problems)
    if holds_rules(document.tree):
        from formulaseed.formulas import analyse_rules

        return analyse_rules(document, problems, reference)
    if holds_reference(document.tree):
        from formulaseed.formulas import analyse_reference

        return analyse_reference(document, problems)
    return _analysed(document, problems)


def analyse_requests(given: RequestsLike) -> RequestsAnalysis:
    """The same for a file of requests, or the requests as JSON values."""
    problems = Problems()
    if isinstance(given, str | os.PathLike):
        source, path = source_of(given, problems)
        if problems.has_errors:
            return RequestsAnalysis(Document(source, None, path), (), None, problems.sorted())
        return _analysed_requests(Document(source, None, path), problems)
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise FormulaSeedError(f"requests are a path or a list of objects, not {type(given).__name__}")
    text = "".join(dumped(request, "request", indent=None) + "\n" for request in given)
    return _analysed_requests(Document(Source("<requests>", text), None, None), problems)


def analyse_text(source: Source) -> Analysis:
    """The same for the text of a seed."""
    problems = Problems()
    return _analysed(read_text(source, None, problems), problems)


def fixed(analysis: Analysis) -> Analysis:
    """Return the analysis of the seed with every safe fix applied; the same one where nothing can be fixed safely.

    A fix stays only where it leaves fewer errors, and brings neither a new one nor a result that is always the same.
    """
    return _fixed(
        analysis, _Fixer(analyse_text, lambda found: applicable(found.diagnostics, found.surface), _sorted_text)
    )


def fixed_requests(analysis: RequestsAnalysis) -> RequestsAnalysis:
    """Return the same for requests, whose order is the author's."""
    fixer: _Fixer[RequestsAnalysis] = _Fixer(
        lambda source: _analysed_requests(Document(source, None, None), Problems()),
        lambda found: applicable(found.diagnostics, None),
        lambda found: "",
    )
    return _fixed(analysis, fixer)


_Fixable = TypeVar("_Fixable", Analysis, RequestsAnalysis)


@dataclass(frozen=True)
class _Fixer(Generic[_Fixable]):
    """How a kind of file is analysed again, its safe fixes found, and its text put in order."""

    analysed: Callable[[Source], _Fixable]
    fixes: Callable[[_Fixable], list[Diagnostic]]
    in_order: Callable[[_Fixable], str]

    def once(self, analysis: _Fixable, fixes: list[Diagnostic]) -> _Fixable | None:
        """The analysis of the text with the fixes, or without any, in order; None where that changes nothing."""
        source = analysis.document.source
        text = with_fixes(source.text, fixes) if fixes else self.in_order(analysis)
        if text in ("", source.text):
            return None
        found = self.analysed(Source(source.name, text))
        return replace(found, fixed=analysis.fixed + (len(fixes) or analysis.errors - found.errors))


def _fixed(analysis: _Fixable, fixer: _Fixer[_Fixable]) -> _Fixable:
    """Apply all fixes, or one of them where another is none after all, until no more can be applied."""
    fixes: list[Diagnostic] = fixer.fixes(analysis)
    alone: list[list[Diagnostic]] = [[fix] for fix in fixes[:_TRIED_ALONE]] if len(fixes) > 1 else []
    for first in [fixes, *alone]:
        found = fixer.once(analysis, first)
        for _ in range(_ROUNDS):  # what hid behind one typo may be another
            if found is None:
                break
            if is_fixed(analysis.diagnostics, found.diagnostics):
                return _fixed(found, fixer)
            found = fixer.once(found, fixer.fixes(found))
    return analysis


def _sorted_text(analysis: Analysis) -> str:
    """The seed's text with the steps in order; empty where they are, or cannot be read."""
    document, written = analysis.document, analysis.surface
    if document.tree is None or written is None or all(d.code != "FS202" for d in analysis.diagnostics):
        return ""
    return with_steps_sorted(document.source.text, document.tree, written)


def _analysed(document: Document, problems: Problems) -> Analysis:
    lowered = checked = None
    try:
        with at_most(limits.SUGGESTION_LETTERS):
            lowered = parse(document, problems)
            checked = check(lowered, problems) if lowered is not None else None
        if lowered is not None and checked is not None:
            lint(lowered, checked, problems)
        suppress(lowered.suppressions if lowered is not None else (), problems)
    except Exception as error:
        report_internal_error(error, document, problems)
    return Analysis(document, lowered, None if problems.has_errors else checked, problems.sorted())


def _analysed_requests(document: Document, problems: Problems) -> RequestsAnalysis:
    from formulaseed.requests.model import Request, Requests
    from formulaseed.requests.read import lower_requests

    lines: tuple[model.Line, ...] = ()
    try:
        if not is_too_long(document.source, "the text of all requests", problems):
            lines = lower_requests(document.source, problems)
    except Exception as error:
        report_internal_error(error, document, problems)
    name = Path(document.source.name.strip("<>")).name.split(".")[0]
    program = Requests(name, tuple(line for line in lines if isinstance(line, Request)))
    return RequestsAnalysis(document, lines, None if problems.has_errors else program, problems.sorted())


def load_requests(given: RequestsLike | RequestsFile, *, strict: bool = False) -> RequestsFile:
    """Read and check a file of requests. Raises `SeedError` with every diagnostic where one of them has errors."""
    if isinstance(given, RequestsFile):
        return given
    return _sound_requests(analyse_requests(given), strict)


def read_requests(given: RequestsLike | RequestsFile) -> RequestsAnalysis:
    """Read and check requests, some of which may be invalid. Raises `SeedError` where none of them can be read."""
    if isinstance(given, RequestsFile):
        return RequestsAnalysis(given.document, given.program.requests, given.program, given.diagnostics)
    analysis = analyse_requests(given)
    if not analysis.lines:
        raise SeedError(analysis.diagnostics)
    return analysis


def load_seed(seed: SeedLike | FormulaSeed, *, strict: bool = False) -> FormulaSeed:
    """Read and check a seed. Raises `SeedError` with every diagnostic where it has errors.

    With `strict` warnings are errors.
    """
    if isinstance(seed, FormulaSeed):
        return seed
    return _sound_seed(analyse(seed), strict)


def load_file(
    path: str | os.PathLike[str], *, strict: bool = False, reference: ReferenceLike | None = None
) -> FormulaSeed | RequestsFile | RulesFile:
    """Read and check whatever a file holds. Raises `SeedError` where it has errors, `UnreadableError` without one."""
    analysis = analyse_file(path, reference)
    if not isinstance(analysis, Analysis | RequestsAnalysis):
        from formulaseed.formulas import load_rules

        return load_rules(analysis, strict=strict)
    return _sound_seed(analysis, strict) if isinstance(analysis, Analysis) else _sound_requests(analysis, strict)


def _sound_seed(analysis: Analysis, strict: bool) -> FormulaSeed:
    diagnostics = strictly(analysis.diagnostics) if strict else analysis.diagnostics
    if analysis.program is None or any(d.severity == "error" for d in diagnostics):
        raise SeedError(diagnostics)
    return FormulaSeed(analysis.document, analysis.program, diagnostics)


def _sound_requests(analysis: RequestsAnalysis, strict: bool) -> RequestsFile:
    diagnostics = strictly(analysis.diagnostics) if strict else analysis.diagnostics
    if analysis.program is None or any(d.severity == "error" for d in diagnostics):
        raise SeedError(diagnostics)
    return RequestsFile(analysis.document, analysis.program, diagnostics)


def compile_seed(seed: SeedLike | FormulaSeed, *, target: str = "python", formatted: bool = True) -> str:
    """The source of the seed's module. Raises `SeedError` where the seed has errors."""
    if target not in TARGETS:
        raise FormulaSeedError(f"there is no target `{target}`; {did_you_mean(target, TARGETS, what='targets')}")
    loaded = load_seed(seed)
    try:
        source, fault = _python(loaded, formatted)
    except Exception as error:
        raise refused_module(loaded.document.source, "this seed", error) from None
    if fault is not None:
        raise refused_module(loaded.document.source, "this seed", fault)
    return source


def _python(seed: FormulaSeed, formatted: bool) -> tuple[str, str | None]:
    """The module's source, and what the verifier finds wrong with it."""
    from formulaseed.backends.python.plan import plan_module
    from formulaseed.backends.python.render import render_module
    from formulaseed.backends.python.verify import verify

    path, digest = shown_path(seed.document.path), seed.sha256
    view = plan_module(seed.program, path=path, sha256=digest)
    rendered, bare = render_module(view, plan_module(seed.program, path=path, sha256=digest, bare=True))
    source = rendered.source(formatted=formatted)
    return source, verify(source, bare.source(formatted=False))


def compile_requests(given: RequestsLike | RequestsFile, *, formatted: bool = True) -> str:
    """The source of the module of a file of requests. Raises `SeedError` where it has errors."""
    loaded = load_requests(given)
    from formulaseed.backends.python.dialects import REQUESTS
    from formulaseed.backends.python.render import render_requests
    from formulaseed.backends.python.requests_plan import plan_requests
    from formulaseed.backends.python.verify import verify

    path, digest = shown_path(loaded.document.path), loaded.sha256
    try:
        views = [plan_requests(loaded.program, path=path, sha256=digest, bare=bare) for bare in (False, True)]
        rendered, bare_twin = render_requests(*views)
        source = rendered.source(formatted=formatted)
        fault = verify(source, bare_twin.source(formatted=False), REQUESTS)
    except Exception as error:
        raise refused_module(loaded.document.source, "these requests", error) from None
    if fault is not None:
        raise refused_module(loaded.document.source, "these requests", fault)
    return source


def locate(seed: FormulaSeed, step: str, kind: str) -> str:
    """The place in the seed of an evaluation error, as `file:line:column`; empty where there is none."""
    span = place_of(seed.program, step, kind)
    if span is None:
        return ""
    line, column = span.source.position(span.start)
    return f"{span.source.name}:{line}:{column}"
