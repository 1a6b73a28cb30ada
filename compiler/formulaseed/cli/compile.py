"""`formulaseed compile`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from formulaseed.backends.base import TARGETS
from formulaseed.cli.output import emit, say, show
from formulaseed.cli.seeds import reference_option, replace_file, report_warnings, strict_option
from formulaseed.cli.targets import Obstacle, obstacle_at
from formulaseed.data.files import holds
from formulaseed.diagnostics.render import render_text, summary
from formulaseed.errors import SeedError, UnreadableError
from formulaseed.loading import load_file
from formulaseed.pipeline import compile


@click.command("compile")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED|REQUESTS|RULES...")
@click.option("--out", default="generated", show_default=True, help="The folder to write modules to.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 1 where a module is not current.")
@click.option("--force", is_flag=True, help="Replace files that formulaseed did not generate from the same file, too.")
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the module instead of writing it.")
@click.option("--target", type=click.Choice(TARGETS), default="python", show_default=True, help="What to compile to.")
@reference_option
@strict_option
def command(
    seeds: tuple[str, ...],
    out: str,
    only_check: bool,
    force: bool,
    to_stdout: bool,
    target: str,
    reference: str | None,
    strict: bool,
) -> None:
    """Compile seeds and files of requests or rules to standalone Python modules, `OUT/<task or file name>.py`.

    The same file gives the same bytes on every machine, so the modules can be committed and reviewed. A file that is
    no generated module, or that was generated from another file, is left alone: exit status 2.
    """
    from formulaseed.backends.python.names import module_name

    if only_check and to_stdout:
        raise click.UsageError("--check writes nothing and --stdout prints: pass one of the two")
    if force and (only_check or to_stdout):
        raise click.UsageError("--force is for writing modules: pass it without --check and --stdout")

    status = 0
    written: dict[Path, str] = {}
    for seed in seeds:
        try:
            loaded = load_file(seed, strict=strict, reference=reference)
            source = compile(loaded, target)
        except SeedError as error:
            show(render_text(error.diagnostics), err=True)
            say(f"{seed}: {summary(error.diagnostics)}; not compiled", err=True)
            status = max(status, 1)
            continue
        except UnreadableError as error:
            say(f"formulaseed: {error}", err=True)
            status = 2
            continue
        report_warnings(loaded)
        if to_stdout:
            emit(source)
            continue
        path = Path(out) / f"{module_name(loaded.name)}.py"
        if path in written:
            say(f"{seed}: {written[path]} has the same module, {path}; rename one of the tasks", err=True)
            status = max(status, 1)
            continue
        written[path] = seed
        obstacle = obstacle_at(path, source, loaded.document.path)
        if only_check:
            status = max(status, _check(path, source, seed, obstacle))
        elif obstacle is not None and not (force and obstacle.may_be_forced):
            say(f"{path}: not overwritten: {obstacle}", err=True)
            status = 2
        else:
            replace_file(path, source, through_link=False)
            say(str(path))
    sys.exit(status)


def _check(path: Path, source: str, seed: str, obstacle: Obstacle | None) -> int:
    if obstacle is not None:
        say(f"{path}: not what {seed} compiles to: {obstacle.what}")
        return 1
    is_current = holds(path, source)
    if is_current is None:
        say(f"{path}: missing; run `formulaseed compile {seed}`")
        return 1
    if is_current:
        say(f"{path}: current")
        return 0
    say(f"{path}: not what {seed} compiles to; run `formulaseed compile {seed}`")
    return 1
