"""Define the commands `reference`, which prints the formula reference of a domain, and `formula`, which evaluates one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from formulaseed.cli.options import choose_format, format_option, strict_option
from formulaseed.cli.output import check_current, emit_json, finish, say, show_diagnostics, write_out
from formulaseed.data.files import parse_json, read_bytes, replace_file
from formulaseed.diagnostics.model import Problems, promote_warnings
from formulaseed.diagnostics.render import summarize
from formulaseed.documents import SeedAnalysis, analyse_formula, analyse_rules, load_domain, read_document
from formulaseed.errors import DataError, EvaluationError, SeedError
from formulaseed.ir import nodes
from formulaseed.language.types import Value
from formulaseed.pipeline import Compilable, compile
from formulaseed.reference import evaluation
from formulaseed.reference.document import build_document, compare_references, format_document, next_version
from formulaseed.reference.model import DatabaseLayout, Reference, apply_overlay
from formulaseed.reference.read import lower_layout, lower_reference
from formulaseed.reference.rendering import estimate_tokens, render_markdown, render_prompt
from formulaseed.reference.restaurant import build_restaurant_reference
from formulaseed.reference.variables import add_variables
from formulaseed.runtime.loading import module_from_source

_MAX_VARS_SIZE = 4 * 1024 * 1024  # bytes of the file, or characters of the text, of --vars
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
    form = choose_format(form, out, _SUFFIXES, "json")
    reference = _load_reference(**domain)
    for name in reference.hidden_fields:
        bare = name.partition(".")[2]
        meaning = "the entity" if reference.entity(bare) is not None else "a word of the language"
        say(f"hidden: {name}, as `{bare}` alone is {meaning}; write it with its prefix", err=True)
    if form == "json":
        if generated_at:
            reference = replace(reference, generated_at=datetime.now(UTC).isoformat(timespec="seconds"))
        sys.exit(_write_json(reference, out, check))
    document = build_document(reference)
    if form == "markdown":
        text = render_markdown(document)
    else:
        text = render_prompt(document)
        say(f"about {estimate_tokens(text)} tokens", err=True)
    sys.exit(_write_text(text, out, check))


def _write_text(text: str, out: str | None, check: bool, note: str = "") -> int:
    """Print the text or write it to the file `out`, or with `check` compare it with the file; return the exit status.

    With `check` a file that is missing or has another text is reported, with status 1. `note` is printed after the
    file's name. Raises `UnreadableError` if the file cannot be written.
    """
    if check and out is not None:
        return check_current(Path(out), text, "the command without --check")
    write_out(text, out, note)
    return 0


def _load_reference(
    seed: str | None, schema: str | None, database: str | None, root: str | None, custom_fields: str | None
) -> Reference:
    """Return the reference that the options choose: of a schema file, a database or both, or of the restaurant.

    A schema file overlays the reference of a database; `root` and `custom_fields` name tables of the database. Prints
    the parts of a database that formulas cannot use on standard error. Raises `UsageError` for options that do not go
    together, `SeedError` for an invalid schema file or seed, `DataError` for a file or database that cannot be read.
    """
    if seed is not None and (schema, database) != (None, None):
        raise click.UsageError("SEED is for the restaurant's own reference; pass it without --schema and --database")
    if database is None and (root, custom_fields) != (None, None):
        raise click.UsageError("--root and --custom-fields are for --database")
    schema_reference: Reference | None = None
    layout = DatabaseLayout()
    if schema is not None:
        schema_reference, layout, _ = _read_reference(schema)
    if database is not None:
        from formulaseed.reference.database import reflect_database

        layout = replace(layout, root=root or layout.root, custom_table=custom_fields or layout.custom_table)
        reference, left_out = reflect_database(database, layout)
        for name in left_out:
            say(f"left out: {name}", err=True)
        return apply_overlay(reference, schema_reference) if schema_reference is not None else reference
    if schema_reference is not None:
        if not schema_reference.entities:
            raise click.UsageError(f"{schema} describes a database; pass it with --database")
        return schema_reference
    if seed is None:
        return build_restaurant_reference()
    from formulaseed.documents import load_seed

    return build_restaurant_reference(load_seed(seed).program)


def _write_json(reference: Reference, out: str | None, check: bool) -> int:
    """Print the reference as JSON or write it to the file `out`; return the exit status.

    If the file contains a reference already, it is rewritten only if something has changed, with the next version. With
    `check` nothing is written; the status is 1 if the file is stale. Raises `SeedError` if the file is no valid
    reference.
    """
    if out is None or not Path(out).exists():
        return _write_text(format_document(build_document(reference)), out, check, f"version {reference.version}")
    before, _, written = _read_reference(out)
    difference = compare_references(before, written, reference, build_document(reference))
    if difference.kind == "none":
        say(f"{out}: current, version {before.version}")
        return 0
    version = next_version(before.version, difference.kind)
    if check:
        say(f"{out}: stale, {before.version} is to become {version} ({difference})")
        return 1
    replace_file(Path(out), format_document(build_document(replace(reference, version=version))))
    say(f"{out}: {before.version} became {version} ({difference})")
    return 0


def _read_reference(path: str) -> tuple[Reference, DatabaseLayout, dict[str, Any]]:
    """Read a formula reference or schema file: the reference, its description of a database, and the JSON object.

    Raises `SeedError` if the file is invalid or of another kind, `UnreadableError` if it cannot be opened.
    """
    problems = Problems()
    document = read_document(path, "reference", problems)
    reference = lower_reference(document.tree, problems)
    layout = lower_layout(document.tree, problems)
    if problems.has_errors or reference is None:
        raise SeedError(problems.sorted())
    return reference, layout, json.loads(document.source.text)


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
    variables = _read_variables(values)
    if rules is not None:
        analysis = analyse_rules(rules, reference)
    else:
        assert text is not None
        if reference is None and variables is not None:
            domain = add_variables(None, variables, are_values=True)
        else:
            domain = load_domain(reference, None)
        analysis = analyse_formula(text, domain)
    outcome = _FormulasOutcome(analysis, variables, strict, is_file=rules is not None)
    if form == "json":
        emit_json(outcome.to_json())
    else:
        outcome.print()
    finish(1 if outcome.has_errors or outcome.faults else 0)


class _FormulasOutcome:
    """The outcome of checking and evaluating formulas: diagnostics, values by formula, faults by formula without a value.

    Formulas that read fields are not evaluated without `variables`. `is_file` says whether they come from a file of rules.
    """

    def __init__(
        self, analysis: SeedAnalysis, variables: Mapping[str, Any] | None, strict: bool, *, is_file: bool
    ) -> None:
        self.is_file = is_file
        self.diagnostics = promote_warnings(analysis.diagnostics) if strict else analysis.diagnostics
        self.values: dict[str, Value] = {}
        self.faults: dict[str, str] = {}
        self.has_errors = any(d.severity == "error" for d in self.diagnostics)
        self.is_checked_only = False
        self.are_variables_refused = False  # then all formulas have the same fault
        if self.has_errors or analysis.program is None:
            return
        program = analysis.program
        self.is_checked_only = variables is None and bool(program.record)
        try:
            values = evaluation.nest_values(program, variables)
        except DataError as error:
            self.are_variables_refused = True
            self.faults = dict.fromkeys(program.output, str(error))
            return
        if not self.is_checked_only:
            self._evaluate(analysis, program, values)

    def _evaluate(self, analysis: SeedAnalysis, program: nodes.Program, values: Mapping[str, Any]) -> None:
        """Evaluate the formulas of `program` into `self.values`, and put those without a value into `self.faults`.

        All formulas are evaluated at once; if one has no value, each is evaluated on its own by the reference evaluator.
        """
        try:
            self.values = _evaluate_formulas(analysis, program, values)
        except (DataError, EvaluationError):
            self.values, errors = evaluation.evaluate_each(program, values)
            for name, error in errors.items():
                if isinstance(error, DataError):
                    self.faults[name] = str(error)
                else:
                    self.faults[name] = f"{error.kind}: {error.message} ({error.place})"

    def stages(self) -> dict[str, str]:
        """Return the outcome of each stage by its name: whether it passed, warned, failed, or was not reached."""
        return evaluation.summarize_stages(
            self.diagnostics, is_evaluated=bool(self.values), has_failed=bool(self.faults)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as the JSON object that the command prints.

        A file of rules has `values` and `failed` by name, a single formula `value` (None if it has none) and `failed`
        only after a failure.
        """
        result: dict[str, Any]
        if self.is_file:
            result = {"values": self.values, "failed": self.faults}
        else:
            result = {"value": next(iter(self.values.values()), None)}
            if self.faults:
                result["failed"] = next(iter(self.faults.values()))
        diagnostics = [{**d.to_json(), "stage": evaluation.find_stage(d)} for d in self.diagnostics]
        return {**result, "stages": self.stages(), "diagnostics": diagnostics}

    def print(self) -> None:
        """Print the value, or the values by name, on standard output, and everything else on standard error."""
        show_diagnostics(self.diagnostics, err=True)
        if self.is_file and not self.are_variables_refused:
            lines = [f"{name}: {fault}" for name, fault in self.faults.items()]
        else:
            lines = list(dict.fromkeys(self.faults.values()))
        for line in lines:
            say(f"formulaseed: {line}", err=True)
        if self.faults or self.diagnostics or self.is_checked_only:
            text = ", ".join(f"{stage} {self.stages()[stage]}" for stage in evaluation.STAGES)
            if self.diagnostics or not self.faults:
                text = f"{summarize(self.diagnostics) or 'no problems'}; {text}"
            say(text, err=True)
        if self.is_file and self.values:
            emit_json(self.values)
        elif self.values:
            emit_json(next(iter(self.values.values())), indent=None)


def _evaluate_formulas(analysis: SeedAnalysis, program: nodes.Program, values: Mapping[str, Any]) -> dict[str, Value]:
    """Return the values of the formulas of `program`, by name; those of a file of rules are computed by its module.

    Raises `DataError` for values that do not fit, `EvaluationError` for the first formula without a value.
    """
    if analysis.kind.name != "rules":
        return evaluation.evaluate_steps(program, values)
    loaded = Compilable(analysis.kind, analysis.document, program, ())
    module: Any = module_from_source(compile(loaded, formatted=False), "rules")
    try:
        results: dict[str, Value] = module.evaluate(module.parse_record(values))
    except module.DataError as error:
        raise DataError(str(error)) from None
    except module.EvaluationError as error:
        raise evaluation.add_place(
            program, EvaluationError(error.step, error.kind, error.message, error.operands)
        ) from None
    return results


def _read_variables(text: str | None) -> Mapping[str, Any] | None:
    """Return the values of --vars by name: `text` is a JSON object, or `@` and the path of a file with one.

    Returns None if `text` is None. Raises `DataError` if the values are no JSON object or too long, `UnreadableError`
    if the file cannot be opened.
    """
    if text is None:
        return None
    if text.startswith("@"):
        data, _ = read_bytes(text[1:], _MAX_VARS_SIZE)
        text = data.decode("utf-8-sig", "replace")
    if len(text) > _MAX_VARS_SIZE:
        raise DataError(f"--vars has more than {_MAX_VARS_SIZE} characters")
    variables = parse_json(text, "--vars")
    if not isinstance(variables, dict):
        raise DataError(f'--vars must be an object such as {{"ram_gb": 16}}, not {text[:40]}')
    return variables
