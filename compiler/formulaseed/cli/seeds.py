"""The commands that read and write seeds without evaluating them.

`compile` leaves alone what it did not generate from the same file.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from formulaseed import pipeline
from formulaseed.backends.base import TARGETS
from formulaseed.cli.output import (
    check_current,
    check_suffix,
    each_file,
    emit,
    reference_option,
    report_warnings,
    say,
    show,
    show_diagnostics,
    strict_option,
    write_out,
)
from formulaseed.data.documents import read_text, source_of
from formulaseed.data.files import replace_file
from formulaseed.diagnostics.model import Problems
from formulaseed.errors import SeedError, UnreadableError, reason_of
from formulaseed.kinds import SEED
from formulaseed.loading import (
    FormulaSeed,
    analyse,
    analyse_text,
    compile_tests,
    document_kind,
    load_file,
    load_seed,
    style_at,
)
from formulaseed.pipeline import Compilable
from formulaseed.seed.read.sections import is_v1
from formulaseed.seed.write.canonical import canonical, layout, sorted_steps
from formulaseed.source.json_reader import plain
from formulaseed.source.text import Source

if TYPE_CHECKING:
    from formulaseed.backends.python.identity import Identity


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
        show("".join(f"{name}:\n{_placed(value)}" for name, value in plan.items()), nl=False)
        return
    if tree is None:
        show_diagnostics(analysis.diagnostics, err=True)
        sys.exit(1)
    show(dump_tree(tree), nl=False)


def _placed(value: object) -> str:
    """What a template places, a line for each line of code."""
    parts = value if isinstance(value, list) else [value]
    return "".join(f"  {line}\n" for part in parts for line in str(part).split("\n"))


_FORMATTED = ("seed", "requests", "rules")


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
        problems = Problems()
        source, path = source_of(seed, problems)
        text = _formatted(source, path, problems, sort=sort)
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

    sys.exit(each_file(seeds, format_one, "; not formatted"))


def _formatted(source: Source, path: Path | None, problems: Problems, *, sort: bool) -> str:
    """Return the formatted text of a file, of the same kind; empty if it has errors, which are reported."""
    kind = document_kind(source, _FORMATTED, problems)
    if kind is None:
        return ""
    if sort and kind != "seed":
        raise click.UsageError(f"--sort is for seeds: pass {source.name} without it")
    if kind == "requests":
        from formulaseed.requests.write import formatted_requests

        return formatted_requests(source, problems)
    document = read_text(source, path, problems)
    value = canonical(plain(document.tree)) if document.tree is not None else None
    program = SEED.parse(document, problems) if sort and not problems.has_errors else None
    if program is not None and not problems.has_errors:
        value = sorted_steps(value, program, problems)
    return layout(value)


@click.command("migrate")
@click.argument("seed", metavar="OLD.json")
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write the seed; else it is printed.")
def migrate(seed: str, out: str | None) -> None:
    """Rewrite a v1 seed (`compute_dag`) as a v2 seed (`compute`).

    A loop inside a formula becomes a step of its own. Exit status 1, and no seed, where v2 cannot express a step.
    """
    from formulaseed.seed.write.migrate import migrate as migrated

    check_suffix(out, ".json")
    loaded = load_seed(seed)
    data = loaded.data
    if not isinstance(data, dict) or not is_v1(data):
        say(f"formulaseed: {seed} is a v2 seed already", err=True)
        sys.exit(1)
    migration = migrated(data, loaded.program)
    for item in migration.not_moved:
        line, column = item.span.source.position(item.span.start)
        say(f"{item.span.source.name}:{line}:{column}: not migrated: {item.reason}", err=True)
    text = layout(canonical(migration.seed))
    problems = analyse_text(Source(out or "<migrated>", text)).diagnostics if not migration.not_moved else ()
    errors = [d for d in problems if d.severity == "error"]
    if migration.not_moved or errors:
        show_diagnostics(errors, err=True)
        say(f"formulaseed: v2 cannot express all of {seed}; nothing is written", err=True)
        sys.exit(1)
    for left_out in migration.left_out:
        say(f"left out: {left_out}", err=True)
    write_out(text, out)


@click.command("schema")
@click.option("--of", "what", type=click.Choice(["seed", "explanation"]), default="seed", show_default=True,
              help="What it describes.")  # fmt: skip
@click.option("--out", type=click.Path(), metavar="FILE", help="Write it into a file.")
@click.option("--check", "current", type=click.Path(), metavar="FILE", help="Write nothing; exit 1 where it differs.")
def schema(what: str, out: str | None, current: str | None) -> None:
    """Print the JSON Schema of seeds, with which editors complete and explain keys, or of explanations as JSON."""
    if out is not None and current is not None:
        raise click.UsageError("--out and --check exclude each other")
    check_suffix(out, ".json")
    if what == "seed":
        from formulaseed.seed.json_schema import seed_schema

        described, option = seed_schema(), ""
    else:
        from formulaseed.explanation.explanation import explanation_schema

        described, option = explanation_schema(), f"--of {what} "
    text = layout(described)
    if current is None:
        write_out(text, out)
        return
    if not Path(current).exists():
        raise UnreadableError(f"cannot read {current}: there is no such file")
    sys.exit(check_current(Path(current), text, f"`formulaseed schema {option}--out {current}`"))


@click.command("compile")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED|REQUESTS|RULES...")
@click.option("--out", default="generated", show_default=True, help="The folder to write modules to.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a module is not current.")
@click.option("--force", is_flag=True, help="Replace files that formulaseed did not generate from the same file, too.")
@click.option("--stdout", is_flag=True, help="Print the module instead of writing it.")
@click.option("--target", type=click.Choice(TARGETS), default="python", show_default=True, help="What to compile to.")
@click.option("--tests", metavar="DIR", help="Also write property tests of each seed's module, DIR/test_<task>.py.")
@click.option("--style", help="The style of the modules; by default that of the module that is there, else the newest.")
@reference_option
@strict_option
def compile(
    seeds: tuple[str, ...],
    reference: str | None,
    strict: bool,
    target: str,
    out: str,
    tests: str | None,
    style: str | None,
    **how: bool,
) -> None:
    """Compile seeds and files of requests or rules to standalone Python modules, `OUT/<task or file name>.py`.

    The same file gives the same bytes on every machine, so the modules can be committed and reviewed. A file that is
    no generated module, or that was generated from another file, is left alone: exit status 2.

    With --check a generated module can be given too, which is compared with what its file compiles to; other Python files
    are passed over.
    """
    from formulaseed.backends.python.identity import STYLES
    from formulaseed.backends.python.names import former_module_names, module_name
    from formulaseed.diagnostics.suggestions import did_you_mean

    if style is not None and style not in STYLES:
        raise click.UsageError(f"there is no style `{style}`; {did_you_mean(style, STYLES, what='styles')}")
    if how["check"] and how["stdout"]:
        raise click.UsageError("--check writes nothing and --stdout prints: pass one of the two")
    if how["force"] and (how["check"] or how["stdout"]):
        raise click.UsageError("--force is for writing modules: pass it without --check and --stdout")
    if tests is not None and how["stdout"]:
        raise click.UsageError("--tests writes a file beside the module: pass it without --stdout")
    written: dict[Path, str] = {}

    def compile_one(seed: str) -> int:
        if how["check"] and seed.endswith(".py"):
            return _check_module(Path(seed), reference, strict=strict)
        loaded = load_file(seed, strict=strict, reference=reference)
        path = Path(out) / f"{module_name(loaded.name)}.py"
        source = pipeline.compile(loaded, target, style=style or style_at(path), folder=path.parent)
        report_warnings(loaded)
        if how["stdout"]:
            emit(source)
            return 0
        if path in written:
            say(f"{seed}: {written[path]} has the same module, {path}; rename one of the tasks", err=True)
            return 1
        written[path] = seed
        arguments = f"{seed} --style {style}" if style is not None else seed
        for name in former_module_names(loaded.name):
            _report_former(Path(out) / f"{name}.py", path, source, loaded.document.path)
        status = place(path, source, loaded, arguments, "--out")
        if tests is None or (status and not how["check"]):
            return status
        if not isinstance(loaded, FormulaSeed) or loaded.document.path is None:
            say(f"{seed}: no tests: they are for seeds in files that are not compressed", err=True)
            return 2
        beside = Path(tests) / f"test_{path.name}"
        made = compile_tests(loaded, beside, path, style)
        return max(status, place(beside, made, loaded, f"{arguments} --tests {tests}", "--tests"))

    def place(path: Path, source: str, made_from: Compilable[Any], arguments: str, option: str) -> int:
        """Write a file, or with --check say whether it is current; return the exit status."""
        obstacle = _obstacle_at(path, source, made_from.document.path)
        if how["check"]:
            stale = f"not what {made_from.document.source.name} compiles to"
            if obstacle is not None:
                say(f"{path}: {stale}: {obstacle.what}")
                return 1
            return check_current(path, source, f"`formulaseed compile {arguments}`", stale)
        if obstacle is not None and not (how["force"] and obstacle.may_be_forced):
            forced = ", or replace it with --force" if obstacle.may_be_forced else ""
            help = f"{obstacle.help}, write to another folder with {option}{forced}"
            say(f"{path}: not overwritten: {obstacle.what}; {help}", err=True)
            return 2
        replace_file(path, source, through_link=False)
        say(str(path))
        return 0

    sys.exit(each_file(seeds, compile_one, "; not compiled"))


def _check_module(path: Path, reference: str | None, *, strict: bool) -> int:
    """Say whether a generated module, or the tests of one, is what its file compiles to; return the exit status.

    Another Python file is passed over, with status 0. Raises `SeedError` if the module's file has errors, `UnreadableError`
    if one of the two cannot be read.
    """
    from formulaseed.backends.python.identity import identity_of, tested_module
    from formulaseed.runtime.loading import find_seed, read_module, why_no_seed

    text = read_module(path)
    identity = identity_of(text)
    if identity is None:
        say(f"{path}: not a generated module; passed over", err=True)
        return 0
    source = find_seed(identity.path, path)
    if source is None:
        say(f"{path}: {why_no_seed(identity.path, path)}")
        return 1
    loaded = load_file(os.path.relpath(source), strict=strict, reference=reference)
    name, tested = loaded.document.source.name, tested_module(text)
    arguments = f"{name} --out {path.parent}"
    if tested is not None and isinstance(loaded, FormulaSeed):
        module = Path(os.path.normpath(path.parent / tested))
        expected = compile_tests(loaded, path, module)
        arguments = f"{name} --out {module.parent} --tests {path.parent}"
    else:
        expected = pipeline.compile(loaded, style=style_at(path), folder=path.parent)
    return check_current(path, expected, f"`formulaseed compile {arguments}`", f"not what {name} compiles to")


class _Obstacle(NamedTuple):
    """What keeps a module from being written, what to do about it, and whether --force replaces it."""

    what: str
    help: str
    may_be_forced: bool = True


def _obstacle_at(target: Path, source: str, made_from: Path | None) -> _Obstacle | None:
    """Return why a module must not be written there; None where nothing is lost by it. Raises `UnreadableError`."""
    from formulaseed.backends.python.identity import identity_of

    try:
        mode = target.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):  # the latter is reported when the module is written
        return None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot write {target}: {reason_of(error)}") from None
    if stat.S_ISLNK(mode):
        return _Obstacle("it is a symbolic link", "remove it")
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        return _Obstacle(f"it is {what}", "move it", may_be_forced=False)
    try:
        found = identity_of(target.read_bytes().decode("utf-8", "replace"))
    except OSError as error:
        raise UnreadableError(f"cannot read {target}: {reason_of(error)}") from None
    if found is None:
        return _Obstacle("it is not a module that formulaseed generated", "move it")
    made = identity_of(source)
    if made is None or not _is_same(found, made, target, made_from):
        where = f"`{found.path}`, which is " if found.path else ""
        return _Obstacle(f"it was generated from {where}`{found.name}`", "rename one of the two")
    return None


def _report_former(former: Path, path: Path, source: str, made_from: Path | None) -> None:
    """Say that a module of the same file is left under the name that an earlier release gave it; it is for people to delete."""
    from formulaseed.backends.python.identity import identity_of

    try:
        found = identity_of(former.read_bytes().decode("utf-8", "replace"))
    except OSError:  # there is none
        return
    made = identity_of(source)
    if found is not None and made is not None and _is_same(found, made, former, made_from):
        say(f"{former}: an earlier module of the same file, which is now {path}: delete it", err=True)


def _is_same(found: Identity, made: Identity, target: Path, made_from: Path | None) -> bool:
    """Whether a module was made from the same file: one of that name in the same place, or in a place where none is now."""
    from formulaseed.backends.python.identity import named_files

    if (found.kind, found.name) != (made.kind, made.name):
        return False
    if found.path in ("", made.path):
        return True
    near = [target.parent, *([made_from.parent] if made_from is not None else [])]
    there = [file for folder in near for file in named_files(found.path, folder) if os.path.isfile(file)]
    return not there or (made_from is not None and any(file.samefile(made_from) for file in there))
