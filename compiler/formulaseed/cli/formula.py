"""`formulaseed formula`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from formulaseed.cli.output import emit_json, finish, format_option, say, show, strict_option
from formulaseed.data.files import json_value, read_json
from formulaseed.diagnostics.model import strictly
from formulaseed.diagnostics.render import render_text, summary
from formulaseed.errors import DataError, EvaluationError
from formulaseed.formulas import domain_of
from formulaseed.ir import nodes
from formulaseed.language.types import Value
from formulaseed.loading import SeedAnalysis, analyse_formula, analyse_rules
from formulaseed.pipeline import Compilable, compile
from formulaseed.reference.evaluation import evaluate_steps, known_values, located, part_of
from formulaseed.reference.stages import STAGES, stage_of, stages
from formulaseed.reference.variables import variables_of
from formulaseed.runtime.loading import module_from_source

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
        variables = variables_of(given) if reference is None and given is not None else None
        analysis = analyse_formula(text, domain_of(reference, variables))
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
        self.is_refused = False
        """Whether the values are refused as a whole, for the same reason for each formula."""
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
        """Evaluate all formulas at once, and by halves where one of them has no value."""
        try:
            self.values |= _evaluated(analysis, program, given)
        except (DataError, EvaluationError) as error:
            if len(program.steps) > 1:
                middle = len(program.steps) // 2
                for steps in (program.steps[:middle], program.steps[middle:]):
                    self._evaluate(analysis, part_of(program, steps), given)
            elif isinstance(error, DataError):
                self.faults[program.output[0]] = str(error)
            else:
                self.faults[program.output[0]] = f"{error.kind}: {error.message} ({error.place})"

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
        if self.diagnostics:
            show(render_text(self.diagnostics), err=True)
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
    """The values of `--vars`; None where the option is not given."""
    if text is None:
        return None
    if text.startswith("@"):
        found = read_json(text[1:])
    elif len(text) > _MOST:
        raise DataError(f"--vars has more than {_MOST} characters")
    else:
        found = json_value(text, "--vars")
    if not isinstance(found, dict):
        raise DataError(f'--vars must be an object such as {{"ram_gb": 16}}, not {text[:40]}')
    return found
