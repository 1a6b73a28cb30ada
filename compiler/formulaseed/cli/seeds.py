"""The commands that read and write seeds without evaluating them.

`compile` leaves alone what it did not generate from the same file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Literal

import click

from formulaseed import pipeline
from formulaseed.backends.base import TARGETS, load_backend
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
from formulaseed.cli.overwriting import obstacle_at, report_former
from formulaseed.data.documents import read_source, read_text
from formulaseed.data.files import replace_file
from formulaseed.diagnostics.model import Problems
from formulaseed.documents import (
    FormulaSeed,
    analyse,
    analyse_text,
    compile_tests,
    document_kind,
    load_file,
    load_seed,
    style_at,
)
from formulaseed.errors import SeedError, UnreadableError
from formulaseed.pipeline import Compilable
from formulaseed.seed.kind import KIND as SEED
from formulaseed.seed.read.sections import is_v1
from formulaseed.seed.write.canonical import canonical, layout, sorted_steps
from formulaseed.source.json_reader import plain
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
        source, path = read_source(seed, problems)
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


_OUT, _TARGET = "generated", "python"


@click.command("compile")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED|REQUESTS|RULES...")
@click.option("--out", default=_OUT, show_default=True, help="The folder to write modules to.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a module is not current.")
@click.option("--force", is_flag=True, help="Replace files that formulaseed did not generate from the same file, too.")
@click.option("--stdout", is_flag=True, help="Print the module instead of writing it.")
@click.option("--target", type=click.Choice(TARGETS), default=_TARGET, show_default=True, help="What to compile to.")
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
    """Compile seeds and files of requests or rules, by default to standalone Python modules, `OUT/<task or file name>.py`.

    The same file gives the same bytes on every machine, so the modules can be committed and reviewed. A file that
    was not generated, or that was generated from another file, is left alone: exit status 2.

    With --check a generated module can be given too, which is compared with what its file compiles to; other files that end
    like one are passed over.
    """
    from formulaseed.backends.python.identity import STYLES
    from formulaseed.backends.python.names import former_module_names, module_name
    from formulaseed.diagnostics.suggestions import did_you_mean

    backend = load_backend(target)
    for option, value in (("style", style), ("tests", tests)):
        if value is not None and option not in backend.options:
            targets = [f"--target {name}" for name in TARGETS if option in load_backend(name).options]
            raise click.UsageError(f"--{option} goes with {' or '.join(targets)}")
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
        if how["check"] and seed.endswith(backend.suffix):
            return _check_generated(Path(seed), target, reference, strict=strict)
        loaded = load_file(seed, strict=strict, reference=reference)
        path = Path(out) / f"{module_name(loaded.name)}{backend.suffix}"
        source = _compiled(loaded, target, path, style)
        report_warnings(loaded)
        if how["stdout"]:
            emit(source)
            return 0
        if path in written:
            say(f"{seed}: {written[path]} has the same module, {path}; rename one of the tasks", err=True)
            return 1
        written[path] = seed
        arguments = _arguments(seed, target, Path(out), style)
        for name in former_module_names(loaded.name):
            report_former(Path(out) / f"{name}{backend.suffix}", path, source, loaded.document.path, backend)
        status = place(path, source, loaded, arguments, "--out")
        if tests is None or (status and not how["check"]):
            return status
        if not isinstance(loaded, FormulaSeed) or loaded.document.path is None:
            say(f"{seed}: no tests: they are for seeds in files that are not compressed", err=True)
            return 2
        beside = Path(tests) / f"test_{path.name}"
        tests_source = compile_tests(loaded, beside, path, style)
        return max(status, place(beside, tests_source, loaded, f"{arguments} --tests {tests}", "--tests"))

    def place(path: Path, source: str, made_from: Compilable[Any], arguments: str, option: str) -> int:
        """Write a file, or with --check say whether it is current; return the exit status."""
        obstacle = obstacle_at(path, source, made_from.document.path, backend)
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


def _compiled(loaded: Compilable[Any], target: str, path: Path, style: str | None = None) -> str:
    """Return the file that a document compiles to at a path, without a style in that of the file that is there."""
    if style is None and "style" in load_backend(target).options:
        style = style_at(path)
    return pipeline.compile(loaded, target, style=style, folder=path.parent)


def _arguments(name: str, target: str, out: Path, style: str | None = None) -> str:
    """Return what `compile` is given to write a file as it should be, what need not be said left out."""
    stated = {
        "target": target if target != _TARGET else None,
        "out": out if out != Path(_OUT) else None,
        "style": style,
    }
    return " ".join([name, *(f"--{option} {value}" for option, value in stated.items() if value is not None)])


def _check_generated(path: Path, target: str, reference: str | None, *, strict: bool) -> int:
    """Say whether a generated file, or the tests of one, is what its document compiles to; return the exit status.

    Another file is passed over, with status 0. Raises `SeedError` if the document has errors, `UnreadableError` if one of
    the two cannot be read.
    """
    from formulaseed.runtime.loading import describe_missing_seed, find_seed, read_module

    identity = load_backend(target).identify(read_module(path))
    if identity is None:
        say(f"{path}: not a generated file; passed over", err=True)
        return 0
    source = find_seed(identity.path, path)
    if source is None:
        say(f"{path}: {describe_missing_seed(identity.path, path)}")
        return 1
    loaded = load_file(os.path.relpath(source), strict=strict, reference=reference)
    name = loaded.document.source.name
    if identity.tested is not None and isinstance(loaded, FormulaSeed):
        module = Path(os.path.normpath(path.parent / identity.tested))
        expected = compile_tests(loaded, path, module)
        arguments = f"{_arguments(name, target, module.parent)} --tests {path.parent}"
    else:
        expected = _compiled(loaded, target, path)
        arguments = _arguments(name, target, path.parent)
    return check_current(path, expected, f"`formulaseed compile {arguments}`", f"not what {name} compiles to")
