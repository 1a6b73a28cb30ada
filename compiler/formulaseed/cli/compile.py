"""`formulaseed compile`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from formulaseed.cli.seeds import reference_option, replace_file, strict_option, tell_warnings
from formulaseed.diagnostics.render import render_text, summary
from formulaseed.errors import SeedError, UnreadableError
from formulaseed.pipeline import TARGETS, FormulaSeed, RequestsFile, compile_requests, compile_seed, load_file
from formulaseed.source.files import holds

if TYPE_CHECKING:
    from formulaseed.formulas import RulesFile


@click.command("compile")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED|REQUESTS|RULES...")
@click.option("--out", default="generated", show_default=True, help="The folder to write modules to.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 1 where a module is not current.")
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the module instead of writing it.")
@click.option("--target", type=click.Choice(TARGETS), default="python", show_default=True, help="What to compile to.")
@reference_option
@strict_option
def command(
    seeds: tuple[str, ...],
    out: str,
    only_check: bool,
    to_stdout: bool,
    target: str,
    reference: str | None,
    strict: bool,
) -> None:
    """Compile seeds and files of requests or rules to standalone Python modules, `OUT/<task or file name>.py`.

    The same file gives the same bytes on every machine, so the modules can be committed and reviewed.
    """
    from formulaseed.backends.python.names import module_name

    if only_check and to_stdout:
        raise click.UsageError("--check writes nothing and --stdout prints: pass one of the two")

    status = 0
    written: dict[Path, str] = {}
    for seed in seeds:
        try:
            loaded = load_file(seed, strict=strict, reference=reference)
            source = _compiled(loaded, target)
        except SeedError as error:
            click.echo(render_text(error.diagnostics), err=True)
            click.echo(f"{seed}: {summary(error.diagnostics)}; not compiled", err=True)
            status = max(status, 1)
            continue
        except UnreadableError as error:
            click.echo(f"formulaseed: {error}", err=True)
            status = 2
            continue
        tell_warnings(loaded)
        if to_stdout:
            click.echo(source, nl=False)
            continue
        path = Path(out) / f"{module_name(loaded.task_name if isinstance(loaded, FormulaSeed) else loaded.name)}.py"
        if path in written:
            click.echo(f"{seed}: {written[path]} has the same module, {path}; rename one of the tasks", err=True)
            status = max(status, 1)
            continue
        written[path] = seed
        if only_check:
            status = max(status, _check(path, source, seed))
        else:
            replace_file(path, source)
            click.echo(str(path))
    sys.exit(status)


def _compiled(loaded: FormulaSeed | RequestsFile | RulesFile, target: str) -> str:
    if isinstance(loaded, FormulaSeed):
        return compile_seed(loaded, target=target)
    if isinstance(loaded, RequestsFile):
        return compile_requests(loaded)
    from formulaseed.formulas import compile_rules

    return compile_rules(loaded)


def _check(path: Path, source: str, seed: str) -> int:
    is_current = holds(path, source)
    if is_current is None:
        click.echo(f"{path}: missing; run `formulaseed compile {seed}`")
        return 1
    if is_current:
        click.echo(f"{path}: current")
        return 0
    click.echo(f"{path}: not what {seed} compiles to; run `formulaseed compile {seed}`")
    return 1
