"""The commands that analyse a policy: `diff`, `sensitivity`, `cover` and `graph`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import click
from click.core import ParameterSource

from formulaseed.cli.inputs import duplicates_option, param_option, parameters_of
from formulaseed.cli.output import (
    emit,
    emit_json,
    finish,
    format_of,
    progress,
    report_warnings,
    reported,
    say,
    show,
    write_out,
)
from formulaseed.cli.run import can_be_reread
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import Line, lines_of, read_lines
from formulaseed.data.results import WRONG, Failures
from formulaseed.errors import FormulaSeedError
from formulaseed.explanation.changes import changes_between
from formulaseed.explanation.cover import coverage
from formulaseed.explanation.diff import Check, difference
from formulaseed.explanation.graph import dot, graph_of, mermaid
from formulaseed.explanation.sensitivity import ranked
from formulaseed.loading import FormulaSeed, load_seed
from formulaseed.runtime.loading import evaluator_of

_DEFAULT = ParameterSource.DEFAULT
_LEAST_USD = 1e-9
"""Less than any call costs."""
_form_option = click.option(
    "--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True,
    help="How to print it.",
)  # fmt: skip
_output_option = click.option("--output", metavar="NAME", help="The output to look at, in place of the verdict.")


def _rows_option(**attributes: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(
        "--rows", help="Restaurants with extracted rows, JSON Lines; - for standard input.", **attributes
    )


class _Report(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def markdown(self) -> str: ...
    @property
    def json(self) -> dict[str, Any]: ...


def _print(found: _Report, form: str) -> None:
    if form == "json":
        emit_json(found.json)
    elif form == "markdown":
        emit(found.markdown)
    else:
        show(found.text, nl=False)


def _load(path: str, params: tuple[str, ...]) -> tuple[FormulaSeed, dict[str, Any] | None]:
    """Return a seed with its parameters; its warnings are reported."""
    seed = load_seed(path)
    report_warnings(seed)
    return seed, parameters_of(evaluator_of(seed), params) if params else None


@dataclass(slots=True)
class _Contexts:
    """Restaurants with their reviews, which `diff` extracts, and the options of the extraction."""

    contexts: str | None
    restaurants: str | None
    reviews: str | None
    duplicates: Duplicates
    options: dict[str, Any]
    usd: float = 0.0
    """What the extractions until now have cost at most."""

    @property
    def are_given(self) -> bool:
        return any(path is not None for path in (self.contexts, self.restaurants, self.reviews))

    def refuse_misuse(self, rows: str | None) -> None:
        """Raise `UsageError` for what does not fit."""
        has_two = self.restaurants is not None and self.reviews is not None
        has_one = self.contexts is not None and self.restaurants is None and self.reviews is None
        if self.are_given and (rows is not None or not (has_one or has_two)):
            raise click.UsageError("pass one of --rows FILE, --contexts FILE, or --restaurants FILE and --reviews FILE")
        for name in self.options if not self.are_given else ():
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --contexts")

    def extracted(self, seed: FormulaSeed, failures: Failures) -> Iterator[Line]:
        """Extract the restaurants for a seed, and return their lines of rows; each failure is reported once."""
        from formulaseed.phase2 import extract

        options, name = {**self.options}, seed.document.source.name
        if options.get("extractor") == "anthropic":
            options["notify"] = lambda line: say(f"{name}: {line}", err=True)
        if "max_usd" in options:  # the limit is one for all calls of the command
            options["max_usd"] = max(_LEAST_USD, options["max_usd"] - self.usd)
        try:
            contexts = self.contexts or self.restaurants or ""
            found = extract(seed, contexts, reviews=self.reviews, duplicates=self.duplicates, **options)
        except FormulaSeedError as error:
            if type(error) is FormulaSeedError:  # options that do not fit
                raise click.UsageError(str(error)) from None
            raise
        self.usd += found.usd or 0.0
        failures.lines += [line for line in found.failures if line not in failures.lines]
        return lines_of(found, "rows")

    def extracted_again(self, seed: FormulaSeed, failures: Failures) -> Iterator[Line]:
        """Extract them for another seed. Raises `UsageError` for what can be read only once."""
        if not can_be_reread((self.contexts, self.restaurants, self.reviews, self.options.get("extractions"))):
            raise click.UsageError(
                "the seeds ask different questions, so the input is read twice: pass files, not - or a pipe"
            )
        return self.extracted(seed, failures)


@click.command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@_rows_option()
@click.option("--contexts", help="Restaurants with their reviews, JSON Lines, to extract; in place of --rows.")
@click.option("--restaurants", help="Restaurants, JSON Lines, to extract; needs --reviews.")
@click.option("--reviews", help="Reviews, JSON Lines, joined by business_id; needs --restaurants.")
@click.option(
    "--extractor",
    type=click.Choice(["lexical", "recorded", "anthropic"]),
    default="lexical",
    show_default=True,
    help="What extracts; where it is a model, see `run` for its options.",
)
@click.option("--extractions", help="Recorded extractions, JSON Lines; needs --extractor recorded.")
@click.option(
    "--on-error",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="A review that cannot be extracted fails its restaurant, or is left out.",
)
@duplicates_option
@click.option("--limit", type=click.IntRange(min=0), help="Extract so many restaurants at most.")
@click.option("--model", help="anthropic: the model.")
@click.option("--store", help="anthropic: where answers are cached; by default in the user's cache folder.")
@click.option("--max-usd", type=click.FloatRange(min=0, min_open=True), help="anthropic: stop before it can cost more.")
@click.option("--param-old", "params_old", multiple=True, metavar="NAME=VALUE", help="Give the old seed a parameter.")
@click.option("--param-new", "params_new", multiple=True, metavar="NAME=VALUE", help="Give the new seed a parameter.")
@_output_option
@click.option(
    "--fail-on",
    "checks",
    type=click.Choice(["verdicts", "outputs", "extraction"]),
    multiple=True,
    help="Exit with 1 where a verdict, an output or what is extracted changes.",
)
@_form_option
def diff(
    old: str, new: str, rows: str | None, contexts: str | None, restaurants: str | None, reviews: str | None,
    params_old: tuple[str, ...], params_new: tuple[str, ...], output: str | None, checks: tuple[Check, ...], form: str,
    duplicates: Duplicates, **options: Any
) -> None:  # fmt: skip
    """Compare two seeds step by step, and what they make of the same restaurants.

    Pass one seed twice with --param-old and --param-new for two settings of it. With --contexts reviews are extracted once
    if both seeds ask the same of them, else for each. Exit status 1 where --fail-on finds something, 3 where some restaurants
    failed: they are listed, and counted.
    """
    context = click.get_current_context()
    set_ones = {name: options[name] for name in options if context.get_parameter_source(name) is not _DEFAULT}
    given = _Contexts(contexts, restaurants, reviews, duplicates, set_ones)
    given.refuse_misuse(rows)
    if "verdicts" in checks and rows is None and not given.are_given:
        raise click.UsageError("--fail-on verdicts needs restaurants: --rows FILE or --contexts FILE")
    (first, first_parameters), (second, second_parameters) = _load(old, params_old), _load(new, params_new)
    with reported() as failures:
        lines, new_lines = read_lines(rows, "rows") if rows is not None else None, None
        if given.are_given:
            is_same = not changes_between(first, second).of("extraction")
            new_lines = None if is_same else given.extracted_again(second, failures)
            lines = given.extracted(first, failures)
        parameters = first_parameters, second_parameters
        found = difference(first, second, lines, parameters, output, failures, new_lines, duplicates)
    _print(found, form)
    finish(WRONG if any(found.fails(check) for check in checks) else failures.status)


@click.command("cover")
@click.argument("seed", metavar="SEED")
@_rows_option(required=True)
@duplicates_option
@param_option
@click.option(
    "--fail-under", type=click.FloatRange(0, 100), metavar="PERCENT", help="Exit with 1 where less is reached."
)
@_form_option
def cover(
    seed: str, rows: str, duplicates: Duplicates, params: tuple[str, ...], fail_under: float | None, form: str
) -> None:
    """Show which rules, keys, values, conditions and branches some restaurants reach, and how often.

    What is never reached comes first. Exit status 1 where --fail-under asks for more, 3 where some restaurants failed:
    they are listed, and count as far as they come.
    """
    loaded, parameters = _load(seed, params)
    with reported() as failures:
        found = coverage(loaded, read_lines(rows, "rows"), parameters, failures, duplicates)
    _print(found, form)
    finish(WRONG if fail_under is not None and found.percent < fail_under else failures.status)


class _Percent(click.ParamType[float]):
    """A share over 0, such as `10%` or `10`."""

    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            found = float(str(value).removesuffix("%"))
        except ValueError:
            found = 0.0
        if not 0 < found <= 1000:
            self.fail(f"`{value}` is no share such as 10%", param, ctx)
        return found


@click.command("sensitivity")
@click.argument("seed", metavar="SEED")
@_rows_option(required=True)
@duplicates_option
@param_option
@click.option("--by", type=_Percent(), default="10%", show_default=True, metavar="PERCENT", help="How far to move.")
@_output_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
@_form_option
def sensitivity(
    seed: str, rows: str, duplicates: Duplicates, params: tuple[str, ...], by: float, output: str | None, quiet: bool,
    form: str
) -> None:  # fmt: skip
    """Rank the numbers of a policy by how many verdicts flip when each is moved, down and up, one at a time.

    Integers move by 1 at least, years by 1. A number whose other value makes the seed invalid is listed as skipped. Exit
    status 3 where some restaurants could not be read.
    """
    loaded, parameters = _load(seed, params)
    with reported() as failures, progress("variant", quiet=quiet) as shown:
        lines = read_lines(rows, "rows")
        found = ranked(
            loaded,
            lines,
            by,
            output,
            parameters,
            failures,
            lambda total, place: shown.advance(lambda: f"of {total:,}: {place}"),
            duplicates,
        )
    _print(found, form)
    finish(failures.status)


_DRAWINGS = {".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot"}


@click.command("graph")
@click.argument("seed", metavar="SEED")
@click.option("--format", "form", type=click.Choice(["mermaid", "dot"]),
              help="How to write it: as --out ends (.mmd, .dot), or mermaid.")  # fmt: skip
@click.option("--out", metavar="FILE", help="Where to write it; standard output by default.")
def graph(seed: str, form: str | None, out: str | None) -> None:
    """Write the computation as a graph: what is read, the steps, and what each of them uses."""
    chosen = form or (format_of(out, _DRAWINGS) if out is not None else None) or "mermaid"
    loaded = load_seed(seed)
    report_warnings(loaded)
    computation = graph_of(loaded.program)
    write_out(mermaid(computation) if chosen == "mermaid" else dot(computation), out)
