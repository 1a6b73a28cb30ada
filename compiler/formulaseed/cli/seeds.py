"""The commands that read and write seeds without evaluating them: `dump`, `fmt`, `migrate`, `schema`; and `rule`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from formulaseed.cli.output import emit, replace_file, say, show
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.render import render_text
from formulaseed.errors import UnreadableError
from formulaseed.ir.text import dump_program, dump_tree
from formulaseed.kinds import SEED
from formulaseed.loading import analyse, analyse_text, load_seed, read
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
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 1 where a seed would be reformatted.")
@click.option("--sort", is_flag=True, help="Sort the steps into dependency order too.")
def fmt(seeds: tuple[str, ...], only_check: bool, sort: bool) -> None:
    """Format seeds: keys in the specification's order, a step on one line where it fits.

    Never changes what a seed means; with --sort each step moves behind those that it uses.
    """

    status = 0
    for seed in seeds:
        problems = Problems()
        try:
            document = read(seed, problems)
        except UnreadableError as error:
            say(f"formulaseed: {error}", err=True)
            status = 2
            continue
        value = canonical(plain(document.tree)) if document.tree is not None else None
        if sort and document.tree is not None and not problems.has_errors:
            program = SEED.parse(document, problems)
            if program is not None and not problems.has_errors:
                value = sorted_steps(value, program, problems)
        if problems.has_errors or value is None:
            show(render_text(problems.sorted()), err=True)
            status = max(status, 1)
            continue
        text = layout(value)
        if text == document.source.text:
            continue
        if only_check:
            say(f"{seed}: would be reformatted; run `formulaseed fmt {seed}`")
            status = max(status, 1)
        else:
            replace_file(Path(seed), text)
            say(seed)
    sys.exit(status)


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
    _write(text, out)


@click.command("schema")
@click.option("--out", type=click.Path(), metavar="FILE", help="Write it into a file.")
@click.option("--check", "current", type=click.Path(), metavar="FILE", help="Write nothing; exit 1 where it differs.")
def schema(out: str | None, current: str | None) -> None:
    """Print the JSON Schema of seeds, with which editors complete and explain keys."""
    from formulaseed.data.files import holds
    from formulaseed.seed.json_schema import seed_schema

    if out is not None and current is not None:
        raise click.UsageError("--out and --check exclude each other")
    text = layout(seed_schema())
    if current is None:
        _write(text, out)
        return
    is_current = holds(Path(current), text)
    if is_current is None:
        raise UnreadableError(f"cannot read {current}: there is no such file")
    say(f"{current}: {'current' if is_current else f'stale; run `formulaseed schema --out {current}`'}")
    sys.exit(0 if is_current else 1)


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


def _write(text: str, out: str | None) -> None:
    if out is None:
        emit(text)
    else:
        replace_file(Path(out), text)
        say(out)
