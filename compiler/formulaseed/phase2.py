"""The whole of phase 2 from Python: what the commands `extract` and `run` do, with values in place of files.

In: a seed, and restaurants with their reviews. Out: a list of objects, one a restaurant, with what failed. Source: the
two-phase design's section on phase 2 execution.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

from formulaseed.api import load_evaluator
from formulaseed.arguments import validated_with
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.joining import join_files
from formulaseed.data.jsonl import Lines, LocatedRestaurant, is_frame, lines_of, read_contexts
from formulaseed.data.results import Extractor, Failures, ReviewInput
from formulaseed.errors import FormulaSeedError
from formulaseed.extractors.opening import (
    DEFAULTS,
    FIRST_SAMPLE,
    ModelOptions,
    model_extractor,
    sync_extractor,
    trained_extractor,
)
from formulaseed.loading import FormulaSeed, SeedLike, load_seed
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import RunOptions, asked_reviews, with_line
from formulaseed.runtime.extracting import extract as extract_restaurants
from formulaseed.runtime.running import run as run_restaurants
from formulaseed.runtime.sampling import draw

if TYPE_CHECKING:
    from formulaseed.extractors.model.answers import UsageStats

ExtractorName = Literal["lexical", "recorded", "trained", "cascade", "anthropic"]
_ASKING = ("anthropic", "cascade")
OnError = Literal["fail", "skip"]


class Outcome(list[dict[str, Any]]):
    """What `extract` and `run` return: an object for each restaurant, in their order.

    `failures` says what failed, each with its place and the reason: restaurants, reviews, lines that cannot be used. `usd` is
    what asking a model has cost at most, in US dollars: 0 where no call was made, None where that is unknown.
    """

    def __init__(self, lines: Iterable[dict[str, Any]], failures: Sequence[str], usd: float | None = 0.0) -> None:
        super().__init__(lines)
        self.failures = tuple(failures)
        self.usd = usd

    def _repr_html_(self) -> str:
        from formulaseed.pages.notebook import outcome_html

        return outcome_html(self, self.failures)


@validated_with(DEFAULTS)
def extract(
    seed: SeedLike | FormulaSeed,
    contexts: Lines,
    *,
    reviews: Lines | None = None,
    extractor: ExtractorName = "lexical",
    extractions: Lines | None = None,
    on_error: OnError = "fail",
    limit: int | None = None,
    sample: int | None = None,
    sample_seed: int = 0,
    with_text: bool = False,
    strict: bool = False,
    min_confidence: float = 0.0,
    duplicates: Duplicates = "fail",
    **model_options: Unpack[ModelOptions],
) -> Outcome:
    """Filter and extract restaurants with their reviews: a line of rows for each, as `formulaseed extract` writes it.

    `contexts` are restaurants with their reviews, or, where `reviews` are given, restaurants to which these belong. These
    and the recorded `extractions` are paths, the JSON values that the files would hold, or data frames. With
    `duplicates="first"` the first of a restaurant's reviews with the same `review_id` counts; otherwise the restaurant
    fails. With `on_error="skip"` a review that cannot be extracted is left out and counted; else it fails its restaurant,
    which has no line then. `limit` stops after so many restaurants; `sample` extracts so many of their reviews only,
    another `sample_seed` other ones; `with_text` adds the texts of reviews, and the quotes and reasons that a model gave;
    `strict` refuses recorded extractions with fields that the seed does not have. With `min_confidence` the extractor
    `trained` does not extract a review that has a less probable value. The extractor `cascade` takes `sample` for the first
    reviews that it asks the model about. The other options are those of `anthropic`, which `cascade` has, too.

    What failed is in the `failures` of the list. Raises `SeedError` for a seed with errors, `DataError` for a file that
    cannot be read, and if no restaurant in it can be, `FormulaSeedError` for options that do not fit, and for a model that
    cannot be asked.
    """
    options = RunOptions(on_error, limit=limit)
    with _opened(
        seed, contexts, reviews, extractor, extractions, options, sample, sample_seed, strict, min_confidence, duplicates,
        model_options,
    ) as (job, usage):  # fmt: skip
        lines = [
            with_line(job.evaluator, found, job.failures, with_text=with_text)[1] for found in extract_restaurants(*job)
        ]
    job.failures.refuse_nothing_read(len(lines))
    return Outcome([line for line in lines if line is not None], job.failures.lines, _usd(usage))


@validated_with(DEFAULTS)
def run(
    seed: SeedLike | FormulaSeed,
    contexts: Lines,
    *,
    reviews: Lines | None = None,
    extractor: ExtractorName = "lexical",
    extractions: Lines | None = None,
    on_error: OnError = "fail",
    limit: int | None = None,
    sample: int | None = None,
    sample_seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    trace: bool = False,
    strict: bool = False,
    min_confidence: float = 0.0,
    duplicates: Duplicates = "fail",
    **model_options: Unpack[ModelOptions],
) -> Outcome:
    """Filter, extract and evaluate restaurants with their reviews: a result for each, as `formulaseed run` writes it.

    `parameters` are the seed's, by name; with `trace` results have every step's value, and the reviews behind each
    aggregate. A restaurant that failed has an `error` in place of an `output`. Otherwise as `extract`; raises `DataError`
    for parameters that the seed does not allow, too.
    """
    options = RunOptions(on_error, trace, limit, parameters)
    with _opened(
        seed, contexts, reviews, extractor, extractions, options, sample, sample_seed, strict, min_confidence, duplicates,
        model_options,
    ) as (job, usage):  # fmt: skip
        lines = [result.to_json() for result in run_restaurants(*job)]
    job.failures.refuse_nothing_read(len(lines))
    return Outcome(lines, job.failures.lines, _usd(usage))


class _Job(NamedTuple):
    """What `extract` and `run` of the runtime take."""

    evaluator: Evaluator
    extractor: Extractor
    restaurants: Iterable[LocatedRestaurant]
    options: RunOptions
    failures: Failures


@contextmanager
def _opened(
    seed: SeedLike | FormulaSeed,
    contexts: Lines,
    reviews: Lines | None,
    extractor: ExtractorName,
    extractions: Lines | None,
    options: RunOptions,
    sample: int | None,
    sample_seed: int,
    strict: bool,
    min_confidence: float,
    duplicates: Duplicates,
    model_options: ModelOptions,
) -> Iterator[tuple[_Job, UsageStats | None]]:
    """Validate what is given, and open the extractor."""
    _refuse_options(extractor, extractions is not None, min_confidence, model_options)
    loaded = load_seed(seed)
    evaluator, program, failures = load_evaluator(loaded), loaded.program, Failures()
    options = replace(options, review_handling=program.review_handling)
    if options.parameters:
        evaluator.parse_parameters(options.parameters)

    def restaurants(failures: Failures) -> Iterator[LocatedRestaurant]:
        if reviews is None:
            return read_contexts(lines_of(contexts, "contexts"), duplicates=duplicates)
        pair = lines_of(contexts, "restaurants"), lines_of(reviews, "reviews")
        return join_files(*pair, failures, duplicates=duplicates)

    def asked() -> Iterator[list[ReviewInput]]:
        return asked_reviews(evaluator, restaurants(Failures()), options)

    if extractor in (*_ASKING, "trained") or sample is not None:
        contexts = _rereadable(contexts, "contexts")
        reviews = _rereadable(reviews, "reviews") if reviews is not None else None
    if sample is not None and extractor != "cascade":
        options = replace(options, sample=draw(asked(), sample, sample_seed))
    if extractor not in _ASKING:
        recorded = lines_of(extractions, "extractions") if extractions is not None else None
        if extractor == "trained":
            chosen = trained_extractor(
                program, recorded or (), asked, failures, strict=strict, min_confidence=min_confidence
            )
        else:
            chosen = sync_extractor(program, recorded, failures, strict=strict)
        yield _Job(evaluator, chosen, restaurants(failures), options, failures), None
        return
    first = (sample or FIRST_SAMPLE, sample_seed) if extractor == "cascade" else None
    opened = model_extractor(program, lambda: restaurants(Failures()), asked, failures, model_options, first)
    with opened as (transport, usage):
        yield _Job(evaluator, transport, restaurants(failures), options, failures), usage


def _usd(usage: UsageStats | None) -> float | None:
    return 0.0 if usage is None else usage.upper_bound


def _refuse_options(
    extractor: ExtractorName,
    has_extractions: bool,
    min_confidence: float,
    model_options: ModelOptions,
) -> None:
    """Raise `FormulaSeedError` for options that do not go together."""
    if has_extractions != (extractor in ("recorded", "trained")):
        raise FormulaSeedError("the extractors `recorded` and `trained` need `extractions`, and no other takes them")
    if min_confidence and extractor != "trained":
        raise FormulaSeedError("`min_confidence` goes with the extractor `trained`")
    if model_options and extractor not in _ASKING:
        raise FormulaSeedError(f"`{next(iter(model_options))}` goes with the extractor `anthropic`")


def _rereadable(given: Lines, what: str) -> Lines:
    """Return what can be read several times. Raises `FormulaSeedError` for standard input and pipes."""
    if is_frame(given):
        from formulaseed.data.parquet import arrow_table

        table: Lines = arrow_table(given, what)
        return table
    if not isinstance(given, str | os.PathLike):
        return list(given) if isinstance(given, Iterable) else given
    path = Path(os.fsdecode(given))
    if str(path) == "-" or (path.exists() and not path.is_file()):
        raise FormulaSeedError(
            f"{what} are read several times to draw a sample or to ask a model: pass a file, not {path}"
        )
    return given
