"""`formulaseed reference` and `formulaseed formula`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from formulaseed.cli.output import (
    check_current,
    emit_json,
    finish,
    format_of,
    format_option,
    say,
    show_diagnostics,
    strict_option,
    write_out,
)
from formulaseed.data.files import parse_json, read_bytes, replace_file
from formulaseed.diagnostics.model import Problems, strictly
from formulaseed.diagnostics.render import summary
from formulaseed.documents import SeedAnalysis, analyse_formula, analyse_rules, domain_of, read_given
from formulaseed.errors import DataError, EvaluationError, SeedError
from formulaseed.ir import nodes
from formulaseed.language.types import Value
from formulaseed.pipeline import Compilable, compile
from formulaseed.reference.document import change, document_text, next_version, reference_json
from formulaseed.reference.evaluation import STAGES, evaluate_steps, known_values, located, part_of, stage_of, stages
from formulaseed.reference.model import DatabaseLayout, Reference, overlaid
from formulaseed.reference.read import lower_layout, lower_reference
from formulaseed.reference.rendering import estimate_tokens, reference_markdown, reference_prompt
from formulaseed.reference.restaurant import restaurant_reference
from formulaseed.reference.variables import with_variables
from formulaseed.runtime.loading import module_from_source

_SUFFIXES = {".json": "json", ".md": "markdown", ".txt": "prompt"}


@click.command("reference")
@click.argument("seed", required=False)
@click.option("--schema", metavar="FILE", help="A schema file, or a formula reference; of --database it says the rest.")
@click.option("--database", metavar="URL", help="A live database, such as sqlite:///examples/listing.db.")
@click.option("--root", metavar="TABLE", help="The database's table whose fields need no prefix.")
@click.option("--custom-fields", metavar="TABLE", help="The database's table that defines custom fields.")
@click.option("--out", metavar="FILE", help="Write it into a file; a reference that has changed gets the next version.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where the file of --out is stale.")
@click.option("--format", "form", type=click.Choice(["json", "markdown", "prompt"]),
              help="For tools, for people or for models; as --out ends (.json, .md, .txt), or json.")  # fmt: skip
@click.option("--generated-at", is_flag=True, help="Say when it was generated.")
def reference(out: str | None, check: bool, form: str | None, generated_at: bool, **domain: str | None) -> None:
    """Print the formula reference of a domain: entities, fields, enums, operators, functions, syntax, examples.

    The domain is that of a schema file, of a database, or the restaurant's own; with SEED also what the seed declares.
    """
    if check and out is None:
        raise click.UsageError("--check needs --out: the file to check")
    chosen = form or (format_of(out, _SUFFIXES) if out is not None else None) or "json"
    reference = _reference(**domain)
    for name in reference.hidden:
        what = "the entity" if reference.entity(name.partition(".")[2]) is not None else "a word of the language"
        say(f"hidden: {name}, as `{name.partition('.')[2]}` alone is {what}; write it with its prefix", err=True)
    if chosen == "json":
        if generated_at:
            reference = replace(reference, generated_at=datetime.now(UTC).isoformat(timespec="seconds"))
        sys.exit(_json(reference, out, check))
    document = reference_json(reference)
    if chosen == "markdown":
        text = reference_markdown(document)
    else:
        text = reference_prompt(document)
        say(f"about {estimate_tokens(text)} tokens", err=True)
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
        from formulaseed.reference.database import database_reference

        layout = replace(layout, root=root or layout.root, custom_table=custom_fields or layout.custom_table)
        found, left_out = database_reference(database, layout)
        for name in left_out:
            say(f"left out: {name}", err=True)
        return overlaid(found, stated) if stated is not None else found
    if stated is not None:
        if not stated.entities:
            raise click.UsageError(f"{schema} describes a database; pass it with --database")
        return stated
    if seed is None:
        return restaurant_reference()
    from formulaseed.documents import load_seed

    return restaurant_reference(load_seed(seed).program)


def _json(reference: Reference, out: str | None, check: bool) -> int:
    """Print or write the reference; in a file that holds one already its version follows from what has changed."""
    text = document_text(reference_json(reference))
    if out is None or not Path(out).exists():
        if check and out is not None:
            return check_current(Path(out), text, "the command without --check")
        write_out(text, out, f"version {reference.version}")
        return 0
    before, _, written = _read(out)
    found = change(before, written, reference, reference_json(reference))
    if found.kind == "none":
        say(f"{out}: current, version {before.version}")
        return 0
    version = next_version(before.version, found.kind)
    if check:
        say(f"{out}: stale, {before.version} is to become {version} ({found})")
        return 1
    replace_file(Path(out), document_text(reference_json(replace(reference, version=version))))
    say(f"{out}: {before.version} became {version} ({found})")
    return 0


def _read(path: str) -> tuple[Reference, DatabaseLayout, dict[str, Any]]:
    """The reference in a file, what it says of a database, and its JSON. Raises `SeedError` for any other file."""
    problems = Problems()
    document = read_given(path, "reference", problems)
    reference, layout = lower_reference(document.tree, problems), lower_layout(document.tree, problems)
    if problems.has_errors or reference is None:
        raise SeedError(problems.sorted())
    return reference, layout, json.loads(document.source.text)


_MOST = 4 * 1024 * 1024


@click.command("formula")
@click.argument("text", required=False)
@click.option("--file", "rules", metavar="RULES", help="Check and evaluate a file of rules instead.")
@click.option("--reference", metavar="FILE", help="A formula reference or a schema file: what names mean.")
@click.option("--vars", "values", metavar="JSON", help="Values by name, entities as objects; @FILE reads a file.")
@format_option
@strict_option
def formula(
    text: str | None, rules: str | None, reference: str | None, values: str | None, form: str, strict: bool
) -> None:
    """Check a formula, and print its value as JSON.

    Without --reference names are those of --vars, and without either the restaurant's fields. A formula that reads
    fields is only checked where --vars is not given. Exit status 1 where it has errors, or no value.
    """
    if (text is None) == (rules is None):
        raise click.UsageError("pass a formula, or --file with a file of rules")
    given = _values(values)
    if rules is not None:
        analysis = analyse_rules(rules, reference)
    else:
        assert text is not None
        is_inferred = reference is None and given is not None
        domain = with_variables(None, given or {}, are_values=True) if is_inferred else domain_of(reference, None)
        analysis = analyse_formula(text, domain)
    outcome = _Outcome(analysis, given, strict, several=rules is not None)
    if form == "json":
        emit_json(outcome.to_json())
    else:
        outcome.print()
    finish(1 if outcome.failed or outcome.faults else 0)


class _Outcome:
    """What became of each formula: diagnostics, stages, values."""

    def __init__(self, analysis: SeedAnalysis, given: Mapping[str, Any] | None, strict: bool, *, several: bool) -> None:
        self.several = several
        self.diagnostics = strictly(analysis.diagnostics) if strict else analysis.diagnostics
        self.values: dict[str, Value] = {}
        self.faults: dict[str, str] = {}
        self.failed = any(d.severity == "error" for d in self.diagnostics)
        self.is_checked_only = False
        self.is_refused = False  # as a whole, for the same reason for each formula
        if self.failed or analysis.program is None:
            return
        program = analysis.program
        self.is_checked_only = given is None and bool(program.record)
        try:
            values = known_values(program, given)
        except DataError as error:
            self.is_refused = True
            self.faults = dict.fromkeys(program.output, str(error))
            return
        if not self.is_checked_only:
            self._evaluate(analysis, program, values)

    def _evaluate(self, analysis: SeedAnalysis, program: nodes.Program, given: Mapping[str, Any]) -> None:
        """Evaluate all formulas at once, and by halves if one of them has no value."""
        try:
            self.values |= _evaluated(analysis, program, given)
        except (DataError, EvaluationError) as error:
            middle = len(program.steps) // 2
            for steps in (program.steps[:middle], program.steps[middle:]) if middle else ():
                self._evaluate(analysis, part_of(program, steps), given)
            if not middle:
                found = str(error) if isinstance(error, DataError) else f"{error.kind}: {error.message} ({error.place})"
                self.faults[program.output[0]] = found

    def stages(self) -> dict[str, str]:
        return stages(self.diagnostics, is_evaluated=bool(self.values), has_failed=bool(self.faults))

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"values": self.values, "failed": self.faults}
        if not self.several:
            value = {"value": next(iter(self.values.values()), None)}
            value |= {"failed": next(iter(self.faults.values()))} if self.faults else {}
        diagnostics = [{**d.to_json(), "stage": stage_of(d)} for d in self.diagnostics]
        return {**value, "stages": self.stages(), "diagnostics": diagnostics}

    def print(self) -> None:
        """The value, or the values by name, on standard output; everything else on standard error."""
        show_diagnostics(self.diagnostics, err=True)
        names_each = self.several and not self.is_refused
        for line in dict.fromkeys(f"{name}: {fault}" if names_each else fault for name, fault in self.faults.items()):
            say(f"formulaseed: {line}", err=True)
        if self.faults or self.diagnostics or self.is_checked_only:
            shown = ", ".join(f"{stage} {self.stages()[stage]}" for stage in STAGES)
            counted = f"{summary(self.diagnostics) or 'no problems'}; " if self.diagnostics or not self.faults else ""
            say(f"{counted}{shown}", err=True)
        if self.several and self.values:
            emit_json(self.values)
        elif self.values:
            emit_json(next(iter(self.values.values())), indent=None)


def _evaluated(analysis: SeedAnalysis, program: nodes.Program, given: Mapping[str, Any]) -> dict[str, Value]:
    """The values of the formulas: of a file of rules those that its module gives."""
    if analysis.kind.name != "rules":
        return evaluate_steps(program, given)
    loaded = Compilable(analysis.kind, analysis.document, program, ())
    module: Any = module_from_source(compile(loaded, formatted=False), "rules")
    try:
        values: dict[str, Value] = module.evaluate(module.parse_record(given))
    except module.DataError as error:
        raise DataError(str(error)) from None
    except module.EvaluationError as error:
        raise located(program, EvaluationError(error.step, error.kind, error.message, error.operands)) from None
    return values


def _values(text: str | None) -> Mapping[str, Any] | None:
    if text is None:
        return None
    if text.startswith("@"):
        data, _ = read_bytes(text[1:], _MOST)
        text = data.decode("utf-8-sig", "replace")
    if len(text) > _MOST:
        raise DataError(f"--vars has more than {_MOST} characters")
    found = parse_json(text, "--vars")
    if not isinstance(found, dict):
        raise DataError(f'--vars must be an object such as {{"ram_gb": 16}}, not {text[:40]}')
    return found
