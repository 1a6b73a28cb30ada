"""Define the command `compile`, which writes modules, and files of other targets.

It does not overwrite a file that it did not generate from the same document.
"""

from __future__ import annotations

import math
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formulaseed import pipeline
from formulaseed.backends.base import TARGETS, load_backend
from formulaseed.cli.options import reference_option, strict_option
from formulaseed.cli.output import check_current, emit, process_files, report_warnings, say
from formulaseed.cli.overwriting import find_obstacle, report_former
from formulaseed.data.files import replace_file
from formulaseed.documents import FormulaSeed, compile_tests, load_file, read_style
from formulaseed.language.intervals import Range
from formulaseed.pipeline import Compilable

if TYPE_CHECKING:
    from formulaseed.backends.python.bounds import ProvedBounds

_DEFAULT_FOLDER = "generated"
_DEFAULT_TARGET = "python"
_TABLE_NAME = re.compile(r"\w+(\.\w+){0,2}", re.ASCII)
_QUERY_OPTIONS = ("dialect", "rows", "contexts", "steps", "dbt")


@click.command("compile")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED|REQUESTS|RULES...")
@click.option("--out", default=_DEFAULT_FOLDER, show_default=True, help="The folder to write modules to.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a module is not current.")
@click.option("--force", is_flag=True, help="Replace files that formulaseed did not generate from the same file, too.")
@click.option("--stdout", is_flag=True, help="Print the module instead of writing it.")
@click.option(
    "--target", type=click.Choice(TARGETS), default=_DEFAULT_TARGET, show_default=True, help="What to compile to."
)
@click.option("--tests", metavar="DIR", help="Also write property tests of each seed's module, DIR/test_<task>.py.")
@click.option("--style", help="The style of the modules; by default that of the module that is there, else the newest.")
@click.option("--dialect", type=click.Choice(["duckdb", "spark"]), help="The dialect of SQL [default: duckdb].")
@click.option("--rows", metavar="NAME", help="The table of rows that the query reads [default: rows].")
@click.option("--contexts", metavar="NAME", help="The table of restaurants that the query reads [default: contexts].")
@click.option("--dbt", is_flag=True, help="The query becomes a model of dbt, with its properties in a file .yml.")
@click.option("--steps", is_flag=True, help="Every step becomes a column of the query, not only the outputs.")
@click.option("--prove", is_flag=True, help="Seeds' modules state proved bounds of outputs; needs the extra `prove`.")
@reference_option
@strict_option
def compile(seeds: tuple[str, ...], **options: Any) -> None:
    """Compile seeds and files of requests or rules, by default to standalone Python modules, `OUT/<task or file name>.py`.

    With --target sql a seed becomes a query, `OUT/<task>.<dialect>.sql`.

    The same file gives the same bytes on every machine, so the modules can be committed and reviewed. A file that
    was not generated, or that was generated from another file, is left alone: exit status 2.

    With --check a generated module can be given too, which is compared with what its file compiles to; other files that end
    like one are passed over.
    """
    job = _Compilation(**options)
    job.check_options()
    sys.exit(process_files(seeds, job.compile_file, "; not compiled"))


@dataclass
class _Compilation:
    """The work of one `compile` command with its options; `sources` are the input files by the paths of their modules."""

    target: str
    out: str
    tests: str | None
    style: str | None
    reference: str | None
    strict: bool
    check: bool
    force: bool
    stdout: bool
    dialect: str | None
    rows: str | None
    contexts: str | None
    steps: bool
    dbt: bool
    prove: bool
    sources: dict[Path, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in _QUERY_OPTIONS}
        self.options = {name: value for name, value in values.items() if value}
        """The options that only some targets have, apart from the style and the tests."""
        self.backend = load_backend(self.target)

    def check_options(self) -> None:
        """Raise `UsageError` for options that do not go together or that the target does not have."""
        from formulaseed.backends.python.identity import STYLES
        from formulaseed.diagnostics.suggestions import did_you_mean

        self._check_target_options()
        if self.style is not None and self.style not in STYLES:
            raise click.UsageError(
                f"there is no style `{self.style}`; {did_you_mean(self.style, STYLES, noun='styles')}"
            )
        if self.check and self.stdout:
            raise click.UsageError("--check writes nothing and --stdout prints: pass one of the two")
        if self.force and (self.check or self.stdout):
            raise click.UsageError("--force is for writing modules: pass it without --check and --stdout")
        if self.tests is not None and self.stdout:
            raise click.UsageError("--tests writes a file beside the module: pass it without --stdout")

    def _check_target_options(self) -> None:
        """Pass its options to the target. Raises `UsageError` for an option of another target, or no name of a table."""
        for option, value in self._list_target_options().items():
            if value is not None and option not in self.backend.options:
                targets = [f"--target {name}" for name in TARGETS if option in load_backend(name).options]
                raise click.UsageError(f"--{option} goes with {' or '.join(targets)}")
        for name in (self.rows, self.contexts):
            if name is not None and not _TABLE_NAME.fullmatch(name):
                raise click.UsageError("--rows and --contexts are names of tables, such as `rows` or `shop.rows`")
        self.backend = self.backend.configure(self.options)

    def _list_target_options(self) -> dict[str, Any]:
        """Return the options that not every target has; None for those that are not given."""
        return {"style": self.style, "tests": self.tests, "prove": self.prove or None, **self.options}

    def compile_file(self, seed: str) -> int:
        """Compile a file, and write, check or print its module and tests; return the exit status.

        With --check the file may also be a generated module. Adds the module to `self.sources`; a second file with the
        same module has status 1. Raises `SeedError` if the file has errors, `UnreadableError` if a file cannot be read
        or written.
        """
        from formulaseed.backends.python.names import former_module_names, module_name

        if self.check and seed.endswith(self.backend.suffix):
            return self._check_generated(Path(seed))
        loaded = load_file(seed, strict=self.strict, reference=self.reference)
        path = Path(self.out) / f"{module_name(loaded.name)}{self.backend.suffix}"
        source = self._compile_for(path, loaded, self.style)
        report_warnings(loaded)
        if self.stdout:
            emit(source)
            return 0
        if path in self.sources:
            say(f"{seed}: {self.sources[path]} has the same module, {path}; rename one of the tasks", err=True)
            return 1
        self.sources[path] = seed
        for name in former_module_names(loaded.name):
            former = Path(self.out) / f"{name}{self.backend.suffix}"
            report_former(former, path, source, loaded.document.path, self.backend)
        arguments = self._format_arguments(seed, Path(self.out), self.style)
        status = self._place(path, source, loaded, arguments, "--out")
        companion = pipeline.compile_companion(loaded, self.target, path.parent, self.options)
        if companion is not None and (not status or self.check):
            beside = path.with_name(path.name.removesuffix(self.backend.suffix) + companion[0])
            status = max(status, self._place(beside, companion[1], loaded, arguments, "--out"))
        if self.tests is None or (status and not self.check):
            return status
        if not isinstance(loaded, FormulaSeed) or loaded.document.path is None:
            say(f"{seed}: no tests: they are for seeds in files that are not compressed", err=True)
            return 2
        tests_path = Path(self.tests) / f"test_{path.name}"
        tests_source = compile_tests(loaded, tests_path, path, self.style)
        return max(
            status, self._place(tests_path, tests_source, loaded, f"{arguments} --tests {self.tests}", "--tests")
        )

    def _place(self, path: Path, source: str, loaded: Compilable[Any], arguments: str, option: str) -> int:
        """Write a generated file, or with --check print whether it is current; return the exit status.

        A file that would be lost is not overwritten: the status is 2. `arguments` are those of the command that writes the file,
        `option` is the option for its folder.
        """
        obstacle = find_obstacle(path, source, loaded.document.path, self.backend)
        if self.check:
            stale = f"not what {loaded.document.source.name} compiles to"
            if obstacle is not None:
                say(f"{path}: {stale}: {obstacle.reason}")
                return 1
            return check_current(path, source, f"`formulaseed compile {arguments}`", stale)
        if obstacle is not None and not (self.force and obstacle.may_be_forced):
            help = f"{obstacle.help}, write to another folder with {option}"
            if obstacle.may_be_forced:
                help += ", or replace it with --force"
            say(f"{path}: not overwritten: {obstacle.reason}; {help}", err=True)
            return 2
        replace_file(path, source, through_link=False)
        say(str(path))
        return 0

    def _compile_for(self, path: Path, loaded: Compilable[Any], style: str | None = None) -> str:
        """Compile a document to the text of the file `path`, which is not written.

        Without a style in that of an existing file, else in the newest. Raises `SeedError` if the target does not support
        the document, `MissingExtraError` if bounds are to be proved without the solver.
        """
        if style is None and "style" in self.backend.options:
            style = read_style(path)
        options = dict(self.options)
        if self.prove and isinstance(loaded, FormulaSeed):
            options["prove"] = _prove_bounds(loaded)
        return pipeline.compile(loaded, self.target, style=style, folder=path.parent, options=options)

    def _format_arguments(self, name: str, out: Path, style: str | None = None) -> str:
        """Return the arguments of `compile` that write the module of the file `name`, for a message.

        Defaults are left out, and nothing is quoted for a shell.
        """
        arguments = [name]
        if self.target != _DEFAULT_TARGET:
            arguments.append(f"--target {self.target}")
        for option, value in self.options.items():
            arguments.append(f"--{option}" if value is True else f"--{option} {value}")
        if out != Path(_DEFAULT_FOLDER):
            arguments.append(f"--out {out}")
        if style is not None:
            arguments.append(f"--style {style}")
        if self.prove:
            arguments.append("--prove")
        return " ".join(arguments)

    def _check_generated(self, path: Path) -> int:
        """Print whether a generated file, or a file of its tests, is what its document compiles to; return the status.

        A file that was not generated is passed over, with status 0; a missing document has status 1. `reference` is for
        rules. Raises `SeedError` if the document has errors, or warnings if `strict`, and `UnreadableError` if a file
        cannot be read.
        """
        from formulaseed.runtime.loading import describe_missing_seed, find_seed, read_module

        identity = self.backend.identify(read_module(path))
        if identity is None:
            say(f"{path}: not a generated file; passed over", err=True)
            return 0
        source = find_seed(identity.path, path)
        if source is None:
            say(f"{path}: {describe_missing_seed(identity.path, path)}")
            return 1
        loaded = load_file(os.path.relpath(source), strict=self.strict, reference=self.reference)
        name = loaded.document.source.name
        if identity.tested is not None and isinstance(loaded, FormulaSeed):
            module = Path(os.path.normpath(path.parent / identity.tested))
            expected = compile_tests(loaded, path, module)
            arguments = f"{self._format_arguments(name, module.parent)} --tests {path.parent}"
        else:
            expected = self._compile_for(path, loaded)
            arguments = self._format_arguments(name, path.parent)
        return check_current(path, expected, f"`formulaseed compile {arguments}`", f"not what {name} compiles to")


def _prove_bounds(seed: FormulaSeed) -> ProvedBounds:
    """Return the bounds of outputs that hold for every restaurant and all parameters. Raises `MissingExtraError`."""
    from formulaseed.backends.python.bounds import ProvedBounds
    from formulaseed.proofs.proving import prove
    from formulaseed.proofs.report import list_ranges

    claims = prove(seed, any_parameters=True).claims
    ranges: dict[str, Range] = {}
    for claim in claims.bounds:
        low, high = claim.low.bound, claim.high.bound
        ranges[claim.name] = Range(-math.inf if low is None else float(low), math.inf if high is None else float(high))
    return ProvedBounds(ranges, tuple(f"{name}: {words}" for name, words in list_ranges(claims.domain).items()))
