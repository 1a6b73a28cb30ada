"""`formulaseed run` and `formulaseed evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import click

from formulaseed.cli.common import allow_edited_option, finish, load, param_option, parameters_of, reported
from formulaseed.cli.output import say
from formulaseed.cli.progress import Progress, progress
from formulaseed.data.contexts import LocatedRestaurant, join_files, read_contexts
from formulaseed.data.jsonl import read_lines
from formulaseed.data.results import Failures, Result, ResultCounts, result_writer
from formulaseed.diagnostics.model import number_of
from formulaseed.extract.base import SyncExtractor, TextExtractor, fields_of
from formulaseed.ir import nodes
from formulaseed.llm.calls import EFFORTS
from formulaseed.runtime.evaluation import evaluate_lines
from formulaseed.runtime.running import RunOptions
from formulaseed.runtime.running import run as run_restaurants

EXTRACTORS = ("lexical", "recorded", "anthropic")
_ABOVE_ZERO = click.FloatRange(min=0, min_open=True)

Source = Callable[[Failures], Iterator[LocatedRestaurant]]
"""The restaurants from the start, each time it is called; what cannot be read goes into the failures."""


@click.command("evaluate")
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--rows", required=True, help="Restaurants with extracted rows, JSON Lines; - for standard input.")
@click.option("--out", default="-", help="Where to write results; standard output by default.")
@click.option("--trace", is_flag=True, help="Add every step's value, and the reviews behind each aggregate.")
@click.option("--strict", is_flag=True, help="Refuse rows with extractions or metadata that the seed does not know.")
@allow_edited_option
@param_option
def evaluate(
    seed: str, rows: str, out: str, trace: bool, strict: bool, allow_edited: bool, params: tuple[str, ...]
) -> None:
    """Evaluate restaurants whose reviews have been extracted.

    Exit status 3 where some restaurants failed: they are listed, and the others are written.
    """
    evaluator = load(seed, strict=strict, allow_edited=allow_edited).evaluator
    parameters = parameters_of(evaluator, params)
    failures = Failures()
    lines = read_lines(rows)
    with reported(failures), progress("restaurant", quiet=True) as shown:
        results = evaluate_lines(evaluator, lines, failures, trace=trace, parameters=parameters)
        counted = written(results, out, (rows,), shown)
    number = number_of(counted.restaurants + failures.unreadable, "line")
    say(f"{number}: {counted.summary()}{failures.summary()}", err=True)
    finish(failures.status)


@click.command("run")
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--contexts", help="Restaurants with their reviews, JSON Lines; - for standard input.")
@click.option("--restaurants", help="Restaurants, JSON Lines; needs --reviews.")
@click.option("--reviews", help="Reviews, JSON Lines, joined by business_id; needs --restaurants.")
@click.option("--extractor", type=click.Choice(EXTRACTORS), default="lexical", show_default=True, help="What extracts.")
@click.option("--extractions", help="Recorded extractions, JSON Lines; needs --extractor recorded.")
@click.option("--on-error", type=click.Choice(["fail", "skip"]), default="fail", show_default=True,
              help="A review that cannot be extracted fails its restaurant, or is left out and counted.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=0), help="Stop after so many restaurants.")
@click.option("--out", default="-", help="Where to write results; standard output by default.")
@click.option("--trace", is_flag=True, help="Add every step's value, and the reviews behind each aggregate.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--strict", is_flag=True, help="Refuse recorded extractions with fields that the seed does not have.")
@allow_edited_option
@param_option
@click.option("--model", default="claude-haiku-5-5", show_default=True, help="anthropic: the model.")
@click.option(
    "--effort", type=click.Choice(EFFORTS), default="low", show_default=True, help="anthropic: the model's effort."
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=16,
    show_default=True,
    help="anthropic: concurrent calls; fewer while the API pushes back.",
)
@click.option("--batch", is_flag=True, help="anthropic: the Message Batches API, at half the price, within a day.")
@click.option("--poll", type=_ABOVE_ZERO, default=30.0, show_default=True, help="--batch: seconds between two polls.")
@click.option("--dry-run", is_flag=True, help="anthropic: print how many calls would be made and what they may cost.")
@click.option("--max-usd", type=_ABOVE_ZERO, help="anthropic: stop before the calls of this run can cost more.")
@click.option("--prices", help="anthropic: a file of prices, in place of those that come with this version.")
@click.option("--store", help="anthropic: where answers are cached; by default in the user's cache folder.")
@click.option("--retry-errors", is_flag=True, help="anthropic: ask again where a stored answer is unusable.")
@click.option(
    "--timeout", type=_ABOVE_ZERO, default=60.0, show_default=True, help="anthropic: seconds for one attempt."
)
@click.option(
    "--deadline",
    type=_ABOVE_ZERO,
    default=300.0,
    show_default=True,
    help="anthropic: seconds for one call with all of its attempts.",
)
@click.option(
    "--retries",
    type=click.IntRange(0, 20),
    default=8,
    show_default=True,
    help="anthropic: attempts after the first, for transient errors.",
)
@click.option("--requests-per-minute", type=_ABOVE_ZERO, help="anthropic: the most requests a minute.")
@click.option("--tokens-per-minute", type=_ABOVE_ZERO, help="anthropic: about the most prompt tokens a minute.")  # fmt: skip
def command(
    seed: str,
    contexts: str | None,
    restaurants: str | None,
    reviews: str | None,
    extractor: str,
    extractions: str | None,
    on_error: Literal["fail", "skip"],
    limit: int | None,
    out: str,
    trace: bool,
    quiet: bool,
    strict: bool,
    allow_edited: bool,
    params: tuple[str, ...],
    **model_options: Any,
) -> None:
    """Filter, extract and evaluate restaurants with their reviews.

    The lexical extractor is embedded and needs no network; it is a heuristic for a first try, which `formulaseed
    agreement` measures. The anthropic extractor asks a model; its answers are cached, so that nothing is paid twice. Exit
    status 3 where some restaurants or reviews failed: they are listed, the others are written.
    """
    not_ready = None
    if extractor == "anthropic":
        from formulaseed.cli.model_run import ask, not_ready_to_ask

        not_ready = not_ready_to_ask(model_options)
    else:
        _only_for_models(model_options)
    loaded = load(seed, allow_edited=allow_edited)
    evaluator, program = loaded.evaluator, loaded.program
    options = RunOptions(on_error, trace, limit, parameters_of(evaluator, params), program.review_handling)
    inputs = (contexts, restaurants, reviews, extractions)
    source = _source(contexts, restaurants, reviews)
    failures = Failures()
    if extractor == "anthropic":
        if extractions is not None:
            raise click.UsageError("--extractions goes with --extractor recorded")
        status = ask(evaluator, program, options, source, inputs, out, failures, quiet, not_ready, **model_options)
        finish(status)
    with reported(failures):
        chosen = _extractor(extractor, program, extractions, failures, strict)
        results = run_restaurants(evaluator, chosen, source(failures), options, failures)
        with progress("restaurant", quiet=quiet) as shown:
            counted = written(results, out, inputs, shown)
    for line in (*chosen.summary(), closing_line(counted, failures, chosen.name)):
        say(line, err=True)
    finish(failures.status)


def closing_line(counted: ResultCounts, failures: Failures, extractor: str) -> str:
    """Return a run's counts on one line."""
    reviews = f"{counted.relevant} of {number_of(counted.total, 'review')} relevant, {counted.extracted} extracted"
    return f"{counted.summary()}{failures.summary()}; {reviews} ({extractor})"


def written(
    results: Iterator[Result],
    out: str,
    inputs: tuple[str | None, ...],
    shown: Progress,
    counted: ResultCounts | None = None,
) -> ResultCounts:
    """Write each result as it comes."""
    counted = counted if counted is not None else ResultCounts()
    with result_writer(out, *inputs) as writer:
        for result in results:
            writer.write(result.to_json())
            counted.add(result)
            shown.advance(number_of(counted.relevant, "relevant review"))
    return counted


def _only_for_models(options: dict[str, Any]) -> None:
    """Refuse options that only a model run has."""
    from click.core import ParameterSource

    ctx = click.get_current_context()
    for name in options:
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --extractor anthropic")


def _source(contexts: str | None, restaurants: str | None, reviews: str | None) -> Source:
    if contexts is not None and restaurants is None and reviews is None:
        return lambda _: read_contexts(read_lines(contexts))
    if contexts is None and restaurants is not None and reviews is not None:
        return lambda failures: join_files(read_lines(restaurants), read_lines(reviews), failures)
    raise click.UsageError("pass --contexts FILE, or --restaurants FILE and --reviews FILE")


def _extractor(
    name: str, program: nodes.Program, extractions: str | None, failures: Failures, strict: bool
) -> SyncExtractor:
    fields = fields_of(program)
    if name == "recorded":
        if extractions is None:
            raise click.UsageError("--extractor recorded needs --extractions FILE")
        from formulaseed.extract.recorded import RecordedExtractor

        recorded = RecordedExtractor(fields, read_lines(extractions), strict=strict)
        for place, reason in recorded.faults:
            failures.add_unreadable(place, reason)
        return recorded
    if extractions is not None:
        raise click.UsageError("--extractions goes with --extractor recorded")
    from formulaseed.extract.lexical import LexicalExtractor

    lexical = LexicalExtractor(fields)
    return TextExtractor("lexical", lexical.extract, lexical.summary)
