"""The commands that read and write seeds without evaluating them: `check`, `dump`, `fmt`, `migrate`, `schema`; and `rule`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import click

from formulaseed import __version__
from formulaseed.cli.output import (
    check_current,
    each_file,
    emit,
    reference_option,
    replace_file,
    say,
    show,
    strict_option,
    write_out,
)
from formulaseed.diagnostics.model import Diagnostic, Problems, number_of, strictly
from formulaseed.diagnostics.render import render_json, render_text, summary
from formulaseed.errors import SeedError, UnreadableError
from formulaseed.kinds import SEED
from formulaseed.loading import analyse, analyse_file, analyse_text, load_seed, read
from formulaseed.pipeline import Analysis, fixed
from formulaseed.seed.read.sections import is_v1
from formulaseed.seed.write.canonical import canonical, layout, sorted_steps
from formulaseed.source.json_reader import plain
from formulaseed.source.text import Source


@click.command("check")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED|REQUESTS|RULES...")
@click.option("--format", "form", type=click.Choice(["text", "json", "sarif"]), default="text",
              help="How to print diagnostics.")  # fmt: skip
@click.option(
    "--fix", is_flag=True, help="Apply the fixes that cannot change a file's meaning: typos in names, the steps' order."
)
@reference_option
@strict_option
def check(seeds: tuple[str, ...], form: str, fix: bool, reference: str | None, strict: bool) -> None:
    """Report every problem in seeds, or in files of requests or rules.

    Exit status 1 where there are errors; warnings alone are fine, unless --strict makes them errors.
    """
    found: list[Diagnostic] = []

    def check_one(seed: str) -> int:
        analysis = analyse_file(seed, reference)
        analysis = _fixed(analysis) if fix else analysis
        diagnostics = strictly(analysis.diagnostics) if strict else analysis.diagnostics
        found.extend(diagnostics)
        if form == "text":
            if diagnostics:
                show(render_text(diagnostics))
            say(f"{seed}: {summary(diagnostics) or 'no problems'}")
        return 1 if any(d.severity == "error" for d in diagnostics) else 0

    status = each_file(seeds, check_one)
    if form == "json":
        emit(render_json(found))
    if form == "sarif":
        from formulaseed.diagnostics.sarif import render_sarif

        emit(render_sarif(found, __version__))
    sys.exit(status)


def _fixed(analysis: Analysis[Any, Any]) -> Analysis[Any, Any]:
    """Fix the file, and say so on standard error; return the analysis of what it holds now.

    What has no file to be written to stays as it is.
    """
    path = analysis.document.path
    found = fixed(analysis) if path is not None else analysis
    if path is not None and found is not analysis:
        replace_file(path, found.document.source.text)
        say(f"{path}: {number_of(found.fixed, 'error')} fixed", err=True)
    return found


@click.command("dump")
@click.argument("seed")
@click.option("--after", type=click.Choice(["read", "parse", "check", "plan"]), default="check", show_default=True,
              help="The phase whose result to show.")  # fmt: skip
def dump(seed: str, after: Literal["read", "parse", "check", "plan"]) -> None:
    """Show a seed as one of the compiler's phases sees it."""
    from formulaseed.ir.text import dump_program, dump_tree

    analysis = analyse(seed)
    tree: object = None
    if after == "read":
        tree = analysis.document.tree
    elif after == "parse":
        tree = analysis.parsed
    elif analysis.program is not None and not analysis.has_errors:
        if after == "check":
            show(dump_program(analysis.program), nl=False)
            return
        from formulaseed.backends.python.plan import plan_module

        tree = plan_module(analysis.program, path="", sha256="")
    if tree is None:
        show(render_text(analysis.diagnostics), err=True)
        sys.exit(1)
    show(dump_tree(tree), nl=False)


@click.command("fmt")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED...")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a seed would be reformatted.")
@click.option("--sort", is_flag=True, help="Sort the steps into dependency order too.")
def fmt(seeds: tuple[str, ...], check: bool, sort: bool) -> None:
    """Format seeds: keys in the specification's order, a step on one line where it fits.

    Never changes what a seed means; with --sort each step moves behind those that it uses.
    """

    def format_one(seed: str) -> int:
        problems = Problems()
        document = read(seed, problems)
        value = canonical(plain(document.tree)) if document.tree is not None else None
        if sort and not problems.has_errors:
            program = SEED.parse(document, problems)
            if program is not None and not problems.has_errors:
                value = sorted_steps(value, program, problems)
        if problems.has_errors or value is None:
            raise SeedError(problems.sorted())
        text = layout(value)
        if text == document.source.text:
            return 0
        if check:
            say(f"{seed}: would be reformatted; run `formulaseed fmt {seed}`")
            return 1
        replace_file(Path(seed), text)
        say(seed)
        return 0

    sys.exit(each_file(seeds, format_one, "; not formatted"))


@click.command("migrate")
@click.argument("seed", metavar="OLD.json")
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write the seed; else it is printed.")
def migrate(seed: str, out: str | None) -> None:
    """Rewrite a v1 seed (`compute_dag`) as a v2 seed (`compute`).

    A loop inside a formula becomes a step of its own. Exit status 1, and no seed, where v2 cannot express a step.
    """
    from formulaseed.seed.write.migrate import migrate as migrated

    loaded = load_seed(seed)
    data, program = loaded.data, SEED.parse(loaded.document, Problems())
    if not isinstance(data, dict) or program is None or not is_v1(data):
        say(f"formulaseed: {seed} is a v2 seed already", err=True)
        sys.exit(1)
    migration = migrated(data, program)
    for item in migration.not_moved:
        line, column = item.span.source.position(item.span.start)
        say(f"{item.span.source.name}:{line}:{column}: not migrated: {item.reason}", err=True)
    text = layout(canonical(migration.seed))
    problems = analyse_text(Source(out or "<migrated>", text)).diagnostics if not migration.not_moved else ()
    errors = [d for d in problems if d.severity == "error"]
    if migration.not_moved or errors:
        show(render_text(errors), nl=False, err=True)
        say(f"formulaseed: v2 cannot express all of {seed}; nothing is written", err=True)
        sys.exit(1)
    for left_out in migration.left_out:
        say(f"left out: {left_out}", err=True)
    write_out(text, out)


@click.command("schema")
@click.option("--out", type=click.Path(), metavar="FILE", help="Write it into a file.")
@click.option("--check", "current", type=click.Path(), metavar="FILE", help="Write nothing; exit 1 where it differs.")
def schema(out: str | None, current: str | None) -> None:
    """Print the JSON Schema of seeds, with which editors complete and explain keys."""
    from formulaseed.seed.json_schema import seed_schema

    if out is not None and current is not None:
        raise click.UsageError("--out and --check exclude each other")
    text = layout(seed_schema())
    if current is None:
        write_out(text, out)
        return
    if not Path(current).exists():
        raise UnreadableError(f"cannot read {current}: there is no such file")
    sys.exit(check_current(Path(current), text, f"`formulaseed schema --out {current}`"))


@click.command("rule")
@click.argument("code")
def rule(code: str) -> None:
    """Explain a diagnostic's code: what it means, an example, what to write instead."""
    from formulaseed.diagnostics.codes import CODES, page
    from formulaseed.diagnostics.suggestions import did_you_mean

    by_name = {entry.name: entry.code for entry in CODES.values()}
    wanted = by_name.get(code.strip().lower(), code.strip().upper())
    if wanted not in CODES:
        raise click.UsageError(f"there is no code `{code}`; {did_you_mean(wanted, CODES, what='codes', limit=60)}")
    show(page(wanted), nl=False)
