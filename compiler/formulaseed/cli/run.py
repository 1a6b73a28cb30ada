"""The commands over restaurants with their reviews or rows: `run`, what `extract` shares with it, `evaluate`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn

import click
from click.core import ParameterSource

from formulaseed.cli.inputs import allow_edited_option, duplicates_option, load, param_option, parameters_of
from formulaseed.cli.output import Progress, finish, format_of, progress, reported, say
from formulaseed.cli.results import (
    ROWS_SUFFIXES,
    Format,
    Results,
    check_lines,
    require_parquet,
    result_options,
)
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.joining import join_files
from formulaseed.data.jsonl import LocatedRestaurant, read_contexts, read_lines
from formulaseed.data.results import (
    Extractor,
    Failures,
    Result,
    ResultCounts,
    text_writer,
    write_line,
)
from formulaseed.diagnostics.model import number_of
from formulaseed.extractors.opening import FIRST_SAMPLE, require_training, sync_extractor, trained_extractor
from formulaseed.ir import nodes
from formulaseed.llm.calls import EFFORTS
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import ExtractedRestaurant, RunOptions, asked_reviews, flat_line, with_line
from formulaseed.runtime.running import evaluate_lines
from formulaseed.runtime.running import run as run_restaurants
from formulaseed.runtime.sampling import draw

_ABOVE_ZERO = click.FloatRange(min=0, min_open=True)

Source = Callable[[Failures], Iterator[LocatedRestaurant]]
"""The restaurants from the start, each time it is called; what cannot be read goes into the failures."""


Parameters = Mapping[str, Any] | None
Select = Callable[[Iterator[LocatedRestaurant]], Iterator[LocatedRestaurant]]
Write = Callable[["Job", Extractor, Failures, Progress, ResultCounts], None]
"""Extracts the restaurants of a job and writes a line for each as it comes."""
RowsFormat = Literal["jsonl", "parquet"]


def rows_format(
    out: str, form: RowsFormat | None = None, option: str = "--out", other: str = ", or pass --format"
) -> RowsFormat:
    """Return how rows are written: as `form` says, else as the name ends. Raises `UsageError` for a file that cannot be."""
    chosen = form or format_of(out, ROWS_SUFFIXES, option, other) or "jsonl"
    if chosen == "parquet":
        require_parquet(out)
    return chosen


@dataclass(frozen=True, slots=True)
class Job:
    """What `run` and `extract` work on, where restaurants come from, and what writes what comes of them."""

    evaluator: Evaluator
    program: nodes.Program
    options: RunOptions
    source: Source
    inputs: tuple[str | None, ...]
    quiet: bool
    extractions_out: str | None
    with_text: bool
    writer: Write

    def write(self, extractor: Extractor, failures: Failures, shown: Progress, counted: ResultCounts) -> None:
        """Have the restaurants extracted and written, and the extractions, too, where they are wanted."""
        from formulaseed.extractors.recorded import ExtractionRecorder

        with contextlib.ExitStack() as stack:
            if self.extractions_out is not None:
                file = stack.enter_context(text_writer(self.extractions_out, *self.inputs))
                extractor = ExtractionRecorder(extractor, file, with_text=self.with_text)
            self.writer(self, extractor, failures, shown, counted)

    @contextlib.contextmanager
    def rows_writer(
        self, path: str | None, form: RowsFormat, failures: Failures
    ) -> Iterator[Callable[[ExtractedRestaurant], ExtractedRestaurant]]:
        """Open a file of rows, if any, and provide what writes the line of a restaurant, as `with_line` does."""
        if path is None:
            yield lambda found: found
            return
        with text_writer(path, *self.inputs) as file, self._lines_writer(file, form) as write:

            def keep(found: ExtractedRestaurant) -> ExtractedRestaurant:
                return with_line(self.evaluator, found, failures, with_text=self.with_text, write=write)[0]

            yield keep

    @contextlib.contextmanager
    def _lines_writer(self, file: Any, form: RowsFormat) -> Iterator[Callable[[dict[str, Any]], None]]:
        if form == "jsonl":
            yield partial(write_line, file)
            return
        from formulaseed.data.parquet import rows_writer

        with rows_writer(file.buffer, self.program, with_text=self.with_text) as write:
            yield lambda line: write(flat_line(self.evaluator, self.program, line))


def _write(
    results: Iterator[Result],
    to: Results,
    inputs: tuple[str | None, ...],
    failures: Failures,
    shown: Progress,
    counted: ResultCounts,
) -> None:
    with to.writer(inputs, shown) as write:
        for found in results:
            result = to.fitting(found, failures)
            write(result)
            counted.add(result.error, result.reviews, result.output)
            shown.advance(counted.progress)


def count(found: ExtractedRestaurant, shown: Progress, counted: ResultCounts) -> None:
    """Count one more restaurant, and show the progress."""
    counted.add(found.error, found.reviews)
    shown.advance(counted.progress)


def _model_option(name: str, help: str, **attributes: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(name, help=f"anthropic: {help}", show_default="default" in attributes, **attributes)


@click.command("evaluate")
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--rows", required=True, help="Restaurants with extracted rows, JSON Lines; - for standard input.")
@result_options
@click.option("--strict", is_flag=True, help="Refuse rows with extractions or metadata that the seed does not know.")
@duplicates_option
@allow_edited_option
@param_option
def evaluate(
    seed: str, rows: str, out: str, form: Format | None, sort: str | None, trace: bool, strict: bool, allow_edited: bool,
    duplicates: Duplicates, params: tuple[str, ...]
) -> None:  # fmt: skip
    """Evaluate restaurants whose reviews have been extracted.

    Exit status 3 where some restaurants failed: they are listed, and the others are written.
    """
    evaluator = load(seed, strict=strict, allow_edited=allow_edited).evaluator
    parameters = parameters_of(evaluator, params)
    to = Results.of(out, form, sort, trace, evaluator, parameters)
    lines, counted = read_lines(rows, "rows"), ResultCounts()
    with reported() as failures, progress("restaurant", quiet=True) as shown:
        results = evaluate_lines(evaluator, lines, failures, trace=trace, parameters=parameters, duplicates=duplicates)
        _write(results, to, (rows,), failures, shown, counted)
    for line in counted.lines():
        say(line, err=True)
    number = number_of(counted.restaurants + failures.unreadable, "line")
    say(f"{number}: {counted.summary()}{failures.summary()}", err=True)
    finish(failures.status)


_EXTRACTION_OPTIONS = (
    click.option("--contexts", help="Restaurants with their reviews, JSON Lines; - for standard input."),
    click.option("--restaurants", help="Restaurants, JSON Lines; needs --reviews."),
    click.option("--reviews", help="Reviews, JSON Lines, joined by business_id; needs --restaurants."),
    click.option("--extractor", type=click.Choice(["lexical", "recorded", "trained", "cascade", "anthropic"]), default="lexical",
                 show_default=True, help="What extracts."),
    click.option("--extractions", help="Recorded extractions, JSON Lines; for --extractor recorded and trained."),
    click.option("--min-confidence", type=click.FloatRange(0, 1), default=0.0, metavar="P",
                 help="trained: a review with a less probable value cannot be extracted."),
    click.option("--on-error", type=click.Choice(["fail", "skip"]), default="fail", show_default=True,
                 help="A review that cannot be extracted fails its restaurant, or is left out and counted."),
    duplicates_option,
    click.option("--limit", type=click.IntRange(min=0), help="Stop after so many restaurants."),
    click.option("--sample", type=click.IntRange(min=1), metavar="N",
                 help="Extract N of the relevant reviews, spread over the restaurants; results say that they rest on "
                      "them alone. cascade: so many the model is asked about at first; 300 by default."),
    click.option("--sample-seed", type=int, default=0, show_default=True, help="Another number draws another sample."),
    click.option("--target-agreement", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True, metavar="P",
                 help="cascade: how often, at least, a predicted field must be what the model would say."),
    click.option("--extractions-out", metavar="FILE", help="Write what is extracted, too, as recorded extractions."),
    click.option("--quiet", is_flag=True, help="Show no progress."),
    click.option("--strict", is_flag=True, help="Refuse recorded extractions with fields that the seed does not have."),
    allow_edited_option,
    _model_option("--model", "the model.", default="claude-haiku-5-5"),
    _model_option("--effort", "the model's effort.", type=click.Choice(EFFORTS), default="low"),
    _model_option("--concurrency", "concurrent calls; fewer while the API pushes back.", type=click.IntRange(1, 1000),
                  default=16),
    _model_option("--batch", "the Message Batches API, at half the price, within a day.", is_flag=True),
    click.option("--poll", type=_ABOVE_ZERO, default=30.0, show_default=True,
                 help="--batch: seconds between two polls."),
    _model_option("--dry-run", "print how many calls would be made and what they may cost.", is_flag=True),
    _model_option("--max-usd", "stop before the calls of this run can cost more.", type=_ABOVE_ZERO),
    _model_option("--prices", "a file of prices, in place of those that come with this version."),
    _model_option("--store", "where answers are cached; by default in the user's cache folder."),
    _model_option("--examples", "a file of reviewed answers to show the model, in place of the seed's."),
    _model_option("--retry-errors", "ask again where a stored answer is unusable.", is_flag=True),
    _model_option("--timeout", "seconds for one attempt.", type=_ABOVE_ZERO, default=60.0),
    _model_option("--deadline", "seconds for one call with all of its attempts.", type=_ABOVE_ZERO, default=300.0),
    _model_option("--retries", "attempts after the first, for transient errors.", type=click.IntRange(0, 20), default=8),
    _model_option("--requests-per-minute", "the most requests a minute.", type=_ABOVE_ZERO),
    _model_option("--tokens-per-minute", "about the most prompt tokens a minute.", type=_ABOVE_ZERO),
)  # fmt: skip


def extraction_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that `run` and `extract` share, for `work`: where reviews come from, and what extracts them."""
    for option in reversed(_EXTRACTION_OPTIONS):
        command = option(command)
    return command


@click.command("run")
@click.argument("seed", metavar="SEED|MODULE")
@extraction_options
@result_options
@click.option(
    "--rows-out", metavar="FILE", help="Write the extracted rows, too, for `evaluate` to read; Parquet if it ends so."
)
@click.option("--with-text", is_flag=True, help="--extractions-out, --rows-out: with the text of each review.")
@param_option
def run(
    seed: str, out: str, form: Format | None, sort: str | None, trace: bool, rows_out: str | None, with_text: bool,
    params: tuple[str, ...], **shared: Any
) -> None:  # fmt: skip
    """Filter, extract and evaluate restaurants with their reviews.

    The lexical extractor is embedded and needs no network; it is a heuristic for a first try, which `formulaseed
    agreement` measures. The anthropic extractor asks a model; its answers are cached, so that nothing is paid twice. Exit
    status 3 where some restaurants or reviews failed: they are listed, the others are written.
    """
    outputs = {"--out": out, "--rows-out": rows_out, "--extractions-out": shared["extractions_out"]}
    rows_form = rows_format(rows_out, None, "--rows-out", "") if rows_out is not None else "jsonl"
    if with_text and rows_out is None and shared["extractions_out"] is None:
        raise click.UsageError("--with-text goes with --extractions-out or --rows-out")

    def writer(evaluator: Evaluator, parameters: Parameters) -> Write:
        to = Results.of(out, form, sort, trace, evaluator, parameters)

        def write(job: Job, extractor: Extractor, failures: Failures, shown: Progress, counted: ResultCounts) -> None:
            restaurants = job.source(failures)
            with job.rows_writer(rows_out, rows_form, failures) as keep:
                results = run_restaurants(job.evaluator, extractor, restaurants, job.options, failures, keep)
                _write(results, to, job.inputs, failures, shown, counted)

        return write

    work(seed, writer, outputs, with_text=with_text, trace=trace, params=params, **shared)


def work(
    seed: str, writer: Callable[[Evaluator, Parameters], Write], outputs: Mapping[str, str | None], *,
    contexts: str | None, restaurants: str | None, reviews: str | None, extractor: str, extractions: str | None,
    on_error: Literal["fail", "skip"], limit: int | None, sample: int | None, sample_seed: int,
    extractions_out: str | None, with_text: bool, quiet: bool, strict: bool, allow_edited: bool, min_confidence: float,
    duplicates: Duplicates,
    target_agreement: float, trace: bool = False, params: tuple[str, ...] = (), select: Select = iter, **model_options: Any
) -> NoReturn:  # fmt: skip
    """Do what `run` and `extract` do with the options that they share, and end the command.

    `writer` returns what writes, and refuses what cannot be written; `outputs` are the files, by the name of the option;
    `select` chooses among the restaurants.
    """
    not_ready, asks = None, extractor in ("anthropic", "cascade")
    if asks:
        from formulaseed.cli.models import ask, not_ready_to_ask
        from formulaseed.extractors.cascade import CascadeOptions

        not_ready = not_ready_to_ask(model_options)
    own = dict.fromkeys(() if asks else model_options, "anthropic")
    own |= {"min_confidence": "trained"} if extractor != "trained" else {}
    own |= {"target_agreement": "cascade"} if extractor != "cascade" else {}
    for name, user in own.items():
        if click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --extractor {user}")
    loaded = load(seed, allow_edited=allow_edited)
    evaluator, program = loaded.evaluator, loaded.program
    parameters = parameters_of(evaluator, params)
    options = RunOptions(on_error, trace, limit, parameters, program.review_handling)
    inputs = (contexts, restaurants, reviews, extractions, model_options["examples"])
    every = _source(contexts, restaurants, reviews, duplicates)

    def source(failures: Failures) -> Iterator[LocatedRestaurant]:
        return select(every(failures))

    if (extractions is not None) != (extractor in ("recorded", "trained")):
        if extractions is None:
            raise click.UsageError(f"--extractor {extractor} needs --extractions FILE")
        raise click.UsageError("--extractions goes with --extractor recorded or trained")
    _refuse_shared(outputs)
    check_lines(extractions_out, "--extractions-out")
    write = writer(evaluator, parameters)
    if sample is not None and extractor != "cascade":
        if not can_be_reread(inputs):
            raise click.UsageError("--sample reads its input twice: pass files, not - or a pipe")
        drawn = draw(asked_reviews(evaluator, source(Failures()), options), sample, sample_seed)
        say(drawn.line(), err=True)
        options = replace(options, sample=drawn)
    job = Job(evaluator, program, options, source, inputs, quiet, extractions_out, with_text, write)
    if asks:
        if extractor == "cascade":
            require_training()
            model_options["cascade"] = CascadeOptions(sample or FIRST_SAMPLE, sample_seed, target_agreement)
        finish(ask(job, not_ready, **model_options))
    counted = ResultCounts()
    with reported() as failures:
        if extractor == "trained":
            if not can_be_reread(inputs):
                raise click.UsageError("--extractor trained reads its input twice: pass files, not - or a pipe")
            recorded = read_lines(extractions or "", "extractions")
            chosen = trained_extractor(
                program, recorded, lambda: asked_reviews(evaluator, source(Failures()), options), failures, strict=strict,
                min_confidence=min_confidence,
            )  # fmt: skip
        else:
            given = read_lines(extractions, "extractions") if extractions is not None else None
            chosen = sync_extractor(program, given, failures, strict=strict)
        with progress("restaurant", quiet=quiet) as shown:
            job.write(chosen, failures, shown, counted)
    for line in (*chosen.summary(), *counted.lines(), closing_line(counted, failures, chosen.name)):
        say(line, err=True)
    finish(failures.status)


def _refuse_shared(outputs: Mapping[str, str | None]) -> None:
    """Raise `UsageError` where two options name the same file to write."""
    names: dict[str, str] = {}
    for option, path in outputs.items():
        if path is not None:
            first = names.setdefault(path if path == "-" else str(Path(path).absolute()), option)
            if first != option:
                raise click.UsageError(f"{first} and {option} need two files")


def can_be_reread(inputs: tuple[str | None, ...]) -> bool:
    """Return whether all inputs are files, and no pipes."""
    return all(path is None or Path(path).is_file() for path in inputs)


def closing_line(counted: ResultCounts, failures: Failures, extractor: str) -> str:
    """Return a run's counts on one line."""
    reviews = f"{counted.relevant} of {number_of(counted.total, 'review')} relevant, {counted.extracted} extracted"
    reviews += f", {counted.lost} failed" if counted.lost else ""
    return f"{counted.summary()}{failures.summary()}; {reviews} ({extractor})"


def _source(contexts: str | None, restaurants: str | None, reviews: str | None, duplicates: Duplicates) -> Source:
    if contexts is not None and restaurants is None and reviews is None:
        return lambda _: read_contexts(read_lines(contexts, "contexts"), duplicates=duplicates)
    if contexts is None and restaurants is not None and reviews is not None:
        return lambda failures: join_files(
            read_lines(restaurants, "restaurants"), read_lines(reviews, "reviews"), failures, duplicates=duplicates
        )
    raise click.UsageError("pass --contexts FILE, or --restaurants FILE and --reviews FILE")
