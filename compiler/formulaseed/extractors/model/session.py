"""Opens a run with a model: reads its prices, builds its prompt, opens its store, and prepares live extractors.

In: options, a program, and reviews. Out: a cache of answers. If no call can be made, a run is still possible as long as the store
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
from formulaseed.extractors.base import Callbacks, fields_of
from formulaseed.extractors.model.answers import AnswerCache, UsageStats
from formulaseed.extractors.model.asking import LiveExtractor
from formulaseed.extractors.model.examples import ReviewKey, find_review_texts, read_reviewed_examples
from formulaseed.extractors.model.prompting import PromptSpec
from formulaseed.extractors.model.settings import ModelSettings
from formulaseed.extractors.model.store import Store, default_path, open_for_run
from formulaseed.ir import nodes
from formulaseed.llm.calls import format_cost
from formulaseed.llm.connecting import Limits, NotReady, check_ready, is_keyless
from formulaseed.llm.limiter import CostBudget, Price, Prices, read_prices
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.source.printing import number_of


def check_session(options: ModelSettings) -> None:
    """Raise `NotReady` if no call can be made and the store has no answer at all.

    Raises `FormulaSeedError` inside a running event loop, and `ArgumentError` for the option `max_usd` if the model has no price.
    """
    _refuse_running_loop()
    _read_prices(options)
    try:
        check_ready()
    except NotReady:
        with Store(_store_path(options), read_only=True) as store:
            if not store.info()["answers"]:
                raise


@contextmanager
def open_answers(
    options: ModelSettings, program: nodes.Program, source: ReviewSource, callbacks: Callbacks, *, is_dry: bool = False
) -> Iterator[AnswerCache]:
    """Open the cache of the answers about the reviews of `source`, and close its store at the end of the block.

    With `is_dry`, the store is only read. Keeps what `source` reads if it can be read again. Raises `NotReady` if no call can be
    made, and the store lacks an answer that is sure to be needed.
    """
    if source.can_reread:
        source.keep()
    prices = _read_prices(options)
    prompt = _make_prompt(options, program, source, callbacks)
    path = _store_path(options)

    def make_cache(store: Store) -> AnswerCache:
        """Return a cache of answers in `store`, with totals that begin at zero."""
        return AnswerCache(prompt, store, UsageStats(prices), retry_errors=options.retry_errors)

    if not is_dry and options.needs_all_answers and source.can_reread:
        try:
            check_ready()
        except NotReady:
            with Store(path, read_only=True) as store:
                if next(make_cache(store).find_unanswered(source.read_reviews()), None) is not None:
                    raise
    with Store(path, read_only=True) if is_dry else open_for_run(path) as store:
        yield make_cache(store)


def prepare_live_extractors(
    options: ModelSettings, answers: AnswerCache, callbacks: Callbacks, total: int | None = None
) -> Callable[[], LiveExtractor]:
    """Return a function that opens an extractor that asks live. All of these share one budget.

    Each extractor runs in an event loop of its own. `total` is the number of answers that are needed, for the progress; None if
    it is unknown. Counts the unconfirmed batches of earlier runs against the budget.
    """
    answers.update_unconfirmed()
    budget = CostBudget(answers.usage.prices, options.max_usd, answers.usage.max_unconfirmed_usd)
    on_answer = _make_progress_counter(answers.usage, total, callbacks.show_progress)

    def open_live() -> LiveExtractor:
        """Return a new live extractor, and move the shared budget to the event loop in which it runs."""
        budget.use_in_new_loop()
        return LiveExtractor(answers, make_limits(options), budget, on_answer, callbacks.notify)

    return open_live


def make_limits(options: ModelSettings) -> Limits:
    """Return the limits on calls that the options set."""
    return Limits(**{field.name: getattr(options, field.name) for field in fields(Limits)})


def _store_path(options: ModelSettings) -> Path:
    """Return the path of the store in the options, or by default the one in the user's cache folder."""
    return Path(options.store) if options.store is not None else default_path()


def _read_prices(options: ModelSettings) -> Prices:
    """Read the prices in the file that the options name, or by default those of the package.

    A model without one costs nothing on a server that asks for no key.

    Raises `ArgumentError` for the option `max_usd` if the model has no price, `UnreadableError` if the file cannot be
    read, and `DataError` if it has no prices.
    """
    prices = read_prices(Path(options.prices) if options.prices is not None else None)
    if options.model not in prices.models and is_keyless():
        prices = prices.model_copy(update={"models": {**prices.models, options.model: Price(input=0, output=0)}})
    if options.max_usd is not None and options.model not in prices.models:
        reason = f"needs a price, and there is none for {options.model}; the option `prices` takes a file with one"
        raise ArgumentError("max_usd", reason)
    return prices


def _make_prompt(
    options: ModelSettings, program: nodes.Program, source: ReviewSource, callbacks: Callbacks
) -> PromptSpec:
    """Return the prompt specification, with the examples of the option `examples`, which are notified, or of the seed.

    Raises `DataError` for an example that cannot be used, or if there is none, and `ArgumentError` if the examples have no texts
    and `source` can be read only once.
    """

    def look_up_texts(keys: Collection[ReviewKey]) -> dict[ReviewKey, str]:
        """Return the texts of reviews in the source. Raises `ArgumentError` if it can be read only once."""
        if not source.can_reread:
            reason = "has lines without a `text`, which are looked up in the contexts: pass files, not - or a pipe"
            raise ArgumentError("examples", reason)
        return find_review_texts(source.read_restaurants(), keys)

    fields = fields_of(program)
    examples = program.examples
    if options.examples is not None:
        file = os.fsdecode(options.examples) if isinstance(options.examples, str | os.PathLike) else "`examples`"
        lines = open_lines(options.examples, "examples")
        examples = read_reviewed_examples(lines, fields, program.review_handling, look_up_texts)
        if not examples:
            raise DataError(f"{file} has no reviewed answer")
        callbacks.notify(f"examples: {number_of(len(examples), 'reviewed answer')} of {file}")
    return PromptSpec(
        fields,
        model=options.model,
        effort=options.effort,
        passes=program.passes,
        own_prompt=program.extraction_prompt,
        examples=examples,
    )


def _make_progress_counter(
    usage: UsageStats, total: int | None, show: Callable[[str], None] | None
) -> Callable[[bool], None]:
    """Return a function that counts an answer, given whether it is usable, and passes a line about the progress to `show`.

    The line has the rate and the cost of the answers and, if their `total` is known, the time left. With None, nothing is shown.
    """
    if show is None:
        return lambda _: None
    start = time.monotonic()
    usable = 0
    failed = 0

    def count_answer(is_usable: bool) -> None:
        """Count an answer as usable or failed, and pass a line to `show`: counts, rate, cost and time left."""
        nonlocal usable, failed
        usable += is_usable
        failed += not is_usable
        rate = (usable + failed) / max(1e-6, time.monotonic() - start)
        line = f"{usable:,} of {total:,} answers" if total is not None else number_of(usable, "answer")
        if failed:
            line += f", {failed:,} failed"
        if total is not None:
            line += f", {_format_duration(max(0, total - usable - failed) / rate)} left"
        show(f"{line}, {rate:.1f}/s, {format_cost(usage.paid_usd)}")

    return count_answer


def _format_duration(seconds: float) -> str:
    """Return a duration in its two largest units of hours, minutes and seconds, such as `3 min 5 s`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {rest} s"
    return f"{rest} s"


def _refuse_running_loop() -> None:
    """Raise `FormulaSeedError` inside a running event loop, in which calls cannot run a loop of their own."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    reason = "a model cannot be asked from inside a running event loop"
    raise FormulaSeedError(f"{reason}; write `await asyncio.to_thread(formulaseed.run, …)`")
