"""Define the commands that analyse a policy: `diff`, `expect`, `sensitivity`, `cover`, `prove` and `graph`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from formulaseed.cli.inputs import parameters_of
from formulaseed.cli.options import choose_format, duplicates_option, param_option, refuse, rows_option
from formulaseed.cli.output import (
    emit,
    emit_json,
    finish,
    report_failures,
    report_warnings,
    show,
    show_progress,
    write_out,
)
from formulaseed.compare.cover import Coverage, measure_coverage
from formulaseed.compare.diff import Check, Difference, compare_seeds
from formulaseed.compare.expect import ExpectedOutputs
from formulaseed.compare.expect import expect as compare_expected
from formulaseed.compare.results import ResultsDifference, are_results, diff_results
from formulaseed.compare.sensitivity import Baseline, Sensitivity
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import read_lines
from formulaseed.data.results import FINE, PARTIAL, WRONG
from formulaseed.documents import FormulaSeed, load_seed
from formulaseed.pages.graph import as_dot, as_mermaid, build_graph
from formulaseed.proofs.proving import Proofs
from formulaseed.proofs.proving import prove as run_proofs
from formulaseed.runtime.loading import compile_evaluator

_form_option = click.option(
    "--format", "form", type=click.Choice(["text", "markdown", "html", "json"]), default="text", show_default=True,
    help="How to print it.",
)  # fmt: skip
_expected_option = click.option(
    "--expected", help="Expected outputs, as `expect` takes them: changes that break one are marked."
)
_output_option = click.option("--output", metavar="NAME", help="The output to look at, in place of the verdict.")


def _print(
    document: Difference | ResultsDifference | ExpectedOutputs | Sensitivity | Coverage | Proofs, form: str
) -> None:
    """Print the result of a command on standard output in the format `form`: text, markdown, json or html."""
    if form == "json":
        emit_json(document.json)
    elif form == "text":
        show(document.text, nl=False)
    else:
        emit(document.markdown if form == "markdown" else document.html)


def _load(path: str, params: tuple[str, ...]) -> tuple[FormulaSeed, dict[str, Any] | None]:
    """Load the seed at `path`, and parse its `--param` options; the parameters are None if there are no options.

    Prints the number of warnings on standard error. Raises `SeedError` if the seed has errors, `UnreadableError` if the
    file cannot be opened, `UsageError` for parameters that the seed does not declare or allow.
    """
    seed = load_seed(path)
    report_warnings(seed)
    return seed, parameters_of(compile_evaluator(seed), params) if params else None


@click.command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@rows_option(required=False)
@click.option("--new-rows", help="Rows of the new seed, if it asks other questions than the old one; needs --rows.")
@duplicates_option
@click.option("--param-old", "params_old", multiple=True, metavar="NAME=VALUE", help="Give the old seed a parameter.")
@click.option("--param-new", "params_new", multiple=True, metavar="NAME=VALUE", help="Give the new seed a parameter.")
@click.option("--key", metavar="COLUMN", help="The column that names restaurants, if OLD and NEW are results.")
@_output_option
@_expected_option
@click.option(
    "--fail-on",
    "checks",
    type=click.Choice(["verdicts", "outputs", "extraction", "expected"]),
    multiple=True,
    help="Exit with 1 where a verdict, an output or what is extracted changes, or an expectation breaks.",
)
@click.option("--prove", is_flag=True, help="Also prove what holds for all restaurants; needs the extra `prove`.")
@_form_option
def diff(
    old: str,
    new: str,
    rows: str | None,
    new_rows: str | None,
    params_old: tuple[str, ...],
    params_new: tuple[str, ...],
    key: str | None,
    output: str | None,
    expected: str | None,
    checks: tuple[Check, ...],
    form: str,
    duplicates: Duplicates,
    prove: bool,
) -> None:
    """Compare two seeds step by step, and what they make of the same restaurants.

    Pass one seed twice with --param-old and --param-new for two settings of it. If the seeds ask different questions, pass
    the rows that were extracted for each: each verdict that moved is then explained by the reviews, facts and parameters that
    changed. --prove says which outputs are equal for all restaurants, and which verdicts can move; then --fail-on verdicts also
    fails if a move is possible or unknown. OLD and NEW may also be results (.parquet, .jsonl), which --key compares line by
    line. Exit status 1 where --fail-on finds something, 3 where some restaurants failed: they are listed, and counted.
    """
    has_results = are_results(old)
    is_for_seeds = rows or new_rows or expected or prove or params_old or params_new or "extraction" in checks
    refuse(
        ("expected" in checks and expected is None, "--fail-on expected needs expected outputs: --expected FILE"),
        (has_results != are_results(new), "OLD and NEW must both be seeds, or both be results (.parquet, .jsonl)"),
        (has_results and is_for_seeds,
         "results are compared without rows, parameters, --expected, --prove and --fail-on extraction"),
        (has_results and key is None, "results need --key, the column that names restaurants, such as business_id"),
        (not has_results and key is not None,
         "--key is for results (.parquet, .jsonl); seeds are compared with --rows FILE"),
        (new_rows is not None and rows is None, "--new-rows goes with --rows"),
        (expected is not None and rows is None, "--expected goes with --rows"),
        (rows == new_rows == "-", "--rows and --new-rows cannot both be standard input"),
        (not has_results and "verdicts" in checks and rows is None and not prove,
         "--fail-on verdicts needs restaurants: --rows FILE, or all of them: --prove"),
    )  # fmt: skip
    if key is not None:
        results = diff_results(old, new, key=key, output=output)
        _print(results, form)
        finish(WRONG if any(results.outcomes.has_changed(check) for check in checks) else FINE)
    old_seed, old_parameters = _load(old, params_old)
    new_seed, new_parameters = _load(new, params_new)
    with report_failures() as failures:
        difference = compare_seeds(
            old_seed,
            new_seed,
            read_lines(rows, "rows") if rows is not None else None,
            read_lines(new_rows, "rows") if new_rows is not None else None,
            parameters=(old_parameters, new_parameters),
            output=output,
            failures=failures,
            duplicates=duplicates,
            expected=read_lines(expected, "expected") if expected is not None else None,
            prove=prove,
        )
    _print(difference, form)
    is_refused = any(difference.has_changed(check) for check in checks)
    finish(WRONG if is_refused else failures.status)


@click.command("expect")
@click.argument("seed", metavar="SEED")
@rows_option(required=True)
@click.option("--expected", help="Expected outputs, JSON Lines; by default expected.jsonl beside the seed.")
@duplicates_option
@param_option
@_form_option
def expect(
    seed: str, rows: str, expected: str | None, duplicates: Duplicates, params: tuple[str, ...], form: str
) -> None:
    """Compare the outputs of restaurants with the expected ones: who differs, why, and which verdicts are confused.

    A line of expected outputs has a "business_id", an "output" with values by name, and a "note". Exit status 1 where a
    restaurant differs, 3 where none does but some restaurants failed: they are listed, and counted.
    """
    default = Path(seed).with_name("expected.jsonl")
    if expected is None and (seed == "-" or not default.is_file()):
        raise click.UsageError(f"there is no {default} beside the seed; pass --expected FILE")
    loaded, parameters = _load(seed, params)
    comparison = compare_expected(loaded, rows, expected or default, parameters=parameters, duplicates=duplicates)
    with report_failures(comparison.failures) as failures:
        _print(comparison, form)
    finish(WRONG if comparison.disagreements else failures.status)


@click.command("cover")
@click.argument("seed", metavar="SEED")
@rows_option(required=True)
@duplicates_option
@param_option
@click.option(
    "--fail-under", type=click.FloatRange(0, 100), metavar="PERCENT", help="Exit with 1 where less is reached."
)
@click.option(
    "--prove", is_flag=True, help="Propose a restaurant for each rule that is never reached; needs the extra `prove`."
)
@_form_option
def cover(seed: str, rows: str, params: tuple[str, ...], fail_under: float | None, form: str, **options: Any) -> None:
    """Show which rules, keys, values, conditions and branches some restaurants reach, and how often.

    What is never reached comes first; with --prove, also a restaurant for each such rule, or that there is none. Exit
    status 1 where --fail-under asks for more, 3 where some restaurants failed: they are listed, and count as far as they come.
    """
    loaded, parameters = _load(seed, params)
    with report_failures() as failures:
        coverage = measure_coverage(loaded, read_lines(rows, "rows"), parameters, failures, **options)
    _print(coverage, form)
    is_refused = fail_under is not None and coverage.percent < fail_under
    finish(WRONG if is_refused else failures.status)


@click.command("prove")
@click.argument("seed", metavar="SEED")
@click.option("--property", "properties", multiple=True, metavar="TEXT",
              help='A claim, such as "increasing SCORE in N_SEVERE" or "never_lowers SCORE by IS_INCIDENT".')  # fmt: skip
@click.option("--quick", is_flag=True, help="Only try restaurants, without the solver.")
@click.option(
    "--wide", is_flag=True, help="Fields may have all values that the module accepts, not only those of Yelp."
)
@click.option("--parameters", type=click.Choice(["default", "any"]), default="default", show_default=True,
              help="The values of parameters.")  # fmt: skip
@click.option("--effort", type=click.IntRange(1, 1000), default=1, show_default=True, help="How hard to try.")
@param_option
@_form_option
def prove(seed: str, parameters: str, params: tuple[str, ...], form: str, **options: Any) -> None:
    """Prove what holds for every restaurant: which rules and verdicts are reached, what cannot fail, how far numbers go.

    A claim is proved, or shown by a restaurant, or unknown. Properties are those that the seed declares, and --property. Exit
    status 1 if a property is refuted, 3 if none is but one is unknown. Proofs need the extra `prove`; --quick does not.
    """
    loaded, own_parameters = _load(seed, params)
    proofs = run_proofs(loaded, parameters=own_parameters, any_parameters=parameters != "default", **options)
    _print(proofs, form)
    statuses = {claim.status for claim in proofs.claims.properties}
    if "refuted" in statuses:
        finish(WRONG)
    finish(PARTIAL if "unknown" in statuses else FINE)


class _Percent(click.ParamType[float]):
    """The type of an option whose value is a share over 0 % and at most 1000 %, such as `10%` or `10`."""

    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of percent: 10.0 for both `10%` and `10`.

        Raises `BadParameter` if `value` is no number, or not over 0 and at most 1000.
        """
        try:
            percent = float(str(value).removesuffix("%"))
        except ValueError:
            percent = 0.0
        if not 0 < percent <= 1000:
            self.fail(f"`{value}` is no share such as 10%", param, ctx)
        return percent


@click.command("sensitivity")
@click.argument("seed", metavar="SEED")
@rows_option(required=True)
@duplicates_option
@param_option
@click.option("--by", type=_Percent(), default="10%", show_default=True, metavar="PERCENT", help="How far to move.")
@_output_option
@_expected_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
@_form_option
def sensitivity(
    seed: str,
    rows: str,
    params: tuple[str, ...],
    by: float,
    expected: str | None,
    quiet: bool,
    form: str,
    **options: Any,
) -> None:
    """Rank the numbers of a policy by how many verdicts flip when each is moved, down and up, one at a time.

    Integers move by 1 at least, years by 1. A number whose other value makes the seed invalid is listed as skipped. Exit
    status 3 where some restaurants could not be read.
    """
    loaded, parameters = _load(seed, params)
    with report_failures() as failures, show_progress("variant", quiet=quiet) as bar:
        expected_lines = read_lines(expected, "expected") if expected is not None else None
        baseline = Baseline(loaded, read_lines(rows, "rows"), parameters, failures, expected_lines, **options)
        ranking = baseline.rank_numbers(by, lambda total, place: bar.advance(lambda: f"of {total:,}: {place}"))
    _print(ranking, form)
    finish(failures.status)


_GRAPH_SUFFIXES = {".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot"}


@click.command("graph")
@click.argument("seed", metavar="SEED")
@click.option("--format", "form", type=click.Choice(["mermaid", "dot"]),
              help="How to write it: as --out ends (.mmd, .dot), or mermaid.")  # fmt: skip
@click.option("--out", metavar="FILE", help="Where to write it; standard output by default.")
def graph(seed: str, form: str | None, out: str | None) -> None:
    """Write the computation as a graph: what is read, the steps, and what each of them uses."""
    form = choose_format(form, out, _GRAPH_SUFFIXES, "mermaid")
    loaded = load_seed(seed)
    report_warnings(loaded)
    computation = build_graph(loaded.program)
    write_out(as_mermaid(computation) if form == "mermaid" else as_dot(computation), out)
