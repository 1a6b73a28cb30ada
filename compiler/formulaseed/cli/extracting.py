"""Runs an extractor over restaurants with their reviews, and reports how it goes: what `run` and `extract` have in common."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click

from formulaseed.cli.extractors import extractor_options, make_extractor
from formulaseed.cli.inputs import allow_edited_option, duplicates_option, load, parameters_of
from formulaseed.cli.output import Progress, finish, format_of, progress, reported, say
from formulaseed.cli.panels import panel_option
from formulaseed.cli.results import ROWS_SUFFIXES, check_lines, require_parquet
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.results import Extractor, Failures, ResultCounts, text_writer, write_line
from formulaseed.extractors.base import OpenExtractor
from formulaseed.extractors.options import Callbacks, ExtractorOptions
from formulaseed.extractors.phase2 import open_extractor
from formulaseed.extractors.recorded import ExtractionRecorder
from formulaseed.extractors.registry import EXTRACTORS
from formulaseed.ir import nodes
from formulaseed.llm.interruption import Interrupted, Interruption
from formulaseed.runtime.extracting import ExtractedRestaurant, RunOptions, flat_line, with_line
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.source.printing import number_of

RowsFormat = Literal["jsonl", "parquet"]

_OPTIONS = (
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


def extraction_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `make_job`: where reviews come from, and what extracts them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def rows_format(
    out: str, form: RowsFormat | None = None, option: str = "--out", other: str = ", or pass --format"
) -> RowsFormat:
    """Return how rows are written: as `form` says, otherwise by the file's suffix. Raises `UsageError` if that is unknown."""
    chosen = form or format_of(out, ROWS_SUFFIXES, option, other) or "jsonl"
    if chosen == "parquet":
        require_parquet(out)
    return chosen


@dataclass(slots=True)
class Job:
    """What `run` and `extract` work on: a seed, reviews, and the extractor that the options choose."""

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
    def rows_writer(
        self, path: str | None, form: RowsFormat, failures: Failures
    ) -> Iterator[Callable[[ExtractedRestaurant], ExtractedRestaurant]]:
        """Open a file of rows, if any, and provide what writes the line of a restaurant, as `with_line` does."""
        if path is None:
            yield lambda restaurant: restaurant
            return
        with text_writer(path, *self.inputs) as file, self._lines_writer(file, form) as write:

            def keep(restaurant: ExtractedRestaurant) -> ExtractedRestaurant:
                return with_line(self.source.evaluator, restaurant, failures, with_text=self.with_text, write=write)[0]

            yield keep

    @contextlib.contextmanager
    def _lines_writer(self, file: Any, form: RowsFormat) -> Iterator[Callable[[dict[str, Any]], None]]:
        if form == "jsonl":
            yield partial(write_line, file)
            return
        from formulaseed.data.parquet import rows_writer

        with rows_writer(file.buffer, self.program, with_text=self.with_text) as write:
            yield lambda line: write(flat_line(self.source.evaluator, self.program, line))


def make_job(
    seed: str, outputs: Mapping[str, str | None], *, contexts: str | None, restaurants: str | None, reviews: str | None,
    duplicates: Duplicates, limit: int | None, sample: int | None, sample_seed: int, allow_edited: bool, extractor: str,
    on_error: Literal["fail", "skip"], dry_run: bool, extractions_out: str | None, quiet: bool, with_text: bool,
    trace: bool = False, params: tuple[str, ...] = (), **extractor_values: Any
) -> Job:  # fmt: skip
    """Validate the options that `run` and `extract` share, and load the seed. With `dry_run` print the estimate and exit.

    `outputs` are the files to write, by option. Raises `UsageError` for options that do not go together.
    """
    chosen = make_extractor(extractor, {**extractor_values, "sample": sample, "sample_seed": sample_seed})
    if "sample" in type(chosen).model_fields:
        sample = None
    if not dry_run:
        chosen.require()
    loaded = load(seed, allow_edited=allow_edited)
    parameters = parameters_of(loaded.evaluator, params)
    options = RunOptions(on_error, trace, limit, parameters, loaded.program.review_handling)
    if (contexts is None) == (restaurants is None) or (restaurants is None) != (reviews is None):
        raise click.UsageError("pass --contexts FILE, or --restaurants FILE and --reviews FILE")
    source = ReviewSource(loaded.evaluator, contexts or restaurants or "", reviews, options, duplicates)
    _refuse_shared({**outputs, "--extractions-out": extractions_out})
    check_lines(extractions_out, "--extractions-out")
    if dry_run:
        if not chosen.asks_model:
            raise click.UsageError("--dry-run goes with --extractor anthropic or cascade")
        for line in chosen.estimate(loaded.program, source, Callbacks(partial(say, err=True))):
            say(line)
        finish(0)
    inputs = (contexts, restaurants, reviews, extractor_values["extractions"], extractor_values["examples"])
    return Job(loaded.program, source, chosen, inputs, sample, sample_seed, quiet, extractions_out, with_text)


@dataclass(slots=True)
class OpenJob:
    """A job under way: what extracts, and what is counted and reported until its end."""

    extractor: Extractor
    failures: Failures
    shown: Progress
    counts: ResultCounts
    status: int = 0
    """The exit status of the command, known at the end."""

    def count(self, restaurant: ExtractedRestaurant) -> None:
        """Count one more restaurant, and show the progress."""
        self.counts.add(restaurant.error, restaurant.reviews)
        self.shown.advance(self.counts.progress)


@contextlib.contextmanager
def open_job(job: Job) -> Iterator[OpenJob]:
    """Open the extractor for a block that does the work; at its end report what failed and what it has cost.

    A signal ends the block, not the command: `status` says so. One that comes before the block ends the command.
    """
    notify = partial(say, err=True)
    failures, counts = Failures(), ResultCounts()
    extractor: OpenExtractor | None = None
    opened: OpenJob | None = None
    status, is_done = 0, False
    try:
        with (
            reported(failures),
            progress("restaurant", quiet=job.quiet) as shown,
            Interruption() if job.extractor.asks_model else contextlib.nullcontext(),
            open_extractor(
                job.program, job.source, job.extractor, failures,
                Callbacks(notify, None if job.quiet else shown.show), job.sample, job.sample_seed,
            ) as extractor,
            _recorder(job, extractor) as recorder,
        ):  # fmt: skip
            opened = OpenJob(recorder, failures, shown, counts)
            yield opened
        is_done = True
    except Interrupted as error:
        notify("interrupted: the answers so far are stored; run the same command to continue")
        status = error.status
    finally:
        # what was paid is reported however the run ends
        if extractor is not None and (is_done or job.extractor.asks_model):
            for line in _closing_lines(extractor, counts, failures, is_interrupted=bool(status)):
                notify(line)
    if opened is None:
        finish(status)
    opened.status = status or failures.status


@contextlib.contextmanager
def _recorder(job: Job, extractor: OpenExtractor) -> Iterator[Extractor]:
    """Return the extractor, or what records its extractions as well if a file for them is given."""
    if job.extractions_out is None:
        yield extractor
        return
    with text_writer(job.extractions_out, *job.inputs) as file:
        yield ExtractionRecorder(extractor, file, with_text=job.with_text)


def _closing_lines(
    extractor: OpenExtractor, counts: ResultCounts, failures: Failures, *, is_interrupted: bool
) -> Iterator[str]:
    """Yield why a run ended early, what the extractor says of its work, a run's counts, and what it has cost."""
    again = "run the same command to"
    if extractor.stop_reason:
        yield f"stopped: {extractor.stop_reason}" + (f"; {again} continue" if extractor.can_resume else "")
    elif extractor.unanswered and not is_interrupted:
        yield f"{number_of(extractor.unanswered, 'call')} ended without a usable answer; {again} make them again"
    yield from () if is_interrupted else extractor.summary()
    yield from counts.lines()
    reviews = f"{counts.relevant} of {number_of(counts.total, 'review')} relevant, {counts.extracted} extracted"
    if counts.lost:
        reviews += f", {counts.lost} failed"
    yield f"{counts.summary()}{failures.summary()}; {reviews} ({extractor.name.replace(':', ', ', 1)})"
    yield from extractor.cost_lines


def _refuse_shared(outputs: Mapping[str, str | None]) -> None:
    """Raise `UsageError` if two options name the same file to write."""
    names: dict[str, str] = {}
    for option, path in outputs.items():
        if path is not None:
            first = names.setdefault(path if path == "-" else str(Path(path).absolute()), option)
            if first != option:
                raise click.UsageError(f"{first} and {option} need two files")
