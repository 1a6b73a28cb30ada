"""`formulaseed run --extractor anthropic`: live, in batches, or only an estimate of the cost."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import click

from formulaseed.cli.common import prices_for, reported
from formulaseed.cli.output import INTERRUPTED, say
from formulaseed.cli.progress import Progress, progress
from formulaseed.cli.run import Source, closing_line, written
from formulaseed.data.extractions import Extractor, ReviewInput
from formulaseed.data.results import Failures, ResultCounts
from formulaseed.diagnostics.model import number_of
from formulaseed.extract.base import fields_of
from formulaseed.extract.model.answers import AnswerCache, StoredExtractor, unanswered
from formulaseed.extract.model.batch import BatchRun
from formulaseed.extract.model.estimate import estimate, lines
from formulaseed.extract.model.live import LiveExtractor
from formulaseed.extract.model.prompting import PromptSpec
from formulaseed.extract.model.store import Store, default_path
from formulaseed.extract.model.usage import UsageStats
from formulaseed.ir import nodes
from formulaseed.llm.client import Limits, NotReady, must_be_ready
from formulaseed.llm.prices import Budget, cost_text
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.running import RunOptions, asked_reviews
from formulaseed.runtime.running import run as run_restaurants


def not_ready_to_ask(given: Mapping[str, Any]) -> NotReady | None:
    """Return why no call can be made from here, if so. Raises it where there is no stored answer either."""
    if given["dry_run"]:
        return None
    try:
        must_be_ready()
    except NotReady as error:
        with Store(_store_path(given), read_only=True) as store:
            if not store.info()["answers"]:
                raise
        return error
    return None


def _store_path(given: Mapping[str, Any]) -> Path:
    return Path(given["store"]) if given["store"] else default_path()


def ask(
    evaluator: Evaluator,
    program: nodes.Program,
    options: RunOptions,
    source: Source,
    inputs: tuple[str | None, ...],
    out: str,
    failures: Failures,
    quiet: bool,
    not_ready: NotReady | None,
    **given: Any,
) -> int:
    """Run with a model and return the exit status. Where no call can be made, the store must have every answer."""
    prices = prices_for(given["model"], given["prices"], given["max_usd"])
    is_reread = all(path is None or Path(path).is_file() for path in inputs)
    if given["batch"] and not is_reread:
        raise click.UsageError("--batch reads its input several times: pass files, not - or a pipe")

    def reviews() -> Iterator[list[ReviewInput]]:
        return asked_reviews(evaluator, source(Failures()), options)

    def cache(store: Store) -> AnswerCache:
        return AnswerCache(spec, store, UsageStats(prices), retry_errors=given["retry_errors"])

    spec = PromptSpec(
        fields_of(program),
        model=given["model"],
        effort=given["effort"],
        passes=program.passes,
        own_prompt=program.extraction_prompt,
    )
    path = _store_path(given)
    if not_ready is not None and is_reread:
        with Store(path, read_only=True) as store:
            if next(unanswered(cache(store), reviews()), None) is not None:
                raise not_ready
    with Store(path, read_only=given["dry_run"]) as store:
        answers = cache(store)
        if given["dry_run"]:
            for line in lines(estimate(answers, reviews()), answers, prices):
                say(line)
            return 0
        limits = Limits(**{field.name: given[field.name] for field in fields(Limits)})
        counted, status = ResultCounts(), 0
        transport: BatchRun | LiveExtractor | None = None
        try:
            with reported(failures), progress("restaurant", quiet=quiet) as shown:
                if given["batch"]:
                    notify = (lambda text: None) if quiet else partial(say, err=True)
                    transport = BatchRun(answers, limits, most_usd=given["max_usd"], poll=given["poll"], notify=notify)
                    transport.ask(reviews)
                    extractor: Extractor = StoredExtractor(answers, transport.asked, transport.failures)
                else:
                    total = None if quiet or not is_reread else sum(1 for _ in unanswered(answers, reviews()))
                    speed = _Speed(answers.usage, total, shown)
                    budget = Budget(prices, given["max_usd"])
                    extractor = transport = LiveExtractor(answers, limits, budget, speed.answered)
                results = run_restaurants(evaluator, extractor, source(failures), options, failures)
                written(results, out, inputs, shown, counted)
        except KeyboardInterrupt:
            say("interrupted: the answers so far are stored; run the same command to continue", err=True)
            status = INTERRUPTED
        finally:
            if transport is not None and transport.stopped:
                say(f"stopped: {transport.stopped}; run the same command to continue", err=True)
            for line in (closing_line(counted, failures, f"anthropic, {given['model']}"), *answers.usage.lines()):
                say(line, err=True)
        return status or failures.status


class _Speed:
    """Shows how fast answers come, what they cost so far, and how long the rest will take."""

    def __init__(self, usage: UsageStats, total: int | None, shown: Progress) -> None:
        self._usage = usage
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
        self._shown.show(f"{note}, {rate:.1f}/s, {cost_text(self._usage.paid)}")


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
