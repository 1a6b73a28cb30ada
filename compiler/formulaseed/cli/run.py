"""`formulaseed run`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import click

from formulaseed.cli.common import evaluator_of, finish, param_option, parameters_of, reported, seed_of
from formulaseed.cli.progress import progress
from formulaseed.extract.base import Extractor, TextExtractor, fields_of
from formulaseed.ir import nodes
from formulaseed.runtime.contexts import Placed, join_files, read_contexts
from formulaseed.runtime.jsonl import read_lines
from formulaseed.runtime.results import Failures, Result, result_writer
from formulaseed.runtime.running import RunOptions
from formulaseed.runtime.running import run as run_restaurants

EXTRACTORS = ("lexical", "recorded")


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
@param_option
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
    params: tuple[str, ...],
) -> None:
    """Filter, extract and evaluate restaurants with their reviews.

    The lexical extractor is embedded and needs no network; it is a heuristic, which `formulaseed agreement`
    measures. Exit status 3 where some restaurants or reviews failed: they are listed, the others are written.
    """
    evaluator = evaluator_of(seed)
    program = seed_of(seed).program
    options = RunOptions(on_error, trace, limit, parameters_of(evaluator, params), program.review_handling)
    failures = Failures()
    counted = _Counted()
    with reported(failures):
        chosen = _extractor(extractor, program, extractions, failures)
        source = _source(contexts, restaurants, reviews, failures)
        inputs = (contexts, restaurants, reviews, extractions)
        with result_writer(out, *inputs) as writer, progress("restaurants") as shown:
            for result in run_restaurants(evaluator, chosen, source, options, failures):
                writer.write(result.to_json())
                counted.add(result)
                shown.advance(f"{counted.relevant} relevant reviews")
    click.echo(counted.told(chosen.name), err=True)
    finish(failures.status)


class _Counted:
    restaurants = failed = total = relevant = extracted = 0

    def add(self, result: Result) -> None:
        self.restaurants += 1
        self.failed += result.error is not None
        if result.reviews is not None:
            self.total += result.reviews.total
            self.relevant += result.reviews.relevant
            self.extracted += result.reviews.extracted

    def told(self, extractor: str) -> str:
        done = f"{self.restaurants} restaurant{'s' if self.restaurants != 1 else ''}, {self.failed} failed"
        return f"{done}; {self.relevant} of {self.total} reviews relevant, {self.extracted} extracted ({extractor})"


def _source(contexts: str | None, restaurants: str | None, reviews: str | None, failures: Failures) -> Iterator[Placed]:
    if contexts is not None and restaurants is None and reviews is None:
        return read_contexts(read_lines(contexts))
    if contexts is None and restaurants is not None and reviews is not None:
        return join_files(read_lines(restaurants), read_lines(reviews), failures)
    raise click.UsageError("pass --contexts FILE, or --restaurants FILE and --reviews FILE")


def _extractor(name: str, program: nodes.Program, extractions: str | None, failures: Failures) -> Extractor:
    fields = fields_of(program)
    if name == "recorded":
        if extractions is None:
            raise click.UsageError("--extractor recorded needs --extractions FILE")
        from formulaseed.extract.recorded import RecordedExtractor

        recorded = RecordedExtractor(fields, read_lines(extractions))
        for place, reason in recorded.faults:
            failures.add(place, reason)
        return recorded
    if extractions is not None:
        raise click.UsageError("--extractions goes with --extractor recorded")
    from formulaseed.extract.lexical import LexicalExtractor

    return TextExtractor("lexical", LexicalExtractor(fields).extract)
