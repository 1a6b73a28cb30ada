"""Runs phase 2, for Python and for the commands: opens an extractor over restaurants with their reviews.

In: a seed, and restaurants with their reviews. Out: an object of rows or a result for each restaurant, and the failures. Source:
the two-phase design's section on phase 2 execution.
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
from formulaseed.extractors.base import Callbacks, ExtractorOptions, OpenExtractor
from formulaseed.extractors.registry import resolve_extractor, suggest_extractor
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
    """The objects that `extract` and `run` return, one for each restaurant, in their order.

    `failures` are lines with the place and the reason of each failure: of restaurants, reviews, and lines that cannot be used.
    `usd` is the most that asking a model can have cost, in US dollars: 0 if no call was made, None if the cost is unknown.
    """

    def __init__(self, lines: Iterable[dict[str, Any]], failures: Sequence[str], usd: float | None = 0.0) -> None:
        super().__init__(lines)
        self.failures = tuple(failures)
        self.usd = usd


@validate_arguments_with(suggest_extractor)
def extract(
    seed: SeedLike | FormulaSeed,
    contexts: Lines,
    *,
    reviews: Lines | None = None,
    extractor: ExtractorName | ExtractorOptions | None = None,
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
    `Anthropic(model="…", max_usd=5)` or `Recorded("extractions.jsonl")`; a bare name means its defaults. None is the lexical
    extractor, with a failure listed if words speak for less than half of the relevant reviews. With `duplicates="first"`
    the first of a restaurant's reviews with the same `review_id` counts; otherwise the restaurant fails. With
    `on_error="skip"` a review that cannot be extracted is left out and counted; otherwise it fails its restaurant, which then
    has no line. `limit` is the most restaurants to read; `sample` the number of their reviews to
    extract, drawn by `sample_seed`. `with_text` adds the texts of reviews, and the quotes and reasons that a model gave.
    `notify` is called with lines about the run: how far it is, why it waits or ends early, and at its end what it cost.

    The list has in `failures` what failed. Raises `SeedError` for a seed with errors, `DataError` for a file that cannot be read,
    and if no restaurant in it can be, `ArgumentError` for an option that does not fit, and `UnreadableError` for a model that
    cannot be asked.
    """

    def extract_lines(source: ReviewSource, opened: OpenExtractor, failures: Failures) -> list[dict[str, Any]]:
        """Return the restaurants' lines of rows, without restaurants that failed.

        Raises `DataError` if no restaurant can be read.
        """
        restaurants = source.read_restaurants(failures)
        extracted = extract_restaurants(source.evaluator, opened, restaurants, source.options, failures)
        lines = [build_line(source.evaluator, restaurant, failures, with_text=with_text)[1] for restaurant in extracted]
        failures.require_restaurants(len(lines))
        return [line for line in lines if line is not None]

    options = RunOptions(on_error, limit=limit)
    return _run_phase2(
        extract_lines, seed, contexts, reviews, duplicates, options, extractor, sample, sample_seed, notify
    )


@validate_arguments_with(suggest_extractor)
def run(
    seed: SeedLike | FormulaSeed,
    contexts: Lines,
    *,
    reviews: Lines | None = None,
    extractor: ExtractorName | ExtractorOptions | None = None,
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

    def run_lines(source: ReviewSource, opened: OpenExtractor, failures: Failures) -> list[dict[str, Any]]:
        """Return the restaurants' results as JSON objects. Raises `DataError` if no restaurant can be read."""
        restaurants = source.read_restaurants(failures)
        results = run_restaurants(source.evaluator, opened, restaurants, source.options, failures)
        lines = [result.to_json() for result in results]
        failures.require_restaurants(len(lines))
        return lines

    options = RunOptions(on_error, trace, limit, parameters)
    return _run_phase2(run_lines, seed, contexts, reviews, duplicates, options, extractor, sample, sample_seed, notify)


def _run_phase2(
    make_lines: Callable[[ReviewSource, OpenExtractor, Failures], list[dict[str, Any]]],
    seed: SeedLike | FormulaSeed,
    contexts: Lines,
    reviews: Lines | None,
    duplicates: Duplicates,
    options: RunOptions,
    extractor: ExtractorName | ExtractorOptions | None,
    sample: int | None,
    sample_seed: int,
    notify: Notify | None,
) -> Outcome:
    """Open the extractor over the reviews, and return the lines that `make_lines` makes, the failures and the cost.

    Checks the extractor's options, the seed and the parameters first, before anything is opened; raises as `run` does.
    The seed's `review_handling` replaces that of `options`. If the extractor stopped before its last question, the reason
    is one of the failures. Passes the lines about the cost to `notify` also if `make_lines` raises.
    """
    extractor_options = resolve_extractor(extractor)
    extractor_options.require()
    loaded = load_seed(seed)
    evaluator = compile_evaluator(loaded)
    if options.parameters:
        evaluator.parse_parameters(options.parameters)
    options = replace(options, review_handling=loaded.program.review_handling)
    source = ReviewSource(evaluator, contexts, reviews, options, duplicates)
    callbacks = Callbacks() if notify is None else Callbacks(notify, _throttle(notify))
    failures = Failures()
    opened: OpenExtractor | None = None
    try:
        with open_extractor(
            loaded.program, source, extractor_options, failures, callbacks, sample, sample_seed
        ) as opened:
            lines = make_lines(source, opened, failures)
    finally:
        if opened is not None:
            for line in opened.cost_lines:
                callbacks.notify(line)
    if opened.stop_reason:
        failures.add("stopped", opened.stop_reason)
    if opened.doubt:
        failures.add("extractor", opened.doubt)
    return Outcome(lines, failures.lines, opened.usd)


def open_extractor(
    program: nodes.Program,
    source: ReviewSource,
    extractor: ExtractorOptions,
    failures: Failures,
    callbacks: Callbacks,
    sample: int | None = None,
    sample_seed: int = 0,
) -> AbstractContextManager[OpenExtractor]:
    """Open an extractor over a source of reviews: the one way into phase 2, for Python and for the commands.

    With `sample`, first draws that number of reviews by `sample_seed`, notifies of it, and changes `source.options` so
    that `source` has only these. Raises `ArgumentError` if the extractor has a sample of its own or `source` cannot be
    read twice, and everything that `ExtractorOptions.open` raises.
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


def _throttle(notify: Notify) -> Notify:
    """Return a function that passes a line on to `notify` at most once in ten seconds, and drops other lines.

    Lines in the first ten seconds are dropped, too.
    """
    last = time.monotonic()

    def pass_on(line: str) -> None:
        """Pass the line on, or drop it if the last one was passed on less than ten seconds ago."""
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            notify(line)

    return pass_on
