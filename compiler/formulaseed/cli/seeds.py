"""Define the commands that read and write seeds without compiling or evaluating them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from formulaseed import documents
from formulaseed.cli import output
from formulaseed.cli.options import check_suffix
from formulaseed.data.documents import read_source, read_text
from formulaseed.data.files import replace_file
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.errors import SeedError, UnreadableError
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

    analysis = documents.analyse(seed)
    tree: object = {"read": analysis.document.tree, "parse": analysis.parsed}.get(after)
    if after in ("check", "plan") and analysis.program is not None:
        if after == "check":
            output.show(dump_program(analysis.program), nl=False)
            return
        from formulaseed.backends.python.plan import plan_module

        plan, _ = plan_module(analysis.program, path="", sha256="")
        output.show("".join(f"{name}:\n{_dump_variable(value)}" for name, value in plan.items()), nl=False)
        return
    if tree is None:
        output.show_diagnostics(analysis.diagnostics, err=True)
        sys.exit(1)
    output.show(dump_tree(tree), nl=False)


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
            output.say(f"{seed}: would be reformatted; run `formulaseed fmt {seed}`")
            return 1
        if path is None:
            output.emit(text)
            return 0
        replace_file(path, text)
        output.say(seed)
        return 0

    sys.exit(output.process_files(seeds, format_one, "; not formatted"))


def _format_source(source: Source, path: Path | None, problems: Problems, *, sort: bool) -> str:
    """Return the formatted text of a file, with `sort` with the steps of a seed in dependency order.

    `path` is None for standard input. Reports errors to `problems`; the text is of no use then. Raises `UsageError` if
    `sort` is set for a file that is no seed.
    """
    kind = documents.recognise_kind(source, _FORMATTED_KINDS, problems)
    if kind is None:
        return ""
    if sort and kind != "seed":
        raise click.UsageError(f"--sort is for seeds: pass {source.name} without it")
    if kind == "requests":
        from formulaseed.requests.read import format_requests

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
    loaded = documents.load_seed(seed)
    data = loaded.data
    if not isinstance(data, dict) or not is_v1(data):
        output.say(f"formulaseed: {seed} is a v2 seed already", err=True)
        sys.exit(1)
    migration = migrate_seed(data, loaded.program)
    for item in migration.not_moved:
        output.say(f"{item.span.place}: not migrated: {item.reason}", err=True)
    text = format_json(canonicalize(migration.seed))
    errors: list[Diagnostic] = []
    if not migration.not_moved:
        diagnostics = documents.analyse_text(Source(out or "<migrated>", text)).diagnostics
        errors = [d for d in diagnostics if d.severity == "error"]
    if migration.not_moved or errors:
        output.show_diagnostics(errors, err=True)
        output.say(f"formulaseed: v2 cannot express all of {seed}; nothing is written", err=True)
        sys.exit(1)
    for left_out in migration.left_out:
        output.say(f"left out: {left_out}", err=True)
    output.write_out(text, out)


@click.command("schema")
@click.option("--of", "subject", type=click.Choice(["seed", "explanation", "proof"]), default="seed", show_default=True,
              help="What it describes.")  # fmt: skip
@click.option("--out", type=click.Path(), metavar="FILE", help="Write it into a file.")
@click.option("--check", "current", type=click.Path(), metavar="FILE", help="Write nothing; exit 1 where it differs.")
def schema(subject: str, out: str | None, current: str | None) -> None:
    """Print the JSON Schema of seeds, with which editors complete and explain keys, or of explanations or proofs as JSON."""
    if out is not None and current is not None:
        raise click.UsageError("--out and --check exclude each other")
    check_suffix(out, ".json")
    option = "" if subject == "seed" else f"--of {subject} "
    if subject == "seed":
        from formulaseed.seed.json_schema import build_seed_schema as build_schema
    elif subject == "proof":
        from formulaseed.proofs.claims import proof_schema as build_schema
    else:
        from formulaseed.explanation.explanation import explanation_schema as build_schema
    text = format_json(build_schema())
    if current is None:
        output.write_out(text, out)
        return
    if not Path(current).exists():
        raise UnreadableError(f"cannot read {current}: there is no such file")
    sys.exit(output.check_current(Path(current), text, f"`formulaseed schema {option}--out {current}`"))
