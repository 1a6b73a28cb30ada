"""Opens the answers of a run with a model: its prices, its prompt and its store, and what asks for missing answers.

In: options, a program, and reviews. Out: a cache of answers. If no call can be made, a run is possible as long as the store
has every answer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

from formulaseed.data.jsonl import open_lines
from formulaseed.errors import ArgumentError, DataError, FormulaSeedError
from formulaseed.extractors.base import fields_of
from formulaseed.extractors.model.answers import AnswerCache, UsageStats
from formulaseed.extractors.model.asking import LiveExtractor
from formulaseed.extractors.model.examples import ReviewKey, reviewed_answers, texts_of
from formulaseed.extractors.model.prompting import PromptSpec
from formulaseed.extractors.model.settings import ModelSettings
from formulaseed.extractors.model.store import Store, default_path, opened_for_run
from formulaseed.extractors.options import Callbacks
from formulaseed.ir import nodes
from formulaseed.llm.calls import format_cost
from formulaseed.llm.connecting import Limits, NotReady, check_ready
from formulaseed.llm.limiter import CostBudget
from formulaseed.llm.prices import Prices, read_prices
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.source.printing import number_of


def require_session(options: ModelSettings) -> None:
    """Raise `NotReady` if no call can be made, and the store has no answer either.

    Raises `FormulaSeedError` inside a running event loop, and `ArgumentError` for a limit of costs without a price.
    """
    _refuse_running_loop()
    _read_prices(options)
    try:
        check_ready()
    except NotReady:
        with Store(_path_of(options), read_only=True) as store:
            if not store.info()["answers"]:
                raise


@contextmanager
def open_answers(
    options: ModelSettings, program: nodes.Program, source: ReviewSource, callbacks: Callbacks, *, is_dry: bool = False
) -> Iterator[AnswerCache]:
    """Open the answers to what is asked about each review; `is_dry` opens them to read.

    Raises `NotReady` if no call can be made, and the store lacks an answer that is sure to be needed.
    """
    if source.can_reread:
        source.keep()
    prices = _read_prices(options)
    prompt = _make_prompt(options, program, source, callbacks)
    path = _path_of(options)

    def cache(store: Store) -> AnswerCache:
        return AnswerCache(prompt, store, UsageStats(prices), retry_errors=options.retry_errors)

    if not is_dry and options.needs_all_answers and source.can_reread:
        try:
            check_ready()
        except NotReady:
            with Store(path, read_only=True) as store:
                if next(cache(store).unanswered(source.read_reviews()), None) is not None:
                    raise
    with Store(path, read_only=True) if is_dry else opened_for_run(path) as store:
        yield cache(store)


def live_asker(
    options: ModelSettings, answers: AnswerCache, callbacks: Callbacks, total: int | None = None
) -> Callable[[], LiveExtractor]:
    """Return what opens an extractor that asks live, each time in an event loop of its own, but all with one budget.

    `total` is how many answers are needed, if that is known.
    """
    answers.unconfirmed()
    budget = CostBudget(answers.usage.prices, options.max_usd, answers.usage.unconfirmed_usd)
    on_answer = _show_speed(answers.usage, total, callbacks.show_progress)

    def ask() -> LiveExtractor:
        budget.use_in_new_loop()
        return LiveExtractor(answers, limits_of(options), budget, on_answer, callbacks.notify)

    return ask


def limits_of(options: ModelSettings) -> Limits:
    """Return the limits of calls that the options set."""
    return Limits(**{field.name: getattr(options, field.name) for field in fields(Limits)})


def _path_of(options: ModelSettings) -> Path:
    return Path(options.store) if options.store is not None else default_path()


def _read_prices(options: ModelSettings) -> Prices:
    """Read the prices. Raises `ArgumentError` for a limit of costs without the model's price."""
    prices = read_prices(Path(options.prices) if options.prices is not None else None)
    if options.max_usd is not None and options.model not in prices.models:
        reason = f"needs a price, and there is none for {options.model}; the option `prices` takes a file with one"
        raise ArgumentError("max_usd", reason)
    return prices


def _make_prompt(
    options: ModelSettings, program: nodes.Program, source: ReviewSource, callbacks: Callbacks
) -> PromptSpec:
    """Return what is asked about each review, with the examples of the option or of the seed."""

    def find_texts(keys: Collection[ReviewKey]) -> dict[ReviewKey, str]:
        if not source.can_reread:
            reason = "has lines without a `text`, which are looked up in the contexts: pass files, not - or a pipe"
            raise ArgumentError("examples", reason)
        return texts_of(source.read_restaurants(), keys)

    asked, examples = fields_of(program), program.examples
    if options.examples is not None:
        file = os.fsdecode(options.examples) if isinstance(options.examples, str | os.PathLike) else "`examples`"
        lines = open_lines(options.examples, "examples")
        examples = reviewed_answers(lines, asked, program.review_handling, find_texts)
        if not examples:
            raise DataError(f"{file} has no reviewed answer")
        callbacks.notify(f"examples: {number_of(len(examples), 'reviewed answer')} of {file}")
    return PromptSpec(
        asked,
        model=options.model,
        effort=options.effort,
        passes=program.passes,
        own_prompt=program.extraction_prompt,
        examples=examples,
    )


def _show_speed(usage: UsageStats, total: int | None, show: Callable[[str], None] | None) -> Callable[[bool], None]:
    """Return what is called with every answer, and whether it is usable.

    It shows how fast answers come, what they cost and, if their `total` is known, how long the rest will take.
    """
    if show is None:
        return lambda _: None
    start, answered, failed = time.monotonic(), 0, 0

    def count(is_usable: bool) -> None:
        nonlocal answered, failed
        answered, failed = answered + is_usable, failed + (not is_usable)
        rate = (answered + failed) / max(1e-6, time.monotonic() - start)
        note = f"{answered:,} of {total:,} answers" if total is not None else number_of(answered, "answer")
        if failed:
            note += f", {failed:,} failed"
        if total is not None:
            note += f", {_duration(max(0, total - answered - failed) / rate)} left"
        show(f"{note}, {rate:.1f}/s, {format_cost(usage.paid)}")

    return count


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _refuse_running_loop() -> None:
    """Raise `FormulaSeedError` inside a running event loop, which the calls would block."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    reason = "a model cannot be asked from inside a running event loop"
    raise FormulaSeedError(f"{reason}; write `await asyncio.to_thread(formulaseed.run, …)`")
