"""Define the commands that read and write seeds without evaluating them.

`compile` does not overwrite a file that it did not generate from the same document.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import click

from formulaseed import pipeline
from formulaseed.backends.base import TARGETS, load_backend
from formulaseed.cli.options import check_suffix, reference_option, strict_option
from formulaseed.cli.output import (
    check_current,
    emit,
    process_files,
    report_warnings,
    say,
    show,
    show_diagnostics,
    write_out,
)
from formulaseed.cli.overwriting import find_obstacle, report_former
from formulaseed.data.documents import read_source, read_text
from formulaseed.data.files import replace_file
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.documents import (
    FormulaSeed,
    analyse,
    analyse_text,
    compile_tests,
    load_file,
    load_seed,
    read_style,
    recognise_kind,
)
from formulaseed.errors import SeedError, UnreadableError
from formulaseed.pipeline import Compilable
from formulaseed.seed.kind import KIND as SEED
from formulaseed.seed.read.sections import is_v1
from formulaseed.seed.write.canonical import canonicalize, format_json, sorted_steps
from formulaseed.source.json_reader import plain_value
from formulaseed.source.text import Source


@click.command("dump")
@click.argument("seed")
@click.option("--after", type=click.Choice(["read", "parse", "check", "plan"]), default="check", show_default=True,
              help="The phase whose result to show.")  # fmt: skip
def dump(seed: str, after: Literal["read", "parse", "check", "plan"]) -> None:
    """Show a seed as one of the compiler's phases sees it."""
    from formulaseed.ir.text import dump_program, dump_tree

    analysis = analyse(seed)
    tree: object = {"read": analysis.document.tree, "parse": analysis.parsed}.get(after)
    if after in ("check", "plan") and analysis.program is not None:
        if after == "check":
            show(dump_program(analysis.program), nl=False)
            return
        from formulaseed.backends.python.plan import plan_module

        plan, _ = plan_module(analysis.program, path="", sha256="")
        show("".join(f"{name}:\n{_dump_variable(value)}" for name, value in plan.items()), nl=False)
        return
    if tree is None:
        show_diagnostics(analysis.diagnostics, err=True)
        sys.exit(1)
    show(dump_tree(tree), nl=False)


def _dump_variable(value: object) -> str:
    """Return a variable of the template, a string or a list, as indented lines."""
    parts = value if isinstance(value, list) else [value]
    return "".join(f"  {line}\n" for part in parts for line in str(part).split("\n"))


_FORMATTED_KINDS = ("seed", "requests", "rules")


@click.command("fmt")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED|REQUESTS|RULES...")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a seed would be reformatted.")
@click.option("--sort", is_flag=True, help="Sort the steps into dependency order too.")
def fmt(seeds: tuple[str, ...], check: bool, sort: bool) -> None:
    """Format seeds, requests and rules: keys in the specification's order, a step on one line where it fits.

    Never changes what a file means; with --sort each step of a seed moves behind those that it uses. A file of requests
    with one a line stays so. Standard input and compressed files are printed.
    """

    def format_one(seed: str) -> int:
        """Format one file, or with --check print whether it would change; return the exit status.

        Raises `SeedError` for a file with errors, `UnreadableError` if the file cannot be opened or written.
        """
        problems = Problems()
        source, path = read_source(seed, problems)
        text = _format_source(source, path, problems, sort=sort)
        if problems.has_errors:
            raise SeedError(problems.sorted())
        if text == source.text and path is not None:
            return 0
        if check:
            say(f"{seed}: would be reformatted; run `formulaseed fmt {seed}`")
            return 1
        if path is None:
            emit(text)
            return 0
        replace_file(path, text)
        say(seed)
        return 0

    sys.exit(process_files(seeds, format_one, "; not formatted"))


def _format_source(source: Source, path: Path | None, problems: Problems, *, sort: bool) -> str:
    """Return the formatted text of a file, with `sort` with the steps of a seed in dependency order.

    `path` is None for standard input. Reports errors to `problems`; the text is of no use then. Raises `UsageError` if
    `sort` is set for a file that is no seed.
    """
    kind = recognise_kind(source, _FORMATTED_KINDS, problems)
    if kind is None:
        return ""
    if sort and kind != "seed":
        raise click.UsageError(f"--sort is for seeds: pass {source.name} without it")
    if kind == "requests":
        from formulaseed.requests.write import format_requests

        return format_requests(source, problems)
    document = read_text(source, path, problems)
    if document.tree is None:
        return ""
    value = canonicalize(plain_value(document.tree))
    if sort and not problems.has_errors:
        program = SEED.parse(document, problems)
        if program is not None and not problems.has_errors:
            value = sorted_steps(value, program, problems)
    return format_json(value)


@click.command("migrate")
@click.argument("seed", metavar="OLD.json")
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write the seed; else it is printed.")
def migrate(seed: str, out: str | None) -> None:
    """Rewrite a v1 seed (`compute_dag`) as a v2 seed (`compute`).

    A loop inside a formula becomes a step of its own. Exit status 1, and no seed, where v2 cannot express a step.
    """
    from formulaseed.seed.write.migrate import migrate as migrate_seed

    check_suffix(out, ".json")
    loaded = load_seed(seed)
    data = loaded.data
    if not isinstance(data, dict) or not is_v1(data):
        say(f"formulaseed: {seed} is a v2 seed already", err=True)
        sys.exit(1)
    migration = migrate_seed(data, loaded.program)
    for item in migration.not_moved:
        line, column = item.span.source.position(item.span.start)
        say(f"{item.span.source.name}:{line}:{column}: not migrated: {item.reason}", err=True)
    text = format_json(canonicalize(migration.seed))
    errors: list[Diagnostic] = []
    if not migration.not_moved:
        diagnostics = analyse_text(Source(out or "<migrated>", text)).diagnostics
        errors = [d for d in diagnostics if d.severity == "error"]
    if migration.not_moved or errors:
        show_diagnostics(errors, err=True)
        say(f"formulaseed: v2 cannot express all of {seed}; nothing is written", err=True)
        sys.exit(1)
    for left_out in migration.left_out:
        say(f"left out: {left_out}", err=True)
    write_out(text, out)


@click.command("schema")
@click.option("--of", "subject", type=click.Choice(["seed", "explanation"]), default="seed", show_default=True,
              help="What it describes.")  # fmt: skip
@click.option("--out", type=click.Path(), metavar="FILE", help="Write it into a file.")
@click.option("--check", "current", type=click.Path(), metavar="FILE", help="Write nothing; exit 1 where it differs.")
def schema(subject: str, out: str | None, current: str | None) -> None:
    """Print the JSON Schema of seeds, with which editors complete and explain keys, or of explanations as JSON."""
    if out is not None and current is not None:
        raise click.UsageError("--out and --check exclude each other")
    check_suffix(out, ".json")
    if subject == "seed":
        from formulaseed.seed.json_schema import build_seed_schema

        text = format_json(build_seed_schema())
        option = ""
    else:
        from formulaseed.explanation.explanation import explanation_schema

        text = format_json(explanation_schema())
        option = f"--of {subject} "
    if current is None:
        write_out(text, out)
        return
    if not Path(current).exists():
        raise UnreadableError(f"cannot read {current}: there is no such file")
    sys.exit(check_current(Path(current), text, f"`formulaseed schema {option}--out {current}`"))


_DEFAULT_FOLDER = "generated"
_DEFAULT_TARGET = "python"
_QUERY_OPTIONS = ("dialect", "rows", "contexts", "steps")


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
@click.option("--steps", is_flag=True, help="Every step becomes a column of the query, not only the outputs.")
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

        for option, value in ({"style": self.style, "tests": self.tests} | self.options).items():
            if value is not None and option not in self.backend.options:
                targets = [f"--target {name}" for name in TARGETS if option in load_backend(name).options]
                raise click.UsageError(f"--{option} goes with {' or '.join(targets)}")
        if self.style is not None and self.style not in STYLES:
            raise click.UsageError(
                f"there is no style `{self.style}`; {did_you_mean(self.style, STYLES, noun='styles')}"
            )
        self.backend = self.backend.configure(self.options)
        if self.check and self.stdout:
            raise click.UsageError("--check writes nothing and --stdout prints: pass one of the two")
        if self.force and (self.check or self.stdout):
            raise click.UsageError("--force is for writing modules: pass it without --check and --stdout")
        if self.tests is not None and self.stdout:
            raise click.UsageError("--tests writes a file beside the module: pass it without --stdout")

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
        the document.
        """
        if style is None and "style" in self.backend.options:
            style = read_style(path)
        return pipeline.compile(loaded, self.target, style=style, folder=path.parent, options=self.options)

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
