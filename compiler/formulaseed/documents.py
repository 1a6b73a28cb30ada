"""Read, analyse and load documents as users give them: a path, `-` or JSON values.

In: a seed, requests, rules, a formula reference, a formula. Out: the `Analysis` of its kind, which is recognised by what the
file holds, or what was checked. Knows every kind; what the phases do with each is defined by `seed`, `requests` and `reference`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Union

from formulaseed.data.arguments import validate_arguments
from formulaseed.data.documents import dump_json, is_of_kind, portable_path, read_source, read_text
from formulaseed.data.file_kinds import kind_of, kind_of_text
from formulaseed.data.files import read_bytes
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.render import summary
from formulaseed.errors import FormulaSeedError, SeedError, UnreadableError
from formulaseed.ir import nodes
from formulaseed.ir.kind import Document, Kind
from formulaseed.pipeline import Analysis, Compilable, checked, compile, run
from formulaseed.requests.kind import BENCHMARK_KIND
from formulaseed.requests.kind import KIND as REQUESTS
from formulaseed.seed import surface
from formulaseed.seed.kind import KIND as SEED
from formulaseed.source.printing import number_of
from formulaseed.source.text import Source, shortened

if TYPE_CHECKING:
    from formulaseed.reference.model import Reference
    from formulaseed.requests.model import Line, Requests

SeedLike = str | os.PathLike[str] | Mapping[str, Any]
ReferenceLike = Union[str, os.PathLike[str], Mapping[str, Any], "Reference"]
Variables = Mapping[str, Any] | Collection[str]
RequestsLike = str | os.PathLike[str] | Iterable[Mapping[str, Any]]
SeedAnalysis = Analysis[surface.Program, nodes.Program]
RequestsAnalysis = Analysis[tuple["Line", ...], "Requests"]

_CHECKED = ("seed", "requests", "rules", "reference")
"""The kinds of files that `check` takes."""
_JSON_LINES = (".jsonl", ".jsonl.gz", ".ndjson")
_REFERENCE_FILE = "formula_reference.json"
"""The name of a reference that is beside a file of rules."""


class FormulaSeed(Compilable[nodes.Program]):
    """A seed that has been checked and has no errors; `diagnostics` are its warnings and notes."""

    _repr_html_: ClassVar[Callable[[FormulaSeed], str] | None] = None
    """What a notebook shows: the package sets it, since pages are made by a layer above."""

    @property
    def task_name(self) -> str:
        return self.program.task_name

    @cached_property
    def module_source(self) -> str:
        """Its module's source for this process, long lines not broken; whoever needs it again has it at once."""
        return compile(self, formatted=False)

    def __repr__(self) -> str:
        found = summary(self.diagnostics)
        return f"FormulaSeed({self.task_name!r}, {number_of(len(self.program.steps), 'step')}{found and f', {found}'})"


class RequestsFile(Compilable["Requests"]):
    """A file of requests that has been checked and has no errors; `diagnostics` are its warnings."""

    def __repr__(self) -> str:
        return shortened(
            f"RequestsFile({self.document.source.name!r}, {number_of(len(self.program.requests), 'request')})"
        )


def read_given(
    given: str | os.PathLike[str] | Mapping[str, Any], what: str, problems: Problems, kinds: tuple[str, ...] = ()
) -> Document:
    """Read a file or a dictionary of one of the kinds, by default `what`. Raises `UnreadableError` if it cannot be opened."""
    kinds = kinds or (what,)
    if isinstance(given, Mapping):
        source, path = Source(f"<{what}>", dump_json(given, what)), None
        is_sound = is_of_kind(source, kind_of(given), kinds, problems)
    elif isinstance(given, str | os.PathLike):
        source, path = read_source(given, problems)
        is_sound = not problems.has_errors and is_of_kind(
            source, kind_of_text(source.text, source.name), kinds, problems
        )
    else:
        raise FormulaSeedError(f"a {what} is a path or a dictionary, not {type(given).__name__}")
    return read_text(source, path, problems) if is_sound else Document(source, None, path)


def read(seed: SeedLike, problems: Problems) -> Document:
    """Read a file or a dictionary. Raises `UnreadableError` for a file that cannot be opened."""
    return read_given(seed, "seed", problems)


def analyse(seed: SeedLike) -> SeedAnalysis:
    """Run the phases up to `lint`; every problem is in the result's diagnostics."""
    problems = Problems()
    return run(SEED, read(seed, problems), problems)


def analyse_text(source: Source) -> SeedAnalysis:
    """Analyse the text of a seed."""
    problems = Problems()
    return run(SEED, read_text(source, None, problems), problems)


def analyse_file(
    given: str | os.PathLike[str], reference: ReferenceLike | None = None, *, benchmark: bool = False
) -> Analysis[Any, Any]:
    """Analyse whatever the file holds: a seed, requests, rules, a reference. Raises `UnreadableError`.

    With `benchmark` requests must have ids of the benchmark's form.
    """
    problems = Problems()
    source, path = read_source(given, problems)
    name = document_kind(source, _CHECKED, problems)
    if name is None:
        return Analysis(SEED, Document(source, None, path), None, None, problems.sorted())
    if name == "requests":
        return run(BENCHMARK_KIND if benchmark else REQUESTS, Document(source, None, path), problems)
    kind: Kind[Any, Any] = SEED
    if name != "seed":
        from formulaseed.reference.kind import KIND as REFERENCE

        kind = _rules_kind(reference) if name == "rules" else REFERENCE
    return run(kind, read_text(source, path, problems), problems)


def document_kind(source: Source, kinds: tuple[str, ...], problems: Problems) -> str | None:
    """Return which of the kinds a file is read as; None if it is of another kind, which is reported, or has errors."""
    kind = None if problems.has_errors else kind_of_text(source.text, source.name)
    if problems.has_errors or not is_of_kind(source, kind, kinds, problems):
        return None
    if kind is not None:
        return kind.name
    # what cannot be read as JSON is of the kind that its name says
    return "requests" if source.name.endswith(_JSON_LINES) else "seed"


def analyse_rules(given: str | os.PathLike[str], reference: ReferenceLike | None = None) -> SeedAnalysis:
    """Analyse a file as one of rules, whatever it holds. Raises `UnreadableError`."""
    problems = Problems()
    return run(_rules_kind(reference), read_given(given, "rules", problems), problems)


def analyse_formula(text: str, reference: Reference) -> SeedAnalysis:
    """Analyse one formula over a reference."""
    from formulaseed.reference.kind import formula_kind

    if not isinstance(text, str):
        raise FormulaSeedError(f"a formula is a string, not {type(text).__name__}")
    return run(formula_kind(reference), Document(Source("<formula>", text), None, None), Problems())


def analyse_requests(given: RequestsLike, *, benchmark: bool = False) -> RequestsAnalysis:
    """Analyse a file of requests, or the requests as JSON values; with `benchmark` ids must have the benchmark's form."""
    kind, problems = BENCHMARK_KIND if benchmark else REQUESTS, Problems()
    if isinstance(given, str | os.PathLike):
        source, path = read_source(given, problems)
        if document_kind(source, ("requests",), problems) is None:
            return Analysis(kind, Document(source, None, path), None, None, problems.sorted())
        return run(kind, Document(source, None, path), problems)
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise FormulaSeedError(f"requests are a path or a list of objects, not {type(given).__name__}")
    requests = list(given)
    document = Document(
        Source("<requests>", "".join(dump_json(each, "request", indent=None) + "\n" for each in requests)), None, None
    )
    if requests and not is_of_kind(document.source, kind_of(requests[0]), ("requests",), problems):
        return Analysis(kind, document, None, None, problems.sorted())
    return run(kind, document, problems)


# --- formula references


def load_reference(source: ReferenceLike) -> Reference:
    """Read a formula reference or a schema file; a `Reference` is returned as it is.

    Raises `UnreadableError` if the file cannot be opened, `SeedError` if it is invalid.
    """
    from formulaseed.reference.model import Reference
    from formulaseed.reference.read import lower_reference

    if isinstance(source, Reference):
        return source
    problems = Problems()
    document = read_given(source, "reference", problems)
    reference = lower_reference(document.tree, problems)
    if reference is None or problems.has_errors:
        raise SeedError(problems.sorted())
    return reference


def domain_of(reference: ReferenceLike | None, variables: Variables | None) -> Reference:
    """Return what a formula's names mean: a reference, variables or both; with neither the restaurant's fields."""
    from formulaseed.reference.restaurant import restaurant_reference
    from formulaseed.reference.variables import with_variables

    loaded = load_reference(reference) if reference is not None else None
    return with_variables(loaded, variables) if variables is not None else loaded or restaurant_reference()


def _rules_kind(reference: ReferenceLike | None) -> Kind[surface.Program, nodes.Program]:
    from formulaseed.reference.kind import rules_kind

    return rules_kind(partial(_reference_of_rules, reference))


def _reference_of_rules(reference: ReferenceLike | None, document: Document, problems: Problems) -> Reference:
    """Return the reference of a file of rules: the given one, else the one that it names or that is beside it.

    Reports one that it names and that cannot be opened. Raises `SeedError` if the reference is invalid.
    """
    from formulaseed.reference.model import Reference
    from formulaseed.reference.restaurant import restaurant_reference
    from formulaseed.reference.rules import reference_named

    if reference is not None:
        return load_reference(reference)
    folder = document.path.parent if document.path is not None else Path()
    named = reference_named(document.tree) if document.tree is not None else None
    if named is not None:
        try:
            return load_reference(folder / named.value)
        except UnreadableError as error:
            problems.report(catalogue.unreadable_reference(named.span, error.message))
            return Reference((), is_complete=False)
    beside = folder / _REFERENCE_FILE
    return load_reference(beside) if document.path is not None and beside.is_file() else restaurant_reference()


# --- what users load


@validate_arguments
def load_seed(seed: SeedLike | FormulaSeed, *, strict: bool = False) -> FormulaSeed:
    """Read and check a seed, given as a path or as JSON values.

    Raises `SeedError`, whose `.diagnostics` hold every problem, and `DataError` for a file that cannot be opened; with
    `strict` warnings are errors.
    """
    return seed if isinstance(seed, FormulaSeed) else _seed(checked(analyse(seed), strict=strict))


@validate_arguments
def load_requests(given: RequestsLike | RequestsFile, *, strict: bool = False) -> RequestsFile:
    """Read and check a file of requests, given as a path or as JSON values.

    Raises `SeedError` where a request has errors, with every problem in its `.diagnostics`, and `DataError`
    for a file that cannot be opened. `validate_requests` takes a file in which some requests have errors.
    """
    if isinstance(given, RequestsFile):
        return given
    found: Compilable[Requests] = checked(analyse_requests(given), strict=strict)
    return RequestsFile(found.kind, found.document, found.program, found.diagnostics)


def read_requests(given: RequestsLike | RequestsFile, *, benchmark: bool = False) -> RequestsAnalysis:
    """Read and check requests, some of which may be invalid. Raises `SeedError` if none of them can be read."""
    if isinstance(given, RequestsFile):
        return Analysis(given.kind, given.document, given.program.requests, given.program, given.diagnostics)
    analysis = analyse_requests(given, benchmark=benchmark)
    if not analysis.parsed:
        raise SeedError(analysis.diagnostics)
    return analysis


def load_file(
    path: str | os.PathLike[str], *, strict: bool = False, reference: ReferenceLike | None = None
) -> Compilable[Any]:
    """Read and check what a file holds. Raises `SeedError` if it has errors, `UnreadableError` without one."""
    analysis = analyse_file(path, reference)
    if analysis.kind.name == "reference" and not analysis.errors:
        raise SeedError([catalogue.nothing_to_compile(analysis.document.source, "formula reference")])
    found = checked(analysis, strict=strict)
    return _seed(found) if found.kind is SEED else found


def _seed(found: Compilable[nodes.Program]) -> FormulaSeed:
    return FormulaSeed(found.kind, found.document, found.program, found.diagnostics)


@validate_arguments
def compile_seed(seed: SeedLike | FormulaSeed, *, target: str = "python", formatted: bool = True) -> str:
    """Return the source of the seed's standalone Python module, or what another target makes of the seed.

    Raises `SeedError` if the seed has errors or the target does not support a part of it, `FormulaSeedError` if there is no
    such target.
    """
    return compile(load_seed(seed), target, formatted=formatted)


def compile_tests(seed: FormulaSeed, tests: Path, module: Path, style: str | None = None) -> str:
    """Return the source of the file `tests`, by which pytest tests the generated module in the file `module`.

    Both, and the seed, are named relative to the folder of the tests. Without a style they keep that of the file that is there.
    """
    from formulaseed.backends.python.code import literal
    from formulaseed.backends.python.plan import header
    from formulaseed.backends.python.render import format_body

    document, folder = seed.document, os.path.realpath(tests.parent)
    assert document.path is not None
    places = [Path(os.path.relpath(os.path.realpath(path), folder)).as_posix() for path in (document.path, module)]
    first_line = header(portable_path(document.path, tests.parent), style or style_at(tests))
    return format_body(
        f'"""{first_line}"""\n\nfrom formulaseed.testing import seed_tests\n\n'
        f"test_{module.stem} = seed_tests(__file__, {', '.join(map(literal, places))})\n"
    )


def style_at(path: Path) -> str:
    """Return the style of the module at a path, if this release writes it; else the newest."""
    from formulaseed.backends.python.identity import BEGINNING, style_for

    try:
        beginning, _ = read_bytes(path, BEGINNING, regular=True)
    except UnreadableError:  # there is none, or none that may be replaced
        beginning = b""
    return style_for(beginning.decode("utf-8", "replace"))


def locate(seed: FormulaSeed, step: str, kind: str) -> str:
    """Return the place in the seed of an evaluation error as `file:line:column`; empty if there is none."""
    from formulaseed.ir.interpret import place_of

    span = place_of(seed.program, step, kind)
    if span is None:
        return ""
    line, column = span.source.position(span.start)
    return f"{span.source.name}:{line}:{column}"
