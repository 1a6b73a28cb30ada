"""Read, analyse and load documents from a path, standard input (`-`) or JSON values.

In: a seed, requests, rules, a formula reference or a formula. Out: an `Analysis`, or for the functions `load_…` a checked
document. The kind of a file is recognised by its content. `seed`, `requests` and `reference` define what the phases of the
compiler do with each kind.
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
from formulaseed.diagnostics.render import summarize
from formulaseed.errors import FormulaSeedError, SeedError, UnreadableError
from formulaseed.ir import nodes
from formulaseed.ir.kind import Document, Kind
from formulaseed.pipeline import Analysis, Compilable, compile, require_valid, run
from formulaseed.requests.kind import BENCHMARK_KIND
from formulaseed.requests.kind import KIND as REQUESTS
from formulaseed.seed import surface
from formulaseed.seed.kind import KIND as SEED
from formulaseed.seed.sections import SeedSections
from formulaseed.source.printing import number_of
from formulaseed.source.text import Source, shorten

if TYPE_CHECKING:
    from formulaseed.reference.model import Reference
    from formulaseed.requests.model import Line, Requests

SeedLike = str | os.PathLike[str] | Mapping[str, Any]
ReferenceLike = Union[str, os.PathLike[str], Mapping[str, Any], "Reference"]
Variables = Mapping[str, Any] | Collection[str]
RequestsLike = str | os.PathLike[str] | Iterable[Mapping[str, Any]]
SeedAnalysis = Analysis[surface.Program, nodes.Program]
RequestsAnalysis = Analysis[tuple["Line", ...], "Requests"]

_CHECKED_KINDS = ("seed", "requests", "rules", "reference")  # the kinds of files that the command `check` takes
_JSON_LINES_SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson")
_REFERENCE_FILE = "formula_reference.json"  # a file of rules uses the reference of this name in its folder


class FormulaSeed(SeedSections, Compilable[nodes.Program]):
    """A seed that has been checked and has no errors; `diagnostics` are its warnings and notes."""

    _repr_html_: ClassVar[Callable[[FormulaSeed], str] | None] = None
    """Return the HTML that a notebook shows; set by the package, since pages are made by a layer above."""

    @property
    def task_name(self) -> str:
        """The `task_name` of the seed."""
        return self.program.task_name

    @cached_property
    def module_source(self) -> str:
        """The source of the seed's Python module without line breaking, compiled at the first access."""
        return compile(self, formatted=False)

    def __repr__(self) -> str:
        """Return the name of the task, the number of steps, and the counts of the diagnostics if there are any."""
        text = f"{self.task_name!r}, {number_of(len(self.program.steps), 'step')}"
        counts = summarize(self.diagnostics)
        if counts:
            text += f", {counts}"
        return f"FormulaSeed({text})"


class RequestsFile(Compilable["Requests"]):
    """A file of requests that has been checked and has no errors; `diagnostics` are its warnings."""

    def __repr__(self) -> str:
        return shorten(
            f"RequestsFile({self.document.source.name!r}, {number_of(len(self.program.requests), 'request')})"
        )


def read_document(
    value: str | os.PathLike[str] | Mapping[str, Any], kind: str, problems: Problems, kinds: tuple[str, ...] = ()
) -> Document:
    """Read a file or a dictionary as a document of one of `kinds`, by default `kind`, which messages name.

    Reports a document of another kind and invalid JSON to `problems`; the document's `tree` is None then. Raises
    `UnreadableError` if the file cannot be opened, `FormulaSeedError` if `value` is neither a path nor a dictionary.
    """
    kinds = kinds or (kind,)
    path: Path | None = None
    if isinstance(value, Mapping):
        source = Source(f"<{kind}>", dump_json(value, kind))
        is_usable = is_of_kind(source, kind_of(value), kinds, problems)
    elif isinstance(value, str | os.PathLike):
        source, path = read_source(value, problems)
        is_usable = not problems.has_errors and is_of_kind(
            source, kind_of_text(source.text, source.name), kinds, problems
        )
    else:
        raise FormulaSeedError(f"a {kind} is a path or a dictionary, not {type(value).__name__}")
    return read_text(source, path, problems) if is_usable else Document(source, None, path)


def analyse(seed: SeedLike) -> SeedAnalysis:
    """Read a seed and run the phases up to `lint`; every problem is in the result's diagnostics.

    Raises `UnreadableError` if the file cannot be opened, `FormulaSeedError` if `seed` is neither a path nor a
    dictionary.
    """
    problems = Problems()
    return run(SEED, read_document(seed, "seed", problems), problems)


def analyse_text(source: Source) -> SeedAnalysis:
    """Analyse the text of a seed, whatever file it comes from; every problem is in the result's diagnostics.

    No file is read, and nothing is raised for a text that is not a seed.
    """
    problems = Problems()
    return run(SEED, read_text(source, None, problems), problems)


def analyse_file(
    file: str | os.PathLike[str], reference: ReferenceLike | None = None, *, benchmark: bool = False
) -> Analysis[Any, Any]:
    """Analyse a file as the kind that its content says: a seed, requests, rules or a formula reference.

    Rules are checked against `reference`, by default the one that the file names or that is in its folder, else the
    restaurant's fields. With `benchmark` requests must have ids of the benchmark's form. A file of another kind is
    reported in the diagnostics of an analysis without results. Raises `UnreadableError` if the file cannot be opened.
    """
    problems = Problems()
    source, path = read_source(file, problems)
    name = recognise_kind(source, _CHECKED_KINDS, problems)
    if name is None:
        return Analysis(SEED, Document(source, None, path), None, None, problems.sorted())
    if name == "requests":
        return run(BENCHMARK_KIND if benchmark else REQUESTS, Document(source, None, path), problems)
    kind: Kind[Any, Any] = SEED
    if name != "seed":
        from formulaseed.reference.kind import KIND as REFERENCE

        kind = _rules_kind(reference) if name == "rules" else REFERENCE
    return run(kind, read_text(source, path, problems), problems)


def recognise_kind(source: Source, kinds: tuple[str, ...], problems: Problems) -> str | None:
    """Return the name of the kind that a file is read as, one of `kinds`.

    Returns None if the file is of another kind, which is reported, and if `problems` has errors already. A file that is
    not JSON is read as requests if its name is one of JSON Lines, and otherwise as a seed.
    """
    if problems.has_errors:
        return None
    kind = kind_of_text(source.text, source.name)
    if not is_of_kind(source, kind, kinds, problems):
        return None
    if kind is not None:
        return kind.name
    # a file that cannot be read as JSON: its name decides which errors are reported
    return "requests" if source.name.endswith(_JSON_LINES_SUFFIXES) else "seed"


def analyse_rules(file: str | os.PathLike[str], reference: ReferenceLike | None = None) -> SeedAnalysis:
    """Analyse a file of rules; every problem is in the result's diagnostics, also if the file is of another kind.

    `reference` is chosen as by `analyse_file`. Raises `UnreadableError` if the file cannot be opened.
    """
    problems = Problems()
    return run(_rules_kind(reference), read_document(file, "rules", problems), problems)


def analyse_formula(text: str, reference: Reference) -> SeedAnalysis:
    """Analyse one formula over the fields of `reference`; every problem is in the result's diagnostics.

    Raises `FormulaSeedError` if `text` is not a string.
    """
    from formulaseed.reference.kind import formula_kind

    if not isinstance(text, str):
        raise FormulaSeedError(f"a formula is a string, not {type(text).__name__}")
    return run(formula_kind(reference), Document(Source("<formula>", text), None, None), Problems())


def analyse_requests(requests: RequestsLike, *, benchmark: bool = False) -> RequestsAnalysis:
    """Analyse a file of requests, or requests as JSON values; with `benchmark` ids must have the benchmark's form.

    A file of another kind is reported. Raises `UnreadableError` if the file cannot be opened, `FormulaSeedError` if `requests`
    is neither a path nor a list.
    """
    kind = BENCHMARK_KIND if benchmark else REQUESTS
    problems = Problems()
    if isinstance(requests, str | os.PathLike):
        source, path = read_source(requests, problems)
        is_usable = recognise_kind(source, ("requests",), problems) is not None
        document = Document(source, None, path)
    elif isinstance(requests, Mapping) or not isinstance(requests, Iterable):
        raise FormulaSeedError(f"requests are a path or a list of objects, not {type(requests).__name__}")
    else:
        objects = list(requests)
        text = "".join(dump_json(request, "request", indent=None) + "\n" for request in objects)
        document = Document(Source("<requests>", text), None, None)
        is_usable = not objects or is_of_kind(document.source, kind_of(objects[0]), ("requests",), problems)
    if not is_usable:
        return Analysis(kind, document, None, None, problems.sorted())
    return run(kind, document, problems)


# --- formula references


def load_reference(source: ReferenceLike) -> Reference:
    """Read a formula reference or a schema file; a `Reference` is returned as is.

    Raises `UnreadableError` if the file cannot be opened, `SeedError` if it has errors or is of another kind, and
    `FormulaSeedError` if `source` is neither a path nor a dictionary.
    """
    from formulaseed.reference.model import Reference
    from formulaseed.reference.read import lower_reference

    if isinstance(source, Reference):
        return source
    problems = Problems()
    document = read_document(source, "reference", problems)
    reference = lower_reference(document.tree, problems)
    if reference is None or problems.has_errors:
        raise SeedError(problems.sorted())
    return reference


def load_domain(reference: ReferenceLike | None, variables: Variables | None) -> Reference:
    """Return the names that a formula may use: those of a reference, of variables, or of both.

    Without either they are the fields of a restaurant; variables alone exclude these. Raises as `load_reference` does,
    and `DataError` for malformed variables.
    """
    from formulaseed.reference.restaurant import build_restaurant_reference
    from formulaseed.reference.variables import add_variables

    loaded = load_reference(reference) if reference is not None else None
    if variables is not None:
        return add_variables(loaded, variables)
    return loaded or build_restaurant_reference()


def _rules_kind(reference: ReferenceLike | None) -> Kind[surface.Program, nodes.Program]:
    """Return the kind of rules that are checked against `reference`, loaded as `_load_rules_reference` does."""
    from formulaseed.reference.kind import rules_kind

    return rules_kind(partial(_load_rules_reference, reference))


def _load_rules_reference(reference: ReferenceLike | None, document: Document, problems: Problems) -> Reference:
    """Return the reference for the file of rules `document`.

    It is `reference`, else the file that the rules name, else `formula_reference.json` in their folder, else the restaurant's
    fields. If the named file cannot be opened, that is reported and an empty, incomplete reference is returned, so that its
    names are not reported as unknown. Raises `SeedError` if the reference is invalid.
    """
    from formulaseed.reference.kind import find_reference_path
    from formulaseed.reference.model import Reference
    from formulaseed.reference.restaurant import build_restaurant_reference

    if reference is not None:
        return load_reference(reference)
    folder = document.path.parent if document.path is not None else Path()
    named = find_reference_path(document.tree) if document.tree is not None else None
    if named is not None:
        try:
            return load_reference(folder / named.value)
        except UnreadableError as error:
            problems.report(catalogue.unreadable_reference(named.span, error.message))
            return Reference((), is_complete=False)
    default_file = folder / _REFERENCE_FILE
    if document.path is not None and default_file.is_file():
        return load_reference(default_file)
    return build_restaurant_reference()


# --- checked documents


@validate_arguments
def load_seed(seed: SeedLike | FormulaSeed, *, strict: bool = False) -> FormulaSeed:
    """Read and check a seed, given as a path or as JSON values; a `FormulaSeed` is returned as is.

    Raises `SeedError`, whose `.diagnostics` hold every problem, and `DataError` for a file that cannot be opened; with
    `strict` warnings are errors.
    """
    if isinstance(seed, FormulaSeed):
        return seed
    return _as_formula_seed(require_valid(analyse(seed), strict=strict))


@validate_arguments
def load_requests(requests: RequestsLike | RequestsFile, *, strict: bool = False) -> RequestsFile:
    """Read and check a file of requests, given as a path or as JSON values; a `RequestsFile` is returned as is.

    Raises `SeedError` if a request has errors, with every problem in its `.diagnostics`, and `DataError` for a file that cannot
    be opened; with `strict` warnings are errors. `validate_requests` takes a file in which some requests have errors.
    """
    if isinstance(requests, RequestsFile):
        return requests
    valid: Compilable[Requests] = require_valid(analyse_requests(requests), strict=strict)
    return RequestsFile(valid.kind, valid.document, valid.program, valid.diagnostics)


def read_requests(requests: RequestsLike | RequestsFile, *, benchmark: bool = False) -> RequestsAnalysis:
    """Read and check requests, some of which may be invalid; with `benchmark` ids must have the benchmark's form.

    Raises `SeedError` if not one request can be read, `UnreadableError` if the file cannot be opened.
    """
    if isinstance(requests, RequestsFile):
        program = requests.program
        return Analysis(requests.kind, requests.document, program.requests, program, requests.diagnostics)
    analysis = analyse_requests(requests, benchmark=benchmark)
    if not analysis.parsed:
        raise SeedError(analysis.diagnostics)
    return analysis


def load_file(
    path: str | os.PathLike[str], *, strict: bool = False, reference: ReferenceLike | None = None
) -> Compilable[Any]:
    """Read and check a file that can be compiled: a seed, requests or rules.

    Rules are checked against `reference`, as `analyse_file` does. Raises `SeedError` if the file has errors, with `strict` also
    if it has warnings, and if it is a formula reference; `UnreadableError` if it cannot be opened.
    """
    analysis = analyse_file(path, reference)
    if analysis.kind.name == "reference" and not analysis.errors:
        raise SeedError([catalogue.nothing_to_compile(analysis.document.source, "formula reference")])
    loaded = require_valid(analysis, strict=strict)
    return _as_formula_seed(loaded) if loaded.kind is SEED else loaded


def _as_formula_seed(loaded: Compilable[nodes.Program]) -> FormulaSeed:
    """Return the same document as an instance of the public class of seeds."""
    return FormulaSeed(loaded.kind, loaded.document, loaded.program, loaded.diagnostics)


@validate_arguments
def compile_seed(
    seed: SeedLike | FormulaSeed, *, target: str = "python", dialect: str | None = None, formatted: bool = True
) -> str:
    """Compile a seed to the source of its standalone Python module, or to source of another target.

    `dialect` is that of `sql`, `formatted` splits lines that are too long. Raises `SeedError` for a seed with errors, or parts
    unknown to the target, `FormulaSeedError` for an unknown target or dialect, and `UnreadableError` for the file.
    """
    return compile(load_seed(seed), target, formatted=formatted, options={"dialect": dialect} if dialect else None)


def compile_tests(seed: FormulaSeed, tests: Path, module: Path, style: str | None = None) -> str:
    """Return the source of the test file `tests`, with which pytest tests the generated module `module`.

    The source names the seed and the module relative to the folder of `tests`. `style` is the style of generated files, by
    default that of an existing file `tests`. No file is written; `seed` must come from a file.
    """
    from formulaseed.backends.python.code import literal
    from formulaseed.backends.python.identity import print_header
    from formulaseed.backends.python.render import format_body

    seed_path = seed.document.path
    assert seed_path is not None
    folder = os.path.realpath(tests.parent)
    paths = [Path(os.path.relpath(os.path.realpath(path), folder)).as_posix() for path in (seed_path, module)]
    first_line = print_header(portable_path(seed_path, tests.parent), style or read_style(tests))
    return format_body(
        f'"""{first_line}"""\n\nfrom formulaseed.testing import seed_tests\n\n'
        f"test_{module.stem} = seed_tests(__file__, {', '.join(map(literal, paths))})\n"
    )


def read_style(path: Path) -> str:
    """Return the style of an existing generated file; the newest if it is unknown or there is no regular file."""
    from formulaseed.backends.python.identity import HEADER_CHARACTERS, choose_style

    try:
        beginning, _ = read_bytes(path, HEADER_CHARACTERS, regular=True)
    except UnreadableError:  # there is no file, or no regular one: the file will be new
        beginning = b""
    return choose_style(beginning.decode("utf-8", "replace"))


def locate(seed: FormulaSeed, step: str, kind: str) -> str:
    """Return the `file:line:column` of an evaluation error of `kind` in `step`; empty if the seed has no such place."""
    from formulaseed.ir.interpret import find_failure_span

    span = find_failure_span(seed.program, step, kind)
    return span.place if span is not None else ""
