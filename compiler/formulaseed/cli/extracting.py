"""Define `extract`, and set up the work that it shares with `run`: open an extractor, report progress, failures and costs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click

from formulaseed.cli.extractors import extractor_options, make_extractor
from formulaseed.cli.inputs import load, parameters_of
from formulaseed.cli.options import (
    PanelCommand,
    add_options,
    allow_edited_option,
    duplicates_option,
    format_of,
    panel_option,
)
from formulaseed.cli.output import Progress, finish, report_failures, say, show_progress
from formulaseed.cli.results import ROWS_SUFFIXES, check_lines, require_parquet
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.files import text_writer
from formulaseed.data.results import PARTIAL, Extractor, Failures, ResultCounts, write_line
from formulaseed.extractors.base import Callbacks, ExtractorOptions, OpenExtractor
from formulaseed.extractors.phase2 import open_extractor
from formulaseed.extractors.recorded import ExtractionRecorder
from formulaseed.extractors.registry import EXTRACTORS
from formulaseed.ir import nodes
from formulaseed.llm.interruption import Interrupted, Interruption
from formulaseed.runtime.extracting import ExtractedRestaurant, RunOptions, build_line, flatten_context
from formulaseed.runtime.extracting import extract as extract_restaurants
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.source.printing import number_of

RowsFormat = Literal["jsonl", "parquet"]

extraction_options = add_options(
    panel_option("input", "--contexts", "Restaurants with their reviews, JSON Lines; - for standard input.", metavar="FILE"),
    panel_option("input", "--restaurants", "Restaurants, JSON Lines; needs --reviews.", metavar="FILE"),
    panel_option("input", "--reviews", "Reviews, JSON Lines, joined by business_id; needs --restaurants.", metavar="FILE"),
    duplicates_option,
    panel_option("input", "--limit", "Stop after so many restaurants.", type=click.IntRange(min=0), metavar="N"),
    panel_option(
        "input", "--sample",
        "Extract N of the relevant reviews, spread over the restaurants; results say that they rest on them alone. "
        "cascade: so many the model is asked about at first; 300 by default.",
        type=click.IntRange(min=1), metavar="N",
    ),
    panel_option("input", "--sample-seed", "Another number draws another sample.", type=int, metavar="N", default=0),
    allow_edited_option,
    panel_option("extractor", "--extractor", "What extracts.", type=click.Choice(list(EXTRACTORS)), default="lexical"),
    panel_option(
        "extractor", "--on-error", "A review that cannot be extracted fails its restaurant, or is left out and counted.",
        type=click.Choice(["fail", "skip"]), default="fail",
    ),
    *extractor_options(),
    panel_option("cost", "--dry-run", "Print how many calls would be made and what they may cost.", is_flag=True),
    panel_option("output", "--extractions-out", "Write what is extracted, too, as recorded extractions.", metavar="FILE"),
    panel_option("output", "--quiet", "Show no progress.", is_flag=True),
)  # fmt: skip
"""Add the options that choose the reviews and the extractor to a command; `make_job` takes their values."""


def choose_rows_format(
    out: str, form: RowsFormat | None = None, option: str = "--out", alternative: str = ", or pass --format"
) -> RowsFormat:
    """Return the format of the rows in the file `out`: `form`, else by its suffix, else JSON Lines.

    Raises `UsageError` for a suffix without a format, and for Parquet on a terminal or with the suffix `.gz`;
    `UnreadableError` if pyarrow is not installed. The message names `option`, and ends with `alternative`.
    """
    rows_form = form or format_of(out, ROWS_SUFFIXES, option, alternative) or "jsonl"
    if rows_form == "parquet":
        require_parquet(out)
    return rows_form


@dataclass(slots=True)
class Job:
    """The work of `run` or `extract` with all its options: a seed's program, the reviews, and the extractor.

    `inputs` are the files that must not be overwritten.
    """

    program: nodes.Program
    source: ReviewSource
    extractor: ExtractorOptions
    inputs: tuple[str | None, ...]
    sample: int | None
    sample_seed: int
    quiet: bool
    extractions_out: str | None
    with_text: bool

    @contextlib.contextmanager
    def open_rows(
        self, path: str | None, form: RowsFormat, failures: Failures
    ) -> Iterator[Callable[[ExtractedRestaurant], ExtractedRestaurant]]:
        """Open a file of rows, and provide a function that writes a restaurant's line and returns the restaurant.

        A restaurant whose line cannot be written is returned as a failed one and added to `failures`. If `path` is
        None, the function only returns the restaurant. Raises `UnreadableError` if the file cannot be written or is an
        input.
        """
        if path is None:
            yield lambda restaurant: restaurant
            return
        with text_writer(path, *self.inputs) as file, self._open_lines(file, form) as write:

            def write_row(restaurant: ExtractedRestaurant) -> ExtractedRestaurant:
                return build_line(self.source.evaluator, restaurant, failures, with_text=self.with_text, write=write)[0]

            yield write_row

    @contextlib.contextmanager
    def _open_lines(self, file: Any, form: RowsFormat) -> Iterator[Callable[[dict[str, Any]], None]]:
        """Provide a function that writes a line, a JSON object, to an open file in the format `form`.

        Parquet is complete only at the end of the block.
        """
        if form == "jsonl":
            yield partial(write_line, file)
            return
        from formulaseed.data.parquet import rows_writer

        with rows_writer(file.buffer, self.program, with_text=self.with_text) as write:
            yield lambda line: write(flatten_context(self.source.evaluator, self.program, line))


def make_job(
    seed: str,
    outputs: Mapping[str, str | None],
    *,
    contexts: str | None,
    restaurants: str | None,
    reviews: str | None,
    duplicates: Duplicates,
    limit: int | None,
    sample: int | None,
    sample_seed: int,
    allow_edited: bool,
    extractor: str,
    on_error: Literal["fail", "skip"],
    dry_run: bool,
    extractions_out: str | None,
    quiet: bool,
    with_text: bool,
    trace: bool = False,
    reason_count: int | None = None,
    params: tuple[str, ...] = (),
    **extractor_values: Any,
) -> Job:
    """Check the options that `run` and `extract` share, load the seed, and return the job.

    With `dry_run` print the estimated calls and costs, and exit the command with status 0. `outputs` are the files to
    write, by option. Raises `UsageError` for options that do not go together, `UnreadableError` if a package of the
    extractor is missing or the seed cannot be opened, `SeedError` if the seed has errors.
    """
    extractor_choice = make_extractor(extractor, {**extractor_values, "sample": sample, "sample_seed": sample_seed})
    # the cascade draws its own sample
    if "sample" in type(extractor_choice).model_fields:
        sample = None
    if not dry_run:
        extractor_choice.require()
    loaded = load(seed, allow_edited=allow_edited)
    parameters = parameters_of(loaded.evaluator, params)
    reasons = loaded.make_reasons(reason_count, parameters)
    find_reasons = None if reasons is None else reasons.start(loaded.evaluator)
    handling = loaded.program.review_handling
    options = RunOptions(on_error, trace, limit, parameters, handling, find_reasons=find_reasons)
    if (contexts is None) == (restaurants is None) or (restaurants is None) != (reviews is None):
        raise click.UsageError("pass --contexts FILE, or --restaurants FILE and --reviews FILE")
    source = ReviewSource(loaded.evaluator, contexts or restaurants or "", reviews, options, duplicates)
    _check_outputs({**outputs, "--extractions-out": extractions_out})
    check_lines(extractions_out, "--extractions-out")
    if dry_run:
        if not extractor_choice.asks_model:
            raise click.UsageError("--dry-run goes with --extractor anthropic or cascade")
        for line in extractor_choice.estimate(loaded.program, source, Callbacks(partial(say, err=True))):
            say(line)
        finish(0)
    inputs = (contexts, restaurants, reviews, extractor_values["extractions"], extractor_values["examples"])
    return Job(loaded.program, source, extractor_choice, inputs, sample, sample_seed, quiet, extractions_out, with_text)


@dataclass(slots=True)
class RunningJob:
    """A job that has been started: its open extractor, failures, progress and counts."""

    extractor: Extractor
    failures: Failures
    progress: Progress
    counts: ResultCounts
    status: int = 0
    """The exit status of the command; set when the block of `start_job` ends."""

    def count(self, restaurant: ExtractedRestaurant) -> None:
        """Count one more restaurant, and show the progress."""
        self.counts.add(restaurant.error, restaurant.reviews)
        self.progress.advance(self.counts.progress)


@contextlib.contextmanager
def start_job(job: Job) -> Iterator[RunningJob]:
    """Open the job's extractor for a block that does the work; at its end report failures, counts and costs.

    If the extractor asks a model, a signal during the block ends the block, and `status` becomes the signal's exit
    status; the command continues after the block. A signal before the block ends the command. After the block `status`
    says whether anything failed. Costs are reported also after an exception.
    """
    notify = partial(say, err=True)
    failures = Failures()
    counts = ResultCounts()
    extractor: OpenExtractor | None = None
    running: RunningJob | None = None
    status = 0
    is_done = False
    try:
        with (
            report_failures(failures),
            show_progress("restaurant", quiet=job.quiet) as progress,
            Interruption() if job.extractor.asks_model else contextlib.nullcontext(),
            open_extractor(
                job.program,
                job.source,
                job.extractor,
                failures,
                Callbacks(notify, None if job.quiet else progress.show),
                job.sample,
                job.sample_seed,
            ) as extractor,
            _open_recorder(job, extractor) as recorder,
        ):
            running = RunningJob(recorder, failures, progress, counts)
            yield running
        is_done = True
    except Interrupted as error:
        notify("interrupted: the answers so far are stored; run the same command to continue")
        status = error.status
    finally:
        # costs are reported however the run ends
        if extractor is not None and (is_done or job.extractor.asks_model):
            for line in _list_closing_lines(extractor, counts, failures, is_interrupted=bool(status)):
                notify(line)
    if running is None:
        finish(status)
    running.status = status or (PARTIAL if extractor is not None and extractor.doubt else failures.status)


@contextlib.contextmanager
def _open_recorder(job: Job, extractor: OpenExtractor) -> Iterator[Extractor]:
    """Provide the extractor, wrapped so that it also writes its extractions to the file of --extractions-out, if any.

    Closes the file at the end of the block. Raises `UnreadableError` if the file cannot be written or is an input.
    """
    if job.extractions_out is None:
        yield extractor
        return
    with text_writer(job.extractions_out, *job.inputs) as file:
        yield ExtractionRecorder(extractor, file, with_text=job.with_text)


def _list_closing_lines(
    extractor: OpenExtractor, counts: ResultCounts, failures: Failures, *, is_interrupted: bool
) -> Iterator[str]:
    """Yield the lines for the end of a run: doubts, why it ended early, the extractor's summary, the counts, the costs.

    If `is_interrupted`, doubts, the number of unanswered calls and the summary are left out.
    """
    advice = "run the same command to"
    if extractor.doubt and not is_interrupted:
        yield f"warning: {extractor.doubt}"
    if extractor.stop_reason:
        yield f"stopped: {extractor.stop_reason}" + (f"; {advice} continue" if extractor.can_resume else "")
    elif extractor.unanswered and not is_interrupted:
        yield f"{number_of(extractor.unanswered, 'call')} ended without a usable answer; {advice} make them again"
    if not is_interrupted:
        yield from extractor.summary()
    yield from counts.lines()
    reviews = f"{counts.relevant} of {number_of(counts.total, 'review')} relevant, {counts.extracted} extracted"
    if counts.lost:
        reviews += f", {counts.lost} failed"
    yield f"{counts.summary()}{failures.summary()}; {reviews} ({extractor.name.replace(':', ', ', 1)})"
    yield from extractor.cost_lines


def _check_outputs(outputs: Mapping[str, str | None]) -> None:
    """Raise `UsageError` if two options name the same file to write, or both standard output.

    `outputs` are the files by option; None is an option that was not passed.
    """
    options: dict[str, str] = {}
    for option, path in outputs.items():
        if path is not None:
            first = options.setdefault(path if path == "-" else str(Path(path).absolute()), option)
            if first != option:
                raise click.UsageError(f"{first} and {option} need two files")


# --- the command


@click.command("extract", cls=PanelCommand)
@click.argument("seed", metavar="SEED|MODULE")
@click.option("--out", default="-", help="Where to write rows; standard output by default.")
@click.option("--format", "form", type=click.Choice(["jsonl", "parquet"]),
              help="How to write rows: as --out ends (.parquet), or JSON Lines.")  # fmt: skip
@click.option("--with-text", is_flag=True, help="Add each review's text, and the quotes and reasons that a model gave.")
@extraction_options
def extract(seed: str, out: str, form: RowsFormat | None, **options: Any) -> None:
    """Filter and extract restaurants with their reviews, for `evaluate` and `score` to read.

    A restaurant is a line with a row for each review that was extracted. Extract once, look at the rows, correct them, and
    then change formulas as often as you like. A restaurant that failed has no line. Exit status 3 where some restaurants or
    reviews failed: they are listed, the others are written.
    """
    rows_form = choose_rows_format(out, form)
    job = make_job(seed, {"--out": out}, **options)
    source = job.source

    with start_job(job) as running, job.open_rows(out, rows_form, running.failures) as write_row:
        restaurants = source.read_restaurants(running.failures)
        for restaurant in extract_restaurants(
            source.evaluator, running.extractor, restaurants, source.options, running.failures
        ):
            running.count(write_row(restaurant))
    finish(running.status)
