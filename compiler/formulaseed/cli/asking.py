"""`formulaseed run --extractor anthropic`: live, in batches, or only told what it would cost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from formulaseed.cli.common import reported
from formulaseed.cli.progress import Progress, progress
from formulaseed.cli.run import INTERRUPTED, Counted, Source, written
from formulaseed.extract.answers import NOT_ASKED, Answers, StoredExtractor, unanswered
from formulaseed.extract.asking import Questionnaire
from formulaseed.extract.base import Extractor, ReviewText, fields_of
from formulaseed.extract.estimate import estimate, lines
from formulaseed.extract.store import Store, default_path
from formulaseed.extract.tally import Tally
from formulaseed.ir import nodes
from formulaseed.llm.prices import Prices, read_prices, told
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.results import Failures
from formulaseed.runtime.running import RunOptions, asked_reviews
from formulaseed.runtime.running import run as run_restaurants
from formulaseed.wording import number_of


def ask(
    evaluator: Evaluator,
    program: nodes.Program,
    options: RunOptions,
    source: Source,
    inputs: tuple[str | None, ...],
    out: str,
    failures: Failures,
    quiet: bool,
    **given: Any,
) -> int:
    """Run with a model; the exit status."""
    prices = read_prices(given["prices"])
    if given["max_usd"] is not None and given["model"] not in prices.models:
        message = f"--max-usd needs a price, and there is none for {given['model']}; --prices FILE gives one"
        raise click.UsageError(message)
    if given["batch"] and "-" in inputs:
        raise click.UsageError("--batch reads its input several times: pass a file, not -")

    def reviews() -> Iterator[list[ReviewText]]:
        return asked_reviews(evaluator, source(Failures()), options)

    with Store(Path(given["store"]) if given["store"] else default_path()) as store:
        questionnaire = Questionnaire(
            fields_of(program),
            model=given["model"],
            effort=given["effort"],
            passes=program.passes,
            own_prompt=program.extraction_prompt,
        )
        tally = Tally(prices)
        answers = Answers(questionnaire, store, tally, retry_errors=given["retry_errors"])
        if given["dry_run"]:
            click.echo("\n".join(lines(estimate(answers, reviews()), answers, prices)))
            return 0
        counted = Counted()
        status = 0
        with reported(failures):
            try:
                with progress("restaurant", quiet=quiet) as shown:
                    extractor = _carrier(answers, given, prices, reviews, "-" in inputs or quiet, shown)
                    results = run_restaurants(evaluator, extractor, source(failures), options, failures)
                    written(results, out, inputs, shown, counted)
            except KeyboardInterrupt:
                click.echo(
                    "interrupted: what was answered is stored, and the same command goes on from there", err=True
                )
                status = INTERRUPTED
        for line in (counted.told(f"anthropic, {given['model']}"), *tally.lines()):
            click.echo(line, err=True)
        return status or failures.status


def _carrier(
    answers: Answers, given: dict[str, Any], prices: Prices, reviews: Any, is_uncounted: bool, shown: Progress
) -> Extractor:
    from formulaseed.llm.budget import Budget
    from formulaseed.llm.client import Limits

    limits = Limits(
        concurrency=given["concurrency"],
        requests_per_minute=given["requests_per_minute"],
        tokens_per_minute=given["tokens_per_minute"],
        retries=given["retries"],
        timeout=given["timeout"],
        deadline=given["deadline"],
    )
    if given["batch"]:
        from formulaseed.extract.batch import BatchRun

        batch = BatchRun(answers, limits, most_usd=given["max_usd"], poll=given["poll"], tell=_told_of)
        batch.ask(reviews)
        return StoredExtractor(answers, batch.asked, batch.failures, batch.stopped or NOT_ASKED)
    from formulaseed.extract.live import LiveExtractor

    total = None if is_uncounted else sum(1 for _ in unanswered(answers, reviews()))
    speed = _Speed(answers.tally, total, shown)
    return LiveExtractor(answers, limits, Budget(prices, given["max_usd"]), speed.answered)


def _told_of(text: str) -> None:
    click.echo(text, err=True)


class _Speed:
    """Shows how fast answers come, what they cost so far, and how long the rest will take."""

    def __init__(self, tally: Tally, total: int | None, shown: Progress) -> None:
        self._tally = tally
        self._total = total
        self._shown = shown
        self._start = time.monotonic()
        self._answered = 0

    def answered(self) -> None:
        self._answered += 1
        rate = self._answered / max(1e-6, time.monotonic() - self._start)
        note = number_of(self._answered, "answer")
        if self._total is not None:
            left = max(0, self._total - self._answered) / rate
            note = f"{self._answered:,} of {self._total:,} answers, {_span(left)} left"
        self._shown.show(f"{note}, {rate:.1f}/s, {told(self._tally.paid)}")


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
