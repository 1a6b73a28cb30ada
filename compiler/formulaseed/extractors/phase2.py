"""Runs phase 2, for Python and for the commands: opens an extractor over restaurants with their reviews.

In: a seed, and restaurants with their reviews. Out: rows or results, an object for each restaurant, with what failed. Source: the
two-phase design's section on phase 2 execution.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Literal

from formulaseed.data.arguments import validate_arguments_with
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import Lines
from formulaseed.data.results import Failures
from formulaseed.documents import FormulaSeed, SeedLike, load_seed
from formulaseed.errors import ArgumentError
from formulaseed.extractors.base import OpenExtractor
from formulaseed.extractors.options import Callbacks, ExtractorOptions
from formulaseed.extractors.registry import extractor_of, find_home
from formulaseed.ir import nodes
from formulaseed.runtime.extracting import RunOptions, build_line
from formulaseed.runtime.extracting import extract as extract_restaurants
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.runtime.running import run as run_restaurants

ExtractorName = Literal["lexical", "recorded", "trained", "anthropic", "cascade"]
OnError = Literal["fail", "skip"]
Notify = Callable[[str], None]

_SECONDS_BETWEEN_LINES = 10.0


class Outcome(list[dict[str, Any]]):
    """What `extract` and `run` return: an object for each restaurant, in their order.

    `failures` says what failed, each with its place and the reason: restaurants, reviews, lines that cannot be used. `usd` is
    what asking a model has cost at most, in US dollars: 0 if no call was made, None if that is unknown.
    """

    def __init__(self, lines: Iterable[dict[str, Any]], failures: Sequence[str], usd: float | None = 0.0) -> None:
        super().__init__(lines)
        self.failures = tuple(failures)
        self.usd = usd


@validate_arguments_with(find_home)
def extract(
    seed: SeedLike | FormulaSeed,
    contexts: Lines,
    *,
    reviews: Lines | None = None,
    extractor: ExtractorName | ExtractorOptions = "lexical",
    on_error: OnError = "fail",
    limit: int | None = None,
    sample: int | None = None,
    sample_seed: int = 0,
    with_text: bool = False,
    duplicates: Duplicates = "fail",
    notify: Notify | None = None,
) -> Outcome:
    """Filter and extract restaurants with their reviews: a line of rows for each, as `formulaseed extract` writes it.

    `contexts` are restaurants with their reviews or, if there are `reviews`, restaurants to which these belong: paths, the JSON
    values that the files would hold, or data frames. `extractor` is a value of `formulaseed.extractors`, such as
    `Anthropic(model="…", max_usd=5)` or `Recorded("extractions.jsonl")`; a bare name means its defaults. With
    `duplicates="first"` the first of a restaurant's reviews with the same `review_id` counts; otherwise the restaurant
    fails. With `on_error="skip"` a review that cannot be extracted is left out and counted; otherwise it fails its
    restaurant, which then has no line. `limit` is the most restaurants to read; `sample` the number of their reviews to
    extract, drawn by `sample_seed`. `with_text` adds the texts of reviews, and the quotes and reasons that a model gave.
    `notify` is called with lines about the run: how far it is, why it waits or ends early, and at its end what it cost.

    The list has in `failures` what failed. Raises `SeedError` for a seed with errors, `DataError` for a file that cannot be read,
    and if no restaurant in it can be, `ArgumentError` for an option that does not fit, and `UnreadableError` for a model that
    cannot be asked.
    """

    def work(source: ReviewSource, asker: OpenExtractor, failures: Failures) -> list[dict[str, Any]]:
        restaurants = source.read_restaurants(failures)
        extracted = extract_restaurants(source.evaluator, asker, restaurants, source.options, failures)
        lines = [build_line(source.evaluator, restaurant, failures, with_text=with_text)[1] for restaurant in extracted]
        failures.require_restaurants(len(lines))
        return [line for line in lines if line is not None]

    options = RunOptions(on_error, limit=limit)
    return _run(work, seed, contexts, reviews, duplicates, options, extractor, sample, sample_seed, notify)


@validate_arguments_with(find_home)
def run(
    seed: SeedLike | FormulaSeed,
    contexts: Lines,
    *,
    reviews: Lines | None = None,
    extractor: ExtractorName | ExtractorOptions = "lexical",
    on_error: OnError = "fail",
    limit: int | None = None,
    sample: int | None = None,
    sample_seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    trace: bool = False,
    duplicates: Duplicates = "fail",
    notify: Notify | None = None,
) -> Outcome:
    """Filter, extract and evaluate restaurants with their reviews: a result for each, as `formulaseed run` writes it.

    `parameters` are the seed's, by name; with `trace` results have every step's value, and the reviews behind each aggregate. A
    restaurant that failed has an `error` in place of an `output`. The other arguments are those of `extract`. Raises as `extract`
    does, and `DataError` for parameters that the seed does not allow.
    """

    def work(source: ReviewSource, asker: OpenExtractor, failures: Failures) -> list[dict[str, Any]]:
        restaurants = source.read_restaurants(failures)
        results = run_restaurants(source.evaluator, asker, restaurants, source.options, failures)
        lines = [result.to_json() for result in results]
        failures.require_restaurants(len(lines))
        return lines

    options = RunOptions(on_error, trace, limit, parameters)
    return _run(work, seed, contexts, reviews, duplicates, options, extractor, sample, sample_seed, notify)


def _run(
    work: Callable[[ReviewSource, OpenExtractor, Failures], list[dict[str, Any]]],
    seed: SeedLike | FormulaSeed,
    contexts: Lines,
    reviews: Lines | None,
    duplicates: Duplicates,
    options: RunOptions,
    extractor: ExtractorName | ExtractorOptions,
    sample: int | None,
    sample_seed: int,
    notify: Notify | None,
) -> Outcome:
    """Open the extractor over the reviews, call `work` with it, and return the lines of `work` with the failures and the cost.

    If the extractor stopped before its last question, the reason is one of the failures.
    """
    chosen = extractor_of(extractor)
    chosen.require()
    loaded = load_seed(seed)
    evaluator = compile_evaluator(loaded)
    if options.parameters:
        evaluator.parse_parameters(options.parameters)
    options = replace(options, review_handling=loaded.program.review_handling)
    source = ReviewSource(evaluator, contexts, reviews, options, duplicates)
    callbacks = Callbacks() if notify is None else Callbacks(notify, _throttled(notify))
    failures = Failures()
    asker: OpenExtractor | None = None
    try:
        with open_extractor(loaded.program, source, chosen, failures, callbacks, sample, sample_seed) as asker:
            lines = work(source, asker, failures)
    finally:
        for line in asker.costs if asker is not None else ():
            callbacks.notify(line)
    if asker.stopped:
        failures.add("stopped", asker.stopped)
    return Outcome(lines, failures.lines, asker.usd)


def open_extractor(
    program: nodes.Program,
    source: ReviewSource,
    extractor: ExtractorOptions,
    failures: Failures,
    callbacks: Callbacks,
    sample: int | None = None,
    sample_seed: int = 0,
) -> AbstractContextManager[OpenExtractor]:
    """Open an extractor over a source of reviews: the one way into phase 2, of Python and of the commands.

    A `sample` of so many reviews is drawn first, and `source` has only these from then on. Raises `ArgumentError` for options
    that do not fit each other, and what `ExtractorOptions.open` raises.
    """
    if sample is not None:
        if "sample" in type(extractor).model_fields:
            raise ArgumentError(
                "sample", f"goes with other extractors; write `{type(extractor).__name__}(sample={sample})`"
            )
        source.require_rereading("sample")
        drawn = source.draw(sample, sample_seed)
        callbacks.notify(drawn.describe())
        source.options = replace(source.options, sample=drawn)
    return extractor.open(program, source, failures, callbacks)


def _throttled(notify: Notify) -> Notify:
    """Return a function that passes on the first of its lines after each ten seconds."""
    last = time.monotonic()

    def pass_on(line: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            notify(line)

    return pass_on
