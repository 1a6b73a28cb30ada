"""`formulaseed reference`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from formulaseed.cli.output import check_current, replace_file, say, write_out
from formulaseed.diagnostics.model import Problems
from formulaseed.errors import SeedError
from formulaseed.formulas import read_reference
from formulaseed.reference.document import document_text, reference_json
from formulaseed.reference.markdown import reference_markdown
from formulaseed.reference.model import DatabaseLayout, Reference
from formulaseed.reference.prompt import BudgetError, estimated_tokens, reference_prompt
from formulaseed.reference.read import lower_layout, lower_reference
from formulaseed.reference.restaurant import restaurant_reference
from formulaseed.reference.versions import bumped, change


@click.command("reference")
@click.argument("seed", required=False)
@click.option("--schema", metavar="FILE", help="A schema file, or a formula reference; of --database it says the rest.")
@click.option("--database", metavar="URL", help="A live database, such as sqlite:///examples/listing.db.")
@click.option("--root", metavar="TABLE", help="The database's table whose fields need no prefix.")
@click.option("--custom-fields", metavar="TABLE", help="The database's table that defines custom fields.")
@click.option("--out", metavar="FILE", help="Write it into a file; a reference that has changed gets the next version.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where the file of --out is stale.")
@click.option("--format", "form", type=click.Choice(["json", "markdown", "prompt"]), default="json", show_default=True,
              help="For tools, for people or for models.")  # fmt: skip
@click.option("--tokens", type=click.IntRange(1, 10_000_000), help="The most tokens of a prompt, estimated.")
@click.option("--generated-at", is_flag=True, help="Say when it was generated.")
def reference(
    out: str | None, check: bool, form: str, tokens: int | None, generated_at: bool, **domain: str | None
) -> None:
    """Print the formula reference of a domain: entities, fields, enums, operators, functions, syntax, examples.

    The domain is that of a schema file, of a database, or the restaurant's own; with SEED also what the seed declares.
    """
    if check and out is None:
        raise click.UsageError("--check needs --out: the file to check")
    if tokens is not None and form != "prompt":
        raise click.UsageError("--tokens is for --format prompt")
    reference = _reference(**domain)
    for name in reference.hidden:
        what = "the entity" if reference.entity(name.partition(".")[2]) is not None else "a word of the language"
        say(f"hidden: {name}, as `{name.partition('.')[2]}` alone is {what}; write it with its prefix", err=True)
    if form == "json":
        if generated_at:
            reference = replace(reference, generated_at=datetime.now(UTC).isoformat(timespec="seconds"))
        sys.exit(_json(reference, out, check))
    document = reference_json(reference)
    text = _prompt(document, tokens) if form == "prompt" else reference_markdown(document)
    if check and out is not None:
        sys.exit(check_current(Path(out), text, "the command without --check"))
    write_out(text, out)


def _reference(
    seed: str | None, schema: str | None, database: str | None, root: str | None, custom_fields: str | None
) -> Reference:
    if seed is not None and (schema is not None or database is not None):
        raise click.UsageError("SEED is for the restaurant's own reference; pass it without --schema and --database")
    if database is None and (root is not None or custom_fields is not None):
        raise click.UsageError("--root and --custom-fields are for --database")
    layout, stated = DatabaseLayout(), None
    if schema is not None:
        stated, layout, _ = _read(schema)
    if database is not None:
        from formulaseed.reference.database import database_reference, overlaid

        layout = replace(layout, root=root or layout.root, custom_table=custom_fields or layout.custom_table)
        found = database_reference(database, layout)
        for name in found.left_out:
            say(f"left out: {name}", err=True)
        return overlaid(found.reference, stated) if stated is not None else found.reference
    if stated is not None:
        if not stated.entities:
            raise click.UsageError(f"{schema} describes a database; pass it with --database")
        return stated
    if seed is None:
        return restaurant_reference()
    from formulaseed.loading import load_seed

    return restaurant_reference(load_seed(seed).program)


def _prompt(document: dict[str, Any], tokens: int | None) -> str:
    try:
        text = reference_prompt(document, tokens)
    except BudgetError as error:
        raise click.UsageError(f"--tokens {tokens} is too few: {error}") from None
    say(f"about {estimated_tokens(text)} tokens", err=True)
    return text


def _json(reference: Reference, out: str | None, check: bool) -> int:
    """Print or write the reference; in a file that holds one already its version follows from what has changed."""
    text = document_text(reference_json(reference))
    if out is None or not Path(out).exists():
        if check and out is not None:
            return check_current(Path(out), text, "the command without --check")
        write_out(text, out)
        return 0
    before, _, written = _read(out)
    found = change(before, written, reference, reference_json(reference))
    if found.kind == "none":
        say(f"{out}: current, version {before.version}")
        return 0
    version = bumped(before.version, found.kind)
    if check:
        say(f"{out}: stale, {before.version} is to become {version} ({found})")
        return 1
    replace_file(Path(out), document_text(reference_json(replace(reference, version=version))))
    say(f"{out}: {before.version} became {version} ({found})")
    return 0


def _read(path: str) -> tuple[Reference, DatabaseLayout, dict[str, Any]]:
    """The reference in a file, what it says of a database, and its JSON. Raises `SeedError` for any other file."""
    problems = Problems()
    document = read_reference(path, problems)
    if document.tree is not None:
        reference, layout = lower_reference(document.tree, problems), lower_layout(document.tree, problems)
    if problems.has_errors or document.tree is None or reference is None:
        raise SeedError(problems.sorted())
    return reference, layout, json.loads(document.source.text)
